"""Limits: bursts, quotas, what the caller is told, and what a call costs in the end."""

from __future__ import annotations

import asyncio
import datetime as dt
import subprocess
import sys

import pytest
from redis import Redis

from aerogram import Reply, problem_of
from aerogram.dialects import dialect
from aerogram.errors import QuotaExceeded, RateLimited, Unavailable
from aerogram.limits import Burst, Limits, Plan, Quota, header_fields
from aerogram.reply import RateLimit
from servers import find_free_port, running_redis

NOON = dt.datetime(2026, 4, 30, 12, tzinfo=dt.UTC).timestamp()


class Clock:
    """A clock that the test sets."""

    def __init__(self, moment: float) -> None:
        self.moment = moment

    def __call__(self) -> float:
        return self.moment


async def test_calls_go_through_until_the_burst_is_used_up(open_limits, ada):
    limits = open_limits(Plan.of("3/minute"))
    left = [(await limits.take(ada, "search")).rate_limit.remaining for _ in range(3)]
    assert left == [2, 1, 0]
    with pytest.raises(RateLimited) as refused:
        await limits.take(ada, "search")
    assert 0 < refused.value.retry_after <= 20
    state = refused.value.rate_limit
    assert (state.limit, state.remaining, state.retry_after) == (3, 0, refused.value.retry_after)
    assert state.extra == {"policy": "3/minute", "window_seconds": 60}


async def test_who_waits_as_long_as_told_is_let_through(open_limits, ada):
    limits = open_limits(Plan.of("5/second"))
    outcomes = await asyncio.gather(*(limits.take(ada, "search") for _ in range(30)), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, RateLimited)]
    await asyncio.sleep(refused[-1].retry_after)
    await limits.take(ada, "search")


async def test_one_caller_does_not_use_up_another_ones_limit(open_limits, ada):
    limits = open_limits(Plan.of("1/hour"))
    await limits.take(ada, "search")
    await limits.take(f"not {ada}", "search")
    with pytest.raises(RateLimited):
        await limits.take(ada, "other tool")


async def test_the_caller_without_a_name_is_nobody_elses_twin():
    limits = Limits.in_memory(Plan.of("1/hour"))
    for principal in (None, "None", "anyone", ""):
        await limits.take(principal, "search")
    with pytest.raises(RateLimited):
        await limits.take(None, "search")


@pytest.mark.parametrize("plan", ["2/hour", "2/day"])
async def test_any_text_may_be_the_name_of_a_caller(plan):
    """Whoever reads names out of tokens may be given one that no encoding has."""
    limits = Limits.in_memory(Plan.of(plan))
    for principal in ("", "\ud800", "a b\0", "x" * 10_000):
        assert (await limits.take(principal, "search")).rate_limit.remaining == 1


async def test_a_tool_has_limits_of_its_own(open_limits, ada):
    """A tool with an entry follows that entry, the others share the rule, not the count, of the star."""
    limits = open_limits(Plan.of(per_tool={"search": "1/hour", "*": "2/hour"}))
    await limits.take(ada, "search")
    with pytest.raises(RateLimited) as refused:
        await limits.take(ada, "search")
    assert refused.value.message == "Rate limit exceeded: 1 requests per hour for search"
    for tool in ("read", "write"):
        await limits.take(ada, tool)
        await limits.take(ada, tool)
        with pytest.raises(RateLimited):
            await limits.take(ada, tool)


async def test_who_is_refused_for_haste_has_paid_nothing_into_quotas_and_longer_limits(open_limits, ada):
    plans = [Plan.of("100/hour", "1/minute", "100/day"), Plan.of("100/hour")]
    limits = open_limits(lambda _: plans[0])
    await limits.take(ada, "search")
    for _ in range(5):
        with pytest.raises(RateLimited, match="1 requests per minute"):
            await limits.take(ada, "search")
    (usage,) = await limits.usage(ada)
    assert usage.units == 1
    plans.pop(0)
    assert (await limits.take(ada, "search")).rate_limit.remaining == 98


async def test_fewer_calls_may_come_at_once_than_in_the_whole_period(open_limits, ada):
    limits = open_limits(Plan.of(Burst(60, 3600, at_once=2)))
    await limits.take(ada, "search")
    await limits.take(ada, "search")
    with pytest.raises(RateLimited) as refused:
        await limits.take(ada, "search")
    assert refused.value.rate_limit.limit == 2


