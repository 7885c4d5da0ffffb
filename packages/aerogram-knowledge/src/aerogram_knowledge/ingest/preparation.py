"""Preparation: files into what a store takes. Read, cut, terms, vectors; nothing is stored here.

A file that cannot be read is set aside with its reason and does not stop the others. What comes out is a batch that a
store takes in one step; it can be sent from one process to another.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.reader import ReaderFailed
from aerogram.errors import AerogramError
from aerogram.tokens import Counter, best_counter
from aerogram_knowledge.contents import Contents, read_contents
from aerogram_knowledge.documents.chunks import MOST_TOKENS, Chunk, chunks_of
from aerogram_knowledge.documents.document import Document, File
from aerogram_knowledge.documents.files import ChangingFile, read_bytes
from aerogram_knowledge.embedders import Embedder, vectors_of
from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.store import DocumentEntry, FileState, Graph

__all__ = ["FileBatch", "Job", "Preparer"]

log = logging.getLogger("aerogram")

READER: Final = "17"
"""How files are read and cut. When that changes, so does this, and an index reads its files again, once."""
BATCH_CHUNKS: Final = 2_000
BATCH_BYTES: Final = 32 * 1024 * 1024
FILES_AHEAD: Final = 64
BYTES_AHEAD: Final = 4 * 1024 * 1024
"""So much is read before it is worked on: one file takes long to read, the next one long to work on."""


class Job(NamedTuple):
    """A file to read: where it lies and below which folder, how it was found, and what was known of it."""

    path: Path
    root: Path
    file: File
    before: FileState | None


@dataclass
class FileBatch:
    """Files that are stored in one step, and what is to be told about them."""

    states: list[FileState] = field(default_factory=list)
    touched: list[FileState] = field(default_factory=list)
    entries: list[DocumentEntry] = field(default_factory=list)
    graphs: dict[str, Graph] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    files: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    chunks: int = 0
    bytes: int = 0
    weight: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to store it."""
        return self.chunks >= BATCH_CHUNKS or self.weight >= BATCH_BYTES

    def set_aside(self, job: Job, reason: str) -> None:
        """Remember why a file could not be read; it is read again when it changes."""
        file = job.file
        self.problems[file.path] = reason
        self.states.append(FileState(file.path, file.size, file.changed_ns, "", reason, reader=READER))

    def halves(self) -> Iterator[FileBatch]:
        """Two batches with what of half of the files is to be stored."""
        middle = len(self.states) // 2
        for states in (self.states[:middle], self.states[middle:]):
            paths = {one.path for one in states}
            entries = [one for one in self.entries if one.document.file in paths]
            yield FileBatch(states, [], entries, {path: self.graphs[path] for path in self.graphs if path in paths})

    def give_up(self, state: FileState, reason: str, chunks: int, *, is_new: bool) -> None:
        """Remember why a file could not be stored that has been counted."""
        self.problems[state.path] = reason
        self.notes.pop(state.path, None)
        self.added -= is_new
        self.changed -= not is_new
        self.chunks -= chunks

    def summary(self) -> FileBatch:
        """What is to be told about it, when it has been stored."""
        counts = (self.files, self.added, self.changed, self.unchanged, self.chunks, self.bytes)
        return FileBatch([], [], [], {}, self.problems, self.notes, *counts)


