"""The one call that adapters make: any outcome in, one finished reply out."""

import asyncio
import base64
import datetime as dt
import time
from dataclasses import asdict, replace

import orjson
import pytest

from aerogram import Reply, read
from aerogram.answer import Call, ReplyDraft, admit, answer, fail, fit_media, render, run
from aerogram.answer.retrieval import Retrieval, retrieve_for
from aerogram.archive import Archive
from aerogram.channels import Sizer
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.contract.deprecation import Deprecations
from aerogram.dialects.response_v2 import error_response, success_response
from aerogram.dialects.standard_v2 import StandardResponse
from aerogram.errors import NotFound, ReplyError
from aerogram.limits import Limits, Plan
from aerogram.normalize import Block, ToolResult
from aerogram.sanitize import Redaction
from aerogram.tokens import Budget, Bytes, Characters, best_counter

ROWS = [{"id": f"row-{number}", "text": "words and more words " * 20} for number in range(200)]


def counted(contract, reply):
    channels = render(contract, reply)
    structured = "" if channels.structured is None else orjson.dumps(channels.structured).decode()
    return max(best_counter().count(channels.text), best_counter().count(structured))


async def test_a_plain_value_becomes_a_finished_reply():
    reply = await answer(Call(Contract(), operation="sets", request_id="req_1"), {"a": {1, 2}})
    assert reply.data == {"a": [1, 2]} and reply.request_id == "req_1"


async def test_a_raised_exception_becomes_a_failed_reply():
    reply = await answer(Call(Contract(), request_id="req_1"), NotFound("no such row"))
    assert reply.problem.code == "NOT_FOUND" and reply.request_id == "req_1"


async def test_a_coroutine_that_fails_still_gets_an_answer():
    async def broken():
        raise RuntimeError("secret")

    reply = await answer(Call(Contract(), request_id="req_1"), broken())
    assert reply.problem.code == "INTERNAL_ERROR" and "secret" not in repr(reply)


async def test_a_reply_of_the_handler_keeps_what_it_says():
    said = Reply.partial([1], "one is missing", request_id="req_own")
    reply = await answer(Call(Contract(dialect="standard-v2")), said)
    assert reply.notices == said.notices and reply.request_id == "req_own" and reply.status == "partial"


async def test_the_reply_is_complete_for_every_dialect():
    for name in ("response-v2", "standard-v2", "knowledge-1.0"):
        contract = Contract(dialect=name)
        reply = await answer(Call(contract, operation="count"), [1, 2])
        assert read(contract.speaker.encode(reply)) == reply


async def test_a_budget_holds_and_what_was_left_out_can_be_had_back():
    archive = Archive.in_memory()
    contract = Contract(budget=2000, archive=archive)
    reply = await answer(Call(contract, operation="rows", principal="ann"), ROWS)
    assert counted(contract, reply) <= 2000
    assert reply.fidelity.level != "full"
    content = await archive.get(reply.fidelity.archive_hashes["data"], principal="ann")
    assert content.value() == ROWS


async def test_the_smaller_of_the_servers_and_the_callers_budget_holds():
    contract = Contract(budget=4000, archive=Archive.in_memory())
    small = await answer(Call(contract, max_tokens=1000), ROWS)
    large = await answer(Call(contract, max_tokens=9000), ROWS)
    assert counted(contract, small) <= 1000 < counted(contract, large) <= 4000


async def test_an_absurd_budget_is_an_error_the_caller_can_act_on():
    reply = await answer(Call(Contract(), max_tokens=-5), ROWS)
    assert reply.problem.kind == "validation" and reply.problem.remediation


async def test_a_lost_archive_does_not_stop_the_reply_and_is_admitted():
    archive = Archive.in_memory(quota=10)
    reply = await answer(Call(Contract(budget=2000, archive=archive)), ROWS)
    assert reply.problem is None and reply.fidelity.archive_hashes is None
    assert any("not kept" in notice.message for notice in reply.notices)


async def test_pages_lead_to_the_end_and_every_item_comes_once():
    contract = Contract()
    seen, cursor = [], None
    while True:
        call = Call(operation="rows", page_size=50, cursor=cursor, principal="ann")
        reply = await answer(replace(call, contract=contract), ROWS)
        seen += reply.data
        if not reply.page.has_more:
            break
        cursor = reply.page.cursor
    assert seen == ROWS


async def test_a_foreign_cursor_is_refused_and_never_page_one_again():
    contract = Contract()
    page = (await answer(Call(contract, operation="rows", page_size=5, principal="ann"), ROWS)).page
    stolen = await answer(Call(contract, operation="rows", cursor=page.cursor, principal="bob"), ROWS)
    assert stolen.problem.code == "INVALID_CURSOR"


