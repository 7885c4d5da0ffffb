"""Places: where the files of an index are, or were when they were read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from aerogram_knowledge.knowledge import Knowledge

__all__ = ["absolute", "knows", "others", "places"]


def absolute(path: str | os.PathLike[str]) -> Path:
    """A path as an index knows it; what it leads to may be gone."""
    return Path(path).expanduser().resolve()


def places(knowledge: Knowledge) -> dict[str, tuple[str, Path]]:
    """The files of an index by their names: the label of the root of each, and its place."""
    roots = knowledge.roots()
    return {name: place for name in knowledge.store.files() if (place := roots.place(name))}


def knows(knowledge: Knowledge, path: str | os.PathLike[str]) -> bool:
    """Whether an index has something from a path or from below it."""
    place = absolute(path)
    return place in knowledge.roots().values() or any(
        file.is_relative_to(place) for _, file in places(knowledge).values()
    )


def others(knowledge: Knowledge, paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The roots from which an index has files that are neither at these paths nor below them."""
    named = [absolute(one) for one in paths]
    labels = {label for label, file in places(knowledge).values() if not any(file.is_relative_to(one) for one in named)}
    return [root for label, root in knowledge.roots().items() if label in labels]
