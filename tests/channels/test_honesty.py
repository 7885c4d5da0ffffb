"""Honesty: whatever a server leaves out of a reply is told in every channel, at every budget, and comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import fastmcp
import pytest

from aerogram.archive import Archive
from aerogram.channels import POLICIES, Policy, Sizer
from aerogram.channels.encodings import read_text
from aerogram.client import AsyncClient
from aerogram.client.reading import read
from aerogram.content import Content
from aerogram.contract import Contract
from aerogram.errors import NotFound, ValidationFailed
from aerogram.fastmcp import install
from aerogram.reply import Reply
from aerogram.testing import assert_success

DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0", "bare"]
ROWS = [{"id": f"row-{number}", "title": f"Title {number}", "text": f"Row {number} says. " * 6} for number in range(8)]
HASH = Content.of_json(ROWS).hash[:19]
STEPS = 8
NEAR = 2
"""How far around an edge every budget is tried."""


class Desk:
    """A server with one tool, and the answers that it gives at any budget."""

    def __init__(self, connection: fastmcp.Client[Any], sizer: Sizer) -> None:
        self.connection = connection
        self.sizer = sizer
        self.client = AsyncClient(connection, on_notice=lambda *_: None)

    async def answer(self, budget: int) -> Any:
        return await self.connection.call_tool_mcp("rows", {"max_tokens": budget})

    async def smallest(self) -> int:
        """A budget that is served where the one before it is not."""
        low, high = 1, 4_000
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if (await self.answer(middle)).is_error else (low, middle)
        return high


@asynccontextmanager
async def opened(dialect: str, policy: Policy, archive: Archive | None) -> AsyncIterator[Desk]:
    server = fastmcp.FastMCP("rows")

    @server.tool
    def rows() -> list[dict[str, Any]]:
        return ROWS

    contract = Contract(dialect=dialect, channels=policy, budget=100_000, archive=archive)
    install(server, contract=contract, controls=True)
    async with fastmcp.Client(server) as connection:
        yield Desk(connection, Sizer(dialect, policy))


def budgets(smallest: int, whole: int) -> Iterator[int]:
    """Every budget near the edges, some between them, each once."""
    between = range(smallest, whole, max((whole - smallest) // STEPS, 1))
    near = (edge + more for edge in (smallest, whole) for more in range(-NEAR, NEAR + 1))
    yield from sorted({*between, *near} - set(range(1)))


def told(result: Any, policy: Policy) -> list[Reply[Any] | str]:
    """What each channel of a result says, read without the other."""
    text = result.content[0].text
    said: list[Reply[Any] | str] = [text if policy == "summary" else read(read_text(text))]
    return said + ([] if result.structured_content is None else [read(result.structured_content)])


def is_honest(said: Reply[Any] | str) -> bool:
    if isinstance(said, str):
        return ("fidelity: " in said and HASH in said) or (said.startswith("partial") and "cursor=" in said)
    goes_on = said.page is not None and said.page.cursor is not None
    hashes = (said.fidelity.archive_hashes or {}) if said.fidelity is not None else {}
    return said.status == "partial" and (goes_on or hashes.get("data") == HASH)


@pytest.mark.parametrize(
    ("policy", "dialect"),
    [*((policy, "response-v2") for policy in POLICIES), *(("text", one) for one in DIALECTS[1:]), ("mirror", "bare")],
)
async def test_what_is_left_out_is_told_in_every_channel_and_comes_back(dialect: str, policy: Policy) -> None:
    async with opened(dialect, policy, Archive.in_memory()) as desk:
        whole = desk.sizer(Reply.ok(ROWS))
        shortened = 0
        for budget in budgets(await desk.smallest(), whole):
            result = await desk.answer(budget)
            reply = read(result)
            if reply.problem is not None:
                assert reply.problem.code == "TOKEN_LIMIT_EXCEEDED"
                continue
            assert [row async for row in desk.client.items("rows", {"max_tokens": budget}, whole=True)] == ROWS
            if reply.data == ROWS:
                assert_success(result, dialect=dialect, whole=True)
                continue
            shortened += 1
            with pytest.raises(AssertionError, match="left out"):
                assert_success(result, dialect=dialect, whole=True)
            if dialect != "bare":  # a payload alone has its account in `_meta`
                assert all(map(is_honest, told(result, policy)))
        assert shortened > STEPS // 2


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_was_not_kept_is_never_taken_for_the_whole(dialect: str) -> None:
    async with opened(dialect, "text", None) as desk:
        for budget in budgets(await desk.smallest(), desk.sizer(Reply.ok(ROWS))):
            result = await desk.answer(budget)
            reply = read(result)
            if reply.problem is not None or reply.data == ROWS:
                continue
            with pytest.raises(AssertionError, match="left out"):
                assert_success(result, dialect=dialect, whole=True)
            with pytest.raises((NotFound, ValidationFailed), match=r"not kept|a page of several"):
                await desk.client.whole(reply)
