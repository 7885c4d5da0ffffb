"""Walking: through the texts and numbers of a value, each with the name that it goes by and the place it stands at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias

from aerogram.content.jsontext import pointer_of
from aerogram.sanitize.tables import are_rows

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

    def name_after(self, item: Any, above: str) -> str:
        """What an item of a list goes by that stands after another one."""

    def columns_of(self, table: Sequence[Any] | Mapping[str, Any], above: str) -> Sequence[str]:
        """What the cells of rows go by, below a header or in a member of a mapping; nothing where there are none."""


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
    columns = mender.columns_of(value, name)
    if columns:
        return _with_items(value, [value[0], *_walk_rows(value[1:], columns, (place, 1), mender)])
    if value and all(map(_is_pair, value)):
        return _with_items(value, [_walk_pair(item, name, (place, at), mender) for at, item in enumerate(value)])
    names = (name, *(mender.name_after(item, name) for item in value[:-1]))
    return _with_items(value, [walk(item, names[at], (place, at), mender) for at, item in enumerate(value)])


def _with_items(value: list[Any] | tuple[Any, ...], items: list[Any]) -> Any:
    changed = any(new is not old for new, old in zip(items, value, strict=True))
    return type(value)(items) if changed else value


def _walk_rows(rows: Sequence[Any], columns: Sequence[str], place: Place, mender: Mender) -> list[Any]:
    """Rows of cells, each of which goes by its column."""
    return [
        _with_items(row, [walk(cell, name, (place, name), mender) for name, cell in zip(columns, row, strict=True)])
        for row in rows
    ]


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == _PAIR and isinstance(value[0], str)


def _walk_pair(pair: Any, name: str, place: Place, mender: Mender) -> Any:
    first = walk(pair[0], name, (place, 0), mender)
    second = walk(pair[1], mender.name_of_pair(pair[0], name), (place, 1), mender)
    return pair if first is pair[0] and second is pair[1] else type(pair)((first, second))


def _walk_members(members: Mapping[str, Any], above: str, place: Place, mender: Mender) -> Mapping[str, Any]:
    changed = False
    mended: dict[str, Any] = {}
    columns = mender.columns_of(members, above)
    for name, value in members.items():
        key = mender.mend(name, None, place)
        if columns and are_rows(value, len(columns)):
            new = _with_items(value, _walk_rows(value, columns, (place, key), mender))
        else:
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
