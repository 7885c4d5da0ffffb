"""What the page computes: of a size that it can bear, off the event loop, and ended with the request."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import httpx
import pytest

from aerogram.errors import ReplyError
from aerogram_page.opening import open_reply
from aerogram_page.work import LARGEST_VALUES, compute, count_values, stop_if_ended
from serving import serving

NEST = b"[" + b",".join([b"[" * 100 + b"]" * 100] * 65_000) + b"]"
OBJECTS = b"[" + b"{}," * 4_000_000 + b"{}]"


@pytest.fixture(scope="module")
def own_server(tmp_path_factory):
    """A server whose memory nobody else fills."""
    with serving(tmp_path_factory.mktemp("work") / "index") as server:
        yield server


def _memory(server) -> int:
    """Megabytes that a server has had at most."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def _cost(server) -> float:
    """Seconds of the processor that a server has taken."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.parametrize("value", [NEST, OBJECTS, b'{"content": [{"type": "text", "text": "%s"}]}' % NEST])
@pytest.mark.parametrize("what", ["replies", "check", "digest", "shrink"])
def test_more_values_than_can_be_borne_are_refused_before_they_are_read(own_server, what, value):
    """The refusal says the number that works, and costs a few times the body in memory and next to no time."""
    memory, cost = _memory(own_server), _cost(own_server)
    if what == "check":
        value = b'{"text": %s}' % json.dumps(value.decode()).encode()
    elif what == "shrink":
        value = b"[" + b"[]," * 300_000 + b"[]]"
    elif what == "digest":
        value = b'{"digest": {"a": %s}}' % value if not value.startswith(b'{"content') else b"[%s]" % NEST
    with httpx.Client(base_url=own_server.address, timeout=60) as client:
        answer = client.post(f"/page/api/{what}", content=value, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE"), answer.text
    assert answer.json()["details"] == {"max_values": LARGEST_VALUES}
    assert f"{LARGEST_VALUES:,}" in answer.json()["remediation"]
    assert _memory(own_server) - memory < 8 * len(value) / 2**20 + 30
    assert _cost(own_server) - cost < 3


def test_as_many_values_as_are_allowed_are_shown_within_bounds(own_server):
    nest = b"[" + b",".join([b"[" * 100 + b"]" * 100] * (LARGEST_VALUES // 102)) + b"]"
    memory = _memory(own_server)
    with httpx.Client(base_url=own_server.address, timeout=60) as client:
        opened = client.post("/page/api/replies", content=nest, headers={"content-type": "application/json"}).json()
        drawn = client.post("/page/api/curve", json={"source": {"reply": opened["id"]}})
        assert (drawn.status_code, len(drawn.json()["series"])) == (200, 1)
    assert _memory(own_server) - memory < 400


def test_words_are_no_values_however_many_commas_they_have():
    rows = [{"id": number, "text": "one, two, [three], {four}, " * 400} for number in range(1_400)]
    text = json.dumps({"results": rows})
    assert 14_000_000 < len(text) < 16 * 2**20
    assert count_values(text) == 2 + 3 * 1_400
    assert len(open_reply(text).reply.data["results"]) == 1_400
    quoted = json.dumps(['a "b", \\', "c,\\"] * 90_000)
    assert count_values(quoted) == 180_001
    with pytest.raises(ReplyError):
        count_values(json.dumps(["a,b"] * LARGEST_VALUES))


async def test_what_is_computed_stops_when_its_request_ends():
    steps, begun, is_over = [0], threading.Event(), threading.Event()

    def work():
        try:
            while steps[0] < 1000:
                begun.set()
                steps[0] += 1
                threading.Event().wait(0.01)
                stop_if_ended()
        finally:
            is_over.set()

    request = asyncio.create_task(compute(work))
    await asyncio.to_thread(begun.wait, 10)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert await asyncio.to_thread(is_over.wait, 5)
    assert steps[0] < 500


async def test_what_waits_for_its_turn_does_not_begin_when_its_request_has_ended():
    gate, ran = threading.Event(), []
    holders = [asyncio.create_task(compute(gate.wait, 10)) for _ in range(2)]
    await asyncio.sleep(0.05)
    waiting = asyncio.create_task(compute(ran.append, 1))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await asyncio.gather(*holders)
    assert await compute(lambda: list(ran)) == []
