"""Sanitizers over HTTP: what may not be said is said to nobody, whatever envelope there is."""

from dataclasses import replace

import pytest
from fastapi import FastAPI
from fastapi.exceptions import HTTPException
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aerogram import Contract, Reply, fastapi, starlette
from aerogram.normalize import Policy
from aerogram.sanitize import Fence, Redaction
from aerogram.starlette import Versions

SECRET = {"password": "hunter2", "text": "plain"}
PATHS = ("/plain", "/response", "/reply", "/left", "/refused", "/raised")


def plain(*_):
    return SECRET


def response(*_):
    return JSONResponse(SECRET, 201, {"X-Own": "1"})


def said(*_):
    return Reply.ok(SECRET)


def refused(*_):
    return JSONResponse(SECRET, 409)


def raised(*_):
    raise HTTPException(403, SECRET)


HANDLERS = dict(zip(PATHS, (plain, response, said, plain, refused, raised), strict=True))


def contract(*steps):
    return Contract(sanitizers=steps)


def by_starlette(*middleware):
    app = Starlette(
        routes=[Route(path, lambda _, run=run: run()) for path, run in HANDLERS.items()],
        middleware=[Middleware(one) for one in middleware],
    )
    migrated = [path for path in PATHS if path != "/left"]
    starlette.install(app, contract(Redaction()), Versions(migrated=migrated))
    return app


def by_fastapi():
    app = FastAPI()
    for path, run in HANDLERS.items():
        app.get(path, response_model=None)(lambda run=run: run())
    fastapi.install(app, contract(Redaction()), Versions(migrated=[path for path in PATHS if path != "/left"]))
    return app


class Passing(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        return await call_next(request)


class Tight(GZipMiddleware):
    def __init__(self, app):
        super().__init__(app, minimum_size=1)


@pytest.fixture(scope="module")
def services(serve):
    return {
        "starlette": serve(by_starlette()),
        "fastapi": serve(by_fastapi()),
        "compressed": serve(by_starlette(Tight)),
        "streamed": serve(by_starlette(Tight, Passing)),
    }


@pytest.mark.parametrize(
    ("service", "path"),
    [
        *((service, path) for service in ("starlette", "compressed", "streamed") for path in PATHS[:-1]),
        *(("fastapi", path) for path in PATHS),
    ],
)
@pytest.mark.parametrize("query", ["", "?envelope=v1", "?envelope=v2"])
def test_a_secret_is_said_to_nobody(services, service, path, query):
    """Nor to those who ask for the old envelope, nor on routes that are not migrated."""
    answer = services[service].get(path + query)
    assert "hunter2" not in answer.text
    assert "[redacted:by_name]" in answer.text
    if path == "/response":
        assert (answer.status_code, answer.headers["x-own"]) == (201, "1")


def test_what_has_nothing_to_hide_passes_byte_for_byte(serve):
    """And what is no JSON, or a stream, passes unread."""

    async def pieces():
        yield b'{"password": '
        yield b'"hunter2"}'

    routes = [
        Route("/clean", lambda _: JSONResponse({"a": "ü", "b": 1.0})),
        Route("/text", lambda _: PlainTextResponse("AKIAIOSFODNN7EXAMPLE")),
        Route("/stream", lambda _: StreamingResponse(pieces(), media_type="application/json")),
    ]
    app = Starlette(routes=routes)
    starlette.install(app, contract(Redaction()), Versions())
    client = serve(app)
    assert client.get("/clean").content == JSONResponse({"a": "ü", "b": 1.0}).body
    assert client.get("/text").text == "AKIAIOSFODNN7EXAMPLE"
    assert "hunter2" in client.get("/stream").text


def test_fences_stand_around_data_once_and_not_around_failures(serve):
    """Legacy callers see the marks too."""
    app = FastAPI()
    app.get("/plain")(lambda: {"text": "ignore all"})

    @app.get("/raised")
    def fails():
        raise HTTPException(403, "ignore all")

    fastapi.install(app, contract(Fence()), Versions())
    client = serve(app)
    for query in ("", "?envelope=v2"):
        assert client.get(f"/plain{query}").text.count("<untrusted-") == (1 if query == "" else 2)
    assert client.get("/raised").json() == {"detail": "ignore all"}
    assert "untrusted" not in client.get("/openapi.json").text


@pytest.mark.parametrize("around", [(), (Tight,)])
def test_json_is_read_up_to_what_a_value_may_have(serve, around):
    """Nobody could make the rest clean in a time that a caller has, or in the memory that others need."""
    rows = {size: JSONResponse(["x" * (size - 4)]) for size in (2_000, 2_001)}
    app = Starlette(
        routes=[Route(f"/{size}", answer) for size, answer in rows.items()],
        middleware=[Middleware(one) for one in around],
    )
    starlette.install(app, replace(contract(Redaction()), forms=Policy(max_bytes=2_000)), Versions())
    client = serve(app)
    assert client.get("/2000").content == rows[2_000].body
    failed = client.get("/2001")
    assert (failed.status_code, failed.json()["error"]) == (500, "INTERNAL_ERROR")


@pytest.mark.parametrize("ranges", ["bytes=0-9", "bytes=14-", "bytes=0-0,14-27", "bytes=-20"])
def test_a_file_of_json_gives_no_part_that_could_not_be_made_clean(serve, tmp_path, ranges):
    (tmp_path / "kept.json").write_text('{"password": "hunter2-Zx9!", "b": 1}')
    app = Starlette(
        routes=[
            Mount("/static", StaticFiles(directory=tmp_path)),
            Route("/file", lambda _: FileResponse(tmp_path / "kept.json")),
        ]
    )
    starlette.install(app, contract(Redaction()))
    client = serve(app)
    for path in ("/static/kept.json", "/file"):
        answer = client.get(path, headers={"Range": ranges})
        assert (answer.status_code, answer.json()) == (200, {"password": "[redacted:by_name]", "b": 1})


LINES = b'{"i":0}\n{"i":1}\n'


async def lines(_: Request):
    async def pieces():
        for line in LINES.splitlines(keepends=True):
            yield line

    return StreamingResponse(pieces(), media_type="application/json")


@pytest.mark.parametrize("framework", [starlette, fastapi])
@pytest.mark.parametrize("around", [(Tight,), (Tight, Passing), (Passing, Tight)])
@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_a_stream_that_is_packed_on_its_way_passes_as_one_that_is_not(serve, framework, around, query):
    if framework is fastapi:
        app = FastAPI(middleware=[Middleware(one) for one in around])
        app.get("/lines")(lines)
    else:
        app = Starlette(routes=[Route("/lines", lines)], middleware=[Middleware(one) for one in around])
    framework.install(app, contract(Redaction()))
    client = serve(app)
    for encoding in ("identity", "gzip"):
        answer = client.get(f"/lines{query}", headers={"Accept-Encoding": encoding})
        assert (answer.status_code, answer.content) == (200, LINES)
        assert answer.headers.get("content-encoding", "identity") == encoding
