"""The check: trace the tests, choose mutants for each requirement, run its test with them, say who noticed.

A requirement is noticed when its test fails with one of at most three mutants. It survives when three pass
unnoticed, or all that there are; it has none when every change breaks the source down or there is nothing to change.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mutants import session
from mutants.choose import DRAWN_PER_TRY, Choice, Ranked, pick
from mutants.operators import Mutant
from mutants.pool import Job, Task, load_libraries, run_tasks
from mutants.sources import Requirement, Tree
from mutants.state import State

HERE = Tree(Path(__file__).parent)
TRACER = HERE.hash(["session.py", "tracing.py"])
TOOL = HERE.hash(sorted(path.name for path in HERE.root.glob("*.py")))
"""What the tracer and the whole check hash to: traces and results are forgotten when they change."""
NOTICED, SURVIVED, NONE = "noticed", "survived", "no mutant"
MOST_TRIED = 3
LEAST_SECONDS = 30.0
TIMES_LONGER = 8


@dataclass
class Check:
    """A check of some requirements of a tree."""

    tree: Tree
    requirements: list[Requirement]
    seed: str = "0"
    workers: int = 2
    most_tried: int = MOST_TRIED
    state: Path | None = None
    say: Callable[[str], None] = print
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self) -> dict[str, dict[str, Any]]:
        """Check every requirement, and return the results by id in the order of the rows."""
        folder = self.state or self.tree.root / ".cache" / "mutants"
        known = State(folder / "results.json")
        waiting = [one for one in self.requirements if not self._recall(one, known)]
        if waiting:
            traces = Traces(self.tree, State(folder / "traces.json"), self.workers, self.say)
            found = traces.of(self.requirements)
            load_libraries(traces.libraries)
            choice = Choice(self.tree, found, self.requirements)
            ranked = {one.id: choice.rank(one, self.seed) for one in waiting if found[one.test]["outcome"] == "passed"}
            gc.freeze()
            progress = Progress("requirements", len(waiting), self.say)
            run_tasks(
                [self._try(one, ranked.get(one.id, []), found[one.test], known, progress) for one in waiting],
                self.workers,
            )
        return {one.id: self.results[one.id] for one in self.requirements}

    def _recall(self, requirement: Requirement, known: State) -> bool:
        result = known.get(requirement.id, self._made_from(requirement))
        if result is not None:
            self.results[requirement.id] = result
        return result is not None

    def _made_from(self, requirement: Requirement) -> str:
        row = f"{requirement.test} {requirement.promise} {dict(requirement.columns)} {requirement.features}"
        return f"{row} {self.tree.test_hashes[requirement.file]} {self.seed} {self.most_tried} {TOOL}"

    def _try(
        self, requirement: Requirement, ranked: list[Ranked], trace: dict[str, Any], known: State, progress: Progress
    ) -> Task:
        """Run the test with one mutant after the other until it notices one or enough have survived."""
        tried: list[tuple[Mutant, dict[str, Any]]] = []
        seconds = LEAST_SECONDS + TIMES_LONGER * trace["seconds"]
        most = DRAWN_PER_TRY * self.most_tried
        while mutant := pick(ranked, [(one, result["outcome"] == session.PASSED) for one, result in tried], most):
            tried.append((mutant, (yield Job(partial(session.run_with, self.tree, requirement.test, mutant), seconds))))
            outcomes = [result["outcome"] for _, result in tried]
            if session.NOTICED in outcomes or outcomes.count(session.PASSED) == self.most_tried:
                break
        told = [{**describe(self.tree, one), **result} for one, result in tried]
        self.results[requirement.id] = result = summarise(requirement, trace, told)
        known.put(requirement.id, self._made_from(requirement), result)
        progress.step(f"{requirement.id} {result['verdict']}")


def summarise(requirement: Requirement, trace: dict[str, Any], tried: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result for a requirement: whether it was noticed, and all that was tried."""
    outcomes = [one["outcome"] for one in tried]
    verdict = NOTICED if session.NOTICED in outcomes else SURVIVED if session.PASSED in outcomes else NONE
    return {
        "id": requirement.id,
        "promise": requirement.promise,
        "test": requirement.test,
        "unchanged": trace["outcome"],
        "verdict": verdict,
        "noticed": verdict == NOTICED,
        "tried": tried,
    }


def describe(tree: Tree, mutant: Mutant) -> dict[str, Any]:
    """Return a mutant as a reader wants to see it: where it is, and its first changed line before and after."""
    text = tree.text(mutant.path)
    before, after = text.splitlines(), mutant.apply(text).splitlines()
    at = next((number for number, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
    return {
        "module": tree.modules.get(mutant.path, mutant.path),
        "place": mutant.place.owner,
        "line": at + 1,
        "operator": mutant.operator,
        "about": mutant.about,
        "before": before[at].strip() if at < len(before) else "",
        "after": after[at].strip() if at < len(after) else "",
    }


class Traces:
    """What each test uses, traced once for each state of the sources and its file."""

    def __init__(self, tree: Tree, state: State, workers: int, say: Callable[[str], None]) -> None:
        self.tree = tree
        self.state = state
        self.workers = workers
        self.say = say
        self.libraries: list[str] = []

    def of(self, requirements: Iterable[Requirement]) -> dict[str, dict[str, Any]]:
        """Return the trace of each test that the requirements name."""
        tests: dict[str, dict[str, None]] = {}
        for one in requirements:
            tests.setdefault(one.file, {})[one.test] = None
        found = {file: self._recall(file, list(named)) for file, named in tests.items()}
        missing = [file for file, traced in found.items() if traced is None]
        if missing:
            self._load(missing)
            progress = Progress("test files traced", len(missing), self.say)
            run_tasks([self._trace(file, list(tests[file]), found, progress) for file in missing], self.workers)
        names = {name: None for traced in found.values() for name in traced["libraries"]}
        self.libraries = list(names)
        return {test: one for traced in found.values() for test, one in traced["tests"].items()}

    def _recall(self, file: str, tests: list[str]) -> dict[str, Any] | None:
        known = self.state.get(file, f"{self.tree.test_hashes[file]} {TRACER}")
        return known if known is not None and known["tests"].keys() >= set(tests) else None

    def _load(self, files: list[str]) -> None:
        self.say("== loading the libraries")
        loaded: list[str] = []

        def task() -> Task:
            loaded.extend((yield Job(lambda folder: session.collect(self.tree, files, folder), 600)))

        run_tasks([task()], 1)
        load_libraries(loaded)
        gc.freeze()

    def _trace(self, file: str, tests: list[str], found: dict[str, Any], progress: Progress) -> Task:
        result = yield Job(lambda folder: session.trace(self.tree, tests, folder), 3600)
        if "tests" not in result:
            raise RuntimeError(f"{file} could not be traced: {result}")
        found[file] = {
            "libraries": result["libraries"],
            "tests": {test: session.join_traces(test, result) for test in tests},
        }
        self.state.put(file, f"{self.tree.test_hashes[file]} {TRACER}", found[file])
        progress.step(file)


class Progress:
    """Lines about how far a run is and how long it will take."""

    def __init__(self, what: str, total: int, say: Callable[[str], None]) -> None:
        self.what = what
        self.total = total
        self.say = say
        self.done = 0
        self.start = time.monotonic()

    def step(self, about: str) -> None:
        """Count one more, and say so."""
        self.done += 1
        passed = time.monotonic() - self.start
        left = passed / self.done * (self.total - self.done)
        self.say(f"{self.done:4} of {self.total} {self.what}, about {left / 60:.0f} min left: {about}")
        sys.stdout.flush()
