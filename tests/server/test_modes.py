"""Response modes: a passage is shown with the same fields by whichever tool or address shows it."""

from __future__ import annotations

import httpx
import pytest
from fastmcp import Client

from aerogram.client.reading import read
from aerogram.dialects.knowledge_v1 import WhitelistedSemanticSearchFields, WhitelistedVendorInfoFields

OF_A_QUERY = {"hybrid_score", "rank", "similarity_score", "bm25_score", "score_type"}
ABOUT = {"confidence", "ranking", "deduplication"}
every_mode = pytest.mark.parametrize("mode", ["ids_only", "metadata", "preview", "full"])


async def call(served, tool, **arguments):
    """The reply of a tool, as its client reads it."""
    async with Client(served.mcp) as client:
        return read(await client.call_tool(tool, arguments))


async def left_out(served, tool, **arguments):
    """The hash of what a reply of a tool has left out."""
    reply = await call(served, tool, **arguments)
    return reply.fidelity.archive_hashes["data"]


def many(first):
    """What asks for more passages than there is room for."""
    others = [number for number in range(1, 20) if number != first]
    return {"chunk_ids": [first, *others], "response_mode": "full", "max_tokens": 800}


@every_mode
async def test_every_tool_shows_a_passage_with_the_fields_of_the_contract(served, mode):
    """What only a query gives is there where a query gave it; `full` has what a result says about itself besides."""
    documented = getattr(WhitelistedSemanticSearchFields, mode.upper())
    (row,) = (await call(served, "semantic_search", query="token", response_mode=mode, page_size=1)).data
    assert set(row) - ABOUT == documented
    found = await call(served, "get_chunks", chunk_ids=[row["chunk_id"]], response_mode=mode)
    assert set(found.data[0]) == documented - OF_A_QUERY
    kept = await left_out(served, "get_chunks", **many(row["chunk_id"]))
    for asked in ({"hash": kept}, {"hash": kept, "ids": [row["chunk_id"]]}):
        back = await call(served, "retrieve", response_mode=mode, **asked)
        assert set(back.data[0]) == documented - OF_A_QUERY
        assert back.data[0] == {name: row[name] for name in documented - OF_A_QUERY}


@every_mode
async def test_what_was_left_out_of_a_vendor_is_shown_as_vendors_are(served, mode):
    kept = await left_out(served, "find_vendor_info", vendor_name="Kestrelgate", response_mode="full", max_tokens=1_000)
    back = await call(served, "retrieve", hash=kept, response_mode=mode)
    documented = getattr(WhitelistedVendorInfoFields, mode.upper())
    assert set(back.data) <= documented
    assert set(back.data) >= documented - {"top_entities", "last_updated"}


async def test_a_passage_that_was_kept_with_less_is_not_shown_with_invented_fields(served):
    """Kept in metadata mode it has no text, so a preview of it has no snippet, and nothing says that it is empty."""
    asked = {"chunk_ids": list(range(1, 40)), "response_mode": "metadata", "max_tokens": 800}
    kept = await left_out(served, "get_chunks", **asked)
    for row in (await call(served, "retrieve", hash=kept, response_mode="preview", page_size=5)).data:
        assert set(row) == WhitelistedSemanticSearchFields.METADATA - OF_A_QUERY


async def test_fields_are_those_of_the_mode_in_every_tool(served):
    (row,) = (await call(served, "semantic_search", query="token", page_size=1)).data
    kept = await left_out(served, "get_chunks", **many(row["chunk_id"]))
    wrong = {"response_mode": "metadata", "fields": ["chunk_text"]}
    async with Client(served.mcp) as client:
        for tool, asked in (
            ("semantic_search", {"query": "token"}),
            ("get_chunks", {"chunk_ids": [row["chunk_id"]]}),
            ("retrieve", {"hash": kept}),
        ):
            refused = read(await client.call_tool(tool, {**asked, **wrong}, raise_on_error=False))
            assert refused.problem.code == "INVALID_FIELDS", tool
        for mode, field in (("preview", "ranking"), ("metadata", "also_in"), ("ids_only", "confidence")):
            asked = {"query": "token", "response_mode": mode, "fields": ["chunk_id", field]}
            refused = read(await client.call_tool("semantic_search", asked, raise_on_error=False))
            allowed = getattr(WhitelistedSemanticSearchFields, mode.upper())
            assert set(refused.problem.details["allowed_fields"]) == allowed


@pytest.mark.parametrize(("mode", "cited"), [("ids_only", 0), ("metadata", 0), ("preview", 1), ("full", 1)])
async def test_what_is_shown_with_words_is_cited(served, mode, cited):
    found = await call(served, "semantic_search", query="token", response_mode=mode, page_size=1)
    read_by_id = await call(served, "get_chunks", chunk_ids=[found.data[0]["chunk_id"]], response_mode=mode)
    assert (len(found.citations), len(read_by_id.citations)) == (cited, cited)


@every_mode
async def test_an_address_shows_what_its_tool_shows(served, mode):
    documented = getattr(WhitelistedSemanticSearchFields, mode.upper())
    shown = {"response_mode": mode}
    async with httpx.AsyncClient(base_url=served.address, timeout=30) as http:
        row = (await http.get("/v1/search", params={"q": "token", **shown})).json()["results"][0]
        record = (await http.get(f"/v1/chunks/{row['chunk_id']}", params=shown)).json()
        kept = await left_out(served, "get_chunks", **many(row["chunk_id"]))
        back = (await http.get(f"/v1/content/{kept}", params=shown)).json()[0]
    assert set(row) - ABOUT == documented
    assert record == back
    assert set(record) == documented - OF_A_QUERY
