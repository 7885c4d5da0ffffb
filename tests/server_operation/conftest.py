"""The program as a process of its own, and guarded applications on real sockets."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import uvicorn

from programs import run_program

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def aerogram(tmp_path) -> Run:
    """Run `aerogram` in an empty folder, with a home and a state of its own; gives exit code, stdout and stderr."""
    home = tmp_path / "home"
    home.mkdir()
    apart = {"HOME": str(home), "AEROGRAM_STATE": str(tmp_path / "state"), "COLUMNS": "100"}
    dropped = {"FORCE_COLOR", "PY_COLORS", "XDG_CONFIG_HOME", "GITHUB_ACTIONS"}
    clean = {name: value for name, value in os.environ.items() if name not in dropped}
    plain = {name: value for name, value in clean.items() if not name.startswith("AEROGRAM_")}

    def run(*arguments: str, cwd: Path = tmp_path, **environment: str) -> subprocess.CompletedProcess:
        return run_program(arguments, text=True, cwd=cwd, env={**plain, **apart, **environment})

    return run


@contextlib.contextmanager
def serving(app):
    """A client whose requests go to the application over a real socket."""
    # TCP said outright, or the server leaves Nagle's algorithm on and every answer takes 40 ms
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            # a connection for each request: uvicorn closes one over which it has answered a crash
            single = httpx.Limits(max_keepalive_connections=0)
            with httpx.Client(base_url=address, timeout=20, limits=single) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def serve():
    """Serve applications until the test is done: `client = serve(app)`."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(serving(app))
