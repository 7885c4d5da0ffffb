"""Bare payloads of the SDK: what a handler is annotated with is what the SDK alone would make of it."""

import mcp
import pytest
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

from aerogram import Archive
from aerogram.mcp import install

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


class Shelf(BaseModel):
    books: int


def coerced() -> Shelf:
    return {"books": "5"}


def filtered() -> Shelf:
    return {"books": 5, "secret": 1}


def nothing() -> None:
    return None


def wrong() -> Shelf:
    return {"pages": 1}


def counts() -> dict[str, int]:
    return {"a": "1"}


def uncountable() -> dict[str, int]:
    return {"a": "many"}


def numbers() -> list[int]:
    return ["1", 2]


def words() -> list[int]:
    return ["one"]


def drawn() -> list[int]:
    return {3}


TOOLS = (coerced, filtered, wrong, counts, uncountable, numbers, words)


def serving(*tools, **settings) -> MCPServer:
    server = MCPServer("typed")
    if settings:
        install(server, **{"dialect": "response-v2", **settings})
    for tool in tools:
        server.tool()(tool)
    return server


@ERAS
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
@pytest.mark.parametrize("settings", [{}, {"budget": 2_000}], ids=str)
async def test_typed_results_are_the_sdks_own(tool, settings, era):
    alone = serving(tool)
    under_contract = serving(tool, dialect="bare", archive=Archive.in_memory(), **settings)
    results = []
    for server in (alone, under_contract):
        async with mcp.Client(server, mode=era) as client:
            await client.list_tools()  # so that the client validates
            results.append(await client.call_tool(tool.__name__, {}))
    plain, found = results
    assert (found.is_error, found.structured_content) == (plain.is_error, plain.structured_content)
    if found.is_error:
        assert found.meta["dev.aerogram/problem"]["code"] == "INTERNAL_ERROR"
    else:
        assert found.content == plain.content


@ERAS
async def test_a_value_that_fits_only_as_json_is_sent(era):
    async with mcp.Client(serving(drawn, dialect="bare"), mode=era) as client:
        await client.list_tools()
        assert (await client.call_tool("drawn", {})).structured_content == {"result": [3]}


@ERAS
async def test_nothing_at_all_has_a_size_too(era):
    """It goes into the box that the SDK lists for it, and a budget holds for that."""
    async with mcp.Client(serving(nothing, dialect="bare", controls=True), mode=era) as client:
        refused = await client.call_tool("nothing", {"max_tokens": 1})
        served = await client.call_tool("nothing", {"max_tokens": 10})
    assert refused.is_error and "Use max_tokens of at least 10" in refused.content[0].text
    assert served.structured_content == {"result": None} and not served.is_error
