"""Naming: over HTTP a reply speaks of parameters, over MCP of arguments; what it offers can be asked as it stands."""

from __future__ import annotations

import json

import anyio
import pytest
from fastmcp import Client

from programs import run_program
from serving import clean_environment, serving


def ask(http, **parameters):
    return http.get("/v1/search", params={"envelope": "v2", **parameters}).json()


def call(served, **arguments):
    async def talk():
        async with Client(served.mcp) as client:
            return (await client.call_tool("semantic_search", arguments, raise_on_error=False)).structured_content

    return anyio.run(talk)


def problem_of(body):
    return body["aerogram"]["problem"]


@pytest.mark.parametrize(
    ("parameters", "field", "begins"),
    [
        ({"q": " "}, "q", "q must not be empty"),
        ({"q": "token", "after": "soon"}, "after", "The filter after"),
        ({"q": "token", "path": "../x"}, "path", "The filter path"),
        ({"q": "token", "category": "x" * 301}, "category", "The filter category"),
        ({"q": " ", "format": "csv"}, "q", "q must not be empty"),
    ],
)
def test_over_http_a_wrong_input_is_named_as_the_parameter_that_it_is(http, parameters, field, begins):
    body = ask(http, **parameters)
    assert body["error"]["code"] == "VALIDATION_ERROR"
    assert body["error"]["developer_message"].startswith(begins)
    assert problem_of(body)["details"]["field"] == field
    assert "query" not in str(problem_of(body)["details"])


def test_a_vendor_without_a_letter_is_blamed_on_the_name(http):
    body = http.get("/v1/vendors/…", params={"envelope": "v2"}).json()
    assert problem_of(body)["details"]["field"] == "name"


def test_over_mcp_a_wrong_input_is_named_as_the_argument_that_it_is(served):
    assert "filters.after" in str(call(served, query="token", filters={"after": "soon"}))
    assert "query must not be empty" in str(call(served, query=" "))


@pytest.mark.parametrize(
    ("parameters", "retry"),
    [
        ({"q": "token", "after": "2099-01-01"}, {"q": "token"}),
        ({"q": "token", "license": "MIT", "category": "security"}, {"q": "token", "category": ["security"]}),
        ({"q": "passkyes"}, {"q": "passkeys"}),
        ({"q": "passkyes", "category": "security"}, {"q": "passkeys", "category": ["security"]}),
        ({"q": "passkyes", "category": "nowhere"}, {"q": "passkeys"}),
    ],
)
def test_over_http_what_to_ask_instead_is_a_call_that_finds_something(http, parameters, retry):
    body = ask(http, **parameters)
    assert (body["status"], body["retry_with"]) == ("empty", retry)
    assert body["suggested_actions"][0] == {"endpoint": "/v1/search", "args": retry}
    assert ask(http, **body["retry_with"])["results"]


def test_over_mcp_it_is_the_same_in_the_arguments_of_the_tool(served):
    body = call(served, query="passkyes", filters={"category": ["security"]})
    retry = {"query": "passkeys", "filters": {"category": ["security"]}}
    assert body["aerogram"]["retry_with"] == retry
    assert body["aerogram"]["actions"] == [{"tool": "semantic_search", "args": retry}]
    assert call(served, **retry)["results"]


def test_nothing_is_offered_where_nothing_would_be_found(http):
    body = ask(http, q="zzyzx qwrtp")
    assert body["empty_reason"] == "no_match"
    assert "retry_with" not in body
    assert body["suggested_actions"] == []


@pytest.mark.parametrize(
    ("path", "parameters", "echo"),
    [
        ("/v1/search", {"q": " token  "}, {"q": "token"}),
        ("/v1/search", {"q": "token", "category": "security"}, {"q": "token"}),
        ("/v1/search", {"q": "zzyzx"}, {"q": "zzyzx"}),
        ("/v1/search", {"q": " "}, {"q": " "}),
        ("/v1/search", {"q": "token", "page_size": 50, "max_tokens": 1_200}, {"q": "token"}),  # also where not all fits
        ("/v1/vendors/acme", {}, {"name": "acme"}),
        ("/v1/vendors/fjordbyte", {}, {"name": "Fjordbyte Hosting AS"}),
        ("/v1/vendors/fjordbyte", {"response_mode": "full"}, {"name": "Fjordbyte Hosting AS"}),
        ("/v1/chunks/1", {}, {"id": 1}),
    ],
)
def test_over_http_the_echo_has_the_names_that_were_sent(http, path, parameters, echo):
    body = http.get(path, params={"envelope": "v2", **parameters}).json()
    filters = {name: [value] for name, value in parameters.items() if name == "category"}
    assert body["query_echo"]["normalized_input"] == echo
    assert body["query_echo"]["applied_filters"] == filters


def test_over_http_the_echo_of_a_digest_has_the_members_of_its_body(http):
    asked = {"source_file": "security/passkeys.md", "query": "What is a passkey?"}
    body = http.post("/v1/digests", params={"envelope": "v2"}, json=asked).json()
    assert body["query_echo"]["normalized_input"] == asked


def test_over_mcp_the_echo_has_the_names_that_were_sent(tmp_path):
    async def talk(address):
        async with Client(address) as client:
            found = await client.call_tool("semantic_search", {"query": " token", "filters": {"path": ["security"]}})
            vendor = await client.call_tool("find_vendor_info", {"vendor_name": "fjordbyte"})
            return found.structured_content["query_echo"], vendor.structured_content["query_echo"]

    with serving(tmp_path / "index", "--dialect", "standard-v2") as server:
        found, vendor = anyio.run(talk, server.mcp)
    assert (found["normalized_input"], found["applied_filters"]) == ({"query": "token"}, {"path": ["security"]})
    assert vendor["normalized_input"] == {"vendor_name": "Fjordbyte Hosting AS"}


def test_on_the_command_line_the_echo_has_the_names_of_the_arguments(served):
    line = ["vendor", "fjordbyte", "--json", "--dialect", "standard-v2", "--index", str(served.index)]
    done = run_program(line, text=True, check=True, env=clean_environment(served.index))
    assert json.loads(done.stdout)["query_echo"]["normalized_input"] == {"name": "Fjordbyte Hosting AS"}
