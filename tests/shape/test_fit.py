"""Fitting: what a fitted reply shows, what it says about the rest, and what it does with odd input."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from aerogram.channels import Payload, Sizer
from aerogram.cursor import Cursors
from aerogram.errors import ValidationFailed
from aerogram.reply import WAY_ON, Citation, Notice, Page, Reply, Telemetry
from aerogram.shape.fit import Fitted, fit, without_archive
from aerogram.shape.modes import RecordType
from aerogram.shape.pages import Pager, take
from aerogram.shape.records import SEARCH_RESULT
from aerogram.tokens import Bytes, Characters, Estimate

SIZER = Sizer()
WORDS = "A sentence about the market and its quarterly figures. "
FACTS = {"created_at", "id", "number", "title", "state", "user", "labels", "comments"}


def rows(count: int, sentences: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": f"row-{n:03}", "title": f"Title {n}", "score": n / 7, "text": WORDS * sentences} for n in range(count)
    ]


def issues(count: int = 300) -> list[dict[str, Any]]:
    """Issues as a tracker has them."""
    chance = random.Random(7)
    return [
        {
            "id": 2_200_000_000 + number * 7_919,
            "number": 4_000 - number,
            "title": f"Cursors of page {number} expire",
            "state": chance.choice(["open", "closed"]),
            "locked": False,
            "user": {"login": chance.choice(["ada", "grace", "kt"]), "id": number, "url": "https://example.org/u"},
            "labels": [{"name": "bug", "color": "f00"}][: number % 2],
            "comments": chance.randrange(40),
            "created_at": f"2026-01-{number % 28 + 1:02}T10:00:00Z",
            "url": f"https://example.org/{number}",
            "body": WORDS * 10,
        }
        for number in range(count)
    ]


def fitted_rows(data: Any, budget: int, **how: Any) -> Fitted:
    found = fit(Reply.ok(data), budget, measure=SIZER, retrieve="retrieve", **how)
    assert found.reply.problem is None
    assert SIZER(found.reply) <= budget
    return found


# Rows


def test_a_listing_shows_the_facts_of_as_many_rows_as_fit() -> None:
    data = issues()
    fitted, leftovers, _ = fitted_rows(data, 2_000)
    assert [row["number"] for row in fitted.data] == [row["number"] for row in data[: len(fitted.data)]]
    assert 30 < len(fitted.data) < 60
    assert all(row["title"] and row["state"] and row.keys() <= FACTS for row in fitted.data)
    assert fitted.data[0]["user"].keys() == {"login"}
    assert (fitted.status, fitted.fidelity and fitted.fidelity.level) == ("partial", "summary")
    assert dict(leftovers)["data"].value() == data


def test_what_is_missing_is_counted_and_outlined_and_the_call_brings_it_back() -> None:
    data = issues()
    fitted, leftovers, _ = fitted_rows(data, 2_000)
    (content,) = (one.content for one in leftovers)
    shown, short = len(fitted.data), content.hash.removeprefix("sha256:")[:12]
    lacks = "with user in part, without body, url, labels, locked"
    told = f"{shown} of 300 shown, {lacks}; whole: retrieve(hash='{short}'); end: offset=-"
    assert re.fullmatch(re.escape(told) + r"\d+", fitted.notices[-1].message)
    assert dict((fitted.fidelity and fitted.fidelity.archive_hashes) or {}) == {"data": f"sha256:{short}"}
    told = (fitted.extra or {})["left_out"]
    missing = data[shown:]
    assert told["state"] == {name: sum(row["state"] == name for row in missing) for name in told["state"]}
    assert told["number"] == [missing[-1]["number"], missing[0]["number"]]
    assert told["created_at"] == [min(row["created_at"] for row in missing), max(row["created_at"] for row in missing)]


@pytest.mark.parametrize("header", [["order", "state", "items"], None])
def test_rows_of_cells_stay_whole_and_their_columns_are_outlined(header: list[str] | None) -> None:
    cells = [[f"A-{number}", "open" if number % 3 else "sent", number % 7] for number in range(500)]
    data = [header, *cells] if header else cells
    fitted = fitted_rows(data, 800).reply
    shown = len(fitted.data)
    assert fitted.data == data[:shown]
    assert shown < 100
    _, state, items = header or ("", "column 2", "column 3")
    missing = data[shown:]
    told = (fitted.extra or {})["left_out"]
    assert told[state] == {name: sum(row[1] == name for row in missing) for name in ("open", "sent")}
    assert told[items] == {str(number): sum(row[2] == number for row in missing) for number in range(7)}


def test_no_room_is_kept_for_an_outline_where_there_is_nothing_to_tell() -> None:
    data = [[f"name {number}", f"version {number}"] for number in range(500)]
    fitted = fitted_rows(data, 800).reply
    assert "left_out" not in (fitted.extra or {})
    assert Sizer()(fitted) > 780


def test_a_title_that_begins_with_a_link_or_is_one_is_a_title() -> None:
    """An address alone is no fact, unless something is called so; words that begin with one are."""
    titles = ["https://example.com is down", "Cursors expire", "https://example.com/status"]
    data = [
        {"id": n, "title": titles[n % 3], "home": "https://example.com/", "body": "words " * 200} for n in range(60)
    ]
    shown = fitted_rows(data, 400).reply.data
    assert shown[:3] == [{"id": number, "title": title} for number, title in enumerate(titles)]
    assert not any("home" in row for row in shown)


def test_where_the_facts_of_all_rows_fit_the_first_become_whole() -> None:
    data = issues(40)
    fitted = fitted_rows(data, 3_500).reply
    whole = [row == original for row, original in zip(fitted.data, data, strict=True)]
    assert whole == sorted(whole, reverse=True)
    assert 3 < sum(whole) < 37
    assert "left_out" not in (fitted.extra or {})
    assert fitted.status == "partial"


def call_of(message: str) -> dict[str, Any]:
    """The arguments of the call that a message names."""
    arguments: dict[str, Any] = eval(message.partition("retrieve(")[2].partition(")")[0].join(("dict(", ")")))
    return arguments


@pytest.mark.parametrize("in_object", [False, True])
def test_a_few_large_rows_share_the_room_that_their_facts_leave(in_object: bool) -> None:
    pages = [{"url": f"https://example.org/{n}", "title": f"Page {n}", "content": WORDS * 600} for n in range(3)]
    fitted = fitted_rows({"query": "q", "hits": pages} if in_object else pages, 4_000).reply
    shown = fitted.data["hits"] if in_object else fitted.data
    assert SIZER(fitted) > 3_800
    assert [(one["url"], one["title"]) for one in shown] == [(one["url"], one["title"]) for one in pages]
    assert all(one["content"].startswith(WORDS * 12) for one in shown)
    call = call_of(fitted.notices[-1].message)
    assert call["path"] == ("/hits/0/content" if in_object else "/0/content")
    beginning = shown[0]["content"].partition("…")[0]
    assert beginning + pages[0]["content"][call["offset"] :] == pages[0]["content"]
    assert fitted.notices[-1].message.endswith(", the others likewise")


def test_short_members_come_before_the_beginnings_of_long_ones_and_those_before_nothing() -> None:
    data = [{**one, "body": WORDS * 200} for one in issues(20)]
    fitted = fitted_rows(data, 2_500).reply
    assert all("url" in row for row in fitted.data)
    shares = sum("body" in row for row in fitted.data)
    assert ["body" in row for row in fitted.data] == [True] * shares + [False] * (20 - shares)
    assert 2 < shares < 20
    assert " with body in part" in fitted.notices[-1].message


def test_lists_in_rows_share_the_room_and_a_short_one_is_whole() -> None:
    rows = [{"id": n, "text": WORDS} for n in range(400)]
    data = {"reports": [{"name": "a", "rows": rows}, {"name": "b", "rows": rows[:1]}]}
    fitted = fitted_rows(data, 1_000).reply
    first, second = fitted.data["reports"]
    count = len(first["rows"])
    assert (first["rows"], second) == (rows[:count], data["reports"][1])
    assert SIZER(fitted) > 900
    message = fitted.notices[-1].message
    assert f"with {count} of 400 0/rows; more: " in message
    assert (call_of(message)["path"], call_of(message)["offset"]) == ("/reports/0/rows", count)


def test_a_member_that_only_some_rows_lack_is_there_in_part() -> None:
    many, one = [{"id": n, "text": "A line."} for n in range(400)], [{"id": 1, "text": "A line."}]
    data = [{"name": f"report {n}", "rows": one if n % 2 else many} for n in range(12)]
    fitted = fitted_rows(data, 200, facts=["name", "rows"]).reply
    assert ["rows" in row for row in fitted.data] == [n % 2 == 1 for n in range(len(fitted.data))]
    assert " with rows in part; whole: " in fitted.notices[-1].message


def test_the_row_after_the_whole_ones_begins_where_it_is_most_of_the_data() -> None:
    table = {"rows": [{"id": n, "name": f"n{n}", "text": WORDS} for n in range(400)]}
    fitted = fitted_rows(["A summary of what was found.", table], 2_000).reply
    count = len(fitted.data[1]["rows"])
    assert fitted.data == ["A summary of what was found.", {"rows": table["rows"][:count]}]
    assert SIZER(fitted) > 1_900
    message = fitted.notices[-1].message
    assert message.startswith(f"2 of 2 shown, the last 1 with {count} of 400 rows; more: ")
    assert (call_of(message)["path"], call_of(message)["offset"]) == ("/1/rows", count)


@pytest.mark.parametrize("first", [WORDS * 300, {"title": "Notes"}])
def test_long_texts_among_rows_share_the_room(first: Any) -> None:
    texts = [f"File {n}. {WORDS * 300}" for n in range(2)]
    fitted = fitted_rows([first, *texts], 2_000).reply
    assert SIZER(fitted) > 1_750
    assert all(shown.startswith(f"File {n}. {WORDS * 12}") for n, shown in enumerate(fitted.data[1:]))


def test_an_item_of_a_list_that_is_larger_than_all_before_it_is_cut_as_well() -> None:
    messages = [
        {"from": "ada", "text": "Hello."},
        {"from": "grace", "text": WORDS * 500},
        {"from": "ada", "text": "Oh."},
    ]
    fitted = fitted_rows([{"channel": one, "messages": messages} for one in ("general", "random")], 1_000).reply
    assert SIZER(fitted) > 900
    assert [len(one["messages"]) for one in fitted.data] == [2, 2]


def test_rows_that_their_facts_say_nearly_all_of_are_shown_whole() -> None:
    data = [{"name": f"package-{n}", "version": f"1.{n}.0"} for n in range(400)]
    fitted = fitted_rows(data, 1_000).reply
    assert fitted.data == data[: len(fitted.data)]
    assert f", offset={len(fitted.data)}); end: offset=-" in fitted.notices[-1].message


def test_what_no_row_shows_is_outlined_over_all_rows() -> None:
    days = [f"2026-{1 + n // 28:02}-{1 + n % 28:02}" for n in range(100)]
    data = [{"id": n, "placed": day, "due": day, "lines": [{"sku": "a"}] * 9} for n, day in enumerate(days)]
    fitted = fitted_rows(data, 600, facts=["id", "due"]).reply
    told = fitted.extra["left_out"] if fitted.extra else {}
    assert (told["placed"], told["due"]) == ([days[0], days[-1]], [days[len(fitted.data)], days[-1]])


def test_rows_of_cells_are_whole() -> None:
    data = [[n, f"name {n}", n * 3.5] for n in range(500)]
    assert fitted_rows(data, 600).reply.data == data[: len(fitted_rows(data, 600).reply.data)]


def test_of_ranked_rows_the_best_are_whole_and_the_next_follow_in_less_detail() -> None:
    data, mixed = issues(), 0
    for budget in range(700, 1_400, 100):
        fitted = fitted_rows(data, budget, ranked=True).reply
        whole = [row == original for row, original in zip(fitted.data, data, strict=False)]
        assert whole == sorted(whole, reverse=True)
        assert sum(whole) > 0
        mixed += sum(whole) < len(whole)
    assert mixed > 2


def test_the_best_ranked_row_that_is_not_whole_has_as_much_of_its_text_as_fits() -> None:
    chunk = {"chunk_id": 0, "hybrid_score": 0.5, "rank": 1, "source_file": "a.md", "chunk_text": WORDS * 20}
    data = [{**chunk, "chunk_id": n, "rank": n + 1} for n in range(25)]
    lengthened = set()
    for budget in range(500, 1_500, 50):
        fitted = fitted_rows(data, budget, kind=SEARCH_RESULT, ranked=True).reply
        *before, last = [row for row in fitted.data if "chunk_text" in row]
        assert before == data[: len(before)]
        if last["chunk_text"] != data[0]["chunk_text"]:
            beginning, mark, _ = last["chunk_text"].partition("… [+")
            assert mark and data[0]["chunk_text"].startswith(beginning) and len(beginning) > 200
            assert last.keys() == chunk.keys()
            assert "in less detail; whole: retrieve(" in fitted.notices[-1].message
            lengthened.add(len(beginning))
    assert len(lengthened) > 2


def test_rows_that_are_promised_whole_stay_whole() -> None:
    data = issues()
    fitted = fitted_rows(data, 2_000, whole_rows=True).reply
    assert len(fitted.data) > 3
    assert fitted.data == data[: len(fitted.data)]


@pytest.mark.parametrize("whole_rows", [False, True])
def test_where_not_even_one_row_fits_the_first_has_its_longest_text_cut(whole_rows: bool) -> None:
    data = [{"id": f"row-{n}", "path": "a/b.md", "text": WORDS * 5_000} for n in range(3)]
    fitted, leftovers, _ = fitted_rows(data, 600, whole_rows=whole_rows, facts=("id", "path", "text") * whole_rows)
    if whole_rows:
        (row,) = fitted.data
        assert (row["id"], row["path"]) == ("row-0", "a/b.md")
        assert row["text"].endswith(" chars]")
        assert len(row["text"]) > 1_000
    assert dict(leftovers)["data"].value() == data


def test_declared_records_are_shown_in_their_modes_and_never_by_identifiers_alone() -> None:
    chunk = {"chunk_id": 0, "hybrid_score": 0.5, "rank": 1, "source_file": "a.md", "chunk_text": WORDS * 30}
    data = [{**chunk, "chunk_id": n, "rank": n + 1} for n in range(25)]
    fitted = fitted_rows(data, 1_500, kind=SEARCH_RESULT, ranked=True).reply
    allowed = [set(chunk), set(SEARCH_RESULT.show(chunk, "preview"))]
    assert all(set(row) in allowed for row in fitted.data)
    listed = RecordType(["id"], ["id", "title"], ["id", "title", "score"])
    fitted = fitted_rows(rows(100), 900, kind=listed).reply
    assert {tuple(row) for row in fitted.data} == {("id", "title")}


def test_the_columns_of_facts_can_be_declared() -> None:
    fitted = fitted_rows(issues(), 1_000, facts=["number", "created_at"]).reply
    assert {tuple(row) for row in fitted.data} == {("number", "created_at")}


def test_columns_are_the_same_on_each_page_of_a_walk() -> None:
    """A page whose own rows would have suggested others."""
    data = [{**row, "state": "open"} if number >= 20 else row for number, row in enumerate(issues(60))]
    resume = cursor_after(0)
    first, later = (fitted_rows(part, 900, among=data, resume=resume).reply for part in (data[:20], data[20:]))
    assert {"state"} <= set(first.data[0]) & set(later.data[0])


def test_rows_in_an_object_are_rows_where_they_are_the_bulk_of_it() -> None:
    data = {"total": 300, "issues": issues()}
    fitted = fitted_rows(data, 1_500).reply
    assert fitted.data["total"] == 300
    assert len(fitted.data["issues"]) > 15
    assert fitted.data["issues"][0]["title"]


# One record, one text


def test_a_record_keeps_every_member_and_the_account_names_what_is_cut() -> None:
    """Nothing stands in for what is missing: a program would take it for data."""
    data = {
        "name": "a-package",
        "scripts": {f"script-{n}": "run something" for n in range(60)},
        "files": [f"dist/{n}.js" for n in range(100)],
        "readme": WORDS * 400,
        "private": True,
    }
    fitted = fitted_rows(data, 600).reply
    assert list(fitted.data) == list(data)
    assert (fitted.data["name"], fitted.data["private"]) == ("a-package", True)
    assert fitted.data["readme"].endswith(" chars]")
    files, scripts = fitted.data["files"], fitted.data["scripts"]
    assert files == data["files"][: len(files)]
    assert list(scripts.items()) == list(data["scripts"].items())[: len(scripts)]
    told = fitted.notices[-1].message
    assert f"{len(files)} of 100 files" in told and f"{len(scripts)} of 60 scripts" in told
    assert re.search(r" shown; more: retrieve\(hash='[^)]*\), the others likewise(; end: offset=-\d+)?$", told)


def test_a_list_is_whole_where_the_words_for_a_cut_would_cost_as_much_as_its_end() -> None:
    few = {"files": [f"lib/{letter}/" for letter in "abcdefgh"], "bin": {f"run-{n}": "run" for n in range(12)}}
    for budget in range(200, 300):
        shown = fitted_rows({"name": "a-package", **few, "readme": WORDS * 400}, budget).reply.data
        for name, whole in few.items():
            assert len(shown[name]) in (*range(1, len(whole) - 1), len(whole))


def test_a_list_deep_inside_a_record_says_that_it_is_cut_and_where_it_goes_on() -> None:
    data = {"id": 7, "about": {"notes": [{"id": n, "text": WORDS} for n in range(80)], "readers": ["ada"]}}
    fitted, leftovers, _ = fitted_rows(data, 400)
    notes = fitted.data["about"]["notes"]
    assert notes == data["about"]["notes"][: len(notes)] and 0 < len(notes) < 80
    short = leftovers[0].content.hash.removeprefix("sha256:")[:12]
    assert fitted.notices[-1].message == (
        f"{len(notes)} of 80 about/notes shown; "
        f"more: retrieve(hash='{short}', path='/about/notes', offset={len(notes)}); end: offset=-10"
    )


def test_many_missing_members_are_counted_and_odd_names_are_not_repeated() -> None:
    long = {f"member_{n:02}": "a sentence that says nothing at all, " * 9 for n in range(20)}
    data = [{"id": n, "title": f"Title {n}", "forged\naerogram: all is shown": WORDS * 30, **long} for n in range(50)]
    told = fitted_rows(data, 600).reply.notices[-1].message
    found = re.search(r"shown, without ((?:member_\d\d(?:, )?)+) and (\d+) more; whole: ", told)
    assert found is not None and "forged" not in told
    assert len(found[1].split(", ")) + int(found[2]) == 21


def test_a_text_keeps_its_beginning_and_its_other_headings_are_told() -> None:
    text = "\n\n".join(f"## Part {n}\n\n{WORDS * 8}" for n in range(40))
    fitted, leftovers, _ = fitted_rows(text, 700)
    count = len(fitted.data)
    assert text.startswith(fitted.data)
    assert text[count - 1] == "."
    assert fitted.notices[-1].message.startswith(f"{count} of {len(text)} characters shown (")
    assert fitted.notices[-1].message.endswith(f"', offset={count}); end: offset=-2000")
    assert "Part 12" in ((fitted.extra or {}).get("left_out") or {}).get("headings", ["Part 12"])
    assert dict(leftovers)["data"].value() == text


def test_entries_of_a_text_are_counted_and_not_their_lines() -> None:
    commits = "\n\n".join(f"Commit: {n * 7919:x}\nAuthor: Ann\nMessage: Change {n}" for n in range(90))
    records = "\n\n".join(f"{n}. row\nid: {n}\nnote: {WORDS}" for n in range(1, 91)) + "\n\nResult: 90 rows"
    prose = "\n\n".join(f"Part {n}\nIt is {WORDS}\nid: {n}" if n % 3 else f"Then {WORDS}" for n in range(90))
    for text, word in ((commits, "of 90 entries"), (records, "of 90 entries"), (prose, "lines)")):
        fitted, _, _ = fitted_rows(text, 400)
        assert word in fitted.notices[-1].message
    shown = fitted_rows(commits, 400)[0]
    assert f"({shown.data.count('Commit: ')} of 90 entries)" in shown.notices[-1].message


def test_a_log_of_commits_ends_with_a_whole_one_though_its_messages_are_set_apart() -> None:
    merges = ("Merge: a b\n", "", "")
    heads = (f"commit {n * 7919:040x}\n{merges[n % 3]}Author: Ann\nDate: {n}" for n in range(120))
    log = "\n\n".join(f"{head}\n\n    Change it\n    \n    {WORDS}" for head in heads)
    for budget in range(300, 1_200, 50):
        fitted, _, _ = fitted_rows(log, budget)
        count = fitted.data.count("Author: ")
        assert f"({count} of 120 entries)" in fitted.notices[-1].message
        assert log[len(fitted.data) :].lstrip().startswith("commit ")


def test_a_range_of_numbers_is_told_beside_something_else_alone() -> None:
    rows = [{"id": n, "total": n * 1.25, "note": f"{n} {WORDS}"} for n in range(300)]
    fitted, _, _ = fitted_rows(rows, 700)
    assert "left_out" not in (fitted.extra or {})
    few = [{**row, "place": row["id"] + 1} for row in rows[:12]]
    fitted, _, _ = fitted_rows(few, 300)
    assert "left_out" not in (fitted.extra or {})
    states = [{**row, "state": "open" if row["id"] % 3 else "done"} for row in rows]
    fitted, _, _ = fitted_rows(states, 700)
    assert list((fitted.extra or {})["left_out"]) == ["state", "total"]


# What is said where nothing can be kept


def codes(reply: Reply[Any]) -> list[str | None]:
    return [notice.code for notice in reply.notices]


def test_a_reply_that_fits_is_the_same_object_and_leaves_nothing() -> None:
    reply = Reply.ok(rows(3))
    assert fit(reply, 8_000, measure=SIZER) == Fitted(reply)
    assert fit(reply, 8_000, measure=SIZER).reply is reply


def test_without_an_archive_nothing_is_promised() -> None:
    fitted, leftovers, _ = fit(Reply.ok(rows(300)), 1_500, measure=SIZER, archive=False, retrieve="retrieve")
    assert leftovers == ()
    assert fitted.fidelity is not None
    assert fitted.fidelity.archive_hashes is None
    assert fitted.notices[-1].message.endswith("; the rest was not kept")


@pytest.mark.parametrize("budget", [300, 1_500, 6_000])
def test_when_the_archive_fails_the_reply_still_fits_and_is_honest(budget: int) -> None:
    own = Notice.of("PARTIAL_RESULTS", "3 of 5 sources failed: try again", suggestion="Ask again at noon")
    fitted, leftovers, _ = fit(Reply.ok(rows(300), notices=(own,)), budget, measure=SIZER, retrieve="retrieve")
    honest = without_archive(fitted, leftovers)
    assert SIZER(honest) <= budget
    assert honest.fidelity is not None
    assert honest.fidelity.archive_hashes is None
    assert honest.notices[0] == fitted.notices[0]
    assert honest.notices[-1].message.endswith("; the rest was not kept")
    assert "retrieve" not in str(honest)


def test_the_advertised_schema_stays_satisfied() -> None:
    part = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}
    members = {
        "id": {"type": "string"},
        "state": {"type": "string", "enum": ["a-state-with-a-long-name", "other"]},
        "text": {"type": "string"},
        "parts": {"type": "array", "minItems": 2, "items": part},
    }
    schema = {"type": "object", "required": list(members), "properties": members, "additionalProperties": False}
    item = {"id": "x", "state": "other", "text": WORDS * 90, "parts": [{"size": 3, "note": WORDS}] * 60}
    fitted = fit(Reply.ok(item), 500, measure=SIZER, schema=schema).reply
    assert fitted.problem is None
    jsonschema_rs.validate(schema, fitted.data)


def test_what_fits_nowhere_is_refused_with_a_budget_that_works() -> None:
    fitted, leftovers, _ = fit(Reply.ok(rows(10)), 20, measure=SIZER)
    assert leftovers == ()
    assert fitted.problem is not None
    assert fitted.problem.message.endswith("limit is 20")
    needed = int(str(fitted.problem.remediation).split()[-2])
    assert fit(Reply.ok(rows(10)), needed, measure=SIZER).reply.problem is None


def test_a_million_items_fit() -> None:
    states = [{"title": "An issue", "state": state, "body": WORDS * 5} for state in ("open", "closed")]
    data = [{"id": number, **states[number % 2]} for number in range(1_000_000)]
    fitted, leftovers, _ = fit(Reply.ok(data), 1_000, measure=SIZER)
    assert SIZER(fitted) <= 1_000
    assert fitted.notices[-1].message.startswith(f"{len(fitted.data)} of 1000000 shown")
    assert (fitted.extra or {})["left_out"]["estimate"] is True
    assert len(leftovers) == 1


def test_a_failed_reply_keeps_its_code_and_its_remedy() -> None:
    reply = Reply.failed("NOT_FOUND", "No such thing. " * 200, remediation="List first.", details={"dump": WORDS * 100})
    fitted = fit(reply, 300, measure=SIZER).reply
    assert SIZER(fitted) <= 300
    assert fitted.problem is not None
    assert (fitted.problem.code, fitted.problem.remediation) == ("NOT_FOUND", "List first.")


def test_a_reply_that_nearly_fills_the_budget_says_so() -> None:
    reply = Reply.ok(rows(3))
    fitted = fit(reply, int(SIZER(reply) * 1.1), measure=SIZER).reply
    assert codes(fitted) == ["TOKEN_LIMIT_WARNING"]
    assert fitted.data is reply.data


def test_a_page_that_is_too_large_goes_on_at_the_next_cursor() -> None:
    """Whole items, a cursor after the last of them, and nothing that was lost."""
    data = rows(40)
    pager = Pager(Cursors(), "list", mode="full")
    seen: list[Any] = []
    cursor = None
    while cursor is not None or not seen:
        window = pager.window(cursor, 20)
        paged = pager.page(take(data, window), window, total=40)
        fitted, leftovers, _ = fit(paged.reply, 1_200, measure=SIZER, resume=paged.resume, whole_rows=True)
        assert fitted.page is not None
        assert leftovers == ()
        assert (fitted.status == "partial") is (len(fitted.data) < min(20, 40 - len(seen)))
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
        fitted, leftovers, _ = fit(rest, 800, measure=SIZER, resume=cursor_after(len(seen)))
        assert leftovers == ()
        seen += fitted.data
        if fitted.page is not None:
            assert fitted.page.cursor == f"c{len(seen)}"
    assert seen == text


@pytest.mark.parametrize("line", ["Line {}. \r\n ", "Item {}:\r\n  \r\n ", "x {}\r\n\r\n "])
def test_a_page_of_a_text_is_within_its_budget_where_less_of_it_has_more_tokens(line: str) -> None:
    text, sizer = "".join(map(line.format, range(600))), Sizer("bare", payload=Payload())
    page = Page(has_more=False, total=len(text), extra={WAY_ON: ["retrieve(hash='83bb535d4324', as_text=True", 0]})
    for budget in range(100, 400, 7):
        fitted = fit(Reply.ok(text, page=page), budget, measure=sizer, resume=cursor_after(0)).reply
        assert sizer(fitted) <= budget


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


@pytest.mark.parametrize("budget", [0, -5, True, 2.5, None, "8000"])
def test_a_budget_that_is_none_is_refused(budget: Any) -> None:
    with pytest.raises(ValidationFailed):
        fit(Reply.ok([]), budget, measure=SIZER)


def test_an_absurdly_large_budget_changes_nothing() -> None:
    reply = Reply.ok(rows(5))
    assert fit(reply, 10**30, measure=SIZER).reply is reply


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
    fitted, leftovers, _ = fit(Reply.ok(data), budget, measure=SIZER)
    assert SIZER(fitted) <= budget
    assert fitted.problem is None
    assert dict(leftovers)["data"].value() == data


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
    fitted, leftovers, _ = fit(reply, 500, measure=SIZER)
    assert SIZER(fitted) <= 500
    assert fitted.page == Page(cursor="abc", has_more=True)
    assert fitted.data
    left = 30 - len(fitted.citations)  # what has no room beside the rows is counted, and not kept
    assert left > 20 and fitted.notices[0].message == f"{left} of 30 citations left out"
    assert dict(leftovers)["envelope"].value()["extra"] == {"trace": WORDS * 50}


def test_a_failure_keeps_its_code_at_any_budget() -> None:
    fitted = fit(Reply.failed("NOT_FOUND", "No such thing. " * 200), 5, measure=SIZER).reply
    assert fitted.problem is not None
    assert fitted.problem.code == "NOT_FOUND"


def tree_of(depth: int, width: int) -> dict[str, Any]:
    branches = {f"branch-{n}": tree_of(depth - 1, width) for n in range(width)} if depth else {}
    return {"version": f"{depth}.0", "text": WORDS, **branches}


@pytest.mark.parametrize(("depth", "width"), [(9, 2), (4, 5), (180, 1)])
def test_a_tree_is_shown_from_its_root_and_loses_its_deepest_branches(depth: int, width: int) -> None:
    whole = {"name": "app", "tree": tree_of(depth, width)}
    fitted, leftovers, _ = fit(Reply.ok(whole), 1_000, measure=SIZER, retrieve="retrieve")
    assert fitted.problem is None and 600 < SIZER(fitted) <= 1_000
    shown = fitted.data["tree"]
    assert shown["version"] == f"{depth}.0" and shown["branch-0"]["version"] == f"{depth - 1}.0"
    assert leftovers[0].content.value() == whole
    assert re.search(r"retrieve\(hash='\w+', path='/tree/branch", fitted.notices[-1].message)


def letters(first: int, count: int, seed: int = 1) -> str:
    chance = random.Random(seed)
    return "".join(chr(chance.randrange(first, first + 40)) for _ in range(count))


DEAR = {"Tibetan": letters(0xF40, 3_000), "Chinese": letters(0x4E00, 3_000), "control": letters(0, 3_000)}


@pytest.mark.parametrize("text", DEAR.values(), ids=DEAR)
def test_a_text_whose_characters_cost_a_token_or_more_is_shown_at_every_budget(text: str) -> None:
    """One character too many is not a reason to show none."""
    replies = [fit(Reply.ok(text), budget, measure=SIZER).reply for budget in range(400, 800, 7)]
    assert [reply.problem for reply in replies] == [None] * len(replies)


def test_a_record_whose_cuts_are_far_apart_is_shown_by_the_smallest_of_them() -> None:
    nested = {name: letters(0x4E00, 2_000, seed) for seed, name in enumerate("abcdef")}
    record = {"first": nested, "second": {"inner": dict(nested)}, "name": "n", "size": 7}
    budgets = range(300, 1_200, 7)
    is_shown = [fit(Reply.ok(record), budget, measure=SIZER).reply.problem is None for budget in budgets]
    assert is_shown == sorted(is_shown)
    assert any(is_shown)


def test_a_row_with_more_members_than_fit_is_shown_by_its_facts() -> None:
    members = {f"member{number}": "some words" for number in range(1_000)}
    found = fitted_rows([{"id": 7, "title": "A title", **members}], 1_000).reply
    assert found.data[0].items() >= {"id": 7, "title": "A title"}.items()
    assert found.fidelity is not None and found.fidelity.level == "summary"


WIDE = {
    "one row of many members": [{f"member{number}": "some words" for number in range(3_000)}],
    "rows of other members each": [{f"m{row}_{number}": "word" for number in range(20)} for row in range(1_000)],
}


@pytest.mark.parametrize("data", WIDE.values(), ids=WIDE)
def test_very_many_members_are_not_looked_at_again_and_again(data: Any) -> None:
    """Everybody else on the event loop waits meanwhile."""
    calls = 0

    def note(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(note)
    try:
        fit(Reply.ok(data), 1_000, measure=SIZER, retrieve="retrieve")
    finally:
        sys.setprofile(None)
    assert calls < 1_000_000


def test_many_rows_of_very_many_members_are_not_looked_at_again_in_each_budget_that_is_tried() -> None:
    """Where not even one row fits, the budget is searched for in which one does."""
    data = [{f"member {at}": at for at in range(800)} for _ in range(20)]
    calls = 0

    def note(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(note)
    try:
        fitted = fit(Reply.ok(data), 800, measure=SIZER, retrieve="retrieve")
    finally:
        sys.setprofile(None)
    assert fitted.reply.problem is not None and calls < 1_000_000


def test_what_is_refused_costs_nothing() -> None:
    """Neither in the envelope nor beside it."""
    refused = fit(Reply.ok(rows(9)).replace(telemetry=Telemetry(4.0, billable_units=1)), 1, measure=SIZER).reply
    assert refused.problem is not None and refused.telemetry == Telemetry(4.0, billable_units=0)


class _Listening(Estimate):
    """A counter that knows how many characters it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "heard", [])

    def count(self, text: str) -> int:
        self.heard.append(len(text))  # type: ignore[attr-defined]
        return super().count(text)


