"""Values that come item by item: how far they are read, and that nobody reads them again."""

import itertools

import mcp
import pytest
from fastmcp import Client, FastMCP
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram import read

DIALECTS = pytest.mark.parametrize("dialect", ["bare", "response-v2"])


def counter():
    return itertools.count()


def inside():
    return {"rows": itertools.cycle([1])}


def generated():
    yield from itertools.count()


async def generator():
    return generated()


async def later():
    for number in itertools.count():
        yield number


async def ask_sdk(handler, dialect):
    server = MCPServer("streams")
    aerogram.mcp.install(server, dialect=dialect)
    server.tool(name="ask")(handler)
    async with mcp.Client(server) as client:
        return read(await client.call_tool("ask", {}))


async def ask_fastmcp(handler, dialect):
    server = FastMCP("streams")
    aerogram.fastmcp.install(server, dialect=dialect)
    server.tool(handler, name="ask")
    async with Client(server) as client:
        return read(await client.call_tool_mcp("ask", {}))


@DIALECTS
@pytest.mark.parametrize("ask", [ask_sdk, ask_fastmcp])
@pytest.mark.parametrize("handler", [counter, inside])
async def test_an_iterator_without_an_end_is_read_so_far_and_not_given_to_the_framework(handler, ask, dialect):
    reply = await ask(handler, dialect)
    assert reply.problem is None
    assert [one.code for one in reply.notices] == ["PARTIAL_RESULTS"]


@DIALECTS
@pytest.mark.parametrize("handler", [generated, generator, later])
async def test_a_generator_without_an_end_is_not_read_by_fastmcp(handler, dialect):
    reply = await ask_fastmcp(handler, dialect)
    assert [one.code for one in reply.notices] == ["PARTIAL_RESULTS"]


@DIALECTS
async def test_what_is_left_of_an_asynchronous_generator_is_told(dialect):
    async def numbers():
        return later()

    reply = await ask_sdk(numbers, dialect)
    assert [one.code for one in reply.notices] == ["PARTIAL_RESULTS"]


async def test_a_long_generator_comes_whole_where_fastmcp_gives_it_whole():
    def rows():
        yield from ({"id": number} for number in range(30_000))

    reply = await ask_fastmcp(rows, "bare")
    assert len(reply.data) == 30_000
    assert not reply.notices
