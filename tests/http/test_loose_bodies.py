"""Bodies that Python takes for JSON and nobody else does: the caller's fault, in the shape that was negotiated."""

import asyncio
import math
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Body, FastAPI, File, HTTPException, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route, Router

from aerogram import ReplyError, fastapi, read, starlette, validate
from aerogram.starlette import Versions

LOOSE = {
    "NaN": b'{"name": "a", "price": NaN}',
    "NaN for a text": b'{"name": NaN}',
    "infinity": b'{"name": "a", "price": Infinity}',
    "infinity below zero": b'{"name": "a", "price": -Infinity}',
    "number without end": b'{"name": "a", "price": 1e999}',
    "number without end for an integer": b'{"name": "a", "size": -1e999}',
    "half a pair": rb'{"name": "\ud800"}',
    "half a pair for a number": rb'{"name": "a", "size": "\udc00\ud800"}',
    "half a pair in a key": rb'{"name": "a", "\ud800": 1}',
    "half a pair in bytes": b'{"name": "\xed\xa0\x80"}',
    "other encoding": '{"name": NaN}'.encode("utf-16"),
    "nested deeply": b'{"name": %b}' % (b"[" * 300 + b"]" * 300),
    "nested more deeply": b'{"name": %b}' % (b"[" * 100_000 + b"]" * 100_000),
    "long integer": b'{"name": "a", "size": %b}' % (b"9" * 5000),
}
STRICT = {
    "pair": rb'{"name": "\ud83d\ude00"}',
    "words in a text": b'{"name": "NaN, Infinity, 1e999"}',
    "large integer": b'{"name": "a", "size": 123456789012345678901234567890}',
    "integer beyond doubles": b'{"name": "a", "size": %b}' % (b"9" * 400),
    "repeated member": b'{"name": "a", "name": "b"}',
    "UTF-16": '{"name": "\U0001f600"}'.encode("utf-16"),
    "nested": b'{"name": "a", "more": %b}' % (b"[" * 150 + b"]" * 150),
}


class Item(BaseModel):
    name: str
    size: int = 1
    price: float = 1.0


class Odd(ReplyError):
    code = "VALIDATION_ERROR"


def fast_app() -> FastAPI:
    app = FastAPI()

    @app.post("/validated")
    async def validated(item: Item) -> Item:
        return item

    @app.post("/plain")
    def plain(item: Annotated[Any, Body()]):
        return {"item": item}

    @app.post("/read")
    async def read_it(request: Request):
        return await request.json()

    @app.post("/refused")
    async def refused(item: Annotated[Any, Body()]):
        raise HTTPException(400, detail={"item": item})

    @app.post("/declared")
    async def declared(item: Annotated[Any, Body()]):
        raise Odd("odd", details={"item": item})

    @app.post("/response")
    async def response(item: Annotated[Any, Body()]):
        return JSONResponse(item)

    @app.get("/nan")
    def nan():
        return {"price": math.nan}

    fastapi.install(app, versions=Versions(vendor="acme"))
    return app


class Endpoint(HTTPEndpoint):
    async def post(self, request):
        return await request.json()


def starlette_app() -> Starlette:
    async def validated(request):
        return Item.model_validate(await request.json())

    async def read_it(request):
        return {"item": await request.json()}

    async def refused(request):
        raise StarletteHTTPException(400, detail=f"not {await request.json()}")

    async def declared(request):
        raise Odd("odd", details={"item": await request.json()})

    async def response(request):
        return JSONResponse(await request.json())

    async def nan(request):
        return {"price": math.nan}

    made = {"validated": validated, "plain": Endpoint, "read": read_it, "refused": refused, "declared": declared}
    routes = [Route(f"/{name}", one, methods=["POST"]) for name, one in {**made, "response": response}.items()]
    app = Starlette(routes=[*routes, Route("/nan", nan)])
    starlette.install(app, versions=Versions(vendor="acme"))
    return app


