"""Paging whole answers for their callers: lists, and objects with one list; the way on is there, and it is used."""

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from fastmcp import Client, FastMCP
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import TextContent

from aerogram import Archive, Call, Contract, Page, Reply, read
from aerogram.answer import answer
from aerogram.cursor import position_in
from aerogram.dialects.standard_v2 import StandardResponse
from aerogram.fastapi import Versions
from aerogram.fastapi import install as install_routes
from aerogram.fastmcp import install
from aerogram.reply import is_generated_id
from aerogram.shape.modes import RecordType

TASKS = [{"task_id": f"task-{n:03}", "status": "open", "notes": "Read, think, write. " * 9} for n in range(150)]
NAMES = [task["task_id"] for task in TASKS]


def tools(**settings: Any) -> FastMCP:
    """A server whose tools answer whole, with the paging controls."""
    server = FastMCP("tasks")
    install(server, **{"dialect": "response-v2", "controls": True, "archive": Archive.in_memory(), **settings})

    @server.tool
    def query(spec_id: str) -> dict[str, Any]:
        return {"spec": spec_id, "tasks": TASKS}

    @server.tool
    def rows() -> list[dict[str, Any]]:
        return TASKS

    @server.tool
    def two_lists() -> dict[str, Any]:
        return {"open": TASKS, "done": TASKS}

    @server.tool
    def text() -> str:
        return "words"

    @server.tool
    def content() -> list[TextContent]:
        return [TextContent(type="text", text="words")]

    @server.tool
    def own_pages() -> Reply:
        return Reply.ok(TASKS[:10], page=Page(cursor="mine", has_more=True))

    return server


async def ask(client: Client, name: str, **given: Any) -> dict[str, Any]:
    result = await client.call_tool(name, given, raise_on_error=False)
    return dict(result.structured_content or {})


async def walk(client: Client, name: str, first: dict[str, Any], **given: Any) -> list[list[dict[str, Any]]]:
    """The loop of the guide: no cursor at first, then the one of the reply before, until there is no more."""
    pages, cursor = [], None
    while True:
        body = await ask(client, name, cursor=cursor, **given, **(first if cursor is None else {}))
        pages.append(body["data"]["tasks" if name == "query" else "results"])
        if not body["meta"]["pagination"]["has_more"]:
            return pages
        cursor = body["meta"]["pagination"]["cursor"]


async def test_lists_that_a_mode_does_not_show_to_their_end_are_named() -> None:
    async with Client(tools()) as client:
        preview = await ask(client, "two_lists", response_mode="preview")
        whole = await ask(client, "two_lists", response_mode="full")
    assert len(preview["data"]["open"]) < len(TASKS) == len(whole["data"]["open"])
    assert "Only the first items of open, done are shown in preview mode" in preview["meta"]["warnings"]
    assert "warnings" not in whole["meta"]
    async with Client(tools(dialect="bare")) as client:
        said = await client.call_tool("two_lists", {"response_mode": "preview"})
    assert said.content[0].text.endswith("\naerogram: Only the first items of open, done are shown in preview mode")
    for meta in (said.meta, None):  # a client may drop what it says besides
        heard = read({"content": said.content, "structured_content": said.structured_content, "_meta": meta})
        assert (heard.data.keys(), heard.status) == ({"open", "done"}, "partial")


@pytest.mark.parametrize("name", ["query", "rows"])
async def test_the_loop_of_the_guide_ends_with_every_row_of_a_tool_that_answers_whole(name):
    given = {"spec_id": "s"} if name == "query" else {}
    async with Client(tools()) as client:
        assert await walk(client, name, {}, **given) == [TASKS]
        pagination = (await ask(client, name, **given))["meta"]["pagination"]
    assert pagination == {"has_more": False, "total_count": 150}


@pytest.mark.parametrize("name", ["query", "rows"])
async def test_a_walk_keeps_the_page_size_that_it_began_with(name):
    given = {"spec_id": "s"} if name == "query" else {}
    async with Client(tools()) as client:
        pages = await walk(client, name, {"page_size": 40}, **given)
    assert [len(page) for page in pages] == [40, 40, 40, 30]
    assert [row for page in pages for row in page] == TASKS


async def test_a_walk_takes_another_page_size_when_it_is_asked_to():
    async with Client(tools()) as client:
        first = await ask(client, "query", spec_id="s", page_size=40)
        second = await ask(client, "query", spec_id="s", page_size=5, cursor=first["meta"]["pagination"]["cursor"])
        third = await ask(client, "query", spec_id="s", cursor=second["meta"]["pagination"]["cursor"])
    assert second["data"]["tasks"] == TASKS[40:45] and third["data"]["tasks"] == TASKS[45:50]


