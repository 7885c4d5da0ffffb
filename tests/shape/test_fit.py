"""Fitting: what a fitted reply says, and what it does with odd input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from aerogram.channels import Sizer
from aerogram.content import Content
from aerogram.cursor import Cursors
from aerogram.errors import ValidationFailed
from aerogram.reply import Citation, Fidelity, Notice, Page, QueryEcho, Reply
from aerogram.shape.account import without_archive
from aerogram.shape.fit import fit
from aerogram.shape.pages import Pager, take
from aerogram.shape.records import SEARCH_RESULT
from aerogram.tokens import Bytes, Characters, Estimate, find_counter

SIZER = Sizer()
WORDS = "A sentence about the market and its quarterly figures. "


def rows(count: int, sentences: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": f"row-{n:03}", "title": f"Title {n}", "score": n / 7, "text": WORDS * sentences} for n in range(count)
    ]


def codes(reply: Reply[Any]) -> list[str | None]:
    return [notice.code for notice in reply.notices]


def test_a_reply_that_fits_is_the_same_object_and_leaves_nothing() -> None:
    reply = Reply.ok(rows(3))
    assert fit(reply, 8_000, measure=SIZER) == (reply, ())
    assert fit(reply, 8_000, measure=SIZER).reply is reply


def test_a_reply_that_nearly_fills_the_budget_says_so() -> None:
    reply = Reply.ok(rows(3))
    fitted = fit(reply, int(SIZER(reply) * 1.1), measure=SIZER).reply
    assert codes(fitted) == ["TOKEN_LIMIT_WARNING"]
    assert fitted.data is reply.data


def test_the_filters_of_a_query_are_told_unless_that_costs_an_item() -> None:
    echo = QueryEcho({"query": "How long is a token valid?"}, {"category": ["apis"]})
    reply = Reply.ok(rows(40), query_echo=echo, extra={"trace": WORDS * 30})
    fitted = {budget: fit(reply, budget, measure=SIZER, retrieve="retrieve").reply for budget in (405, 600)}
    assert [len(one.data) for one in fitted.values()] == [40, 40]
    assert [one.query_echo for one in fitted.values()] == [None, echo]
    assert [one.extra for one in fitted.values()] == [None, None]


def test_of_a_long_query_only_its_filters_are_told() -> None:
    echo = QueryEcho({"query": WORDS * 30}, {"category": ["apis"]})
    fitted = fit(Reply.ok(rows(10), query_echo=echo), 600, measure=SIZER, retrieve="retrieve")
    assert fitted.reply.query_echo == QueryEcho(applied_filters={"category": ["apis"]})
    envelope = next(content.value() for name, content in fitted.leftovers if name == "envelope")
    assert envelope["query_echo"]["normalized_input"] == {"query": WORDS * 30}


def test_detail_is_lowered_before_items_are_dropped_and_the_best_stay_richest() -> None:
    data = rows(30)
    fitted = fit(Reply.ok(data), 2_600, measure=SIZER, retrieve="retrieve").reply
    assert len(fitted.data) == 30
    sizes = [len(row.get("text", "")) for row in fitted.data]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    assert fitted.status == "ok"
    assert fitted.fidelity is not None
    assert (fitted.fidelity.level, fitted.fidelity.dropped_ids) == ("summary", ())
    assert codes(fitted) == ["CONTENT_TRUNCATED"]


def test_dropped_items_are_counted_named_and_archived() -> None:
    data = rows(500, sentences=1)
    fitted, leftovers = fit(Reply.ok(data), 1_500, measure=SIZER, retrieve="retrieve")
    kept = len(fitted.data)
    assert fitted.status == "partial"
    assert fitted.fidelity is not None
    assert fitted.fidelity.level == "reference_only"
    assert fitted.fidelity.dropped_ids == tuple(row["id"] for row in data[kept : kept + 15])
    extra = fitted.fidelity.extra or {}
    assert extra["dropped_count"] == 500 - kept
    contents = dict(leftovers)
    assert contents["data"].value() == data
    assert contents["dropped_ids"].value() == [row["id"] for row in data[kept:]]
    assert dict(fitted.fidelity.archive_hashes or {}) == {name: content.hash for name, content in contents.items()}
    notice = fitted.notices[0]
    assert notice.code == "PARTIAL_RESULTS"
    assert notice.context == {"dropped_count": 500 - kept, "total_count": 500, "reason": "token_limit_exceeded"}
    (action,) = fitted.actions
    assert action.tool == "retrieve"
    assert contents["data"].hash.startswith((action.args or {})["hash"])


def test_sizes_before_and_after_and_the_counter_are_in_the_reply() -> None:
    data = rows(40)
    sizer = Sizer(counter=find_counter("claude"))
    fitted = fit(Reply.ok(data), 3_000, measure=sizer).reply
    assert fitted.fidelity is not None
    extra = dict(fitted.fidelity.extra or {})
    assert extra["size_after"] == sizer(fitted)
    assert extra["size_before"] == pytest.approx(sizer(Reply.ok(data)), rel=0.1)
    assert extra["size_before_is_estimate"] is True
    assert (extra["counter"], extra["margin"]) == ("claude~o200k_base", 0.15)


def test_a_small_overflow_is_counted_exactly_before() -> None:
    data = rows(10)
    whole = SIZER(Reply.ok(data))
    fitted = fit(Reply.ok(data), whole - 1, measure=SIZER).reply
    assert fitted.fidelity is not None
    assert (fitted.fidelity.extra or {})["size_before"] == whole
    assert "size_before_is_estimate" not in (fitted.fidelity.extra or {})


def test_a_single_item_larger_than_the_budget_becomes_a_marked_preview() -> None:
    data = [{"id": "big", "text": WORDS * 5_000}]
    fitted, leftovers = fit(Reply.ok(data), 1_000, measure=SIZER)
    assert fitted.data[0]["id"] == "big"
    assert fitted.data[0]["text"].endswith(" chars]")
    assert len(fitted.data[0]["text"]) > 2_000
    assert dict(leftovers)["data"].value() == data
    assert fitted.fidelity is not None
    assert (fitted.fidelity.level, fitted.status) == ("summary", "ok")


def test_a_record_shares_the_budget_among_its_members() -> None:
    """Small facts stay whole, long texts are cut, lists lose their tail."""
    data = {"research_id": "r-1", "findings": rows(200), "note": WORDS * 400, "total": 200, "tags": ["a", "b"]}
    fitted = fit(Reply.ok(data), 3_000, measure=SIZER).reply
    assert (fitted.data["research_id"], fitted.data["total"], fitted.data["tags"]) == ("r-1", 200, ["a", "b"])
    assert fitted.data["note"].endswith(" chars]")
    assert len(fitted.data["findings"]) > 50
    assert list(fitted.data) == list(data)


def test_declared_records_are_shown_in_their_modes() -> None:
    chunk = {"chunk_id": 0, "hybrid_score": 0.5, "rank": 1, "source_file": "a.md", "chunk_text": WORDS * 30}
    data = [{**chunk, "chunk_id": n, "rank": n + 1} for n in range(25)]
    fitted = fit(Reply.ok(data), 2_200, measure=SIZER, kind=SEARCH_RESULT).reply
    assert len(fitted.data) == 25
    shapes = {frozenset(row) for row in fitted.data}
    assert any("chunk_snippet" in shape for shape in shapes)
    assert all("chunk_id" in row for row in fitted.data)


def test_a_text_becomes_a_marked_preview() -> None:
    fitted, leftovers = fit(Reply.ok(WORDS * 4_000), 500, measure=SIZER)
    assert fitted.data.endswith(" chars]")
    assert dict(leftovers)["data"] == Content.of_json(WORDS * 4_000)


def test_without_an_archive_nothing_is_promised() -> None:
    fitted, leftovers = fit(Reply.ok(rows(300)), 1_500, measure=SIZER, archive=False, retrieve="retrieve")
    assert leftovers == ()
    assert fitted.fidelity is not None
    assert fitted.fidelity.archive_hashes is None
    assert fitted.actions == ()
    assert "not kept" in str(fitted.notices[0].suggestion)


@pytest.mark.parametrize("budget", [300, 1_500, 6_000])
def test_when_the_archive_fails_the_reply_still_fits_and_is_honest(budget: int) -> None:
    fitted = fit(Reply.ok(rows(300)), budget, measure=SIZER, retrieve="retrieve").reply
    honest = without_archive(fitted)
    assert SIZER(honest) <= budget
    assert honest.fidelity is not None
    assert honest.fidelity.archive_hashes is None
    assert honest.actions == ()
    assert "not kept" in str(honest.notices[0].suggestion)
    assert "retrieve" not in str(honest)


@pytest.mark.parametrize("budget", [700, 1_500])
def test_when_the_archive_fails_a_handlers_own_notices_stay_as_they_are(budget: int) -> None:
    own = Notice.of("PARTIAL_RESULTS", "3 of 5 sources failed: try again", suggestion="Ask again at noon")
    plain = Notice("Pages 4 to 9: not scanned", "CONTENT_TRUNCATED", "warning")
    fitted = fit(Reply.ok(rows(300), notices=(own, plain)), budget, measure=SIZER, retrieve="retrieve").reply
    assert fitted.notices[:2] == (own, plain)
    assert without_archive(fitted).notices[:2] == (own, plain)
    assert "not kept" in str(without_archive(fitted).notices[-1].suggestion)


def test_a_page_that_is_too_large_goes_on_at_the_next_cursor() -> None:
    """Whole items, a cursor after the last of them, and no loss to report."""
    data = rows(40)
    pager = Pager(Cursors(), "list", mode="full")
    seen: list[Any] = []
    cursor = None
    while cursor is not None or not seen:
        window = pager.window(cursor, 20)
        paged = pager.page(take(data, window), window, total=40)
        fitted, leftovers = fit(paged.reply, 1_200, measure=SIZER, resume=paged.resume, detail_first=True)
        assert (leftovers, fitted.fidelity) == ((), None)
        assert fitted.page is not None
        seen += fitted.data
        cursor = fitted.page.cursor
    assert seen == data


def cursor_after(start: int) -> Callable[[int], str]:
    return lambda count: f"c{start + count}"


def test_a_text_goes_on_at_the_next_cursor_too() -> None:
    text = "".join(f"{n} {WORDS}👩‍👩‍👧‍👦 " for n in range(300))
    seen = ""
    while len(seen) < len(text):
        rest = Reply.ok(text[len(seen) :])
        fitted, leftovers = fit(rest, 800, measure=SIZER, resume=cursor_after(len(seen)))
        assert leftovers == ()
        seen += fitted.data
        if fitted.page is not None:
            assert fitted.page.cursor == f"c{len(seen)}"
    assert seen == text


SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["id", "state", "text", "parts"],
        "properties": {
            "id": {"type": "string"},
            "state": {"type": "string", "enum": ["a-state-with-a-long-name", "other"]},
            "text": {"type": "string"},
            "parts": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/part"}},
            "choice": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "additionalProperties": False,
    },
    "$defs": {"part": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}},
}


@pytest.mark.parametrize("budget", [400, 800, 2_000, 5_000])
def test_the_advertised_schema_stays_satisfied(budget: int) -> None:
    part = {"size": 3, "note": WORDS}
    item = {"state": "a-state-with-a-long-name", "text": WORDS * 20, "parts": [part] * 6, "choice": None}
    data = [{"id": f"row-{n}", **item} for n in range(30)]
    jsonschema_rs.validate(SCHEMA, data)
    fitted = fit(Reply.ok(data), budget, measure=SIZER, schema=SCHEMA).reply
    assert fitted.problem is None
    assert SIZER(fitted) <= budget
    jsonschema_rs.validate(SCHEMA, fitted.data)


def test_what_may_also_be_null_can_be_shortened() -> None:
    note = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Note"}
    page = {"type": "object", "properties": {"note": note}, "required": ["note"]}
    schema = {
        "type": "object",
        "properties": {
            "page": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/Page"}]},
            "code": {"anyOf": [{"enum": ["a"]}]},
        },
        "required": ["page"],
        "$defs": {"Page": page},
    }
    data = {"page": {"note": WORDS * 200}, "code": "a"}
    fitted = fit(Reply.ok(data), 400, measure=SIZER, schema=schema).reply
    assert fitted.problem is None
    assert fitted.data["page"]["note"].endswith(" chars]")
    jsonschema_rs.validate(schema, fitted.data)


def test_a_choice_between_two_shapes_is_kept_whole() -> None:
    choice = {"anyOf": [{"type": "string", "pattern": "x$"}, {"type": "string", "pattern": "y$"}, {"type": "null"}]}
    schema = {"type": "object", "properties": {"note": choice}, "required": ["note"]}
    fitted = fit(Reply.ok({"note": "x" * 5_000}), 400, measure=SIZER, schema=schema).reply
    assert fitted.problem is not None
    assert fitted.problem.code == "TOKEN_LIMIT_EXCEEDED"


def test_a_schema_that_cannot_be_satisfied_within_the_budget_is_refused() -> None:
    schema = {"type": "array", "minItems": 100, "items": {"type": "string", "minLength": 20}}
    fitted = fit(Reply.ok(["x" * 40] * 100), 300, measure=SIZER, schema=schema).reply
    assert fitted.problem is not None
    assert fitted.problem.code == "TOKEN_LIMIT_EXCEEDED"


def test_not_even_identifiers_fit() -> None:
    fitted, leftovers = fit(Reply.ok(rows(10)), 20, measure=SIZER)
    assert leftovers == ()
    assert fitted.problem is not None
    assert fitted.problem.message.endswith("limit is 20")
    assert "at least" in str(fitted.problem.remediation)


@pytest.mark.parametrize("budget", [0, -5, True, 2.5, None, "8000"])
def test_a_budget_that_is_none_is_refused(budget: Any) -> None:
    with pytest.raises(ValidationFailed):
        fit(Reply.ok([]), budget, measure=SIZER)


def test_an_absurdly_large_budget_changes_nothing() -> None:
    reply = Reply.ok(rows(5))
    assert fit(reply, 10**30, measure=SIZER).reply is reply


def test_items_without_identifiers_are_named_by_position() -> None:
    data = [{"value": n * 1.5, "note": "n"} for n in range(400)]
    fitted, leftovers = fit(Reply.ok(data), 1_200, measure=SIZER)
    assert fitted.fidelity is not None
    assert fitted.fidelity.dropped_ids[0] == f"#/{len(fitted.data)}"
    assert dict(leftovers)["dropped_ids"].value()[-1] == "#/399"


@pytest.mark.parametrize(
    "data",
    [
        list(range(50_000)),
        ["text " * 50] * 500,
        [[n, n + 1] for n in range(5_000)],
        {f"key-{n}": n for n in range(20_000)},
        {"a": {"b": {"c": {"d": WORDS * 1_000}}}},
        {"": "", "x": [None] * 9_000},
        "e\u0301" * 20_000,
        "👩‍👩‍👧‍👦" * 5_000,
        "漢字" * 20_000,
        [{"id": "e" + "\u0301" * 50_000}],
    ],
    ids=lambda data: str(type(data).__name__),
)
@pytest.mark.parametrize("budget", [300, 3_000])
def test_odd_shapes_fit_too(data: Any, budget: int) -> None:
    fitted, leftovers = fit(Reply.ok(data), budget, measure=SIZER)
    assert SIZER(fitted) <= budget
    assert fitted.problem is None
    assert dict(leftovers)["data"].value() == data


def test_a_million_items_fit() -> None:
    data = [{"id": number} for number in range(1_000_000)]
    fitted, leftovers = fit(Reply.ok(data), 1_000, measure=SIZER)
    assert SIZER(fitted) <= 1_000
    assert fitted.fidelity is not None
    assert (fitted.fidelity.extra or {})["dropped_count"] == 1_000_000 - len(fitted.data)
    assert len(dict(leftovers)["dropped_ids"].value()) == 1_000_000 - len(fitted.data)


@pytest.mark.parametrize("counter", [Characters(), Bytes(), Estimate()])
def test_budgets_in_other_units_hold(counter: Any) -> None:
    sizer = Sizer("knowledge-1.0", "mirror", counter)
    fitted = fit(Reply.ok(rows(100)), 5_000, measure=sizer).reply
    assert 0.9 * 5_000 < sizer(fitted) <= 5_000


def test_a_heavy_envelope_is_lightened_and_kept() -> None:
    reply = Reply.ok(
        rows(3),
        citations=[Citation(title=WORDS, source_url="https://example.com")] * 30,
        extra={"trace": WORDS * 50},
        notices=[Notice(WORDS * 3, context={"n": WORDS})] * 5,
        page=Page(cursor="abc", has_more=True),
    )
    fitted, leftovers = fit(reply, 500, measure=SIZER)
    assert SIZER(fitted) <= 500
    assert fitted.page == Page(cursor="abc", has_more=True)
    assert fitted.data
    assert len(dict(leftovers)["envelope"].value()["citations"]) == 30


def test_a_failed_reply_keeps_its_code_and_its_remedy() -> None:
    reply = Reply.failed("NOT_FOUND", "No such thing. " * 200, remediation="List first.", details={"dump": WORDS * 100})
    fitted, leftovers = fit(reply, 300, measure=SIZER)
    assert SIZER(fitted) <= 300
    assert fitted.problem is not None
    assert (fitted.problem.code, fitted.problem.remediation) == ("NOT_FOUND", "List first.")
    assert dict(leftovers)["envelope"].value()["problem"]["details"] == {"dump": WORDS * 100}


def test_what_a_reply_already_lacked_is_not_forgotten() -> None:
    lacking = Fidelity("partial", ("earlier",), {"data": "sha256:" + "0" * 64, "upstream": "sha256:" + "1" * 64})
    fitted = fit(Reply.ok(rows(100), fidelity=lacking), 2_000, measure=SIZER).reply
    assert fitted.fidelity is not None
    assert "earlier" in fitted.fidelity.dropped_ids
    hashes = fitted.fidelity.archive_hashes or {}
    assert set(hashes) == {"data", "earlier-data", "upstream"}
    assert hashes["earlier-data"] == "sha256:" + "0" * 64
    kept = without_archive(fitted).fidelity
    assert kept is not None
    assert set(kept.archive_hashes or {}) == {"earlier-data", "upstream"}


def test_a_failure_keeps_its_code_at_any_budget() -> None:
    fitted = fit(Reply.failed("NOT_FOUND", "No such thing. " * 200), 5, measure=SIZER).reply
    assert fitted.problem is not None
    assert fitted.problem.code == "NOT_FOUND"


def test_a_list_that_is_left_out_whole_counts_as_dropped() -> None:
    data = {"name": "x" * 300, "first": [{"id": f"a{n}"} for n in range(30)], "second": list(range(40))}
    fitted = fit(Reply.ok(data), 260, measure=SIZER).reply
    assert fitted.fidelity is not None
    assert fitted.status == "partial"
    total = sum(len(fitted.data.get(name, ())) for name in ("first", "second"))
    assert fitted.notices[0].message == f"{70 - total} of 70 items left out"


@pytest.mark.parametrize("budget", [400, 900, 2_500])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_map_of_records_names_and_counts_the_members_that_it_lost(budget: int, wrapped: bool) -> None:
    people = {f"person-{n:03}": {"name": f"Name {n}", "text": WORDS * 3} for n in range(300)}
    data = {"people": people, "total": 300} if wrapped else people
    fitted, leftovers = fit(Reply.ok(data), budget, measure=SIZER, retrieve="retrieve")
    assert SIZER(fitted) <= budget
    shown = fitted.data.get("people", {}) if wrapped else fitted.data
    missing = [name for name in people if name not in shown]
    assert missing
    assert fitted.status == "partial"
    assert fitted.notices[0].message.startswith(f"{len(missing)} of 300 items left out")
    assert fitted.fidelity is not None
    assert list(fitted.fidelity.dropped_ids) == missing[: len(fitted.fidelity.dropped_ids)]
    if budget > 2_000:
        assert fitted.fidelity.dropped_ids
        assert dict(leftovers)["dropped_ids"].value() == missing


def test_a_record_that_lost_a_member_is_shortened_and_has_dropped_nothing() -> None:
    data = {"id": 1, "text": WORDS * 100, "by": {"name": "Ada", "note": WORDS * 100}}
    fitted = fit(Reply.ok(data), 400, measure=SIZER).reply
    assert fitted.status == "ok"
    assert fitted.notices[0].code == "CONTENT_TRUNCATED"


def test_a_declared_type_leaves_records_of_other_kinds_alone() -> None:
    parts = [{"part": n, "note": WORDS} for n in range(3)]
    data = [{"chunk_id": n, "hybrid_score": 0.5, "rank": n, "source_file": "a.md", "parts": parts} for n in range(3)]
    fitted = fit(Reply.ok({"results": data, "parts": parts * 20}), 700, measure=SIZER, kind=SEARCH_RESULT).reply
    assert all("part" in part for part in fitted.data["parts"])


def test_only_a_budget_in_tokens_says_how_many_tokens() -> None:
    fitted = fit(Reply.ok(rows(50)), 6_000, measure=Sizer(counter=Bytes())).reply
    assert fitted.telemetry is None
    assert fitted.fidelity is not None
    assert (fitted.fidelity.extra or {})["counter"] == "bytes"
