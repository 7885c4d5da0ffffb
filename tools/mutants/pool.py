"""A pool of forked processes: jobs run in children of this process, a few at a time, each within its time.

This process has the libraries loaded that the tests need, and none of the sources that are changed. A child starts
with them and imports the sources anew, which is what makes a run cost a second and not ten.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STALLED = {"outcome": "stalled"}
DIED = {"outcome": "died"}


@dataclass(frozen=True)
class Job:
    """A function to call in a child with a folder of its own, and how many seconds it may take."""

    call: Callable[[Path], Any]
    seconds: float


Task = Generator[Job, Any, None]
"""Jobs one after the other, each sent the result of the one before."""


def load_libraries(names: Iterable[str]) -> None:
    """Import libraries before anything is forked; one that cannot be imported is left to the tests."""
    with warnings.catch_warnings(), contextlib.suppress(AttributeError):
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def run_tasks(tasks: Iterable[Task], workers: int) -> None:
    """Run the jobs of all tasks, of at most `workers` tasks at a time."""
    waiting = deque(tasks)
    running: list[_Child] = []
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < workers:
                _start(waiting.popleft(), None, running, selector)
            selector.select(timeout=0.5)
            for child in list(running):
                result = child.result()
                if result is not None:
                    running.remove(child)
                    selector.unregister(child.pipe)
                    child.close()
                    _start(child.task, result["value"], running, selector)


def _start(task: Task, result: Any, running: list[_Child], selector: selectors.BaseSelector) -> None:
    with contextlib.suppress(StopIteration):
        child = _Child(task, task.send(result))
        running.append(child)
        selector.register(child.pipe, selectors.EVENT_READ)


class _Child:
    """A forked process that runs one job."""

    def __init__(self, task: Task, job: Job) -> None:
        self.task = task
        self.ends = time.monotonic() + job.seconds
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.pipe, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.pipe)
            _work(job, self.folder, writing)
        os.close(writing)
        os.set_blocking(self.pipe, False)
        self._received = b""

    def result(self) -> dict[str, Any] | None:
        """Return what the job returned, boxed; nothing while it runs."""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.pipe, 1 << 20):
                self._received += part
            return {"value": json.loads(self._received) if self._received else DIED}
        return {"value": STALLED} if time.monotonic() > self.ends else None

    def close(self) -> None:
        """End the process with all that it started, and remove its folder."""
        os.close(self.pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)


def _work(job: Job, folder: Path, pipe: int) -> None:
    """Call the job, send its result, and leave without whatever waits for the end of the process."""
    try:
        os.setsid()
        os.set_inheritable(pipe, False)
        silence = os.open(folder / "output", os.O_RDWR | os.O_CREAT)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            result = job.call(folder)
        except BaseException:  # noqa: BLE001  # whatever ends a job is its result
            result = {**DIED, "how": traceback.format_exc()}
        with open(pipe, "wb", closefd=False) as sending:
            sending.write(json.dumps(result).encode())
    finally:
        os._exit(0)
