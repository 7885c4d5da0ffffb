"""Clients: a budget by a client's name holds in all its terms; the name that a client gives itself chooses no more."""

from __future__ import annotations

import logging
from typing import Any

import fastmcp
import mcp
import mcp_types
import pytest
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from aerogram.archive import Archive
from aerogram.channels import Channels, Sizer
from aerogram.clients import CLIENTS, find_client
from aerogram.content.jsontext import dumps
from aerogram.contract.cache import Cache
from aerogram.errors import AerogramError, NotFound
from aerogram.tokens import PRESETS, Budget, find_counter

ROWS = [{"id": n, "title": f"Row {n}", "text": "words and more words " * 20} for n in range(2_000)]
DOORS = {
    "fastmcp": (fastmcp.FastMCP, aerogram.fastmcp.install, fastmcp.Client),
    "sdk": (MCPServer, aerogram.mcp.install, mcp.Client),
}


class Door:
    """A server with one tool, and clients of it by the names that they give themselves."""

    def __init__(self, framework: str, handler: Any = lambda: ROWS, **settings: Any) -> None:
        made, install, self._client = DOORS[framework]
        self.server = made("rows")
        self.server.add_tool(handler, name="rows") if framework == "sdk" else self.server.tool(handler, name="rows")
        install(self.server, **{"archive": Archive.in_memory(), **settings})

    def open(self, name: str) -> Any:
        return self._client(self.server, client_info=mcp_types.Implementation(name=name, version="1"))

    async def call(self, name: str) -> Any:
        async with self.open(name) as client:
            call = getattr(client, "call_tool_mcp", client.call_tool)  # the one that raises for no failure
            return await call("rows", {})

    async def tools(self, name: str) -> list[Any]:
        async with self.open(name) as client:
            found = await client.list_tools()
            return [tool.model_dump() for tool in getattr(found, "tools", found)]


def size(result: Any, counter: str) -> int:
    return find_counter(counter).count(result.content[0].text)


@pytest.mark.parametrize("row", CLIENTS.values(), ids=CLIENTS)
def test_a_row_can_be_used(row):
    for limit in row.limits:
        assert limit.most > 0 and find_counter(limit.counter)
    assert row.title and {row.success, row.failure} <= {None, "structured", "text", "either"}
    assert (row.success is None and row.failure is None and not row.names) or (row.sources and row.date)
    assert (row.name in PRESETS) is bool(row.limits)


def test_no_two_clients_call_themselves_the_same():
    names = [name for row in CLIENTS.values() for name in row.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dialect", ["bare", "standard-v2"])
async def test_every_limit_of_a_client_holds_for_what_its_model_reads(name, dialect):
    result = await Door("fastmcp", budget=name, dialect=dialect).call("somebody")
    structured = result.structured_content
    reads = CLIENTS[name].success
    is_structured = reads == "structured" and structured is not None
    read = dumps(structured).decode() if is_structured else result.content[0].text
    for limit in PRESETS[name]:
        counter = find_counter(limit.counter)
        assert counter.count(read) <= limit.most, limit
    assert len(read) > 2_000


def test_the_channel_that_is_read_is_the_one_that_is_counted():
    channels, counter = Channels("words " * 10, {"a": 1}), find_counter("characters")
    sizes = {
        count: Sizer(counter=counter, counted=count).of(channels) for count in ("text", "structured", "larger", "both")
    }
    assert sizes == {"text": 60, "structured": 7, "larger": 60, "both": 67}
    assert Sizer(counter=counter, counted="structured").of(Channels("words")) == 5
    assert (Budget.of("claude-code").reads, Budget.of("cline").reads) == ("structured", "text")
    assert Budget.of("claude-code").within(Budget(500)).reads == "structured"


@pytest.mark.parametrize("framework", DOORS)
async def test_a_budget_follows_the_name_of_the_client(framework, caplog):
    door = Door(framework, budget="by-client 800")
    with caplog.at_level(logging.WARNING, "aerogram"):
        claude, codex = await door.call("claude-code"), await door.call("codex-mcp-client")
        stranger, again = await door.call("stranger"), await door.call("stranger")
    assert 40_000 < size(claude, "characters") <= 50_000
    assert 8_000 < size(codex, "o200k_base") <= 10_000
    assert 600 < size(stranger, "o200k_base") <= 800
    assert again.content == stranger.content
    told = [one.message for one in caplog.records if "stranger" in one.message]
    assert told == ["of the client 'stranger' no limit is known: it gets the server's own budget"]


async def test_a_tool_may_have_a_budget_of_its_own_beside():
    door = Door("fastmcp", budget="by-client", budgets={"rows": 500})
    assert size(await door.call("claude-code"), "o200k_base") <= 500


async def test_without_a_budget_of_its_own_a_server_sends_strangers_everything():
    result = await Door("fastmcp", budget="by-client").call("stranger")
    assert len(result.content[0].text) > 200_000


@pytest.mark.parametrize("framework", DOORS)
async def test_listings_do_not_depend_on_the_client(framework):
    def typed() -> list[dict[str, str]]:
        return [{"id": "a"}]

    door = Door(framework, typed, budget="by-client")
    assert await door.tools("claude-code") == await door.tools("stranger") == await door.tools("codex-mcp-client")


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (2_000, None),
        ("50000 characters", None),
        ("claude-code", None),
        ("by-client 2000", None),
        ("60000 characters", 60_000),
        ("claude-desktop", 100_000),
        (25_000, 150_000),
        (1_000_000, 500_000),
    ],
)
@pytest.mark.parametrize("framework", DOORS)
async def test_a_client_is_told_of_results_that_are_larger_than_it_takes_otherwise(framework, budget, told):
    tools = await Door(framework, budget=budget).tools("claude-code")
    assert len(tools) == 2
    assert {(tool["meta"] or {}).get("anthropic/maxResultSizeChars") for tool in tools} == {told}


