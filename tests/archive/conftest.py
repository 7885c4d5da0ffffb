"""Archives of every kind, and a real Redis."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from aerogram.archive import Archive
from servers import find_free_port, redis_url

__all__ = ["redis_url"]

OpenArchive = Callable[..., Archive]


@pytest.fixture
def free_port() -> int:
    """A port where nobody listens."""
    return find_free_port()


@pytest_asyncio.fixture(params=["memory", "files", "redis"])
async def open_archive(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenArchive]:
    """A function that opens an archive with the options it is given."""
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    async with AsyncExitStack() as opened:

        def open_one(**options: Any) -> Archive:
            archives = {
                "memory": lambda: Archive.in_memory(**options),
                "files": lambda: Archive.at(tmp_path / "archive", **options),
                "redis": lambda: Archive.in_redis(url, **options),
            }
            archive = archives[request.param]()
            opened.push_async_callback(archive.close)
            return archive

        yield open_one


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()
