"""Ladder: rows at one level of detail, each shown and priced once, in order, and only as far as there is room.

They are priced a few at a time, as they will stand side by side; so what a separator adds, which may be less than
nothing (`},{` is one token where `}` and `{` are two), is in the price. Each has its share of it by its length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

from aerogram.content.jsontext import dumps

__all__ = ["Ladder", "Price", "Show"]

Price = Callable[[str], float]
Show = Callable[[Any], Any]

MOST_AT_ONCE: Final = 16


class Ladder:
    """The first rows of a list as a level shows them, and what so many of them cost together."""

    def __init__(self, rows: Sequence[Any], show: Show | None, price: Price) -> None:
        self._rows = rows
        self._show = show
        self._price = price
        self.shown: list[Any] = []
        self._costs: list[float] = [0.0]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def within(self, room: float, after: int = 0) -> int:
        """How many rows fit, from `after` so many on."""
        if after and self._reach(after) < after:
            return 0
        base = self._costs[after]
        self._climb(base + room)
        return bisect_right(self._costs, base + room) - 1 - after

    def cost(self, first: int, end: int) -> float:
        """What the rows from `first` to `end` cost."""
        self._reach(end)
        return self._costs[end] - self._costs[first]

    def first(self, count: int) -> list[Any]:
        """The first so many rows as they are shown."""
        self._reach(count)
        return self.shown[:count]

    def has_all(self, room: float) -> bool:
        """Whether all rows fit."""
        return self.within(room) == len(self._rows)

    def _reach(self, count: int) -> int:
        while len(self.shown) < min(count, len(self._rows)):
            self._step()
        return len(self.shown)

    def _climb(self, room: float) -> None:
        """Show and price more rows, until all are there or one of them does not fit."""
        while len(self.shown) < len(self._rows) and self._costs[-1] <= room:
            self._step()

    def _step(self) -> None:
        """The next few rows, always the same ones, so that what a row costs does not depend on who asks."""
        at = len(self.shown)
        few = list(self._rows[at : at + min(max(at, 1), MOST_AT_ONCE)])
        if self._show is not None:
            few = [self._show(row) for row in few]
        written = [dumps(row) for row in few]
        lengths = [len(one) + 1 for one in written]
        share = self._price(b",".join((*written, b"")).decode()) / sum(lengths)
        self.shown += few
        self._costs += [self._costs[-1] + share * length for length in accumulate(lengths)]
