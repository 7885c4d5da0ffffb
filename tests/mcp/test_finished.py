"""Finished results and texts that hold data, where payloads are bare: as they are, or fitted as what they say."""

import json
import re

import fastmcp
import pytest
from fastmcp.server import create_proxy
from fastmcp.tools import ToolResult
from mcp import Client as SdkClient
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ImageContent, ListToolsResult, TextContent, Tool

import aerogram.mcp
from aerogram import Archive, Reply
from aerogram.client import AsyncClient
from aerogram.dialects import dialect as encode_in
from aerogram.fastmcp import install
from aerogram.sanitize import Redaction
from aerogram.tokens import best_counter

ROWS = [{"id": n, "name": f"row {n}", "text": "words and more " * 8} for n in range(1400)]
PROSE = "Some words stand here, and they go on. " * 2000
COUNT = best_counter().count
PICTURE = ImageContent(type="image", data="aGk=", mime_type="image/png")
TEXTS = {
    "JSON": json.dumps(ROWS),
    "pretty": json.dumps({"rows": ROWS}, indent=2),
    "lines": "\n".join(map(json.dumps, ROWS)),
    "csv": "id,name,text\n" + "\n".join(f"{row['id']},{row['name']},{row['text']}" for row in ROWS),
    "markdown": "| id | name | text |\n| --- | --- | --- |\n"
    + "\n".join(f"| {row['id']} | {row['name']} | {row['text'].strip()} |" for row in ROWS),
}


def block(text):
    return TextContent(type="text", text=text)


def results(make):
    """Finished results of one framework, by name."""
    return {
        "mirrored": lambda: make([block(json.dumps({"rows": ROWS}, indent=2))], {"rows": ROWS}),
        "prose": lambda: make([block(PROSE)], {"rows": ROWS}),
        "words": lambda: make([block(PROSE)], None),
        "items": lambda: make([block(json.dumps(row)) for row in ROWS], None),
        "mixed": lambda: make([block(PROSE), PICTURE, block(PROSE)], None),
        "small": lambda: make([block("two rows"), PICTURE], {"rows": [1, 2]}),
    }


def on_fastmcp(**settings):
    server = fastmcp.FastMCP("finished")
    made = results(lambda content, data: ToolResult(content=content, structured_content=data, meta={"own": 1}))
    for name, tool in made.items():
        server.tool(tool, name=name)
    for name, text in TEXTS.items():
        server.add_tool(_texted(text, f"text_{name}"))
    install(server, **{"dialect": "bare", "archive": Archive.in_memory(), **settings})
    return fastmcp.Client(server)


def _texted(text, name):
    def tool() -> str:
        return text

    return fastmcp.tools.Tool.from_function(tool, name=name)


def on_sdk(**settings):
    server = MCPServer("finished")
    made = results(lambda content, data: CallToolResult(content=content, structured_content=data, _meta={"own": 1}))
    for name, tool in made.items():
        server.tool(name)(tool)
    aerogram.mcp.install(server, **{"dialect": "bare", "archive": Archive.in_memory(), **settings})
    return SdkClient(server)


FRAMEWORKS = pytest.mark.parametrize("client_of", [on_fastmcp, on_sdk])


def texts_of(result):
    return [one.text for one in result.content if one.type == "text"]


@FRAMEWORKS
async def test_a_result_that_fits_is_sent_as_it_was_made(client_of):
    async with client_of(budget=2000) as client:
        result = await client.call_tool("small", {})
    assert result.content == [block("two rows"), PICTURE] and result.structured_content == {"rows": [1, 2]}
    assert result.meta["own"] == 1 and "dev.aerogram/fidelity" not in result.meta


@FRAMEWORKS
@pytest.mark.parametrize("name", ["mirrored", "prose", "words", "items", "mixed"])
async def test_both_channels_of_a_finished_result_keep_the_budget(client_of, name):
    async with client_of(budget=2000) as client:
        result = await client.call_tool(name, {})
    assert not result.is_error and result.meta["own"] == 1
    assert 1000 < sum(map(COUNT, texts_of(result))) <= 2000
    assert COUNT(json.dumps(result.structured_content, separators=(",", ":"))) <= 2000
    assert (result.structured_content is None) == (name in ("words", "items", "mixed"))
    assert "retrieve(hash=" in texts_of(result)[-1] or name == "mixed"


