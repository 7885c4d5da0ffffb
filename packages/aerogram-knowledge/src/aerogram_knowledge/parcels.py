"""Parcels: files that another process reads, and what becomes of them when that process dies.

A worker that dies takes nothing with it: its parcel is given to others, its files one by one, so that the one that was
to blame can be told. A file that has ended several workers is set aside with that as its reason.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aerogram.digest.limits import Limits
from aerogram_knowledge.embed import Embedder, embedder_of
from aerogram_knowledge.ingest import store_batch
from aerogram_knowledge.prepare import Batch, Job, Preparer
from aerogram_knowledge.store import Store
from aerogram_knowledge.store.address import open_store

__all__ = ["Parcel", "Recipe", "after_death", "parcels_of", "tools", "work_through"]

MOST_FILES: Final = 64
MOST_BYTES: Final = 1024 * 1024
FATAL: Final = 5
"""So many workers may one file end before it is set aside; whoever kills workers at random rarely hits one so often."""


@dataclass(frozen=True)
class Recipe:
    """What a worker must know: how to read, and the URL of the store if it is one that workers write to themselves."""

    embedder: str | Embedder | None = None
    limits: Limits | None = None
    store: str | None = None


@dataclass
class Parcel:
    """Some files, and how many workers have died over them."""

    jobs: Sequence[Job]
    deaths: int = 0


def parcels_of(jobs: Sequence[Job]) -> Iterator[Parcel]:
    """The files in parcels of a size that is worth sending."""
    some: list[Job] = []
    size = 0
    for job in jobs:
        if some and (len(some) >= MOST_FILES or size + job.file.size > MOST_BYTES):
            yield Parcel(some)
            some, size = [], 0
        some.append(job)
        size += job.file.size
    if some:
        yield Parcel(some)


def after_death(parcel: Parcel, reason: str) -> tuple[list[Parcel], Batch | None]:
    """What is to be tried again, and the batch that sets a file aside when trying is over."""
    if len(parcel.jobs) > 1:
        return [Parcel([job]) for job in parcel.jobs], None
    if parcel.deaths + 1 < FATAL:
        return [Parcel(parcel.jobs, parcel.deaths + 1)], None
    aside = Batch(files=1)
    aside.set_aside(parcel.jobs[0], f"reading it ended {FATAL} worker processes, the last one {reason}")
    return [], aside


def work_through(recipe: bytes, jobs: Sequence[Job]) -> list[Batch]:
    """Read the files of a parcel by a pickled recipe, and store them if the recipe says where."""
    preparer, store = tools(recipe)
    done = []
    for batch in preparer.batches(jobs):
        if store is not None:
            store_batch(store, batch)
        done.append(batch if store is None else batch.told())
    return done


@lru_cache(maxsize=2)
def tools(recipe: bytes) -> tuple[Preparer, Store | None]:
    """A worker's own tools, made once: a model takes longer to load than a parcel to read."""
    said: Recipe = pickle.loads(recipe)  # noqa: S301  # made by whoever started this worker
    embedder = embedder_of(said.embedder)
    store = open_store(said.store, embedder.dimensions) if said.store else None
    return Preparer(embedder, limits=said.limits), store
