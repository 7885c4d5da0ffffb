"""Errors: every code with its facts, its shape in each dialect, and really made to happen over HTTP and over MCP."""

from __future__ import annotations

import pytest

from aerogram import dialects
from aerogram.client.reading import read
from aerogram.codes import KINDS, TABLE, WARNINGS

ONLY_HTTP = {"METHOD_NOT_ALLOWED", "NOT_ACCEPTABLE", "CONTENT_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"}


def test_every_code_is_listed_with_all_that_the_table_says(http):
    told = http.get("/page/api/errors").json()
    rows = {row["code"]: row for row in told["errors"]}
    assert list(rows) == list(TABLE)
    for code, row in rows.items():
        known = TABLE[code]
        facts = {name: row[name] for name in ("kind", "status", "retry", "title", "remediation", "parent")}
        assert facts == {name: getattr(known, name) for name in facts}
        assert set(row["user_text"]) == set(row["provoked_by"]) == set(row["retry_word"]) == {"en", "ja"}
        assert set(row["said_as"]) == {"response-v2", "standard-v2", "knowledge-1.0", "problem"}
    assert {row["code"] for row in told["warnings"]} == set(WARNINGS)
    assert {row["kind"] for row in told["kinds"]} == set(KINDS)
    assert set(told["retry"]) == {"yes", "no", "check"}


def test_the_advice_about_another_try_goes_with_the_codes_own(http):
    """What is wrong with a call is mended in the call, and what a tool says; where waiting is asked for, no more."""
    rows = http.get("/page/api/errors").json()["errors"]
    words = {row["code"]: row["retry_word"]["en"] for row in rows}
    assert words["QUOTA_EXCEEDED"] == "Not now: wait for the reset, then again"
    assert words["RATE_LIMITED"] == "Yes, after a while"
    mended = [row for row in rows if "mend the call" in row["retry_word"]["en"]]
    assert {row["kind"] for row in mended if row["code"] != "TOOL_ERROR"} == {"validation", "not_found"}


@pytest.mark.parametrize("code", list(TABLE))
def test_the_shapes_of_a_code_say_that_code(http, code):
    shapes = http.get(f"/page/api/errors/{code}").json()["shapes"]
    assert set(shapes) == {"response-v2", "standard-v2", "knowledge-1.0", "problem", "bare", "mcp"}
    for name in ("response-v2", "standard-v2", "knowledge-1.0", "problem"):
        assert dialects.validate(shapes[name]).name == name
        assert dialects.read(shapes[name]).problem.code == code
    assert shapes["bare"]["error"] == TABLE.spell(code, "bare")
    assert (shapes["mcp"]["isError"], read(shapes["mcp"]).problem.code) == (True, code)


@pytest.mark.parametrize("code", list(TABLE))
def test_every_code_happens_over_http_and_over_mcp(ask, code):
    told = ask(f"provoke/{code}")
    status = TABLE[code].status
    assert told["heard"] == {"code": code, "status": status}
    assert [row["envelope"] for row in told["http"]] == ["problem", "v2"]
    for row in told["http"]:
        assert row["status"] == status
        assert row["headers"]["x-request-id"]
        assert dialects.read(row["body"]).problem.code == code
    if code != "NOT_ACCEPTABLE":  # whoever accepts pictures alone is told so in the usual envelope
        assert told["http"][0]["headers"]["content-type"] == "application/problem+json"
    if code in ONLY_HTTP:
        assert told["mcp"] is None
        assert told["mcp_note"]["en"]
    else:
        result = told["mcp"]["result"]
        assert result["isError"] is True
        assert read(result).problem.code == code


def test_limits_that_are_really_reached_say_when_to_come_back(ask):
    told = ask("provoke/RATE_LIMIT_EXCEEDED")
    assert told["request"]["times"] == 3
    assert int(told["http"][0]["headers"]["retry-after"]) > 0
    assert told["http"][0]["body"]["retry_after"] > 0


def test_a_mistake_of_the_server_is_masked(ask):
    told = ask("provoke/INTERNAL_ERROR")
    assert "ZeroDivisionError" not in str(told)
    assert "division" not in str(told["http"])


@pytest.mark.parametrize("path", ["errors/NO_SUCH_CODE", "errors/%3Cscript%3E"])
def test_a_code_that_is_not_in_the_table_is_not_found(http, path):
    answer = http.get(f"/page/api/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


def test_a_code_that_is_not_in_the_table_cannot_be_provoked(http):
    answer = http.post("/page/api/provoke/CONFLICTS", json={})
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert "CONFLICT" in answer.json()["detail"]
