"""Spelling: names that nobody has, and the nearest ones that somebody has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

__all__ = ["SLIP", "nearest", "strays"]

MOST_LISTED: Final = 12
ALIKE: Final = 0.6
SLIP: Final = 0.75
"""From here on a name looks like another one, and like another one in which somebody's finger slipped (1: the same)."""


def nearest(name: str, known: Iterable[str], most: int = 1, *, least: float = ALIKE) -> list[str]:
    """The known names that look most like one, the best first; upper and lower case are alike."""
    alike = {one.casefold(): one for one in known}
    return [alike[one] for one in difflib.get_close_matches(name.casefold(), alike, n=most, cutoff=least)]


def strays(named: Mapping[str, Iterable[str]], known: Collection[str], what: str) -> Iterator[str]:
    """What is to be said of the names in some settings that nothing has: one sentence each, with the nearest name."""
    for setting, names in named.items():
        for name in names:
            if name not in known:
                yield f"{setting} names {name!r}, and there is no such {what}; {_hint(name, known)}"


def _hint(name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    if near:
        return f"did you mean {near[0]!r}?"
    listed = sorted(known)[:MOST_LISTED]
    rest = ", …" if len(known) > MOST_LISTED else ""
    return f"there are {', '.join(listed)}{rest}" if listed else "there are none"
