"""Transforms that add tools: whether they come before or after `install`, their tools answer under the contract."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.transforms import Namespace, PromptsAsTools, ResourcesAsTools
from fastmcp.server.transforms.search import BM25SearchTransform

from aerogram.errors import NotFound
from aerogram.fastmcp import install

BOTH = pytest.mark.parametrize("is_late", [False, True], ids=["before install", "after install"])
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


def server(is_late: bool, *transforms: Any, **settings: Any) -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("transformed")
    chosen = [one(made) if one in (ResourcesAsTools, PromptsAsTools) else one() for one in transforms]
    for one in chosen if not is_late else ():
        made.add_transform(one)
    install(made, **{"dialect": "response-v2", **settings})
    for one in chosen if is_late else ():
        made.add_transform(one)

    @made.resource("data://one")
    def one() -> dict[str, int]:
        return {"k": 1}

    @made.prompt
    def greeting(name: str) -> str:
        return f"Hello {name}"

    @made.tool
    def rows() -> list[dict[str, int]]:
        return [{"id": number} for number in range(9)]

    @made.tool
    def missing() -> dict[str, int]:
        raise NotFound("no such row")

    return made


async def asked(client: Client[Any], name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """The envelope of a call; the client has listed the tools, and validates by their schemas."""
    return (await client.call_tool(name, arguments or {}, raise_on_error=False)).structured_content


@BOTH
@ERAS
async def test_resources_and_prompts_as_tools_answer_alike(era: str, is_late: bool) -> None:
    async with Client(server(is_late, ResourcesAsTools, PromptsAsTools), mode=era) as client:
        listed = {tool.name: tool for tool in await client.list_tools()}
        found = [
            await asked(client, "list_resources"),
            await asked(client, "read_resource", {"uri": "data://one"}),
            await asked(client, "list_prompts"),
            await asked(client, "get_prompt", {"name": "greeting", "arguments": {"name": "Ann"}}),
        ]
        unknown = await asked(client, "read_resource", {"uri": "data://none"})
    assert all(one["success"] for one in found) and "Hello Ann" in str(found[3]["data"])
    assert listed["list_resources"].output_schema["required"] == listed["rows"].output_schema["required"]
    assert unknown["data"]["error_code"] == "NOT_FOUND"


@BOTH
@ERAS
async def test_tools_of_a_search_answer_alike(era: str, is_late: bool) -> None:
    async with Client(server(is_late, BM25SearchTransform, controls=["rows"]), mode=era) as client:
        await client.list_tools()
        found = await asked(client, "search_tools", {"query": "rows"})
        page = await asked(client, "call_tool", {"name": "rows", "arguments": {"page_size": 2}})
        failed = await asked(client, "call_tool", {"name": "missing"})
        unknown = await asked(client, "call_tool", {"name": "nothing"})
    assert found["success"] and "rows" in str(found["data"])
    assert page["data"]["results"] == [{"id": 0}, {"id": 1}] and page["meta"]["pagination"]["has_more"]
    assert failed["data"]["error_code"] == unknown["data"]["error_code"] == "NOT_FOUND"


@BOTH
@ERAS
async def test_a_transform_that_renames_keeps_the_answers(
    era: str, is_late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    async with Client(server(is_late, lambda: Namespace("api"), ResourcesAsTools), mode=era) as client:
        await client.list_tools()
        rows, resources = await asked(client, "api_rows"), await asked(client, "list_resources")
    assert len(rows["data"]["results"]) == 9 and resources["success"]


@ERAS
async def test_transforms_may_come_while_the_server_is_answering(era: str) -> None:
    made = server(False)
    async with Client(made, mode=era) as client:
        for transform, name in ((ResourcesAsTools(made), "list_resources"), (PromptsAsTools(made), "list_prompts")):
            made.add_transform(transform)
            listed = {tool.name: tool for tool in await client.list_tools()}
            assert listed[name].output_schema["required"] == listed["rows"].output_schema["required"]
            assert (await asked(client, name))["success"]
        made.add_transform(BM25SearchTransform())
        assert (await asked(client, "search_tools", {"query": "rows"}))["success"]
    assert len(made.transforms) <= 2 * 3 + 1  # one of ours for each that came, and the first
