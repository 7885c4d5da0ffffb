"""Walks: what a client gets that goes from page to page, with every page cut to a budget."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, FastMCP
from hypothesis import given, settings
from hypothesis import strategies as st

from aerogram.archive import Archive
from aerogram.channels import Sizer
from aerogram.client import AsyncClient
from aerogram.cursor import Cursors
from aerogram.fastmcp import install
from aerogram.shape.fit import fit
from aerogram.shape.pages import Pager, ResumablePage, take

from . import strategies

WORDS = "A sentence about the market and its quarterly figures. "


def serving(data: Any, budget: int) -> FastMCP:
    """A server with one tool that returns this data."""
    server = FastMCP("walks")

    @server.tool
    def rows() -> Any:
        return data

    install(server, dialect="response-v2", budget=budget, channels="text", controls=True, archive=Archive.in_memory())
    return server


async def walked(data: Any, budget: int, page_size: int | None, whole: bool) -> list[Any]:
    """The data of each page."""
    arguments = {} if page_size is None else {"page_size": page_size}
    async with Client(serving(data, budget)) as client:
        return [page.data async for page in AsyncClient(client).pages("rows", arguments, whole=whole)]


page_sizes = st.none() | st.integers(1, 50)


@settings(max_examples=15, deadline=None)
@given(strategies.rows(60) | strategies.anonymous_rows(30), st.integers(450, 3_000), page_sizes)
async def test_whole_pages_are_the_rows_each_once(rows: list[Any], budget: int, page_size: int | None) -> None:
    """A page that was cut brings back what it has shown, and leaves the rest to the page after it."""
    pages = await walked(rows, budget, page_size, whole=True)
    assert [row for page in pages for row in page] == rows


@settings(max_examples=15, deadline=None)
@given(strategies.rows(60), st.integers(450, 3_000), page_sizes)
async def test_pages_as_they_are_name_every_row_once(rows: list[Any], budget: int, page_size: int | None) -> None:
    pages = await walked(rows, budget, page_size, whole=False)
    assert [row["id"] for page in pages for row in page] == [row["id"] for row in rows]


@settings(max_examples=10, deadline=None)
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


SIZERS = [Sizer("knowledge-1.0", "mirror"), Sizer("response-v2", "text"), Sizer("standard-v2", "compact")]
RANKED = [{"id": number, "score": number / 7, "text": WORDS * 9} for number in range(60)]


def page_of(size: int) -> ResumablePage:
    pager = Pager(Cursors(), "list", mode="full")
    window = pager.window(None, size)
    return pager.page(take(RANKED, window), window, total=len(RANKED))


def rows_shown(paged: ResumablePage, budget: int, sizer: Sizer) -> int:
    """How many rows a page has within a budget; none when it is refused."""
    fitted = fit(paged.reply, budget, measure=sizer, resume=paged.resume, retrieve="retrieve").reply
    assert sizer(fitted) <= budget or fitted.problem is not None
    return len(fitted.data) if fitted.problem is None else 0


def smallest(paged: ResumablePage, sizer: Sizer) -> int:
    """The budget that a refusal names."""
    refused = fit(paged.reply, 60, measure=sizer, resume=paged.resume, retrieve="retrieve").reply
    assert refused.problem is not None
    return int(str(refused.problem.remediation).split()[-2])


@pytest.mark.parametrize("sizer", SIZERS, ids=lambda sizer: sizer.dialect)
@pytest.mark.parametrize("size", [10, 50])
def test_a_page_has_no_fewer_rows_at_a_larger_budget(sizer: Sizer, size: int) -> None:
    """What is said of the rows takes no room that a further row could have."""
    paged = page_of(size)
    start = smallest(paged, sizer)
    counts = [rows_shown(paged, budget, sizer) for budget in range(start - 25, start + 700, 35)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("sizer", SIZERS, ids=lambda sizer: sizer.dialect)
def test_a_budget_that_serves_a_long_page_serves_a_short_one(sizer: Sizer) -> None:
    assert rows_shown(page_of(2), smallest(page_of(50), sizer), sizer)


def test_a_page_that_is_cut_shows_whole_rows_where_that_shows_as_many() -> None:
    """They need no account, so the first one may fit where less of it would not."""
    rows = [{"id": number, "t": "word " * 30} for number in range(60)]
    pager, sizer = Pager(Cursors(), "list", mode="full"), Sizer("response-v2", "mirror")
    single, several = (pager.page(rows, pager.window(None, size), total=60) for size in (1, 20))
    budget = sizer(single.reply) + 25
    fitted, leftovers, _ = fit(several.reply, budget, measure=sizer, resume=several.resume)
    assert (fitted.problem, fitted.data, fitted.fidelity, leftovers) == (None, rows[: len(fitted.data)], None, ())
    assert (fitted.status, len(fitted.data)) == ("partial", 1)
    assert fitted.page is not None
    assert fitted.page.has_more
