"""The kinds of servers and applications that have an `install`, and where a wrong one is sent."""

from __future__ import annotations

from fastapi import FastAPI
from fastmcp import FastMCP
from mcp.server import MCPServer
from starlette.applications import Starlette

HOSTS = {
    FastMCP: "a FastMCP server use aerogram.fastmcp",
    MCPServer: "a server of the MCP SDK use aerogram.mcp",
    Starlette: "a Starlette application use aerogram.starlette",
    FastAPI: "a FastAPI application use aerogram.fastapi",
}
