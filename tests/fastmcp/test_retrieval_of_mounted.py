"""What the replies of mounted servers leave out is there for whoever got them, under the names that they have."""

import json

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.transforms import ToolTransform
from fastmcp.tools.tool_transform import ToolTransformConfig

from aerogram import Archive
from aerogram.client import AsyncClient
from aerogram.fastmcp import install

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
BUDGETS = pytest.mark.parametrize("budget", [600, 1_500])
ROWS = [{"id": number, "text": "word " * 30} for number in range(60)]


def rows() -> list[dict]:
    """List rows."""
    return ROWS


def child(**settings) -> FastMCP:
    server = FastMCP("child")
    server.tool(rows)
    if settings:
        install(server, archive=Archive.in_memory(), **{"dialect": "response-v2", **settings})
    return server


async def whole(server, name, era="auto"):
    async with Client(server, mode=era) as client:
        caller = AsyncClient(client)
        reply = await caller.call(name)
        assert reply.fidelity.level != "full"
        names = {tool.name for tool in await client.list_tools()}
        assert {action.tool for action in reply.actions if action.tool} <= names
        return (await caller.whole(reply)).data


@ERAS
@BUDGETS
@pytest.mark.parametrize("namespace", [None, "kid"])
@pytest.mark.parametrize("outer", [None, {"budget": 700}, {"budget": 5_000}, {}], ids=str)
async def test_everything_can_be_had_whoever_has_a_contract(outer, namespace, budget, era):
    parent = FastMCP("parent")
    parent.mount(child(budget=budget), namespace=namespace)
    if outer is not None:
        install(
            parent,
            archive=Archive.in_memory() if outer else None,
            negotiate=None,
            **{"dialect": "response-v2", **outer},
        )
    assert await whole(parent, f"{namespace}_rows" if namespace else "rows", era) == ROWS


@ERAS
@pytest.mark.parametrize("depth", [2, 3])
async def test_everything_can_be_had_from_any_depth(depth, era):
    server, name = child(budget=1_500), "rows"
    for level in range(depth):
        parent, name = FastMCP(f"level{level}"), f"n{level}_{name}"
        parent.mount(server, namespace=f"n{level}")
        server = parent
    assert await whole(server, name, era) == ROWS


async def test_the_retrieval_tool_that_a_reply_names_is_the_one_that_is_listed():
    parent = FastMCP("parent")
    parent.mount(child(budget=1_500), namespace="kid")
    async with Client(parent) as client:
        result = await client.call_tool("kid_rows", {})
        assert "kid_retrieve" in result.content[0].text
        digest = result.structured_content["meta"]["content_archive_hashes"]["data"]
        back = await client.call_tool("kid_retrieve", {"hash": digest, "page_size": 2})
        assert back.structured_content["data"]["results"] == ROWS[:2]


async def test_a_tool_that_is_called_by_another_one_does_not_lend_it_its_name():
    server = FastMCP("alone")
    server.tool(rows)

    @server.tool
    async def all_rows() -> dict:
        """Call the other tool."""
        return json.loads((await server.call_tool("rows")).content[0].text)

    install(server, dialect="response-v2", budget=1_500, archive=Archive.in_memory())
    assert await whole(server, "all_rows") == ROWS


async def test_a_tool_under_another_name_is_found_by_what_is_listed():
    parent = FastMCP("parent")
    parent.mount(child(budget=600), namespace="kid")
    parent.add_transform(ToolTransform({"kid_rows": ToolTransformConfig(name="everything")}))
    assert await whole(parent, "everything") == ROWS
