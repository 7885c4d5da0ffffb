"""Reading: whatever a server sends, in whichever dialect and class, is the reply it meant."""

from __future__ import annotations

import datetime as dt
import json
from email.utils import format_datetime

import httpx
import httpx2
import mcp_types
import pytest
from fastmcp.client.client import CallToolResult
from fastmcp.tools.base import ToolResult
from hypothesis import example, given
from hypothesis import strategies as st

import aerogram
from aerogram import ContractError, Fidelity, Notice, Problem, Reply
from aerogram._mcp.results import tool_result
from aerogram.channels import POLICIES, Payload, channels_of
from aerogram.client import items_of, raise_for_problem, read
from aerogram.content.jsontext import dumps
from aerogram.dialects import dialect
from aerogram.errors import Forbidden, NotFound, QuotaExceeded, RateLimited, ReplyError, ValidationFailed
from replies import failures, replies

ENVELOPES = ("response-v2", "standard-v2", "knowledge-1.0")


def spoken(reply, name):
    """A complete reply and its body in a dialect."""
    voice = dialect(name)
    whole = voice.complete(reply)
    return whole, voice.encode(whole)


def as_fastmcp(wire):
    sdk = mcp_types.CallToolResult.model_validate(wire)
    return CallToolResult(
        content=sdk.content,
        structured_content=sdk.structured_content,
        meta=sdk.meta,
        data=None,
        is_error=bool(sdk.is_error),
    )


TOOLS = {
    "wire": lambda wire: wire,
    "sdk": mcp_types.CallToolResult.model_validate,
    "fastmcp client": as_fastmcp,
    "fastmcp server": lambda wire: ToolResult(
        content=mcp_types.CallToolResult.model_validate(wire).content,
        structured_content=wire.get("structuredContent"),
        meta=wire.get("_meta"),
        is_error=wire.get("isError", False),
    ),
}
RESPONSES = {"httpx": httpx.Response, "httpx2": httpx2.Response}


@given(reply=replies, name=st.sampled_from(ENVELOPES), how=st.sampled_from(["dict", "text", "bytes"]))
def test_a_body_is_read_as_dict_text_or_bytes(reply, name, how):
    whole, body = spoken(reply, name)
    forms = {"dict": body, "text": dumps(body).decode(), "bytes": dumps(body)}
    assert read(forms[how]) == whole


@given(
    reply=replies,
    name=st.sampled_from(ENVELOPES),
    policy=st.sampled_from(POLICIES),
    kind=st.sampled_from(["wire", "sdk", "fastmcp client"]),
)
@example(Reply(None, fidelity=Fidelity("full", archive_hashes={"data": "sha256:0"})), "standard-v2", "mirror", "wire")
def test_a_tool_result_is_read_under_every_channel_policy(reply, name, policy, kind):
    whole, body = spoken(reply, name)
    result = tool_result(whole, channels_of(whole, body, policy), dialect=dialect(name))
    assert read(TOOLS[kind](json.loads(dumps(result)))) == whole


@pytest.mark.parametrize("kind", TOOLS)
@pytest.mark.parametrize("reply", [Reply.ok([{"id": 1}]), Reply.failed("NOT_FOUND", "no such thing")])
def test_results_of_either_frameworks_class_are_read(kind, reply):
    whole, body = spoken(reply, "standard-v2")
    result = tool_result(whole, channels_of(whole, body, "mirror"), dialect=dialect("standard-v2"))
    assert read(TOOLS[kind](result)) == whole


@given(reply=replies, name=st.sampled_from(ENVELOPES), library=st.sampled_from(sorted(RESPONSES)))
def test_an_http_response_is_read(reply, name, library):
    whole, body = spoken(reply, name)
    status = whole.problem.status if whole.problem else 200
    headers = {"content-type": "application/vnd.example.v2+json; charset=utf-8"}
    assert read(RESPONSES[library](status, content=dumps(body), headers=headers)) == whole


