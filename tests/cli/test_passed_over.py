"""What an index does not read is told: by `ingest` each time, by `search` when nothing else is there."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from programs import run_program

NOT_READ = ("a.docx", "b.docx", "settings.yaml", "tool.py")


@pytest.fixture
def run(tmp_path):
    (tmp_path / "office").mkdir()
    for name in NOT_READ:
        (tmp_path / "office" / name).write_bytes(b"PK\x03\x04")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return run_program(arguments, cwd=tmp_path, env=kept, text=True)

    return run


def test_files_of_kinds_that_are_not_read_are_counted_by_kind(run, tmp_path):
    for _ in ("the first time", "and the second"):
        done = run("ingest", "office")
        assert done.returncode == 0
        assert done.stdout.splitlines()[-1] == "4 not read: 2 .docx, 1 .yaml, 1 .py"
    told = json.loads(run("ingest", "office", "--json").stdout)
    assert told["not_read"] == {".docx": 2, ".yaml": 1, ".py": 1}
    found = run("search", "anything")
    assert "there is nothing to read in" in found.stdout
    assert "4 not read: 2 .docx, 1 .yaml, 1 .py" in found.stdout
    assert "Markdown, HTML, text" in found.stdout and ".ipynb" in found.stdout


def test_files_that_cannot_be_read_are_in_the_count_each_time_and_listed_one_by_one(run, tmp_path):
    for name in ("one.pdf", "two.pdf"):
        (tmp_path / "office" / name).write_bytes(b"not a PDF at all \x00\x01")
    (tmp_path / "office" / "fine.md").write_text("# Fine\n\nAll is well here.\n", encoding="utf-8")
    for counts in ("1 new, 0 changed, 0 unchanged", "0 new, 0 changed, 1 unchanged"):
        done = run("ingest", "office")
        assert done.returncode == 0
        assert done.stdout.startswith(f"{counts}, 0 gone, 2 unreadable: "), done.stdout
    lines = run("index", "status").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("problems"))
    assert [line.split(":")[0] for line in lines[start + 1 : start + 3]] == ["  one.pdf", "  two.pdf"]
