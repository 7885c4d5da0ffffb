"""Ingest: a folder into a store.

    list ──▶ what changed? ──▶ read, cut, embed ──▶ store, a batch at a time
      │                            │
      │                            └── here, in processes of its own, or in a cluster
      └──▶ what is gone? ──▶ forget

A batch is stored wholly or not at all, and a file that could not be read, or that the store does not take, is told and
does not stop the others; so being killed at any point leaves a usable index, and the next run goes on where this one
ended.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from aerogram.errors import Unavailable
from aerogram_knowledge.documents.document import File
from aerogram_knowledge.ingest.folder import FolderListing, list_files
from aerogram_knowledge.ingest.preparation import READER, FileBatch, Job
from aerogram_knowledge.roots import Roots
from aerogram_knowledge.store import FileState, Store

__all__ = ["PATIENCE", "Hands", "IngestResult", "Ingester", "Progress", "store_batch", "store_files"]

PATIENCE: Final = 60.0
"""Seconds for which a store behind a network that says when to come back is asked again."""

Progress = Callable[[int, int, float], None]
"""Called with how many files are done, how many there are, and the share of their bytes that is done."""

Hands = Callable[[Sequence[Job]], Iterator[FileBatch]]
"""Whoever reads files: `Preparer.batches` does it here, a `ReaderProcesses` and a `Cluster` elsewhere."""


NAMED_ALONE: Final = 3
"""So many files of which the same is to be told are told one by one; of more, the first is named."""


@dataclass
class IngestResult:
    """What a run did; `problems` says for each file why it could not be read, `notes` what of it could not.

    `passed` counts the files of kinds that are not read, by the endings of their names; `unlisted` are the problems of
    what cannot be told from others by its content, such as a link that leads out of the folder.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    unlisted: dict[str, str] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def files(self) -> int:
        """How many files were read."""
        return self.added + self.changed

    @property
    def has_changed(self) -> bool:
        """Whether the index is another one than before."""
        return bool(self.files or self.removed)

    @property
    def told(self) -> dict[str, str]:
        """What is to be told of files: why one could not be read, or what of it could not."""
        return self.notes | self.problems

    def lines(self, heard: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """What is to be told and was not heard before; of many files of which the same is to be told, in one line."""
        files: dict[str, list[str]] = {}
        for path, words in sorted(self.told.items()):
            if heard.get(path) != words:
                files.setdefault(words, []).append(path)
        lines = []
        for words, paths in files.items():
            if len(paths) > NAMED_ALONE:
                lines.append(f"{paths[0]} and {len(paths) - 1} other files: {words}")
            else:
                lines += [f"{path}: {words}" for path in paths]
        return sorted(lines)

    def count(self, batch: FileBatch) -> None:
        """Add what a batch has done."""
        for name in ("added", "changed", "unchanged", "chunks"):
            setattr(self, name, getattr(self, name) + getattr(batch, name))
        self.problems |= batch.problems
        self.notes |= batch.notes


class Ingester:
    """Brings a store up to date with roots; the folder `without` is left out, because it is the index's own."""

    def __init__(self, store: Store, hands: Hands, *, without: Path | None = None, patience: float = 0.0) -> None:
        self.store = store
        self.patience = patience
        self.hands = hands
        self.without = without

    def run(
        self, root: Path, label: str = "", progress: Progress | None = None, *, roots: Roots | None = None
    ) -> IngestResult:
        """Bring the store up to date with a file, or with what is below a root; `roots` are all that there are."""
        started = time.perf_counter()
        roots = Roots({label: root}) if roots is None else roots
        listing = list_files(root, label, self.without, roots)
        known = self.store.files()
        pending = [file for file in listing.files.values() if _has_changed(file, known.get(file.path))]
        same = _unchanged_files(listing, known, pending)
        done = IngestResult(
            unchanged=sum(one.problem is None for one in same), passed=listing.passed, unlisted=listing.problems
        )
        done.problems = listing.problems | {one.path: one.problem for one in same if one.problem}
        done.notes = {one.path: one.note for one in same if one.note}
        finished, done_bytes, bytes_ = 0, 0, sum(file.size for file in pending) or 1
        if progress is not None and pending:
            progress(0, len(pending), 0.0)
        folder = (root if root.is_dir() else root.parent).resolve()
        jobs = [Job(_place(root, label, file), folder, file, known.get(file.path)) for file in pending]
        for batch in self.hands(jobs):
            store_files(self.store, batch, self.patience)
            done.count(batch)
            finished += batch.files
            done_bytes += batch.bytes
            if progress is not None:
                progress(finished, len(pending), done_bytes / bytes_)
        if root.is_dir():
            self._forget(listing, [path for path in known if roots.is_below(path, label)], done)
        done.seconds = time.perf_counter() - started
        return done

    def _forget(self, listing: FolderListing, ours: Sequence[str], done: IngestResult) -> None:
        """Forget the files of this root that are no longer there."""
        gone = [path for path in ours if path not in listing.files and not listing.hides(path)]
        if gone:
            self.store.remove(gone)
        done.removed = len(gone)


def store_batch(store: Store, batch: FileBatch, patience: float = PATIENCE) -> None:
    """Store a batch; a store that says when to come back is asked again, because storing twice is the same as once."""
    until = time.monotonic() + patience
    while True:
        try:
            if batch.touched:
                store.touch(batch.touched)
            if batch.states:
                store.put(batch.states, batch.entries, batch.graphs)
        except Unavailable as error:
            if error.retry_after is None or time.monotonic() + error.retry_after > until:
                raise
            time.sleep(error.retry_after)
        else:
            return


def store_files(store: Store, batch: FileBatch, patience: float = PATIENCE) -> None:
    """Store a batch; a file that the store does not take is set aside with its reason, as one that cannot be read."""
    for part, error in _refused(store, batch, patience):
        (state,) = part.states
        is_new = state.path not in store.files()
        reason = f"the index does not take it: {getattr(error, 'message', error)}"
        try:
            store_batch(store, FileBatch([replace(state, checksum="", problem=reason, note=None)]), patience)
        except Exception:  # noqa: BLE001 - then it is not about the file
            raise error from None
        batch.give_up(state, reason, sum(len(one.chunks) for one in part.entries), is_new=is_new)


def _refused(store: Store, batch: FileBatch, patience: float) -> Iterator[tuple[FileBatch, Exception]]:
    """Store a batch, in halves where it is refused, down to the files that the store takes none of."""
    try:
        store_batch(store, batch, patience)
    except Unavailable:
        raise
    except Exception as error:
        if not batch.states:
            raise
        if len(batch.states) == 1:
            yield batch, error
            return
        for half in batch.halves():
            yield from _refused(store, half, patience)


def _place(root: Path, label: str, file: File) -> Path:
    return root if root.is_file() else root / file.path.removeprefix(f"{label}/" if label else "")


def _has_changed(file: File, before: FileState | None) -> bool:
    now = (file.size, file.changed_ns, READER)
    return before is None or (before.size, before.changed_ns, before.reader) != now


def _unchanged_files(
    listing: FolderListing, known: Mapping[str, FileState], pending: Sequence[File]
) -> list[FileState]:
    """The files that have not changed since they were read."""
    again = {file.path for file in pending}
    return [known[path] for path in listing.files if path in known and path not in again]
