"""Citing: the pointers of citations, kept true while the data that they point into is paged, selected and cut.

`field_paths` point into `{"results": rows}`, as a body of the standard contract has them: the rows are the data if that
is a list, else the data is the only one. So `/results/3/title` is the title of the fourth row, and `/results/0/title`
that of a single record, whichever dialect is sent.

    locate_citations   what a handler wrote relative to its data (`/3/title`, `/title`) as such pointers
    move_citations     the rows of a page counted from its first one, without those of other pages
    check_citations    without pointers to what the handler does not give, and with word of them
    trim_citations     without what is not there, after rows or members were left out

A citation without pointers speaks of the whole, and stays. One that loses all it had goes with what it spoke of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from aerogram.content.jsontext import is_index, value_at
from aerogram.reply import Citation, Notice, Reply

__all__ = ["RECORD", "ROWS", "check_citations", "locate_citations", "move_citations", "trim_citations"]

ROWS: Final = "/results"
RECORD: Final = f"{ROWS}/0"
"""Where data stands that is no list."""


def locate_citations(reply: Reply[Any]) -> Reply[Any]:
    """The reply with the pointers of its citations into the results; those that point elsewhere stay what they are."""
    data = reply.data
    base = ROWS if isinstance(data, list) else RECORD

    def locate(path: str) -> str:
        if _is_at(_results(data), path) or not path.startswith("/") or not _is_at(data, path):
            return path
        return base + path

    return _with_paths(reply, locate)


def check_citations(reply: Reply[Any]) -> Reply[Any]:
    """The reply without pointers that lead nowhere in what its handler gives, and with word of the first."""
    told = trim_citations(reply, reply.data)
    if told is reply:
        return reply
    left = {path for one in told.citations for path in one.field_paths}
    strays = [path for one in reply.citations for path in one.field_paths if path not in left]
    others = f" (and {len(strays) - 1} more)" if len(strays) > 1 else ""
    notice = Notice(f"A citation points to {strays[0]}, which is not there{others}", severity="warning")
    return told.replace(notices=(*told.notices, notice))


def move_citations(reply: Reply[Any], place: str, start: int, count: int) -> Reply[Any]:
    """The reply with its citations for the `count` rows from `start` on; `place` is where rows stand, such as ROWS."""

    def move(path: str) -> str | None:
        if not path.startswith(f"{place}/"):
            return path
        row, slash, rest = path.removeprefix(f"{place}/").partition("/")
        if not is_index(row) or not start <= int(row) < start + count:
            return None
        return f"{place}/{int(row) - start}{slash}{rest}"

    return _with_paths(reply, move)


def trim_citations(reply: Reply[Any], data: Any) -> Reply[Any]:
    """The reply, whose data may still be more, with its citations as far as they speak of this data."""
    results = _results(data)

    def keep(path: str) -> str | None:
        return path if _is_at(results, path) or not f"{path}/".startswith(f"{ROWS}/") else None

    return _with_paths(reply, keep)


def _with_paths(reply: Reply[Any], path_of: Callable[[str], str | None]) -> Reply[Any]:
    """The reply with each pointer as it shall be, or without it; the same one if nothing has changed."""
    told = tuple(one for citation in reply.citations if (one := _with_own_paths(citation, path_of)) is not None)
    return reply if told == reply.citations else reply.replace(citations=told)


def _with_own_paths(citation: Citation, path_of: Callable[[str], str | None]) -> Citation | None:
    paths = tuple(found for path in citation.field_paths if (found := path_of(path)) is not None)
    if paths == citation.field_paths:
        return citation
    return replace(citation, field_paths=paths) if paths else None


def _results(data: Any) -> dict[str, Any]:
    return {"results": data if isinstance(data, list) else [] if data is None else [data]}


def _is_at(value: Any, path: str) -> bool:
    """Whether a value has something at a JSON Pointer."""
    try:
        value_at(value, path)
    except LookupError:
        return False
    return True
