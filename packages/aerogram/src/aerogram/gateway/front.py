"""Front: where clients reach the gateway, on standard streams or at a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import socket
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import anyio
import mcp_types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

import aerogram
from aerogram._mcp.cleaning import clean_messages
from aerogram.gateway.process import LARGEST, mend
from aerogram.gateway.relay import Relay
from aerogram.gateway.report import Entry, Report

__all__ = ["Page", "make_server", "serve_port", "serve_streams"]

log = logging.getLogger("aerogram.gateway")

GRACE: Final = 2
"""Seconds that requests have when the gateway ends."""
LAST_WORDS: Final = 0.2
"""Seconds for the answers to calls that the end has cut short."""
LAST_START: Final = 5
"""Seconds that a server has to start once its client has gone."""
LONGEST_NUMBER: Final = 4_300
"""Digits of a whole number that Python reads."""
_GLIMPSE: Final = 512
_MEMBER: Final = re.compile(rb'"(id|method|result|error)"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*"|)')
_SIMPLE: Final = rb'"(?:jsonrpc|id|method)"\s*:\s*(?:-?\d+|"(?:[^"\\]|\\.){0,200}")\s*'
_HEAD: Final = re.compile(rb"\s*\{\s*(?:" + _SIMPLE + rb',\s*){0,3}(?:"(?:result|error)"\s*:)?')
_TAIL: Final = re.compile(rb"(?:,\s*" + _SIMPLE + rb"){1,3}\}\s*\Z")
"""The members of a message that stand before and after its parameters, or what it answers."""


class Page(Protocol):
    """Where somebody can watch the calls."""

    def hear(self, entry: Entry) -> None:
        """One more call was answered."""

    def serving(self) -> AbstractAsyncContextManager[str]:
        """As long as this lasts, the page is at an address."""

    def open(self, address: str) -> None:
        """Show it to whoever sits here."""


@asynccontextmanager
async def _showing(page: Page | None, report: Report) -> AsyncIterator[None]:
    if page is None:
        yield
        return
    async with page.serving() as address:
        report.note(f"the page is at {address}")
        page.open(address)
        yield


def make_server(relay: Relay) -> Server[Any]:
    """A server of the SDK whose every answer is the relay's."""
    server: Server[Any] = Server(
        "aerogram", version=aerogram.__version__, get_tool_input_schema=relay.tools.input_schema
    )
    clean_messages(server, relay.tools.service.cleaner)
    server.middleware.append(relay)
    return server


async def serve_streams(relay: Relay, report: Report, leave: Callable[[], object], page: Page | None = None) -> None:
    """Serve the client on standard input and output until it goes, or until a signal wants the end.

    In the second case `leave` has to end the process: a thread waits for the next line of the client, and nothing else
    wakes it.
    """
    end = asyncio.Event()
    _on_signals(end.set)
    async with relay.running(), _showing(page, report):
        serving = asyncio.ensure_future(_serve(make_server(relay), relay))
        wanted = asyncio.ensure_future(end.wait())
        await asyncio.wait((serving, wanted), return_when=asyncio.FIRST_COMPLETED)
    has_gone = serving.done()
    if not has_gone:
        await anyio.sleep(LAST_WORDS)
    report.end()
    if has_gone:
        serving.result()
    else:
        leave()


