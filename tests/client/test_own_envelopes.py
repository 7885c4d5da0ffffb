"""The client, where a tool's own data looks like an envelope: cut or whole, it is read as what the tool has said."""

from __future__ import annotations

from typing import Any

import fastmcp
import pytest

from aerogram import Reply, dialect
from aerogram.archive import Archive
from aerogram.client import AsyncClient, read
from aerogram.fastmcp import install

ROWS = [{"id": number, "text": f"row {number} " * 30} for number in range(100)]
ENVELOPES = {
    name: dialect(name).encode(dialect(name).complete(Reply.ok(ROWS), operation="rows"))
    for name in ("response-v2", "standard-v2", "knowledge-1.0")
}
OWN = {
    **ENVELOPES,
    "success": {"success": True, "data": {"rows": ROWS}, "error": None},
    "status": {"status": "rich", "results": ROWS},
    "metadata": {"_metadata": {"title": "Rows"}, "id": 1, "rows": ROWS},
    "a text": {"_metadata": {"title": "x" * 20_000}, "id": 1},
}
VIEWS = {
    "both": lambda sent: sent,
    "structured": lambda sent: {**sent, "content": []},
    "text": lambda sent: {name: part for name, part in sent.items() if name != "structuredContent"},
}


@pytest.mark.parametrize("has_meta", [True, False])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("own", OWN)
async def test_data_that_looks_like_an_envelope_is_known_to_be_cut_and_comes_back(own, view, has_meta):
    """Whatever a client has dropped of it: nobody takes a part of the rows for all of them."""
    server = fastmcp.FastMCP("own")
    install(server, budget=1_000, archive=Archive.in_memory())
    server.tool(lambda: OWN[own], name="get", output_schema=None)
    async with fastmcp.Client(server) as connection:
        result = await connection.call_tool_mcp("get", {})
        sent = VIEWS[view](result.model_dump(mode="json", by_alias=True, exclude_none=True))
        if not has_meta:
            sent.pop("_meta", None)
        reply = read(sent)
        assert (reply.status, reply.data.keys()) == ("partial", OWN[own].keys())
        assert (await AsyncClient(connection).whole(reply)).data == OWN[own]


async def test_so_it_is_where_a_member_stands_in_the_place_of_the_account():
    server = fastmcp.FastMCP("own")
    install(server, budget=1_000, archive=Archive.in_memory())
    own = {"_metadata": {"title": "Rows"}, "results": ROWS, "aerogram": [1]}
    server.tool(lambda: own, name="get")
    async with fastmcp.Client(server) as connection:
        client = AsyncClient(connection)
        assert (await client.whole(await client.call("get"))).data == own


@pytest.mark.parametrize("name", ENVELOPES)
def test_an_envelope_that_is_whole_is_read_as_one(name):
    assert read({"content": [], "structuredContent": ENVELOPES[name]}).data == ROWS


@pytest.mark.parametrize("record", [{"_metadata": {}}, {"_metadata": {"title": "Rows"}, "id": 1}], ids=str)
def test_a_record_with_a_member_that_an_envelope_has_as_well_is_data(record: dict[str, Any]):
    assert read({"content": [], "structuredContent": record}).data == record
