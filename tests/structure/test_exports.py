"""The front door: a short sorted list of names, and nothing heavy behind it until it is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import aerogram
from aerogram.dialects import NAMES, dialect
from installations import PROJECTS, import_name, requirements

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
    """The import names of all that the library can do without: extras, the other distributions, what they need."""
    core = {canonicalize_name(Requirement(line).name) for line in PROJECTS["aerogram"]["dependencies"]}
    named = {canonicalize_name(one.name) for project in PROJECTS.values() for one in requirements(project)}
    wanted = named - core - {"aerogram"}
    modules = {
        name for name, holders in packages_distributions().items() if wanted & set(map(canonicalize_name, holders))
    }
    return modules | {import_name(name) for name in wanted & PROJECTS.keys()}  # installed as pointers, they list none


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
    known = {"typer", "rich", "splintr", "tantivy", "uvicorn", "asyncpg", "aerogram_page", "aerogram_knowledge"}
    assert known <= optional_modules(), "the list comes from the pyprojects"
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
    loaded = loaded_by("from aerogram.cli.program import program; program()")
    assert "aerogram.cli.verbs" in loaded
    assert sorted(loaded & {"asyncio", "pydantic", "selectolax", "pypdfium2", "key_value"}) == []
