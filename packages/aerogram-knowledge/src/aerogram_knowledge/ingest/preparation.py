"""Preparation: files into what a store takes. Read, cut, terms, vectors; nothing is stored here.

A file that cannot be read is set aside with its reason and does not stop the others. What comes out is a batch that a
store takes in one step; it can be sent from one process to another.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.reader import ReaderFailed
from aerogram.errors import AerogramError
from aerogram.tokens import Counter, best_counter
from aerogram_knowledge.contents import Contents, read_contents
from aerogram_knowledge.documents.chunks import MOST_TOKENS, Chunk, chunks_of
from aerogram_knowledge.documents.document import Document, File
from aerogram_knowledge.embedders import Embedder, vectors_of
from aerogram_knowledge.ingest.folder import ChangingFile, read_bytes
from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.store import DocumentEntry, FileState, Graph

__all__ = ["FileBatch", "Job", "Preparer"]

log = logging.getLogger("aerogram")

READER: Final = "5"
"""How files are read and cut. When that changes, so does this, and an index reads its files again, once."""
BATCH_CHUNKS: Final = 2_000
BATCH_BYTES: Final = 32 * 1024 * 1024


class Job(NamedTuple):
    """A file to read: where it lies, how it was found, and what was known of it."""

    path: Path
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

    @property
    def is_full(self) -> bool:
        """Whether it is time to store it."""
        return self.chunks >= BATCH_CHUNKS or self.bytes >= BATCH_BYTES

    def set_aside(self, job: Job, reason: str) -> None:
        """Remember why a file could not be read; it is read again when it changes."""
        file = job.file
        self.problems[file.path] = reason
        self.states.append(FileState(file.path, file.size, file.changed_ns, "", reason, reader=READER))

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
        for job, loading in _ahead(jobs, self._load):
            parts += self._read(job, loading, batch)
            if batch.is_full:
                yield self._finish(batch, parts)
                batch, parts = FileBatch(), []
        if batch.files:
            yield self._finish(batch, parts)

    def _load(self, job: Job) -> tuple[File, Contents | FileState]:
        """A file and what it holds, or what is known of it already."""
        file, before = read_bytes(job.path, job.file, self.limits.max_bytes), job.before
        known = (file.checksum, READER, None)
        if before is not None and (before.checksum, before.reader, before.problem) == known:
            return file, before
        return file, read_contents(file, self.limits)

    def _read(self, job: Job, loading: _Loading, batch: FileBatch) -> list[tuple[Document, list[Chunk]]]:
        """Put a file into the batch; its documents and their chunks."""
        batch.files += 1
        batch.bytes += job.file.size
        try:
            file, found = loading.outcome()
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
        note = "; ".join(note for document, _ in parts for note in document.notes) or None
        if note is not None:
            batch.notes[file.path] = note
        batch.states.append(FileState(file.path, file.size, file.changed_ns, file.checksum, None, note, READER))
        batch.chunks += sum(len(chunks) for _, chunks in parts)
        return parts

    def _finish(self, batch: FileBatch, parts: Sequence[tuple[Document, list[Chunk]]]) -> FileBatch:
        vectors = vectors_of(self.embedder, [chunks for _, chunks in parts])
        batch.entries = [_entry(*part, found) for part, found in zip(parts, vectors, strict=True)]
        return batch


class _Loading:
    """Something that is loaded in a thread of its own, which ends with the program, whatever it waits for."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._found: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="aerogram-ahead", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found = self._load()
        except BaseException as error:  # noqa: BLE001 - raised where it is wanted
            self._error = error

    def outcome(self) -> Any:
        """What was loaded, or the exception that was raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found


def _ahead(jobs: Iterable[Job], load: Callable[[Job], Any]) -> Iterator[tuple[Job, _Loading]]:
    """Each file, the next of which is read by a process of its own while one works on it."""
    last: tuple[Job, _Loading] | None = None
    for job in jobs:
        begun = (job, _Loading(partial(load, job)))
        if last is not None:
            yield last
        last = begun
    if last is not None:
        yield last


def _entry(document: Document, chunks: Sequence[Chunk], vectors: Sequence[bytes]) -> DocumentEntry:
    heads: dict[str, list[str]] = {}
    for chunk in chunks:
        if chunk.header not in heads:
            heads[chunk.header] = index_terms(chunk.header, document.language)
    terms = [index_terms(chunk.text, document.language) for chunk in chunks]
    return DocumentEntry(document, chunks, terms, [heads[chunk.header] for chunk in chunks], vectors)