async def test_a_quota_ends_at_midnight_of_its_zone(open_limits, ada):
    clock = Clock(NOON)
    limits = open_limits(Plan.of("3/day", zone="Asia/Tokyo"), clock=clock)
    for _ in range(3):
        await limits.take(ada, "search")
    with pytest.raises(QuotaExceeded) as refused:
        await limits.take(ada, "search")
    assert refused.value.message == "Quota exceeded: 3 a day (reset 2026-05-01T00:00+09:00)"
    assert refused.value.retry_after == 3 * 3600
    assert refused.value.rate_limit.reset_at == "2026-04-30T15:00:00.000Z"
    clock.moment += 3 * 3600
    assert (await limits.take(ada, "search")).rate_limit.remaining == 2


@pytest.mark.parametrize(
    ("period", "now", "begin", "end"),
    [
        ("month", "2026-01-31T23:59:59", "2026-01-01", "2026-02-01"),
        ("month", "2026-12-15T00:00:00", "2026-12-01", "2027-01-01"),
        ("month", "2028-02-29T12:00:00", "2028-02-01", "2028-03-01"),
        ("day", "2028-02-29T12:00:00", "2028-02-29", "2028-03-01"),
    ],
)
def test_days_and_months_are_those_of_the_calendar(period, now, begin, end):
    moment = dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC).timestamp()
    window = Quota(1, period).window(moment)
    assert [one.date().isoformat() for one in window] == [begin, end]


def test_a_day_with_a_clock_change_has_its_own_length():
    begin, end = Quota(1, "day", "Europe/Berlin").window(dt.datetime(2026, 3, 29, 12, tzinfo=dt.UTC).timestamp())
    assert end.timestamp() - begin.timestamp() == 23 * 3600


async def test_units_are_metered_and_several_quotas_are_taken_together_or_not_at_all(open_limits, ada):
    clock = Clock(NOON)
    limits = open_limits(Plan.of("10/day", "15/month"), clock=clock)
    await limits.take(ada, "search", units=8)
    with pytest.raises(QuotaExceeded, match="10 a day"):
        await limits.take(ada, "search", units=3)
    clock.moment -= 24 * 3600
    with pytest.raises(QuotaExceeded, match="15 a month"):
        await limits.take(ada, "search", units=8)
    assert [(one.policy, one.units) for one in await limits.usage(ada)] == [("10/day", 0), ("15/month", 8)]


async def test_a_failed_call_gives_its_units_back_and_a_dear_one_pays_the_rest(open_limits, ada):
    limits = open_limits(Plan.of("10/day"))
    failed = await limits.take(ada, "search", units=4)
    await limits.settle(failed, 0)
    assert [one.units for one in await limits.usage(ada)] == [0]
    dear = await limits.take(ada, "search", units=4)
    settled = await limits.settle(dear, 12)
    assert (settled.units, [one.units for one in await limits.usage(ada)]) == (12, [12])
    with pytest.raises(QuotaExceeded):
        await limits.take(ada, "search")


async def test_usage_tells_the_quotas_of_a_tool_from_those_over_all_tools(open_limits, ada):
    limits = open_limits(Plan.of("10/day", per_tool={"*": "5/day"}))
    await limits.take(ada, "search", units=2)
    await limits.take(ada, "read", units=1)
    assert [(one.policy, one.units) for one in await limits.usage(ada)] == [("10/day", 3)]
    assert [(one.policy, one.units) for one in await limits.usage(ada, "read")] == [("10/day", 3), ("read:5/day", 1)]


async def test_a_call_that_is_over_does_not_fail_when_it_cannot_be_settled(tmp_path, caplog):
    with running_redis(tmp_path) as url:
        limits = Limits.in_redis(url, Plan.of("10/day"))
        allowance = await limits.take("ada", "search", units=4)
    assert (await limits.settle(allowance, 0)).units == 0
    assert "-4 units could not be settled" in caplog.text
    await limits.close()


async def test_a_quota_without_a_cap_only_meters(open_limits, ada):
    limits = open_limits(Plan.of(Quota(None, "month")))
    for _ in range(3):
        assert (await limits.take(ada, "search", units=100)).rate_limit is None
    (usage,) = await limits.usage(ada)
    assert (usage.units, usage.limit) == (300, None)


async def test_a_call_that_costs_more_than_the_whole_quota_is_told_so(open_limits, ada):
    limits = open_limits(Plan.of("10/day"))
    with pytest.raises(QuotaExceeded) as refused:
        await limits.take(ada, "search", units=11)
    assert "ask for less" in refused.value.remediation


async def test_the_reply_states_the_limit_that_is_nearest_to_its_end(open_limits, ada):
    limits = open_limits(Plan.of("100/minute", "4/day"))
    allowance = await limits.take(ada, "search")
    assert allowance.rate_limit.extra["policy"] == "4/day"


async def test_the_caller_is_warned_before_the_limit_is_reached(open_limits, ada):
    limits = open_limits(Plan.of("5/day"))
    warned = [(await limits.take(ada, "search")).notices for _ in range(5)]
    assert [len(notices) for notices in warned] == [0, 0, 0, 0, 1]
    (notice,) = warned[-1]
    assert (notice.code, notice.severity) == ("RATE_LIMIT_APPROACHING", "warning")
    assert notice.context["remaining"] == 0


