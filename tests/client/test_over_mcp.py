"""The client against MCP servers: ours in each dialect, and others, through both official clients."""

from __future__ import annotations

import json
import logging
from contextlib import asynccontextmanager

import fastmcp
import mcp
import mcp_types
import pytest
from fastmcp.tools.base import ToolResult
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Fidelity, Notice, Reply
from aerogram.archive import Archive
from aerogram.client import AsyncClient, Client, Retries, read
from aerogram.content import Content
from aerogram.dialects import dialect
from aerogram.errors import ContractError, IntegrityError, NotFound, ValidationFailed

ROWS = [{"id": f"row-{number}", "text": f"the text of row {number} " * 8} for number in range(60)]


def tools(server):
    """The same handlers on a server of either framework."""

    @server.tool()
    def rows() -> list[dict]:
        return ROWS

    @server.tool()
    def missing(name: str) -> dict:
        raise NotFound(f"There is no {name}", details={"name": name})

    @server.tool()
    def warned() -> Reply:
        return Reply.ok({"a": 1}, notices=(Notice.of("STALE_CACHE", cache_age_seconds=5),))

    return server


def fastmcp_server(**settings):
    server = tools(fastmcp.FastMCP("ours"))
    aerogram.fastmcp.install(server, **{"dialect": "response-v2", **settings})
    return server


def sdk_server(**settings):
    server = tools(MCPServer("ours"))
    aerogram.mcp.install(server, **{"dialect": "response-v2", **settings})
    return server


SERVERS = {"fastmcp": fastmcp_server, "sdk": sdk_server}
CLIENTS = {"fastmcp": fastmcp.Client, "sdk": mcp.Client}
FRAMEWORKS = list(CLIENTS)
DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0", "bare"]


@asynccontextmanager
async def connected(server, client, **options):
    async with CLIENTS[client](server) as connection:
        yield AsyncClient(connection, **options)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_replies_and_problems_are_read_in_every_dialect(framework, dialect):
    async with connected(SERVERS[framework](dialect=dialect), framework) as calling:
        reply = await calling.call("rows")
        assert reply.data == ROWS
        failed = await calling.call("missing", {"name": "tree"})
        assert (failed.problem.code, failed.problem.message) == ("NOT_FOUND", "There is no tree")
        assert failed.problem.details == {"name": "tree"} and failed.request_id


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_all_pages_are_followed(dialect):
    async with connected(fastmcp_server(dialect=dialect, controls=["rows"]), "fastmcp") as calling:
        pages = [page async for page in calling.pages("rows", {"page_size": 25})]
        assert [len(page.data) for page in pages] == [25, 25, 10]
        assert [item async for item in calling.items("rows", {"page_size": 25})] == ROWS


@pytest.mark.parametrize("budget", [400, 1_200, 2_500])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_everything_that_was_dropped_comes_back(dialect, budget):
    """At tight budgets a reply shows a few rows, or the beginning of one; at roomy ones nearly all."""
    async with connected(fastmcp_server(dialect=dialect, budget=budget, channels="mirror"), "fastmcp") as calling:
        reply = await calling.call("rows")
        assert reply.data != ROWS and reply.fidelity.level != "full"
        whole = await calling.whole(reply)
        assert whole.data == ROWS
        assert (whole.status, whole.fidelity.level, whole.notices) == ("ok", "full", ())


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_pages_of_a_tight_budget_can_be_made_whole(framework):
    async with connected(SERVERS[framework](budget=2_000, controls=["rows"]), framework) as calling:
        items = [item async for item in calling.items("rows", {"page_size": 40})]
        assert items == ROWS


async def test_items_are_all_items_where_a_reply_shows_a_part_and_no_cursor_goes_on():
    async with connected(fastmcp_server(budget=600), "fastmcp") as calling:
        assert [item async for item in calling.items("rows")] == ROWS
        assert len([item async for item in calling.items("rows", whole=False)]) < len(ROWS)


