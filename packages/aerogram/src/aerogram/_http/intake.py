"""Intake: the body of a request on its way in.

Python's own reader takes NaN, numbers without end and halves of surrogate pairs for JSON. Whoever repeats them, in an
answer or in the words about a mistake, cannot write them, and the caller's fault becomes one of the server. Such a body
is refused where it arrives, as one that is not JSON; frameworks know what to do about that.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from aerogram._http.responses import is_json
from aerogram.content.jsontext import find_looseness
from aerogram.errors import ReplyError

__all__ = ["LooseBody", "refuse_loose"]

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]

LARGEST: Final = 64 * 1024 * 1024
"""How much of a body is held to be looked at; a longer one is no longer held."""

_BODY: Final = "http.request"
_UNSAID: Final = frozenset((b"", b"text/plain", b"application/x-www-form-urlencoded"))
"""What clients send for JSON when nobody has told them to name it."""


class LooseBody(json.JSONDecodeError, ReplyError):
    """A body that only Python takes for JSON; to the handlers of frameworks, one that is not JSON."""

    code = "INVALID_FORMAT"
    status = 422

    def __init__(self, reason: str, place: int) -> None:
        json.JSONDecodeError.__init__(self, reason, "", place)
        ReplyError.__init__(
            self,
            f"The body of the request is not JSON: {reason}",
            remediation="Send well-formed JSON in UTF-8",
            details={"field": "body"},
        )


def refuse_loose(receive: Receive, exchange: Any) -> Receive:
    """Receive the body of an exchange; at the end of one that is loose, `LooseBody` is raised.

    Only what may be JSON is looked at, and only where a handler gets it whose answers are in an envelope.
    """
    kind = exchange.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind not in _UNSAID and not is_json(kind):
        return receive
    held: list[bytes] | None = []
    size = 0

    async def receive_strictly() -> MutableMapping[str, Any]:
        nonlocal held, size
        message = await receive()
        if held is None or message["type"] != _BODY:
            return message
        held.append(message.get("body", b""))
        size += len(held[-1])
        if message.get("more_body", False) and size <= LARGEST:
            return message
        body, held = b"".join(held) if size <= LARGEST else b"", None
        terms = exchange.terms
        if terms is None or not terms.migrated or terms.is_foreign:
            return message
        if (found := find_looseness(body)) is not None:
            raise LooseBody(*found)
        return message

    return receive_strictly
