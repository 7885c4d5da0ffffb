"""The models of standard-v2, and its tool results, keep the contract."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import aerogram
from aerogram import Problem, Reply, Telemetry
from aerogram.codes import TABLE
from aerogram.dialects.standard_v2 import StandardError, StandardResponse, wrap_for_mcp
from contracts.requirement_rows import Requirement, rows

DIALECT = aerogram.dialect("standard-v2")
STAMPS: dict[str, Any] = {
    "request_id": "01KQ3XQ77RR7J8XWZ8C0YR2JN2",
    "telemetry": Telemetry(duration_ms=42, billable_units=1),
}


def some(number: int) -> list[dict[str, Any]]:
    """Return that many rows."""
    return [{"unified_id": f"UNI-{place}"} for place in range(number)]


@rows("STD-CTOR-00")
def test_standard_error_constructor(row: Requirement) -> None:
    """Each constructor makes its code with the table's retry rule and texts, or the texts given."""
    make = getattr(StandardError, row["constructor"])
    error = make()
    known = TABLE[row["code"]]
    assert (error.code, error.retryable) == (row["code"], known.retry == "yes")
    assert (error.user_message, error.developer_message) == (known.user_text["en"], known.title)
    assert make("why", language="ja").user_message == known.user_text["ja"]
    assert make("why", user_message="sorry").user_message == "sorry"
    assert make("why").developer_message == "why"


RESPONSES = {
    "rich": lambda: StandardResponse.rich(some(5)),
    "sparse": lambda: StandardResponse.sparse(some(2), retry_with={"q": "x"}),
    "empty": lambda: StandardResponse.empty("filters_too_narrow"),
    "partial": lambda: StandardResponse.partial(some(2), [{"message": "one source is down"}]),
    "error": lambda: StandardResponse.error(StandardError.rate_limited("slow down", retry_after=30)),
}
WRONG_RESPONSES = {
    "rich": lambda: StandardResponse.rich(some(3)),
    "sparse": lambda: StandardResponse.sparse(some(5)),
    "empty": lambda: StandardResponse.empty("bad_luck"),
    "partial": lambda: StandardResponse.partial(some(2), []),
    "error": lambda: StandardResponse.error(None),
}


@rows("STD-CTOR-01", column="constructor")
def test_standard_response_constructor(row: Requirement) -> None:
    """Each constructor makes a valid body of its status, which reads as a reply; a wrong call is refused."""
    made = RESPONSES[row["constructor"]]()
    body = made.to_wire()
    assert body["status"] == row["constructor"]
    assert ("error" in body) == (row["constructor"] == "error")
    DIALECT.validate(body)
    assert aerogram.read(body) == made.to_reply()
    with pytest.raises(ValidationError):
        WRONG_RESPONSES[row["constructor"]]()


def test_standard_response_is_generic() -> None:
    """The rows of a typed response are validated by their type."""

    class Program(BaseModel):
        unified_id: str
        opened: dt.date

    typed = StandardResponse[Program].sparse([Program(unified_id="UNI-1", opened="2026-05-06")])
    assert typed.results[0].unified_id == "UNI-1"
    assert typed.to_wire()["results"] == [{"unified_id": "UNI-1", "opened": "2026-05-06"}]
    with pytest.raises(ValidationError):
        StandardResponse[Program].sparse([{"other": 1}])


@pytest.mark.parametrize(("number", "status"), [(0, "empty"), (1, "sparse"), (4, "sparse"), (5, "rich"), (23, "rich")])
def test_the_number_of_rows_decides_between_rich_sparse_and_empty(number: int, status: str) -> None:
    """One constructor takes any rows; where warnings say that something is missing, it is partial."""
    made = StandardResponse.of(some(number), empty_reason="filters_too_narrow")
    body = made.to_wire()
    assert (body["status"], body["results"]) == (status, some(number))
    assert body.get("empty_reason") == ("filters_too_narrow" if number == 0 else None)
    DIALECT.validate(body)
    assert StandardResponse.of(some(number), warnings=["one source is down"]).status == "partial"


# --- MCP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "line"), [(23, "rich · 23 results"), (3, "sparse · 3 results"), (0, "empty · 0 results")]
)
def test_wrap_for_mcp_carries_the_body_and_one_line(number: int, line: str) -> None:
    """A success is its body as structured content, and one line of text."""
    reply = Reply.ok(some(number), **STAMPS)
    result = wrap_for_mcp(reply)
    assert result == {"structuredContent": DIALECT.encode(reply), "content": [{"type": "text", "text": line}]}


def test_wrap_for_mcp_marks_a_failure_and_shows_the_user_message() -> None:
    """A failure says isError at the root, and its text is the user message; a response object does as well."""
    reply = Reply.failed("NOT_FOUND", user_message="Nothing here", **STAMPS)
    result = wrap_for_mcp(reply)
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "Nothing here"}]
    assert result["structuredContent"] == DIALECT.encode(reply)
    assert StandardError.rate_limited(retry_after=30).retry_after == 30
    error = StandardError.internal(user_message="Sorry")
    for made in (wrap_for_mcp(StandardResponse.error(error)), wrap_for_mcp(error)):
        assert (made["isError"], made["content"][0]["text"]) == (True, "Sorry")
        DIALECT.validate(made["structuredContent"])


def test_a_failure_has_the_members_of_the_document_in_their_order_however_it_is_written() -> None:
    """The model and the encoder agree, and suggest nothing where there is nothing to suggest."""
    documented = ["status", "results", "warnings", "citations", "query_echo", "error", "meta"]
    speaker = aerogram.dialect("standard-v2")
    assert list(StandardResponse.error(StandardError.rate_limited()).to_wire()) == documented
    encoded = speaker.encode(speaker.complete(Reply.failed(Problem("RATE_LIMITED", "slow down"))))
    assert [name for name in encoded if name != "aerogram"] == documented
