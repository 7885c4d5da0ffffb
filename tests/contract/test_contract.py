"""The one call that adapters make: any outcome in, one finished reply out."""

import orjson

from aerogram import Reply, read
from aerogram.archive import Archive
from aerogram.contract import Call, Contract
from aerogram.errors import NotFound
from aerogram.tokens import best_counter

ROWS = [{"id": f"row-{number}", "text": "words and more words " * 20} for number in range(200)]


def counted(contract, reply):
    channels = contract.render(reply)
    structured = "" if channels.structured is None else orjson.dumps(channels.structured).decode()
    return best_counter().count(channels.text) + best_counter().count(structured)


async def test_a_plain_value_becomes_a_finished_reply():
    reply = await Contract().answer({"a": {1, 2}}, Call(operation="sets", request_id="req_1"))
    assert reply.data == {"a": [1, 2]} and reply.request_id == "req_1"


async def test_a_raised_exception_becomes_a_failed_reply():
    reply = await Contract().answer(NotFound("no such row"), Call(request_id="req_1"))
    assert reply.problem.code == "NOT_FOUND" and reply.request_id == "req_1"


async def test_a_coroutine_that_fails_still_gets_an_answer():
    async def broken():
        raise RuntimeError("secret")

    reply = await Contract().answer(broken(), Call(request_id="req_1"))
    assert reply.problem.code == "INTERNAL_ERROR" and "secret" not in repr(reply)


async def test_a_reply_of_the_handler_keeps_what_it_says():
    said = Reply.partial([1], "one is missing", request_id="req_own")
    reply = await Contract(dialect="standard-v2").answer(said, Call())
    assert reply.notices == said.notices and reply.request_id == "req_own" and reply.status == "partial"


async def test_the_reply_is_complete_for_every_dialect():
    for name in ("response-v2", "standard-v2", "knowledge-1.0"):
        contract = Contract(dialect=name)
        reply = await contract.answer([1, 2], Call(operation="count"))
        assert read(contract.speaker.encode(reply)) == reply


async def test_a_budget_holds_and_what_was_left_out_can_be_had_back():
    archive = Archive.in_memory()
    contract = Contract(budget=2000, archive=archive)
    reply = await contract.answer(ROWS, Call(operation="rows", principal="ann"))
    assert counted(contract, reply) <= 2000
    assert reply.fidelity.level != "full"
    content = await archive.get(reply.fidelity.archive_hashes["data"], principal="ann")
    assert content.value() == ROWS


async def test_the_smaller_of_the_servers_and_the_callers_budget_holds():
    contract = Contract(budget=4000, archive=Archive.in_memory())
    small = await contract.answer(ROWS, Call(max_tokens=1000))
    large = await contract.answer(ROWS, Call(max_tokens=9000))
    assert counted(contract, small) <= 1000 < counted(contract, large) <= 4000


async def test_an_absurd_budget_is_an_error_the_caller_can_act_on():
    reply = await Contract().answer(ROWS, Call(max_tokens=-5))
    assert reply.problem.kind == "validation" and reply.problem.remediation


async def test_a_lost_archive_does_not_stop_the_reply_and_is_admitted():
    archive = Archive.in_memory(quota=10)
    reply = await Contract(budget=2000, archive=archive).answer(ROWS, Call())
    assert reply.problem is None and reply.fidelity.archive_hashes is None
    assert any("not kept" in (notice.suggestion or "") for notice in reply.notices)


async def test_pages_lead_to_the_end_and_every_item_comes_once():
    contract = Contract()
    seen, cursor = [], None
    while True:
        call = Call(operation="rows", page_size=50, cursor=cursor, principal="ann")
        reply = await contract.answer(ROWS, call)
        seen += reply.data
        if not reply.page.has_more:
            break
        cursor = reply.page.cursor
    assert seen == ROWS


async def test_a_foreign_cursor_is_refused_and_never_page_one_again():
    contract = Contract()
    page = (await contract.answer(ROWS, Call(operation="rows", page_size=5, principal="ann"))).page
    stolen = await contract.answer(ROWS, Call(operation="rows", cursor=page.cursor, principal="bob"))
    assert stolen.problem.code == "INVALID_CURSOR"


async def test_modes_and_fields_make_sparse_rows():
    contract = Contract()
    reply = await contract.answer(ROWS[:2], Call(fields=["id"]))
    assert reply.data == [{"id": "row-0"}, {"id": "row-1"}]
    assert (await contract.answer(ROWS[:2], Call(response_mode="ids_only"))).data == [{"id": "row-0"}, {"id": "row-1"}]
    assert (await contract.answer(ROWS[:2], Call(fields=["nope"]))).problem.code == "INVALID_FIELDS"


async def test_what_does_not_fit_of_a_page_is_the_next_page_and_nothing_is_lost():
    contract = Contract(budget=1500, archive=Archive.in_memory())
    seen, cursor = [], None
    while True:
        reply = await contract.answer(ROWS, Call(operation="rows", page_size=50, cursor=cursor))
        assert counted(contract, reply) <= 1500
        seen += [row["id"] for row in reply.data]
        if not reply.page.has_more:
            break
        cursor = reply.page.cursor
    assert seen == [row["id"] for row in ROWS]
