"""Gate: what stands before an application whose handlers cannot be seen, so that the caller's limits hold there too."""

from __future__ import annotations

from aerogram.wire.exchange import EXCHANGE, App, Exchange, Receive, Send
from aerogram.wire.request import Scope

__all__ = ["put_gate"]


class _Gate:
    """Asks the layer of a request for leave; applications with and without one may share it."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, unless a limit is reached."""
        exchange: Exchange | None = scope.get(EXCHANGE)
        if exchange is not None:
            exchange.reach(scope)
            await exchange.layer.clerk.admit(exchange)
        await self.app(scope, receive, send)


def put_gate(holder: object, name: str, has_limits: bool) -> None:
    """Put one before what an attribute holds; where there are no limits, there is nothing to ask for."""
    there = getattr(holder, name)
    if has_limits and not isinstance(there, _Gate):
        setattr(holder, name, _Gate(there))
