"""Promises: whether structured content is what its schema promises, as the clients of the SDK see it.

What is certain to be is found out at once, by types and members alone; jsonschema, which takes longer than most calls,
has the say about the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import NoneType
from typing import Any, Final, NamedTuple

from aerogram.content.jsontext import dumps, loads
from aerogram.shape.mold import look_up

__all__ = ["conforms", "is_broken"]

MOST_SCHEMAS: Final = 500

Check = Callable[[Any], bool]


class _Judges(NamedTuple):
    is_certain: Check
    validator: Any


def conforms(value: Any, schema: Mapping[str, Any] | None) -> bool:
    """Whether structured content is what a schema promises; nothing is what one promises that is none."""
    if schema is None:
        return True
    judges = _judges(dumps(schema))
    return judges is not None and (judges.is_certain(value) or bool(judges.validator.is_valid(value)))


def is_broken(value: Any, schema: Mapping[str, Any] | None) -> bool:
    """Whether structured content is not what a schema promises which clients can read."""
    return schema is not None and not conforms(value, schema) and _judges(dumps(schema)) is not None


@lru_cache(maxsize=MOST_SCHEMAS)
def _judges(schema: bytes) -> _Judges | None:
    """What judges by a schema, which to check takes longer than most values; None where it is none."""
    from jsonschema import SchemaError  # what the SDK brings along
    from jsonschema.validators import validator_for

    written = loads(schema)
    kind = validator_for(written)
    try:
        kind.check_schema(written)
    except SchemaError:
        return None
    return _Judges(_Checks(written).of(written), kind(written))


_TYPES: Final[Mapping[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({NoneType}),
    "object": frozenset({dict}),
    "array": frozenset({list}),
}
_READ: Final = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum"})
_SAYS_NOTHING: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "format", "$defs", "$schema"}
)


class _Checks:
    """The checks for the places of a schema; what it refers to is looked up when a value first stands there."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._referred: dict[str, Check] = {}

    def of(self, schema: Any) -> Check:
        """Whether a value is certain to be what this part promises."""
        if not isinstance(schema, Mapping):
            return _anything if schema is True else _nothing
        asked = {name for name in schema if name not in _SAYS_NOTHING and not name.startswith("x-")}
        if not asked:
            return _anything
        if asked == {"$ref"}:
            return partial(self._follow, str(schema["$ref"]))
        if asked == {"anyOf"}:
            options = [self.of(one) for one in schema["anyOf"]]
            return lambda value: any(one(value) for one in options)
        return self._make_typed(schema) if asked <= _READ else _nothing

    def _follow(self, reference: str, value: Any) -> bool:
        check = self._referred.get(reference)
        if check is None:
            check = self._referred[reference] = self.of(look_up(self._root, reference) or False)
        return check(value)

    def _make_typed(self, schema: Mapping[str, Any]) -> Check:
        said = schema.get("type", list(_TYPES))
        kinds = frozenset[type]().union(*(_TYPES[one] for one in ([said] if isinstance(said, str) else said)))
        members = {name: self.of(one) for name, one in schema.get("properties", {}).items()}
        others, item = self.of(schema.get("additionalProperties", True)), self.of(schema.get("items", True))
        required, words = frozenset(schema.get("required", ())), schema.get("enum")

        def check(value: Any) -> bool:
            kind = type(value)
            if kind not in kinds:
                return False
            if words is not None:
                return kind is str and value in words
            if kind is dict:
                return required <= value.keys() and all(members.get(name, others)(one) for name, one in value.items())
            return kind is not list or item is _anything or all(map(item, value))

        return check


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False
