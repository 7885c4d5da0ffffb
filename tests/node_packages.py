"""Packages of Node for tests and golden files: fetched once into .cache, by whichever process comes first."""

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


class UnavailableError(RuntimeError):
    """Node or a package of it cannot be had here."""


def install(folder: str, package: str, version: str | None = None) -> tuple[str, Path]:
    """Node itself, and the `node_modules` that holds the package, fetched if it is not there."""
    node, npm = program("node"), program("npm")
    if node is None or npm is None:
        raise UnavailableError("node and npm are not installed")
    place = CACHE / folder
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "node_modules" / package / "package.json").exists():
            wanted = package if version is None else f"{package}@{version}"
            fetch = [npm, "install", "--no-save", "--no-package-lock", "--prefix", str(place), wanted]
            try:
                subprocess.run(fetch, capture_output=True, text=True, check=True, timeout=300)
            except subprocess.TimeoutExpired as late:
                raise UnavailableError(f"{wanted} cannot be fetched within five minutes") from late
            except subprocess.CalledProcessError as failed:
                raise UnavailableError(f"{wanted} cannot be fetched: {failed.stderr.strip()[-200:]}") from failed
    return node, place / "node_modules"


def node_and_package(folder: str, package: str, version: str | None = None) -> tuple[str, Path]:
    """The same for a test, which is skipped where they cannot be had."""
    try:
        return install(folder, package, version)
    except UnavailableError as why:
        pytest.skip(str(why))
