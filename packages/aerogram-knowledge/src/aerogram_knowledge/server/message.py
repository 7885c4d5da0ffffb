"""The message: what the body of an MCP client must be before anybody reads it. Plain ASGI.

    {"method": "…", …}            a request or a notification, passes
    {"id": …, "result": …}        an answer to one of the server's, passes
    what is no JSON               passes; the server says so (-32700)
    any other JSON                is refused: Invalid Request (-32600)
    an id that is no text and     is refused likewise; the server would take the request for a notification, and
    no whole number               never answer it

A body that names a method, and every id in which is a text or a whole number, is passed on unread, so that a good
request costs next to nothing here.
"""

from __future__ import annotations

import re
from typing import Any, Final

from aerogram._http.exchange import BODY, START, App, Message, Receive, Scope, Send
from aerogram.content.jsontext import dumps, loads
from aerogram.errors import ContractError

__all__ = ["MessageFilter"]

INVALID_REQUEST: Final = -32600
_ANSWERS: Final = ({"id", "result"}, {"id", "error"})
_LIKELY: Final = re.compile(rb'\s*\{.*?"method"\s*:\s*"', re.DOTALL)
_ODD_ID: Final = re.compile(rb'"id"\s*+:\s*+(?!"|-?\d++\s*+[,}])|\\u00[46]')
"""What may be a wrong id, or one that is spelled so that it cannot be seen."""
_REFUSAL: Final = dumps(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": INVALID_REQUEST, "message": "Invalid Request: one JSON-RPC message with a method is wanted"},
    }
)


class MessageFilter:
    """The middleware: lets JSON-RPC messages through to an application."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse its body."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        taken = [await receive()]
        while taken[-1].get("more_body"):
            taken.append(await receive())
        body = b"".join(message.get("body", b"") for message in taken)
        if _is_message(body):
            await self.app(scope, _replay(taken, receive), send)
            return
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_REFUSAL))]
        await send({"type": START, "status": 400, "headers": headers})
        await send({"type": BODY, "body": _REFUSAL})


def _is_message(body: bytes) -> bool:
    """Whether a body is a message, or nothing that could be judged."""
    if _LIKELY.match(body) and not _ODD_ID.search(body):
        return True
    try:
        found: Any = loads(body)
    except ContractError:
        return True
    if not isinstance(found, dict):
        return False
    if isinstance(found.get("method"), str):
        return type(found.get("id", "")) in (str, int)
    return any(names <= found.keys() for names in _ANSWERS)


def _replay(taken: list[Message], receive: Receive) -> Receive:
    """What was taken already, and then what still comes."""
    waiting = iter(taken)

    async def take() -> Message:
        message = next(waiting, None)
        return message if message is not None else await receive()

    return take
