"""Limits: how much a caller may ask for, and what is left of it.

A burst ("100/minute") is a rate: calls are let through as they come until too many came at once. A quota
("1000/day", "20000/month") is a number of billable units between two dates of the calendar. Both hold per
principal, over all tools or for one.

    take(principal, tool) ──▶ Allowance(rate_limit, notices)     before the handler runs
                          └─▶ RateLimited | QuotaExceeded        with retry_after and the state
    settle(allowance, units)                                     after it: what the call really cost

A refused call costs nothing. A contract takes before the handler, puts `rate_limit` and `notices` into the reply,
and settles with 0 units when the call failed.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, cast
from zoneinfo import ZoneInfo

from aerogram.errors import MissingExtra, QuotaExceeded, RateLimited, Unavailable
from aerogram.reply import Notice, RateLimit, utc_timestamp

if TYPE_CHECKING:
    from aerogram.limits.counters import Counters, QuotaCount

__all__ = [
    "ALLOWED",
    "Allowance",
    "Burst",
    "Limits",
    "Plan",
    "Quota",
    "QuotaUsage",
    "TooFast",
    "UsedUp",
    "parse_plan",
]

log = logging.getLogger("aerogram")

Period: TypeAlias = Literal["day", "month"]

EVERY_TOOL: Final = "*"
DAY: Final = 86_400
NEARLY: Final = 0.2
"""A caller is warned when less than this share of a limit is left."""
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600}
_CALENDAR: Final[Mapping[str, Period]] = {"day": "day", "month": "month"}
_SPELLED: Final = re.compile(r"\s*([0-9]{1,12})\s*/\s*(second|minute|hour|day|month)\s*")


@dataclass(frozen=True, slots=True)
class Burst:
    """So many calls in so many seconds; `at_once` of them may come together (all, unless it says otherwise)."""

    calls: int
    seconds: int
    at_once: int | None = None

    def __post_init__(self) -> None:
        if min(self.calls, self.seconds, self.at_once or 1) < 1:
            raise ValueError("a burst limit needs at least one call in at least one second")

    @property
    def period(self) -> str:
        """The word for its length."""
        return next((word for word, length in _SECONDS.items() if length == self.seconds), f"{self.seconds} seconds")

    @property
    def name(self) -> str:
        """How it is written."""
        return f"{self.calls}/{self.period}"


@dataclass(frozen=True, slots=True)
class Quota:
    """So many billable units a day or a month, as the calendar of `zone` counts them; None only meters them."""

    units: int | None
    period: Period
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.units is not None and self.units < 0:
            raise ValueError("a quota is not negative")

    @property
    def name(self) -> str:
        """How it is written."""
        return f"{'∞' if self.units is None else self.units}/{self.period}"

    def window(self, now: float) -> tuple[dt.datetime, dt.datetime]:
        """The first moment of the present day or month, and that of the next."""
        today = dt.datetime.fromtimestamp(now, ZoneInfo(self.zone)).replace(hour=0, minute=0, second=0, microsecond=0)
        if self.period == "day":
            return today, today + dt.timedelta(days=1)
        first = today.replace(day=1)
        return first, (first + dt.timedelta(days=32)).replace(day=1)


Limit: TypeAlias = Burst | Quota
Spelled: TypeAlias = str | Burst | Quota


def _limit(given: Spelled, zone: str) -> Limit:
    if not isinstance(given, str):
        return given
    found = _SPELLED.fullmatch(given)
    if found is None:
        raise ValueError(f"a limit is written as '100/minute' or '1000/day', not {given!r}")
    number, period = int(found[1]), found[2]
    return Quota(number, _CALENDAR[period], zone) if period in _CALENDAR else Burst(number, _SECONDS[period])


@dataclass(frozen=True, slots=True)
class Plan:
    """The limits of a caller: over all tools, and for each tool by name (`*` is for those that have no entry)."""

    overall: tuple[Limit, ...] = ()
    per_tool: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, *overall: Spelled, per_tool: Mapping[str, Spelled | Iterable[Spelled]] | None = None, zone: str = "UTC"
    ) -> Self:
        """A plan from limits as they are written; days and months begin at midnight in `zone`."""
        tools = {
            tool: tuple(_limit(one, zone) for one in ((said,) if isinstance(said, (str, Burst, Quota)) else said))
            for tool, said in (per_tool or {}).items()
        }
        return cls(tuple(_limit(one, zone) for one in overall), tools)

    def rules(self, tool: str) -> list[tuple[str, Limit]]:
        """The limits that a call of the tool is under, each with the scope it is counted in."""
        own = self.per_tool.get(tool, self.per_tool.get(EVERY_TOOL, ()))
        return [("", one) for one in self.overall] + [(tool, one) for one in own]


@dataclass(frozen=True, slots=True)
class LimitState:
    """Where a caller stands under one limit."""

    policy: str
    limit: int
    remaining: int
    window_seconds: int
    resets_at: float
    retry_after: float | None = None

    @property
    def share_left(self) -> float:
        """What is left, as a share of the whole."""
        return self.remaining / self.limit if self.limit else 0.0

    def rate_limit(self) -> RateLimit:
        """The same as a reply says it."""
        reset_at = utc_timestamp(dt.datetime.fromtimestamp(self.resets_at, dt.UTC))
        extra = {"policy": self.policy, "window_seconds": self.window_seconds}
        return RateLimit(self.limit, self.remaining, reset_at, self.retry_after, extra)


@dataclass(slots=True)
class Allowance:
    """Leave to go on: what the reply says about it, and what it has taken, which `settle` may change."""

    rate_limit: RateLimit | None = None
    notices: tuple[Notice, ...] = ()
    units: int = 0
    taken: tuple[QuotaCount, ...] = ()

    def update_remaining(self, used: Sequence[int]) -> None:
        """Say what is left of the limit it speaks of, when so much is used of what it has taken from."""
        policy = (self.rate_limit.extra or {}).get("policy") if self.rate_limit else None
        for count, spent in zip(self.taken, used, strict=True):
            if self.rate_limit is not None and count.policy == policy:
                self.rate_limit = replace(self.rate_limit, remaining=max(count.cap - spent, 0))


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """What a principal has used of a quota, for a bill or a dashboard."""

    policy: str
    units: int
    limit: int | None
    resets_at: float


class TooFast(RateLimited):
    """A burst limit refused the call; `rate_limit` is the state to tell the caller."""

    def __init__(self, message: str, standing: LimitState, remediation: str) -> None:
        super().__init__(message, remediation=remediation, retry_after=standing.retry_after)
        self.rate_limit = standing.rate_limit()


class UsedUp(QuotaExceeded):
    """A quota refused the call; `rate_limit` is the state to tell the caller."""

    def __init__(self, message: str, standing: LimitState, remediation: str) -> None:
        super().__init__(message, remediation=remediation, retry_after=standing.retry_after)
        self.rate_limit = standing.rate_limit()


class Limits:
    """Lets calls through or refuses them, by a plan for all callers or a plan for each; `free` tools cost nothing.

    While nothing can be counted, calls are refused, unless `on_outage` says "allow", or names their tools.
    """

    def __init__(
        self,
        counters: Counters,
        plan: Plan | Callable[[str | None], Plan],
        *,
        free: Collection[str] = (),
        warn_below: float = NEARLY,
        on_outage: Literal["refuse", "allow"] | Collection[str] = "refuse",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._counters = counters
        self._plan_of = plan if callable(plan) else lambda _: plan
        self._free = free
        self.tools = () if callable(plan) else tuple(one for one in plan.per_tool if one != EVERY_TOOL)
        """The tools that its plan names, unless each caller has another plan."""
        self._warn_below = warn_below
        self._on_outage = on_outage
        self._clock = clock

    @classmethod
    def in_memory(cls, plan: Plan | Callable[[str | None], Plan], **options: Any) -> Self:
        """Limits that this process counts alone."""
        if find_spec("throttled") is None:
            raise MissingExtra("limits", "throttled-py")
        return cls(cast("Counters", _LazyMemoryCounters()), plan, **options)

    @classmethod
    def in_redis(cls, url: str, plan: Plan | Callable[[str | None], Plan], **options: Any) -> Self:
        """Limits that every process counts together."""
        redis_counters = _counters().RedisCounters
        try:
            return cls(redis_counters(url), plan, **options)
        except ImportError:
            raise MissingExtra("redis", "redis") from None

    async def take(self, principal: str | None, tool: str, units: int = 1, *, is_part: bool = False) -> Allowance:
        """Leave for one call that is expected to cost so many units; `TooFast` or `UsedUp` when there is none.

        One that `is_part` of a request which has been charged takes only from what the tool's own limits allow.
        """
        if units < 0:
            raise ValueError("a call costs no negative units")
        if tool in self._free:
            return Allowance()
        try:
            return await self._take(principal, tool, units, is_part=is_part)
        except Unavailable:
            if self._on_outage == "refuse" or (self._on_outage != "allow" and tool not in self._on_outage):
                raise
            return Allowance(notices=(Notice.of("FALLBACK_USED", "Limits could not be counted; the call went ahead"),))

    async def settle(self, allowance: Allowance, units: int) -> Allowance:
        """Charge what the call really cost: nothing when it failed, more when it was more than expected.

        The call is over by then, so a store that is down is reported in the log and nowhere else. It may be settled
        again: then the difference is charged.
        """
        more, allowance.units = units - allowance.units, units
        if more and allowance.taken:
            uncapped = [one._replace(cap=-1) for one in allowance.taken]
            try:
                allowance.update_remaining((await self._counters.take(uncapped, more))[1])
            except Unavailable as error:
                log.warning("%d units could not be settled: %s", more, error)
        return allowance

    async def usage(self, principal: str | None, tool: str | None = None) -> tuple[QuotaUsage, ...]:
        """What a principal has used of its quotas: those over all tools, or those that hold for one tool."""
        plan = self._plan_of(principal)
        rules = [("", one) for one in plan.overall] if tool is None else plan.rules(tool)
        quotas = [(scope, one) for scope, one in rules if isinstance(one, Quota)]
        now = self._clock()
        counts = _counts(principal, quotas, now)
        used = (await self._counters.take([one._replace(cap=-1) for one in counts], 0))[1] if counts else []
        return tuple(
            QuotaUsage(_policy(scope, quota), spent, quota.units, quota.window(now)[1].timestamp())
            for (scope, quota), spent in zip(quotas, used, strict=True)
        )

    async def close(self) -> None:
        """Let go of the store's connections."""
        await self._counters.close()

    async def _take(self, principal: str | None, tool: str, units: int, *, is_part: bool) -> Allowance:
        rules = [(scope, one) for scope, one in self._plan_of(principal).rules(tool) if scope or not is_part]
        bursts = [(scope, one) for scope, one in rules if isinstance(one, Burst)]
        bursts.sort(key=lambda rule: rule[1].seconds)
        quotas = [(scope, one) for scope, one in rules if isinstance(one, Quota)]
        if len(rules) > 1:  # whom one limit refuses has paid into no other one
            for scope, burst in bursts:
                await self._take_burst(principal, scope, burst, costs=False)
        now = self._clock()
        allowance = Allowance(units=units, taken=tuple(_counts(principal, quotas, now)))
        standings = await self._take_quotas(allowance, quotas, now) if quotas else []
        try:
            standings += [await self._take_burst(principal, scope, burst) for scope, burst in bursts]
        except TooFast:  # another call was faster since
            await self.settle(allowance, 0)
            raise
        if standings:
            tightest = min(standings, key=lambda one: one.share_left)
            allowance.rate_limit, allowance.notices = tightest.rate_limit(), self._warning(tightest)
        return allowance

    async def _take_quotas(
        self, allowance: Allowance, quotas: Sequence[tuple[str, Quota]], now: float
    ) -> list[LimitState]:
        """Where a caller stands once all quotas are taken from; `UsedUp`, and nothing taken, when one is too small."""
        refused, used = await self._counters.take(allowance.taken, allowance.units)
        return [
            _quota_state(scope, quota, spent, allowance.units if refused else 0, now)
            for (scope, quota), spent in zip(quotas, used, strict=True)
            if quota.units is not None
        ]

    async def _take_burst(self, principal: str | None, scope: str, burst: Burst, *, costs: bool = True) -> LimitState:
        from aerogram.limits.counters import BurstRate

        rate = BurstRate(burst.calls, burst.seconds, burst.at_once or burst.calls)
        count = await self._counters.burst(_key(principal, scope, burst), rate, costs=costs)
        # in whole seconds, as Retry-After has it: who waits exactly that long must be let through
        wait = math.ceil(count.retry_after) if count.refused else None
        resets_at = self._clock() + count.reset_after
        standing = LimitState(_policy(scope, burst), rate.capacity, count.remaining, burst.seconds, resets_at, wait)
        if wait is not None:
            seconds = f"{wait} second{'s' if wait > 1 else ''}"
            raise TooFast(
                f"Rate limit exceeded: {burst.calls} requests per {burst.period}{_scope_text(scope)}",
                standing,
                f"Wait {seconds} before retrying. Consider batching requests.",
            )
        return standing

    def _warning(self, standing: LimitState) -> tuple[Notice, ...]:
        if standing.share_left >= self._warn_below:
            return ()
        state = standing.rate_limit()
        message = (
            f"{standing.remaining} of {standing.limit} left under {standing.policy}, full again at {state.reset_at}"
        )
        context: dict[str, Any] = {"limit": state.limit, "remaining": state.remaining, "reset_at": state.reset_at}
        return (Notice.of("RATE_LIMIT_APPROACHING", message, policy=standing.policy, **context),)


