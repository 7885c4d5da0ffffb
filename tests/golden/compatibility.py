"""Compatibility: what a new JSON Schema takes away from the readers and writers of an old one.

Growing is free: further optional members, further alternatives, further words of an enum. What counts as a break is
a member that is gone (a rename is one gone and one new), one that is newly required or no longer promised, a type,
enum or limit that got narrower, and an object that was open to additions and is closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]

_FLOORS = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_CEILINGS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_SHAPES = ("pattern", "format")
_WIDER = {("integer", "number")}


def breaks(old: Schema, new: Schema) -> list[str]:
    """Each promise of the old schema that the new one does not keep, with the JSON Pointer of the value it is about."""
    return _Comparison(old, new).between(old, new, "")


@dataclass
class _Comparison:
    old_root: Schema
    new_root: Schema
    open_pairs: set[tuple[str, str]] = field(default_factory=set)

    def between(self, old: Schema, new: Schema, at: str) -> list[str]:
        """The breaks between two schemas of the same value; a pair that is being compared already has none here."""
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True))
        if "$ref" in old and pair in self.open_pairs:
            return []
        self.open_pairs.add(pair)
        try:
            choices = list(_alternatives(new, self.new_root))
            return [found for one in _alternatives(old, self.old_root) for found in self._best(one, choices, at)]
        finally:
            self.open_pairs.discard(pair)

    def _best(self, old: Schema, choices: list[Schema], at: str) -> list[str]:
        """The breaks against whichever new alternative breaks least."""
        fitting = [new for new in choices if _fits(old, new)]
        if not fitting:
            return [f"{at or '/'}: {_word(old)} is no longer allowed"]
        return min((self._single(old, new, at) for new in fitting), key=len)

    def _single(self, old: Schema, new: Schema, at: str) -> list[str]:
        found = list(_tighter(old, new, at))
        if old.get("type") == "array":
            found += self.between(old.get("items", {}), new.get("items", {}), f"{at}/*")
        if old.get("type") == "object":
            found += self._objects(old, new, at)
        return found

    def _objects(self, old: Schema, new: Schema, at: str) -> list[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        needed, needs = set(old.get("required", ())), set(new.get("required", ()))
        found = [f"{at}/{name}: the member is gone" for name in before if name not in after]
        found += [f"{at}/{name}: newly required" for name in sorted(needs - needed)]
        found += [f"{at}/{name}: no longer promised" for name in sorted((needed - needs) & set(after))]
        for name in before:
            if name in after:
                found += self.between(before[name], after[name], f"{at}/{name}")
        return found + self._additions(old, new, at)

    def _additions(self, old: Schema, new: Schema, at: str) -> list[str]:
        before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if before is False or after is True:
            return []
        if after is False:
            return [f"{at or '/'}: closed to additions"]
        return self.between({} if before is True else before, after, f"{at}/*")


def _alternatives(schema: Schema, root: Schema) -> Iterator[Schema]:
    """The single types that a schema allows, references followed."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        for one in branches:
            yield from _alternatives(one, root)
    elif isinstance(schema.get("type"), list):
        yield from ({**schema, "type": one} for one in schema["type"])
    elif "enum" in schema or "const" in schema:
        yield from ({"const": one} for one in schema.get("enum", [schema.get("const")]))
    else:
        yield schema


def _fits(old: Schema, new: Schema) -> bool:
    """Whether a value of the old alternative can be one of the new, as far as type and constants go."""
    if "const" in new:
        return "const" in old and (type(old["const"]), old["const"]) == (type(new["const"]), new["const"])
    if "type" not in new:
        return True
    kind = _kind(old["const"]) if "const" in old else old.get("type")
    return kind == new["type"] or (kind, new["type"]) in _WIDER


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", list: "array"}
    return names.get(type(value), "object")


def _word(alternative: Schema) -> str:
    if "const" in alternative:
        return json.dumps(alternative["const"])
    return str(alternative.get("type", "any value"))


def _tighter(old: Schema, new: Schema, at: str) -> Iterator[str]:
    for word in _FLOORS:
        if word in new and (word not in old or new[word] > old[word]):
            yield f"{at}: {word} is tighter"
    for word in _CEILINGS:
        if word in new and (word not in old or new[word] < old[word]):
            yield f"{at}: {word} is tighter"
    for word in _SHAPES:
        if word in new and new[word] != old.get(word):
            yield f"{at}: {word} is tighter"
