"""Test sessions in a forked process: one that traces the tests of a file, and one that runs a test with a mutant.

A mutant is noticed when the test fails because of what it expects: in its own code, or by an error that the sources
declare and raise on purpose. A change that makes the sources break down, at import or with any other error, shows
nothing about the test: whoever runs the line would fail, with or without expectations. So does a test that trips over
getting nothing at all where it expected some object: it says that there must be something, and not what.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutants import imports
from mutants.operators import Mutant
from mutants.sources import Tree
from mutants.tracing import PACKAGES, Tracer

PASSED, NOTICED, CRASHED, BROKEN, SKIPPED = "passed", "noticed", "crashed", "broken", "skipped"
ALREADY_LOADED = "ignore::pytest.PytestAssertRewriteWarning"
TEST_SECONDS = 120.0


class Verdict:
    """A plugin that keeps how the tests of a session came out: the first failure, or that all passed."""

    def __init__(self, tree: Tree) -> None:
        self.tests = f"{tree.root / 'tests'}{os.sep}"
        self.sources = tuple(f"{path}{os.sep}" for path in tree.packages)
        self.names = {name.partition(".")[0] for name in tree.modules.values()}
        self.outcome = BROKEN
        self.how = ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Note the report of each phase of each test."""
        report = (yield).get_result()
        if self.outcome in (NOTICED, CRASHED):
            return
        if report.skipped:
            self.outcome = SKIPPED
        elif report.failed and call.excinfo is not None:
            self.outcome, self.how = self._failure(call.excinfo.value)
        elif report.when == "call" and report.passed:
            self.outcome = PASSED

    def _failure(self, error: BaseException) -> tuple[str, str]:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        declared = type(error).__module__.partition(".")[0] in self.names
        noticed = declared or self._is_of_test(error.__traceback__)
        tripped = isinstance(error, AttributeError | TypeError) and "NoneType" in str(error)
        return NOTICED if noticed and not tripped else CRASHED, type(error).__name__

    def _is_of_test(self, trace: TracebackType | None) -> bool:
        """Whether the last code of ours that an error passed through is a test's and not the sources'."""
        in_test = False
        while trace is not None:
            place = trace.tb_frame.f_code.co_filename
            if place.startswith((self.tests, *self.sources)):
                in_test = place.startswith(self.tests)
            trace = trace.tb_next
        return in_test


def run_with(tree: Tree, test: str, mutant: Mutant | None, folder: Path) -> dict[str, str]:
    """Run a test with a mutant, in a process that has not imported the sources, and say how it came out."""
    if mutant is not None:
        change = folder / "change.json"
        module = tree.modules.get(mutant.path)
        imports.write_change(change, str(tree.root / mutant.path), module, mutant.apply(tree.text(mutant.path)))
        imports.install_change(change)
    verdict = Verdict(tree)
    _run_pytest(tree, ["-x", test], folder, verdict)
    return {"outcome": verdict.outcome, "how": verdict.how}


def collect(tree: Tree, files: list[str], folder: Path) -> list[str]:
    """Collect the tests of some files, and return the libraries that this loads."""
    _run_pytest(tree, ["--collect-only", *files], folder)
    return libraries(tree)


def libraries(tree: Tree) -> list[str]:
    """Return the modules that are loaded and are neither sources nor tests, in the order of loading."""
    ours = {name.partition(".")[0] for name in tree.modules.values()}
    tests = str(tree.root / "tests")
    found = []
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None) or ""
        if name.partition(".")[0] not in ours and not place.startswith(tests) and getattr(module, "__spec__", None):
            found.append(name)
    return found


def trace(tree: Tree, tests: list[str], folder: Path) -> dict[str, Any]:
    """Trace the tests of one file, each in a fork of the process that collected them."""
    plugin = TracingPlugin(tree, folder)
    plugin.tracer.start()
    _run_pytest(tree, tests, folder, plugin)
    names = {name: None for one in plugin.found.values() for name in one.pop("libraries")}
    return {"import": plugin.at_import, "tests": plugin.found, "libraries": list(names)}


class TracingPlugin:
    """A plugin that forks before each test, traces it there, and keeps what it used, how it came out and its time."""

    def __init__(self, tree: Tree, folder: Path) -> None:
        self.tree = tree
        self.folder = folder
        self.tracer = Tracer(map(str, tree.packages))
        self.at_import: dict[str, Any] = {"lines": {}, "read": []}
        self.found: dict[str, dict[str, Any]] = {}

    def pytest_collection_finish(self) -> None:
        """Keep what collecting used, which is what importing uses."""
        self.at_import = self.tracer.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        """Run a test in a fork."""
        target = self.folder / f"trace-{len(self.found)}"
        target.mkdir()
        pid = os.fork()
        if not pid:
            try:
                self._run(item, target)
            finally:
                os._exit(0)
        self.found[item.nodeid] = _wait(pid, target / "result.json")
        return True

    def _run(self, item: pytest.Item, target: Path) -> None:
        (target / PACKAGES).write_text(json.dumps([str(path) for path in self.tree.packages]), encoding="utf-8")
        imports.pass_to_processes(imports.TRACE, str(target))
        verdict = Verdict(self.tree)
        item.config.pluginmanager.register(verdict)
        start = time.monotonic()
        self.tracer.start()
        runtestprotocol(item, nextitem=None, log=False)
        used = self.tracer.stop()
        result = {
            "outcome": verdict.outcome,
            "how": verdict.how,
            "seconds": round(time.monotonic() - start, 2),
            "libraries": libraries(self.tree),
            **merge_traces([used, *(json.loads(path.read_text()) for path in target.glob("process-*.json"))]),
        }
        (target / "result.json").write_text(json.dumps(result), encoding="utf-8")


def join_traces(test: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return the trace of a test as one, where it has several cases, and beside it what is used at import."""
    items = [one for name, one in result["tests"].items() if name == test or name.startswith(f"{test}[")]
    failed = [one["outcome"] for one in items if one["outcome"] != PASSED]
    used = merge_traces(items)
    read = sorted({*used["read"], *result["import"]["read"]})
    return {
        "outcome": failed[0] if failed else PASSED if items else BROKEN,
        "seconds": sum(one["seconds"] for one in items),
        "lines": used["lines"],
        "imported": result["import"]["lines"],
        "read": read,
    }


def merge_traces(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return several traces as one."""
    lines: dict[str, set[int]] = {}
    for one in found:
        for path, numbers in one["lines"].items():
            lines.setdefault(path, set()).update(numbers)
    read = sorted({path for one in found for path in one["read"]})
    return {"lines": {path: sorted(numbers) for path, numbers in lines.items()}, "read": read}


def _wait(pid: int, result: Path) -> dict[str, Any]:
    ends = time.monotonic() + TEST_SECONDS
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > ends:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            break
        time.sleep(0.01)
    if result.exists():
        return json.loads(result.read_text(encoding="utf-8"))
    return {"outcome": BROKEN, "how": "no result", "seconds": 0.0, "libraries": [], "lines": {}, "read": []}


def _run_pytest(tree: Tree, arguments: list[str], folder: Path, *plugins: object) -> None:
    os.chdir(tree.root)
    sys.path[:0] = [str(path.parent) for path in tree.packages if str(path.parent) not in sys.path]
    quiet = ["--no-header", "--tb=no", "-q", "-W", ALREADY_LOADED, f"--basetemp={folder / 'tests'}"]
    pytest.main([*quiet, *arguments], plugins=list(plugins))
