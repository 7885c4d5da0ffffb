"""Around a request: several applications with one route, layers in layers, many requests at once, and what stays."""

import asyncio
import contextlib
import gc
import logging
import socket
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import APIRouter, FastAPI
from small_api import ROWS
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse

from aerogram import Contract, fastapi, read, starlette
from aerogram._http.exchange import EXCHANGE
from aerogram.errors import NotFound
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions


class Odd(Exception):
    """What the applications here have a handler for."""


class Listed(HTTPEndpoint):
    async def get(self, _):
        return JSONResponse(ROWS)


async def listed(_):
    return JSONResponse(ROWS)


async def crashes(_):
    return 1 / 0


async def misses(_):
    raise NotFound("there is no such task", remediation="List the tasks")


async def is_odd(_):
    raise Odd("odd")


async def streamed(_):
    async def pieces():
        yield b"a"
        yield b"b"

    return StreamingResponse(pieces())


async def is_told(*_):
    return PlainTextResponse("odd", 418)


async def exported(_):
    return PlainTextResponse("a,b", media_type="text/csv")


def installed(app, migrated="all", contract=None):
    module = fastapi if isinstance(app, FastAPI) else starlette
    module.install(app, contract, Versions(vendor="acme", migrated=migrated))
    return app


def part(framework):
    """The same few routes in either framework; none of them runs in a thread, which would keep what it has seen."""
    handlers = {"/listed": listed, "/crashes": crashes, "/misses": misses, "/exported": exported}
    if framework is Starlette:
        return Starlette(routes=[Route(path, handler) for path, handler in handlers.items()])
    app = FastAPI()

    def adapted(handler):
        async def adapter():
            return await handler(None)

        return adapter

    for path, handler in handlers.items():
        app.get(path)(adapted(handler))
    return app


FRAMEWORKS = pytest.mark.parametrize("framework", [Starlette, FastAPI], ids=["starlette", "fastapi"])


# one route in several applications


def test_applications_that_share_their_routes_keep_their_own_terms():
    routes = [Route("/function", listed), Route("/class", Listed)]
    apps = {
        "bare": Starlette(routes=routes),
        "v2": installed(Starlette(routes=routes)),
        "v1": installed(Starlette(routes=routes), migrated=()),
    }
    clients = {name: TestClient(app) for name, app in apps.items()}
    for path in ("/function", "/class"):
        for version in ("v2", "v1", "bare", "v2"):
            response = clients[version].get(f"{path}?envelope=v2")
            assert response.status_code == 200
            assert response.headers.get("X-Envelope-Version", "bare") == version
            assert (response.json()["results"] if version == "v2" else response.json()) == ROWS


@FRAMEWORKS
def test_an_application_may_be_mounted_in_several_ones_and_stand_alone(framework):
    shared = part(framework)
    apps = [installed(framework(routes=[Mount("/in", shared)]), migrated) for migrated in ("all", ())]
    for _ in range(2):
        for app, version in zip(apps, ("v2", "v1"), strict=True):
            response = TestClient(app).get("/in/listed?envelope=v2")
            assert (response.status_code, response.headers["X-Envelope-Version"]) == (200, version)
        alone = TestClient(shared).get("/listed?envelope=v2")
        assert alone.json() == ROWS and "X-Envelope-Version" not in alone.headers


def test_a_router_may_be_included_in_applications_with_and_without_the_layer():
    router = APIRouter()
    router.get("/listed")(lambda: ROWS)

    def application():
        app = FastAPI()
        app.include_router(router)
        return app

    kept, bare = TestClient(installed(application())), TestClient(application())
    for _ in range(2):
        assert kept.get("/listed?envelope=v2").json()["results"] == ROWS
        assert bare.get("/listed?envelope=v2").json() == ROWS


# layers in layers


@FRAMEWORKS
@pytest.mark.parametrize("outer", ["all", ()], ids=["outer migrated", "outer passing"])
@pytest.mark.parametrize("inner", ["all", ()], ids=["inner migrated", "inner passing"])
def test_of_two_layers_the_inner_one_answers_and_no_field_comes_twice(framework, outer, inner):
    app = installed(framework(routes=[Mount("/in", installed(part(framework), inner))]), outer)
    client = TestClient(app, raise_server_exceptions=False)
    for path, status in {"listed": 200, "crashes": 500, "misses": 404, "exported": 200}.items():
        for asked in ("", "?envelope=v2"):
            response = client.get(f"/in/{path}{asked}")
            marks = response.headers.get_list("X-Envelope-Version")
            is_unmarked = inner == "all" and path == "exported"
            assert marks == ([] if is_unmarked else ["v2" if asked and inner == "all" else "v1"])
            assert response.status_code == status and len(response.headers.get_list("X-Request-Id")) <= 1
    assert client.get("/in/nowhere?envelope=v2").json()["error"]["code"] == "NOT_FOUND"


