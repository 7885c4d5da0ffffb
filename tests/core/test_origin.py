"""Translated to another dialect and back, a body is the same body, whoever has written it."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerogram import Reply, dialect, translate, validate
from aerogram.dialects import read, recognise
from aerogram.errors import ContractError

EXAMPLES = Path(__file__).parent.parent / "contracts" / "examples"
NAMES = ("response-v2", "standard-v2", "knowledge-1.0", "problem")
FOREIGN: dict[str, dict[str, Any]] = {
    "data alone": {"success": True, "data": {"a": 1}},
    "members of its own": {
        "success": True,
        "data": {"rows": [{"id": 1}], "odd": None},
        "error": None,
        "meta": {"version": "response-v2", "region": "eu", "pagination": {"cursor": "x", "pages": 3}},
        "trace": {"span": "1"},
    },
    "a later category": {
        "success": False,
        "data": {"error_code": "PAYMENT_REQUIRED", "error_type": "payment", "owed": 3},
        "error": "pay first",
        "meta": {"version": "response-v2"},
    },
    "a later code": {
        "status": "error",
        "results": [],
        "error": {
            "code": "PAYMENT_REQUIRED",
            "user_message": "Please pay",
            "developer_message": "pay first",
            "retryable": False,
            "owed": 3,
        },
        "meta": {"request_id": "req_1", "region": "eu"},
    },
    "status and results": {"status": "sparse", "results": [{"id": 1}], "region": "eu"},
    "plain warnings": {"status": "partial", "results": [], "warnings": ["slow", {"message": "old", "since": 3}]},
    "a search that is too large": {
        "_metadata": {
            "operation": "semantic_search",
            "status": "error",
            "message": "Response size exceeds token limit",
        },
        "results": [],
        "warnings": [{"level": "error", "code": "TOKEN_LIMIT_EXCEEDED", "message": "25000 tokens, limit is 15000"}],
    },
    "a search that found something": {
        "_metadata": {"status": "success", "shard": 7},
        "results": [{"chunk_id": 1}],
        "execution_context": {"cache_hit": True, "node": "a"},
        "shard": 3,
    },
    **{
        f"{used} tokens used, {said}": {
            "_metadata": {"operation": "search", "request_id": "req_nzluakes", "status": "success"},
            "results": [{"a": 1}],
            **context,
            "aerogram": {"telemetry": {"tokens_used": used, "billable_units": 0}},
        }
        for used in (0, 7, 90, 120, 150, 180, 9_999)
        for said, context in {"of nothing": {}, "of a part": {"execution_context": {"cache_hit": True}}}.items()
    },
    "a problem of another server": {"type": "https://example.org/teapot", "title": "Teapot", "status": 418, "cups": 2},
}
DOCUMENTED = {
    path.stem: body
    for path in sorted(EXAMPLES.glob("*.json"))
    if isinstance(body := json.loads(path.read_text(encoding="utf-8")), dict)
}


def is_body(body: Any) -> bool:
    try:
        read(body)
    except ContractError:
        return False
    return True


BODIES = FOREIGN | {name: body for name, body in DOCUMENTED.items() if is_body(body)}


def ways() -> Iterator[tuple[str, str]]:
    """Each body, and each other dialect that can say it; problem details say failures only."""
    for name, body in BODIES.items():
        own, has_failed = recognise(body).name, read(body).problem is not None
        yield from ((name, other) for other in NAMES if other != own and (has_failed or other != "problem"))


@pytest.mark.parametrize(("name", "other"), list(ways()))
def test_there_and_back_it_is_the_same_body(name: str, other: str) -> None:
    """What was filled in is taken out again, and unknown members are where they were."""
    body, before = BODIES[name], copy.deepcopy(BODIES[name])
    own = recognise(body).name
    there = json.loads(json.dumps(translate(body, other)))
    assert validate(there).name == other
    assert read(there) == read(body)
    assert translate(there, own) == body == before


def test_a_body_that_says_all_carries_no_origin() -> None:
    """Only a difference travels."""
    whole = dialect("standard-v2").encode(Reply.ok([{"id": 1}]).complete())
    assert "origin" not in json.dumps(translate(whole, "knowledge-1.0"))
    assert translate(translate(whole, "knowledge-1.0"), "standard-v2") == whole


def test_a_body_that_takes_back_what_its_contract_requires_is_the_same_one() -> None:
    """It is spelled as the way back would spell it, and that would say that it has come a way."""
    body = dialect("standard-v2").encode(Reply.ok([{"id": 1}], request_id="req_1").complete())
    body["aerogram"]["telemetry"] = None
    body["meta"] |= {"latency_ms": 0.001, "billable_units": 1}
    assert read(body).telemetry is None
    assert translate(translate(body, "response-v2"), "standard-v2") == body


def test_an_origin_of_very_many_places_is_put_back_in_the_time_of_one_copy() -> None:
    """A body of half a megabyte would take minutes if each place were a copy."""
    rows = list(range(20_000))
    body = translate({**FOREIGN["data alone"], "data": {"results": rows}}, "standard-v2")
    body["aerogram"] |= {"origin": {"dialect": "response-v2", "set": {f"/data/results/{row}": -row for row in rows}}}
    began = time.monotonic()
    assert translate(body, "response-v2")["data"] == {"results": [-row for row in rows]}
    assert time.monotonic() - began < 10
    assert body["results"] == rows


def test_over_two_dialects_and_back_the_same_way_it_is_the_same_body() -> None:
    """Each translation remembers where it came from."""
    body = FOREIGN["members of its own"]
    second = translate(body, "standard-v2")
    third = translate(second, "knowledge-1.0")
    assert translate(third, "standard-v2") == second
    assert translate(translate(third, "standard-v2"), "response-v2") == body


@pytest.mark.parametrize(
    "origin",
    [
        {"dialect": "response-v2", "set": {"nowhere": 1}, "drop": []},
        {"dialect": "response-v2", "set": [], "drop": []},
        "response-v2",
    ],
)
def test_an_origin_that_is_none_is_refused_with_its_place(origin: Any) -> None:
    """A stranger may write anything there."""
    body = {**translate(FOREIGN["data alone"], "standard-v2"), "aerogram": {"origin": origin}}
    with pytest.raises(ContractError) as refused:
        translate(body, "response-v2")
    assert refused.value.pointer.startswith("/aerogram/origin")


def test_an_origin_that_points_at_nothing_changes_nothing() -> None:
    """Places that are not there stay away."""
    stray = {"/data/3/x": 1, "/meta/none/at/all": 1, "/error/0": 1}
    origin = {"dialect": "response-v2", "set": stray, "drop": ["/meta/none", "/data/-", "/x/y"]}
    body = {**translate(FOREIGN["data alone"], "standard-v2"), "aerogram": {"origin": origin}}
    assert translate(body, "response-v2")["data"] == {"a": 1}


@pytest.mark.parametrize("payload", ["hello", "123", '{"a": 1}', "", None, 3, [], {"a": 1}])
def test_a_payload_that_was_taken_out_is_read_as_the_payload(payload: Any) -> None:
    """A text is a payload as any other; its JSON is given as bytes."""
    body = dialect("response-v2").encode(Reply.ok(payload))
    bare = translate(body, to="bare")
    assert bare == payload and read(bare, dialect="bare") == Reply(payload)
    assert read(json.dumps(payload).encode(), dialect="bare") == Reply(payload)


def test_a_body_in_its_own_dialect_keeps_what_no_contract_names() -> None:
    """Only what its contract requires is filled in."""
    said = {"code": "NOT_FOUND", "user_message": "It is gone.", "hint": {"moved": ["b"]}}
    body = {"status": "error", "results": [], "error": said, "warnings": [{"message": "m", "since": 1}], "region": "eu"}
    filled = translate(body, "standard-v2")
    assert validate(filled).name == "standard-v2"
    assert filled["error"]["hint"] == said["hint"] and filled["warnings"] == body["warnings"]
    assert filled["region"] == "eu" and read(filled) == read(body)


def test_a_reply_whose_only_member_looks_like_a_place_is_read_back() -> None:
    """What stands in a payload is named in the same way."""
    for data in ({"/a": None}, {"/a": [{"id": 1}]}, {"/0": [{"id": 1}]}):
        for reply in (Reply.failed("NOT_FOUND", "x").replace(data=data), Reply.ok(data)):
            for name in ("response-v2", "standard-v2", "knowledge-1.0", "problem")[: 4 if reply.problem else 3]:
                whole = dialect(name).complete(reply, operation="get", duration_ms=1.0, tokens_estimated=1)
                assert read(dialect(name).encode(whole)) == whole
