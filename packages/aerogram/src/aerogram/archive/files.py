"""Files: entries of an archive or a cache below one directory, wherever that directory stands.

py-key-value's file tree notes the absolute path of each collection when it makes one, and reads it again later. In a
copy that path leads to the original, or to nothing; so here a collection is where its store is opened.

It also flushes each file to the disk on the event loop, where everybody waits for it. Here files are read or written
in one piece, in a thread; several are all written before the first is flushed, so that the disk has them at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
from key_value.aio._utils.managed_entry import ManagedEntry
from key_value.aio.errors import PathSecurityError
from key_value.aio.stores.filetree import FileTreeStore

__all__ = ["FileStore"]

OPEN_AT_ONCE: Final = 64
"""So many files are written before the first of them is flushed; a process may not have many more of them open."""


class FileStore(FileTreeStore):
    """A file tree that may be copied and moved."""

    async def _setup_collection(self, *, collection: str) -> None:
        if not await self._data_directory.is_dir():  # it was moved away, and must not be made again by half
            raise FileNotFoundError(f"there is no {self._data_directory} any more")
        await super()._setup_collection(collection=collection)
        here = self._data_directory / self._sanitize_collection(collection=collection)
        self._collection_infos[collection].directory = here

    async def _get_managed_entry(self, *, key: str, collection: str) -> ManagedEntry | None:
        return await asyncio.to_thread(self._read, collection, key)

    async def _put_managed_entry(self, *, key: str, collection: str, managed_entry: ManagedEntry) -> None:
        await asyncio.to_thread(self._write, collection, {key: managed_entry})

    async def _put_managed_entries(
        self, *, collection: str, keys: Sequence[str], managed_entries: Sequence[ManagedEntry], **_: Any
    ) -> None:
        await asyncio.to_thread(self._write, collection, dict(zip(keys, managed_entries, strict=True)))

    async def _delete_managed_entry(self, *, key: str, collection: str) -> bool:
        return await asyncio.to_thread(self._remove, collection, key)

    def _read(self, collection: str, key: str) -> ManagedEntry | None:
        try:
            text = self._path(collection, key).read_bytes()
        except FileNotFoundError:
            return None
        record = orjson.loads(text)
        if not isinstance(record, dict):
            raise TypeError("a record is an object")
        return self._serialization_adapter.load_dict(data=record)

    def _write(self, collection: str, entries: Mapping[str, ManagedEntry]) -> None:
        dump, pending = self._serialization_adapter.dump_dict, iter(entries.items())
        while some := dict(islice(pending, OPEN_AT_ONCE)):
            _replace({self._path(collection, key): orjson.dumps(dump(entry=entry)) for key, entry in some.items()})

    def _remove(self, collection: str, key: str) -> bool:
        try:
            self._path(collection, key).unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, collection: str, key: str) -> Path:
        """Where an entry is, which must be below the directory of the store."""
        path = Path(self._collection_infos[collection].directory) / f"{self._sanitize_key(key=key)}.json"
        if not path.resolve().is_relative_to(Path(self._data_directory)):
            raise PathSecurityError(message=f"{key} is not inside of the store")
        return path


def _replace(files: Mapping[Path, bytes]) -> None:
    """Write files so that there is the old one or the new one at any moment, and on the disk when this returns."""
    drafts: dict[Path, Path] = {}
    with contextlib.ExitStack() as stack:
        opened = []
        for path, content in files.items():
            descriptor, draft = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            file = stack.enter_context(os.fdopen(descriptor, "wb"))
            drafts[path] = Path(draft)
            stack.callback(_remove_draft, drafts[path])
            file.write(content)
            file.flush()
            opened.append(file)
        for file in opened:
            os.fsync(file.fileno())
        for path, draft in drafts.items():
            draft.replace(path)


def _remove_draft(draft: Path) -> None:
    """Leave nothing behind of a write that has failed."""
    with contextlib.suppress(OSError):
        draft.unlink()
