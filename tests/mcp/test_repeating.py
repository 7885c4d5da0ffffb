"""Whether a call that broke off may be made again: what is known of its tool decides, unless its author has said it."""

import asyncio

import fastmcp
import httpx
import mcp
import mcp_types
import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram import read
from aerogram.errors import RateLimited, Unavailable

PROBLEM = "dev.aerogram/problem"
HINTS = [
    ({"read_only_hint": True}, "yes"),
    ({"idempotent_hint": True}, "yes"),
    ({"read_only_hint": False}, "check"),
    ({"destructive_hint": False}, "check"),
    (None, "check"),
]
hinted = pytest.mark.parametrize(("hints", "retry"), HINTS, ids=str)
LOST = {
    "the answer of a service": httpx.ReadTimeout("The read operation timed out"),
    "a connection": ConnectionResetError("reset by peer"),
    "time": TimeoutError(),
}
SAID = {"down": Unavailable("the mill is down"), "too fast": RateLimited("30 a minute", retry_after=7)}


def server_of(framework, raised, hints=None, **settings):
    """A server with one tool that raises something."""
    adapter = {"fastmcp": aerogram.fastmcp, "sdk": aerogram.mcp}[framework]
    server = {"fastmcp": fastmcp.FastMCP, "sdk": MCPServer}[framework]("mill")
    annotations = None if hints is None else mcp_types.ToolAnnotations(**hints)

    @server.tool(annotations=annotations)
    def order_part() -> str:
        raise raised

    adapter.install(server, **settings)
    return server


async def ask(server):
    """What a client gets of its tool: the problem, and the text."""
    client = fastmcp.Client(server) if isinstance(server, fastmcp.FastMCP) else mcp.Client(server)
    known = {"raise_on_error": False} if isinstance(server, fastmcp.FastMCP) else {}
    async with client:
        return await client.call_tool("order_part", {}, **known)


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
@hinted
@pytest.mark.parametrize("raised", LOST.values(), ids=LOST)
async def test_what_broke_off_is_retryable_only_where_a_tool_says_that_it_can_be_repeated(
    framework, hints, retry, raised
):
    result = await ask(server_of(framework, raised, hints))
    problem, text = result.meta[PROBLEM], result.content[0].text
    assert (problem["code"], problem["retry"]) == ("UNAVAILABLE", retry)
    if retry == "yes":
        assert text.endswith("error: UNAVAILABLE (unavailable, retryable); Retry with backoff.")
    else:
        assert "(unavailable, check the state before retrying); The call may have been carried out" in text


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
@hinted
async def test_a_crash_under_an_envelope_is_retryable_only_where_it_can_be_repeated(framework, hints, retry):
    for dialect in ("response-v2", "standard-v2", "knowledge-1.0"):
        result = await ask(server_of(framework, RuntimeError("hush"), hints, dialect=dialect))
        problem = read(result.structured_content).problem
        assert (problem.code, problem.retry) == ("INTERNAL_ERROR", retry)
        assert ("may have been carried out" in problem.remediation) == (retry == "check")


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
async def test_what_an_author_says_of_a_repetition_holds(framework, said):
    problem = (await ask(server_of(framework, said))).meta[PROBLEM]
    assert (problem["retry"], problem.get("retry_after")) == ("yes", said.retry_after)


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
@hinted
@pytest.mark.parametrize("raised", [ValueError("no ticket OPS-999"), KeyError("sheet"), ZeroDivisionError()], ids=repr)
async def test_an_unknown_cause_is_advised_alike_whether_its_words_are_shown_or_hidden(framework, hints, retry, raised):
    """Nobody knows whether the same call would succeed later, and most such calls would not."""
    result = await ask(server_of(framework, raised, hints))
    problem, text = result.meta[PROBLEM], result.content[0].text
    assert problem["retry"] == "no"
    assert "(internal, probably not retryable); " in text and "hange the call, or do without it" in text


async def test_a_time_limit_of_a_tool_that_may_write_says_to_look_first():
    server = fastmcp.FastMCP("mill")

    @server.tool(timeout=0.05)
    async def order_part() -> str:
        await asyncio.sleep(5)
        return "late"

    aerogram.fastmcp.install(server)
    assert (await ask(server)).meta[PROBLEM]["retry"] == "check"


async def test_what_middleware_raises_after_a_tool_says_to_look_first():
    server = fastmcp.FastMCP("mill")

    class Reporting(fastmcp.server.middleware.Middleware):
        async def on_call_tool(self, context, call_next):
            await call_next(context)
            raise TimeoutError

    @server.tool
    def order_part() -> str:
        return "ordered"

    server.add_middleware(Reporting())
    aerogram.fastmcp.install(server, dialect="response-v2")
    assert read((await ask(server)).structured_content).problem.retry == "check"


async def test_a_principal_that_fails_is_asked_before_anything_is_done():
    def fails():
        raise TimeoutError

    for framework in ("fastmcp", "sdk"):
        assert (await ask(server_of(framework, ValueError(), principal=fails))).meta[PROBLEM]["retry"] == "yes"


async def test_a_tool_of_the_low_level_server_says_it_likewise():
    def listed(name, hints):
        return mcp_types.Tool(
            name=name, input_schema={"type": "object"}, annotations=mcp_types.ToolAnnotations(**hints)
        )

    async def list_tools(ctx, params):
        tools = [listed("get_part", {"read_only_hint": True}), listed("order_part", {})]
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(ctx, params):
        raise httpx.ReadTimeout("The read operation timed out")

    server = Server("mill", on_list_tools=list_tools, on_call_tool=call_tool)
    aerogram.mcp.install(server)
    async with mcp.Client(server) as client:
        found = [(await client.call_tool(name, {})).meta[PROBLEM]["retry"] for name in ("get_part", "order_part")]
    assert found == ["yes", "check"]


async def test_a_failure_that_came_as_words_says_it_likewise():
    """A result that says in words alone that something timed out does not say what was done by then."""
    server = fastmcp.FastMCP("mill")

    @server.tool
    def order_part() -> fastmcp.tools.ToolResult:
        return fastmcp.tools.ToolResult(content="Error: request timed out", is_error=True)

    aerogram.fastmcp.install(server)
    problem = (await ask(server)).meta[PROBLEM]
    assert (problem["code"], problem["retry"]) == ("UNAVAILABLE", "check")
