"""Streams: pipes that close, terminals that wait, interrupts, and full disks."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from programs import PROGRAM, run_program

BODY = json.dumps({"success": True, "data": {}, "error": None, "meta": {"version": "response-v2"}}).encode()


def wait_for(descriptor: int, wanted: bytes) -> bytes:
    """Read until the wanted words appear, or nothing more comes."""
    seen = b""
    while wanted not in seen and select.select([descriptor], [], [], 30)[0]:
        try:
            more = os.read(descriptor, 4096)
        except OSError:  # a terminal whose other side is gone
            break
        if not more:
            break
        seen += more
    return seen


def test_a_reader_that_goes_away_is_not_an_error_message():
    """As in `aerogram … | head`: quiet, and the exit code that the shell gives such a program."""
    rows = json.dumps(
        {"success": True, "data": {"rows": ["x" * 100] * 20_000}, "error": None, "meta": {"version": "response-v2"}}
    )
    done = subprocess.Popen(
        [*PROGRAM, "translate", "--to", "bare"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    done.stdout.close()
    done.stdin.write(rows.encode())
    done.stdin.close()
    assert done.stderr.read() == b""
    done.stderr.close()
    assert done.wait(60) == 141


def test_a_terminal_is_told_what_the_program_waits_for():
    """Someone who forgot the file sees why nothing happens, and can type the body."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen([*PROGRAM, "validate"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(theirs)
    assert b"waiting for a JSON body" in wait_for(running.stderr.fileno(), b"Ctrl-D")
    os.write(ours, BODY + b"\n\x04")
    out, _ = running.communicate(timeout=60)
    os.close(ours)
    assert (running.returncode, out) == (0, b"valid response-v2\n")


def test_an_interrupt_is_quiet():
    """Ctrl-C ends the program with 130 and without a word."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen([*PROGRAM, "validate"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(theirs)
    wait_for(running.stderr.fileno(), b"Ctrl-D")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    os.close(ours)
    assert (running.returncode, out, err.strip()) == (130, b"", b"")


def test_colours_are_for_terminals_alone():
    """Help on a terminal has colours; the pipe test elsewhere shows that a pipe has none."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    running = subprocess.Popen([*PROGRAM, "--help"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = wait_for(ours, b"went away")
    os.close(ours)
    running.wait(60)
    assert b"\x1b[" in seen


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("body", [BODY, b"not JSON"], ids=["a result", "a failure"])
def test_a_full_disk_is_one_line(body):
    """Whatever could not be written, the failure to write is told on stderr."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "translate", "--to", "bare", "--json"],
            input=body,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"aerogram: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "code"), [("<&-", 1), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1)], ids=["in", "out", "err", "all"]
)
def test_a_closed_stream_gives_no_traceback(closed, code):
    """Without a place to write, nothing is said to have worked."""
    command = f'"{sys.executable}" -m aerogram validate --json {closed}'
    done = subprocess.run(["sh", "-c", command], input=BODY, capture_output=True, check=False, timeout=60)
    assert done.returncode == code
    assert b"Traceback" not in done.stdout + done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("words", [["explain", "NOT_FOUND"], ["validate"], ["nothing"]], ids=" ".join)
def test_a_process_of_the_nursery_ends_as_one_of_its_own(tmp_path, words):
    """Most tests of the program take theirs from there."""
    environment = {**os.environ, "COLUMNS": "80"}
    alone = subprocess.run(
        [*PROGRAM, *words], input=b"{", capture_output=True, cwd=tmp_path, env=environment, check=False
    )
    forked = run_program(words, input=b"{", cwd=tmp_path, env=environment)
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)
