"""One handler through a real MCP client and a real HTTP server, in two dialects."""

import importlib.util
import socket
import threading
import time
from pathlib import Path

import fastmcp
import httpx
import pytest
import uvicorn

from aerogram import read

EXAMPLE = Path(__file__).parents[2] / "examples" / "tasks.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("tasks_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def address(example):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(example.app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


async def call(example, **arguments):
    async with fastmcp.Client(example.mcp) as client:
        return await client.call_tool("tasks", arguments, raise_on_error=False)


async def test_an_mcp_client_walks_the_pages_of_a_tool_in_response_v2(example):
    seen, offset = [], 0
    while True:
        reply = read((await call(example, offset=offset)).structured_content)
        seen += [row["task_id"] for row in reply.data]
        if not reply.page.has_more:
            break
        offset = int(reply.page.cursor)
    assert seen == [task["task_id"] for task in example.TASKS]


async def test_an_mcp_client_gets_an_error_it_can_act_on(example):
    result = await call(example, offset=-1)
    problem = read(result.structured_content).problem
    assert result.is_error
    assert (problem.code, problem.kind, problem.retryable) == ("VALIDATION_ERROR", "validation", False)
    assert problem.details == {"field": "offset", "received": -1}
    assert problem.remediation


def test_an_http_client_gets_the_same_page_in_standard_v2(address, example):
    response = httpx.get(f"{address}/tasks", params={"offset": 3}, timeout=60)
    reply = read(response.content)
    assert response.json()["status"] == "sparse"
    assert reply.data == example.TASKS[3:6]
    assert reply.page.cursor == "6"


def test_an_http_client_gets_the_same_error_in_standard_v2(address):
    response = httpx.get(f"{address}/tasks", params={"offset": -1}, timeout=60)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "VALIDATION_ERROR"
    assert read(response.content).problem.details == {"field": "offset", "received": -1}
