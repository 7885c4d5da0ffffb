"""The assertions: they give back what was said, and refuse what breaks a contract or is not what was expected."""

from __future__ import annotations

import re

import fastmcp
import httpx
import pytest

from aerogram import Fidelity, Reply, dialect, problem_of
from aerogram.errors import RateLimited
from aerogram.testing import assert_problem, assert_success
from testing.mutants import ROWS, good_routes, good_tools


def said(name, reply):
    """A reply as a body."""
    return dialect(name).encode(dialect(name).complete(reply))


@pytest.fixture
def rows_api():
    transport = httpx.ASGITransport(good_routes())
    return lambda: httpx.AsyncClient(transport=transport, base_url="http://rows.invalid")


async def test_a_tool_result_that_succeeded_is_given_back_as_a_reply():
    async with fastmcp.Client(good_tools()) as client:
        result = await client.call_tool_mcp("row", {"number": 2})
    assert assert_success(result, dialect="response-v2", status="ok", whole=True).data == ROWS[1]


async def test_a_tool_result_that_failed_is_given_back_as_its_problem():
    async with fastmcp.Client(good_tools()) as client:
        missing = await client.call_tool_mcp("row", {"number": 99})
        wrong = await client.call_tool_mcp("row", {"number": "two"})
    assert assert_problem(missing, "NOT_FOUND", kind="not_found", retryable=False).remediation == "rows has the numbers"
    assert_problem(wrong, kind="validation", field="number")


async def test_responses_are_read_like_tool_results(rows_api):
    async with rows_api() as client:
        good = await client.get("/rows/2?envelope=v2")
        bad = await client.get("/rows/99", headers={"Accept": "application/problem+json, */*;q=0.1"})
    assert assert_success(good, dialect="standard-v2").data == ROWS[1]
    assert_problem(bad, "NOT_FOUND", dialect="problem")


def test_a_code_may_be_given_in_any_spelling_or_as_the_one_above():
    body = said("standard-v2", Reply.failed(problem_of(RateLimited("too fast", retry_after=3))))
    for code in ("RATE_LIMITED", "RATE_LIMIT_EXCEEDED"):
        assert assert_problem(body, code, retryable=True).retry_after == 3
    assert_problem(said("response-v2", Reply.failed("INVALID_CURSOR", "no")), "VALIDATION_ERROR")


FAILED = said("response-v2", Reply.failed("NOT_FOUND", "no such row", remediation="List them"))
PARTIAL = said("response-v2", Reply.partial(ROWS, "some are missing", fidelity=Fidelity("partial", ("row-11",))))


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (lambda: assert_success(FAILED), "it failed with NOT_FOUND: no such row (List them)"),
        (lambda: assert_success(PARTIAL, status="ok"), "its status is partial, not ok"),
        (lambda: assert_success(PARTIAL, whole=True), "its fidelity is partial"),
        (lambda: assert_problem(PARTIAL), "it did not fail"),
        (lambda: assert_problem(FAILED, "CONFLICT"), "not with CONFLICT"),
        (lambda: assert_problem(FAILED, kind="conflict"), "whose kind is not_found, not conflict"),
        (lambda: assert_problem(FAILED, retryable=True), "NOT_FOUND is not retryable"),
        (lambda: assert_problem(FAILED, field="number"), "blames no field, not number"),
        (lambda: assert_success({"rows": []}), "none of the known dialects"),
        (lambda: assert_success(PARTIAL, dialect="standard-v2"), "standard-v2"),
        (lambda: assert_success({**PARTIAL, "success": "yes"}), "does not match any of the expected tags"),
        (lambda: assert_success({"content": [], "structuredContent": FAILED, "isError": False}), "isError is not set"),
    ],
)
def test_what_is_not_as_expected_is_told(check, told):
    with pytest.raises(AssertionError, match=re.escape(told)):
        check()


def test_a_payload_alone_is_a_success_only_when_that_is_expected():
    assert assert_success({"rows": []}, dialect="bare").data == {"rows": []}
    assert assert_success(Reply.ok([1])).data == [1]
