"""Dialects side by side: every body keeps its contract, every member is explained, and differences are marked."""

from __future__ import annotations

import pytest

from aerogram import dialects
from aerogram.client.reading import read
from aerogram.codes import TABLE
from aerogram.content.jsontext import value_at
from aerogram.dialects import NAMES, dialect
from aerogram.reply import Action, Citation, Fidelity, Notice, Page, Problem, QueryEcho, RateLimit, Reply, Telemetry
from aerogram_page.members import explain, members_of
from page.conftest import SEARCH

ENVELOPES = ("response-v2", "standard-v2", "knowledge-1.0")


@pytest.fixture
def compared(ask):
    return ask("dialects", source=SEARCH, mode="preview", channels="mirror")


def by_name(rows):
    return {row["name"]: row for row in rows}


def test_the_same_reply_in_every_dialect_keeps_each_contract_and_says_the_same(compared):
    said = by_name(compared["said"])
    assert list(said) == ["response-v2", "standard-v2", "knowledge-1.0", "problem"]
    heard = [dialects.read(said[name]["body"]) for name in ENVELOPES]
    for name in ENVELOPES:
        assert dialects.validate(said[name]["body"]).name == name
        assert said[name]["size"] > 0
    assert heard[0].data == heard[1].data == heard[2].data
    assert heard[0].page == heard[1].page == heard[2].page


def test_problem_details_of_a_success_are_what_the_same_call_answers_when_refused(compared):
    problem = by_name(compared["said"])["problem"]
    assert problem["is_instead"] is True
    assert problem["body"]["code"] == "TOKEN_LIMIT_EXCEEDED"
    assert problem["note"]["en"]
    assert problem["note"]["ja"]


def test_both_eras_of_the_wire_carry_the_reply_in_both_channels(compared):
    older, newer = compared["mcp"]
    assert (older["protocol_version"], newer["protocol_version"]) == ("2025-11-25", "2026-07-28")
    assert "resultType" not in older["result"]
    assert newer["result"]["resultType"] == "complete"
    for row in (older, newer):
        text, structured = row["result"]["content"][0]["text"], row["result"]["structuredContent"]
        assert dialects.parse(text) == structured
        assert row["size"]["both"] == row["size"]["content"] + row["size"]["structuredContent"]
        assert read(row["result"]).data == dialects.read(structured).data


@pytest.mark.parametrize("channels", ["summary", "compact", "text"])
def test_the_wire_follows_the_channel_policy(ask, channels):
    row = ask("dialects", source=SEARCH, mode="preview", channels=channels)["mcp"][0]
    assert ("structuredContent" in row["result"]) == (channels != "text")
    if channels == "summary":
        assert row["size"]["content"] < row["size"]["structuredContent"]


def test_every_pointer_points_into_its_body_and_every_part_is_explained_in_both_languages(compared):
    for row in compared["said"]:
        assert all(_is_there(row["body"], pointer) for pointer in row["members"])
    for row in compared["mcp"]:
        assert all(_is_there(row["result"], pointer) for pointer in row["members"])
    parts = {part for row in (*compared["said"], *compared["mcp"]) for part in row["members"].values()}
    assert parts == set(compared["explained"])
    assert all(words["en"] and words["ja"] and words["en"] != words["ja"] for words in compared["explained"].values())


def _is_there(body, pointer) -> bool:
    try:
        value_at(body, pointer)
    except LookupError:
        return False
    return True


def test_what_one_dialect_says_elsewhere_is_marked_with_the_place(compared):
    marks = compared["differs"]
    assert set(marks) == set(ENVELOPES)
    cursor = marks["response-v2"]["/meta/pagination/cursor"]
    assert cursor["kind"] == "moved"
    assert cursor["elsewhere"]["knowledge-1.0"] == ["/pagination/cursor"]
    assert cursor["elsewhere"]["standard-v2"] == ["/aerogram/page/cursor"]
    assert marks["knowledge-1.0"]["/_metadata/timestamp"] == {"kind": "only"}
    said = by_name(compared["said"])
    for name, places in marks.items():
        for mark in places.values():
            for other, pointers in mark.get("elsewhere", {}).items():
                assert other != name
                assert all(_is_there(said[other]["body"], pointer) for pointer in pointers)


