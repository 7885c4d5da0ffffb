"""The guard: what stands between the network and an application. Plain ASGI.

    request ─▶ log         one line for each
            ─▶ room        for its connection        503, may be tried again
            ─▶ gate        Host, Origin, key         403, 401
            ─▶ size        of the body               413
            ─▶ time        until the answer begins   503, may be tried again; 408 if its body did not come
            ─▶ application                           with the caller in scope["user"]

A refusal is answered as every failure is: through the contract's layer around the application, in the shape that was
negotiated. Where there is no such layer, it is problem details. The log stands outside of all that may answer: it tells
of a page that asks for leave too, and of a crash, which goes on to whoever answers for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from aerogram._http.exchange import BODY, EXCHANGE, START, App, Exchange, Message, Receive, Scope, Send
from aerogram._http.negotiation import HttpRefusal
from aerogram._http.responses import Fields, render
from aerogram.content.line import one_line
from aerogram.dialects import dialect
from aerogram.errors import MissingExtra, ReplyError, Unauthenticated, Unavailable
from aerogram.problems import problem_of
from aerogram.reply import Reply, accept_request_id, new_request_id
from aerogram.serving.connection import is_turned_away, note_key, refuse_if_full
from aerogram.serving.gate import Access, AccessCheck, AccessKeys, AuthenticatedCaller

__all__ = ["Exemptions", "GuardMiddleware", "Rules", "mcp_principal", "principal_of", "protect"]

log = logging.getLogger("aerogram.access")

OPEN_PATHS: Final = frozenset({"/v1/health"})
"""What may be asked without a key: whether the server lives."""

_CHALLENGE: Final = (b"www-authenticate", b'Bearer realm="aerogram"')
_CLOSE: Final = (b"connection", b"close")
_POLICY_VIOLATION: Final = 1008
_CRASH: Final = 500
_LONGEST_PATH: Final = 500
"""Letters of a path in the log: whoever has no key yet must not fill the disk with it."""


class Rules(Access, Protocol):
    """What holds for the requests of a server, as its settings say."""

    @property
    def max_body(self) -> int:
        """Bytes of the largest body."""

    @property
    def timeout(self) -> float:
        """Seconds until an answer has begun; 0 for any number."""


class Exemptions(NamedTuple):
    """Paths for which other rules hold, as those of a page."""

    open_paths: frozenset[str] = frozenset()
    """Where anybody may get what is there, without a key."""
    open_below: tuple[str, ...] = ()
    """The same for all that stands below."""
    large_bodies: Mapping[str, int] = MappingProxyType({})
    """Where bodies may be larger than elsewhere, and how large, in bytes."""
    problems_below: str | None = None
    """Below which path refusals are problem details, whatever else was negotiated."""


NO_EXEMPTIONS: Final = Exemptions()


def protect(app: Any, settings: Rules, keys: AccessKeys | None, exempt: Exemptions = NO_EXEMPTIONS) -> None:
    """Guard a Starlette application; call it before the application starts, and before `install` or after it."""
    from starlette.requests import ClientDisconnect

    app.add_middleware(GuardMiddleware, settings=settings, keys=keys, exempt=exempt)
    if settings.allowed_origins:
        from starlette.middleware.cors import CORSMiddleware

        # outside of the guard, because a browser asks for leave without a key
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["X-Fidelity", "X-Warning"],
        )
    app.add_middleware(_RequestLog, gone=ClientDisconnect)


def principal_of(scope: Scope) -> str | None:
    """Who asks, as the guard has found out."""
    caller = scope.get("user")
    return caller.identity if isinstance(caller, AuthenticatedCaller) else None


def mcp_principal() -> str | None:
    """Who calls a tool of a FastMCP server behind the guard; None for a server on standard streams."""
    try:
        from fastmcp.server.dependencies import get_http_request
    except ImportError:
        raise MissingExtra("fastmcp", "fastmcp") from None
    try:
        return principal_of(get_http_request().scope)
    except RuntimeError:  # there is no HTTP request
        return None


class _RequestLog:
    """An application whose requests get one line in the log each; `gone` says that the client has left."""

    def __init__(self, app: App, gone: type[Exception]) -> None:
        self.app = app
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, and note how it has."""
        if scope["type"] != "http" or not log.isEnabledFor(logging.INFO):
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), None

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == START:
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception as error:
            status = status or (None if isinstance(error, self._gone) else _CRASH)
            raise
        finally:
            _log_request(scope, status, time.perf_counter() - started)


