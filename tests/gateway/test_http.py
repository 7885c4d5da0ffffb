"""HTTP on either side: the same as on standard streams, for several clients at once, and for this machine alone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import httpx2
import pytest
from mcp import Client

from gateway.conftest import Person, behind, connect, gateway
from gateway.test_distrust import ODD
from gateway.test_wire import Wire
from programs import quick_command

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


@contextmanager
def running(words, stream):
    """A process, and the address that it prints on one of its streams."""
    pipes = {stream: subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        out = getattr(process, stream)
        try:
            yield next(line for line in out if "http://" in line).split()[-1]
        finally:
            process.terminate()
            threading.Thread(target=out.read).start()  # what it says while it ends
            process.wait(20)


@pytest.fixture(scope="module", params=["http", "sse"])
def elsewhere(request):
    """A server behind at an address."""
    with running(behind("both", request.param), "stdout") as url:
        yield (url, *(["--sse"] if request.param == "sse" else []))


@pytest.fixture(scope="module")
def listening():
    """A gateway at an address."""
    words = quick_command("-m", "aerogram", "wrap", "--budget", "2000", "--listen", "0", "--", *behind("legacy"))
    with running(words, "stderr") as url:
        yield url


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_server_elsewhere_is_wrapped(elsewhere, mode):
    async with connect(gateway("--budget", "2000", *elsewhere), mode) as client:
        assert client.server_info.name == "behind"
        result = await client.call_tool("rows", {})
        assert len(result.content[0].text) < 12_000 and "dev.aerogram/fidelity" in result.meta
        assert (await client.call_tool("ask", {})).content[0].text == "accept {'name': 'Ada'}"
        heard = []

        async def hear(*report):
            heard.append(report)

        await client.call_tool("progress", {}, progress_callback=hear)
        assert [one[0] for one in heard] == [1, 2, 3]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_several_clients_share_a_gateway_and_each_is_asked_what_is_its_own(listening, mode):
    async def talk(name):
        person = Person()
        person.name = name
        async with connect(listening, mode, person) as client:
            for _ in range(3):
                answer = (await client.call_tool("ask", {})).content[0].text
                assert answer == f"accept {{'name': '{name}'}}"
            return (await client.call_tool("rows", {})).meta["dev.aerogram/fidelity"]["level"]

    levels = await asyncio.gather(*(talk(name) for name in ("Ada", "Bob", "Eve")))
    assert "full" not in levels


async def test_a_client_hears_of_what_it_has_asked_for_alone():
    """Neither of the other's resources nor of its calls; and nobody can take a subscription from somebody else."""
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *ODD)
    with running(words, "stderr") as url:
        ada, bob = Person(), Person()
        async with silent(url, ada) as first, silent(url, bob) as second:
            for caller, hearer in ((first, bob), (second, ada)):
                while not hearer.logs:  # log messages are for all, once their streams are open
                    await caller.call_tool("log", {})
            for client in (first, second):
                await client.subscribe_resource("test://one")
            await second.unsubscribe_resource("test://one")
            while "notifications/resources/updated" not in ada.methods():
                await first.call_tool("tell", {})
            await second.call_tool("heard", {})
            await first.unsubscribe_resource("test://one")
            heard = json.loads((await first.call_tool("heard", {})).content[0].text)
        assert set(bob.methods()) <= {"notifications/message"}
        assert heard.count("resources/subscribe") == 2 and heard.count("resources/unsubscribe") == 1


VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"


async def call_once(client, url, tool, name="somebody", **meta):
    """What a modern client hears that makes a call, message by message."""
    known = {"protocolVersion": VERSION, "clientInfo": {"name": name, "version": "1"}, "clientCapabilities": {}, **meta}
    params = {"name": tool, "arguments": {}, "_meta": {META + word: value for word, value in known.items()}}
    headers = {
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        "Accept": "application/json, text/event-stream",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await client.post(url, json=body, headers=headers, timeout=60)
    lines = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith(("data:", "{"))]
    return [json.loads(line) for line in lines if line.strip()]


@pytest.fixture(scope="module")
def odd():
    """A gateway at an address, before a server that writes its lines itself."""
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *ODD)
    with running(words, "stderr") as url:
        yield url


