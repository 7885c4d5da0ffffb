"""What the documents promise of a search, asked of a knowledge server that runs as a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastmcp
import pytest

import aerogram
from aerogram._mcp.negotiation import EXTENSION
from aerogram.dialects.knowledge_v1 import SearchRequest, WhitelistedVendorInfoFields
from aerogram.tokens import find_counter
from contracts.document_examples import Example, example
from contracts.requirement_rows import Requirement, rows
from serving import Served, serving

TOKENS = find_counter("o200k_base")
JWT = """# JWT Guide

## Implementation

JWT authentication is stateless: the token that the caller sends carries who it is, and the service checks the
signature of the token and nothing else. No session is stored, and any service that knows the key can check it.

## Expiry

A token for JWT authentication expires after fifteen minutes.
"""
OAUTH = "# OAuth Guide\n\nOAuth lets an application act for its user without knowing the password of the user.\n"
KINDS = ["COMPANY"] * 50 + ["PERSON"] * 25 + ["PRODUCT"] * 10
GRAPH = {
    "entities": [
        {"id": "e_001", "name": "Acme Corporation", "type": "COMPANY", "updated": "2025-11-09"},
        *(
            {"id": f"e_{place:03}", "name": f"{kind.title()} of Acme {place}", "type": kind, "vendor_id": "e_001"}
            for place, kind in enumerate(KINDS[1:], 2)
        ),
    ],
    "relationships": [
        {"id": f"r_{n:03}", "source": "e_001", "target": f"e_{n + 1:03}", "type": "PARTNER" if n < 16 else "COMPETITOR"}
        for n in range(1, 26)
    ],
}
"""A vendor of the size that the document shows: 85 entities and 25 relationships."""

GIANT = {
    "entities": [
        {"id": "g_0", "name": "Giant Holding", "type": "COMPANY"},
        *({"id": f"g_{n}", "name": f"Machine {n}", "type": "PRODUCT", "vendor_id": "g_0"} for n in range(1, 121)),
    ],
    "relationships": [
        {"id": f"gr_{n}", "source": f"g_{n % 121}", "target": f"g_{n * 7 % 121}", "type": "PART_OF"} for n in range(600)
    ],
}
"""A vendor beyond the caps of the document."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over guides, notes and a vendor."""
    folder: Path = tmp_path_factory.mktemp("documents")
    texts = {"security/jwt.md": JWT, "security/oauth.md": OAUTH}
    texts |= {"vendors.json": json.dumps(GRAPH), "giants.json": json.dumps(GIANT)}
    notes = {f"notes/{n}.md": f"# Note {n}\n\nThe authentication of door {n} was tested.\n" for n in range(25)}
    for name, text in {**texts, **notes}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with serving(tmp_path_factory.mktemp("served") / "index", documents=folder) as server:
        yield server


def call(served: Served, tool: str, arguments: dict[str, Any], dialect: str = "knowledge-1.0") -> dict[str, Any]:
    """The body that a tool answers with, in the dialect that was asked for."""

    async def called() -> Any:
        async with fastmcp.Client(served.mcp) as client:
            return await client.call_tool(tool, arguments, meta={EXTENSION: {"dialect": dialect}})

    body = asyncio.run(called()).structured_content
    assert aerogram.validate(body).name == dialect
    return dict(body)


def run(shown: Example, served: Served) -> dict[str, Any]:
    """Run code of the document whose `semantic_search` is the server's tool."""
    space: dict[str, Any] = {"semantic_search": lambda **asked: call(served, "semantic_search", asked)}
    exec(compile(shown.completed_text(), shown.id, "exec", dont_inherit=True), space)
    return space


def test_the_two_pages_of_the_second_usage_example_follow_each_other(served: Served) -> None:
    """Twenty identifiers, then the rest, none of them twice."""
    space = run(example("knowledge-code-two-pages"), served)
    first, second = space["page1"], space["page2"]
    ranks = [row["rank"] for page in (first, second) for row in page["results"]]
    assert (len(first["results"]), first["pagination"]["has_more"]) == (20, True)
    assert ranks == list(range(1, len(ranks) + 1)) and len(ranks) > 20
    assert len({row["chunk_id"] for page in (first, second) for row in page["results"]}) == len(ranks)


def test_null_stands_for_what_is_not_given(served: Served) -> None:
    """A loop that begins without a cursor sends null for it, and gets the first page."""
    asked = {"query": "authentication", "page_size": 3}
    first, again = (
        call(served, "semantic_search", one)["results"] for one in (asked, {**asked, "cursor": None, "fields": None})
    )
    assert first == again and len(first) == 3
    assert SearchRequest(query="authentication", cursor=None, fields=None) == SearchRequest(query="authentication")


