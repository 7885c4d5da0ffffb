"""The cache of answers: a reply says that it came from there when it did, and never otherwise."""

from __future__ import annotations

import anyio
import httpx
import pytest
from fastmcp import Client

from serving import serving


def hits(server, times):
    """What the replies to equal calls say of the cache, over MCP and over HTTP."""

    async def talk():
        async with Client(server.mcp) as client:
            replies = [await client.call_tool("semantic_search", {"query": "ferry"}) for _ in range(times)]
        return [one.structured_content["execution_context"]["cache_hit"] for one in replies]

    asked = {"q": "noon", "envelope": "v2"}
    bodies = [httpx.get(f"{server.address}/v1/search", params=asked, timeout=30).json() for _ in range(times)]
    return anyio.run(talk), [body["aerogram"].get("telemetry", {}).get("cache_hit", False) for body in bodies]


@pytest.mark.parametrize(("arguments", "expected"), [((), [False] * 3), (("--cache", "60"), [False, True, True])])
def test_a_reply_is_a_hit_only_when_the_cache_has_answered(tmp_path, arguments, expected):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ferry.md").write_text("# Ferry\n\nThe ferry to Holm leaves at noon.\n")
    with serving(tmp_path / "index", *arguments, documents=tmp_path / "docs") as server:
        assert hits(server, 3) == (expected, expected)
