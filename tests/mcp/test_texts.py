"""Texts where payloads are bare: they stay texts, are cut where a reader stops, and come back byte for byte."""

import json
import math
import random
import re
import time
from statistics import median

import fastmcp
import pytest
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer

import aerogram.mcp
from aerogram import Archive
from aerogram.client import AsyncClient
from aerogram.errors import ValidationFailed
from aerogram.fastmcp import install
from aerogram.sanitize import Redaction
from aerogram.tokens import best_counter

TEXT = (
    "\n\n".join(f'{n}. He said "\u00fcber \\ {n}"\t' + "and some words more " * (n % 7 + 2) for n in range(400))
    + "\n \n"
)
NESTED = {"id": 7, "notes": TEXT, "tags": ["a", "b"]}
COUNT = best_counter().count
CALL = re.compile(r"more: retrieve\((?P<given>[^\n]*)\)")


def typed() -> str:
    return TEXT


def untyped():
    return TEXT


def quote() -> str:
    return 'He said "hi"\nand left'


def nested() -> dict:
    return NESTED


def several() -> dict:
    return {"id": 7, "notes": TEXT, "more": TEXT[::-1]}


def rows() -> list[dict]:
    return [{"id": n, "text": "words " * 20} for n in range(300)]


def dense() -> str:
    """A text of which hardly any character is less than a token."""
    draw = random.Random(14)
    return "".join(draw.choices("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往", k=6_000))


def listed_by_name() -> dict:
    return {"found": {f"C{n}": f"note {n} and some words" for n in range(400)}, "is_cut": True}


def by_name() -> dict:
    return {f"user {n}": {"id": n, "about": "words " * (n % 9 + 5)} for n in range(200)}


def sections() -> str:
    return "\n\n".join(f"Section {n}\n\n" + f"In part {n} we measured {n * 7} samples. " * 12 for n in range(120))


def log(max_count: int, since: str = "") -> str:
    entries = (f"Commit: {n:040x}\nAuthor: Ann\nMessage: Change line {n}, because it was wrong\n" for n in range(400))
    return "Commit history:\n\n" + "\n".join(list(entries)[:max_count])


def found(maxResults: int = 300) -> dict:  # noqa: N803 - as servers in other languages call it
    return {"rows": [{"id": n, "text": "words " * 20} for n in range(maxResults)], "truncated": False}


def uncuttable() -> list[dict]:
    """Two of its rows have so many members that no budget of a page holds one."""
    return [{"id": n, **{f"m{at}": at for at in range(300 if n in (1, 30) else 3)}} for n in range(40)]


def secret() -> str:
    return f"{TEXT}\npassword=hunter2secret\n{TEXT}"


TOOLS = (
    *(typed, untyped, quote, nested, several, rows, secret, dense, listed_by_name, by_name, sections, log, found),
    uncuttable,
)


def on_fastmcp(**settings):
    server = fastmcp.FastMCP("texts")
    for tool in TOOLS:
        server.tool(tool)
    install(server, dialect="bare", archive=Archive.in_memory(), **settings)
    return fastmcp.Client(server)


def on_sdk(**settings):
    server = MCPServer("texts")
    for tool in TOOLS:
        server.tool()(tool)
    aerogram.mcp.install(server, dialect="bare", archive=Archive.in_memory(), **settings)
    return SdkClient(server)


FRAMEWORKS = pytest.mark.parametrize("client_of", [on_fastmcp, on_sdk])


def parts(result):
    """The text of a result without its last line, and what that line asks for."""
    text, _, line = result.content[0].text.rpartition("\n\naerogram: ")
    return (text, arguments(line)) if text else (result.content[0].text, None)


def arguments(line):
    found = CALL.search(line)
    return None if found is None else eval(f"dict({found['given']})")


async def walk(client, asked):
    """The texts of one retrieval after another, each asked for by the call that the one before it names."""
    found, calls = [], []
    while asked is not None:
        assert asked not in calls, "it leads back to what was read already"
        calls.append(asked)
        result = await client.call_tool("retrieve", asked)
        text, asked = parts(result)
        found.append(text)
    return found, calls


