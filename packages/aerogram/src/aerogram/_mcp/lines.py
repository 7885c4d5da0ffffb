"""Lines: what a client writes on standard input, and an answer to each request that cannot be read.

The SDK passes over what is no message: whoever has sent it waits for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import threading
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine
from typing import Any, Final, TypeAlias

import anyio
import mcp_types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

__all__ = ["mend", "serve_lines"]

log = logging.getLogger("aerogram.mcp")

LONGEST_NUMBER: Final = 4_300
"""Digits of a whole number that Python reads."""
_GLIMPSE: Final = 512
_MEMBER: Final = re.compile(rb'"(id|method|result|error)"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*"|)')
_SIMPLE: Final = rb'"(?:jsonrpc|id|method)"\s*:\s*(?:-?\d+|"(?:[^"\\]|\\.){0,200}")\s*'
_HEAD: Final = re.compile(rb"\s*\{\s*(?:" + _SIMPLE + rb',\s*){0,3}(?:"(?:result|error)"\s*:)?')
_TAIL: Final = re.compile(rb"(?:,\s*" + _SIMPLE + rb"){1,3}\}\s*\Z")
"""The members of a message that stand before and after its parameters, or what it answers."""
_SURROGATE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape: two halves of a character, one half alone, which JavaScript writes where it cuts a text, or another."""

PassOn: TypeAlias = Callable[
    [AsyncIterable[SessionMessage], MemoryObjectSendStream[SessionMessage | Exception], Any, TaskGroup],
    Coroutine[Any, Any, None],
]
"""What passes messages on to a server; it may answer them itself, and start what goes on beside it."""


async def pass_on(
    received: AsyncIterable[SessionMessage],
    into: MemoryObjectSendStream[SessionMessage | Exception],
    _sent: Any,
    _session: TaskGroup,
) -> None:
    """Pass on what a client says, as it comes."""
    async with into:
        async for message in received:
            await into.send(message)


async def serve_lines(server: Server[Any], pass_on: PassOn = pass_on) -> None:
    """Answer the client on standard input and output until it goes."""
    try:
        lines = _Lines()
        stdin: Any = lines
        async with stdio_server(stdin) as (received, sent), anyio.create_task_group() as session:
            into, held = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            session.start_soon(pass_on, _read(received, lines, sent), into, sent, session)
            await server.run(held, sent, server.create_initialization_options())
            session.cancel_scope.cancel()
    except* BrokenPipeError:
        log.debug("the client has gone while it was answered")


def mend(line: bytes) -> bytes:
    """A line with the sign for what cannot be read in place of each half of a character."""
    if rb"\ud" not in line and rb"\uD" not in line:
        return line
    return _SURROGATE.sub(lambda match: rb"\ufffd" if match[1] else match[0], line)


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
        lines, taken = asyncio.Queue[str](), threading.Semaphore(0)
        reading = (asyncio.get_running_loop(), lines, taken)
        threading.Thread(target=self._read_on, args=reading, daemon=True).start()
        while line := await lines.get():
            if line.strip():
                self.unread.append(line)
                yield line
            taken.release()

    def _read_on(self, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str], taken: threading.Semaphore) -> None:
        """Read a line once the one before is taken, on a thread that nobody waits for.

        It may wait for ever: a client that has gone can have left its end of our input to somebody else.
        """
        text = open(self._input, encoding="utf-8-sig", errors="replace", closefd=False)  # noqa: SIM115
        with contextlib.suppress(OSError, RuntimeError):  # the input is broken; the loop has ended
            try:
                for line in text:
                    loop.call_soon_threadsafe(lines.put_nowait, line)
                    taken.acquire()
            finally:
                loop.call_soon_threadsafe(lines.put_nowait, "")


async def _read(
    received: AsyncIterable[SessionMessage | Exception], lines: _Lines, sent: Any
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
