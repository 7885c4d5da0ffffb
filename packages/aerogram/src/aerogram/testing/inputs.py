"""Inputs: arguments for a tool or a route, made from their JSON Schema; right ones, and ones that are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import MissingExtra

__all__ = ["example_of", "explain_mismatch", "number_near", "spoil_arguments"]

Schema = Mapping[str, Any]

_TEXTS: Final = {
    "date": "2026-11-15",
    "date-time": "2026-11-15T10:00:00Z",
    "time": "10:00:00Z",
    "email": "someone@example.org",
    "uri": "https://example.org/",
    "uuid": "6f1e4a52-3c1f-4b6c-9a55-0f5f5a1f0c11",
    "ipv4": "192.0.2.1",
}
_ODD_VALUES: Final = ({"no": ["such", "value"]}, "no such value", -0.5, [None], None)
"""Candidates for a wrong value; objects first, because nothing makes numbers or texts of them."""
_DEEPEST: Final = 12
_BOUNDS: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "default")


def example_of(schema: Any, root: Schema | None = None, depth: int = 0) -> Any:
    """A value that a schema allows, as far as the schema says; what is optional is left out."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "example"
    whole = schema if root is None else root
    for name in ("const", "default"):
        if schema.get(name) is not None:
            return schema[name]
    for name in ("examples", "enum"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    if "$ref" in schema:
        return example_of(_resolve(schema["$ref"], whole), whole, depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return example_of(_first_not_null(schema[name]), whole, depth + 1)
    return _by_type(schema, whole, depth)


def _by_type(schema: Schema, root: Schema, depth: int) -> Any:
    kind = schema.get("type")
    kind = next((one for one in kind if one != "null"), None) if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        members = schema.get("properties", {})
        return {name: example_of(members.get(name), root, depth + 1) for name in schema.get("required", ())}
    if kind == "array":
        return [example_of(schema.get("items"), root, depth + 1)] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    text = _TEXTS.get(schema.get("format", ""), "example")
    return text.ljust(schema.get("minLength", 0), "e")[: schema.get("maxLength")]


def _number(schema: Schema) -> Any:
    """The first of a few numbers that keeps the bounds."""
    low, high = schema.get("exclusiveMinimum", 0), schema.get("exclusiveMaximum", 1)
    bounds = (schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf"))
    guesses = (1, *bounds, low + 1, high - 1, (low + high) / 2)
    return next((one for one in guesses if one is not None and explain_mismatch(schema, one) is None), 1)


def number_near(schema: Any, wanted: int, usual: range, root: Schema | None = None) -> int | None:
    """The whole number nearest to the one that is wanted that a schema allows; `usual` bounds what it leaves open."""
    whole = {**_definitions(root or {}), **(schema if isinstance(schema, Mapping) else {})}
    shapes = [one for one in (whole, *whole.get("anyOf", ()), *whole.get("oneOf", ())) if isinstance(one, Mapping)]
    told = [value for one in shapes for value in (*(one.get(name) for name in _BOUNDS), *one.get("enum", ()))]
    guesses = [value + step for value in told if type(value) is int for step in (0, 1, -1)]
    within = min(max(wanted, usual.start), usual.stop - 1)
    lawful = [one for one in (within, *guesses) if one > 0 and explain_mismatch(whole, one) is None]
    known = [one for one in lawful if one in usual] or lawful
    return min(known, key=lambda one: abs(one - wanted), default=None)


def _first_not_null(options: list[Any]) -> Any:
    return next((one for one in options if not isinstance(one, Mapping) or one.get("type") != "null"), options[0])


def _resolve(reference: str, root: Schema) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
    return found


def spoil_arguments(
    schema: Schema, good: Mapping[str, Any], root: Schema | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Arguments that a schema forbids: each required one missing, each known one with a value of the wrong type."""
    members = schema.get("properties", {})
    for name in schema.get("required", ()):
        yield name, {other: value for other, value in good.items() if other != name}
    for name, member in members.items():
        whole = {**_definitions(root or schema), **(member if isinstance(member, Mapping) else {})}
        odd = next((value for value in _ODD_VALUES if explain_mismatch(whole, value) is not None), None)
        if odd is not None:
            yield name, {**good, name: odd}


def _definitions(root: Schema) -> dict[str, Any]:
    return {name: root[name] for name in ("$defs", "definitions", "components") if name in root}


def explain_mismatch(schema: Schema, value: Any) -> str | None:
    """What about a value a JSON Schema forbids, or None."""
    try:
        error = next(_validator(dumps(dict(schema))).iter_errors(value), None)
    except ValueError as broken:  # not a schema at all
        return f"the schema itself is broken: {broken}"
    return None if error is None else f"at /{'/'.join(map(str, error.instance_path))}: {error.message}"


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    """The validator of a schema; most answers of a server are checked against the same few."""
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtra("schema", "jsonschema-rs") from None
    return jsonschema_rs.validator_for(loads(schema))