async def test_modes_and_fields_make_sparse_rows():
    contract = Contract()
    reply = await answer(Call(contract, fields=["id"]), ROWS[:2])
    assert reply.data == [{"id": "row-0"}, {"id": "row-1"}]
    assert (await answer(Call(contract, response_mode="ids_only"), ROWS[:2])).data == [{"id": "row-0"}, {"id": "row-1"}]
    assert (await answer(Call(contract, fields=["nope"]), ROWS[:2])).problem.code == "INVALID_FIELDS"


async def test_what_does_not_fit_of_a_page_is_the_next_page_and_nothing_is_lost():
    contract = Contract(budget=1500, archive=Archive.in_memory())
    seen, cursor = [], None
    while True:
        reply = await answer(Call(contract, operation="rows", page_size=50, cursor=cursor), ROWS)
        assert counted(contract, reply) <= 1500
        seen += [row["id"] for row in reply.data]
        if not reply.page.has_more:
            break
        cursor = reply.page.cursor
    assert seen == [row["id"] for row in ROWS]


class Handler:
    """A handler that counts how often it runs."""

    def __init__(self, *outcomes):
        self.outcomes = outcomes
        self.runs = 0

    async def __call__(self):
        outcome = self.outcomes[min(self.runs, len(self.outcomes) - 1)]
        self.runs += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def served(contract, call, handler):
    """A call as an adapter makes it."""
    call = replace(call, contract=contract)
    try:
        call = await admit(call)
        outcome = await run(call, handler)
    except ReplyError as error:
        outcome = error
    return await answer(call, outcome)


async def test_a_limit_is_told_while_it_holds_and_refuses_when_it_is_reached():
    contract = Contract(limits=Limits.in_memory(Plan.of("2/day")))
    handler = Handler("fine")
    replies = [await served(contract, Call(operation="x", principal="ann"), handler) for _ in range(3)]
    assert [reply.rate_limit.remaining for reply in replies] == [1, 0, 0]
    assert replies[2].problem.code == "QUOTA_EXCEEDED" and handler.runs == 2


async def test_a_failed_call_costs_nothing_of_a_quota():
    contract = Contract(limits=Limits.in_memory(Plan.of("1/day")))
    handler = Handler(NotFound("no"), "fine")
    first = await served(contract, Call(operation="x"), handler)
    second = await served(contract, Call(operation="x"), handler)
    assert first.problem.code == "NOT_FOUND" and second.data == "fine"


async def test_an_answer_is_kept_for_the_operations_that_are_cached_and_no_others():
    contract = Contract(cache=Cache.in_memory(), cached={"kept"})
    kept, other = Handler({"a": 1}), Handler({"a": 1})
    for _ in range(2):
        reply = await served(contract, Call(operation="kept"), kept)
        await served(contract, Call(operation="other"), other)
    assert (kept.runs, other.runs) == (1, 2)
    assert reply.data == {"a": 1} and reply.telemetry.cache_hit


async def test_one_cached_answer_serves_every_page():
    contract = Contract(cache=Cache.in_memory(), cached={"rows"})
    handler = Handler(ROWS)
    first = await served(contract, Call(operation="rows", page_size=10), handler)
    second = await served(contract, Call(operation="rows", page_size=10, cursor=first.page.cursor), handler)
    assert second.data == ROWS[10:20] and handler.runs == 1


async def test_content_of_a_cached_operation_is_answered_and_not_kept():
    contract = Contract(cache=Cache.in_memory(), cached={"pictures"})
    handler = Handler(Block.image(b"png", "image/png"))
    call = Call(operation="pictures")
    for _ in range(2):
        assert isinstance(await run(replace(call, contract=contract), handler), Block)
    finished = Handler(ToolResult(["done"]))
    assert isinstance(await run(Call(contract, operation="pictures", arguments={"b": 1}), finished), ToolResult)


async def test_deprecated_parameters_and_fields_are_told():
    old = Deprecations.of(parameters={"limit": "page_size"}, fields={"name": "title"})
    contract = Contract(deprecations={"find": old})
    reply = await answer(Call(contract, operation="find", arguments={"limit": 3}), [{"name": "a"}])
    assert [notice.code for notice in reply.notices] == ["DEPRECATED_PARAMETER", "DEPRECATED_FIELD"]


