"""Limits hold for every method that gives something out, and for the page, each in its own form."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

from serving import SAMPLES, serving

PATIENT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def limited(tmp_path):
    """A server that answers three calls of a caller."""
    with serving(tmp_path / "index", "--limits", "3/hour", documents=SAMPLES / "security") as server:
        yield server


@pytest.fixture(scope="module")
def generous(tmp_path_factory):
    """A server without limits."""
    with serving(tmp_path_factory.mktemp("generous") / "index", documents=SAMPLES / "security") as server:
        yield server


def ask(server, method, **params):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(f"{server.address}/mcp", json=message, headers=PATIENT, timeout=30).json()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "aerogram://documents"}),
        ("prompts/get", {"name": "brief_on_vendor", "arguments": {"vendor": "x"}}),
    ],
)
def test_what_is_read_takes_from_the_limits(limited, method, params):
    answers = [ask(limited, method, **params) for _ in range(4)]
    assert [("result" in one) for one in answers] == [True, True, True, False]
    assert answers[-1]["error"]["data"]["code"] in ("RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED")
    assert answers[-1]["error"]["data"]["retry_after"] > 0


def test_a_prompt_without_its_argument_is_the_callers_mistake(generous):
    told = ask(generous, "prompts/get", name="brief_on_vendor", arguments={})["error"]
    assert (told["code"], "vendor" in told["message"]) == (-32602, True)


def test_the_page_is_told_of_its_limits_in_problem_details(limited):
    for _ in range(4):
        answer = httpx.get(f"{limited.address}/page/api/contents", timeout=30)
    assert (answer.status_code, answer.headers["content-type"]) == (429, "application/problem+json")
    assert answer.json()["code"] in ("RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED")
    assert int(answer.headers["retry-after"]) > 0


def test_the_files_of_the_page_cost_nothing(limited):
    """A browser asks for dozens of them, without a key: they would use up what everybody without one has together."""
    with httpx.Client(base_url=limited.address, timeout=30) as client:
        files = [client.get(path).status_code for path in ("/", "/page/assets/app.js") for _ in range(5)]
        asked = [client.get("/page/api/context").status_code for _ in range(4)]
    assert (files, asked) == ([200] * 10, [200, 200, 200, 429])


def question(number, operation="semantic_search"):
    return {"source": {"call": {"operation": operation, "arguments": {"query": f"token {number}"}}}}


def test_a_question_of_the_page_costs_what_a_call_does(limited):
    asked = [httpx.post(f"{limited.address}/page/api/shrink", json=question(one), timeout=60) for one in range(4)]
    assert [one.status_code for one in asked] == [200, 200, 200, 429]


def test_a_question_of_the_page_that_fails_costs_nothing(tmp_path):
    """Of a quota, that is: a rate is about calls, whatever comes of them."""
    nothing = {"archive": f"sha256:{'0' * 64}"}
    with serving(tmp_path / "index", "--limits", "3/day", documents=SAMPLES / "security") as server:
        ask = partial(httpx.post, timeout=60)
        failed = [ask(f"{server.address}/page/api/piece", json={**question(one), **nothing}) for one in range(5)]
        asked = [ask(f"{server.address}/page/api/shrink", json=question(one)) for one in range(4)]
    assert [one.status_code for one in failed] == [404] * 5
    assert [one.status_code for one in asked] == [200, 200, 200, 429]


def test_the_limit_of_a_tool_holds_for_the_page(tmp_path):
    limits = ("--limits", "digest_document=2/hour, semantic_search=1/hour")
    digest = {"source_file": "jwt-guide.md", "query": "token"}
    with serving(tmp_path / "index", *limits, documents=SAMPLES / "security") as server:
        ask = partial(httpx.post, timeout=60)
        digests = [ask(f"{server.address}/page/api/digest", json=digest).status_code for _ in range(3)]
        searches = [ask(f"{server.address}/page/api/shrink", json=question(one)).status_code for one in range(2)]
    assert (digests, searches) == ([200, 200, 429], [200, 429])


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", PATIENT, 405),
        ("PUT", PATIENT, 405),
        ("OPTIONS", PATIENT, 405),
        ("POST", PATIENT, 400),
        ("POST", {"accept": "text/html", "content-type": "application/json"}, 406),
        ("DELETE", PATIENT, 405),
    ],
)
def test_a_request_that_is_none_of_mcp_is_refused_in_shape(generous, method, headers, status):
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' if method == "POST" else None
    answer = httpx.request(method, f"{generous.address}/mcp", headers=headers, content=body, timeout=30)
    assert answer.status_code == status
    told = answer.json()
    assert "error" in told if "jsonrpc" in told else told["status"] == status
