"""Pages: who may ask for one may ask for the next, and a tool that has a cursor of its own has its pages to itself."""

from __future__ import annotations

import fastmcp
import pytest
from fastmcp import Client
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Archive, Contract, read
from aerogram.contract.cache import Cache
from tool_servers import talk

ROWS = [{"id": number} for number in range(6)]


def build(framework, *tools, **settings):
    server = fastmcp.FastMCP("pages") if framework == "fastmcp" else MCPServer("pages", log_level="CRITICAL")
    (aerogram.fastmcp if framework == "fastmcp" else aerogram.mcp).install(
        server, archive=Archive.in_memory(), **settings
    )
    for tool in tools:
        (server.tool if framework == "fastmcp" else server.add_tool)(tool)
    return server


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
@pytest.mark.parametrize("budget", [None, 2_000])
async def test_whoever_may_ask_for_a_page_may_ask_for_the_next_one(door, dialect, budget):
    def rows():
        return ROWS

    controls = {"rows": ["fields", "page_size"]}
    server = build(door.framework, rows, dialect=dialect, budget=budget, controls=controls)
    found, arguments = [], {"page_size": 4}
    async with talk(door.framework, server, door.mode) as client:
        while arguments is not None:
            reply = read(await client.call("rows", arguments))
            found += reply.data
            arguments = {"cursor": reply.page.cursor} if reply.page.has_more else None
    assert found == ROWS


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
@pytest.mark.parametrize("controls", [True, ["rows"], {"rows": ["page_size", "max_tokens"]}])
async def test_a_tool_with_a_cursor_of_its_own_is_given_none_of_ours(door, dialect, controls):
    given = []

    def rows(cursor: str = ""):
        given.append(cursor)
        return ROWS

    server = build(door.framework, rows, dialect=dialect, controls=controls)
    async with talk(door.framework, server, door.mode) as client:
        listed = (await client.tools())["rows"]
        assert {"cursor", "max_tokens"} <= listed.input_schema["properties"].keys()
        assert "page_size" not in listed.input_schema["properties"]
        reply = read(await client.call("rows", {"cursor": "own"}))
    assert (reply.data, given) == (ROWS, ["own"])
    assert reply.page is None or not reply.page.cursor


async def test_versions_of_a_tool_share_neither_answers_nor_cursors():
    server = fastmcp.FastMCP("versions")
    kept = Contract(dialect="bare", cache=Cache.in_memory(), cached={"rows"}, archive=Archive.in_memory())
    aerogram.fastmcp.install(server, contract=kept, controls=True)

    @server.tool(version="1.0")
    def rows(of: str) -> list[dict]:
        return [{"version": 1, "of": of}] * 3

    @server.tool(name="rows", version="2.0")
    def newer(of: str) -> list[dict]:
        return [{"version": 2, "of": of}] * 3

    async with Client(server) as client:

        async def ask(version, **arguments):
            return read(
                await client.call_tool("rows", {"of": "tea", **arguments}, version=version, raise_on_error=False)
            )

        for version, said in (("1.0", 1), ("2.0", 2), (None, 2), ("1.0", 1)):
            assert (await ask(version)).data[0]["version"] == said
        cursor = (await ask("1.0", page_size=2)).page.cursor
        assert (await ask("1.0", cursor=cursor)).data == [{"version": 1, "of": "tea"}]
        assert (await ask("2.0", cursor=cursor)).problem.code == "INVALID_CURSOR"
