"""Real servers that tests start for themselves: each on a free port, ended when the test run ends."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PORTS = range(15_000, 32_000)
"""Below those that the system gives to connections: a server that is away for a while finds its port again."""
_claims: list[socket.socket] = []


def find_free_port() -> int:
    """A port where nobody listens, and that no other process which runs tests finds as long as this one lives."""
    while True:
        port = random.choice(PORTS)
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # the number is taken, the port for TCP is not
        try:
            claim.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
        else:
            _claims.append(claim)
            return port


def wait_until_listening(port: int, server: subprocess.Popen) -> None:
    """Return as soon as the server takes connections."""
    for _ in range(1_200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "the server ended at once"
        time.sleep(0.05)
    raise AssertionError("the server did not start")


@contextmanager
def listening(command: list[str], port: int, **options: Any) -> Iterator[subprocess.Popen]:
    """A program that takes connections on a port, until the block ends."""
    server = subprocess.Popen(command, **{"stdout": subprocess.DEVNULL, **options})
    try:
        wait_until_listening(port, server)
        yield server
    finally:
        server.terminate()
        server.wait(60)


@contextmanager
def running_redis(directory: Path) -> Iterator[str]:
    """The URL of a Redis of one's own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
    port = find_free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)]
    with listening(command, port):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis for these tests; import this fixture into a conftest to use it."""
    with running_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url
