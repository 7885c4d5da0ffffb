"""Verbs in a Python that has some of the extras only: each works, or says in one line what it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
REPLY = '{"success": true, "data": {"results": []}, "error": null, "meta": {"version": "response-v2"}}'
DIGEST = "Someone asked. The answer was given on Monday, by the board, after a long debate about what it would cost."

Run = Callable[..., subprocess.CompletedProcess]

ALONE = {
    "translate": ["reply.json", "--to", "bare"],
    "validate": ["--dialect", "bare", "reply.json"],
    "schema": ["bare"],
    "explain": ["NOT_FOUND"],
    "digest": ["notes.md", "-q", "What was decided?"],
    "config": [],
    "keys list": [],
    "keys create": ["ada", "--expires", "90d"],
    "keys revoke": ["eve"],
    "install": ["claude-code", "--url", "https://search.example.com/mcp"],
}
NEEDY = {
    "verify": (["digest.json"], "archive"),
    "digest": (["handbook.pdf", "-q", "x"], "digest"),
    "ingest": (["."], "knowledge"),
    "search": (["x"], "knowledge"),
    "vendor": (["x"], "knowledge"),
    "copy": (["--from", ".aerogram", "--to", "other"], "knowledge"),
    "index status": ([], "knowledge"),
    "index check": ([], "knowledge"),
    "index rebuild": ([], "knowledge"),
    "index forget": (["."], "knowledge"),
    "inspect": (["reply.json", "--no-open"], "server"),
    "serve": (["."], "server"),
    "install": (["claude-code", "."], "server"),
    "keys rotate": ([], "server"),
}


def distributions(extras: set[str]) -> set[str]:
    """The names of the packages that an installation with these extras has."""
    found: set[str] = set()
    waiting = [("aerogram", frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        found.add(name)
        for one in map(Requirement, metadata.requires(name) or ()):
            applies = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in wanted or {""})
            if applies and (one.name not in found or (one.name == "aerogram" and one.extras - wanted)):
                waiting.append((one.name, frozenset(one.extras) | (wanted if one.name == "aerogram" else set())))
    return found - {"aerogram"}


@pytest.fixture(scope="session")
def packages(tmp_path_factory) -> Callable[..., Path]:
    """A folder with the packages of some extras, and no other."""

    def gather(*extras: str) -> Path:
        folder = tmp_path_factory.mktemp("packages")
        for name in distributions(set(extras)):
            for file in metadata.files(name) or ():
                top = file.parts[0]
                if top != ".." and not (folder / top).exists():
                    (folder / top).symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top)
        return folder

    return gather


@pytest.fixture(scope="session")
def with_cli(packages) -> Path:
    return packages("cli")


@pytest.fixture
def run(tmp_path) -> Run:
    """Run `aerogram` in a folder of its own, with the packages of a folder alone."""
    (tmp_path / "reply.json").write_text(REPLY, encoding="utf-8")
    (tmp_path / "notes.md").write_text(f"# Notes\n\n{DIGEST}\n", encoding="utf-8")
    shutil.copy(SAMPLES / "apis" / "carrier-handbook.pdf", tmp_path / "handbook.pdf")

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
        return subprocess.run(
            [sys.executable, "-S", "-m", "aerogram", *arguments],
            cwd=tmp_path,
            env={**kept, "PYTHONPATH": f"{ROOT / 'src'}:{folder}", "AEROGRAM_STATE": str(tmp_path / "state")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def verbs(run: Run, folder: Path, *group: str) -> set[str]:
    shown = run(folder, *group, "--help").stdout
    named = re.findall(r"^  (\w+) ", shown.partition("Commands:")[2].partition("Exit codes")[0], re.MULTILINE)
    return {" ".join((*group, name)) for name in named}


def test_every_verb_is_tried_here(run, with_cli):
    """A new verb is either one that needs nothing or one that says what it needs."""
    top = verbs(run, with_cli)
    nested = {name for group in ("index", "keys") for name in verbs(run, with_cli, group)}
    assert (top - {"index", "keys"}) | nested == ALONE.keys() | NEEDY.keys()


@pytest.mark.parametrize("verb", ALONE)
def test_with_the_cli_extra_alone_this_works(run, with_cli, verb):
    if verb == "keys revoke":
        run(with_cli, "keys", "create", "eve")
    done = run(with_cli, *verb.split(), *ALONE[verb])
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize("verb", NEEDY)
def test_a_verb_whose_extra_is_missing_says_so_in_one_line(run, with_cli, tmp_path, verb):
    arguments, extra = NEEDY[verb]
    (tmp_path / ".aerogram").mkdir()
    (tmp_path / ".aerogram" / "rows.sqlite").touch()
    made = run(with_cli, "digest", "notes.md", "-q", "What was decided?", "--json").stdout
    (tmp_path / "digest.json").write_text(made, encoding="utf-8")
    done = run(with_cli, *verb.split(), *arguments)
    said = rf"aerogram: (handbook.pdf: )?this needs \S+: pip install 'aerogram\[{extra}\]'\n"
    assert re.fullmatch(said, done.stderr), done.stderr
    assert done.returncode == 1


def test_with_the_extras_of_the_index_its_verbs_work(run, packages):
    """`aerogram[knowledge,cli]`, as the page about the index says, and nothing of a server."""
    folder = packages("knowledge", "cli")
    for words in (["ingest", "notes.md"], ["search", "board"], ["index", "status"], ["index", "check"]):
        done = run(folder, *words)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert run(folder, "vendor", "nobody").stderr.count("\n") == 1
    assert run(folder, "copy", "--from", ".aerogram", "--to", "other").returncode == 0
