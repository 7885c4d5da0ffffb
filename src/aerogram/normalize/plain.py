"""Plain: data that is JSON already, so that it need not be written and read back to become it."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

import orjson

from aerogram.normalize.survey import has_non_finite

__all__ = ["is_plain"]

_JSON: Final = frozenset((str, int, float, bool, type(None), dict, list))
_CONTAINERS: Final = frozenset((dict, list))
_OPTIONS: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_STRICT_INTEGER
)
_DEEPEST: Final = 64
_MOST_ITEMS: Final = 1_000_000


def is_plain(value: Any, limit: int) -> bool:
    """Whether a value is exactly JSON data of at most `limit` bytes; in doubt it is not.

    A subclass, a tuple, a key that is no text, NaN, a long integer, a lone surrogate, a cycle: none of them is plain.
    """
    if not _has_plain_types(value):
        return False
    try:
        body = orjson.dumps(value, option=_OPTIONS)
    except (TypeError, RecursionError):
        return False
    # orjson writes NaN and the infinities as null
    return len(body) <= limit and not (b"null" in body and has_non_finite(value, _refuse))


def _has_plain_types(value: Any) -> bool:
    """Look at the types level by level, at C speed; what is shared counts as often as it would be written."""
    level: list[Any] = [value]
    items = 0
    for _ in range(_DEEPEST):
        kinds = set(map(type, level))
        items += len(level)
        if not kinds <= _JSON or items > _MOST_ITEMS:
            return False
        if kinds.isdisjoint(_CONTAINERS):
            return True
        objects = map(dict.values, _only(level, kinds, dict))
        level = [*chain.from_iterable(objects), *chain.from_iterable(_only(level, kinds, list))]
    return False


def _only(level: list[Any], kinds: set[type], kind: type) -> list[Any]:
    if kind not in kinds:
        return []
    return level if len(kinds) == 1 else [part for part in level if type(part) is kind]


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)
