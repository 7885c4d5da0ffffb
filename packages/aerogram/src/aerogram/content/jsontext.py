"""JSON text: strict on the way in, fast on the way out, and nothing foreign before a serialiser in C unchecked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum, EnumType
from functools import cache
from gc import get_referents, is_tracked
from types import WrapperDescriptorType
from typing import Any, Final, NoReturn
from uuid import UUID

import orjson

from aerogram.errors import ContractError

_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_CONTAINERS: Final = frozenset((dict, list, tuple))
_STOCK: Final = Enum.__dict__["value"]
_ID_BITS: Final = 128
_MANY: Final = 4096
_DEEPEST: Final = 255  # orjson goes no further
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,17}")


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


_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def dumps(value: Any, *, indent: bool = False) -> bytes:
    """Plain JSON data as UTF-8 bytes; what JSON or UTF-8 cannot say is a `ContractError`."""
    try:
        return orjson.dumps(value, option=_PLAIN | orjson.OPT_INDENT_2 if indent else _PLAIN)
    except (TypeError, RecursionError) as error:
        if "64-bit" in str(error):
            return _with_large_integers(value, indent=indent)
        raise ContractError(_explain_unwritable(str(error))) from None


def part_to_json(value: Any) -> Any:
    """A part of a reply, which is a dataclass, or a tuple of parts, as JSON data without what it does not say."""
    if isinstance(value, tuple):
        return [part_to_json(one) for one in value]
    defaults = _part_defaults(type(value))  # type: ignore[arg-type]  # a class has a hash
    if defaults is None:
        return value
    held = ((name, default, getattr(value, name)) for name, default in defaults)
    return {name: part_to_json(one) for name, default, one in held if one != default}


@cache
def _part_defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...] | None:
    """The fields of a kind of part and what they are where it does not say them; None for what is no part."""
    return tuple((one.name, one.default) for one in fields(kind)) if is_dataclass(kind) else None


def dumps_unproven(value: Any) -> bytes:
    """As `dumps`, for what a stranger has put together: what orjson must not be given is a `ContractError` too."""
    try:
        check_data(value)
    except Unsound as error:
        raise ContractError(_explain_unwritable(str(error))) from None
    return dumps(value)


def _with_large_integers(value: Any, *, indent: bool) -> bytes:
    """JSON has integers of any size; orjson stops at 64 bits."""
    style: dict[str, Any] = {"indent": 2} if indent else {"separators": (",", ":")}
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **style).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(_explain_unwritable(str(error))) from None


def pointer_of(steps: Iterable[object]) -> str:
    """A JSON Pointer (RFC 6901) from its steps."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def steps_of(pointer: str) -> list[str]:
    """The steps of a JSON Pointer; `LookupError` when it is none."""
    first, *steps = pointer.split("/")
    if first:
        raise LookupError(f"{pointer[:80]!r} is no JSON Pointer")
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def is_index(step: str) -> bool:
    """Whether a step of a JSON Pointer counts: digits, without a zero that says nothing."""
    return _INDEX.fullmatch(step) is not None


