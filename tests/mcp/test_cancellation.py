"""Cancelled tasks: one that a handler waits for is a failure of its call; a call that its caller cancels ends."""

import asyncio
import sys

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from aerogram.fastmcp import install as install_fastmcp
from aerogram.mcp import install as install_sdk
from programs import quick_command
from tool_servers import taking_long

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


async def wait_in_vain() -> dict:
    """Wait for a task that somebody else cancels."""
    task = asyncio.create_task(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task
    return {}


async def raise_cancelled() -> dict:
    raise asyncio.CancelledError


def leave() -> dict:
    sys.exit(3)


async def return_it():
    """What is awaited once the handler has returned."""
    return wait_in_vain()


async def return_an_exit():
    async def leave_later() -> dict:
        sys.exit(3)

    return leave_later()


class Cancelled:
    def to_dict(self) -> dict:
        raise asyncio.CancelledError


def return_a_value():
    return Cancelled()


def on_fastmcp(*tools):
    server = fastmcp.FastMCP("waiting")
    install_fastmcp(server, dialect="response-v2")
    for tool in tools:
        server.tool(tool)
    server.resource("wait://vain")(wait_in_vain)
    server.resource("wait://exit")(leave)
    server.resource("wait://{name}/vain", name="template")(waiting_for)
    server.tool(lambda: {"id": 1}, name="fine")
    return server, fastmcp.Client, {"raise_on_error": False}


async def waiting_for(name: str) -> dict:
    return await wait_in_vain()


def on_sdk(*tools):
    server = MCPServer("waiting")
    install_sdk(server, dialect="response-v2")
    for tool in tools:
        server.tool()(tool)
    server.resource("wait://vain")(wait_in_vain)
    server.resource("wait://exit")(leave)
    server.resource("wait://{name}/vain", name="template")(waiting_for)
    server.tool(name="fine")(lambda: {"id": 1})
    return server, mcp.Client, {}


FRAMEWORKS = pytest.mark.parametrize("make", [on_fastmcp, on_sdk])


@ERAS
@FRAMEWORKS
async def test_a_task_that_was_cancelled_inside_of_a_handler_is_a_failure_of_that_call(make, era):
    server, client_of, options = make(wait_in_vain, raise_cancelled, leave)
    async with client_of(server, mode=era) as client:
        for name in ("wait_in_vain", "raise_cancelled", "leave"):
            result = await client.call_tool(name, {}, **options)
            assert result.is_error and result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
        assert (await client.call_tool("fine", {}, **options)).structured_content["data"] == {"id": 1}


@ERAS
@FRAMEWORKS
async def test_inside_of_what_a_handler_has_returned_it_is_so_as_well(make, era):
    """Nobody else's call on the same connection is lost."""
    server, client_of, options = make(return_it, return_an_exit, return_a_value)
    async with client_of(server, mode=era) as client:
        for name in ("return_it", "return_an_exit", "return_a_value"):
            result = await client.call_tool(name, {}, **options)
            assert result.is_error and result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
        assert (await client.call_tool("fine", {}, **options)).structured_content["data"] == {"id": 1}


@ERAS
@FRAMEWORKS
@pytest.mark.parametrize("uri", ["wait://vain", "wait://exit", "wait://a/vain"])
async def test_inside_of_a_resource_handler_it_is_a_protocol_error(make, uri, era):
    server, client_of, options = make()
    async with client_of(server, mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.error.data["code"] == "INTERNAL_ERROR" and caught.value.error.data["uri"] == uri
        assert (await client.call_tool("fine", {}, **options)).structured_content["data"] == {"id": 1}


@ERAS
@FRAMEWORKS
async def test_a_call_that_its_caller_cancels_is_cancelled(make, era):
    slow, begun, ended = taking_long()
    server, client_of, options = make(slow)
    async with client_of(server, mode=era) as client:
        call = asyncio.create_task(client.call_tool("slow", {}, **options))
        await begun.wait()
        call.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.call_tool("fine", {}, **options)).structured_content["data"] == {"id": 1}


PROGRAM = """
import asyncio
from fastmcp import FastMCP
from aerogram.fastmcp import install

server = FastMCP("stdio")
install(server, dialect="response-v2")

@server.tool
async def vain() -> dict:
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task

@server.tool
def fine() -> dict:
    return {"id": 1}

server.run(show_banner=False)
"""


async def test_a_server_over_stdio_lives_on(tmp_path):
    script = tmp_path / "server.py"
    script.write_text(PROGRAM)
    program, *words = quick_command(str(script))
    async with fastmcp.Client(StdioTransport(program, words)) as client:
        result = await client.call_tool("vain", {}, raise_on_error=False)
        assert result.structured_content["data"]["error_code"] == "INTERNAL_ERROR"
        assert (await client.call_tool("fine", {})).structured_content["data"] == {"id": 1}
