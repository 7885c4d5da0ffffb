"""Roots: the folders that an index reads, what of them it was told to read, and what it calls their files.

    label    what the names of a root's files begin with: nothing for the first one, its own name for others
    named    the files of a root that were named one by one; no other one of that folder is read
    unread   what below the roots cannot be listed as a file to read, and why

No two files have the same name: a root gets another label where its own name is taken, and a folder that comes to be
called as another root is waits until that one has another label.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, Self

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import Conflict
from aerogram.state import expand_home
from aerogram_knowledge.store import Store

__all__ = ["RENAME", "TAKEN", "Roots", "absolute"]

TAKEN: Final = "another folder of the index is called so"
RENAME: Final = "Take that one out with `aerogram index forget PATH` and ingest it again: it gets another name"
_ROOTS: Final = "roots"
_NAMED: Final = "named"
_UNREAD: Final = "unread"
MOST_UNREAD: Final = 1_000
"""So many of what cannot be read are remembered; a folder may be full of links that lead out of it."""


def absolute(path: str | os.PathLike[str]) -> Path:
    """A path as an index knows it; what it leads to may be gone, and so may whose home it names."""
    with contextlib.suppress(ValueError):
        path = expand_home(path)
    return Path(os.path.realpath(path))  # which takes links that lead to themselves, where `resolve` raises


class Roots(dict[str, Path]):
    """Folders by label."""

    def __init__(
        self,
        roots: Mapping[str, Path],
        named: Mapping[str, Iterable[str]] | None = None,
        unread: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(roots)
        self.unread = dict(unread or {})
        self.named = {label: set(files) for label, files in (named or {}).items() if label in roots}

    @classmethod
    def of(cls, store: Store) -> Self:
        """The roots that a store remembers."""
        return cls.read(store.meta())

    @classmethod
    def read(cls, meta: Mapping[str, str]) -> Self:
        """The roots in what a store remembers of itself."""
        said = {label: Path(path) for label, path in loads(meta.get(_ROOTS, "{}")).items()}
        return cls(said, loads(meta.get(_NAMED, "{}")), loads(meta.get(_UNREAD, "{}")))

    def keep(self, store: Store) -> None:
        """Have a store remember these roots."""
        store.set_meta(**self.as_json())

    def as_json(self) -> dict[str, str]:
        """What a store remembers of them."""
        said = {label: str(path) for label, path in self.items()}
        named = {label: sorted(files) for label, files in self.named.items()}
        kept = {_ROOTS: said, _NAMED: named, _UNREAD: self.unread}
        return {name: dumps(value).decode() for name, value in kept.items()}

    def without(self, labels: Collection[str], files: Collection[str] = ()) -> Roots:
        """The other roots, and without some of the files that were named."""
        named = {label: found.difference(files) for label, found in self.named.items()}
        unread = {file: why for file, why in self.unread.items() if not any(self.is_below(file, one) for one in labels)}
        return Roots({label: root for label, root in self.items() if label not in labels}, named, unread)

    def with_unread(self, found: Mapping[str, str], label: str, file: str | None) -> Roots:
        """The roots with what could not be read of one, or of one `file` of it, when it was last looked at."""
        kept = {
            name: why
            for name, why in self.unread.items()
            if (name != file if file is not None else not self.is_below(name, label))
        }
        return Roots(self, self.named, dict(sorted((kept | dict(found)).items())[:MOST_UNREAD]))

    def add(self, folder: Path, file: str | None, known: Collection[str]) -> str:
        """Take in a folder, or one `file` of it; gives the label. `known` are the names that files have already.

        What is below a folder that is read as a whole is a part of that one.
        """
        label = self._label_of(folder)
        if label is None:
            label = self._free_label(folder, known)
            self[label] = folder
            self.named[label] = set()
        if file is None:
            self.named.pop(label, None)
        elif label in self.named:
            self.named[label].add(f"{label}/{file}" if label else file)
        return label

    def _label_of(self, folder: Path) -> str | None:
        for label, root in self.items():
            if root == folder:
                return label
        for label, root in self.items():
            if label not in self.named and folder.is_relative_to(root):
                inside = folder.relative_to(root).as_posix()
                if self.is_taken(label, inside):
                    raise Conflict(f"{folder} is not read: {TAKEN}", remediation=RENAME)
                return self.name_file(label, inside)
        return None

    def _free_label(self, folder: Path, known: Collection[str]) -> str:
        """A label that no other root has, and no folder of the first one."""
        label = folder.name if self else ""
        while self and (label in self or self._is_used(label, folder, known)):
            label += "'"
        return label

    def _is_used(self, label: str, folder: Path, known: Collection[str]) -> bool:
        """Whether files that are not in the folder begin with the label, or will when their root is read."""
        place = self.get("", folder) / label
        is_there = "" in self and "" not in self.named and place.exists()
        return place != folder and (is_there or any(name.startswith(f"{label}/") for name in known))

    @staticmethod
    def name_file(label: str, relative: str) -> str:
        """What a file of a root is called, or a folder, by its place below the root."""
        return f"{label}/{relative}" if label else relative

    def is_below(self, file: str, label: str) -> bool:
        """Whether a file is of the root with this label, or of the part of one, and not of another root."""
        if label:
            return file.startswith(f"{label}/")
        return not any(other and file.startswith(f"{other}/") for other in self)

    def is_taken(self, label: str, relative: str) -> bool:
        """Whether the names of what stands at a place below a root are those of another root's files."""
        first = relative.partition("/")[0]
        return not label and first in self and self[first] != self[label] / first

    @classmethod
    def find_strays(cls, meta: Mapping[str, str], files: Iterable[str]) -> list[str]:
        """The files that no root has, where the index remembers its roots: whoever took theirs out was cut off."""
        roots = cls.read(meta)
        return sorted(file for file in files if roots.place(file) is None) if _ROOTS in meta else []

    def place(self, file: str) -> tuple[str, Path] | None:
        """The label of the root that a file of the index is below, and where that file is or was."""
        # by label, backwards: the root without one, which takes every name, is last
        for label in sorted(self, reverse=True):
            if not label or file.startswith(f"{label}/"):
                return label, self[label] / file.removeprefix(f"{label}/" if label else "")
        return None
