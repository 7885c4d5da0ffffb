"""Failures that are long, or that came finished: nothing of them is lost, and whoever wants them untouched has them."""

from __future__ import annotations

from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import CallToolResult, TextContent

from aerogram.fastmcp import install

LONG = "line one. " + "word " * 2000 + "the cause"


def server_of(*tools: Any, **settings: Any) -> FastMCP:
    server: FastMCP = FastMCP("failing")
    install(server, **settings)
    for tool in tools:
        server.tool(tool)
    return server


def finished() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=LONG)], is_error=True)


def raised() -> str:
    raise ToolError(LONG)


async def test_a_long_message_is_cut_to_the_budget_and_can_be_had_whole() -> None:
    """As much of it as fits is shown, and the call that is named gives all of it."""
    async with Client(server_of(finished, raised, budget=500)) as client:
        for name in ("finished", "raised"):
            text = (await client.call_tool(name, raise_on_error=False)).content[0].text
            assert text.startswith("line one. word") and len(text) > 1_500
            assert "the cause" not in text
            back, offset = "", 0
            for _ in range(20):
                hash_ = text.partition("retrieve(hash='")[2][:12]
                page = await client.call_tool(
                    "retrieve", {"hash": hash_, "path": "/message", "offset": offset, "max_tokens": 400}
                )
                shown = page.content[0].text.partition("\naerogram: ")[0]
                back, offset = back + shown, offset + len(shown)
                if "the cause" in shown:
                    break
            assert back.rstrip().endswith("the cause")


async def test_a_finished_failure_is_left_as_it_is_where_nothing_is_to_be_judged() -> None:
    """Without `soft_errors` its words, its blocks and what goes along are its author's."""
    async with Client(server_of(finished, soft_errors=None)) as client:
        result = await client.call_tool("finished", raise_on_error=False)
        assert result.is_error and [block.text for block in result.content] == [LONG]
        assert result.content[0].annotations is None


async def test_each_item_of_the_first_half_of_a_pair_is_a_block() -> None:
    """As the function gives it that normalises results."""

    def pair() -> tuple[list[str], dict[str, int]]:
        return ["a", "b"], {"k": 1}

    async with Client(server_of(pair, dialect="response-v2")) as client:
        result = await client.call_tool("pair")
        assert [block.text for block in result.content] == ["a", "b"]
        assert result.structured_content["data"] == {"k": 1}
