"""The wheel in an empty environment: it is whole, it works alone, and it says what is missing."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from aerogram.dialects import NAMES
from aerogram.schemas import FOLDER, published

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_the_source_the_types_and_the_schemas(wheel):
    """Every file of the package is in it, and nothing else is."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = FOLDER.parent
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {f"aerogram/{path.relative_to(package).as_posix()}" for path in files}
    assert "aerogram/py.typed" in names
    for name in NAMES:
        assert {f"aerogram/{path.relative_to(package).as_posix()}" for path in published(name).values()} <= names


def test_the_wheel_carries_the_licence_and_the_program(wheel):
    archive = zipfile.ZipFile(wheel)
    inside = {
        name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist() if "dist-info" in name
    }
    assert "Apache License" in inside["LICENSE"]
    assert "aerogram = aerogram.__main__:main" in inside["entry_points.txt"]
    assert "License-Expression: Apache-2.0" in inside["METADATA"]


@pytest.fixture
def alone(wheel, environment) -> Path:
    """An environment with the wheel, what it requires, and nothing more."""
    return environment(str(wheel))


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [python, "-W", "error", *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_programs_of_the_readme_that_need_no_extra_run_on_the_wheel_alone(alone, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    alone_programs = [program for program in programs if "fastmcp" not in program]
    assert alone_programs, "the README has a program that needs no extra"
    (tmp_path / "first.py").write_text("\n".join(alone_programs), encoding="utf-8")
    done = run(alone, "first.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_extras_the_program_says_what_to_install(alone, tmp_path):
    """One line, exit code 1, and the library beside it works: schemas, types, translations."""
    script = subprocess.run([alone.with_name("aerogram"), "--help"], capture_output=True, text=True, check=False)
    assert (script.returncode, script.stdout) == (1, "")
    assert script.stderr == "aerogram: this needs typer: pip install 'aerogram[cli]'\n"
    program = """
import aerogram
from aerogram.explain import explain
from aerogram.schemas import published, schema, typescript

for name in ("response-v2", "standard-v2", "knowledge-1.0", "problem", "bare"):
    assert all(path.exists() for path in published(name).values())
    assert published(name)["types.d.ts"].read_text(encoding="utf-8") == typescript(name)
    assert isinstance(schema(name), dict)
body = aerogram.dialect("response-v2").encode(aerogram.Reply.ok([1, 2]))
for name in ("standard-v2", "knowledge-1.0", "response-v2"):
    body = aerogram.translate(body, name)
    assert aerogram.validate(body).name == name
assert aerogram.read(body).data == [1, 2]
assert explain("NOT_FOUND").error.status == 404
"""
    done = run(alone, "-c", program, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_with_the_cli_extra_alone_every_verb_shows_its_help(wheel, environment):
    """A verb whose own extra is missing says so when it is used, and does not stand in the way of the others."""
    program = environment(f"{wheel}[cli]").with_name("aerogram")
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  (\w+)  ", shown.partition("Commands:")[2].partition("Exit codes")[0], re.MULTILINE)
    assert {"translate", "validate", "schema", "explain"} <= set(verbs)
    for verb in verbs:
        done = subprocess.run([program, verb, "--help"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
