"""Budgets in bytes: the whole result counts as it goes over the wire, with all that stands in `_meta`."""

from operator import eq

import fastmcp
import pytest
from mcp.types import CallToolResult, Icon, TextContent

from aerogram import Archive
from aerogram.client import AsyncClient
from aerogram.fastmcp import install
from aerogram.tokens import Budget, Bytes, best_counter

ROWS = [{"id": f"row-{number}", "text": f"words and more words, {number} " * 5} for number in range(60)]
TREE = {"a": ["x" * 3_000, []], "rows": ROWS}
MANY = [TextContent(type="text", text=f"{number} " * 700) for number in range(4)]
BESIDE = CallToolResult(content=[MANY[0]], structured_content=TREE, _meta={"theirs": "m" * 400})
ANSWERS = {"rows": ROWS, "tree": TREE, "text": "line\n" * 2_000, "blocks": MANY, "beside": BESIDE}


def frame(result) -> int:
    """The bytes of a response that holds a result."""
    return len(result.model_dump_json(by_alias=True, exclude_none=True)) + len('{"jsonrpc":"2.0","id":12345,"result":}')


@pytest.mark.parametrize("dialect", ["bare", "response-v2", "standard-v2", "knowledge-1.0"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("limit", [2_800, 4_000, 12_000])
async def test_all_that_is_sent_is_within_the_budget(dialect, answer, limit):
    """Also what the SDK adds by itself: who the server is, whose icon may be long."""
    server = fastmcp.FastMCP("n" * 90, version="1.2.3", icons=[Icon(src=f"data:image/png;base64,{'A' * 300}")])
    server.tool(lambda: ANSWERS[answer], name="get")
    install(server, dialect=dialect, budget=Budget(limit, Bytes()), archive=Archive.in_memory())
    async with fastmcp.Client(server) as client:
        sent = await client.call_tool_mcp("get", {})
    assert not sent.is_error
    assert limit / 4 < frame(sent) <= limit


async def test_what_just_fits_is_sent_whole():
    server = fastmcp.FastMCP("whole")
    server.tool(lambda: ROWS[:10], name="get")
    async with fastmcp.Client(server) as client:
        plain = await client.call_tool_mcp("get", {})
    install(server, budget=Budget(frame(plain) + 400, Bytes()), archive=Archive.in_memory())
    async with fastmcp.Client(server) as client:
        sent = await client.call_tool_mcp("get", {})
        assert (await AsyncClient(client).whole(await AsyncClient(client).call("get"))).data == ROWS[:10]
    assert sent.content == plain.content


@pytest.mark.parametrize("count", ["larger", "both"])
@pytest.mark.parametrize("unit", [Bytes(), best_counter()], ids=["bytes", "tokens"])
async def test_more_room_never_shows_fewer_rows_of_an_object(count, unit):
    """Both of its channels are paid for, although no schema says so."""
    lengths = [(number * 7 % 5) ** 3 + 1 for number in range(30)]
    held = {
        "items": [{"id": at, "state": "open", "body": "We saw this. " * n} for at, n in enumerate(lengths)],
        "n": 30,
    }
    before = (0, 0)
    for room in (2_400, 4_000, 5_600, 8_000, 12_000, 16_000):
        server = fastmcp.FastMCP("rows")
        server.tool(lambda: held, name="get")
        limit = room if unit.unit == "bytes" else room // 4
        install(server, budget=Budget(limit, unit), count=count, archive=Archive.in_memory())
        async with fastmcp.Client(server) as client:
            shown = (await AsyncClient(client).call("get")).data["items"]
        now = (sum(map(eq, shown, held["items"])), len(shown))
        assert now >= before
        before = now
    assert before > (5, 29)
