"""The official clients of mcp and FastMCP accept every result: from our bytes, and from their own servers."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StdioTransport
from fastmcp.tools.base import ToolResult as FastMCPResult
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult

from aerogram.normalize import Policy, normalize_tool_result, settle
from normalize.forms_table import ABSENT, ROWS
from normalize.wire_server import RESOURCES
from programs import quick_command

MODULE = ["-m", "normalize.wire_server"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
ONE = Policy(blocks="one")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_mcp_client_accepts_every_result_and_reads_every_resource(mode: str):
    """Over a real process: it validates each result against the advertised schema; several contents of a resource
    keep their own URIs, and each is text or a blob of the documented type.
    """
    program, *words = quick_command(*MODULE)
    parameters = mcp.StdioServerParameters(command=program, args=words, env=ENVIRONMENT)
    async with mcp.Client(parameters, mode=mode) as client:
        await client.list_tools()
        for place, row in enumerate(ROWS):
            for kind in ("plain", "annotated"):
                result = await client.call_tool(f"{kind}-{place}", {})
                assert result.is_error is row.is_error, row.name
                if mode != "legacy" and not row.is_error:
                    assert result.structured_content == (None if row.data is ABSENT else row.data), row.name
        contents = [one for uri in RESOURCES for one in (await client.read_resource(uri)).contents]
    assert [(one.uri, one.mime_type, getattr(one, "text", None) or one.blob) for one in contents] == [
        ("text://simple", "text/plain", "Hello, world!"),
        ("config://app", "application/json", '{"version": "1.0"}'),
        ("binary://image", "image/png", "iVBORw0KGgo="),
        ("data://frame", "application/json", '[{"a": 1}]'),
        ("multi://1", "text/plain", "First"),
        ("multi://2", "application/octet-stream", "eA=="),
        ("odd://text", "text/plain", "a\ufffd\0"),
    ]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_fastmcp_client_accepts_every_result(mode: str):
    """Over a real process, in both eras."""
    program, *words = quick_command(*MODULE)
    async with fastmcp.Client(StdioTransport(program, words, env=ENVIRONMENT), mode=mode) as client:
        for place, row in enumerate(ROWS):
            result = await client.call_tool_mcp(f"annotated-{place}", {})
            assert result.is_error is row.is_error, row.name


async def normalized(place: int) -> CallToolResult:
    row = ROWS[place]
    value = await settle(row.make()) if row.needs_await else row.make()
    return normalize_tool_result(value, policy=ONE).to_mcp()


def expected(place: int) -> Any:
    data = ROWS[place].data
    if data is ABSENT:
        return None
    return data if isinstance(data, dict) else {"result": data}


async def test_sdk_server_sends_every_result_unchanged(caplog):
    """A handler of the SDK that returns our result passes its conversion."""
    caplog.set_level(logging.CRITICAL)
    server = MCPServer("sdk")

    @server.tool()
    async def show(place: int) -> CallToolResult:
        return await normalized(place)

    async with mcp.Client(server) as client:
        for place in range(len(ROWS)):
            result = await client.call_tool("show", {"place": place})
            assert (result.is_error, result.structured_content) == (ROWS[place].is_error, expected(place))


async def test_fastmcp_server_sends_every_result_unchanged(caplog):
    """A handler of FastMCP that returns our result passes its conversion."""
    caplog.set_level(logging.CRITICAL)
    server = fastmcp.FastMCP("fastmcp")

    @server.tool
    async def show(place: int) -> CallToolResult:
        return await normalized(place)

    async with fastmcp.Client(server) as client:
        for place in range(len(ROWS)):
            result = await client.call_tool_mcp("show", {"place": place})
            assert (result.is_error, result.structured_content) == (ROWS[place].is_error, expected(place))


@pytest.mark.parametrize("server", [MCPServer("sdk"), fastmcp.FastMCP("fastmcp")], ids=["sdk", "fastmcp"])
async def test_a_result_of_ours_is_no_success_where_nobody_knows_it(server: Any, caplog: pytest.LogCaptureFixture):
    """Its words would be a text of Python; the failure says what to return."""

    @server.tool()
    def show() -> Any:
        return normalize_tool_result({"a": 1})

    async with (mcp if isinstance(server, MCPServer) else fastmcp).Client(server) as client:
        result = await getattr(client, "call_tool_mcp", client.call_tool)("show", {})
    assert result.is_error and "ToolResult(" not in result.content[0].text
    assert "to_mcp()" in result.content[0].text + caplog.text


def test_results_of_both_packages_pass_as_the_same_object():
    """An error flag in them is neither set nor cleared."""
    sdk = CallToolResult(content=[], is_error=True)
    fast = FastMCPResult(content=[], structured_content={"a": 1})
    assert normalize_tool_result(sdk) is sdk and sdk.is_error
    assert normalize_tool_result(fast) is fast
