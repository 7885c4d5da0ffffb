"""Offset pages: a legacy shape whose next page has an address, and pages that say that there is more and not where."""

from __future__ import annotations

import httpx
import httpx2
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import aerogram.fastapi
import aerogram.starlette
from aerogram.client import AsyncClient, Client
from aerogram.errors import ContractError
from aerogram.fastapi import Versions, from_offset_page, shapes
from aerogram.reply import Page, Reply

ROWS = [{"id": number} for number in range(25)]
LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
VERSIONS = Versions(vendor="acme")


def page_of(kind: str, limit: int, offset: int) -> dict:
    found = [{"kind": kind, **row} for row in ROWS[offset : offset + limit]]
    return {"total": len(ROWS), "limit": limit, "offset": offset, "results": found}


def on_fastapi() -> FastAPI:
    app = FastAPI()

    @app.get("/search")
    @shapes(reply=from_offset_page)
    def search(kind: str = "tree", limit: int = 10, offset: int = 0):
        return page_of(kind, limit, offset)

    @app.get("/skipping")
    @shapes(reply=from_offset_page)
    def skipping(limit: int = 10, skip: int = 0):
        return page_of("tree", limit, skip)

    @app.post("/search")
    @shapes(reply=from_offset_page)
    def post_search(offset: int = 0):
        return page_of("tree", 10, offset)

    aerogram.fastapi.install(app, versions=VERSIONS)
    return app


def on_starlette() -> Starlette:
    @shapes(reply=from_offset_page)
    async def search(request):
        asked = request.query_params
        return page_of(asked.get("kind", "tree"), int(asked.get("limit", 10)), int(asked.get("offset", 0)))

    app = Starlette(routes=[Route("/search", search)])
    aerogram.starlette.install(app, versions=VERSIONS)
    return app


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("build", [on_fastapi, on_starlette])
def test_the_next_offset_page_has_an_address(serve, library, build):
    with LIBRARIES[library].Client(base_url=serve(build()), timeout=60) as connection:
        client = Client(connection)
        for limit in (5, 10, 24, 25, 40):
            arguments = {"kind": "a&b", "limit": limit, "envelope": "v2"}
            assert list(client.items("/search", arguments)) == [{"kind": "a&b", **row} for row in ROWS]
        link = connection.get("/search?limit=10&envelope=v2").headers["link"]
        assert link == '</search?limit=10&envelope=v2&offset=10>; rel="next"'
        assert "link" not in connection.get("/search?offset=20&envelope=v2").headers
        assert len(list(client.items("/search?offset=20&envelope=v2"))) == 5


async def test_it_is_followed_by_who_awaits(serve):
    async with httpx.AsyncClient(base_url=serve(on_fastapi()), timeout=60) as connection:
        found = [item["id"] async for item in AsyncClient(connection).items("/search", {"envelope": "v2"})]
    assert found == [row["id"] for row in ROWS]


def test_a_route_that_reads_no_offset_from_its_query_names_none(serve):
    with httpx.Client(base_url=serve(on_fastapi()), timeout=60) as connection:
        assert "link" not in connection.get("/skipping?envelope=v2").headers
        assert "link" not in connection.post("/search?envelope=v2").headers


def dead_ends() -> Starlette:
    """Pages that say that there is more, ours and of another API, without a way on."""

    async def ours(request):
        return Reply.ok(ROWS[:10], page=Page(has_more=True, total=25))

    async def foreign(request):
        body = {"success": True, "data": {"results": [1]}, "error": None}
        return JSONResponse({**body, "meta": {"version": "response-v2", "pagination": {"has_more": True}}})

    app = Starlette(routes=[Route("/ours", ours), Route("/foreign", foreign)])
    aerogram.starlette.install(app, versions=Versions(default="v2", current="response-v2", migrated=["/ours"]))
    return app


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("target", ["/ours", "/foreign"])
def test_pages_without_a_way_on_do_not_end_as_if_they_were_all(serve, library, target):
    with LIBRARIES[library].Client(base_url=serve(dead_ends()), timeout=60) as connection:
        pages = Client(connection).pages(target)
        assert next(pages).data
        with pytest.raises(ContractError, match="neither a cursor nor a link"):
            next(pages)


@pytest.mark.parametrize("of_route", [("page_size",), "page_size", ["page_size", "fields"]])
def test_a_route_that_lets_its_callers_choose_the_page_size_takes_the_cursor_as_well(serve, of_route):
    @shapes(controls=of_route)
    async def rows(request):
        return ROWS

    app = Starlette(routes=[Route("/rows", rows)])
    aerogram.starlette.install(app, versions=VERSIONS)
    with httpx.Client(base_url=serve(app), timeout=60) as connection:
        client = Client(connection)
        assert list(client.items("/rows", {"page_size": 10, "envelope": "v2"})) == ROWS
        assert list(client.items("/rows", {"page_size": 10})) == ROWS  # by the link alone


def test_a_handler_that_reads_a_cursor_of_its_own_is_not_paged_over(serve):
    """A cursor of the layer would come to the handler, which knows nothing of it."""
    app = FastAPI()

    @app.get("/rows")
    def rows(cursor: int = 0):
        return ROWS[cursor:]

    aerogram.fastapi.install(app, versions=Versions(vendor="acme", controls=True))
    with httpx.Client(base_url=serve(app), timeout=60) as connection:
        answer = connection.get("/rows?page_size=10&cursor=5&envelope=v2")
    assert answer.json()["results"] == ROWS[5:] and "link" not in answer.headers
