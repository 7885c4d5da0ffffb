"""Shared documents: one small document each that several processes read and change, each time as a whole.

    FileDocument   a file, private to its owner; what one process changes, another sees with its next look
    StoreDocument  a document in the store of the index, for servers on several machines

Looking into one happens with every request, so it costs nothing: a file is read again when it has changed, a
document of the store when `refresh` is called, which a server does in a thread.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from aerogram.errors import Unavailable
from aerogram.state import file_lock, private_directory

__all__ = ["PRIVATE", "FileDocument", "SharedDocument", "SharedDocuments", "StoreDocument", "replace_file"]

PRIVATE = 0o600


def replace_file(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file whole; a link stays a link, and what it leads to is replaced."""
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


MOST_ATTEMPTS: Final = 50
"""So often a document is changed anew because somebody else was faster."""

Change = Callable[[bytes | None], bytes]


class SharedDocument(Protocol):
    """A document that is changed as a whole."""

    @property
    def place(self) -> str:
        """Where it is, in words."""

    @property
    def is_current(self) -> bool:
        """Whether what it says is known; what is not in it may otherwise be there all the same."""

    def read(self) -> bytes | None:
        """What it says, or None when there is none; the same object until it changes."""

    def change(self, change: Change) -> None:
        """Replace it by what a function makes of it, one process after the other."""


class SharedDocuments(Protocol):
    """What a store offers for documents that all its servers share."""

    def get_shared(self, name: str) -> tuple[bytes, int] | None:
        """A document and its version."""

    def set_shared(self, name: str, value: bytes, version: int) -> bool:
        """Write a document if it still has this version; whether it was written."""


class FileDocument:
    """A document in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._text: bytes | None = None

    @property
    def place(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def is_current(self) -> bool:
        """It is looked at every time."""
        return True

    def read(self) -> bytes | None:
        """What the file says now."""
        try:
            stat = self.path.stat()
            seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if seen != self._seen:
                self._text, self._seen = self.path.read_bytes(), seen
        except FileNotFoundError:
            self._text = self._seen = None
        return self._text

    def change(self, change: Change) -> None:
        """Replace the file, under its lock."""
        private_directory(self.path.parent)
        with file_lock(self.path.with_name(self.path.name + ".lock")):
            held = self.path.read_bytes() if self.path.exists() else None
            replace_file(self.path, change(held))


class StoreDocument:
    """A document in the store of an index."""

    def __init__(self, documents: SharedDocuments, name: str) -> None:
        self._documents = documents
        self._name = name
        self._text: bytes | None = None
        self.read_at: float | None = None
        """When the store was last asked, by the monotonic clock."""
        self.is_current = False

    @property
    def place(self) -> str:
        """The store."""
        return "the store"

    def read(self) -> bytes | None:
        """What the document said when it was last read."""
        if self.read_at is None:
            self.refresh()
        return self._text

    def refresh(self) -> None:
        """Read the document again; when the store is away, what was read before stays."""
        asked = time.monotonic()
        try:
            found = self._documents.get_shared(self._name)
        except BaseException:
            self.is_current = False
            self.read_at = self.read_at and asked  # one that was never read is not taken for an empty one
            raise
        text = None if found is None else found[0]
        if text != self._text:
            self._text = text
        self.is_current, self.read_at = True, asked

    def change(self, change: Change) -> None:
        """Replace the document, unless somebody else was faster: then again."""
        for _ in range(MOST_ATTEMPTS):
            held, version = self._documents.get_shared(self._name) or (None, 0)
            if self._documents.set_shared(self._name, change(held), version):
                self.refresh()
                return
        raise Unavailable("Others change the same at the moment", remediation="Try again", retry_after=1)
