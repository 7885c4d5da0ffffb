"""Cursor keys that live in the store, so that every server opens what any of them has sealed.

A new key is written before anything is signed with it, and servers that have not heard of it yet look it up when they
first meet it: a rotation cuts off nobody. Two servers that rotate at once agree on the one that was faster. The store
is asked in a thread, one for all who look for a key, so that signing and opening never wait for it. A store that does
not answer is waited for once: whoever waits behind a look that fails is told why, and does not begin another.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from typing import Final

from aerogram.cursor import DAY, CursorKeys, SigningKey, add_key, read_keys, write_keys
from aerogram_knowledge.store import Store

__all__ = ["StoreCursorKeys"]

log = logging.getLogger("aerogram")

NAME: Final = "cursor-keys"
TRY_AGAIN: Final = 5.0
"""Seconds after which a rotation that is due is tried again."""


class StoreCursorKeys(CursorKeys):
    """The keys in a shared document of a store."""

    def __init__(self, store: Store, *, rotate_every: float = 30 * DAY, keep: float = 60 * DAY) -> None:
        self._store = store
        self._rotate_every = rotate_every
        self._keep = keep
        self._keys = ()
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._next: Future[None] | None = None
        self._tried_at = 0.0
        self._failed: tuple[float, Exception] | None = None
        self._update(rotate=False)

    def signing_key(self) -> SigningKey:
        """The newest key; one that is too old is followed by another soon, unless the store is away."""
        now = time.time()
        if now - self._keys[0].created > self._rotate_every and now - self._tried_at > TRY_AGAIN:
            self._tried_at = now
            self.refresh().add_done_callback(_log_failure)
        return self._keys[0]

    def refresh(self) -> Future[None]:
        """A look into the store that begins now, or after the one under way, which may be older than a new key."""
        with self._guard:
            if self._next is None:
                self._next = Future()
                self._next.set_running_or_notify_cancel()  # one who no longer waits must not end it for the others
                asked = (self._next, time.monotonic())
                threading.Thread(target=self._read_again, args=asked, daemon=True).start()
            return self._next

    def rotate(self) -> None:
        """Sign with a fresh key from now on, on every server that meets it."""
        self._update(rotate=True)

    def _read_again(self, told: Future[None], asked: float) -> None:
        with self._turn:
            with self._guard:
                self._next = None
            try:
                self._look(asked)
            except BaseException as error:  # noqa: BLE001 - it is for those who wait
                told.set_exception(error)
            else:
                told.set_result(None)

    def _look(self, asked: float) -> None:
        """Read the keys, unless somebody has failed to since this was asked for."""
        if self._failed is not None and self._failed[0] >= asked:
            raise self._failed[1]
        self._try(rotate=False)

    def _update(self, *, rotate: bool) -> None:
        with self._turn:  # so that what was read first is not taken for the newest
            self._try(rotate=rotate)

    def _try(self, *, rotate: bool) -> None:
        """Read the keys, and remember when that failed and why."""
        try:
            self._take(rotate=rotate)
        except Exception as error:
            self._failed = (time.monotonic(), error)
            raise

    def _take(self, *, rotate: bool) -> None:
        """Read the keys and add one when it is due; whoever is slower takes what the faster one wrote."""
        while True:
            now = time.time()
            found = self._store.get_shared(NAME)
            keys, version = (read_keys(found[0]), found[1]) if found else ((), 0)
            if keys and not rotate and now - keys[0].created <= self._rotate_every:
                break
            keys = add_key([key for key in keys if now - key.created <= self._keep], now)
            if self._store.set_shared(NAME, write_keys(keys), version):
                break
            rotate = False
        self._keys = keys


def _log_failure(reading: Future[None]) -> None:
    error = reading.exception()
    if error is not None:
        log.warning("the cursor keys cannot be rotated: %s", error)
