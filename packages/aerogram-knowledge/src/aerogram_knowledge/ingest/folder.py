"""Folders: the files below a root that an index reads, and what stands in the way of reading them.

Nothing outside the root is read: links that lead out of it are told and left alone. Hidden files are passed over. A
folder that cannot be read is told, and what was known of it stays.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final

from aerogram.errors import NotFound, ValidationFailed
from aerogram_knowledge.documents.document import SUFFIXES as DOCUMENT_SUFFIXES
from aerogram_knowledge.documents.document import File, suffix_of
from aerogram_knowledge.documents.files import changed_ns, link_fault
from aerogram_knowledge.filters import LONGEST_PATH
from aerogram_knowledge.roots import RENAME, TAKEN, Roots, absolute
from aerogram_knowledge.vendors.graph import SUFFIXES as GRAPH_SUFFIXES

__all__ = ["FolderListing", "list_files", "resolve"]

SUFFIXES: Final = frozenset((*DOCUMENT_SUFFIXES, *GRAPH_SUFFIXES))


@dataclass
class FolderListing:
    """The files of a root by their paths, what could not be listed, and the folders of that.

    `passed` counts the files that are of no kind that is read, by the endings of their names.
    """

    files: dict[str, File] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)

    def hides(self, path: str) -> bool:
        """Whether a path may still be there, in a folder that could not be read."""
        return any(path == folder or path.startswith(folder + "/") for folder in self.unread)


def resolve(root: str | os.PathLike[str]) -> Path:
    """A root as an absolute path; one that is not there is refused."""
    if not os.fspath(root):
        raise ValidationFailed("An empty path names no file or folder")
    if "\0" in os.fspath(root):
        raise ValidationFailed("A path cannot hold a NUL character")
    found = absolute(root)
    if not found.exists():
        raise NotFound(f"There is no file or folder at {os.fspath(root)}")
    if found.is_dir() and not os.access(found, os.R_OK | os.X_OK):
        raise ValidationFailed(f"The folder {os.fspath(root)} cannot be read: permission denied")
    return found


def list_files(root: Path, label: str = "", without: Path | None = None, roots: Roots | None = None) -> FolderListing:
    """The files below a root (or the one file that it is), as `roots` name them; a folder may be left out.

    Of a root whose files were named one by one, only these are listed.
    """
    listing, roots = FolderListing(), Roots({label: root}) if roots is None else roots
    folder = root if root.is_dir() else root.parent
    if root.is_file():
        found: Iterable[Path] = [root]
    elif label in roots.named:
        places = (roots.place(file) for file in sorted(roots.named[label]))
        found = [place[1] for place in places if place is not None and os.path.lexists(place[1])]
    else:
        found = _walk(root, listing, label, without, roots)
    for path in found:
        _list(path, roots.name_file(label, path.relative_to(folder).as_posix()), folder, listing)
    return listing


def _walk(root: Path, listing: FolderListing, label: str, without: Path | None, roots: Roots) -> Iterator[Path]:
    def note_unread(error: OSError) -> None:
        name = roots.name_file(label, Path(error.filename).relative_to(root).as_posix())
        listing.problems[_as_text(name)] = f"the folder cannot be read: {error.strerror}"
        listing.unread.append(name)

    for folder, folders, names in os.walk(root, onerror=note_unread):
        taken = {name for name in folders if folder == str(root) and roots.is_taken(label, name)}
        listing.problems |= dict.fromkeys(taken, f"the folder is not read: {TAKEN}. {RENAME}")
        folders[:] = sorted(
            name for name in set(folders) - taken if not name.startswith(".") and Path(folder, name) != without
        )
        shown = sorted(name for name in names if not name.startswith("."))
        yield from (Path(folder, name) for name in shown if suffix_of(name) in SUFFIXES)
        passed = (_as_text(PurePath(name).suffix.lower()) for name in shown if suffix_of(name) not in SUFFIXES)
        listing.passed.update(passed)


def _as_text(name: str) -> str:
    """A name as it can be told; Unix takes names that are no text."""
    return "/".join(part if part.isprintable() else ascii(part) for part in name.split("/"))


def _list(path: Path, name: str, root: Path, listing: FolderListing) -> None:
    try:
        size = len(name.encode())
        fault = link_fault(path, root) if path.is_symlink() else None
        if fault is not None:
            listing.problems[name] = fault
            return
        if not path.is_file():
            listing.problems[name] = "it is not a regular file"
            return
        if size > LONGEST_PATH:
            listing.problems[name] = f"its path has more than {LONGEST_PATH:,} bytes"
            return
        found = path.stat()
    except UnicodeEncodeError:
        listing.problems[_as_text(name)] = "its name is not text"
    except (OSError, RuntimeError) as error:
        listing.problems[name] = f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    else:
        listing.files[name] = File(name, found.st_size, changed_ns(found))
