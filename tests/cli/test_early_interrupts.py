"""Ctrl-C while the program still loads its modules: it ends quietly, with the exit code of an interrupt."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from installations import PROJECTS


def script() -> str:
    """What the installed program runs: the function that the library's project names."""
    module, _, function = PROJECTS["aerogram"]["scripts"]["aerogram"].partition(":")
    return f"import sys\nfrom {module} import {function}\nsys.exit({function}())"


@pytest.mark.parametrize("start", [["-m", "aerogram"], ["-c", script()]], ids=["module", "script"])
@pytest.mark.parametrize(
    "loaded", ["contextlib", "aerogram.errors", "aerogram.reply", "aerogram.cli.terminal", "typer"]
)
def test_an_interrupt_among_the_imports_is_quiet(tmp_path, start, loaded):
    """Python tells of each module that it has loaded, into a pipe so small that it waits for its reader."""
    command = [sys.executable, "-X", "importtime", *start, "search", "x"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        has_begun = False
        for line in process.stderr:
            module = line.rpartition("|")[2].strip()
            has_begun = has_begun or module == "aerogram.cli.interrupt"
            if has_begun and module in (loaded, "typer"):
                break
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in said and "KeyboardInterrupt" not in said


def test_elsewhere_than_in_the_main_thread_the_program_still_runs(tmp_path):
    program = (
        "import sys, threading\nfrom aerogram.__main__ import main\nsys.argv[1:] = ['explain', 'NOT_FOUND']\n"
        "thread = threading.Thread(target=main)\nthread.start()\nthread.join()"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False, timeout=60
    )
    assert "NOT_FOUND" in done.stdout
    assert "Traceback" not in done.stderr
