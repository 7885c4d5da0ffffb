"""A pair of content and data: under an envelope the first half is the content, the second the data."""

import asyncio
import time
from contextlib import asynccontextmanager

import fastmcp
import mcp
import pytest
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram.content.jsontext import dumps
from aerogram.dialects import read
from aerogram.normalize.result import ToolResult
from aerogram.tokens import best_counter

LONG = "word " * 5_000
ROWS = [{"id": f"row-{number}", "text": "words " * 40} for number in range(50)]


def pair():
    return ("Operation completed", {"status": "success", "duration_ms": 123})


def announced() -> tuple[str, dict]:
    return ("Operation completed", {"status": "success", "duration_ms": 123})


def rows() -> tuple[dict, ...]:
    return ({"id": 1}, {"id": 2})


def long():
    return (LONG, {"rows": ROWS})


def longest():
    return ([LONG] * 200, {"rows": ROWS})


def odd():
    return ({"half": float("nan")}, {"status": "success"})


def nested():
    return (("Operation completed", {"id": 7}), {"status": "success"})


def sparse():
    return (["Operation completed", {"id": 7}, None, []], {"status": "success"})


def deep():
    return (["Operation completed", [["inner", None]]], {"status": "success"})


def finished():
    return (ToolResult(["Operation completed"], {"id": 7}), {"status": "success"})


def endless():
    items = ["Operation completed"]
    items.append(items)
    return (items, {"status": "success"})


@asynccontextmanager
async def talk(framework, **settings):
    """A client of a server of the framework."""
    server = fastmcp.FastMCP("pairs") if framework == "fastmcp" else MCPServer("pairs")
    add = server.tool if framework == "fastmcp" else server.add_tool
    for handler in (pair, announced, rows, long, longest, odd, nested, sparse, deep, finished, endless):
        add(handler)
    (aerogram.fastmcp if framework == "fastmcp" else aerogram.mcp).install(
        server, **{"dialect": "response-v2", **settings}
    )
    async with mcp.Client(server if framework == "sdk" else server._mcp_server) as client:
        await client.list_tools()
        yield client


async def called(framework, name, **settings):
    """The result of one tool."""
    async with talk(framework, **settings) as client:
        return await client.call_tool(name, {})


@pytest.fixture(params=["fastmcp", "sdk"])
def framework(request):
    return request.param


@pytest.mark.parametrize("name", ["pair", "announced"])
@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
async def test_the_first_half_is_the_content_and_the_second_the_data(framework, dialect, name):
    for schema in ("slim", None):
        result = await called(framework, name, dialect=dialect, schema=schema)
        assert [block.text for block in result.content] == ["Operation completed"]
        assert read(result.structured_content).data == {"status": "success", "duration_ms": 123}


async def test_where_the_content_tells_the_data_it_stays_in_it(framework):
    result = await called(framework, "pair", channels="text")
    assert result.content[0].text == "Operation completed" and '"duration_ms":123' in result.content[1].text
    assert result.structured_content is None


async def test_a_tuple_of_any_length_is_rows(framework):
    result = await called(framework, "rows")
    assert read(result.structured_content).data == [{"id": 1}, {"id": 2}]
    bare = await called(framework, "rows", dialect="bare", normalize=True)
    assert bare.structured_content == {"result": [{"id": 1}, {"id": 2}]}


async def test_both_halves_keep_within_the_budget(framework):
    result = await called(framework, "long", budget=2_000)
    texts = "".join(block.text for block in result.content)
    assert texts.startswith("word word") and "; more: retrieve(hash='" in texts
    body = result.structured_content
    assert body["meta"]["content_fidelity"] != "full"
    assert best_counter().count(texts) <= 2_000 and best_counter().count(dumps(body).decode()) <= 2_000


async def test_while_long_content_is_cut_others_have_their_answers(framework):
    async with talk(framework, budget=2_000) as client:
        begun, waits = time.perf_counter(), []
        long = asyncio.create_task(client.call_tool("longest", {}))
        while not long.done():
            asked = time.perf_counter()
            await client.call_tool("pair", {})
            waits.append(time.perf_counter() - asked)
        assert "; more: retrieve(hash=" in "".join(block.text for block in long.result().content)
        assert max(waits) < (asked - begun) * 0.45


@pytest.mark.parametrize("settings", [{}, {"dialect": "bare", "normalize": True}])
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("nested", ["Operation completed", '{"id":7}']),
        ("sparse", ['["Operation completed",{"id":7},null,[]]']),
        ("deep", ['["Operation completed",[["inner",null]]]']),
        ("finished", ["Operation completed", '{"id":7}']),
    ],
)
async def test_all_that_stands_first_is_sent_as_content(framework, name, texts, settings):
    """What is no data of the result is told nowhere else."""
    result = await called(framework, name, **settings)
    assert [block.text for block in result.content] == texts
    said = result.structured_content
    assert (read(said).data if not settings else said) == {"status": "success"}


async def test_content_without_an_end_is_told_as_far_as_it_goes(framework):
    result = await called(framework, "endless")
    assert not result.is_error and "Operation completed" in result.content[0].text
    assert read(result.structured_content).data == {"status": "success"}


async def test_what_was_changed_in_the_content_is_told_with_the_data(framework):
    result = await called(framework, "odd")
    assert result.content[0].text == '{"half":null}'
    assert [notice.code for notice in read(result.structured_content).notices] == ["FALLBACK_USED"]


async def test_bare_leaves_a_pair_to_the_framework_unless_it_is_to_be_normalised(framework):
    theirs = await called(framework, "pair", dialect="bare")
    assert theirs.structured_content is None and "duration_ms" in theirs.content[-1].text
    for name in ("pair", "announced"):
        ours = await called(framework, name, dialect="bare", normalize=True)
        assert [block.text for block in ours.content] == ["Operation completed"]
        assert ours.structured_content == {"status": "success", "duration_ms": 123}