async def test_what_an_author_says_about_sizes_stays():
    server = fastmcp.FastMCP("rows")
    server.tool(lambda: ROWS, name="rows", meta={"anthropic/maxResultSizeChars": 70_000, "mine": 1})
    server.tool(lambda: ROWS, name="few")
    aerogram.fastmcp.install(server, budget=25_000, budgets={"few": 500}, archive=Archive.in_memory())
    async with fastmcp.Client(server) as client:
        rows, few, _ = await client.list_tools()
    assert rows.meta["anthropic/maxResultSizeChars"] == 70_000 and rows.meta["mine"] == 1
    assert "anthropic/maxResultSizeChars" not in (few.meta or {})


def _fail():
    raise NotFound("there are none")


@pytest.mark.parametrize("framework", DOORS)
@pytest.mark.parametrize(
    ("handler", "dialect", "is_ours"),
    [
        (lambda: ["a"], "bare", False),
        (lambda: ROWS, "bare", False),
        (_fail, "bare", True),
        (lambda: ["a"], "response-v2", True),
        (_fail, "standard-v2", True),
    ],
)
async def test_blocks_that_are_ours_are_for_the_model(framework, handler, dialect, is_ours):
    (block,) = (await Door(framework, handler, dialect=dialect, budget=500).call("somebody")).content
    told = None if block.annotations is None else block.annotations.model_dump(exclude_none=True)
    assert told == ({"audience": ["assistant"], "priority": 1.0} if is_ours else None)


async def test_blocks_of_an_author_are_annotated_by_their_author():
    def blocks() -> list[mcp_types.TextContent]:
        mine = mcp_types.Annotations(audience=["user"], priority=0.2)
        return [mcp_types.TextContent(type="text", text=f"Block {n}", annotations=mine) for n in range(500)]

    *first, last = (await Door("fastmcp", blocks, budget=500).call("somebody")).content
    assert {(*block.annotations.audience, block.annotations.priority) for block in first} == {("user", 0.2)}
    assert (*last.annotations.audience, last.annotations.priority) == ("assistant", 1.0) and "retrieve(" in last.text


async def test_a_cache_keeps_clients_apart():
    asked = []

    def rows():
        asked.append(1)
        return ROWS

    door = Door("fastmcp", rows, budget="by-client 800", cache=Cache.in_memory(), cached=["rows"])
    for name in ("claude-code", "claude-code", "stranger", "another", "codex-mcp-client"):
        await door.call(name)
    assert len(asked) == 3


@pytest.mark.parametrize("budget", ["by-client plenty", "by-client 0", "by-clients", "by-client -5"])
def test_a_budget_that_cannot_be_is_refused(budget):
    with pytest.raises(AerogramError):
        Door("fastmcp", budget=budget)


def test_a_client_is_found_by_its_own_name_only():
    assert find_client("codex-mcp-client") is CLIENTS["codex"]
    assert find_client("codex") is find_client(None) is find_client("cursor-vscode") is None
