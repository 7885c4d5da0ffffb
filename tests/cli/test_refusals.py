"""Refusals that can be acted on: each names what would be right."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from programs import run_program

REPLY = '{"success": true, "data": {"results": []}, "error": null, "meta": {"version": "response-v2"}}'


@pytest.fixture
def run(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("# One\n\nThe first document.\n", encoding="utf-8")
    (tmp_path / "reply.json").write_text(REPLY, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return run_program(arguments, cwd=tmp_path, env=kept, text=True)

    return run


def test_an_unknown_field_is_answered_with_those_there_are(run):
    run("ingest", "docs")
    done = run("search", "first", "--field", "nope")
    assert done.returncode == 1
    assert "allowed: chunk_id, source_file" in done.stderr


def test_what_is_not_json_is_said_to_be_so_once(run, tmp_path):
    (tmp_path / "docs" / "graph.json").write_text("{ not at all", encoding="utf-8")
    done = run("ingest", "docs")
    assert "it is not JSON: " in done.stderr
    assert done.stderr.count("not JSON") == 1


def test_a_port_that_is_taken_is_answered_with_what_the_verb_reads(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        inspecting = run("inspect", "reply.json", "--no-open", "--port", port).stderr
        serving = run("serve", "docs", "--port", port).stderr
    assert "--port" in inspecting and "AEROGRAM_PORT" not in inspecting
    assert "AEROGRAM_PORT" in serving


def test_an_empty_question_has_no_digest(run):
    done = run("digest", "docs/one.md", "-q", " ")
    assert (done.returncode, done.stdout) == (1, "")
    assert "query must not be empty" in done.stderr


@pytest.mark.parametrize(
    "words", [["translate"], ["schema", "x"], ["nope"], ["verify", "--nope"], ["digest"]], ids=" ".join
)
def test_a_wrong_call_is_one_line_that_says_where_to_look(words):
    done = run_program(words, input="", text=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("aerogram: ")
    assert line.endswith("--help says how it is called")


def test_without_a_verb_there_is_help():
    done = run_program([], input="", text=True)
    assert "Usage: aerogram" in done.stdout + done.stderr
