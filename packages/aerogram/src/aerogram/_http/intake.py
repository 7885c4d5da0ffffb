"""Intake: the body of a request on its way in.

Python's own reader takes NaN, numbers without end and halves of surrogate pairs for JSON. Whoever repeats them, in an
answer or in the words about a mistake, cannot write them, and the caller's fault becomes one of the server. Such a body
is refused where a handler receives it, as one that is not JSON; frameworks know what to do about that. Further
outside it could not be: middleware may carry what is raised there into another task, and change it on the way.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, Final

from aerogram._http.application import find_holder, replace_app
from aerogram._http.exchange import EXCHANGE, SAFE_METHODS, App, Exchange, Message, Receive, Scope, Send
from aerogram._http.responses import is_json
from aerogram.content.jsontext import find_looseness
from aerogram.errors import ReplyError

__all__ = ["LooseBody", "add_intake", "read_json_strictly"]

LARGEST: Final = 64 * 1024 * 1024
"""How much of a body is held to be looked at; a longer one is no longer held."""

_BODY: Final = "http.request"
_UNSAID: Final = frozenset((b"text/plain", b"application/x-www-form-urlencoded"))
"""What clients also send for JSON when nobody has told them to name it; only who reads it knows whether it is."""


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


class _Intake:
    """Stands before what a route has for its handler; applications with and without the layer may share it."""

    def __init__(self, app: App) -> None:
        self.app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Let the handler answer, unless it receives a loose body."""
        exchange: Exchange | None = scope.get(EXCHANGE)
        if exchange is not None and scope["method"] not in SAFE_METHODS:
            kind = _kind_of(exchange)
            if not kind or is_json(kind):
                receive = _refuse_loose(receive, exchange)
        return self.app(scope, receive, send)


def add_intake(route: Any) -> None:
    """Put one inside of all middleware of a route that can be seen."""
    holder = find_holder(route)
    if not isinstance(holder, _Intake):
        replace_app(holder, _Intake(holder.app))


def read_json_strictly(request: Any, exchange: Exchange) -> None:
    """Have `request.json()` raise `LooseBody` where a text turns out to be meant as JSON, and is loose."""
    if exchange.scope["method"] in SAFE_METHODS or exchange.is_passing or _kind_of(exchange) not in _UNSAID:
        return
    read = request.json

    async def read_strictly() -> Any:
        _insist(await request.body())
        return await read()

    request.json = read_strictly


def _kind_of(exchange: Exchange) -> bytes:
    """The type that the client names for its body."""
    return exchange.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()


def _insist(body: bytes) -> None:
    """Raise `LooseBody` for one that is."""
    found = find_looseness(body) if len(body) <= LARGEST else None
    if found is not None:
        raise LooseBody(*found)


def _refuse_loose(receive: Receive, exchange: Exchange) -> Receive:
    """Receive the body of an exchange; at the end of one that is loose, `LooseBody` is raised.

    That is where a handler gets it whose answers are in an envelope. Once its answer is on the way, who receives only
    waits for the client to go, and is not disturbed.
    """
    held: list[bytes] | None = []
    size = 0

    async def receive_strictly() -> Message:
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
        if terms is not None and terms.migrated and not (terms.is_foreign or exchange.is_answered):
            _insist(body)
        return message

    return receive_strictly
