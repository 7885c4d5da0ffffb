"""Folders that are named are served, and nothing else is: what an index has from elsewhere is refused, not shown."""

from __future__ import annotations

import json
import subprocess
import time

import httpx
import pytest

from programs import run_program
from serving import clean_environment, serving


@pytest.fixture
def home(tmp_path):
    for name, words in {"private/pay.md": "The salary is 4,711.", "public/hours.md": "It opens at nine."}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"# {name}\n\n{words}\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(home):
    """Run `aerogram` in the folder, with its default index."""

    def run(*arguments: str) -> subprocess.CompletedProcess:
        env = clean_environment(home / ".aerogram")
        return run_program(arguments, cwd=home, env=env, text=True)

    return run


@pytest.mark.parametrize(
    "verb",
    [["serve", "public", "--port", "0"], ["serve", "public", "--stdio"], ["install", "claude-code", "public"]],
    ids=" ".join,
)
def test_other_folders_of_the_index_are_not_shown(run, home, verb):
    assert run("ingest", "private").returncode == 0
    done = run(*verb)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"also has documents of {home / 'private'}" in done.stderr
    assert "`aerogram index forget" in done.stderr
    assert not (home / ".mcp.json").exists()
    assert run("index", "forget", "private").returncode == 0
    assert run("install", "claude-code", "public").returncode == 0
    assert str(home / "public") in json.loads((home / ".mcp.json").read_text())["mcpServers"]["aerogram"]["args"]


def test_a_file_that_is_named_does_not_bring_its_neighbours(run, home):
    assert run("ingest", "private", "public").returncode == 0
    (home / "public" / "draft.md").write_text("# Draft\n\nNot for you.\n", encoding="utf-8")
    assert "also has documents" not in run("serve", "private", "public", "--stdio").stderr
    assert run("serve", "private", "public/hours.md", "--stdio").returncode == 1


def test_a_server_that_watches_a_file_reads_no_other(home):
    file = home / "public" / "hours.md"
    with serving(home / "index", "--watch", documents=file) as served:

        def hits(words: str) -> str:
            asked = {"q": words, "response_mode": "full"}
            return httpx.get(f"{served.address}/v1/search", params=asked, timeout=60).text

        (home / "public" / "draft.md").write_text("# Draft\n\nA pelican is not for you.\n", encoding="utf-8")
        while "heron" not in hits("heron"):
            assert served.process.poll() is None
            file.write_text("# Hours\n\nIt opens when the heron comes.\n", encoding="utf-8")
            time.sleep(0.5)  # longer than changes are gathered
        assert "pelican" not in hits("pelican")


def test_whoever_names_no_folder_serves_the_whole_index(run, home):
    assert run("ingest", "private", "--index", "index").returncode == 0
    with serving(home / "index", documents=None) as served:
        assert "pay.md" in httpx.get(f"{served.address}/v1/search", params={"q": "salary"}, timeout=60).text


def test_a_file_in_the_index_is_served_without_its_neighbours(run, home):
    (home / "public" / "draft.md").write_text("# Draft\n\nA pelican is not for you.\n", encoding="utf-8")
    assert run("ingest", "public/hours.md", "--index", "index").returncode == 0
    with serving(home / "index", documents=None) as served:
        told = httpx.get(f"{served.address}/v1/search", params={"q": "pelican", "response_mode": "full"}, timeout=60)
    assert "draft.md" not in told.text
