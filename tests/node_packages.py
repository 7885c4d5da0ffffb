"""Packages of Node that tests use: fetched once into .cache, by whichever test process comes first."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[1] / ".cache"


def program(name: str) -> str | None:
    """Where a program is: beside this Python, or on the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def node_and_package(folder: str, package: str, version: str | None = None) -> tuple[str, Path]:
    """Node itself, and the `node_modules` that holds the package; the test is skipped where they cannot be had."""
    node, npm = program("node"), program("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    place = CACHE / folder
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "node_modules" / package / "package.json").exists():
            wanted = package if version is None else f"{package}@{version}"
            fetch = [npm, "install", "--no-save", "--no-package-lock", "--prefix", str(place), wanted]
            try:
                subprocess.run(fetch, capture_output=True, text=True, check=True, timeout=300)
            except subprocess.TimeoutExpired:
                pytest.skip(f"{wanted} cannot be fetched within five minutes")
            except subprocess.CalledProcessError as failed:
                pytest.skip(f"{wanted} cannot be fetched: {failed.stderr.strip()[-200:]}")
    return node, place / "node_modules"
