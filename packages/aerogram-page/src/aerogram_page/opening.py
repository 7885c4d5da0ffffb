"""Opening: text that came from anywhere, read as a reply: a body in any dialect, a tool result, or plain JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from aerogram.channels import summary_of
from aerogram.client.reading import items_of, read
from aerogram.content import sha256_of
from aerogram.content.jsontext import part_to_json
from aerogram.dialects import NAMES, recognise
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects import read as read_body
from aerogram.errors import ContractError, InvalidReply, ReplyError
from aerogram.reply import Reply
from aerogram_page.paths import LARGEST_REPLY
from aerogram_page.violations import Fault, faults_of
from aerogram_page.work import count_values, load

__all__ = ["OpenedReply", "open_reply"]

UNKNOWN: Final = "unknown"
ENOUGH: Final = 3
"""Members of a dialect that a body must have to be taken for one of it."""


@dataclass(frozen=True, eq=False)
class OpenedReply:
    """A reply that was opened: what it is, and in which dialect it was."""

    id: str
    reply: Reply[Any]
    recognised: str
    bytes: int
    values: int
    body: Any = field(repr=False)
    faults: tuple[Fault, ...] = ()
    title: str = ""
    claimed: str | None = None
    """The dialect that the body looks like, and whose rules it breaks so that it cannot be read as it."""

    @property
    def operation(self) -> str:
        """What the reply says that it answers."""
        return self.reply.operation or UNKNOWN

    @property
    def dialect(self) -> str:
        """The dialect of the body itself, wherever it stood."""
        return self.recognised.rpartition(":")[2]

    def as_json(self) -> dict[str, Any]:
        """What the browser is told of it."""
        problem = self.reply.problem
        return {
            "id": self.id,
            "title": self.title,
            "dialect": self.dialect,
            "recognised": self.recognised,
            "claimed": self.claimed,
            "bytes": self.bytes,
            "status": self.reply.status,
            "operation": self.operation,
            "items": len(items_of(self.reply)),
            "problem": None if problem is None else part_to_json(problem),
            "summary": summary_of(Reply(self.reply.data)).partition("\n")[0] if problem is None else problem.message,
            "valid": not self.faults,
            "faults": [one.as_json() for one in self.faults],
        }


def open_reply(text: str | bytes, *, title: str = "") -> OpenedReply:
    """The reply in a text; what is no JSON is refused with the place where it stops being it."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > LARGEST_REPLY:
        raise ReplyError(
            f"A reply of {len(raw):,} bytes is too large to be opened; the limit is {LARGEST_REPLY:,} bytes",
            code="CONTENT_TOO_LARGE",
            details={"max_bytes": LARGEST_REPLY},
        )
    body = _parse(raw)
    reply, recognised = _read(body)
    inner, dialect = _inner(body), recognised.rpartition(":")[2]
    nearest = _nearest(inner) if dialect == "bare" else None
    faults = faults_of(inner, nearest or dialect)
    claimed = nearest if faults else None
    return OpenedReply(
        "r-" + sha256_of(raw)[7:31], reply, recognised, len(raw), count_values(raw), body, faults, title, claimed
    )


def _parse(raw: bytes) -> Any:
    try:
        body = load(raw)
    except ContractError as error:
        raise ReplyError(
            f"This is no JSON that can be shown: {error.rule}",
            code="INVALID_FORMAT",
            remediation="Open one JSON value in UTF-8: a body, a tool result, or plain data",
            details={"errors": [{"detail": error.rule, "pointer": ""}]},
        ) from None
    for block in body["content"] if _is_tool_result(body) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            count_values(block["text"])  # a body may stand in there
    return body


def _read(body: Any) -> tuple[Reply[Any], str]:
    """The reply, and the name of what it was in; a body that breaks its contract is read as far as it goes."""
    try:
        reply = read(body) if isinstance(body, (dict, list)) else Reply(body)
    except (ContractError, InvalidReply):
        return Reply(body), "bare"
    if _is_tool_result(body):
        return reply, f"mcp:{_dialect_of(_inner(body))}"
    return reply, _dialect_of(body) if reply.data is not body else "bare"


def _is_tool_result(body: Any) -> bool:
    return isinstance(body, dict) and isinstance(body.get("content"), list)


def _inner(body: Any) -> Any:
    """The body itself, of a tool result the structured content."""
    if _is_tool_result(body) and isinstance(body.get("structuredContent"), dict):
        return body["structuredContent"]
    return body


def _dialect_of(body: Any) -> str:
    try:
        found = recognise(body)
        read_body(body, dialect=found)
    except (ContractError, InvalidReply):
        return "bare"
    return found.name


def _nearest(body: Any) -> str | None:
    """The dialect that a body speaks, or of whose members it has most, if those are enough to tell."""
    try:
        return recognise(body).name
    except ContractError:
        if not isinstance(body, dict):
            return None
    shares = {name: len(dialect_named(name).members & body.keys()) for name in NAMES}
    name, count = max(shares.items(), key=lambda one: one[1])
    return name if count >= ENOUGH else None