@FRAMEWORKS
async def test_a_text_is_sent_as_it_is(client_of):
    async with client_of(budget=1000) as client:
        result = await client.call_tool("quote", {})
    assert [block.text for block in result.content] == ['He said "hi"\nand left']
    assert result.structured_content == {"result": 'He said "hi"\nand left'}


@FRAMEWORKS
async def test_a_long_text_ends_with_a_paragraph_and_one_line(client_of):
    async with client_of(budget=1000) as client:
        result = await client.call_tool("untyped", {})
    text, asked = parts(result)
    assert TEXT.startswith(text) and re.match(r"\s*\n\n", TEXT[len(text) :]) and asked["offset"] == len(text)
    assert result.content[0].text.removeprefix(text).strip().count("\n") == 0 and COUNT(result.content[0].text) <= 1000
    assert result.structured_content is None


@pytest.mark.parametrize("budget", range(600, 2_000, 100))
async def test_a_text_does_not_end_with_the_heading_of_what_is_missing(budget):
    async with on_fastmcp(budget=budget) as client:
        text, asked = parts(await client.call_tool("sections", {}))
    assert sections().startswith(text) and text.endswith(".") and asked["offset"] == len(text)


@FRAMEWORKS
async def test_both_channels_say_the_same_text_with_its_last_line(client_of):
    async with client_of(budget=1000) as client:
        result = await client.call_tool("typed", {})
        listed = await client.list_tools()
    assert result.structured_content == {"result": result.content[0].text}
    (schema,) = [tool.output_schema for tool in getattr(listed, "tools", listed) if tool.name == "typed"]
    assert list(schema["properties"]) == ["result"]


@FRAMEWORKS
async def test_the_schema_of_texts_can_be_left_out(client_of):
    async with client_of(budget=1000, text_schema=False) as client:
        found = [await client.call_tool(name, {}) for name in ("quote", "typed")]
        listed = await client.list_tools()
    assert [result.structured_content for result in found] == [None, None]
    schemas = {tool.name: tool.output_schema for tool in getattr(listed, "tools", listed)}
    assert schemas["typed"] is schemas["quote"] is None and schemas["rows"] is not None


@FRAMEWORKS
@pytest.mark.parametrize("budget", [400, 1000, 4000])
async def test_a_text_comes_back_byte_for_byte_in_as_few_calls_as_there_is_room_for(client_of, budget):
    async with client_of(budget=budget) as client:
        text, asked = parts(await client.call_tool("typed", {}))
        found, calls = await walk(client, asked)
    assert text + "".join(found) == TEXT
    if budget >= 1000:
        assert len(calls) <= math.ceil(COUNT("".join(found)) / (budget - 100))


async def test_what_was_redacted_stays_so():
    async with on_fastmcp(budget=1000, sanitizers=(Redaction(),)) as client:
        text, asked = parts(await client.call_tool("secret", {}))
        found, _ = await walk(client, asked)
    whole = text + "".join(found)
    assert "hunter2secret" not in whole and whole.startswith(TEXT) and whole.endswith(TEXT)


@FRAMEWORKS
async def test_a_long_text_inside_an_object_is_read_to_its_end(client_of):
    async with client_of(budget=1000) as client:
        shown = await client.call_tool("nested", {})
        asked = arguments(shown.content[0].text)
        found, _ = await walk(client, asked)
        again, calls = await walk(client, {"hash": asked["hash"]})
    assert (
        asked["path"] == "/notes"
        and TEXT.endswith("".join(found))
        and len("".join(found)) + asked["offset"] == len(TEXT)
    )
    assert len(calls) > 5 and json.loads("".join(again)) == NESTED


async def test_an_object_that_is_cut_in_several_places_is_read_to_its_end():
    async with on_fastmcp(budget=1000) as client:
        shown = await client.call_tool("several", {})
        asked = {"hash": re.search(r"hash='(\w+)'", shown.content[0].text)[1]}
        found, _ = await walk(client, asked)
    assert json.loads("".join(found)) == several()


