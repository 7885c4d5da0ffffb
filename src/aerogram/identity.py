"""Identity: which member of a record identifies it, and what items are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Final

__all__ = ["id_member", "identify", "identify_all", "position_name"]

LONGEST_ID: Final = 200
POSITION: Final = "#/"
"""How the name of an item begins that has none of its own: a JSON Pointer follows, as in a URI's fragment."""
MOST_REMEMBERED: Final = 64
"""Records with more members than this are looked at anew each time."""

_ID_NAMES: Final = ("id", "_id", "uuid", "guid", "key", "slug")
_ID_ENDINGS: Final = ("_id", "Id", "ID", "_uuid", "_key")
_NAMES: Final = ("uri", "url", "path", "name", "title", "label")


def _can_identify(value: Any) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= LONGEST_ID) or type(value) is int


def _candidates(shape: tuple[str, ...], declared: tuple[str, ...]) -> tuple[str, ...]:
    """The members that may identify a record, the likeliest first."""
    members = frozenset(shape)
    foremost = [name for name in (*declared, *_ID_NAMES) if name in members]
    return tuple(
        dict.fromkeys(
            (
                *foremost,
                *(name for name in shape if name.endswith(_ID_ENDINGS)),
                *(name for name in _NAMES if name in members),
            )
        )
    )


_remembered = lru_cache(maxsize=1_024)(_candidates)


def id_member(record: Mapping[str, Any], declared: Sequence[str] = ()) -> str | None:
    """The member that identifies a record: the first declared one that can, else by the usual names for it."""
    find = _remembered if len(record) <= MOST_REMEMBERED else _candidates
    for name in find(tuple(record), tuple(declared)):
        if _can_identify(record[name]):
            return name
    return None


def identify(item: Any, declared: Sequence[str] = ()) -> str | None:
    """The identifier of an item as text, or None when it has none."""
    name = id_member(item, declared) if isinstance(item, dict) else None
    return None if name is None else str(item[name])


def position_name(position: int, place: str = "") -> str:
    """What an item without an identifier is called: by its position in the list at a place, as `#/findings/17`."""
    return f"#{place}/{position}"


def identify_all(items: Sequence[Any], first: int, declared: Sequence[str] = (), place: str = "") -> list[str | int]:
    """The identifiers of items from `first` on; one without is called by its position in the list at `place`."""
    values = _values_alike(items, first, declared)
    if values is not None:
        return values
    if _are_nameless(items, tuple(declared)):
        return [position_name(position, place) for position in range(first, len(items))]
    names = (identify(item, declared) for item in islice(items, first, None))
    return [name or position_name(position, place) for position, name in enumerate(names, start=first)]


def _values_alike(items: Sequence[Any], first: int, declared: Sequence[str]) -> list[str | int] | None:
    """What identifies the items, if the same member identifies them all.

    Most lists are alike throughout, and a hundred thousand items should not take a hundred thousand looks.
    """
    name = id_member(items[first], declared) if first < len(items) and isinstance(items[first], dict) else None
    if name is None:
        return None
    try:
        values = list(map(itemgetter(name), islice(items, first, None)))
        types = set(map(type, values))
    except (KeyError, TypeError, IndexError):
        return None
    if types == {int}:
        return values
    lengths = set(map(len, values)) if types == {str} else {0}
    return values if min(lengths) and max(lengths) <= LONGEST_ID else None


def _are_nameless(items: Sequence[Any], declared: tuple[str, ...]) -> bool:
    """Whether none of the items has a member that could identify it."""
    shapes = {tuple(item) if isinstance(item, dict) else () for item in items}
    return not any(_candidates(shape, declared) for shape in shapes)
