"""Caches in memory, in files and in a real Redis, and a clock that the test sets."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from aerogram.contract.cache import Cache
from servers import redis_url

__all__ = ["redis_url"]


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture(params=["memory", "files", "redis"])
async def open_cache(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[Callable[..., Cache]]:
    """A function that opens a cache with the options it is given."""
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    async with AsyncExitStack() as opened:

        def open_one(**options: Any) -> Cache:
            options = {"clock": clock, **options}
            caches = {
                "memory": lambda: Cache.in_memory(**options),
                "files": lambda: Cache.at(tmp_path / "cache", **options),
                "redis": lambda: Cache.in_redis(url, **options),
            }
            cache = caches[request.param]()
            opened.push_async_callback(cache.close)
            return cache

        yield open_one
