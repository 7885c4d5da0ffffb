"""Plain: data that is JSON already and need not be written and read back to become it, and how large it is."""

from __future__ import annotations

import dataclasses
import gc
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from gc import get_referents
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final

import orjson
import pydantic

from aerogram.content.jsontext import check_natives, dumps
from aerogram.errors import ContractError

__all__ = [
    "EndlessValue",
    "extent",
    "fewest_items",
    "has_non_finite",
    "is_open",
    "is_plain",
    "json_around",
    "plain_json",
]

_SAMPLE = 24
_MANY = 4096
_DEEPEST_LOOK = 200
_MOST = 10_000
_PLAIN = frozenset((dict, list, tuple))
_SCALARS = frozenset((str, int, float, bool, type(None)))
_USUAL = _PLAIN | _SCALARS
_BAGS = frozenset((set, frozenset, deque))
_HELD = _PLAIN | _BAGS
_members = attrgetter("__dict__")


class EndlessValue(TypeError):
    """Something that is read by asking for the next item, of which there may be any number."""


class _Openable(dict[type, bool]):
    """Whether the parts of a type's values can be seen without running their code: containers and records."""

    def __missing__(self, kind: type) -> bool:
        if len(self) >= _MOST:
            self.clear()
        record = issubclass(kind, pydantic.BaseModel) or dataclasses.is_dataclass(kind)
        found = self[kind] = kind in _PLAIN or (record and bool(kind.__dictoffset__))
        return found


_openable = _Openable()


def is_open(kind: type) -> bool:
    """Whether a survey sees into the values of a type."""
    return _openable[kind]


def extent(value: Any, limit: int, kinds: set[type] | None = None) -> int:
    """How many items and characters a value takes with every shared part repeated; past `limit`, counting stops.

    `kinds` gets the types of what the garbage collector tracks in it where there are others than those of JSON.
    """
    total = 0
    level = _containers_in((value,), kinds)
    for _ in range(_DEEPEST_LOOK):
        total += sum(map(len, level))
        if not level or total > limit:
            return total
        if len(level) > _MANY and len(set(map(id, level))) < len(level):
            return total + _weigh(level, limit - total, kinds)
        tracked, text = _split(level)
        total += text
        children = list(chain.from_iterable(map(_parts, tracked)))
        total += _text_among(children)
        level = _containers_in(children, kinds)
    raise RecursionError("too many levels")


def _weigh(level: Sequence[Any], limit: int, kinds: set[type] | None) -> int:
    """The extent of what is inside many containers of which some are the same: each is looked at once per level."""
    total = 0
    weights = Counter(map(id, level))
    parts = {id(part): part for part in level}
    for _ in range(_DEEPEST_LOOK):
        inside: Counter[int] = Counter()
        found: dict[int, Any] = {}
        for key, part in parts.items():
            children = list(_parts(part))
            total += weights[key] * _text_among(children)
            for child in _containers_in(children, kinds):
                inside[id(child)] += weights[key]
                found[id(child)] = child
        total += sum(len(part) * inside[key] for key, part in found.items())
        if not found or total > limit:
            return total
        weights, parts = inside, found
    raise RecursionError("too many levels")


def _containers_in(values: Sequence[Any], seen: set[type] | None = None) -> Sequence[Any]:
    """The containers among some values; for a record the dictionary of its fields."""
    kinds = set(map(type, values))
    if not kinds <= _USUAL:
        if seen is not None:
            seen |= kinds
        check_natives(kinds, values)
        _refuse_endless(kinds)
    open_kinds = {kind for kind in kinds if kind in _HELD or _openable[kind]}
    if not open_kinds <= _PLAIN:
        if len(kinds) == 1 and not kinds <= _BAGS:
            return list(map(_members, values))
        return [value if type(value) in _HELD else _members(value) for value in values if type(value) in open_kinds]
    if open_kinds == kinds:
        return values
    if len(open_kinds) == 1:
        (only,) = open_kinds
        return [value for value in values if value.__class__ is only]
    return [value for value in values if type(value) in open_kinds] if open_kinds else ()


def _refuse_endless(kinds: Iterable[type]) -> None:
    """Raise `EndlessValue` if there is an iterator among values of some types."""
    for kind in kinds:
        if hasattr(kind, "__next__"):
            raise EndlessValue(f"a {kind.__name__} has to be read item by item")


def fewest_items(value: Any, most_work: int = 1_000_000) -> int:
    """How many items a value has at the least, with every shared part repeated; 0 when that cannot be told.

    A value that holds itself has as many levels as one likes: nothing is said about it, nor about one that takes long.
    """
    total, weights, parts = 0, Counter({id(value): 1}), {id(value): value}
    for _ in range(_DEEPEST_LOOK):
        inside: Counter[int] = Counter()
        found: dict[int, Any] = {}
        for key, part in parts.items():
            for container in _containers_in((part,)):
                children = list(_parts(container))
                most_work -= 1 + len(children)
                if most_work < 0:
                    return 0
                total += weights[key] * len(children)
                for child in children:
                    if type(child) not in _SCALARS:
                        inside[id(child)] += weights[key]
                        found[id(child)] = child
        if not found:
            return total
        weights, parts = inside, found
    return 0


def _parts(container: Any) -> Iterable[Any]:
    return container.values() if container.__class__ is dict else container


def _text_among(values: Sequence[Any]) -> int:
    step = 1 + len(values) // _SAMPLE
    return step * sum([len(value) for value in values[::step] if value.__class__ is str])


def _split(level: Sequence[Any]) -> tuple[Sequence[Any], int]:
    """The containers to look into, and the text in the others.

    The garbage collector does not track a dictionary that holds plain values only, nor
    tuples of such, which may be large inside: where a sample shows one, everything is looked into.
    """
    tracked = list(filter(gc.is_tracked, level))
    if len(tracked) == len(level):
        return level, 0
    flat = [part for part in level if not gc.is_tracked(part)] if tracked else level
    some = flat[:: 1 + len(flat) // _SAMPLE]
    values = [value for part in some for value in islice(_parts(part), _SAMPLE)]
    if tuple in set(map(type, chain(some, values))):
        return level, 0
    text = sum([len(value) for value in values if value.__class__ is str])
    return tracked, text * sum(map(len, flat)) // max(1, len(values))


def has_non_finite(value: Any, plainer: Callable[[Any], Any]) -> bool:
    """Whether a NaN or an infinity stands anywhere in a value; `plainer` opens what is not a plain container."""
    level: list[Any] = [(value,)]
    while level:
        children = list(chain.from_iterable(map(_parts, level)))
        if [child for child in children if child.__class__ is float and child - child != 0]:
            return True
        kinds = set(map(type, children)) - _SCALARS
        level = [child for child in children if child.__class__ in _PLAIN] if kinds & _PLAIN else []
        if kinds - _PLAIN:
            others = [child for child in children if type(child) in kinds and type(child) not in _PLAIN]
            level.append(tuple(map(plainer, others)))
    return False


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
