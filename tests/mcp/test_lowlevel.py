"""The SDK's low-level `Server`: its handlers answer under a contract, over both transports and in both eras."""

import json
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import mcp
import mcp_types
import pytest
from mcp import StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import aerogram.mcp
from aerogram.client import AsyncClient
from aerogram.errors import InvalidReply
from aerogram.tokens import best_counter
from low_level_server import PIXEL, REPORT, ROWS, build, call_tool, list_tools
from programs import quick_command

SCRIPT = Path(__file__).parents[1] / "low_level_server.py"
COUNT = best_counter().count


@pytest.fixture(scope="module")
def url():
    served = subprocess.Popen(quick_command(str(SCRIPT), "http"), stdout=subprocess.PIPE, text=True)
    try:
        yield served.stdout.readline().strip()
    finally:
        served.terminate()
        served.wait(60)
        served.stdout.close()


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


@asynccontextmanager
async def talk(target, mode="auto"):
    async with mcp.Client(target, mode=mode) as client:
        yield client


async def converse(client):
    """A long text, rows, rows in a text, what they left out, and failures to act on."""
    report = await client.call_tool("report", {})
    assert COUNT(text_of(report)) <= 2_000 and "more: retrieve(hash=" in text_of(report).splitlines()[-1]
    rows = await client.call_tool("rows", {})
    shown = rows.structured_content["rows"]
    assert 10 < len(shown) < len(ROWS) and COUNT(json.dumps(rows.structured_content)) <= 2_500
    in_text = await client.call_tool("json_text", {})
    assert COUNT(text_of(in_text)) <= 2_000 and text_of(in_text).startswith('[\n  {\n    "id": "row-0"')
    asked = AsyncClient(client, on_notice=lambda *_: None)
    for name, whole in (("report", REPORT), ("rows", {"rows": ROWS}), ("json_text", ROWS)):
        assert (await asked.whole(await asked.call(name, {}))).data == whole
    wrong = await client.call_tool("wrong", {})
    assert wrong.is_error and text_of(wrong).startswith("no such table: orders\nerror: NOT_FOUND")
    declared = await client.call_tool("declared", {})
    assert declared.is_error and "rows has them" in text_of(declared)
    misspelled = await client.call_tool("echo", {"wrod": "hello"})
    assert misspelled.is_error and "For example: echo(word='word')" in text_of(misspelled)
    with pytest.raises(MCPError, match="not like this"):
        await client.call_tool("protocol", {})
    with pytest.raises(MCPError, match="Unknown tool"):
        await client.call_tool("nowhere", {})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_stdio_what_is_raised_is_told_as_the_sdk_tells_it(mode):
    program, *words = quick_command(str(SCRIPT), "stdio")
    async with talk(StdioServerParameters(command=program, args=words), mode) as client:
        await converse(client)
        failed = await client.call_tool("fail", {})
        assert failed.is_error and text_of(failed).startswith("the printer in …/third is on fire\nerror: TOOL_ERROR")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http_what_is_raised_is_hidden_where_the_sdk_hides_it(url, mode):
    async with talk(url, mode) as client:
        await converse(client)
        failed = await client.call_tool("fail", {})
        assert failed.is_error and ("on fire" in text_of(failed)) == (mode == "legacy")


async def test_what_fits_stays_as_the_handler_made_it():
    async with talk(build(installed=False)) as before, talk(build()) as after:
        for name, arguments in (("echo", {"word": "hello"}), ("picture", {}), ("raw", {})):
            one, other = await before.call_tool(name, arguments), await after.call_tool(name, arguments)
            assert (one.content, one.structured_content, one.is_error) == (
                other.content,
                other.structured_content,
                other.is_error,
            )


async def test_a_text_that_structured_content_repeats_stays_a_text():
    async with talk(build()) as client:
        letter = await client.call_tool("letter", {})
        assert text_of(letter)[:200] == REPORT[:200] and letter.structured_content == {"letter": text_of(letter)}


async def test_what_no_schema_seems_to_spare_is_cut_where_the_schema_still_holds():
    async with talk(build()) as client:
        cells = await client.call_tool("cells", {})
        assert not cells.is_error and COUNT(json.dumps(cells.structured_content)) < 2_500
        assert 50 < len(cells.structured_content["matches"]["Sheet1"]) < 400
        assert "retrieve(hash=" in text_of(cells)