def _on_signals(end: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if kind != signal.SIGHUP or signal.getsignal(kind) != signal.SIG_IGN:  # as `nohup` has it
            loop.add_signal_handler(kind, end)


async def serve_port(
    relays: Mapping[str, Relay],
    report: Report,
    host: str,
    port: int,
    leave: Callable[[], object],
    page: Page | None = None,
) -> None:
    """Serve clients over HTTP until a signal wants the end, each relay at its path; a second one waits for no request.

    Host and Origin have to be of this machine. `leave` has to end the process, whatever its threads still wait for.
    """
    import uvicorn
    from starlette.applications import Starlette

    parts = [
        make_server(relay).streamable_http_app(host=host, streamable_http_path=path, max_request_body_size=LARGEST)
        for path, relay in relays.items()
    ]

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for relay in relays.values():
                await stack.enter_async_context(relay.running())
            for part in parts:
                await stack.enter_async_context(part.router.lifespan_context(part))
            yield

    app = Starlette(routes=[route for part in parts for route in part.routes], lifespan=running)
    settings = uvicorn.Config(app, log_config=None, log_level="error", timeout_graceful_shutdown=GRACE, ws="none")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer waits for the client's receipt
        shown = f"[{host}]" if ":" in host else host
        for path in relays:
            report.note(f"listening on http://{shown}:{listener.getsockname()[1]}{path}")
        server = uvicorn.Server(settings)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # ours count

        def end() -> None:
            server.force_exit = server.should_exit
            server.should_exit = True

        async with _showing(page, report):
            _on_signals(end)
            await server.serve([listener])
            if server.force_exit and server.started:  # else the servers behind would go on
                await server.lifespan.shutdown()
    report.end()
    leave()


async def _serve(server: Server[Any], relay: Relay) -> None:
    try:
        lines = _Lines()
        stdin: Any = lines
        async with stdio_server(stdin) as (received, sent), anyio.create_task_group() as session:
            into, held = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            session.start_soon(_hold_back, _read(received, lines, sent), into, sent, relay, session)
            await server.run(held, sent, server.create_initialization_options())
            session.cancel_scope.cancel()
    except* BrokenPipeError:
        log.debug("the client has gone while it was answered")


class _Lines:
    """What the client writes, line by line; the SDK makes one message, or one exception, of each."""

    def __init__(self) -> None:
        # a child that inherited standard input would take lines away
        self._input = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.unread: deque[str] = deque()
        """The lines of which nobody has heard yet what the SDK has made of them."""

    async def __aiter__(self) -> AsyncIterator[str]:
        # a thread may wait for the next line until the end, so nobody closes what it waits for
        text = open(self._input, encoding="utf-8", errors="replace", closefd=False)  # noqa: ASYNC230, SIM115
        async for line in anyio.wrap_file(text):
            if line.strip():
                self.unread.append(line)
                yield line


async def _read(
    received: AsyncIterable[SessionMessage | Exception],
    lines: _Lines,
    sent: Any,
) -> AsyncIterator[SessionMessage]:
    """The messages of the client; what cannot be read of them is answered here."""
    async for item in received:
        line = lines.unread.popleft()
        found = _read_again(line.encode(), item) if isinstance(item, Exception) or _lacks_id(item) else item
        if isinstance(found, SessionMessage):
            yield found
        elif found is not None:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await sent.send(SessionMessage(found))


def _lacks_id(item: SessionMessage) -> bool:
    """Whether the SDK has taken a request for news, because its id is none."""
    message = item.message
    return isinstance(message, mcp_types.JSONRPCNotification) and not message.method.startswith("notifications/")


def _read_again(line: bytes, failure: object) -> SessionMessage | mcp_types.JSONRPCError | None:
    """What is made of a line that is no message: one without what spoils it, or the answer that its sender gets."""
    mended = mend(line)
    if mended != line:
        with contextlib.suppress(ValueError):
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(mended, by_name=False))
    log.debug("the client writes what cannot be read: %s", type(failure).__name__)
    try:
        said = json.loads(mended, parse_int=_read_number)
    except (ValueError, RecursionError):
        said = _read_ends(mended)
    code, members = mcp_types.INVALID_REQUEST, said if isinstance(said, dict) else {}
    asked = members.get("id")
    if isinstance(failure, ValidationError) and failure.errors()[0]["type"] == "json_invalid":
        code = mcp_types.PARSE_ERROR
    if isinstance(asked, bool) or not isinstance(asked, int | str):
        asked = None
    error = mcp_types.ErrorData(code=code, message=f"This is no message that can be read: {_reason(failure)}")
    answer = mcp_types.JSONRPCError(jsonrpc="2.0", id=asked, error=error)
    if "method" in members or members.keys().isdisjoint(("result", "error")):
        is_news = "method" in members and "id" not in members
        return None if is_news else answer
    return SessionMessage(answer)  # what the server has asked the client for


def _read_number(digits: str) -> int | None:
    return int(digits) if len(digits) <= LONGEST_NUMBER else None


def _read_ends(line: bytes) -> dict[str, Any]:
    """What the ends of a line say that is nested too deep for any reader: its members before and after the deep one."""
    found: dict[str, Any] = {}
    for part in (_HEAD.match(line), _TAIL.search(line[-_GLIMPSE:])):
        for name, value in _MEMBER.findall(part[0] if part else b""):
            with contextlib.suppress(ValueError):
                found[name.decode()] = json.loads(value) if value else None
    return found


def _reason(failure: object) -> str:
    if not isinstance(failure, ValidationError):
        return "its id is none"
    first = failure.errors(include_url=False, include_input=False)[0]
    told = first.get("ctx", {}).get("error") if first["type"] == "json_invalid" else None
    return str(told or "it is not JSON-RPC 2.0")


async def _abandon(relay: Relay) -> None:
    """Give a server some time to begin whose client has gone, and has asked for nothing more than that."""
    await anyio.sleep(LAST_START)
    relay.abandon()


async def _hold_back(
    received: AsyncIterable[SessionMessage],
    into: MemoryObjectSendStream[SessionMessage | Exception],
    sent: Any,
    relay: Relay,
    session: TaskGroup,
) -> None:
    """Pass on what a client says; its first question in the modern way waits until the server is there to answer it.

    A client that gets no answer for a while asks in the older way. By then the connection would have been opened in the
    modern one, which takes no handshake; so the first question is forgotten, if another way of asking comes before it.
    Where there is no server it is answered here, and so is the older way in which its client asks for the same.
    """
    waiting: list[SessionMessage] = []
    failed: list[mcp_types.ErrorData] = []

    async def release(first: mcp_types.JSONRPCRequest) -> None:
        failure = await relay.prepare(first.params)
        if failure is not None and waiting:
            del waiting[0]
            failed.append(failure.error)
            await refuse(first, failure.error)
        while waiting:
            await into.send(waiting.pop(0))

    async def refuse(asked: mcp_types.JSONRPCRequest, error: mcp_types.ErrorData) -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await sent.send(SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=asked.id, error=error)))

    async with into, anyio.create_task_group() as group:
        is_first = True
        async for item in received:
            asked = item.message if isinstance(item.message, mcp_types.JSONRPCRequest) else None
            method = None if asked is None else asked.method
            if is_first and asked is not None and method == "server/discover":
                waiting.append(item)
                group.start_soon(release, asked)
            elif waiting and method != "initialize":
                waiting.append(item)
            elif asked is not None and method == "initialize" and failed:
                await refuse(asked, failed.pop())
            else:
                waiting.clear()
                failed.clear()
                await into.send(item)
            is_first = is_first and method is None
        session.start_soon(_abandon, relay)
