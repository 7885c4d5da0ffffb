"""Code mode: the code that a client sends gets what the schemas promise that it was written from."""

from __future__ import annotations

import json
from typing import Any

import fastmcp
import jsonschema_rs
import pytest
from fastmcp.experimental.transforms.code_mode import CodeMode
from pydantic import BaseModel

from aerogram import read
from aerogram.archive import Archive
from aerogram.errors import NotFound
from aerogram.fastmcp import install


class Task(BaseModel):
    task_id: str
    title: str


def tasks(count: int) -> list[Task]:
    if count < 0:
        raise NotFound("there are no tasks below none")
    return [Task(task_id=f"task-{number}", title="Water the plants") for number in range(count)]


def task(number: int) -> Task:
    return Task(task_id=f"task-{number}", title="Water the plants")


class Inline:
    """Runs code where it stands: it is the test's own, so no sandbox is needed."""

    async def run(self, code: str, *, external_functions: Any) -> Any:
        scope = dict(external_functions)
        exec("async def main():\n" + "\n".join(f"    {line}" for line in code.splitlines()), scope)
        return await scope["main"]()


@pytest.fixture(params=["contract first", "code mode first"])
def order(request: pytest.FixtureRequest) -> Any:
    return request.param


def server_of(dialect: str, order: str) -> fastmcp.FastMCP[Any]:
    server = fastmcp.FastMCP("coded")
    server.tool(tasks)
    server.tool(task)
    steps = [
        lambda: install(server, dialect=dialect, budget=1_000, controls=["tasks"], archive=Archive.in_memory()),
        lambda: server.add_transform(CodeMode(sandbox_provider=Inline())),
    ]
    for step in steps if order == "contract first" else reversed(steps):
        step()
    return server


def data_of(result: Any) -> Any:
    """What a model reads of a result, without the envelope or the box around it."""
    data = read(result).data
    return data["result"] if isinstance(data, dict) and data.keys() == {"result"} else data


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
async def test_code_gets_what_the_schema_promises(dialect: str, order: str) -> None:
    async with fastmcp.Client(server_of(dialect, order)) as client:
        asked = {"tools": ["tasks", "task"], "detail": "full"}
        told = data_of(await client.call_tool_mcp("get_schema", asked))
        many, one = json.loads(told) if isinstance(told, str) else told
        assert "task_id" in json.dumps(many["outputSchema"])
        calls = (many, {"count": 3}), (many, {"count": 0}), (one, {"number": 7})
        for tool, arguments in calls:
            assert arguments.keys() == tool["inputSchema"]["properties"].keys()
            code = f"return await call_tool({tool['name']!r}, {arguments!r})"
            sent = data_of(await client.call_tool_mcp("execute", {"code": code}))
            sent = sent if isinstance(sent, dict) else {"result": sent}
            jsonschema_rs.validate(tool["outputSchema"], sent)


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
async def test_code_gets_every_row_and_its_answer_is_fitted(dialect: str, order: str) -> None:
    async with fastmcp.Client(server_of(dialect, order)) as client:
        rows = "(await call_tool('tasks', {'count': 500}))['result']"
        assert data_of(await client.call_tool_mcp("execute", {"code": f"return [len({rows})]"})) == [500]
        whole = await client.call_tool_mcp("execute", {"code": f"return {rows}"})
        assert "task-0" in whole.content[0].text and "retrieve(" in whole.content[0].text
        assert "task-499" not in whole.content[0].text


@pytest.mark.parametrize("dialect", ["bare", "response-v2"])
async def test_a_failure_inside_is_told_in_its_own_words(dialect: str, order: str) -> None:
    async with fastmcp.Client(server_of(dialect, order)) as client:
        failed = await client.call_tool_mcp("execute", {"code": "return await call_tool('tasks', {'count': -1})"})
    assert failed.is_error and "there are no tasks below none" in failed.content[0].text
