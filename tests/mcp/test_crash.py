"""A crash in a handler, on a server with the logging that it has by default."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, sys
{make}

@server.tool()
def crash() -> str:
    raise RuntimeError("gone")

async def main():
    async with Client(server) as client:
        result = await client.call_tool("crash", {{}}{more})
        sys.stdout.write(result.structured_content["data"]["error_code"])

asyncio.run(main())
"""
SDK = """
from mcp import Client
from mcp.server import MCPServer
from aerogram.mcp import install
server = MCPServer("x")
install(server, dialect="response-v2")
"""
FASTMCP = """
from fastmcp import Client, FastMCP
from aerogram.fastmcp import install
server = FastMCP("x")
install(server, dialect="response-v2")
"""


@pytest.mark.parametrize(("make", "more"), [(SDK, ""), (FASTMCP, ", raise_on_error=False")], ids=["sdk", "fastmcp"])
def test_a_crash_is_answered_and_its_trace_printed_in_the_end(make, more):
    """Outside of a test runner, whose log handlers would keep the framework's own from printing."""
    program = [sys.executable, "-c", PROGRAM.format(make=make, more=more)]
    usual = {name: value for name, value in os.environ.items() if not name.startswith("FASTMCP_")}
    run = subprocess.run(program, env=usual, capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "INTERNAL_ERROR", run.stderr[-2000:]
