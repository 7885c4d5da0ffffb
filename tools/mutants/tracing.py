"""Tracing: which lines of the sources, and which of their data files, a test makes use of."""

from __future__ import annotations

import atexit
import json
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import coverage

PACKAGES = "packages.json"
"""The file in the folder of traces that names the folders whose lines are traced."""


class Tracer:
    """The lines that are executed in files below some folders, and the files there that are read."""

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders = [f"{folder}{os.sep}" for folder in folders]
        self.read: set[str] = set()
        self._coverage: coverage.Coverage | None = None
        sys.addaudithook(self._note_reading)

    def start(self) -> None:
        """Trace what is called from here on, in this thread and in those started later."""
        include = [f"{folder}*" for folder in self.folders]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        self._coverage.start()

    def stop(self) -> dict[str, Any]:
        """Trace no longer, and return the lines by file and what was read since the beginning."""
        if self._coverage is None:
            return {"lines": {}, "read": []}
        self._coverage.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a test that uses no line is no reason to warn
            data = self._coverage.get_data()
        lines = {path: sorted(data.lines(path) or []) for path in sorted(data.measured_files())}
        return {"lines": {path: numbers for path, numbers in lines.items() if numbers}, "read": sorted(self.read)}

    def _note_reading(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith(tuple(self.folders)):
            self.read.add(arguments[0])


def trace_process(folder: Path) -> None:
    """Trace this whole process, and leave the result in a folder when it ends."""
    tracer = Tracer(json.loads((folder / PACKAGES).read_text(encoding="utf-8")))
    tracer.start()
    atexit.register(_leave, tracer, folder)


def _leave(tracer: Tracer, folder: Path) -> None:
    found = tracer.stop()
    if folder.is_dir():
        (folder / f"process-{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")
