"""The example programs, run as programs: a paged, budgeted, negotiated reply, and an error to act on."""

from pathlib import Path

import pytest
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters
from mcp.client import advertise

from aerogram import read, validate
from aerogram._mcp.negotiation import EXTENSION
from programs import quick_command
from tool_servers import talk

EXAMPLES = Path(__file__).parents[2] / "examples"


def program(framework):
    program, *words = quick_command(str(EXAMPLES / f"tasks_{framework}.py"))
    if framework == "fastmcp":
        return StdioTransport(program, words, keep_alive=False)
    return StdioServerParameters(command=program, args=words)


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
async def test_an_example_shows_all_that_it_promises(framework):
    asking = advertise(EXTENSION, {"dialect": "standard-v2"})
    async with talk(framework, program(framework), "auto", extensions=[asking]) as server:
        page = read((await server.call("list_tasks", {"page_size": 5})).structured_content)
        whole = await server.call("list_tasks")
        failed = await server.call("get_task", {"number": 99})
    assert [task["task_id"] for task in page.data] == [f"task-{number:03}" for number in range(1, 6)]
    assert page.page.has_more and page.page.cursor
    fitted = read(whole.structured_content)
    assert fitted.status == "partial" and 5 < len(fitted.data) < fitted.page.total == 30 and fitted.page.cursor
    assert validate(whole.structured_content).name == "standard-v2"
    assert failed.is_error and failed.meta["dev.aerogram/problem"]["remediation"] == "list_tasks has the numbers"