def _log_request(scope: Scope, status: int | None, seconds: float) -> None:
    exchange: Exchange | None = scope.get(EXCHANGE)
    facts = {
        "method": scope["method"],
        "path": one_line(_cut(scope["path"])),
        "status": status,
        "duration": round(seconds, 6),
        "principal": principal_of(scope),
        "envelope": exchange.envelope if exchange is not None else None,
    }
    words = f"{facts['method']} {facts['path']} {status or 'no answer'}"
    log.info(words, extra={"request_id": _request_id(scope), "request": facts})


def _request_id(scope: Scope) -> str:
    exchange: Exchange | None = scope.get(EXCHANGE)
    if exchange is not None:
        return exchange.request_id
    sent = next((value for name, value in scope["headers"] if name.lower() == b"x-request-id"), b"")
    return accept_request_id(sent.decode("latin-1")) or new_request_id()


class GuardMiddleware:
    """The middleware; one for an application."""

    def __init__(
        self,
        app: App,
        *,
        settings: Rules,
        keys: AccessKeys | None,
        open_paths: frozenset[str] = OPEN_PATHS,
        exempt: Exemptions = NO_EXEMPTIONS,
    ) -> None:
        self.app = app
        self.exempt = exempt
        self.gate = AccessCheck(settings, keys)
        self.max_body = settings.max_body
        self.timeout = settings.timeout
        self._open_paths = open_paths
        self._left_behind: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "http":
            await _GuardedRequest(self, scope, receive, send).handle()
        elif scope["type"] == "websocket":
            await self._handle_websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def admit(self, scope: Scope) -> None:
        """Put the caller into the scope, or raise the refusal."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        path, exempt = scope["path"], self.exempt
        is_exempt = path in exempt.open_paths or path.startswith(exempt.open_below)
        is_open = self.is_health(scope) or (is_exempt and _is_reading(scope))
        caller = self.gate.admit(headers, is_open=is_open)
        if caller is not None:
            scope["user"] = caller
            note_key(scope)

    def is_health(self, scope: Scope) -> bool:
        """Whether somebody only asks if the server lives; a balancer must learn that however full it is."""
        return _is_reading(scope) and scope["path"] in self._open_paths

    def leave_behind(self, task: asyncio.Task[None]) -> None:
        """Let go of a request that took too long; a thread cannot be stopped, so it is not waited for."""
        task.cancel()
        self._left_behind.add(task)  # kept, or the loop might drop it before it has cleaned up
        task.add_done_callback(self._left_behind.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _handle_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self.admit(scope)
        except ReplyError:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        await self.app(scope, receive, send)


class _GuardedRequest:
    """One request on its way through the guard."""

    def __init__(self, guard: GuardMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard = guard
        self._scope = scope
        self._receive = receive
        self._send = send
        self._taken = 0
        self._has_body = self._awaits_body = self._is_stream = False
        self._largest = max(guard.max_body, guard.exempt.large_bodies.get(scope["path"], 0))
        self._refusal: ReplyError | None = None
        self._status: int | None = None
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def handle(self) -> None:
        """Pass, or be refused."""
        try:
            try:
                if not self._guard.is_health(self._scope):
                    refuse_if_full(self._scope)
                self._guard.admit(self._scope)
                self._check_declared_size()
            except ReplyError as refusal:
                await self._answer(refusal)
            else:
                await self._forward()
        except asyncio.CancelledError:
            if self._is_stream:
                await self._send({"type": BODY, "body": b""})  # which it may end at any time
                return
            if self._status is not None:
                raise
            # the server ends, and does not wait any longer for what is running
            await self._answer(Unavailable("This server is about to end", remediation="Try again", retry_after=1))

    async def _forward(self) -> None:
        """Run the application, and answer for it if its time is over before it has begun to."""
        task = asyncio.create_task(self._run())
        try:
            limit = self._guard.timeout or None
            await asyncio.wait({task, self._begun}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if task.done() or self._begun.done():
                await task
            else:
                self._guard.leave_behind(task)
                self._refusal = _too_late_error(limit or 0, is_body_missing=self._awaits_body)
        finally:
            if not task.done():
                task.cancel()
        if self._refusal is not None and self._status is None:
            await self._answer(self._refusal)

    async def _run(self) -> None:
        try:
            await self._guard.app(self._scope, self._take, self._give)
        except Exception:
            if self._refusal is None or self._status is not None:
                raise

    def _check_declared_size(self) -> None:
        for name, value in self._scope["headers"]:
            if name.lower() == b"content-length" and value.isdigit() and int(value) > self._largest:
                raise _too_large_error(self._largest)

    async def _take(self) -> Message:
        """The next message from the client; a body that grows beyond its limit ends here."""
        self._awaits_body = not self._has_body
        message = await self._receive()
        self._awaits_body = False
        if message["type"] == "http.request":
            self._has_body = not message.get("more_body", False)
            self._taken += len(message.get("body", b""))
            if self._taken > self._largest:
                self._refusal = _too_large_error(self._largest)
                raise self._refusal
        return message

    async def _give(self, message: Message) -> None:
        """A message of the application; what it says once the guard has refused is not heard."""
        if self._refusal is not None and not self._begun.done():
            return
        if message["type"] == START:
            self._status = message["status"]
            self._is_stream = any(_is_stream(*pair) for pair in message.get("headers", ()))
            if not self._begun.done():
                self._begun.set_result(None)
            if is_turned_away(self._scope):
                message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
        await self._send(message)

    async def _answer(self, refusal: ReplyError) -> None:
        problem = problem_of(refusal)
        status = getattr(refusal, "status", None) or problem.status
        given: Fields = [_CHALLENGE] if isinstance(refusal, Unauthenticated) else []
        if is_turned_away(self._scope):
            given.append(_CLOSE)
        self._status = status
        exchange = self._scope.get(EXCHANGE)
        below = self._guard.exempt.problems_below
        if exchange is not None and not (below and self._scope["path"].startswith(below)):
            await exchange.respond(refusal, self._send, status=status, given=given)
            return
        said = dialect("problem").complete(
            Reply.failed(problem, request_id=_request_id(self._scope)), operation=self._scope["path"]
        )
        body = render(said, dialect("problem"), dialect("problem").media_type, status)
        if problem.retry_after is not None:
            given.append((b"retry-after", b"%d" % max(1, round(problem.retry_after))))
        await self._send({"type": START, "status": body.status, "headers": given + body.fields})
        await self._send({"type": BODY, "body": body.content})


def _is_stream(name: bytes, value: bytes) -> bool:
    return name.lower() == b"content-type" and value.startswith(b"text/event-stream")


def _cut(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}…"


def _is_reading(scope: Scope) -> bool:
    return scope.get("method") in ("GET", "HEAD")


def _too_late_error(seconds: float, *, is_body_missing: bool) -> ReplyError:
    """What is said when the time is over: the fault is the client's where its body is still being waited for."""
    if is_body_missing:
        words = f"The body of the request did not arrive within {seconds:g} seconds"
        return HttpRefusal(408, "UNAVAILABLE", words, "Send it again, all of it")
    words = f"There was no answer within {seconds:g} seconds"
    return Unavailable(words, remediation="Try again, or ask for less", retry_after=1)


def _too_large_error(limit: int) -> HttpRefusal:
    return HttpRefusal(
        413,
        "CONTENT_TOO_LARGE",
        f"The body of a request has at most {limit:,} bytes",
        "Send less, or in several requests",
        max_bytes=limit,
    )
