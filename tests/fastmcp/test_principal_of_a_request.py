"""Who is calling is asked while a request is answered, and never before there is one."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest
import uvicorn
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.dependencies import get_http_request

from aerogram import Archive
from aerogram.fastmcp import install


def named_in_the_request() -> str:
    return get_http_request().headers["x-user"]


def server() -> FastMCP:
    made = FastMCP("named")
    install(made, dialect="response-v2", principal=named_in_the_request, budget=900, archive=Archive.in_memory())
    made.tool(lambda: {"a": 1}, name="one")
    made.tool(lambda: ["word " * 40] * 40, name="many")
    return made


async def test_a_principal_may_look_at_the_http_request() -> None:
    """The server starts, each caller has an archive of their own, and who is nobody gets an answer that says so."""
    bound = socket.create_server(("127.0.0.1", 0))
    serving = uvicorn.Server(uvicorn.Config(server().http_app(), log_level="error"))
    task = asyncio.create_task(serving.serve(sockets=[bound]))
    try:
        while not serving.started:
            assert not task.done()
            await asyncio.sleep(0.01)
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        async with (
            Client(StreamableHttpTransport(url, headers={"x-user": "ann"})) as ann,
            Client(StreamableHttpTransport(url, headers={"x-user": "bob"})) as bob,
        ):
            assert {tool.name for tool in await ann.list_tools()} >= {"one", "many"}
            cut = (await ann.call_tool("many")).structured_content
            named = {"hash": cut["meta"]["content_archive_hashes"]["data"]}
            assert (await ann.call_tool("retrieve", named)).structured_content["success"]
            refused = await bob.call_tool("retrieve", named, raise_on_error=False)
        assert refused.structured_content["data"]["error_code"] == "NOT_FOUND"
    finally:
        serving.should_exit = True
        await task


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_without_a_request_to_look_at_a_call_is_answered(era: str, caplog: pytest.LogCaptureFixture) -> None:
    """In memory there is no HTTP request: the server starts, and the failure of its principal is masked."""
    with caplog.at_level(logging.CRITICAL):
        async with Client(server(), mode=era) as client:
            failed = await client.call_tool("one", raise_on_error=False)
    assert failed.is_error and failed.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
    assert "HTTP request" not in str(failed.structured_content)
