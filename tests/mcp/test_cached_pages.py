"""A cached tool that makes pages of its own: under any budget, each row comes once."""

from __future__ import annotations

import fastmcp
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Archive
from aerogram.contract.cache import Cache
from aerogram.cursor import Cursors
from aerogram.shape.pages import Pager, take
from tool_servers import talk

ROWS = [{"id": number, "text": "word " * 50} for number in range(40)]


async def test_a_walk_through_a_cached_tool_has_every_row_once(door):
    cursors = Cursors()

    def own(cursor: str | None = None, page_size: int = 10):
        pager = Pager(cursors, "own", {})
        window = pager.window(cursor, page_size)
        return pager.page(take(ROWS, window), window, total=len(ROWS))

    settings = {"budget": 700, "archive": Archive.in_memory(), "cache": Cache.in_memory(), "cursors": cursors}
    server = fastmcp.FastMCP("own") if door.framework == "fastmcp" else MCPServer("own", log_level="CRITICAL")
    (aerogram.fastmcp if door.framework == "fastmcp" else aerogram.mcp).install(
        server, cached=["own"], **{"dialect": "response-v2", **settings}
    )
    (server.tool if door.framework == "fastmcp" else server.add_tool)(own)
    async with talk(door.framework, server, door.mode) as client:
        for _ in range(2):
            assert await walked(client) == list(range(40))


async def walked(client):
    found, arguments = [], {}
    while True:
        reply = (await client.call("own", arguments)).structured_content
        assert reply["success"]
        found += [row["id"] for row in reply["data"]["results"]]
        page = reply["meta"]["pagination"]
        if not page["has_more"]:
            return found
        arguments = {"cursor": page["cursor"]}
