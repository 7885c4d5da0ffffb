"""Address: a server behind that runs elsewhere and is spoken to over HTTP, streamable or as server-sent events.

What a server refuses before it looks at a message it says with a status, which the SDK's transport does not tell; it
is noted here, so that its client hears what to do. So is an answer beyond the limit, which the transport would read to
its end however far it unpacks; of events it takes none that are larger.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NoReturn

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from aerogram._mcp.faults import seconds_until
from aerogram.content.jsontext import loads
from aerogram.errors import ContractError, Forbidden, RateLimited, ReplyError, Unauthenticated, Unavailable
from aerogram.gateway.login import PATIENCE, logging_in
from aerogram.gateway.process import ASK_FOR_LESS, LARGEST, Loss
from aerogram.problems import LOOK_FIRST

__all__ = ["STREAM", "Address", "refusal_of"]

STREAM: Final[ContextVar[Any]] = ContextVar("aerogram_stream", default=None)
"""The id of the request in whose answer something is said: the transport takes each answer apart in a task of its own,
and what is said in it is heard in the context of that task."""
OPENING: Final = 60.0
"""Seconds that a server of the older transport has to say where it takes messages."""
MOST_NOTED: Final = 1000
_UNAUTHENTICATED, _FORBIDDEN, _TOO_MANY, _BROKEN, _OVERLOADED = 401, 403, 429, 500, 503
_CALLS: Final = frozenset(("tools/call", "tasks/update"))
"""What may have changed something by the time that it fails."""
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
                told: Any = {"sse_read_timeout": 24 * 3600, "httpx_client_factory": self._client, "auth": auth}
                patience = OPENING + (PATIENCE if self.login else 0)
                with anyio.CancelScope(deadline=anyio.current_time() + patience) as opening:
                    async with sse_client(self.url, dict(self.headers), **told) as streams:
                        opening.deadline = math.inf
                        yield streams
                if opening.cancelled_caught:
                    raise Unavailable(f"The server behind did not say within {patience:g} s where it takes messages")
                return
            async with (
                self._client(dict(self.headers), httpx2.Timeout(30, read=None), auth) as client,
                streamable_http_client(self.url, http_client=client, max_sse_event_size=self.largest) as streams,
            ):
                yield streams

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        hooks = {"response": [self._limit, self._note]}
        return httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks, auth=auth)

    async def _limit(self, response: httpx2.Response) -> None:
        """Have no more read of an answer than a message may have, as it is unpacked; a stream of events has no end."""
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            return
        packed = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
        response.stream = _Limited(packed, self.largest, partial(self._refuse, response.request))
        response.headers.pop("content-encoding", None)

    async def _note(self, response: httpx2.Response) -> None:
        STREAM.set(_request_id(response.request))
        asked = _message(response.request).get("method")
        error = refusal_of(response.status_code, response.headers, is_call=asked in _CALLS)
        if error is not None and not (self.login and response.status_code == _UNAUTHENTICATED):  # or it is asked again
            self._refuse(response.request, error)

    def _refuse(self, request: httpx2.Request, error: ReplyError) -> None:
        asked = _request_id(request)
        if asked is not None and len(self._refused) < MOST_NOTED:
            self._refused[asked] = error

    def refusal(self, request_id: Any) -> ReplyError | None:
        """Why a request was not even looked at, if that is so."""
        return self._refused.pop(request_id, None)


def _request_id(request: httpx2.Request) -> Any:
    """The id in the message that a request has sent, if there is one."""
    return _message(request).get("id")


def _message(request: httpx2.Request) -> dict[str, Any]:
    """The message that a request has sent, if it is one."""
    with contextlib.suppress(ContractError, httpx2.RequestNotRead):
        message = loads(request.content)
        return message if isinstance(message, dict) else {}
    return {}


class _Limited(httpx2.AsyncByteStream):
    """What a response unpacks to, up to a limit."""

    def __init__(self, packed: httpx2.Response, largest: int, refuse: Callable[[ReplyError], None]) -> None:
        self._packed, self._largest, self._refuse = packed, largest, refuse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._packed.aiter_bytes():  # of a megabyte at most, however far it unpacks
                size += len(piece)
                if size > self._largest:
                    break
                yield piece
        except httpx2.DecodingError:
            self._fail("cannot be unpacked", LOOK_FIRST)
        if size > self._largest:
            self._fail(f"has more than {self._largest:,} bytes, and is not taken", ASK_FOR_LESS)

    def _fail(self, words: str, advice: str) -> NoReturn:
        self._refuse(Loss(f"The server's answer {words}", advice).error())
        raise httpx2.StreamError(words)  # which fails this request in the transport, and no other

    async def aclose(self) -> None:
        await self._packed.aclose()


def refusal_of(status: int, headers: Mapping[str, str], *, is_call: bool = False) -> ReplyError | None:
    """What a status means for whoever has asked; None where it is no refusal.

    A server that breaks, and a balancer that has waited for its answer, may have carried a call out.
    """
    if status == _UNAUTHENTICATED:
        wants_login = "resource_metadata" in headers.get("www-authenticate", "")
        wish = "wants a login (OAuth, 401)" if wants_login else "wants to know who asks (401)"
        return Unauthenticated(f"The server behind {wish}", remediation=_KEY)
    if status == _FORBIDDEN:
        return Forbidden("The server behind does not allow this (403)")
    if status == _TOO_MANY:
        seconds = seconds_until(headers.get("retry-after"))
        return RateLimited("The server behind gets too many requests (429)", retry_after=seconds)
    if status < _BROKEN:
        return None
    words = f"The server behind answers with status {status}"
    may_be_done = is_call and status != _OVERLOADED
    return Unavailable(words, remediation=LOOK_FIRST, retry="check") if may_be_done else Unavailable(words)
