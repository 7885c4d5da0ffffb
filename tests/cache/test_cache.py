"""The response cache: what is kept, for whom, how old it may be, and what happens when something fails."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import uuid
from dataclasses import replace

import pytest
from hypothesis import given

from aerogram import RateLimit, Reply, Telemetry
from aerogram.contract.cache import Cache
from aerogram.dialects import dialect
from aerogram.errors import Forbidden, NotFound, Unavailable
from replies import successes
from servers import find_free_port

# the Redis store of py-key-value calls a method that redis-py 8 would rather not have called
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")


def fresh_key(operation: str = "search") -> str:
    """A key that no other test uses, because the Redis is shared."""
    return Cache.key(operation, {"q": str(uuid.uuid4())})


class Handler:
    """A handler that counts its calls and does what it is told."""

    def __init__(self, *outcomes) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0

    async def __call__(self):
        outcome = self.outcomes[min(self.calls, len(self.outcomes) - 1)]
        self.calls += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def test_the_second_call_is_answered_from_the_cache(open_cache):
    cache, key, handler = open_cache(), fresh_key(), Handler(Reply.ok({"rows": [1, 2.5, None, "é"]}))
    first = await cache.fetch(key, handler)
    second = await cache.fetch(key, handler)
    assert (first.telemetry.cache_hit, second.telemetry.cache_hit) == (False, True)
    assert first.data == second.data == {"rows": [1, 2.5, None, "é"]}
    assert handler.calls == 1


async def test_whole_numbers_keep_all_their_digits(open_cache):
    """However many they have; a reader that is faster takes them for floats."""
    cache, key, numbers = open_cache(), fresh_key(), [2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**70), 10**40]
    replies = [await cache.fetch(key, Handler(Reply.ok({"numbers": numbers}))) for _ in range(2)]
    assert [reply.telemetry.cache_hit for reply in replies] == [False, True]
    assert [str(reply.data["numbers"]) for reply in replies] == [str(numbers)] * 2


async def test_an_answer_is_asked_for_again_when_it_is_no_longer_fresh(open_cache, clock):
    cache, key, handler = open_cache(fresh_for=60), fresh_key(), Handler(Reply.ok(1), Reply.ok(2))
    await cache.fetch(key, handler)
    clock.ahead = 61
    assert (await cache.fetch(key, handler)).data == 2
    assert (await cache.fetch(key, handler)).telemetry.cache_hit


async def test_an_old_answer_covers_a_failure_and_says_how_old_it_is(open_cache, clock):
    cache, key = open_cache(fresh_for=3600), fresh_key()
    await cache.fetch(key, Handler(Reply.ok("rows")))
    clock.ahead = 7200.4
    reply = await cache.fetch(key, Handler(ConnectionError("down")))
    assert (reply.data, reply.telemetry.cache_hit) == ("rows", True)
    (notice,) = reply.notices
    assert (notice.code, notice.severity, notice.message) == ("STALE_CACHE", "warning", "Cache data is 2 hours old")
    age = notice.context["cache_age_seconds"]
    assert notice.context == {"cache_age_seconds": age, "max_freshness_seconds": 3600, "reason": "UNAVAILABLE"}
    assert 7200 <= age < 10_800
    assert "cache_age_seconds" in dialect("response-v2").encode(reply)["meta"]["warning_details"][0]["context"]


@pytest.mark.parametrize("failure", [Reply.failed("UNAVAILABLE"), Unavailable("x"), Reply.failed("INTEGRITY_ERROR")])
async def test_the_servers_own_failures_are_covered_however_they_are_said(clock, failure):
    cache, key = Cache.in_memory(fresh_for=1, clock=clock), fresh_key()
    await cache.fetch(key, Handler(Reply.ok("rows")))
    clock.ahead = 5
    assert (await cache.fetch(key, Handler(failure))).data == "rows"


async def test_an_unexpected_failure_is_covered_and_its_trace_is_in_the_log(clock, caplog):
    cache, key = Cache.in_memory(fresh_for=1, clock=clock), fresh_key()
    await cache.fetch(key, Handler(Reply.ok("rows")))
    clock.ahead = 5
    with caplog.at_level(logging.ERROR, "aerogram"):
        reply = await cache.fetch(key, Handler(ZeroDivisionError("secret")), request_id="req_1")
    assert reply.data == "rows"
    assert caplog.records[0].request_id == "req_1" and "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("refusal", [NotFound("gone"), Forbidden("no")])
async def test_a_refusal_is_an_answer_and_not_covered(clock, refusal):
    """Otherwise someone who lost a permission would still be served."""
    cache, key = Cache.in_memory(fresh_for=1, clock=clock), fresh_key()
    await cache.fetch(key, Handler(Reply.ok("rows")))
    clock.ahead = 5
    with pytest.raises(type(refusal)):
        await cache.fetch(key, Handler(refusal))
    failed = Reply.failed("FORBIDDEN")
    assert await cache.fetch(key, Handler(failed)) == failed


async def test_an_answer_that_is_too_old_covers_nothing(open_cache, clock):
    cache, key = open_cache(fresh_for=10, stale_for=10), fresh_key()
    await cache.fetch(key, Handler(Reply.ok("rows")))
    clock.ahead = 21
    with pytest.raises(ConnectionError):
        await cache.fetch(key, Handler(ConnectionError("down")))


@pytest.mark.parametrize(
    ("age", "spoken"), [(1.2, "1 second"), (59, "59 seconds"), (60, "1 minute"), (7300, "2 hours"), (90_000, "1 day")]
)
async def test_an_age_is_said_in_its_largest_unit(clock, age, spoken):
    cache, key = Cache.in_memory(fresh_for=0, stale_for=1e6, clock=clock), fresh_key()
    await cache.fetch(key, Handler(Reply.ok(1)))
    clock.ahead = age + 0.1
    (notice,) = (await cache.fetch(key, Handler(ConnectionError()))).notices
    assert notice.message == f"Cache data is {spoken} old"


async def test_a_slow_miss_says_so_and_the_kept_answer_does_not():
    cache, key = Cache.in_memory(slow_after=0.0), fresh_key()
    handler = Handler(Reply.ok(1))
    (notice,) = (await cache.fetch(key, handler)).notices
    assert (notice.code, notice.severity) == ("CACHE_MISS_SLOW", "info")
    assert (await cache.fetch(key, handler)).notices == ()
    assert (await Cache.in_memory().fetch(key, handler)).notices == ()


@pytest.mark.parametrize(
    "reply",
    [Reply.failed("NOT_FOUND"), Reply.partial([1], "half is missing"), Reply.blocked([1], "waits for a person")],
)
async def test_only_whole_answers_are_kept(reply):
    cache, key, handler = Cache.in_memory(), fresh_key(), Handler(reply)
    await cache.fetch(key, handler)
    await cache.fetch(key, handler)
    assert handler.calls == 2


async def test_an_answer_that_is_too_large_is_not_kept():
    cache, key, handler = Cache.in_memory(largest=100), fresh_key(), Handler(Reply.ok("x" * 100))
    await cache.fetch(key, handler)
    assert not (await cache.fetch(key, handler)).telemetry.cache_hit


async def test_an_answer_that_is_not_json_is_passed_on_and_not_kept():
    cache, key, handler = Cache.in_memory(), fresh_key(), Handler(Reply.ok({1, 2}))
    assert (await cache.fetch(key, handler)).data == {1, 2}
    assert not (await cache.fetch(key, handler)).telemetry.cache_hit


async def test_what_belongs_to_one_call_is_not_kept():
    reply = Reply.ok(
        1,
        request_id="req_1",
        timestamp="2026-01-01T00:00:00Z",
        client_tag="mine",
        rate_limit=RateLimit(10, 9),
        telemetry=Telemetry(duration_ms=5, billable_units=3),
    )
    cache, key = Cache.in_memory(), fresh_key()
    first = await cache.fetch(key, Handler(reply))
    assert first == reply.replace(telemetry=replace(reply.telemetry, cache_hit=False))
    assert await cache.fetch(key, Handler(reply)) == Reply.ok(1, telemetry=Telemetry(cache_hit=True))


@given(reply=successes.filter(lambda reply: reply.status in ("ok", "empty")))
def test_everything_else_a_reply_says_comes_back(reply):
    async def kept():
        cache = Cache.in_memory()
        await cache.fetch("key", Handler(reply))
        return await cache.fetch("key", Handler(Reply.failed("NOT_FOUND")))

    own = dict.fromkeys(("request_id", "timestamp", "client_tag", "rate_limit"))
    assert asyncio.run(kept()) == reply.replace(**own, telemetry=Telemetry(cache_hit=True))


def test_a_key_stands_for_operation_arguments_and_principal():
    keys = [
        Cache.key("search", {"a": 1, "b": 2}, "ada"),
        Cache.key("search", {"a": 1, "b": 2}, "bob"),
        Cache.key("search", {"a": 1, "b": 2}, None),
        Cache.key("search", {"a": 1, "b": 2}, "None"),
        Cache.key("search", {"a": 1, "b": "2"}, "ada"),
        Cache.key("search", {"a": True, "b": 2}, "ada"),
        Cache.key("other", {"a": 1, "b": 2}, "ada"),
    ]
    assert len(set(keys)) == len(keys)
    assert Cache.key("search", {"b": 2, "a": 1}, "ada") == keys[0]


async def test_arguments_that_are_not_json_are_not_cached():
    key, handler = Cache.key("search", {"a": object()}), Handler(Reply.ok(1))
    assert key is None
    cache = Cache.in_memory()
    await cache.fetch(key, handler)
    await cache.fetch(key, handler)
    assert handler.calls == 2


async def test_those_who_ask_at_the_same_time_share_one_answer():
    cache, key, calls, gate = Cache.in_memory(), fresh_key(), [], asyncio.Event()

    async def produce():
        calls.append(1)
        await gate.wait()
        return Reply.ok("rows", request_id="req_of_the_first")

    asking = [asyncio.create_task(cache.fetch(key, produce)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    replies = await asyncio.gather(*asking)
    assert len(calls) == 1
    assert [reply.data for reply in replies] == ["rows"] * 10
    assert [reply.request_id for reply in replies] == ["req_of_the_first"] + [None] * 9
    assert [reply.telemetry.cache_hit for reply in replies] == [False] + [True] * 9


async def test_those_who_ask_at_the_same_time_share_a_failure_too():
    """A server that is down is not asked ten times more."""
    cache, key, calls, gate = Cache.in_memory(), fresh_key(), [], asyncio.Event()

    async def produce():
        calls.append(1)
        await gate.wait()
        raise ConnectionError("down")

    asking = [asyncio.create_task(cache.fetch(key, produce)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {ConnectionError} and len(calls) == 1
    with pytest.raises(ConnectionError):
        await cache.fetch(key, produce)
    assert len(calls) == 2


async def test_one_who_goes_away_leaves_the_others_their_answer():
    cache, key, calls, begun, gate = Cache.in_memory(), fresh_key(), [], asyncio.Event(), asyncio.Event()

    async def produce():
        calls.append(1)
        begun.set()
        await gate.wait()
        return Reply.ok("rows")

    first, second = (asyncio.create_task(cache.fetch(key, produce)) for _ in range(2))
    await begun.wait()
    first.cancel()
    gate.set()
    assert (await second).data == "rows"
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(calls) == 2


async def test_an_entry_can_be_forgotten(open_cache):
    cache, key, handler = open_cache(), fresh_key(), Handler(Reply.ok(1))
    await cache.fetch(key, handler)
    assert await cache.forget(key)
    assert not await cache.forget(key)
    await cache.fetch(key, handler)
    assert handler.calls == 2


async def test_a_store_that_is_down_does_not_stop_the_call(caplog):
    cache = Cache.in_redis(f"redis://127.0.0.1:{find_free_port()}/0")
    reply = await cache.fetch(fresh_key(), Handler(Reply.ok("rows")))
    assert (reply.data, await cache.forget("key")) == ("rows", False)
    assert caplog.text.count("cannot be used") == 1, "it is not asked again at once"
    await cache.close()


@pytest.mark.parametrize("reply", ["[", "[]", 5, "[" * 100_000 + "1" * 20])
async def test_a_damaged_entry_is_as_good_as_none(tmp_path, reply):
    cache, key, handler = Cache.at(tmp_path), fresh_key(), Handler(Reply.ok(1), Reply.ok(2))
    await cache.fetch(key, handler)
    damaged = list(tmp_path.rglob(f"*{key}*.json"))
    for file in damaged:
        file.write_text(json.dumps({"value": {"reply": reply, "stored_at": time.time()}}))
    assert len(damaged) == 1
    assert (await cache.fetch(key, handler)).data == 2


async def test_an_answer_of_another_realm_is_not_given(open_cache):
    cache, key, handler, realm = open_cache(), fresh_key(), Handler(Reply.ok(1), Reply.ok(2)), "one"

    async def name_realm():
        return realm

    cache.realm = name_realm
    assert (await cache.fetch(key, handler)).data == 1
    realm = "two"
    assert (await cache.fetch(key, handler)).data == 2
    realm = "one"
    assert (await cache.fetch(key, handler)).data == 1
    assert await cache.forget(key)


def test_who_asks_in_an_event_loop_of_its_own_waits_for_nobody_in_another_one():
    """As the requests of a test do that come from several threads: a lock of one loop wakes nobody in another."""
    cache, key, told = Cache.in_memory(), fresh_key(), []

    async def produce():
        await asyncio.sleep(0.2)
        return Reply.ok([1])

    def ask():
        told.append(asyncio.run(cache.fetch(key, produce)).data)

    asking = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for one in asking:
        one.start()
    for one in asking:
        one.join(20)
    assert told == [[1]] * 4
