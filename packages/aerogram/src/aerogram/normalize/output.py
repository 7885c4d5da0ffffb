"""Output: what a handler's return annotation promises, as a schema that its values keep.

The schema and the values come from the same forms: field aliases, missing numbers and
boxes are the same in both. Where no structured content is sent there is no schema.
"""

from __future__ import annotations

import collections.abc
import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any, get_args, get_origin

from aerogram.errors import ContractError
from aerogram.normalize.forms import dataclass_reader
from aerogram.normalize.models import is_model
from aerogram.normalize.policy import LEGACY, is_modern
from aerogram.normalize.registry import DEFAULT, Registry
from aerogram.normalize.schema import schema_of

__all__ = ["PAIR", "Output", "is_rows_of_any_length", "is_structure"]

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
        declared, is_rows = _declared(annotation), is_rows_of_any_length(annotation)
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

    def holds(self, value: Any) -> bool:
        """Whether a value that is JSON data as it stands keeps the schema; in doubt it does not."""
        try:
            return self._validator is None or self._validator.is_valid(value)
        except (ValueError, TypeError, RecursionError):  # it is not JSON data after all
            return False

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


def _declared(annotation: Any) -> Any:
    """The type whose values are sent: what is awaited, the items of a stream, the second half of a pair."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (collections.abc.Awaitable, collections.abc.Coroutine):
        return _declared(arguments[-1])
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
