"""What a call costs under limits: one unit when it is answered, and nothing when it fails, is given up or asks back."""

import asyncio
import logging

import fastmcp
import mcp
import pytest
from fastmcp.tools import ToolResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

from aerogram.errors import NotFound
from aerogram.fastmcp import install as install_fastmcp
from aerogram.limits import Limits, Plan
from aerogram.mcp import install as install_sdk
from aerogram.telemetry import Observer
from tool_servers import taking_long

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
WORDS = [TextContent(type="text", text="gone")]


def failing(how: str):
    """Fail in one of many ways, or answer."""
    if how == "finished":
        return CallToolResult(content=WORDS, is_error=True)
    if how == "of fastmcp":
        return ToolResult(content=WORDS, is_error=True)
    if how == "fine":
        return {"id": 1}
    raise {"protocol": MCPError(-32000, "own"), "declared": NotFound("gone"), "crash": RuntimeError("gone")}[how]


def on_fastmcp(limits, observer=None):
    server = fastmcp.FastMCP("charging")
    install_fastmcp(server, dialect="response-v2", limits=limits, observer=observer)
    return server, server.tool, fastmcp.Client, {"raise_on_error": False}


def on_sdk(limits, observer=None):
    server = MCPServer("charging")
    install_sdk(server, dialect="response-v2", limits=limits, observer=observer)
    return server, server.tool(), mcp.Client, {}


FRAMEWORKS = pytest.mark.parametrize("make", [on_fastmcp, on_sdk])


async def units(limits):
    used = await limits.usage(None)
    return used[0].units if used else 0


@ERAS
@FRAMEWORKS
async def test_what_fails_costs_nothing(make, era):
    limits = Limits.in_memory(Plan.of("100/day"))
    server, tool, client_of, options = make(limits)
    tool(failing)
    async with client_of(server, mode=era) as client:
        for how in ("protocol", "declared", "crash", "finished", *(["of fastmcp"] if make is on_fastmcp else [])):
            try:
                assert (await client.call_tool("failing", {"how": how}, **options)).is_error
            except MCPError:
                assert how == "protocol"
        assert await units(limits) == 0
        await client.call_tool("failing", {"how": "fine"}, **options)
        assert await units(limits) == 1


@ERAS
@FRAMEWORKS
async def test_a_call_that_is_given_up_costs_nothing(make, era):
    limits = Limits.in_memory(Plan.of("100/day"))
    slow, begun, ended = taking_long()
    server, tool, client_of, options = make(limits)
    tool(slow)
    async with client_of(server, mode=era) as client:
        call = asyncio.create_task(client.call_tool("slow", {}, **options))
        await begun.wait()
        assert await units(limits) == 1
        call.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(30):
            while await units(limits):  # noqa: ASYNC110 - nobody tells when a charge is taken back
                await asyncio.sleep(0.01)


async def test_a_call_that_asks_back_is_charged_once():
    limits = Limits.in_memory(Plan.of("100/day"))
    server = MCPServer("charging")
    install_sdk(server, dialect="response-v2", limits=limits)

    @server.tool()
    async def greet(ctx: Context):
        """Ask for a name, and greet."""
        if ctx.input_responses:
            return {"greeted": True}
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = ElicitRequest(params=ElicitRequestFormParams(message="name?", requested_schema=form))
        return InputRequiredResult(input_requests={"name": question}, request_state="asked")

    async def answer(context, params):
        return ElicitResult(action="accept", content={"name": "Ann"})

    async with mcp.Client(server, elicitation_callback=answer) as client:
        result = await client.call_tool("greet", {})
    assert result.structured_content["data"] == {"greeted": True}
    assert await units(limits) == 1


def give_things_out(server, make):
    """Resources and prompts, those that work and those that fail."""
    prompt = server.prompt if make is on_fastmcp else server.prompt()

    @server.resource("thing://good")
    def good() -> str:
        return "good"

    @server.resource("thing://bad")
    def bad() -> str:
        raise NotFound("gone")

    @prompt
    def ask() -> str:
        return "Ask"

    @prompt
    def fail() -> str:
        raise NotFound("gone")


@ERAS
@FRAMEWORKS
async def test_resources_and_prompts_are_charged_and_logged_as_calls_are(make, era, caplog):
    caplog.set_level(logging.INFO, "aerogram")
    limits = Limits.in_memory(Plan.of("2/day"))
    server, _, client_of, _ = make(limits, Observer())
    give_things_out(server, make)
    async with client_of(server, mode=era) as client:
        for failing in (client.read_resource("thing://bad"), client.get_prompt("fail")):
            with pytest.raises(MCPError):
                await failing
        assert await units(limits) == 0
        await client.read_resource("thing://good")
        await client.get_prompt("ask")
        assert await units(limits) == 2
        for refused in (client.read_resource("thing://good"), client.get_prompt("ask")):
            with pytest.raises(MCPError) as caught:
                await refused
            assert caught.value.error.data["code"] == "QUOTA_EXCEEDED"
        assert await units(limits) == 2
    told = [one.getMessage().split(": ") for one in caplog.records if hasattr(one, "reply")]
    assert [name for name, _ in told] == ["resources/read", "prompts/get"] * 3
    assert [said for _, said in told] == ["NOT_FOUND"] * 2 + ["ok"] * 2 + ["QUOTA_EXCEEDED"] * 2


@ERAS
@FRAMEWORKS
async def test_what_is_not_there_is_the_callers_mistake_and_logged_as_such(make, era, caplog):
    """Nobody is woken up because a caller has misspelled a resource or a prompt."""
    caplog.set_level(logging.INFO, "aerogram")
    server, _, client_of, _ = make(None, Observer())
    give_things_out(server, make)
    async with client_of(server, mode=era) as client:
        for absent in (client.read_resource("thing://none"), client.get_prompt("none")):
            with pytest.raises(MCPError) as caught:
                await absent
            assert caught.value.error.code in (-32602, -32002)
    told = [one.getMessage() for one in caplog.records if hasattr(one, "reply")]
    assert told == ["resources/read: NOT_FOUND", "prompts/get: NOT_FOUND"]


@ERAS
async def test_what_a_mounted_server_gives_out_is_charged_once(era):
    limits = Limits.in_memory(Plan.of("9/day"))
    (outer, *_), (inner, *_) = on_fastmcp(limits), on_fastmcp(limits)
    give_things_out(inner, on_fastmcp)
    outer.mount(inner, namespace="kid")
    async with fastmcp.Client(outer, mode=era) as client:
        await client.read_resource("thing://kid/good")
        assert await units(limits) == 1
        await client.get_prompt("kid_ask")
        assert await units(limits) == 2


@ERAS
async def test_a_tool_that_reads_a_resource_is_charged_once(era):
    limits = Limits.in_memory(Plan.of("9/day"))
    server, tool, client_of, _ = on_fastmcp(limits)
    give_things_out(server, on_fastmcp)

    @tool
    async def reader(ctx: fastmcp.Context) -> str:
        found = await ctx.read_resource("thing://good")
        return found.contents[0].content

    async with client_of(server, mode=era) as client:
        assert "good" in str((await client.call_tool("reader", {})).content)
    assert await units(limits) == 1
