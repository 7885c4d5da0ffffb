"""Folders of documents written on the spot, and indexes over them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from aerogram_knowledge import Knowledge
from knowledge.documents import GERMAN, GRAPH, GUIDE, HARVEST, JAPANESE
from postgres import database, postgres

__all__ = ["database", "postgres"]

BENCH = Path(__file__).parents[2] / "bench"
if str(BENCH) not in sys.path:
    sys.path.append(str(BENCH))

Write = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files below the folder `docs`, by their paths."""

    def written(files: Mapping[str, str | bytes]) -> Path:
        folder = tmp_path / "docs"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return written


@pytest.fixture(params=["folder", "postgresql"])
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
    texts = {"guides/token.md": GUIDE, "farm/harvest.md": HARVEST, "ja/token.md": JAPANESE, "de/vertrag.md": GERMAN}
    index.ingest(write(texts))
    return index


@pytest.fixture
def vendors(write: Write, index: Knowledge) -> Knowledge:
    """An index with a vendor graph, and a document that names one of them."""
    letter = "# Letter\n\nAcme Corporation has written to us. Nora Quist of Acme asks for a meeting in May.\n"
    index.ingest(write({"vendors.json": json.dumps(GRAPH), "letter.md": letter}))
    return index
