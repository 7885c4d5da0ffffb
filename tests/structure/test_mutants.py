"""The mutation check: a feature that is changed is noticed, a hollow test is found out, and a lot of ours is drawn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from contracts.requirement_rows import requirements
from structure.source import ROOT

LOT = 2
SURVIVORS = ROOT / "tests" / "contracts" / "survivors.toml"

FEATURE = '''
"""A feature."""
import tomllib
from pathlib import Path

LIMITS = {"title": 20, "body": 300}
WORDS = tomllib.loads((Path(__file__).parent / "words.toml").read_text())


def cut(field, text):
    """Cut a text to the limit of its field."""
    if len(text) > LIMITS[field]:
        return text[: LIMITS[field]] + "..."
    return text


def total(numbers):
    """Add up, from nothing."""
    return sum(numbers, start=0)


def greet(language):
    return WORDS[language]
'''

TESTS = """
import subprocess
import sys

from tiny.feature import cut, greet, total


def test_a_title_is_cut():
    assert cut("title", "x" * 30) == "x" * 20 + "..."


def test_numbers_are_added():
    total([1, 2])


def test_a_greeting_is_in_its_language():
    assert greet("ja") == "konnichiwa"


def test_a_process_cuts_a_body():
    program = "from tiny.feature import cut; print(len(cut('body', 'x' * 400)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert int(done.stdout) == 303
"""

ROWS = """
[[requirement]]
id = "TNY-CUT-001"
promise = "A title is cut to 20 characters."
test = "tests/test_tiny.py::test_a_title_is_cut"
field = "title"

[[requirement]]
id = "TNY-ADD-001"
promise = "Numbers are added up to a total."
test = "tests/test_tiny.py::test_numbers_are_added"

[[requirement]]
id = "TNY-SAY-001"
promise = "A greeting is in its language."
test = "tests/test_tiny.py::test_a_greeting_is_in_its_language"
language = "konnichiwa"

[[requirement]]
id = "TNY-CUT-002"
promise = "A body is cut to 300 characters."
test = "tests/test_tiny.py::test_a_process_cuts_a_body"
field = "body"
"""


def run_check(folder, *arguments, extra_path=()):
    """Run the check as `make mutants` does, and return its exit code, what it printed and its report."""
    report = folder / "report.json"
    path = os.pathsep.join(map(str, [ROOT / "tools", *extra_path]))
    done = subprocess.run(
        [sys.executable, "-m", "mutants", "--state", folder / "state", "--report", report, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    return done.returncode, done.stdout, {one["id"]: one for one in json.loads(report.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module", params=[pytest.param("src/tiny", marks=pytest.mark.campaign), "packages/one/src/tiny"])
def tiny(request, tmp_path_factory):
    """A tree with one module, four requirements and one hollow test, checked; in either layout."""
    root = tmp_path_factory.mktemp("tree")
    package = root / request.param
    rows = root / "tests" / "contracts" / "requirements"
    for folder in (package, rows):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text('"""Tiny."""\n', encoding="utf-8")
    (package / "feature.py").write_text(FEATURE, encoding="utf-8")
    (package / "words.toml").write_text('en = "hello"\nja = "konnichiwa"\n', encoding="utf-8")
    (root / "tests" / "test_tiny.py").write_text(TESTS, encoding="utf-8")
    (rows / "tiny.toml").write_text(ROWS, encoding="utf-8")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    return root, run_check(root, "--root", root, extra_path=[package.parent])


def test_a_feature_that_is_changed_is_noticed(tiny):
    """In a function, in a table that is read at import, in a data file, and in a process that the test starts."""
    _, (_, _, results) = tiny
    assert {name for name, one in results.items() if one["noticed"]} == {"TNY-CUT-001", "TNY-SAY-001", "TNY-CUT-002"}
    assert results["TNY-SAY-001"]["tried"][-1]["module"].endswith("words.toml")
    assert results["TNY-CUT-001"]["tried"][-1]["module"] == "tiny.feature"


def test_a_test_that_asserts_nothing_is_listed_as_a_survivor(tiny):
    _, (code, printed, results) = tiny
    assert code == 1 and "TNY-ADD-001 survived: Numbers are added up to a total." in printed
    assert results["TNY-ADD-001"]["verdict"] == "survived"
    assert {one["outcome"] for one in results["TNY-ADD-001"]["tried"]} <= {"passed", "crashed"}


def test_what_is_known_to_survive_is_no_failure_and_is_left_out_of_lots(tiny):
    root, _ = tiny
    run_check(root, "--root", root, "--write")
    assert tomllib.loads((root / "tests/contracts/survivors.toml").read_text())["survivors"] == ["TNY-ADD-001"]
    code, _, results = run_check(root, "--root", root, "--lot", "9")
    assert code == 0 and len(results) == 3


def test_the_survivors_are_requirements():
    listed = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivors"]
    assert listed == sorted(set(listed)) and set(listed) <= {row.id for row in requirements()}


def test_the_features_that_rows_name_are_there():
    """A place that was renamed would leave its row without a mutant."""
    from mutants.operators import mutants_of
    from mutants.sources import Tree

    tree = Tree(ROOT)
    paths = {module: path for path, module in tree.modules.items()}
    for name in {one for row in tree.requirements for one in row.features}:
        module, place, text = f"{name}::".split(":")[:3]
        found = mutants_of(tree.text(paths[module]), paths[module])
        assert any(f"{one.place.owner}.".startswith(f"{place}.") and text in one.about for one in found), name


def test_the_tests_of_a_lot_of_requirements_notice_a_change_of_their_feature(tmp_path):
    """The lot is drawn anew whenever the sources change, so that it is another one with each commit.

    Chance ranks among equals: a requirement on the list of the noticed may need more mutants with another seed.
    """
    from mutants.sources import Tree

    seed = Tree(ROOT).digest
    code, printed, _ = run_check(tmp_path, "--lot", str(LOT), "--seed", seed, "--tries", "20")
    assert code == 0, printed
