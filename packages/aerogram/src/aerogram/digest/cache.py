"""The cache of digests: by the text's hash, the question and everything else that decides what a digest says."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import ValidationError

from aerogram.digest.payload import DigestPayload

COLLECTION = "aerogram_digests"
_WEEK = 7 * 24 * 3600.0


class CacheStore(Protocol):
    """Where a cache keeps its entries; every py-key-value-aio store is one."""

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """The entry under a key, if there is one."""

    async def put(
        self, key: str, value: Mapping[str, Any], *, collection: str | None = None, ttl: float | None = None
    ) -> None:
        """Keep an entry for a while."""


class RecentEntries:
    """A store in memory that forgets what was not used for longest."""

    def __init__(self, size: int = 512) -> None:
        self.size = size
        self._entries: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:  # noqa: ARG002
        """The entry under a key, if it is still there."""
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,  # noqa: ARG002  it has one collection
        ttl: float | None = None,  # noqa: ARG002  and forgets by use
    ) -> None:
        """Keep an entry, and forget the one that was not used for longest."""
        self._entries[key] = dict(value)
        self._entries.move_to_end(key)
        while len(self._entries) > self.size:
            self._entries.popitem(last=False)


class DigestCache:
    """Digests that were made before; in memory unless another store is given."""

    def __init__(self, store: CacheStore | None = None, *, ttl: float = _WEEK) -> None:
        self._store: CacheStore = store or RecentEntries()
        self._ttl = ttl

    async def get(self, key: str) -> DigestPayload | None:
        """The payload under a key; what cannot be read any more counts as absent."""
        entry = await self._store.get(key, collection=COLLECTION)
        try:
            return DigestPayload.model_validate(entry["payload"]) if entry else None
        except (KeyError, TypeError, ValidationError):
            return None

    async def put(self, key: str, payload: DigestPayload) -> None:
        """Keep a payload."""
        await self._store.put(key, {"payload": payload.model_dump()}, collection=COLLECTION, ttl=self._ttl)


def cache_key(text_hash: str, query: str, fingerprint: str) -> str:
    """The key of a digest: the whole hash of text and question, and the fingerprint of the settings."""
    asked = hashlib.sha256(query.encode()).hexdigest()
    return f"{text_hash.removeprefix('sha256:')}-{asked[:32]}-{fingerprint}"