@FRAMEWORKS
@pytest.mark.parametrize(("migrated", "is_told_again"), [("all", True), ((), False)])
def test_a_mounted_application_knows_its_routes_before_they_are_found(framework, migrated, is_told_again):
    """What its middleware answers belongs to the route that was asked for."""

    class Refuses:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            await JSONResponse({"detail": "closed"}, 403)(scope, receive, send)

    inner = part(framework)
    inner.add_middleware(Refuses)
    client = TestClient(Starlette(routes=[Mount("/in", installed(inner, migrated))]))
    assert ("error" in client.get("/in/listed?envelope=v2").json()) is is_told_again


def test_an_application_of_fastapi_inside_of_one_of_starlette_keeps_its_parameters(caplog):
    inner = FastAPI()

    @inner.get("/double/{number}")
    def double(number: int) -> int:
        return 2 * number

    client = TestClient(installed(Starlette(routes=[Mount("/in", inner)])))
    assert client.get("/in/double/2").json() == 4
    assert client.get("/in/double/2?envelope=v2").json()["results"] == [4]
    assert client.get("/in/double/two").status_code == 422
    assert read(client.get("/in/double/two?envelope=v2").content).problem.code == "INVALID_FORMAT"
    assert "/double/{number}" in caplog.text  # and it is told that it cannot be seen


# messages


async def sent_by(app, path, extensions=None, method="GET"):
    """The messages of an application that is called without a server."""
    messages, asked = [], iter([{"type": "http.request", "body": b""}])

    async def receive():
        for message in asked:
            return message
        return await asyncio.Event().wait()

    async def send(message):
        messages.append(message)

    path, _, query = path.partition("?")
    scope = {"type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": path, "root_path": ""}
    scope |= {
        "query_string": query.encode(),
        "headers": [],
        "server": ("localhost", 80),
        "extensions": extensions or {},
    }
    with contextlib.suppress(ZeroDivisionError):
        await app(scope, receive, send)
    assert EXCHANGE not in scope
    return messages


@pytest.mark.parametrize("status", [200, 404, 500])
@pytest.mark.parametrize("migrated", ["all", ()], ids=["migrated", "passing"])
async def test_a_server_that_sends_files_itself_is_told_to_after_the_head(tmp_path, status, migrated):
    file = tmp_path / "rows.json"
    file.write_text("[1, 2]")
    routes = [Route("/file", lambda _: FileResponse(file, status))]
    app = installed(Starlette(routes=routes), migrated)
    start, body = await sent_by(app, "/file", {"http.response.pathsend": {}})
    assert (start["type"], start["status"]) == ("http.response.start", status)
    assert body == {"type": "http.response.pathsend", "path": str(file)}


async def test_a_failure_in_a_file_that_the_server_would_send_is_said_by_its_status(tmp_path):
    file = tmp_path / "failure.json"
    file.write_text("{}")
    app = installed(Starlette(routes=[Route("/file", lambda _: FileResponse(file, 404))]))
    start, body = await sent_by(app, "/file?envelope=v2", {"http.response.pathsend": {}})
    assert start["status"] == 404 and read(body["body"]).problem.code == "NOT_FOUND"


async def test_what_streams_is_sent_piece_by_piece_even_if_its_length_is_known():
    def pieces():
        yield from (b"[1,", b"2,", b"3]")

    fields = {"Content-Length": "7"}
    app = installed(
        Starlette(
            routes=[Route("/", lambda _: StreamingResponse(pieces(), headers=fields, media_type="application/json"))]
        )
    )
    _, *bodies = await sent_by(app, "/")
    assert [one["body"] for one in bodies] == [b"[1,", b"2,", b"3]", b""]


def test_an_answer_of_its_own_making_does_not_wait_for_what_happens_later(serve):
    """A 500 is held until it is known what crashed; one that a handler returns tells that nothing did."""
    may_end = threading.Event()

    async def fails(_):
        return PlainTextResponse("out of order", 500, background=BackgroundTask(may_end.wait, 20))

    client = serve(installed(Starlette(routes=[Route("/", fails)])))
    assert client.get("/").text == "out of order"
    assert read(client.get("/?envelope=v2").content).problem.code == "INTERNAL_ERROR"
    may_end.set()


