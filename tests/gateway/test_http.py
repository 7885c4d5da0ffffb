"""HTTP on either side: the same as on standard streams, for several clients at once, and for this machine alone."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import httpx2
import pytest
from mcp import Client

from aerogram.gateway.address import refusal_of
from gateway.conftest import PAIRS, Person, behind, connect, gateway
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


@pytest.mark.parametrize(("mode", "era"), PAIRS)
async def test_an_answer_made_of_what_one_client_has_told_is_given_to_no_other(mode, era, tmp_path):
    """Though answers of its tool are kept: of one that has told the server nothing, the next client gets the same."""
    file = tmp_path / "servers.toml"
    kept = "".join(f"[servers.one.tools.{tool}]\ncache = 60\n" for tool in ("ask", "echo"))
    file.write_text(f"[servers.one]\ncommand = {json.dumps(behind(era))}\n{kept}")
    words = quick_command("-m", "aerogram", "wrap", "--settings", str(file), "--listen", "0")
    with running(words, "stderr") as url:
        for name in ("Ada", "Bob"):
            person = Person()
            person.name = name
            async with connect(url, mode, person) as client:
                assert (await client.call_tool("ask", {})).content[0].text == f"accept {{'name': '{name}'}}"
                found = await client.call_tool("echo", {}, meta={"com.example/n": name})
                assert found.meta["com.example/echo"] == {"com.example/n": "Ada"}


LIST_CHANGED = "notifications/prompts/list_changed"


async def test_a_client_hears_of_what_it_has_asked_for_alone():
    """Neither of the other's resources nor of its calls; and nobody can take a subscription from somebody else."""
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *ODD)
    with running(words, "stderr") as url:
        ada, bob = Person(), Person()
        async with silent(url, ada) as first, silent(url, bob) as second:
            for caller, hearer in ((first, bob), (second, ada)):
                while LIST_CHANGED not in hearer.methods():  # that is for all, once their streams are open
                    await caller.call_tool("log", {})
            for client in (first, second):
                await client.subscribe_resource("test://one")
            await second.unsubscribe_resource("test://one")
            while "notifications/resources/updated" not in ada.methods():
                await first.call_tool("tell", {})
            await second.call_tool("heard", {})
            await first.unsubscribe_resource("test://one")
            heard = json.loads((await first.call_tool("heard", {})).content[0].text)
        assert set(bob.methods()) <= {"notifications/message", LIST_CHANGED}
        assert heard.count("resources/subscribe") == 2 and heard.count("resources/unsubscribe") == 1


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


class Packing(BaseHTTPRequestHandler):
    """A server whose answers are a few kilobytes, and unpack to more than anybody takes, or to nothing."""

    protocol_version = "HTTP/1.1"
    encoding: ClassVar[dict[str, str]] = {"bomb": "gzip, gzip", "broken": "gzip", "fine": "gzip"}
    text: ClassVar[dict[str, str]] = {"bomb": "x" * (70 * 1024 * 1024), "broken": "", "fine": "fine"}

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, tool = asked["method"], asked.get("params", {}).get("name")
        capabilities, about = {"tools": {}}, {"name": "packing", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": about, "tools": []}
        if method == "tools/call":
            result = {"content": [{"type": "text", "text": self.text[tool]}]}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode()
        self.send_response(200 if "id" in asked else 202)
        if method == "tools/call":
            self.send_header("content-encoding", self.encoding[tool])
            for _ in self.encoding[tool].split() if tool != "broken" else ():
                body = gzip.compress(body, 1)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(405)

    def log_message(self, *_):
        """Nothing: the test looks at what the client hears."""


def test_an_answer_that_unpacks_to_too_much_fails_its_call_alone():
    with serving(Packing) as url:
        wire = Wire("", server=[url])
        wire.greet()
        for tool, words in (("bomb", "more than 67,108,864 bytes"), ("broken", "cannot be unpacked")):
            problem = wire.ask(tool, "tools/call", name=tool)["result"]["_meta"]["dev.aerogram/problem"]
            assert words in problem["message"] and problem["remediation"]
        assert wire.ask(1, "tools/call", name="fine")["result"]["content"][0]["text"] == "fine"
        assert wire.end() == 0


class Unreadable(Packing):
    """A server whose answers are no results."""

    bodies: ClassVar[dict[str, str]] = {
        "list": '{"jsonrpc": "2.0", "id": %s, "result": [1]}',
        "half": '{"jsonrpc": "2.0", "id": %s, "result": {',
        "page": "<html>",
        "nothing": "",
    }

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = json.loads(body)
        if asked["method"] != "tools/call":
            self.rfile = io.BytesIO(body)
            super().do_POST()
            return
        kind, _, name = asked["params"]["name"].partition(" ")
        said = self.bodies[name].replace("%s", json.dumps(asked["id"]))
        said = f"data: {said}\n\n" if kind == "text/event-stream" else said
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())


