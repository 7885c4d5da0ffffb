"""Removal: taking a folder or a file out of an index, whether it still exists or not.

A root goes with everything that was read below it. A part of a root goes alone, and comes back when that root is read
again and still has it; a root of which nothing is left goes too.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from aerogram.errors import NotFound, ValidationFailed
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.knowledge import Knowledge, places
from aerogram_knowledge.roots import Roots, absolute

__all__ = ["RemovalResult", "forget"]


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """What went; `root` is the folder that still has it, if there is one and the index goes on reading it."""

    documents: int
    chunks: int
    root: Path | None = None


def forget(knowledge: Knowledge, path: str | os.PathLike[str]) -> RemovalResult:
    """Take everything out of an index that was read at a path or below it; NotFound when that is nothing."""
    if not os.fspath(path):
        raise ValidationFailed("The path to forget is empty", remediation="Name a folder or a file; this folder is `.`")
    place = absolute(path)
    known = places(knowledge)
    gone = {name for name, (_, file) in known.items() if file.is_relative_to(place)}
    roots = knowledge.roots()
    if not gone and place not in roots.values():
        raise _not_found(path, roots.values())
    left = {label for name, (label, _) in known.items() if name not in gone}
    touched = {known[name][0] for name in gone}
    dropped = {label for label, root in roots.items() if root == place or (label in touched and label not in left)}
    documents, chunks = _remove(knowledge, gone, dropped)
    still = place.exists() and next((roots[label] for label in touched - dropped), None)
    return RemovalResult(documents, chunks, still or None)


def _remove(knowledge: Knowledge, files: Collection[str], labels: Collection[str]) -> tuple[int, int]:
    """Remove files, and the roots with these labels; how many documents and chunks there are less.

    In one step: what had no root any more would be found by nobody who is to take it out.
    """
    before = _size(knowledge)
    knowledge.store.remove(list(files), lambda meta: Roots.read(meta).without(labels, files).as_json())
    knowledge.settle()
    after = _size(knowledge)
    return before[0] - after[0], before[1] - after[1]


def _size(knowledge: Knowledge) -> tuple[int, int]:
    everything = Filters()
    return len(knowledge.store.paths(everything)), knowledge.store.count(everything)


def _not_found(path: str | os.PathLike[str], roots: Collection[Path]) -> NotFound:
    known = ", ".join(map(str, roots))
    return NotFound(
        f"The index has nothing from {os.fspath(path)}",
        remediation=f"It was made from {known}" if known else "It was made from no folder",
        details={"roots": [str(root) for root in roots]},
    )
