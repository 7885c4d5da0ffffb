"""TypeScript: the declarations that a JSON Schema (2020-12) amounts to.

Every `$defs` entry and the schema itself become an exported interface or type, in a
fixed order, with their descriptions as doc comments. One place of the schema may be
named as the type parameter: whatever contains it becomes generic.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]

_PARAMETER = "typeParameter"
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_LIMITS = ("format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "maxItems")
_SAYS_NOTHING = frozenset({"title", "description", "default", "examples"})


def declarations(schema: Schema, *, parameter: str | None = None, aliases: Mapping[str, str] | None = None) -> str:
    """The TypeScript of a schema.

    `parameter` is a JSON Pointer to the place that readers fill with their own type.
    `aliases` names types by a pointer to where one stands; wherever the same type
    stands, its name is written.
    """
    root = copy.deepcopy(dict(schema))
    words = {name: _at(root, pointer.split("/")[1:]) for name, pointer in sorted((aliases or {}).items())}
    default = _mark(root, parameter) if parameter is not None else None
    named = {**root.pop("$defs", {}), _identifier(str(root["title"])): root}
    writer = _TypeScriptWriter(named, words, default)
    return "\n".join([writer.alias(name) for name in words] + [writer.declaration(name) for name in named])


def _at(place: Any, way: list[str]) -> Any:
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    return place


def _mark(root: dict[str, Any], pointer: str) -> Schema:
    """Put the type parameter where the pointer points; gives what stood there."""
    *way, last = pointer.split("/")[1:]
    holder = _at(root, way)
    stood: Schema = holder[last]
    holder[last] = {_PARAMETER: True}
    return stood


def _identifier(name: str) -> str:
    """`Envelope[Any]` is called `Envelope`."""
    return re.sub(r"\W", "_", name.partition("[")[0])


def _without_annotations(schema: Schema) -> dict[str, Any]:
    """A schema without the words that do not change its type."""
    return {word: value for word, value in schema.items() if word not in _SAYS_NOTHING}


@dataclass
class _TypeScriptWriter:
    """Writes one set of declarations, in which each can name the others."""

    named: Mapping[str, Schema]
    aliases: Mapping[str, Schema]
    default: Schema | None
    generic: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find what is generic: whatever holds the parameter, or something that is generic."""
        if self.default is None:
            return
        found = {name for name, schema in self.named.items() if _PARAMETER in json.dumps(schema)}
        while found != self.generic:
            self.generic = found
            refs = [f'"{_ref(name)}"' for name in found]
            users = {name for name, one in self.named.items() if any(ref in json.dumps(one) for ref in refs)}
            found = found | users

    def alias(self, name: str) -> str:
        return f"export type {name} = {self._plain_type(self.aliases[name])};\n"

    def declaration(self, name: str) -> str:
        schema = self.named[name]
        head = f"{_identifier(name)}{self._parameters(name)}"
        doc = _comment(schema, "")
        if schema.get("type") == "object" and "properties" in schema:
            return f"{doc}export interface {head} {self._members(schema)}\n"
        return f"{doc}export type {head} = {self.type_of(schema)};\n"

    def _parameters(self, name: str) -> str:
        if name not in self.generic or self.default is None:
            return ""
        bound = " extends object" if self.default.get("type") == "object" else ""
        return f"<T{bound} = {self.type_of(self.default)}>"

    def _members(self, schema: Schema) -> str:
        required = schema.get("required", ())
        lines = []
        for name, member in schema["properties"].items():
            key = name if _IDENTIFIER.fullmatch(name) else json.dumps(name)
            mark = "" if name in required else "?"
            lines.append(f"{_comment(member, '  ')}  {key}{mark}: {self.type_of(member)};\n")
        if schema.get("additionalProperties"):
            lines.append("  [key: string]: unknown;\n")
        return "{\n" + "".join(lines) + "}"

    def type_of(self, schema: Schema) -> str:
        """The type of a value that keeps the schema."""
        bare = _without_annotations(schema)
        for name, aliased in self.aliases.items():
            if bare == _without_annotations(aliased):
                return name
        return self._plain_type(schema)

    def _plain_type(self, schema: Schema) -> str:
        if _PARAMETER in schema:
            return "T"
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return _identifier(name) + ("<T>" if name in self.generic else "")
        if "const" in schema or "enum" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return _union([json.dumps(one, ensure_ascii=False) for one in values])
        branches = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(schema.get("type"), list):
            branches = [{**schema, "type": one} for one in schema["type"]]
        return _union([self.type_of(one) for one in branches]) if branches else self._simple_type(schema)

    def _simple_type(self, schema: Schema) -> str:
        """The type of a schema that says one word for its type, or none."""
        kind = schema.get("type")
        if kind == "array":
            item = self.type_of(schema.get("items", {}))
            return f"({item})[]" if " | " in item else f"{item}[]"
        if kind == "object":
            if "properties" in schema:
                return self._members(schema)
            values = schema.get("additionalProperties")
            return f"Record<string, {self.type_of(values) if isinstance(values, Mapping) else 'unknown'}>"
        return _PRIMITIVES.get(str(kind), "unknown")


def _ref(name: str) -> str:
    return f"#/$defs/{name}"


def _union(types: list[str]) -> str:
    """Each type once; `unknown` swallows the others."""
    once = list(dict.fromkeys(types))
    return "unknown" if "unknown" in once else " | ".join(once)


def _comment(schema: Schema, indent: str) -> str:
    """The description and the limits that a TypeScript type cannot express, as a doc comment."""
    text = [str(schema["description"])] if schema.get("description") else []
    ranges = [schema, *schema.get("anyOf", ())]
    limits = [f"@{word} {one[word]}" for one in ranges for word in _LIMITS if word in one]
    lines = [line for part in text + limits for line in part.replace("*/", "* /").splitlines()]
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return "".join([f"{indent}/**\n", *(f"{indent} * {line}".rstrip() + "\n" for line in lines), f"{indent} */\n"])