def _counts(principal: str | None, quotas: Sequence[tuple[str, Quota]], now: float) -> list[QuotaCount]:
    """Where these quotas are counted at the moment."""
    if not quotas:
        return []
    from aerogram.limits.counters import QuotaCount

    counts = []
    for scope, quota in quotas:
        begin, end = quota.window(now)
        key = f"{_key(principal, scope, quota)}:{begin.date().isoformat()}"
        # kept for a day longer, for bills that are written after midnight
        seconds_left = math.ceil(end.timestamp() - now) + DAY
        counts.append(QuotaCount(key, -1 if quota.units is None else quota.units, seconds_left, _policy(scope, quota)))
    return counts


def _quota_state(scope: str, quota: Quota, spent: int, refused: int, now: float) -> LimitState:
    """Where a caller stands under a quota; `UsedUp` when these refused units would not have fitted into it."""
    cap = quota.units or 0
    begin, end = quota.window(now)
    full = refused > 0 and spent + refused > cap
    wait = max(math.ceil(end.timestamp() - now), 1) if full else None
    length = round((end - begin).total_seconds())
    standing = LimitState(_policy(scope, quota), cap, max(cap - spent, 0), length, end.timestamp(), wait)
    if full:
        raise _quota_error(standing, quota, scope, end, refused)
    return standing


