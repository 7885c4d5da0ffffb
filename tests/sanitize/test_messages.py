"""Messages of MCP servers with redaction: what they ask, tell and refuse is clean, and not only what they answer."""

import json

import mcp
import mcp_types
import pytest
from fastmcp import Context as FastMCPContext
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
from fastmcp.tools import ToolResult
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context as SDKContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
)

from aerogram import fastmcp
from aerogram.mcp import install
from aerogram.sanitize import Redaction

KEY = "AKIAIOSFODNN7EXAMPLE"
FORM = {
    "type": "object",
    "properties": {"password": {"type": "string", "description": f"not {KEY}"}},
    "required": ["password"],
}
REDACTED = {"sanitizers": (Redaction(),)}


async def ask(session, related):
    asked = await session.elicit_form(f"Is it {KEY}?", FORM, related)
    said = mcp_types.SamplingMessage(role="user", content=TextContent(type="text", text=f"use {KEY}"))
    await session.create_message([said], max_tokens=9, system_prompt=KEY, related_request_id=related)
    return asked.action


async def tell(session, related):
    await session.send_log_message("error", {"password": "hunter2", "key": KEY}, KEY, related)
    await session.report_progress(1, 2, f"reading {KEY}")
    return "told"


def want(answers):
    if answers:
        return "wanted"
    asked = ElicitRequest(params=ElicitRequestFormParams(message=f"Is it {KEY}?", requested_schema=FORM))
    return InputRequiredResult(input_requests={"key": asked}, request_state=KEY)


def refuse():
    raise MCPError(4711, f"bad {KEY}", {"token": KEY, "password": {"of": "hunter2"}})


def by_sdk():
    server = MCPServer("outer")
    install(server, **REDACTED)

    @server.tool(name="ask")
    async def asks(ctx: SDKContext) -> str:
        return await ask(ctx.session, ctx.request_id)

    @server.tool(name="tell")
    async def tells(ctx: SDKContext) -> str:
        return await tell(ctx.session, ctx.request_id)

    @server.tool(name="want")
    async def wants(ctx: SDKContext) -> str | InputRequiredResult:
        return want(ctx.input_responses)

    @server.tool(name="refuse")
    def refuses() -> str:
        refuse()

    @server.completion()
    async def complete(*_):
        return mcp_types.Completion(values=[f"see {KEY}"])

    return server


def by_fastmcp():
    server = FastMCP("outer")
    fastmcp.install(server, **REDACTED)

    @server.tool(name="ask")
    async def asks(ctx: FastMCPContext) -> str:
        return await ask(ctx.session, ctx.request_id)

    @server.tool(name="tell")
    async def tells(ctx: FastMCPContext) -> str:
        return await tell(ctx.session, ctx.request_id)

    @server.tool(name="want")
    async def wants(ctx: FastMCPContext) -> str | InputRequiredResult:
        return want(ctx.input_responses)

    @server.tool(name="refuse")
    def refuses() -> str:
        refuse()

    return server._mcp_server