PATHS = ("/validated", "/plain", "/read", "/refused", "/declared", "/response")
JSON = {"Content-Type": "application/json"}


async def pass_on(request, call_next):
    return await call_next(request)


async def read_first(request, call_next):
    await request.body()
    return await call_next(request)


AROUND = {"alone": None, "middleware": pass_on, "middleware that reads": read_first}


def surrounded(made, dispatch):
    """An application, and around it the middleware that gives what is inside another task, and another `receive`."""
    app = made()
    if dispatch is not None:
        app.add_middleware(BaseHTTPMiddleware, dispatch=dispatch)
    return app


@pytest.fixture(scope="module", params=AROUND)
def around(request):
    return AROUND[request.param]


@pytest.fixture(scope="module", params=[fast_app, starlette_app])
def client(request, around, serve):
    return serve(surrounded(request.param, around))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", LOOSE.values(), ids=LOOSE)
def test_loose_body_is_the_caller_s_fault_in_either_shape(client, body, path):
    legacy = client.post(path, content=body, headers=JSON)
    assert legacy.status_code == 422
    assert "detail" in legacy.json()
    current = client.post(f"{path}?envelope=v2", content=body, headers=JSON)
    assert current.status_code == 422
    validate(current.content)
    assert read(current.content).problem.is_a("VALIDATION_ERROR")


def test_loose_body_is_answered_by_fastapi_as_one_that_is_not_json(serve, around):
    client = serve(surrounded(fast_app, around))
    loose, broken = (
        client.post("/validated", content=body, headers=JSON).json()["detail"][0] for body in (LOOSE["NaN"], b'{"a":')
    )
    assert loose.keys() == broken.keys()
    assert loose["type"] == broken["type"] == "json_invalid"
    assert loose["loc"] == ["body", LOOSE["NaN"].index(b"NaN")]
    assert loose["ctx"] == {"error": "NaN is not a JSON number"}


BYTES = b"\xff\xfe{}"


def upload_app() -> FastAPI:
    app, inner = FastAPI(), FastAPI()

    @app.post("/validated")
    async def validated(item: Item) -> Item:
        return item

    @app.post("/file")
    def take_file(file: Annotated[bytes, File(max_length=1)]) -> int:
        return len(file)

    inner.add_api_route("/validated", validated, methods=["POST"])
    app.mount("/inner", inner)
    return app


@pytest.fixture(scope="module")
def uploads(serve):
    app = upload_app()
    fastapi.install(app, versions=Versions(vendor="acme"))
    return serve(app)


@pytest.mark.parametrize("path", ["/validated", "/inner/validated"])
@pytest.mark.parametrize("kind", ["", "text/plain", "application/octet-stream", "multipart/form-data", "image/png"])
def test_bytes_that_are_no_text_are_the_caller_s_fault_in_either_shape(uploads, path, kind):
    sent = {"content": BYTES, "headers": {"Content-Type": kind}}
    legacy, current = (uploads.post(path + query, **sent) for query in ("", "?envelope=v2"))
    assert (legacy.status_code, current.status_code) == (422, 422)
    assert legacy.json()["detail"][0]["input"] == "\ufffd\ufffd{}"
    assert read(current.content).problem.is_a("VALIDATION_ERROR")


def test_a_file_that_is_refused_need_not_be_text(uploads):
    for path in ("/file", "/file?envelope=v2"):
        assert uploads.post(path, files={"file": ("a", BYTES)}).status_code == 422


