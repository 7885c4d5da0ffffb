"""Archives of every kind, and a real Redis."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from aerogram.archive import Archive

OpenArchive = Callable[..., Archive]


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_listening(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert server.poll() is None, "redis-server ended at once"
        time.sleep(0.05)
    raise AssertionError("redis-server did not start")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of its own for these tests."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
    port = find_free_port()
    directory = tmp_path_factory.mktemp("redis")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until_listening(port, server)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(10)


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