@pytest.mark.parametrize("words", [40, 80])
async def test_a_page_of_a_text_that_is_json_by_itself_is_text(words):
    """A line of a log is as long as a page here, so that some pages are one document each."""
    line = json.dumps({"level": "info", "message": "alpha beta " * (words // 2)})
    text = "\n".join([line] * 60)
    server = fastmcp.FastMCP("log")
    server.tool(lambda: text, name="log")
    aerogram.fastmcp.install(server, budget=150, archive=Archive.in_memory())
    async with connected(server, "fastmcp") as calling:
        reply = await calling.call("log")
        assert reply.fidelity.level != "full"
        assert (await calling.recover(reply))["data"] == text


async def test_content_is_retrieved_by_a_named_tool_page_by_page():
    """The retrieval tool has a budget too, so the text comes in pieces that are put together again."""
    async with connected(fastmcp_server(budget=900), "fastmcp", retrieve="retrieve") as calling:
        found = await calling.recover(await calling.call("rows"))
        assert found["data"] == ROWS


async def test_data_with_numbers_beyond_64_bits_is_recovered_as_data():
    server, data = fastmcp_server(budget=500), {"account": 2**70, "text": "word " * 3_000}
    server.tool(lambda: data, name="account")
    async with connected(server, "fastmcp") as calling:
        assert (await calling.recover(await calling.call("account")))["data"] == data


async def test_content_that_does_not_match_its_hash_is_not_used():
    server = fastmcp_server(budget=2_000)
    forged = fastmcp.FastMCP("forger")

    @forged.tool(output_schema=None)
    def retrieve(hash: str, as_text: bool) -> str:
        return '[{"id":"row-0","text":"another text"}]'

    async with connected(server, "fastmcp") as honest, connected(forged, "fastmcp") as dishonest:
        reply = await honest.call("rows")
        with pytest.raises(IntegrityError):
            await dishonest.whole(reply)


async def test_content_that_is_gone_is_a_problem_like_any_other():
    archive = Archive.in_memory()
    server = fastmcp_server(budget=2_000, archive=archive)
    async with connected(server, "fastmcp") as calling:
        reply = await calling.call("rows")
        for digest in reply.fidelity.archive_hashes.values():
            await archive.delete(digest)
        with pytest.raises(NotFound):
            await calling.whole(reply)


async def test_what_was_not_kept_cannot_be_made_whole():
    server = fastmcp_server(budget=2_000, archive=None)
    async with connected(server, "fastmcp") as calling:
        with pytest.raises(NotFound, match="not kept"):
            await calling.whole(await calling.call("rows"))


async def test_a_reply_that_lacks_nothing_is_whole_already():
    async with connected(fastmcp_server(), "fastmcp") as calling:
        reply = await calling.call("rows")
        assert await calling.whole(reply) is reply


async def test_warnings_are_told_and_by_default_logged(caplog):
    heard = []
    server = fastmcp_server()
    async with connected(server, "fastmcp", on_notice=lambda notice, reply: heard.append((notice.code, reply))) as one:
        reply = await one.call("warned")
    assert heard == [("STALE_CACHE", reply)]
    async with connected(server, "fastmcp") as other:
        with caplog.at_level(logging.WARNING, "aerogram.client"):
            reply = await other.call("warned")
    (record,) = [one for one in caplog.records if one.name == "aerogram.client"]
    assert record.getMessage().startswith("STALE_CACHE: ") and record.request_id == reply.request_id


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_servers_without_a_contract_are_read_too(framework):
    plain = {"fastmcp": fastmcp.FastMCP, "sdk": MCPServer}[framework]("theirs")

    @plain.tool()
    def listed() -> list[int]:
        return [1, 2]

    @plain.tool()
    def record() -> dict:
        return {"a": 1}

    @plain.tool()
    def text() -> str:
        return "words"

    @plain.tool()
    def number() -> int:
        return 5

    @plain.tool()
    def broken() -> str:
        raise ValueError("too large")

    async with connected(plain, framework) as calling:
        found = [(await calling.call(name)).data for name in ("listed", "record", "text", "number")]
        assert found == [[1, 2], {"a": 1}, "words", 5]
        assert [item async for item in calling.items("listed")] == [1, 2]
        failed = (await calling.call("broken")).problem
        assert "broken" in failed.message and not failed.retryable


async def test_a_wrong_argument_is_a_validation_problem():
    async with connected(fastmcp_server(), "fastmcp") as calling:
        with pytest.raises(ValidationFailed):
            [page async for page in calling.pages("missing", {"nme": "x"})]


async def test_an_unknown_tool_is_the_protocols_business():
    async with connected(fastmcp_server(), "fastmcp", retries=Retries(most=0)) as calling:
        with pytest.raises(mcp.MCPError):
            await calling.call("no such tool")


ODD_DATA = {
    "a code that is a list": {"code": ["NOT_FOUND"]},
    "a code that is an object": {"code": {}},
    "a time that is a text": {"code": "RATE_LIMIT_EXCEEDED", "retry_after": "soon"},
    "a time before now": {"code": "RATE_LIMIT_EXCEEDED", "retry_after": -1},
    "details that are a list": {"code": "NOT_FOUND", "details": [1]},
    "a message that is a number": {"code": "NOT_FOUND", "message": 5},
    "a good one": {"code": "NOT_FOUND", "message": "gone", "details": {"id": 5}},
}


@pytest.mark.parametrize("data", ODD_DATA.values(), ids=ODD_DATA)
async def test_an_error_of_the_protocol_with_odd_data_is_no_crash(data):
    async def refuse(context, asked):
        raise mcp.MCPError(-32_000, "not now", data)

    async with mcp.Client(Server("odd", on_call_tool=refuse)) as connection:
        try:
            reply = await AsyncClient(connection, retries=Retries(most=0)).call("any")
        except (ContractError, mcp.MCPError):
            assert data is not ODD_DATA["a good one"]
        else:
            assert (reply.problem.code, reply.problem.message) == ("NOT_FOUND", "gone")
            assert reply.problem.details == {"id": 5}


@pytest.mark.parametrize("blob", ["abc", "!!!!", "_-_-", "AA AA\n", "AAAA"])
async def test_bytes_of_a_resource_are_base64_or_refused(blob):
    async def read_resource(context, asked):
        held = mcp_types.BlobResourceContents(uri=asked.uri, blob=blob)
        return mcp_types.ReadResourceResult(contents=[held])

    async with mcp.Client(Server("odd", on_read_resource=read_resource)) as connection:
        client = AsyncClient(connection)
        if "A" in blob:
            assert (await client.call("odd://bytes")).data == b"\0\0\0"
        else:
            with pytest.raises(ContractError, match="base64"):
                await client.call("odd://bytes")


async def test_a_client_that_waits_refuses_a_server_that_must_be_awaited():
    async with fastmcp.Client(fastmcp_server()) as connection:
        with pytest.raises(TypeError, match="AsyncClient"):
            Client(connection).call("rows")


@pytest.mark.parametrize("dialect", DIALECTS[:-1])
@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_envelope_is_found_behind_the_content_of_a_pair(framework, dialect):
    """A server whose only channel is text sends both halves of a pair as texts."""
    server = SERVERS[framework](dialect=dialect, channels="text")

    @server.tool()
    def pair():
        return "for people", {"x": 1}

    async with connected(server, framework) as client:
        reply = await client.call("pair")
    assert reply.data == {"x": 1}
    assert (reply.request_id is None) == (dialect == "response-v2")


async def test_texts_that_are_no_envelope_stay_what_they_are():
    result = {"content": [{"type": "text", "text": text} for text in ("a", '{"success": true}')], "isError": False}
    assert read(result).data == ["a", {"success": True}]


TEXT = "a long text " * 300
KEPT = Content.of_text(TEXT)


async def test_content_without_an_envelope_is_made_whole_by_what_stands_beside_it():
    async def answer(target, arguments):
        if target == "retrieve":
            return {"content": [{"type": "text", "text": TEXT}], "isError": False}
        kept = {"level": "partial", "archive_hashes": {"data": KEPT.hash}}
        said = {"content": [{"type": "text", "text": TEXT[:50]}], "isError": False}
        return {**said, "_meta": {"dev.aerogram/fidelity": kept}}

    client = AsyncClient(answer, retrieve="retrieve")
    reply = await client.call("text")
    assert (reply.data, (await client.whole(reply)).data) == (TEXT[:50], TEXT)


async def test_content_that_was_cut_beside_whole_data_is_recovered_by_its_name():
    kept = Fidelity("partial", archive_hashes={"content": KEPT.hash})

    async def answer(target, arguments):
        if target == "retrieve":
            return {"content": [{"type": "text", "text": TEXT}], "isError": False}
        body = dialect("response-v2").encode(dialect("response-v2").complete(Reply.ok({"x": 1}, fidelity=kept)))
        return {"content": [{"type": "text", "text": TEXT[:50]}], "structuredContent": body, "isError": False}

    client = AsyncClient(answer, retrieve="retrieve")
    reply = await client.call("pair")
    assert await client.recover(reply) == {"content": TEXT}
    whole = await client.whole(reply)
    assert (whole.data, whole.fidelity.level) == ({"x": 1}, "full")


ROWS_OF_TEXT = [{"id": number, "note": "some words and more"} for number in range(200)]
SAID = {
    "rows": json.dumps(ROWS_OF_TEXT, indent=1),
    "an object": json.dumps({"rows": ROWS_OF_TEXT, "total": 200}),
    "an object with one text": json.dumps({"content": "some words and more. " * 400}),
    "words": "Some words and more. " * 400,
}


@pytest.mark.parametrize("is_boxed", [True, False])
@pytest.mark.parametrize("name", SAID)
async def test_what_was_cut_comes_back_as_it_would_have_been_read_whole(name, is_boxed):
    async def ask(**settings):
        server = fastmcp.FastMCP("texts")
        aerogram.fastmcp.install(server, **settings)

        @server.tool
        def say():
            structured = {"structured_content": {"content": SAID[name]}} if is_boxed else {}
            return ToolResult(content=SAID[name], **structured)

        async with fastmcp.Client(server) as connection:
            client = AsyncClient(connection, on_notice=lambda *_: None)
            reply = await client.call("say")
            return reply, await client.whole(reply)

    cut, whole = await ask(budget=500, archive=Archive.in_memory())
    assert cut.fidelity.level != "full"
    assert whole.data == (await ask())[0].data
