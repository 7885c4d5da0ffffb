"""Words: what a server writes to its standard error. It goes on to ours, and the end of it is kept.

So whoever asks for a server that does not start can be told what it has said about that.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self

import anyio

from aerogram._mcp.faults import shorten_paths
from aerogram.gateway.aside import aside
from aerogram.sanitize import Redaction, sanitize_text

__all__ = ["Words"]

KEPT: Final = 8 * 1024
"""Bytes of the end that are kept."""
LONGEST: Final = 300
"""Characters of them that are told."""
LAST: Final = 0.5
"""Seconds that the end of them may take once the server has ended; what it has started may go on writing."""
_CHUNK: Final = 64 * 1024
_STEERING: Final = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours and the like."""


class Words:
    """The standard error of one server."""

    def __init__(self) -> None:
        self._end = b""
        self._is_over = asyncio.Event()
        self._reader = asyncio.StreamReader()
        self._pipe: asyncio.ReadTransport | None = None

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[int]:
        """As long as this lasts, a server can be started that writes here."""
        reading, writing = os.pipe()
        try:
            source = os.fdopen(reading, "rb", buffering=0)  # the transport closes it
            self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(self._protocol, source)
            yield writing
        except BaseException:
            self.close()
            raise
        finally:
            os.close(writing)

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(self._reader)

    async def pass_on(self) -> None:
        """Pass on what the server writes, until its end."""
        try:
            while chunk := await self._reader.read(_CHUNK):
                self._end = (self._end + chunk)[-KEPT:]
                await aside().pass_on(chunk)
        finally:
            self._is_over.set()

    def close(self) -> None:
        """Read no further."""
        if self._pipe is not None:
            self._pipe.close()

    async def wait(self) -> Self:
        """Wait for the end of them, for a moment."""
        with anyio.move_on_after(LAST):
            await self._is_over.wait()
        return self

    def last(self) -> str:
        """The last of them for whoever may be far away: without secrets, and without what is indented, as in traces."""
        lines = [line.rstrip() for line in _STEERING.sub(b"", self._end).decode("utf-8", "replace").splitlines()]
        told = [line for line in lines if line and not line[0].isspace()] or [line.strip() for line in lines if line]
        text = sanitize_text(shorten_paths("\n".join(told), {}), Redaction()).replace("\n", "; ")
        shown = "".join(filter(str.isprintable, text))
        return shown if len(shown) <= LONGEST else f"…{shown[-LONGEST:]}"
