"""The response cache: answers of handlers, kept for a while, per operation, arguments and principal. It is opt-in.

    fetch(key, produce) ── fresh entry ────────────▶ that, with cache_hit
                        ├─ none ── produce ─ works ─▶ a new answer, kept; CACHE_MISS_SLOW when it took long
                        └─ old  ── produce ─ fails ─▶ the old answer with STALE_CACHE, if it is not too old

A contract puts it around the handler and its normalisation, before sanitising and shaping, so that one entry serves
every mode, page and budget. Whoever asks while an answer is being produced waits for it instead of producing it
again. Only whole, successful replies are kept; what belongs to one call (its id, time, limits, telemetry) is not.
A failure is covered by an old answer only when it is the server's own: a refusal is an answer. A store that is down
makes the cache useless, never the call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypeGuard
from weakref import WeakKeyDictionary, WeakValueDictionary

from aerogram.content import canonical_json, read_json
from aerogram.content.jsontext import dumps
from aerogram.dialects.protocol import leftover, restore
from aerogram.errors import ContractError, MissingExtra
from aerogram.problems import problem_of
from aerogram.reply import Notice, Problem, Reply, Telemetry
from aerogram.state import private_directory, state_directory

if TYPE_CHECKING:
    from key_value.aio.protocols import AsyncKeyValue

__all__ = ["UNKEPT", "Cache"]

log = logging.getLogger("aerogram")

Outcome: TypeAlias = Reply[Any] | Exception
Produce: TypeAlias = Callable[[], Awaitable[Reply[Any]]]
Flights: TypeAlias = "WeakValueDictionary[str, _PendingAnswer]"

COLLECTION: Final = "aerogram_cache"
MEGABYTE: Final = 1_000_000
PEACE: Final = 10
"""For so many seconds a store that failed is not asked again."""
_OF_ONE_CALL: Final = frozenset({"request_id", "timestamp", "client_tag", "rate_limit", "telemetry"})
_KEPT: Final = frozenset({"ok", "empty"})
_COVERED: Final = frozenset({"internal", "unavailable"})
UNKEPT: Final = Reply.failed("INTERNAL_ERROR", "this outcome is not for the cache")
"""What `produce` gives when there is an outcome of which nothing is kept, and for which nothing old is given either."""
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class _CachedReply:
    reply: Reply[Any]
    age: float


class _PendingAnswer:
    """One answer in the making, and those who wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.landings = 0
        self.outcome: Outcome = Reply()


