"""A handler that calls another tool of its server is a program: it gets what FastMCP alone would give it."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import ToolResult

from aerogram import Archive, Reply
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.limits import Limits, Plan

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
ROWS = [{"id": number, "text": "word " * 50} for number in range(40)]


def server(installed: bool = True, **settings: Any) -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("inside")
    if installed:
        install(made, **{"dialect": "response-v2", "budget": 900, "archive": Archive.in_memory(), **settings})

    @made.tool
    def rows() -> list[dict[str, Any]]:
        return ROWS

    @made.tool
    def replied() -> Reply[list[Any]]:
        return Reply.partial(ROWS, "one is missing")

    @made.tool
    def missing() -> dict[str, Any]:
        raise NotFound("no such row", remediation="list them first")

    @made.tool
    async def characters(name: str, ctx: Context) -> dict[str, Any]:
        found = (await ctx.fastmcp.call_tool(name, {})).structured_content
        return {"members": list(found), "sum": sum(len(row["text"]) for row in found["result"])}

    @made.tool
    async def passing(name: str, ctx: Context) -> Any:
        return await ctx.fastmcp.call_tool(name, {})

    @made.tool
    async def catching(name: str, ctx: Context) -> str:
        try:
            await ctx.fastmcp.call_tool(name, {})
        except ToolError as error:
            return str(error)
        return "nothing was raised"

    @made.tool
    async def through_a_client(ctx: Context) -> list[str]:
        async with Client(ctx.fastmcp) as client:
            return list((await client.call_tool("rows")).structured_content)

    return made


async def asked(made: FastMCP[Any], era: str, tool: str, **arguments: Any) -> ToolResult:
    async with Client(made, mode=era) as client:
        return await client.call_tool(tool, arguments, raise_on_error=False)


@ERAS
async def test_a_handler_gets_the_whole_value_as_fastmcp_writes_it(era: str) -> None:
    """Neither an envelope nor what the budget leaves of it; of a reply, its data."""
    found = await asked(server(), era, "characters", name="rows")
    plain = await asked(server(installed=False), era, "characters", name="rows")
    assert found.structured_content["data"] == plain.structured_content == {"members": ["result"], "sum": 10_000}
    replied = await asked(server(), era, "characters", name="replied")
    assert replied.structured_content["data"] == plain.structured_content


@ERAS
async def test_what_is_given_on_answers_as_if_it_had_been_asked_for(era: str) -> None:
    """The value is fitted where it leaves, a failure keeps its meaning, and a reply says everything that it said."""
    rows = (await asked(server(), era, "passing", name="rows")).structured_content
    assert rows["meta"]["content_fidelity"] != "full" and rows["data"]["results"][0]["id"] == 0
    replied = (await asked(server(), era, "passing", name="replied")).structured_content
    assert "one is missing" in str(replied["meta"])
    failed = await asked(server(), era, "passing", name="missing")
    assert failed.is_error and failed.structured_content["data"]["error_code"] == "NOT_FOUND"
    assert failed.structured_content["data"]["remediation"] == "list them first"
    unknown = await asked(server(), era, "passing", name="nothing")
    assert unknown.structured_content["data"]["error_code"] == "NOT_FOUND"


@ERAS
async def test_what_another_tool_raises_is_raised_as_fastmcp_does_it(era: str) -> None:
    found = await asked(server(), era, "catching", name="missing")
    plain = await asked(server(installed=False), era, "catching", name="missing")
    assert found.structured_content["data"] == plain.structured_content
    assert "no such row" in plain.structured_content["result"]


@ERAS
async def test_a_call_inside_is_charged_to_nobody(era: str) -> None:
    limits = Limits.in_memory(Plan.of("2/day"))
    made = server(limits=limits)
    async with Client(made, mode=era) as client:
        assert [(await client.call_tool("characters", {"name": "rows"})).is_error for _ in range(2)] == [False, False]
        refused = await client.call_tool("characters", {"name": "rows"}, raise_on_error=False)
    assert refused.is_error


@ERAS
async def test_a_client_in_the_same_process_gets_the_envelope(era: str) -> None:
    """A handler that speaks the protocol is a client like any other."""
    found = await asked(server(), era, "through_a_client")
    assert found.structured_content["data"]["results"] == ["success", "data", "error", "meta"]


@ERAS
async def test_a_proxy_in_the_same_process_gets_what_the_contract_behind_it_answers(era: str) -> None:
    proxy = create_proxy(server(controls=["rows"]))
    install(proxy, dialect="response-v2")
    found = await asked(proxy, era, "rows", page_size=2)
    assert found.structured_content["data"]["results"] == ROWS[:2]
    assert found.structured_content["meta"]["pagination"]["has_more"]


@ERAS
async def test_a_tool_of_a_mounted_server_with_a_contract_is_told_whole_as_well(era: str) -> None:
    made = server()
    made.mount(server(budget=300), namespace="kid")
    found = await asked(made, era, "characters", name="kid_rows")
    assert found.structured_content["data"] == {"members": ["result"], "sum": 10_000}


@ERAS
async def test_the_calling_tool_of_a_search_gives_on_the_call_of_its_client(era: str) -> None:
    """It is the way of a client to the tools, so their controls work."""
    made = server(controls=["rows"])
    made.add_transform(BM25SearchTransform())
    found = await asked(made, era, "call_tool", name="rows", arguments={"page_size": 1})
    assert found.structured_content["data"]["results"] == ROWS[:1]
    assert found.structured_content["meta"]["pagination"]["has_more"]
