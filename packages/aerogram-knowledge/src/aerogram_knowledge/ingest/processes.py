"""Processes: those on this machine that read files side by side.

Each worker has one parcel at a time, so whoever dies is known with what it held. Its parcel goes to the others and a
new worker takes its place. A worker whose parcel takes too long is ended, which is the same as dying. When the one who
leads them dies, the workers find nobody to report to, and end.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from multiprocessing import connection
from typing import Any, Final

from aerogram.digest.limits import ReadLimits
from aerogram.errors import Unavailable
from aerogram_knowledge.embedders import Embedder, embedder_of
from aerogram_knowledge.ingest.ingest import store_files
from aerogram_knowledge.ingest.preparation import FileBatch, Job, Preparer
from aerogram_knowledge.store import Store
from aerogram_knowledge.store.address import open_store

__all__ = ["ReaderProcesses", "WorkItem", "WorkerSettings", "plan_retry", "split_work", "tools", "work_through"]

MOST_FILES: Final = 64
MOST_BYTES: Final = 1024 * 1024
FATAL: Final = 5
"""So many workers may one file end before it is set aside; whoever kills workers at random rarely hits one so often."""


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker must know: how to read, and the URL of the store if it is one that workers write to themselves."""

    embedder: str | Embedder | None = None
    limits: ReadLimits | None = None
    store: str | None = None


@dataclass
class WorkItem:
    """Some files, and how many workers have died over them."""

    jobs: Sequence[Job]
    deaths: int = 0


def split_work(jobs: Sequence[Job]) -> Iterator[WorkItem]:
    """The files in parcels of a size that is worth sending."""
    some: list[Job] = []
    size = 0
    for job in jobs:
        if some and (len(some) >= MOST_FILES or size + job.file.size > MOST_BYTES):
            yield WorkItem(some)
            some, size = [], 0
        some.append(job)
        size += job.file.size
    if some:
        yield WorkItem(some)


def plan_retry(parcel: WorkItem, reason: str) -> tuple[list[WorkItem], FileBatch | None]:
    """What is to be tried again, and the batch that sets a file aside when trying is over."""
    if len(parcel.jobs) > 1:
        return [WorkItem([job]) for job in parcel.jobs], None
    if parcel.deaths + 1 < FATAL:
        return [WorkItem(parcel.jobs, parcel.deaths + 1)], None
    aside = FileBatch(files=1, bytes=parcel.jobs[0].file.size)
    aside.set_aside(parcel.jobs[0], f"reading it ended {FATAL} worker processes, the last one {reason}")
    return [], aside


def work_through(recipe: bytes, jobs: Sequence[Job]) -> list[FileBatch]:
    """Read the files of a parcel by a pickled recipe, and store them if the recipe says where."""
    preparer, store = tools(recipe)
    done = []
    for batch in preparer.batches(jobs):
        if store is not None:
            store_files(store, batch)
        done.append(batch if store is None else batch.summary())
    return done


@lru_cache(maxsize=2)
def tools(recipe: bytes) -> tuple[Preparer, Store | None]:
    """A worker's own tools, made once: a model takes longer to load than a parcel to read."""
    said: WorkerSettings = pickle.loads(recipe)  # noqa: S301  # made by whoever started this worker
    embedder = embedder_of(said.embedder)
    store = open_store(said.store, embedder.dimensions) if said.store else None
    return Preparer(embedder, limits=said.limits), store


SECONDS_PER_FILE: Final = 300.0
STARTING: Final = 120.0
"""Seconds that a worker may take to read one file, and to begin."""
LONGEST_WAIT: Final = 60.0
MOST_STILLBORN: Final = 100
READY: Final = "ready"


