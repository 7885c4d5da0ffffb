"""Example: a call of a tool that would be valid, made from its schema and from what was right about a wrong one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from aerogram._mcp.faults import find_named
from aerogram._mcp.listing import Profile
from aerogram.reply import Problem, Reply

__all__ = ["show_call", "with_example"]

DEEPEST: Final = 4
LONGEST: Final = 400
_UNKNOWN: Final = object()
_TOLD: Final = re.compile(
    r"""\b(?:e\.g\.|such\ as|for\ example|for\ instance)[,:]?\ *(?P<quote>['"`])(?P<value>[^'"`\n]{1,60})(?P=quote)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A value that a description gives as an example."""
_FORMATS: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "ann@example.org",
    "uri": "https://example.org/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "duration": "PT1H",
}


def with_example(reply: Reply[Any], profile: Profile, arguments: Mapping[str, Any]) -> Reply[Any]:
    """A failure for wrong arguments, with a call that would be right."""
    problem = reply.problem
    details = (problem.details or {}) if problem is not None else {}
    if problem is None or problem.kind != "validation" or "pointer" not in details:
        return reply
    faults = details.get("errors") or [details]
    wrong = {str(one.get("field", "")).partition(".")[0] for one in faults}
    return reply.replace(problem=_show(problem, profile, arguments, wrong))


def show_call(problem: Problem, profile: Profile, arguments: Mapping[str, Any]) -> Problem:
    """A failure in words about wrong arguments, with a call that would be right."""
    wrong = _wrong_arguments(profile.inputs, arguments)
    named = find_named(problem.message, arguments)
    if not wrong and named is not None and _has_example(profile.inputs, named):
        wrong = {named}
    return _show(problem, profile, arguments, wrong)


def _show(problem: Problem, profile: Profile, arguments: Mapping[str, Any], wrong: Collection[str]) -> Problem:
    """A problem whose remedy has a call in it that would be right."""
    made = _example_call(profile.name, profile.inputs, arguments, wrong) if any(wrong) else None
    if made is None:
        return problem
    advice = f"{(problem.remediation or '').rstrip('. ')}. For example: {made}"
    return replace(problem, remediation=advice.removeprefix(". "))


def _example_call(name: str, schema: Mapping[str, Any], given: Mapping[str, Any], wrong: Collection[str]) -> str | None:
    """A call with all that a tool requires; what was given and is not wrong stays. None where none can be made up."""
    known = schema.get("properties", {})
    needed = [one for one in known if one in schema.get("required", ()) or (one in given and one in wrong)]
    shown: dict[str, Any] = {one: value for one, value in given.items() if one in known and one not in wrong}
    for one in needed:
        if one not in shown:
            shown[one] = _example(known[one], schema, one, 0)
    if any(value is _UNKNOWN for value in shown.values()):
        return None
    call = f"{name}({', '.join(f'{one}={shown[one]!r}' for one in known if one in shown)})"
    return call if len(call) <= LONGEST else None


def _has_example(schema: Mapping[str, Any], name: str) -> bool:
    """Whether a schema says itself what an argument may be."""
    known = schema.get("properties")
    part = known.get(name) if isinstance(known, Mapping) else None
    return isinstance(part, Mapping) and (bool(part.get("examples") or part.get("enum")) or _told(part) is not None)


def _told(part: Mapping[str, Any]) -> str | None:
    """What the description of an argument gives as an example."""
    found = _TOLD.search(str(part.get("description", "")))
    most = part.get("maxLength", LONGEST)
    return found["value"] if found is not None and len(found["value"]) <= most else None


def _wrong_arguments(schema: Mapping[str, Any], given: Mapping[str, Any]) -> set[str]:
    """The arguments that are missing, or are not what a schema says."""
    from jsonschema import Draft202012Validator, SchemaError  # what the SDK brings along

    wrong = {str(name) for name in schema.get("required", ()) if name not in given}
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return wrong
    faults = Draft202012Validator(schema).iter_errors(dict(given))
    return wrong | {str(fault.absolute_path[0]) for fault in faults if fault.absolute_path}


def _example(part: Any, schema: Mapping[str, Any], name: str, depth: int) -> Any:
    """A value that a part of a schema takes."""
    if not isinstance(part, Mapping) or depth > DEEPEST:
        return _UNKNOWN
    if "$ref" in part:
        target = schema.get("$defs", {}).get(str(part["$ref"]).rpartition("/")[2])
        return _example(target, schema, name, depth + 1)
    for known in ("const", "default"):
        if part.get(known) is not None:
            return part[known]
    for several in ("examples", "enum"):
        if part.get(several):
            return part[several][0]
    ways = [one for key in ("anyOf", "oneOf") for one in part.get(key, ()) if one.get("type") != "null"]
    return _example(ways[0], schema, name, depth + 1) if ways else _of_type(part, schema, name, depth)


def _of_type(part: Mapping[str, Any], schema: Mapping[str, Any], name: str, depth: int) -> Any:
    kinds = part.get("type", "string" if "pattern" in part else None)
    kind = next((one for one in kinds if one != "null"), None) if isinstance(kinds, list) else kinds
    if kind == "string":
        return _text(part, name)
    if kind in ("integer", "number"):
        return _number(part, is_whole=kind == "integer")
    if kind == "boolean":
        return True
    if kind in ("array", "object"):
        return _fill(part, schema, name, depth)
    return "…" if kind is None and depth == 0 else _UNKNOWN


def _fill(part: Mapping[str, Any], schema: Mapping[str, Any], name: str, depth: int) -> Any:
    """A list with as few items, or an object with as few members, as a schema takes."""
    if part.get("type") != "object" and "properties" not in part:
        item = _example(part.get("items", {}), schema, name, depth + 1)
        if item is _UNKNOWN:
            return _UNKNOWN if part.get("minItems") else []
        return [item] * max(part.get("minItems", 1), 1)
    known = part.get("properties", {})
    members = {one: _example(known.get(one), schema, one, depth + 1) for one in part.get("required", ())}
    return _UNKNOWN if any(value is _UNKNOWN for value in members.values()) else members


def _text(part: Mapping[str, Any], name: str) -> Any:
    told = _told(part)
    if told is not None or "pattern" in part:
        return told or _UNKNOWN  # what it takes cannot be told from here
    text = _FORMATS.get(part.get("format", ""), name)
    most, least = part.get("maxLength", len(text)), part.get("minLength", 0)
    return (text + "x" * max(least - len(text), 0))[:most]


def _number(part: Mapping[str, Any], *, is_whole: bool) -> Any:
    least, most, step = part.get("minimum"), part.get("maximum"), part.get("multipleOf")
    above, below = part.get("exclusiveMinimum"), part.get("exclusiveMaximum")
    if step:
        return step * max(1, -(-(least or above or 0) // step) + (above is not None))
    if above is not None:
        return above + 1 if is_whole or below is None else (above + below) / 2
    found = least if least is not None else 1
    if most is not None and found > most:
        found = most
    return found if below is None or found < below else below - 1
