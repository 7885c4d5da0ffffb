"""Sanitizers of MCP servers: texts of content, of finished results and of resources are clean as well."""

import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from mcp import Client as SDKClient
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent

from aerogram import fastmcp, mcp
from aerogram.sanitize import Fence, Redaction

KEY = "AKIAIOSFODNN7EXAMPLE"


def text(said):
    return TextContent(type="text", text=said)


def blocks():
    return [text(f"the key {KEY}"), text("plain")]


def read():
    return {"password": "hunter2"}


def read_text():
    return f"key={KEY}"


def by_fastmcp(*steps):
    inner, server = FastMCP("inner"), FastMCP("outer")
    inner.tool(read)
    inner.resource("data://inner")(read)
    server.mount(inner, "inner")
    fastmcp.install(server, dialect="response-v2", sanitizers=steps)

    @server.tool
    def finished():
        return ToolResult(content=[text(KEY)], structured_content={"password": "hunter2"})

    @server.tool
    def failing():
        return ToolResult(content=[text(KEY)], is_error=True)

    server.tool(blocks)
    server.resource("data://json")(read)
    server.resource("data://text")(read_text)
    return FastMCPClient(server)


def by_sdk(*steps):
    server = MCPServer("outer")
    mcp.install(server, dialect="response-v2", sanitizers=steps)

    @server.tool()
    def finished() -> CallToolResult:
        return CallToolResult(content=[text(KEY)], structured_content={"password": "hunter2"})

    @server.tool()
    def failing() -> CallToolResult:
        return CallToolResult(content=[text(KEY)], is_error=True)

    server.tool()(blocks)
    server.resource("data://json")(read)
    server.resource("data://text")(read_text)
    return SDKClient(server)


TOOLS = ("finished", "failing", "blocks")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("client", "tool"),
    [*((by_sdk, tool) for tool in TOOLS), *((by_fastmcp, tool) for tool in (*TOOLS, "inner_read"))],
)
async def test_what_a_tool_says_is_clean_in_both_channels(client, tool):
    """Whoever made the result, and whether it is a failure."""
    options = {"raise_on_error": False} if client is by_fastmcp else {}
    async with client(Redaction()) as caller:
        result = await caller.call_tool(tool, {}, **options)
    said = repr([result.content, result.structured_content])
    assert KEY not in said
    assert "hunter2" not in said
    assert "[redacted:" in result.content[0].text


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("client", "uri"),
    [
        *((by_sdk, uri) for uri in ("data://json", "data://text")),
        *((by_fastmcp, uri) for uri in ("data://json", "data://text", "data://inner/inner")),
    ],
)
async def test_what_a_resource_says_is_clean(client, uri):
    """Values, texts, and resources of mounted servers."""
    async with client(Redaction()) as caller:
        found = await caller.read_resource(uri)
    contents = found if isinstance(found, list) else found.contents
    assert "[redacted:" in contents[0].text
    assert KEY not in contents[0].text
    assert "hunter2" not in contents[0].text


@pytest.mark.asyncio
@pytest.mark.parametrize("client", [by_sdk, by_fastmcp])
async def test_texts_that_have_nothing_to_hide_are_the_same(client):
    """Fences by name leave other texts alone."""
    async with client(Fence("comment")) as caller:
        result = await caller.call_tool("blocks", {})
    assert [one.text for one in result.content] == [f"the key {KEY}", "plain"]
