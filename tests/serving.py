"""A knowledge server of one's own, as a real process: started on a free port, ended when the test is done."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from programs import PROGRAM, Process, run_program, start_program

SAMPLES = Path(__file__).parents[1] / "samples"


@dataclass
class Served:
    """A server that is ready."""

    address: str
    process: Process | subprocess.Popen
    index: Path
    said: list[str] = field(default_factory=list)

    @property
    def mcp(self) -> str:
        return f"{self.address}/mcp"


def clean_environment(index: Path) -> dict[str, str]:
    """The environment without settings of whoever runs the tests, and with a state directory of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AEROGRAM_")}
    return {**kept, "AEROGRAM_STATE": str(index.parent / "state")}


def command(
    index: Path, *arguments: str, documents: Path | None = SAMPLES, program: Sequence[str] = PROGRAM
) -> list[str]:
    """The command line of a server."""
    named = [str(documents)] if documents is not None else []
    return [*program, "serve", *named, "--index", str(index), *arguments]


@cache
def _index_of_samples() -> Path:
    """An index over the samples, made once for this process and copied by whoever serves them."""
    folder = Path(tempfile.mkdtemp(prefix="aerogram-samples-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    words = ["ingest", str(SAMPLES), "--index", str(folder / "index")]
    run_program(words, cwd=folder, env=clean_environment(folder / "index"), check=True)
    return folder / "index"


@contextmanager
def serving(
    index: Path,
    *arguments: str,
    documents: Path | None = SAMPLES,
    program: Sequence[str] = PROGRAM[1:],
    stderr: int = subprocess.DEVNULL,
) -> Iterator[Served]:
    """A server over HTTP, as soon as it says that it is ready; `program` is what Python is told to run."""
    line = [*command(index, documents=documents, program=()), "--port", "0", *arguments]
    where = {
        "stdout": subprocess.PIPE,
        "stderr": stderr,
        "text": True,
        "cwd": index.parent,
        "env": clean_environment(index),
    }
    if documents == SAMPLES and not index.exists():
        shutil.copytree(_index_of_samples(), index)
    process = start_program(line, program=program, **where)
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line.rstrip())
            if line.startswith("  docs"):
                break
        address = next(line.split()[2] for line in said if line.startswith("Ready at "))
        yield Served(address, process, index, said)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(60)
        process.stdout.close()
