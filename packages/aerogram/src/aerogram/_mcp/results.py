"""Results: a finished reply as the plain result of a tool call.

    envelope dialects   content: the text channel and media      structuredContent: the body
    bare                content: the text channel and media      structuredContent: the payload, in a box where the
                        protocol wants an object; page, fidelity, problem and the rest of the reply under `_meta`

The dictionaries hold for both eras of the protocol: results of 2026-07-28 and later carry their type, and may hold
any JSON value; before that structured content is an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from aerogram.channels import BOX, PREFIX, Channels, meta_of, tell_facts
from aerogram.codes import TABLE
from aerogram.content.jsontext import dumps
from aerogram.dialects.protocol import Dialect
from aerogram.errors import MissingExtra, NotFound, ReplyError, ValidationFailed
from aerogram.normalize.policy import MODERN
from aerogram.problems import blame_handler, problem_of
from aerogram.reply import Problem, Reply
from aerogram.shape.media import NOTE

__all__ = [
    "PREFIX",
    "find_declared",
    "hints_of",
    "measure_stamp",
    "prompt_fault",
    "resource_error",
    "sdk_blocks",
    "to_sdk",
    "tool_result",
]

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002

_ABSENT: Final = frozenset({"NotFoundError", "ResourceNotFoundError", "DisabledError"})
"""What the errors of frameworks are called that say that there is no such thing."""
_TEXT: Final = frozenset({"type", "text", "annotations"})


def hints_of(tool: Any) -> dict[str, Any] | None:
    """What a tool of the SDK says of itself, in the words of the protocol."""
    said = tool.annotations
    return None if said is None else said.model_dump(by_alias=True)


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
    is_bare = dialect.is_bare
    is_own = is_bare and reply.problem is None  # then the text is what the author's tool says
    is_modern = protocol_version >= MODERN  # versions are dates, and `draft` is the newest
    first: dict[str, Any] = {"type": "text", "text": channels.text}
    result: dict[str, Any] = {"content": [first if is_own else {**first, "annotations": NOTE}, *media]}
    if channels.structured is not None and not (is_bare and reply.problem is not None):
        held = channels.structured
        needs_box = is_bare and wants_box and not isinstance(held, dict) and not is_modern
        result["structuredContent"] = {BOX: held} if needs_box else held
    if reply.problem is not None:
        result["isError"] = True
    meta = meta_of(reply, dialect)
    if meta:
        result["_meta"] = meta
    if is_modern:
        result["resultType"] = "complete"
    return result


_IDENTITY: Final = ("name", "title", "version", "description", "website_url", "icons")
_STAMP: Final = "io.modelcontextprotocol/serverInfo"


def measure_stamp(server: Any) -> int:
    """How many bytes a server takes in `_meta` to say who it is, as the SDK has it do with every result."""
    known = {name: getattr(server, name, None) for name in _IDENTITY}
    icons = [one if isinstance(one, dict) else one.model_dump(mode="json") for one in known.pop("icons") or ()]
    said = {name: str(value) for name, value in known.items() if value is not None}
    return len(dumps({_STAMP: {**said, "icons": icons}}))


def resource_error(problem: Problem, uri: str) -> dict[str, Any]:
    """The protocol error for a resource that cannot be read: reading has no result for failures."""
    return protocol_error(problem, uri=uri)


def protocol_error(problem: Problem, **besides: str) -> dict[str, Any]:
    """The protocol error for a problem, where a method has no result for failures."""
    is_callers = problem.kind in ("validation", "not_found")
    data = {**besides, **tell_facts(problem)}
    return {"code": INVALID_PARAMS if is_callers else INTERNAL_ERROR, "message": problem.message, "data": data}


def problem_told(error: BaseException) -> Problem:
    """The problem that an error says which a method without a result for failures is answered with."""
    declared = find_declared(error)
    if declared is not None:
        return problem_of(declared)
    told = getattr(error, "error", None)
    data, number = getattr(told, "data", None), getattr(told, "code", None)
    code = data.get("code") if isinstance(data, Mapping) else None
    if isinstance(code, str) and code in TABLE:
        return Problem.of(code)
    # frameworks say it by a type of their own, or in words to the caller
    if type(error).__name__ in _ABSENT or number == RESOURCE_NOT_FOUND:
        return Problem.of("NOT_FOUND")
    if number == INVALID_PARAMS:
        return Problem.of(
            "NOT_FOUND" if str(getattr(told, "message", "")).startswith("Unknown ") else "VALIDATION_ERROR"
        )
    return Problem.of("INTERNAL_ERROR")


def find_declared(error: BaseException | None) -> ReplyError | None:
    """What somebody has declared to be the caller's business, below the errors of a framework that were made of it."""
    return next((one for one in _causes_of(error) if isinstance(one, ReplyError)), None)


def _causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, what has caused it, and so on; `raise error from error` makes one its own cause."""
    known: list[BaseException] = []
    while error is not None and all(error is not one for one in known):
        yield error
        known.append(error)
        error = error.__cause__


_PROMPT_FAULTS: Final[Mapping[str, tuple[type[ReplyError], str]]] = {
    "Unknown prompt: ": (NotFound, "prompts/list has the names"),
    "Missing required arguments: ": (ValidationFailed, "prompts/list has the arguments"),
}
"""What the frameworks say of a prompt that its caller has asked for wrongly, by how it begins."""


_RENDERING: Final = "Error rendering prompt "


def prompt_fault(error: BaseException) -> Exception | None:
    """What is below the one error that frameworks make of all that goes wrong with a prompt; None for any other."""
    if not str(error).startswith(_RENDERING):
        return _callers_fault(error)
    below = next((one for one in _causes_of(error) if not str(one).startswith(_RENDERING)), None)
    if not isinstance(below, Exception):
        return None
    return find_declared(below) or _callers_fault(below) or blame_handler(below)


def _callers_fault(error: BaseException) -> ReplyError | None:
    words = str(error)
    found = next((meant for beginning, meant in _PROMPT_FAULTS.items() if words.startswith(beginning)), None)
    return found[0](words, remediation=found[1]) if found else None


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
    if len(content) == 1 and isinstance(content[0], dict) and _TEXT.issuperset(content[0]):
        return [types.TextContent(**content[0])]  # the type need not be found out among all that there are
    blocks: list[Any] = types.CallToolResult.model_validate({"content": list(content)}).content
    return blocks


@cache
def _sdk_types() -> Any:
    try:
        import mcp_types
    except ImportError:
        raise MissingExtra("mcp", "mcp") from None
    return mcp_types
