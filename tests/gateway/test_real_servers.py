"""Servers as others have written them: three of Python on mcp 1.x, two of Node, and one of these over HTTP.

They are fetched once into .cache, and skipped, visibly, where they cannot be had.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mcp import StdioServerParameters

from aerogram.tokens import find_counter
from cli.conftest import aerogram  # noqa: F401
from gateway.conftest import connect, gateway
from node_packages import CACHE, node_and_package

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

PINNED = ["mcp==1.30.0", "mcp-server-git==2025.9.25", "mcp-server-time==2025.9.25", "mcp-server-fetch==2025.4.7"]
VERSION = "2026.8.31"
BUDGET = 2_000


@pytest.fixture(scope="module")
def programs():
    """An environment of its own with the servers of Python."""
    place = CACHE / "python-servers"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "venv" / "bin" / "mcp-server-fetch").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "venv")], check=True)
            pip = [sys.executable, "-m", "pip", "--python", str(place / "venv" / "bin" / "python")]
            fetch = [*pip, "install", "-q", "--no-compile", *PINNED]
            done = subprocess.run(fetch, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"{PINNED[1]} cannot be fetched: {done.stderr.strip()[-200:]}")
    return place / "venv" / "bin"


def node_server(name):
    node, modules = node_and_package(f"server-{name}", f"@modelcontextprotocol/server-{name}", VERSION)
    return [node, str(modules / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js")]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_everything_passes(mode):
    """Of what this server has, what our own does not show."""
    async with connect(gateway("--", *node_server("everything"), "stdio"), mode) as client:
        heard = []

        async def hear(*report):
            heard.append(report[:2])

        arguments = {"duration": 1, "steps": 2}
        result = await client.call_tool("trigger-long-running-operation", arguments, progress_callback=hear)
        assert "completed" in result.content[0].text and heard == [(1, 2), (2, 2)]
        links = (await client.call_tool("get-resource-links", {"count": 3})).content
        assert [one.type for one in links] == ["text", *["resource_link"] * 3]
        structured = await client.call_tool("get-structured-content", {"location": "Chicago"})
        assert structured.structured_content["temperature"] == 36
        assert "Ada" in str((await client.call_tool("trigger-elicitation-request", {})).content)
        sampled = await client.call_tool("trigger-sampling-request", {"prompt": "Say", "maxTokens": 9})
        assert "!" in sampled.content[0].text
        assert "file:///somewhere" in (await client.call_tool("get-roots-list", {})).content[0].text
        assert (await client.get_prompt("args-prompt", {"city": "Rome"})).messages


@pytest.fixture
def address():
    """A server of Node over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["env", f"PORT={port}", *node_server("everything"), "streamableHttp"]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=nothing, stderr=nothing, start_new_session=True) as server:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            os.killpg(server.pid, signal.SIGTERM)  # what is started is a launcher, which leaves its child behind


def _wait_for(port):
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


