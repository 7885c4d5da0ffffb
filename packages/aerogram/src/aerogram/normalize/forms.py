"""Form: how the values of one type are written as JSON, one level at a time.

A form turns a value into something plainer: text, a number, a list or a mapping whose
parts are written by their own forms. The kind says what else is to know about it.
"""

from __future__ import annotations

import array
import base64
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import hashlib
import inspect
import io
import ipaddress
import itertools
import operator
import os
import re
import types
import uuid
import zoneinfo
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, NamedTuple

import orjson
import pydantic_core
from pydantic.dataclasses import is_pydantic_dataclass

from aerogram.normalize.models import dumper, is_model, weigher

__all__ = ["Form", "Kind", "base64_text", "encode_text", "form_of", "moment", "qualified_name"]

Kind = Literal["json", "iterator", "awaitable", "block", "exception", "odd"]


class Form(NamedTuple):
    """`convert` makes the value plainer.

    Of the kinds only `json` is pure; an `iterator` can be read once, an `awaitable` not
    at all, a `block` is content, an `exception` a failure, and an `odd` value has only a name.
    `weigh`: converting copies all that is inside, so that its size has to be known before;
    it takes the value and the size at which to stop counting.
    """

    kind: Kind
    convert: Callable[[Any], Any]
    weigh: Callable[[Any, int], int] | None = None


_MINUTE = dt.timedelta(minutes=1)
_ZONES = frozenset((type(None), dt.timezone, zoneinfo.ZoneInfo))
_ENDLESS = 1_000_000
_LONGEST_LINE = 2**20
_LONG = 4096  # bits of an integer
_DEEPEST_OUTLINE = 4
_LONGEST_OUTLINE = 500


def qualified_name(kind: type) -> str:
    """The name people know a type by: `package.module.Class`, without `builtins`."""
    module, name = type.__getattribute__(kind, "__module__"), type.__getattribute__(kind, "__qualname__")
    return str(name) if module == "builtins" else f"{module}.{name}"


