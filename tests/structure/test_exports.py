"""The front door: a short sorted list of names, and nothing heavy behind it until it is asked for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

import aerogram
from aerogram.dialects import NAMES, dialect
from structure.source import ROOT

MOST_NAMES = 40


def case_then_name(name: str) -> tuple[bool, bool, str]:
    """CONSTANTS, then Classes, then functions."""
    return not name.isupper(), not name[0].isupper(), name


def test_the_export_list_is_sorted_short_and_true():
    assert aerogram.__all__ == sorted(aerogram.__all__, key=case_then_name)
    assert len(aerogram.__all__) == len(set(aerogram.__all__)) <= MOST_NAMES
    assert [name for name in aerogram.__all__ if not hasattr(aerogram, name)] == []


@pytest.mark.parametrize("name", [name for name in aerogram.__all__ if callable(getattr(aerogram, name))])
def test_an_export_says_what_it_is(name):
    """Every class and function that a stranger can import has a docstring."""
    assert (getattr(aerogram, name).__doc__ or "").strip()


def optional_modules() -> set[str]:
    """The import names of every package that is an extra and not needed by the core."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {distribution(line) for line in project["dependencies"]}
    extras = {distribution(line) for lines in project["optional-dependencies"].values() for line in lines}
    wanted = extras - core - {"aerogram"}
    return {
        name for name, holders in packages_distributions().items() if wanted & {distribution(one) for one in holders}
    }


def distribution(requirement: str) -> str:
    return re.split(r"[\[<>=~! ;]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def loaded_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        check=True,
        text=True,
    )
    return set(json.loads(done.stdout))


def test_importing_aerogram_loads_no_framework_and_no_optional_library():
    loaded = loaded_by("import aerogram")
    frameworks = {"anyio", "asyncio", "fastapi", "fastmcp", "httpx", "mcp", "numpy", "pandas", "starlette"}
    assert {"typer", "rich", "splintr"} <= optional_modules(), "the list comes from pyproject"
    assert sorted(loaded & (frameworks | optional_modules())) == []


def test_importing_aerogram_loads_no_model_of_a_contract():
    """A dialect's module comes with its first use."""
    contracts = {type(dialect(name)).__module__ for name in NAMES}
    assert len(contracts) == len(NAMES)
    assert sorted(loaded_by("import aerogram") & contracts) == []
    assert "aerogram.dialects.bare" in loaded_by("import aerogram; aerogram.dialect('bare')")


def test_importing_aerogram_has_no_side_effects():
    """No logging handler, no output, no thread, no file."""
    program = "import logging, threading, aerogram; print(logging.root.handlers, threading.active_count())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert (done.stdout, done.stderr) == ("[] 1\n", "")


def test_loading_the_verbs_of_the_command_line_is_cheap():
    """A verb loads what it needs when it is called; `--help` of one does not wait for the libraries of another."""
    loaded = loaded_by("from aerogram.cli import program; program()")
    assert "aerogram.commands" in loaded
    assert sorted(loaded & {"asyncio", "pydantic", "selectolax", "pypdfium2", "key_value"}) == []
