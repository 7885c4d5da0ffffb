"""Between a handler and its framework: whatever the framework did for handlers, it still does."""

import dataclasses
import functools

import httpx
import pytest
from fastapi import FastAPI
from small_api import CSV, ROWS
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, request_response
from starlette.testclient import TestClient

from aerogram import fastapi, read, starlette
from aerogram.starlette import Versions


class Odd(Exception):
    """What the applications here have a handler for."""


async def tell(request, error):
    return JSONResponse({"detail": f"{error}: {(await request.body()).decode()}", "trace": request.state.trace}, 409)


class WatchesStatus:
    """Middleware of a route that sees the status of every answer, and adds it to the fields."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def seen(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-seen", b"%d" % message["status"])]
            await send(message)

        await self.app(scope, receive, seen)


class FailsBeforeItBegins(Response):
    async def __call__(self, *_):
        raise Odd("nothing sent")


class FailsAfterItBegan(Response):
    async def __call__(self, *given):
        *_, send = given
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/csv")]})
        raise Odd("half sent")


async def raises(request):
    await request.body()
    request.state.trace = "t-1"
    raise Odd("as the app says")


async def fails_early(request):
    request.state.trace = "t-2"
    return FailsBeforeItBegins()


def fails_late(_):
    return FailsAfterItBegan()


class Tasks(HTTPEndpoint):
    async def get(self, _):
        return PlainTextResponse(CSV, media_type="text/csv")

    async def head(self, request):
        response = await self.get(request)
        response.headers["X-Rows"] = "1"
        return response


ROUTES = ("/raises", "/early", "/late", "/class")


def application(*migrated):
    watched = [Middleware(WatchesStatus)]
    routes = [
        Route("/raises", raises, methods=["POST"], middleware=watched),
        Route("/early", fails_early),
        Route("/late", fails_late),
        Route("/class", Tasks),
    ]
    app = Starlette(routes=routes, exception_handlers={Odd: tell})
    starlette.install(app, versions=Versions(vendor="acme", migrated=migrated))
    return app


@pytest.fixture(scope="module", params=[(), ROUTES], ids=["passing", "migrated"])
def client(request, serve):
    return serve(application(*request.param))


def test_a_handler_of_exceptions_gets_the_request_as_it_has_been_read(client):
    response = client.post("/raises", content=b"what was sent")
    assert response.json() == {"detail": "as the app says: what was sent", "trace": "t-1"}
    assert (response.status_code, response.headers["X-Seen"]) == (409, "409")


def test_a_failure_is_an_answer_already_for_the_middleware_of_its_route(serve):
    response = serve(application("/raises")).post("/raises?envelope=v2", content=b"x")
    assert (response.status_code, response.headers["X-Seen"]) == (409, "409")
    assert read(response.content).problem.message == "as the app says: x"


def test_a_response_that_fails_before_it_begins_is_handled_as_its_handler_would_be(client):
    response = client.get("/early")
    assert (response.status_code, response.json()["trace"]) == (409, "t-2")


def test_a_response_that_fails_after_it_began_closes_its_connection_and_no_other(client):
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/late")
    assert client.get("/class").text == CSV


def test_a_method_of_a_class_may_build_on_another_one(client):
    response = client.head("/class")
    assert (response.status_code, response.headers["X-Rows"], response.content) == (200, "1", b"")


def test_a_route_that_stands_in_two_places_follows_the_terms_of_each(serve):
    shared = [Route("/rows", lambda _: ROWS), Route("/old", lambda _: JSONResponse(ROWS)), Route("/csv", Tasks)]
    shared.append(Route("/text", lambda _: PlainTextResponse(CSV, media_type="text/csv")))
    app = Starlette(routes=[Mount("/new", routes=shared), Mount("/kept", routes=shared)])
    installed = starlette.install(
        app, versions=Versions(vendor="acme", migrated=["/new/rows", "/new/old", "/new/text"])
    )
    client = serve(app)
    for name in ("rows", "old"):
        newer, kept = client.get(f"/new/{name}?envelope=v2"), client.get(f"/kept/{name}?envelope=v2")
        assert (newer.json()["results"], newer.headers["X-Envelope-Version"]) == (ROWS, "v2")
        assert (kept.json(), kept.headers["X-Envelope-Version"]) == (ROWS, "v1")
    assert "X-Envelope-Version" not in client.get("/new/text").headers
    assert client.get("/kept/text").headers["X-Envelope-Version"] == "v1"
    assert installed.usage.by_route == {
        ("/new/rows", "v2"): 1,
        ("/new/old", "v2"): 1,
        ("/kept/rows", "v1"): 1,
        ("/kept/old", "v1"): 1,
        ("/kept/text", "v1"): 1,
    }


@pytest.mark.parametrize("migrated", [(), ("/raw",)], ids=["passing", "migrated"])
def test_messages_that_an_application_uses_again_stay_as_they_are(serve, migrated):
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/csv")]}
    before = {**start, "headers": list(start["headers"])}

    async def raw(scope, receive, send):
        await send(start)
        await send({"type": "http.response.body", "body": CSV.encode()})

    app = Starlette(routes=[Mount("/raw", raw)])
    starlette.install(app, versions=Versions(vendor="acme", migrated=migrated))
    client = serve(app)
    first, second = client.get("/raw/"), client.get("/raw/")
    assert start == before
    assert sorted(first.headers) == sorted(second.headers) and first.text == second.text == CSV


def test_a_constant_response_may_be_given_again_and_again(serve):
    constant = PlainTextResponse(CSV, media_type="text/csv", headers={"Vary": "Cookie"})
    app = Starlette(routes=[Route("/export", lambda _: constant)])
    starlette.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    for _ in range(3):
        assert client.get("/export").headers["Vary"] == "Cookie, Accept, X-Envelope-Version"
    assert constant.headers["Vary"] == "Cookie"


class Falls:
    """Middleware that has an answer of its own where the route has none, and keeps it in front."""

    def __init__(self, app, instead):
        self.instead = request_response(instead)
        self.app = app

    async def __call__(self, scope, receive, send):
        chosen = self.instead if scope["query_string"] == b"instead" else self.app
        await chosen(scope, receive, send)


def test_what_else_middleware_holds_is_not_taken_for_the_handler():
    def instead(_):
        return JSONResponse(["instead"])

    routes = [Route("/rows", lambda _: JSONResponse(ROWS), middleware=[Middleware(Falls, instead)])]
    app = Starlette(routes=routes)
    starlette.install(app, versions=Versions(vendor="acme"))
    client = TestClient(app)
    assert client.get("/rows?envelope=v2").json()["results"] == ROWS
    assert client.get("/rows?instead").json() == ["instead"]


def by_partial(app):
    return functools.partial(lambda inner, *given: inner(*given), app)


def by_function(app):
    async def around(*given):
        await app(*given)

    return around


def by_a_likeness(app):
    return functools.wraps(app)(by_function(app))


class ByAnotherName:
    def __init__(self, app):
        self.inner = app

    async def __call__(self, *given):
        await self.inner(*given)


@dataclasses.dataclass(frozen=True)
class Frozen:
    app: object

    async def __call__(self, *given):
        await self.app(*given)


OPAQUE = [by_partial, by_function, by_a_likeness, ByAnotherName]


@pytest.mark.parametrize("hides", [*OPAQUE, Frozen])
def test_a_handler_that_cannot_be_seen_is_told_and_its_answers_are_read_when_they_are_sent(caplog, hides):
    class Listed(HTTPEndpoint):
        async def get(self, _):
            return JSONResponse(ROWS)

    handlers = {"/rows": lambda _: JSONResponse(ROWS), "/class": Listed}
    app = Starlette(routes=[Route(path, one, middleware=[Middleware(hides)]) for path, one in handlers.items()])
    starlette.install(app, versions=Versions(vendor="acme"))
    for path in handlers:
        response = TestClient(app).get(f"{path}?envelope=v2")
        assert (response.json()["results"], response.headers["X-Envelope-Version"]) == (ROWS, "v2")
        assert f"the handler of {path} is out of sight" in caplog.text


@pytest.mark.parametrize("hides", OPAQUE)
def test_what_somebody_has_put_around_a_route_of_fastapi_stays_there(caplog, hides):
    app, seen = FastAPI(), []
    app.get("/rows")(lambda: ROWS)
    route = app.routes[-1]

    class Counts:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, *given):
            seen.append(scope["path"])
            await self.app(scope, *given)

    route.app = Counts(hides(Counts(route.app)))
    fastapi.install(app, versions=Versions(vendor="acme"))
    response = TestClient(app).get("/rows?envelope=v2")
    assert (response.json()["results"], response.headers["X-Envelope-Version"]) == (ROWS, "v2")
    assert seen == ["/rows", "/rows"] and "the handler of /rows is out of sight" in caplog.text


def test_objects_around_a_route_of_fastapi_hide_nothing(caplog):
    app = FastAPI()
    app.get("/rows")(lambda: ROWS)
    route = app.routes[-1]
    route.app = WatchesStatus(route.app)
    fastapi.install(app, versions=Versions(vendor="acme"))
    response = TestClient(app).get("/rows?envelope=v2")
    assert (response.json()["results"], response.headers["X-Seen"]) == (ROWS, "200")
    assert caplog.text == ""