@pytest.mark.parametrize("is_plain", [True, False])
def test_the_handler_of_an_application_repeats_bytes_as_text(serve, is_plain):
    app = upload_app()

    def answer(request: Request, error: RequestValidationError):
        return JSONResponse({"said": jsonable_encoder(error.errors())[0]["input"], "body": error.body}, 418)

    async def answer_later(request: Request, error: RequestValidationError):
        return answer(request, error)

    app.add_exception_handler(RequestValidationError, answer if is_plain else answer_later)
    fastapi.install(app, versions=Versions(vendor="acme"))
    response = serve(app).post("/validated", content=BYTES, headers={"Content-Type": "text/plain"})
    assert (response.status_code, response.json()) == (418, dict.fromkeys(("said", "body"), "\ufffd\ufffd{}"))


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/geo+json"])
@pytest.mark.parametrize("body", ["NaN", "half a pair"])
def test_loose_body_is_noticed_whatever_its_client_calls_it(client, kind, body):
    headers = {"Content-Type": kind} if kind else {}
    response = client.post("/read", content=LOOSE[body], headers=headers)
    assert (response.status_code, response.json()["error"]) == (422, "INVALID_FORMAT")
    reply = read(client.post("/read?envelope=v2", content=LOOSE[body], headers=headers).content)
    assert reply.problem.is_a("VALIDATION_ERROR")


def fast_texts() -> FastAPI:
    app = FastAPI()

    @app.post("/awaited")
    async def awaited(request: Request):
        return {"text": (await request.body()).decode()}

    @app.post("/called")
    def called(text: Annotated[bytes, Body(media_type="text/plain")]):
        return {"text": text.decode()}

    fastapi.install(app, versions=Versions(vendor="acme"))
    return app


def starlette_texts() -> Starlette:
    async def awaited(request):
        return {"text": (await request.body()).decode()}

    class Called(HTTPEndpoint):
        async def post(self, request):
            return JSONResponse({"text": b"".join([part async for part in request.stream()]).decode()})

    app = Starlette(routes=[Route("/awaited", awaited, methods=["POST"]), Route("/called", Called)])
    starlette.install(app, versions=Versions(vendor="acme"))
    return app


TEXTS = {"NaN": "NaN", "1e999": "1e999", "digits": "9" * 4400, "brackets": "[" * 300 + "]" * 300}


@pytest.mark.parametrize("made", [fast_texts, starlette_texts])
@pytest.mark.parametrize("path", ["/awaited", "/called"])
@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded"])
def test_text_that_only_looks_like_json_reaches_a_handler_that_reads_text(serve, around, made, path, kind):
    """Whether a text is meant as JSON, only its handler knows."""
    client, headers = serve(surrounded(made, around)), {"Content-Type": kind}
    for text in TEXTS.values():
        assert client.post(path, content=text, headers=headers).json() == {"text": text}
        current = client.post(f"{path}?envelope=v2", content=text, headers=headers)
        assert read(current.content).data in ({"text": text}, [{"text": text}])


@pytest.mark.parametrize("place", ["route", "mount", "router"])
def test_loose_body_is_noticed_inside_of_the_middleware_of_a_part(serve, place):
    async def echo(request):
        return await request.json()

    around = [Middleware(BaseHTTPMiddleware, dispatch=pass_on)]
    route = Route("/read", echo, methods=["POST"], middleware=around if place == "route" else None)
    parts = {
        "route": Mount("/part", routes=[route]),
        "mount": Mount("/part", routes=[route], middleware=around),
        "router": Mount("/part", Router([route], middleware=around)),
    }
    app = Starlette(routes=[parts[place]])
    starlette.install(app, versions=Versions(vendor="acme"))
    response = serve(app).post("/part/read", content=LOOSE["NaN"], headers=JSON)
    assert (response.status_code, response.json()["error"]) == (422, "INVALID_FORMAT")


def test_loose_body_is_noticed_in_routers_and_mounted_applications_of_fastapi(serve):
    app, inner, router = FastAPI(), fast_app_of_parts(), APIRouter()

    @router.post("/awaited")
    async def awaited(item: Annotated[Any, Body()]):
        return item

    @router.post("/called")
    def called(item: Annotated[Any, Body()]):
        return item

    app.include_router(router, prefix="/router")
    app.mount("/inner", inner)
    app.add_middleware(BaseHTTPMiddleware, dispatch=pass_on)
    fastapi.install(app, versions=Versions(vendor="acme"))
    client = serve(app)
    for path in ("/router/awaited", "/router/called", "/inner/read"):
        response = client.post(path, content=LOOSE["NaN"], headers=JSON)
        assert (response.status_code, response.json()["detail"][0]["type"]) == (422, "json_invalid"), path


