"""The addresses that the client asks: what a target says stays, and what an answer says is relative to that answer."""

from __future__ import annotations

import httpx
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from aerogram.client import AsyncClient, Client
from aerogram.reply import Page, Reply
from aerogram.starlette import Versions, install, shapes

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Each of the HTTP libraries that the client works with."""
    return LIBRARIES[request.param]


# the query of a target


def tenants() -> Starlette:
    """Rows of whoever is asked for: pages of the layer, pages of the handler, and what was asked."""

    async def rows(request):
        return [{"id": f"{request.query_params.get('tenant', 'nobody')}-{number}"} for number in range(12)]

    @shapes(controls=False)
    async def own(request):
        start = int(request.query_params.get("cursor", 0))
        found = [{"id": f"{request.query_params.get('tenant', 'nobody')}-{start + number}"} for number in range(5)]
        return Reply.ok(found, page=Page(has_more=start < 10, cursor=str(start + 5)))

    async def asked(request):
        body = await request.body()
        return JSONResponse({"query": request.query_params.multi_items(), "body": body.decode()})

    app = Starlette(
        routes=[Route("/rows", rows), Route("/own", own), Route("/asked", asked, methods=["GET", "POST", "DELETE"])]
    )
    install(app, versions=Versions(default="v2", controls=("cursor", "page_size")))
    return app


@pytest.mark.parametrize("target", ["/rows?tenant=acme&page_size=5", "/own?tenant=acme", "GET /own?tenant=acme"])
def test_every_page_is_of_the_query_in_the_target(serve, library, target):
    with library.Client(base_url=serve(tenants()), timeout=60) as connection:
        found = [item["id"] for item in Client(connection).items(target)]
    assert found == [f"acme-{number}" for number in range(len(found))]
    assert len(found) == (12 if "rows" in target else 15)


async def test_so_it_is_when_the_client_awaits(serve, library):
    async with library.AsyncClient(base_url=serve(tenants()), timeout=60) as connection:
        found = [item["id"] async for item in AsyncClient(connection).items("/own?tenant=acme")]
    assert found == [f"acme-{number}" for number in range(15)]


def test_arguments_join_the_query_of_a_target_and_come_before_it(serve, library):
    with library.Client(base_url=serve(tenants()), timeout=60) as connection:
        client = Client(connection)

        def asked(target, arguments=None):
            return [tuple(pair) for pair in client.call(target, arguments).data["query"]]

        assert asked("/asked?a=1&a=2&b=x%20y&c=", {"d": 1}) == [
            ("a", "1"),
            ("a", "2"),
            ("b", "x y"),
            ("c", ""),
            ("d", "1"),
        ]
        assert asked("/asked?a=1&b=2", {"a": 3}) == [("b", "2"), ("a", "3")]
        assert asked("DELETE /asked?a=1", {"b": True, "c": [1, 2]}) == [
            ("a", "1"),
            ("b", "true"),
            ("c", "1"),
            ("c", "2"),
        ]
        assert asked("/asked?a=1") == [("a", "1")]
        sent = client.call("POST /asked?a=1", {"b": 2}).data
        assert (sent["query"], sent["body"].replace(" ", "")) == ([["a", "1"]], '{"b":2}')


def test_parameters_that_a_connection_adds_to_every_request_leave_the_query_alone(serve, library):
    with library.Client(base_url=serve(tenants()), params={"key": "k"}, timeout=60) as connection:
        client = Client(connection)
        assert sorted(client.call("/asked?a=1").data["query"]) == [["a", "1"], ["key", "k"]]
        assert sorted(client.call("POST /asked?a=1", {"b": 2}).data["query"]) == [["a", "1"], ["key", "k"]]
        assert [one["id"] for one in client.items("/own?tenant=acme")] == [f"acme-{number}" for number in range(15)]
