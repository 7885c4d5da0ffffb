"""Tools made of tools, and proxies of servers elsewhere: of their results what they say is answered."""

import json

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.tool_transform import ArgTransform, forward, forward_raw
from mcp_types import ImageContent, TextContent

from aerogram import Archive
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.sanitize import Redaction
from aerogram.tokens import find_counter

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


def rows(q: str = "") -> list[dict]:
    """List rows."""
    if q == "none":
        raise NotFound("no rows", remediation="ask for others")
    if q == "crash":
        raise RuntimeError("secret")
    return [{"id": number, "text": "word " * 30} for number in range(60)]


async def forwarding(query: str = "") -> list[dict]:
    return await forward(query=query)


async def forwarding_raw(query: str = "") -> list[dict]:
    return await forward_raw(q=query)


async def making_results(query: str = "") -> ToolResult:
    result = await forward(query=query)
    return ToolResult(
        content=result.content, structured_content=result.structured_content, meta={"fastmcp": {"wrap_result": True}}
    )


def transformed(function) -> FastMCP:
    server, base = FastMCP("made"), Tool.from_function(rows)
    renamed = {"q": ArgTransform(name="query")}
    server.add_tool(Tool.from_tool(base, name="tool", transform_fn=function, transform_args=renamed))
    return server


def elsewhere() -> FastMCP:
    """A server that knows its tools only as those of a server elsewhere."""
    remote = FastMCP("remote")

    @remote.tool
    def tool(query: str = "") -> list[dict]:
        """List rows."""
        return rows(query)

    return create_proxy(remote)


MADE = pytest.mark.parametrize(
    "made",
    [
        lambda: transformed(None),
        lambda: transformed(forwarding),
        lambda: transformed(forwarding_raw),
        lambda: transformed(making_results),
        elsewhere,
    ],
    ids=["renamed", "forwarded", "forwarded raw", "results of its own", "proxy"],
)


async def asked(server, name="tool", arguments=None, era="auto"):
    async with Client(server, mode=era) as client:
        return await client.call_tool(name, arguments or {}, raise_on_error=False)


@ERAS
@MADE
async def test_both_channels_keep_the_budget(made, era):
    server = made()
    install(server, dialect="response-v2", budget=700, archive=Archive.in_memory())
    result = await asked(server, era=era)
    count = find_counter("o200k_base").count
    assert not result.is_error and result.structured_content["meta"]["content_fidelity"] != "full"
    assert json.loads(result.content[0].text) == result.structured_content
    assert count(result.content[0].text) <= 700


@ERAS
@MADE
async def test_the_rows_are_what_controls_speak_of(made, era):
    server = made()
    install(server, dialect="response-v2", controls=True)
    body = (await asked(server, arguments={"page_size": 2, "fields": ["id"]}, era=era)).structured_content
    assert body["data"] == {"results": [{"id": 0}, {"id": 1}]} and body["meta"]["pagination"]["total_count"] == 60


@MADE
async def test_bare_payloads_are_fastmcps_own(made):
    plain = await asked(made())
    server = made()
    install(server, dialect="bare")
    found = await asked(server)
    assert (found.structured_content, found.content) == (plain.structured_content, plain.content)


@ERAS
@pytest.mark.parametrize("function", [None, forwarding, forwarding_raw, making_results])
async def test_what_the_tool_further_in_raises_keeps_its_meaning(function, era):
    server = transformed(function)
    install(server, dialect="response-v2")
    told = await asked(server, arguments={"query": "none"}, era=era)
    assert told.is_error and told.structured_content["data"]["remediation"] == "ask for others"
    crashed = await asked(server, arguments={"query": "crash"}, era=era)
    assert crashed.is_error and "secret" not in crashed.content[0].text


async def test_a_function_of_its_own_sees_the_result_of_its_parent_as_ever():
    async def counting(query: str = "") -> dict:
        result = await forward(query=query)
        return {"rows": len(result.structured_content["result"]), "characters": len(result.content[0].text)}

    server = transformed(counting)
    install(server, dialect="response-v2")
    assert (await asked(server)).structured_content["data"] == {"rows": 60, "characters": 10_191}


async def test_a_failure_and_a_picture_from_elsewhere_stay_what_they_are():
    remote = FastMCP("remote")
    picture = ImageContent(type="image", data="aGk=", mime_type="image/png")
    remote.tool(lambda: ToolResult(content=[TextContent(type="text", text="gone")], is_error=True), name="failing")
    remote.tool(lambda: [TextContent(type="text", text="look"), picture], name="showing")
    server = create_proxy(remote)
    install(server, dialect="response-v2")
    failed = await asked(server, "failing")
    assert failed.is_error and failed.content[0].text == "gone"
    shown = await asked(server, "showing")
    assert [block.type for block in shown.content] == ["text", "image"]


async def test_words_from_elsewhere_stay_as_they_are_where_payloads_are_bare_and_nothing_is_left_out():
    remote = FastMCP("remote")
    remote.tool(lambda: ToolResult(content="one row", structured_content={"rows": [1]}, meta={"own": 1}), name="tool")
    server = create_proxy(remote)
    install(server, dialect="bare", budget=700)
    found = await asked(server)
    assert found.content[0].text == "one row" and found.structured_content == {"rows": [1]} and found.meta["own"] == 1


async def test_a_secret_from_elsewhere_is_in_neither_channel():
    remote = FastMCP("remote")
    remote.tool(lambda: {"api_key": "sk-not-for-you"}, name="tool")
    for dialect in ("response-v2", "bare"):
        server = create_proxy(remote)
        install(server, dialect=dialect, sanitizers=(Redaction(),))
        found = await asked(server)
        assert "sk-not-for-you" not in found.content[0].text + json.dumps(found.structured_content)


async def test_what_a_contract_elsewhere_has_answered_is_answered_once():
    remote = FastMCP("remote")
    remote.tool(rows, name="tool")
    install(remote, dialect="response-v2", budget=700, archive=Archive.in_memory())
    server = create_proxy(remote)
    install(server, dialect="response-v2", retrieve=None, negotiate=None)
    found = (await asked(server)).structured_content
    assert found["meta"]["content_fidelity"] != "full" and "success" not in found["data"]


@ERAS
async def test_a_resource_of_a_server_elsewhere_is_read(era):
    remote = FastMCP("remote")
    remote.resource("data://all", name="all")(lambda: '{"id": 1}')
    remote.resource("data://{name}/x", name="entry")(lambda name: name)
    server = create_proxy(remote)
    install(server, dialect="response-v2")
    async with Client(server, mode=era) as client:
        assert (await client.read_resource("data://all"))[0].text == '{"id": 1}'
        assert (await client.read_resource("data://a/x"))[0].text == "a"


@pytest.mark.parametrize(
    ("count", "is_whole"), [("text", True), ("structured", False), ("larger", False), ("both", False)]
)
async def test_a_finished_result_is_counted_as_every_other(count, is_whole):
    """Where a client reads the text alone, long data beside a short text is no reason to cut."""
    data = {"rows": [{"id": number, "text": "word " * 30} for number in range(30)]}
    server = FastMCP("counted")
    made = ToolResult(content="30 rows", structured_content=data)
    server.tool(lambda: made, name="get", output_schema=None)
    install(server, budget=500, count=count, archive=Archive.in_memory())
    async with Client(server) as client:
        sent = await client.call_tool_mcp("get", {})
    assert (sent.structured_content == data) is is_whole
