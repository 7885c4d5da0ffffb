"""Front: where clients reach the gateway, on standard streams or at a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, Protocol

import anyio
import mcp_types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

import aerogram
from aerogram._mcp.cleaning import clean_messages
from aerogram._mcp.lines import serve_lines
from aerogram.gateway.process import LARGEST
from aerogram.gateway.relay import Relay
from aerogram.gateway.report import Entry, Report

__all__ = ["Page", "make_server", "serve_port", "serve_streams"]

GRACE: Final = 2
"""Seconds that requests have when the gateway ends, or its client has said all that it has to say."""
LAST_WORDS: Final = 0.2
"""Seconds for the answers to calls that the end has cut short."""
LAST_START: Final = 5
"""Seconds that a server has to start once its client has gone."""


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

    In the second case `leave` has to end the process, whatever its threads still wait for.
    """
    end = asyncio.Event()
    _on_signals(end.set)
    async with relay.running(), _showing(page, report):
        serving = asyncio.ensure_future(serve_lines(make_server(relay), partial(_hold_back, relay)))
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
    from starlette.applications import Starlette

    from aerogram.serving import listener
    from aerogram.serving.guard import protect
    from aerogram.serving.machine import OnThisMachine

    rules = OnThisMachine(host, max_body=LARGEST, timeout=0.0, grace=GRACE)
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
    protect(app, rules, None)
    with listener.listening(host, port, ("--listen ",)) as place:
        shown = f"[{host}]" if ":" in host else host
        for path in relays:
            report.note(f"listening on http://{shown}:{place.getsockname()[1]}{path}")
        server = listener.make_server(app, rules)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # ours count

        def end() -> None:
            server.force_exit = server.should_exit
            server.should_exit = True

        async with _showing(page, report):
            _on_signals(end)
            await listener.answer_on(server, place)
    report.end()
    leave()


async def _abandon(relay: Relay) -> None:
    """Give a server some time to begin whose client has gone, and has asked for nothing more than that."""
    await anyio.sleep(LAST_START)
    relay.abandon()


async def _hold_back(
    relay: Relay,
    received: AsyncIterable[SessionMessage],
    into: MemoryObjectSendStream[SessionMessage | Exception],
    sent: Any,
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

    async with into:
        async with anyio.create_task_group() as group:
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
        await relay.answer_all(GRACE)  # who asks from a pipe has gone by now, and reads on