class Cache:
    """Keeps answers for `fresh_for` seconds, and for `stale_for` more in case of need.

    `owner` names the server whose answers these are; a server that is given a cache without one puts its own name.
    `realm` names what the answers of now belong to: those of another owner or realm are not given.
    """

    def __init__(
        self,
        store: AsyncKeyValue,
        *,
        fresh_for: float = 300.0,
        stale_for: float = 86_400.0,
        slow_after: float = 1.0,
        largest: int = MEGABYTE,
        clock: Callable[[], float] = time.time,
        owner: str = "",
        realm: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        self._store = store
        self.owner = owner
        self.realm = realm
        self._fresh_for = fresh_for
        self._stale_for = stale_for
        self._slow_after = slow_after
        self._largest = largest
        self._clock = clock
        self._down_until = 0.0
        # nobody who waits is woken by another event loop
        self._flights: WeakKeyDictionary[asyncio.AbstractEventLoop, Flights] = WeakKeyDictionary()

    @classmethod
    def in_memory(cls, *, most_entries: int = 1_000, **options: Any) -> Self:
        """A cache that ends with the process."""
        try:
            from key_value.aio.stores.memory import MemoryStore
        except ImportError:
            raise MissingExtra("archive", "py-key-value-aio[memory]") from None
        return cls(MemoryStore(max_entries_per_collection=most_entries), **options)

    @classmethod
    def at(cls, directory: str | Path | None = None, **options: Any) -> Self:
        """A cache in files: in this directory, or in the user's state directory."""
        try:
            from aerogram.archive.files import FileStore
        except ImportError:
            raise MissingExtra("archive", "py-key-value-aio[filetree]") from None
        path = private_directory(Path(directory) if directory else state_directory() / "cache")
        return cls(FileStore(data_directory=path), **options)

    @classmethod
    def in_redis(cls, url: str, **options: Any) -> Self:
        """A cache that several processes share."""
        from aerogram.archive.redis import connect, open_store

        return cls(open_store(connect(url)), **options)

    def owned_by(self, owner: str) -> Self:
        """The same cache as one server has it; a cache that has an owner keeps it."""
        if self.owner:
            return self
        owned = copy(self)
        owned.owner = owner
        return owned

    @staticmethod
    def key(
        operation: str, arguments: Mapping[str, Any], principal: str | None = None, *, apart: str | None = ""
    ) -> str | None:
        """What stands for a call; None when its arguments are not JSON, and the call cannot be cached.

        `apart` is whatever else tells calls apart, such as a digest of the caller's credentials; None where there is
        such a thing and it cannot be told, so that the call cannot be cached either.
        """
        if apart is None:
            return None
        told = [operation, arguments, principal, apart] if apart else [operation, arguments, principal]
        try:
            return sha256(canonical_json(told)).hexdigest()
        except ContractError:
            return None

    async def fetch(self, key: str | None, produce: Produce, *, request_id: str | None = None) -> Reply[Any]:
        """The answer to a call: a kept one while it is fresh, else what `produce` gives."""
        if key is None:
            return await produce()
        key = await self._place(key)
        held = await self._read(key)
        if held is not None and held.age <= self._fresh_for:
            return _hit(held.reply)
        return await self._produce_once(key, held, produce, request_id)

    async def forget(self, key: str) -> bool:
        """Drop an entry; whether there was one."""
        place = await self._place(key)
        return bool(await self._ask(lambda: self._store.delete(place, collection=COLLECTION)))

    async def close(self) -> None:
        """Let go of the store's connections."""
        close = getattr(self._store, "close", None)
        if close is not None:
            await close()

    async def _place(self, key: str) -> str:
        realm = await self.realm() if self.realm is not None else ""
        return sha256(canonical_json([self.owner, realm, key])).hexdigest() if self.owner or realm else key

    async def _produce_once(
        self, key: str, held: _CachedReply | None, produce: Produce, request_id: str | None
    ) -> Reply[Any]:
        """Produce the answer, or wait for the one who does and share what came of it."""
        flights = self._flights.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        flight = flights.setdefault(key, _PendingAnswer())
        arrived = flight.landings
        async with flight.lock:
            if flight.landings == arrived:
                started = time.perf_counter()
                outcome = flight.outcome = await _outcome(produce)
                flight.landings += 1
                if _is_answer(outcome):
                    return await self._store_answer(key, outcome, time.perf_counter() - started)
            outcome = flight.outcome
            return _hit(outcome) if _is_answer(outcome) else self._answer_failure(held, outcome, request_id)

    async def _store_answer(self, key: str, reply: Reply[Any], seconds: float) -> Reply[Any]:
        if reply.status in _KEPT:
            await self._write(key, reply)
        notices = reply.notices
        if seconds > self._slow_after:
            notices = (*notices, Notice.of("CACHE_MISS_SLOW", duration_ms=round(seconds * 1000)))
        return reply.replace(notices=notices, telemetry=replace(reply.telemetry or Telemetry(), cache_hit=False))

    def _answer_failure(self, held: _CachedReply | None, failure: Outcome, request_id: str | None) -> Reply[Any]:
        """The old answer in place of the server's own failure; else the failure."""
        if held is not None and failure is not UNKEPT:
            problem = failure.problem if isinstance(failure, Reply) else problem_of(failure, request_id=request_id)
            if problem is not None and problem.kind in _COVERED:
                return _hit(held.reply, self._stale_notice(held.age, problem))
        if isinstance(failure, Exception):
            raise failure
        return failure

    def _stale_notice(self, age: float, problem: Problem) -> Notice:
        return Notice.of(
            "STALE_CACHE",
            f"Cache data is {_age_text(age)} old",
            suggestion="Ask again later for fresh data",
            cache_age_seconds=round(age),
            max_freshness_seconds=self._fresh_for,
            reason=problem.code,
        )

    async def _read(self, key: str) -> _CachedReply | None:
        record = await self._ask(lambda: self._store.get(key, collection=COLLECTION))
        if record is None:
            return None
        try:
            age = max(self._clock() - float(record["stored_at"]), 0.0)
            reply = restore({}, read_json(record["reply"].encode()), "cache", "")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            log.warning("an entry of the response cache is damaged: %s", error)
            return None
        return _CachedReply(reply, age) if age <= self._fresh_for + self._stale_for else None

    async def _write(self, key: str, reply: Reply[Any]) -> None:
        try:
            body = dumps(leftover(_shareable_fields(reply), {}))
        except ContractError:
            return  # what is not JSON cannot be kept; whoever sends it will say so
        if len(body) <= self._largest:
            record = {"reply": body.decode(), "stored_at": self._clock()}
            lifetime = self._fresh_for + self._stale_for
            await self._ask(lambda: self._store.put(key, record, collection=COLLECTION, ttl=lifetime))

    async def _ask(self, question: Callable[[], Awaitable[Any]]) -> Any:
        """What the store says; nothing while it is down, and then it is left in peace for a while."""
        if time.monotonic() < self._down_until:
            return None
        try:
            return await question()
        except Exception as error:  # noqa: BLE001 - a cache that is down is an empty cache
            self._down_until = time.monotonic() + PEACE
            log.warning("the response cache cannot be used for %d s: %s", PEACE, error)
            return None


async def _outcome(produce: Produce) -> Outcome:
    try:
        return await produce()
    except Exception as error:  # noqa: BLE001 - whatever it is, an old answer may cover it
        return error


def _is_answer(outcome: Outcome) -> TypeGuard[Reply[Any]]:
    return isinstance(outcome, Reply) and outcome.problem is None


def _shareable_fields(reply: Reply[Any]) -> dict[str, Any]:
    """What a reply says that holds for other calls as well."""
    return {name: value for name, value in reply.present_fields().items() if name not in _OF_ONE_CALL}


def _hit(reply: Reply[Any], *notices: Notice) -> Reply[Any]:
    said = _shareable_fields(reply)
    said["notices"] = (*reply.notices, *notices)
    return Reply(**said, telemetry=Telemetry(cache_hit=True))


def _age_text(seconds: float) -> str:
    """An age in words, by its largest unit."""
    length, unit = next((row for row in _UNITS if seconds >= row[0]), _UNITS[-1])
    count = int(seconds // length)
    return f"{count} {unit}{'' if count == 1 else 's'}"