class Agent:
    """Knows of a server what a model reads of it, and acts on that alone."""

    def __init__(self, client):
        self._client = client
        self.most = 0

    async def call(self, name, **arguments):
        """What is read of an answer."""
        result = await self._client.call_tool(name, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        structured = "" if result.structured_content is None else json.dumps(result.structured_content)
        self.most = max(self.most, *(find_counter("o200k").count(one) for one in (text, structured)))
        return text

    async def whole(self, read):
        """All that an answer left out, from its first byte on: each answer says how the next one is called."""
        found = re.search(r"retrieve\(hash='(\w+)'", read)
        assert found is not None, read[-300:]
        parts, offset = [], "0"
        while offset is not None:
            page = await self.call("retrieve", hash=found[1], offset=int(offset))
            part, _, note = page.rpartition("\n\naerogram: ")
            following = re.search(r"offset=(\d+)\)", note)
            parts.append(part if following or part else page)
            offset = following and following[1]
        return "".join(parts)


async def read_a_file(agent, place):
    read = await agent.call("read_text_file", path=str(place / "long.txt"))
    assert read.startswith("Line 0 of a long file.\nLine 1")
    assert await agent.whole(read) == (place / "long.txt").read_text()
    assert await agent.call("list_directory", path=str(place / "folder")) == "[FILE] small.txt"
    assert "error: " in await agent.call("read_text_file", path="/etc/passwd")


async def read_a_history(agent, place):
    repository = str(place / "repository")
    log = await agent.whole(await agent.call("git_log", repo_path=repository, max_count=100))
    assert re.findall(r"Message: 'Change (\d+)", log) == [str(number) for number in range(99, -1, -1)]
    shown = await agent.call("git_show", repo_path=repository, revision="HEAD")
    assert "Change 99" in shown


async def tell_the_time(agent, _):
    assert json.loads(await agent.call("get_current_time", timezone="Europe/Rome"))["timezone"] == "Europe/Rome"


async def fetch_a_page(agent, place):
    address = (place / "address").read_text()
    whole = await agent.whole(await agent.call("fetch", url=f"{address}/long.html", max_length=900_000))
    assert re.findall(r"Paragraph (\d+) of", whole) == [str(number) for number in range(2000)]


async def add_and_say(agent, _):
    assert await agent.call("get-sum", a=2, b=3) == "The sum of 2 and 3 is 5."
    assert await agent.call("echo", message="hello") == "Echo: hello"


WORK = {
    "files": read_a_file,
    "git": read_a_history,
    "time": tell_the_time,
    "fetch": fetch_a_page,
    "everything": add_and_say,
    "far": add_and_say,
}


@pytest.fixture
def place(tmp_path):
    """Something to read: files, a history, a page."""
    (tmp_path / "long.txt").write_text("".join(f"Line {number} of a long file.\n" for number in range(3000)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "small.txt").write_text("small")
    paragraphs = "".join(f"<p>Paragraph {number} of a long page.</p>" for number in range(2000))
    (tmp_path / "long.html").write_text(f"<html><body><h1>Long</h1>{paragraphs}</body></html>")
    commits = "".join(
        f"commit refs/heads/main\ncommitter A <a@example.com> {1_700_000_000 + number} +0000\n"
        f"data {len(words)}\n{words}\n"
        for number in range(100)
        for words in [f"Change {number}: " + "as was said before " * 3]
    )
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path / "repository"], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path / "repository", input=commits.encode(), check=True)
    handler = type("Handler", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (tmp_path / "address").write_text(f"http://127.0.0.1:{server.server_port}")
        yield tmp_path
        server.shutdown()


@pytest.fixture(
    params=[("files", "git", "far"), pytest.param((*WORK,), marks=pytest.mark.campaign)], ids=["three", "all"]
)
def file(programs, place, address, request):
    """A client's file with some of the servers: one of Node, one of Python and one over HTTP, or all of them."""
    git = [str(programs / "mcp-server-git"), "--repository", str(place / "repository")]
    commands = {
        "files": [*node_server("filesystem"), str(place)],
        "git": git,
        "time": [str(programs / "mcp-server-time")],
        "fetch": [str(programs / "mcp-server-fetch"), "--ignore-robots-txt"],
        "everything": [*node_server("everything"), "stdio"],
    }
    entries = {name: {"command": words[0], "args": words[1:]} for name, words in commands.items()}
    entries["far"] = {"type": "http", "url": address}
    path = place / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {name: entries[name] for name in request.param}}, indent=3))
    return path


async def test_servers_are_wrapped_for_a_client_and_do_real_work(aerogram, file, place):  # noqa: F811
    """Each reply fits, every byte comes back, and in the end the client's file is what it was."""
    before = file.read_bytes()
    assert aerogram("wrap", "--config", str(file), "--budget", str(BUDGET), "--yes").returncode == 0
    state = {"AEROGRAM_STATE": os.environ["AEROGRAM_STATE"]}
    for name, entry in json.loads(file.read_text())["mcpServers"].items():
        server = StdioServerParameters(command=entry["command"], args=entry["args"], env=state)
        async with connect(server, "legacy") as client:
            agent = Agent(client)
            await WORK[name](agent, place)
            assert agent.most <= BUDGET, name
    assert aerogram("unwrap", str(file), "--yes").returncode == 0
    assert file.read_bytes() == before
