"""The archive: a content-addressed store of what was left out of replies.

Every entry belongs to one principal, lives for a while, and is checked against its hash whenever it is read. What was
read last is held for a while, so that a walk through the pages of an entry does not read it once for each page.
Entries of one principal are kept apart from those of every other, so deleting or filling up one's own archive
touches nobody else; equal content of one principal is stored once.

    Archive ── put(Content) / get(hash) / newest() / delete(hash) ──▶ any py-key-value-aio store
       │                                                               memory · files · Redis · S3 · …
       └─ Inventory: one small record per principal: what it has, how large, until when, and what is gone and why

Files are the default. py-key-value's file tree writes a temporary file, flushes it to the disk and renames it,
so a process that is killed at any moment leaves the old entry or the new one, never half of one; at worst a
stray `.tmp` file remains, which is swept. Its diskcache store was not chosen: it unpickles what it reads.
The content is written before the inventory, so the inventory never names what is not there; an entry whose inventory
row was lost with a kill can still be read. Who comes while others are written waits for the next turn, in which
everything that waits is written at once, with one inventory for each principal.

Between processes the inventory of a file archive is guarded by a lock file; in Redis and in object storage an
inventory is written only if nobody else has written it since it was read. Stores of one's own offer neither: there,
two processes that write for one principal in the same moment may leave one entry out of the quota's sum until it is
next written.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from math import inf
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias, TypeVar, get_args
from weakref import WeakKeyDictionary

from aerogram.archive.memory import MemoryStore
from aerogram.archive.sweeping import LOCK, sweep_files
from aerogram.content import LARGE, Content, Kind
from aerogram.content.line import one_line
from aerogram.errors import (
    ContractError,
    IntegrityError,
    MissingExtra,
    NotFound,
    QuotaExceeded,
    ReplyError,
    Unavailable,
)
from aerogram.state import file_lock, private_directory, state_directory

if TYPE_CHECKING:
    from key_value.aio.protocols import AsyncKeyValue

    Store: TypeAlias = AsyncKeyValue | MemoryStore

__all__ = ["Archive", "ArchiveUsage", "EntryReceipt", "Inventory"]


log = logging.getLogger("aerogram")
T = TypeVar("T")

HOUR: Final = 3600.0
MEGABYTE: Final = 1_000_000
COLLECTION: Final = "aerogram_archive"
REMEMBERED_BYTES: Final = 16 * MEGABYTE
"""How much of what was read last is held, so that the next page of it need not be read and checked again."""
SHORTEST_PREFIX: Final = 12
DIGEST_LENGTH: Final = 64
SWEEP_EVERY: Final = HOUR
MOST_ATTEMPTS: Final = 100
"""So often an inventory is read again because somebody else was faster."""
RETRY_AFTER: Final = 2.0
REASON: Final = 500
"""Letters of what a store says is wrong, for the log."""
LOCK_WITHIN: Final = 5.0
"""Seconds that another process has to let go of a directory; whoever holds it mostly has it for milliseconds."""
_GONE_WORDS: Final = {
    "expired": "has expired",
    "deleted": "was deleted",
    "evicted": "was removed to make room for newer entries",
}
_UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError)
CALL_AGAIN: Final = "Repeat the call that produced it to get fresh content"


@dataclass(frozen=True, slots=True)
class EntryReceipt:
    """The receipt for an entry: its hash and how long it will be there."""

    hash: str
    size: int
    expires_at: float


@dataclass(frozen=True, slots=True)
class ArchiveUsage:
    """How much of its quota a principal takes up."""

    entries: int
    bytes: int
    quota: int


class _Put(NamedTuple):
    """What somebody wants to have stored, and where the receipts are waited for."""

    owner: str
    contents: tuple[Content, ...]
    receipts: asyncio.Future[tuple[EntryReceipt, ...]]

    def settle(self, outcome: float | Exception) -> None:
        """Say until when it is stored, or why it could not be."""
        if self.receipts.done():
            return
        if isinstance(outcome, Exception):
            self.receipts.set_exception(outcome)
        else:
            self.receipts.set_result(tuple(EntryReceipt(one.hash, len(one.body), outcome) for one in self.contents))


class InventoryStore(Protocol):
    """Where inventories are kept, so that several processes may write them."""

    async def read(self, owner: str) -> tuple[dict[str, Any] | str | bytes | None, Any]:
        """The inventory of an owner, if there is one, or JSON of it, and its version."""

    async def write(self, owner: str, record: dict[str, Any], version: Any, life: float, gone: Sequence[str]) -> bool:
        """Write an inventory and remove entries, unless somebody else has written it since it was read."""


class _PlainInventoryStore:
    """Inventories in the store of the entries, for one process or under a lock."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, owner: str) -> tuple[dict[str, Any] | None, None]:
        return await self._store.get(f"{owner}_ledger", collection=COLLECTION), None

    async def write(self, owner: str, record: dict[str, Any], version: Any, life: float, gone: Sequence[str]) -> bool:
        del version
        await self._store.put(f"{owner}_ledger", record, collection=COLLECTION, ttl=life)
        if gone:
            await self._store.delete_many(list(gone), collection=COLLECTION)
        return True


