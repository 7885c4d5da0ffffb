"""Plain: data that is JSON already, so that it need not be written and read back to become it."""

from __future__ import annotations

from collections.abc import Sequence
from gc import get_referents
from typing import Any, Final

import orjson

from aerogram.errors import ContractError
from aerogram.jsontext import dumps
from aerogram.normalize.survey import has_non_finite

__all__ = ["is_plain", "json_around", "plain_json"]

_JSON: Final = frozenset((str, int, float, bool, type(None), dict, list))
_OPTIONS: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_STRICT_INTEGER
)
_DEEPEST: Final = 64
_MOST_ITEMS: Final = 1_000_000
_FIRST_STEP: Final = 64


def is_plain(value: Any, limit: int) -> bool:
    """Whether a value is exactly JSON data of at most `limit` bytes."""
    return plain_json(value, limit) is not None


def plain_json(value: Any, limit: int) -> bytes | None:
    """The JSON of a value that is exactly JSON data of at most `limit` bytes; in doubt it is not.

    A subclass, a tuple, a key that is no text, NaN, a long integer, a lone surrogate, a cycle: none of them is plain.
    """
    if not _has_plain_types(value):
        return None
    try:
        body = orjson.dumps(value, option=_OPTIONS)
    except (TypeError, RecursionError):
        return None
    # orjson writes NaN and the infinities as null
    return None if len(body) > limit or (body.rfind(b"null") >= 0 and has_non_finite(value, _refuse)) else body


def _has_plain_types(value: Any) -> bool:
    """Look at the types level by level, at C speed; what is shared counts as often as it would be written."""
    level: Sequence[Any] = (value,)
    items = 0
    for _ in range(_DEEPEST):
        items += len(level)
        if items > _MOST_ITEMS or not _JSON.issuperset(map(type, level)):
            return False
        level = get_referents(*level) if len(level) <= _FIRST_STEP else _inside(level)
        if not level:
            return True
    return False


def _inside(level: Sequence[Any]) -> list[Any]:
    """What many lists and dictionaries hold, which is what they refer to.

    It is taken in steps that grow, so that a large list that is shared many times over is noticed early.
    """
    found: list[Any] = []
    start, step = 0, _FIRST_STEP
    while start < len(level) and len(found) <= _MOST_ITEMS:
        found += get_referents(*level[start : start + step])
        start, step = start + step, step * 2
    return found


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def json_around(body: Any, data: Any, known: bytes | None) -> bytes:
    """The JSON of a body; `data`, which stands somewhere in it, is not written again when its JSON is known."""
    if known is None:
        return dumps(body)
    if body is data:
        return known
    try:
        return dumps(_with_known(body, data, orjson.Fragment(known)))
    except ContractError:  # integers too long for orjson stand around it
        return dumps(body)


def _with_known(body: Any, data: Any, known: orjson.Fragment) -> Any:
    """The body with the JSON of the data in its place: at the top, or in a box of its own."""
    for name, part in body.items() if type(body) is dict else ():
        if part is data:
            return {**body, name: known}
        if type(part) is dict and len(part) == 1 and next(iter(part.values())) is data:
            return {**body, name: dict.fromkeys(part, known)}
    return body
