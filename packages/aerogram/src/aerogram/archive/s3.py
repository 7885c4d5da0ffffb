"""S3: compatible object storage as a store of records, and the inventories of an archive in it.

    s3://bucket/prefix?endpoint=https://storage.example.com&region=eu-west-1

Keys to the storage come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), or from
the machine's role where there is one; never from the address. An inventory is written only if nobody has written it
since it was read (`If-Match`), so sums are exact. Object storage cannot remove an entry in the same step, and an
entry that was just written again must not be removed: what an inventory retires stays until `cull` finds it ended.

Questions are asked in threads: the library's own coroutines may abort an interpreter that is about to end. They are
threads of the bucket's own: while it is silent they wait, and nobody who asks something else waits for them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

import obstore
from key_value.aio._utils.managed_entry import ManagedEntry
from key_value.aio.errors import DeserializationError
from key_value.aio.stores.base import BaseStore
from obstore.exceptions import AlreadyExistsError, NotFoundError, PreconditionError
from obstore.store import S3Store
from typing_extensions import override

if TYPE_CHECKING:
    from obstore import PutMode
    from obstore.store import ClientConfig, RetryConfig

__all__ = ["Bucket", "BucketInventoryStore", "BucketStore", "open_bucket"]

T = TypeVar("T")

_CLIENT: Final[ClientConfig] = {"connect_timeout": timedelta(seconds=1), "timeout": timedelta(seconds=5)}
_RETRY: Final[RetryConfig] = {"max_retries": 1, "retry_timeout": timedelta(seconds=3)}
_ASKED: Final = frozenset({"endpoint", "region"})
_ENTRIES: Final = "entries"
_INVENTORIES: Final = "ledgers"
_AT_ONCE: Final = 64
"""Questions that a bucket is asked at the same time; the others wait."""


class Bucket:
    """A bucket, and the threads in which it is asked."""

    def __init__(self, store: S3Store) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="aerogram-bucket")

    async def ask(self, question: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """What a function of the library gives for this bucket."""
        asked = partial(question, self._store, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, asked)


def open_bucket(url: str) -> Bucket:
    """The bucket at an address; it is reached with the first question."""
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query))
    endpoint = asked.get("endpoint")
    has_keys = "@" in parts.netloc or "@" in urlsplit(endpoint or "").netloc
    if parts.scheme != "s3" or not parts.netloc or has_keys or set(asked) - _ASKED:
        raise ValueError("a bucket is written as s3://bucket/prefix?endpoint=URL&region=NAME, without keys")
    options: dict[str, Any] = {} if endpoint is None else {"endpoint": endpoint}
    return Bucket(
        S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            region=asked.get("region", "us-east-1"),
            client_options={**_CLIENT, "allow_http": (endpoint or "").startswith("http://")},
            retry_config=_RETRY,
            **options,
        )
    )


class BucketStore(BaseStore):
    """Records as objects: `entries/<collection>/<key>`."""

    def __init__(self, bucket: Bucket) -> None:
        super().__init__(stable_api=True)
        self._bucket = bucket

    @override
    async def _get_managed_entry(self, *, collection: str, key: str) -> ManagedEntry | None:
        found = await self._bucket.ask(_read, _path(collection, key))
        if found is None:
            return None
        # whoever asks knows the time that all servers agree on, and judges by that whether an entry has ended
        return replace(self._serialization_adapter.load_json(json_str=found[0]), expires_at=None)

    @override
    async def _put_managed_entry(self, *, collection: str, key: str, managed_entry: ManagedEntry) -> None:
        text = self._serialization_adapter.dump_json(entry=managed_entry, key=key, collection=collection)
        await self._bucket.ask(obstore.put, _path(collection, key), text.encode())

    @override
    async def _put_managed_entries(
        self, *, collection: str, keys: Sequence[str], managed_entries: Sequence[ManagedEntry], **_: Any
    ) -> None:
        pairs = zip(keys, managed_entries, strict=True)
        puts = (self._put_managed_entry(collection=collection, key=key, managed_entry=entry) for key, entry in pairs)
        await asyncio.gather(*puts)

    @override
    async def _delete_managed_entry(self, *, key: str, collection: str) -> bool:
        existed = await self._bucket.ask(_read, _path(collection, key)) is not None
        await self._bucket.ask(obstore.delete, _path(collection, key))
        return existed

    async def cull(self) -> None:
        """Remove entries that have ended."""
        await self._bucket.ask(self._cull, datetime.now(UTC))

    def _cull(self, bucket: S3Store, now: datetime) -> None:
        for several in obstore.list(bucket, prefix=_ENTRIES):
            for one in several:
                if self._has_ended(bucket, one["path"], now):
                    obstore.delete(bucket, one["path"])

    def _has_ended(self, bucket: S3Store, path: str, now: datetime) -> bool:
        """Whether an entry says of itself that it has ended; one that cannot be read says nothing."""
        try:
            found = _read(bucket, path)
            end = None if found is None else self._serialization_adapter.load_json(json_str=found[0]).expires_at
        except DeserializationError:
            return False
        return end is not None and end <= now


class BucketInventoryStore:
    """The inventories of an archive whose entries are in the same bucket; the version of one is its ETag."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def read(self, owner: str) -> tuple[str | None, str | None]:
        """The inventory of an owner, if there is one, and its version."""
        return await self._bucket.ask(_read, f"{_INVENTORIES}/{owner}.json") or (None, None)

    async def write(self, owner: str, record: dict[str, Any], version: Any, life: float, gone: Sequence[str]) -> bool:
        """Write an inventory, unless somebody has written it since it was read; `life` and `gone` are for others."""
        del life, gone
        body = json.dumps(record).encode()
        path = f"{_INVENTORIES}/{owner}.json"
        mode: PutMode = {"e_tag": version} if version else "create"
        try:
            await self._bucket.ask(obstore.put, path, body, mode=mode)
        except (AlreadyExistsError, NotFoundError, PreconditionError):
            return False
        return True


def _path(collection: str, key: str) -> str:
    return f"{_ENTRIES}/{collection}/{key}"


def _read(bucket: S3Store, path: str) -> tuple[str, str | None] | None:
    """The text of an object and its ETag, if it is there."""
    try:
        found = obstore.get(bucket, path)
        return bytes(found.bytes()).decode(errors="replace"), found.meta["e_tag"]
    except (FileNotFoundError, NotFoundError):
        return None