@given(reply=failures)
def test_problem_details_are_read_from_a_failed_response(reply):
    whole, body = spoken(reply, "problem")
    headers = {"content-type": "application/problem+json"}
    assert read(httpx.Response(whole.problem.status, content=dumps(body), headers=headers)) == whole


@pytest.mark.parametrize("data", [{"a": 1}, [1, 2], [{"id": 1}, {"id": 2}], "text", "123", 5, 2.5, True, None, {}, []])
@pytest.mark.parametrize("boxed", [True, False])
def test_a_bare_payload_is_read_with_what_stands_beside_it(data, boxed):
    bare = dialect("bare")
    reply = Reply.ok(data, notices=(Notice("careful", "MY_OWN", "info"),), request_id="req_1")
    channels = Payload(has_schema=True, is_boxed=boxed).channels(reply)
    assert read(tool_result(reply, channels, dialect=bare)) == reply


def test_a_bare_failure_is_read_with_its_problem():
    bare = dialect("bare")
    reply = Reply.failed(Problem.of("RATE_LIMITED", "slow down", retry_after=3), request_id="req_1")
    result = tool_result(reply, channels_of(reply, bare.encode(reply), "mirror"), dialect=bare)
    assert read(result) == reply


@pytest.mark.parametrize(
    ("result", "data"),
    [
        ({"content": [{"type": "text", "text": "hello"}]}, "hello"),
        ({"content": [{"type": "text", "text": '{"a": 1}'}]}, {"a": 1}),
        ({"content": [{"type": "text", "text": "{not json"}]}, "{not json"),
        ({"content": [{"type": "text", "text": "123"}]}, "123"),
        ({"content": [{"type": "text", "text": '{"a":1}'}, {"type": "text", "text": '{"a":2}'}]}, [{"a": 1}, {"a": 2}]),
        ({"content": [], "structuredContent": {"result": 5}}, {"result": 5}),
        ({"content": [{"type": "text", "text": "5"}], "structuredContent": {"result": 5}}, 5),
        ({"content": [], "structuredContent": {"result": 5}, "_meta": {"fastmcp": {"wrap_result": True}}}, 5),
        ({"content": [], "isError": False}, None),
        ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, None),
    ],
)
def test_results_of_servers_without_a_contract_are_data(result, data):
    assert read(result) == Reply(data)


def test_a_failure_without_a_contract_is_not_tried_again():
    reply = read({"content": [{"type": "text", "text": "Error calling tool 'x': boom"}], "isError": True})
    assert (reply.problem.code, reply.problem.message) == ("INTERNAL_ERROR", "Error calling tool 'x': boom")
    assert not reply.problem.retryable


@pytest.mark.parametrize(
    "body",
    [
        {"title": "Dune", "type": "novel"},
        {"success": True, "items": [1]},
        {"success": True, "data": [1, 2]},
        {"total": 1, "results": []},
        {"content": "a text"},
        {"content": []},
        {"status": "ok", "checks": {}},
        [1, 2],
    ],
)
def test_ordinary_data_is_not_taken_for_an_envelope(body):
    assert read(body) == Reply(body)
    assert read({"content": [], "structuredContent": body, "isError": False}) == Reply(body)
    assert read(httpx.Response(200, json=body)) == Reply(body)


@pytest.mark.parametrize("more", [{}, {"meta": {"version": "response-v2"}}], ids=["alone", "in an envelope"])
def test_a_failure_that_says_nothing_but_its_words_is_a_problem(more):
    body = {"success": False, "data": None, "error": "nope", **more}
    for result in (body, httpx.Response(200, json=body), {"content": [], "structuredContent": body}):
        assert (read(result).status, read(result).problem.message) == ("error", "nope")
    assert read({**body, "success": True}).problem is None


