"""Memory: entries of an archive that end with the process.

py-key-value's memory store writes each record as JSON and checks the type of every argument on the way, which takes
several times as long as the rest of archiving; here a record is held as it is given.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["MemoryStore"]

FEW: Final = 1_000


class MemoryStore:
    """Records by collection and key, each until its end; how many there may be is for whoever puts them to say."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[Mapping[str, Any], float]] = {}
        self._cull_at = FEW

    async def get(self, key: str, *, collection: str) -> dict[str, Any] | None:
        """The record of a key, if there is one that has not ended."""
        record, end = self._held.get((collection, key), (None, 0.0))
        return dict(record) if record is not None and end > time.time() else None

    async def put(self, key: str, value: Mapping[str, Any], *, collection: str, ttl: float) -> None:
        """Hold a record for so many seconds."""
        self._held[collection, key] = (value, time.time() + ttl)
        if len(self._held) > self._cull_at:
            await self.cull()
            self._cull_at = max(2 * len(self._held), FEW)

    async def put_many(
        self, keys: Sequence[str], values: Sequence[Mapping[str, Any]], *, collection: str, ttl: float
    ) -> None:
        """Hold several records for so many seconds."""
        for key, value in zip(keys, values, strict=True):
            await self.put(key, value, collection=collection, ttl=ttl)

    async def delete(self, key: str, *, collection: str) -> bool:
        """Forget a record; whether there was one."""
        return self._held.pop((collection, key), None) is not None

    async def delete_many(self, keys: Sequence[str], *, collection: str) -> int:
        """Forget several records; how many there were."""
        return sum([await self.delete(key, collection=collection) for key in keys])

    async def cull(self) -> None:
        """Forget what has ended."""
        now = time.time()
        self._held = {place: held for place, held in self._held.items() if held[1] > now}
