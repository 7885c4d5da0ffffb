"""Address: a server behind that runs elsewhere and is spoken to over HTTP, streamable or as server-sent events.

Each message is a request of its own, and what goes wrong with one is no more than that. So whatever keeps a request
from being answered is told here in the server's place, to the session that it belongs to: a status that refuses it, a
connection that breaks, an answer that is too large or that cannot be unpacked. The SDK's transport would end the
session for some of these, tell nobody of others, and read an answer to its end however far it unpacks.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NoReturn, Self

import anyio
import httpx2
import mcp_types
from mcp.client.auth import OAuthFlowError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage

from aerogram.content.jsontext import loads
from aerogram.errors import ContractError, Forbidden, RateLimited, ReplyError, Unauthenticated, Unavailable
from aerogram.gateway.login import PATIENCE, failed_login, logging_in
from aerogram.gateway.process import ASK_FOR_LESS, LARGEST, UNREAD, Loss, Mender
from aerogram.limits.fields import read_retry_after
from aerogram.problems import BrokenOff
from aerogram.sanitize import Redaction, sanitize_text

__all__ = ["CALLS", "STREAM", "Address", "refusal_of"]

log = logging.getLogger("aerogram.gateway")

STREAM: Final[ContextVar[Any]] = ContextVar("aerogram_stream", default=None)
"""The id of the request in whose answer something is said: the transport takes each answer apart in a task of its own,
and what is said in it is heard in the context of that task."""
OPENING: Final = 60.0
"""Seconds that a server of the older transport has to say where it takes messages."""
LONGEST_RECEIPT: Final = 5.0
"""Seconds for the receipt of a message that wants no answer; until it comes, nothing else is sent."""
_UNAUTHENTICATED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _BROKEN, _OVERLOADED = 401, 403, 404, 429, 500, 503
_FAILING: Final = 400
_LIMITS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=20)
"""Connections to one server: as many as a gateway has room for, so that many slow calls leave some for others."""
CALLS: Final = frozenset(("tools/call", "tasks/update"))
"""What may have changed something by the time that it fails."""
_KEY: Final = "Add --login, or a key: --header 'Authorization: Bearer ${NAME}', where NAME is a variable"

CUT_OFF: Final = Loss("The connection to the server behind broke before it answered", is_cut_off=True)
UNREACHED: Final = Loss(
    "The server behind cannot be reached", "Call again in a while; nothing was sent", retry="yes", is_cut_off=True
)
_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_HIDDEN: Final = re.compile(r"(?<=//)[^/\s@]*@|[?#]\S*|(?<=[^/]/)(?:(?=[^/\s?#]*\d)[^/\s?#]{12,}|[^/\s?#]{32,})")
"""What of an address is nobody's business: its user, its query, and a part of its path that is no word."""
_NOTHING: Final = "aerogram/nothing"
"""A request that is not sent."""
_EVENT_TOO_LARGE: Final = "SSE stream failed: Server-sent event exceeded"
_EXPLAINED: Final = (
    (mcp_types.PARSE_ERROR, "Failed to parse", UNREAD),
    (mcp_types.INVALID_REQUEST, "Unexpected content type", UNREAD),
    (mcp_types.INVALID_REQUEST, "server answered a request with 202", UNREAD),
    (mcp_types.INTERNAL_ERROR, "Server returned an error response", UNREAD),
    (mcp_types.CONNECTION_CLOSED, "SSE stream ended", CUT_OFF),
)
"""What the SDK says, by its codes, of an answer that is none."""


