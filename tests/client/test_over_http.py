"""The client against HTTP servers, ours in each dialect and others, with httpx and httpx2, waiting and awaiting."""

from __future__ import annotations

import httpx
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from aerogram.archive import Archive
from aerogram.client import AsyncClient, Client
from aerogram.contract import Contract
from aerogram.dialects import dialect
from aerogram.errors import ContractError, InvalidCursor, NotFound, ValidationFailed
from aerogram.reply import Action, Fidelity, Reply
from aerogram.starlette import Versions, install

ROWS = [{"id": f"row-{number}", "text": f"the text of row {number} " * 8} for number in range(60)]
DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0"]
LIBRARIES = {"httpx": httpx, "httpx2": httpx2}


def application(dialect: str, **settings) -> Starlette:
    """Rows, a failure, and what was sent; what was left out is where `install` serves it."""

    async def rows(request):
        return ROWS

    async def missing(request):
        raise NotFound("There is no tree")

    async def sent(request):
        return {"method": request.method, "body": await request.json()}

    app = Starlette(
        routes=[
            Route("/rows", rows),
            Route("/missing", missing),
            Route("/sent", sent, methods=["POST"]),
        ]
    )
    install(app, Contract(**settings), Versions(current=dialect, default="v2", controls=True))
    return app


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_replies_problems_and_pages_are_read_while_waiting(serve, dialect, library):
    with LIBRARIES[library].Client(base_url=serve(application(dialect)), timeout=60) as connection:
        client = Client(connection)
        reply = client.call("/rows")
        assert (reply.data, bool(reply.request_id)) == (ROWS, True)
        assert client.call("/missing").problem.code == "NOT_FOUND"
        assert client.call("/nowhere").problem.code == "NOT_FOUND"
        assert [len(page.data) for page in client.pages("GET /rows", {"page_size": 25})] == [25, 25, 10]
        assert list(client.items("/rows", {"page_size": 25})) == ROWS
        assert client.call("POST /sent", {"a": 1}).data == {"method": "POST", "body": {"a": 1}}


@pytest.mark.parametrize("library", LIBRARIES)
async def test_replies_problems_and_pages_are_read_while_awaiting(serve, library):
    async with LIBRARIES[library].AsyncClient(base_url=serve(application("standard-v2")), timeout=60) as connection:
        client = AsyncClient(connection)
        assert (await client.call("/rows")).data == ROWS
        assert [item async for item in client.items("/rows", {"page_size": 25})] == ROWS
        with pytest.raises(InvalidCursor):
            [page async for page in client.pages("/rows", {"cursor": "forged"})]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("budget", [900, 2_000])
def test_everything_that_was_dropped_comes_back(serve, dialect, budget):
    app = application(dialect, budget=budget, archive=Archive.in_memory())
    with httpx.Client(base_url=serve(app), timeout=60) as connection:
        client = Client(connection)
        reply = client.call("/rows")
        assert reply.data != ROWS
        if dialect == "standard-v2":  # which has no member for pages, so that nobody gets one unasked
            assert client.whole(reply).data == client.recover(reply)["data"] == ROWS
        else:
            with pytest.raises(ValidationFailed, match="page of several"):
                client.whole(reply)
            assert list(client.items("/rows", whole=True)) == ROWS
        assert list(client.items("/rows", {"page_size": 40}, whole=True)) == ROWS


def foreign() -> Starlette:
    """An API with pages of its own making: an address in the Link header."""

    async def rows(request):
        start = int(request.query_params.get("start", 0))
        more = {"link": f'</rows?start={start + 25}>; rel="next"'} if start + 25 < len(ROWS) else {}
        return JSONResponse(ROWS[start : start + 25], headers=more)

    async def broken(request):
        return JSONResponse({"detail": "upstream is gone"}, status_code=503, headers={"retry-after": "120"})

    return Starlette(routes=[Route("/rows", rows), Route("/broken", broken)])


def test_pages_behind_links_are_followed(serve):
    with httpx.Client(base_url=serve(foreign()), timeout=60) as connection:
        client = Client(connection)
        assert list(client.items("/rows")) == ROWS
        failed = client.call("/broken").problem
        assert (failed.code, failed.message, failed.retry_after) == ("UNAVAILABLE", "upstream is gone", 120)


def misleading(elsewhere: str) -> Starlette:
    """Answers whose next page, and whose rest, are on another host."""
    rest = "sha256:" + "0" * 64

    async def paged(request):
        return JSONResponse([1], headers={"Link": f'<{elsewhere}/rows>; rel="next"'})

    async def cut(request):
        reply = Reply.partial(
            [1],
            "the rest is elsewhere",
            request_id="r-1",
            actions=(Action(endpoint=elsewhere + "/{hash}", args={"hash": rest}),),
            fidelity=Fidelity("partial", archive_hashes={"data": rest}),
        )
        return JSONResponse(dialect("standard-v2").encode(dialect("standard-v2").complete(reply)))

    return Starlette(routes=[Route("/paged", paged), Route("/cut", cut)])


def asked_elsewhere(seen: list) -> Starlette:
    async def rows(request):
        seen.append(request.headers.get("authorization"))
        return JSONResponse([2])

    return Starlette(routes=[Route("/{name:path}", rows)])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_reply_leads_to_no_host_that_the_caller_has_not_named(serve, library):
    """The caller's credentials go with every request of a client, so whoever answers must not choose who gets them."""
    seen: list = []
    elsewhere = serve(asked_elsewhere(seen))
    base = serve(misleading(elsewhere))
    with LIBRARIES[library].Client(base_url=base, headers={"Authorization": "Bearer secret"}, timeout=60) as connection:
        client = Client(connection)
        with pytest.raises(ContractError, match="leads to another host"):
            list(client.pages("/paged"))
        with pytest.raises(ContractError, match="leads to another host"):
            client.whole(client.call("/cut"))
        assert seen == []
        client.call(elsewhere + "/rows")  # now the caller has named it
        assert [page.data for page in client.pages("/paged")] == [[1], [2]]


async def test_nor_does_it_when_the_client_awaits(serve):
    seen: list = []
    base = serve(misleading(serve(asked_elsewhere(seen))))
    async with httpx.AsyncClient(base_url=base, headers={"Authorization": "Bearer secret"}, timeout=60) as connection:
        client = AsyncClient(connection)
        with pytest.raises(ContractError, match="leads to another host"):
            _ = [page async for page in client.pages(base + "/paged")]
        with pytest.raises(ContractError, match="leads to another host"):
            await client.whole(await client.call("GET " + base + "/cut"))
    assert seen == []
