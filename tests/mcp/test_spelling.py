"""A budget holds for the letters that are sent, however a framework would have set them."""

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

import aerogram.mcp
from aerogram import Archive
from aerogram.tokens import best_counter


@pytest.mark.parametrize("count", [5, 60, 90, 110])
async def test_data_that_the_sdk_would_indent_is_within_the_budget(count):
    server = MCPServer("cells")
    server.tool(name="cells")(lambda: {"cells": [[number, "a"] for number in range(count)]})
    aerogram.mcp.install(server, budget=600, archive=Archive.in_memory())
    async with Client(server) as client:
        text = (await client.call_tool("cells", {})).content[0].text
    assert best_counter().count(text) <= 600
    assert ("\n" in text.partition("\naerogram")[0]) == (count == 5)
