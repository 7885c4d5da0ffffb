"""Files: entries of an archive or a cache below one directory, wherever that directory stands.

py-key-value's file tree notes the absolute path of each collection when it makes one, and reads it again later. In a
copy that path leads to the original, or to nothing; so here a collection is where its store is opened.

It also flushes each file to the disk on the event loop, where everybody waits for it. Here a file is read or written
in one piece, in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path

import orjson
from key_value.aio._utils.managed_entry import ManagedEntry
from key_value.aio.errors import PathSecurityError
from key_value.aio.stores.filetree import FileTreeStore

__all__ = ["FileStore"]


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
        await asyncio.to_thread(self._write, collection, key, managed_entry)

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

    def _write(self, collection: str, key: str, entry: ManagedEntry) -> None:
        _replace(self._path(collection, key), orjson.dumps(self._serialization_adapter.dump_dict(entry=entry)))

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


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that there is the old one or the new one at any moment, and on the disk when this returns."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise
