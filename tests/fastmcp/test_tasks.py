"""Background tasks of FastMCP: a tool that runs as a task ends in the result that it would have had at once."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types
import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from fastmcp_tasks import TasksExtension, call_tool_task
from mcp.shared.exceptions import MCPError

from aerogram import Archive, Page, Reply
from aerogram.errors import NotFound
from aerogram.fastmcp import install

ROWS = [{"id": f"row-{number}", "text": f"the text of row {number} " * 20} for number in range(60)]
ERAS = ["auto", "legacy"]
"""Tasks are there from 2026-07-28 on; before that the same tools answer at once."""


def server(*, tasks_first: bool = True, **settings: Any) -> FastMCP[Any]:
    """A server whose tools may run as tasks, whichever was added first."""
    made: FastMCP[Any] = FastMCP("tasks")
    if tasks_first:
        made.add_extension(TasksExtension(url="memory://"))
    install(made, **{"dialect": "response-v2", **settings})
    if not tasks_first:
        made.add_extension(TasksExtension(url="memory://"))

    @made.tool(task=True)
    async def double(number: int) -> dict[str, int]:
        await asyncio.sleep(0.01)
        return {"doubled": 2 * number}

    @made.tool(task=True)
    async def rows() -> list[dict[str, str]]:
        return ROWS

    @made.tool(task=True)
    async def page() -> Reply[list[int]]:
        return Reply.ok([1, 2], page=Page("2", has_more=True))

    @made.tool(task=True)
    async def missing() -> dict[str, str]:
        raise NotFound("there is no such thing", remediation="look elsewhere")

    @made.tool(task=True)
    async def crash() -> dict[str, str]:
        raise KeyError("a secret")

    @made.tool(task=True)
    async def picture() -> mcp_types.ImageContent:
        return mcp_types.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")

    return made


async def asked(client: Client[Any], name: str, arguments: dict[str, Any] | None = None) -> Any:
    return await client.call_tool(name, arguments or {}, raise_on_error=False)


@pytest.mark.parametrize("tasks_first", [True, False], ids=["tasks first", "contract first"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_task_ends_in_the_envelope(era: str, tasks_first: bool) -> None:
    """Success, a page of its own, a failure that says what to do, and a crash that is masked."""
    async with Client(server(tasks_first=tasks_first), mode=era) as client:
        done, page, missing, crash, wrong = [
            await asked(client, *call)
            for call in (("double", {"number": 4}), ("page",), ("missing",), ("crash",), ("double", {"number": "x"}))
        ]
    assert done.structured_content["data"] == {"doubled": 8} and not done.is_error
    assert page.structured_content["meta"]["pagination"] == {"cursor": "2", "has_more": True}
    assert missing.is_error and missing.structured_content["data"]["remediation"] == "look elsewhere"
    assert crash.is_error and "secret" not in str(crash)
    assert wrong.is_error and wrong.structured_content["data"]["details"]["pointer"] == "/number"


async def test_a_task_is_created_and_its_result_fetched() -> None:
    """The handle of a task, which the client polls, is the tasks extension's own and passes untouched."""
    async with Client(server()) as client:
        task = await call_tool_task(client, "double", {"number": 4})
        assert task.task_id
        result = await task.result()
    assert result.structured_content["data"] == {"doubled": 8}


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_task_left_out_can_be_retrieved(era: str) -> None:
    """The budget holds for tasks, and the rest is in the archive."""
    async with Client(server(budget=1_500, archive=Archive.in_memory()), mode=era) as client:
        fitted = (await asked(client, "rows")).structured_content
        digest = fitted["meta"]["content_archive_hashes"]["data"]
        back = (await asked(client, "retrieve", {"hash": digest, "ids": ["row-59"]})).structured_content
    assert back["data"]["results"] == [ROWS[59]]


@pytest.mark.parametrize("era", ERAS)
async def test_bare_payloads_and_pictures_of_tasks_are_as_ever(era: str) -> None:
    """Typed results stay what they were, and content is content."""
    async with Client(server(dialect="bare"), mode=era) as client:
        done, missing, picture = [
            await asked(client, *call) for call in (("double", {"number": 4}), ("missing",), ("picture",))
        ]
    assert done.structured_content == {"doubled": 8}
    assert missing.is_error and missing.meta["dev.aerogram/problem"]["code"] == "NOT_FOUND"
    assert [block.type for block in picture.content] == ["image"]


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_a_protocol_error_beside_tasks_too(era: str) -> None:
    """Tasks do not change what a mistake in the request is."""
    async with Client(server(), mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("nowhere", {})
    assert caught.value.error.code == mcp_types.INVALID_PARAMS


async def test_tools_that_may_run_as_tasks_list_no_controls() -> None:
    """A control could not be honoured there, so none is offered."""
    async with Client(server(controls=True)) as client:
        listed = {tool.name: tool for tool in await client.list_tools()}
    assert listed["double"].input_schema["properties"].keys() == {"number"}


async def test_a_task_that_asks_for_input_gets_it() -> None:
    """The question passes untouched, and the answer leads to the envelope."""
    made: FastMCP[Any] = FastMCP("asking")
    made.add_extension(TasksExtension(url="memory://"))
    install(made, dialect="response-v2")
    question = mcp_types.ElicitRequest(
        params=mcp_types.ElicitRequestFormParams(message="Name?", requested_schema={"type": "object", "properties": {}})
    )

    @made.tool(task=True)
    async def greet(context: Context) -> str | mcp_types.InputRequiredResult:
        if context.input_responses:
            return f"hello {context.request_state}"
        return mcp_types.InputRequiredResult(input_requests={"name": question}, request_state="you")

    async def answer(*_: Any) -> Any:
        return {}

    async with Client(made, elicitation_handler=answer) as client:
        result = await asked(client, "greet")
    assert result.structured_content["data"] == {"result": "hello you"}


async def later() -> dict[str, int]:
    return {"number": 1}


class AddsATask(Transform):
    """A transform that has a tool of its own, which runs as a task."""

    tool = Tool.from_function(later, task=True)

    async def list_tools(self, tools: Any) -> Any:
        return [*tools, self.tool]

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        return self.tool if name == "later" else await call_next(name, version=version)


@pytest.mark.parametrize("tasks_first", [True, False], ids=["tasks first", "contract first"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_task_that_a_late_transform_adds_ends_in_the_envelope(era: str, tasks_first: bool) -> None:
    made = server(tasks_first=tasks_first)
    made.add_transform(AddsATask())
    async with Client(made, mode=era) as client:
        assert (await asked(client, "later")).structured_content["data"] == {"number": 1}