async def test_a_text_goes_on_from_wherever_it_is_asked_for():
    async with on_fastmcp(budget=1000) as client:
        _, asked = parts(await client.call_tool("dense", {}))
        for offset in range(0, len(dense()), 41):
            text, _ = parts(await client.call_tool("retrieve", {**asked, "offset": offset}))
            assert len(text) > 700 or offset + len(text) == len(dense())


@FRAMEWORKS
@pytest.mark.parametrize(("tool", "path"), [("listed_by_name", "/found"), ("by_name", None)])
async def test_a_map_goes_on_after_the_members_that_were_shown(client_of, tool, path):
    whole = globals()[tool]()
    members = whole if path is None else whole[path[1:]]
    async with client_of(budget=1000) as client:
        shown = await client.call_tool(tool, {})
        text, _, line = shown.content[0].text.partition("\naerogram: ")
        asked, told = arguments(line), json.loads(text)
        found = [{name: one} for name, one in (told if path is None else told[path[1:]]).items()]
        assert asked.get("path") == path and asked["offset"] == len(found)
        while asked is not None:
            result = await client.call_tool("retrieve", asked)
            text, _, line = result.content[0].text.partition("\naerogram: ")
            found += json.loads(text)
            asked = arguments(line)
            assert COUNT(line) <= 100
    assert found == [{name: one} for name, one in members.items()]


async def test_rows_that_are_asked_back_name_the_call_that_goes_on():
    async with on_fastmcp(budget=1000) as client:
        shown = await client.call_tool("rows", {})
        asked, found = {"hash": re.search(r"hash='(\w+)'", shown.content[0].text)[1]}, []
        while asked is not None:
            result = await client.call_tool("retrieve", asked)
            data, _, line = result.content[0].text.partition("\naerogram: ")
            found += json.loads(data)
            asked = arguments(line)
            assert COUNT(line) <= 100 and len(found) < 400
    assert found == rows()


@FRAMEWORKS
async def test_the_call_after_a_row_that_nothing_can_be_shown_of_leads_on(client_of):
    """A page that shows nothing has passed over a row; the one after it begins behind that row."""
    rows = uncuttable()
    async with client_of(budget=150) as client:
        shown = await client.call_tool("uncuttable", {})
        asked, found = {"hash": re.search(r"hash='(\w+)'", shown.content[0].text)[1]}, []
        while asked is not None:
            result = await client.call_tool("retrieve", asked)
            data, _, line = result.content[0].text.partition("\naerogram: ")
            passed = re.match("0 of 40 shown, for the first is too large; whole: retrieve", line)
            found += json.loads(data) if passed is None else [rows[len(found)]]
            asked, before = arguments(line), asked
            assert asked is None or asked["offset"] == len(found) > before.get("offset", 0)
    assert found == rows


def written() -> str:
    return json.dumps([{"id": n, "text": "words " * 300} for n in range(6)])


async def test_data_that_is_cut_as_a_text_goes_on_as_a_text():
    server = fastmcp.FastMCP("texts")
    server.tool(written)
    install(server, dialect="bare", archive=Archive.in_memory(), budget="12000 bytes")
    async with fastmcp.Client(server) as client:
        text, asked = parts(await client.call_tool("written", {}))
        assert asked["as_text"]
        found, _ = await walk(client, asked)
    assert text[: asked["offset"]] + "".join(found) == written()


async def test_whole_is_whole_or_raises():
    async with on_fastmcp(budget=1000, controls=True) as inner:
        client = AsyncClient(inner)
        assert (await client.whole(await client.call("typed"))).data == TEXT
        assert (await client.whole(await client.call("nested"))).data == NESTED
        assert (await client.whole(await client.call("rows"))).data == rows()
        page = await client.call("rows", {"page_size": 5})
        assert len(page.data) == 5
        with pytest.raises(ValidationFailed, match="page of several"):
            await client.whole(page)


async def test_a_page_size_that_cannot_work_says_so():
    async with on_fastmcp(budget=1000, controls=True) as client:
        result = await client.call_tool("quote", {"page_size": 5})
    assert [notice["code"] for notice in result.meta["dev.aerogram/notices"]] == ["CONTROL_IGNORED"]


