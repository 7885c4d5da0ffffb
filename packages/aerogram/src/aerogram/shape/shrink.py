"""Shrinking: one record, or one text, that is larger than its room. Every member stays; the longest give way.

What is short stays whole. Long texts are cut where a reader would stop and say in their place how much is missing. Long
lists are cut after their first items, and objects with many members after the first of these; none is emptied, for
nothing in its place would say so, and nothing stands in for the rest, which a program would take for data:
`cuts_between` tells of them. The room that the short members leave is shared by the long ones alike. So a tree loses
its deepest branches: an object or a list inside of an object is left out where there is hardly any room for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from aerogram.content.jsontext import dumps, pointer_of
from aerogram.shape.facts import find_announced
from aerogram.shape.levels import Ladder, Price
from aerogram.shape.loss import list_names
from aerogram.shape.mold import ANYTHING, Mold
from aerogram.shape.text import clip, shown_before
from aerogram.tokens import MOST_CHARACTERS_PER_TOKEN

__all__ = ["Cut", "Shrinker", "cuts_between", "least_length", "least_members", "shrink"]

LEAST: Final = 12.0
"""A member that gets less room than this is shown by a mark alone."""
LEAST_NESTED: Final = 2 * LEAST
"""An object or a list inside of an object that gets less is left out."""
TOLD: Final = 6.0
"""What the words cost that tell of a cut, such as "5 of 6 files, ": a cut that saves no more than them is none."""
_FEW: Final = 8
_SHORTEST: Final = 40
"""Texts are not cut below this: names, paths and dates stay what they are."""


def shrink(value: Any, room: float, price: Price, mold: Mold = ANYTHING, *, inside: bool = False) -> Any:
    """A value that costs about as much as there is room for; what cannot be smaller stays.

    `inside` of a record, a map with many members is cut after the first of them.
    """
    return Shrinker(value, price, mold).within(room, inside=inside)


class Cut(NamedTuple):
    """A place that was cut: so many of its items, members or characters are shown, and so many there are."""

    steps: tuple[str | int, ...]
    shown: int
    total: int
    kind: Literal["items", "members", "characters"]
    missing: tuple[str, ...] = ()
    """The names of missing members."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing in its place says so."""
        return self.kind != "characters"

    def describe(self) -> str:
        """How much of it is shown, in words."""
        counted = f"{self.shown} of {self.total}"
        if not self.steps:
            return f"{counted} {self.kind}"
        place = " ".join(pointer_of(self.steps)[1:].split())  # in one line, whatever a member is called
        return f"{counted} characters of {place}" if self.kind == "characters" else f"{counted} {place}"

    @property
    def lacks(self) -> str:
        """Which members are missing from the whole record, in words; nothing where they can only be counted."""
        named = list_names(self.missing) if self.missing and not self.steps else ""
        return f", without {named}" if named and not named.endswith((" members", " member")) else ""


def cuts_between(whole: Any, shown: Any) -> list[Cut]:
    """The places of a value that are shown in part: those that do not say so themselves first, by what they lost."""
    return sorted(_cuts(whole, shown, ()), key=lambda cut: (not cut.is_silent, cut.shown / max(cut.total, 1)))


def _cuts(whole: Any, shown: Any, steps: tuple[str | int, ...]) -> Iterator[Cut]:
    if whole is shown or whole == shown:
        return
    if isinstance(whole, str):
        count = shown_before(shown) if isinstance(shown, str) else 0
        yield Cut(steps, len(shown) if count is None else count, len(whole), "characters")
    elif isinstance(whole, list):
        held = shown if isinstance(shown, list) else []
        if len(held) < len(whole):
            yield Cut(steps, len(held), len(whole), "items")
        for at, (one, other) in enumerate(zip(whole, held, strict=False)):
            if one is not other:
                yield from _cuts(one, other, (*steps, at))
    elif isinstance(whole, dict):
        kept = shown if isinstance(shown, dict) else {}
        if len(kept) < len(whole):
            yield Cut(steps, len(kept), len(whole), "members", tuple(name for name in whole if name not in kept))
        for name in kept:
            yield from _cuts(whole[name], kept[name], (*steps, name))


def least_length(value: Any) -> int:
    """How many characters a value takes at its smallest, about."""
    if isinstance(value, dict):
        return sum(len(name) + 4 + least_length(member) for name, member in value.items())
    if isinstance(value, list):
        return 2 + (least_length(value[0]) if value else 0)
    return min(len(value), _SHORTEST) if isinstance(value, str) else len(str(value))


def least_members(record: dict[str, Any]) -> int:
    """How many characters a record takes at least that keeps its members: what is nested in it may be left out."""
    return sum(
        2 if isinstance(member, (dict, list)) else len(name) + least_length(member) for name, member in record.items()
    )


