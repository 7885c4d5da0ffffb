"""Counters: where bursts and quotas are counted, in this process or in Redis. They are throttled-py's stores.

A burst is counted by throttled's GCRA. A quota is counted by an action of our own on the same stores, because
throttled's windows have a fixed number of seconds and count refused calls, while a month has a calendar and a
refused call costs nothing. Several quotas are taken together or not at all, in one atomic step.

    Limits ──▶ Counters ── MemoryCounters      one process, no waiting
                       └── RedisCounters       every process that shares the Redis
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ClassVar, Final, NamedTuple

from throttled import MemoryStore, Quota, Rate, Throttled, asyncio
from throttled.constants import RateLimiterType
from throttled.exceptions import StoreUnavailableError
from throttled.store import BaseMemoryAtomicAction

from aerogram.content.line import one_line
from aerogram.errors import Unavailable

__all__ = ["BurstCount", "BurstRate", "Counters", "MemoryCounters", "QuotaCount", "RedisCounters"]

log = logging.getLogger("aerogram")

MOST_COUNTS: Final = 100_000
"""In memory, the least recently seen counts beyond this many are forgotten."""
RETRY_AFTER: Final = 2.0
_GCRA: Final = RateLimiterType.GCRA.value
_PREFIX: Final = "aerogram"


class BurstRate(NamedTuple):
    """So many calls in so many seconds, and how many of them may come at once."""

    calls: int
    seconds: int
    capacity: int


class BurstCount(NamedTuple):
    """What a burst limit says to one more call."""

    refused: bool
    remaining: int
    reset_after: float
    retry_after: float


class QuotaCount(NamedTuple):
    """One quota to be taken from: where it is counted, its cap (-1 for none), and how many seconds it still lives."""

    key: str
    cap: int
    seconds_left: int
    policy: str = ""


class Counters(ABC):
    """Counts calls and units, exactly, for whoever shares the store."""

    @abstractmethod
    async def burst(self, key: str, rate: BurstRate, *, costs: bool = True) -> BurstCount:
        """One more call under a burst limit; one that is refused, or that does not cost, is not counted."""

    @abstractmethod
    async def take(self, quotas: Sequence[QuotaCount], units: int) -> tuple[bool, list[int]]:
        """Take units from all quotas, or from none: whether that was refused, and what is used of each.

        Negative units are given back.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections."""


def _quota(rate: BurstRate) -> Quota:
    return Quota(Rate(timedelta(seconds=rate.seconds), rate.calls), burst=rate.capacity)


def _flat(quotas: Sequence[QuotaCount], units: int) -> tuple[list[str], list[int]]:
    rows = [number for one in quotas for number in (one.cap, max(one.seconds_left, 1))]
    return [f"{_PREFIX}:quota:{one.key}" for one in quotas], [units, *rows]


class _TakeInMemory(BaseMemoryAtomicAction):
    """Take from several quotas or from none; the store's lock makes it one step."""

    TYPE = "quota"

    @classmethod
    def _do(cls, backend: Any, keys: Sequence[str], args: Sequence[Any] | None) -> tuple[int | float, ...]:
        units, *rows = args or [0]
        used = [int(backend.get(key) or 0) for key in keys]
        if any(cap >= 0 and held + units > cap for held, cap in zip(used, rows[::2], strict=True)):
            return (1, *used)
        after = [max(held + units, 0) for held in used]
        for key, count, seconds in zip(keys, after, rows[1::2], strict=True):
            backend.set(key, count, seconds)
        return (0, *after)


