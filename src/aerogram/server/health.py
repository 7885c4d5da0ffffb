"""Health: what the server can say about itself, truthfully: each part is tried, not asked.

    {status: ok | degraded | unhealthy, version, checks: {part: {status, …}}, timestamp_utc}

Without its store the server can do nothing, so that is unhealthy; without another part it does less.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any, Final

from anyio import to_thread

from aerogram.archive import Archive
from aerogram.content import Content
from aerogram.errors import AerogramError
from aerogram.reply import utc_timestamp
from aerogram.server.library import Library

__all__ = ["Health"]

ROOM: Final = 64 * 1024 * 1024
"""Bytes of free disk below which ingesting and archiving will soon fail."""
PROBE: Final = "health"

Check = Callable[[], Awaitable[Mapping[str, Any]]]


class Health:
    """The health of a library and of the archive beside it."""

    def __init__(self, library: Library, archive: Archive | None) -> None:
        self._library = library
        self._archive = archive

    async def brief(self) -> dict[str, Any]:
        """Whether the server is up and its index in its place."""
        return await self._told({"store": self._store_is_there})

    async def deep(self) -> dict[str, Any]:
        """Whether every part works: each is used once."""
        parts = {"store": self._store, "embedder": self._embedder, "disk": self._disk}
        return await self._told(parts if self._archive is None else {**parts, "archive": self._archive_works})

    async def _told(self, parts: Mapping[str, Check]) -> dict[str, Any]:
        checks = {name: await _tried(check) for name, check in parts.items()}
        ill = [name for name, found in checks.items() if found["status"] != "ok"]
        status = "ok" if not ill else "unhealthy" if "store" in ill else "degraded"
        return {
            "status": status,
            "version": version("aerogram"),
            "checks": checks,
            "timestamp_utc": utc_timestamp(),
        }

    async def _store_is_there(self) -> Mapping[str, Any]:
        return await self._library.ask(lambda known: {"generation": known.store.generation})

    async def _store(self) -> Mapping[str, Any]:
        found = await self._library.ask(lambda known: known.check())
        return {"problems": list(found.problems), **found.facts}

    async def _embedder(self) -> Mapping[str, Any]:
        def embed(known: Any) -> Mapping[str, Any]:
            told = {"name": known.embedder.name, "dimensions": known.embedder.dimensions}
            shape = known.embedder.embed([PROBE]).shape if told["dimensions"] else (1, 0)
            wrong = [] if shape == (1, told["dimensions"]) else [f"it gave vectors of the shape {shape}"]
            return {"problems": wrong, **told}

        return await self._library.ask(embed)

    async def _disk(self) -> Mapping[str, Any]:
        free = (await to_thread.run_sync(shutil.disk_usage, self._library.folder)).free
        return {"problems": [] if free >= ROOM else ["the disk is nearly full"], "free_bytes": free}

    async def _archive_works(self) -> Mapping[str, Any]:
        assert self._archive is not None
        probe = Content.of_text(f"{PROBE} {time.time()}")
        (stored,) = await self._archive.put(probe, principal=PROBE)
        found = await self._archive.get(stored.hash, principal=PROBE)
        await self._archive.delete(stored.hash, principal=PROBE)
        return {"problems": [] if found == probe else ["it gave back something else"]}


async def _tried(check: Check) -> dict[str, Any]:
    """What a check says; one that fails has said enough."""
    started = time.perf_counter()
    try:
        said = dict(await check())
    except (AerogramError, OSError) as error:
        said = {"problems": [str(error) or type(error).__name__]}
    problems = said.pop("problems", [])
    spent = round((time.perf_counter() - started) * 1000, 1)
    return {
        "status": "failing" if problems else "ok",
        **({"problems": problems} if problems else {}),
        **said,
        "ms": spent,
    }