def _quota_error(standing: LimitState, quota: Quota, scope: str, end: dt.datetime, units: int) -> UsedUp:
    reset = end.isoformat(timespec="minutes")
    message = f"Quota exceeded: {quota.units} a {quota.period}{_scope_text(scope)} (reset {reset})"
    if quota.units is not None and units > quota.units:
        return UsedUp(message, standing, f"This call costs {units} units, more than the whole quota: ask for less")
    return UsedUp(message, standing, f"Wait until {reset}, or raise the cap; retrying before cannot succeed.")


def _scope_text(scope: str) -> str:
    return f" for {scope}" if scope else ""


def _policy(scope: str, limit: Limit) -> str:
    return f"{scope}:{limit.name}" if scope else limit.name


def _key(principal: str | None, scope: str, limit: Limit) -> str:
    """Where a limit is counted; the principal's name stays here. The braces keep a caller on one Redis node."""
    who = b"anyone" if principal is None else b"principal:" + principal.encode("utf-8", "surrogatepass")
    return f"{{{sha256(who).hexdigest()[:24]}}}:{_policy(scope, limit)}"


class _LazyMemoryCounters:
    """Counters in memory, made when something is first counted: a server without limits starts without them."""

    _made: Counters | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = _counters().MemoryCounters()
        return getattr(self._made, name)


def _counters() -> Any:
    try:
        return import_module("aerogram.limits.counters")
    except ImportError:
        raise MissingExtra("limits", "throttled-py") from None


ALLOWED = "limits such as '60/minute, 5000/day', or for one tool 'semantic_search=10/minute'"


@lru_cache(maxsize=1024)
def parse_plan(text: str) -> Plan:
    """The plan that a text spells out; no text is no limit. `ValueError` when it cannot be read."""
    overall: list[str] = []
    per_tool: dict[str, list[str]] = {}
    for one in filter(None, map(str.strip, text.split(","))):
        tool, equals, limit = (part.strip() for part in one.rpartition("="))
        if equals and not tool:
            raise ValueError(f"{one!r} names no tool")
        (per_tool.setdefault(tool, []) if equals else overall).append(limit)
    return Plan.of(*overall, per_tool=per_tool)
