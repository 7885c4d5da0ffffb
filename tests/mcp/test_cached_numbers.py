"""A cached tool whose numbers are beyond what most readers hold."""

from __future__ import annotations

import json

import pytest

from aerogram.contract.cache import Cache
from tool_servers import build, talk

LARGE = 59388324617297964561


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
async def test_an_answer_out_of_the_cache_is_the_answer_to_the_last_digit(door, dialect):
    """And says as much about it as the first one, once."""
    server, _ = build(door.framework, dialect=dialect, cache=Cache.in_memory(), cached=["account"])
    calls = []

    def account() -> dict:
        calls.append(1)
        return {"account": LARGE, "sums": [2**70]}

    (server.tool if door.framework == "fastmcp" else server.add_tool)(account)
    async with talk(door.framework, server, door.mode) as client:
        fresh, kept = [await client.call("account") for _ in range(2)]
    assert len(calls) == 1
    for result in (fresh, kept):
        body = json.loads(result.content[0].text)
        assert (body if dialect == "bare" else body["data"]) == {"account": LARGE, "sums": [2**70]}
        assert result.structured_content in (body, None)
        told = result.meta["dev.aerogram/notices"] if dialect == "bare" else body["meta"]["warning_details"]
        assert [one["context"]["pointer"] for one in told] == ["/account", "/sums/0"]
