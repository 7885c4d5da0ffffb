"""Ctrl-C: whenever it comes, and twice as well, a verb ends without a trace of its inside."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from programs import quick_command

REPLY = '{"success": true, "data": {"results": []}, "error": null, "meta": {"version": "response-v2"}}'
ONCE, TWICE = 1, 2


def started(folder: Path, program: list[str], *arguments: str) -> subprocess.Popen:
    (folder / "docs").mkdir()
    (folder / "docs" / "one.md").write_text("# One\n\nThe first document.\n", encoding="utf-8")
    (folder / "reply.json").write_text(REPLY, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
    return subprocess.Popen(
        [*program, "-m", "aerogram", *arguments],
        cwd=folder,
        env={**kept, "AEROGRAM_STATE": str(folder / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("times", [ONCE, TWICE], ids=["once", "twice"])
@pytest.mark.parametrize(
    "verb", [["serve", "docs", "--port", "0"], ["inspect", "reply.json", "--no-open"]], ids="".join
)
def test_in_the_moment_when_it_is_ready(tmp_path, verb, times):
    with started(tmp_path, quick_command(), *verb) as process:
        for line in process.stdout:
            if line.startswith("Ready at"):
                break
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)  # two signals at once are one
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said and "Warning" not in said and "Error" not in said, said
    assert process.returncode in (0, 130)


@pytest.mark.parametrize("verb", [["serve", "docs", "--port", "0"], ["search", "x"]], ids=" ".join)
def test_while_its_modules_are_loaded(tmp_path, verb):
    """Python tells of each module that it has loaded; with typer, the program has begun.

    The pipe is so small that the program waits for its reader, and cannot be done before it is interrupted.
    """
    with started(tmp_path, [sys.executable, "-X", "importtime"], *verb) as process:
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        for line in process.stderr:
            if line.rstrip().endswith("typer"):
                break
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode == 130
