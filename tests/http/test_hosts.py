"""Hosts may have different handlers at the same path and of the same name."""

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Host, Route, Router

from aerogram import fastapi, starlette
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.starlette import Versions

HOSTS = ("a.example", "b.example", "one.multi.example", "two.multi.example")


def part_of(name):
    async def rows(_):
        return [{"of": name, "number": number} for number in range(9)]

    return Router([Route("/rows", rows, name="rows")])


async def by_host(request):
    return [{"of": request.url.hostname, "number": number} for number in range(9)]


SHARED = Router([Route("/rows", by_host, name="rows")])
PARTS = {
    "parts of their own": part_of,
    "one part for all": lambda _: SHARED,
}


@pytest.fixture(params=[(starlette, Starlette), (fastapi, FastAPI)], ids=["starlette", "fastapi"])
def framework(request):
    return request.param


@pytest.mark.parametrize("parts", PARTS)
def test_neither_cached_answers_nor_cursors_of_another_host_are_taken(serve, framework, parts):
    module, make = framework
    app = make(routes=[Host(host, PARTS[parts](host)) for host in ("a.example", "b.example", "{name}.multi.example")])
    contract = Contract(cache=Cache.in_memory(), cached=["rows"])
    module.install(app, contract, Versions(vendor="acme", default="v2", controls=True))
    client = serve(app)
    answers = [client.get("/rows?page_size=2", headers={"Host": host}).json() for host in HOSTS]
    assert [answer["aerogram"]["telemetry"]["cache_hit"] for answer in answers] == [False] * 4
    assert len({answer["results"][0]["of"] for answer in answers[:3]}) == 3
    cursor = answers[0]["aerogram"]["page"]["cursor"]
    asked = [client.get(f"/rows?cursor={cursor}", headers={"Host": host}).status_code for host in HOSTS]
    assert asked == [200, 400, 400, 400]
