"""A proxy with a contract of a server with a contract: what that one left out can be fetched through the proxy."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy

from aerogram import Archive
from aerogram.client import AsyncClient
from aerogram.fastmcp import install

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
ROWS = [{"id": number, "text": "word " * 50} for number in range(40)]


def proxy(**settings: Any) -> FastMCP[Any]:
    behind: FastMCP[Any] = FastMCP("behind")
    install(behind, dialect="response-v2", budget=900, archive=Archive.in_memory(), controls=True)
    behind.tool(lambda: ROWS, name="rows")
    made = create_proxy(behind)
    install(made, **{"dialect": "response-v2", "budget": 900, "archive": Archive.in_memory(), **settings})
    return made


@ERAS
async def test_what_the_server_behind_has_left_out_is_fetched_there(era: str) -> None:
    """By its hash, page by page, and every row of every page whole."""
    async with Client(proxy(), mode=era) as client:
        cut = (await client.call_tool("rows")).structured_content
        named = {"hash": cut["meta"]["content_archive_hashes"]["data"], "page_size": 3}
        first = (await client.call_tool("retrieve", named)).structured_content
        cursor = first["meta"]["pagination"]["cursor"]
        second = (await client.call_tool("retrieve", {**named, "cursor": cursor})).structured_content
        whole = [row async for row in AsyncClient(client).items("rows", whole=True)]
    assert [row["id"] for row in first["data"]["results"] + second["data"]["results"]] == [0, 1, 2, 3, 4, 5]
    assert whole == ROWS


@ERAS
async def test_what_nobody_has_is_not_found(era: str) -> None:
    async with Client(proxy(), mode=era) as client:
        failed = await client.call_tool("retrieve", {"hash": "0" * 64}, raise_on_error=False)
    assert failed.is_error and failed.structured_content["data"]["error_code"] == "NOT_FOUND"


@ERAS
async def test_replies_in_another_dialect_lead_there_as_well(era: str) -> None:
    async with Client(proxy(dialect="standard-v2", budget=None), mode=era) as client:
        caller = AsyncClient(client)
        whole = [row async for row in caller.items("rows", whole=True)]
    assert whole == ROWS
