"""Repair: an index made again, from its rows if they are sound, else from the documents.

Damaged rows are kept beside the new ones. Whatever can still be read of the register of ids is carried over, so that
chunks keep theirs: before the new rows take the place of the old ones in one step, so that a repair that is cut off has
lost nothing, and an ingest goes on with it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
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
DRAFT: Final = "repair"


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
    """Put new rows in the place of the damaged ones, and read the documents again."""
    roots = _roots(folder)
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    with Knowledge(draft, embedder=embedder) as fresh:
        roots.keep(fresh.store)
    kept = _carry_over(folder / ROWS, draft / ROWS)
    aside = _put_in_place(draft / ROWS, folder / ROWS)
    shutil.rmtree(draft)
    with Knowledge(folder, embedder=embedder) as knowledge:
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


def _put_in_place(fresh: Path, rows: Path) -> Path:
    """Put new rows in the place of damaged ones, which get another name; there are rows at any moment."""
    number = 1
    while (aside := rows.with_name(f"damaged-{number}.sqlite")).exists():
        number += 1
    shutil.copy2(rows, aside)
    for left in ("-wal", "-shm"):
        rows.with_name(f"{ROWS}{left}").unlink(missing_ok=True)
    fresh.replace(rows)
    return aside


def _carry_over(damaged: Path, fresh: Path) -> int:
    """Copy what can be read of the register of ids; how many there were."""
    found: list[tuple[int, str, str, int]] = []
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(sqlite3.connect(damaged)) as old:
        found.extend(old.execute("SELECT id, path, digest, occurrence FROM identities"))
    with contextlib.closing(sqlite3.connect(fresh)) as new, new:
        new.executemany("INSERT OR IGNORE INTO identities VALUES (?, ?, ?, ?)", found)
        new.commit()
        new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(found)
