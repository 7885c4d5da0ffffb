"""What a server leaves out by default is kept apart from what others leave out."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx2
import pytest
from fastmcp import Client, FastMCP
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp


def rows(kind: str) -> list[dict[str, object]]:
    return [{"id": number, "title": f"{kind} {number}", "body": "word " * 60} for number in range(100)]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("AEROGRAM_STATE", str(tmp_path))


def on_fastmcp(name: str | None, kind: str) -> FastMCP:
    server = FastMCP(name)
    server.tool(lambda: rows(kind), name="rows")
    aerogram.fastmcp.install(server, budget=300)
    return server


def on_sdk(name: str | None, kind: str) -> MCPServer:
    server = MCPServer(name)
    server.tool(name="rows")(lambda: rows(kind))
    aerogram.mcp.install(server, budget=300)
    return server


async def text_of(server: FastMCP | MCPServer, tool: str, **arguments: object) -> str:
    is_fastmcp = isinstance(server, FastMCP)
    options = {"raise_on_error": False} if is_fastmcp else {}
    async with Client(server) if is_fastmcp else SdkClient(server) as client:
        return (await client.call_tool(tool, arguments, **options)).content[-1].text


def hash_in(text: str) -> str:
    return re.search(r"hash='([0-9a-f]{12})'", text)[1]


@pytest.mark.parametrize("make", [on_fastmcp, on_sdk])
async def test_one_server_gives_out_nothing_that_another_left_out(make):
    left = hash_in(await text_of(make("mail", "letter"), "rows"))
    web = make("web", "page")
    await text_of(web, "rows")
    assert "letter" not in await text_of(web, "retrieve", hash=left)
    assert "page 7" in await text_of(web, "retrieve", ids=["7"])


def of_description(name: str | None, kind: str) -> FastMCP:
    """A server made from a description of an API, which all have one name unless they are given one."""
    description = {"openapi": "3.1.0", "info": {"title": kind, "version": "1"}, "paths": {}}
    named = {} if name is None else {"name": name}
    server = FastMCP.from_openapi(description, httpx2.AsyncClient(base_url="http://localhost"), **named)
    server.tool(lambda: rows(kind), name="rows")
    aerogram.fastmcp.install(server, budget=300)
    return server


@pytest.mark.parametrize("second", [on_fastmcp, on_sdk, of_description])
@pytest.mark.parametrize("first", [on_fastmcp, on_sdk, of_description])
async def test_servers_without_a_name_give_out_nothing_of_each_other(first, second):
    left = hash_in(await text_of(first(None, "letter"), "rows"))
    other = second(None, "page")
    await text_of(other, "rows")
    assert "letter" not in await text_of(other, "retrieve", hash=left)
    assert "page 7" in await text_of(other, "retrieve", ids=["7"])


@pytest.mark.parametrize("make", [on_fastmcp, on_sdk])
async def test_names_that_end_alike_are_names(make):
    """As a server without one could be called, but is not."""
    left = hash_in(await text_of(make("mail-2024", "letter"), "rows"))
    assert "letter" not in await text_of(make("mail-2025", "page"), "retrieve", hash=left)
    assert "letter 0" in await text_of(make("mail-2024", "letter"), "retrieve", hash=left)


@pytest.mark.parametrize("make", [on_fastmcp, on_sdk])
async def test_the_same_server_gives_it_out_after_a_restart(make):
    left = hash_in(await text_of(make("mail", "letter"), "rows"))
    assert "letter 0" in await text_of(make("mail", "letter"), "retrieve", hash=left)


NAMELESS = """
import asyncio, sys
from fastmcp import Client, FastMCP
from aerogram.fastmcp import install

servers = []
for kind in ("letter", "page"):
    rows = [{"id": number, "title": f"{kind} {number}", "body": "word " * 60} for number in range(100)]
    server = FastMCP()
    server.tool(lambda rows=rows: rows, name="rows")
    install(server, budget=300)
    servers.append(server)

async def ask(server):
    tool, arguments = ("retrieve", {"hash": sys.argv[1]}) if sys.argv[1:] else ("rows", {})
    async with Client(server) as client:
        return (await client.call_tool(tool, arguments, raise_on_error=False)).content[-1].text

for server in servers:
    print(repr(asyncio.run(ask(server))))
"""


def test_each_server_without_a_name_gives_it_out_after_a_restart(tmp_path):
    """A restart is another process: in one process they would be two servers."""
    script = tmp_path / "nameless.py"
    script.write_text(NAMELESS)

    def start(*arguments: str) -> list[str]:
        command = [sys.executable, "-W", "ignore", str(script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()

    letters, pages = map(hash_in, (text.replace("\\'", "'") for text in start()))
    of_letters, of_pages = start(letters)
    assert "letter 0" in of_letters and "NOT_FOUND" in of_pages
    of_letters, of_pages = start(pages)
    assert "NOT_FOUND" in of_letters and "page 0" in of_pages


LAUNCHER = """
import importlib.util, sys

_, program, *sys.argv[1:] = sys.argv
found = importlib.util.spec_from_file_location("program", program)
found.loader.exec_module(importlib.util.module_from_spec(found))
"""
HELPER = """
from fastmcp import FastMCP
from aerogram.fastmcp import install

def make():
    server = FastMCP()
    install(server, budget=300)
    return server
"""
LAUNCHED = """
import asyncio, sys
from fastmcp import Client
sys.path.append(sys.argv[1])
from helper import make

server, (tool, arguments) = make(), eval(sys.argv[2])
server.tool(lambda: [{"id": n, "title": f"%s {n}", "body": "word " * 60} for n in range(100)], name="rows")

async def ask():
    async with Client(server) as client:
        return (await client.call_tool(tool, arguments, raise_on_error=False)).content[-1].text

print(asyncio.run(ask()))
"""


def test_programs_that_one_launcher_starts_give_out_nothing_of_each_other(tmp_path):
    """As `fastmcp run` and uvicorn start them; what makes their servers may be the same for all."""
    (tmp_path / "launch.py").write_text(LAUNCHER)
    (tmp_path / "helper.py").write_text(HELPER)
    for name in ("letter", "page"):
        (tmp_path / f"{name}.py").write_text(LAUNCHED % name)

    def ask(name: str, tool: str, **arguments: object) -> str:
        place = [str(tmp_path / "launch.py"), str(tmp_path / f"{name}.py"), str(tmp_path)]
        command = [sys.executable, "-W", "ignore", *place, repr((tool, arguments))]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    left = hash_in(ask("letter", "rows"))
    assert "letter 7" in ask("letter", "retrieve", ids=["7"])
    assert "NOT_FOUND" in ask("page", "retrieve", ids=["7"])
    assert "NOT_FOUND" in ask("page", "retrieve", hash=left)
