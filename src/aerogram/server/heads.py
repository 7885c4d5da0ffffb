"""Heads: a HEAD request is answered as the GET would be, with its headers and without its body. Plain ASGI."""

from __future__ import annotations

from typing import Final

from aerogram.wire.exchange import BODY, App, Message, Receive, Send
from aerogram.wire.request import Scope

__all__ = ["Heads"]

PREFIX: Final = "/v1/"


class Heads:
    """Keeps back the bodies that nobody asked for, at the addresses of the library; others see to it themselves."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a HEAD as a GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or not scope["path"].startswith(PREFIX):
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == BODY else message)

        await self.app({**scope, "method": "GET"}, receive, without_body)
