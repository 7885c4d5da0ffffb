"""Wheels and empty environments: what a stranger gets from `pip install aerogram`."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Environment = Callable[..., Path]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this checkout, built once for all test processes."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "aerogram-wheel"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = list(shared.glob("*.whl"))
        if not built:
            build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(shared), str(ROOT)]
            done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=300)
            assert done.returncode == 0, done.stdout + done.stderr
            built = list(shared.glob("*.whl"))
    return built[0]


@pytest.fixture
def environment(tmp_path) -> Environment:
    """Make an empty environment for an interpreter and install packages into it; gives its Python."""

    def make(*packages: str, interpreter: str = sys.executable) -> Path:
        folder = tmp_path / "environment"
        subprocess.run([interpreter, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
        python = folder / "bin" / "python"
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-compile",
            *packages,
        ]
        done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode and "No matching distribution" in done.stderr + done.stdout:
            pytest.skip(f"packages cannot be fetched here: {done.stderr.strip()[-200:]}")
        assert done.returncode == 0, done.stderr
        return python

    return make


def find_interpreter(version: str) -> str | None:
    """A working Python of that version: on the path, or among those that pyenv has installed."""
    name = f"python{version}"
    installed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}*/bin/{name}"))
    for candidate in [shutil.which(name), *map(str, installed)]:
        if candidate is None:
            continue
        asked = subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False, timeout=60)
        if asked.returncode == 0:
            return candidate
    return None