async def test_a_secret_among_the_arguments_is_not_echoed():
    """Nor by the refusal of a call."""
    secret = "ghp_" + "a1B2" * 9
    contract = Contract(dialect="standard-v2", sanitizers=(Redaction(),))
    call = Call(contract, arguments={"token": secret, "q": "ferries"})
    for reply in (
        await answer(call, [1]),
        await answer(call, NotFound("no such thing")),
        fail(call, NotFound("no")).reply,
    ):
        told = str(contract.speaker.encode(reply))
        assert secret not in told and "ferries" in told


async def test_a_secret_is_neither_sent_nor_archived():
    archive = Archive.in_memory()
    contract = Contract(sanitizers=(Redaction(),), budget=1000, archive=archive)
    rows = [{"id": row["id"], "password": "hunter2", "text": row["text"]} for row in ROWS]
    reply = await answer(Call(contract), rows)
    assert "hunter2" not in repr(reply) and any(notice.code == "CONTENT_REDACTED" for notice in reply.notices)
    content = await archive.get(reply.fidelity.archive_hashes["data"])
    assert b"hunter2" not in content.body


@pytest.mark.parametrize(
    "outcome",
    [
        {"n": 2**70},
        NotFound("lone \ud800"),
        NotFound("odd", details={"a": object(), "n": 2**70}),
        Reply.ok(1, extra={"odd": {1, 2}}),
        Reply.ok({"a": 1}, notices=["lone \ud800"]),
        Reply.failed("CONFLICT", "x", details={"when": dt.date(2026, 1, 1)}),
    ],
)
@pytest.mark.parametrize("name", ["response-v2", "standard-v2", "knowledge-1.0"])
async def test_whatever_a_reply_carries_it_can_be_sent(outcome, name):
    contract = Contract(dialect=name, channels="text")
    reply = await answer(Call(contract, operation="odd"), outcome)
    channels = render(contract, reply)
    assert read(channels.text).present_fields().keys() == reply.present_fields().keys()


@pytest.mark.parametrize("form", [asdict, lambda response: response, lambda response: response.to_dict()])
async def test_a_body_that_a_handler_made_with_the_documented_helpers_is_not_wrapped_again(form):
    failed = error_response("no spec", error_code="SPEC_NOT_FOUND", remediation="list them", request_id="req_1")
    reply = await answer(Call(Contract()), form(failed))
    assert reply.problem.code == "SPEC_NOT_FOUND" and reply.request_id == "req_1"
    fine = await answer(Call(Contract(dialect="standard-v2")), form(success_response({"a": 1}, warnings=["old"])))
    assert fine.data == {"a": 1} and fine.notices[0].message == "old"


async def test_the_objects_of_other_contracts_are_understood_as_well():
    rich = StandardResponse.rich([{"n": n} for n in range(6)], request_id="req_1")
    assert (await answer(Call(Contract()), rich)).data == rich.results


async def test_data_that_only_looks_like_a_body_is_data():
    for data in ({"success": True, "data": 1}, {"results": [1], "status": "fine"}, {"success": "yes"}):
        assert (await answer(Call(Contract()), data)).data == data


async def test_a_contract_that_wants_tokens_gets_them_counted():
    contract = Contract(dialect="knowledge-1.0", channels="text")
    reply = await answer(Call(contract, operation="rows"), ROWS[:5])
    assert abs(reply.telemetry.tokens_used - counted(contract, reply)) <= 10


async def test_a_handler_that_exits_is_answered_and_the_server_lives():
    async def leave():
        raise SystemExit(3)

    contract = Contract()
    reply = await answer(Call(contract, request_id="req_1"), await run(Call(contract), leave))
    assert reply.problem.code == "INTERNAL_ERROR" and "req_1" in reply.problem.message


async def test_a_cancelled_call_stays_cancelled():
    started = asyncio.Event()

    async def endless():
        started.set()
        await asyncio.Event().wait()

    running = asyncio.ensure_future(run(Call(Contract()), endless))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
@pytest.mark.parametrize("counter", [best_counter(), Bytes(), Characters()], ids=lambda one: one.name)
async def test_a_reply_that_says_its_own_tokens_stays_within_the_budget(dialect, counter):
    rows = [{"id": number, "note": "x"} for number in range(20)]
    sizer = Sizer(dialect, "text", counter)
    size = sizer(await answer(Call(Contract(dialect=dialect, channels="text")), rows))
    for limit in range(size - 15, size + 20, 2):
        contract = Contract(dialect=dialect, channels="text", budget=Budget(limit, counter))
        reply = await answer(Call(contract), rows)
        assert sizer(reply) <= limit
        if dialect == "knowledge-1.0":
            assert abs(reply.telemetry.tokens_estimated - Sizer(dialect, "text")(reply)) <= 1


