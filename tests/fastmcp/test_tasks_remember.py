"""Background tasks end in what their client asked for: its dialect, its size, its request id and its mark."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp_tasks import TasksExtension
from mcp.client import advertise

from aerogram import Archive
from aerogram._mcp.negotiation import EXTENSION
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.tokens import Budget

ROWS = [{"id": number, "text": "word " * 50} for number in range(40)]
META = {"dev.aerogram/request_id": "req_mine", "dev.aerogram/client_tag": "my tag"}
BOTH = pytest.mark.parametrize("tasks_first", [True, False], ids=["tasks first", "contract first"])


def server(tasks_first: bool, **settings: Any) -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("tasks")
    if tasks_first:
        made.add_extension(TasksExtension(url="memory://"))
    install(made, **{"dialect": "response-v2", **settings})
    if not tasks_first:
        made.add_extension(TasksExtension(url="memory://"))

    @made.tool(task=True)
    async def rows(ctx: Context, most: int = 40) -> list[dict[str, Any]]:
        return ROWS[:most]

    @made.tool
    def rows_at_once(most: int = 40) -> list[dict[str, Any]]:
        return ROWS[:most]

    @made.tool(task=True)
    async def missing() -> dict[str, Any]:
        raise NotFound("no such row")

    return made


@BOTH
async def test_a_task_ends_in_the_dialect_that_its_client_asked_for(tasks_first: bool) -> None:
    wanted = advertise(EXTENSION, {"dialect": "standard-v2"})
    made = server(tasks_first, offers=["standard-v2"])
    async with Client(made, extensions=[wanted]) as client:
        at_once, task, failed, wrong = [
            await client.call_tool(name, given, raise_on_error=False, meta=META)
            for name, given in (
                ("rows_at_once", {"most": 9}),
                ("rows", {"most": 9}),
                ("missing", {}),
                ("rows", {"most": "x"}),
            )
        ]
    assert task.structured_content["results"] == at_once.structured_content["results"] == ROWS[:9]
    assert failed.structured_content["error"]["code"] == "NOT_FOUND" and "error" in wrong.structured_content
    for one in (at_once, task, failed, wrong):
        assert one.structured_content["meta"]["request_id"] == "req_mine"
        assert "my tag" in str(one.structured_content)


@BOTH
async def test_a_task_keeps_to_the_size_that_its_client_asked_for(tasks_first: bool) -> None:
    wanted = advertise(EXTENSION, {"max_tokens": 400})
    made = server(tasks_first, budget=900, archive=Archive.in_memory())
    async with Client(made, extensions=[wanted]) as client:
        task = await client.call_tool("rows")
    assert Budget.of(400).counter.count(task.content[0].text) <= 400


@BOTH
async def test_a_client_that_asks_for_nothing_gets_what_the_contract_says(tasks_first: bool) -> None:
    async with Client(server(tasks_first)) as client:
        tool = next(one for one in await client.list_tools() if one.name == "rows")
        task = await client.call_tool("rows", {"most": 3})
    assert list(tool.input_schema["properties"]) == ["most"]
    assert task.structured_content["data"]["results"] == ROWS[:3]
