"""Limits, the cache and telemetry of a contract, over HTTP."""

import logging
import queue

import pytest
from fastapi import APIRouter, FastAPI, HTTPException
from small_api import ROWS
from starlette.applications import Starlette
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware import Middleware
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles

from aerogram import fastapi, read, starlette
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.limits import Limits, Plan
from aerogram.starlette import Versions
from aerogram.telemetry import Observer

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def starlette_service(calls):
    async def rows(request):
        calls.append(request.url.query)
        return ROWS[:6]

    def fails(_):
        raise RuntimeError("a secret")

    def declined(_):
        raise StarletteHTTPException(403)

    def export(_):
        return PlainTextResponse("a,b")

    handlers = {"/rows": rows, "/fails": fails, "/declined": declined, "/export": export}
    return starlette, Starlette(routes=[Route(path, handler) for path, handler in handlers.items()])


def fastapi_service(calls, *, is_async=False):
    app = FastAPI()

    if is_async:

        @app.get("/rows")
        async def rows(q: str = ""):
            calls.append(q)
            return ROWS[:6]
    else:

        @app.get("/rows")
        def rows(q: str = ""):
            calls.append(q)
            return ROWS[:6]

    @app.get("/fails")
    def fails():
        raise RuntimeError("a secret")

    @app.get("/declined")
    def declined():
        raise HTTPException(403)

    @app.get("/export")
    def export():
        return PlainTextResponse("a,b")

    return fastapi, app


SERVICES = {
    "starlette": starlette_service,
    "fastapi, in a thread": fastapi_service,
    "fastapi, in the loop": lambda calls: fastapi_service(calls, is_async=True),
}


@pytest.fixture(params=SERVICES)
def service(request, serve):
    """An application under a contract, and the calls that its handler has seen."""
    calls = []

    def start(migrated="all", **settings):
        module, app = SERVICES[request.param](calls)
        module.install(app, Contract(**settings), Versions(vendor="acme", migrated=migrated))
        return serve(app), calls

    return start


@pytest.mark.parametrize("query", ["?envelope=v2", ""])
def test_a_burst_is_limited_and_the_caller_is_told_when_to_come_back(service, query):
    client, calls = service(limits=Limits.in_memory(Plan.of("2/minute")))
    first, second, refused = (client.get(f"/rows{query}") for _ in range(3))
    assert (first.status_code, second.status_code, refused.status_code) == (200, 200, 429)
    assert len(calls) == 2
    assert first.headers["RateLimit"].startswith('"2/minute";r=1')
    assert refused.headers["RateLimit"].startswith('"2/minute";r=0') and int(refused.headers["Retry-After"]) > 0
    if query:
        problem = read(refused.content).problem
        assert (problem.code, problem.retryable) == ("RATE_LIMIT_EXCEEDED", True)
        assert refused.json()["error"]["code"] == "RATE_LIMITED"


def test_a_quota_that_is_used_up_is_not_worth_another_try(service):
    client, _ = service(limits=Limits.in_memory(Plan.of("1/day")))
    client.get("/rows?envelope=v2")
    refused = client.get("/rows?envelope=v2")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "QUOTA_EXCEEDED")
    assert refused.json()["error"]["retryable"] is False


def test_a_failure_costs_nothing(service):
    client, _ = service(limits=Limits.in_memory(Plan.of("1/day")))
    for path in ("/fails?envelope=v2", "/fails", "/declined", "/declined?envelope=v2"):
        assert client.get(path).status_code in (500, 403)
    assert client.get("/rows?envelope=v2").status_code == 200


def test_an_answer_is_kept_for_the_same_question(service):
    client, calls = service(cache=Cache.in_memory(), cached=["rows"])
    first, second, other = (client.get(f"/rows?envelope=v2&q={q}") for q in ("a", "a", "b"))
    assert first.json()["results"] == second.json()["results"] == other.json()["results"]
    assert len(calls) == 2
    assert read(second.content).telemetry.cache_hit is True
    assert client.get("/rows?q=a").json() == ROWS[:6]
    assert len(calls) == 2


def test_a_response_is_given_on_and_not_kept(service):
    client, _ = service(cache=Cache.in_memory(), cached=["export"])
    answers = [client.get("/export?envelope=v2") for _ in range(2)]
    assert [(one.status_code, one.text) for one in answers] == [(200, "a,b")] * 2


