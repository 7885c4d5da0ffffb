"""Repair: an index made again, from its rows if they are sound, else from the documents.

Damaged rows are kept beside the new ones. Whatever can still be read of the register of ids is carried over, so that
chunks keep theirs.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Final

from aerogram.errors import ContractError, NotFound
from aerogram_knowledge.embedders import Embedder
from aerogram_knowledge.ingest.ingest import Progress
from aerogram_knowledge.knowledge import Knowledge
from aerogram_knowledge.roots import Roots

__all__ = ["repair"]

ROWS: Final = "rows.sqlite"


def repair(folder: Path, *, embedder: str | Embedder | None = None, progress: Progress | None = None) -> str:
    """Make an index again; what was done, in one line."""
    if not _is_sound(folder / ROWS):
        return _read_again(folder, embedder, progress)
    with Knowledge(folder, embedder=embedder) as knowledge:
        knowledge.rebuild()
        return f"rebuilt from its rows: {knowledge.check().facts['chunks']} chunks"


def _is_sound(rows: Path) -> bool:
    """Whether SQLite finds nothing wrong with the rows."""
    if rows.exists() and not rows.stat().st_size:
        return False
    try:
        with contextlib.closing(sqlite3.connect(rows)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


def _read_again(folder: Path, embedder: str | Embedder | None, progress: Progress | None) -> str:
    """Put the damaged rows aside and read the documents again."""
    roots = _roots(folder)
    aside = _put_aside(folder)
    with Knowledge(folder, embedder=embedder) as knowledge:
        kept = _carry_over(aside, folder / ROWS)
        roots.keep(knowledge.store)
        done = knowledge.ingest(progress=progress)
        knowledge.rebuild()
    return f"read again from the documents: {done.chunks} chunks, {kept} ids carried over; the damaged rows are {aside}"


def _roots(folder: Path) -> Roots:
    """What the index was made from."""
    try:
        roots = Roots.read(json.loads((folder / "meta.json").read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError, ContractError):
        roots = Roots({})
    if not roots:
        raise NotFound("The index does not say which folders it was made from", remediation="Ingest into a new folder")
    return roots


def _put_aside(folder: Path) -> Path:
    number = 1
    while (aside := folder / f"damaged-{number}.sqlite").exists():
        number += 1
    (folder / ROWS).rename(aside)
    for left in ("-wal", "-shm"):
        (folder / f"{ROWS}{left}").unlink(missing_ok=True)
    return aside


def _carry_over(damaged: Path, fresh: Path) -> int:
    """Copy what can be read of the register of ids; how many there were."""
    found: list[tuple[int, str, str, int]] = []
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(sqlite3.connect(damaged)) as old:
        found.extend(old.execute("SELECT id, path, digest, occurrence FROM identities"))
    with contextlib.closing(sqlite3.connect(fresh)) as new, new:
        new.executemany("INSERT OR IGNORE INTO identities VALUES (?, ?, ?, ?)", found)
    return len(found)
