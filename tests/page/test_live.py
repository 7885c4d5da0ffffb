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

from aerogram.page.live import Feed
from aerogram.reply import Reply
from aerogram.telemetry import Observer
from serving import SAMPLES, serving

SECRET = "xyzzy-plugh"


def events(stream: httpx.Response) -> Iterator[dict]:
    """The events of a stream, as they come."""
    event: dict = {}
    for line in stream.iter_lines():
        assert not line.startswith(":"), "nothing was sent for a long while"
        name, _, value = line.partition(": ")
        if not line and "data" in event:
            yield {"id": int(event["id"]), **json.loads(event["data"])}
            event = {}
        elif line:
            event[name] = value


def call_tool(address: str, name: str, arguments: dict) -> None:
    from fastmcp import Client

    async def call() -> None:
        async with Client(f"{address}/mcp") as client:
            await client.call_tool_mcp(name, arguments)

    asyncio.run(call())


@pytest.fixture
def watched(tmp_path):
    """A server that nobody else asks anything."""
    with serving(tmp_path / "index", documents=SAMPLES / "security") as server:
        yield server


def test_the_owner_sees_each_reply_as_it_is_sent_and_nothing_of_what_it_says(watched):
    address = watched.address
    with httpx.Client(base_url=address, timeout=30) as client:
        client.get("/v1/search", params={"q": "token"})
        with client.stream("GET", "/page/api/live") as stream:
            found = events(stream)
            assert next(found)["operation"] == "semantic_search"  # what was sent before is told again
            call_tool(address, "semantic_search", {"query": SECRET, "response_mode": "full"})
            over_mcp = next(found)
            httpx.get(f"{address}/v1/chunks/999999999", params={"envelope": "v2"})
            failed = next(found)
            tight = {"q": "token", "response_mode": "metadata", "max_tokens": 1500, "page_size": 50, "envelope": "v2"}
            httpx.get(f"{address}/v1/search", params=tight)
            fitted = next(found)
        assert (over_mcp["via"], over_mcp["dialect"], over_mcp["problem"]) == ("mcp", "knowledge-1.0", None)
        assert over_mcp["tokens"] == over_mcp["tokens_before"] > 0
        assert (failed["via"], failed["operation"], failed["problem"]) == ("http", "get_chunks", "NOT_FOUND")
        assert fitted["fidelity"] != "full"
        assert fitted["tokens"] <= 1500 < fitted["tokens_before"]
        assert [one["id"] for one in (over_mcp, failed, fitted)] == [2, 3, 4]
        assert SECRET not in json.dumps([over_mcp, failed, fitted])
        assert all(one["ms"] > 0 and one["size"] > 0 for one in (over_mcp, failed, fitted))


def test_a_page_that_comes_back_is_told_only_what_it_has_missed(watched):
    with httpx.Client(base_url=watched.address, timeout=30) as client:
        for _ in range(3):
            client.get("/v1/search", params={"q": "token"})
        with client.stream("GET", "/page/api/live", headers={"last-event-id": "2"}) as stream:
            assert next(events(stream))["id"] == 3


def test_only_the_last_replies_are_kept(watched):
    with httpx.Client(base_url=watched.address, timeout=30) as client:
        for _ in range(105):
            client.get("/v1/chunks/1", params={"response_mode": "ids_only", "envelope": "v2"})
        with client.stream("GET", "/page/api/live") as stream:
            assert next(events(stream))["id"] == 6


def test_the_page_itself_does_not_appear_in_its_live_view(watched):
    with httpx.Client(base_url=watched.address, timeout=30) as client:
        call = {"operation": "semantic_search", "arguments": {"query": "token"}}
        client.get("/")
        client.get("/page/api/context")
        client.post("/page/api/shrink", json={"source": {"call": call}, "budget": 900})
        client.get("/v1/search", params={"q": "token"})
        with client.stream("GET", "/page/api/live") as stream:
            first = next(events(stream))
        assert (first["id"], first["via"]) == (1, "http")


def test_a_request_that_was_passed_on_is_not_the_owners(watched):
    for header in ({"x-forwarded-for": "203.0.113.9"}, {"forwarded": "for=203.0.113.9"}, {"via": "1.1 proxy"}):
        answer = httpx.get(f"{watched.address}/page/api/live", headers=header)
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert httpx.get(f"{watched.address}/page/api/context", headers=header).json()["owner"] is False


def test_a_server_ends_although_somebody_watches(watched):
    ended = threading.Event()

    def watch() -> None:
        with httpx.stream("GET", f"{watched.address}/page/api/live", timeout=60) as stream:
            started.set()
            for _ in stream.iter_lines():
                pass
        ended.set()

    started = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    assert started.wait(20)
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(30) == 0
    watcher.join(20)
    assert ended.is_set()


def test_a_follower_that_does_not_keep_up_is_told_how_much_it_missed():
    async def follow() -> list[bytes]:
        feed = Feed(lambda: len(said) > 300)
        observer = Observer().told_to(feed.heard("mcp"))
        said: list[bytes] = []
        stream = feed.follow()
        said.append(await anext(stream))
        for number in range(400):
            with observer.observe(f"operation {number}") as observation:
                observation.sent(Reply.ok(number))
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
    with contextlib.ExitStack() as watching:
        for _ in range(16):
            stream = httpx.stream("GET", f"{watched.address}/page/api/live", timeout=30)
            assert watching.enter_context(stream).status_code == 200
        refused = httpx.get(f"{watched.address}/page/api/live", timeout=30)
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
