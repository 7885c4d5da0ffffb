"""Other Pythons: the core's own tests, on the wheel, with versions that are promised and can be found."""

from __future__ import annotations

import ast
import os
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from wheel.conftest import find_interpreter

TESTS = Path(__file__).parents[1]
FRAMEWORKS = {"fastmcp", "mcp", "starlette", "fastapi", "uvicorn", "httpx", "splintr", "msgspec", "attrs"}
VERSIONS = ["3.14", "3.13", "3.12"]
INTERPRETERS = int(os.environ.get("INTERPRETERS", "1"))
"""How many of them are tried, the newest first; a campaign tries all."""


def core_tests() -> list[Path]:
    """The test files of the core that need no framework."""
    return [path for path in sorted((TESTS / "core").glob("test_*.py")) if FRAMEWORKS.isdisjoint(imported(path))]


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    member = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in plain | member}


@cache
def found_interpreters() -> list[str]:
    return [found for found in map(find_interpreter, VERSIONS) if found]


@pytest.mark.parametrize("place", range(INTERPRETERS))
def test_the_core_keeps_its_promises_on_another_python(place, environment, tmp_path):
    if place >= len(found_interpreters()):
        pytest.skip(f"{place} of Python {', '.join(VERSIONS)} are on this machine")
    interpreter = found_interpreters()[place]
    tools = [f"{name}=={metadata.version(name)}" for name in ("pytest", "hypothesis")]  # as here
    python = environment("aerogram[schema]", *tools, interpreter=interpreter)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nfilterwarnings = error\n", encoding="utf-8")
    options = ["-q", "-x", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", str(tmp_path / "pytest.ini")]
    assert core_tests()
    done = subprocess.run(
        [python, "-m", "pytest", *options, *map(str, core_tests())],
        cwd=tmp_path,
        env={**os.environ, "PROPERTIES": "brief"},  # what another Python breaks, it breaks in most examples
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
