"""Shrinking: one record, or one text, that is larger than its room. Every member stays; the longest give way.

What is short stays whole. Long texts are cut where a reader would stop, long lists after their first items, and each
says in its place how much is missing. The room that the short members leave is shared by the long ones alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from aerogram.jsontext import dumps
from aerogram.shape.facts import announced_in
from aerogram.shape.mold import ANYTHING, Mold
from aerogram.shape.text import ELLIPSIS, clip, missing_after

__all__ = ["Cut", "cuts_between", "least_length", "shrink"]

Price = Callable[[str], float]

LEAST: Final = 12.0
"""A member that gets less room than this is shown by a mark alone."""
_FEW: Final = 8
_SHORTEST: Final = 40
"""Texts are not cut below this: names, paths and dates stay what they are."""


def shrink(value: Any, room: float, price: Price, mold: Mold = ANYTHING, *, inside: bool = False) -> Any:
    """A value that costs about as much as there is room for; what cannot be smaller stays.

    `inside` of a record, a map with many members is cut after the first of them.
    """
    if mold.keeps_whole(value) or price(dumps(value).decode()) <= room:
        return value
    if isinstance(value, str):
        return _shrink_text(value, room, price)
    if isinstance(value, list):
        return _shrink_list(value, room, price, mold)
    return _shrink_record(value, room, price, mold, inside=inside) if isinstance(value, dict) else value


class Cut(NamedTuple):
    """A member that was cut: so many of its items or characters are shown, and so many there are."""

    name: str
    shown: int
    total: int
    unit: str


def cuts_between(whole: dict[str, Any], shown: dict[str, Any]) -> list[Cut]:
    """The members of a record that are shown in part, those that lost most of themselves first."""
    found = (_cut_between(name, value, shown.get(name)) for name, value in whole.items())
    return sorted((cut for cut in found if cut is not None), key=lambda cut: cut.shown / max(cut.total, 1))


def _cut_between(name: str, whole: Any, shown: Any) -> Cut | None:
    if isinstance(whole, str) and isinstance(shown, str) and shown != whole:
        return Cut(name, len(whole) - missing_after(shown), len(whole), " characters")
    if isinstance(whole, list) and isinstance(shown, list) and len(_without_mark(shown)) < len(whole):
        return Cut(name, len(_without_mark(shown)), len(whole), "")
    if isinstance(whole, dict) and isinstance(shown, dict) and ELLIPSIS in shown and ELLIPSIS not in whole:
        return Cut(name, len(shown) - 1, len(whole), "")
    return None if shown == whole else Cut(name, 0, 0, "")


def _without_mark(items: list[Any]) -> list[Any]:
    last = items[-1] if items else None
    is_mark = (isinstance(last, dict) and last.keys() == {ELLIPSIS}) or str(last).startswith(f"{ELLIPSIS} ")
    return items[:-1] if is_mark else items


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
    mark = _mark_missing(items, len(items) - len(kept))
    return [*kept, mark] if len(kept) < len(items) and mold.item.takes(mark) else kept


def _mark_missing(items: list[Any], missing: int) -> Any:
    """What stands at the end of a list that is cut; among records it is one."""
    told = f"{missing} more"
    return {ELLIPSIS: told} if all(isinstance(item, dict) for item in items) else f"{ELLIPSIS} {told}"


def _shrink_map(members: dict[str, Any], room: float, price: Price) -> dict[str, Any]:
    """The first members of a map that has many."""
    kept: dict[str, Any] = {}
    left = room - price(f'"{ELLIPSIS}":"999 more"')
    for name, value in members.items():
        left -= price(dumps({name: value}).decode())
        if left < 0:
            break
        kept[name] = value
    return {**kept, ELLIPSIS: f"{len(members) - len(kept)} more"}


def _shrink_record(record: dict[str, Any], room: float, price: Price, mold: Mold, *, inside: bool) -> dict[str, Any]:
    if inside and len(record) > _FEW and len(record) * LEAST > room and mold.takes({}):
        return _shrink_map(record, room, price)
    announced = announced_in(record)
    costs = {name: price(dumps({name: value}).decode()) for name, value in record.items()}
    left, shown = room, dict(record)
    for count, name in enumerate(sorted(costs, key=costs.__getitem__)):
        share = left / (len(costs) - count)
        if costs[name] > share:
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
