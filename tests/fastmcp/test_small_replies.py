"""Small replies stay small: what a contract's envelope adds to them, in the channel that a model reads."""

import json

import pytest
from fastmcp import Client, FastMCP
from typing_extensions import TypedDict

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
