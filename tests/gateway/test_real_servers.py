"""Servers as others have written them: three of Python on mcp 1.x, two of Node, and one of these over HTTP.

They are fetched once into .cache, and skipped, visibly, where they cannot be had.
"""

from __future__ import annotations

import fcntl
import json
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from aerogram.tokens import find_counter
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


async def call(client, name, **arguments):
    """A call whose reply a model can read; what was left out of it, if something was."""
    result = await client.call_tool(name, arguments)
    text = "\n".join(block.text for block in result.content if block.type == "text")
    assert find_counter("o200k").count(text) <= BUDGET
    fidelity = (result.meta or {}).get("dev.aerogram/fidelity") or {}
    return text, fidelity.get("archive_hashes") or {}


async def whole(client, digest):
    """All that was archived under a hash, page after page."""
    found = (await client.read_resource(f"aerogram://archive/{digest}")).contents[0].text
    return json.loads(found) if found.startswith('"') else found


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_files_are_read_within_the_budget(mode, tmp_path):
    (tmp_path / "long.txt").write_text("A line of a long file.\n" * 5000)
    server = gateway("--budget", str(BUDGET), "--", *node_server("filesystem"), str(tmp_path))
    async with connect(server, mode) as client:
        text, hashes = await call(client, "read_text_file", path=str(tmp_path / "long.txt"))
        assert text.startswith("A line") or "A line of a long file." in text
        assert hashes
        back, _ = await call(client, "retrieve", hash=next(iter(hashes.values())), offset=100_000)
        assert "A line of a long file." in back
        listed, _ = await call(client, "list_directory", path=str(tmp_path))
        assert listed == "[FILE] long.txt"
        assert (await client.call_tool("read_text_file", {"path": "/etc/passwd"})).is_error


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
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


async def test_a_server_over_http_is_wrapped(address):
    async with connect(gateway("--budget", str(BUDGET), address), "auto") as client:
        assert (await call(client, "get-sum", a=2, b=3))[0] == "The sum of 2 and 3 is 5."
        assert "Ada" in str((await client.call_tool("trigger-elicitation-request", {})).content)


def _wait_for(port):
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


@pytest.fixture(scope="module")
def root():
    """This very project, with its history."""
    found = Path(__file__).parents[2]
    if subprocess.run(["git", "-C", str(found), "log", "-1"], capture_output=True, check=False).returncode:
        pytest.skip("this is no clone")
    return found


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_history_is_read_within_the_budget(mode, programs, root):
    """No reply shows all of it."""
    server = gateway("--budget", str(BUDGET), "--", str(programs / "mcp-server-git"), "--repository", str(root))
    async with connect(server, mode) as client:
        _, hashes = await call(client, "git_log", repo_path=str(root), max_count=100)
        assert hashes
        log = await whole(client, next(iter(hashes.values())))
        assert len(re.findall(r"Commit: ", str(log))) == 100
        shown, _ = await call(client, "git_show", repo_path=str(root), revision="HEAD")
        assert "Author" in shown
        wrong = await client.call_tool("git_log", {"repo_path": "/nowhere"})
        assert wrong.is_error


async def test_the_time_is_told(programs):
    async with connect(gateway("--", str(programs / "mcp-server-time")), "auto") as client:
        text, _ = await call(client, "get_current_time", timezone="Europe/Rome")
        assert json.loads(text)["timezone"] == "Europe/Rome"


async def test_a_page_is_fetched_within_the_budget(programs, tmp_path):
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    paragraphs = "".join(f"<p>Paragraph {number} of a long page.</p>" for number in range(2000))
    (tmp_path / "long.html").write_text(f"<html><body><h1>Long</h1>{paragraphs}</body></html>")

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_):
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    words = [str(programs / "mcp-server-fetch"), "--ignore-robots-txt"]
    try:
        async with connect(gateway("--budget", str(BUDGET), "--", *words), "auto") as client:
            url = f"http://127.0.0.1:{server.server_port}/long.html"
            _, hashes = await call(client, "fetch", url=url, max_length=900_000)
            assert "Paragraph 1999" in str(await whole(client, next(iter(hashes.values()))))
    finally:
        server.shutdown()
        server.server_close()