async def test_what_is_retrieved_is_answered_like_anything_else():
    contract = Contract(archive=Archive.in_memory(), budget=900, channels="text")
    sent = await answer(Call(contract), ROWS)
    call = Call(contract, operation="retrieve")
    found = await retrieve_for(call, Retrieval(hash=sent.fidelity.archive_hashes["data"]))
    page = await answer(call, found)
    assert page.data == ROWS[: len(page.data)] and page.page.cursor and counted(contract, page) <= 900
    limited = replace(call, allowance=await Limits.in_memory(Plan.of("2/day")).take(None, "retrieve"))
    told = await answer(limited, found)
    assert told.rate_limit is not None and counted(contract, told) <= 900


async def test_a_refusal_speaks_in_the_terms_of_the_callers_own_limit():
    contract = Contract(budget="10240 bytes", channels="text")
    refused = await answer(Call(contract, max_tokens=1), ROWS)
    assert refused.problem.message.endswith("tokens, limit is 1")
    needed = int(refused.problem.remediation.removeprefix("Use a budget of at least ").removesuffix(" tokens"))
    assert (await answer(Call(contract, max_tokens=needed), ROWS)).problem is None


@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
@pytest.mark.parametrize("channels", ["text", "mirror"])
async def test_the_budget_that_a_refusal_names_is_enough_for_the_next_call(dialect, channels):
    """It has an id of its own, which may cost more than twice as much."""
    first, next_one = "req_standing", "req_rnshgftn"
    assert [best_counter().count(one) for one in (first, next_one)] == [3, 7]
    contract = Contract(dialect=dialect, channels=channels, archive=Archive.in_memory())
    for limit in range(1, 200, 33):
        refused = await answer(Call(contract, max_tokens=limit, request_id=first), ROWS[:20])
        if refused.problem is not None:
            needed = int(refused.problem.remediation.split()[-2])
            assert (await answer(Call(contract, max_tokens=needed, request_id=next_one), ROWS[:20])).problem is None


@pytest.mark.parametrize("outcome", [ROWS[:2], ROWS, KeyError("absent")])
async def test_where_characters_or_bytes_count_tokens_are_still_told_as_they_are(outcome):
    for budget in ("4000 bytes", "claude-code"):
        contract = Contract(dialect="knowledge-1.0", budget=budget, archive=Archive.in_memory())
        reply = await answer(Call(contract), outcome)
        size = best_counter().count(render(contract, reply).text)
        assert reply.telemetry.tokens_used == reply.telemetry.tokens_estimated == size


async def test_where_bytes_count_pictures_beside_a_reply_become_links_to_the_archive():
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(bytes(30_000)).decode()}
    small = {**picture, "data": base64.b64encode(bytes(30)).decode()}
    contract = Contract(budget="10240 bytes", channels="text", archive=Archive.in_memory())
    reply = await answer(Call(contract), {"caption": "one"})
    kept, link = (await fit_media(Call(contract), ReplyDraft(reply, media=(small, picture)))).media
    assert kept is small and link["type"] == "resource_link"
    content = await contract.archive.get(link["uri"].rpartition("/")[2])
    assert content.body == bytes(30_000)
    counting_tokens = await fit_media(Call(Contract(budget=500)), ReplyDraft(reply, media=(picture,)))
    assert counting_tokens.media == (picture,)


class SlowCounter:
    """A counter that takes a while, and notes how often the event loop has looked up by then."""

    name, unit, margin = "slow", "characters", 0.0

    def __init__(self) -> None:
        self.ticks, self.seen = 0, []

    def count(self, text: str) -> int:
        time.sleep(0.002)
        self.seen.append(self.ticks)
        return len(text)

    async def tick(self) -> None:
        while True:
            self.ticks += 1
            await asyncio.sleep(0)


async def test_replies_that_take_long_to_fit_are_fitted_first_come_first_served_with_others_heard_in_between():
    """A caller with a word to say does not wait for all the replies that are to be fitted."""
    counter, done = SlowCounter(), []
    contract = Contract(budget=Budget(400, counter))

    async def ask(number: int) -> None:
        await answer(Call(contract), [{"id": n, "text": "word " * 30} for n in range(20)])
        done.append(number)

    ticking = asyncio.create_task(counter.tick())
    await asyncio.gather(*map(ask, range(8)))
    ticking.cancel()
    assert done == list(range(8))
    assert len(set(counter.seen)) == 8