def test_a_message_of_the_protocol_is_what_it_brings():
    frame = {"jsonrpc": "2.0", "id": 1}
    assert read({**frame, "result": {"content": [{"type": "text", "text": "hi"}]}}).data == "hi"
    assert read({**frame, "result": {"tools": []}}).data == {"tools": []}
    assert read(httpx.Response(200, json={**frame, "result": {"content": [], "isError": True}})).problem is not None
    assert (
        read(httpx.Response(400, json={**frame, "error": {"code": -32600, "message": "bad"}})).problem.message == "bad"
    )
    for code, meant in {
        -32602: "VALIDATION_ERROR",
        -32601: "NOT_FOUND",
        -32000: "INTERNAL_ERROR",
        "odd": "INTERNAL_ERROR",
    }.items():
        problem = read({**frame, "error": {"code": code, "message": "bad"}}).problem
        assert (problem.code, problem.message, problem.retryable) == (meant, "bad", False)
    told = {"code": "RATE_LIMIT_EXCEEDED", "message": "slow down", "retry_after": 3}
    assert read({**frame, "error": {"code": -32000, "message": "bad", "data": told}}).problem.retry_after == 3


def test_a_body_that_breaks_its_own_contract_is_refused():
    with pytest.raises(ContractError):
        read({"success": True, "data": {}, "error": "but why", "meta": {"version": "response-v2"}})


@pytest.mark.parametrize("odd", [None, 5, object()])
def test_what_is_no_result_at_all_is_refused(odd):
    with pytest.raises(TypeError, match="neither"):
        read(odd)


def test_the_dialect_can_be_named():
    body = {"title": "Dune", "type": "novel"}
    assert read(body, dialect="bare") == Reply(body)
    assert read(body, dialect="problem").problem is not None


# HTTP, beyond the body


@pytest.mark.parametrize(
    ("response", "code", "message"),
    [
        (httpx.Response(404, json={"detail": "no such book"}), "NOT_FOUND", "no such book"),
        (httpx.Response(503, text="<html>down</html>", headers={"content-type": "text/html"}), "UNAVAILABLE", None),
        (httpx.Response(500, content=b"{broken", headers={"content-type": "application/json"}), "INTERNAL_ERROR", None),
        (httpx.Response(401), "UNAUTHORIZED", None),
        (httpx.Response(418, text="teapot"), "VALIDATION_ERROR", "teapot"),
        (
            httpx.Response(422, json={"detail": [{"loc": ["query", "n"], "msg": "too small", "type": "ge"}]}),
            "VALIDATION_ERROR",
            None,
        ),
        (httpx.Response(400, json={"title": "Dune", "type": "novel"}), "VALIDATION_ERROR", None),
    ],
)
def test_failures_of_servers_without_a_contract_are_problems(response, code, message):
    problem = read(response).problem
    assert problem.is_a(code)
    assert message is None or problem.message == message


def test_a_failed_status_with_a_body_of_success_is_a_failure():
    _, body = spoken(Reply.ok({"a": 1}), "response-v2")
    assert read(httpx.Response(502, json=body)).problem.code == "UNAVAILABLE"


@pytest.mark.parametrize(("text", "low", "high"), [("7", 7, 7), (None, 100, 121), ("soon", None, None)])
def test_retry_after_is_seconds_or_a_date(text, low, high):
    text = text or format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=120), usegmt=True)
    problem = read(httpx.Response(503, headers={"retry-after": text})).problem
    assert problem.retry_after is None if low is None else low <= problem.retry_after <= high


def test_what_only_the_headers_say_is_heard():
    response = httpx.Response(
        200,
        json=[1],
        headers={
            "x-request-id": "req_1",
            "ratelimit-policy": '"burst";q=100;w=60,"day";q=1000;w=86400',
            "ratelimit": '"burst";r=50;t=30',
            "link": '</items?cursor=abc>; rel="next"',
        },
    )
    reply = read(response)
    assert (reply.request_id, reply.rate_limit.limit, reply.rate_limit.remaining) == ("req_1", 100, 50)
    assert reply.page.has_more and reply.page.extra == {"next": "/items?cursor=abc"}


