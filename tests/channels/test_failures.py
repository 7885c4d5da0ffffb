"""Failures: whichever channel a client drops, the other has everything that there is to act on."""

from __future__ import annotations

from typing import Any

import mcp_types
import pytest

from aerogram import Notice, Problem, Reply, read
from aerogram._mcp.results import tool_result
from aerogram.channels import POLICIES, Payload, Policy, channels_of, read_failure, tell_failure
from aerogram.content.jsontext import dumps
from aerogram.dialects import dialect

ENVELOPES = ["response-v2", "standard-v2", "knowledge-1.0"]
FAILED = Reply.failed(
    "RATE_LIMIT_EXCEEDED",
    "the printer in room 5 takes one job a minute",
    remediation="Print on the second floor",
    retry_after=45,
    details={"field": "printer", "received": "room 5"},
)
NEEDED = ("the printer in room 5 takes one job a minute", "Print on the second floor", "45", "printer", "room 5")
RETRY = {"response-v2": "rate_limit", "standard-v2": "retryable", "knowledge-1.0": "retryable", "bare": "retryable"}
"""The word by which a contract says whether to try again; in response-v2 the kind does."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("spoken", ENVELOPES)
def test_a_failure_says_the_same_in_each_channel(spoken: str, policy: Policy) -> None:
    speaker = dialect(spoken)
    reply = speaker.complete(FAILED, operation="print")
    said = channels_of(reply, speaker.encode(reply), policy, speaker=speaker)
    channels = [said.text] if said.structured is None else [said.text, dumps(said.structured).decode()]
    for text in channels:
        for needed in (*NEEDED, speaker.code_of(FAILED.problem), RETRY[spoken]):
            assert needed in text


def test_a_failure_without_an_envelope_is_words_and_a_record_for_programs() -> None:
    said = Payload(has_schema=True).channels(FAILED)
    result = tool_result(FAILED, said, dialect=dialect("bare"), wants_box=False)
    assert result["isError"] and "structuredContent" not in result
    assert said.text.split("\n") == [
        "the printer in room 5 takes one job a minute",
        f"error: RATE_LIMIT_EXCEEDED (rate_limit, retryable); Print on the second floor; retry after 45 s; {FIELD}",
    ]
    told = result["_meta"]["dev.aerogram/problem"]
    assert (told["code"], told["kind"], told["retry_after"]) == ("RATE_LIMIT_EXCEEDED", "rate_limit", 45)
    assert told["details"] == {"field": "printer", "received": "room 5"} and told["retryable"] is True


FIELD = 'field: printer; received: "room 5"'
FAULTS = [{"field": "a", "received": "x"}, {"field": "b.c", "received": {"d": [1]}}, {"field": "e"}]


@pytest.mark.parametrize(
    "problem",
    [
        FAILED.problem,
        Problem.of("NOT_FOUND", "no such row\nin this table"),
        Problem("MY_OWN", "it broke", kind="conflict", retry="check"),
        Problem(
            "INTERNAL_ERROR", "out of paper", user_message="Please fill in paper.", remediation="a; b", retry_after=1.5
        ),
        Problem("NOT_FOUND", "error: NOT_FOUND (not_found, not retryable)", details={"field": "id"}),
        Problem("VALIDATION_ERROR", "two are wrong", details={"field": "a", "errors": FAULTS}),
        Problem.of("INVALID_FIELDS", "no such field", details={"allowed_fields": ["id", "user.name"]}),
        Problem.of("TOOL_ERROR", "it went wrong", remediation="Read what it says"),
    ],
    ids=lambda problem: problem.message,
)
def test_a_problem_is_read_back_from_its_words_alone(problem: Problem) -> None:
    told = tell_failure(Reply.failed(problem, notices=(Notice("careful"),)), problem)
    found = read_failure(told)
    assert found is not None
    for name in ("code", "message", "kind", "retry", "remediation", "retry_after", "user_message"):
        assert getattr(found, name) == getattr(problem, name), name
    assert (found.details or {}).get("field") == (problem.details or {}).get("field")
    assert (found.details or {}).get("errors") == (problem.details or {}).get("errors")


@pytest.mark.parametrize("text", ["", "error: X (y, z)", "boom", "a\nerror: X (not_found, perhaps)", "a\nerror: X"])
def test_words_of_others_are_no_problem_of_ours(text: str) -> None:
    assert read_failure(text) is None


@pytest.mark.parametrize("form", ["wire", "sdk", "dump", "no meta"])
def test_a_failed_result_is_read_in_each_form(form: str) -> None:
    said = tool_result(FAILED, Payload().channels(FAILED), dialect=dialect("bare"), wants_box=False)
    assert read(_as(form, said)).problem == FAILED.problem


@pytest.mark.parametrize("spoken", ENVELOPES)
@pytest.mark.parametrize("form", ["wire", "sdk", "dump", "no meta", "text"])
@pytest.mark.parametrize("reply", [FAILED, Reply.ok([{"id": 1}, {"id": 2}])], ids=["failed", "ok"])
def test_a_result_in_an_envelope_is_read_in_each_form(spoken: str, form: str, reply: Reply[Any]) -> None:
    speaker = dialect(spoken)
    whole = speaker.complete(reply, operation="print")
    said = channels_of(whole, speaker.encode(whole), "mirror", speaker=speaker)
    assert read(_as(form, tool_result(whole, said, dialect=speaker))) == whole


def _as(form: str, result: dict[str, Any]) -> Any:
    if form == "no meta":
        return {name: value for name, value in result.items() if name != "_meta"}
    if form == "text":
        return {"content": result["content"], "isError": result.get("isError", False)}
    if form == "wire":
        return result
    found = mcp_types.CallToolResult.model_validate(result)
    return found if form == "sdk" else found.model_dump()


def test_what_would_be_allowed_is_told_and_beyond_a_few_counted() -> None:
    names = [f"member_{number}" for number in range(30)]
    line = tell_failure(Reply(), Problem.of("INVALID_FIELDS", "no such field", details={"allowed_fields": names}))
    assert line.endswith(f"; allowed_fields: {', '.join(names[:24])} and 6 more")


def test_of_a_failure_nobody_knows_the_cause_of_it_is_not_said_for_certain_that_it_stays() -> None:
    assert "(internal, probably not retryable)" in tell_failure(Reply(), Problem.of("TOOL_ERROR", "boom"))
    assert "(conflict, not retryable)" in tell_failure(Reply(), Problem("X", "boom", kind="conflict", retry="no"))


def test_one_thing_has_one_name_where_there_is_no_contract_to_name_it() -> None:
    told = {tell_failure(Reply(), Problem.of(code, "slow")) for code in ("RATE_LIMITED", "RATE_LIMIT_EXCEEDED")}
    assert len(told) == 1 and "error: RATE_LIMIT_EXCEEDED (" in told.pop()
