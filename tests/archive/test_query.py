"""Asking the archive: three rows out of three thousand, and never more than a little time for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import venv
from typing import Any

import psutil
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

import aerogram.mcp
from aerogram.answer.retrieval import Retrieval, retrieve
from aerogram.archive import Archive
from aerogram.archive.query import run_query
from aerogram.channels import split_account
from aerogram.content import Content
from aerogram.cursor import Cursors
from aerogram.errors import Unavailable, ValidationFailed
from aerogram.tokens import find_counter

ISSUES = [
    {"id": number, "state": "open" if number % 1000 == 7 else "closed", "title": f"Issue {number}"}
    for number in range(3000)
]


@pytest.fixture
async def kept():
    archive = Archive.in_memory()
    content = Content.of_json({"issues": ISSUES})
    await archive.put(content)
    yield archive, content.hash
    await archive.close()


async def test_a_query_gives_the_rows_that_it_asks_for(kept):
    archive, digest = kept
    asked = Retrieval(digest, path="/issues", query="[?state=='open'].{id: id, title: title}")
    found = await retrieve(archive, Cursors(), asked)
    assert found.reply.data == [{"id": n, "title": f"Issue {n}"} for n in (7, 1007, 2007)]
    one = await retrieve(archive, Cursors(), Retrieval(digest, query="length(issues)"))
    assert one.reply.data == 3000


LOG = "".join(f"{n:04} {'ERROR disk' if n % 400 == 7 else 'INFO all'} is well\r\n" for n in range(2000))


async def test_of_a_text_a_query_finds_the_lines_that_have_its_words():
    archive, content = Archive.in_memory(), Content.of_text(LOG)
    await archive.put(content)
    found = (await retrieve(archive, Cursors(), Retrieval(content.hash, query="error DISK"))).reply
    assert [row["line"] for row in found.data] == [8, 408, 808, 1208, 1608]
    for row in found.data:
        assert LOG[row["offset"] :].startswith(row["text"]) and row["text"].endswith("ERROR disk is well")
    first = (await retrieve(archive, Cursors(), Retrieval(content.hash, query="is well", page_size=3))).reply
    assert (len(first.data), first.page.total) == (3, 2000)
    part = Content.of_json({"log": LOG})
    await archive.put(part)
    within = (await retrieve(archive, Cursors(), Retrieval(part.hash, path="/log", query="1607"))).reply
    assert within.data == [{"line": 1608, "offset": LOG.index("1607"), "text": "1607 ERROR disk is well"}]


@pytest.mark.parametrize("query", ["", "  ", "is " * 700])
async def test_a_query_of_a_text_is_as_long_as_any_other(query):
    archive, content = Archive.in_memory(), Content.of_text(LOG)
    await archive.put(content)
    with pytest.raises(ValidationFailed, match="1 to 2000 characters"):
        await retrieve(archive, Cursors(), Retrieval(content.hash, query=query))


@pytest.mark.parametrize(("lines", "query"), [(3_000_000, "a"), (1_000_000, "a " * 900 + "b")], ids=["found", "read"])
async def test_a_query_of_a_text_takes_no_more_than_any_other(lines, query):
    """It is refused by the process that it has, which leaves everybody else as they were."""
    turns = 0

    async def take_turns():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    beside = asyncio.create_task(take_turns())
    with pytest.raises(ValidationFailed, match=r"finds too much|took too long"):
        await run_query("a\n" * lines, query)
    beside.cancel()
    assert turns > 20


@pytest.mark.parametrize(
    ("kept_value", "query", "data", "told"),
    [
        (LOG, "[?contains(@, 'ERROR')]", [], "nothing found: no line of this text has all of these words"),
        (ISSUES, "title", None, "nothing found in 3000 items; their members, such as id, state, title, come after []"),
        (ISSUES, "[?state=='lost']", [], "nothing found in 3000 items; their members, such as"),
        ({"issues": ISSUES, "page": 1}, "rows", None, "nothing found; the members are issues, page"),
    ],
    ids=["text", "list", "filter", "object"],
)
async def test_a_query_that_finds_nothing_says_what_it_was_asked_of(kept_value, query, data, told):
    server = MCPServer("tracker")

    @server.tool(structured_output=False)
    def show() -> Any:
        return kept_value

    aerogram.mcp.install(server, budget=400, archive=Archive.in_memory())
    async with Client(server) as client:
        cut = await client.call_tool("show", {})
        digest = re.search(r"retrieve\(hash='(\w+)'", cut.content[-1].text)[1]
        asked = await client.call_tool("retrieve", {"hash": digest, "query": query})
    assert not asked.is_error
    text, account = split_account(asked.content[0].text)
    assert json.loads(text) == data
    assert account.note.startswith(told)


async def test_a_query_of_an_object_that_has_no_members_names_none():
    archive = Archive.in_memory()
    (stored,) = await archive.put(Content.of_json({}))
    asked = await retrieve(archive, Cursors(), Retrieval(stored.hash, query="rows"))
    assert [notice.message for notice in asked.reply.notices] == ["nothing found"]


async def test_what_a_query_finds_comes_in_pages(kept):
    archive, digest = kept
    cursors = Cursors()
    asked = {"hash": digest, "query": "issues[?state=='closed'].id", "page_size": 2}
    first = (await retrieve(archive, cursors, Retrieval(**asked))).reply
    assert (first.data, first.page.total) == ([0, 1], 2997)
    second = (await retrieve(archive, cursors, Retrieval(**asked, cursor=first.page.cursor))).reply
    assert second.data == [2, 3]
    with pytest.raises(ValidationFailed):
        await retrieve(archive, cursors, Retrieval(digest, query="issues[].title", cursor=first.page.cursor))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("[?", "is wrong"),
        ("length(issues, issues)", "is wrong"),
        ("", "1 to 2000"),
        ("x" * 2001, "1 to 2000"),
        ("issues | " + " | ".join(["[@, @]"] * 60), "too much"),
        ("issues[].to_string(@) | join('', @) | " + " | ".join(["join('', [@, @])"] * 20), "too"),
    ],
    ids=["garbled", "arguments", "empty", "long", "doubled", "joined"],
)
async def test_a_query_that_asks_too_much_is_refused(expression, words):
    with pytest.raises(ValidationFailed, match=words):
        await run_query({"issues": ISSUES}, expression)


def test_a_query_is_asked_of_a_hash_alone():
    for more in ({"ids": ["1"]}, {"hash": "abc", "as_text": True}):
        with pytest.raises(ValidationFailed):
            Retrieval(**more, query="a")


async def test_the_tool_is_listed_in_few_tokens():
    server = MCPServer("issues")
    aerogram.mcp.install(server, budget=2_000, archive=Archive.in_memory(), dialect="bare")
    (tool,) = [one for one in await server.list_tools() if one.name == "retrieve"]
    assert "query" in tool.input_schema["properties"]
    listed = json.dumps(tool.model_dump(mode="json", by_alias=True, exclude_none=True), separators=(",", ":"))
    assert find_counter("o200k").count(listed) < 300


async def test_what_is_asked_is_on_no_command_line():
    """Everybody on the machine can read those."""
    asking = asyncio.create_task(run_query("a\n" * 1_000_000, "a " * 900 + "ada@example.com"))
    seen: set[str] = set()
    while not asking.done():
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                seen.update(child.cmdline())
        await asyncio.sleep(0.01)
    with pytest.raises(ValidationFailed):
        await asking
    assert any("evaluation" in one for one in seen) and not any("example.com" in one for one in seen)


async def test_few_queries_run_at_once_and_nobody_has_many_waiting():
    most, others = 0, {one.pid for one in psutil.Process().children()}

    async def watch():
        nonlocal most
        while True:
            most = max(most, len({one.pid for one in psutil.Process().children()} - others))
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watch())
    try:
        mine = (run_query({"issues": ISSUES}, "length(issues)", principal="ada") for _ in range(15))
        other = run_query({"issues": ISSUES}, "length(issues)", principal="bob")
        *found, bobs = await asyncio.gather(*mine, other, return_exceptions=True)
    finally:
        watching.cancel()
    refused = [one for one in found if isinstance(one, Unavailable)]
    assert found.count(3000) == 10 and len(refused) == 5 and refused[0].retry_after
    assert bobs == 3000 and 0 < most <= 2


@pytest.mark.parametrize("query", ["to_number('nan')", "to_number('1e999')", "`1e999`", f"`{'[' * 300}{']' * 300}`"])
async def test_a_query_for_what_is_no_json_is_its_callers_mistake(query):
    with pytest.raises(ValidationFailed, match="query"):
        await run_query({"a": 1}, query)


async def test_a_number_without_backticks_hears_of_them(kept):
    """Which is the likeliest slip of those who know other languages."""
    archive, digest = kept
    with pytest.raises(ValidationFailed) as slip:
        await retrieve(archive, Cursors(), Retrieval(digest, query="issues[?id<2].title"))
    assert slip.value.remediation.endswith("; a number stands in backticks: [?n<`20`]")
    found = await retrieve(archive, Cursors(), Retrieval(digest, query="issues[?id<`2`].title"))
    assert found.reply.data == ["Issue 0", "Issue 1"]


ASK = """
import asyncio
from aerogram.archive.query import run_query
print(asyncio.run(run_query([{"id": 7}], "[].id")))
"""


def test_a_query_is_asked_where_packages_come_from_a_path(tmp_path):
    """As in a layer of a function, where Python has nothing installed."""
    venv.create(tmp_path / "bare")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    words = [str(tmp_path / "bare" / "bin" / "python"), "-c", ASK]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[7]\n", "")
