"""The program as people run it: a process of its own, with its own standard streams."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from programs import run_program

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def aerogram() -> Run:
    """Run `aerogram` with arguments; `stdin` is bytes. Gives exit code, stdout and stderr as bytes."""

    def run(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess:
        return run_program(arguments, input=stdin, env={**_plain_environment(), **environment})

    return run


def _plain_environment() -> dict[str, str]:
    colours = {"FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "AEROGRAM_DEBUG"}
    return {name: value for name, value in os.environ.items() if name not in colours} | {"COLUMNS": "80"}
