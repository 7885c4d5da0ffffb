"""Walking: through the texts and numbers of a value, each with the name that it goes by and the place it stands at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias

from aerogram.content.jsontext import pointer_of

__all__ = ["Mender", "Place", "pointer_to", "walk"]

Place: TypeAlias = tuple[Any, str | int] | None
"""Where a value stands, as the place of its parent and the last step; written out only when it is told."""
_PAIR = 2


class Mender(Protocol):
    """What makes of a text or a number what is sent."""

    def mend(self, value: Any, name: str | None, place: Place) -> Any:
        """The value as it is sent; its name is None where it is a member's name itself."""

    def name_of(self, member: str, members: Mapping[str, Any], above: str) -> str:
        """What the value of a member goes by; `above` is what the mapping itself goes by."""

    def name_of_pair(self, first: str, above: str) -> str:
        """What the second item of a pair goes by, in a list of nothing but pairs."""


def walk(value: Any, name: str, place: Place, mender: Mender) -> Any:
    """The value with its texts and numbers mended; the same object where nothing changed."""
    if isinstance(value, (str, int, float)):
        return mender.mend(value, name, place)
    if isinstance(value, Mapping):
        return _walk_members(value, name, place, mender)
    if isinstance(value, (list, tuple)):
        return _walk_items(value, name, place, mender)
    if is_dataclass(value) and not isinstance(value, type):
        held = {one.name: getattr(value, one.name) for one in fields(value)}
        mended = _walk_members(held, name, place, mender)
        return value if mended is held else replace(value, **mended)
    return value


def _walk_items(value: list[Any] | tuple[Any, ...], name: str, place: Place, mender: Mender) -> Any:
    if value and all(map(_is_pair, value)):
        items = [_walk_pair(item, name, (place, index), mender) for index, item in enumerate(value)]
    else:
        items = [walk(item, name, (place, index), mender) for index, item in enumerate(value)]
    changed = any(new is not old for new, old in zip(items, value, strict=True))
    return type(value)(items) if changed else value


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == _PAIR and isinstance(value[0], str)


def _walk_pair(pair: Any, name: str, place: Place, mender: Mender) -> Any:
    first = walk(pair[0], name, (place, 0), mender)
    second = walk(pair[1], mender.name_of_pair(pair[0], name), (place, 1), mender)
    return pair if first is pair[0] and second is pair[1] else type(pair)((first, second))


def _walk_members(members: Mapping[str, Any], above: str, place: Place, mender: Mender) -> Mapping[str, Any]:
    changed = False
    mended: dict[str, Any] = {}
    for name, value in members.items():
        key = mender.mend(name, None, place)
        new = walk(value, mender.name_of(name, members, above), (place, key), mender)
        changed = changed or new is not value or key is not name
        # two names that became one would lose a value
        mended[key if key not in mended else f"{key} {len(mended)}"] = new
    return mended if changed else members


def pointer_to(place: Place) -> str:
    """The JSON Pointer of a place."""
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return pointer_of(reversed(steps))
