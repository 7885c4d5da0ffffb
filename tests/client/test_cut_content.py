"""Content that a budget cut: the client brings it back, in every dialect and beside data of every kind."""

import json

import fastmcp
import mcp
import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import Annotations, CallToolResult, ImageContent, TextContent

import aerogram
import aerogram.fastmcp
import aerogram.mcp
from aerogram.archive import Archive
from aerogram.client import AsyncClient

LONG, SHORT = "words " * 3000, "a few words"
FRAMEWORKS = {
    "fastmcp": (fastmcp.FastMCP, aerogram.fastmcp, fastmcp.Client),
    "sdk": (MCPServer, aerogram.mcp, mcp.Client),
}


def text(said):
    return TextContent(type="text", text=said)


def one():
    return [text(LONG)]


def annotated() -> list[TextContent]:
    return [text(LONG)]


def several() -> list[TextContent]:
    return [text(SHORT), text(LONG), text(LONG.upper())]


def illustrated() -> list[ImageContent | TextContent]:
    return [ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png"), text(LONG)]


def pair():
    return LONG, {"x": 1}


def many() -> list[TextContent]:
    return [text(f"{number} {SHORT}") for number in range(400)]


@pytest.fixture(params=FRAMEWORKS)
def ask(request):
    make, module, client_of = FRAMEWORKS[request.param]

    async def ask(tool, **settings):
        server = make("content")
        module.install(server, budget=900, archive=Archive.in_memory(), **{"dialect": "response-v2", **settings})
        (server.tool if make is fastmcp.FastMCP else server.add_tool)(tool)
        async with client_of(server) as connection:
            client = AsyncClient(connection)
            reply = await client.call(tool.__name__)
            return reply, await client.recover(reply), await client.whole(reply)

    return ask


@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0", "bare"])
@pytest.mark.parametrize("tool", [one, annotated, illustrated])
async def test_a_text_comes_back_whole(ask, tool, dialect):
    reply, _, whole = await ask(tool, dialect=dialect)
    assert len(str(reply.data)) < len(LONG) and reply.fidelity.level != "full"
    assert whole.data in (LONG, [LONG]) and whole.fidelity.level == "full"


async def test_each_of_several_texts_comes_back(ask):
    reply, found, whole = await ask(several)
    assert reply.data[0] == SHORT and set(found.values()) == {LONG, LONG.upper()}
    assert whole.data == [SHORT, LONG, LONG.upper()]


@pytest.mark.parametrize("channels", ["mirror", "compact", "text"])
async def test_the_content_of_a_pair_comes_back_beside_its_data(ask, channels):
    reply, found, whole = await ask(pair, channels=channels)
    assert reply.data == whole.data == {"x": 1}
    assert found == {"content": LONG} and reply.fidelity.level == "partial" and whole.fidelity.level == "full"


async def test_blocks_that_are_too_many_come_back_together(ask):
    reply, _, whole = await ask(many)
    assert len(reply.data) < 400
    assert [one["text"] for one in whole.data] == [f"{number} {SHORT}" for number in range(400)]


ROWS = [{"id": number, "text": "word " * 20} for number in range(40)]
FORMS = {
    "items": [json.dumps(row) for row in ROWS],
    "indented": [json.dumps(row, indent=2) for row in ROWS],
    "a list and an object": [json.dumps(ROWS, indent=1), json.dumps({"total": 40})],
    "words and a list": ["Found 40:", json.dumps(ROWS)],
    "prose": ["one " * 500, "two " * 500],
    "lines": ["\n".join(map(json.dumps, ROWS)), "\n".join(json.dumps({"id": row["id"]}) for row in ROWS)],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
async def test_several_texts_come_back_in_the_form_that_they_had(form, dialect):
    """What is whole again is read as it would have been uncut, and blocks keep what they say besides their text."""
    made = [TextContent(type="text", text=one, annotations=Annotations(audience=["user"])) for one in FORMS[form]]
    server = fastmcp.FastMCP("forms")

    @server.tool
    def get() -> CallToolResult:
        return CallToolResult(content=made)

    aerogram.fastmcp.install(server, dialect=dialect, budget=500, archive=Archive.in_memory())
    async with fastmcp.Client(server) as connection:
        sent = await connection.call_tool_mcp("get", {})
        client = AsyncClient(connection)
        whole = await client.whole(await client.call("get"))
    assert len(sent.content) > 1
    assert all(block.annotations.audience == ["user"] for block in sent.content)
    assert whole.data == aerogram.read(CallToolResult(content=made)).data
