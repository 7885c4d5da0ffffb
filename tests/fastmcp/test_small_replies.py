"""Small replies stay small: what a contract's envelope adds to them, in the channel that a model reads."""

import json

import pytest
from fastmcp import Client, FastMCP
from typing_extensions import TypedDict

from aerogram import read
from aerogram.fastmcp import install
from aerogram.tokens import best_counter

MOST = {"bare": 0, "response-v2": 35, "standard-v2": 75, "knowledge-1.0": 110}


class Task(TypedDict):
    task_id: str
    title: str
    done: bool


TASKS: list[Task] = [{"task_id": f"t{number}", "title": "Water the plants", "done": False} for number in range(3)]


def serving(**settings):
    server = FastMCP("small")

    @server.tool
    def text() -> str:
        return "A short text of some words that answers the question."

    @server.tool
    def record() -> Task:
        return TASKS[0]

    @server.tool
    def rows() -> list[Task]:
        return TASKS

    @server.tool
    def nothing() -> list[Task]:
        return []

    if settings:
        install(server, **settings)
    return server


async def sizes(server):
    """The tokens of each tool's reply in its larger channel."""
    count = best_counter().count
    async with Client(server) as client:
        replies = [await client.call_tool(name) for name in ("text", "record", "rows", "nothing")]
    return [
        max(
            sum(count(block.text) for block in reply.content),
            count(json.dumps(reply.structured_content, separators=(",", ":"))),
        )
        for reply in replies
    ]


@pytest.mark.parametrize("dialect", MOST)
async def test_an_envelope_adds_no_more_than_it_may_to_a_small_reply(dialect):
    plain, ours = await sizes(serving()), await sizes(serving(dialect=dialect, budget=2_000))
    assert max(mine - theirs for mine, theirs in zip(ours, plain, strict=True)) <= MOST[dialect]


async def test_a_text_goes_without_the_empty_members_that_its_contract_requires():
    async with Client(serving(dialect="standard-v2")) as client:
        reply = await client.call_tool("nothing")
    line, body = reply.content[0].text.split("\n")
    assert line == "empty · 0 results"
    assert json.loads(body).keys() == {"status", "results", "empty_reason", "meta"}
    assert reply.structured_content["warnings"] == reply.structured_content["citations"] == []
    assert "aerogram" not in reply.structured_content  # what the contract says of nothing is all there is to say


CUT = {"bare": 40, "response-v2": 62, "standard-v2": 110, "knowledge-1.0": 180}
"""What is said besides the rows of a page that goes on, with the letters of an unlucky id and an unlucky cursor."""


@pytest.mark.parametrize("dialect", CUT)
async def test_a_page_that_goes_on_says_so_in_few_tokens(dialect):
    server, count = FastMCP("long"), best_counter().count

    @server.tool
    def tasks() -> list[dict]:
        return [{"task_id": number, "title": f"Water plant {number}"} for number in range(300)]

    install(server, dialect=dialect, budget=1_000, controls=True)
    async with Client(server) as client:
        body = (await client.call_tool("tasks")).structured_content
    held = next(body[name] for name in ("result", "data", "results") if name in body)
    rows = held["results"] if isinstance(held, dict) else held
    whole, shown = (count(json.dumps(one, separators=(",", ":"))) for one in (body, rows))
    assert 10 < len(rows) < 300
    assert whole - shown <= CUT[dialect]


async def test_standard_v2_says_how_many_there_are_once_and_reads_as_a_page():
    server = FastMCP("long")

    @server.tool
    def tasks() -> list[dict]:
        return [{"task_id": number, "title": f"Water plant {number}"} for number in range(300)]

    install(server, dialect="standard-v2", budget=1_000, controls=True)
    async with Client(server) as client:
        body = (await client.call_tool("tasks")).structured_content
    reply = read(body)
    [warning] = body["warnings"]
    assert warning == {"message": f"{len(reply.data)} of 300 shown", "code": "PARTIAL_RESULTS"}
    assert body["aerogram"].keys() == {"page"} and body["aerogram"]["page"].keys() == {"cursor"}
    assert (reply.page.has_more, reply.page.total) == (True, 300) and reply.notices[0].severity == "warning"