@pytest.mark.parametrize("budget", [900, 1_500, 4_000])
@pytest.mark.parametrize("first", [{}, {"page_size": 30}], ids=["whole", "paged"])
@pytest.mark.parametrize("name", ["query", "rows"])
async def test_under_a_budget_the_cursor_goes_on_after_the_last_row_that_was_shown(name, first, budget):
    given = {"spec_id": "s"} if name == "query" else {}
    async with Client(tools(budget=budget)) as client:
        pages = await walk(client, name, first, **given)
    assert [row["task_id"] for page in pages for row in page] == NAMES


@pytest.mark.parametrize("data", [TASKS, {"tasks": TASKS}], ids=["list", "object"])
@pytest.mark.parametrize("budget", [140, 145, 150])
async def test_a_budget_without_room_for_a_cursor_still_serves_a_whole_answer(data, budget):
    """Nobody asked for a page, so the archive has the rest, as it has without the paging controls."""
    contract = Contract(budget=budget, archive=Archive.in_memory())
    reply = await answer(Call(contract, operation="query", request_id="req_1", pages=True), data)
    assert reply.problem is None and reply.page is None
    kept = await contract.archive.get(reply.fidelity.archive_hashes["data"])
    assert kept.value() == data


@given(st.integers(250, 6_000), st.integers(1, 60))
def test_no_budget_leads_a_walk_astray(budget, length):
    """Each page shows a row more, or says what it left out; none is shown twice or passed over in silence."""
    contract = Contract(budget=budget, archive=Archive.in_memory(), channels="text")
    data = {"title": "Everything", "about": "A long preface. " * 30, "tasks": TASKS[:length]}

    def answered(cursor):
        return asyncio.run(answer(Call(contract, operation="query", cursor=cursor, pages=True), data))

    reply, shown = answered(None), []
    while reply.problem is None:
        rows = [row for row in reply.data.get("tasks", []) if "task_id" in row]  # and a mark where the list is cut
        shown += [row["task_id"] for row in rows]
        if reply.page is None or not reply.page.has_more:
            break
        assert rows
        reply = answered(reply.page.cursor)
    if reply.problem is None and shown != NAMES[:length]:
        assert shown == NAMES[: len(shown)] and reply.fidelity.archive_hashes["data"]
    assert reply.problem is None or reply.problem.code == "TOKEN_LIMIT_EXCEEDED"


@pytest.mark.parametrize("name", ["query", "two_lists", "text", "content", "own_pages", "rows"])
async def test_a_cursor_that_cannot_be_used_is_refused_whatever_the_answer_is(name):
    given = {"spec_id": "s"} if name == "query" else {}
    async with Client(tools()) as client:
        other = (await ask(client, "query", spec_id="another", page_size=5))["meta"]["pagination"]["cursor"]
        refused = [await ask(client, name, cursor=cursor, **given) for cursor in ("garbage!!", other)]
    assert [body["data"]["error_code"] for body in refused] == ["INVALID_CURSOR", "INVALID_CURSOR"]
    assert all(body["data"]["remediation"] for body in refused)


async def test_an_object_with_several_lists_or_none_says_that_a_page_size_was_not_used():
    async with Client(tools()) as client:
        several, none = await ask(client, "two_lists", page_size=5), await ask(client, "text", page_size=5)
    assert several["data"]["open"] == TASKS and "pagination" not in several["meta"]
    assert [one["code"] for one in several["meta"]["warning_details"]] == ["CONTROL_IGNORED"]
    assert "pagination" not in none["meta"]


@pytest.mark.parametrize("mode", ["ids_only", "metadata", "preview"])
@pytest.mark.parametrize("asked", [{}, {"page_size": 20}], ids=["whole", "paged"])
async def test_a_mode_shows_every_row_of_an_object_in_that_mode(mode, asked):
    async with Client(tools()) as client:
        plain = (await ask(client, "rows", response_mode=mode, **asked))["data"]["results"]
        named = (await ask(client, "query", spec_id="s", response_mode=mode, **asked))["data"]
    assert named == {"spec": "s", "tasks": plain} and len(plain) == asked.get("page_size", 150)


@pytest.mark.parametrize("mode", ["ids_only", "metadata", "preview"])
async def test_a_mode_shows_every_row_of_an_object_where_no_page_is_asked_for(mode):
    rows = [{"id": n, "title": f"Title {n}", "text": "Words. " * 60} for n in range(12)]
    reply = await answer(Call(Contract(), response_mode=mode), {"query": "x", "hits": rows})
    assert [row["id"] for row in reply.data["hits"]] == list(range(12)) and reply.notices == ()
    named = await answer(Call(Contract(), response_mode=mode), {f"file {row['id']}": row for row in rows})
    assert list(named.data.values()) == reply.data["hits"]


