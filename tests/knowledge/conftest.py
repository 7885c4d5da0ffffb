"""Folders of documents written on the spot, and indexes over them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from aerogram_knowledge import Knowledge
from knowledge.documents import GERMAN, GRAPH, GUIDE, HARVEST, JAPANESE
from postgres import database, postgres

__all__ = ["database", "postgres"]

BENCH = Path(__file__).parents[2] / "bench"
if str(BENCH) not in sys.path:
    sys.path.append(str(BENCH))

SMALL = {"guides/token.md": GUIDE, "farm/harvest.md": HARVEST, "ja/token.md": JAPANESE, "de/vertrag.md": GERMAN}
VENDORS = {
    "vendors.json": json.dumps(GRAPH),
    "letter.md": "# Letter\n\nAcme Corporation has written to us. Nora Quist of Acme asks for a meeting in May.\n",
}

Write = Callable[[Mapping[str, str | bytes]], Path]


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, by their paths."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files below the folder `docs`, by their paths."""
    return partial(write_files, tmp_path / "docs")


STORES = ("folder", "postgresql")


@pytest.fixture(params=STORES)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where an index is kept: whatever holds for one store holds for the other."""
    return tmp_path / "index" if request.param == "folder" else request.getfixturevalue("database")


@pytest.fixture
def index(where: str | Path) -> Iterator[Knowledge]:
    """An empty index."""
    with Knowledge(where) as knowledge:
        yield knowledge


@pytest.fixture
def small(write: Write, index: Knowledge) -> Knowledge:
    """An index over a guide to tokens, a note on the harvest, and two documents in other languages."""
    index.ingest(write(SMALL))
    return index


@pytest.fixture
def vendors(write: Write, index: Knowledge) -> Knowledge:
    """An index with a vendor graph, and a document that names one of them."""
    index.ingest(write(VENDORS))
    return index


def new_place(request: pytest.FixtureRequest) -> str | Path:
    """Where to keep an index in the store that a fixture is asked for, as long as the fixture likes."""
    if request.param == "folder":
        return Path(request.getfixturevalue("tmp_path_factory").mktemp("place")) / "index"
    return str(request.getfixturevalue("postgres").new_database())


@contextmanager
def made_once(request: pytest.FixtureRequest, files: Mapping[str, str | bytes]) -> Iterator[Knowledge]:
    """An index over some files, for all tests that only ask it something."""
    with Knowledge(new_place(request)) as index:
        index.ingest(write_files(request.getfixturevalue("tmp_path_factory").mktemp("docs"), files))
        yield index


@pytest.fixture(scope="session", params=STORES)
def shared_small(request: pytest.FixtureRequest) -> Iterator[Knowledge]:
    """As `small`, one for all: it is not to be changed."""
    with made_once(request, SMALL) as index:
        yield index


@pytest.fixture(scope="session", params=STORES)
def shared_vendors(request: pytest.FixtureRequest) -> Iterator[Knowledge]:
    """As `vendors`, one for all: it is not to be changed."""
    with made_once(request, VENDORS) as index:
        yield index
