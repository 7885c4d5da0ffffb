"""Copy: an index taken from one store to another, with every id, so that cursors and citations stay good.

The register of ids goes first, so that whatever is put afterwards has the ids that it had. Files go in batches, each
wholly or not at all; a copy that was cut off goes on where it ended. Then what servers share: the keys of cursors, and
API keys that are kept in a store. At the end both sides are read again and compared.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import Conflict, IntegrityError, NotFound
from aerogram.state import private_directory
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.ingest.ingest import Progress, store_batch
from aerogram_knowledge.ingest.preparation import FileBatch
from aerogram_knowledge.store import SETTLED, FileState, Store
from aerogram_knowledge.store.address import is_url, open_store
from aerogram_knowledge.store.cursor_keys import NAME as KEYS

__all__ = ["CopyResult", "copy"]

FILES: Final = 50
PAGE: Final = 10_000
MISSING: Final = object()
OWN: Final = ("born", "generation")
"""What each index remembers of itself alone."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What a copy has brought over, and what was there from a copy before."""

    files: int
    chunks: int
    already: int


def copy(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress | None = None
) -> CopyResult:
    """Copy the index at one address to another: a folder, or a URL of PostgreSQL."""
    dimensions = _dimensions(source)
    with (
        contextlib.closing(open_store(source, dimensions)) as old,
        contextlib.closing(open_store(target, dimensions)) as new,
    ):
        before = old.generation
        _check_target(old, new)
        new.set_meta(**{name: value for name, value in old.meta().items() if name not in (*OWN, SETTLED)})
        _copy_identities(old, new)
        known, there = old.files(), new.files()
        pending = [state for path, state in sorted(known.items()) if there.get(path) != state]
        _copy_files(old, new, pending, progress)
        new.set_mentions(old.mentions())
        new.settle()
        _copy_keys((source, old), (target, new))
        _copy_shared(old, new)
        _verify(old, new, before)
        return CopyResult(len(pending), new.count(Filters()), len(known) - len(pending))


def _dimensions(where: str | os.PathLike[str]) -> int:
    """The length of the vectors of an index that exists."""
    if not is_url(where):
        if not (Path(where) / "rows.sqlite").exists():
            raise NotFound(f"There is no index at {os.fspath(where)}")
        with contextlib.closing(open_store(where, 0)) as store:
            return int(store.meta().get("embedder", "none/0").rpartition("/")[2])
    from aerogram_knowledge.store.postgres.store import dimensions_at

    return dimensions_at(os.fspath(where))


def _check_target(old: Store, new: Store) -> None:
    """A target is empty, or what an earlier copy of the same index has left."""
    strange = new.files().keys() - old.files().keys()
    if strange:
        raise Conflict(
            f"The target holds {len(strange)} files that the source does not have",
            remediation="Copy into an empty folder or database",
            details={"files": sorted(strange)[:10]},
        )


def _copy_identities(old: Store, new: Store) -> None:
    last = 0
    while some := old.identities(last, PAGE):
        new.reserve(some)
        last = some[-1].id


def _copy_files(old: Store, new: Store, pending: list[FileState], progress: Progress | None) -> None:
    for start in range(0, len(pending), FILES):
        states = pending[start : start + FILES]
        entries, graphs = old.entries([one.path for one in states])
        store_batch(new, FileBatch(states=states, entries=entries, graphs=graphs))
        if progress is not None:
            progress(start + len(states), len(pending), (start + len(states)) / len(pending))


def _copy_keys(source: tuple[Any, Store], target: tuple[Any, Store]) -> None:
    """Let the target open the cursors of the source; it goes on signing with its own keys if it has any."""
    theirs, mine = _keys(*source), _keys(*target)
    names = {one["kid"] for one in mine}
    keys = [*mine, *(one for one in theirs if one["kid"] not in names)]
    if keys == mine:
        return
    where, store = target
    if is_url(where):
        held = store.get_shared(KEYS)
        store.set_shared(KEYS, dumps({"keys": keys}), held[1] if held else 0)
        return
    path = private_directory(Path(where)) / "cursor-keys.json"
    path.touch(mode=0o600)
    path.write_bytes(dumps({"keys": keys}))


def _copy_shared(old: Store, new: Store) -> None:
    """Bring over what servers share, such as their API keys, unless the target has its own under the same name."""
    for name in old.shared_names():
        held = old.get_shared(name) if name != KEYS else None  # cursor keys are joined, wherever they are kept
        if held is not None:
            new.set_shared(name, held[0], 0)


def _keys(where: str | os.PathLike[str], store: Store) -> list[Mapping[str, Any]]:
    """The cursor keys of an index, where its kind keeps them."""
    if is_url(where):
        held = store.get_shared(KEYS)
        stored = held[0] if held else None
    else:
        path = Path(where) / "cursor-keys.json"
        stored = path.read_bytes() if path.exists() else None
    found: list[Mapping[str, Any]] = loads(stored)["keys"] if stored else []
    return found


def _verify(old: Store, new: Store, before: int) -> None:
    """Read both sides again: every file and every chunk must be the same under the same id."""
    if old.generation != before:
        raise Conflict("The source has changed while it was copied", remediation="Run the copy again; it goes on")
    if old.files() != new.files():
        raise IntegrityError("The copy does not have the same files", remediation="Run the copy again")
    if old.values("kind") != new.values("kind"):
        raise IntegrityError(
            "The copy does not have the same documents", remediation="Copy into an empty folder or database"
        )
    for one, other in itertools.zip_longest(old.texts(), new.texts(), fillvalue=MISSING):
        if one != other:
            raise IntegrityError(f"The copy differs at {one} and {other}"[:200], remediation="Run the copy again")
    problems = new.check().problems
    if problems:
        raise IntegrityError(f"The copy is not sound: {problems[0]}")
