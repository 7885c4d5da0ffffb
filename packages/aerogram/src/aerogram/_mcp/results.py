"""Results: a finished reply as the plain result of a tool call, and the output schema that goes with it.

    envelope dialects   content: the text channel and media      structuredContent: the body
    bare                content: the text channel and media      structuredContent: the payload, in a box where the
                        protocol wants an object; page, fidelity, problem and the rest of the reply under `_meta`

The dictionaries hold for both eras of the protocol: results of 2026-07-28 and later carry their type, and may hold
any JSON value; before that structured content is an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from aerogram.channels import ACCOUNT, BOX, PREFIX, Channels
from aerogram.dialects.bare import BareDialect
from aerogram.dialects.protocol import Dialect
from aerogram.errors import MissingExtra
from aerogram.normalize.policy import MODERN, is_modern
from aerogram.reply import Problem, Reply, part_to_json

__all__ = [
    "PREFIX",
    "SchemaForm",
    "lift_schema",
    "meta_of",
    "output_schema",
    "resource_error",
    "sdk_blocks",
    "to_sdk",
    "tool_result",
]

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

_TEXT: Final = frozenset({"type", "text"})

SchemaForm: TypeAlias = Literal["slim", "full", "own"]


def tool_result(
    reply: Reply[Any],
    channels: Channels,
    *,
    dialect: Dialect,
    media: Sequence[Mapping[str, Any]] = (),
    protocol_version: str = MODERN,
    wants_box: bool = True,
) -> dict[str, Any]:
    """The result of a tool call as the protocol writes it.

    A bare payload goes into a box where the protocol wants an object, unless it has been seen to.
    """
    result: dict[str, Any] = {"content": [{"type": "text", "text": channels.text}, *media]}
    is_bare = isinstance(dialect, BareDialect)
    if channels.structured is not None and not (is_bare and reply.problem is not None):
        held = channels.structured
        needs_box = is_bare and wants_box and not isinstance(held, dict) and not is_modern(protocol_version)
        result["structuredContent"] = {BOX: held} if needs_box else held
    if reply.problem is not None:
        result["isError"] = True
    meta = meta_of(reply, dialect)
    if meta:
        result["_meta"] = meta
    if is_modern(protocol_version):
        result["resultType"] = "complete"
    return result


def meta_of(reply: Reply[Any], dialect: Dialect) -> dict[str, Any]:
    """What goes under `_meta`: all but the data where the body is the data alone, and the problem in any case."""
    said = dialect.aside(reply) if isinstance(dialect, BareDialect) else {}
    if reply.problem is not None:
        said["problem"] = _facts(reply.problem)
    return {PREFIX + name: value for name, value in said.items()}


def _facts(problem: Problem) -> dict[str, Any]:
    facts: dict[str, Any] = part_to_json(problem)
    return {**facts, "retryable": problem.retryable}


def resource_error(problem: Problem, uri: str) -> dict[str, Any]:
    """The protocol error for a resource that cannot be read: reading has no result for failures."""
    return protocol_error(problem, uri=uri)


def protocol_error(problem: Problem, **besides: str) -> dict[str, Any]:
    """The protocol error for a problem, where a method has no result for failures."""
    is_callers = problem.kind in ("validation", "not_found")
    data = {**besides, **_facts(problem)}
    return {"code": INVALID_PARAMS if is_callers else INTERNAL_ERROR, "message": problem.message, "data": data}


def output_schema(dialects: Sequence[Dialect], form: SchemaForm = "slim") -> dict[str, Any] | None:
    """The schema of the bodies of these dialects, successes and failures alike; none where the payload is bare."""
    if any(isinstance(one, BareDialect) for one in dialects):
        return None
    schemas = [one.schema(slim=form != "full") for one in dialects]
    if len(schemas) == 1:
        return {**schemas[0], "type": "object"}
    return {"type": "object", "anyOf": schemas}


_VALUES: Final = frozenset({"enum", "const", "default", "examples"})
_LIFTED: Final = frozenset({"required", "minItems", "minLength", "minProperties", "pattern"})


def lift_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's own schema as it holds for replies that were fitted as well, with the account of what they lack.

    What it asks for below its first level is not asked for any more; the names, types and descriptions stay.
    """
    lifted = {name: _lift(part) if name in ("properties", "$defs") else part for name, part in schema.items()}
    properties = {**lifted.get("properties", {})}
    properties.setdefault(ACCOUNT, {"type": "object"})
    return {**lifted, "properties": properties}


def _lift(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_lift(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # a property may be called like a keyword, and is then a schema and no list or number
    kept = {name: part for name, part in schema.items() if name not in _LIFTED or isinstance(part, dict)}
    return {name: part if name in _VALUES else _lift(part) for name, part in kept.items()}


def to_sdk(result: Mapping[str, Any]) -> Any:
    """A result as the mcp SDK's `CallToolResult`; blocks that are the SDK's own objects stay what they are."""
    return _sdk_types().CallToolResult(
        content=sdk_blocks(result["content"]),
        structured_content=result.get("structuredContent"),
        is_error=result.get("isError", False),
        _meta=result.get("_meta"),
    )


def sdk_blocks(content: Sequence[Any]) -> list[Any]:
    """Content blocks as objects of the mcp SDK."""
    types = _sdk_types()
    if len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == _TEXT:
        return [types.TextContent(type="text", text=content[0]["text"])]
    blocks: list[Any] = types.CallToolResult.model_validate({"content": list(content)}).content
    return blocks


@cache
def _sdk_types() -> Any:
    try:
        import mcp_types
    except ImportError:
        raise MissingExtra("mcp", "mcp") from None
    return mcp_types