@pytest.mark.parametrize("code", ["RATE_LIMIT_EXCEEDED", "CONFLICT", "LICENSE_GATE_BLOCKED"])
def test_a_failure_is_the_same_failure_in_every_dialect(ask, code):
    told = ask("dialects", source={"failure": code})
    for row in told["said"]:
        assert row["is_instead"] is False
        problem = dialects.read(row["body"]).problem
        assert (problem.code, problem.status) == (code, TABLE[code].status)
    for row in told["mcp"]:
        assert row["result"]["isError"] is True
        assert row["members"]["/isError"] == "mcp.error"


def test_a_budget_holds_for_every_dialect(ask):
    told = ask("dialects", source=SEARCH, mode="full", budget=900)
    assert all(row["size"] <= 900 for row in told["said"])


EVERYTHING = {
    "notices": (Notice("careful", "STALE_CACHE", "warning", "Ask again", {"age": 3}),),
    "rate_limit": RateLimit(10, 3, 1_800_000_000, 2.0),
    "telemetry": Telemetry(3.0, True, 10, 11, 1),
    "fidelity": Fidelity("partial", ("7",), {"data": "sha256:" + "0" * 64}),
    "request_id": "req_1",
    "operation": "search",
    "timestamp": "2026-11-15T10:00:00Z",
    "client_tag": "mine",
}
SUCCESS = Reply.ok(
    [{"id": 1}],
    page=Page("c", True, 40, 10),
    citations=(Citation("a", "https://a.test", "p", "t", "now", "sha256:1", "CC0", ("/results/0",), "verified"),),
    actions=(Action(tool="more", args={"id": 1}), Action(endpoint="/more", args={})),
    query_echo=QueryEcho({"q": "a"}, {"b": 1}, ("c",)),
    retry_with={"q": "b"},
    message="fine",
    **EVERYTHING,
)
FAILURE = Reply.failed(
    Problem(
        "RATE_LIMIT_EXCEEDED",
        "too fast",
        user_message="Please wait",
        remediation="Wait",
        details={"errors": [{"detail": "x", "pointer": "/a"}], "more": 1},
        retry_after=3,
        documentation="https://a.test/docs",
    ),
    **EVERYTHING,
)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bare"])
def test_every_member_that_a_contract_names_has_words(name):
    spoken = dialect(name)
    for reply in (FAILURE,) if name == "problem" else (SUCCESS, FAILURE):
        body = spoken.encode(spoken.complete(reply))
        members = members_of(body, name)
        unexplained = [
            pointer
            for pointer in _envelope(body)
            if pointer not in members and not _is_inside_a_value(pointer, members)
        ]
        assert unexplained == []
        assert all(words["en"] and words["ja"] for words in explain(members).values())


def _envelope(value, pointer=""):
    """Every place of a body."""
    if isinstance(value, dict):
        for name, inner in value.items():
            place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            yield place
            yield from _envelope(inner, place)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield f"{pointer}/{number}"
            yield from _envelope(inner, f"{pointer}/{number}")


FREE = {"context", "args", "details", "normalized_input", "applied_filters", "retry_with", "archive_hashes", "extra"}
FREE |= {"content_archive_hashes", "results", "data", "items"}


def _is_inside_a_value(pointer, members) -> bool:
    """Whether a place is inside of something that its server fills as it likes; the whole is explained."""
    steps = pointer.split("/")[1:]
    return any(step in FREE or step.isdecimal() for step in steps[:-1]) or steps[-1].isdecimal()
