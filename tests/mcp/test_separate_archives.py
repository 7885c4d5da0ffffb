"""What a server leaves out by default is kept apart from what others leave out."""

from __future__ import annotations

import re

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


def on_fastmcp(name: str | None, kind: str) -> Client:
    server = FastMCP(name)
    server.tool(lambda: rows(kind), name="rows")
    aerogram.fastmcp.install(server, budget=300)
    return Client(server)


def on_sdk(name: str, kind: str) -> SdkClient:
    server = MCPServer(name)
    server.tool(name="rows")(lambda: rows(kind))
    aerogram.mcp.install(server, budget=300)
    return SdkClient(server)


async def text_of(client, tool: str, **arguments: object) -> str:
    options = {"raise_on_error": False} if isinstance(client, Client) else {}
    async with client:
        return (await client.call_tool(tool, arguments, **options)).content[-1].text


def hash_in(text: str) -> str:
    return re.search(r"hash='([0-9a-f]{12})'", text)[1]


@pytest.mark.parametrize("make", [on_fastmcp, on_sdk])
async def test_one_server_gives_out_nothing_that_another_left_out(make):
    left = hash_in(await text_of(make("mail", "letter"), "rows"))
    web = make("web", "page")
    await text_of(web, "rows")
    assert "letter" not in await text_of(make("web", "page"), "retrieve", hash=left)
    assert "page 7" in await text_of(make("web", "page"), "retrieve", ids=["7"])


@pytest.mark.parametrize(("make", "name"), [(on_fastmcp, "mail"), (on_fastmcp, None), (on_sdk, "mail")])
async def test_the_same_server_gives_it_out_after_a_restart(make, name):
    left = hash_in(await text_of(make(name, "letter"), "rows"))
    assert "letter 0" in await text_of(make(name, "letter"), "retrieve", hash=left)