@FRAMEWORKS
async def test_a_page_says_which_part_it_is_and_ends_where_a_reader_would_stop(client_of):
    async with client_of(budget=600) as client:
        _, asked = parts(await client.call_tool("typed", {}))
        first = asked["offset"]
        second = await client.call_tool("retrieve", asked)
        text, asked = parts(second)
        quiet = {"raise_on_error": False} if client_of is on_fastmcp else {}
        beyond = await client.call_tool("retrieve", {**asked, "offset": len(TEXT)}, **quiet)
    assert (
        f"aerogram: {first + 1} to {asked['offset']} of {len(TEXT)} characters shown; more: " in second.content[0].text
    )
    assert TEXT[first:].startswith(text) and (TEXT[asked["offset"] - 1].isspace() or TEXT[asked["offset"]].isspace())
    assert f"beyond the end: there are {len(TEXT)}" in beyond.content[0].text


@FRAMEWORKS
@pytest.mark.parametrize(
    ("tool", "given", "shown", "asked"),
    [
        (
            "log",
            {"since": "2026", "max_count": 300},
            r"\d+ of \d+ characters shown \(\d+ of 300 entries\)",
            "max_count=300",
        ),
        ("found", {"maxResults": 300}, r"\d+ of 300 shown", "maxResults=300"),
    ],
)
async def test_a_caller_who_has_chosen_a_size_hears_that_it_is_not_what_ended_the_answer(
    client_of, tool, given, shown, asked
):
    async with client_of(budget=1_000) as client:
        line = (await client.call_tool(tool, given)).content[0].text.rpartition("aerogram: ")[2]
        small = (await client.call_tool(tool, {**given, asked.partition("=")[0]: 3})).content[0].text
        unasked = (await client.call_tool("rows", {})).content[0].text.rpartition("aerogram: ")[2]
    assert re.match(rf"{shown}, ended by the budget of 1000 tokens, not by {asked}; more: retrieve\(", line)
    assert "aerogram:" not in small and "ended by" not in unasked


@FRAMEWORKS
@pytest.mark.parametrize("tool", ["rows", "found", "listed_by_name", "by_name"])
async def test_the_end_of_a_list_is_one_call_away_wherever_it_stands(client_of, tool):
    """The last line names it: the same call with another offset, and what that gives is the end."""
    async with client_of(budget=1_000) as client:
        line = (await client.call_tool(tool, {})).content[0].text.rpartition("aerogram: ")[2]
        ways = re.search(r"(?:more|whole): retrieve\((?P<given>[^)]*)\)[^\n;]*; end: offset=(?P<last>-\d+)$", line)
        given = eval(f"dict({ways['given']})")
        end = (await client.call_tool("retrieve", {**given, "offset": int(ways["last"])})).content[0].text
    data = json.loads(end)
    assert len(data) == -int(ways["last"]) and "aerogram:" not in end
    last = {"listed_by_name": {"C399"}, "by_name": {"user 199"}}
    assert data[-1].keys() == last[tool] if tool in last else data[-1]["id"] == 299


@FRAMEWORKS
async def test_the_end_of_a_long_text_is_one_call_away(client_of):
    async with client_of(budget=600) as client:
        cut = await client.call_tool("typed", {})
        _, asked = parts(cut)
        last = int(re.search(r"; end: offset=(-\d+)\Z", cut.content[0].text)[1])
        found = await client.call_tool("retrieve", {**asked, "offset": last})
        more = arguments((await client.call_tool("rows", {})).content[0].text)
        rows = await client.call_tool("retrieve", {**more, "offset": -2})
        all_rows = await client.call_tool("retrieve", {**more, "offset": -1_000, "fields": ["id"], "page_size": 2})
    assert found.content[0].text == TEXT[last:]
    assert [row["id"] for row in json.loads(rows.content[0].text)] == [298, 299]
    assert all_rows.content[0].text.startswith('[{"id":0},{"id":1}]')