def value_at(value: Any, pointer: str) -> Any:
    """What stands at a JSON Pointer; `LookupError` when nothing does."""
    for step in steps_of(pointer):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and is_index(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            raise LookupError(f"there is nothing at {pointer[:80]}")
    return value


def loads(text: str | bytes | bytearray | memoryview) -> Any:
    """Strict JSON text as Python data."""
    try:
        decoded = text if isinstance(text, str) else bytes(text).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContractError(f"the text is not UTF-8: byte {error.start} does not decode") from None
    try:
        value = STRICT.decode(decoded)
    except json.JSONDecodeError as error:
        raise ContractError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ContractError(_TOO_DEEP) from None
    except ContractError:
        raise
    except ValueError:
        raise ContractError(_TOO_LONG_NUMBER) from None
    dumps(value)  # proves depth and whole characters at C speed
    return value


def find_looseness(text: bytes) -> tuple[str, int] | None:
    """The rule that a text breaks which Python takes for JSON, or would but for its size, and the place where it does.

    None for JSON, of which repeated members are a part here, and for what nobody takes for it.
    """
    place = 0
    try:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            place = error.pos
            value = json.loads(text, parse_float=_finite, parse_constant=_no_constant)
        dumps(value)  # proves depth and whole characters
    except ContractError as error:
        return error.rule, place
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    except (ValueError, RecursionError) as error:
        return _TOO_DEEP if isinstance(error, RecursionError) else _TOO_LONG_NUMBER, place
    return None


def begins_as_json(text: str) -> bool:
    """Whether a text begins as an object or a list; white space may stand before it, and a mark of its encoding."""
    return text[:1] in ("{", "[") or text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def loads_loosely(text: str | bytes) -> tuple[Any, bool]:
    """What others may read in a text, and whether that is all that it says: of a repeated member the last one counts.

    Numbers that are no finite double are given as their digits or as Python's own. What nobody can read, and what is
    nested too deeply to be looked at, is a `ContractError`.
    """
    try:
        return loads(text), True
    except ContractError:
        decoded = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "replace")
    decoder = _LooseDecoder()
    try:
        return decoder.decode(decoded.removeprefix("\ufeff")), not decoder.has_repeated
    except json.JSONDecodeError as error:
        raise ContractError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ContractError(BOTTOMLESS) from None


class _LooseDecoder(json.JSONDecoder):
    """Reads what is only just JSON, and notes whether a member was repeated."""

    def __init__(self) -> None:
        self.has_repeated = False
        super().__init__(object_pairs_hook=self._members, parse_float=_any_float, parse_int=_any_int, strict=False)

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        self.has_repeated = self.has_repeated or len(found) != len(pairs)
        return found


_OPENING: Final = re.compile(r"[\[{]\s*+[\[{\"]")


class _Unnumbered(str):
    """A text whose lines nobody counts: an error of the decoder would, from the beginning each time."""

    __slots__ = ()

    def count(self, *_: object) -> int:
        """None."""
        return 0

    rfind = count


def find_json(text: str) -> Iterator[tuple[int, int, Any]]:
    """The objects and lists with something in them that stand in a text, each with where it begins and ends.

    Whatever cannot be read is gone on after where that was noticed, so that no part of a text is read often.
    """
    decoder, text, position = _LooseDecoder(), _Unnumbered(text), 0
    while (match := _OPENING.search(text, position)) is not None:
        start = match.start()
        try:
            data, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            position = max(error.pos, start + 1)
        except RecursionError:
            return
        else:
            yield start, position, data


def dumps_loosely(value: Any) -> bytes:
    """What `loads_loosely` has read, written as strictly as it can be."""
    try:
        return dumps(value)
    except ContractError:
        return json.dumps(value, separators=(",", ":")).encode()


def _any_float(digits: str) -> float | str:
    number = float(digits)
    return number if number - number == 0 else digits


def _any_int(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


_MOST_DIGITS = 4300
BOTTOMLESS = "nested deeper than can be looked at"
_TOO_DEEP = "nested deeper than 254 levels"
_TOO_LONG_NUMBER = "a number is too large: an integer has at most 4,300 digits, another number is a finite double"


def _explain_unwritable(reason: str) -> str:
    lowered = reason.lower()
    if "recursion" in lowered:
        return _TOO_DEEP
    if "digits" in lowered:
        return _TOO_LONG_NUMBER
    if "surrogate" in lowered or "utf-8" in lowered:
        return "a string has a lone surrogate, which UTF-8 cannot carry"
    return f"not JSON data: {reason}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ContractError(f"the key {twice!r} stands twice in one object")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        raise ContractError(_TOO_LONG_NUMBER)
    return number


def _no_constant(name: str) -> NoReturn:
    raise ContractError(f"{name} is not a JSON number")


STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
