"""Address: a server behind that runs elsewhere and is spoken to over HTTP, streamable or as server-sent events.

What a server refuses before it looks at a message it says with a status, which the SDK's transport does not tell; it
is noted here, so that its client hears what to do.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from aerogram.errors import ContractError, Forbidden, RateLimited, ReplyError, Unauthenticated, Unavailable
from aerogram.gateway.login import logging_in
from aerogram.gateway.process import LARGEST
from aerogram.jsontext import loads

__all__ = ["Address", "refusal_of"]

MOST_NOTED: Final = 1000
_UNAUTHENTICATED, _FORBIDDEN, _TOO_MANY, _BROKEN = 401, 403, 429, 500
_KEY: Final = "Add --login, or a key: --header 'Authorization: Bearer ${NAME}', where NAME is a variable"


@dataclass(frozen=True)
class Address:
    """Where a server listens, and which headers it wants."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Literal["http", "sse"] = "http"
    login: bool = False
    """Whether somebody may be asked to log in there."""
    largest: int = LARGEST
    _refused: dict[Any, ReplyError] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return self.url

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        """The server's streams."""
        async with logging_in(self.url) if self.login else nullcontext() as auth:
            if self.transport == "sse":
                patience = 24 * 3600
                async with sse_client(self.url, dict(self.headers), sse_read_timeout=patience, auth=auth) as streams:
                    yield streams
                return
            hooks = {"response": [self._note]}
            times = httpx2.Timeout(30, read=None)
            async with (
                httpx2.AsyncClient(headers=dict(self.headers), timeout=times, event_hooks=hooks, auth=auth) as client,
                streamable_http_client(self.url, http_client=client, max_sse_event_size=self.largest) as streams,
            ):
                yield streams

    async def _note(self, response: httpx2.Response) -> None:
        error = refusal_of(response.status_code, response.headers)
        if error is None or (self.login and response.status_code == _UNAUTHENTICATED):  # it will be asked again
            return
        with contextlib.suppress(ContractError, httpx2.RequestNotRead):
            message = loads(response.request.content)
            if isinstance(message, dict) and "id" in message and len(self._refused) < MOST_NOTED:
                self._refused[message["id"]] = error

    def refusal(self, request_id: Any) -> ReplyError | None:
        """Why a request was not even looked at, if that is so."""
        return self._refused.pop(request_id, None)


def refusal_of(status: int, headers: Mapping[str, str]) -> ReplyError | None:
    """What a status means for whoever has asked; None where it is no refusal."""
    if status == _UNAUTHENTICATED:
        wants_login = "resource_metadata" in headers.get("www-authenticate", "")
        wish = "wants a login (OAuth, 401)" if wants_login else "wants to know who asks (401)"
        return Unauthenticated(f"The server behind {wish}", remediation=_KEY)
    if status == _FORBIDDEN:
        return Forbidden("The server behind does not allow this (403)")
    if status == _TOO_MANY:
        after = headers.get("retry-after", "")
        seconds = float(after) if after.isdigit() else None
        return RateLimited("The server behind gets too many requests (429)", retry_after=seconds)
    return Unavailable(f"The server behind answers with status {status}") if status >= _BROKEN else None
