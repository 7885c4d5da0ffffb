"""Files: entries of an archive or a cache below one directory, wherever that directory stands.

py-key-value's file tree notes the absolute path of each collection when it makes one, and reads it again later. In a
copy that path leads to the original, or to nothing; so here a collection is where its store is opened.
"""

from __future__ import annotations

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
