"""The documentation: its programs run, its links lead somewhere, and nothing a user meets is missing from it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest
import typer

from aerogram.cli.program import program
from aerogram.codes import KINDS, TABLE, WARNINGS
from aerogram.dialects import NAMES
from programs import quick_command, quick_programs, run_program

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def programs(page: Path) -> str:
    """The Python programs of a page as one, on the same lines as in the page."""
    text = page.read_text(encoding="utf-8")
    found = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    joined = ""
    for block in found:
        joined += "\n" * (text.count("\n", 0, block.start(1)) - joined.count("\n")) + block[1]
    return joined


WITH_PROGRAMS = [one for one in (*PAGES, *sorted((ROOT / "packages").glob("*/README.md"))) if programs(one)]


@pytest.mark.parametrize(
    "page", WITH_PROGRAMS, ids=lambda page: page.relative_to(ROOT).as_posix().removeprefix("docs/")
)
def test_the_programs_of_a_page_run(page, tmp_path):
    """In order, in one namespace, in an empty folder, in a process of their own, with warnings as errors."""
    script = tmp_path / f"page_{page.stem}.py"  # a page may be called like a package
    script.write_text(programs(page), encoding="utf-8")
    command = quick_command("-W", "error", script.name)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SESSIONS = re.findall(r"^```text\n\$ (.+)(?<!--help)\n((?:.*\n)*?)^```", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_a_command_prints_what_the_page_shows(command, shown, tmp_path):
    """A block that begins with a prompt is a session that anyone can repeat."""
    path = quick_programs(tmp_path / "bin")
    done = subprocess.run(
        ["sh", "-c", command.replace(".venv/bin/python", shlex.join(quick_command()))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
    )
    assert done.stdout.rstrip() == shown.rstrip()


def test_the_first_program_of_the_readme_is_one_that_runs_as_it_is_shown():
    """And prints something: what it prints is the first session of the page."""
    first = re.search(r"^```python\n(.*?)^```", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    example = (ROOT / "examples" / "first.py").read_text(encoding="utf-8")
    assert example.endswith(f'"""\n\n{first}')


@cache
def generator():
    """The script that writes the generated parts."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.print_help = help_of_the_program
    return module


def help_of_the_program(*words):
    """The same from the nursery, which saves each verb the second that loading takes."""
    return run_program([*words, "--help"], text=True, check=True, env={**os.environ, "COLUMNS": "80"}).stdout


@every_page
def test_the_generated_parts_of_a_page_are_up_to_date(page):
    text = page.read_text(encoding="utf-8")
    assert generator().rewritten(text) == text, "run: make docs"


@every_page
def test_relative_links_lead_somewhere(page):
    """To a file that exists, and to a heading in it if one is named."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]
    broken = []
    for link in links:
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (heading and heading not in headings(target)):
            broken.append(link)
    assert broken == []


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_file_and_folder_that_the_readme_sends_to_is_there():
    """For whoever works on the project: below one of the packages, whatever stands before it."""
    table = PAGES[0].read_text(encoding="utf-8").partition("## Working on Aerogram")[2]
    named = re.findall(r"`(?:…/)?([\w/-]+(?:/|\.py|\.toml))`", table)
    roots = [ROOT, ROOT / "packages", *(ROOT / "packages").glob("*"), *(ROOT / "packages").glob("*/src/*")]
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []
    assert len(named) > 40


def test_every_page_is_reached_from_the_readme():
    readme = PAGES[0].read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"docs/{page.name}" not in readme] == []


@pytest.mark.parametrize("code", [*TABLE, *WARNINGS, *KINDS])
def test_every_code_and_kind_is_in_the_table_of_the_errors_page(code):
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert f"| `{code}` |" in page


@pytest.mark.parametrize("name", NAMES)
def test_every_dialect_has_its_place(name):
    assert f"`{name}`" in (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """Every verb of the program, those of sub-packages included."""
    return sorted(typer.main.get_command(program()).commands)


@pytest.mark.parametrize("verb", commands())
def test_every_command_is_documented_with_its_help(verb):
    assert f"<!-- generated: help {verb} -->" in TEXT
