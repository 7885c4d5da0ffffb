"""Advice: what a reply suggests can be done with the tool, the address or the command that answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import anyio
import pytest
from fastmcp import Client

from programs import run_program
from serving import clean_environment

UNKNOWN = f"sha256:{'0' * 64}"
PDF = "contracts/brackwater-framework.pdf"
TOOLS = {
    "semantic_search": (
        {"query": " "},
        {"query": "zzyzx"},
        {"query": "token", "cursor": "abc"},
        {"query": "token", "fields": ["nope"]},
        {"query": "token", "page_size": 51},
        {"query": "token", "response_mode": "nope"},
        {"query": "token", "filters": {"after": "soon"}},
        {"query": "token", "filters": {"license": ["MIT"]}},
        {"query": "token", "response_mode": "full", "page_size": 50},
        {"query": "token", "max_tokens": 20},
        {},
    ),
    "find_vendor_info": (
        {"vendor_name": "Brackwater", "response_mode": "preview"},
        {"vendor_name": "Brackwater", "response_mode": "full", "max_tokens": 100_000},
        {"vendor_name": "Brackwater", "response_mode": "full", "max_tokens": 1_200},
        {"vendor_name": "Brackwater", "max_tokens": 20},
        {"vendor_name": "Brackwater", "fields": ["nope"]},
        {"vendor_name": "Brackwatr"},
        {"vendor_name": "merrowdata"},
        {"vendor_name": "nobody"},
        {"vendor_name": "…"},
    ),
    "get_chunks": (
        {"chunk_ids": [1, 999_999]},
        {"chunk_ids": [999_999]},
        {"chunk_ids": [-1]},
        {"chunk_ids": []},
        {"chunk_ids": list(range(1, 40))},
        {"chunk_ids": [1], "fields": ["nope"]},
        {"chunk_ids": [1], "max_tokens": 20},
    ),
    "digest_document": (
        {"source_file": "nope", "query": "price"},
        {"source_file": PDF, "query": " "},
        {"source_file": PDF, "query": "price", "max_tokens": 900},
        {"source_file": PDF, "query": "price", "max_tokens": 20},
    ),
    "retrieve": ({}, {"hash": "nope"}, {"hash": UNKNOWN}, {"ids": ["nope"]}, {"hash": UNKNOWN, "cursor": "abc"}),
}
ROUTES = {
    "/v1/search": (
        {"q": " "},
        {"q": "zzyzx"},
        {"q": "token", "cursor": "abc"},
        {"q": "token", "fields": "nope"},
        {"q": "token", "page_size": 51},
        {"q": "token", "after": "soon"},
        {"q": "token", "license": "MIT"},
        {"q": "token", "response_mode": "full", "page_size": 50, "max_tokens": 2_000},
        {"q": "token", "max_tokens": 20},
        {},
    ),
    "/v1/vendors/{name}": (
        {"name": "Brackwater", "response_mode": "preview"},
        {"name": "Brackwater", "response_mode": "full"},
        {"name": "Brackwater", "max_tokens": 20},
        {"name": "Brackwater", "fields": "nope"},
        {"name": "merrowdata"},
        {"name": "nobody"},
        {"name": "…"},
    ),
    "/v1/chunks/{id}": ({"id": 999_999}, {"id": "x"}, {"id": 1, "fields": "nope"}, {"id": 1, "max_tokens": 20}),
    "/v1/digests": TOOLS["digest_document"],
    "/v1/content/{hash}": ({"hash": "nope"}, {"hash": "x" * 20}, {"hash": UNKNOWN}, {"hash": UNKNOWN, "cursor": "abc"}),
}
COMMANDS = {
    "search": (
        ("token", "--field", "nope"),
        ("token", "--next", "abc"),
        ("token", "--after", "soon"),
        ("token", "--license", "MIT"),
        ("passkyes", "--category", "security"),
        ("token", "--budget", "20"),
    ),
    "vendor": (
        ("Brackwater",),
        ("Brackwater", "--mode", "full"),
        ("Brackwater", "--field", "nope"),
        ("Brackwater", "--budget", "20"),
        ("nobody",),
        ("…",),
    ),
}
ELSEWHERE = {"response_mode", "page_size", "max_tokens", "chunk_ids", "source_file", "vendor_name", "as_text", "cursor"}
"""Parameters of some tool, route or command that nobody takes for plain words."""
MODE = re.compile(r"\b(?:ids_only|metadata|preview|full) mode")


def advice_in(value) -> Iterator[str]:
    """Every suggestion and remediation of a reply, wherever its dialect has them."""
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if name in ("suggestion", "remediation") and inner:
            yield inner
        elif isinstance(inner, (dict, list)) and name not in ("results", "data"):
            yield from advice_in(inner)


def strangers_in(text, own) -> set[str]:
    """What an advice names and its reader cannot use."""
    named = {one for one in ELSEWHERE if re.search(rf"(?<![\w.-]){one}(?!\w)", text)} - own
    if MODE.search(text) and not own & {"response_mode", "mode"}:
        named.add("response_mode")
    return named


def test_no_tool_suggests_what_it_does_not_take(served):
    async def talk():
        async with Client(served.mcp) as client:
            taken = {one.name: set(one.input_schema["properties"]) for one in await client.list_tools()}
            for tool, cases in TOOLS.items():
                for arguments in cases:
                    result = await client.call_tool(tool, arguments, raise_on_error=False)
                    for text in advice_in(result.structured_content):
                        told.append((tool, text))
                        assert strangers_in(text, taken[tool]) == set(), (tool, arguments, text)

    told = []
    anyio.run(talk)
    assert {tool for tool, _ in told} == set(TOOLS)


def test_no_address_suggests_what_it_does_not_take(http):
    paths = http.get("/openapi.json").json()["paths"]
    told = []
    ways = [(path, cases, *way) for path, cases in ROUTES.items() for way in paths[path].items()]
    for path, cases, method, described in ways:
        taken = {one["name"] for one in described["parameters"] if "name" in one}
        own = taken | ({"source_file", "query"} if method == "post" else set())
        for given in cases:
            asked = {name: value for name, value in given.items() if name in taken and f"{{{name}}}" not in path}
            sent = {name: value for name, value in given.items() if name not in taken} or None
            answer = http.request(method, path.format(**given), params={"envelope": "v2", **asked}, json=sent)
            for text in advice_in(answer.json()):
                told.append((path, text))
                assert strangers_in(text, own) == set(), (path, given, text)
                assert "aerogram://" not in text, "resources are read over MCP"
    assert {path for path, _ in told} == set(ROUTES)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_suggests_what_it_does_not_take(served, command):
    def run(*words):
        line = [command, *words, "--index", str(served.index)]
        return run_program(line, text=True, env=clean_environment(served.index))

    own = {one.replace("-", "_") for one in re.findall(r"--([a-z-]+)", run("--help").stdout)} | {"cursor"}
    told = []
    for words in COMMANDS[command]:
        for text in advice_in(json.loads(run(*words, "--json").stdout)):
            told.append(text)
            assert strangers_in(text, own) == set(), (words, text)
            assert "aerogram://" not in text, "resources are read over MCP"
    assert told


def test_what_to_try_instead_on_the_command_line_is_a_command(served):
    line = ["search", "passkyes", "--category", "security", "--index", str(served.index)]
    done = run_program(line, text=True, check=True, env=clean_environment(served.index))
    assert "try: aerogram search passkeys --category security\n" in done.stdout


def test_a_cut_vendor_says_how_to_see_more_and_it_is_so(served):
    async def talk():
        async with Client(served.mcp) as client:
            asked = {"vendor_name": "Brackwater", "max_tokens": 200_000}
            preview = await client.call_tool("find_vendor_info", {**asked, "response_mode": "preview"})
            full = await client.call_tool("find_vendor_info", {**asked, "response_mode": "full"})
            return preview.structured_content, full.structured_content

    preview, full = anyio.run(talk)
    assert preview["warnings"][0]["suggestion"] == "Use full mode for more of them"
    assert len(full["results"]["entities"]) > len(preview["results"]["entities"])