@dataclass(frozen=True)
class Address:
    """Where a server listens, and which headers it wants."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Literal["http", "sse"] = "http"
    login: bool = False
    """Whether somebody may be asked to log in there."""
    largest: int = LARGEST

    def __str__(self) -> str:
        return self.url

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        """The server's streams."""
        async with (
            logging_in(self.url) if self.login else nullcontext() as auth,
            _Inbox(self.largest) as inbox,
            self._connect(inbox, auth) as (received, sent),
            anyio.create_task_group() as group,
        ):
            group.start_soon(inbox.fill, received)
            try:
                yield inbox, sent
            finally:
                group.cancel_scope.cancel()

    @asynccontextmanager
    async def _connect(self, inbox: _Inbox, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
        if self.transport == "sse":
            told: Any = {"sse_read_timeout": 24 * 3600, "auth": auth}
            client = partial(_Client, inbox, answers=False)
            patience = OPENING + (PATIENCE if self.login else 0)
            with anyio.CancelScope(deadline=anyio.current_time() + patience) as opening:
                async with sse_client(self.url, dict(self.headers), httpx_client_factory=client, **told) as pair:
                    opening.deadline = math.inf
                    yield pair
            if opening.cancelled_caught:
                raise Unavailable(f"The server behind did not say within {patience:g} s where it takes messages")
            return
        async with (
            _Client(inbox, dict(self.headers), httpx2.Timeout(30, read=None), auth) as http,
            streamable_http_client(self.url, http_client=http, max_sse_event_size=self.largest) as (received, sent),
        ):
            yield received, _Outbox(sent)


class _Inbox:
    """What a server says, and in between what has become of the requests that it does not answer."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.last_context: Context | None = None
        """In what context the last message was said, as the SDK's own streams tell it."""
        self._in, self._out = anyio.create_memory_object_stream[tuple[Any, Context | None]](0)

    async def fill(self, received: Any) -> None:
        """Take in what the server says."""
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with received, self._in:
                async for item in received:
                    self._explain(item)
                    await self._in.send((item, received.last_context))

    async def fail(self, asked: Any, failure: Loss | ReplyError, words: str) -> None:
        """Answer a request in the server's place. What came too late for its request is heard by nobody."""
        is_cut_off = isinstance(failure, Loss) and failure.is_cut_off
        code = mcp_types.CONNECTION_CLOSED if is_cut_off else mcp_types.INTERNAL_ERROR
        error = mcp_types.ErrorData(code=code, message=words, data=failure)
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._in.send((SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=asked, error=error)), None))

    def _explain(self, item: Any) -> None:
        """Say in our words what the SDK says of an answer."""
        error = getattr(getattr(item, "message", None), "error", None)
        if error is None or error.data is not None:
            return
        if error.code == mcp_types.CONNECTION_CLOSED and error.message.startswith(_EVENT_TOO_LARGE):
            error.data = _too_large(self.largest)
        elif error.code == mcp_types.INVALID_REQUEST and error.message.startswith("Redirect to "):
            place = sanitize_text(_HIDDEN.sub("", error.message), Redaction())
            error.data = Loss(place, "Check the address of the wrapped server", retry="no")
        else:
            found = (why for code, words, why in _EXPLAINED if error.code == code and error.message.startswith(words))
            error.data = next(found, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._in.close()
        self._out.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            item, self.last_context = await self._out.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
        return item


class _Outbox:
    """What a server is told. Of a call that is given up the connection is closed as well.

    For a legacy server the SDK would leave that to the server: each tool that hangs, or drips, would hold one for ever.
    A request with an id that is in use takes the place of the one before it, whose connection is closed then.
    """

    def __init__(self, sent: Any) -> None:
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sent, name)

    async def send(self, item: SessionMessage) -> None:
        """Tell it something."""
        message = item.message
        if isinstance(message, mcp_types.JSONRPCNotification) and message.method == "notifications/cancelled":
            asked = cancelled_request_id_from_params(message.params)
            if asked is not None:
                nothing = mcp_types.JSONRPCRequest(jsonrpc="2.0", id=asked, method=_NOTHING)
                await self._sent.send(SessionMessage(nothing))
        await self._sent.send(item)


