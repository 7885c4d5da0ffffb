"""Shrinking: one record, or one text, that is larger than its room. Every member stays; the longest give way.

What is short stays whole. Long texts are cut where a reader would stop and say in their place how much is missing. Long
lists are cut after their first items, and nothing stands in for the rest, which a program would take for data:
`cuts_between` tells of them. The room that the short members leave is shared by the long ones alike. So a tree loses
its deepest branches: an object or a list inside of an object is left out where there is hardly any room for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

from aerogram.content.jsontext import dumps, pointer_of
from aerogram.shape.facts import find_announced
from aerogram.shape.loss import list_names
from aerogram.shape.mold import ANYTHING, Mold
from aerogram.shape.text import clip, shown_before
from aerogram.tokens import MOST_CHARACTERS_PER_TOKEN

__all__ = ["Cut", "cuts_between", "least_length", "shrink"]

Price = Callable[[str], float]

LEAST: Final = 12.0
"""A member that gets less room than this is shown by a mark alone."""
LEAST_NESTED: Final = 2 * LEAST
"""An object or a list inside of an object that gets less is left out."""
_FEW: Final = 8
_SHORTEST: Final = 40
"""Texts are not cut below this: names, paths and dates stay what they are."""


def shrink(value: Any, room: float, price: Price, mold: Mold = ANYTHING, *, inside: bool = False) -> Any:
    """A value that costs about as much as there is room for; what cannot be smaller stays.

    `inside` of a record, a map with many members is cut after the first of them.
    """
    if mold.keeps_whole(value) or _cost(value, room, price) <= room:
        return value
    if isinstance(value, str):
        return _shrink_text(value, room, price)
    if isinstance(value, list):
        return _shrink_list(value, room, price, mold)
    return _shrink_record(value, room, price, mold, inside=inside) if isinstance(value, dict) else value


def _cost(value: Any, room: float, price: Price) -> float:
    """What a value costs; where its beginning alone is more than there is room for, about what it costs."""
    text = dumps(value).decode()
    few = text[: 1 << int(max(room, 1) * MOST_CHARACTERS_PER_TOKEN).bit_length()]  # so that it is often the same
    if len(few) < len(text):
        cost = price(few)
        if cost > room + _FEW:  # what is cut off in the middle of a word may cost a little more than the word
            return cost * len(text) / len(few)
    return price(text)


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
        """In words."""
        counted = f"{self.shown} of {self.total}"
        if not self.steps:
            return f"{counted} {self.kind}" + (f", without {list_names(self.missing)}" if self.missing else "")
        place = " ".join(pointer_of(self.steps)[1:].split())  # in one line, whatever a member is called
        return f"{place} ({counted}{' characters' if self.kind == 'characters' else ''})"


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


def _shrink_list(items: list[Any], room: float, price: Price, mold: Mold) -> list[Any]:
    kept: list[Any] = []
    spent = 2.0
    for item in items:
        cost = price(dumps(item).decode() + ",")
        if spent + cost > room and len(kept) >= max(mold.fewest_items, 0):
            break
        kept.append(item)
        spent += cost
    if not kept and items:
        kept = [shrink(items[0], max(room - 4, LEAST), price, mold.item)]
    return kept


def _shrink_map(members: dict[str, Any], room: float, price: Price) -> dict[str, Any]:
    """The first members of a map that has many."""
    kept: dict[str, Any] = {}
    left = room
    for name, value in members.items():
        left -= price(dumps({name: value}).decode())
        if left < 0:
            break
        kept[name] = value
    return kept


def _shrink_record(record: dict[str, Any], room: float, price: Price, mold: Mold, *, inside: bool) -> dict[str, Any]:
    if inside and len(record) > _FEW and len(record) * LEAST > room and mold.takes({}):
        return _shrink_map(record, room, price)
    announced = find_announced(record)
    costs = {name: _cost({name: value}, room, price) for name, value in record.items()}
    left, shown = room, dict(record)
    for count, name in enumerate(sorted(costs, key=costs.__getitem__)):
        share = left / (len(costs) - count)
        is_nested = inside and isinstance(record[name], (dict, list)) and name not in mold.required
        if is_nested and costs[name] > share and share < LEAST_NESTED:  # or a tree would be shown down to its leaves
            del shown[name]
        elif costs[name] > share:
            is_announced = announced is not None and name == announced.member
            shown[name] = (
                _fit_announced(announced, share, price)
                if is_announced
                else shrink(
                    record[name], max(share - price(f'"{name}":,'), LEAST), price, mold.member(name), inside=True
                )
            )
            left -= min(price(dumps({name: shown[name]}).decode()), costs[name])
        else:
            left -= costs[name]
    if announced is not None and shown[announced.member] is None:
        shown.pop(announced.member)
        shown.pop(announced.type_member)
    return shown


def _fit_announced(announced: Any, room: float, price: Price) -> str | None:
    """Content of an announced type in a smaller form of that type; None where there is none that fits."""
    return next((text for text in announced.smaller() if price(dumps(text).decode()) <= room), None)
