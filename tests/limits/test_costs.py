"""What calls cost: nothing when one of several limits refuses them, and as many units as their handler says."""

from __future__ import annotations

import httpx
import pytest
from fastmcp import Client, FastMCP
from starlette.applications import Starlette
from starlette.routing import Route

from aerogram import Contract, Reply, Telemetry, read
from aerogram.errors import NotFound, QuotaExceeded, RateLimited
from aerogram.fastmcp import install as install_fastmcp
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions
from aerogram.starlette import install as install_starlette


async def test_whom_a_quota_refuses_has_paid_into_no_burst(open_limits, ada):
    limits = open_limits(Plan.of("1/day", per_tool={"search": "3/minute"}))
    assert (await limits.take(ada, "search")).rate_limit.remaining == 0
    for _ in range(5):  # more often than the burst would let through
        with pytest.raises(QuotaExceeded):
            await limits.take(ada, "search")


async def test_whom_the_longer_burst_refuses_has_not_paid_into_the_shorter_one(open_limits, ada):
    limits = open_limits(Plan.of("1/hour", "4/minute"))
    await limits.take(ada, "search")
    policies = set()
    for _ in range(6):
        with pytest.raises(RateLimited) as refused:
            await limits.take(ada, "search")
        policies.add(refused.value.rate_limit.extra["policy"])
    assert policies == {"1/hour"}


async def test_an_allowance_may_be_settled_again_and_pays_the_difference(open_limits, ada):
    limits = open_limits(Plan.of("20/day"))
    allowance = await limits.take(ada, "search")
    for units in (7, 7, 3, 0, 0):
        assert (await limits.settle(allowance, units)).rate_limit.remaining == 20 - units
        assert (await limits.usage(ada))[0].units == units


def dear() -> Reply:
    return Reply.ok([1], telemetry=Telemetry(billable_units=7))


def failing() -> Reply:
    raise NotFound("gone")


async def test_a_tool_says_how_many_units_its_answer_costs():
    limits = Limits.in_memory(Plan.of("20/day"))
    server = FastMCP("shop")
    install_fastmcp(server, dialect="response-v2", limits=limits)
    for handler in (dear, failing):
        server.tool(handler)
    async with Client(server) as client:
        sold = read((await client.call_tool("dear")).structured_content)
        failed = read((await client.call_tool("failing", raise_on_error=False)).structured_content)
    assert (await limits.usage(None))[0].units == 7
    assert sold.rate_limit.remaining == failed.rate_limit.remaining == 13


async def test_a_route_says_how_many_units_its_answer_costs():
    limits = Limits.in_memory(Plan.of("20/day"))
    app = Starlette(routes=[Route("/dear", lambda _: dear()), Route("/failing", lambda _: failing())])
    install_starlette(app, Contract(limits=limits), Versions(vendor="acme", default="v2"))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        sold, failed = await client.get("/dear"), await client.get("/failing")
    assert (await limits.usage(None))[0].units == 7
    for response in (sold, failed):
        assert response.headers["RateLimit"].startswith('"20/day";r=13')
        assert read(response.json()).rate_limit.remaining == 13
