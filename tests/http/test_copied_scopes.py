"""Middleware may pass on a copy of the scope, as ASGI asks it to; who asks, and for what, is known all the same."""

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, SimpleUser
from starlette.endpoints import HTTPEndpoint
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from aerogram import Archive, fastapi, starlette
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions

ANN, BOB = {"X-Login": "ann"}, {"X-Login": "bob"}


class Login:
    """Authentication that leaves the scope that it was given as it is."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            name = dict(scope["headers"]).get(b"x-login", b"").decode()
            scope = {**scope, "user": SimpleUser(name), "auth": AuthCredentials([])} if name else {**scope}
        await self.app(scope, receive, send)


def rows_for(who):
    return [{"id": number, "who": who, "text": "words " * 50} for number in range(60)]


async def file(scope, receive, send):
    await PlainTextResponse("a,b")(scope, receive, send)


def in_starlette():
    class Item(HTTPEndpoint):
        async def get(self, request):
            return {"item": request.path_params["number"]}

    async def rows(request):
        return rows_for(request.path_params["who"])

    routes = [Route("/items/{number}", Item, name="item"), Route("/rows/{who}", rows), Mount("/files", file)]
    return starlette, Starlette(routes=routes)


def in_fastapi():
    app = FastAPI()

    @app.get("/items/{number}", name="item")
    def item(number: str):
        return {"item": number}

    @app.get("/rows/{who}")
    async def rows(who: str):
        return rows_for(who)

    app.mount("/files", file)
    return fastapi, app


@pytest.fixture(params=[in_starlette, in_fastapi])
def service(request, serve):
    """A service behind such a middleware, under a contract with these settings."""

    def start(principal=None, **settings):
        module, app = request.param()
        app.add_middleware(Login)
        chosen = {} if principal is None else {"principal": principal}
        module.install(app, Contract(**settings), Versions(vendor="acme", default="v2", controls=True), **chosen)
        return serve(app)

    return start


def test_cached_answers_are_told_apart_by_the_path(service):
    client = service(cache=Cache.in_memory(), cached=["item"])
    first, second, again = (client.get(f"/items/{number}").json() for number in (1, 2, 1))
    assert [one["results"] for one in (first, second, again)] == [[{"item": "1"}], [{"item": "2"}], [{"item": "1"}]]
    assert second["query_echo"]["normalized_input"] == {"number": "2"}
    assert [one["aerogram"]["telemetry"]["cache_hit"] for one in (first, second, again)] == [False, False, True]


def test_what_was_left_out_is_for_its_owner_alone(service):
    client = service(budget=1_500, archive=Archive.in_memory())
    [kept] = client.get("/rows/ann", headers=ANN).json()["aerogram"]["fidelity"]["archive_hashes"].values()
    asked = [client.get(f"/v1/content/{kept}?page_size=1", headers=who).status_code for who in (ANN, BOB, {})]
    assert asked == [200, 404, 404]


def test_a_cursor_holds_for_one_path_and_one_caller(service):
    client = service()
    cursor = client.get("/rows/ann?page_size=2", headers=ANN).json()["aerogram"]["page"]["cursor"]
    places = [("ann", ANN), ("bob", ANN), ("ann", BOB)]
    asked = [client.get(f"/rows/{path}?cursor={cursor}", headers=who).status_code for path, who in places]
    assert asked == [200, 400, 400]


@pytest.mark.parametrize("path", ["/rows/any", "/files/any"])
def test_each_caller_has_limits_of_their_own(service, path):
    client = service(limits=Limits.in_memory(Plan.of("2/minute")))
    assert [client.get(path, headers=who).status_code for who in (ANN, BOB, ANN, BOB, ANN)] == [200] * 4 + [429]


def test_a_function_that_knows_who_asks_gets_what_the_handler_gets(service):
    client = service(principal=lambda scope: scope["user"].display_name, limits=Limits.in_memory(Plan.of("1/minute")))
    assert [client.get("/rows/any", headers=who).status_code for who in (ANN, BOB, ANN)] == [200, 200, 429]
