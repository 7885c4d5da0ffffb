"""Sparse schemas: what a JSON Schema still promises of values that may be shortened.

A record may lack any member, a text may be the beginning of one, a list may be the beginning of one. What is there
keeps its type, and numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SCHEMAS", "Sparse"]

SCHEMAS: Final = "#/components/schemas/"
_PREFIX: Final = "sparse."
_BROKEN: Final = frozenset(
    {
        "required", "minProperties", "additionalProperties", "unevaluatedProperties", "dependentRequired",
        "minItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
        "minLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema",
        "not", "if", "then", "else", "dependentSchemas", "discriminator", "default", "example", "examples",
    }
)  # fmt: skip
"""What shortening can break, or what would speak of whole values."""
_SAMPLES: Final = frozenset({"const", "enum"})
_LISTS: Final = frozenset({"anyOf", "allOf", "prefixItems"})
_MAPS: Final = frozenset({"properties", "patternProperties", "$defs"})
_ONES: Final = frozenset({"items", "propertyNames"})


class Sparse:
    """The sparse versions of schemas, beside the whole ones among the components of a document."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def of(self, schema: Any) -> Any:
        """What a schema says of values that may be shortened."""
        if not isinstance(schema, Mapping):
            return schema
        found = {name: self._part(name, part) for name, part in schema.items() if name not in _BROKEN | _SAMPLES}
        found |= {name: schema[name] for name in _SAMPLES & schema.keys() if not _can_shrink(schema[name])}
        if isinstance(members := schema.get("additionalProperties"), Mapping):
            found["additionalProperties"] = self.of(members)
        if "oneOf" in found:  # what told them apart may be missing
            found.setdefault("anyOf", found["oneOf"])
            del found["oneOf"]
        return found

    def _part(self, name: str, part: Any) -> Any:
        if name == "$ref":
            return self._referred(part)
        if name in _ONES:
            return self.of(part)
        if name in _LISTS or name == "oneOf":
            return [self.of(one) for one in part]
        return {one: self.of(inner) for one, inner in part.items()} if name in _MAPS else part

    def _referred(self, reference: str) -> str:
        """A reference to the sparse version of a component, which is made when it is first asked for."""
        name = reference.removeprefix(SCHEMAS)
        if name == reference or name not in self._schemas or name.startswith(_PREFIX):
            return reference
        if _PREFIX + name not in self._schemas:
            self._schemas[_PREFIX + name] = {}  # a model may contain itself
            self._schemas[_PREFIX + name] = self.of(self._schemas[name])
        return SCHEMAS + _PREFIX + name


def _can_shrink(sample: Any) -> bool:
    """Whether a value, or one of several, can be shortened."""
    return any(isinstance(one, (str, list, dict)) for one in (sample if isinstance(sample, list) else [sample]))