@FRAMEWORKS
@pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
async def test_a_finished_result_keeps_the_budget_in_an_envelope(client_of, dialect):
    async with client_of(budget=2000, dialect=dialect) as inner:
        client = AsyncClient(inner)
        for name in ("mirrored", "prose", "words", "items", "mixed"):
            result = await inner.call_tool(name, {})
            assert not result.is_error
            assert 0 < sum(map(COUNT, texts_of(result))) <= 2000
            assert COUNT(json.dumps(result.structured_content, separators=(",", ":"))) <= 2000
        assert (await client.whole(await client.call("prose"))).data == {"rows": ROWS}
        assert (await client.recover(await client.call("prose")))["content"] == PROSE
        assert PROSE in repr((await client.whole(await client.call("words"))).data)


@FRAMEWORKS
async def test_a_finished_result_is_had_back_whole(client_of):
    async with client_of(budget=2000) as inner:
        client = AsyncClient(inner)
        whole = {name: await client.whole(await client.call(name)) for name in ("mirrored", "prose", "words", "items")}
        beside = (await client.recover(await client.call("prose")))["content"]
    assert whole["mirrored"].data == whole["prose"].data == {"rows": ROWS}
    assert whole["words"].data == beside == PROSE and whole["items"].data == ROWS


@FRAMEWORKS
async def test_the_rows_of_a_finished_result_come_in_pages(client_of):
    async with client_of(controls=True) as inner:
        client = AsyncClient(inner)
        pages = [page.data["rows"] async for page in client.pages("mirrored", {"page_size": 50})]
        fewer = await client.call("items", {"page_size": 2, "fields": ["id"]})
    assert [row for page in pages for row in page] == ROWS and len(pages) == 28
    assert fewer.data == [{"id": 0}, {"id": 1}]


def on_low_level(**settings):
    made = results(lambda content, data: CallToolResult(content=content, structured_content=data, _meta={"own": 1}))

    async def list_tools(ctx, params):
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in made])

    async def call_tool(ctx, params):
        return made[params.name]()

    server = Server("finished", on_list_tools=list_tools, on_call_tool=call_tool)
    aerogram.mcp.install(server, **{"archive": Archive.in_memory(), **settings})
    return SdkClient(server)


def on_sdk_announced(**settings):
    """Tools that say what they return, for which no schema is listed and which get no envelope."""
    server = MCPServer("finished")
    for name, tool in results(lambda content, data: CallToolResult(content=content, structured_content=data)).items():
        tool.__annotations__ = {"return": CallToolResult}
        server.tool(name)(tool)
    aerogram.mcp.install(server, **{"archive": Archive.in_memory(), **settings})
    return SdkClient(server)


ENVELOPES = pytest.mark.parametrize("dialect", ["response-v2", "standard-v2", "knowledge-1.0"])
EVERYWHERE = pytest.mark.parametrize("client_of", [on_fastmcp, on_sdk, on_low_level, on_sdk_announced])


@ENVELOPES
@EVERYWHERE
async def test_a_finished_result_keeps_the_budget_beside_an_envelope_too(client_of, dialect):
    """And what was left out of it comes back: a text as a text, rows as rows."""
    async with client_of(budget=1000, dialect=dialect) as inner:
        client = AsyncClient(inner)
        for name, whole in {"words": PROSE, "mirrored": {"rows": ROWS}, "items": ROWS, "prose": {"rows": ROWS}}.items():
            result = await inner.call_tool(name, {})
            assert not result.is_error
            assert 500 < sum(map(COUNT, texts_of(result))) <= 1000
            assert COUNT(json.dumps(result.structured_content, separators=(",", ":"))) <= 1000
            assert "retrieve(hash=" in "".join(texts_of(result))
            assert (await client.whole(await client.call(name))).data == whole
        mixed = await inner.call_tool("mixed", {})
    assert sum(map(COUNT, texts_of(mixed))) <= 1000 and PICTURE in mixed.content


@ENVELOPES
async def test_an_envelope_that_a_handler_has_written_keeps_the_budget(dialect):
    server = fastmcp.FastMCP("own")
    spoken = encode_in(dialect)
    body = spoken.encode(spoken.complete(Reply.ok(ROWS), operation="own"))
    server.tool(lambda: ToolResult(content=json.dumps(body), structured_content=body), name="own")
    install(server, dialect=dialect, budget=1000, archive=Archive.in_memory())
    async with fastmcp.Client(server) as inner:
        result = await inner.call_tool("own")
        client = AsyncClient(inner)
        assert (await client.whole(await client.call("own"))).data == ROWS
    assert COUNT(json.dumps(result.structured_content, separators=(",", ":"))) <= 1000
    assert sum(map(COUNT, texts_of(result))) <= 1000


