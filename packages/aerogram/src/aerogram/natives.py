"""Natives: the values that orjson writes by itself although they are objects, by reading what is inside of them.

It does not look at what it reads: an enum whose `value` raises, or is made anew each time it is asked for, and a UUID
that was never filled end the process or print its memory. No option of orjson keeps it from them, so they are looked
at before. Dates and times have such an option; with it they are written elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, EnumType
from gc import get_referents, is_tracked
from types import WrapperDescriptorType
from typing import Any, Final
from uuid import UUID

__all__ = ["Unsound", "check_data", "check_natives"]

_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_CONTAINERS: Final = frozenset((dict, list, tuple))
_STOCK: Final = Enum.__dict__["value"]
_ID_BITS: Final = 128
_MANY: Final = 4096
_DEEPEST: Final = 255  # orjson goes no further


class Unsound(TypeError):
    """A value that orjson must not be given, because it would take what is inside for something else."""


def check_data(value: Any) -> None:
    """Raise `Unsound` if a value that ought to be JSON data holds something that orjson must not be given.

    A container that the garbage collector does not track holds no objects. Of many, those that stand in several
    places are looked into once.
    """
    level: Sequence[Any] = (value,)
    for _ in range(_DEEPEST):
        tracked = list(filter(is_tracked, level))
        kinds = set(map(type, tracked))
        if not kinds <= _CONTAINERS:
            check_natives(kinds, tracked)
            tracked = [one for one in tracked if type(one) in _CONTAINERS]
        if not tracked:
            return
        if len(tracked) > _MANY:
            tracked = list({id(one): one for one in tracked}.values())
        level = get_referents(*tracked)


def check_natives(kinds: Iterable[type], values: Iterable[Any]) -> None:
    """Raise `Unsound` if one of some values, whose types these are, is a native that is not what it should be."""
    for kind in kinds:
        if kind is UUID:
            is_sound = all(_is_sound_id(one) for one in values if type(one) is UUID)
        elif type(kind) is EnumType:
            is_sound = _is_stock(kind) and all(_is_sound_member(one) for one in values if type(one) is kind)
        else:
            continue
        if not is_sound:
            raise Unsound(f"Type is not JSON serializable: {kind.__name__}")


def _is_sound_id(value: UUID) -> bool:
    number = getattr(value, "int", None)
    return type(number) is int and number >= 0 and number.bit_length() <= _ID_BITS


def _is_stock(kind: type) -> bool:
    """Whether the value of a member is the one it was made with, and nothing that its class works out."""
    found = [vars(base)["value"] for base in kind.__mro__ if "value" in vars(base)]
    is_worked_out = any("_value_" in vars(base) for base in kind.__mro__)
    return found[0] is _STOCK and not is_worked_out and type(kind.__getattribute__) is WrapperDescriptorType


def _is_sound_member(value: Enum) -> bool:
    """Whether a member of a stock class has a plain value; any other is for the forms to write."""
    return type(vars(value).get("_value_", value)) in _SCALARS
