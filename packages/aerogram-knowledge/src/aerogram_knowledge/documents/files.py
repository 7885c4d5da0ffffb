"""Files: the bytes of a file that an index reads, all of them from one moment.

Whoever can write to a folder decides what stands at a path by the time it is read. Only a regular file is, and only
one below its root: a pipe would never answer, a device never end, a link lead anywhere.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from aerogram.digest.limits import UnreadableSource
from aerogram.normalize.resource import open_at_once
from aerogram_knowledge.documents.document import File

__all__ = ["ChangingFile", "changed_ns", "link_fault", "read_bytes"]

ATTEMPTS: Final = 3
LATEST: Final = 2**63 - 1
"""Nanoseconds since 1970 in the 64 bits that a store has for them; a file may be of any later time."""


class ChangingFile(UnreadableSource):
    """A file that is being written; what was known of it stays until it rests."""


def read_bytes(path: Path, file: File, most_bytes: int, *, root: Path) -> File:
    """A file with its content; `UnreadableSource` says why there is none."""
    if file.size > most_bytes:
        raise _too_large(file.size, most_bytes)
    for _ in range(ATTEMPTS):
        try:
            _refuse_link(path, root)
            with open(path, "rb", opener=open_at_once) as opened:
                before = os.fstat(opened.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise UnreadableSource("missing", "it is not a regular file")
                if before.st_size > most_bytes:
                    raise _too_large(before.st_size, most_bytes)
                content = opened.read(most_bytes + 1)
                after = os.fstat(opened.fileno())
            _refuse_link(path, root)  # or it might have led out for just as long as it took to open it
            is_there = os.path.samestat(after, path.stat())
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UnreadableSource("missing", f"it cannot be read: {reason}") from error
        same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        if is_there and same and len(content) == after.st_size:
            return File(file.path, after.st_size, changed_ns(after), content)
    raise ChangingFile("broken", "it changes while it is read; it is read again at the next run")


def _refuse_link(path: Path, root: Path) -> None:
    fault = link_fault(path, root)
    if fault is not None:
        raise UnreadableSource("missing", fault)


def changed_ns(found: os.stat_result) -> int:
    """When a file was changed, as a store can keep it."""
    return max(-LATEST, min(found.st_mtime_ns, LATEST))


def link_fault(path: Path, root: Path) -> str | None:
    """What is wrong with where a path below a root leads; None where nothing is."""
    found = path.resolve(strict=True)
    if not found.is_relative_to(root):
        return "it is a link that leads out of the folder"
    is_hidden = found != path and any(part.startswith(".") for part in found.relative_to(root).parts)
    return "it is a link to something hidden" if is_hidden else None


def _too_large(size: int, most_bytes: int) -> UnreadableSource:
    return UnreadableSource("too_large", f"it has {size:,} bytes; the limit is {most_bytes:,}")
