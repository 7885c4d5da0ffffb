"""A cache that two servers share keeps the answers of each apart; the processes of one server share theirs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from aerogram import Reply
from aerogram.contract.cache import Cache

RUNNER = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import main
print(asyncio.run(main.ask()))
"""
CACHE = """
from aerogram.contract.cache import Cache
cache = Cache.in_redis({url!r}) if {url!r} else Cache.at()
"""
MCP = """
async def search(query: str) -> list[dict]:
    return [{{"from": {answer!r}, "query": query}}]
"""
FASTMCP = """
from fastmcp import Client, FastMCP
from aerogram.fastmcp import install
server = FastMCP({name!r})
install(server, cache=cache, cached=["search"])
server.tool(search)
async def ask():
    async with Client(server) as client:
        return (await client.call_tool("search", {{"query": "pay"}})).content[0].text
"""
SDK = """
from mcp import Client
from mcp.server.mcpserver import MCPServer
from aerogram.mcp import install
server = MCPServer({name!r})
install(server, cache=cache, cached=["search"])
server.tool()(search)
async def ask():
    async with Client(server) as client:
        return (await client.call_tool("search", {{"query": "pay"}})).content[0].text
"""
FASTAPI = """
from fastapi import FastAPI
from fastapi.testclient import TestClient
from aerogram import Contract
from aerogram.fastapi import install
app = FastAPI()
install(app, Contract(cache=cache, cached=["search"]))
@app.get("/search")
def search(query: str):
    return [{{"from": {answer!r}, "query": query}}]
async def ask():
    return TestClient(app).get("/search", params={{"query": "pay"}}).text
"""
STARLETTE = """
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from aerogram import Contract
from aerogram.starlette import install
def search(request):
    return [{{"from": {answer!r}}}]
app = Starlette(routes=[Route("/search", search)])
install(app, Contract(cache=cache, cached=["search"]))
async def ask():
    return TestClient(app).get("/search", params={{"query": "pay"}}).text
"""
KINDS = {
    "fastmcp": CACHE + MCP + FASTMCP,
    "mcp": CACHE + MCP + SDK,
    "fastapi": CACHE + FASTAPI,
    "starlette": CACHE + STARLETTE,
}


@pytest.fixture(params=["files", "redis"])
def ask(request, tmp_path, monkeypatch):
    """Ask a program of this kind and name, run by the same runner as the others, which says this if it is asked."""
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    monkeypatch.setenv("AEROGRAM_STATE", str(tmp_path / "state"))
    runner = tmp_path / "runner.py"
    runner.write_text(RUNNER)

    def ask(kind: str, name: str, answer: str) -> str:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "main.py").write_text(KINDS[kind].format(url=url, name=name, answer=answer))
        # what is compiled would be taken for the text that came after it within one second
        command = [sys.executable, "-B", "-W", "ignore", str(runner), str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    return ask


@pytest.mark.parametrize("kind", KINDS)
def test_one_program_gives_out_nothing_that_another_has_answered(ask, kind):
    assert "salaries" in ask(kind, "staff", "salaries")
    assert "weather" in ask(kind, "public", "weather")


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_process_of_a_server_gives_what_the_first_has_answered(ask, kind):
    assert "first" in ask(kind, "staff", "first")
    assert "first" in ask(kind, "staff", "second")


async def test_a_cache_keeps_the_owner_that_it_was_given(tmp_path):
    """So servers that stand in different places can be one, and two that look alike can be told apart."""

    async def answer(owner: str, program: str) -> object:
        async def produce():
            return Reply.ok(f"{owner} {program}")

        cache = Cache.at(tmp_path, owner=owner).owned_by(program)
        return (await cache.fetch(Cache.key("search", {"q": "who answers"}), produce)).data

    assert await answer("orders", "one") == await answer("orders", "two") == "orders one"
    assert await answer("stock", "two") == "stock two"
    assert await answer("", "one") == " one" and await answer("", "two") == " two"