class Shrinker:
    """One value that is tried in several rooms: what is in it is written once, and its items are priced once."""

    def __init__(self, value: Any, price: Price, mold: Mold = ANYTHING) -> None:
        self._value = value
        self._price = price
        self._mold = mold
        # parts of the value live as long as it does, so each can be known by its id
        self._texts: dict[int, str] = {}
        self._ladders: dict[int, Ladder] = {}
        self._can_give_way: dict[int, bool] = {}

    def within(self, room: float, *, inside: bool = False) -> Any:
        """The value in about so much room, as `shrink` says."""
        return self._shrink(self._value, room, self._mold, inside=inside)

    def cost(self, room: float) -> float:
        """What the whole value costs; about that, where it is much more than there is room for."""
        return self._cost(self._write(self._value), room)

    def _shrink(self, value: Any, room: float, mold: Mold, *, inside: bool) -> Any:
        if mold.keeps_whole(value) or self._cost(self._write(value), room) <= room:
            return value
        if isinstance(value, str):
            return _shrink_text(value, room, self._price)
        if isinstance(value, list) and value:
            return self._shrink_list(value, room, mold)
        if not isinstance(value, dict):
            return value
        return self._shrink_record(value, room, mold, inside=inside) or self._first_member(value, mold)

    def _write(self, value: Any) -> str:
        text = self._texts.get(id(value))
        if text is None:
            text = self._texts[id(value)] = dumps(value).decode()
        return text

    def _cost(self, text: str, room: float) -> float:
        """What a text costs; where its beginning alone is more than there is room for, about what it costs."""
        few = text[: 1 << int(max(room, 1) * MOST_CHARACTERS_PER_TOKEN).bit_length()]  # so that it is often the same
        if len(few) < len(text):
            cost = self._price(few)
            if cost > room + _FEW:  # what is cut off in the middle of a word may cost a little more than the word
                return cost * len(text) / len(few)
        return self._price(text)

    def _ladder(self, value: list[Any] | dict[str, Any]) -> Ladder:
        found = self._ladders.get(id(value))
        if found is None:
            items = value if isinstance(value, list) else [{name: one} for name, one in value.items()]
            found = self._ladders[id(value)] = Ladder(items, None, self._price)
        return found

    def _shrink_list(self, items: list[Any], room: float, mold: Mold) -> list[Any]:
        if self._ladder(items).has_all(room - 2 + TOLD):
            return items
        count = max(self._ladder(items).within(room - 2), mold.fewest_items)
        kept, left = items[:count], room - 4 - self._ladder(items).cost(0, count)
        if not kept or left * 2 > room:  # the next one alone is larger than what there is for all
            another = self._shrink(items[count], max(left, LEAST), mold.item, inside=False)
            if not kept or self._price(dumps(another).decode()) <= left:
                return [*kept, another]
        return kept

    def _shrink_map(self, members: dict[str, Any], room: float) -> dict[str, Any]:
        """The first members of a map that has many."""
        ladder = self._ladder(members)
        return members if ladder.has_all(room + TOLD) else dict(islice(members.items(), ladder.within(room)))

    def _first_member(self, record: dict[str, Any], mold: Mold) -> dict[str, Any]:
        """The first member, so that what has some is not taken for what has none."""
        if not record or find_announced(record) is not None:
            return {}
        name = next(iter(record))
        return {name: self._shrink(record[name], LEAST, mold.member(name), inside=True)}

    def _has_long_members(self, record: dict[str, Any]) -> bool:
        """Whether any member could give way; of very many short ones that is to be known at once in each room."""
        found = self._can_give_way.get(id(record))
        if found is None:
            found = any(
                isinstance(one, (dict, list)) or (isinstance(one, str) and len(one) > _SHORTEST)
                for one in record.values()
            )
            self._can_give_way[id(record)] = found
        return found

    def _shrink_record(self, record: dict[str, Any], room: float, mold: Mold, *, inside: bool) -> dict[str, Any]:
        if inside and len(record) > _FEW and len(record) * LEAST > room and not mold.required:
            return self._shrink_map(record, room)
        price, announced = self._price, find_announced(record)
        if announced is None and not self._has_long_members(record):
            return record
        names = {name: self._write(name) for name in record}
        costs = {name: self._cost(f"{{{names[name]}:{self._write(value)}}}", room) for name, value in record.items()}
        left, shown = room, dict(record)
        for count, name in enumerate(sorted(costs, key=costs.__getitem__)):
            share = left / (len(costs) - count)
            is_nested = inside and isinstance(record[name], (dict, list)) and name not in mold.required
            if is_nested and costs[name] > share and share < LEAST_NESTED:
                del shown[name]  # or a tree would be shown down to its leaves
            elif costs[name] > share:
                is_announced = announced is not None and name == announced.member
                inner = max(share - price(f'"{name}":,'), LEAST)
                shown[name] = (
                    _fit_announced(announced, share, price)
                    if is_announced
                    else self._shrink(record[name], inner, mold.member(name), inside=True)
                )
                left -= min(price(dumps({name: shown[name]}).decode()), costs[name])
            else:
                left -= costs[name]
        if announced is not None and shown[announced.member] is None:
            shown.pop(announced.member)
            shown.pop(announced.type_member)
        return shown


def _shrink_text(text: str, room: float, price: Price) -> str:
    """The beginning of a text with word of how much is missing."""
    if len(text) <= _SHORTEST:
        return text
    limit = len(text)
    shown = text
    for _ in range(6):
        cost = price(dumps(shown).decode())
        if cost <= room or limit <= _SHORTEST:
            break
        limit = max(int(limit * min(room / cost, 0.95)), _SHORTEST)
        shown = clip(text, limit)
    return shown


def _fit_announced(announced: Any, room: float, price: Price) -> str | None:
    """Content of an announced type in a smaller form of that type; None where there is none that fits."""
    return next((text for text in announced.smaller() if price(dumps(text).decode()) <= room), None)
