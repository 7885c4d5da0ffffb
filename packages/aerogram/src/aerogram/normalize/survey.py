"""Survey: how large a value would be when written out, before anything is written.

A few lists that hold each other many times over are small in memory and endless on
paper. The survey counts containers level by level, at C speed, each as often as it
would be written. The length of texts is measured on a sample. A value that orjson must
not be given is noticed on the way: a container that holds one is always looked into.
"""

from __future__ import annotations

import dataclasses
import gc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Any

import pydantic

from aerogram.natives import check_natives

__all__ = ["extent", "has_non_finite", "is_open"]

_SAMPLE = 24
_MANY = 4096
_DEEPEST = 200
_MOST = 10_000
_PLAIN = frozenset((dict, list, tuple))
_SCALARS = frozenset((str, int, float, bool, type(None)))
_USUAL = _PLAIN | _SCALARS
_members = attrgetter("__dict__")


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


def extent(value: Any, limit: int) -> int:
    """How many items and characters a value takes with every shared part repeated; past `limit`, counting stops."""
    total = 0
    level = _opened((value,))
    for _ in range(_DEEPEST):
        total += sum(map(len, level))
        if not level or total > limit:
            return total
        if len(level) > _MANY and len(set(map(id, level))) < len(level):
            return total + _weighed(level, limit - total)
        tracked, text = _split(level)
        total += text
        children = list(chain.from_iterable(map(_parts, tracked)))
        total += _text_among(children)
        level = _opened(children)
    raise RecursionError("too many levels")


def _weighed(level: Sequence[Any], limit: int) -> int:
    """The extent of what is inside many containers of which some are the same: each is looked at once per level."""
    total = 0
    weights = Counter(map(id, level))
    parts = {id(part): part for part in level}
    for _ in range(_DEEPEST):
        inside: Counter[int] = Counter()
        found: dict[int, Any] = {}
        for key, part in parts.items():
            children = list(_parts(part))
            total += weights[key] * _text_among(children)
            for child in _opened(children):
                inside[id(child)] += weights[key]
                found[id(child)] = child
        total += sum(len(part) * inside[key] for key, part in found.items())
        if not found or total > limit:
            return total
        weights, parts = inside, found
    raise RecursionError("too many levels")


def _opened(values: Sequence[Any]) -> Sequence[Any]:
    """The containers among some values; for a record the dictionary of its fields."""
    kinds = set(map(type, values))
    if not kinds <= _USUAL:
        check_natives(kinds, values)
    open_kinds = {kind for kind in kinds if _openable[kind]}
    if not open_kinds <= _PLAIN:
        if len(kinds) == 1:
            return list(map(_members, values))
        return [value if type(value) in _PLAIN else _members(value) for value in values if type(value) in open_kinds]
    if open_kinds == kinds:
        return values
    if len(open_kinds) == 1:
        (only,) = open_kinds
        return [value for value in values if value.__class__ is only]
    return [value for value in values if type(value) in open_kinds] if open_kinds else ()


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
