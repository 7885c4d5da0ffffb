"""Redis, or Valkey: how it is reached, and where the inventories of an archive are kept in it.

A server that waits for Redis lets its callers wait, so every question has a time limit, and none is asked twice: a
count that was taken must not be taken again. A connection that has gone stale is noticed and made anew.

Inventories in Redis are exact however many servers write them. Each has a version; a script writes one and removes
the entries that it retires in one step, if the version is still the one that was read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from aerogram.errors import MissingExtra

if TYPE_CHECKING:
    from key_value.aio._utils.managed_entry import ManagedEntry
    from key_value.aio.stores.redis import RedisStore
    from redis.asyncio import Redis

__all__ = ["RedisInventoryStore", "connect", "connection_options", "open_store"]

ANSWER_WITHIN: Final = 2.0
"""Seconds that Redis has for an answer."""
CONNECT_WITHIN: Final = 1.0
NO_VERSION: Final = "0"

_WRITE: Final = """
local held = redis.call("HGET", KEYS[1], "version") or "0"
if held ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "record", ARGV[2], "version", tostring(tonumber(held) + 1))
redis.call("EXPIRE", KEYS[1], ARGV[3])
for i = 2, #KEYS do redis.call("DEL", KEYS[i]) end
return 1
"""


def connection_options() -> dict[str, Any]:
    """How long a connection may take, and that nothing is asked twice."""
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return {
        "socket_timeout": ANSWER_WITHIN,
        "socket_connect_timeout": CONNECT_WITHIN,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # with the next one, redis-py takes a connection that has ended for one that has news
    }


def connect(url: str) -> Redis:
    """A client for the Redis at a URL; it connects with its first question."""
    try:
        from redis.asyncio import Redis
    except ImportError:
        raise MissingExtra("redis", "redis") from None
    return Redis.from_url(url, decode_responses=True, **connection_options())


def open_store(client: Redis) -> RedisStore:
    """A py-key-value store over a client, which it closes with itself."""
    try:
        from key_value.aio.stores.redis import RedisStore
    except ImportError:
        raise MissingExtra("redis", "py-key-value-aio[redis]") from None

    class ServerClockStore(RedisStore):
        """Redis ends what has ended; a server whose clock is wrong does not."""

        async def _get_managed_entry(self, *, key: str, collection: str) -> ManagedEntry | None:
            entry = await super()._get_managed_entry(key=key, collection=collection)
            return None if entry is None else replace(entry, expires_at=None)

    store = ServerClockStore(url="redis://")  # it connects to nothing before it is used
    store._client = client
    return store


class RedisInventoryStore:
    """The inventories of an archive whose entries are in the same Redis, in a collection of a py-key-value store."""

    def __init__(self, client: Redis, collection: str) -> None:
        self._client = client
        self._collection = collection
        self._script = client.register_script(_WRITE)

    async def read(self, owner: str) -> tuple[str | bytes | None, str]:
        """The inventory of an owner, if there is one, and its version."""
        record, version = await self._client.hmget(self._key(owner), ["record", "version"])
        return record, str(version or NO_VERSION)

    async def write(self, owner: str, record: dict[str, Any], version: Any, life: float, gone: Sequence[str]) -> bool:
        """Write an inventory and remove entries, unless somebody else has written it since it was read."""
        keys = [self._key(owner), *(f"{self._collection}::{key}" for key in gone)]
        return bool(await self._script(keys, [version, json.dumps(record), max(int(life), 1)]))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _key(self, owner: str) -> str:
        return f"{self._collection}:ledger:{owner}"
