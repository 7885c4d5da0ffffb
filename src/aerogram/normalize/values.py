"""Values: any Python value as JSON, proven by its bytes.

Most values go the fast way: one pass of orjson, with the forms of the registry for what
it does not know. What it refuses, or what a rule forbids, goes the careful way: a walk
that keeps the path, the ancestors and the room that is left, mends what JSON cannot
say, and notes each place it changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from aerogram.errors import ReplyError
from aerogram.normalize.forms import TEMPORAL
from aerogram.normalize.policy import Policy
from aerogram.normalize.registry import Refused
from aerogram.normalize.survey import extent, has_non_finite, is_open
from aerogram.normalize.walk import Walk
from aerogram.reply import Notice

__all__ = ["Encoded", "encode"]

_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_STRICT_INTEGER | TEMPORAL
_ORJSON_DEPTH = 254
_SCALARS = frozenset((str, int, float, bool, type(None)))


class Encoded(NamedTuple):
    """A value as JSON bytes, what was changed on the way, and the media that stood in it.

    `odd`: it has no JSON form; the bytes are then its text. `is_content`: it is a block, or
    lists that hold one.
    """

    body: bytes
    notices: tuple[Notice, ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    odd: bool = False
    is_content: bool = False


def encode(value: Any, policy: Policy) -> Encoded:
    """Write a value as JSON. A value that is too large, or that cannot even be named, raises a `ReplyError`."""
    try:
        return Encoded(_fast(value, policy))
    except ReplyError:
        raise
    except Exception:  # orjson refused, a rule did, or the value's own method raised: the walk finds out where
        return _careful(value, policy)


def _careful(value: Any, policy: Policy) -> Encoded:
    walk = Walk(policy)
    body = orjson.dumps(walk.write(value))
    walk.prove(value, body)
    return Encoded(body, tuple(walk.notices), tuple(walk.media), walk.is_odd, walk.has_listed_block)


def _fast(value: Any, policy: Policy) -> bytes:
    if type(value) in _SCALARS:
        body = _scalar(value, policy)
    elif policy.registry.overrides_native:
        raise Refused
    else:
        body = _compound(value, policy)
    if len(body) > policy.max_bytes:
        raise Refused
    return body


def _scalar(value: Any, policy: Policy) -> bytes:
    if type(value) is str and len(value) > policy.max_bytes or type(value) is float and value - value != 0:
        raise Refused
    return orjson.dumps(value, option=_OPTIONS)


def _compound(value: Any, policy: Policy) -> bytes:
    size = extent(value, policy.max_bytes)
    if size > policy.max_bytes:
        raise Refused
    body = _dumps_within(policy.max_depth, value, _Hook(policy, size))
    if b"null" in body and has_non_finite(value, _Hook(policy, size)):  # orjson writes NaN as null, and says nothing
        raise Refused
    return body


class _Hook:
    """What orjson calls for a value it does not know: its form, as long as there is room."""

    def __init__(self, policy: Policy, taken: int) -> None:
        self.forms = policy.registry.forms
        self.room = policy.max_bytes - taken

    def __call__(self, value: Any) -> Any:
        form = self.forms[type(value)]
        if form.kind != "json":
            raise Refused
        plain = form.convert(value)
        if not is_open(type(value)):
            self.room -= 1 + extent(plain, self.room)
            if self.room < 0:
                raise Refused
        return plain


# orjson stops at 254 levels: inside so many lists, a value deeper than allowed is refused.
_nests: dict[int, list[tuple[list[Any], list[Any]]]] = {}


def _dumps_within(depth: int, value: Any, hook: _Hook) -> bytes:
    """The bytes of a value of at most `depth` levels."""
    padding = _ORJSON_DEPTH - depth
    spare = _nests.setdefault(padding, [])
    outer, inner = spare.pop() if spare else _nest(padding)
    inner[0] = value
    try:
        return orjson.dumps(outer, default=hook, option=_OPTIONS)[padding:-padding]
    finally:
        inner[0] = None
        spare.append((outer, inner))


def _nest(levels: int) -> tuple[list[Any], list[Any]]:
    inner: list[Any] = [None]
    outer = inner
    for _ in range(levels - 1):
        outer = [outer]
    return outer, inner