def encode_text(text: str) -> str:
    """The text as UTF-8 can carry it: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def base64_text(value: bytes | bytearray | memoryview) -> str:
    """Bytes as standard base64; a view of every other byte, say, is put together first."""
    held = value if not isinstance(value, memoryview) or value.c_contiguous else value.tobytes()
    return base64.b64encode(held).decode("ascii")


def base64_size(value: bytes | bytearray | memoryview, _: int = 0) -> int:
    """How long the base64 of some bytes is."""
    return (memoryview(value).nbytes + 2) // 3 * 4


def moment(value: Any) -> str:
    """A datetime, a date or a time in ISO 8601, with `Z` for UTC.

    Zones other than Python's own are asked for their offset here: orjson would take whatever they say for one. For an
    offset with seconds, as places had before there were zones, JSON has no form: the same moment is told in UTC.
    """
    if type(value) is not dt.datetime:
        return re.sub(r"\+00:00$", "Z", value.isoformat())
    offset = value.utcoffset() if value.tzinfo is not None else None
    if offset is not None and offset % _MINUTE:
        try:
            value = (value.replace(tzinfo=None) - offset).replace(tzinfo=dt.UTC)
        except OverflowError:  # beyond the first or the last day that Python knows
            return str(value.isoformat())
    elif type(value.tzinfo) not in _ZONES:
        value = value.replace(tzinfo=None if offset is None else dt.timezone(offset))
    return orjson.dumps(value, option=orjson.OPT_UTC_Z)[1:-1].decode()


def _duration(value: dt.timedelta) -> str:
    return str(pydantic_core.to_jsonable_python(dt.timedelta(value.days, value.seconds, value.microseconds)))


def bounded_list(value: Iterable[Any]) -> list[Any]:
    """The items of a container that may have no end: its class is not ours to trust."""
    items = list(itertools.islice(value, _ENDLESS + 1))
    if len(items) > _ENDLESS:
        raise OverflowError(f"it has more than {_ENDLESS:,} items")
    return items


def _fraction(value: fractions.Fraction) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python writes: hexadecimal, as an integer of that size
        return f"{value.numerator:#x}/{value.denominator:#x}"


def _sorted_set(value: Collection[Any]) -> list[Any]:
    """Numbers by size, text by code point, anything else by type and by an outline of its JSON text."""
    kinds = set(map(type, value))
    if kinds <= {int, bool} or kinds == {str}:
        return sorted(value)
    return sorted(value, key=_sort_key) if len(value) > 1 else list(value)


def _sort_key(value: Any) -> tuple[str, float, str]:
    if type(value) in (int, float, bool) and value - value == 0:
        return ("", value, "")
    return (qualified_name(type(value)), 0, _outline(value, {}, 0))


def _outline(value: Any, known: dict[int, tuple[str, Any]], depth: int) -> str:
    """What values in a set are sorted by: their text when it is short; each part is looked at once."""
    if type(value) is str:
        return value
    if id(value) in known:
        return known[id(value)][0]
    if depth >= _DEEPEST_OUTLINE:
        return qualified_name(type(value))
    parts = [_outline(part, known, depth + 1) for part in _outline_parts(value)]
    text = ",".join(sorted(parts) if isinstance(value, AbstractSet) else parts)
    if len(text) > _LONGEST_OUTLINE:
        text = text[:_LONGEST_OUTLINE] + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    known[id(value)] = (text, value)  # held, so that its identity stays its own
    return text


def _outline_parts(value: Any) -> Iterable[Any]:
    """The parts that make up the outline of a value."""
    if type(value) in (list, tuple) or isinstance(value, AbstractSet):
        return bounded_list(value)
    if type(value) is dict:
        return itertools.chain.from_iterable(value.items())
    if type(value) is int:
        return (hex(value),) if value.bit_length() > _LONG else (str(value),)
    form = form_of(type(value))
    if form is None:
        return (str(value),)
    return (form.convert(value),) if form.kind in ("json", "odd") else (qualified_name(type(value)),)


def _set_size(value: Collection[Any], _: int) -> int:
    """What sorting costs counts as room, for it takes time: much, unless all are texts or numbers."""
    return len(value) * (2 if set(map(type, value)) <= {str, int, float, bool, type(None)} else 64)


def _zone(value: dt.tzinfo) -> str:
    return str(value.tzname(None) or value)


_EXACT: dict[type, Callable[[Any], Any]] = {
    bytes: base64_text,
    bytearray: base64_text,
    memoryview: base64_text,
    decimal.Decimal: str,
    fractions.Fraction: _fraction,
    complex: pydantic_core.to_jsonable_python,
    dt.timezone: _zone,
    zoneinfo.ZoneInfo: str,
    types.SimpleNamespace: vars,
    types.MappingProxyType: dict,
    array.array: operator.methodcaller("tolist"),
    collections.UserString: str,
    re.Pattern: operator.attrgetter("pattern"),
    re.Match: operator.methodcaller("group"),
}

_WEIGHTS: dict[type, Callable[[Any, int], int]] = {
    bytes: base64_size,
    bytearray: base64_size,
    memoryview: base64_size,
    array.array: lambda value, _: 2 * len(value),
}

# In order: the first base that fits gives the form of a subclass.
_BASES: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (enum.Enum, operator.attrgetter("value")),
    (bytes, base64_text),
    (bytearray, base64_text),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, lambda value: pydantic_core.to_jsonable_python(complex(value))),
    (decimal.Decimal, str),
    (fractions.Fraction, _fraction),
    ((dt.datetime, dt.date, dt.time), moment),
    (dt.timedelta, _duration),
    (dt.tzinfo, _zone),
    (uuid.UUID, str),
    (os.PathLike, os.fspath),
    (
        (
            ipaddress.IPv4Address,
            ipaddress.IPv6Address,
            ipaddress.IPv4Network,
            ipaddress.IPv6Network,
            ipaddress.IPv4Interface,
            ipaddress.IPv6Interface,
        ),
        str,
    ),
    (collections.UserString, str),
)

_CONTAINERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (dict, lambda value: dict(bounded_list(value.items()))),
    (Mapping, lambda value: {key: value[key] for key in bounded_list(value)}),
    ((list, tuple, collections.deque, array.array), bounded_list),
    ((collections.abc.KeysView, collections.abc.ItemsView, collections.abc.ValuesView), bounded_list),
    (AbstractSet, lambda value: _sorted_set(bounded_list(value))),
    (Sequence, bounded_list),
)

_HOOKS = ("to_dict", "as_dict", "_asdict", "asdict", "to_json_dict")


def form_of(kind: type) -> Form | None:
    """The form of a type of the standard library, of a record, or of a class that says its own; else none."""
    if kind in _EXACT:
        return Form("json", _EXACT[kind], _WEIGHTS.get(kind))
    if issubclass(kind, BaseException):  # before anything else that it may be: its text may say what is secret
        return Form("exception", str)
    return (
        _own_form(kind)
        or _record(kind)
        or _by_base(kind, _BASES)
        or _container(kind)
        or _hook_form(kind)
        or _live(kind)
    )


def _by_base(kind: type, table: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...]) -> Form | None:
    for bases, convert in table:
        if issubclass(kind, bases):
            return Form("json", convert, base64_size if convert is base64_text else None)
    return None


def _own_form(kind: type) -> Form | None:
    return Form("json", operator.methodcaller("__json__")) if callable(getattr(kind, "__json__", None)) else None


def _hook_form(kind: type) -> Form | None:
    for name in _HOOKS:
        if inspect.isroutine(getattr(kind, name, None)):
            return Form("json", operator.methodcaller(name))
    return None


def _container(kind: type) -> Form | None:
    if kind in (set, frozenset):
        return Form("json", _sorted_set, _set_size)
    return None if issubclass(kind, (Iterator, range)) else _by_base(kind, _CONTAINERS)


def _live(kind: type) -> Form | None:
    """Things that run, and things that are code."""
    if issubclass(kind, (collections.abc.Awaitable, collections.abc.AsyncIterable)):
        return Form("awaitable", str)
    if issubclass(kind, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return Form("odd", lambda value: f"{value.__module__}.{value.__qualname__}".removeprefix("builtins."))
    if issubclass(kind, types.ModuleType):
        return Form("odd", operator.attrgetter("__name__"))
    if issubclass(kind, io.IOBase):
        return Form("iterator", _lines)
    if issubclass(kind, collections.abc.Iterable):
        return Form("iterator", iter)
    return None


def _lines(file: Any) -> Iterator[Any]:
    """The lines of a file; one without an end, as of a device, is refused."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) >= _LONGEST_LINE:
            raise OverflowError(f"a line has more than {_LONGEST_LINE:,} characters")
        yield line


