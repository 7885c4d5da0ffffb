"""A low-level `Server` of the SDK with handlers of every kind.

python low_level_server.py stdio|http      serves it; over HTTP on a free port, which it prints
"""

from __future__ import annotations

import json
import socket
import sys

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from aerogram import Archive
from aerogram.errors import NotFound
from aerogram.mcp import install
from aerogram.sanitize import Redaction

ROWS = [{"id": f"row-{number}", "title": f"Row {number}", "text": "some words " * 20} for number in range(300)]
REPORT = "\n\n".join(f"Section {number}. " + "We measured this and that. " * 30 for number in range(60))
PIXEL = "iVBORw0KGgo="
TEXT = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
CELLS = {"Sheet1": {f"C{number}": f"note {number} and some words" for number in range(400)}}
CELLS_SCHEMA = {
    "type": "object",
    "properties": {"matches": {"additionalProperties": {"additionalProperties": {"type": "string"}, "type": "object"}}},
    "required": ["matches"],
}
LETTER_SCHEMA = {"type": "object", "properties": {"letter": {"type": "string"}}, "required": ["letter"]}
ROWS_SCHEMA = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
NAMES = (
    "report",
    "rows",
    "json_text",
    "echo",
    "fail",
    "declared",
    "protocol",
    "wrong",
    "picture",
    "raw",
    "letter",
    "refuse",
)


class Echo(BaseModel):
    word: str


def said(*texts, **more):
    return types.CallToolResult(content=[types.TextContent(type="text", text=one) for one in texts], **more)


def echo(arguments):
    return said(Echo(**arguments).word)


def fail(_):
    raise ValueError("the printer in /srv/printers/third is on fire")


def declared(_):
    raise NotFound("there is no such row", remediation="rows has them")


def protocol(_):
    raise MCPError(types.INVALID_PARAMS, "not like this")


HANDLERS = {
    "report": lambda _: said(REPORT),
    "rows": lambda _: said(json.dumps({"rows": ROWS}), structured_content={"rows": ROWS}),
    "json_text": lambda _: said(json.dumps(ROWS, indent=2)),
    "echo": echo,
    "fail": fail,
    "declared": declared,
    "protocol": protocol,
    "wrong": lambda _: said("no such table: orders", is_error=True),
    "picture": lambda _: types.CallToolResult(
        content=[types.ImageContent(type="image", data=PIXEL, mime_type="image/png")]
    ),
    "letter": lambda _: said(REPORT, structured_content={"letter": REPORT}),
    "cells": lambda _: said(json.dumps({"matches": CELLS}), structured_content={"matches": CELLS}),
    "refuse": lambda _: said("Invalid arguments for tool refuse", is_error=True),
    "raw": lambda _: {"content": [{"type": "text", "text": "a plain dictionary"}], "resultType": "complete"},
}


async def list_tools(_, params):
    """In two pages, as long lists are."""
    half = len(NAMES) // 2
    shown = NAMES[half:] if params.cursor else NAMES[:half]
    tools = [
        types.Tool(
            name=name,
            description=f"Show {name}",
            input_schema=TEXT if name in ("echo", "refuse") else {"type": "object"},
            output_schema={"rows": ROWS_SCHEMA, "letter": LETTER_SCHEMA, "cells": CELLS_SCHEMA}.get(name),
        )
        for name in shown
    ]
    return types.ListToolsResult(tools=tools, next_cursor=None if params.cursor else "more")


async def call_tool(_, params):
    """Run what is asked for."""
    if params.name not in HANDLERS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return HANDLERS[params.name](params.arguments or {})


async def list_resources(*_):
    """One resource."""
    return types.ListResourcesResult(resources=[types.Resource(uri="notes://first", name="first")])


async def read_resource(_, params):
    """The resource, with something in it that is nobody's business."""
    words = "password: hunter2-and-more"
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=str(params.uri), text=words)])


def build(*, installed=True, **settings):
    """The server, with Aerogram on it or without."""
    server = Server(
        "low",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    if installed:
        given = {"budget": 2_000, "archive": Archive.in_memory(), "sanitizers": [Redaction()], **settings}
        install(server, **given)
    return server


async def _serve_streams():
    server = build()
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def main():
    if sys.argv[1] == "stdio":
        anyio.run(_serve_streams)
        return
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(build().streamable_http_app(), log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main()
