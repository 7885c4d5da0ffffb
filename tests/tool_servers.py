"""One set of handlers on either MCP framework, half of them registered before `install` and half after it.

python tool_servers.py fastmcp|sdk stdio|http      serves them; over HTTP on a free port, which it prints
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import socket
import sys
from contextlib import asynccontextmanager
from functools import cache
from unittest import mock

import attrs
import fastmcp
import mcp
import mcp_types
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.utilities.func_metadata import func_metadata

import aerogram.fastmcp
import aerogram.mcp
from aerogram import Page, Reply
from aerogram.errors import NotFound, RateLimited

ROWS = [{"id": f"row-{number}", "title": f"Row {number}", "text": "words " * 40} for number in range(120)]
PIXEL = mcp_types.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")


@attrs.define
class Point:
    x: int
    y: int


@dataclasses.dataclass
class Task:
    task_id: str
    done: bool


def rows() -> list[dict]:
    return ROWS


def divide(dividend: int, divisor: int) -> float:
    return dividend / divisor


def task(task_id: str) -> Task:
    if task_id == "missing":
        raise NotFound("no such task", details={"task_id": task_id})
    if task_id == "busy":
        raise RateLimited("too many calls", retry_after=45)
    return Task(task_id, done=False)


async def odd_values():
    return {"point": Point(1, 2), "set": {3}, "missing": math.nan}


def picture() -> mcp_types.ImageContent:
    return PIXEL


def finished() -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="as it is")])


def unannounced():
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="by surprise")])


def partial() -> Reply[list[int]]:
    return Reply.partial([1, 2], "the third is missing")


def own_page() -> Reply[list[dict]]:
    return Reply.ok(ROWS[:10], page=Page("10", has_more=True, total=len(ROWS), page_size=10))


def paged_by_itself(cursor: str) -> dict:
    return {"cursor": cursor}


BEFORE = (rows, divide, task, odd_values)
AFTER = (picture, finished, unannounced, partial, own_page, paged_by_itself)


def frame():
    return {"rows": [1, 2]}


def document(name: str) -> bytes:
    if name == "none":
        raise NotFound("no such document")
    return b"\x89PNG\r\n\x1a\n" + name.encode()


def taking_long():
    """A handler that takes a long time, and what tells that it has begun and that it has ended."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow() -> dict:
        """Take a long time."""
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return {}

    return slow, begun, ended


def build(framework, *, installed=True, **settings):
    """A server of the framework with all handlers; gives it and its service."""
    server = fastmcp.FastMCP("tools") if framework == "fastmcp" else MCPServer("tools", log_level="CRITICAL")
    install = aerogram.fastmcp.install if framework == "fastmcp" else aerogram.mcp.install
    for handler in BEFORE:
        _add_tool(server, handler)
    server.resource("data://frame")(frame)
    service = install(server, **{"dialect": "response-v2", **settings}) if installed else None
    for handler in AFTER:
        _add_tool(server, handler)
    server.resource("data://documents/{name}")(document)
    return server, service


def _add_tool(server, handler):
    """As the framework does; but what it has found out about a handler once is the same for the next server."""
    if isinstance(server, MCPServer):
        with mock.patch.object(mcp.server.mcpserver.tools.base, "func_metadata", _metadata):
            server.add_tool(handler)
    else:
        server.add_tool(_parsed(handler).model_copy())


@cache
def _parsed(handler):
    return fastmcp.tools.Tool.from_function(handler)


@cache
def _metadata_once(handler, options):
    return func_metadata(handler, **dict(options))


def _metadata(handler, **options):
    hashable = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in options.items())
    return _metadata_once(handler, hashable).model_copy()


class Talk:
    """A client of either framework, in words that both have."""

    def __init__(self, framework, client):
        self.framework, self.client = framework, client

    async def call(self, name, arguments=None, meta=None):
        more = {"raise_on_error": False} if self.framework == "fastmcp" else {}
        return await self.client.call_tool(name, arguments or {}, meta=meta, **more)

    async def tools(self):
        listed = await self.client.list_tools()
        return {tool.name: tool for tool in (listed if self.framework == "fastmcp" else listed.tools)}

    async def read(self, uri):
        """The first contents of a resource, and the whole result where the client shows it."""
        if self.framework == "fastmcp":
            result = await self.client.read_resource_mcp(uri)
        else:
            result = await self.client.read_resource(uri)
        return result.contents[0], result


@asynccontextmanager
async def talk(framework, target, mode, **options):
    client = (fastmcp.Client if framework == "fastmcp" else mcp.Client)(target, mode=mode, **options)
    async with client:
        yield Talk(framework, client)


def main():
    framework, transport = sys.argv[1:]
    server, _ = build(framework, budget=2_000, controls=["rows"])
    if transport == "stdio":
        server.run("stdio", show_banner=False) if framework == "fastmcp" else server.run("stdio")
        return
    app = server.http_app(path="/mcp") if framework == "fastmcp" else server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main()
