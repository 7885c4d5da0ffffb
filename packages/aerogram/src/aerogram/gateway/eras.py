"""Eras: what the two eras of the protocol call differently, put into the words of the other.

    legacy    `initialize` once; the server asks the client whenever it likes; notifications come by themselves
    modern    (2026-07-28) every request says who asks; the server asks by an unfinished result; notifications come
              on a stream that was asked for

Messages are plain dictionaries here, and what a function does not know it leaves as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from aerogram.normalize.plain import has_non_finite

__all__ = [
    "add_envelope",
    "check_params",
    "is_answer",
    "is_complete",
    "is_last_page",
    "is_modern",
    "list_tools",
    "read_object",
    "strip_envelope",
    "task_of",
    "to_legacy",
    "to_modern",
    "with_meta",
]

Message = dict[str, Any]

_ENVELOPE: Final = (
    mcp_types.PROTOCOL_VERSION_META_KEY,
    mcp_types.CLIENT_INFO_META_KEY,
    mcp_types.CLIENT_CAPABILITIES_META_KEY,
    mcp_types.LOG_LEVEL_META_KEY,
)
_CACHEABLE: Final = frozenset(
    ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
)
_MODERN_MEMBERS: Final = ("resultType", "ttlMs", "cacheScope")
BOX: Final = "result"


def is_modern(version: str) -> bool:
    """Whether a version of the protocol is of the modern era."""
    return version in MODERN_PROTOCOL_VERSIONS


def is_complete(result: Mapping[str, Any]) -> bool:
    """Whether a result is the answer, and no question to the client and no task that will have one.

    A result that says something is an answer whatever it calls itself.
    """
    is_question = result.get("resultType") == "input_required" and not is_answer(result)
    return not is_question and task_of(result) is None


def task_of(result: Mapping[str, Any]) -> str | None:
    """The task that will have the answer, where a result is that and not the answer itself."""
    if is_answer(result):
        return None
    if result.get("resultType") == "task":
        return str(result.get("taskId"))
    held = result.get("task")  # as 2025-11-25 has it
    return str(held.get("taskId")) if isinstance(held, Mapping) else None


def is_answer(result: Mapping[str, Any]) -> bool:
    """Whether a result says something."""
    return "content" in result or "structuredContent" in result


def is_last_page(result: Mapping[str, Any]) -> bool:
    """Whether a list goes no further; some servers say so in a cursor that is null or empty."""
    return not result.get("nextCursor")


def with_meta(params: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> Message:
    """Parameters with changes to their `_meta`; None takes a member out."""
    meta = (params or {}).get("_meta")
    meta = {**(meta if isinstance(meta, Mapping) else {}), **changes}
    meta = {name: value for name, value in meta.items() if value is not None}
    rest = {name: value for name, value in (params or {}).items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def add_envelope(params: Mapping[str, Any] | None, info: Any, capabilities: Any, level: str | None = None) -> Message:
    """Parameters for a modern server: with who asks, and what it can do."""
    told = (LATEST_MODERN_VERSION, info, capabilities or {}, level)
    return with_meta(params, dict(zip(_ENVELOPE, told, strict=True)))


def strip_envelope(params: Mapping[str, Any] | None) -> Message | None:
    """Parameters for a legacy server, which knows from the handshake who asks."""
    return with_meta(params, dict.fromkeys(_ENVELOPE)) or None


def read_object(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member of what a client says that has to be an object, or nothing."""
    found = holder.get(name) or {}
    if not isinstance(found, Mapping):
        raise MCPError(mcp_types.INVALID_PARAMS, f"{name} is an object")
    return found


def check_params(params: Mapping[str, Any]) -> None:
    """Refuse what would be lost on the way: members that are no objects, and numbers that JSON has not."""
    for name in ("_meta", "arguments"):
        read_object(params, name)
    if has_non_finite(params, lambda _: ()):
        raise MCPError(mcp_types.INVALID_PARAMS, "A number is beyond those that can be passed on")


def list_tools(result: Mapping[str, Any]) -> list[Message]:
    """The tools in a list of them, of which a server may have made something else."""
    found = result.get("tools")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def to_legacy(method: str, result: Mapping[str, Any]) -> Message:
    """A result as clients before 2026-07-28 take it: structured content is an object there."""
    told = {name: value for name, value in result.items() if name not in _MODERN_MEMBERS}
    if method == "tools/list":
        told["tools"] = [_box_schema(tool) for tool in list_tools(told)]
    held = told.get("structuredContent")
    if held is not None and not isinstance(held, dict):
        told["structuredContent"] = {BOX: held}
    return told


def _box_schema(tool: Message) -> Message:
    own = tool.get("outputSchema")
    if not isinstance(own, dict) or own.get("type") == "object":
        return tool
    rest = {name: part for name, part in own.items() if name != "$defs"}
    boxed: Message = {"type": "object", "properties": {BOX: rest}, "required": [BOX]}
    return {**tool, "outputSchema": {**boxed, "$defs": own["$defs"]} if "$defs" in own else boxed}


def to_modern(method: str, result: Mapping[str, Any], server: Any = None) -> Message:
    """A result as clients from 2026-07-28 on take it: it says that it is one, and how long it may be kept."""
    told: Message = {"resultType": "complete", **result}
    if method in _CACHEABLE and is_complete(told):
        told = {"ttlMs": 0, "cacheScope": "private", **told}
    if server is None:
        return told
    return {**told, "_meta": {mcp_types.SERVER_INFO_META_KEY: server, **(told.get("_meta") or {})}}
