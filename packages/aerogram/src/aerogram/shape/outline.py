"""Outlines: what the rows that are not shown have in them, in a few words.

    {"rows": 282, "state": {"open": 189, "closed": 93}, "number": [3701, 3982], "all": {"locked": false}}

Counts of members that have few values, ranges of numbers and dates, and what is the same in all rows. Exact for lists
of up to ten thousand rows; beyond that from a sample, and marked as such.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aerogram.jsontext import dumps
from aerogram.shape.facts import FEW_VALUES, spread

__all__ = ["outline_rows", "outline_text"]

EXACT: Final = 10_000
SAMPLED: Final = 2_000
MOST_NAMED: Final = 8
OTHERS: Final = "…"
_LONGEST: Final = 40
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEADING: Final = re.compile(r"^(#{1,6} .{1,80}|[^\n]{1,80}\n[=-]{3,})$", re.MULTILINE)


def outline_rows(rows: Sequence[Any], room: int, count: Callable[[str], int]) -> dict[str, Any]:
    """The rows that are missing, within so many tokens; nothing where there is nothing to tell."""
    sample = rows if len(rows) <= EXACT else spread(rows, SAMPLED)
    records = [row for row in sample if isinstance(row, dict)]
    told: dict[str, Any] = {} if len(sample) == len(rows) else {"estimate": True}
    same: dict[str, Any] = {}
    for name, summary in _summaries(records):
        trial = {**told, "all": {**same, name: summary[1]}} if summary[0] == "same" else {**told, name: summary[1]}
        if count(dumps(trial).decode()) > room:
            break
        if summary[0] == "same":
            same[name] = summary[1]
            trial = {**told, "all": dict(same)}
        told = trial
    return told if told.keys() - {"estimate"} else {}


def _summaries(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[str, Any]]]:
    """What there is to say of each member, the shortest words first that tell most."""
    names = dict.fromkeys(name for record in records[:200] for name in record)
    found = [(name, summary) for name in names if (summary := _summary([one.get(name) for one in records])) is not None]
    order = {"counts": 0, "range": 1, "same": 2}
    return sorted(found, key=lambda one: order[one[1][0]])


def _summary(values: list[Any]) -> tuple[str, Any] | None:
    held = [value for value in values if value is not None]
    kinds = set(map(type, held))
    if not held or not kinds <= {str, int, float, bool}:
        return None
    distinct = len(set(held[: FEW_VALUES * 4]))
    if distinct == 1 and len(held) == len(values) and len(set(held)) == 1:
        return ("same", held[0]) if _is_short(held[0]) else None
    if distinct <= FEW_VALUES and not kinds <= {float} and all(map(_is_short, held[:50])):
        return _counts(held)
    if kinds <= {int, float}:
        return "range", [min(held), max(held)]
    is_dated = kinds == {str} and all(_MOMENT.match(value) for value in held[:20])
    return ("range", [min(held), max(held)]) if is_dated else None


def _counts(values: list[Any]) -> tuple[str, Any] | None:
    found = Counter(map(_spell, values))
    if len(found) > FEW_VALUES * 2:
        return None
    named = dict(found.most_common(MOST_NAMED))
    rest = len(values) - sum(named.values())
    return "counts", {**named, **({OTHERS: rest} if rest else {})}


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


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
