"""Roots: the folders that an index has read, by the label that the names of their files begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from aerogram.jsontext import dumps, loads
from aerogram_knowledge.store import Store

__all__ = ["Roots"]

_META = "roots"


class Roots(dict[str, Path]):
    """Folders by label; the first one has none, so that its files keep their own names."""

    @classmethod
    def of(cls, store: Store) -> Self:
        """The roots that a store remembers."""
        said: str = store.meta().get(_META, "{}")
        return cls({label: Path(path) for label, path in loads(said).items()})

    def keep(self, store: Store) -> None:
        """Have a store remember these roots."""
        store.set_meta(**{_META: dumps({label: str(path) for label, path in self.items()}).decode()})

    def label(self, root: Path) -> str | None:
        """The label of a root, if it is one of these."""
        return next((label for label, known in self.items() if known == root), None)

    def free_label(self, root: Path) -> str:
        """A label for one more root."""
        label = root.name if self else ""
        while label in self:
            label += "'"
        return label

    def place(self, file: str) -> tuple[str, Path] | None:
        """The label of the root that a file of the index is below, and where that file is or was."""
        # by label, backwards: the root without one, which takes every name, is last
        for label in sorted(self, reverse=True):
            if not label or file.startswith(f"{label}/"):
                return label, self[label] / file.removeprefix(f"{label}/" if label else "")
        return None
