"""The change of one file as a process sees it: its module is compiled, or its data read, from the changed text.

The file on disk stays as it is, so that other processes are not disturbed. A process is told of the change by an
environment variable; `shim/sitecustomize.py` reads it in the Python processes that a test starts.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

CHANGE = "MUTANTS_CHANGE"
TRACE = "MUTANTS_TRACE"
SHIM = Path(__file__).parent / "shim"


def write_change(target: Path, path: str, module: str | None, text: str) -> None:
    """Write a change for this process and those that it starts: a file, the module it is, its changed text."""
    target.write_text(json.dumps({"path": path, "module": module, "text": text}), encoding="utf-8")
    pass_to_processes(CHANGE, str(target))


def pass_to_processes(name: str, value: str) -> None:
    """Set a variable that the shim reads in the Python processes started from here."""
    os.environ[name] = value
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SHIM), os.environ.get("PYTHONPATH")]))


def install_change(source: Path) -> None:
    """Make this process see a change that was written."""
    change = json.loads(source.read_text(encoding="utf-8"))
    if change["module"]:
        sys.meta_path.insert(0, ChangedFinder(**change))
    else:
        _redirect_reading(change["path"], change["text"])


class ChangedLoader(importlib.machinery.SourceFileLoader):
    """A loader of one module from a text that is not the one on disk."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002  # the name is the one it was made with
        """Compile the changed text, without the warnings that only the change deserves."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return compile(self.text, self.path, "exec", dont_inherit=True)


class ChangedFinder(MetaPathFinder):
    """A finder of one module, ahead of all others."""

    def __init__(self, path: str, module: str, text: str) -> None:
        self.path = path
        self.module = module
        self.text = text

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the usual spec of the module with a loader of the changed text."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name == self.module else None
        if spec is not None and spec.origin and Path(spec.origin).resolve() == Path(self.path).resolve():
            spec.loader = ChangedLoader(name, spec.origin, self.text)
            return spec
        return None


def _redirect_reading(path: str, text: str) -> None:
    """Let whoever opens a data file for reading get the changed text."""
    usual = io.open
    changed = Path(path).resolve()

    def open_changed(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str | os.PathLike) and os.fspath(file) == str(changed):
            return io.BytesIO(text.encode()) if "b" in mode else io.StringIO(text)
        return usual(file, mode, *args, **kwargs)

    io.open = builtins.open = open_changed
