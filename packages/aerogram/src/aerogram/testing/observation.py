"""Observation: one answer as a client got it, of whichever protocol, and what is wrong with it at first sight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from aerogram.channels.reading import find_tool_result
from aerogram.client.reading import read
from aerogram.content.jsontext import loads
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects import recognise
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError
from aerogram.reply import Reply

__all__ = ["Complaint", "ObservedAnswer", "observe"]

Complaint = tuple[str, str]
"""The name of a promise, and the evidence that it was broken."""

FAILURES: Final = 400
UNREADABLE: Final = "The answer could not be read"


@dataclass(frozen=True, slots=True)
class ObservedAnswer:
    """An answer: its body as JSON, what it says about itself from outside, and every word of it.

    `failed` is the mark of failure that the protocol has for it, None where there is none.
    """

    protocol: Literal["mcp", "http", "body"]
    body: Any
    failed: bool | None
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)

    def speaker(self, wanted: str | Dialect | None = None) -> Dialect:
        """The dialect that the answer should be in, or the one that it is in."""
        return recognise(self.body) if wanted is None else dialect_named(wanted)


def observe(result: Any) -> ObservedAnswer:
    """A tool result, an HTTP response, or a body (text or parsed) as an observation."""
    if all(hasattr(result, name) for name in ("status_code", "headers", "content")):
        text = bytes(result.content).decode("utf-8", "replace")
        return ObservedAnswer("http", _json(text), result.status_code >= FAILURES, text)
    tool = find_tool_result(result)
    if tool is not None:
        text = "\n".join(tool.texts)
        body = tool.structured if tool.structured is not None else _json(text)
        return ObservedAnswer("mcp", body, tool.failed, text, tool.meta)
    body = loads(result) if isinstance(result, (str, bytes, bytearray, memoryview)) else result
    return ObservedAnswer("body", body, None, str(body))


def _json(text: str) -> Any:
    try:
        return loads(text)
    except ContractError:
        return None


def read_strictly(
    result: Any, seen: ObservedAnswer, wanted: str | Dialect | None
) -> tuple[Reply[Any] | None, list[Complaint]]:
    """The reply in an answer, read strictly in its dialect, and what is wrong with it."""
    try:
        speaker = seen.speaker(wanted)
        if speaker.is_bare:
            reply = (
                read(result, dialect=None if seen.failed else "bare") if seen.protocol != "body" else Reply(seen.body)
            )
        else:
            reply = speaker.decode(seen.body, lenient=False)
    except ContractError as error:
        return None, [("envelope", f"{error}; the answer is {(seen.text or repr(seen.body))[:160]}")]
    return reply, list(_complaints(reply, seen))


def _complaints(reply: Reply[Any], seen: ObservedAnswer) -> Iterator[Complaint]:
    if seen.failed is not None and seen.failed != (reply.problem is not None):
        mark = "isError" if seen.protocol == "mcp" else "an error status"
        says = f"the body says {reply.problem.code}" if reply.problem else "the body says that it succeeded"
        yield "mark", f"{says}, and {mark} is {'' if seen.failed else 'not '}set"
