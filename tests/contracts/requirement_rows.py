"""Requirements: every promise of the contract documents, as data.

A row in `requirements/*.toml` has an id, the document it comes from (`also` names a second one that says the same),
the promise in one sentence, and the test that proves it. Where a client could see the promise and that test stops at
the codec, `wire` names one that looks at what clients receive from servers of each framework. A promise that is not
built yet has `test = "open"` and the `part` of the project that will keep it. `ruling` records what was decided where a
document contradicts itself or promises what cannot be. `feature` says where a promise is kept, as `module:owner`, for
the check by mutants, which goes by the words of the row otherwise. Any further member is a column that row-driven
tests read.

Run this file to write `docs/requirements.md` anew.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "requirements"
PAGE = ROOT / "docs" / "requirements.md"
OPEN = "open"
PARTS = ("core", "normalize", "shape", "digest", "frameworks", "knowledge", "server")
DOCUMENTS = (
    "response-v2-schema",
    "response-v2-user-guide",
    "standard-response-v2",
    "knowledge-envelope-1.0",
    "result-normalization",
)
ASKED = (
    *("tests/wire/", "tests/fastmcp/", "tests/http/", "tests/mcp/", "tests/server/", "tests/client/test_over_"),
    *(
        "tests/contracts/test_servers.py",
        "tests/contracts/test_services.py",
        "tests/contracts/test_knowledge_server.py",
    ),
    *("tests/normalize/test_resources_on_servers.py", "tests/client/test_retries.py"),
)
"""Where tests ask a server through a client, and look at what came back."""


@dataclass(frozen=True)
class Requirement:
    """One promise of one document."""

    id: str
    document: str
    promise: str
    test: str | None
    wire: str | None
    part: str | None
    also: str | None
    ruling: str | None
    feature: list[str] | None
    columns: Mapping[str, Any]

    @property
    def is_open(self) -> bool:
        """Say whether the promise waits for a part that is not built yet."""
        return self.test == OPEN

    @property
    def is_on_the_wire(self) -> bool:
        """Say whether a test proves the promise where a client sees it."""
        return self.wire is not None or (self.test or "").startswith(ASKED)

    def __getitem__(self, column: str) -> Any:
        """Return a further column of the row."""
        return self.columns[column]

    def json(self, column: str) -> Any:
        """Return the value of a column that is written as JSON text."""
        return json.loads(self.columns[column])


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return every row of every file."""
    tables = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml")))
    return tuple(_requirement(dict(row)) for table in tables for row in table["requirement"])


def rows(prefix: str, *, column: str | None = None) -> pytest.MarkDecorator:
    """Parametrise a test with the rows whose id begins with `prefix` and which, when given, have `column`."""
    chosen = [row for row in requirements() if row.id.startswith(prefix) and (column is None or column in row.columns)]
    return pytest.mark.parametrize("row", chosen, ids=[row.id for row in chosen])


def page() -> str:
    """Return the documentation page: what is proven, what is open, what was ruled."""
    lines = [
        "# Requirements",
        "",
        "Five documents say what Aerogram must do. Each promise is one row in `tests/contracts/requirements/`,",
        "with the test that proves it. This page is made from those rows:",
        "`python tests/contracts/requirement_rows.py` writes it anew.",
        "",
        *_counts(),
        *_rulings(),
        *_open_rows(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _requirement(row: dict[str, Any]) -> Requirement:
    named = ("id", "document", "promise", "test", "wire", "part", "also", "ruling", "feature")
    return Requirement(**{name: row.pop(name, None) for name in named}, columns=row)


def _counts() -> list[str]:
    head = ["| document | promises | on the wire | at the codec alone | open |", "|---|---|---|---|---|"]
    of_each = [_count(name, [row for row in requirements() if name in (row.document, row.also)]) for name in DOCUMENTS]
    of_all = _count("all", list(requirements()))
    notes = [
        "A promise that two documents make is counted for both. On the wire: a test asks a server through a client and",
        "looks at what it received. At the codec alone: all others, mostly types, names and what is refused.",
    ]
    return [*head, *of_each, of_all, "", *notes, ""]


def _count(name: str, found: list[Requirement]) -> str:
    still_open = sum(row.is_open for row in found)
    asked = sum(row.is_on_the_wire for row in found)
    return f"| {name} | {len(found)} | {asked} | {len(found) - still_open - asked} | {still_open} |"


def _rulings() -> list[str]:
    ruled = [f"| {row.id} | {row.promise} | {row.ruling} |" for row in requirements() if row.ruling]
    intro = "Where a document contradicts itself, or promises what cannot be, this was decided:"
    return ["## Rulings", "", intro, "", "| id | promise | ruling |", "|---|---|---|", *ruled, ""]


def _open_rows() -> list[str]:
    lines = ["## Open", ""]
    for part in PARTS:
        waiting = [f"- {row.id}: {row.promise}" for row in requirements() if row.is_open and row.part == part]
        if waiting:
            lines += [f"### {part}", "", *waiting, ""]
    return lines if len(lines) > 2 else [*lines, "Nothing: every promise has its test."]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
