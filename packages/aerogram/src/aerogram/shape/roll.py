"""The roll: the items of a list by their identifiers alone, called in order and only as far as there is room.

Items are priced a few at a time, as they will stand side by side; so each is counted once, and what a separator adds,
which may be less than nothing (`},{` is one token where `}` and `{` are two), is in the price.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from aerogram.identity import Names
from aerogram.jsontext import dumps
from aerogram.shape.modes import RecordType, bare
from aerogram.shape.mold import Mold, lawful

__all__ = ["Roll"]

MOST_AT_ONCE: Final = 16
SAMPLED_ITEMS: Final = 32
UNLIKELY: Final = 1.5
"""A list that a sample expects to cost so many times the room is not called to see whether it does."""


@dataclass
class Roll:
    """The first items of a list as they are named, and what so many of them cost together."""

    items: list[Any]
    price: Callable[[str], float]
    kind: RecordType | None
    names: Names
    mold: Mold
    shown: list[Any] = field(default_factory=list, init=False)
    costs: list[float] = field(default_factory=list, init=False)

    def within(self, room: float) -> int:
        """How many items fit."""
        self._call(room)
        return bisect_right(self.costs, room)

    def total(self, room: float) -> float:
        """What all items cost; infinity as soon as it is clear that they exceed the room."""
        if self._expected > room * UNLIKELY:
            return math.inf
        self._call(room)
        return math.inf if len(self.costs) < len(self.items) else self.cost(len(self.items))

    @cached_property
    def _expected(self) -> float:
        """What all items cost, by a few from all over the list."""
        few = [self._called(item) for item in self.items[:: len(self.items) // SAMPLED_ITEMS + 1]]
        return self.price(dumps(few).decode()) * len(self.items) / max(len(few), 1)

    def cost(self, count: int) -> float:
        """What the first items cost."""
        return self.costs[count - 1] if count else 0.0

    def _call(self, room: float) -> None:
        """Name and price more items, until all are there or one of them does not fit."""
        at, spent, step = len(self.costs), self.cost(len(self.costs)), 1
        while at < len(self.items) and spent <= room:
            named = self._named(at, step)
            share = self.price(dumps(named).decode()[1:-1] + ",") / len(named)
            self.shown += named
            self.costs += [spent + share * count for count in range(1, len(named) + 1)]
            at, spent, step = len(self.costs), self.costs[-1], min(step * 2, MOST_AT_ONCE)

    def _named(self, at: int, count: int) -> list[Any]:
        """So many items as they are named; those whose names are known already are not looked at again."""
        shared, known = self.shared, self._known[at : at + count]
        return [{shared: name} for name in known] or [self._called(item) for item in self.items[at : at + count]]

    @cached_property
    def shared(self) -> str | None:
        """The member that identifies the items."""
        return self.names.shared_member(self.items)

    @cached_property
    def _known(self) -> list[str | int]:
        """The names of the first items, as far as nothing else has to be shown with them."""
        return self.names.values(self.items) if self.mold.is_free else []

    def _called(self, item: Any) -> Any:
        named = bare(item, self.kind, self.shared)
        return named if self.mold.is_free else lawful(named, item, "ids_only", self.mold)