class _TakeInRedis(asyncio.store.BaseRedisAtomicAction):
    """The same in Redis, as a script, which nothing else can interrupt."""

    TYPE = "quota"
    SCRIPT: ClassVar[str] = """
    local units = tonumber(ARGV[1])
    local used = {}
    local refused = 0
    for i, key in ipairs(KEYS) do
        used[i] = tonumber(redis.call("GET", key) or "0")
        local cap = tonumber(ARGV[2 * i])
        if cap >= 0 and used[i] + units > cap then refused = 1 end
    end
    if refused == 0 then
        for i, key in ipairs(KEYS) do
            used[i] = math.max(used[i] + units, 0)
            redis.call("SET", key, used[i], "EX", ARGV[2 * i + 1])
        end
    end
    return {refused, unpack(used)}
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._script = self._register_script(self.SCRIPT)

    async def do(self, keys: Sequence[str], args: Sequence[Any] | None) -> tuple[int | float, ...]:
        answer: list[int] = await self._script(keys, args)
        return tuple(answer)


class MemoryCounters(Counters):
    """Counts in this process."""

    def __init__(self) -> None:
        self._store = MemoryStore(options={"MAX_SIZE": MOST_COUNTS})
        self._take = _TakeInMemory(self._store._backend)
        self._limiters: dict[BurstRate, Throttled] = {}

    async def burst(self, key: str, rate: BurstRate, *, costs: bool = True) -> BurstCount:
        """One more call, counted at once."""
        if rate not in self._limiters:
            self._limiters[rate] = Throttled(using=_GCRA, quota=_quota(rate), store=self._store, key_prefix=_PREFIX)
        limiter = self._limiters[rate]
        return _burst_count(limiter.limit(key)) if costs else _burst_state(limiter.peek(key))

    async def take(self, quotas: Sequence[QuotaCount], units: int) -> tuple[bool, list[int]]:
        """Units of all quotas or of none, under the store's lock."""
        return _parse_take(self._take.do(*_flat(quotas, units)))

    async def close(self) -> None:
        """There is nothing to let go of."""


class RedisCounters(Counters):
    """Counts in a Redis, however many processes share it; throttled's URLs of sentinels and clusters work too."""

    def __init__(self, url: str) -> None:
        from aerogram.archive.redis import connection_options

        self._store = asyncio.RedisStore(server=url, options={"CONNECTION_POOL_KWARGS": connection_options()})
        self._take = _TakeInRedis(self._store._backend)
        self._limiters: dict[BurstRate, asyncio.Throttled] = {}

    async def burst(self, key: str, rate: BurstRate, *, costs: bool = True) -> BurstCount:
        """One more call, counted by a script."""
        if rate not in self._limiters:
            self._limiters[rate] = asyncio.Throttled(
                using=_GCRA, quota=_quota(rate), store=self._store, key_prefix=_PREFIX
            )
        limiter = self._limiters[rate]
        with _reaching_the_store():
            return _burst_count(await limiter.limit(key)) if costs else _burst_state(await limiter.peek(key))

    async def take(self, quotas: Sequence[QuotaCount], units: int) -> tuple[bool, list[int]]:
        """Units of all quotas or of none, by a script."""
        with _reaching_the_store():
            return _parse_take(await self._take.do(*_flat(quotas, units)))

    async def close(self) -> None:
        """Close the connections."""
        client: Any = self._store._backend.get_client()
        await client.aclose(close_connection_pool=True)


def _burst_count(result: Any) -> BurstCount:
    state = result.state
    return BurstCount(result.limited, state.remaining, state.reset_after, state.retry_after)


def _burst_state(state: Any) -> BurstCount:
    return BurstCount(state.remaining < 1, state.remaining, state.reset_after, state.retry_after)


def _parse_take(answer: Sequence[Any]) -> tuple[bool, list[int]]:
    return bool(answer[0]), [int(used) for used in answer[1:]]


@contextmanager
def _reaching_the_store() -> Iterator[None]:
    try:
        yield
    except (StoreUnavailableError, OSError) as error:
        log.warning("limits cannot be counted: %s", one_line(str(error.__cause__ or error)))
        raise Unavailable(
            "Limits cannot be counted at the moment",
            remediation="Try again later",
            details={"store": "limits"},
            retry_after=RETRY_AFTER,
        ) from error
