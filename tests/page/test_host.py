"""A page in an application of one's own: what it asks of its host, how often, and what it makes of failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import httpx
import pytest

from aerogram import Archive, Contract, Notice, Reply
from aerogram.errors import Conflict
from aerogram.limits import Limits, Plan
from aerogram.sanitize import Redaction
from aerogram_page.host import Host
from aerogram_page.routes import page_app


@dataclass
class Almanac(Host):
    """A host with one operation, which counts its calls."""

    asked: Counter = field(default_factory=Counter)

    def principal(self, scope):
        return next((value.decode() for name, value in scope["headers"] if name == b"x-who"), None)

    async def answer(self, operation, arguments, mode, principal):
        self.asked[operation, mode, principal] += 1
        if operation == "conflict":
            raise Conflict("Somebody else was faster")
        if operation == "mistake":
            raise RuntimeError("the password is hunter2")
        if operation == "odd":
            return Reply.partial({"a": object, "b": {1, 2}}, Notice("odd"))
        rows = [
            {"id": day, "text": f"AKIAABCDEFGHIJKLMNOP on day {day} " * 20} for day in range(arguments.get("days", 7))
        ]
        return rows if mode == "full" else [{"id": row["id"]} for row in rows]


@pytest.fixture
def host():
    return Almanac(Contract(archive=Archive.in_memory()))


@pytest.fixture
def page(host):
    """Asks the page of the host."""
    return connected(host)


def connected(host: Host):
    async def ask(what: str, who: str | None = None, **said) -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post(f"/page/api/{what}", json=said, headers={"x-who": who} if who else {})

    app = page_app(host)
    return ask


def almanac(**arguments) -> dict:
    return {"call": {"operation": "almanac", "arguments": arguments}}


async def test_moving_the_slider_asks_the_host_once_for_each_mode(host, page):
    for budget in (400, 500, 600, None, 400):
        answer = await page("shrink", source=almanac(), budget=budget)
        assert answer.status_code == 200
    await page("curve", source=almanac())
    await page("dialects", source=almanac(), mode="ids_only")
    assert set(host.asked.values()) == {1}
    assert {mode for _, mode, _ in host.asked} == {"ids_only", "metadata", "preview", "full"}
    await page("shrink", source=almanac(days=3))
    assert host.asked["almanac", "full", None] == 2


async def test_what_one_caller_was_answered_is_not_for_another(host, page):
    ada = (await page("shrink", who="ada", source=almanac(), budget=500)).json()
    bob = (await page("shrink", who="bob", source=almanac(days=2))).json()
    assert host.asked["almanac", "full", "ada"] == host.asked["almanac", "full", "bob"] == 1
    assert bob["before"]["items"] == 2
    piece = {name: ada["pieces"]["listed"][0][name] for name in ("archive", "pointer", "hash")}
    assert (await page("piece", who="ada", source=almanac(), **piece)).json()["matches"] is True
    assert (await page("piece", who="bob", source=almanac(), **piece)).status_code == 404


async def test_limits_count_calls_and_not_moves_of_the_slider():
    limits = Limits.in_memory(lambda _: Plan.of("2/minute"))
    page = connected(Almanac(Contract(archive=Archive.in_memory(), limits=limits)))
    for days in (1, 2):
        for budget in (400, 500, 600):
            assert (await page("shrink", who="ada", source=almanac(days=days), budget=budget)).status_code == 200
    refused = await page("shrink", who="ada", source=almanac(days=3))
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert int(refused.headers["retry-after"]) > 0
    assert (await page("shrink", who="bob", source=almanac(days=3))).status_code == 200


async def test_a_failure_is_shown_and_tried_again_the_next_time(host, page):
    for _ in range(2):
        told = (await page("shrink", source={"call": {"operation": "conflict", "arguments": {}}})).json()
        assert (told["problem"]["code"], told["body"]["error"]["code"]) == ("CONFLICT", "CONFLICT")
    assert host.asked["conflict", "full", None] == 2


async def test_a_mistake_of_the_host_is_masked(page):
    answer = await page("shrink", source={"call": {"operation": "mistake", "arguments": {}}})
    assert answer.json()["problem"]["code"] == "INTERNAL_ERROR"
    assert "hunter2" not in answer.text


async def test_whatever_the_host_returns_is_shown_as_json(page):
    told = (await page("shrink", source={"call": {"operation": "odd", "arguments": {}}})).json()
    assert told["problem"] is None
    assert sorted(told["body"]["results"]["b"]) == [1, 2]


async def test_the_page_shows_and_keeps_nothing_that_the_contract_takes_out():
    page = connected(Almanac(Contract(archive=Archive.in_memory(), sanitizers=(Redaction(),))))
    told = await page("shrink", source=almanac(), budget=500)
    assert "AKIAABCDEFGHIJKLMNOP" not in told.text
    piece = {name: told.json()["pieces"]["listed"][0][name] for name in ("archive", "pointer", "hash")}
    back = await page("piece", source=almanac(), **piece)
    assert back.json()["matches"] is True
    assert "AKIAABCDEFGHIJKLMNOP" not in back.text


async def test_without_an_archive_nothing_comes_back_and_the_reply_says_so():
    page = connected(Almanac(Contract()))
    told = (await page("shrink", source=almanac(), budget=300)).json()
    assert told["archives"] == []
    assert all(row["archive"] is None for row in told["pieces"]["listed"])
    assert {notice["code"] for notice in told["notices"]} <= {"PARTIAL_RESULTS", "CONTENT_TRUNCATED"}
    assert told["notices"]
    assert "retrieve" not in told["text"]
    gone = await page("piece", source=almanac(), archive="sha256:" + "0" * 64)
    assert gone.status_code == 404


async def test_a_host_without_operations_says_what_to_do_instead():
    page = connected(Host(Contract(archive=Archive.in_memory())))
    told = (await page("shrink", source=almanac())).json()
    assert told["problem"]["remediation"] == "Open a reply, or start the page with `aerogram serve`"
    answer = await page("digest", source_file="a.md", query="why")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
