"""Cleaner: what a server says without what may not be said, wherever it says it.

Everything is looked at, members that nobody knows among it, but for what is listed here:

    of itself    its lists of tools, prompts, resources and templates, and how it introduces itself
    to ask       the form of what it wants of the client, whose words are looked at, and where a person is to go
    _meta        and annotations, where the protocol has them
    handles      by which a client comes back: cursors, states, ids, the address of a resource that has changed
    binary       pictures, sounds, blobs
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import mcp_types
from mcp.shared.exceptions import MCPError

from aerogram.content.jsontext import begins_as_json
from aerogram.reply import Reply
from aerogram.sanitize import Step, sanitize, sanitize_text
from aerogram.sanitize.steps import UNREADABLE

__all__ = ["Cleaner"]

Message = dict[str, Any]

_OF_ITSELF: Final = frozenset(
    (
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "notifications/subscriptions/acknowledged",  # which repeats the client's own words
    )
)
_HANDLES: Final = ("nextCursor", "requestState", "taskId", "progressToken", "requestId", "elicitationId")
_ASKED: Final = "inputRequests"
_FORMS: Final = ("requestedSchema", "tools", "toolChoice", "modelPreferences")
"""What is not text in a question to the client: its members have names of their own."""
_KEPT: Final = frozenset(("_meta", "annotations", *_HANDLES))
_PARTS: Final = frozenset(
    ("content", "contents", "messages", "resource", "task", "tasks", "result", "error", "elicitations", "text")
)
"""Members that the protocol has parts in, with members of their own; what stands elsewhere is data."""
_MEDIA: Final = ("image", "audio")


class Cleaner:
    """Takes out of a server's messages what the steps take out; without steps they are the same."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    def clean_result(self, method: str, result: Message) -> Message:
        """What a server answers to a request."""
        return result if not self._steps or method in _OF_ITSELF else self._clean_members(result)

    def clean_news(self, method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """A notification."""
        if params is None or not self._steps or method in _OF_ITSELF:
            return params
        return self._clean_members(params, ("uri",) if method == "notifications/resources/updated" else ())

    def clean_question(self, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """What a server asks the client; a form keeps its members, whatever they are called."""
        if params is None or not self._steps:
            return params
        forms = {name: self._clean_words(params[name]) for name in _FORMS if name in params}
        return {**self._clean_members(params, _FORMS), **forms}

    def _clean_words(self, value: Any) -> Any:
        """The texts in a value, and nothing by its name."""
        if isinstance(value, dict):
            return {name: self._clean_words(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._clean_words(one) for one in value]
        return sanitize_text(value, *self._steps) if isinstance(value, str) else value

    def clean_error(self, error: MCPError) -> MCPError:
        """An error of the protocol."""
        if not self._steps:
            return error
        said = error.error
        clean = self._clean_members({"code": said.code, "message": said.message, "data": said.data})
        return MCPError(said.code, clean.get("message", UNREADABLE), clean.get("data"))

    def clean_besides(self, result: Message) -> Message:
        """The answer of a tool, but for the texts of its blocks and its structured content.

        These the path of every result makes clean, and says so where there is a place for it.
        """
        if not self._steps:
            return result
        content, structured = result.get("content"), result.get("structuredContent")
        spared = {"content"} | ({"structuredContent"} if isinstance(structured, dict) else set())
        clean = self._clean_members(result, spared)
        if isinstance(content, list):
            clean["content"] = [self._clean_block(one) if isinstance(one, dict) else one for one in content]
        return clean

    def _clean_block(self, block: Message) -> Message:
        held = block.get("resource")
        if isinstance(held, dict):
            return {**self._clean_members(block, ("resource",)), "resource": self._clean_beside_text(held)}
        return self._clean_beside_text(block)

    def _clean_beside_text(self, block: Message) -> Message:
        return self._clean_members(block, ("text",) if isinstance(block.get("text"), str) else ())

    def _clean_part(self, part: Any) -> Any:
        if isinstance(part, str):
            return sanitize_text(part, *self._steps)
        if isinstance(part, list):
            return [self._clean_part(one) for one in part]
        return self._clean_members(part) if isinstance(part, dict) else part

    def _clean_members(self, members: Mapping[str, Any], spared: Collection[str] = ()) -> Message:
        """A part of a message: its own parts, and everything else in it as data, in the order that it had."""
        kept = _KEPT.union(spared, _find_spared(members))
        parts = _PARTS | {"data"} if members.get("code") == mcp_types.URL_ELICITATION_REQUIRED else _PARTS
        data = {name: value for name, value in members.items() if name not in kept and name not in parts}
        cleaned = iter(self._clean_data(data).items())
        made: Message = {}
        for name, value in members.items():
            if name in data:
                made.update([next(cleaned, (name, UNREADABLE))])  # the name may be another one
            else:
                made[name] = value if name in kept else self._clean_part(value)
        if isinstance(members.get(_ASKED), dict):
            made[_ASKED] = {key: self._clean_asked(one) for key, one in members[_ASKED].items()}
        return made

    def _clean_asked(self, asked: Any) -> Any:
        if not isinstance(asked, dict) or not isinstance(asked.get("params"), dict):
            return self._clean_part(asked)
        return {**self._clean_members(asked, ("method", "params")), "params": self.clean_question(asked["params"])}

    def _clean_data(self, data: Message) -> Message:
        """Data by the names of its members; none of it where nobody can look at what lies so deep."""
        texts = {name: sanitize_text(one, *self._steps) for name, one in data.items() if _is_json(one)}
        try:
            return dict(sanitize(Reply({**data, **texts}), *self._steps).data)
        except RecursionError:
            return {}


def _find_spared(members: Mapping[str, Any]) -> Collection[str]:
    """What is sent as it is of one kind of part: what it asks for, where a person is to go, what is binary."""
    if isinstance(members.get(_ASKED), dict):
        return (_ASKED,)  # question by question
    if "elicitationId" in members:
        return ("url",)
    return ("data",) if members.get("type") in _MEDIA else ("blob",) if "uri" in members else ()


def _is_json(value: Any) -> bool:
    return isinstance(value, str) and begins_as_json(value)
