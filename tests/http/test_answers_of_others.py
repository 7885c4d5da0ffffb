"""JSON on a migrated route that none of its handlers has returned: it takes the negotiated shape too."""

import json

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aerogram import Reply, fastapi, read, starlette
from aerogram.dialects import dialect
from aerogram.starlette import Versions, from_offset_page, shapes

CLOSED = {"state": "closed", "until": "noon"}
ENVELOPE = dialect("standard-v2").encode(dialect("standard-v2").complete(Reply.ok([1]), request_id="kept"))
ANSWERS = {
    "json": lambda: JSONResponse(CLOSED, headers={"X-Own": "1"}),
    "envelope": lambda: JSONResponse(ENVELOPE),
    "broken": lambda: Response(b"{", media_type="application/json"),
    "stream": lambda: StreamingResponse(iter([b"[1", b"]"]), media_type="application/json"),
    "created": lambda: JSONResponse(CLOSED, 201),
    "page": lambda: JSONResponse({"total": 9, "limit": 2, "offset": 0, "results": [1, 2]}),
}


class Answers:
    """Middleware that answers by itself when it is asked to."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        asked = dict(scope.get("headers", ())).get(b"x-answer", b"").decode()
        await (ANSWERS[asked]() if asked in ANSWERS else self.app)(scope, receive, send)


async def passed_on(request, call_next):
    return await call_next(request)


async def recovered(_, __):
    return JSONResponse({"recovered": True})


async def plain(scope, receive, send):
    await JSONResponse({"jsonrpc": "2.0"})(scope, receive, send)


def _handlers(folder):
    @shapes(reply=from_offset_page)
    def rows(_=None):
        return {"total": 1, "limit": 2, "offset": 0, "results": [0]}

    def lost(_=None):
        raise LookupError("lost")

    def file(_=None):
        return FileResponse(folder / "rows.json")

    return {"/rows": rows, "/lost": lost, "/file": file}


def _application(framework, folder, around, default="v1"):
    (folder / "rows.json").write_text("[1]")
    parts = [Mount("/files", StaticFiles(directory=folder)), Mount("/rpc", plain)]
    settings = {"middleware": [*around, Middleware(Answers)], "exception_handlers": {LookupError: recovered}}
    handlers = _handlers(folder)
    if framework is starlette:
        app = Starlette(routes=[*parts, *(Route(path, one) for path, one in handlers.items())], **settings)
    else:
        app = FastAPI(routes=parts, **settings)
        for path, one in handlers.items():
            app.get(path, response_model=None)(one)
    framework.install(app, versions=Versions(vendor="acme", default=default))
    return app


AROUND = {
    "nothing": [],
    "middleware that passes answers on": [Middleware(BaseHTTPMiddleware, dispatch=passed_on)] * 2,
    "compression": [Middleware(GZipMiddleware, minimum_size=1)],
}


@pytest.fixture(params=[starlette, fastapi], ids=["starlette", "fastapi"])
def framework(request):
    return request.param


@pytest.fixture(params=AROUND)
def client(framework, request, serve, tmp_path):
    return serve(_application(framework, tmp_path, AROUND[request.param]))


def asked(client, answer, query="?envelope=v2"):
    return client.get(f"/rows{query}", headers={"X-Answer": answer})


def test_what_middleware_answers_takes_the_negotiated_shape(client):
    legacy, newer = asked(client, "json", ""), asked(client, "json")
    assert (legacy.json(), legacy.headers["X-Envelope-Version"]) == (CLOSED, "v1")
    assert (newer.json()["results"], newer.headers["X-Envelope-Version"]) == ([CLOSED], "v2")
    assert newer.json()["meta"]["request_id"] == newer.headers["X-Request-Id"]
    assert newer.headers["X-Own"] == "1"
    created = asked(client, "created")
    assert (created.status_code, created.json()["results"]) == (201, [CLOSED])


def test_what_a_handler_of_exceptions_answers_takes_the_negotiated_shape(client):
    assert client.get("/lost").json() == {"recovered": True}
    assert client.get("/lost?envelope=v2").json()["results"] == [{"recovered": True}]


def test_an_answer_in_the_shape_of_the_route_is_read_as_one(client):
    """As that of a cache is; one in another shape is data."""
    page = read(asked(client, "page").content)
    assert (page.data, page.page.total) == ([1, 2], 9)


@pytest.mark.parametrize("answer", ["envelope", "broken", "stream"])
def test_what_is_in_an_envelope_or_cannot_be_read_passes(client, answer):
    newer, legacy = asked(client, answer), asked(client, answer, "")
    assert newer.content == legacy.content
    if answer == "envelope":
        assert newer.json() == json.loads(json.dumps(ENVELOPE))


@pytest.mark.parametrize("path", ["/file", "/files/rows.json", "/rpc/"])
def test_files_and_other_applications_keep_their_words(client, path):
    expected = {"jsonrpc": "2.0"} if "rpc" in path else [1]
    assert client.get(f"{path}?envelope=v2").json() == expected


def test_an_envelope_that_there_is_not_is_refused_here_too(framework, serve, tmp_path):
    client = serve(_application(framework, tmp_path, [], default="v2"))
    unknown = client.get("/rows?envelope=v9", headers={"X-Answer": "json"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    refused = client.get("/rows", headers={"X-Answer": "json", "Accept": "text/html"})
    assert refused.status_code == 406
