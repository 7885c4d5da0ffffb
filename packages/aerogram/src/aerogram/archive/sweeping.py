"""Sweeping: what has ended in archives in files is removed, and what killed writes have left.

py-key-value reads every file for that, on the event loop. Here only files that were written long enough ago are read,
and each is removed under the lock of its archive, so that nothing goes that somebody has just put there again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from aerogram.state import file_lock

__all__ = ["LOCK", "sweep_files"]

LOCK: Final = ".lock"
LOCK_WITHIN: Final = 1.0
STALE_DRAFT: Final = 3_600.0


def sweep_files(archive: Path, now: float, lifetime: float) -> None:
    """Remove what has ended in the archive in a directory; what was written less than a `lifetime` ago has not."""
    with contextlib.suppress(TimeoutError):  # somebody keeps it to himself: it is swept another time
        for file in _files_before(archive, now - lifetime, ".json"):
            if _has_ended(file, now):
                with file_lock(archive / LOCK, within=LOCK_WITHIN):
                    if _has_ended(file, now):
                        file.unlink(missing_ok=True)
        for draft in _files_before(archive, now - STALE_DRAFT, ".tmp"):
            draft.unlink(missing_ok=True)


def _files_before(archive: Path, moment: float, ending: str) -> Iterator[Path]:
    """The files of an archive that were written before a moment, one after the other; what has vanished is none."""
    with contextlib.suppress(FileNotFoundError):
        collections = [one.path for one in os.scandir(archive) if one.is_dir(follow_symlinks=False)]
        for folder in collections:
            for file in list(os.scandir(folder)):
                with contextlib.suppress(FileNotFoundError):
                    is_file = file.name.endswith(ending) and file.is_file(follow_symlinks=False)
                    if is_file and file.stat(follow_symlinks=False).st_mtime <= moment:
                        yield Path(file.path)


def _has_ended(file: Path, now: float) -> bool:
    """Whether a record says of itself that it has ended; one that cannot be read says nothing."""
    try:
        record: Any = orjson.loads(file.read_bytes())
        end = record["value"].get("expires_at") or datetime.fromisoformat(record["expires_at"]).timestamp()
        return float(end) <= now
    except (OSError, AttributeError, KeyError, TypeError, ValueError):
        return False
