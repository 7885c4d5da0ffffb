"""The addresses that the client asks: what a target says stays, and what an answer says is relative to that answer."""

from __future__ import annotations

import httpx
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from aerogram.archive import Archive
from aerogram.client import AsyncClient, Client
from aerogram.contract import Contract
from aerogram.dialects import dialect
from aerogram.errors import ContractError
from aerogram.reply import Action, Fidelity, Page, Reply
from aerogram.starlette import Versions, install, shapes

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
BOOKS = [{"id": f"book-{number}", "text": f"the text of book {number} " * 8} for number in range(60)]


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


# where an answer leads to


def links(form: str) -> Starlette:
    """Three pages at an address that is not the root, each with a Link to the next in one of its lawful forms."""

    async def rows(request):
        number = int(request.query_params.get("page", "1"))
        address = str(request.url.replace(query=f"page={number + 1}"))
        relative = f"{request.url.path}?page={number + 1}"
        last = f'<{request.url.path}?page=3>; rel="last"'
        more = form.format(number=number + 1, address=address, relative=relative, last=last)
        return JSONResponse([number], headers={"link": more if number < 3 else last})

    return Starlette(routes=[Mount("/sub", routes=[Route("/rows", rows), Route("/{name:path}", rows)])])


FORMS = [
    '<{address}>; rel="next", {last}',
    '{last}, <{relative}>; rel="next"',
    "<?page={number}>; rel=next",
    "<?page={number}>;REL=Next",
    '<?page={number}> ; title="a, b; c <x>; rel=last" ; rel="prefetch next"',
    '<{relative}>; rel="next"; rel="last"',
    '<?page=9>; rel="next"; anchor="#elsewhere", <?page={number}>; rel="next"',
    '<?page=9>; title="say \\"rel=next\\""; rel=up, <?page={number}>; rel=next',
]


@pytest.mark.parametrize("form", FORMS)
def test_a_link_in_any_lawful_form_is_relative_to_the_answer(serve, library, form):
    base = serve(links(form))
    for below, target in [("", "/sub/rows"), ("/sub", "/rows"), ("/sub/", "rows"), ("/sub", "/a;b/c,d")]:
        with library.Client(base_url=base + below, timeout=60) as connection:
            assert list(Client(connection).items(target)) == [1, 2, 3]


async def test_links_are_followed_so_by_who_awaits(serve, library):
    async with library.AsyncClient(base_url=serve(links(FORMS[2])) + "/sub", timeout=60) as connection:
        assert [item async for item in AsyncClient(connection).items("/rows")] == [1, 2, 3]


def library_of_books() -> Starlette:
    """Books that do not fit, in an application with the layer around the part in which they stand."""

    async def books(request):
        return BOOKS

    app = Starlette(routes=[Mount("/sub", routes=[Route("/books", books)])])
    install(app, Contract(budget=1_500, archive=Archive.in_memory()), Versions(default="v2", controls=True))
    return app


def test_what_was_left_out_is_asked_for_where_the_answer_says(serve, library):
    base = serve(library_of_books())
    for below, target in [("", "/sub/books"), ("/sub", "/books"), ("/sub/", "books")]:
        with library.Client(base_url=base + below, timeout=60) as connection:
            client = Client(connection)
            reply = client.call(target)
            assert reply.data != BOOKS and reply.actions[0].endpoint == "/v1/content/{hash}"
            assert client.whole(reply).data == BOOKS


def test_and_on_the_host_that_answered(serve, library):
    """One connection may be used for several hosts, by whole addresses."""
    elsewhere = serve(library_of_books())
    with library.Client(base_url=serve(tenants()), timeout=60) as connection:
        client = Client(connection)
        assert client.whole(client.call(elsewhere + "/sub/books")).data == BOOKS
        assert list(client.items(elsewhere + "/sub/books", {"page_size": 30}, whole=True)) == BOOKS


async def test_the_same_holds_while_awaiting(serve, library):
    async with library.AsyncClient(base_url=serve(library_of_books()) + "/sub", timeout=60) as connection:
        client = AsyncClient(connection)
        assert (await client.whole(await client.call("/books"))).data == BOOKS


def test_who_follows_a_host_to_https_may_be_led_there():
    """A server that sends its callers from http to https is the same one; any other change of host is not."""
    asked = []

    def answer(request):
        asked.append(str(request.url))
        if request.url.scheme == "http":
            return httpx.Response(307, headers={"location": str(request.url.copy_with(scheme="https"))})
        more = {} if request.url.query else {"link": "<?page=2>; rel=next"}
        return httpx.Response(200, json=[len(asked)], headers=more)

    with httpx.Client(
        base_url="http://books.example", transport=httpx.MockTransport(answer), follow_redirects=True
    ) as connection:
        assert len(list(Client(connection).pages("/rows"))) == 2
    assert asked[-1] == "https://books.example/rows?page=2"


# where an answer leads that leads nowhere


LONG = "a" * 70_000
NO_ADDRESSES = {"with a NUL": "/a\x00b", "with DEL": "/a\x7f", "too long": "/" + LONG, "no host": "http://[::1"}


def astray(address: str) -> Starlette:
    """Answers whose next page, or whose rest, is at an address; and one whose next page has a long cursor."""
    rest = "sha256:" + "0" * 64

    async def linked(request):
        return JSONResponse([1], headers={"link": f'<{address}>; rel="next"'})

    async def cut(request):
        action = Action(endpoint=address, args={"hash": rest})
        fidelity = Fidelity("partial", archive_hashes={"data": rest})
        return in_envelope(Reply.partial([1], "cut", request_id="r-1", actions=(action,), fidelity=fidelity))

    async def paged(request):
        return in_envelope(Reply.ok([1], request_id="r-1", page=Page(has_more=True, cursor=LONG)))

    return Starlette(routes=[Route("/linked", linked), Route("/cut", cut), Route("/paged", paged)])


def in_envelope(reply: Reply) -> JSONResponse:
    voice = dialect("standard-v2")
    return JSONResponse(voice.encode(voice.complete(reply)))


@pytest.mark.parametrize("address", NO_ADDRESSES.values(), ids=NO_ADDRESSES)
def test_what_is_no_address_is_refused_as_such(serve, library, address):
    """Whatever the HTTP library says of it, the client says it in its own way."""
    with library.Client(base_url=serve(astray(address)), timeout=60) as connection:
        client = Client(connection)
        with pytest.raises(ContractError, match="is no address"):
            client.whole(client.call("/cut"))
        if address.isprintable():  # nothing else may stand in a header
            with pytest.raises(ContractError, match="is no address"):
                list(client.pages("/linked"))


def test_so_is_an_address_that_a_cursor_makes_too_long(serve, library):
    with library.Client(base_url=serve(astray("/")), timeout=60) as connection:
        pages = Client(connection).items("/paged")
        with pytest.raises(ContractError, match="is no address"):
            list(pages)


async def test_it_is_refused_to_who_awaits_as_well(serve, library):
    async with library.AsyncClient(base_url=serve(astray("/" + LONG)), timeout=60) as connection:
        client = AsyncClient(connection)
        for target in ("/linked", "/paged"):
            with pytest.raises(ContractError, match="is no address"):
                _ = [page async for page in client.pages(target)]
        with pytest.raises(ContractError, match="is no address"):
            await client.whole(await client.call("/cut"))
