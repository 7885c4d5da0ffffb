"""Model: what a pydantic model shows of itself, whole or field by field.

Its own serialiser decides: what is excluded stays away, and what has a serialiser of its
own is shown as that one says, or not at all. A field that has none, and that pydantic
cannot write, is given to the forms as it is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.dataclasses import is_pydantic_dataclass

from aerogram.normalize.plain import extent
from aerogram.normalize.signals import SIGNALS

__all__ = ["WithheldValue", "dump_fields", "dumper", "is_model", "weigher"]

_MOST_EXTRA = 1_000_000
_SETTINGS: dict[str, Any] = {"mode": "json", "by_alias": True, "polymorphic_serialization": True, "warnings": False}
_NOT_SCHEMAS = frozenset(("cls", "config", "default", "expected", "function", "metadata"))
_HIDING = frozenset(("serialization", "serialization_exclude", "serialization_exclude_if"))


class WithheldValue(NamedTuple):
    """A value that is not shown: only its own serialiser may write it, and that one raised."""

    value: Any
    error: BaseException


class _Field(NamedTuple):
    """`is_masked`: a serialiser or an exclusion somewhere in it has a say in what is shown."""

    name: str
    wire: str
    is_excluded: bool
    is_masked: bool


class _Layout(NamedTuple):
    """What a class says about showing its models; `is_masked` when one serialiser writes the whole."""

    is_masked: bool
    is_root: bool = False
    fields: tuple[_Field, ...] = ()
    has_masked_extra: bool = False


def is_model(kind: Any) -> bool:
    """Whether a class is a pydantic model, or a dataclass of pydantic's."""
    return issubclass(kind, BaseModel) or is_pydantic_dataclass(kind)


def dumper(kind: Any) -> Callable[[Any], Any]:
    """The function that writes the models of a class as JSON data."""
    serializer = kind.__pydantic_serializer__
    is_open_ended = getattr(kind, "model_config", {}).get("extra") == "allow"

    def dump(value: Any) -> Any:
        if is_open_ended and extent((value.__pydantic_extra__,), _MOST_EXTRA) > _MOST_EXTRA:
            raise OverflowError("its extra fields are too large")
        return serializer.to_python(value, mode="json", by_alias=True, polymorphic_serialization=True, warnings=False)

    return dump


def weigher(kind: Any) -> Callable[[Any, int], int]:
    """The function that says how large a model of a class is, before it is written."""
    if not kind.__dictoffset__:
        return lambda value, limit: extent([getattr(value, name, None) for name in kind.__pydantic_fields__], limit)

    def weigh(value: Any, limit: int) -> int:
        # the garbage collector does not track a dictionary of nothing but texts and numbers
        return extent(value, limit) if gc.is_tracked(value.__dict__) else 0

    return weigh


def dump_fields(value: Any, room: int, error: BaseException) -> Any:
    """The fields of a model that could not be written whole, because of `error`; each for its own form."""
    kind: Any = type(value)
    layout = _layout(kind)
    if layout.is_masked:
        raise error
    if layout.is_root:
        return value.root
    shown: dict[str, Any] = {}
    names = getattr(value, "model_extra", None) or {}
    extra = [_Field(name, name, is_excluded=False, is_masked=layout.has_masked_extra) for name in names]
    for field in (*layout.fields, *extra):
        part, copied = _dump_field(value, field, room)
        shown |= part
        room -= copied
    return shown


def _dump_field(value: Any, field: _Field, room: int) -> tuple[dict[str, Any], int]:
    """One field under its name on the wire, or nothing when its own rule leaves it out; and what was copied for it."""
    if field.is_excluded:
        return {}, 0
    held: Any = value
    error: BaseException = OverflowError("it is too large")
    try:
        held = getattr(value, field.name, value)  # a model made without validation may lack fields
        size = extent((held,), room)
        if size <= room:
            return value.__pydantic_serializer__.to_python(value, include={field.name}, **_SETTINGS), size
    except SIGNALS:
        raise
    except BaseException as raised:  # noqa: BLE001 - whatever it is, the other fields are shown
        error = raised
    return {field.wire: WithheldValue(held, error) if field.is_masked or held is value else held}, 0


# What the schema of a class says


@lru_cache(maxsize=1024)
def _layout(kind: Any) -> _Layout:
    """How the models of a class are shown, as its core schema says."""
    definitions: dict[str, Any] = {}
    schema = kind.__pydantic_core_schema__
    while "serialization" not in schema and schema["type"] not in ("model", "dataclass"):
        definitions |= {one["ref"]: one for one in schema.get("definitions", ())}
        schema = definitions[schema["schema_ref"]] if "schema_ref" in schema else schema["schema"]
    if "serialization" in schema:
        return _Layout(is_masked=True)
    inner = schema["schema"]
    if schema.get("root_model"):
        return _Layout(_is_masked(inner, definitions), is_root=True)
    while "fields" not in inner:
        inner = inner["schema"]
    fields = [_field(name, one, definitions) for name, one in _field_items(inner["fields"])]
    computed = [_field(one["property_name"], one, definitions) for one in inner.get("computed_fields", ())]
    return _Layout(
        is_masked=False,
        fields=(*fields, *computed),
        has_masked_extra=_is_masked(inner.get("extras_schema", {}), definitions),
    )


def _field_items(fields: Any) -> Iterable[tuple[str, Any]]:
    """Fields and their names: a model has a mapping of them, a dataclass a list."""
    return fields.items() if isinstance(fields, Mapping) else [(one["name"], one) for one in fields]


def _field(name: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> _Field:
    wire = schema.get("serialization_alias") or schema.get("alias") or name
    return _Field(name, wire, schema.get("serialization_exclude", False), _is_masked(schema, definitions))


def _is_masked(schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Whether a serialiser or an exclusion stands anywhere in a schema; models inside speak for themselves."""
    waiting, followed = [schema], set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(part, Mapping):
            if any(part.get(name) for name in _HIDING):
                return True
            if part.get("type") == "definition-ref" and part["schema_ref"] not in followed:
                followed.add(part["schema_ref"])
                waiting.append(definitions.get(part["schema_ref"]))
            if part.get("type") not in ("model", "dataclass") or not is_model(part["cls"]):
                waiting += [held for name, held in part.items() if name not in _NOT_SCHEMAS]
    return False
