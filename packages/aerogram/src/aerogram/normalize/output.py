"""Output: what a handler's return annotation promises, as a JSON Schema (2020-12) that its values keep."""

from __future__ import annotations

import collections.abc
import enum
import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any, NotRequired, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticOmit, core_schema
from typing_extensions import TypedDict

from aerogram.errors import ContractError
from aerogram.normalize.forms import dataclass_reader
from aerogram.normalize.models import is_model
from aerogram.normalize.policy import LEGACY, is_modern
from aerogram.normalize.registry import DEFAULT, Registry

__all__ = ["PAIR", "Output", "is_rows_of_any_length", "is_structure", "schema_of"]

_PLACE = "#/$defs/"


def schema_of(annotation: Any, registry: Registry) -> dict[str, Any] | None:
    """The schema of an annotation, its definitions kept; none when nothing can be said about it."""
    try:
        # A list takes a configuration where a dataclass or typed dictionary alone would not.
        items: Any = list[_adapt_typed_dict(annotation)]  # type: ignore[misc]  # a type that is only known at run time
        adapter: TypeAdapter[Any] = TypeAdapter(items, config=ConfigDict(arbitrary_types_allowed=True))
        generator = type("Generator", (_Generator,), {"registry": registry})
        whole = adapter.json_schema(mode="serialization", by_alias=True, schema_generator=generator)
    except (PydanticUserError, PydanticOmit, NameError, TypeError):
        return None
    return _unwrap(whole)


def _unwrap(whole: dict[str, Any]) -> dict[str, Any]:
    """The schema of the items, with the definitions that it still refers to."""
    schema, definitions = whole.get("items", {}), whole.get("$defs", {})
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].removeprefix(_PLACE)], **_without(schema, "$ref")}
    used = _references(schema, definitions)
    kept = {name: part for name, part in definitions.items() if name in used}
    return {**schema, "$defs": kept} if kept else dict(schema)