class _EntryCache:
    """The entries that were read last and found sound, each with a mark of what was read.

    Pages of one entry are read one after the other. As long as the mark is the same, nobody has touched the entry.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._held: dict[str, tuple[Any, Content, float]] = {}

    def recall(self, key: str, mark: Any) -> tuple[Content, float] | None:
        held = self._drop(key)
        if held is None or mark is None or held[0] != mark:
            return None
        self.keep(key, *held)
        return held[1:]

    def keep(self, key: str, mark: Any, content: Content, end: float) -> None:
        if mark is None or len(content.body) > self._most:
            return
        self._drop(key)
        self._held[key] = (mark, content, end)
        self._size += len(content.body)
        while self._size > self._most:
            self._drop(next(iter(self._held)))

    def _drop(self, key: str) -> tuple[Any, Content, float] | None:
        held = self._held.pop(key, None)
        if held is not None:
            self._size -= len(held[1].body)
        return held


class Archive:
    """Puts content away for a principal and gives it back, whole and verified.

    `realm` names what the entries of now belong to besides: those of another realm are out of reach. `beside` is a
    folder with the directories of others, which are swept with this one: nobody else may ever use them again.
    """

    def __init__(
        self,
        store: Store,
        *,
        lifetime: float = 24 * HOUR,
        quota: int = 256 * MEGABYTE,
        most_entries: int = 4_096,
        directory: Path | None = None,
        inventories: InventoryStore | None = None,
        clock: Callable[[], float] = time.time,
        realm: Callable[[], Awaitable[str]] | None = None,
        beside: Path | None = None,
    ) -> None:
        self._store = store
        self.realm = realm
        self._inventories = inventories or _PlainInventoryStore(store)
        self._lifetime = lifetime
        self._quota = quota
        self._most_entries = most_entries
        self._directory = directory
        self._beside = beside
        self._sweep_at = -inf
        self._clock = clock
        self._memory = _EntryCache(REMEMBERED_BYTES)
        # a lock belongs to one event loop, an archive may outlive it
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Put]] = WeakKeyDictionary()
        self._writes: set[asyncio.Task[None]] = set()

    @classmethod
    def in_memory(cls, **options: Any) -> Archive:
        """An archive that ends with the process."""
        return cls(MemoryStore(), **options)

    @classmethod
    def at(cls, directory: str | Path | None = None, **options: Any) -> Archive:
        """An archive in files: in this directory, or in the user's state directory."""
        try:
            from aerogram.archive.files import FileStore
        except ImportError:
            raise MissingExtra("archive", "py-key-value-aio[filetree]") from None
        path = private_directory(Path(directory) if directory else state_directory() / "archive")
        return cls(FileStore(data_directory=path), directory=path, **options)

    @classmethod
    def in_redis(cls, url: str, **options: Any) -> Archive:
        """An archive in Redis, for several machines."""
        from aerogram.archive.redis import RedisInventoryStore, connect, open_store

        client = connect(url)
        return cls(open_store(client), inventories=RedisInventoryStore(client, COLLECTION), **options)

    @classmethod
    def in_bucket(cls, url: str, **options: Any) -> Archive:
        """An archive in S3-compatible object storage, as s3://bucket/prefix?endpoint=URL&region=NAME."""
        try:
            bucket = import_module("aerogram.archive.s3")
        except ImportError:
            raise MissingExtra("s3", "obstore") from None
        opened = bucket.open_bucket(url)
        return cls(bucket.BucketStore(opened), inventories=bucket.BucketInventoryStore(opened), **options)

    async def put(self, *contents: Content, principal: str | None = None) -> tuple[EntryReceipt, ...]:
        """Store contents; when this returns they are on the disk (or wherever the store keeps them).

        The oldest entries of the principal make room when the quota is reached.
        """
        self._refuse_oversized(contents)
        loop = asyncio.get_running_loop()
        put = _Put(await self._owner(principal), contents, loop.create_future())
        if loop in self._waiting:
            self._waiting[loop].append(put)
        else:  # nobody writes, so this one does, for all who come meanwhile
            self._waiting[loop] = [put]
            writing = self._write(self._waiting[loop])
            if isinstance(self._store, MemoryStore):  # which answers at once, so that nobody can go away meanwhile
                await writing
            else:
                task = loop.create_task(writing)
                self._writes.add(task)
                task.add_done_callback(self._writes.discard)
        # a caller that goes away gives up its receipts alone, and the write finishes without them
        return await put.receipts

    async def get(self, hash: str, *, principal: str | None = None) -> Content:
        """The content with that hash, or with a unique beginning of it."""
        return (await self.entry(hash, principal=principal))[0]

    async def entry(self, hash: str, *, principal: str | None = None) -> tuple[Content, float]:
        """As `get`, with the seconds that the entry still has to live."""
        owner = await self._owner(principal)
        digest = await self._full_digest(owner, hash)
        mark = await self._mark(owner, digest)
        content, end = self._memory.recall(_key(owner, digest), mark) or await self._read(owner, digest)
        self._memory.keep(_key(owner, digest), mark, content, end)
        left = end - self._clock()
        if left <= 0:
            raise _not_found(f"sha256:{digest}", "expired")
        return content, left

    async def _owner(self, principal: str | None) -> str:
        """A short stand-in for the principal in the realm of now, so that no store learns its name."""
        realm = await self.realm() if self.realm is not None else ""
        who = b"anyone" if principal is None else b"principal:" + principal.encode("utf-8", "surrogatepass")
        return sha256(b"realm:" + realm.encode() + b"\0" + who if realm else who).hexdigest()[:24]

    async def _read(self, owner: str, digest: str) -> tuple[Content, float]:
        record = await self._ask(self._store.get(_key(owner, digest), collection=COLLECTION))
        if record is None:
            raise _not_found(f"sha256:{digest}", (await self._inventory(owner)).reason_gone(digest, self._clock()))
        is_large = len(str(record.get("body"))) >= LARGE
        return await asyncio.to_thread(_verify, record, digest) if is_large else _verify(record, digest)

    async def _mark(self, owner: str, digest: str) -> Any:
        """What tells whether an entry is still the one that was read; None when nothing does."""
        if isinstance(self._store, MemoryStore):
            record = await self._store.get(_key(owner, digest), collection=COLLECTION)
            return record and record["expires_at"]
        if self._directory is None:
            return (await self._inventory(owner)).live.get(digest)
        try:
            found = (self._directory / COLLECTION / f"{_key(owner, digest)}.json").stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    async def newest(self, *, principal: str | None = None) -> AsyncIterator[Content]:
        """The principal's entries, the newest first; what has just vanished, or is damaged, is passed over."""
        inventory = await self._inventory(await self._owner(principal))
        for digest in reversed(inventory.live):
            with contextlib.suppress(NotFound, IntegrityError):
                yield await self.get(f"sha256:{digest}", principal=principal)

    async def delete(self, hash: str, *, principal: str | None = None) -> bool:
        """Forget an entry; whether there was one."""
        owner = await self._owner(principal)
        async with self._turn():
            try:
                digest = _match(await self._inventory(owner), hash)
            except NotFound:
                return False
            existed = await self._ask(self._store.delete(_key(owner, digest), collection=COLLECTION))
            await self._amend(owner, lambda inventory: inventory.drop(digest))
            return existed

    async def usage(self, *, principal: str | None = None) -> ArchiveUsage:
        """What a principal has stored at the moment."""
        inventory = await self._inventory(await self._owner(principal))
        now = self._clock()
        sizes = [size for size, end in inventory.live.values() if end > now]
        return ArchiveUsage(len(sizes), sum(sizes), self._quota)

    async def sweep(self) -> None:
        """Free the space of expired entries and of writes that were killed; call it now and then.

        Archives in files and in memory do so themselves while they are written to.
        """
        self._sweep_at = time.monotonic() + SWEEP_EVERY
        cull = getattr(self._store, "cull", None)
        if self._directory is not None:
            await self._ask(asyncio.to_thread(self._sweep_files, self._directory))
        elif cull is not None:
            await self._ask(cull())

    def _sweep_files(self, directory: Path) -> None:
        sweep_files(directory, self._clock(), self._lifetime)
        for other in () if self._beside is None else self._beside.iterdir():
            with contextlib.suppress(OSError):  # its owner may keep it to himself
                sweep_files(other, self._clock(), self._lifetime)

    async def _sweep_when_due(self) -> None:
        if self._directory is not None and time.monotonic() >= self._sweep_at:
            try:
                await self.sweep()
            except ReplyError as error:  # it is tried again
                log.warning("the archive cannot be swept: %s", error)

    async def close(self) -> None:
        """Finish the writes whose callers have gone away, and let go of the store's connections."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(one for one in self._writes if one.get_loop() is loop), return_exceptions=True)
        for part in (self._store, self._inventories):
            close = getattr(part, "close", None)
            if close is not None:
                await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _refuse_oversized(self, contents: tuple[Content, ...]) -> None:
        size, count = sum(len(content.body) for content in contents), len({content.hash for content in contents})
        if size > self._quota or count > self._most_entries:
            raise QuotaExceeded(
                f"{count} entries of {size} bytes do not fit into an archive of {self._most_entries} entries"
                f" and {self._quota} bytes",
                remediation="Ask for less at once, or raise the quota of the archive",
                details={"size": size, "quota": self._quota, "entries": count, "most_entries": self._most_entries},
            )

    async def _write(self, waiting: list[_Put]) -> None:
        """Store what is waiting, and then what has come to wait meanwhile, until nothing does."""
        group: list[_Put] = []
        try:
            while waiting:
                group, waiting[:] = waiting[:], []
                for put, outcome in zip(group, await self._outcomes(group), strict=True):
                    put.settle(outcome)
        finally:
            self._waiting.pop(asyncio.get_running_loop(), None)
            for put in (*group, *waiting):
                put.receipts.cancel()  # only where the loop ends before they are stored
        await self._sweep_when_due()

    async def _outcomes(self, group: Sequence[_Put]) -> list[float | Exception]:
        """Until when each is stored, or why it is not."""
        try:
            if self._directory is None:
                async with self._turn():
                    return await self._write_group(group)
            await self._ask(self._store.setup_collection(collection=COLLECTION))  # type: ignore[union-attr]
            # it has many steps, and between two of them a busy loop would let it wait for everybody else
            return await asyncio.to_thread(self._write_files, group, self._directory)
        except Exception as error:  # noqa: BLE001 - told to everybody who waits
            return [error] * len(group)

    def _write_files(self, group: Sequence[_Put], directory: Path) -> list[float | Exception]:
        """Store what is waiting, in a thread of its own; only several owners are worth an event loop."""
        is_shared = len({put.owner for put in group}) > 1
        complete: Any = asyncio.run if is_shared else self._store.complete  # type: ignore[union-attr]
        with _locked(directory):
            found: list[float | Exception] = complete(self._write_group(group))
            return found

    async def _write_group(self, group: Sequence[_Put]) -> list[float | Exception]:
        owners: dict[str, list[_Put]] = {}
        for put in group:
            owners.setdefault(put.owner, []).append(put)
        if len(owners) == 1:  # mostly; then nobody is to be waited for by turns
            found = [await self._write_for(group[0].owner, group)]
        else:
            found = await asyncio.gather(*(self._write_for(owner, puts) for owner, puts in owners.items()))
        outcomes = {id(put): outcome for part in found for put, outcome in part}
        return [outcomes[id(put)] for put in group]

    async def _write_for(self, owner: str, puts: Sequence[_Put]) -> list[tuple[_Put, float | Exception]]:
        """Store what one owner has put, all of it under one inventory."""
        try:
            end = await self._store_contents(owner, [content for put in puts for content in put.contents])
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            is_away = self._directory is None and isinstance(error, Unavailable)
            if len(puts) == 1 or is_away:  # it would let each of them wait as long
                return [(put, error) for put in puts]
            # there may be no room for one of them alone
            return [outcome for put in puts for outcome in await self._write_for(owner, [put])]
        return [(put, end) for put in puts]

    async def _store_contents(self, owner: str, contents: Sequence[Content]) -> float:
        """Store contents and take them into the inventory; until when they are there."""
        end = self._clock() + self._lifetime
        entries: dict[str, Content] = {}
        for content in sorted(contents, key=_rank):
            entries[_digest(content.hash)] = content

        def admit(inventory: Inventory) -> list[str]:
            expired = inventory.expire(self._clock())
            sizes = {digest: len(content.body) for digest, content in entries.items()}
            return expired + inventory.admit(sizes, end, self._quota, self._most_entries)

        async def write() -> None:
            keys = [_key(owner, digest) for digest in entries]
            kept = [await self._keep_kind(key, one) for key, one in zip(keys, entries.values(), strict=True)]
            records = [_record_of(content, end) for content in kept]
            await self._ask(self._store.put_many(keys, records, collection=COLLECTION, ttl=self._lifetime))

        await self._amend(owner, admit, write)
        return end

    async def _keep_kind(self, key: str, content: Content) -> Content:
        """The content, as what the same bytes were put as before where that says more of them.

        Data that was put away stays data when a text spells it the same, which is given back by `as_text`.
        """
        if content.kind == "json" or (content.kind == "text" and not content.spells_json):
            return content
        try:
            record = await self._ask(self._store.get(key, collection=COLLECTION))
            found = content if record is None else _verify(record, _digest(content.hash))[0]
        except IntegrityError:  # it is written anew
            return content
        return found if _rank(found) > _rank(content) else content

    async def _amend(
        self, owner: str, change: Callable[[Inventory], list[str]], before: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Change an inventory and remove the entries that the change retires; again, when somebody else was faster.

        What is done `before` lies between reading and writing: whoever has removed it meanwhile has written too.
        """
        for attempt in range(MOST_ATTEMPTS):
            inventory, version = await self._read_inventory(owner)
            retired = change(inventory)
            if before is not None:
                await before()
            gone = [_key(owner, digest) for digest in retired if digest not in inventory.live]
            # it outlives its entries, so that an expired one can be told from one that never was
            life = self._lifetime + max(self._lifetime, 7 * 24 * HOUR)
            if await self._ask(self._inventories.write(owner, inventory.record(), version, life, gone)):
                return
            await asyncio.sleep(random() * 0.002 * (attempt + 1))  # noqa: S311 - only to come at different times
        raise Unavailable("The archive is busy at the moment", remediation="Try again", retry_after=RETRY_AFTER)

    async def _full_digest(self, owner: str, hash: str) -> str:
        digest = _digest(hash)
        return digest if len(digest) == DIGEST_LENGTH else _match(await self._inventory(owner), hash)

    async def _inventory(self, owner: str) -> Inventory:
        return (await self._read_inventory(owner))[0]

    async def _read_inventory(self, owner: str) -> tuple[Inventory, Any]:
        version = None
        try:
            record, version = await self._ask(self._inventories.read(owner))
            return Inventory.read(record), version
        except IntegrityError:
            return Inventory(), version  # the entries do not depend on it; only the sum and the reasons start anew

    async def _ask(self, answer: Awaitable[T]) -> T:
        """What the store answers; a record it cannot parse was tampered with, other failures mean it is down."""
        try:
            return await answer
        except ReplyError:
            raise
        except Exception as error:
            if isinstance(error, _UNREADABLE) or type(error).__name__ == "DeserializationError":
                raise IntegrityError("A stored entry is damaged and was not used", remediation=CALL_AGAIN) from error
            log.warning("the archive cannot be reached: %s", one_line(str(error)[:REASON]))
            raise Unavailable(
                "The archive cannot be reached at the moment",
                remediation="Try again later",
                details={"store": "archive"},
                retry_after=RETRY_AFTER,
            ) from error

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One at a time may change inventories, of this process and, where they are files, of all."""
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._directory is None:
                yield
                return
            with contextlib.ExitStack() as stack:
                # in a thread, because another process may hold it for a while
                await asyncio.to_thread(stack.enter_context, _locked(self._directory))
                yield


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(file_lock(directory / LOCK, within=LOCK_WITHIN))
        except OSError as error:
            message = "The archive's directory cannot be used at the moment"
            raise Unavailable(message, retry_after=RETRY_AFTER) from error
        yield


_KINDS: Final[tuple[Kind, ...]] = ("bytes", "text", "json")
"""What says more of the same bytes comes later."""


def _rank(content: Content) -> int:
    return _KINDS.index(content.kind) if content.kind in _KINDS else 0


def _key(owner: str, digest: str) -> str:
    return f"{owner}_{digest}"


def _digest(hash: str) -> str:
    digest = hash.removeprefix("sha256:").lower()
    if not SHORTEST_PREFIX <= len(digest) <= DIGEST_LENGTH or set(digest) - set("0123456789abcdef"):
        raise NotFound(
            "That is not the hash of an archive entry",
            remediation=f"Use a hash that a reply names: {DIGEST_LENGTH} hex digits, or its first {SHORTEST_PREFIX}",
        )
    return digest


def _match(inventory: Inventory, hash: str) -> str:
    """The one digest that begins as `hash` does."""
    beginning = _digest(hash)
    found = [digest for digest in (*inventory.live, *inventory.gone) if digest.startswith(beginning)]
    if len(found) != 1:
        raise _not_found(hash, None)
    return found[0]


def _not_found(hash: str, reason: str | None) -> NotFound:
    what = _GONE_WORDS.get(reason or "", "is not in your archive")
    return NotFound(
        f"The entry {hash[:19]}… {what}", remediation=CALL_AGAIN, details={"hash": hash, "reason": reason or "unknown"}
    )


def _record_of(content: Content, end: float) -> dict[str, Any]:
    if content.kind == "bytes":
        return {"kind": "bytes", "body": base64.b64encode(content.body).decode(), "expires_at": end}
    return {"kind": content.kind, "body": content.stored_body.decode(), "expires_at": end}


def _verify(record: dict[str, Any], digest: str) -> tuple[Content, float]:
    """The content of a record and when it ends, once its hash has been checked."""
    try:
        kind, body = record["kind"], record["body"]
        written = base64.b64decode(body, validate=True) if kind == "bytes" else body.encode()
        content = Content.of_written(kind, written)
        sound = kind in get_args(Kind) and content.hash == f"sha256:{digest}"
        end = float(record["expires_at"])
    except (KeyError, AttributeError, TypeError, ValueError, binascii.Error, ContractError):
        sound = False
    if not sound:
        raise IntegrityError(
            "A stored entry does not match its hash and was not used",
            remediation=CALL_AGAIN,
            details={"hash": f"sha256:{digest}"},
        )
    return content, end


# The inventory


REMEMBERED_GONE: Final = 1_000


@dataclass(slots=True)
class Inventory:
    """What a principal has (`live`: digest -> size and expiry, oldest first) and what is gone, with the reason."""

    live: dict[str, tuple[int, float]] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, record: dict[str, Any] | str | bytes | None) -> Inventory:
        """The inventory in a record, or in the JSON of one; none is an empty one."""
        if record is None:
            return cls()
        try:
            record = json.loads(record) if isinstance(record, (str, bytes)) else record
            live = {digest.lower(): (int(size), float(end)) for digest, size, end in record["live"]}
            return cls(live, {digest.lower(): reason for digest, reason in record["gone"]})
        except _UNREADABLE as error:
            raise IntegrityError("The inventory of an archive is damaged") from error

    def record(self) -> dict[str, Any]:
        """The inventory as JSON."""
        # lists, because stores sort the keys of an object and the order here is age: ends depend on the clock
        gone = [list(pair) for pair in self.gone.items()]
        return {"live": [[digest, *row] for digest, row in self.live.items()], "gone": gone[-REMEMBERED_GONE:]}

    def reason_gone(self, digest: str, now: float) -> str | None:
        """Why an entry is not there any more: expired, deleted or evicted; None when it never was."""
        self.expire(now)
        return self.gone.get(digest)

    def retire(self, digest: str, reason: str) -> None:
        """Note that an entry is gone, and why."""
        self.live.pop(digest, None)
        self.gone[digest] = reason

    def drop(self, digest: str) -> list[str]:
        """Retire what its owner has deleted."""
        if digest in self.live:
            self.retire(digest, "deleted")
        return []

    def expire(self, now: float) -> list[str]:
        """Retire what has ended; its digests."""
        ended = [digest for digest, (_, end) in self.live.items() if end <= now]
        for digest in ended:
            self.retire(digest, "expired")
        return ended

    def admit(self, sizes: Mapping[str, int], end: float, quota: int, most_entries: int) -> list[str]:
        """Note entries that are there until `end`; the oldest make room for them. The digests of what is retired."""
        for digest in sizes:
            self.live.pop(digest, None)
            self.gone.pop(digest, None)
        self.live |= {digest: (size, end) for digest, size in sizes.items()}
        total = sum(size for size, _ in self.live.values())
        evicted = []
        for digest in list(self.live):
            if total <= quota and len(self.live) <= most_entries:
                break
            total -= self.live[digest][0]
            self.retire(digest, "evicted")
            evicted.append(digest)
        return evicted
