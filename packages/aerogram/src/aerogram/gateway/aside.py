"""Aside: what is written to standard error. A client may read that or leave it, and no call waits for it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from functools import cache
from queue import Full, Queue
from typing import Final

import anyio

__all__ = ["Aside", "aside"]

MOST: Final = 1_000
"""Lines that wait where nobody reads; those after them are left out."""
MOST_CHUNKS: Final = 8
"""The same of what a server writes; it waits itself until there is room again."""
LAST: Final = 0.5
"""Seconds for what still waits at the end."""
_PAUSE: Final = 0.02


@cache
def aside() -> Aside:
    """The one of this process."""
    made = Aside()
    atexit.register(made.end)
    return made


class Aside:
    """Standard error as a stream of text, with a thread that does the waiting, and that no end waits for."""

    def __init__(self) -> None:
        self._waiting: Queue[bytes | threading.Event] = Queue(MOST)
        threading.Thread(target=self._write_waiting, daemon=True).start()

    def write(self, text: str) -> int:
        """Have a line written."""
        self._add(text.encode("utf-8", "backslashreplace"))
        return len(text)

    async def pass_on(self, chunk: bytes) -> None:
        """Have written what a server has, as fast as it is read."""
        while self._waiting.qsize() >= MOST_CHUNKS:  # noqa: ASYNC110 - a thread makes the room
            await anyio.sleep(_PAUSE)
        self._add(chunk)

    def flush(self) -> None:
        """It is under way."""

    def end(self) -> None:
        """Give what waits some time to be written."""
        is_written = threading.Event()
        self._add(is_written)
        is_written.wait(LAST)

    def _add(self, item: bytes | threading.Event) -> None:
        with contextlib.suppress(Full):
            self._waiting.put_nowait(item)

    def _write_waiting(self) -> None:
        while True:
            item = self._waiting.get()
            if isinstance(item, threading.Event):
                item.set()
            else:
                _write(item)


def _write(chunk: bytes) -> None:
    """Write past the buffer of Python, whose end would wait for whoever does not read."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be nobody to write to
        descriptor = sys.stderr.fileno()
        while chunk:
            chunk = chunk[os.write(descriptor, chunk) :]
