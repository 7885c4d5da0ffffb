"""Advice: the budget that a refusal names is enough."""

from __future__ import annotations

import re

import pytest
from fastmcp import Client

from aerogram import Archive
from aerogram.contract import Contract
from aerogram_knowledge import Knowledge
from aerogram_knowledge.search.results import KINDS
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.server.tools import build_tools
from serving import SAMPLES


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("advice") / "index"
    with Knowledge(folder) as index:
        index.ingest(SAMPLES / "vendors", SAMPLES / "security")
    with Library(folder) as library:
        yield library


@pytest.mark.parametrize("dialect", ["standard-v2", "knowledge-1.0", "response-v2"])
@pytest.mark.parametrize("query", ["data processing", "token", "palmaris"])
async def test_the_size_that_a_refusal_advises_is_enough(library, dialect, query):
    contract = Contract(
        dialect=dialect, budget=8_000, archive=Archive.in_memory(), cursors=library.cursors, kinds=KINDS
    )
    asked = {"query": query, "response_mode": "full", "page_size": 1}
    async with Client(build_tools(library, contract)) as client:
        refused = await client.call_tool("semantic_search", {**asked, "max_tokens": 100}, raise_on_error=False)
        advised = int(re.search(r"max_tokens of at least (\d+)", str(refused.content))[1])
        answer = await client.call_tool("semantic_search", {**asked, "max_tokens": advised}, raise_on_error=False)
    assert (refused.is_error, answer.is_error) == (True, False)
