"""The TypeScript compiler: from the local cache, or fetched into it once; skipped, visibly, when it cannot be had."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache" / "node"
Compile = Callable[[dict[str, str]], str]


def _program(name: str) -> str | None:
    """A program of the environment the tests run in, or of the system."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


@pytest.fixture(scope="session")
def compiler() -> list[str]:
    """The command that runs `tsc`."""
    node, npm = _program("node"), _program("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    script = CACHE / "node_modules" / "typescript" / "bin" / "tsc"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not script.exists():
            fetch = [npm, "install", "--no-save", "--no-package-lock", "--prefix", str(CACHE), "typescript"]
            fetched = subprocess.run(fetch, capture_output=True, text=True, check=False, timeout=300)
            if fetched.returncode:
                pytest.skip(f"the TypeScript compiler cannot be fetched: {fetched.stderr.strip()[-200:]}")
    return [node, str(script)]


@pytest.fixture
def tsc(compiler, tmp_path) -> Compile:
    """Compile files, given by name, under `--strict`; gives what the compiler complains about."""

    def compile_all(files: dict[str, str]) -> str:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        options = ["--strict", "--noEmit", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"]
        names = [name for name in files if not name.endswith(".d.ts")]
        done = subprocess.run(
            [*compiler, *options, *names], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0 or done.stdout, done.stderr
        return done.stdout

    return compile_all
