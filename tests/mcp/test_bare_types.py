"""Annotated handlers: bare, what the SDK alone would make of their values; in an envelope, what is listed for them."""

import mcp
import mcp_types
import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

import aerogram.fastmcp
from aerogram import Archive, read
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


def wrongly_typed() -> Shelf:
    return {"books": [None]}


def finished() -> Shelf:
    return mcp_types.CallToolResult(content=[], structured_content={"books": "many"})


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


@ERAS
@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
@pytest.mark.parametrize(("tool", "data"), [(coerced, {"books": 5}), (numbers, [1, 2])])
async def test_in_an_envelope_a_value_that_its_type_converts_is_sent_converted(tool, data, dialect, era):
    async with mcp.Client(serving(tool, dialect=dialect), mode=era) as client:
        await client.list_tools()
        assert read((await client.call_tool(tool.__name__, {})).structured_content).data == data


@ERAS
@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
@pytest.mark.parametrize("tool", [wrongly_typed, words, finished])
@pytest.mark.parametrize("framework", ["fastmcp", "mcp"])
async def test_in_an_envelope_data_that_a_client_would_refuse_is_a_failure(framework, tool, dialect, era):
    if framework == "mcp":
        server = serving(tool, dialect=dialect)
    else:
        server = FastMCP("typed")
        aerogram.fastmcp.install(server, dialect=dialect)
        server.tool(tool)
    async with mcp.Client(server._mcp_server if framework == "fastmcp" else server, mode=era) as client:
        await client.list_tools()
        answer = await client.call_tool(tool.__name__, {})
    assert answer.is_error and read(answer.structured_content).problem.code == "INTERNAL_ERROR"
