"""Replies that say that they failed and are not marked so: a notice, or a failure where the author asks for it."""

import json

import fastmcp
import pytest
from fastmcp.tools import ToolResult

from aerogram._mcp.soft_errors import soft_problem
from aerogram.errors import InvalidReply
from aerogram.fastmcp import install

ERRORS = [
    ({"error": "no such row"}, "NOT_FOUND"),
    ({"error": {"code": "RATE_LIMITED", "message": "slow down"}}, "RATE_LIMITED"),
    ({"error": "boom", "data": None, "results": []}, "TOOL_ERROR"),
    ({"status": 429, "message": "too much"}, "RATE_LIMIT_EXCEEDED"),
    ({"status": 404, "detail": "nothing here"}, "NOT_FOUND"),
    ({"statusCode": 503, "error": "Service Unavailable", "message": "later"}, "UNAVAILABLE"),
    ({"success": False, "message": "Permission denied"}, "FORBIDDEN"),
    ({"ok": False, "error": "not_found"}, "NOT_FOUND"),
    ({"errors": [{"message": "Unknown column"}]}, "NOT_FOUND"),
    ("Error: file not found: a.txt", "NOT_FOUND"),
    ("Error executing query: syntax error at or near SELEC", "VALIDATION_ERROR"),
    ("ValueError: invalid literal for int()", "VALIDATION_ERROR"),
    ("❌ Error: the sheet is locked", "UNAVAILABLE"),
    ('{"error": "Connection refused"}', "UNAVAILABLE"),
    ({"error": "slow down", "retry_after": 10**400}, "RATE_LIMIT_EXCEEDED"),
    ('Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 1', "TOOL_ERROR"),
]
ANSWERS = [
    {"error": None, "rows": [1]},
    {"error": None},
    {"error": ""},
    {"error": [], "data": {"a": 1}},
    {"errors": []},
    {"error": 0.05, "message": "mean squared"},
    {"error": False, "message": "fine"},
    {"success": True, "error": "none", "message": "done"},
    {"id": 7, "status": "failed", "error": "disk full"},
    {"job": "backup", "error": "disk full", "started": "2026-01-01"},
    {"url": "https://example.org", "status": 404},
    {"status": 200, "message": "fine"},
    {"status": 404},
    {"status": "error", "rows": [1, 2]},
    {"code": 500, "name": "a product", "message": "in stock"},
    [{"status": 404, "message": "gone"}, {"status": 500, "message": "broken"}],
    [{"error": "x"}],
    {"results": [{"error": "x"}]},
    {"ok": True},
    {"success": False, "rows": [1]},
    {},
    None,
    "",
    "No errors were found.",
    "Errors: 0",
    "Error rates fell by 3 %, as the report says: see below.",
    "The error: a history of mistakes",
    "error handling in Go: a guide",
    "Error handling\n\nErrors are values.",
    "Error: " + "a log of what went wrong\n" * 200,
    "# Errors\n\nError: shown where a call fails",
    '{"error": null}',
    '{"error',
    "TypeErrors are common: here is why",
    "2 errors, 3 warnings",
    "HTTP 404 means not found",
]


@pytest.mark.parametrize(("data", "code"), ERRORS, ids=lambda one: str(one)[:40])
def test_a_soft_error_is_found_with_its_code(data, code):
    assert soft_problem(data).code == code


@pytest.mark.parametrize("data", ANSWERS, ids=lambda one: str(one)[:40])
def test_an_answer_is_no_error(data):
    assert soft_problem(data) is None


async def answers(**settings):
    server = fastmcp.FastMCP("soft")
    told = {"status": 429, "message": "slow down", "retry_after": 7}
    server.tool(lambda: told, name="data")
    server.tool(lambda: "Error: file not found: a.txt", name="text")
    server.tool(lambda: ToolResult(content="Error: gone", meta={"own": 1}), name="finished")
    server.tool(lambda: {"error": None, "rows": [1]}, name="fine")
    install(server, dialect="bare", **settings)
    async with fastmcp.Client(server) as client:
        names = ("data", "text", "finished", "fine")
        return {name: await client.call_tool(name, {}, raise_on_error=False) for name in names}


async def test_a_soft_error_is_a_notice_and_its_reply_stays_as_it_is():
    found = await answers()
    assert not any(result.is_error for result in found.values())
    assert json.loads(found["data"].content[0].text)["status"] == 429 and found["finished"].meta["own"] == 1
    assert [block.text for block in found["text"].content] == ["Error: file not found: a.txt"]
    noted = {
        name: [one["code"] for one in result.meta.get("dev.aerogram/notices", [])] for name, result in found.items()
    }
    assert noted == {"data": ["SOFT_ERROR"], "text": ["SOFT_ERROR"], "finished": ["SOFT_ERROR"], "fine": []}


async def test_a_soft_error_is_a_failure_where_the_author_asks_for_it():
    found = await answers(soft_errors="failure")
    assert {name: result.is_error for name, result in found.items()} == {
        "data": True,
        "text": True,
        "finished": True,
        "fine": False,
    }
    problem = found["data"].meta["dev.aerogram/problem"]
    assert (problem["code"], problem["retryable"], problem["retry_after"]) == ("RATE_LIMIT_EXCEEDED", True, 7)
    assert found["text"].content[0].text.startswith("Error: file not found: a.txt")
    assert found["finished"].content[0].text.startswith("Error: gone")


async def test_nobody_need_look_for_them():
    found = await answers(soft_errors=None)
    assert all("dev.aerogram/notices" not in result.meta for result in found.values())
    with pytest.raises(InvalidReply, match="notice, failure or None"):
        await answers(soft_errors="loud")
