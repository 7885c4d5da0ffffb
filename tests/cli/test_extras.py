"""Verbs in a Python that has some of the distributions and extras: each works, or says in one line what it needs."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aerogram.cli.program import ELSEWHERE
from installations import ROOT, environment_of, gather, python_command
from programs import Nursery, run_program

SAMPLES = ROOT / "samples"
REPLY = '{"success": true, "data": {"results": []}, "error": null, "meta": {"version": "response-v2"}}'
CLIENT = '{"mcpServers": {"one": {"command": "python", "args": ["-m", "aerogram", "wrap", "--", "server"]}}}'
DIGEST = "Someone asked. The answer was given on Monday, by the board, after a long debate about what it would cost."

Run = Callable[..., subprocess.CompletedProcess]

GROUPS = ("index", "keys")
OF_THE_LIBRARY = {
    "translate": ["reply.json", "--to", "bare"],
    "validate": ["--dialect", "bare", "reply.json"],
    "schema": ["bare"],
    "explain": ["NOT_FOUND"],
    "clients": [],
    "digest": ["notes.md", "-q", "What was decided?"],
    "verify": ["digest.json", "--source", "notes.md"],
    "wrap": ["--help"],
    "unwrap": ["client.json", "--yes"],
}
OF_KNOWLEDGE = {
    "search": ["board"],
    "index status": [],
    "index check": [],
    "index rebuild": [],
    "copy": ["--from", ".aerogram", "--to", "other"],
    "index forget": ["notes.md"],
    "config": [],
    "keys list": [],
    "keys create": ["ada", "--expires", "90d"],
    "keys revoke": ["eve"],
    "install": ["claude-code", "--url", "https://search.example.com/mcp"],
}
"""Verbs that work with aerogram-knowledge alone, once something has been ingested."""

NEEDS_AN_EXTRA = {
    "verify": (["digest.json"], "py-key-value-aio[filetree]", "archive"),
    "digest": (["handbook.pdf", "-q", "x"], "pypdfium2", "digest"),
    "wrap": (["--", "true"], "mcp", "mcp"),
}
NEEDS_A_DISTRIBUTION = {
    "inspect": (["reply.json", "--no-open"], "aerogram-page", "page"),
    "ingest": (["."], "aerogram-knowledge", "knowledge"),
    "search": (["x"], "aerogram-knowledge", "knowledge"),
    "vendor": (["x"], "aerogram-knowledge", "knowledge"),
    "copy": (["--from", ".aerogram", "--to", "other"], "aerogram-knowledge", "knowledge"),
    "index": ([], "aerogram-knowledge", "knowledge"),
    "index status": ([], "aerogram-knowledge", "knowledge"),
    "index check": ([], "aerogram-knowledge", "knowledge"),
    "index rebuild": ([], "aerogram-knowledge", "knowledge"),
    "index forget": (["."], "aerogram-knowledge", "knowledge"),
    "serve": (["."], "aerogram-knowledge", "server"),
    "config": (["--port", "9000"], "aerogram-knowledge", "server"),
    "install": (["claude-code", "."], "aerogram-knowledge", "server"),
    "keys": (["--help"], "aerogram-knowledge", "server"),
    "keys list": ([], "aerogram-knowledge", "server"),
    "keys create": (["ada", "--expires", "90d"], "aerogram-knowledge", "server"),
    "keys revoke": (["eve"], "aerogram-knowledge", "server"),
    "keys rotate": ([], "aerogram-knowledge", "server"),
}
NEEDS_A_SERVER = {
    "serve": (["."], "fastapi", "server"),
    "install": (["claude-code", "."], "fastapi", "server"),
    "keys rotate": ([], "fastapi", "server"),
    "inspect": (["reply.json", "--no-open"], "aerogram-page", "page"),
}
"""What is missing where there is aerogram-knowledge without its extra `server`."""


class Packages:
    """A folder with what pip installs for some requirements, and nothing else; processes come from a Python there."""

    def __init__(self, folder: Path, *requirements: str) -> None:
        self.folder = gather(folder, *requirements)
        verbs = ["aerogram.cli.program"] + ["aerogram_knowledge.knowledge"] * (folder / "aerogram_knowledge").exists()
        self.nursery = Nursery(*verbs, python=python_command(), env=environment_of(folder))


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Iterator[Callable[..., Packages]]:
    """Make such folders, each once."""
    made = {}

    def make(*requirements: str) -> Packages:
        if requirements not in made:
            made[requirements] = Packages(tmp_path_factory.mktemp("packages"), *requirements)
        return made[requirements]

    yield make
    for one in made.values():
        one.nursery.close()


@pytest.fixture(scope="module")
def with_cli(packages) -> Packages:
    return packages("aerogram[cli]")


@pytest.fixture(scope="module")
def with_knowledge(packages) -> Packages:
    return packages("aerogram-knowledge")


@pytest.fixture(scope="module")
def with_page(packages) -> Packages:
    return packages("aerogram-page")


@pytest.fixture
def run(tmp_path) -> Run:
    """Run `aerogram` in a folder of its own, with the packages of a folder alone."""
    (tmp_path / "reply.json").write_text(REPLY, encoding="utf-8")
    (tmp_path / "client.json").write_text(CLIENT, encoding="utf-8")
    (tmp_path / "notes.md").write_text(f"# Notes\n\n{DIGEST}\n", encoding="utf-8")
    shutil.copy(SAMPLES / "apis" / "carrier-handbook.pdf", tmp_path / "handbook.pdf")

    def run(packages: Packages, *arguments: str) -> subprocess.CompletedProcess:
        environment = environment_of(packages.folder, AEROGRAM_STATE=str(tmp_path / "state"), HOME=str(tmp_path))
        return run_program(arguments, text=True, cwd=tmp_path, env=environment, source=packages.nursery)

    return run


@pytest.fixture
def made_digest(run, with_cli, tmp_path) -> None:
    made = run(with_cli, "digest", "notes.md", "-q", "What was decided?", "--json").stdout
    (tmp_path / "digest.json").write_text(made, encoding="utf-8")


def verbs(run: Run, folder: Packages, *group: str) -> set[str]:
    shown = run(folder, *group, "--help").stdout
    named = re.findall(r"^  (\w+) ", shown.partition("Commands:")[2].partition("Exit codes")[0], re.MULTILINE)
    return {" ".join((*group, name)) for name in named}


def assert_works(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr


def assert_asks_for(done: subprocess.CompletedProcess, package: str, extra: str) -> None:
    """It ends with one line, which says what is missing and what to install."""
    said = done.stderr.replace("handbook.pdf: ", "")
    assert said == f"aerogram: this needs {package}: pip install 'aerogram[{extra}]'\n"
    assert done.returncode == 1


def test_every_verb_is_tried_here(run, packages):
    """A new verb is either one that needs nothing or one that says what it needs."""
    folder = packages("aerogram[server]")
    top = verbs(run, folder)
    nested = {name for group in GROUPS for name in verbs(run, folder, group)}
    assert top - OF_THE_LIBRARY.keys() == ELSEWHERE.keys()
    assert (top - set(GROUPS)) | nested == OF_THE_LIBRARY.keys() | NEEDS_A_DISTRIBUTION.keys() - set(GROUPS)


def test_with_the_cli_extra_alone_the_verbs_of_the_library_are_listed(run, with_cli):
    assert verbs(run, with_cli) == OF_THE_LIBRARY.keys()


@pytest.mark.parametrize("verb", OF_THE_LIBRARY)
def test_with_the_cli_extra_alone_this_works(run, with_cli, made_digest, verb):
    assert_works(run(with_cli, verb, *OF_THE_LIBRARY[verb]))


@pytest.mark.parametrize("verb", NEEDS_AN_EXTRA)
def test_a_verb_whose_extra_is_missing_says_so_in_one_line(run, with_cli, made_digest, verb):
    arguments, package, extra = NEEDS_AN_EXTRA[verb]
    assert_asks_for(run(with_cli, verb, *arguments), package, extra)


@pytest.mark.parametrize("verb", NEEDS_A_DISTRIBUTION)
def test_a_verb_whose_distribution_is_missing_says_so_in_one_line(run, with_cli, verb):
    """Whatever follows it, a cry for help included."""
    arguments, package, extra = NEEDS_A_DISTRIBUTION[verb]
    assert_asks_for(run(with_cli, *verb.split(), *arguments), package, extra)


def test_with_the_index_alone_its_verbs_work(run, with_knowledge):
    """`aerogram-knowledge`, and nothing of a server or a page."""
    assert verbs(run, with_knowledge) == OF_THE_LIBRARY.keys() | ELSEWHERE.keys() - {"inspect"}
    assert_works(run(with_knowledge, "ingest", "notes.md"))
    assert_works(run(with_knowledge, "keys", "create", "eve"))
    for verb, arguments in OF_KNOWLEDGE.items():
        assert_works(run(with_knowledge, *verb.split(), *arguments))
    assert run(with_knowledge, "vendor", "nobody").stderr.count("\n") == 1


@pytest.mark.parametrize("verb", NEEDS_A_SERVER)
def test_with_the_index_alone_a_verb_that_needs_a_server_says_so_in_one_line(run, with_knowledge, verb):
    arguments, package, extra = NEEDS_A_SERVER[verb]
    assert_asks_for(run(with_knowledge, *verb.split(), *arguments), package, extra)


def test_a_server_that_lacks_the_page_alone_says_so_in_one_line(run, packages):
    """The frameworks may be there for other reasons."""
    folder = packages("aerogram[fastapi,fastmcp,knowledge]", "uvicorn")
    for words in (["serve", "."], ["install", "claude-code", "."], ["keys", "rotate"]):
        assert_asks_for(run(folder, *words), "aerogram_page", "server")


def test_with_the_page_alone_its_verb_works(run, with_page, tmp_path):
    assert verbs(run, with_page) == {*OF_THE_LIBRARY, "inspect"}
    command = python_command("-m", "aerogram", "inspect", "reply.json", "--no-open")
    environment = environment_of(with_page.folder, AEROGRAM_STATE=str(tmp_path / "state"), PYTHONUNBUFFERED="1")
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = [process.stdout.readline(), process.stdout.readline()]
            assert said[0].startswith("Inspecting reply.json (response-v2, ")
            address = re.search(r"http://\S+", said[1])[0]
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"<html" in answer.read()
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode in (0, 130)


@pytest.mark.parametrize("verb", ["search", "index", "serve", "keys list"])
def test_with_the_page_alone_a_verb_of_the_index_says_so_in_one_line(run, with_page, verb):
    arguments, package, extra = NEEDS_A_DISTRIBUTION[verb]
    assert_asks_for(run(with_page, *verb.split(), *arguments), package, extra)


def test_with_the_extras_that_the_page_about_the_index_names_its_verbs_work(run, packages):
    """`aerogram[knowledge,cli]` is the index, and nothing of a server."""
    folder = packages("aerogram[knowledge,cli]")
    for words in (["ingest", "notes.md"], ["search", "board"], ["index", "status"], ["index", "check"]):
        done = run(folder, *words)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