async def test_lists_of_which_a_mode_shows_nothing_are_named():
    async with Client(tools(dialect="bare")) as client:
        said = await client.call_tool("two_lists", {"response_mode": "metadata"})
    assert said.content[0].text.endswith("\naerogram: Nothing of open, done is shown in metadata mode")


async def test_a_page_size_for_items_under_their_names_says_that_it_was_not_used():
    items = {name: {"task_id": name} for name in NAMES[:9]}
    reply = await answer(Call(Contract(), page_size=3), items)
    assert reply.data == items and [one.code for one in reply.notices] == ["CONTROL_IGNORED"]


async def test_fields_are_chosen_from_all_rows_of_an_object_and_wrong_ones_are_refused():
    rows = [*TASKS[:20], {"task_id": "last", "due": "tomorrow"}]
    call = {"operation": "query", "page_size": 5, "response_mode": "preview"}
    reply = await answer(Call(Contract(), fields=["tasks.task_id", "tasks.due"], **call), {"tasks": rows})
    assert reply.data == {"tasks": [{"task_id": name} for name in NAMES[:5]]}
    refused = await answer(Call(Contract(), fields=["tasks.nothing"], **call), {"tasks": rows})
    assert refused.problem.code == "INVALID_FIELDS" and "tasks.notes" in refused.problem.details["allowed_fields"]
    assert "'preview' mode" in refused.problem.message


async def test_a_record_is_no_holder_of_rows_when_its_type_says_so_or_when_its_list_has_no_records():
    order = RecordType(ids_only=["order"], metadata=["order"], preview=["order", "lines"])
    data = {"order": 7, "lines": [{"sku": n} for n in range(9)]}
    declared = await answer(Call(Contract(kinds={"get": order}), operation="get", page_size=2, pages=True), data)
    assert declared.data == data and [one.code for one in declared.notices] == ["CONTROL_IGNORED"]
    tagged = {"id": 7, "tags": ["a", "b"]}
    reply = await answer(Call(Contract(), operation="get", response_mode="ids_only", pages=True), tagged)
    assert reply.data == {"id": 7}


async def test_an_object_keeps_its_other_members_on_every_page_and_when_there_are_no_rows():
    page = await answer(Call(Contract(), page_size=2), {"total": 3, "rows": [1, 2, 3]})
    assert page.data == {"total": 3, "rows": [1, 2]} and page.page.total == 3
    none = await answer(Call(Contract(), page_size=2), {"total": 0, "rows": []})
    assert none.data == {"total": 0, "rows": []} and none.status == "ok" and none.page.has_more is False


async def test_payloads_alone_are_sent_as_ever_when_no_page_is_asked_for():
    async with Client(tools(dialect="bare")) as client:
        result = await client.call_tool("query", {"spec_id": "s"})
    assert result.structured_content == {"spec": "s", "tasks": TASKS} and "dev.aerogram/page" not in (result.meta or {})


async def test_cursors_without_a_page_size_go_on_as_they_did():
    contract = Contract()
    first = await answer(Call(contract, operation="rows", page_size=10), TASKS)
    assert position_in(first.page.cursor).size is None
    second = await answer(Call(contract, operation="rows", cursor=first.page.cursor), TASKS)
    assert second.data == TASKS[10:20] and second.page.page_size == 10


def test_what_a_constructor_made_carries_the_request_id_and_the_duration_of_its_call():
    app = FastAPI()
    install_routes(app, versions=Versions(default="v2"))

    @app.get("/made")
    def made():
        return StandardResponse.rich([{"n": n} for n in range(5)])

    @app.get("/said")
    def said():
        return StandardResponse.rich([{"n": n} for n in range(5)], request_id="batch-7", latency_ms=41)

    client = TestClient(app)
    answer = client.get("/made", headers={"X-Request-Id": "caller-1"})
    assert answer.headers["X-Request-Id"] == answer.json()["meta"]["request_id"] == "caller-1"
    assert answer.json()["meta"]["latency_ms"] > 0
    meta = client.get("/made").json()["meta"]
    assert is_generated_id(meta["request_id"])
    meta = client.get("/said", headers={"X-Request-Id": "caller-1"}).json()["meta"]
    assert (meta["request_id"], meta["latency_ms"]) == ("batch-7", 41)
