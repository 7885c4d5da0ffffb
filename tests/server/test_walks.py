"""Walks: whoever follows the cursors of a search gets every result once, whatever the budget makes of its pages."""

from __future__ import annotations

import httpx
import pytest
from fastmcp import Client as Connection

from aerogram.client import AsyncClient, Client

QUESTION = "How long is an access token valid?"


async def walked(served, **asked):
    """The ids of all results, page by page, and how many pages there were."""
    async with Connection(served.address + "/mcp") as connection:
        client = AsyncClient(connection, on_notice=lambda *_: None)
        arguments = {"query": QUESTION, "page_size": 50, **asked}
        pages = [[row["chunk_id"] for row in page.data] async for page in client.pages("semantic_search", arguments)]
    return [one for page in pages for one in page], len(pages)


@pytest.mark.parametrize("mode", ["ids_only", "full"])
@pytest.mark.parametrize("budget", [1_200, 2_000])
async def test_a_page_that_is_cut_goes_on_after_its_last_result(served, mode, budget):
    everything, pages = await walked(served, response_mode=mode, max_tokens=100_000)
    found, more_pages = await walked(served, response_mode=mode, max_tokens=budget)
    assert found == everything and len(set(found)) == len(found) > 100
    assert more_pages >= pages


@pytest.mark.parametrize("envelope", ["v1", "v2"])
def test_over_http_too(served, envelope):
    asked = {"q": QUESTION, "page_size": 50, "envelope": envelope}
    with httpx.Client(base_url=served.address, timeout=30) as connection:
        client = Client(connection, on_notice=lambda *_: None)
        everything = [row["chunk_id"] for row in client.items("/v1/search", asked)]
        shortened = [row["chunk_id"] for row in client.items("/v1/search", {**asked, "max_tokens": 600})]
    assert shortened == everything and len(set(everything)) == len(everything) > 100
