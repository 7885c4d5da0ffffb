"""The table: every result of a search as CSV, for spreadsheets.

A cell that a spreadsheet would take for a formula gets an apostrophe in front, because documents may hold anything.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, Final

from aerogram.jsontext import dumps
from aerogram_knowledge.server.library import Library

__all__ = ["CSV", "search_table"]

CSV: Final = "text/csv"
PAGE: Final = 50
MOST_ROWS: Final = 10_000
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


async def search_table(library: Library, query: str, asked: Mapping[str, Any]) -> str:
    """All results of a search, the best first, under the names of their fields."""
    rows: list[dict[str, Any]] = []
    cursor = None
    while len(rows) < MOST_ROWS:
        reply, _ = await library.search(query, page_size=PAGE, cursor=cursor, **asked)
        rows += reply.data
        cursor = reply.page.cursor if reply.page is not None else None
        if cursor is None:
            break
    written = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(written, names, restval="")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return written.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return dumps(value).decode()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
