"""Ingest: a folder into a store.

    list ──▶ what changed? ──▶ read, cut, embed ──▶ store, a batch at a time
      │
      └──▶ what is gone? ──▶ forget

A batch is stored wholly or not at all, and a file that could not be read is told and does not stop the others; so
being killed at any point leaves a usable index, and the next run goes on where this one ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aerogram.digest.limits import Limits, UnreadableSource
from aerogram.knowledge.chunks import MOST_TOKENS, Chunk, chunks_of
from aerogram.knowledge.documents import Document, File, read_file
from aerogram.knowledge.embed import Embedder
from aerogram.knowledge.folder import Changing, Listing, list_files, read_bytes
from aerogram.knowledge.graph import SUFFIXES as GRAPHS
from aerogram.knowledge.graph import graph_of_documents, graph_of_file
from aerogram.knowledge.lexicon import index_terms
from aerogram.knowledge.meaning import vectors_of
from aerogram.knowledge.store import Entry, FileState, Graph, Store
from aerogram.tokens import Counter, best_counter

__all__ = ["Ingested", "Ingester", "Progress"]

BATCH_CHUNKS: Final = 2_000
BATCH_BYTES: Final = 32 * 1024 * 1024

Progress = Callable[[int, int], None]
"""Called with how many files are done, and how many there are."""


@dataclass
class Ingested:
    """What a run did; `problems` says for each file why it could not be read."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def files(self) -> int:
        """How many files were read."""
        return self.added + self.changed

    @property
    def has_changed(self) -> bool:
        """Whether the index is another one than before."""
        return bool(self.files or self.removed)


@dataclass
class _Batch:
    """Files that are stored in one step."""

    states: list[FileState] = field(default_factory=list)
    touched: list[FileState] = field(default_factory=list)
    parts: list[tuple[Document, list[Chunk]]] = field(default_factory=list)
    graphs: dict[str, Graph] = field(default_factory=dict)
    chunks: int = 0
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        return self.chunks >= BATCH_CHUNKS or self.bytes >= BATCH_BYTES


class Ingester:
    """Reads roots into a store; the folder `without` is left out, because it is the index's own."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        most_tokens: int = MOST_TOKENS,
        limits: Limits | None = None,
        counter: Counter | None = None,
        without: Path | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.most_tokens = most_tokens
        self.limits = limits or Limits()
        self.counter = counter or best_counter()
        self.without = without

    def run(
        self, root: Path, label: str = "", progress: Progress | None = None, *, others: Sequence[str] = ()
    ) -> Ingested:
        """Bring the store up to date with what is below a root; `others` are the labels of other roots."""
        started = time.perf_counter()
        listing = list_files(root, label, self.without)
        known = self.store.files()
        done = Ingested(problems=dict(listing.problems))
        pending = [file for file in listing.files.values() if _has_changed(file, known.get(file.path))]
        done.unchanged = len(listing.files) - len(pending)
        done.problems |= _old_problems(listing, known, pending)
        paths = [
            root if root.is_file() else root / file.path.removeprefix(f"{label}/" if label else "") for file in pending
        ]
        batch = _Batch()
        for number, (path, file) in enumerate(zip(paths, pending, strict=True), 1):
            self._read(path, file, known.get(file.path), batch, done)
            if batch.is_full or number == len(pending):
                self._store(batch, done)
                batch = _Batch()
            if progress is not None:
                progress(number, len(pending))
        if root.is_dir():
            self._forget(listing, [path for path in known if _is_below(path, label, others)], done)
        done.seconds = time.perf_counter() - started
        return done

    def _read(self, path: Path, file: File, before: FileState | None, batch: _Batch, done: Ingested) -> None:
        """Put a file into the batch; one that cannot be read is remembered as it is, until it changes."""
        try:
            file = read_bytes(path, file, self.limits.max_bytes)
            if before is not None and before.checksum == file.checksum and before.problem is None:
                done.unchanged += 1
                batch.touched.append(FileState(file.path, file.size, file.changed_ns, file.checksum))
                return
            parts, graph = self._contents(file)
        except Changing as error:
            done.problems[file.path] = str(error)
            return
        except UnreadableSource as error:
            done.problems[file.path] = str(error)
            batch.states.append(FileState(file.path, file.size, file.changed_ns, "", str(error)))
            return
        if before is None:
            done.added += 1
        else:
            done.changed += 1
        if graph is not None:
            batch.graphs[file.path] = graph
        batch.states.append(FileState(file.path, file.size, file.changed_ns, file.checksum))
        batch.parts += parts
        batch.chunks += sum(len(chunks) for _, chunks in parts)
        batch.bytes += file.size

    def _contents(self, file: File) -> tuple[list[tuple[Document, list[Chunk]]], Graph | None]:
        if file.path.lower().endswith(GRAPHS):
            return [], graph_of_file(file)
        documents = read_file(file, self.limits)
        parts = [(document, chunks_of(document, self.counter, self.most_tokens)) for document in documents]
        graph = graph_of_documents(documents)
        return parts, graph if graph.entities or graph.relationships else None

    def _store(self, batch: _Batch, done: Ingested) -> None:
        vectors = vectors_of(self.embedder, [chunks for _, chunks in batch.parts])
        entries = [_entry(*part, found) for part, found in zip(batch.parts, vectors, strict=True)]
        if batch.touched:
            self.store.touch(batch.touched)
        if batch.states:
            self.store.put(batch.states, entries, batch.graphs)
        done.chunks += batch.chunks
        done.notes |= {document.path: "; ".join(document.notes) for document, _ in batch.parts if document.notes}

    def _forget(self, listing: Listing, ours: Sequence[str], done: Ingested) -> None:
        """Forget the files of this root that are no longer there."""
        gone = [path for path in ours if path not in listing.files and not listing.hides(path)]
        if gone:
            self.store.remove(gone)
        done.removed = len(gone)


def _is_below(path: str, label: str, others: Sequence[str]) -> bool:
    """Whether a path is of the root with this label, and not of a root with a longer one."""
    if label and not path.startswith(f"{label}/"):
        return False
    return not any(other and path.startswith(f"{other}/") for other in others)


def _has_changed(file: File, before: FileState | None) -> bool:
    return before is None or (before.size, before.changed_ns) != (file.size, file.changed_ns)


def _old_problems(listing: Listing, known: Mapping[str, FileState], pending: Sequence[File]) -> dict[str, str]:
    """Files that could not be read before and have not changed since."""
    again = {file.path for file in pending}
    states = [known[path] for path in listing.files if path in known and path not in again]
    return {state.path: state.problem for state in states if state.problem}


def _entry(document: Document, chunks: Sequence[Chunk], vectors: Sequence[bytes]) -> Entry:
    heads: dict[str, list[str]] = {}
    for chunk in chunks:
        if chunk.header not in heads:
            heads[chunk.header] = index_terms(chunk.header, document.language)
    terms = [index_terms(chunk.text, document.language) for chunk in chunks]
    return Entry(document, chunks, terms, [heads[chunk.header] for chunk in chunks], vectors)
