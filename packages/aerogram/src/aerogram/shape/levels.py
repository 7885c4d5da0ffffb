"""Levels: how many rows of a list are shown whole, and how many in less detail, in so much room.

    ranked     the best whole, then the next in less detail
    listed     as many as fit in less detail; where all of them do, the first become whole
    otherwise  whole, the first so many

What is shown in more room is never less: as many whole rows, and with as many whole ones as many rows. For the room
alone that is so because prices add up. A measure of the whole may say something else than the prices of its parts;
then the most that fits is looked for in the same order, down to its very row, and up as long as much room is left.

A ladder is one level: its rows are shown and priced once, in order, and only as far as there is room, a few at a time,
as they will stand side by side. So what a separator adds, which may be less than nothing (`},{` is one token where `}`
and `{` are two), is in the price. Each row has its share of it by its length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import inf
from typing import Any, Final, NamedTuple

from aerogram.content.jsontext import dumps

__all__ = ["Ladder", "Levels", "Price", "Show", "Shown"]

Price = Callable[[str], float]
Show = Callable[[Any], Any]

LOOSE: Final = 0.02
"""Such a share of the room is not worth another measure of the whole."""
_LITTLE: Final = 1e-6
"""What sums of prices may be off by."""
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


class Shown(NamedTuple):
    """What is shown of some rows: the first `whole` as they are, then so many in less detail."""

    whole: int
    lower: int

    @property
    def rows(self) -> int:
        """How many rows that is."""
        return self.whole + self.lower


_NONE: Final = Shown(0, 0)
_Size = Callable[[Shown], int]


class Levels(NamedTuple):
    """The levels at which rows can be shown, and which of them give way."""

    whole: Ladder
    lower: Ladder | None = None
    is_ranked: bool = False

    def allocate(self, room: float) -> Shown:
        """What there is room for by its price."""
        whole, lower = self.whole, self.lower
        if room <= 0:
            return _NONE
        if lower is None:
            return Shown(whole.within(room), 0)
        if self.is_ranked:
            best = whole.within(room)
            return Shown(best, lower.within(room - whole.cost(0, best), best))
        if not lower.has_all(room):
            return Shown(0, lower.within(room))
        best = whole.within(room)
        while best and whole.cost(0, best) + lower.cost(best, lower.count) > room:
            best -= 1
        return Shown(best, lower.count - best)

    def cost(self, shown: Shown) -> float:
        """What the rows cost."""
        lower = 0.0 if self.lower is None else self.lower.cost(shown.whole, shown.rows)
        return self.whole.cost(0, shown.whole) + lower

    def show(self, shown: Shown) -> list[Any]:
        """The rows as they are shown."""
        lower = [] if self.lower is None else self.lower.first(shown.rows)[shown.whole :]
        return self.whole.first(shown.whole) + lower

    def most_within(self, room: float, most: int, size: _Size) -> Shown | None:
        """The most that fits by its price, and whose whole size is within the most; None where nothing does."""
        shown = self.allocate(room)
        if shown.rows and size(shown) > most:
            shown = self._most_below(shown, room, most, size)
        return (self._extend(shown, most, size) if shown.rows else None) or None

    def _room_for_more(self, shown: Shown) -> float:
        """The room from which on more than this is shown; without end where this is everything."""
        whole, lower, count = self.whole, self.lower, self.whole.count
        better = whole.cost(0, shown.whole + 1) if shown.whole < count else inf
        if lower is None:
            return better + _LITTLE
        another = self.cost(shown) + lower.cost(shown.rows, shown.rows + 1) if shown.rows < count else inf
        if self.is_ranked:
            return min(better, another) + _LITTLE
        if shown.rows < count:
            return another + _LITTLE
        return better + lower.cost(min(shown.whole + 1, count), count) + _LITTLE

    def _extend(self, shown: Shown, most: int, size: _Size) -> Shown:
        """More than this, as long as there is room for more than what comes next, as where rows cost less than said."""
        while True:
            left, needed = most - size(shown), self._room_for_more(shown)
            enough = max(needed - self.cost(shown), LOOSE * most)
            if left < enough:
                return shown
            # not beyond where one row after the other would lead
            tries = (self.allocate(needed + (left - enough) / 2), self.allocate(needed))
            more = next((one for one in tries if size(one) <= most), None)
            if more is None:
                return shown
            shown = more

    def _most_below(self, too_much: Shown, room: float, most: int, size: _Size) -> Shown:
        """The most that fits of less than this."""
        enough, low, high = _NONE, 0.0, min(self.cost(too_much), room)
        over = size(too_much) - most
        guess = high - max(over, _LITTLE)  # mostly a little more is paid than the prices say
        for _ in range(60):
            if not low < guess < high:
                guess = (low + high) / 2
            tried = self.allocate(guess)
            if tried == enough:
                low = guess
            elif tried == too_much:
                high = guess
            elif (over := size(tried) - most) <= 0:
                enough, low = tried, guess
            else:
                too_much, high = tried, min(guess, self.cost(tried))
            if self.allocate(self._room_for_more(enough)) == too_much:
                break
            below = high - max(over, _LITTLE)
            guess = high - 2 * _LITTLE if over <= 0 and low + (high - low) / 2 < high - _LITTLE else below
        return enough
