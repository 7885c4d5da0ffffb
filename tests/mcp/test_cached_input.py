"""A cached tool that asks its caller for input: what one has answered is never told to another."""

import fastmcp
import mcp
import mcp_types
import pytest
from fastmcp import Context as FastMCPContext
from mcp.server.mcpserver import Context as SDKContext
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

import aerogram.fastmcp
import aerogram.mcp
from aerogram.contract.cache import Cache
from aerogram.dialects import read

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


async def answer(context):
    if not context.input_responses:
        asked = ElicitRequest(params=ElicitRequestFormParams(message="name?", requested_schema=SCHEMA))
        return InputRequiredResult(input_requests={"name": asked}, request_state="asked")
    return {"hello": context.input_responses["name"].content["name"]}


def by_sdk():
    server = MCPServer("asking")
    aerogram.mcp.install(server, dialect="response-v2", cache=Cache.in_memory(), cached=["ask", "plain"])

    @server.tool()
    async def ask(context: SDKContext) -> dict | InputRequiredResult:
        return await answer(context)

    @server.tool()
    async def plain(context: SDKContext) -> dict:
        return {"hello": "all"}

    return server


def by_fastmcp():
    server = fastmcp.FastMCP("asking")
    aerogram.fastmcp.install(server, dialect="response-v2", cache=Cache.in_memory(), cached=["ask", "plain"])

    @server.tool
    async def ask(context: FastMCPContext):
        return await answer(context)

    @server.tool
    async def plain(context: FastMCPContext):
        return {"hello": "all"}

    return server._mcp_server


async def asked_by(server, name, tool="ask"):
    async def elicited(*_):
        return ElicitResult(action="accept", content={"name": name})

    async with mcp.Client(server, elicitation_callback=elicited) as client:
        result = await client.call_tool(tool, {})
    assert isinstance(result, mcp_types.CallToolResult) and not result.is_error
    return read(result.structured_content)


@pytest.mark.parametrize("server", [by_sdk, by_fastmcp])
async def test_each_caller_is_asked_and_gets_the_answer_to_what_it_said(server):
    made = server()
    assert [(await asked_by(made, name)).data for name in ("bob", "eve", "bob")] == [
        {"hello": "bob"},
        {"hello": "eve"},
        {"hello": "bob"},
    ]


@pytest.mark.parametrize("server", [by_sdk, by_fastmcp])
async def test_a_tool_that_asks_for_nothing_is_answered_from_the_cache(server):
    made = server()
    replies = [await asked_by(made, "bob", "plain") for _ in range(2)]
    assert [reply.telemetry.cache_hit for reply in replies] == [False, True]
