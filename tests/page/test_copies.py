"""Copy as: what is copied runs as it is and gets the reply that was shown."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from node_packages import node_and_package
from page.conftest import QUESTION
from programs import quick_command
from server.test_protocol import CLIENT

HARD = "What's a \"token\"? $HOME `id` \\ & ; 'トークン' %41"
CALLS = {
    "search": {"operation": "semantic_search", "arguments": QUESTION},
    "filtered": {
        "operation": "semantic_search",
        "arguments": {
            "query": HARD,
            "page_size": 3,
            "filters": {"category": ["security", "apis"], "after": "2020-01-01"},
        },
    },
    "vendor": {"operation": "find_vendor_info", "arguments": {"vendor_name": "Kestrelgate Inc."}},
    "chunk": {"operation": "get_chunks", "arguments": {"chunk_ids": [1]}},
    "digest": {
        "operation": "digest_document",
        "arguments": {"source_file": "security/jwt-guide.md", "query": "How long is a token 'valid'?"},
    },
}


@pytest.fixture(params=CALLS)
def copied(request, ask):
    """The snippets for a call, and the call."""
    call = CALLS[request.param]
    return ask("copy", call=call, mode="preview", budget=1500), call


def run(command, **options) -> str:
    plain = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=plain, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_curl_gets_the_reply(copied):
    snippets, call = copied
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    body = json.loads(run(["sh", "-c", snippets["curl"]]))
    assert body["status"] in ("rich", "sparse", "partial"), body
    if call["operation"] == "semantic_search":
        assert len(body["results"]) == call["arguments"]["page_size"]
    if "filters" in call["arguments"]:
        assert body["query_echo"]["normalized_input"]["q"] == call["arguments"]["query"]
        assert body["query_echo"]["applied_filters"] == call["arguments"]["filters"]


def test_python_gets_the_reply_and_everything_that_was_left_out(copied, tmp_path):
    snippets, _ = copied
    ast.parse(snippets["python"])
    script = tmp_path / "copied.py"
    script.write_text(snippets["python"], encoding="utf-8")
    assert run(quick_command(str(script))).strip().endswith(("items in all", "1 documents in all"))


@pytest.fixture(scope="session")
def typescript(tmp_path_factory):
    """Runs a script with the official TypeScript client beside it."""
    node, modules = node_and_package(*CLIENT)
    folder = tmp_path_factory.mktemp("copied")
    (folder / "node_modules").symlink_to(modules)

    def execute(text: str) -> str:
        script = Path(folder) / "copied.mjs"
        script.write_text(text, encoding="utf-8")
        return run([node, str(script)])

    return execute


def test_typescript_gets_the_reply(copied, typescript):
    snippets, call = copied
    body = json.loads(typescript(snippets["typescript"]))
    assert body["_metadata"]["operation"] == call["operation"]
    assert body["_metadata"]["status"] in ("success", "partial")


def test_typescript_asks_for_the_dialect_that_is_shown(ask, typescript):
    call = CALLS["search"]
    assert "_meta" not in ask("copy", call=call, dialect="knowledge-1.0")["typescript"]
    snippet = ask("copy", call=call, mode="preview", budget=1500, dialect="response-v2")["typescript"]
    assert json.loads(typescript(snippet))["meta"]["version"] == "response-v2"


def test_configurations_of_clients_reach_the_server(ask, search_page):
    told = ask("copy", call=CALLS["search"])["mcp"]
    assert {row["client"] for row in told} >= {"claude-code", "cursor", "vscode"}
    for row in told:
        said = json.loads(row["text"])
        (servers,) = said.values()
        assert servers["aerogram"]["url"] == search_page.mcp
        assert row["file"].endswith(".json")


def test_a_client_connects_by_the_configuration_that_is_copied(ask, tmp_path):
    import asyncio

    from fastmcp import Client

    config = json.loads(
        next(row["text"] for row in ask("copy", call=CALLS["search"])["mcp"] if row["client"] == "cursor")
    )

    async def names() -> set[str]:
        async with Client(config) as client:
            return {tool.name for tool in await client.list_tools()}

    assert "semantic_search" in asyncio.run(names())


def test_what_is_no_operation_is_not_copied(http):
    answer = http.post("/page/api/copy", json={"call": {"operation": "rm -rf", "arguments": {}}})
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