class Preparer:
    """Reads files into batches."""

    def __init__(
        self,
        embedder: Embedder,
        *,
        most_tokens: int = MOST_TOKENS,
        limits: ReadLimits | None = None,
        counter: Counter | None = None,
    ) -> None:
        self.embedder = embedder
        self.most_tokens = most_tokens
        self.limits = limits or ReadLimits()
        self.counter = counter or best_counter()

    def batches(self, jobs: Iterable[Job]) -> Iterator[FileBatch]:
        """The batches of some files, each as soon as it is full."""
        batch, parts = FileBatch(), []  # type: tuple[FileBatch, list[tuple[Document, list[Chunk]]]]
        for loaded in _Ahead(jobs, self._load):
            parts += self._read(loaded, batch)
            if batch.is_full:
                yield self._finish(batch, parts)
                batch, parts = FileBatch(), []
        if batch.files:
            yield self._finish(batch, parts)

    def _load(self, job: Job) -> tuple[File, Contents | FileState]:
        """A file and what it holds, or what is known of it already."""
        file, before = read_bytes(job.path, job.file, self.limits.max_bytes, root=job.root), job.before
        known = (file.checksum, READER, None)
        if before is not None and (before.checksum, before.reader, before.problem) == known:
            return file, before
        return file, read_contents(file, self.limits)

    def _read(self, loaded: _Loaded, batch: FileBatch) -> list[tuple[Document, list[Chunk]]]:
        """Put a file into the batch; its documents and their chunks."""
        job = loaded.job
        batch.files += 1
        batch.bytes += job.file.size
        batch.weight += loaded.weight
        try:
            file, found = loaded.outcome()
            if isinstance(found, FileState):
                batch.unchanged += 1
                if found.note is not None:
                    batch.notes[file.path] = found.note
                batch.touched.append(replace(found, size=file.size, changed_ns=file.changed_ns))
                return []
            documents, graph = found
            parts = [(document, chunks_of(document, self.counter, self.most_tokens)) for document in documents]
        except ChangingFile as error:
            batch.problems[job.file.path] = str(error)
            return []
        except UnreadableSource as error:
            batch.set_aside(job, str(error))
            return []
        except AerogramError:
            raise
        except Exception as error:  # what a reader did not foresee is a matter of this one file
            log.exception("reading %s failed", job.file.path)
            told = str(error) if isinstance(error, ReaderFailed) else f"{type(error).__name__}: {error}"
            batch.set_aside(job, f"reading it failed: {told}")
            return []
        batch.added += job.before is None
        batch.changed += job.before is not None
        if graph is not None:
            batch.graphs[file.path] = graph
        notes = [note for document, _ in parts for note in document.notes]
        if not any(chunks for _, chunks in parts) and file.content.strip():
            notes.append(_why_no_passages(graph))
        note = "; ".join(notes) or None
        if note is not None:
            batch.notes[file.path] = note
        batch.states.append(FileState(file.path, file.size, file.changed_ns, file.checksum, None, note, READER))
        batch.chunks += sum(len(chunks) for _, chunks in parts)
        return parts

    def _finish(self, batch: FileBatch, parts: Sequence[tuple[Document, list[Chunk]]]) -> FileBatch:
        vectors = vectors_of(self.embedder, [chunks for _, chunks in parts])
        batch.entries = [_entry(*part, found) for part, found in zip(parts, vectors, strict=True)]
        return batch


class _Loaded(NamedTuple):
    """A file that was loaded: what it holds, or the exception that was raised."""

    job: Job
    found: Any = None
    error: BaseException | None = None

    @property
    def weight(self) -> int:
        """About how many bytes it takes in memory: of what was packed, what was in it."""
        held = self.found[1].weight if self.found and isinstance(self.found[1], Contents) else 0
        return max(self.job.file.size, held)

    def outcome(self) -> Any:
        """What it holds; the exception is raised where it is wanted."""
        if self.error is not None:
            raise self.error
        return self.found


class _Ahead:
    """Files that are loaded one after the other while others are worked on, some of them ahead.

    They are loaded in a thread that ends with the program, whatever it waits for.
    """

    def __init__(self, jobs: Iterable[Job], load: Callable[[Job], Any]) -> None:
        self._jobs = jobs
        self._load = load
        self._waiting: deque[_Loaded] = deque()
        self._bytes = 0
        self._is_over = False
        self._change = threading.Condition()

    def __iter__(self) -> Iterator[_Loaded]:
        threading.Thread(target=self._run, name="aerogram-ahead", daemon=True).start()
        try:
            while (one := self._next()) is not None:
                yield one
        finally:
            with self._change:
                self._is_over = True
                self._change.notify_all()

    def _next(self) -> _Loaded | None:
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._is_over)
            if not self._waiting:
                return None
            one = self._waiting.popleft()
            self._bytes -= one.weight
            self._change.notify_all()
            return one

    def _run(self) -> None:
        for job in self._jobs:
            with self._change:
                self._change.wait_for(lambda: self._is_over or self._has_room)
                if self._is_over:
                    return
            try:
                one = _Loaded(job, self._load(job))
            except BaseException as error:  # noqa: BLE001 - raised where it is wanted
                one = _Loaded(job, error=error)
            with self._change:
                self._waiting.append(one)
                self._bytes += one.weight
                self._change.notify_all()
        with self._change:
            self._is_over = True
            self._change.notify_all()

    @property
    def _has_room(self) -> bool:
        return len(self._waiting) < FILES_AHEAD and self._bytes < BYTES_AHEAD


def _why_no_passages(graph: Graph | None) -> str:
    """Why nothing of a file is found by a search, although something is in it."""
    if graph is None:
        return "it gives no passages: it has no text"
    counts = f"entities: {len(graph.entities):,}, relationships: {len(graph.relationships):,}"
    return f"it gives no passages: all that it holds is a vendor graph ({counts})"


def _entry(document: Document, chunks: Sequence[Chunk], vectors: Sequence[bytes]) -> DocumentEntry:
    heads: dict[str, list[str]] = {}
    for chunk in chunks:
        if chunk.header not in heads:
            heads[chunk.header] = index_terms(chunk.header, document.language)
    terms = [index_terms(chunk.text, document.language) for chunk in chunks]
    return DocumentEntry(document, chunks, terms, [heads[chunk.header] for chunk in chunks], vectors)