@pytest.mark.parametrize("counted_from", ["now", "1970"])
def test_the_older_rate_limit_fields_are_heard(counted_from):
    reset = 30 if counted_from == "now" else int(dt.datetime.now(dt.UTC).timestamp()) + 30
    headers = {"x-ratelimit-limit": "10", "x-ratelimit-remaining": "3", "x-ratelimit-reset": str(reset)}
    state = read(httpx.Response(200, json={}, headers=headers)).rate_limit
    assert (state.limit, state.remaining) == (10, 3)
    assert abs(state.reset_at - dt.datetime.now(dt.UTC).timestamp() - 30) < 60


@pytest.mark.parametrize(
    ("response", "data"),
    [
        (httpx.Response(204), None),
        (httpx.Response(304), None),
        (httpx.Response(200, text="a,b\n1,2", headers={"content-type": "text/csv"}), "a,b\n1,2"),
        (httpx.Response(200, content=b"\x00\x01", headers={"content-type": "application/octet-stream"}), b"\x00\x01"),
    ],
)
def test_other_formats_are_data(response, data):
    assert read(response).data == data


# Problems and items


@pytest.mark.parametrize(
    ("code", "exception"),
    [
        ("NOT_FOUND", NotFound),
        ("SPEC_NOT_FOUND", NotFound),
        ("RATE_LIMITED", RateLimited),
        ("QUOTA_EXCEEDED", QuotaExceeded),
        ("LICENSE_GATE_BLOCKED", Forbidden),
        ("MISSING_REQUIRED", ValidationFailed),
        ("INTERNAL_ERROR", ReplyError),
    ],
)
def test_a_problem_is_raised_as_the_nearest_exception(code, exception):
    said = {
        "remediation": "do this",
        "details": {"a": 1},
        "retry_after": 5,
        "user_message": "sorry",
        "documentation": "d",
    }
    reply = Reply.failed(Problem(code, "what happened", **said), request_id="req_1")
    with pytest.raises(exception) as raised:
        raise_for_problem(reply)
    error = raised.value
    assert type(error) is exception
    assert (error.error_code, error.message) == (code, "what happened")
    assert {name: getattr(error, name) for name in said} == said
    assert error.__notes__ == ["request id: req_1"]


def test_an_unknown_code_is_raised_by_its_kind():
    with pytest.raises(NotFound):
        raise_for_problem(Reply.failed(Problem("BOOK_LOST", "gone", kind="not_found")))


def test_a_reply_that_worked_is_given_back():
    reply = Reply.ok(1)
    assert raise_for_problem(reply) is reply


@pytest.mark.parametrize(
    ("data", "items"),
    [
        ([1, 2], [1, 2]),
        ({"tasks": [1], "total": 1}, [1]),
        ({"a": [1], "b": [2]}, [{"a": [1], "b": [2]}]),
        ({"a": 1}, [{"a": 1}]),
        (None, []),
        ("text", ["text"]),
    ],
)
def test_the_items_of_a_reply(data, items):
    assert items_of(Reply.ok(data)) == items


@pytest.mark.parametrize("name", ["response-v2", "standard-v2", "knowledge-1.0"])
@pytest.mark.parametrize("content", [[], [{"type": "text", "text": "hello"}]])
def test_an_envelope_with_a_member_content_is_no_tool_result(name, content):
    spoken = dialect(name)
    reply = spoken.complete(Reply.ok([{"id": 1}], extra={"content": content, "isError": False}))
    body = spoken.encode(reply)
    assert read(body).data == aerogram.read(body).data == [{"id": 1}]
    assert aerogram.read(body) == aerogram.read(body, dialect=name) == reply
    wire = {"content": [{"type": "text", "text": dumps(body).decode()}], "structuredContent": body, "isError": False}
    assert read(wire).data == [{"id": 1}]
