"""Real servers: over stdio and over HTTP, with the official clients, in both eras."""

import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters
from mcp.shared.exceptions import MCPError

from programs import quick_command
from tool_servers import ROWS, talk

SCRIPT = Path(__file__).parents[1] / "tool_servers.py"


@pytest.fixture(scope="module", params=["fastmcp", "sdk"])
def served(request):
    """A server of a framework over HTTP: the framework and the URL."""
    command = quick_command(str(SCRIPT), request.param, "http")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield request.param, server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()


@asynccontextmanager
async def over_stdio(framework, mode):
    program, *arguments = quick_command(str(SCRIPT), framework, "stdio")
    if framework == "fastmcp":
        target = StdioTransport(program, arguments, keep_alive=False)
    else:
        target = StdioServerParameters(command=program, args=arguments)
    async with talk(framework, target, mode) as server:
        yield server


async def converse(server):
    """A paged, budgeted reply, what it left out, and an error to act on."""
    fitted = await server.call("rows")
    digest = fitted.structured_content["meta"]["content_archive_hashes"]["data"]
    back = await server.call("retrieve", {"hash": digest, "page_size": 2})
    assert back.structured_content["data"]["results"] == ROWS[:2]
    page = await server.call("rows", {"page_size": 2, "fields": ["id"]})
    assert page.structured_content["data"]["results"] == [{"id": "row-0"}, {"id": "row-1"}]
    assert page.structured_content["meta"]["pagination"]["has_more"]
    failed = await server.call("task", {"task_id": "missing"})
    assert failed.is_error and failed.structured_content["data"]["error_code"] == "NOT_FOUND"
    with pytest.raises(MCPError):
        await server.call("nowhere")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("client", ["fastmcp", "sdk"])
async def test_over_http_either_client_gets_along_with_either_server(served, client, mode):
    _, url = served
    async with talk(client, url, mode) as server:
        await converse(server)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
async def test_over_stdio(framework, mode):
    async with over_stdio(framework, mode) as server:
        await converse(server)
