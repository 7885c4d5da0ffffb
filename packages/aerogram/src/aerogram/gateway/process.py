"""Process: a server behind that is started here and spoken to over its standard streams.

The SDK's own transport joins a long line anew with every chunk, which takes minutes for a hundred megabytes, and has no
limit for what one line may hold. Here a line beyond the limit is thrown away as it comes; if it says which request it
answers, that request fails, and everything else goes on. So does the request of an answer that cannot be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final, Literal

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from aerogram._mcp.lines import mend
from aerogram.errors import ReplyError, Unavailable
from aerogram.gateway.words import Words
from aerogram.problems import BrokenOff

__all__ = ["ASK_FOR_LESS", "LARGEST", "UNREAD", "Command", "Exited", "Lines", "Loss", "Mender", "Oversize"]

LARGEST: Final = 64 * 1024 * 1024
"""Bytes that one message of the server may have."""
ASK_FOR_LESS: Final = "Ask for less: fewer rows, a narrower filter, a part of it"
_CHUNK: Final = 256 * 1024
_GLIMPSE: Final = 512
_GRACE: Final = 2.0
"""Seconds that a server has to end by itself, and again when it is told to."""
_LOOK: Final = 0.5
"""Seconds after which it is looked again whether a program has ended."""
_MARK: Final = b"\xef\xbb\xbf"
"""What some libraries write before the first line of a text in UTF-8."""
_ID: Final = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")(?:\.0+)?'
_FIRST_ID: Final = re.compile(rb'\A[\s\[]*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*' + _ID)
_RESULT: Final = re.compile(
    rb'\A[\s\[]*\{(?:\s*(?:"jsonrpc"\s*:\s*"2\.0"|' + _ID + rb')\s*,){0,2}\s*"(?:result|error)"\s*:'
)
"""How an answer begins, as opposed to a request of the server, whose ids are its own."""
_UNFINISHED: Final = re.compile(
    rb"(?<!\\)(?:\\\\)*"
    rb"(\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|(?:u[0-9a-fA-F]{0,3})?))\Z"
)
"""The end of a piece of text in which an escape, or the second half of a character, may go on in the next piece."""
_LONGEST_ESCAPE: Final = 12
_LAST_ID: Final = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}[\s\]]*\Z')

Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]


@dataclass(frozen=True)
class Loss:
    """Why there is no answer although the server sent one; no server can write this, for it is no JSON."""

    reason: str
    remediation: str | None = None
    retry: Literal["no", "yes"] | None = None
    """Whether the call can be made again, where it is known; else that depends on what it does."""
    is_cut_off: bool = False
    """Whether the way to the server is lost, and maybe the server."""

    def error(self) -> ReplyError:
        """The failure of the call."""
        code = "UNAVAILABLE" if self.is_cut_off else "INTERNAL_ERROR"
        kind = BrokenOff if self.retry is None else Unavailable
        return kind(self.reason, code=code, remediation=self.remediation, retry=self.retry)


@dataclass(frozen=True)
class Oversize:
    """A line that was too long to be kept: how it began, how it ended, how many bytes it had."""

    head: bytes
    tail: bytes
    size: int

    def error(self) -> mcp_types.JSONRPCError | None:
        """The failure of the request that the line answers, if it says which one."""
        reason = f"The server's answer has {self.size:,} bytes, and is not taken"
        return _fail(self.head, self.tail, Loss(reason, ASK_FOR_LESS, retry="no"))


def _fail(head: bytes, tail: bytes, loss: Loss) -> mcp_types.JSONRPCError | None:
    """The failure of the request that a line answers, if the ends of the line say which one."""
    found = _FIRST_ID.search(head) or _LAST_ID.search(tail)
    if found is None:
        return None
    told = found[1].decode("utf-8", "replace")
    data = mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message=loss.reason, data=loss)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=told.strip('"') if '"' in told else int(told), error=data)


@dataclass
class Lines:
    """Chunks on their way to whole lines."""

    largest: int = LARGEST
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0
    _head: bytes = b""

    def feed(self, chunk: bytes) -> list[bytes | Oversize]:
        """The lines that a chunk ends."""
        *ends, rest = chunk.split(b"\n")
        found = []
        for end in ends:
            self._add(end)
            found.append(self._take())
        self._add(rest)
        return [one for one in found if isinstance(one, Oversize) or one.strip()]

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > self.largest:  # only its ends are kept from here on
            held = b"".join(self._parts)
            self._head = self._head or held[:_GLIMPSE]
            self._parts = [held[-_GLIMPSE:]]

    def _take(self) -> bytes | Oversize:
        line, size, head = b"".join(self._parts), self._size, self._head
        self._parts, self._size, self._head = [], 0, b""
        return Oversize(head, line, size) if size > self.largest else line


class Exited(Exception):
    """The program that was started has ended: how, where that is known.

    What it has started may go on in its place, or hold its streams only.
    """


UNREAD: Final = Loss("The server's answer cannot be read: it is no result as the protocol has it")


@dataclass
class Mender:
    """The same for what comes in pieces."""

    rest: bytes = b""
    """What waits for the next piece: the end of the last one, if an escape may go on."""

    def feed(self, piece: bytes) -> bytes:
        """What can go on."""
        text = self.rest + piece
        start = max(0, len(text) - _LONGEST_ESCAPE)
        while start and text[start - 1 : start] == b"\\":  # of a row of them, every other one begins an escape
            start -= 1
        unfinished = _UNFINISHED.search(text, start)
        end = len(text) if unfinished is None else unfinished.start(1)
        self.rest = text[end:]
        return mend(text[:end])


def _read_line(line: bytes | Oversize) -> Received:
    """What a line says; what cannot be read is an exception, as the SDK's sessions expect it."""
    if isinstance(line, Oversize):
        error = line.error()
        return EOFError("a message without end") if error is None else SessionMessage(error)
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        mended = mend(line.removeprefix(_MARK))
        if mended != line:
            return _read_line(mended)
        head, tail = line[:_GLIMPSE], line[-_GLIMPSE:]
        failed = _fail(head, tail, UNREAD) if _RESULT.search(head) else None
        if failed is not None:
            return SessionMessage(failed)
        return ValueError(f"{len(line):,} bytes ({type(error).__name__})")  # it may say anything, a secret too


