"""The canonical reply: its constructors, what it refuses, request ids and completion."""

import copy
import dataclasses
import datetime as dt
import pickle

import pytest

from aerogram import Action, Fidelity, Notice, Page, Problem, Reply, Telemetry
from aerogram.errors import InvalidReply, UnknownCode
from aerogram.reply import accept_request_id, utc_timestamp


def test_a_reply_holds_the_payload_itself_and_not_a_copy():
    rows = [{"a": 1}]
    assert Reply.ok(rows).data is rows


def test_a_reply_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Reply.ok(1).data = 2


def test_a_reply_says_only_what_it_was_given():
    reply = Reply.ok([1], request_id="req_1", notices=(), extra={}, page=None)
    assert reply.present_fields() == {"data": [1], "request_id": "req_1"}


def test_the_five_constructors_set_the_five_statuses():
    assert Reply.ok(1).status == "ok"
    assert (Reply.empty().status, Reply.empty().data, Reply.empty().empty_reason) == ("empty", [], "no_match")
    assert Reply.partial([1], "two failed").notices == (Notice("two failed"),)
    assert Reply.blocked({"task": 1}, ["waits for approval"]).status == "blocked"
    assert Reply.failed("NOT_FOUND", "no spec x").problem.code == "NOT_FOUND"


def test_equal_replies_are_equal_however_they_were_made():
    assert Reply.ok([1]) == Reply([1], status="ok")
    assert Reply.ok([1], request_id="a") != Reply.ok([1], request_id="b")
    assert Reply.ok([1]).replace(request_id="a") == Reply.ok([1], request_id="a")


def test_replies_can_be_copied_and_pickled():
    reply = Reply.partial([1], "half", page=Page("c", has_more=True))
    assert pickle.loads(pickle.dumps(reply)) == reply
    assert copy.deepcopy(reply) == reply


@pytest.mark.parametrize(
    "contradiction",
    [
        lambda: Reply(1, status="error"),
        lambda: Reply(1, problem=Problem("NOT_FOUND", "x")),
        lambda: Reply.partial([1], ()),
        lambda: Reply.blocked([1], ()),
        lambda: Reply(1, status="banana"),
        lambda: Notice("x", severity="fatal"),
        lambda: Fidelity("most"),
        lambda: Problem("X", "x", kind="banana"),
        lambda: Reply([], status="empty"),
        lambda: Reply([], empty_reason="no_match"),
        lambda: Reply.empty("bored"),
        lambda: Reply.failed("NOT_FOUND", message="x").replace(message="also"),
        lambda: Reply.ok(1, timestamp="yesterday"),
        lambda: Reply.ok(1, timestamp="2026-11-15T06:00:00"),
        lambda: Page(total=-1),
        lambda: Telemetry(tokens_used=-5),
        Action,
        lambda: Action(tool="a", endpoint="/a"),
        lambda: Notice.of("NO_SUCH_WARNING"),
    ],
)
def test_a_reply_that_contradicts_itself_is_refused_with_the_rule(contradiction):
    with pytest.raises(InvalidReply) as refusal:
        contradiction()
    assert str(refusal.value)


def test_what_a_reply_says_cannot_be_changed_from_outside():
    reply = Reply.ok(1, request_id="req_1")
    with pytest.raises(TypeError):
        reply.present_fields()["request_id"] = "req_2"


def test_a_problem_and_a_message_are_one_too_many():
    with pytest.raises(TypeError, match="its own message"):
        Reply.failed(Problem("NOT_FOUND", "x"), "y")


def test_plain_texts_are_notices():
    assert Reply.ok(1, notices=["careful"]).notices == (Notice("careful"),)


def test_a_word_that_no_field_has_is_refused():
    with pytest.raises(TypeError, match="no field 'notice'"):
        Reply.ok(1, notice="typo")


def test_failed_gives_the_problem_its_words_and_the_reply_the_others():
    reply = Reply.failed("UNAVAILABLE", "index is down", retry_after=5, details={"part": "index"}, request_id="r1")
    assert (reply.problem.retry_after, reply.problem.details, reply.request_id) == (5, {"part": "index"}, "r1")


def test_failed_fills_kind_retry_and_remediation_from_the_table():
    problem = Reply.failed("CONFLICT").problem
    assert (problem.kind, problem.retry, problem.status) == ("conflict", "check", 409)
    assert problem.remediation and problem.message == problem.heading


def test_failed_with_a_code_that_nobody_registered_says_which_was_meant():
    with pytest.raises(UnknownCode, match="did you mean NOT_FOUND"):
        Reply.failed("NOTFOUND", "x")


def test_a_problem_is_a_kind_of_its_parents():
    problem = Problem("TASK_NOT_FOUND", "x")
    assert problem.is_a("TASK_NOT_FOUND") and problem.is_a("NOT_FOUND") and not problem.is_a("CONFLICT")


@pytest.mark.parametrize("bad", ["", "a b", "x" * 129, "line\nbreak", "ünï", "-edge", None, 5, "a\x00b", "<script>"])
def test_a_request_id_that_is_not_safe_to_log_is_not_accepted(bad):
    assert accept_request_id(bad) is None


@pytest.mark.parametrize(
    "good", ["req_abc123", "01KQ3XQ77RR7J8XWZ8C0YR2JN2", "a", "550e8400-e29b-41d4-a716-446655440000"]
)
def test_a_callers_request_id_is_accepted_after_validation(good):
    assert accept_request_id(good) == good


def test_completion_fills_what_is_missing_and_keeps_what_is_said():
    now = dt.datetime(2026, 11, 15, 6, 0, tzinfo=dt.UTC)
    reply = Reply.ok([1], operation="search", telemetry=Telemetry(cache_hit=True))
    done = reply.complete(operation="other", duration_ms=2.5, tokens_estimated=9, now=now)
    assert (done.operation, done.timestamp) == ("search", "2026-11-15T06:00:00Z")
    assert done.telemetry == Telemetry(2.5, cache_hit=True, tokens_estimated=9, billable_units=1)
    assert accept_request_id(done.request_id)


def test_a_complete_reply_is_left_as_it_is():
    done = Reply.ok([1]).complete()
    assert done.complete(operation="other") is done


def test_a_failure_costs_nothing():
    assert Reply.failed("NOT_FOUND").complete().telemetry.billable_units == 0


def test_timestamps_are_utc():
    tokyo = dt.timezone(dt.timedelta(hours=9))
    assert utc_timestamp(dt.datetime(2026, 5, 1, 9, 0, tzinfo=tokyo)) == "2026-05-01T00:00:00.000Z"
