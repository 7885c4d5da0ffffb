"""Values: any Python value as JSON, proven by its bytes.

Most values go the fast way: one pass of orjson, with the forms of the registry for what
it does not know. What it refuses, or what a rule forbids, goes the careful way: a walk
that keeps the path, the ancestors and the room that is left, mends what JSON cannot
say, and notes each place it changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from aerogram.normalize.forms import Form, dataclass_reader, stored_fields
from aerogram.normalize.plain import extent, has_non_finite, is_open
from aerogram.normalize.policy import Policy
from aerogram.normalize.registry import NeedsCarefulEncoding
from aerogram.normalize.signals import SIGNALS
from aerogram.normalize.walk import Walk
from aerogram.reply import Notice

__all__ = ["EncodedValue", "encode", "encode_carefully", "encode_fast", "encode_items"]

_OPTIONS = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_STRICT_INTEGER
)
_ORJSON_DEPTH = 254
_SCALARS = frozenset((str, int, float, bool, type(None)))
_PLAIN = frozenset((dict, list, tuple))
_FEW = 32
_MOST_ASIDE = 1_000_000
_NULL = re.compile(rb"null")  # faster than `in`, which is slow on common letters
_members = attrgetter("__dict__")


class EncodedValue(NamedTuple):
    """A value as JSON bytes, what was changed on the way, and the media that stood in it.

    `odd`: it has no JSON form; the bytes are then its text. `is_content`: it is a block, or
    lists that hold one.
    """

    body: bytes
    notices: tuple[Notice, ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    odd: bool = False
    is_content: bool = False


def encode(value: Any, policy: Policy) -> EncodedValue:
    """Write a value as JSON. A value that is too large, or that cannot even be named, raises a `ReplyError`."""
    body = encode_fast(value, policy)
    return encode_carefully(value, policy) if body is None else EncodedValue(body)


def encode_fast(value: Any, policy: Policy) -> bytes | None:
    """The JSON of a value that needs no notice; none for any other."""
    try:
        body = _scalar(value, policy) if type(value) in _SCALARS else _object(value, policy)
    except SIGNALS:
        raise
    except BaseException:  # noqa: BLE001 - orjson refused, a rule did, or the value did: the walk finds out where
        return None
    return body if len(body) <= policy.max_bytes else None


def encode_carefully(value: Any, policy: Policy) -> EncodedValue:
    """The JSON of any value, with a notice for each place where it had to be changed."""
    walk = Walk(policy)
    walk.check_items(value)
    body = orjson.dumps(walk.write(value))
    walk.check_size(value, body)
    return EncodedValue(body, walk.notices, tuple(walk.media), walk.is_odd, walk.has_listed_block)


def encode_items(value: list[Any], policy: Policy) -> list[bytes] | None:
    """The items of a list that `encode` has written the fast way; none when they are many, or lists themselves."""
    if len(value) > policy.max_items or not set(map(type, value)) <= _ITEMS:
        return None
    hook = _hook(policy, 0)
    return [orjson.dumps(_own(item), default=hook, option=_OPTIONS) for item in value if item is not None]


_ITEMS = _SCALARS | {dict}


def _object(value: Any, policy: Policy) -> bytes:
    if policy.registry.overrides_native:
        raise NeedsCarefulEncoding
    if type(value) not in _PLAIN:
        value = _open(value, policy)
    if type(value) is dict and len(value) <= _FEW and _is_flat(value, policy.max_bytes // _FEW):
        return orjson.dumps(value, option=_OPTIONS)
    return _compound(value, policy)


def _open(value: Any, policy: Policy) -> Any:
    """One step into an object; one that is copied by it is weighed first."""
    form, convert, weigh = policy.registry.forms[type(value)]
    if form != "json" or (weigh is not None and weigh(value, policy.max_bytes) > policy.max_bytes):
        raise NeedsCarefulEncoding
    return convert(value)


def _is_flat(value: dict[Any, Any], longest: int) -> bool:
    """Whether a small object holds plain values only, the commonest case of all."""
    for part in value.values():
        kind = type(part)
        if kind is str:
            if len(part) > longest:
                return False
        elif kind is float:
            if part - part != 0:
                return False
        elif kind not in _SCALARS:
            return False
    return True


def _scalar(value: Any, policy: Policy) -> bytes:
    if (type(value) is str and len(value) > policy.max_bytes) or (type(value) is float and value - value != 0):
        raise NeedsCarefulEncoding
    return orjson.dumps(value, option=_OPTIONS)


def _compound(value: Any, policy: Policy) -> bytes:
    value = value if policy.registry.has_own else _unfold(value, policy)
    kinds: set[type] = set()
    size = extent(value, policy.max_bytes, kinds)
    if size > policy.max_bytes:
        raise NeedsCarefulEncoding
    body = _dumps_within(policy.max_depth, value, _hook(policy, size), kinds)
    if _NULL.search(body) and has_non_finite(value, _hook(policy, size)):  # orjson writes NaN as null and says nothing
        raise NeedsCarefulEncoding
    return body


def _unfold(value: Any, policy: Policy) -> Any:
    """A list of dataclasses, here or one level down, as a list of their fields: cheaper than a call for each."""
    if type(value) is dict and len(value) <= _FEW:
        found = {name: held for name, part in value.items() if (held := _fields(part, policy))}
        return {**value, **found} if found else value
    return _fields(value, policy) or value


def _fields(value: Any, policy: Policy) -> list[Any] | None:
    if type(value) is not list or not value:
        return None
    kind: Any = type(value[0])
    count = stored_fields(kind)
    if count is None or len(set(map(type, value))) > 1:
        return None
    if policy.registry.forms[kind].convert is not dataclass_reader(kind):  # it has words of its own, or is a failure
        return None
    held = list(map(_members, value))
    return held if set(map(len, held)) == {count} else None


def _hook(policy: Policy, taken: int) -> Callable[[Any], Any]:
    """What orjson calls for a value it does not know: its form, as long as there is room."""
    registry, room = policy.registry, policy.max_bytes - taken
    surveyed = registry.surveyed

    def plainer(value: Any) -> Any:
        nonlocal room
        kind = type(value)
        if kind in surveyed:
            return surveyed[kind](value)
        form = registry.forms[kind]
        if form.kind != "json":
            raise NeedsCarefulEncoding
        if is_open(kind) and not registry.has_own:
            surveyed[kind] = _reader(kind, form)
            return surveyed[kind](value)
        if form.weigh is not None and not is_open(kind):
            room -= form.weigh(value, room)
            if room < 0:
                raise NeedsCarefulEncoding
        plain = form.convert(value)
        room -= 1 + extent(plain, room)  # the survey has not seen what is inside
        if room < 0:
            raise NeedsCarefulEncoding
        return _own(plain) if form.weigh is None else plain  # what was weighed is made anew

    return plainer


def _reader(kind: Any, form: Form) -> Callable[[Any], Any]:
    """The form of a record that a survey sees into; what it says besides its own fields is surveyed when it is read."""
    convert = form.convert
    if form.weigh is not None:
        return convert  # a model, which writes nothing but JSON data
    count = stored_fields(kind) if convert is dataclass_reader(kind) else None

    def read(value: Any) -> Any:
        held = value.__dict__
        if len(held) == count:
            return _own(held)
        plain = convert(value)
        if extent(plain, _MOST_ASIDE) > _MOST_ASIDE:
            raise NeedsCarefulEncoding
        return _own(plain)

    return read


def _own(value: Any) -> Any:
    """The same data in containers that nobody else has.

    While orjson calls Python, another thread may change those of a handler, which orjson does not survive.
    """
    if value.__class__ is dict:
        return {name: _own(part) if part.__class__ in _PLAIN else part for name, part in value.copy().items()}
    if value.__class__ in _PLAIN:
        return [_own(part) if part.__class__ in _PLAIN else part for part in tuple(value)]
    return value


# orjson stops at 254 levels: inside so many lists, a value deeper than allowed is refused.
_nests: dict[int, list[tuple[list[Any], list[Any]]]] = {}


def _dumps_within(depth: int, value: Any, hook: Callable[[Any], Any], kinds: Collection[type]) -> bytes:
    """The bytes of a value of at most `depth` levels; orjson asks members of an Enum for their value by itself."""
    padding = _ORJSON_DEPTH - depth
    spare = _nests.get(padding) or _nests.setdefault(padding, [])
    outer, inner = spare.pop() if spare else _nest(padding)
    try:
        if not kinds:
            with suppress(TypeError):  # something in it needs a form after all
                inner[0] = value
                return orjson.dumps(outer, option=_OPTIONS)[padding:-padding]
        inner[0] = _own(value)
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
