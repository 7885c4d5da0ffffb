"""The search: the richest part of some data that fits a budget once it is dressed with its account.

How large a part may be follows from how large the ones before it came out: by ever better guesses of the room that the
account leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from aerogram.reply import Reply
from aerogram.shape.account import Account
from aerogram.shape.loss import Loss, loss_between
from aerogram.shape.mold import Mold
from aerogram.shape.reduce import GOOD_FILL, Reducer

__all__ = ["Found", "Search", "emptied"]

CLOSE_FILLS: Final = (0.99,) * 3
"""What the first guesses must fill of the target to be good enough; later ones may fill less."""
ROUNDS: Final = 9
REFILLS: Final = 4
LEAST_STEP: Final = 0.5
CAUTION: Final = 0.99
"""A second guess aims a little below the target, because a third costs more than what it would add."""
SLACK: Final = 0.6
"""What pieces may cost in the whole, as a share of what they cost alone."""


class Found(NamedTuple):
    """A reduced value, what it lost, its size when dressed, and the room that it was given."""

    value: Any
    loss: Loss
    size: int
    room: float

    def beats(self, other: Found | None) -> bool:
        """Whether this one shows more: more items, or as many in more detail."""
        return other is None or (-self.loss.dropped, self.size) > (-other.loss.dropped, other.size)


@dataclass
class Search:
    """Looks for the richest part of some data."""

    data: Any
    budget: int
    measure: Callable[[Reply[Any]], int]
    reducer: Reducer
    mold: Mold

    def frame(self, account: Account) -> int:
        """The size of everything but the data."""
        return self.measure(account.dress(emptied(self.data), Loss(omitted=1), self.budget))

    def may_name_all(self, account: Account) -> bool:
        """Whether a list, item by item, might fit by its identifiers: what is certain only measuring shows."""
        room = (self.budget - self.frame(account) / 2) / SLACK  # a frame with nothing in it may have more to say
        return isinstance(self.data, list) and self.reducer.roll(self.data, self.mold).total(room) < math.inf

    def richest(self, account: Account, target: int) -> Found | None:
        """The richest part whose size, dressed with this account, is at most the target."""
        frame = self.frame(account)
        guess = _Guess(float(target - frame))
        best: Found | None = None
        for fill in (*CLOSE_FILLS, *[GOOD_FILL] * ROUNDS):
            found = self._try(account, guess.room)
            if found is None:
                break
            if found.size <= target and found.beats(best):
                best = found
            if found.size <= target and (found.loss.is_none or found.size >= fill * target):
                break
            if not guess.mend(found.size - frame, target - frame):
                break
        best = best or self._smallest(account, min(guess.high, target), target)
        return best if best is None or not best.loss.dropped else self._broader(account, best, target)

    def _try(self, account: Account, room: float) -> Found | None:
        part = self.reducer.reduce(self.data, room, self.mold) if room >= 1 else None
        if part is None:
            return None
        return self.dressed(account, part.value, room)

    def dressed(self, account: Account, value: Any, room: float = 0.0) -> Found:
        """A part and its size."""
        loss = loss_between(self.data, value)
        return Found(value, loss, self.measure(account.dress(value, loss, self.budget)), room)

    def _broader(self, account: Account, found: Found, target: int) -> Found:
        """The same, or every item by its identifier: an account without dropped items is shorter and may make room."""
        if not isinstance(self.data, list) or self.reducer.detail_first:
            return found
        room = self.reducer.price("[]") + self.reducer.roll(self.data, self.mold).total(target / SLACK)
        for _ in range(REFILLS):
            every = self._try(account, room) if room < math.inf else None
            if every is None or every.size > target or not every.beats(found):
                break
            found, room = every, room + target - every.size
        return found

    def _smallest(self, account: Account, room: float, target: int) -> Found | None:
        """When no guess fitted: something between what is too little for anything and what is too much."""
        low, high = 0.0, room
        while high - low > LEAST_STEP:
            middle = (low + high) / 2
            found = self._try(account, middle)
            if found is None:
                low = middle
            elif found.size > target:
                high = middle
            else:
                return found
        return None


def emptied(data: Any) -> Any:
    """A value of the same kind with nothing in it."""
    return type(data)() if isinstance(data, (list, dict, str)) else data


@dataclass
class _Guess:
    """The room for the data, between what was seen to fit (`low`) and what was not (`high`)."""

    room: float
    low: float = 0.0
    low_size: float = 0.0
    high: float = math.inf
    high_size: float = math.inf

    def mend(self, size: float, target: float) -> bool:
        """Learn what this room came to, and choose the next; False when there is nothing left to try."""
        if size <= target:
            self.low, self.low_size = self.room, size
        else:
            self.high, self.high_size = self.room, size
        if self.high == math.inf:
            self.room *= min(target / max(size, 1), 4)
        elif not self.low:
            self.room = self.high * min(CAUTION * target / max(size, 1), GOOD_FILL)
        else:
            share = (target - self.low_size) / max(self.high_size - self.low_size, 1)
            self.room = self.low + (self.high - self.low) * min(max(share, 0.1), 0.9)
        return self.low + 1 <= self.room <= self.high - 1
