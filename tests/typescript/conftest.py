"""The TypeScript compiler: from the local cache, or fetched into it once; skipped, visibly, when it cannot be had."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from node_packages import node_and_package

Compile = Callable[[dict[str, str]], str]


@pytest.fixture(scope="session")
def compiler() -> list[str]:
    """The command that runs `tsc`."""
    node, modules = node_and_package("node", "typescript")
    return [node, str(modules / "typescript" / "bin" / "tsc")]


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