class ReaderProcesses:
    """So many processes that read by a recipe."""

    def __init__(self, recipe: WorkerSettings, workers: int) -> None:
        self._recipe = pickle.dumps(recipe)
        self._workers = workers
        # a process that has imported everything gives birth to the workers, so that a new one starts in a moment
        self._context: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
        if sys.platform != "win32":
            self._context.set_forkserver_preload(["aerogram_knowledge.ingest.processes"])

    def __call__(self, jobs: Sequence[Job]) -> Iterator[FileBatch]:
        """The batches of some files, as workers finish them."""
        waiting = deque(split_work(jobs))
        workers: list[_Worker] = []
        stillborn = 0
        try:
            while waiting or any(one.parcel for one in workers):
                missing = min(self._workers, len(waiting) + sum(one.parcel is not None for one in workers)) - len(
                    workers
                )
                workers += [self._start() for _ in range(missing)]
                for one in _wait_for_due(workers):
                    yield from _collect(one, waiting)
                    stillborn = stillborn + 1 if one.has_ended and one.parcel is None else 0
                if stillborn > MOST_STILLBORN:
                    raise Unavailable("Worker processes end as soon as they start", remediation="Read with one worker")
                workers = [one for one in workers if not one.has_ended]
                for one in workers:
                    if one.is_idle and waiting:
                        one.give(waiting.popleft())
        finally:
            for one in workers:
                one.end()

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._recipe), name="aerogram-reader", daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)


@dataclass
class _Worker:
    """One process, the parcel that it has, and until when it may keep it."""

    process: Any
    pipe: Any
    parcel: WorkItem | None = None
    is_idle: bool = False
    until: float = field(default_factory=lambda: time.monotonic() + STARTING)
    has_ended: bool = False

    def give(self, parcel: WorkItem) -> None:
        self.parcel, self.is_idle = parcel, False
        self.until = time.monotonic() + SECONDS_PER_FILE * len(parcel.jobs)
        with contextlib.suppress(OSError):  # one that has just died is heard of at the next turn
            self.pipe.send(parcel.jobs)

    def rest(self) -> None:
        self.parcel, self.is_idle, self.until = None, True, math.inf

    def hear(self) -> Any:
        """What it has to say; one that took too long is ended."""
        if self.pipe.poll():
            return self.pipe.recv()
        if time.monotonic() > self.until:
            raise EOFError("after it took too long")
        raise EOFError

    def end(self) -> None:
        self.has_ended = True
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _wait_for_due(workers: Sequence[_Worker]) -> list[_Worker]:
    """The workers that have something to say, have died, or take too long; waits until there is one."""
    while True:
        left = max(0.0, min(LONGEST_WAIT, min(one.until for one in workers) - time.monotonic()))
        heard = connection.wait([thing for one in workers for thing in (one.pipe, one.process.sentinel)], left)
        now = time.monotonic()
        due = [one for one in workers if one.pipe in heard or one.process.sentinel in heard or now > one.until]
        if due:
            return due


def _collect(one: _Worker, waiting: deque[WorkItem]) -> Iterator[FileBatch]:
    """What a worker has finished, or what its death means for the parcel that it had."""
    try:
        said = one.hear()
    except (EOFError, OSError) as error:
        one.end()
        yield from _retry_work(one, waiting, str(error))
        return
    if isinstance(said, BaseException):
        raise said
    one.rest()
    # an empty batch says that a reader is ready
    yield from [FileBatch()] if said == READY else said


def _retry_work(one: _Worker, waiting: deque[WorkItem], reason: str) -> Iterator[FileBatch]:
    """Give the parcel of a dead worker to others, or set its file aside."""
    if one.parcel is None:
        return
    code = one.process.exitcode or 0
    how = reason or (f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}")
    again, aside = plan_retry(one.parcel, how)
    waiting.extendleft(again)
    if aside is not None:
        yield aside


def _work(pipe: Any, recipe: bytes) -> None:
    """The life of a worker: it reads parcels until nobody gives it any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever leads them hears it too, and ends everyone
    with contextlib.suppress(EOFError, OSError):
        pipe.send(_try(lambda: tools(recipe) and READY))
        while True:
            pipe.send(_try(partial(work_through, recipe, pipe.recv())))


def _try(work: Callable[[], Any]) -> Any:
    """What some work gives, or why it could not be done: whoever leads them decides."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001  # it is raised there
        return error if _survives_pickling(error) else Unavailable(f"{type(error).__name__}: {error}")


def _survives_pickling(error: Exception) -> bool:
    """Whether an error is the same in another process."""
    try:
        return isinstance(pickle.loads(pickle.dumps(error)), type(error))  # noqa: S301  # it was packed here
    except Exception:  # noqa: BLE001  # whatever stands in the way of it
        return False
