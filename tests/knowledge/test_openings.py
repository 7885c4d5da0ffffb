"""Several processes that open a new index at the same moment: each of them finds it ready."""

import contextlib
import subprocess
import time

from programs import nursery, start_program

OPEN = """
import sys, time
from pathlib import Path
from aerogram_knowledge.store.sqlite import Connections

folder, start = Path(sys.argv[1]), float(sys.argv[2])
for number in range(25):
    time.sleep(max(0, start + number / 20 - time.time()))
    with Connections(folder / f"{number}.sqlite").lend() as connection:
        assert connection.execute("SELECT COUNT(*) FROM files").fetchone() == (0,)
"""


def test_whoever_opens_a_new_index_at_the_same_moment_finds_it_ready(tmp_path):
    nursery()
    arguments = [str(tmp_path), str(time.time() + 0.5)]
    with contextlib.ExitStack() as opened:
        program = {"program": ("-c", OPEN), "stderr": subprocess.PIPE, "text": True}
        running = [opened.enter_context(start_program(arguments, **program)) for _ in range(5)]
        assert [process.stderr.read() for process in running] == [""] * 5
    assert [process.returncode for process in running] == [0] * 5
