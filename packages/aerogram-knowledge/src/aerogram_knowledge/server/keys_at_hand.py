"""Keys at hand: the API keys that servers share are read before they are needed, never while a request is checked.

A key that was made on another server is unknown here, so the request that brings it waits until the keys have been
read again. A key that was revoked elsewhere is still known here; the keys are read again every second, beside the
requests, so it is good for little longer. While the store is away, the keys stay as they were. Plain ASGI.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from anyio import to_thread

from aerogram.errors import AerogramError
from aerogram.wire.exchange import App, Receive, Send
from aerogram.wire.request import Scope
from aerogram_knowledge.server.books import StoreBook
from aerogram_knowledge.server.keys import Keys

__all__ = ["KeysAtHand"]

log = logging.getLogger("aerogram.server")

FRESH_FOR: Final = 1.0
"""Seconds after which the keys are read again."""
_HEADERS: Final = (b"x-api-key", b"authorization")


class KeysAtHand:
    """The layer; it does nothing when the keys are in a file."""

    def __init__(self, app: App, keys: Keys) -> None:
        self._app = app
        self._keys = keys
        self._book = keys.book if isinstance(keys.book, StoreBook) else None
        self._reading: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the keys read again if they are old, and wait for that if the request has one that is unknown."""
        if self._book is not None and scope["type"] in ("http", "websocket"):
            await self._prepare(self._book, scope)
        await self._app(scope, receive, send)

    async def _prepare(self, book: StoreBook, scope: Scope) -> None:
        said = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() in _HEADERS]
        if said and not self._keys.knows(" ".join(said)):
            # what is being read may be older than the key: then it is read once more
            if self._reading is not None:
                await asyncio.wait({self._reading})
            await asyncio.wait({self._read(book)})
        elif book.read_at is None or time.monotonic() - book.read_at > FRESH_FOR:
            self._read(book)

    def _read(self, book: StoreBook) -> asyncio.Task[None]:
        """One reading for all who wait."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._refresh(book))
            self._reading.add_done_callback(self._done)
        return self._reading

    def _done(self, _: asyncio.Task[None]) -> None:
        self._reading = None

    async def _refresh(self, book: StoreBook) -> None:
        try:
            await to_thread.run_sync(book.refresh)
        except (AerogramError, OSError) as error:
            log.warning("API keys cannot be read: %s", error)
