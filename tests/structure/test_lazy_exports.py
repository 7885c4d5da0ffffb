"""The names of the front door: loaded when they are asked for, and in no way different from others."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import aerogram

EXPORTS = ("Reply", "Archive", "Contract", "read", "TABLE", "fit")


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, check=True, text=True)
    return done.stdout.strip()


def test_importing_the_package_loads_none_of_its_modules():
    program = "import sys, aerogram; print([name for name in sys.modules if name.startswith('aerogram.')])"
    assert run(program) == "[]"


@pytest.mark.parametrize("name", EXPORTS)
def test_a_name_is_the_same_however_it_is_asked_for(name):
    ways = f"""
import aerogram
from aerogram import {name}
everything = {{}}
exec("from aerogram import *", everything)
print({name} is aerogram.{name} is getattr(aerogram, "{name}") is everything["{name}"])
"""
    assert run(ways) == "True"


def test_every_name_is_listed_before_it_is_loaded():
    assert run(
        "import aerogram; print(set(aerogram.__all__) <= set(dir(aerogram)), '__version__' in dir(aerogram))"
    ) == ("True True")


def test_a_star_brings_every_name_and_no_other():
    program = "import aerogram; found = {}; exec('from aerogram import *', found); del found['__builtins__']"
    assert run(f"{program}; print(sorted(found) == sorted(aerogram.__all__))") == "True"


def test_modules_that_names_come_from_need_no_import_of_their_own():
    assert run("import aerogram; print(aerogram.errors.NotFound.__name__, aerogram.reply.__name__)") == (
        "NotFound aerogram.reply"
    )


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'aerogram' has no attribute 'Rply'"):
        _ = aerogram.Rply
    with pytest.raises(ImportError, match="cannot import name 'Rply'"):
        exec("from aerogram import Rply", {})


def test_what_is_pickled_is_read_where_nothing_was_loaded():
    packed = pickle.dumps(aerogram.Reply.ok([1, 2]))
    assert run(f"import pickle; print(pickle.loads({packed!r}).data)") == "[1, 2]"
    assert pickle.loads(pickle.dumps(aerogram.read)) is aerogram.read


def test_type_checkers_are_told_of_every_name_and_its_home():
    """The imports that only they read, and the table that is used at run time, say the same."""
    tree = ast.parse(Path(aerogram.__file__).read_text(encoding="utf-8"))
    told = {
        (alias.name, node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("aerogram.")
        for alias in node.names
    }
    assert told == {(name, home) for home, names in aerogram._HOMES.items() for name in names}
    assert {name for name, _ in told} == set(aerogram.__all__)
    assert all(inspect.getmodule(getattr(aerogram, name)) is not None for name, _ in told if name[0].islower())
