"""Forgetting: what was read can be taken out of an index again, through the command line and under a running server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from aerogram_knowledge import Knowledge
from programs import run_program
from serving import serving

SALARIES = "# Salaries\n\nThe salary of the director is 4,711 crowns, and it is paid in advance.\n"
HOURS = "# Hours\n\nThe office opens at nine and closes at five.\n"
TIDES = "# Tides\n\nThe lowest water is at four in the morning.\n"


@pytest.fixture
def home(tmp_path) -> Path:
    for name, text in {"private/pay.md": SALARIES, "public/hours.md": HOURS, "public/sea/tides.md": TIDES}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(home, where):
    """Run `aerogram` on an index in a folder, and on one in a database."""
    kind = "AEROGRAM_STORE" if isinstance(where, str) else "AEROGRAM_INDEX"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}

    def run(*arguments: str) -> subprocess.CompletedProcess:
        env = {**kept, kind: str(where), "AEROGRAM_STATE": str(home / "state")}
        return run_program(arguments, cwd=home, env=env, text=True)

    return run


def test_a_folder_that_is_gone_can_be_taken_out(run, home):
    assert run("ingest", "private", "public").returncode == 0
    shutil.rmtree(home / "private")
    again = run("ingest", "private")
    assert again.returncode == 1
    assert "`aerogram index forget private`" in again.stderr
    done = run("index", "forget", "private")
    assert (done.returncode, done.stdout) == (0, "1 documents gone, with 1 chunks\n"), done.stderr
    assert "4,711" not in run("search", "salary of the director").stdout
    assert "opens at nine" in run("search", "when does the office open").stdout
    roots = json.loads(run("index", "status", "--json").stdout)["roots"]
    assert list(roots.values()) == [str(home / "public")]
    assert run("index", "check").stdout == "sound\n"


def test_a_part_of_a_root_goes_alone_and_it_is_said_that_it_comes_back(run, home):
    run("ingest", "public")
    done = run("index", "forget", "public/sea")
    assert done.stdout == "1 documents gone, with 1 chunks\n"
    assert f"when {home / 'public'} is read again, it comes back" in done.stderr
    assert "lowest water" not in run("search", "lowest water").stdout
    told = json.loads(run("index", "forget", "public/hours.md", "--json").stdout)
    assert told == {"documents": 1, "chunks": 1, "still_in": None}  # nothing was left, so the root went too
    assert json.loads(run("index", "status", "--json").stdout)["roots"] == {}


@pytest.mark.parametrize("verb", [("index", "rebuild"), ("ingest", "public")], ids=["rebuild", "ingest"])
def test_what_is_left_of_a_folder_that_is_no_longer_named_is_told_and_taken_out(run, home, where, verb):
    """An older version forgot the folder first and then its files, so one that was killed has left these."""
    assert run("ingest", "private", "public").returncode == 0
    with Knowledge(where) as knowledge:
        knowledge.roots().without([""]).keep(knowledge.store)
        assert knowledge.search("salary of the director").status == "ok"
    told = run("index", "check")
    assert (told.returncode, "left of folders" in told.stdout, "aerogram index rebuild" in told.stdout) == (
        1,
        True,
        True,
    )
    assert run(*verb).returncode == 0
    assert "4,711" not in run("search", "salary of the director").stdout
    assert "opens at nine" in run("search", "when does the office open").stdout
    assert run("index", "check").stdout == "sound\n"


def test_a_path_that_the_index_does_not_know_is_refused_with_those_that_it_does(run, home):
    run("ingest", "public")
    done = run("index", "forget", "private")
    assert (done.returncode, done.stdout) == (1, "")
    assert str(home / "public") in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_path_is_refused_and_does_not_mean_this_folder(run):
    run("ingest", "public")
    done = run("index", "forget", "")
    assert (done.returncode, done.stdout) == (1, "")
    assert "empty" in done.stderr
    assert run("index", "forget", ".").returncode == 0


def hits(address: str, words: str) -> str:
    with urllib.request.urlopen(f"{address}/v1/search?q={words}&response_mode=full") as answer:
        return answer.read().decode()


def test_a_server_that_watches_notices_and_does_not_read_it_again(home):
    """What is forgotten is gone for the next question, and a change in its folder does not bring it back."""
    index = home / "index"
    with serving(index, str(home / "private"), "--watch", documents=home / "public") as served:
        assert "4,711" in hits(served.address, "salary")
        run_program(["index", "forget", "private", "--index", str(index)], cwd=home, check=True)
        assert "4,711" not in hits(served.address, "salary")
        (home / "private" / "more.md").write_text(SALARIES, encoding="utf-8")
        while "heron" not in hits(served.address, "heron"):
            assert served.process.poll() is None
            (home / "public" / "news.md").write_text("# News\n\nA heron was seen on the roof.\n", encoding="utf-8")
            time.sleep(0.5)  # longer than changes are gathered
        assert "4,711" not in hits(served.address, "salary")
