"""Heads: a HEAD request is answered as the GET would be. Plain ASGI; the server leaves out the body."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from aerogram.wire.exchange import App, Receive, Send
from aerogram.wire.request import Scope

__all__ = ["Heads"]

PREFIX: Final = "/v1/"


class Heads:
    """Asks the library for what a GET would get, so that its tag and its length are told; other addresses see to it."""

    def __init__(self, app: App) -> None:
        self.app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer a HEAD as a GET."""
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"].startswith(PREFIX):
            scope = {**scope, "method": "GET"}
        return self.app(scope, receive, send)
