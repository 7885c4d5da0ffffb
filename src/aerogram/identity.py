"""Identity: which member of a record identifies it, and what items are called."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

__all__ = ["id_member", "identify", "identify_all"]

LONGEST_ID: Final = 200

_ID_NAMES: Final = ("id", "_id", "uuid", "guid", "key", "slug")
_ID_ENDINGS: Final = ("_id", "Id", "ID", "_uuid", "_key")
_NAMES: Final = ("uri", "url", "path", "name", "title", "label")


def _can_identify(value: Any) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= LONGEST_ID) or type(value) is int


def id_member(record: Mapping[str, Any], declared: Sequence[str] = ()) -> str | None:
    """The member that identifies a record: the first declared one that can, else by the usual names for it."""
    for name in (*declared, *_ID_NAMES):
        if _can_identify(record.get(name)):
            return name
    for name, value in record.items():
        if name.endswith(_ID_ENDINGS) and _can_identify(value):
            return name
    return next((name for name in _NAMES if _can_identify(record.get(name))), None)


def identify(item: Any, declared: Sequence[str] = ()) -> str | None:
    """The identifier of an item as text, or None when it has none."""
    name = id_member(item, declared) if isinstance(item, dict) else None
    return None if name is None else str(item[name])


def identify_all(items: Sequence[Any], first: int, declared: Sequence[str] = ()) -> list[str | int]:
    """The identifiers of items counted from `first`; one without is named by its position, as `#17`."""
    name = id_member(items[0], declared) if items and isinstance(items[0], dict) else None
    if name is not None:
        # most lists are alike throughout, and a hundred thousand items should not take a hundred thousand looks
        with contextlib.suppress(KeyError, TypeError, IndexError):
            values = list(map(itemgetter(name), items))
            if set(map(type, values)) <= {int, str}:
                return values
    return [identify(item, declared) or f"#{position}" for position, item in enumerate(items, start=first)]