def test_sockets_and_the_lifespan_are_none_of_its_business():
    seen = []

    @contextlib.asynccontextmanager
    async def lifespan(_):
        seen.append("began")
        yield {"greeting": "hello"}
        seen.append("ended")

    async def talk(websocket):
        await websocket.accept()
        await websocket.send_text(f"{websocket.state.greeting} {await websocket.receive_text()}")
        await websocket.close()

    async def deny(websocket):
        raise HTTPException(403)

    routes = [WebSocketRoute("/talk", talk), WebSocketRoute("/deny", deny)]
    routes += [Route("/", lambda request: PlainTextResponse(request.state.greeting))]
    with TestClient(installed(Starlette(routes=routes, lifespan=lifespan))) as client:
        assert client.get("/").text == "hello"
        with client.websocket_connect("/talk") as talking:
            talking.send_text("you")
            assert talking.receive_text() == "hello you"
        with pytest.raises(WebSocketDenialResponse) as denied, client.websocket_connect("/deny"):
            pass
        assert denied.value.status_code == 403
    assert seen == ["began", "ended"]


# many requests, and what is left of them


@FRAMEWORKS
def test_requests_at_the_same_time_do_not_mix(serve, framework):
    async def echoed(request):
        await asyncio.sleep(0.001)
        return JSONResponse({"name": request.path_params["name"]})

    app = framework(routes=[Route("/echo/{name}", echoed)])
    if framework is FastAPI:
        app = FastAPI()

        @app.get("/echo/{name}")
        async def echo(name: str) -> dict[str, str]:
            await asyncio.sleep(0.001)
            return {"name": name}

    client = serve(installed(app))

    def ask(number):
        asked = "?envelope=v2" if number % 2 else ""
        response = client.get(f"/echo/{number}{asked}", headers={"X-Request-Id": f"request-{number:04}"})
        body = response.json()["results"][0] if asked else response.json()
        return response.headers["X-Request-Id"], body["name"], response.headers["X-Envelope-Version"]

    with ThreadPoolExecutor(20) as several:
        found = list(several.map(ask, range(200)))
    assert found == [(f"request-{number:04}", str(number), "v2" if number % 2 else "v1") for number in range(200)]


PATHS = ["listed", "crashes", "misses", "exported", "odd", "class", "stream", "nowhere"]


@pytest.mark.parametrize("migrated", ["all", ()], ids=["migrated", "passing"])
@FRAMEWORKS
async def test_nothing_of_a_request_waits_for_the_garbage_collector(framework, migrated, caplog):
    caplog.set_level(logging.CRITICAL, "aerogram")  # a record of the log would keep the exception
    seen = []

    class Notes:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            seen.append(weakref.ref(scope[EXCHANGE]))
            await self.app(scope, receive, send)

    app = part(framework)
    app.router.routes += [Route("/odd", is_odd), Route("/class", Listed)]
    app.router.routes += [Route("/stream", streamed)]
    app.add_exception_handler(Odd, is_told)
    app.add_middleware(Notes)
    installed(app, migrated)
    asked = [f"/{path}{version}" for path in PATHS for version in ("", "?envelope=v2")]
    for path in asked:
        await sent_by(app, path)  # what is made once is made now
    gc.collect()
    gc.disable()
    try:
        for path in asked:
            await sent_by(app, path)
            await asyncio.sleep(0)
            assert seen[-1]() is None, path
    finally:
        gc.enable()


def test_whoever_leaves_in_the_middle_of_an_answer_ends_it(serve):
    ended = threading.Event()

    async def endless(_):
        async def pieces():
            try:
                while True:
                    yield b"x" * 10_000
                    await asyncio.sleep(0.001)
            finally:
                ended.set()

        return StreamingResponse(pieces(), media_type="text/plain")

    client = serve(installed(Starlette(routes=[Route("/endless", endless), Route("/listed", listed)])))
    with socket.create_connection((client.base_url.host, client.base_url.port)) as leaving:
        leaving.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        leaving.recv(1000)
    assert ended.wait(60)
    assert client.get("/listed").status_code == 200


def test_a_cancelled_request_is_cancelled():
    async def scenario():
        began = asyncio.Event()

        async def waits(_):
            began.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(sent_by(installed(Starlette(routes=[Route("/", waits)])), "/"))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


@FRAMEWORKS
def test_limits_hold_around_handlers_of_every_kind(framework):
    app = part(framework)
    app.router.routes += [Route("/class", Listed)]
    client = TestClient(installed(app, contract=Contract(limits=Limits.in_memory(Plan.of("2/minute")))))
    for path in ("/listed", "/class"):
        assert client.get(path).status_code == 200
    assert client.get("/listed").status_code == 429


def test_a_route_that_is_added_late_answers_as_it_is():
    app = installed(Starlette(routes=[Route("/listed", listed)]))
    client = TestClient(app)
    assert client.get("/listed?envelope=v2").json()["results"] == ROWS
    app.add_route("/late", listed)
    late = client.get("/late?envelope=v2")
    assert late.json() == ROWS and "X-Envelope-Version" not in late.headers