async def test_a_call_for_which_no_session_is_free_is_refused_and_hears_no_question_of_others(odd):
    asked = {"clientCapabilities": {"elicitation": {}}}
    async with httpx2.AsyncClient() as client:
        for _ in range(16):
            (answer,) = await call_once(client, odd, "ask", **asked)
            assert len(answer["result"]["inputRequests"]) == 1
        (refused,) = await call_once(client, odd, "ask", **asked)
    assert "result" not in refused and refused["error"]["data"]["code"] == "UNAVAILABLE"
    assert refused["error"]["data"]["retry_after"]


async def test_who_shares_a_session_is_not_asked_what_is_somebody_elses(odd):
    async with httpx2.AsyncClient() as client:
        (answer,) = await call_once(client, odd, "ask")
        assert "-32601" in answer["result"]["content"][0]["text"]
    person = Person()
    async with silent(odd, person) as legacy:
        assert "-32601" in (await legacy.call_tool("ask", {})).content[0].text


async def test_log_messages_of_a_call_reach_nobody_else(odd):
    async with httpx2.AsyncClient() as client:
        waiting = asyncio.create_task(call_once(client, odd, "wait", "Ada", logLevel="debug"))
        beside = []
        while not waiting.done():  # which takes until both are under way at once
            beside.append(len(await call_once(client, odd, "log", "Bob", logLevel="debug")))
        alone = await call_once(client, odd, "log", "Bob", logLevel="debug")
    assert [one.get("method") for one in await waiting] == [None] and 1 in beside
    assert [one.get("method") for one in alone] == ["notifications/message", None]


def silent(url, person):
    """A client that cannot be asked anything, and so shares the server with others."""
    return Client(url, mode="legacy", logging_callback=person.log, message_handler=person.hear)


async def test_one_gateway_serves_the_servers_of_a_file(tmp_path):
    file = tmp_path / "servers.toml"
    file.write_text(
        "".join(f"[servers.{name}]\ncommand = {json.dumps(behind(name))}\n" for name in ("legacy", "modern"))
    )
    words = quick_command("-m", "aerogram", "wrap", "--settings", str(file), "--listen", "0")
    with running(words, "stderr") as url:
        for name in ("legacy", "modern"):
            async with connect(url.replace("legacy", name), "auto") as client:
                assert (await client.call_tool("ask", {})).content[0].text == "accept {'name': 'Ada'}"


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
async def test_pages_of_strangers_are_refused(listening, header):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient() as client:
        refused = await client.post(listening, json=body, headers={**accept, **header})
    assert refused.status_code in (403, 421)


def test_it_listens_on_this_machine_alone():
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0.0.0.0:0", "--", "true")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "this machine alone" in done.stderr


class Refusing(BaseHTTPRequestHandler):
    """A server that looks at nothing."""

    status = 401
    keys: ClassVar[list[str]] = []

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def do_GET(self):
        self.keys.append(self.headers["authorization"])
        self.send_response(self.status)
        self.send_header("content-length", "0")
        self.send_header("retry-after", "\xb2")  # a digit to Python, and no number
        self.send_header("www-authenticate", 'Bearer resource_metadata="http://127.0.0.1/.well-known/a"')
        self.end_headers()

    def log_message(self, *_):
        """Nothing: the test looks at what the client hears."""


@pytest.mark.parametrize(
    ("status", "code", "options"),
    [
        (401, "UNAUTHORIZED", ()),
        (401, "UNAUTHORIZED", ("--sse",)),
        (429, "RATE_LIMIT_EXCEEDED", ()),
        (503, "UNAVAILABLE", ()),
    ],
)
def test_what_a_server_refuses_is_told_with_advice(status, code, options, monkeypatch):
    """The key of the server comes from a variable."""
    monkeypatch.setattr(Refusing, "status", status)
    monkeypatch.setenv("SOME_TOKEN", f"key-{status}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    wire = Wire("", *options, "--header", "Authorization: Bearer ${SOME_TOKEN}", server=[url])
    try:
        error = wire.greet()["error"]
        assert wire.end() == 0
    finally:
        server.shutdown()
        server.server_close()
    assert error["data"]["code"] == code and str(status) in error["message"] and error["data"]["remediation"]
    assert ("OAuth" in error["message"]) == (status == 401)
    assert f"Bearer key-{status}" in Refusing.keys
