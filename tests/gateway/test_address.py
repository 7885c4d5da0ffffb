"""A server at an address: each message is a request of its own, and what goes wrong with one is no more than that."""

from __future__ import annotations

import json
import queue
import time
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import anyio
import pytest
from mcp import MCPError

from gateway.conftest import connect
from gateway.test_http import running, serving
from gateway.test_wire import Wire
from programs import quick_command

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

ABOUT = {"name": "elsewhere", "version": "1"}
TEXT = '{"type": "text", "text": "half \\ud83d, whole \\ud83d\\ude00"}'
HALF = f'{{"jsonrpc": "2.0", "id": %s, "result": {{"content": [{TEXT}]}}}}'


class Answering(BaseHTTPRequestHandler):
    """A server whose tools are ways to answer; it knows the sessions that it has begun, until it is another one."""

    protocol_version = "HTTP/1.1"
    begun: ClassVar[list[str]] = []
    known: ClassVar[set[str]] = set()
    left: ClassVar[queue.Queue[str]] = queue.Queue()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked = asked.get("id")
        if self.asked is None:
            time.sleep((asked.get("params") or {}).get("seconds", 0))
            self.answer(b"", 202)
        elif asked["method"] == "initialize":
            self.begun.append(f"session-{len(self.begun)}")
            self.known.add(self.begun[-1])
            told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": ABOUT}
            self.answer_with(told, **{"mcp-session-id": self.begun[-1]})
        elif self.headers["mcp-session-id"] not in self.known:
            error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
            self.answer(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode(), 400)
        elif asked["method"] == "tools/call":
            name = asked["params"]["name"]
            getattr(self, name.partition(" ")[0])(*name.split(" ")[1:])
        else:
            self.answer_with({"tools": []})

    def do_GET(self):
        self.answer(b"", 405)

    def do_DELETE(self):
        self.answer(b"", 200)

    def answer_with(self, result, **headers):
        self.answer(json.dumps({"jsonrpc": "2.0", "id": self.asked, "result": result}).encode(), **headers)

    def answer(self, body, status=200, kind="application/json", **headers):
        self.send_response(status)
        for name, text in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def say(self, text="fine"):
        self.answer_with({"content": [{"type": "text", "text": text}]})

    def wait(self, seconds):
        time.sleep(float(seconds))
        self.say()

    def drip(self, kind):
        """An answer that has no end; whoever takes no more of it is noted."""
        try:
            self.answer(b"", 200, kind, **{"content-length": "1000"})
            for _ in range(100):
                self.wfile.write(b"\n")
                time.sleep(0.1)
        except OSError:
            self.left.put(kind)
        self.close_connection = True

    def close(self):
        self.close_connection = True

    def cut(self):
        self.answer(b'{"jsonrpc": ', **{"content-length": "1000"})
        self.close_connection = True

    def change(self):
        """It ends in the middle, and another one takes its place."""
        self.known.clear()
        self.close_connection = True

    def half(self, kind):
        said = HALF % json.dumps(self.asked)
        if kind == "application/json":
            self.answer(said.encode())
            return
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        for piece in ("data: ", *said, "\n\n"):  # no piece has a whole escape
            self.wfile.write(piece.encode())
            self.wfile.flush()
        self.close_connection = True

    def large(self, kind):
        content = [{"type": "text", "text": "x" * (65 * 1024 * 1024)}]
        said = json.dumps({"jsonrpc": "2.0", "id": self.asked, "result": {"content": content}}).encode()
        self.answer(b"data: " + said + b"\n\n" if kind == "text/event-stream" else said, 200, kind)

    def status(self, status, kind="text/html"):
        self.answer(b"{}", int(status), kind, location="http://elsewhere.example/mcp")

    def lead(self, place):
        self.answer(b"{}", 307, location=place)

    def refuse_after(self, seconds):
        time.sleep(float(seconds))
        self.answer(b"{}", 403)

    def err(self):
        error = {"code": -32602, "message": "the server's own words"}
        self.answer(json.dumps({"jsonrpc": "2.0", "id": self.asked, "error": error}).encode())

    def log_message(self, *_):
        """Nothing: the test looks at what the client hears."""


@pytest.fixture
def url():
    Answering.begun.clear()
    Answering.known.clear()
    with serving(Answering) as url:
        yield url


@pytest.fixture
def wire(url):
    wire = Wire("", server=[url])
    wire.greet()
    yield wire
    assert wire.end() == 0


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def problem_of(answer):
    return answer["result"]["_meta"]["dev.aerogram/problem"]


@pytest.mark.parametrize("tool", ["close", "cut"])
def test_a_connection_that_breaks_fails_its_call_and_no_other(wire, tool):
    """The session goes on, with whatever the server knows of it."""
    assert text_of(wire.ask(1, "tools/call", name="say")) == "fine"
    wire.send(id="slow", method="tools/call", params={"name": "wait 2"})
    time.sleep(0.3)
    broken = wire.ask("broken", "tools/call", name=tool)
    slow = wire.read()
    assert (broken["id"], slow["id"], text_of(slow)) == ("broken", "slow", "fine")
    assert (problem_of(broken)["code"], problem_of(broken)["retry"]) == ("UNAVAILABLE", "check")
    assert "before you repeat it" in problem_of(broken)["remediation"]
    assert Answering.begun == ["session-0"]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_call_that_is_given_up_holds_no_connection(url, kind):
    """Of which there are only so many: once all were held, every other call would wait."""
    wire = Wire("", "--timeout", "0.5", server=[url])
    wire.greet()
    assert "within 0.5 s" in problem_of(wire.ask(1, "tools/call", name=f"drip {kind}"))["message"]
    assert Answering.left.get(timeout=8) == kind
    assert text_of(wire.ask(2, "tools/call", name="say")) == "fine"
    assert wire.end() == 0