def test_other_formats_pass_a_contract_with_a_cache(service):
    client, _ = service(cache=Cache.in_memory(), cached=["rows"], limits=Limits.in_memory(Plan.of("9/minute")))
    assert client.get("/export?envelope=v2").text == "a,b"


def test_a_trace_goes_on_and_comes_back(service, caplog):
    client, _ = service(observer=Observer())
    with caplog.at_level("INFO", "aerogram"):
        response = client.get("/rows?envelope=v2", headers={"traceparent": TRACE, "X-Request-Id": "mine"})
    assert response.headers["traceparent"].split("-")[1] == TRACE.split("-")[1]
    told = next(one for one in caplog.records if getattr(one, "request_id", None) == "mine")
    assert told.reply["size"] == len(response.content)


def test_limits_hold_on_routes_that_are_not_migrated(service):
    """They are the caller's, not the route's; a failure costs nothing there either."""
    client, calls = service(migrated=[], limits=Limits.in_memory(Plan.of("2/day")))
    assert client.get("/declined").status_code == 403
    first, second, refused = (client.get("/rows") for _ in range(3))
    assert (first.json(), second.status_code, refused.status_code, len(calls)) == (ROWS[:6], 200, 429, 2)
    assert first.headers["RateLimit"].startswith('"2/day";r=1')
    assert refused.json()["error"] == "QUOTA_EXCEEDED" and int(refused.headers["Retry-After"]) > 0
    assert {one.headers["X-Envelope-Version"] for one in (first, second, refused)} == {"v1"}


async def _plain(scope, receive, send):
    await PlainTextResponse("plain")(scope, receive, send)


class _OwnKind(BaseRoute):
    """A route of a kind that nobody knows."""

    def matches(self, scope):
        return (Match.FULL if scope["path"].endswith("/own-kind") else Match.NONE), {}

    async def handle(self, scope, receive, send):
        await _plain(scope, receive, send)


def _of_many_kinds(folder):
    """Routes whose answers are no JSON, or whose handlers cannot be seen."""
    (folder / "a.txt").write_text("a")
    app = FastAPI()

    @app.get("/html", response_class=HTMLResponse)
    def html():
        return "<p>"

    @app.post("/posted", response_class=PlainTextResponse)
    async def posted():
        return "posted"

    @app.get("/file", response_class=FileResponse)
    def file():
        return folder / "a.txt"

    @app.get("/lines")
    async def lines():
        yield {"a": 1}

    @app.get("/sync-lines")
    def sync_lines():
        yield {"a": 1}

    @app.get("/raw-stream", response_class=StreamingResponse)
    def raw_stream():
        yield b"a"

    part = APIRouter()
    part.get("/html", response_class=HTMLResponse)(lambda: "<p>")
    part.mount("/static", StaticFiles(directory=folder))
    app.include_router(part, prefix="/part")
    app.mount("/static", StaticFiles(directory=folder))
    app.mount("/plain", _plain)
    app.router.routes.append(_OwnKind())
    return app


def _seen_from_outside(folder):
    """The same as a part of an application of another framework, with an application as an endpoint."""
    inner = _of_many_kinds(folder)
    inner.get("/rows")(lambda: ROWS)
    return Starlette(routes=[Route("/app", PlainTextResponse("app")), Mount("/in", inner)])


KINDS = ("/html", "/file", "/lines", "/sync-lines", "/raw-stream", "/part/html", "/part/static/a.txt", "/static/a.txt")
KINDS += ("/plain/x", "/own-kind")


@pytest.mark.parametrize("migrated", ["all", ()])
@pytest.mark.parametrize("outside", [False, True])
def test_limits_hold_on_routes_of_every_kind(serve, tmp_path, outside, migrated):
    """Files, streams, other formats and mounted parts are as a rule the most expensive ones."""
    app = _seen_from_outside(tmp_path) if outside else _of_many_kinds(tmp_path)
    module = starlette if outside else fastapi
    contract = Contract(limits=Limits.in_memory(Plan.of("2/day")))
    module.install(app, contract, Versions(migrated=migrated), principal=lambda scope: scope["path"] + scope["method"])
    client, root = serve(app), "/in" if outside else ""
    asked = [("GET", root + path) for path in KINDS] + [("POST", f"{root}/posted")]
    asked += [("GET", "/in/rows"), ("GET", "/app")] if outside else []
    for method, path in asked:
        answers = [client.request(method, path) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429], path
        assert [one.headers["RateLimit"].split(";")[1] for one in answers] == ["r=1", "r=0", "r=0"], path