async def test_callers_may_have_different_plans():
    paid, free = Plan.of("100/day"), Plan.of("1/day")
    limits = Limits.in_memory(lambda principal: paid if principal == "customer" else free)
    for _ in range(5):
        await limits.take("customer", "search")
    await limits.take(None, "search")
    with pytest.raises(QuotaExceeded):
        await limits.take(None, "search")


async def test_refusals_reach_each_dialect_as_its_own_code():
    limits = Limits.in_memory(Plan.of("1/minute"))
    await limits.take(None, "search")
    with pytest.raises(RateLimited) as refused:
        await limits.take(None, "search")
    reply = Reply.failed(problem_of(refused.value), rate_limit=refused.value.rate_limit)
    body = dialect("response-v2").encode(reply)
    assert body["data"]["error_code"] == "RATE_LIMIT_EXCEEDED"
    assert body["error"] == "Rate limit exceeded: 1 requests per minute"
    assert body["data"]["retry_after_seconds"] == refused.value.retry_after
    assert (body["meta"]["rate_limit"]["limit"], body["meta"]["rate_limit"]["remaining"]) == (1, 0)
    standard = dialect("standard-v2")
    error = standard.encode(standard.complete(reply))["error"]
    assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)


async def test_a_used_up_quota_is_not_retryable():
    limits = Limits.in_memory(Plan.of("0/day"))
    with pytest.raises(QuotaExceeded) as refused:
        await limits.take(None, "search")
    problem = problem_of(refused.value)
    assert (problem.code, problem.retryable, problem.status) == ("QUOTA_EXCEEDED", False, 429)


async def test_a_store_that_is_down_refuses_or_lets_through_as_was_chosen():
    nowhere = f"redis://127.0.0.1:{find_free_port()}/0"
    strict = Limits.in_redis(nowhere, Plan.of("1/minute", "1/day"))
    with pytest.raises(Unavailable):
        await strict.take("ada", "search")
    lenient = Limits.in_redis(nowhere, Plan.of("1/minute", "1/day"), on_outage="allow")
    (notice,) = (await lenient.take("ada", "search")).notices
    assert notice.code == "FALLBACK_USED"
    await strict.close()
    await lenient.close()


async def test_why_a_store_cannot_count_is_in_the_log(tmp_path, caplog):
    with running_redis(tmp_path) as url:
        with Redis.from_url(url) as client:
            client.config_set("maxmemory", 1)
        limits = Limits.in_redis(url, Plan.of("10/day"))
        with pytest.raises(Unavailable):
            await limits.take("ada", "search")
        await limits.close()
    assert "maxmemory" in caplog.text


@pytest.mark.parametrize(
    ("package", "opening", "advice"),
    [
        ("throttled", "Limits.in_memory(Plan.of('1/day'))", "this needs throttled-py: pip install 'aerogram[limits]'"),
        ("redis", "Limits.in_redis('redis://x', Plan.of('1/day'))", "this needs redis: pip install 'aerogram[redis]'"),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(package, opening, advice):
    program = f"import sys; sys.modules[{package!r}] = None; from aerogram.limits import Limits, Plan; {opening}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(advice)


@pytest.mark.parametrize("spelled", ["", "many/minute", "5", "5/fortnight", "-1/day", "0/minute", "1.5/minute"])
def test_a_limit_that_says_nothing_is_refused_at_once(spelled):
    with pytest.raises(ValueError):
        Plan.of(spelled)


async def test_nobody_can_earn_units_by_asking_for_negative_ones():
    with pytest.raises(ValueError):
        await Limits.in_memory(Plan.of("1/day")).take(None, "search", units=-5)


def test_the_state_is_said_in_http_fields():
    state = RateLimit(100, 50, "2026-11-15T12:00:30Z", extra={"policy": "100/minute", "window_seconds": 60})
    now = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC).timestamp()
    assert header_fields(state, now=now) == {
        "RateLimit-Policy": '"100/minute";q=100;w=60',
        "RateLimit": '"100/minute";r=50;t=30',
    }
    assert header_fields(state, now=now, legacy=True)["X-RateLimit-Reset"] == "30"


@pytest.mark.parametrize("reset_at", [None, "soon", 0.0])
def test_http_fields_of_a_state_that_others_wrote_are_still_well_formed(reset_at):
    state = RateLimit(3, 1, reset_at, extra={"policy": 'odd "name" \\ é\r\nX: 1'})
    for value in header_fields(state).values():
        assert value.isascii() and "\r" not in value and "\n" not in value
    assert header_fields(RateLimit()) == {}
