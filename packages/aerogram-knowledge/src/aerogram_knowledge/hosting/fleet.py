"""Fleet: what the servers of an organisation have in common besides the index, as the settings say.

    --redis        limits, quotas, response cache, archive, and one clock for all of them
    --archive      what replies left out: a folder, a Redis, or S3-compatible storage

Without any of them a server keeps all this to itself: in memory, and beside its index.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from aerogram.archive import Archive
from aerogram.content.line import one_line
from aerogram.contract.cache import Cache
from aerogram.errors import MissingExtra
from aerogram.limits import Limits, Plan
from aerogram.state import can_write, state_directory
from aerogram_knowledge.hosting.addresses import scheme_of
from aerogram_knowledge.hosting.drain import Drain
from aerogram_knowledge.hosting.metrics import Metrics
from aerogram_knowledge.hosting.settings import BadSetting, Settings
from aerogram_page.paths import FILES

__all__ = ["CACHED", "RedisClock", "SharedParts"]

log = logging.getLogger("aerogram.server")

_AWAY: Final = (
    "the shared clock cannot be read, because Redis does not answer: %s; until it does, nothing is kept in it, neither "
    "answers nor what was left out of them, and calls with limits are refused"
)

CACHED: Final = ("semantic_search", "find_vendor_info", "get_chunks")
"""Operations whose answers may be given again; a digest also archives, so it is made anew."""
FREE: Final = ("health", FILES)
"""What costs nobody anything: balancers and browsers ask for it all the time, and without a key."""
DEEP_HEALTH: Final = "deep_health"
"""What says that limits cannot be counted, and why."""
AGREE_EVERY: Final = 30.0
"""Seconds after which the clock is compared again."""


class SharedParts:
    """The parts of one server that it may share with others."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.redis = settings.redis
        self.clock: Callable[[], float] = RedisClock(settings.redis) if settings.redis else time.time
        self.drain = Drain()
        self.metrics = Metrics(settings.metrics, self.drain)
        self.archive = self._open_archive()
        self.cache = self._open_cache()

    def limits(self, plan: Callable[[str | None], Plan]) -> Limits:
        """The limits of callers, counted by all servers together if there is a Redis."""
        told: dict[str, Any] = {"clock": self.clock, "free": FREE, "on_outage": (DEEP_HEALTH,)}
        return Limits.in_memory(plan, **told) if self.redis is None else Limits.in_redis(self.redis, plan, **told)

    async def ping(self) -> dict[str, Any]:
        """What Redis, or Valkey, says of itself."""
        from aerogram.archive.redis import connect

        assert self.redis is not None
        client = connect(self.redis)
        try:
            said = await client.info("server")
            valkey = said.get("valkey_version")
            return {"engine": f"Valkey {valkey}" if valkey else f"Redis {said['redis_version']}"}
        finally:
            await client.aclose()

    def _open_archive(self) -> Archive:
        place = self._settings.archive or self.redis or _archive_beside(self._settings.folder)
        if isinstance(place, Path):
            return Archive.at(place, clock=self.clock)
        if scheme_of(place) != "s3":
            return Archive.in_redis(place, clock=self.clock)
        try:
            return Archive.in_bucket(place, clock=self.clock)
        except ValueError as error:
            raise BadSetting("archive", self._settings.origin("archive"), str(error)) from None

    def _open_cache(self) -> Cache | None:
        seconds = self._settings.cache
        if not seconds:
            return None
        where = self._settings.where  # answers are of one index
        index = where if isinstance(where, str) else str(where.absolute())
        kept: dict[str, Any] = {"fresh_for": seconds, "clock": self.clock, "owner": index}
        return Cache.in_memory(**kept) if self.redis is None else Cache.in_redis(self.redis, **kept)


def _archive_beside(index: Path) -> Path:
    """Where left-out content is kept if nobody says: with the index, or where other state is if that is read-only."""
    if can_write(index):
        return index / "archive"
    place = state_directory() / "archive"
    log.warning("%s cannot be written, so left-out content is kept in %s", index, place)
    return place


class RedisClock:
    """The time by the clock of a Redis, so that servers whose own clocks differ agree when something ends.

    It is asked now and then, in a thread; between the answers, and while there is none, time goes on from the last.
    """

    def __init__(self, url: str) -> None:
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise MissingExtra("redis", "redis") from None
        options: Any = {"retry": Retry(NoBackoff(), 0), "protocol": 2}  # as `connection_options` has it
        self._client = Redis.from_url(url, socket_timeout=1.0, socket_connect_timeout=1.0, **options)
        self._ahead = time.time() - time.monotonic()
        self._agree()
        threading.Thread(target=self._keep_agreeing, daemon=True, name="aerogram-clock").start()

    def __call__(self) -> float:
        """Seconds since 1970."""
        return time.monotonic() + self._ahead

    def _agree(self) -> None:
        asked = time.monotonic()
        try:
            seconds, microseconds = self._client.time()
        except Exception as error:  # noqa: BLE001 - the time goes on without it
            log.warning(_AWAY, one_line(str(error)))
            return
        answered = time.monotonic()
        self._ahead = seconds + microseconds / 1e6 - (asked + answered) / 2

    def _keep_agreeing(self) -> None:
        while True:
            time.sleep(AGREE_EVERY)
            self._agree()