async def test_the_rows_of_a_finished_result_come_in_pages_beside_an_envelope_too():
    async with on_low_level(controls=True, dialect="response-v2", budget=2000) as inner:
        client = AsyncClient(inner)
        rows = [row async for row in client.items("mirrored", {"page_size": 20})]
        refused = await client.call("words", {"cursor": "nothing"})
    assert rows == ROWS and refused.problem.code == "INVALID_CURSOR"


async def test_blocks_stay_blocks():
    async with on_fastmcp(budget=2000) as client:
        result = await client.call_tool("items", {})
    *shown, last = texts_of(result)
    assert len(shown) > 20 and [json.loads(text)["id"] for text in shown] == list(range(len(shown)))
    assert json.loads(last.partition("\n")[0])["id"] == len(shown)


async def test_a_result_from_elsewhere_keeps_the_budget_and_its_words():
    remote = fastmcp.FastMCP("remote")
    remote.tool(lambda: ToolResult(content=PROSE, structured_content={"rows": ROWS}), name="long")
    remote.tool(lambda: ToolResult(content="more words than data", structured_content={"a": 1}), name="short")
    server = create_proxy(remote)
    install(server, dialect="bare", budget=2000, archive=Archive.in_memory())
    async with fastmcp.Client(server) as client:
        long, short = [await client.call_tool(name) for name in ("long", "short")]
    assert PROSE.startswith(long.content[0].text[:1000]) and COUNT(long.content[0].text) <= 2000
    assert short.content[0].text == "more words than data" and short.structured_content == {"a": 1}


# Texts that hold data


@pytest.mark.parametrize("name", TEXTS)
async def test_data_in_a_text_is_fitted_in_the_form_that_it_came_in(name):
    async with on_fastmcp(budget=2000) as client:
        result = await client.call_tool(f"text_{name}", {})
    text = result.content[0].text
    assert result.structured_content == {"result": text} and COUNT(text) <= 2000
    body, _, line = text.rpartition("\n\naerogram: ")
    assert re.match(r"\d+ of 1400 shown", line)
    if name in ("JSON", "pretty"):
        assert json.loads(body) and ("\n" in body) == (name == "pretty")
    elif name == "lines":
        assert all(map(json.loads, body.splitlines()))
    else:
        assert body.splitlines()[0].strip("| ").startswith("id") and len(body.splitlines()) > 20


@pytest.mark.parametrize("name", TEXTS)
async def test_data_in_a_text_comes_back_byte_for_byte_and_in_rows(name):
    async with on_fastmcp(budget=4000) as inner:
        client = AsyncClient(inner)
        reply = await client.call(f"text_{name}")
        assert (await client.recover(reply))["data"] in (TEXTS[name], json.loads(TEXTS[name]) if name == "JSON" else "")
        digest = reply.fidelity.archive_hashes["data"]
        result = await inner.call_tool("retrieve", {"hash": digest, "offset": 1390})
    assert "row 1390" in result.content[0].text and "row 1389" not in result.content[0].text
    assert result.content[0].text.count("row 1") == 10 and "aerogram: " not in result.content[0].text


async def test_reading_texts_can_be_switched_off():
    async with on_fastmcp(budget=2000, read_texts=False) as client:
        text = (await client.call_tool("text_JSON", {})).content[0].text
        asked = re.search(r"hash='(\w+)', offset=(\d+)", text)
        more = await client.call_tool("retrieve", {"hash": asked[1], "offset": int(asked[2])})
    shown = text.rpartition("\n\naerogram: ")[0]
    assert TEXTS["JSON"].startswith(shown) and TEXTS["JSON"][len(shown) :].startswith(more.content[0].text[:500])


async def test_a_secret_in_the_data_of_a_text_is_nowhere():
    server = fastmcp.FastMCP("texts")
    held = json.dumps([{**row, "api_key": "sk-not-for-you-1234567890"} for row in ROWS])
    server.tool(lambda: held, name="tool")
    install(server, dialect="bare", budget=2000, archive=Archive.in_memory(), sanitizers=(Redaction(),))
    async with fastmcp.Client(server) as inner:
        client = AsyncClient(inner)
        reply = await client.call("tool")
        found = await client.recover(reply)
    assert "sk-not-for-you" not in str(reply) + str(found) and len(found["data"]) > 1000


async def test_a_small_text_that_holds_data_is_not_touched():
    server = fastmcp.FastMCP("texts")
    server.tool(lambda: '{"a":   1}\n', name="tool")
    install(server, dialect="bare", budget=2000)
    async with fastmcp.Client(server) as client:
        assert (await client.call_tool("tool", {})).content[0].text == '{"a":   1}\n'
