"""The live view: what the server sends, told to its owner as it is sent, and never what it says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import threading
from collections.abc import Iterator

import httpx
import pytest

from aerogram.reply import Reply
from aerogram.telemetry import Observer
from aerogram_page.live import Feed
from balancer import wait_for
from serving import SAMPLES, serving

SECRET = "xyzzy-plugh"


def events(stream: httpx.Response) -> Iterator[dict]:
    """The events of a stream, as they come."""
    event: dict = {}
    silence = 0
    for line in stream.iter_lines():
        silence += line.startswith(":")
        assert silence < 8, "nothing was sent for two minutes"
        name, _, value = line.partition(": ")
        if not line and "data" in event:
            yield {"id": int(event["id"]), **json.loads(event["data"])}
            event = {}
        elif name:
            event[name] = value


def call_tool(address: str, name: str, arguments: dict) -> None:
    from fastmcp import Client

    async def call() -> None:
        async with Client(f"{address}/mcp") as client:
            await client.call_tool_mcp(name, arguments)

    asyncio.run(call())


@contextlib.contextmanager
def server(folder):
    """A server that nobody else asks anything."""
    with serving(folder / "index", documents=SAMPLES / "security") as served:
        yield served


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    with server(tmp_path_factory.mktemp("watched")) as served:
        yield served


@pytest.fixture
def client(watched):
    with httpx.Client(base_url=watched.address, timeout=30) as client:
        yield client


def mark(client: httpx.Client) -> str:
    """A call that can be told from the others."""
    return client.get("/v1/chunks/1", params={"envelope": "v2"}).headers["x-request-id"]


def after(found: Iterator[dict], request_id: str) -> dict:
    """The event of a call; those before it are passed over."""
    return next(event for event in found if event["request_id"] == request_id)


def test_the_owner_sees_each_reply_as_it_is_sent_and_nothing_of_what_it_says(watched, client):
    address, marked = watched.address, mark(client)
    with client.stream("GET", "/page/api/live") as stream:
        found = events(stream)
        first = after(found, marked)  # what was sent before is told again
        call_tool(address, "semantic_search", {"query": SECRET, "response_mode": "full"})
        over_mcp = next(found)
        httpx.get(f"{address}/v1/chunks/999999999", params={"envelope": "v2"}, timeout=60)
        failed = next(found)
        tight = {"q": "token", "response_mode": "full", "max_tokens": 900, "page_size": 20, "envelope": "v2"}
        httpx.get(f"{address}/v1/search", params=tight, timeout=60)
        fitted = next(found)
    assert (over_mcp["via"], over_mcp["dialect"], over_mcp["problem"]) == ("mcp", "knowledge-1.0", None)
    assert over_mcp["tokens"] == over_mcp["tokens_before"] > 0
    assert (failed["via"], failed["operation"], failed["problem"]) == ("http", "get_chunks", "NOT_FOUND")
    assert fitted["fidelity"] != "full"
    assert fitted["tokens"] <= 900 < fitted["tokens_before"]
    assert [one["id"] - first["id"] for one in (over_mcp, failed, fitted)] == [1, 2, 3]
    assert SECRET not in json.dumps([over_mcp, failed, fitted])
    assert all(one["ms"] > 0 and one["size"] > 0 for one in (over_mcp, failed, fitted))


def test_a_page_that_comes_back_is_told_only_what_it_has_missed(client):
    marked, last = mark(client), mark(client)
    with client.stream("GET", "/page/api/live") as stream:
        known = after(events(stream), marked)["id"]
    with client.stream("GET", "/page/api/live", headers={"last-event-id": str(known)}) as stream:
        assert next(events(stream))["request_id"] == last


def test_only_the_last_replies_are_kept(client):
    for _ in range(100):
        last = mark(client)
    with client.stream("GET", "/page/api/live") as stream:
        found = events(stream)
        first = next(found)["id"]
        assert after(found, last)["id"] - first == 99


def test_the_page_itself_does_not_appear_in_its_live_view(client):
    call = {"operation": "semantic_search", "arguments": {"query": "token"}}
    marked = mark(client)
    client.get("/")
    client.get("/page/api/context")
    client.post("/page/api/shrink", json={"source": {"call": call}, "budget": 900})
    last = mark(client)
    with client.stream("GET", "/page/api/live") as stream:
        found = events(stream)
        assert after(found, marked)["id"] + 1 == after(found, last)["id"]


def test_a_request_that_was_passed_on_is_not_the_owners(watched):
    names = (
        "x-forwarded-for forwarded via x-forwarded-host x-forwarded-proto cf-connecting-ip true-client-ip x-client-ip"
    )
    for header in (*({name: "203.0.113.9"} for name in names.split()), {"host": "docs.example"}, {"host": "10.0.0.7"}):
        answer = httpx.get(f"{watched.address}/page/api/live", headers=header, timeout=60)
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        if "example" not in header.get("host", ""):  # such a name is refused altogether
            context = httpx.get(f"{watched.address}/page/api/context", headers=header, timeout=60)
            assert context.json()["owner"] is False


def test_a_server_ends_although_somebody_watches(tmp_path):
    with server(tmp_path) as served:
        _ends_while_watched(served)


def _ends_while_watched(served) -> None:
    ended = threading.Event()

    def watch() -> None:
        with httpx.stream("GET", f"{served.address}/page/api/live", timeout=60) as stream:
            started.set()
            for _ in stream.iter_lines():
                pass
        ended.set()

    started = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    assert started.wait(60)
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(60) == 0
    watcher.join(60)
    assert ended.is_set()


def test_a_follower_that_does_not_keep_up_is_told_how_much_it_missed():
    async def follow() -> list[bytes]:
        feed = Feed(lambda: len(said) > 300)
        observer = Observer().with_listener(feed.listener("mcp"))
        said: list[bytes] = []
        stream = feed.follow()
        said.append(await anext(stream))
        for number in range(400):
            with observer.observe(f"operation {number}") as observation:
                observation.report_reply(Reply.ok(number))
        async for one in stream:
            said.append(one)
            if len(said) == 258:
                break
        await stream.aclose()
        return said

    said = asyncio.run(follow())
    assert said[1] == b'event: gap\ndata: {"missed":144}\n\n'
    assert b"operation 144" in said[2]
    assert b"operation 399" in said[-1]


def test_only_so_many_pages_may_watch(watched):
    """A place is free again when the server has noticed that its watcher has left."""
    address = f"{watched.address}/page/api/live"
    with contextlib.ExitStack() as watching:
        streams = []

        def is_let_in() -> bool:
            stream = watching.enter_context(httpx.stream("GET", address, timeout=60))
            streams.append(stream.iter_bytes())
            next(streams[-1])
            return stream.status_code == 200

        for _ in range(16):
            wait_for(is_let_in)
        refused = httpx.get(address, timeout=60)
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
    with contextlib.ExitStack() as watching:
        wait_for(is_let_in)


def test_a_failure_tells_its_code_and_no_fidelity(client):
    sent = client.get("/v1/search", params={"q": "token", "cursor": "nowhere", "envelope": "v2"})
    with client.stream("GET", "/page/api/live") as stream:
        told = after(events(stream), sent.headers["x-request-id"])
    assert (told["problem"], told["fidelity"]) == ("INVALID_CURSOR", None)
