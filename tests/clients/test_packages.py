"""Real client packages: behind each, a scripted model completes its work with what that package lets it read."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StdioTransport

from aerogram.content.jsontext import dumps, loads
from aerogram.state import file_lock
from client_script import follow
from node_packages import node_and_package
from programs import quick_command

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache"
SERVER = str(HERE / "library.py")
CALLS = 7
PACKAGES = {
    "langchain": ("play_langchain.py", "langchain-mcp-adapters==0.3.2"),
    "openai-agents": ("play_openai_agents.py", "openai-agents==0.24.0"),
}
"""In environments of their own: they stand on an older MCP SDK than the project does."""


async def play(call: Any, reads: Any) -> int:
    """Follow the script to its end; how many calls that took."""
    script, count = follow(), 0
    name, arguments = next(script)
    while True:
        count += 1
        try:
            name, arguments = script.send(reads(await call(name, arguments)))
        except StopIteration:
            return count


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def structured_of(result: Any) -> str:
    """What a client reads that prefers structured content; of a failure it reads the text."""
    return text_of(result) if result.structured_content is None else dumps(result.structured_content).decode()


async def test_the_client_of_fastmcp() -> None:
    program, *words = quick_command(SERVER)
    async with fastmcp.Client(StdioTransport(program, words, keep_alive=False)) as client:
        for reads in (text_of, structured_of):
            assert await play(client.call_tool_mcp, reads) == CALLS


async def test_the_client_of_the_sdk() -> None:
    program, *words = quick_command(SERVER)
    async with mcp.Client(mcp.StdioServerParameters(command=program, args=words)) as client:
        for reads in (text_of, structured_of):
            assert await play(client.call_tool, reads) == CALLS


@pytest.mark.parametrize(("mode", "channel"), [("auto", "structured"), ("legacy", "text")])
async def test_the_typescript_client_of_the_sdk(mode: str, channel: str, tmp_path: Path) -> None:
    node, modules = node_and_package("mcp-sdk", "@modelcontextprotocol/client", "2.4.0")
    (tmp_path / "node_modules").symlink_to(modules)
    program = shutil.copy(HERE / "play_typescript.mjs", tmp_path)
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    client = await asyncio.create_subprocess_exec(node, program, mode, channel, *quick_command(SERVER), **pipes)
    assert client.stdin is not None and client.stdout is not None
    to_client, from_client = client.stdin, client.stdout

    async def call(name: str, arguments: dict[str, Any]) -> str:
        to_client.write(dumps([name, arguments]) + b"\n")
        await to_client.drain()
        return str(loads(await from_client.readline()))

    try:
        assert await play(call, str) == CALLS
    finally:
        to_client.close()
        status = await client.wait()
    assert status == 0


async def test_an_agent_of_pydantic_ai() -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: make setup")
    from pydantic_ai import Agent, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.function import FunctionModel

    script, calls = follow(), []

    async def model(messages: list[Any], _: Any) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart | RetryPromptPart):
            words = last.content if isinstance(last.content, str) else dumps(last.content).decode()
        try:
            call = next(script) if not calls else script.send(words)
        except StopIteration:
            return ModelResponse(parts=[TextPart("done")])
        calls.append(call)
        return ModelResponse(parts=[ToolCallPart(*call)])

    program, *words = quick_command(SERVER)
    toolset = MCPToolset(StdioTransport(program, words, keep_alive=False), max_retries=3, init_timeout=60)
    async with Agent(FunctionModel(model), toolsets=[toolset]) as agent:
        assert (await agent.run("Read the plan")).output == "done"
    assert len(calls) == CALLS


def environment(name: str, package: str) -> Path:
    """A Python that has a package, installed once."""
    home = CACHE / name
    python, mark = home / "bin" / "python", home / package
    CACHE.mkdir(exist_ok=True)
    with file_lock(CACHE / f".{name}.lock"):
        if not mark.exists():
            venv.create(home, clear=True)
            pip = [sys.executable, "-m", "pip", "--python", python]
            fetch = [*pip, "install", "--quiet", "--no-compile", package, "mcp<2"]
            if subprocess.run(fetch, capture_output=True, check=False).returncode:
                shutil.rmtree(home, ignore_errors=True)
                pytest.skip(f"{package} cannot be installed here")
            mark.touch()
    return python


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_in_an_environment_of_its_own(name: str) -> None:
    program, package = PACKAGES[name]
    command = [environment(name, package), HERE / program, *quick_command(SERVER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == f"{CALLS} calls", done.stderr[-3_000:]
