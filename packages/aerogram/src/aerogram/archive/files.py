"""Files: entries of an archive or a cache below one directory, wherever that directory stands.

py-key-value's file tree notes the absolute path of each collection when it makes one, and reads it again later. In a
copy that path leads to the original, or to nothing; so here a collection is where its store is opened.

It also flushes each file to the disk on the event loop, where everybody waits for it. Here files are read or written
in one piece, in a thread; several are all written before the first is flushed, and flushed side by side, because a
disk that is asked for one after the other takes nearly as long for each as for all of them. Whoever is in a thread
already, as an archive that writes is, has it done right there: that takes no event loop and no further thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar
from functools import cached_property
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeVar

import orjson
from key_value.aio._utils.managed_entry import ManagedEntry
from key_value.aio.errors import BaseKeyValueError, PathSecurityError
from key_value.aio.stores.filetree import FileTreeStore

__all__ = ["FileStore"]

OPEN_AT_ONCE: Final = 64
"""So many files are written before the first of them is flushed; a process may not have many more of them open."""
FLUSHED_AT_ONCE: Final = 16
T = TypeVar("T")
_BROKEN_NOTES: Final = (FileNotFoundError, ValueError, KeyError, TypeError, BaseKeyValueError)
"""What comes of notes about a collection that are broken or empty; nothing of them is used, so they are made again."""
_HERE: Final = ContextVar("aerogram_files_here", default=False)
"""Whether files are read and written in the thread that asks for it."""


class FileStore(FileTreeStore):
    """A file tree that may be copied and moved."""

    @cached_property
    def _flushers(self) -> ThreadPoolExecutor:
        """Threads that only wait for the disk; they end with the store."""
        return ThreadPoolExecutor(FLUSHED_AT_ONCE, thread_name_prefix="flush")

    def complete(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of work with this store, one thing after the other and in this thread, without an event loop.

        The collections that it uses have to be set up.
        """
        token = _HERE.set(True)
        try:
            work.send(None)
        except StopIteration as end:
            found: T = end.value
            return found
        finally:
            _HERE.reset(token)
            work.close()
        raise RuntimeError("work with files has waited for something else")

    async def _aside(self, work: Callable[..., T], *given: Any) -> T:
        return work(*given) if _HERE.get() else await asyncio.to_thread(work, *given)

    def _flush(self, files: Collection[int]) -> None:
        """Have the disk take files that are written; when this returns they are there."""
        if len(files) == 1:
            os.fsync(*files)
            return
        flushing = [self._flushers.submit(os.fsync, one) for one in files]
        for one in wait(flushing).done:
            one.result()

    async def _setup_collection(self, *, collection: str) -> None:
        if not await self._data_directory.is_dir():  # it was moved away, and must not be made again by half
            raise FileNotFoundError(f"there is no {self._data_directory} any more")
        name = self._sanitize_collection(collection=collection)
        try:
            await super()._setup_collection(collection=collection)
        except _BROKEN_NOTES:
            await (self._metadata_directory / f"{name}-info.json").unlink(missing_ok=True)
            await super()._setup_collection(collection=collection)
        here = self._data_directory / name
        self._collection_infos[collection].directory = here

    async def _get_managed_entry(self, *, key: str, collection: str) -> ManagedEntry | None:
        return await self._aside(self._read, collection, key)

    async def _put_managed_entry(self, *, key: str, collection: str, managed_entry: ManagedEntry) -> None:
        await self._aside(self._write, collection, {key: managed_entry})

    async def _put_managed_entries(
        self, *, collection: str, keys: Sequence[str], managed_entries: Sequence[ManagedEntry], **_: Any
    ) -> None:
        await self._aside(self._write, collection, dict(zip(keys, managed_entries, strict=True)))

    async def _delete_managed_entry(self, *, key: str, collection: str) -> bool:
        return await self._aside(self._remove, collection, key)

    async def _delete_managed_entries(self, *, keys: Sequence[str], collection: str) -> int:
        return await self._aside(lambda: sum(self._remove(collection, key) for key in keys))

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
        Path(self._collection_infos[collection].directory).mkdir(exist_ok=True)  # somebody may have emptied the store
        while some := dict(islice(pending, OPEN_AT_ONCE)):
            files = {self._place(collection, key): orjson.dumps(dump(entry=entry)) for key, entry in some.items()}
            _replace(files, self._flush)

    def _remove(self, collection: str, key: str) -> bool:
        try:
            self._path(collection, key).unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, collection: str, key: str) -> Path:
        """Where an entry is read, which must be below the directory of the store."""
        path = Path(self._place(collection, key))
        if not path.resolve().is_relative_to(Path(self._data_directory)):
            raise PathSecurityError(message=f"{key} is not inside of the store")
        return path

    def _place(self, collection: str, key: str) -> str:
        """Where an entry is written, in place of whatever is there."""
        name = f"{self._sanitize_key(key=key)}.json"
        if Path(name).name != name:
            raise PathSecurityError(message=f"{key} is not inside of the store")
        return f"{self._collection_infos[collection].directory}/{name}"


def _replace(files: Mapping[str, bytes], flush: Callable[[Collection[int]], None]) -> None:
    """Write files so that there is the old one or the new one at any moment, and on the disk when this returns.

    A thread beside a busy event loop waits for its turn after each call of the system, so there are few of them.
    """
    mark = f".{token_hex(8)}.tmp"
    drafts: dict[str, int] = {}
    try:
        for path, content in files.items():
            drafts[path] = os.open(path + mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            left = memoryview(content)
            while left:
                left = left[os.write(drafts[path], left) :]
        flush(drafts.values())
        for path in files:
            Path(path + mark).replace(path)
    except BaseException:
        for path in drafts:
            with contextlib.suppress(OSError):
                Path(path + mark).unlink()
        raise
    finally:
        for draft in drafts.values():
            os.close(draft)