def by_handlers():
    async def list_tools(ctx, params):
        names = ("ask", "tell", "want", "refuse")
        tools = [mcp_types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(ctx, params):
        if params.name == "want":
            found = want(params.input_responses)
            if isinstance(found, InputRequiredResult):
                return found
        elif params.name == "refuse":
            refuse()
        else:
            found = await {"ask": ask, "tell": tell}[params.name](ctx.session, ctx.request_id)
        return CallToolResult(content=[TextContent(type="text", text=found)])

    async def complete(ctx, params):
        return mcp_types.CompleteResult(completion=mcp_types.Completion(values=[f"see {KEY}"]))

    server = Server("outer", on_list_tools=list_tools, on_call_tool=call_tool, on_completion=complete)
    install(server, **REDACTED)
    return server


class Person:
    """Whoever sits before a client, with everything that was said to them."""

    def __init__(self):
        self.heard = []

    async def elicit(self, _, params):
        self.heard.append(params)
        return ElicitResult(action="decline")

    async def sample(self, _, params):
        self.heard.append(params)
        answer = TextContent(type="text", text="so")
        return mcp_types.CreateMessageResult(role="assistant", content=answer, model="m")

    async def log(self, params):
        self.heard.append(params)

    async def watch(self, *progress):
        self.heard.append(progress[-1])

    def client(self, server, mode):
        return mcp.Client(
            server,
            mode=mode,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            logging_callback=self.log,
        )

    def words(self):
        said = [one if isinstance(one, str) else one.model_dump(mode="json", by_alias=True) for one in self.heard]
        return json.dumps(said)


SERVERS = pytest.mark.parametrize("make", [by_sdk, by_fastmcp, by_handlers])


@pytest.mark.asyncio
@SERVERS
@pytest.mark.parametrize("tool", ["ask", "tell"])
@pytest.mark.filterwarnings("ignore:The (sampling|logging) capability is deprecated")
async def test_what_a_handler_asks_and_tells_on_its_way_has_no_secrets(make, tool):
    """A form keeps its members, for they are what is asked for."""
    person = Person()
    async with person.client(make(), "legacy") as client:
        result = await client.call_tool(tool, {}, progress_callback=person.watch)
    assert not result.is_error and len(person.heard) == 2
    assert KEY not in person.words() and "hunter2" not in person.words() and "[redacted:" in person.words()
    if tool == "ask":
        assert person.heard[0].requested_schema["properties"]["password"]["type"] == "string"


@pytest.mark.asyncio
@SERVERS
async def test_what_an_unfinished_result_asks_has_no_secrets(make):
    """The client comes back with the state, which is no word to anybody."""
    person = Person()
    async with person.client(make(), "auto") as client:
        result = await client.call_tool("want", {})
    assert "wanted" in result.content[0].text
    assert len(person.heard) == 1 and KEY not in person.words() and "[redacted:" in person.words()


@pytest.mark.asyncio
@pytest.mark.parametrize("make", [by_sdk, by_handlers])  # FastMCP makes a result of it
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_error_of_the_protocol_has_no_secrets(make, mode):
    async with Person().client(make(), mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("refuse", {})
    said = repr(caught.value.error)
    assert caught.value.error.code == 4711 and "[redacted:" in said
    assert KEY not in said and "hunter2" not in said


@pytest.mark.asyncio
@pytest.mark.parametrize("make", [by_sdk, by_handlers])
async def test_what_completes_an_argument_has_no_secrets(make):
    async with Person().client(make(), "auto") as client:
        about = mcp_types.PromptReference(name="some")
        found = await client.complete(about, {"name": "a", "value": "b"})
    assert found.completion.values == ["see [redacted:aws_access_key]"]


MEMBERS = {
    "password": {"of": "hunter2"},  # below a name
    KEY: "a name",
    "data": f"key {KEY}",  # no picture
    "pictures": [{"type": "image", "data": "aGk=", "mimeType": KEY}],
    "task": {"content": f"key {KEY}"},
}
"""Each with a secret in another place."""


@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["result", "block"])
@pytest.mark.parametrize("make", [FastMCP, MCPServer])
async def test_members_that_nobody_knows_are_looked_at_like_any_data(make, where):
    """In `_meta` of a result or of a block; and nothing is spared for what it is called."""
    server = make("outer")
    (fastmcp.install if make is FastMCP else install)(server, **REDACTED)
    meta, besides = (MEMBERS, {}) if where == "result" else ({}, MEMBERS)
    link = ResourceLink(type="resource_link", uri=f"https://h/{KEY}", name="n", _meta=besides)
    picture = ImageContent(type="image", data="aGk=", mime_type=KEY)
    blocks = [link, picture, TextContent(type="text", text=f"and {KEY}")]

    def give() -> CallToolResult:
        return CallToolResult(content=blocks, _meta=meta)

    def give_result():
        return ToolResult(content=blocks, meta=meta)

    server.tool(give_result, name="give") if make is FastMCP else server.tool(name="give")(give)
    async with mcp.Client(server if make is MCPServer else server._mcp_server) as client:
        said = json.dumps((await client.call_tool("give", {})).model_dump(mode="json", by_alias=True))
    assert KEY not in said and "hunter2" not in said and "aGk=" in said and '"n"' in said


@pytest.mark.asyncio
@pytest.mark.parametrize("budget", [None, 3_000])
async def test_what_a_middleware_answers_in_place_of_a_tool_has_no_secrets(budget):
    """Its words and links too, where its data has nothing to hide."""

    class Answers(Middleware):
        async def on_call_tool(self, *_, **__):
            link = ResourceLink(type="resource_link", uri=f"https://h/{KEY}", name="n")
            said = TextContent(type="text", text=f"use {KEY}")
            meta = {"password": "hunter2"}
            return ToolResult(content=[said, link], structured_content={"result": "use some of it"}, meta=meta)

    server = FastMCP("outer")
    server.add_middleware(Answers())
    fastmcp.install(server, budget=budget, **REDACTED)
    server.tool(lambda: "never", name="give")
    async with mcp.Client(server._mcp_server) as client:
        said = json.dumps((await client.call_tool("give", {})).model_dump(mode="json", by_alias=True))
    assert KEY not in said and "hunter2" not in said and "some of it" in said
