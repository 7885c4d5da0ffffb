"""What servers of an organisation share, as real processes that a test can stop, pause and start again."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from aerogram.state import file_lock
from servers import find_free_port, listening, wait_until_listening

CACHE = Path(__file__).parents[1] / ".cache"
S3_SERVER = ("moto[s3]==5.2.5", "flask>=3", "flask-cors>=6")
"""In an environment of its own: what it needs does not go together with what the project needs."""
S3_PROGRAM = """
import sys, threading
from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

application, one_at_a_time = DomainDispatcherApplication(create_backend_app), threading.Lock()

def answer(environ, start_response):
    with one_at_a_time:
        return application(environ, start_response)

run_simple("127.0.0.1", int(sys.argv[1]), answer, threaded=True, request_handler=MotoRequestHandler)
"""
"""Requests one after the other: in S3 a condition and the write that depends on it are one step."""


class Redis:
    """A Redis that keeps what it has acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = find_free_port()
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
        kept = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
        place = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder))
        self.process = subprocess.Popen([program, *place, *kept], stdout=subprocess.DEVNULL)
        wait_until_listening(self.port, self.process)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def running_redis(folder: Path) -> Iterator[Redis]:
    """A Redis of one's own, to be stopped and paused at will."""
    redis = Redis(folder)
    redis.start()
    try:
        yield redis
    finally:
        if redis.process is not None:
            redis.resume()
        redis.stop(signal.SIGKILL)


def _s3_python() -> Path:
    """A Python that has a server which speaks S3, installed once."""
    home = CACHE / "s3"
    python, program = home / "bin" / "python", home / "bin" / "moto_server"
    CACHE.mkdir(exist_ok=True)
    with file_lock(CACHE / ".s3.lock"):
        if not program.exists():
            venv.create(home, clear=True)
            fetch = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *S3_SERVER]
            if subprocess.run(fetch, capture_output=True, check=False).returncode:
                shutil.rmtree(home, ignore_errors=True)
                pytest.skip("a server that speaks S3 cannot be installed")
    return python


@contextmanager
def running_s3(bucket: str = "archive") -> Iterator[str]:
    """The address of a bucket in a server that speaks S3; its keys are in the environment."""
    port = find_free_port()
    command = [str(_s3_python()), "-c", S3_PROGRAM, str(port)]
    with listening(command, port, stderr=subprocess.DEVNULL):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("PUT", f"/{bucket}")
        assert connection.getresponse().status == 200
        connection.close()
        yield f"s3://{bucket}/kept?endpoint=http://127.0.0.1:{port}"


S3_KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not-to-be-shown"}


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """A bucket for these tests; import this fixture into a conftest to use it."""
    with pytest.MonkeyPatch.context() as patch, running_s3() as url:
        for name, value in S3_KEYS.items():
            patch.setenv(name, value)
        yield url


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    """A Redis for one test; import this fixture into a conftest to use it."""
    folder = tmp_path / "redis"
    folder.mkdir()
    with running_redis(folder) as running:
        yield running


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0 and sys.platform == "linux"
