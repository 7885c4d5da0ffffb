"""Walks: what a client gets that goes from page to page, with every page cut to a budget."""

from __future__ import annotations

from typing import Any

from fastmcp import Client, FastMCP
from hypothesis import given, settings
from hypothesis import strategies as st

from aerogram.archive import Archive
from aerogram.client import AsyncClient
from aerogram.fastmcp import install

from . import strategies

WORDS = "A sentence about the market and its quarterly figures. "


def serving(data: Any, budget: int) -> FastMCP:
    """A server with one tool that returns this data."""
    server = FastMCP("walks")

    @server.tool
    def rows() -> Any:
        return data

    install(server, budget=budget, channels="text", controls=True, archive=Archive.in_memory())
    return server


async def walked(data: Any, budget: int, page_size: int | None, whole: bool) -> list[Any]:
    """The data of each page."""
    arguments = {} if page_size is None else {"page_size": page_size}
    async with Client(serving(data, budget)) as client:
        return [page.data async for page in AsyncClient(client).pages("rows", arguments, whole=whole)]


page_sizes = st.none() | st.integers(1, 50)


@settings(max_examples=25, deadline=None)
@given(strategies.rows(60) | strategies.anonymous_rows(30), st.integers(450, 3_000), page_sizes)
async def test_whole_pages_are_the_rows_each_once(rows: list[Any], budget: int, page_size: int | None) -> None:
    """A page that was cut brings back what it has shown, and leaves the rest to the page after it."""
    pages = await walked(rows, budget, page_size, whole=True)
    assert [row for page in pages for row in page] == rows


@settings(max_examples=25, deadline=None)
@given(strategies.rows(60), st.integers(450, 3_000), page_sizes)
async def test_pages_as_they_are_name_every_row_once(rows: list[Any], budget: int, page_size: int | None) -> None:
    pages = await walked(rows, budget, page_size, whole=False)
    assert [row["id"] for page in pages for row in page] == [row["id"] for row in rows]


@settings(max_examples=15, deadline=None)
@given(strategies.rows(40), st.integers(600, 2_000), st.integers(1, 50))
async def test_the_one_list_of_an_object_is_walked_like_rows(rows: list[Any], budget: int, page_size: int) -> None:
    data = {"tasks": rows, "total": len(rows), "note": WORDS}
    pages = await walked(data, budget, page_size, whole=True)
    assert [row for page in pages for row in page["tasks"]] == rows
    assert all(page["note"] == WORDS for page in pages)


async def test_what_is_archived_for_a_page_ends_where_the_next_one_begins() -> None:
    rows = [{"id": number, "text": WORDS * 5} for number in range(200)]
    async with Client(serving(rows, 330)) as client:
        calls = AsyncClient(client)
        page = await calls.call("rows", {"page_size": 50})
        assert page.fidelity is not None
        assert not page.fidelity.dropped_ids
        kept = await calls.recover(page)
        assert 0 < len(page.data) < 50
        assert kept["data"] == rows[: len(page.data)]