def test_an_application_without_limits_may_share_its_parts_with_one_that_has_them(serve, tmp_path):
    shared = Mount("/static", StaticFiles(directory=tmp_path))
    (tmp_path / "a.txt").write_text("a")
    bare, free, limited = (Starlette(routes=[shared]) for _ in range(3))
    starlette.install(free)
    starlette.install(limited, Contract(limits=Limits.in_memory(Plan.of("1/day"))))
    for app, expected in ((limited, [200, 429]), (free, [200, 200]), (bare, [200, 200])):
        client = serve(app)
        assert [client.get("/static/a.txt").status_code for _ in range(2)] == expected


def test_the_cache_holds_on_routes_that_are_not_migrated(service):
    client, calls = service(migrated=[], cache=Cache.in_memory(), cached=["rows", "export"])
    assert [client.get("/rows?q=a").json() for _ in range(2)] == [ROWS[:6]] * 2
    assert len(calls) == 1
    assert client.get("/export").text == "a,b"


class Told(logging.Handler):
    """What is logged of replies; some of it after the answer is out."""

    def __init__(self):
        super().__init__()
        self.found = queue.SimpleQueue()

    def emit(self, record):
        self.found.put(dict(record.reply))

    def of(self, count):
        """So many records and no more, without how long they took."""
        told = [self.found.get(timeout=60) for _ in range(count)]
        assert self.found.empty() and all(one.pop("duration") >= 0 for one in told)
        return told


@pytest.fixture
def told():
    handler, logger = Told(), logging.getLogger("aerogram.reply")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("INFO")
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_a_failure_is_counted_in_whatever_shape_it_is_told(service, told):
    """A legacy answer too, and unknown paths under one name."""
    client, _ = service(observer=Observer())
    failures = {"/fails": "INTERNAL_ERROR", "/declined": "FORBIDDEN", "/nowhere/1": "NOT_FOUND"}
    for path, code in {**failures, "/nowhere/2?envelope=v2": "NOT_FOUND"}.items():
        client.get(path)
        operation = "unknown" if "nowhere" in path else path[1:]
        assert [(one["operation"], one["error.type"]) for one in told.of(1)] == [(operation, code)]


@pytest.mark.parametrize("migrated", ["all", ()])
def test_every_success_is_one_record_in_whatever_shape_it_is_told(service, told, migrated):
    """Its size is that of what was sent; the words of a framework are no dialect, and no listener hears of them."""
    heard = []
    observer = Observer().with_listener(lambda observation, *_: heard.append(observation.operation))
    client, _ = service(migrated=migrated, observer=observer)
    spoken = []
    for path, operation in (("/rows", "rows"), ("/export", "export"), ("/rows?envelope=v2", "rows")):
        answer = client.get(path)
        (one,) = told.of(1)
        assert (one["operation"], one["status"], one["size"]) == (operation, "ok", len(answer.content))
        spoken.append(one.get("dialect"))
    assert spoken[1] is None and (spoken[2] == "standard-v2") == (migrated == "all")
    assert len(heard) == 3 - spoken.count(None)


def test_what_streams_is_told_of_when_it_is_sent(serve, told):
    """A redirect and the answer of middleware are replies too."""

    async def pieces():
        yield b"a"
        yield b"b"

    class Healthy:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            own = PlainTextResponse("well") if scope["path"] == "/healthy" else self.app
            await own(scope, receive, send)

    async def stream(_):
        return StreamingResponse(pieces(), media_type="text/plain")

    app = Starlette(routes=[Route("/stream", stream), Route("/slash/", stream)], middleware=[Middleware(Healthy)])
    starlette.install(app, Contract(observer=Observer()))
    client = serve(app)
    sizes = {"/stream": ("stream", 2), "/healthy": ("unknown", 4), "/slash": ("unknown", None)}
    for path, (operation, size) in sizes.items():
        client.get(path)
        (one,) = told.of(1)
        assert (one["operation"], one["status"], one.get("size")) == (operation, "ok", size)


def test_the_older_names_of_the_limits_are_on_plain_legacy_answers_too(serve):
    """Migrated or not."""
    for migrated in ("all", ()):
        app = FastAPI()
        app.get("/rows")(lambda: ROWS)
        versions = Versions(rate_limit_headers=True, migrated=migrated)
        fastapi.install(app, Contract(limits=Limits.in_memory(Plan.of("5/day"))), versions)
        answer = serve(app).get("/rows")
        assert answer.headers["x-envelope-version"] == "v1"
        assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) == ("5", "4")
