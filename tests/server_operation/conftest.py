"""The program as a process of its own, and guarded applications on real sockets."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import run_program
from web_servers import client_of

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


@pytest.fixture
def serve():
    """Serve applications until the test is done: `client = serve(app)`."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(client_of(app, log_config=None, access_log=False))