@pytest.mark.parametrize(
    "text",
    ["Fetching, 10%\rFetching, 20%\rdone\n" * 200, "data:image/png;base64," + "A" * 200_000],
    ids=["progress", "a picture in an address"],
)
async def test_a_text_that_only_begins_as_a_table_is_cut_as_any_other(text):
    server = fastmcp.FastMCP("texts")
    server.tool(lambda: text, name="get")
    install(server, budget=500, archive=Archive.in_memory())
    async with fastmcp.Client(server) as connection:
        client = AsyncClient(connection)
        reply = await client.call("get")
        assert reply.problem is None and len(reply.data) < len(text)
        assert (await client.whole(reply)).data == text


QUOTED = '"id","name"\r\n' + "".join(f'"{n}","row {n}"\r\n' for n in range(60))
SPACED = json.dumps({f"member {n}": n for n in range(60)}).replace(", ", " ,     ")


@pytest.mark.parametrize("text", [QUOTED, SPACED, f"[{SPACED}]"], ids=["table", "object", "list"])
async def test_a_text_that_fits_when_it_is_rewritten_says_so_and_comes_back_byte_for_byte(text):
    for share in (0.95, 0.9, 0.8):
        server = fastmcp.FastMCP("texts")
        server.tool(lambda: text, name="get")
        install(server, budget=int(COUNT(text) * share), archive=Archive.in_memory())
        async with fastmcp.Client(server) as client:
            shown = (await client.call_tool("get", {})).content[0].text
            digits = re.search(r"retrieve\(hash='(\w+)'", shown)[1]
            found = ""
            while len(found) < len(text):
                given = {"hash": digits, "as_text": True, "offset": len(found)}
                found += (await client.call_tool("retrieve", given)).content[0].text.partition("\n\naerogram: ")[0]
        assert shown.partition("\n\naerogram: ")[0] not in text and found == text


async def test_a_table_of_many_megabytes_is_read_beside_the_loop_and_goes_on_page_by_page():
    """As rows, which repeat the names of its columns, it would be larger than any value may be."""
    table = "order,date,city,customer,status\n" + "".join(f"A-{n},2026-03-01,Lyon,Ada,sent\n" for n in range(200_000))
    server = fastmcp.FastMCP("orders")
    server.tool(lambda: table, name="get")
    install(server, budget=1_000, archive=Archive.in_memory())
    async with fastmcp.Client(server) as client:
        begun = time.thread_time(), time.process_time()
        cut = (await client.call_tool("get", {})).content[0].text
        whole = {"hash": re.search(r"whole: retrieve\(hash='(\w+)'\)", cut)[1]}
        first = (await client.call_tool("retrieve", whole)).content[0].text
        next_ = (await client.call_tool("retrieve", arguments(first))).content[0].text
        here, everywhere = time.thread_time() - begun[0], time.process_time() - begun[1]
    header, *rows = first.partition("\n\naerogram")[0].split("\n")
    after = next_.partition("\n\naerogram")[0].split("\n")[1:]
    assert table.startswith("\n".join((header, *rows, *after)))
    assert here < everywhere / 3


async def test_a_table_of_many_megabytes_is_read_once_for_all_its_pages():
    table = "order,date,city,customer,status\n" + "".join(f"A-{n},2026-03-02,Oslo,Ada,sent\n" for n in range(200_000))
    server = fastmcp.FastMCP("orders")
    server.tool(lambda: table, name="get")
    install(server, budget=1_000, archive=Archive.in_memory())
    taken = []
    async with fastmcp.Client(server) as client:
        cut = (await client.call_tool("get", {})).content[0].text
        asked = {"hash": re.search(r"whole: retrieve\(hash='(\w+)'\)", cut)[1]}
        for more in ({}, {"offset": 30}, {"offset": 60}, {"as_text": True}):
            begun = time.process_time()
            page = (await client.call_tool("retrieve", {**asked, **more})).content[0].text
            taken.append(time.process_time() - begun)
            assert page.startswith("order,date,city")
    first, *later = taken
    assert median(later) < first / 3
