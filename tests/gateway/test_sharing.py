"""Sharing: the questions of somebody's call, and what is logged about it, reach nobody else at the same gateway."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
from contextlib import aclosing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx2
import psutil
import pytest
from mcp import Client

from aerogram.contract import Contract
from aerogram.gateway.front import make_server
from aerogram.gateway.link import Link
from aerogram.gateway.process import Command
from aerogram.gateway.relay import Relay
from aerogram.gateway.report import Report
from aerogram.gateway.tools import Tools
from gateway.asking import ABOUT
from gateway.test_http import running, serving
from programs import quick_command

VERSION = "2026-07-28"
ASKABLE = {"elicitation": {}}
LINES = 16
"""How many calls of modern clients that can be asked may be under way at a legacy server."""
WAIT = 5
"""How many seconds a further one waits."""


@contextmanager
def listening(era):
    server = [sys.executable, "-S", str(Path(__file__).with_name("asking.py")), era]
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *server)
    with running(words, "stderr") as url:
        yield url


@pytest.fixture(scope="module")
def legacy():
    with listening("legacy") as url:
        yield url


@pytest.fixture(scope="module")
def modern():
    with listening("modern") as url:
        yield url


class Caller:
    """A client that writes its requests itself; a modern one, or one that has a session."""

    def __init__(self, url, name, capabilities=None):
        self.url, self.name, self.capabilities = url, name, capabilities or {}
        self.headers = {"Accept": "application/json, text/event-stream"}
        self.meta = None

    async def post(self, method, params, number=1):
        """The messages that come back, each as it comes."""
        body = {"jsonrpc": "2.0", "method": method, **({} if number is None else {"id": number}), "params": params}
        async with (
            httpx2.AsyncClient(timeout=60) as client,
            client.stream("POST", self.url, headers=self.headers, json=body) as response,
        ):
            self.session = response.headers.get("mcp-session-id")
            if "event-stream" not in response.headers.get("content-type", ""):
                read = await response.aread()
                if read:
                    yield json.loads(read)
                return
            async for line in response.aiter_lines():
                if line.startswith("data:") and line[5:].strip():
                    yield json.loads(line[5:])

    def speak_modern(self):
        self.meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            "io.modelcontextprotocol/logLevel": "debug",
        }
        return self

    async def greet(self):
        """The handshake of a client that has a session."""
        told = {"capabilities": self.capabilities, "clientInfo": {"name": self.name, "version": "1"}}
        await collect(self.post("initialize", {"protocolVersion": "2025-11-25", **told}))
        self.headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
        await collect(self.post("notifications/initialized", {}, None))
        return self

    def call(self, tool, **more):
        meta = {**(self.meta or {}), "progressToken": self.name}
        if self.meta:
            self.headers |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        return self.post("tools/call", {"name": tool, "arguments": {"who": self.name}, "_meta": meta, **more})

    async def finish(self, tool, **more):
        """The result of a call."""
        return (await collect(self.call(tool, **more)))[-1]["result"]


async def collect(messages):
    return [message async for message in messages]


async def begin(messages):
    """Wait until the server has a call; what comes after that."""
    assert (await anext(messages))["method"] == "notifications/progress"
    return asyncio.ensure_future(collect(messages))


def questions(result):
    return [one["params"]["message"] for one in result["inputRequests"].values()]


def answers(result):
    given = {key: {"action": "accept", "content": {}} for key in result["inputRequests"]}
    return {"inputResponses": given, "requestState": result["requestState"]}


async def test_a_call_waits_for_a_session_of_its_own_and_is_asked_nothing_else(legacy):
    clients = [Caller(legacy, f"client-{number}", ASKABLE).speak_modern() for number in range(LINES)]
    asked = [await client.finish("ask") for client in clients]
    assert [questions(one) for one in asked] == [[f"Private to {client.name}"] for client in clients]
    late, since = asyncio.ensure_future(Caller(legacy, "late", ASKABLE).speak_modern().finish("ask")), time.monotonic()
    refused = await Caller(legacy, "later", ASKABLE).speak_modern().finish("ask")
    problem = refused["_meta"]["dev.aerogram/problem"]
    assert refused["isError"] and problem["code"] == "UNAVAILABLE" and problem["retry_after"]
    assert (await late)["isError"] and time.monotonic() - since < 2 * WAIT
    late = asyncio.ensure_future(Caller(legacy, "late", ASKABLE).speak_modern().finish("ask"))
    done = await clients[3].finish("ask", **answers(asked[3]))
    assert done["content"][0]["text"].startswith("client-3 was told")
    assert questions(await late) == ["Private to late"]
    for client, one in zip(clients[4:], asked[4:], strict=True):  # so that there is room for others
        await client.finish("ask", **answers(one))


async def test_a_call_that_was_given_up_is_asked_of_nobody_else(legacy):
    ada, bob = (Caller(legacy, name, ASKABLE).speak_modern() for name in ("ada", "bob"))
    async with aclosing(ada.call("ask_later")) as messages:
        assert (await anext(messages))["method"] == "notifications/progress"
    assert questions(await bob.finish("ask")) == ["Private to bob"]


async def test_a_client_that_has_not_offered_it_is_not_asked(legacy):
    ada, bob = [await Caller(legacy, name).greet() for name in ("ada", "bob")]
    adas = await begin(ada.call("ask_later"))
    bobs = await collect(bob.call("log"))
    assert not [one for one in bobs if one.get("method") == "elicitation/create"]
    assert "-32601" in (await adas)[-1]["result"]["content"][0]["text"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_is_logged_in_a_modern_call_reaches_no_other_one(era, request):
    shared = request.getfixturevalue(era)
    ada, bob = (Caller(shared, name).speak_modern() for name in ("ada", "bob"))
    adas = await begin(ada.call("wait"))
    await bob.finish("log")
    await bob.finish("end")
    assert [one["result"]["content"][0]["text"] for one in await adas] == ["the end for ada"]
    alone = await collect(bob.call("log"))
    assert [one["params"]["data"] for one in alone if one.get("method") == "notifications/message"] == [
        "Private to bob"
    ]


async def test_what_is_logged_in_the_call_of_a_session_reaches_no_other_one(legacy):
    """On standard streams nobody can tell whose call it is about, while two of them are under way."""
    ada, bob = [await Caller(legacy, name).greet() for name in ("ada", "bob")]
    adas = await begin(ada.call("wait"))
    await bob.finish("log")
    await bob.finish("end")
    assert [one["result"]["content"][0]["text"] for one in await adas] == ["the end for ada"]
    alone = await collect(bob.call("log"))
    assert [one["params"]["data"] for one in alone if one.get("method") == "notifications/message"] == [
        "Private to bob"
    ]


class LoggingHandler(BaseHTTPRequestHandler):
    """A server over HTTP that logs in the answer to each call, when two of them are under way."""

    both = threading.Barrier(2, timeout=30)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, asked = message["method"], message.get("id")
        if asked is None:
            self.send_response(202)
            self.end_headers()
            return
        if method == "initialize":
            told = [{"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": ABOUT}}]
        elif method == "tools/list":
            told = [{"result": {"tools": [{"name": "log", "inputSchema": {"type": "object"}}]}}]
        elif method == "tools/call":
            who = message["params"]["arguments"]["who"]
            self.both.wait()
            news = {"level": "info", "data": f"Private to {who}"}
            told = [{"method": "notifications/message", "params": news}, {"result": {"content": []}}]
        else:
            told = [{"error": {"code": -32601, "message": "Method not found"}}]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for one in told:
            own = {} if "method" in one else {"id": asked}
            self.wfile.write(f"data: {json.dumps({'jsonrpc': '2.0', **own, **one})}\n\n".encode())
            self.wfile.flush()
            if "method" in one:
                self.both.wait()

    def do_GET(self):
        self.send_response(405)
        self.end_headers()

    def log_message(self, *_):
        """Nothing."""


@pytest.mark.parametrize("era", ["sessions", "modern"])
async def test_what_is_logged_in_an_answer_over_http_reaches_its_caller(era):
    """Each answer is a stream of its own, so it is known whose call it is about however many are under way."""
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0")
    with serving(LoggingHandler) as url, running([*words, url], "stderr") as shared:
        callers = [Caller(shared, name) for name in ("ada", "bob")]
        callers = [one.speak_modern() if era == "modern" else await one.greet() for one in callers]
        told = await asyncio.gather(*(collect(one.call("log")) for one in callers))
    for caller, messages in zip(callers, told, strict=True):
        logged = [one["params"]["data"] for one in messages if one.get("method") == "notifications/message"]
        assert logged == [f"Private to {caller.name}"]


async def test_nothing_stays_of_the_links_of_clients_that_have_gone():
    """A gateway runs for weeks, and each client that can be asked something has a link of its own."""
    server = [sys.executable, str(Path(__file__).with_name("asking.py")), "legacy"]
    relay = Relay(Command(server), Tools(Contract()), Report(is_quiet=True), shares=True)

    async def decline(*_):
        raise AssertionError

    async with relay.running():
        for _ in range(3):
            async with Client(make_server(relay), mode="legacy", elicitation_callback=decline) as client:
                await client.list_tools()
        for _ in range(400):
            if not links():
                break
            await asyncio.sleep(0.05)
        assert links() == 0


def links():
    gc.collect()
    return sum(isinstance(one, Link) for one in gc.get_objects())


def test_clients_that_can_do_ever_other_things_do_not_fill_the_machine():
    """Each has a session with the server of its own, for that is told what the client can do."""
    server = [sys.executable, "-S", str(Path(__file__).with_name("asking.py")), "legacy"]
    words = quick_command("-m", "aerogram", "wrap", "--quiet", "--listen", "0", "--", *server)
    with subprocess.Popen(words, text=True, stderr=subprocess.PIPE) as process:
        url = next(line for line in process.stderr if "http://" in line).split()[-1]

        async def call(number):
            client = Caller(url, f"client-{number}", {f"com.example/{number}": {}}).speak_modern()
            assert (await client.finish("log"))["content"][0]["text"] == f"logged for client-{number}"

        for number in range(70):
            asyncio.run(call(number))
        until = time.monotonic() + 20
        while len(psutil.Process(process.pid).children(recursive=True)) > 64 and time.monotonic() < until:
            time.sleep(0.1)  # one that is told to end takes a moment
        assert len(psutil.Process(process.pid).children(recursive=True)) <= 64
        process.terminate()
        assert process.wait(30) == 0


def test_clients_that_go_without_a_word_do_not_fill_the_machine():
    """Each that can be asked has a server of its own; one that is still there gets another with its next call."""
    server = [sys.executable, "-S", str(Path(__file__).with_name("asking.py")), "legacy"]
    words = quick_command("-m", "aerogram", "wrap", "--quiet", "--listen", "0", "--", *server)
    with subprocess.Popen(words, text=True, stderr=subprocess.PIPE) as process:
        url = next(line for line in process.stderr if "http://" in line).split()[-1]
        clients = [Caller(url, f"client-{number}", {"elicitation": {}}) for number in range(70)]
        for client in clients:
            asyncio.run(client.greet())
        until = time.monotonic() + 20
        while len(psutil.Process(process.pid).children(recursive=True)) > 64 and time.monotonic() < until:
            time.sleep(0.1)
        assert len(psutil.Process(process.pid).children(recursive=True)) <= 64
        for client in (clients[0], clients[-1]):
            assert asyncio.run(client.finish("log"))["content"][0]["text"] == f"logged for {client.name}"
        process.terminate()
        assert process.wait(30) == 0
