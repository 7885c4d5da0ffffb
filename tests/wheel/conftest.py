"""Wheels and empty environments: what a stranger gets from `pip install aerogram` and of its other distributions."""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from installations import PROJECTS, ROOT, import_name

Environment = Callable[..., Path]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory) -> Path:
    """A folder with the wheels of this checkout, built once for all test processes."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "aerogram-wheels"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in PROJECTS:
            if not wheel_of(name, shared).exists():
                source = ROOT / "packages" / name
                build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(shared), source]
                done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=300)
                assert done.returncode == 0, done.stdout + done.stderr
    return shared


def wheel_of(name: str, folder: Path) -> Path:
    return folder / f"{import_name(name)}-{PROJECTS[name]['version']}-py3-none-any.whl"


@pytest.fixture(scope="session")
def environment(wheels, tmp_path_factory) -> Environment:
    """Make an empty environment for an interpreter and install packages into it, ours from the wheels.

    Gives its Python. What was made once is given again.
    """

    @functools.cache
    def make(*packages: str, interpreter: str | None = None) -> Path:
        folder = tmp_path_factory.mktemp("environment")
        subprocess.run([interpreter or sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
        python = folder / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
        # the versions that are known to work together are those for the Python of the checkout
        repeatable = ["-c", ROOT / "constraints.txt"] if interpreter is None else []
        install = [*pip, "--find-links", wheels, *repeatable, *packages]
        done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=600)
        missing = re.search(r"No matching distribution found for (\S+)", done.stderr + done.stdout)
        if done.returncode and missing and not missing[1].startswith("aerogram"):
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
