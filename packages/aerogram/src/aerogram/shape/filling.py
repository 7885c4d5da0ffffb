"""Filling: what rows in less detail lack, put into them as far as there is room left.

First come short members, a column for all of these rows or for none. Then what is long has equal shares of the room:
what needs less than its share is whole and leaves more to the others, and a text, a list or an object that needs more
is cut as those of a record are. Where shares would be too small to read, only the first have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from aerogram.content.jsontext import dumps
from aerogram.shape.facts import find_announced
from aerogram.shape.levels import Price
from aerogram.shape.mold import Mold
from aerogram.shape.shrink import Shrinker

__all__ = ["LEAST_SHARE", "Filling", "Want", "share"]

SHORT: Final = 200
"""A column is short where no member has more characters, as a text in a preview."""
LEAST_SHARE: Final = 48.0
"""What is long and would get less than this stays as it is shown."""
LOOSE: Final = 1.1
"""By so much may what is cut to a share be larger."""


class _Gap(NamedTuple):
    """A member of the row at a place, of which nothing is shown, or a part that is `held` characters long.

    What is cut of a row that is no record has no name.
    """

    at: int
    name: str
    value: Any
    held: int


class Want(NamedTuple):
    """A value that is to have a share; what its name costs, and the length that makes it worth it, if it is to be."""

    shrinker: Shrinker
    name: float = 0.0
    least: int | None = None


def share(wants: Sequence[Want], room: float, price: Price) -> Iterator[tuple[int, Any]]:
    """Values by their places, whole or cut to equal shares of the room; what one leaves is for the others."""
    costs = [want.shrinker.cost(room) + want.name for want in wants]
    for count, at in enumerate(sorted(range(len(wants)), key=costs.__getitem__)):
        shrinker, name, least = wants[at]
        most = room / (len(wants) - count)
        part = shrinker.within(most - name)
        written = dumps(part).decode()
        cost = price(written) + name
        if least is None or (len(written) > least and cost <= most * LOOSE):
            room -= cost
            yield at, part


class Filling:
    """What rows lack as they are `shown`."""

    def __init__(self, rows: Sequence[Any], shown: Sequence[Any], price: Price, mold: Mold) -> None:
        self._rows = rows
        self._shown = shown
        self._price = price
        self._mold = mold

    def within(self, room: float) -> list[Any]:
        """The rows as they are shown, with as much of what they lack as takes about so much room."""
        found: dict[int, dict[str, Any]] = {}
        for cost, column in self._short:
            if cost <= room:
                room -= cost
                for gap in column:
                    found.setdefault(gap.at, {})[gap.name] = gap.value
        few = self._long[: max(int(room / LEAST_SHARE), 0)]
        for at, part in share([want for _, want in few], room, self._price):
            gap = few[at][0]
            found.setdefault(gap.at, {})[gap.name] = part
        pairs = zip(self._rows, self._shown, strict=True)
        return [_in_order(row, one, found.get(at)) for at, (row, one) in enumerate(pairs)]

    @cached_property
    def _columns(self) -> dict[str, list[_Gap]]:
        columns: dict[str, list[_Gap]] = {}
        for at, (row, shown) in enumerate(zip(self._rows, self._shown, strict=True)):
            for gap in _gaps(at, row, shown):
                columns.setdefault(gap.name, []).append(gap)
        return columns

    @cached_property
    def _short(self) -> list[tuple[float, list[_Gap]]]:
        """Short columns and what they cost, the cheapest first."""
        found = []
        for name, column in self._columns.items():
            if all(len(dumps(gap.value)) <= SHORT for gap in column):
                cells = b",".join(dumps({name: gap.value}) for gap in column)
                found.append((self._price(cells.decode()), column))
        return sorted(found, key=lambda one: one[0])

    @cached_property
    def _long(self) -> list[tuple[_Gap, Want]]:
        """What is long, row by row."""
        short = {id(column) for _, column in self._short}
        gaps = [gap for column in self._columns.values() if id(column) not in short for gap in column]
        return [(gap, self._want(gap)) for gap in sorted(gaps, key=lambda gap: gap.at)]

    def _want(self, gap: _Gap) -> Want:
        mold = self._mold.member(gap.name) if gap.name else self._mold
        return Want(Shrinker(gap.value, self._price, mold), self._price(f'"{gap.name}":,'), gap.held)


def _gaps(at: int, row: Any, shown: Any) -> Iterator[_Gap]:
    if not isinstance(row, dict):
        if row != shown:
            yield _Gap(at, "", row, len(dumps(shown)))
        return
    announced = find_announced(row)
    kept = () if announced is None else (announced.type_member, announced.member)  # a half of it is of no type
    for name, value in row.items():
        if name not in kept and (name not in shown or shown[name] != value):
            yield _Gap(at, name, value, len(dumps(shown[name])) if name in shown else 0)


def _in_order(row: Any, shown: Any, more: dict[str, Any] | None) -> Any:
    """What is shown of a row with more of its members, in its own order."""
    if more is None:
        return shown
    if not isinstance(row, dict):
        return more[""]
    held = {**shown, **more}
    return {name: held[name] for name in (*row, *shown) if name in held}