class _Client(httpx2.AsyncClient):
    """Sends messages; one that fails does so by itself."""

    def __init__(
        self,
        inbox: _Inbox,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        *,
        answers: bool = True,
    ) -> None:
        """`answers` says whether what is sent is answered in the response to it."""
        super().__init__(
            headers=headers, timeout=timeout, auth=auth, limits=_LIMITS, event_hooks={"response": [self._limit]}
        )
        self._inbox, self._answers = inbox, answers

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a message; to the SDK, one that has failed is one that was taken."""
        message = _message(request)
        if message.get("method") == _NOTHING:
            return httpx2.Response(202, request=request)
        if request.method == "POST" and not _wants_answer(message):
            request.extensions["timeout"] = {**request.extensions.get("timeout", {}), "read": LONGEST_RECEIPT}
        STREAM.set(message.get("id"))
        try:
            response = await super().send(request, **options)
        except Exception as error:
            if request.method != "POST":
                raise
            log.debug("a message is lost", exc_info=True)
            failure = _failure_of(error)
            words = str(error) if isinstance(error, _UNSENT) else ""  # others may hold what was sent, and keys
            await self._fail(message, failure, words or _reason(failure))
            return httpx2.Response(202, request=request)
        refusal = self._refusal(response, message) if request.method == "POST" else None
        if refusal is None:
            return response
        await response.aclose()
        await self._fail(message, refusal, f"The server behind answers with status {response.status_code}")
        return httpx2.Response(202, request=request)

    def _refusal(self, response: httpx2.Response, message: Mapping[str, Any]) -> Loss | ReplyError | None:
        """Why a message was not taken, if that is so; an error of the protocol may have any status."""
        status = response.status_code
        refusal = refusal_of(status, response.headers, is_call=message.get("method") in CALLS)
        if refusal is not None or status < _FAILING:
            return refusal
        if not self._answers:
            return CUT_OFF
        may_be_told = status == _NOT_FOUND or _type_of(response).startswith("application/json")
        return None if may_be_told else Loss(f"The server behind answers with status {status}")

    async def _fail(self, message: Mapping[str, Any], failure: Loss | ReplyError, words: str) -> None:
        if _wants_answer(message):
            await self._inbox.fail(message["id"], failure, words)
        else:
            log.warning("the server behind has not taken a message: %s", words)

    async def _limit(self, response: httpx2.Response) -> None:
        """Have no more read of an answer than a message may have, as it is unpacked; a stream of events has no end."""
        has_end = not _type_of(response).startswith("text/event-stream")
        packed = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
        lose = partial(self._lose, response.request)
        response.stream = _Unpacked(packed, self._inbox.largest if has_end else None, lose)
        response.headers.pop("content-encoding", None)

    async def _lose(self, request: httpx2.Request, loss: Loss) -> None:
        await self._fail(_message(request), loss, loss.reason)


def _wants_answer(message: Mapping[str, Any]) -> bool:
    return "id" in message and "method" in message


def _type_of(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).lower()


def _failure_of(error: Exception) -> Loss | ReplyError:
    """What to tell of a message that was not sent, or that got no response."""
    if isinstance(error, ReplyError):
        return error
    if isinstance(error, OAuthFlowError):
        return failed_login(error)
    return UNREACHED if isinstance(error, _UNSENT) else CUT_OFF


def _reason(failure: Loss | ReplyError) -> str:
    return failure.reason if isinstance(failure, Loss) else str(failure)


def _too_large(largest: int) -> Loss:
    return Loss(f"The server's answer has more than {largest:,} bytes, and is not taken", ASK_FOR_LESS, retry="no")


def _message(request: httpx2.Request) -> dict[str, Any]:
    """The message that a request has sent, if it is one."""
    with contextlib.suppress(ContractError, httpx2.RequestNotRead):
        message = loads(request.content)
        return message if isinstance(message, dict) else {}
    return {}


class _Unpacked(httpx2.AsyncByteStream):
    """What a response unpacks to, with whole characters; up to a limit, if it has an end."""

    def __init__(self, packed: httpx2.Response, largest: int | None, lose: Callable[[Loss], Awaitable[None]]) -> None:
        self._packed, self._largest, self._lose = packed, largest, lose

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, mender = 0, Mender()
        try:
            async for piece in self._packed.aiter_bytes():  # of a megabyte at most, however far it unpacks
                size += len(piece)
                if self._largest is not None and size > self._largest:
                    break
                yield mender.feed(piece)
        except httpx2.DecodingError:
            await self._fail(Loss("The server's answer cannot be unpacked"))
        except httpx2.TransportError:
            if self._largest is None:
                raise  # the transport may go on with another stream where this one has ended
            await self._fail(CUT_OFF)
        if self._largest is not None and size > self._largest:
            await self._fail(_too_large(self._largest))
        yield mender.rest

    async def _fail(self, loss: Loss) -> NoReturn:
        await self._lose(loss)
        raise httpx2.StreamError(loss.reason)  # which fails this request in the transport, and no other

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
        seconds = read_retry_after(headers.get("retry-after"))
        return RateLimited("The server behind gets too many requests (429)", retry_after=seconds)
    if status < _BROKEN:
        return None
    words = f"The server behind answers with status {status}"
    may_be_done = is_call and status != _OVERLOADED
    return BrokenOff(words, code="UNAVAILABLE") if may_be_done else Unavailable(words)
