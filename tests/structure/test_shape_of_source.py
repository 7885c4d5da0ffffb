"""The shape of the source: short functions, plain names, argued exemptions, nothing of this machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from structure.source import ROOT, modules, tracked_files

LONGEST_FUNCTION = 80
LONG_FUNCTION = 40
NO_NOUNS = {"utils", "util", "core", "common", "helpers", "helper", "manager", "managers", "misc", "stuff", "shared"}


def sizes() -> dict[str, int]:
    return {name: lines for one in modules().values() for name, lines in one.functions()}


def test_functions_can_be_read_at_a_glance():
    """None is over 80 lines, and nineteen of twenty are at most 40."""
    assert {name: lines for name, lines in sizes().items() if lines > LONGEST_FUNCTION} == {}
    longer = sorted(lines for lines in sizes().values() if lines > LONG_FUNCTION)
    assert len(longer) <= len(sizes()) * 0.05


def test_a_file_says_what_noun_it_is():
    assert [name for name, module in modules().items() if not ast.get_docstring(module.tree)] == []


def test_a_module_is_named_after_a_thing():
    assert [name for name in modules() if not NO_NOUNS.isdisjoint(name.split("."))] == []


def test_an_excuse_from_a_check_names_the_check():
    """`noqa` and `type: ignore` say which rule they mean; a broad one would hide others."""
    broad = re.compile(r"#\s*noqa(?!: [A-Z]+\d+)|#\s*type:\s*ignore(?!\[)")
    assert [name for name, module in modules().items() if broad.search(module.text)] == []


def test_every_lint_exemption_carries_its_reason():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = text.partition("[tool.ruff.lint]")[2].partition("[tool.mypy]")[0].partition("select =")[2]
    codes = [line.strip() for line in lint.splitlines() if re.search(r'"[A-Z]+\d*"', line)]
    assert len(codes) > 10
    assert [line for line in codes[1:] if "#" not in line] == []


HOME = re.compile(rb"(?<![\w.}])/(?:root|home/[a-z]+|Users/[a-z]+)/")
HOSTS = re.compile(rb"pypi\.org|pythonhosted\.org|registry\.npmjs\.org|yarnpkg\.com|/opt/pypi")
THIS_FILE = Path(__file__)


@pytest.mark.parametrize("pattern", [HOME, HOSTS], ids=["home folders", "package registries"])
def test_no_file_knows_the_machine_it_was_written_on(pattern):
    """No path of somebody's home or of this checkout, no host of a package registry."""
    here = re.compile(re.escape(str(ROOT).encode()) + rb"\b")
    found = [
        path.relative_to(ROOT).as_posix()
        for path in tracked_files()
        if path != THIS_FILE and (pattern.search(path.read_bytes()) or here.search(path.read_bytes()))
    ]
    assert found == []