def test_the_filtered_search_of_the_third_usage_example_shows_only_its_fields(served: Served) -> None:
    """Rows have the fields that were asked for, as the example shows."""
    found = run(example("knowledge-code-fields"), served)["response"]["results"]
    shown = example("knowledge-fields-response").value()["results"]
    assert {frozenset(row) for row in found} == {frozenset(shown[0])}
    assert found[0]["source_file"] == "security/oauth.md"


def test_the_explanation_names_the_tier_and_what_matched(served: Served) -> None:
    """The best is of the top tier, the last a weak match, and each says whether words or meaning matched."""
    asked = {"query": "JWT authentication", "response_mode": "full", "page_size": 50, "fields": ["chunk_id", "ranking"]}
    told = [row["ranking"]["explanation"].split(": ") for row in call(served, "semantic_search", asked)["results"]]
    tiers = [tier for tier, _ in told]
    assert (tiers[0], tiers[-1]) == ("Top-tier result", "Weak match")
    assert list(dict.fromkeys(tiers)) == ["Top-tier result", "High relevance", "Moderate match", "Weak match"]
    assert all("semantic" in reason or "keyword" in reason for _, reason in told)
    assert "keyword" in told[0][1]


@rows("KNW-MODE-", column="vendor_mode")
def test_vendor_cost(row: Requirement, served: Served) -> None:
    """A vendor of the documented size stays within the mark of each mode."""
    asked = {"vendor_name": "Acme Corporation", "response_mode": row["vendor_mode"]}
    vendor = call(served, "find_vendor_info", asked)["results"]
    assert vendor["vendor_name"] == "Acme Corporation"
    assert set(vendor) == getattr(WhitelistedVendorInfoFields, row["vendor_mode"].upper())
    assert row["vendor_mode"] != "preview" or len(vendor["entities"]) == len(vendor["relationships"]) == 5
    assert TOKENS.count(json.dumps(vendor, separators=(",", ":"), ensure_ascii=False)) <= row["most_tokens"]


def test_the_suggested_actions_of_a_search_give_their_follow_ups_as_they_stand(served: Served) -> None:
    """Each names a tool that takes its arguments: the texts of the best results, and a digest of the best document."""
    found = call(served, "semantic_search", {"query": "JWT authentication"}, "standard-v2")
    fetch, condense = found["suggested_actions"]
    chunks = call(served, fetch["tool"], fetch["args"], "standard-v2")["results"]
    assert [row["chunk_id"] for row in chunks] == [row["chunk_id"] for row in found["results"][: len(chunks)]] != []
    [digest] = call(served, condense["tool"], condense["args"], "standard-v2")["results"]
    assert "JWT" in json.dumps(digest)


def test_the_search_of_the_first_usage_example_answers_as_it_shows(served: Served) -> None:
    """Its code, run as it stands, gets a reply with the members of the example, and its cost in tokens and time."""
    body, shown = (
        run(example("knowledge-code-search"), served)["response"],
        example("knowledge-search-response").value(),
    )
    assert set(body) - {"aerogram"} == set(shown)
    for member in ("_metadata", "execution_context"):
        assert set(body[member]) == set(shown[member])
    assert {frozenset(row) for row in body["results"]} == {frozenset(shown["results"][0])}
    assert [row["rank"] for row in body["results"]] == list(range(1, 11))
    metadata, cost = body["_metadata"], body["execution_context"]
    said = {name: shown["_metadata"][name] for name in ("operation", "version", "status")}
    assert {**metadata, **said} == metadata
    assert (body["warnings"], cost["request_id"]) == ([], metadata["request_id"])
    assert cost["tokens_estimated"] > 0 and cost["tokens_used"] * 10 <= cost["tokens_estimated"] * 11
    assert cost["execution_time_ms"] > 0 and isinstance(cost["cache_hit"], bool)


@pytest.mark.parametrize(("mode", "most"), [("preview", (5, 5)), ("full", (100, 500))])
def test_a_vendor_beyond_the_caps_is_cut_to_them(mode: str, most: tuple[int, int], served: Served) -> None:
    """What is shown and what the budget left out of it are together as many as the mode allows, and all are counted."""
    body = call(served, "find_vendor_info", {"vendor_name": "Giant Holding", "response_mode": mode})
    vendor = body["results"]
    counts = [sum("id" in row for row in vendor[name]) for name in ("entities", "relationships")]
    told = " ".join(warning["message"] for warning in body["warnings"] if "; more: " in warning["message"])
    cuts = re.findall(r"(\d+) of (\d+) (?:entities|relationships)", told)
    dropped = sum(int(total) - int(shown) for shown, total in cuts)
    assert all(count <= cap for count, cap in zip(counts, most, strict=True))
    assert sum(counts) + dropped == sum(most)
    assert (vendor["statistics"]["entity_count"], vendor["statistics"]["relationship_count"]) == (121, 600)
    assert "PARTIAL_RESULTS" in {warning["code"] for warning in body["warnings"]}
