"""What the documents promise about size: fidelity below full, its warnings, and what modes cost."""

from __future__ import annotations

import json
from typing import Any

import aerogram
from aerogram import Reply, Telemetry
from aerogram.channels import Sizer
from aerogram.shape.fit import fit
from aerogram.shape.records import SEARCH_RESULT
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


def fitted(data: Any, budget: int, dialect: str = "response-v2", **asked: Any) -> Any:
    """Return the fitted reply and its leftovers."""
    code = aerogram.dialect(dialect).shortage
    return fit(Reply.ok(data), budget, measure=Sizer(dialect), retrieve="retrieve", code=code, **asked)


def findings(number: int) -> list[dict[str, Any]]:
    """Return that many rows with an identifier and prose."""
    return [{"id": f"finding-{place:03}", "text": PROSE * 12} for place in range(number)]


# --- fidelity in response-v2 -----------------------------------------------------------------------------------------


def test_a_reply_over_its_limit_is_partial_and_names_what_it_dropped() -> None:
    """Items are left out, the rest keeps its structure, and the meta lists the dropped ids and where they are."""
    fit = fitted(findings(10), 1000, whole_rows=True)
    meta, dropped = RESPONSE.encode(fit.reply)["meta"], [row["id"] for row in findings(10)[len(fit.reply.data) :]]
    assert fit.reply.data == findings(10)[: len(fit.reply.data)] != []
    assert (meta["content_fidelity"], meta["content_fidelity_schema_version"]) == ("partial", "1.0")
    assert meta["dropped_content_ids"] == dropped != []
    [leftover] = fit.leftovers
    assert meta["content_archive_hashes"] == {leftover.name: leftover.content.hash[: len("sha256:") + 12]}
    assert leftover.content.value() == findings(10)


def test_more_than_a_few_dropped_items_are_counted_and_not_named() -> None:
    """Ids that nobody can read take no room from items: the warning says how many there are, and where they begin."""
    names = [{"id": f"item-{place}"} for place in range(300)]
    reply = fitted(names, 1300).reply
    meta, shown = RESPONSE.encode(reply)["meta"], len(reply.data)
    digest = meta["content_archive_hashes"]["data"].removeprefix("sha256:")
    assert meta["warnings"] == [f"{shown} of 300 shown; more: retrieve(hash='{digest}', offset={shown})"]
    assert "dropped_content_ids" not in meta


def test_a_condensed_reply_is_a_summary() -> None:
    """Every item is there, most with less detail, and the meta says so, with the warning about it."""
    reply, leftovers, _ = fitted(findings(30), 2000)
    meta = RESPONSE.encode(reply)["meta"]
    assert (len(reply.data), meta["content_fidelity"]) == (30, "summary")
    condensed = sum(row not in findings(30) for row in reply.data)
    digest = meta["content_archive_hashes"]["data"].removeprefix("sha256:")
    call = f"retrieve(hash='{digest}', offset={30 - condensed})"
    assert meta["warnings"] == [f"30 of 30 shown, the last {condensed} in less detail; whole: {call}"]
    assert condensed > 15
    assert "dropped_content_ids" not in meta
    assert dict(leftovers)["data"].value() == findings(30)


def test_under_an_extreme_limit_items_still_say_what_they_are() -> None:
    """The level reference_only is never chosen: as many items as fit are condensed, and the others are counted."""
    for budget in (200, 400, 1200):
        reply = fitted(findings(300), budget).reply
        assert RESPONSE.encode(reply)["meta"]["content_fidelity"] == "summary"
        assert reply.data and all(row["text"].startswith("A sentence about the market") for row in reply.data)
        assert reply.notices[-1].message.startswith(f"{len(reply.data)} of 300 shown, in less detail")


def test_more_room_is_never_refused_where_less_was_enough() -> None:
    """Lists with long items are cut after whole ones, at every budget from the smallest that is enough."""
    vendor = {"name": "Acme", **{name: findings(9) for name in ("entities", "relationships")}}
    replies = [fitted(vendor, budget).reply for budget in range(150, 2300, 25)]
    is_refused = [reply.problem is not None for reply in replies]
    assert is_refused == sorted(is_refused, reverse=True) and is_refused.count(True) < 10


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
    reply = fitted([{"id": place} for place in range(900)], 600, "knowledge-1.0").reply
    assert warnings_of(reply) == [("warning", "PARTIAL_RESULTS")]


# --- what modes cost -------------------------------------------------------------------------------------------------


def typical(name: str) -> dict[str, Any]:
    """Return a chunk of the size that the examples state as a mode shows it, with the fields of its example."""
    chunk = dict(example("knowledge-search-full").value())
    chunk["chunk_text"] = PROSE * (chunk["chunk_token_count"] // TOKENS.count(PROSE))
    mode = name.rpartition("-")[2]
    row = SEARCH_RESULT.show(chunk, "ids_only" if mode == "ids" else mode)
    assert set(row) == set(example(name).value())
    assert row.get("chunk_snippet", chunk["chunk_text"][:200]) == chunk["chunk_text"][:200]
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