async def test_a_failure_that_was_finished_further_in_shows_a_call_that_would_be_valid():
    async with talk(build()) as client:
        missing = text_of(await client.call_tool("refuse", {}))
        assert (
            missing.startswith("Invalid arguments for tool refuse\n") and "For example: refuse(word='word')" in missing
        )
        assert "For example" not in text_of(await client.call_tool("refuse", {"word": "right"}))


async def test_lists_keep_their_pages_and_end_with_ours():
    async with talk(build(installed=False)) as before, talk(build()) as after:
        first, own = await after.list_tools(), await before.list_tools()
        assert [tool.name for tool in first.tools] == [tool.name for tool in own.tools] and first.next_cursor == "more"
        last = await after.list_tools(cursor="more")
        assert last.tools[-1].name == "retrieve" and last.next_cursor is None
        plain = {tool.name: tool for tool in own.tools}
        assert next(tool for tool in first.tools if tool.name == "report") == plain["report"]


@pytest.mark.parametrize("settings", [{}, {"budget": 2_000, "controls": True}, {"dialect": "response-v2"}], ids=str)
@pytest.mark.parametrize("odd", [{"properties": []}, {"properties": None}, {"required": None}], ids=str)
async def test_one_schema_that_is_none_does_not_hide_the_other_tools(odd, settings):
    """Some languages write a list, or a null, where there is nothing; the arguments stay listed as they came."""
    odd = {"type": "object", **odd}
    plain = {"type": "object", "properties": {"word": {"type": "string"}}}

    async def list_odd_tools(ctx, params):
        inputs = mcp_types.Tool(name="inputs", input_schema=odd)
        outputs = mcp_types.Tool(name="outputs", input_schema=plain, output_schema=odd)
        return mcp_types.ListToolsResult(tools=[inputs, outputs, mcp_types.Tool(name="echo", input_schema=plain)])

    server = Server("low", on_list_tools=list_odd_tools, on_call_tool=call_tool)
    aerogram.mcp.install(server, **settings)
    async with talk(server) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        told = {name: part for name, part in odd.items() if part is not None}  # the SDK sends no nulls
        assert listed.keys() >= {"inputs", "outputs", "echo"} and listed["inputs"].input_schema == told
        assert not (await client.call_tool("echo", {"word": "hello"})).is_error


async def test_resources_are_clean_and_the_archive_is_one():
    async with talk(build(budget=2_000)) as client:
        assert "hunter2" not in (await client.read_resource("notes://first")).contents[0].text
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "aerogram://archive/{hash}"
        fitted = await client.call_tool("report", {})
        digest = fitted.meta["dev.aerogram/fidelity"]["archive_hashes"]["data"]
        assert (await client.read_resource(f"aerogram://archive/{digest}")).contents[0].text == REPORT
        with pytest.raises(MCPError, match="sha256"):
            await client.read_resource("aerogram://archive/sha256:" + "0" * 64)


async def test_an_envelope_goes_around_finished_results():
    async with talk(build(dialect="response-v2")) as client:
        listed = {tool.name: tool for tool in (await client.list_tools(cursor="more")).tools}
        assert listed["server"] and listed["wrong"].output_schema["required"] == ["success", "data", "error", "meta"]
        told = (await client.call_tool("echo", {"word": "hello"})).structured_content
        assert told["success"] and told["data"]
        picture = await client.call_tool("picture", {})
        assert picture.content[0].data == PIXEL and picture.structured_content["success"]
        failed = await client.call_tool("declared", {})
        assert failed.structured_content["data"]["error_code"] == "NOT_FOUND"


def test_a_server_without_handlers_is_told_what_it_lacks():
    with pytest.raises(InvalidReply, match=r"no handler for tools/list \(on_list_tools\) and tools/call"):
        aerogram.mcp.install(Server("empty"))


def test_it_is_installed_once():
    server = build()
    with pytest.raises(InvalidReply, match="has Aerogram already"):
        aerogram.mcp.install(server)


async def test_a_tool_of_the_same_name_is_not_hidden():
    server = Server("low", on_list_tools=list_tools, on_call_tool=call_tool)
    aerogram.mcp.install(server, budget=2_000, retrieve="report")
    async with talk(server) as client:
        with pytest.raises(MCPError, match="give ours another name with retrieve="):
            await client.list_tools()
