"""Outlines: what the rows that are not shown have in them, in a few words.

    {"state": {"open": 189, "closed": 93}, "user": {"ada": 120, "lin": 162}, "number": [3701, 3982]}

Counts of members that have few values, ranges of numbers and dates. An object counts by its name, a list by its
elements, a row of cells by its columns, which have the names of the first row where that is a header. Exact for lists
of up to ten thousand rows; beyond that from a sample, and marked as such.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from aerogram.jsontext import dumps
from aerogram.shape.facts import FEW_VALUES, cell, is_identifier, is_moment, is_state, spread

__all__ = ["Outline", "outline_text"]

EXACT: Final = 10_000
SAMPLED: Final = 2_000
MOST_NAMED: Final = 8
OTHERS: Final = "…"
ESTIMATE: Final = "estimate"
SAME: Final = "same_in_all"
_MEMBER: Final = 6
"""What a member costs besides what is in it, in tokens."""
_LONGEST: Final = 40
_LOOKED_AT: Final = 200
_MOST_COLUMNS: Final = 40
_COUNTED: Final = (str, bool, int)
_HEADING: Final = re.compile(r"^(#{1,6} .{1,80}|[^\n]{1,80}\n[=-]{3,})$", re.MULTILINE)

Records = Sequence[Mapping[str, Any]]


class Outline:
    """What there is to tell of the rows that are missing, and of all rows where those are given; found once.

    `first` is the first row of all, which may be a header.
    """

    def __init__(self, missing: Sequence[Any], rows: Sequence[Any] = (), first: Any = None) -> None:
        sample = missing if len(missing) <= EXACT else spread(missing, SAMPLED)
        self._is_estimate = len(sample) < len(missing)
        self._summaries = sorted(_summaries(_records(sample, first)), key=_worth)
        self._same = _same_in_all(rows)

    def within(self, room: int, count: Callable[[str], int]) -> dict[str, Any]:
        """As much of it as takes at most so many tokens."""
        start = {ESTIMATE: True} if self._is_estimate else {}
        told = _take(self._summaries, start, room, count)
        told = told if told.keys() - start.keys() else {}
        spent = count(dumps(told).decode()) if told else 0
        same = _take(self._same.items(), {}, room - spent - _MEMBER, count)
        return {**told, SAME: same} if same else told


def _take(
    summaries: Iterable[tuple[str, Any]], start: dict[str, Any], room: int, count: Callable[[str], int]
) -> dict[str, Any]:
    """Those that there is room for, in their order."""
    told = dict(start)
    for name, summary in summaries:
        if count(dumps({**told, name: summary}).decode()) <= room:
            told[name] = summary
    return told


def _records(rows: Sequence[Any], first: Any) -> Records:
    """Rows as records; those of cells by their columns."""
    cells = [row for row in rows if isinstance(row, list)]
    if not cells or len(cells) < len(rows):
        return [row for row in rows if isinstance(row, dict)]
    names = _column_names(first, cells)
    return [dict(zip(names, row, strict=False)) for row in cells]


def _column_names(first: Any, cells: list[list[Any]]) -> list[str]:
    """What a header calls the columns, if the first row is one: words above what is not all words."""
    few = cells[:_LOOKED_AT]
    if isinstance(first, list) and len({one for one in first if isinstance(one, str)}) == len(first):
        below = zip(*few, strict=False)
        if any(not any(isinstance(cell, str) and not is_moment(cell) for cell in column) for column in below):
            return first
    return [f"column {number}" for number in range(1, min(max(map(len, few)), _MOST_COLUMNS) + 1)]


def _summaries(records: Records) -> Iterator[tuple[str, Any]]:
    """What there is to say of each member."""
    for name in dict.fromkeys(name for record in records[:_LOOKED_AT] for name in record):
        values = [one.get(name) for one in records]
        is_name = is_identifier(name)
        counts = None if is_name and _are_distinct(values) else _counts(values)
        summary = counts or (None if is_name else _range(values))
        if summary is not None:
            yield name, summary


def _worth(summary: tuple[str, Any]) -> int:
    """What is told first: how things stand, when, then other counts, and other ranges."""
    name, told = summary
    if isinstance(told, dict):
        return 0 if is_state(name) else 2
    return 1 if isinstance(told[0], str) else 3


def _same_in_all(rows: Sequence[Any]) -> dict[str, Any]:
    """The short members that have the same value in every row."""
    sample = rows if len(rows) <= EXACT else spread(rows, SAMPLED)
    records = [row for row in sample if isinstance(row, dict)]
    if len(records) < max(len(sample), 2):
        return {}
    return {
        name: value
        for name, value in records[0].items()
        if isinstance(value, (str, int, float))
        and _is_short(value)
        and all(name in one and one[name] == value for one in records)
    }


def _are_distinct(values: list[Any]) -> bool:
    """Whether no value is there twice; missing items that have names are named elsewhere."""
    found = list(_countable(values))
    return len(set(found)) == len(found)


def _counts(values: list[Any]) -> dict[str, int] | None:
    """How often each of a few short values is there, the most frequent first."""
    is_plain = all(isinstance(value, _COUNTED) for value in values)
    few = set(_countable(values[:_LOOKED_AT]))
    if not 1 < len(few) <= FEW_VALUES or not all(map(_is_word, few)):
        return None
    found = Counter(values if is_plain else _countable(values))
    if len(found) > FEW_VALUES * 2 or (len(found) > MOST_NAMED and not any(isinstance(one, str) for one in found)):
        return None  # of many numbers the least and the greatest tell more
    named = {_spell(value): times for value, times in found.most_common(MOST_NAMED)}
    rest = found.total() - sum(named.values())
    return {**named, **({OTHERS: rest} if rest else {})}


def _countable(values: Iterable[Any]) -> Iterator[Any]:
    """What values count as: a text, a flag, a whole number as itself, an object by its name, a list by its elements."""
    for value in values:
        if isinstance(value, list):
            yield from _countable(value)
        elif isinstance(value, dict):
            yield from list((cell(value) or {}).values())[:1]
        elif isinstance(value, _COUNTED):
            yield value


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _is_word(value: Any) -> bool:
    return not isinstance(value, str) or (len(value) <= _LONGEST and not is_moment(value))


def _range(values: list[Any]) -> list[Any] | None:
    """The least and the greatest of numbers or dates."""
    held = [value for value in values if value is not None]
    kinds = set(map(type, held))
    is_dated = kinds == {str} and all(map(is_moment, held[:_LOOKED_AT]))
    if not is_dated and (not held or not kinds <= {int, float}):
        return None
    least, most = min(held), max(held)
    return [least, most] if least != most else None


def _is_short(value: Any) -> bool:
    return not isinstance(value, str) or len(value) <= _LONGEST


def outline_text(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """The headings of a text that is not shown, as far as there is room."""
    headings: list[str] = []
    for match in _HEADING.finditer(text):
        heading = match[0].partition("\n")[0].lstrip("# ").strip()
        if count(dumps([*headings, heading]).decode()) > room:
            break
        headings.append(heading)
    return headings
