"""Drain: how a server leaves without anybody noticing.

SIGTERM ─▶ /v1/health answers 503      whoever balances sends new requests elsewhere
        ─▶ --drain seconds              everything is still answered, and every connection closed after its answer
        ─▶ the socket is closed         --grace seconds for what is running
        ─▶ end
"""

from __future__ import annotations

from typing import Final

from aerogram._http.exchange import START, App, Message, Receive, Scope, Send
from aerogram.errors import Unavailable

__all__ = ["ConnectionCloser", "Drain"]

ELSEWHERE: Final = 1.0
"""Seconds after which another server will have taken over."""
_CLOSE: Final = (b"connection", b"close")


class Drain:
    """Whether this server is about to end."""

    def __init__(self) -> None:
        self.has_begun = False

    def begin(self) -> None:
        """From now on this server is not to be sent requests."""
        self.has_begun = True

    def refuse(self) -> None:
        """Raise what whoever asks for the health of a server that is about to end is told."""
        if self.has_begun:
            raise Unavailable("This server is about to end", remediation="Ask another server", retry_after=ELSEWHERE)


class ConnectionCloser:
    """Closes connections after their answer, once a server is about to end. Plain ASGI."""

    def __init__(self, app: App, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; while draining, answers say that their connection ends."""
        await self._app(scope, receive, self._with_close_header(send) if scope["type"] == "http" else send)

    def _with_close_header(self, send: Send) -> Send:
        async def say(message: Message) -> None:
            if message["type"] == START and self._drain.has_begun:
                message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
            await send(message)

        return say
