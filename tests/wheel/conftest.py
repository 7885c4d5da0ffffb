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

from installations import PROJECTS, ROOT, distributions, gather, import_name

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
        python = empty_environment(tmp_path_factory.mktemp("environment"), interpreter or sys.executable)
        # the versions that are known to work together are those for the Python of the checkout
        repeatable = ["-c", ROOT / "constraints.txt"] if interpreter is None else []
        done = install(python, "--find-links", wheels, *repeatable, *packages)
        missing = re.search(r"No matching distribution found for (\S+)", done.stderr + done.stdout)
        if done.returncode and missing and not missing[1].startswith("aerogram"):
            pytest.skip(f"packages cannot be fetched here: {done.stderr.strip()[-200:]}")
        assert done.returncode == 0, done.stderr
        return python

    return make


@pytest.fixture(scope="session")
def linked_environment(wheels, tmp_path_factory) -> Environment:
    """The same for our own Python in a moment: what ours require is there as links to what is here.

    Pip finds it there, installs ours from the wheels, and complains when anything is missing that they require.
    """

    @functools.cache
    def make(*packages: str) -> Path:
        python = empty_environment(tmp_path_factory.mktemp("environment"), sys.executable)
        (site,) = python.parents[1].glob("lib/python*/site-packages")
        gather(site, *(distributions(*packages) - PROJECTS.keys()))
        done = install(python, "--no-index", "--find-links", wheels, *packages)
        assert done.returncode == 0, done.stderr
        return python

    return make


def empty_environment(folder: Path, interpreter: str) -> Path:
    """The Python of a new environment in which nothing is installed."""
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    return folder / "bin" / "python"


def install(python: Path, *what: object) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    return subprocess.run([*pip, *what], capture_output=True, text=True, check=False, timeout=600)


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
