"""Results: one answer of an MCP tool, and every promise that it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aerogram._mcp.results import PREFIX
from aerogram.channels import Channels, Sizer
from aerogram.client.reading import read
from aerogram.dialects import dialect as dialect_named
from aerogram.errors import AerogramError, ContractError
from aerogram.reply import Reply
from aerogram.testing.inputs import explain_mismatch
from aerogram.testing.leaks import leaks_in
from aerogram.testing.observation import UNREADABLE, Complaint, ObservedAnswer, observe, read_strictly
from aerogram.testing.settings import SweepSettings
from aerogram.testing.trails import is_refusal
from aerogram.tokens import Budget

__all__ = ["ResultCheck"]


class ResultCheck:
    """A tool result, and what is wrong with it."""

    def __init__(self, result: Any, tool: Any, dialect: Any) -> None:
        self.result, self.tool = result, tool
        self.seen: ObservedAnswer = observe(result)
        self.schema = getattr(tool, "output_schema", None)
        self.dialect = dialect
        self.is_content = self._is_content()
        self.found: list[Complaint] = []
        reply: Reply[Any] | None
        if self.is_content:
            reply = Reply(self.seen.body)
        else:
            reply, self.found = read_strictly(result, self.seen, dialect)
        self.is_read = reply is not None
        self.reply = reply or _read_leniently(result)

    def _is_content(self) -> bool:
        """Whether a handler has made the result itself, which is then sent as it is."""
        is_ours = _is_spoken(self.seen.body) or any(name.startswith(PREFIX) for name in self.seen.meta)
        return not (self.seen.failed or is_ours or self.schema) and self.result.structured_content is None

    def complaints(self, request_id: str, limit: Budget | None, settings: SweepSettings) -> Iterator[Complaint]:
        """Every promise that the answer breaks."""
        yield from self.found
        yield from self._about_schema()
        if self.is_read and not self.is_content:
            yield from self._about_request_id(request_id)
            yield from self._about_channels()
            yield from self._about_size(limit)
        if self.seen.failed:
            shows_words = self.reply.problem is not None and self.reply.problem.code == "TOOL_ERROR"
            leaks = leaks_in(self._words, settings.secrets, shows_words=shows_words)
            yield from (("leak", leak) for leak in leaks)
        else:
            yield from (("leak", f"it says {one!r}") for one in settings.secrets if one in self._words)

    @property
    def _words(self) -> str:
        return f"{self.seen.text} {self.result.structured_content} {self.seen.meta}"

    def _about_schema(self) -> Iterator[Complaint]:
        structured = self.result.structured_content
        if self.schema is None or (structured is None and self.seen.failed):
            return
        wrong = "there is no structured content" if structured is None else explain_mismatch(self.schema, structured)
        if wrong is not None:
            yield "schema", wrong

    def _about_request_id(self, sent: str) -> Iterator[Complaint]:
        places = {"the body": self.reply.request_id}
        if self.result.structured_content is not None and _is_spoken(_json_of(self.seen.text)):
            places["the text"] = read(self.seen.text, dialect=self.dialect).request_id
        named = self.seen.meta.get(PREFIX + "request_id")
        if named is not None:
            places["_meta"] = named
        wrong = {place: found for place, found in places.items() if found != sent}
        if wrong:
            yield (
                "request-id",
                f"{sent} was sent, and " + ", ".join(f"{place} has {found}" for place, found in wrong.items()),
            )

    def _about_channels(self) -> Iterator[Complaint]:
        """What must be said in the text, for clients that show nothing else; the text of a bare payload is its own."""
        reply = self.reply
        needed = {"the error code": reply.problem.code} if reply.problem else {}
        if reply.problem and self.seen.body is not None and self.dialect is not None:
            needed = {"the error code": dialect_named(self.dialect).code_of(reply.problem)}
        is_bare = self.dialect is not None and dialect_named(self.dialect).is_bare
        if reply.page is not None and reply.page.cursor and not is_bare:
            needed["the cursor"] = reply.page.cursor
        for action in () if is_bare else reply.actions:
            if action.tool and "hash" in (action.args or {}):
                needed |= {"the retrieval tool": action.tool, "its hash": str((action.args or {})["hash"])}
        for what, word in needed.items():
            if word not in self.seen.text and (reply.problem is None or reply.problem.code not in self.seen.text):
                yield "channels", f"{what} ({word[:60]}) is not in the text"

    def _about_size(self, limit: Budget | None) -> Iterator[Complaint]:
        if limit is None or is_refusal(self.reply):
            return
        size = Sizer(counter=limit.counter).of(Channels(self.seen.text, self.result.structured_content))
        if size > limit.limit:
            yield "budget", f"it has {size} {limit.counter.unit}, and the budget is {limit.limit}"


def _is_spoken(body: Any) -> bool:
    """Whether a body is in one of the dialects."""
    try:
        observe(body if isinstance(body, dict) else {}).speaker()
    except ContractError:
        return False
    return True


def _json_of(text: str) -> Any:
    try:
        return observe(text).body
    except ContractError:
        return None


def _read_leniently(result: Any) -> Reply[Any]:
    try:
        return read(result)
    except AerogramError:
        return Reply.failed("INTERNAL_ERROR", UNREADABLE)
