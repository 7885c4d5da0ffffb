"""Upkeep: what a server does beside answering: it notices fresh signing keys, and sweeps the archive.

A rotated key is written by whoever rotates; a running server signs with it as soon as it has read it. What has ended
in an archive takes up space until somebody sweeps; servers do, each at a time of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator
from typing import Any, Final

from anyio import to_thread

from aerogram.archive import Archive
from aerogram.cursor import KeyRing

__all__ = ["upkeep"]

log = logging.getLogger("aerogram.server")

NOTICE_EVERY: Final = 5.0
"""Seconds after which a rotated key is noticed."""
SWEEP_EVERY: Final = 3600.0


@contextlib.asynccontextmanager
async def upkeep(ring: KeyRing, archive: Archive) -> AsyncIterator[None]:
    """Keep things up as long as this lasts."""
    tasks = [asyncio.create_task(_notice(ring)), asyncio.create_task(_sweep(archive))]
    try:
        yield
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _notice(ring: Any) -> None:
    while hasattr(ring, "_update"):  # a ring of its own process is known already
        await asyncio.sleep(NOTICE_EVERY)
        with _logged("the signing keys cannot be read"):
            await to_thread.run_sync(lambda: ring._update(rotate=False))


async def _sweep(archive: Archive) -> None:
    while True:
        await asyncio.sleep(SWEEP_EVERY * random.uniform(0.5, 1.5))  # noqa: S311 - only to come at different times
        with _logged("the archive cannot be swept"):
            await archive.sweep()


@contextlib.contextmanager
def _logged(words: str) -> Any:
    """Whatever fails is tried again later, so it is a line in the log."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it must not end what goes on for ever
        log.warning("%s: %s", words, error)
