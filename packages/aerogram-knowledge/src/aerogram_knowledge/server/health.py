"""Health: what the server can say about itself, truthfully: each part is tried, not asked.

    {status: ok | degraded | unhealthy, version, checks: {part: {status, …}}, timestamp_utc}

Without its store the server can do nothing, so that is unhealthy; without another part it does less. A server that is
about to end says so with 503, so that whoever balances sends nobody there.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from aerogram.archive import Archive
from aerogram.content import Content
from aerogram.errors import AerogramError
from aerogram.reply import utc_timestamp
from aerogram.state import state_directory
from aerogram_knowledge.hosting.fleet import SharedParts
from aerogram_knowledge.server.library import Library

__all__ = ["HealthChecks"]

ROOM: Final = 64 * 1024 * 1024
"""Bytes of free disk below which ingesting and archiving will soon fail."""
PROBE: Final = "health"

Check = Callable[[], Awaitable[Mapping[str, Any]]]


class HealthChecks:
    """The health of a library, of the archive, and of what the server shares with others."""

    def __init__(
        self, library: Library, archive: Archive | None, fleet: SharedParts | None = None, *, folder: Path | None = None
    ) -> None:
        self._library = library
        self._archive = archive
        self._fleet = fleet
        self._folder = library.folder or folder

    async def brief(self) -> dict[str, Any]:
        """Whether the server is up and its index in its place."""
        if self._fleet is not None:
            self._fleet.drain.refuse()
        return await self._report({"store": self._store_is_there})

    async def deep(self) -> dict[str, Any]:
        """Whether every part works: each is used once."""
        parts: dict[str, Check] = {"store": self._store, "embedder": self._embedder, "disk": self._disk}
        if self._archive is not None:
            parts["archive"] = self._archive_works
        if self._fleet is not None and self._fleet.redis is not None:
            parts["redis"] = self._fleet.ping
        return await self._report(parts)

    async def _report(self, parts: Mapping[str, Check]) -> dict[str, Any]:
        found = await asyncio.gather(*map(_run_check, parts.values()))
        checks = dict(zip(parts, found, strict=True))
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
        if self._library.folder is None:
            return await self._library.ask(lambda known: known.store.ping())
        found = await self._library.ask(lambda known: known.check())
        return {"problems": list(found.problems), **found.facts}

    async def _embedder(self) -> Mapping[str, Any]:
        embedder = self._library.embedder  # which may be well while the index is not
        told = {"name": embedder.name, "dimensions": embedder.dimensions}
        found = await to_thread.run_sync(embedder.embed, [PROBE]) if told["dimensions"] else None
        is_right = found is None or found.shape == (1, told["dimensions"])
        return {"problems": [] if is_right else ["it gave vectors of another shape"], **told}

    async def _disk(self) -> Mapping[str, Any]:
        place = self._folder if self._folder is not None and self._folder.exists() else state_directory()
        free = (await to_thread.run_sync(shutil.disk_usage, place)).free
        return {"problems": [] if free >= ROOM else ["the disk is nearly full"], "free_bytes": free}

    async def _archive_works(self) -> Mapping[str, Any]:
        assert self._archive is not None
        probe = Content.of_text(f"{PROBE} {time.time()}")
        (stored,) = await self._archive.put(probe, principal=PROBE)
        found = await self._archive.get(stored.hash, principal=PROBE)
        await self._archive.delete(stored.hash, principal=PROBE)
        return {"problems": [] if found == probe else ["it gave back something else"]}


async def _run_check(check: Check) -> dict[str, Any]:
    """What a check says; one that fails has said enough."""
    started = time.perf_counter()
    try:
        said = dict(await check())
    except (AerogramError, OSError) as error:
        said = {"problems": [str(error) or type(error).__name__]}
    except Exception as error:  # noqa: BLE001 - a driver's own words may hold an address with its password
        said = {"problems": [f"it cannot be used: {type(error).__name__}"]}
    problems = said.pop("problems", [])
    spent = round((time.perf_counter() - started) * 1000, 1)
    return {
        "status": "failing" if problems else "ok",
        **({"problems": problems} if problems else {}),
        **said,
        "ms": spent,
    }