@dataclass(frozen=True)
class Command:
    """How a server is started. Of our environment it gets what every program needs, and what is named here."""

    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    largest: int = LARGEST

    def __str__(self) -> str:
        return " ".join(self.words)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """The server's streams; it ends with them. Of one that has ended before it was of use it is told how."""
        words = Words()
        process = await self._start(words)
        received_in, received = anyio.create_memory_object_stream[Received](0)
        sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(_receive, process, received_in, self.largest)
            group.start_soon(_watch, process, received_in)
            group.start_soon(_send, process, sent_out)
            group.start_soon(words.pass_on)
            try:
                yield received, sent
            except Exception as error:
                assert process.stdout is not None
                if process.stdout.at_eof():
                    raise await _explain(process, words) from error
                raise
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
                    await words.wait()
                words.close()
                group.cancel_scope.cancel()
                for stream in (received_in, received, sent, sent_out):
                    stream.close()

    async def _start(self, words: Words) -> asyncio.subprocess.Process:
        environment = {**get_default_environment(), **self.environment}
        try:
            async with words.writing() as errors:
                return await asyncio.create_subprocess_exec(
                    *self.words,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=errors,
                    env=environment,
                    cwd=self.folder,
                    start_new_session=sys.platform != "win32",  # Ctrl-C is for us; we end it in good order
                )
        except OSError as error:
            # whoever reads this may be far away: where things lie on this machine is told on standard error
            program = PurePath(self.words[0]).name
            raise Unavailable(
                f"The server cannot be started: {program}: {error.strerror or type(error).__name__}",
                remediation="Check the command of the wrapped server",
            ) from error


async def _receive(process: asyncio.subprocess.Process, out: MemoryObjectSendStream[Received], largest: int) -> None:
    lines = Lines(largest)
    assert process.stdout is not None
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async with out:
            while chunk := await process.stdout.read(_CHUNK):
                for line in lines.feed(chunk):
                    item = _read_line(line)
                    await out.send(item)
                    if isinstance(item, EOFError):
                        return


async def _watch(process: asyncio.subprocess.Process, out: MemoryObjectSendStream[Received]) -> None:
    """Say that the program has ended although its output has not: a child of it has that as well."""
    while process.returncode is None:  # noqa: ASYNC110 - `wait` waits for the end of the output as well
        await anyio.sleep(_LOOK)
    await anyio.sleep(_LOOK)  # in which what it has written is read to its end
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await out.send(Exited())


async def _send(process: asyncio.subprocess.Process, source: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # it has ended: its own stream says so
        async with source:
            async for message in source:
                process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()


async def _explain(process: asyncio.subprocess.Process, words: Words) -> Exited:
    """How a server has ended by itself, and what it has said last."""
    with anyio.CancelScope(shield=True):
        has_ended = await _end(process)
        said = (await words.wait()).last()
    code = process.returncode or 0
    how = f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
    return Exited(": ".join(filter(None, (how if has_ended else "it has closed its standard output", said))))


async def _end(process: asyncio.subprocess.Process) -> bool:
    """End a server as the protocol wants it: close its input, then tell it to end, then end it.

    It is said whether it has ended by itself.
    """
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    kind = None
    for kind in (None, signal.SIGTERM, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM):
        if kind is not None:
            _signal(process, kind)
        with anyio.move_on_after(_GRACE):
            await process.wait()
            break
    if process.stdout is not None and not process.stdout.at_eof():  # what it has started has its output still
        _signal(process, signal.SIGTERM)
    with anyio.move_on_after(_GRACE):  # its streams are closed by then, before the loop is
        await process.wait()
    return kind is None


def _signal(process: asyncio.subprocess.Process, kind: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.send_signal(kind)
        else:
            os.killpg(process.pid, kind)
