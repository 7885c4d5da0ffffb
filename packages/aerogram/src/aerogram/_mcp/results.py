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
from aerogram.codes import TABLE
from aerogram.dialects import NAMES
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.bare import BareDialect
from aerogram.dialects.protocol import Dialect, Form
from aerogram.errors import MissingExtra, ReplyError
from aerogram.normalize.policy import MODERN, is_modern
from aerogram.problems import problem_of
from aerogram.reply import Problem, Reply, part_to_json
from aerogram.shape.media import NOTE, note_block

__all__ = [
    "PREFIX",
    "SchemaForm",
    "lift_schema",
    "meta_of",
    "output_schema",
    "resource_error",
    "sdk_blocks",
    "spares_members",
    "to_sdk",
    "tool_result",
    "type_data",
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
    is_bare = isinstance(dialect, BareDialect)
    is_own = is_bare and reply.problem is None  # then the text is what the author's tool says
    first = {"type": "text", "text": channels.text} if is_own else note_block(channels.text)
    result: dict[str, Any] = {"content": [first, *media]}
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


def problem_told(error: BaseException) -> Problem:
    """The problem that an error says which a method without a result for failures is answered with."""
    if isinstance(error, ReplyError):
        return problem_of(error)
    data = getattr(getattr(error, "error", None), "data", None)
    code = data.get("code") if isinstance(data, Mapping) else None
    return Problem.of(code if isinstance(code, str) and code in TABLE else "INTERNAL_ERROR")


def output_schema(
    dialects: Sequence[Dialect], form: SchemaForm = "slim", typed: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """The schema of the bodies of these dialects, successes and failures alike; none where the payload is bare.

    `typed` is the schema of a tool's data, as `type_data` gives it, which then stands in the slim form.
    """
    if any(isinstance(one, BareDialect) for one in dialects):
        return None
    shared: dict[str, Any] = {}
    kind = None if typed is None or form == "full" else _form_of(typed)
    if kind is None or typed is None:
        schemas = [_prune(one.schema()) if form == "full" else one.listed_schema() for one in dialects]
    else:
        own = {name: part for name, part in typed.items() if name != "$defs"}
        schemas = [one.listed_schema(kind, own) for one in dialects]
        shared = {"$defs": typed["$defs"]} if "$defs" in typed else {}
    if len(schemas) == 1:
        return {**schemas[0], "type": "object", **shared}
    return {"type": "object", "anyOf": schemas, **shared}


def type_data(own: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The schema of a tool's data as it stands in an envelope; None where it names nothing that one could list.

    An envelope has a place of its own for what is missing, and may lack whatever the schema asks for.
    """
    if own is None or _form_of(own) is None or _is_envelope(own):
        return None
    typed: dict[str, Any] = _lift(own, widens=True)
    if "properties" in typed:
        typed["properties"].pop(ACCOUNT, None)
    return typed


_ENVELOPES: Final = tuple(name for name in NAMES if name not in ("bare", "problem"))


def _is_envelope(own: Mapping[str, Any]) -> bool:
    """Whether a schema is that of a contract further in, whose data is not told by it."""
    asked = frozenset(own.get("required", ()))
    return any(asked.issuperset(dialect_named(name).slim["required"]) for name in _ENVELOPES)


_SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "null"})


def _form_of(own: Mapping[str, Any]) -> Form | None:
    """What a tool gives by its own schema; None where that names nothing that an envelope could list."""
    if own.get("type") == "array" and own.get("items"):
        return "rows"
    if own.get("type") == "object" and own.get("properties", {}).keys() - {ACCOUNT}:
        return "record"
    kinds = own.get("type") or ()
    return "value" if kinds and _SCALARS.issuperset([kinds] if isinstance(kinds, str) else kinds) else None


def _prune(schema: dict[str, Any]) -> dict[str, Any]:
    """A contract's whole schema without what is for readers, and with what extends the contract as any object."""
    names = {name: _prune_part(part) for name, part in schema.items() if name not in _FOR_READERS}
    definitions = names.pop("$defs", {})
    used: dict[str, Any] = {}
    wanted = _references(names)
    while wanted - used.keys():
        for name in wanted - used.keys():
            used[name] = definitions[name]
        wanted = _references({**names, "$defs": used})
    return {**names, "$defs": used} if used else names


def _prune_part(part: Any) -> Any:
    if isinstance(part, list):
        return [_prune_part(one) for one in part]
    if not isinstance(part, dict):
        return part
    # a property may be called like a keyword, and is then a schema and no text
    kept = {name: one for name, one in part.items() if name not in _FOR_READERS or isinstance(one, dict)}
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    found = {name: {"type": "object"} if name == ACCOUNT else _prune_part(one) for name, one in kept.items()}
    return _join_null(found) if isinstance(found.get("anyOf"), list) else found


def _join_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Something or nothing in one line, where that is all that a choice is about."""
    options = [one for one in schema["anyOf"] if one != {"type": "null"}]
    if len(options) != 1 or len(schema["anyOf"]) == 1 or not isinstance(options[0].get("type"), str):
        return schema
    if "enum" in options[0] or "const" in options[0]:  # which would refuse the nothing
        return schema
    return {
        **{name: one for name, one in schema.items() if name != "anyOf"},
        **options[0],
        "type": [options[0]["type"], "null"],
    }


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for one in schema for name in _references(one)}
    if not isinstance(schema, dict):
        return set()
    own = schema.get("$ref")
    found = {name for one in schema.values() for name in _references(one)}
    return found | {own.rpartition("/")[2]} if isinstance(own, str) else found


_FOR_READERS: Final = frozenset({"$schema", "$id", "title", "description", "default"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples"})
_LIFTED: Final = frozenset({"required", "minItems", "minLength", "minProperties", "pattern"})


def lift_schema(schema: Mapping[str, Any], *, is_boxed: bool = True, may_lack: bool = False) -> dict[str, Any]:
    """A tool's own schema as it holds for replies that were fitted as well, with the account of what they lack.

    What it asks for below its first level is not asked for any more; the names, types and descriptions stay. With
    `may_lack`, a record may lack members as well, because its caller may choose them.
    """
    lifted = {name: _lift(part) if name in ("properties", "$defs") else part for name, part in schema.items()}
    if may_lack and not is_boxed:
        lifted.pop("required", None)
    properties = {**lifted.get("properties", {})}
    properties.setdefault(ACCOUNT, {"type": "object"})
    return {**lifted, "properties": properties}


def _lift(schema: Any, *, widens: bool = False) -> Any:
    """A schema without what it asks for; where it `widens`, a number may be none, because JSON has not every number."""
    if isinstance(schema, list):
        return [_lift(one, widens=widens) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # a property may be called like a keyword, and is then a schema and no list or number
    kept = {name: part for name, part in schema.items() if name not in _LIFTED or isinstance(part, dict)}
    if widens and kept.get("type") == "number":
        kept["type"] = ["number", "null"]
    return {name: part if name in _VALUES else _lift(part, widens=widens) for name, part in kept.items()}


def spares_members(schema: Mapping[str, Any] | None, *, is_boxed: bool) -> bool:
    """Whether data may lack members and still be what a schema promises."""
    if schema is None:
        return True
    asked = {name: schema[name] for name in ("properties", "$defs") if name in schema} if is_boxed else schema
    return bool(_lift(dict(asked)) == asked)


def conforms(value: Any, schema: Mapping[str, Any] | None) -> bool:
    """Whether structured content is what a schema promises, as the clients of the SDK see it."""
    if schema is None:
        return True
    from jsonschema import SchemaError, ValidationError, validate  # what the SDK brings along

    try:
        validate(value, dict(schema))
    except (SchemaError, ValidationError):
        return False
    return True


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
    if len(content) == 1 and isinstance(content[0], dict) and content[0].get("annotations") is NOTE:
        told = types.Annotations(audience=list(NOTE["audience"]), priority=NOTE["priority"])
        return [types.TextContent(type="text", text=content[0]["text"], annotations=told)]
    blocks: list[Any] = types.CallToolResult.model_validate({"content": list(content)}).content
    return blocks


@cache
def _sdk_types() -> Any:
    try:
        import mcp_types
    except ImportError:
        raise MissingExtra("mcp", "mcp") from None
    return mcp_types