def _references(schema: Any, definitions: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        name = part.get("$ref") if isinstance(part, dict) else None
        if isinstance(name, str) and name.removeprefix(_PLACE) in definitions.keys() - found:
            found.add(name.removeprefix(_PLACE))
            waiting.append(definitions[name.removeprefix(_PLACE)])
    return found


class _Generator(GenerateJsonSchema):
    """Pydantic's schemas, changed where the normaliser's forms differ from pydantic's."""

    registry: Registry
    _has_models = False

    def generate(self, schema: CoreSchema, mode: Any = "validation") -> JsonSchemaValue:
        """Generate the whole schema; inside models pydantic writes the values, and named tuples as arrays."""
        self._has_models = _mentions_model(schema)
        return super().generate(schema, mode)

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """NaN and the infinities are written as null."""
        return {**super().float_schema(schema), "type": ["number", "null"]}

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:  # noqa: ARG002 - pydantic's signature
        """Base64, or what a model's own settings make of bytes: text in any case."""
        return {"type": "string"}

    # JSON Schema's formats ask for a zone, whole seconds and no sign, and there are clients that insist on them.

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        """Without a zone a time is no `date-time`."""
        found = super().datetime_schema(schema)
        return found if schema.get("tz_constraint") == "aware" else _in_words(found, "date and time")

    def date_schema(self, schema: core_schema.DateSchema) -> JsonSchemaValue:
        """A datetime is a date in Python."""
        return _in_words(super().date_schema(schema), "date")

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        """As with datetimes."""
        return _in_words(super().time_schema(schema), "time")

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        """It may be negative, or have parts of seconds."""
        return _in_words(super().timedelta_schema(schema), "duration")

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Of keys only what can be checked is said."""
        found = super().dict_schema(schema)
        return found if found.get("propertyNames", {}).keys() - {"description"} else _without(found, "propertyNames")

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        """Different items may have the same form, as two NaNs have."""
        return _without(super().set_schema(schema), "uniqueItems")

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchemaValue:
        """As sets."""
        return _without(super().frozenset_schema(schema), "uniqueItems")

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """Flags can be combined, so that any integer may come."""
        if issubclass(schema["cls"], enum.Flag):
            return {"type": "integer"}
        return _without_title(super().enum_schema(schema), schema["cls"])

    def named_tuple_schema(self, schema: core_schema.NamedTupleSchema) -> JsonSchemaValue:
        """A named tuple is an object; inside a model pydantic writes it as an array."""
        array = super().named_tuple_schema(schema)
        names = [field["name"] for field in schema["fields"]]
        properties = dict(zip(names, array.get("prefixItems", []), strict=True))
        named = {"type": "object", "properties": properties, "required": names}
        return {"anyOf": [named, array]} if self._has_models else named

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A subclass may add fields, and a content block may be sent as an attachment."""
        found = self._registered_schema(schema["cls"])
        return self._open(super().model_schema(schema), schema["cls"]) if found is None else found

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A subclass may add fields."""
        found = self._registered_schema(schema["cls"])
        return self._open(super().dataclass_schema(schema), schema["cls"]) if found is None else found

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """Further keys are sent as they are."""
        return self._open(super().typed_dict_schema(schema), schema.get("cls", dict))

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> JsonSchemaValue:
        """A class that pydantic does not know: its registered schema, what its fields say, or anything."""
        kind = schema["cls"]
        return self._registered_schema(kind) or _record_schema(kind, self.registry) or _shape(kind)

    def callable_schema(self, schema: core_schema.CallableSchema) -> JsonSchemaValue:  # noqa: ARG002 - as above
        """A function is sent as its name."""
        return {"type": "string"}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as above
        """Titles that repeat a name cost tokens and say nothing."""
        return False

    def _registered_schema(self, kind: type) -> JsonSchemaValue | None:
        found = self.registry.schema(kind)
        if found is not None:
            return dict(found)
        if callable(getattr(kind, "__json__", None)):  # it says its form when it is asked, not before
            return {}
        return {"type": "object"} if self.registry.forms[kind].kind == "block" else None

    def _open(self, schema: JsonSchemaValue, kind: type) -> JsonSchemaValue:
        if schema.get("additionalProperties") is False:
            schema = _without(schema, "additionalProperties")
        return _without_title(schema, kind)


def _record_schema(kind: Any, registry: Registry) -> JsonSchemaValue | None:
    """The schema of an attrs class or a msgspec struct, field by field."""
    if hasattr(kind, "__attrs_attrs__"):
        names = {field.name: field.name for field in kind.__attrs_attrs__}
    elif hasattr(kind, "__struct_fields__"):
        names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    else:
        return None
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    properties = {wire: _simple(hints.get(name, Any), registry) for name, wire in names.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _simple(annotation: Any, registry: Registry) -> JsonSchemaValue:
    """The schema of a field, unless it needs definitions, which have no place here."""
    found = schema_of(annotation, registry) or {}
    return {} if "$defs" in found else found


def _shape(kind: type) -> JsonSchemaValue:
    if kind.__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") and kind.__name__ in _TABLES:
        return {"type": "array", "items": {"type": "object"}}
    return {"type": "object"} if issubclass(kind, Mapping) or hasattr(kind, "__mapper__") else {}


_TABLES = ("DataFrame", "LazyFrame", "RecordBatch", "Table")


def _adapt_typed_dict(annotation: Any) -> Any:
    """A typed dictionary of the standard library, before Python 3.12, in the form that pydantic reads."""
    if not typing.is_typeddict(annotation) or type(annotation).__module__ != "typing":
        return annotation
    hints = typing.get_type_hints(annotation, include_extras=True)
    fields = {name: hint if name in annotation.__required_keys__ else NotRequired[hint] for name, hint in hints.items()}
    return TypedDict(annotation.__name__, fields)  # type: ignore[operator]


def _in_words(schema: JsonSchemaValue, what: str) -> JsonSchemaValue:
    """A text whose format is said to readers, and not promised to validators."""
    return {"type": "string", "description": f"ISO 8601 {what}"} if schema.get("type") == "string" else schema


def _without(schema: JsonSchemaValue, *names: str) -> JsonSchemaValue:
    return {name: part for name, part in schema.items() if name not in names}


def _without_title(schema: JsonSchemaValue, kind: type) -> JsonSchemaValue:
    return _without(schema, "title") if schema.get("title") == kind.__name__ else schema


def _mentions_model(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("type") == "model" or any(map(_mentions_model, schema.values()))
    return isinstance(schema, list) and any(map(_mentions_model, schema))


PAIR = 2  # content and structured content

_NOTHING: tuple[Any, ...] = (None, type(None), Any, object, inspect.Parameter.empty, typing.NoReturn)
_VAGUE = (list, tuple, dict, list[Any], dict[str, Any], tuple[Any, ...])  # blocks may be in it, or a result
_BINARY = (bytes, bytearray, memoryview)
_STREAMS = frozenset(
    (
        collections.abc.Iterator,
        collections.abc.Iterable,
        collections.abc.Generator,
        collections.abc.AsyncIterator,
        collections.abc.AsyncIterable,
        collections.abc.AsyncGenerator,
    )
)


@dataclass(frozen=True)
class Output:
    """The promise of a return annotation; no `schema` means that none is made.

    `is_boxed`: up to 2025-11-25 the value goes under `result`, because structured content
    must be an object there. `trusted`: the class that was annotated, when its own values are
    taken at their word. `is_rows`: a tuple of any length was annotated, so that two values are
    two rows, and no pair of content and data.
    """

    schema: dict[str, Any] | None
    is_boxed: bool = False
    trusted: type | None = None
    is_rows: bool = False

    @classmethod
    def of(cls, annotation: Any, registry: Registry = DEFAULT) -> Output:
        """Read an annotation; one that no schema can describe makes no promise."""
        declared, is_rows = _sent_type(annotation), is_rows_of_any_length(annotation)
        if _is_unstructured(declared, registry):
            return cls(None, is_rows=is_rows)
        schema = schema_of(declared, registry)
        if not schema:
            return cls(None, is_rows=is_rows)
        _check(schema)
        trusted = declared if _is_trusted(declared, registry) else None
        return cls(schema, schema.get("type") != "object", trusted, is_rows)

    def for_version(self, protocol_version: str = LEGACY) -> dict[str, Any] | None:
        """The output schema to advertise: in a box where the protocol wants an object."""
        if self.schema is None:
            return None
        if is_modern(protocol_version) or not self.is_boxed:
            return dict(self.schema)
        inner = {name: part for name, part in self.schema.items() if name != "$defs"}
        boxed = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
        return {**boxed, "$defs": self.schema["$defs"]} if "$defs" in self.schema else boxed

    def breach(self, value: Any) -> str | None:
        """Where a JSON value breaks the schema, if it does and a validator is installed to say so."""
        if self._validator is None:
            return None
        found = next(iter(self._validator.iter_errors(value)), None)
        if found is None:
            return None
        path = found.instance_path if hasattr(found, "instance_path") else found.absolute_path
        return f"/{'/'.join(map(str, path))}: {found.message[:200]}"

    @cached_property
    def _validator(self) -> Any:
        """The fast validator, or else the one that the MCP packages bring along, if there is one."""
        for package in ("jsonschema_rs", "jsonschema"):
            try:
                return importlib.import_module(package).Draft202012Validator(self.schema or {})
            except ImportError:
                continue
        return None


def _sent_type(annotation: Any) -> Any:
    """The type whose values are sent: what is awaited, the items of a stream, the second half of a pair."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (collections.abc.Awaitable, collections.abc.Coroutine):
        return _sent_type(arguments[-1])
    if origin in _STREAMS:
        return list[arguments[0]]  # type: ignore[valid-type]
    if origin is tuple and len(arguments) == PAIR and _is_structure(arguments[1]):
        return arguments[1]
    return annotation


def is_rows_of_any_length(annotation: Any) -> bool:
    """Whether an annotation is `tuple[Row, ...]`."""
    return get_origin(annotation) is tuple and get_args(annotation)[-1:] == (...,)


def _is_structure(annotation: Any) -> bool:
    origin = get_origin(annotation) or annotation
    return isinstance(origin, type) and is_structure(origin)


def is_structure(kind: type) -> bool:
    """Whether a type is a mapping or a record, so that it can be the structured half of a pair."""
    if issubclass(kind, Mapping):
        return True
    return any(hasattr(kind, mark) for mark in _RECORD_MARKS)


_RECORD_MARKS = ("__pydantic_serializer__", "__dataclass_fields__", "__attrs_attrs__", "__struct_fields__")


def _is_unstructured(annotation: Any, registry: Registry) -> bool:
    """Whether values of the annotation may be sent without structured content."""
    if any(annotation is nothing for nothing in _NOTHING) or annotation in _VAGUE or isinstance(annotation, str):
        return True
    origin = get_origin(annotation)
    if origin is collections.abc.Callable or annotation is collections.abc.Callable:
        return True
    if origin is typing.Annotated:
        return _is_unstructured(get_args(annotation)[0], registry)
    if origin in (typing.Union, types.UnionType):
        options = (option for option in get_args(annotation) if option is not type(None))
        return any(_is_unstructured(option, registry) for option in options)
    if origin in (list, tuple, collections.abc.Sequence, set, frozenset):
        return any(_is_content(item, registry) for item in get_args(annotation))
    return _is_content(annotation, registry)


def _is_content(annotation: Any, registry: Registry) -> bool:
    if get_origin(annotation) in (typing.Union, types.UnionType, list, tuple):
        return any(_is_content(option, registry) for option in get_args(annotation))
    if not isinstance(annotation, type):
        return False
    if issubclass(annotation, _BINARY) or annotation.__name__ in ("CallToolResult", "ToolResult"):
        return True
    return annotation is not object and registry.forms[annotation].kind in ("block", "odd", "exception", "awaitable")


def _is_trusted(annotation: Any, registry: Registry) -> bool:
    """Whether what is sent for the values of a class follows from the class: plain scalars, and records by field."""
    if annotation in (str, int, bool):
        return True
    if not isinstance(annotation, type) or registry.schema(annotation) is not None:
        return False
    if is_model(annotation):
        return True
    return is_dataclass(annotation) and registry.forms[annotation].convert is dataclass_reader(annotation)


def _check(schema: dict[str, Any]) -> None:
    """Refuse a schema that is none, when the tool is registered and not when it is called."""
    try:
        import jsonschema_rs
    except ImportError:
        return
    if not jsonschema_rs.meta.is_valid(schema):
        raise ContractError("the output schema is not valid JSON Schema; look at the schemas that were registered")
