"""What the documents promise about size: fidelity below full, its warnings, and what modes cost."""

from __future__ import annotations

import json
from typing import Any

import aerogram
from aerogram import Reply, Telemetry
from aerogram.channels import Sizer
from aerogram.shape.fit import fit
from aerogram.tokens import find_counter
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows

RESPONSE = aerogram.dialect("response-v2")
KNOWLEDGE = aerogram.dialect("knowledge-1.0")
TOKENS = find_counter("o200k_base")
PROSE = "A sentence about the market and its quarterly figures. "


def cost(value: Any) -> int:
    """Return the number of tokens of a value as compact JSON."""
    return TOKENS.count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def fitted(data: Any, budget: int) -> Any:
    """Return the fitted reply and its leftovers."""
    return fit(Reply.ok(data), budget, measure=Sizer(), retrieve="retrieve")


def findings(number: int) -> list[dict[str, Any]]:
    """Return that many rows with an identifier and prose."""
    return [{"id": f"finding-{place:03}", "text": PROSE * 12} for place in range(number)]


# --- fidelity in response-v2 -----------------------------------------------------------------------------------------


def test_a_reply_over_its_limit_is_partial_and_names_what_it_dropped() -> None:
    """Items are left out, the rest keeps its structure, and the meta lists the dropped ids and where they are."""
    names = [{"id": f"item-{place}"} for place in range(300)]
    reply, leftovers = fitted(names, 1300)
    meta = RESPONSE.encode(reply)["meta"]
    assert (meta["content_fidelity"], meta["content_fidelity_schema_version"]) == ("partial", "1.0")
    dropped = [row["id"] for row in names[len(reply.data) :]]
    assert meta["dropped_content_ids"] == dropped[: len(meta["dropped_content_ids"])] != []
    assert meta["content_archive_hashes"] == {name: content.hash for name, content in leftovers}
    assert dict(leftovers)["data"].value() == names


def test_a_condensed_reply_is_a_summary() -> None:
    """Every item is there with less detail, and the meta says so, with the warning about it."""
    reply, leftovers = fitted(findings(30), 2000)
    meta = RESPONSE.encode(reply)["meta"]
    assert (len(reply.data), meta["content_fidelity"]) == (30, "summary")
    assert [detail["code"] for detail in meta["warning_details"]] == ["CONTENT_TRUNCATED"]
    assert "dropped_content_ids" not in meta
    assert dict(leftovers)["data"].value() == findings(30)


def test_under_an_extreme_limit_only_references_are_left() -> None:
    """Identifiers alone remain, and the meta says so."""
    reply = fitted(findings(300), 1200).reply
    assert RESPONSE.encode(reply)["meta"]["content_fidelity"] == "reference_only"
    assert all(set(row) == {"id"} for row in reply.data)


# --- warnings in knowledge-1.0 ---------------------------------------------------------------------------------------


def warnings_of(reply: Reply[Any]) -> list[tuple[str, str]]:
    """Return level and code of each warning that the reply's knowledge-1.0 body has."""
    body = KNOWLEDGE.encode(KNOWLEDGE.complete(reply, operation="semantic_search"))
    return [(warning["level"], warning["code"]) for warning in body["warnings"]]


def test_a_reply_near_the_limit_warns() -> None:
    """What fits, but only just, says so."""
    data = findings(20)
    size = Sizer()(Reply.ok(data))
    assert warnings_of(fitted(data, int(size * 1.05)).reply) == [("warning", "TOKEN_LIMIT_WARNING")]
    assert warnings_of(fitted(data, size * 4).reply) == []


def test_a_reply_beyond_the_limit_is_an_error_whose_suggestion_works() -> None:
    """Where not even identifiers fit, the error-level warning names a budget, and that budget is enough."""
    reply = fitted(findings(10), 20).reply
    assert warnings_of(reply) == [("error", "TOKEN_LIMIT_EXCEEDED")]
    needed = int(str(reply.problem.remediation).split()[-2])
    assert fitted(findings(10), needed).reply.problem is None


def test_left_out_results_warn() -> None:
    """A reply that lost items says that there are more."""
    assert ("warning", "PARTIAL_RESULTS") in warnings_of(fitted([{"id": place} for place in range(900)], 600).reply)


# --- what modes cost -------------------------------------------------------------------------------------------------


def typical(name: str) -> dict[str, Any]:
    """Return an example row with a whole snippet, or a whole chunk of its stated size, in place of the elided one."""
    row = dict(example(name).value())
    if "chunk_snippet" in row:
        row["chunk_snippet"] = (PROSE * 9)[:200]
    if "chunk_text" in row:
        row["chunk_text"] = PROSE * (row["chunk_token_count"] // TOKENS.count(PROSE))
    return row


@rows("KNW-MODE-", column="most")
def test_mode_cost(row: Requirement) -> None:
    """A typical result of each mode stays within its mark."""
    assert cost(typical(row["typical"])) <= row["most"]


def test_each_mode_costs_less_than_the_next_richer() -> None:
    """The four modes are four prices, for the same chunk and for the same vendor."""
    prices = [cost(typical(f"knowledge-search-{mode}")) for mode in ("ids", "metadata", "preview", "full")]
    assert prices == sorted(prices)
    assert len(set(prices)) == 4


def test_the_envelope_costs_at_most_300_tokens() -> None:
    """The complete structure, with its results taken out, and a reply of ours with a page and a warning."""
    shown = {**example("knowledge-envelope").body(), "results": []}
    telemetry = Telemetry(duration_ms=156.3, cache_hit=True, tokens_estimated=2450, tokens_used=2523)
    page = aerogram.Page("eyJxdWVyeV9oYXNoIjoiYWJjIiwib2Zmc2V0IjoxMH0=", True, 42, 10)
    said = Reply.ok([], page=page, telemetry=telemetry, notices=[aerogram.Notice.of("LOW_QUALITY_RESULTS")])
    ours = KNOWLEDGE.encode(KNOWLEDGE.complete(said, operation="semantic_search"))
    assert cost(shown) <= 300
    assert cost(ours) <= 300


def test_a_row_of_ids_cannot_cost_ten_tokens() -> None:
    """The ruling stands on a measurement: the names of the documented row alone are above its mark of 10."""
    assert cost(dict.fromkeys(example("knowledge-search-ids").value(), 0)) > 10
