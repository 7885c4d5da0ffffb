"""Cleaning: everything that a server of the SDK sends, without what may not be said.

What tools, resources and prompts give is clean before it comes here. This is for the rest: what is asked of a client,
what is told by itself, errors, and the answers to methods that nobody here knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aerogram.sanitize import Cleaner

__all__ = ["clean_messages"]

_CLEAN_BEFORE: Final = {"tools/call": "content", "resources/read": "contents", "prompts/get": "messages"}
"""Methods whose answers are clean already, by what tells them from questions to the client and from tasks."""


def clean_messages(server: Any, cleaner: Cleaner) -> None:
    """Have a server, which is a low-level one, send nothing that has not been looked at."""
    if cleaner:
        server.middleware.insert(0, _Cleaning(cleaner))


class _Cleaning:
    """The outermost middleware of a server."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        """What comes of a message of the client, and what is said to it while that is found out."""
        session = ctx.session
        # the SDK has no public way to what a session sends, and makes a new session for each message
        session._request_outbound = _CleanChannel(session._request_outbound, self._cleaner)
        connection = session._connection
        if not isinstance(connection.outbound, _CleanChannel):
            connection.outbound = _CleanChannel(connection.outbound, self._cleaner)
        try:
            result = await call_next(ctx)
        except Exception as error:
            self._cleaner.clean_failure(error)
            raise
        if not isinstance(result, dict) or _CLEAN_BEFORE.get(ctx.method) in result:
            return result
        return self._cleaner.clean_answer(ctx.method, result)


class _CleanChannel:
    """The way to a client, on which everything is clean."""

    def __init__(self, held: Any, cleaner: Cleaner) -> None:
        self._held = held
        self._cleaner = cleaner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, *options: Any) -> dict[str, Any]:
        """Ask the client."""
        answer: dict[str, Any] = await self._held.send_raw_request(
            method, self._cleaner.clean_question(params), *options
        )
        return answer

    async def notify(self, method: str, params: Mapping[str, Any] | None, *options: Any) -> None:
        """Tell the client."""
        await self._held.notify(method, self._cleaner.clean_news(method, params), *options)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far its request is."""
        await self._held.progress(progress, total, self._cleaner.clean(message))
