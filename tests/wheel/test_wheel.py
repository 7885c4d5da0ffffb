"""The wheels in empty environments: each is whole, works alone, and says what is missing."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from aerogram import __version__
from aerogram.dialects import NAMES
from aerogram.documents.schemas import FOLDER, published_files
from installations import PROJECTS, ROOT, import_name, package_folder
from wheel.conftest import wheel_of

OF_THE_LIBRARY = {"translate", "validate", "schema", "explain", "digest", "verify", "clients", "wrap", "unwrap"}
FRAMEWORKS = ("fastapi", "fastmcp", "mcp", "starlette", "tantivy", "typer", "uvicorn")


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_holds_every_file_of_its_package_and_nothing_else(name, wheels):
    names = {one for one in zipfile.ZipFile(wheel_of(name, wheels)).namelist() if ".dist-info/" not in one}
    package = package_folder(name)
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {f"{import_name(name)}/{path.relative_to(package).as_posix()}" for path in files}
    assert f"{import_name(name)}/py.typed" in names


def test_the_wheel_of_the_library_holds_the_schemas(wheels):
    names = set(zipfile.ZipFile(wheel_of("aerogram", wheels)).namelist())
    for name in NAMES:
        files = published_files(name).values()
        assert {f"aerogram/documents/schemas/{path.relative_to(FOLDER).as_posix()}" for path in files} <= names


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_carries_the_licence_the_readme_and_its_verbs(name, wheels):
    archive = zipfile.ZipFile(wheel_of(name, wheels))
    inside = {one.rpartition("/")[2]: archive.read(one).decode() for one in archive.namelist() if "dist-info" in one}
    assert inside["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    head, _, description = inside["METADATA"].partition("\n\n")
    assert "License-Expression: Apache-2.0" in head
    assert description == (ROOT / "packages" / name / "README.md").read_text(encoding="utf-8")
    assert "[aerogram.verbs]" in inside["entry_points.txt"]


def test_the_program_comes_with_the_library_alone(wheels):
    """Two wheels with one program would overwrite each other's."""
    for name in PROJECTS:
        archive = zipfile.ZipFile(wheel_of(name, wheels))
        entries = archive.read(f"{import_name(name)}-{__version__}.dist-info/entry_points.txt").decode()
        assert ("aerogram = aerogram.__main__:main" in entries) == (name == "aerogram")


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [python, "-W", "error", *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )


def call(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run the installed program."""
    program = python.with_name("aerogram")
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def verbs(python: Path, cwd: Path) -> set[str]:
    shown = call(python, "--help", cwd=cwd).stdout
    return set(re.findall(r"^  (\w+)  ", shown.partition("Commands:")[2].partition("Exit codes")[0], re.MULTILINE))


def installed(python: Path, *names: str) -> set[str]:
    """Which of these modules an environment has; none is loaded."""
    program = f"from importlib.util import find_spec; print(*(name for name in {names} if find_spec(name)))"
    return set(run(python, "-c", program, cwd=python.parent).stdout.split())


@pytest.fixture
def alone(environment) -> Path:
    """An environment with the library, what it requires, and nothing more."""
    return environment("aerogram")


def test_the_library_alone_brings_no_framework_and_no_other_distribution(alone):
    assert installed(alone, *map(import_name, PROJECTS), *FRAMEWORKS) == {"aerogram"}


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
    said = call(alone, "--help", cwd=tmp_path)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "aerogram: this needs typer: pip install 'aerogram[cli]'\n"
    program = """
import aerogram
from aerogram.documents.explanation import explain
from aerogram.documents.schemas import published_files, schema, typescript

for name in ("response-v2", "standard-v2", "knowledge-1.0", "problem", "bare"):
    assert all(path.exists() for path in published_files(name).values())
    assert published_files(name)["types.d.ts"].read_text(encoding="utf-8") == typescript(name)
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


def test_with_the_cli_extra_alone_every_verb_shows_its_help(linked_environment, tmp_path):
    """A verb whose own extra is missing says so when it is used, and does not stand in the way of the others."""
    python = linked_environment("aerogram[cli]")
    assert verbs(python, tmp_path) == OF_THE_LIBRARY
    for verb in OF_THE_LIBRARY:
        done = call(python, verb, "--help", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    done = call(python, "serve", "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "aerogram: this needs aerogram-knowledge: pip install 'aerogram[server]'\n",
    )


def test_the_page_alone_brings_its_verb_and_its_routes(linked_environment, tmp_path):
    python = linked_environment("aerogram-page")
    assert verbs(python, tmp_path) == {*OF_THE_LIBRARY, "inspect"}
    assert installed(python, "aerogram_knowledge", "tantivy", "fastapi") == set()
    shown = call(python, "inspect", "--help", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: aerogram inspect")
    program = "from aerogram_page.routes import page_routes; print(page_routes.__name__)"
    done = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "page_routes\n"), done.stderr


def test_the_index_alone_reads_a_document_and_finds_it(linked_environment, tmp_path):
    """With no framework of a server, and with the model that ships."""
    python = linked_environment("aerogram-knowledge")
    assert installed(python, "aerogram_page", "fastapi", "fastmcp", "starlette", "uvicorn") == set()
    (tmp_path / "notes.md").write_text("# Notes\n\nThe board decided on Monday: a lighthouse.\n", encoding="utf-8")
    (tmp_path / "other.md").write_text("# Other\n\nBread needs flour, water, salt and time.\n", encoding="utf-8")
    done = call(python, "ingest", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = call(python, "search", "what did the board decide?", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert "lighthouse" in found.stdout.partition("flour")[0]


def test_the_server_extra_of_the_library_brings_all_three(linked_environment, tmp_path):
    python = linked_environment("aerogram[server]")
    program = "from importlib.metadata import version; print({name: version(name) for name in %r})" % [*PROJECTS]
    assert run(python, "-c", program, cwd=tmp_path).stdout.strip() == str(dict.fromkeys(PROJECTS, __version__))
    shown = call(python, "serve", "--help", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: aerogram serve")