def fast_app_of_parts() -> FastAPI:
    inner = FastAPI()
    inner.add_middleware(BaseHTTPMiddleware, dispatch=read_first)

    @inner.post("/read")
    async def read_it(item: Annotated[Any, Body()]):
        return item

    return inner


def test_loose_body_is_noticed_when_it_comes_in_pieces(client):
    pieces = (LOOSE["half a pair"][at : at + 3] for at in range(0, 40, 3))
    assert client.post("/read", content=pieces, headers=JSON).status_code == 422


@pytest.mark.parametrize("path", ["/plain", "/read"])
@pytest.mark.parametrize("body", STRICT.values(), ids=STRICT)
def test_strict_body_passes(client, body, path):
    assert client.post(path, content=body, headers=JSON).status_code == 200
    assert client.post(f"{path}?envelope=v2", content=body, headers=JSON).status_code == 200


def test_handler_that_returns_nan_keeps_its_policy(client):
    reply = read(client.get("/nan?envelope=v2").content)
    assert reply.data in ({"price": None}, [{"price": None}])
    assert reply.notices


def test_handler_of_the_application_for_what_is_not_json_comes_first(serve):
    async def answer(request, error):
        return PlainTextResponse("no", 418)

    async def echo(request):
        return await request.json()

    app = Starlette(routes=[Route("/", echo, methods=["POST"])], exception_handlers={ValueError: answer})
    starlette.install(app)
    assert serve(app).post("/", content=LOOSE["NaN"]).status_code == 418


def test_what_is_not_ours_to_read_passes(serve):
    async def inner(scope, receive, send):
        body = (await receive())["body"]
        await PlainTextResponse(body)(scope, receive, send)

    async def echo(request):
        return PlainTextResponse(await request.body())

    routes = [Mount("/inner", inner), Route("/left", echo, methods=["POST"]), Route("/file", echo, methods=["POST"])]
    app = Starlette(routes=routes)
    starlette.install(app, versions=Versions(migrated=("/file", "/inner")))
    client = serve(app)
    for path, kind in (("/inner/x", JSON["Content-Type"]), ("/left", JSON["Content-Type"]), ("/file", "text/csv")):
        response = client.post(path, content=LOOSE["NaN"], headers={"Content-Type": kind})
        assert (response.status_code, response.content) == (200, LOOSE["NaN"])


@pytest.mark.parametrize("path", ["/stream", "/file"])
@pytest.mark.parametrize("body", LOOSE.values(), ids=LOOSE)
@pytest.mark.parametrize("framework", [starlette, fastapi])
def test_an_answer_that_is_on_its_way_is_not_cut_off_by_a_body_that_nobody_reads(
    serve, tmp_path, framework, body, path
):
    """Who sends a stream waits meanwhile for the client to go, and so is the first to receive the body."""
    (tmp_path / "rows.csv").write_text("a,b\n" * 10_000)

    async def pieces():
        for number in range(5):
            await asyncio.sleep(0.01)
            yield f"line {number}\n"

    async def stream(request: Request):
        return StreamingResponse(pieces(), media_type="text/plain")

    async def file(request: Request):
        return FileResponse(tmp_path / "rows.csv")

    handlers = {"/stream": stream, "/file": file}
    app = FastAPI()
    if framework is starlette:
        app = Starlette(routes=[Route(place, one, methods=["POST"]) for place, one in handlers.items()])
    for place, one in handlers.items() if framework is fastapi else ():
        app.post(place)(one)
    framework.install(app)
    answer = serve(app).post(path, content=body, headers=JSON)
    whole = "a,b\n" * 10_000 if path == "/file" else "".join(f"line {number}\n" for number in range(5))
    assert (answer.status_code, answer.text) == (200, whole)