# Records: classes that declare their fields.


def _record(kind: Any) -> Form | None:
    if is_model(kind):
        return Form("json", dumper(kind), weigher(kind))
    convert = _field_reader(kind)
    if convert is not None:
        return Form("json", convert)
    is_of_pydantic = kind.__module__.partition(".")[0] in ("pydantic", "pydantic_core")
    if is_of_pydantic and kind.__str__ is not object.__str__ and not hasattr(kind, "__next__"):
        return Form("json", str)  # SecretStr and the URLs: their str is what they show
    return None


def _field_reader(kind: Any) -> Callable[[Any], Any] | None:
    """A reader of the fields that a class declares, in the way of one of the packages for it."""
    if hasattr(kind, "__dataclass_fields__"):
        return dataclass_reader(kind)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return functools.partial(_named_tuple, kind._fields)
    if hasattr(kind, "__attrs_attrs__"):
        return _attributes({field.name: field.name for field in kind.__attrs_attrs__})
    if hasattr(kind, "__struct_encode_fields__"):
        return _attributes(dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)))
    return None


def _named_tuple(names: tuple[str, ...], value: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, value, strict=True))


def _attributes(names: Mapping[str, str]) -> Callable[[Any], dict[str, Any]]:
    """A reader of the attributes that the names on the wire stand for."""

    def convert(value: Any) -> dict[str, Any]:
        return {name: getattr(value, attribute) for name, attribute in names.items()}

    return convert


@functools.lru_cache(maxsize=4096)
def dataclass_reader(kind: Any) -> Callable[[Any], dict[str, Any]]:
    """A reader of the fields of a dataclass; while it is remembered, the same one for the same class."""
    by_name = _attributes({field.name: field.name for field in dataclasses.fields(kind)})
    count = stored_fields(kind)
    if count is None:
        return by_name

    def convert(value: Any) -> dict[str, Any]:
        held: dict[str, Any] = value.__dict__
        return held if len(held) == count else by_name(value)

    return convert


@functools.lru_cache(maxsize=4096)
def stored_fields(kind: Any) -> int | None:
    """How many fields a dataclass has, if an instance keeps just them in its dictionary, under their own names."""
    if not kind.__dictoffset__ or is_pydantic_dataclass(kind) or not dataclasses.is_dataclass(kind):
        return None
    fields = dataclasses.fields(kind)
    hidden = [f for f in fields if not f.init or hasattr(inspect.getattr_static(kind, f.name, None), "__set__")]
    return None if hidden or not fields else len(fields)