@pytest.mark.parametrize("name", [*Unreadable.bodies])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
def test_an_answer_over_http_that_cannot_be_read_fails_its_call_in_shape(kind, name):
    with serving(Unreadable) as url:
        wire = Wire("", server=[url])
        wire.greet()
        problem = wire.ask(1, "tools/call", name=f"{kind} {name}")["result"]["_meta"]["dev.aerogram/problem"]
        assert wire.end() == 0
    assert problem["retry"] == "check" and "look at the state" in problem["remediation"]


@contextmanager
def serving(handler):
    """A server in this process, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


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
    with serving(Refusing) as url:
        wire = Wire("", *options, "--header", "Authorization: Bearer ${SOME_TOKEN}", server=[url])
        error = wire.greet()["error"]
        assert wire.end() == 0
    assert error["data"]["code"] == code and str(status) in error["message"] and error["data"]["remediation"]
    assert ("OAuth" in error["message"]) == (status == 401)
    assert f"Bearer key-{status}" in Refusing.keys


class Breaking(Packing):
    """A server whose calls are carried out, and answered with a status."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = json.loads(body)
        if asked["method"] != "tools/call":
            self.rfile = io.BytesIO(body)
            super().do_POST()
            return
        self.send_response(int(asked["params"]["name"]))
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.mark.parametrize(("status", "retry"), [(500, "check"), (502, "check"), (503, "yes"), (504, "check")])
def test_a_call_that_may_have_been_carried_out_is_not_to_be_repeated_unseen(status, retry):
    """A balancer that has waited for long enough says 504, whatever the server does in the meantime."""
    with serving(Breaking) as url:
        wire = Wire("", server=[url])
        wire.greet()
        problem = wire.ask(1, "tools/call", name=str(status))["result"]["_meta"]["dev.aerogram/problem"]
        assert wire.end() == 0
    assert (problem["retry"], "before you repeat it" in problem["remediation"]) == (retry, retry == "check")


def test_a_wait_until_a_date_is_told_in_seconds():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 60 < refusal_of(429, {"retry-after": later}).retry_after <= 90
    assert refusal_of(429, {"retry-after": "7"}).retry_after == 7
    assert refusal_of(429, {"retry-after": "9" * 400}).retry_after is None


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_gateway_that_is_told_to_end_says_what_its_calls_came_to(kind):
    async def call(url):
        async with silent(url, Person()) as client:
            await client.call_tool("heard", {})

    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *ODD)
    with subprocess.Popen(words, text=True, stderr=subprocess.PIPE) as process:
        url = next(line for line in process.stderr if "http://" in line).split()[-1]
        asyncio.run(call(url))
        process.send_signal(kind)
        assert process.stderr.read().splitlines()[-1].startswith("aerogram: 1 call, ")
        assert process.wait(20) == 0


def test_a_gateway_that_ends_before_its_clients_do_writes_no_trace():
    """Each legacy client has a stream open all the time."""

    async def end(url, process):
        async with silent(url, Person()) as client:
            await client.call_tool("heard", {})
            process.terminate()
            return await asyncio.to_thread(process.stderr.read)

    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *ODD)
    with subprocess.Popen(words, text=True, stderr=subprocess.PIPE) as process:
        url = next(line for line in process.stderr if "http://" in line).split()[-1]
        said = asyncio.run(end(url, process))
        assert process.wait(20) == 0
    assert "Traceback" not in said and len(said.splitlines()) < 5


STUBBORN = """
import os, runpy, sys, time
print(os.getpid(), file=open(sys.argv[1], "w"))
sys.argv[:] = ["odd"]
runpy.run_path({odd!r}, run_name="__main__")
time.sleep(600)
"""
"""A server that does not end when its input does."""


def test_a_gateway_that_is_told_twice_to_end_leaves_no_server_behind(tmp_path):
    async def call(url):
        async with silent(url, Person()) as client:
            await client.call_tool("heard", {})

    noted = tmp_path / "pid"
    server = [sys.executable, "-c", STUBBORN.format(odd=ODD[-1]), str(noted)]
    with subprocess.Popen(
        quick_command("-m", "aerogram", "wrap", "--listen", "0", "--", *server), text=True, stderr=subprocess.PIPE
    ) as process:
        url = next(line for line in process.stderr if "http://" in line).split()[-1]
        asyncio.run(call(url))
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)  # or they would be one
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(20) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)