def test_a_message_without_an_answer_holds_up_no_call_for_long(wire):
    """Messages go one after the other; that a call waits for one is no time of the call, which would have no end."""
    wire.send(method="notifications/roots/list_changed", params={"seconds": 20})
    start = time.monotonic()
    assert text_of(wire.ask(1, "tools/call", name="say")) == "fine"
    assert time.monotonic() - start < 15


def test_a_server_that_another_one_has_taken_the_place_of_gets_a_new_session(wire):
    """Though that one says in words of its own that it does not know the session."""
    assert problem_of(wire.ask(1, "tools/call", name="change"))["code"] == "UNAVAILABLE"
    assert text_of(wire.ask(2, "tools/call", name="say")) == "fine"
    assert Answering.begun == ["session-0", "session-1"]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_half_a_character_costs_no_more_than_itself(wire, kind):
    """JavaScript writes one where it cuts a text."""
    assert text_of(wire.ask(1, "tools/call", name=f"half {kind}")) == "half \ufffd, whole \U0001f600"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_that_is_too_large_is_told_as_such(wire, kind):
    problem = problem_of(wire.ask(1, "tools/call", name=f"large {kind}"))
    assert "more than 67,108,864 bytes" in problem["message"] and "Ask for less" in problem["remediation"]
    assert problem["retry"] == "no"
    assert text_of(wire.ask(2, "tools/call", name="say")) == "fine"


@pytest.mark.parametrize("status", ["202", "301", "307", "418", "418 application/json"])
def test_a_status_that_answers_nothing_fails_its_call_in_shape(wire, status):
    problem = problem_of(wire.ask(1, "tools/call", name=f"status {status}"))
    assert problem["code"] and problem["remediation"]
    assert status != "418" or "418" in problem["message"]
    assert not status.startswith("3") or "http://elsewhere.example/mcp" in problem["message"]


def test_the_address_that_a_server_leads_to_is_told_without_what_may_be_a_key(wire):
    place = "https://me:Tr0ub4dor@elsewhere.example/s/Tr0ub4dor-and-more/mcp?api=Tr0ub4dor#Tr0ub4dor"
    answer = wire.ask(1, "tools/call", name=f"lead {place}")
    assert "https://elsewhere.example/s//mcp not followed" in problem_of(answer)["message"]
    assert "Tr0ub4dor" not in json.dumps(answer)


async def test_what_one_client_is_refused_is_told_to_no_other(url):
    """Although it comes when nobody waits for it any more."""
    words = quick_command("-m", "aerogram", "wrap", "--listen", "0", "--timeout", "1", url)
    with running(words, "stderr") as gateway:
        async with connect(gateway, "legacy") as one, connect(gateway, "legacy") as other:
            late = await one.call_tool("refuse_after 2", {})
            assert late.meta["dev.aerogram/problem"]["code"] == "UNAVAILABLE"
            await anyio.sleep(2)
            for _ in range(8):  # more than there were requests of the first one
                with pytest.raises(MCPError, match="the server's own words"):
                    await other.call_tool("err", {})


class Eventful(BaseHTTPRequestHandler):
    """A server of the older transport: it answers in one stream of events, for all that it is sent."""

    protocol_version = "HTTP/1.1"
    events: ClassVar[queue.Queue[str]] = queue.Queue()
    begun: ClassVar[list[str]] = []

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.begun.append(self.path)
        self.close_connection = True
        said = "event: endpoint\ndata: /messages\n\n"
        while said:
            self.wfile.write(said.encode())
            said = self.events.get()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = asked.get("params", {}).get("name")
        if name == "close":
            self.close_connection = True
            return
        result = {"content": [{"type": "text", "text": "fine"}]}
        if asked["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": ABOUT}
        answer = {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}
        said = HALF % asked.get("id") if name == "half" else json.dumps(answer)
        if "id" in asked and name not in ("429", "413"):
            self.events.put(f"event: message\ndata: {said}\n\n")
        self.send_response(int(name) if name in ("429", "413") else 202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Nothing: the test looks at what the client hears."""


@pytest.fixture
def eventful():
    Eventful.begun.clear()
    Eventful.events = queue.Queue()
    with serving(Eventful) as url:
        wire = Wire("", "--sse", server=[url])
        wire.greet()
        yield wire
        Eventful.events.put("")
        assert wire.end() == 0


@pytest.mark.parametrize(
    ("tool", "code"), [("429", "RATE_LIMIT_EXCEEDED"), ("413", "UNAVAILABLE"), ("close", "UNAVAILABLE")]
)
def test_a_message_that_the_older_transport_loses_fails_its_call_at_once(eventful, tool, code):
    since = time.monotonic()
    assert problem_of(eventful.ask(1, "tools/call", name=tool))["code"] == code
    assert time.monotonic() - since < 20
    assert text_of(eventful.ask(2, "tools/call", name="fine")) == "fine"
    assert len(Eventful.begun) == 1


def test_half_a_character_in_the_older_transport_costs_no_more_than_itself(eventful):
    assert text_of(eventful.ask(1, "tools/call", name="half")) == "half \ufffd, whole \U0001f600"


@pytest.mark.parametrize("options", [(), ("--sse",)])
def test_a_server_that_is_not_there_is_told_with_the_reason(options):
    wire = Wire("", *options, server=["http://127.0.0.1:9/mcp"])
    error = wire.greet()["error"]
    assert wire.end() == 0
    assert "All connection attempts failed" in error["message"] and error["data"]["code"] == "UNAVAILABLE"
