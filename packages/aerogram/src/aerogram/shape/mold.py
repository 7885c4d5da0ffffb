"""Molds: what an advertised JSON Schema forbids to leave out or to shorten.

Only what matters for making a value smaller is read from a schema: required members, fewest items, and texts
whose wording is bound by an enum, a pattern or a format. A choice between one shape and null is that shape. Where a
schema is too clever to follow (any other choice between shapes), the value is kept whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

__all__ = ["ANYTHING", "Mold"]

_CHOICES: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "dependentSchemas", "dependentRequired"})
_ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples", "deprecated", "$defs", "$schema"})
_BOUND_TEXT: Final = frozenset({"enum", "const", "pattern", "format", "minLength", "contentEncoding"})
_BOUND_LIST: Final = frozenset({"contains", "prefixItems", "uniqueItems", "const", "enum"})
_BOUND_RECORD: Final = frozenset({"minProperties", "const", "enum"})


@dataclass(frozen=True)
class Mold:
    """One place in a schema, and the whole schema for its references."""

    schema: Mapping[str, Any]
    root: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Mapping[str, Any] | None) -> Mold:
        """The mold of a schema; without one, anything goes."""
        return cls(schema, schema)._resolve() if schema else ANYTHING

    @cached_property
    def required(self) -> frozenset[str]:
        """The members that a record must keep."""
        return frozenset(self.schema.get("required", ()))

    @cached_property
    def fewest_items(self) -> int:
        """How many items a list must keep."""
        return int(self.schema.get("minItems", 0))

    @property
    def is_free(self) -> bool:
        """Whether nothing is asked of this place."""
        return not self.schema

    def takes(self, value: Any) -> bool:
        """Whether a text or an object that nobody has described may stand here."""
        if self.is_free:
            return True
        is_object = isinstance(value, dict)
        is_open = not is_object or (not self.required and self.schema.get("additionalProperties") in (None, True, {}))
        is_of_type = self.schema.get("type") == ("object" if is_object else "string")
        return is_of_type and is_open and not self.keeps_whole(value)

    def keeps_whole(self, value: Any) -> bool:
        """Whether a value here cannot be made smaller without breaking the schema."""
        if not _CHOICES.isdisjoint(self.schema):
            return True
        bound = _BOUND_TEXT if isinstance(value, str) else _BOUND_LIST if isinstance(value, list) else _BOUND_RECORD
        return not bound.isdisjoint(self.schema)

    def member(self, name: str) -> Mold:
        """The mold of a record's member."""
        return self._at(self._properties[name]) if name in self._properties else self._others

    @cached_property
    def _properties(self) -> Mapping[str, Any]:
        properties: Mapping[str, Any] = self.schema.get("properties", {})
        return properties

    @cached_property
    def _others(self) -> Mold:
        """The mold of members that have no name in the schema, of which there may be many."""
        return self._at(self.schema.get("additionalProperties"))

    @cached_property
    def item(self) -> Mold:
        """The mold of a list's items."""
        return self._at(self.schema.get("items"))

    def _at(self, schema: Any) -> Mold:
        return Mold(schema, self.root)._resolve() if isinstance(schema, Mapping) and schema else ANYTHING

    def _resolve(self) -> Mold:
        """Follow references inside the schema, and into what may also be null; elsewhere the value is kept whole."""
        schema, kept_whole = self.schema, Mold({"allOf": ()}, self.root)
        for _ in range(20):
            reference = schema.get("$ref")
            is_reference = isinstance(reference, str)
            followed = _look_up(self.root, str(reference)) if is_reference else _besides_null(schema)
            if followed is None:
                return kept_whole if is_reference else Mold(schema, self.root)
            schema = followed
        return kept_whole


def _besides_null(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The one shape that a place may have besides null, when that is all that the schema says about shapes."""
    name = next((name for name in ("anyOf", "oneOf") if name in schema), None)
    if name is None or not schema.keys() <= _ANNOTATIONS | {name} or not isinstance(schema[name], list):
        return None
    shapes = [shape for shape in schema[name] if shape != {"type": "null"}]
    return shapes[0] if len(shapes) == 1 < len(schema[name]) and isinstance(shapes[0], Mapping) else None


def _look_up(root: Mapping[str, Any], reference: str) -> Mapping[str, Any] | None:
    """The part of a schema that a reference inside of it means."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].strip("/").split("/") if reference != "#" else ():
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


ANYTHING: Final = Mold({}, {})
