"""Shrinking: one record, or one text, that is larger than its room. Every member stays; the longest give way.

What is short stays whole. Long texts are cut where a reader would stop, long lists after their first items, and each
says in its place how much is missing. The room that the short members leave is shared by the long ones alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from aerogram.jsontext import dumps
from aerogram.shape.announced import announced_in
from aerogram.shape.mold import ANYTHING, Mold
from aerogram.shape.text import clip

__all__ = ["shrink", "shrink_text"]

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
        return shrink_text(value, room, price)
    if isinstance(value, list):
        return _shrink_list(value, room, price, mold)
    return _shrink_record(value, room, price, mold, inside=inside) if isinstance(value, dict) else value


def shrink_text(text: str, room: float, price: Price) -> str:
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
    kept, spent, has_words = [], 2.0, all(isinstance(item, str) for item in items)
    for item in items:
        cost = price(dumps(item).decode() + ",")
        if spent + cost > room and len(kept) >= max(mold.fewest_items, 0):
            break
        kept.append(item)
        spent += cost
    if not kept and items:
        kept = [shrink(items[0], max(room - 4, LEAST), price, mold.item)]
    missing = len(items) - len(kept)
    return [*kept, f"… {missing} more"] if has_words and missing and mold.is_free else kept


def _shrink_map(members: dict[str, Any], room: float, price: Price) -> dict[str, Any]:
    """The first members of a map that has many."""
    kept: dict[str, Any] = {}
    left = room - price('"…":"999 more"')
    for name, value in members.items():
        left -= price(dumps({name: value}).decode())
        if left < 0:
            break
        kept[name] = value
    return {**kept, "…": f"{len(members) - len(kept)} more"}


def _shrink_record(record: dict[str, Any], room: float, price: Price, mold: Mold, *, inside: bool) -> dict[str, Any]:
    if inside and len(record) > _FEW and len(record) * LEAST > room and mold.is_free:
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
