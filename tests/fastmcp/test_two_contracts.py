"""A contract on a mounted server and one around it, in different dialects: one envelope, one charge, one count."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, FastMCP

from aerogram import Archive, Page, Reply
from aerogram.client import AsyncClient
from aerogram.dialects import read
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.limits import Limits, Plan
from aerogram.telemetry import Observer

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
DIALECTS = [("response-v2", "standard-v2"), ("standard-v2", "response-v2"), ("bare", "response-v2")]
PAIRS = pytest.mark.parametrize(("inner", "outer"), DIALECTS, ids=["-in-".join(pair) for pair in DIALECTS])
ROWS = [{"id": number, "text": "word " * 50} for number in range(40)]


def server(inner: dict[str, Any], outer: dict[str, Any]) -> FastMCP[Any]:
    kid: FastMCP[Any] = FastMCP("kid")
    install(kid, **{"dialect": "response-v2", **inner})
    kid.tool(lambda: {"id": 1}, name="one")
    kid.tool(lambda: ROWS, name="rows")
    kid.tool(lambda: Reply.ok([1, 2], page=Page("next", has_more=True)), name="page")

    @kid.tool
    def missing() -> dict[str, Any]:
        raise NotFound("no such row", remediation="list them first")

    made: FastMCP[Any] = FastMCP("around")
    made.mount(kid, namespace="kid")
    install(made, **{"dialect": "response-v2", **outer})
    return made


@ERAS
@PAIRS
async def test_the_dialect_is_that_of_the_server_around(era: str, inner: str, outer: str) -> None:
    """Successes and failures alike; the client has listed the tools, and validates by their schemas."""
    async with Client(server({"dialect": inner}, {"dialect": outer}), mode=era) as client:
        await client.list_tools()
        one, page, failed = [
            await client.call_tool(f"kid_{name}", raise_on_error=False) for name in ("one", "page", "missing")
        ]
    said = [read(found.structured_content, dialect=outer) for found in (one, page, failed)]
    assert said[0].data in ({"id": 1}, [{"id": 1}])
    assert said[1].data == [1, 2] and said[1].page is not None and said[1].page.cursor == "next"
    assert failed.is_error and said[2].problem is not None
    assert (said[2].problem.code, said[2].problem.remediation) == ("NOT_FOUND", "list them first")


@ERAS
@PAIRS
async def test_what_is_left_out_can_be_fetched(era: str, inner: str, outer: str) -> None:
    made = server(
        {"dialect": inner, "budget": 900, "archive": Archive.in_memory()},
        {"dialect": outer, "budget": 900, "archive": Archive.in_memory()},
    )
    async with Client(made, mode=era) as client:
        caller = AsyncClient(client)
        cut = await caller.call("kid_rows")
        whole = await caller.whole(cut)
    assert cut.fidelity is not None and cut.data != ROWS
    assert whole.data == ROWS


@ERAS
async def test_a_call_is_charged_and_counted_once(era: str) -> None:
    heard: list[Any] = []
    observer, limits = Observer().with_listener(lambda *said: heard.append(said)), Limits.in_memory(Plan.of("2/day"))
    shared = {"observer": observer, "limits": limits}
    async with Client(server(shared, {"dialect": "standard-v2", **shared}), mode=era) as client:
        answers = [await client.call_tool("kid_one", raise_on_error=False) for _ in range(3)]
        await client.call_tool("kid_missing", raise_on_error=False)
    assert [one.is_error for one in answers] == [False, False, True]
    assert len(heard) == 4
