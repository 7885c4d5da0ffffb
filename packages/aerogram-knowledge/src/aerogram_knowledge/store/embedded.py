"""The embedded store: everything under one folder, no server to start.

    rows.sqlite     the truth: every change is one transaction with a generation
    keywords/       derived: tantivy, stamped with the generation that it has seen
    (memory)        derived: the matrix of vectors

Whoever finds that something derived is behind brings it up to date, from the rows. A search works on a snapshot of
both, so that it never sees half of a change.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerogram.content.jsontext import dumps
from aerogram.digest.text import CanonicalText
from aerogram.errors import AerogramError, Unavailable
from aerogram.state import file_lock, private_directory
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import QueryTerm, index_terms
from aerogram_knowledge.store import (
    Candidates,
    DocumentEntry,
    FileState,
    Graph,
    Identity,
    MetaChange,
    Moment,
    StoredChunk,
    StoreHealth,
)
from aerogram_knowledge.store.export import entry_of
from aerogram_knowledge.store.keywords import Keywords, Posting, View
from aerogram_knowledge.store.rows import SqliteRows
from aerogram_knowledge.store.vectors import Matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aerogram_knowledge.store import Ids, Numbers

try:
    import fcntl
except ImportError:  # Windows has no flock; there one process writes at a time by agreement
    fcntl = None  # type: ignore[assignment]

__all__ = ["EmbeddedStore"]

PUT_OFF: Final = 5.0
"""Seconds for which older keywords serve that could not be brought up to date, because the disk is full."""
FEW_SEGMENTS: Final = 2
"""With more, a search looks into each, and takes up to twice as long for its words."""
SAMPLE: Final = 4_096
"""How many of all values are looked at for a guess of where the largest begin."""


@dataclass(frozen=True)
class _Snapshot:
    """Both derived indexes at one moment: the generation of the matrix, and that which the words are stamped with."""

    generation: int
    stamp: int
    words: View
    matrix: Matrix
    languages: frozenset[str]
    rows: SqliteRows

    def is_still(self, generation: int, stamp: int) -> bool:
        """Whether rows and words are what they were when it was taken."""
        return (self.generation, self.stamp) == (generation, stamp) and self.words.is_sound

    @property
    def version(self) -> tuple[int, int]:
        """What tells it from others."""
        return self.generation, self.stamp

    def is_of(self, generation: int) -> bool:
        """Whether it is the present one of the rows; one that was found damaged is not, so that a new one is opened."""
        return self.is_still(generation, generation)

    def candidates(
        self, terms: Sequence[QueryTerm], vector: bytes | None, filters: Filters, by_words: int, by_meaning: int
    ) -> Candidates:
        """The best chunks by words and the best by meaning, each with both numbers."""
        import numpy as np

        matrix, scores = self.matrix, self.words.search(terms, filters, by_words)
        places, there = matrix.places(scores.ids)
        if not vector:
            ids, order = np.unique(scores.ids[there], return_index=True)
            return Candidates(ids, scores.words[there][order], np.zeros(len(ids), np.float32), *scores[2:])
        close = matrix.closeness(vector)
        wanted = close if filters.is_open else np.where(self._filter_mask(filters), close, 0)
        there &= scores.words > 0
        places = places[there]
        found = np.zeros(len(matrix.ids), np.bool_)
        found[places] = True
        found[_largest(wanted, by_meaning)] = True
        chosen = np.flatnonzero(found)
        words = np.zeros(len(chosen), np.float32)
        words[np.searchsorted(chosen, places)] = scores.words[there]
        return Candidates(matrix.ids[chosen], words, np.maximum(close[chosen], 0), *scores[2:])

    def rarities(self, forms: Sequence[str]) -> Sequence[float]:
        """What finding each of some terms is worth."""
        return self.words.rarities(forms)

    def _filter_mask(self, filters: Filters) -> NDArray[np.bool_]:
        import numpy as np

        return np.isin(self.matrix.documents, np.array(self.rows.documents(filters), np.int64))


class EmbeddedStore:
    """A store in a folder; several threads and several processes may use it at once."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        self.folder = private_directory(folder)
        self.dimensions = dimensions
        self._rows = SqliteRows(folder / "rows.sqlite")
        self._keywords = Keywords(folder / "keywords")
        self._refreshing = threading.Lock()
        self._snapshot: _Snapshot | None = None
        self._mend_at = 0.0
        self._stored = 0

    @property
    def generation(self) -> int:
        """A number that changes whenever the content does."""
        return self._rows.generation

    def meta(self) -> Mapping[str, str]:
        """What the index remembers about itself."""
        return self._rows.meta()

    def set_meta(self, **values: str) -> None:
        """Remember something."""
        self.change_meta(lambda _: values)

    def change_meta(self, change: MetaChange) -> None:
        """Remember what follows from what is remembered; a copy of it outlives rows that are damaged."""
        self._rows.change_meta(change)
        self._copy_meta()

    def _copy_meta(self) -> None:
        draft = self.folder / f"meta.{os.getpid()}.{threading.get_ident()}.tmp"
        draft.write_bytes(dumps(dict(self._rows.meta()), indent=True))
        draft.replace(self.folder / "meta.json")

    def get_shared(self, name: str) -> tuple[bytes, int] | None:
        """A document that all processes share, and its version."""
        return self._rows.get_shared(name)

    def set_shared(self, name: str, value: bytes, version: int) -> bool:
        """Write a shared document if it still has this version."""
        return self._rows.set_shared(name, value, version)

    def shared_names(self) -> Sequence[str]:
        """The names of the shared documents there are."""
        return self._rows.shared_names()

    def files(self) -> Mapping[str, FileState]:
        """Every file that was read."""
        return self._rows.files()

    def put(self, states: Sequence[FileState], entries: Sequence[DocumentEntry], graphs: Mapping[str, Graph]) -> None:
        """Replace everything that these files held."""
        with self._writing():
            stored = self._rows.put(states, entries, graphs)
            self._stored += sum(map(len, stored.ids))
            if self._keywords.generation == stored.generation - 1:
                self._keywords.apply(stored.gone, _postings(stored.ids, entries), stored.generation)
            else:
                self._catch_up()

    def touch(self, states: Sequence[FileState]) -> None:
        """Remember that these files were seen again."""
        self._rows.touch(states)

    def remove(self, paths: Sequence[str], change: MetaChange | None = None) -> None:
        """Forget files and everything they held, and change the meta in the same step."""
        with self._writing():
            self._rows.remove(paths, change)
            self._catch_up()
        if change is not None:
            self._copy_meta()

    def entries(self, files: Sequence[str]) -> tuple[list[DocumentEntry], dict[str, Graph]]:
        """What some files hold."""
        found, vectors = self._rows.document_rows(files)
        return [entry_of(rows, vectors, None) for rows in found], self._rows.graphs(files)

    def identities(self, after: int, limit: int) -> list[Identity]:
        """The ids that were ever given."""
        return self._rows.identities(after, limit)

    def reserve(self, identities: Sequence[Identity]) -> None:
        """Take over ids that another store has given."""
        self._rows.reserve(identities)

    def moment(self) -> Moment:
        """The index as it is now, which does not change while others write."""
        return self._current()

    def chunks(self, ids: Iterable[int]) -> list[StoredChunk]:
        """The chunks of these ids that exist."""
        return self._rows.chunks(list(ids))

    def chunks_of(self, path: str) -> list[StoredChunk]:
        """The chunks of one document in order."""
        return self._rows.chunks_of(path)

    def source(self, path: str) -> CanonicalText | None:  # noqa: ARG002  # the protocol names it
        """Nothing: documents are read where they lie."""
        return None

    def similar(self, ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Near-duplicates of each of these chunks."""
        return self._rows.similar(ids)

    def copies(self) -> Sequence[tuple[int, int]]:
        """Pairs of chunks that have the same words, which connect all that do."""
        return self._rows.copies()

    def paths(self, filters: Filters) -> list[str]:
        """The documents that pass these filters and can be read."""
        return self._rows.paths(filters)

    def count(self, filters: Filters) -> int:
        """How many chunks pass these filters."""
        return self._rows.count(filters)

    def values(self, name: str, filters: Filters | None = None) -> Mapping[str, int]:
        """The values there are, each with its number of documents."""
        return self._rows.values(name, filters)

    def names_under(self, licenses: Sequence[str]) -> frozenset[str]:
        """The documents under these licences, and their files."""
        return self._rows.names_under(licenses)

    def graph(self) -> Graph:
        """Everything that is known about who is who."""
        return self._rows.graph()

    def texts(self) -> Iterator[tuple[int, str]]:
        """The id and the text of every chunk."""
        return self._rows.texts()

    def mentions(self, filters: Filters | None = None) -> Mapping[str, Sequence[tuple[int, int]]]:
        """For each entity, the chunks that name it."""
        return self._rows.mentions(filters)

    def set_mentions(self, found: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Replace what is known about who is named where."""
        with self._writing():
            self._rows.set_mentions(found)
            self._catch_up()

    def ping(self) -> Mapping[str, Any]:
        """Whether the rows can be read, and how fast."""
        started = time.perf_counter()
        generation, chunks = self.generation, self.count(Filters())
        seconds = round(time.perf_counter() - started, 4)
        engine = f"SQLite {sqlite3.sqlite_version}"
        return {"engine": engine, "generation": generation, "chunks": chunks, "seconds": seconds}

    def settle(self) -> None:
        """Write the keywords once more as a whole, if most of them have just been written in many steps."""
        stored, self._stored = self._stored, 0
        if 2 * stored < self.count(Filters()):
            return
        with contextlib.suppress(Unavailable), self._writing():  # a full disk: they are as good as before
            generation = self._rows.generation
            if self._keywords.generation == generation and self._keywords.view().segments > FEW_SEGMENTS:
                self._keywords.replace(map(_posting, self._rows.bodies()), generation)

    def check(self) -> StoreHealth:
        """Whether rows and keywords are sound and tell the same story."""
        try:
            problems = [f"the rows are damaged: {one}" for one in self._rows.damage()]
            facts: dict[str, Any] = dict(self._rows.facts())
            words = self._current().words
        except AerogramError as error:
            return StoreHealth((str(error),), {"bytes": self._bytes()})
        if words.chunks != facts["chunks"]:
            problems.append(f"the keyword index has {words.chunks} chunks and the rows {facts['chunks']}")
        if facts["vectors"] != facts["chunks"]:
            problems.append(f"{facts['chunks'] - facts['vectors']} chunks have no vector")
        facts |= {"generation": self.generation, "bytes": self._bytes(), "segments": words.segments}
        return StoreHealth(tuple(problems), facts)

    def rebuild(self) -> None:
        """Make the keyword index and the matrix again, from the rows."""
        with file_lock(self.folder / "write.lock"):
            self._keywords.clear()
            self._catch_up()
            self._keywords.release()
        with self._refreshing:
            self._snapshot = None

    def close(self) -> None:
        """Let go of the files."""
        self._keywords.release()
        self._rows.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with file_lock(self.folder / "write.lock"):
            self._open_keywords()
            try:
                yield
            finally:
                self._keywords.release()

    def _open_keywords(self) -> None:
        """Have keywords that can be written: those of these rows, or none; the write lock is held."""
        if not self._rows.has_been(self._keywords.generation):
            self._keywords.clear()
        else:
            self._keywords.open()

    def _catch_up(self) -> None:
        """Apply what the keyword index has not seen; the write lock is held."""
        changes = self._rows.changes(self._keywords.generation)
        postings = [_posting(row) for row in changes.added]
        self._keywords.apply(changes.removed, postings, changes.generation)

    def _current(self) -> _Snapshot:
        """A snapshot of the present generation."""
        generation, now = self._rows.generation, self._snapshot
        if now is not None and now.is_of(generation):
            return now
        with self._refreshing:
            return self._refresh()

    def _refresh(self) -> _Snapshot:
        generation, stamp, now = self._rows.generation, self._keywords.generation, self._snapshot
        is_put_off = time.monotonic() < self._mend_at and stamp >= 0
        if now is not None and (now.is_of(generation) or (is_put_off and now.is_still(generation, stamp))):
            return now
        if stamp != generation and not is_put_off:
            with _unless_locked(self.folder / "write.lock") as free:
                # whoever holds the lock is about to do this; until then the older keywords are good enough
                if free or stamp < 0:
                    with contextlib.nullcontext() if free else file_lock(self.folder / "write.lock"):
                        self._mend()
        if not self._keywords.is_open or (now is not None and not now.words.is_sound):
            self._keywords.open()
        stamp = self._keywords.generation
        matrix, generation = self._matrix(now)
        languages = frozenset(self._rows.values("language"))
        self._snapshot = _Snapshot(generation, stamp, self._keywords.view(), matrix, languages, self._rows)
        return self._snapshot

    def _mend(self) -> None:
        self._open_keywords()
        try:
            if self._keywords.generation != self._rows.generation:
                self._catch_up()
        except Unavailable:
            if self._keywords.generation < 0:
                raise
            self._mend_at = time.monotonic() + PUT_OFF  # the older keywords are good enough until the disk has room
        self._keywords.release()

    def _matrix(self, now: _Snapshot | None) -> tuple[Matrix, int]:
        """The matrix of the present rows, mended from the last one if there is one."""
        found = self._rows.vectors(now.generation if now is not None else -1)
        ids, documents, vectors = zip(*found.rows, strict=True) if found.rows else ((), (), ())
        newer = Matrix.of(ids, documents, vectors, self.dimensions)
        if now is None or found.is_whole:
            return newer, found.generation
        is_other = found.removed or found.rows
        return (now.matrix.with_changes(found.removed, newer) if is_other else now.matrix), found.generation

    def _bytes(self) -> int:
        return sum(one.stat().st_size for one in self.folder.rglob("*") if one.is_file())


def _largest(values: Numbers, count: int) -> Ids:
    """The places of the largest values above nothing; looking above a good guess first saves most of the work."""
    import numpy as np

    places = np.flatnonzero(values > _guess(values, count))
    if len(places) < count:
        places = np.flatnonzero(values > 0)
    if len(places) <= count:
        return places
    found = values[places]
    least = np.partition(found, len(found) - count)[len(found) - count]
    above, equal = places[found > least], places[found == least]
    # among equals those with the lower ids, so that the same chunks are chosen however the guess was
    return np.concatenate([above, equal[: count - len(above)]])


def _guess(values: Numbers, count: int) -> float:
    """A number that half as many again as the largest are probably above, judged by a sample."""
    import numpy as np

    sample = values[:: max(1, len(values) // SAMPLE)]
    above = count * len(sample) * 3 // (len(values) * 2) + 1 if len(values) else 0
    return max(0.0, float(np.partition(sample, -above)[-above])) if 0 < above < len(sample) else 0.0


def _postings(ids: Sequence[Sequence[int]], entries: Sequence[DocumentEntry]) -> Iterator[Posting]:
    for numbers, entry in zip(ids, entries, strict=True):
        about = entry.document
        for one, terms, head in zip(numbers, entry.terms, entry.head_terms, strict=True):
            yield Posting(one, [*terms, *head], about.path, about.file, about.category, about.license, about.dated)


def _posting(row: tuple[Any, ...]) -> Posting:
    one, text, header, language, *about = row
    return Posting(one, index_terms(text, language) + index_terms(header, language), *about)


@contextlib.contextmanager
def _unless_locked(path: Path) -> Iterator[bool]:
    """Take the lock if nobody has it; whether it was taken."""
    with path.open("a+b") as file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