@pytest.mark.parametrize("budget", [1, 300, 8_000])
@pytest.mark.parametrize("around", [lambda one: one, lambda one: [one], lambda one: {"entities": [one]}])
def test_a_member_of_megabytes_is_not_counted_again_and_again(around: Callable[[Any], Any], budget: int) -> None:
    """Whether there is room for it or not, and for which budget there would be."""
    data, counter = around({"name": "Delta Foods", "type": "COMPANY", "words": WORDS * 80_000}), _Listening()
    fit(Reply.ok(data), budget, measure=Sizer(counter=counter), retrieve="retrieve")
    assert sum(counter.heard) < len(WORDS) * 80_000  # type: ignore[attr-defined]


def find_emptied(whole: Any, shown: Any, place: str = "") -> list[str]:
    if isinstance(whole, list) and isinstance(shown, list):
        pairs = [(str(at), one, other) for at, (one, other) in enumerate(zip(whole, shown, strict=False))]
    elif isinstance(whole, dict) and isinstance(shown, dict):
        pairs = [(name, whole[name], shown[name]) for name in shown]
    else:
        return []
    emptied = [place] if whole and not shown else []
    return emptied + [found for name, one, other in pairs for found in find_emptied(one, other, f"{place}/{name}")]


def test_what_has_members_is_never_shown_as_if_it_had_none() -> None:
    """An empty object among the data would say that there are no scripts."""
    package = {
        "name": "tool",
        "scripts": {f"run:{number}": f"node scripts/run-{number}.js --with-all-checks" for number in range(17)},
        "dependencies": {f"@scope/library-{number}": f"^{number}.0.0" for number in range(65)},
        "exports": {"./deep": {"inner": {f"way-{number}": f"./lib/way-{number}.js" for number in range(30)}}},
        "none": {},
        "keywords": [f"keyword {number}" for number in range(40)],
    }
    budgets = range(60, 900, 10)
    replies = [fit(Reply.ok(package), budget, measure=Sizer("bare", "text")).reply for budget in budgets]
    shown = [reply.data for reply in replies if reply.problem is None]
    assert len(shown) > 70
    assert not any(find_emptied(package, one) for one in shown)
    assert any(one.get("none") == {} for one in shown)
