"""Survey: how large a value would be when written out, before anything is written.

A few lists that hold each other many times over are small in memory and endless on
paper. The survey counts containers level by level, at C speed, each as often as it
would be written. Text inside rows of plain values is measured on a sample.
"""

from __future__ import annotations

import dataclasses
import gc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from operator import length_hint
from typing import Any

import pydantic

__all__ = ["extent", "has_non_finite", "is_open"]

_SAMPLE = 48
_MANY = 4096
_DEEPEST = 200
_PLAIN = frozenset((dict, list, tuple))
_SCALARS = frozenset((str, int, float, bool, type(None)))


class _Openable(dict[type, bool]):
    """Whether the parts of a type's values can be seen without running their code: containers and records."""

    def __missing__(self, kind: type) -> bool:
        if len(self) > 10_000:
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
            return _weighed(level, limit - total) + total
        # The garbage collector does not track a dictionary that holds plain values only.
        tracked = list(filter(gc.is_tracked, level))
        if len(tracked) < len(level):
            total += _sampled([part for part in level if not gc.is_tracked(part)])
        children = list(chain.from_iterable(map(_parts, tracked)))
        total += sum(len(child) for child in children if child.__class__ is str)
        level = _opened(children)
    raise RecursionError("too many levels")


def _weighed(level: list[Any], limit: int) -> int:
    """The extent of what is inside many containers of which some are the same: each is looked at once per level."""
    total = 0
    weights = Counter(map(id, level))
    parts = {id(part): part for part in level}
    for _ in range(_DEEPEST):
        inside: Counter[int] = Counter()
        found: dict[int, Any] = {}
        for key, part in parts.items():
            children = list(_parts(part))
            total += weights[key] * sum(len(child) for child in children if child.__class__ is str)
            for child in _opened(children):
                inside[id(child)] += weights[key]
                found[id(child)] = child
        total += sum(len(part) * inside[key] for key, part in found.items())
        if not found or total > limit:
            return total
        weights, parts = inside, found
    raise RecursionError("too many levels")


def _opened(values: Iterable[Any]) -> list[Any]:
    return [
        value if value.__class__ in _PLAIN else object.__getattribute__(value, "__dict__")
        for value in values
        if _openable[type(value)]
    ]


def _parts(container: Any) -> Iterable[Any]:
    return container.values() if container.__class__ is dict else container


def _sampled(containers: Sequence[Any]) -> int:
    """The text in containers of plain values, extrapolated from some of them."""
    some = containers[:: 1 + len(containers) // _SAMPLE]
    text = sum(map(_text_in, some))
    return text * len(containers) // len(some)


def _text_in(container: Any) -> int:
    if len(container) <= _SAMPLE:
        return sum(map(length_hint, _parts(container)))
    return sum(map(length_hint, islice(_parts(container), _SAMPLE))) * len(container) // _SAMPLE


def has_non_finite(value: Any, plainer: Callable[[Any], Any]) -> bool:
    """Whether a NaN or an infinity stands anywhere in a value; `plainer` opens what is not a plain container."""
    level = [(value,)]
    while level:
        children = list(chain.from_iterable(map(_parts, level)))
        if [child for child in children if child.__class__ is float and child - child != 0]:
            return True
        level = [child for child in children if child.__class__ in _PLAIN]
        others = [child for child in children if child.__class__ not in _PLAIN and child.__class__ not in _SCALARS]
        if others:
            level.append(tuple(map(plainer, others)))
    return False
