"""Applications of every kind that people write, each with requests to it, and nothing of Aerogram in them.

`APPLICATIONS` has a function for each of them; what it is given is a list for whatever happens besides the answer.
"""

import asyncio
import atexit
import contextvars
import functools
import json
import pathlib
import shutil
import tempfile

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.background import BackgroundTasks as Tasks
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

FOLDER = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER)
(FOLDER / "small.json").write_text('{"a": 1}')
(FOLDER / "large.json").write_text(json.dumps(list(range(30_000))))
(FOLDER / "text.txt").write_text("0123456789" * 20)
WHO = contextvars.ContextVar("who", default="nobody")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PARTS = {"Content-Type": "multipart/form-data; boundary=B"}
UPLOAD = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nwritten\r\n--B--\r\n'

APPLICATIONS = {}


def get(path, **fields):
    return ("GET", path, fields, None)


def head(path, **fields):
    return ("HEAD", path, fields, None)


def post(path, body=b"", **fields):
    return ("POST", path, fields, body)


def asked(*requests):
    """Keep an application together with the requests that it gets."""

    def keep(make):
        APPLICATIONS[make.__name__] = (make, requests)
        return make

    return keep


class Odd(Exception):
    """What some of the applications have a handler for; it carries a status."""

    def __init__(self, message, status=418):
        super().__init__(message)
        self.status = status


def handled(_, error):
    return PlainTextResponse(f"handled {error}", error.status)


# handlers and endpoints


async def text(_):
    return PlainTextResponse("text")


async def rows(_):
    return JSONResponse([{"id": 1, "title": "書く"}])


async def crash(_):
    return 1 / 0


async def odd(_):
    raise Odd("odd")


class Raw:
    """An application as an endpoint, with fields of any kind, or none at all."""

    def __init__(self, status=200, **fields):
        self.start = {"type": "http.response.start", "status": status, **fields}

    async def __call__(self, *given):
        *_, send = given
        await send(self.start)
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        await send({"type": "http.response.body", "body": b"}"})


class ReadOnce:
    """Fields that are made when they are read."""

    def __iter__(self):
        yield from [(b"content-type", b"application/json"), (b"content-length", b"2")]


class Methods(HTTPEndpoint):
    async def get(self, _):
        return PlainTextResponse("got")

    def post(self, _):
        return JSONResponse({"posted": 1})

    async def query(self, _):
        return JSONResponse({"asked": 1})

    async def delete(self, _):
        raise Odd("deleted")


class OtherMethods(HTTPEndpoint):
    patch = None

    @staticmethod
    async def get(_):
        return PlainTextResponse("static")

    @classmethod
    def post(cls, _):
        return PlainTextResponse(cls.__name__)

    async def head(self, _):
        return Response(headers={"Content-Length": "7", "Content-Type": "application/json"})


def decorated(handler):
    @functools.wraps(handler)
    async def around(request):
        response = await handler(request)
        response.headers["X-Decorated"] = "1"
        return response

    return around


def cookies(_):
    response = PlainTextResponse("cookies")
    response.raw_headers += [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
    return response


def shown(request):
    """What a handler sees of its request."""
    scope = {name: request.scope[name] for name in ("path", "root_path", "path_params", "query_string")}
    return PlainTextResponse(f"{request.url} {scope} {request.headers.items()} {request.url_for('text')}")


@asked(
    *(get(f"/{name}") for name in ("sync", "async", "partial", "partial-async", "decorated", "method", "nowhere")),
    *(get(f"/{name}") for name in ("slash", "async/", "class", "other", "raw", "raw-plain", "raw-once", "raw-failure")),
    *(get(f"/{name}") for name in ("raw-partial", "asgi", "json", "json-201", "json-tag", "json-vary", "broken-json")),
    *(get(f"/{name}") for name in ("empty-json", "memory", "bytes", "vary", "cookies", "redirect", "204", "304")),
    *(get(f"/{name}") for name in ("int/5", "int/x", "path/a/b", "%E6%9B%B8/x%20y", "shown/%E6%9B%B8?a=1&a=2")),
    *(head(f"/{name}") for name in ("async", "json", "class", "other", "raw")),
    *((method, "/class", {}, None) for method in ("POST", "QUERY", "DELETE", "PUT", "OPTIONS")),
    *((method, "/other", {}, None) for method in ("POST", "PATCH")),
    ("OPTIONS", "/async", {}, None),
    post("/async"),
)
def endpoints(_):
    class Object:
        async def handle(self, _):
            return PlainTextResponse("method")

    def second(first, _):
        return PlainTextResponse(f"second of {first}")

    async def second_async(first, _):
        return PlainTextResponse(f"second of {first}")

    async def application(_):
        return Raw(headers=[(b"content-type", b"text/plain")])

    named = {
        "/sync": lambda _: PlainTextResponse("sync"),
        "/async": text,
        "/partial": functools.partial(second, 1),
        "/partial-async": functools.partial(second_async, 1),
        "/decorated": decorated(text),
        "/method": Object().handle,
        "/slash/": text,
        "/class": Methods,
        "/other": OtherMethods,
        "/raw": Raw(headers=((b"content-type", b"application/json"), (b"content-length", b"2"))),
        "/raw-plain": Raw(),
        "/raw-once": Raw(headers=ReadOnce()),
        "/raw-failure": Raw(404, headers=ReadOnce()),
        "/raw-partial": functools.partial(Raw()),
        "/asgi": application,
        "/json": rows,
        "/json-201": lambda _: JSONResponse({"a": 1}, 201, headers={"Location": "/x"}),
        "/json-tag": lambda _: JSONResponse(1, headers={"ETag": '"own"'}),
        "/json-vary": lambda _: JSONResponse(1, headers={"Vary": "Cookie"}),
        "/broken-json": lambda _: Response(b"{bad", media_type="application/json"),
        "/empty-json": lambda _: Response(b"", media_type="application/json"),
        "/memory": lambda _: Response(memoryview(b"[1]"), media_type="application/json"),
        "/bytes": lambda _: Response(b"bytes"),
        "/vary": lambda _: PlainTextResponse("varies", headers={"Vary": "Cookie"}),
        "/cookies": cookies,
        "/redirect": lambda _: RedirectResponse("/async"),
        "/204": lambda _: Response(status_code=204),
        "/304": lambda _: Response(status_code=304),
        "/int/{number:int}": lambda request: JSONResponse(request.path_params["number"]),
        "/path/{path:path}": lambda request: PlainTextResponse(request.path_params["path"]),
        "/書/{name}": lambda request: PlainTextResponse(request.path_params["name"]),
        "/shown/{name}": shown,
    }
    routes = [*(Route(path, handler) for path, handler in named.items()), Route("/text", text, name="text")]
    return Starlette(routes=routes, exception_handlers={Odd: handled})


# streams and files


@asked(
    *(get(f"/{name}") for name in ("lines", "sync", "json", "ndjson", "events", "json-of-known-length", "file")),
    *(get(f"/{name}") for name in ("small-json", "large-json", "missing", "breaks", "breaks-at-once", "json-breaks")),
    *(
        get(f"/{name}")
        for name in ("long-500", "long-404", "files/small.json", "files/large.json", "files/no", "files")
    ),
    *(head(f"/{name}") for name in ("file", "large-json", "files/large.json")),
    get("/file", Range="bytes=0-4"),
    get("/file", Range="bytes=900-"),
    get("/file", **{"Range": "bytes=0-4", "If-Range": '"other"'}),
    get("/files/large.json", Range="bytes=5-20"),
    get("/files/small.json", **{"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}),
    post("/files/small.json"),
)
def streams(events):
    async def lines(fails_at=None):
        try:
            for number in range(3):
                if number == fails_at:
                    raise Odd("in the stream")
                yield f"line {number}\n"
                await asyncio.sleep(0)
        finally:
            events.append("closed")

    async def pieces():
        for piece in (b"[1", b",2,", b"3]"):
            yield piece

    def streamed(content, status=200, **settings):
        return lambda _: StreamingResponse(content(), status, **settings)

    named = {
        "/lines": streamed(lines, media_type="text/plain"),
        "/sync": streamed(lambda: iter([b"a", b"b"]), media_type="text/csv"),
        "/json": streamed(pieces, media_type="application/json"),
        "/ndjson": streamed(lines, media_type="application/x-ndjson"),
        "/events": streamed(lines, media_type="text/event-stream"),
        "/json-of-known-length": streamed(pieces, media_type="application/json", headers={"Content-Length": "7"}),
        "/file": lambda _: FileResponse(FOLDER / "text.txt", filename="書.txt"),
        "/small-json": lambda _: FileResponse(FOLDER / "small.json"),
        "/large-json": lambda _: FileResponse(FOLDER / "large.json"),
        "/missing": lambda _: FileResponse(FOLDER / "missing.txt"),
        "/breaks": streamed(lambda: lines(1), media_type="text/plain"),
        "/breaks-at-once": streamed(lambda: lines(0), media_type="text/plain"),
        "/json-breaks": streamed(lambda: lines(1), media_type="application/json"),
        "/long-500": streamed(lambda: iter([b"x" * 50_000] * 9), 500, media_type="text/plain"),
        "/long-404": streamed(lambda: iter([b"x" * 50_000] * 9), 404, media_type="text/plain"),
    }
    routes = [Route(path, handler) for path, handler in named.items()]
    return Starlette(
        routes=[*routes, Mount("/files", StaticFiles(directory=FOLDER))], exception_handlers={Odd: handled}
    )


# what happens after an answer


@asked(
    *(get(f"/{name}") for name in ("runs", "sync", "crashes", "refuses", "odd", "json", "json-crashes", "many", "500"))
)
def background(events):
    async def runs():
        events.append(f"ran for {WHO.get()}")

    def sync():
        events.append(f"ran in a thread for {WHO.get()}")

    async def refuses():
        raise HTTPException(404, "refused")

    async def crashes():
        raise ValueError("in the background")

    async def raises_odd():
        raise Odd("in the background")

    def followed_by(*tasks, kind=PlainTextResponse, status=200):
        return lambda _: kind("answer", status, background=Tasks([BackgroundTask(one) for one in tasks]))

    class Names:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            WHO.set("ann")
            await self.app(scope, receive, send)
            events.append("all done")

    named = {
        "/runs": followed_by(runs),
        "/sync": followed_by(sync),
        "/crashes": followed_by(crashes),
        "/refuses": followed_by(refuses),
        "/odd": followed_by(raises_odd),
        "/json": followed_by(runs, kind=JSONResponse),
        "/json-crashes": followed_by(crashes, kind=JSONResponse),
        "/many": followed_by(runs, crashes, sync),
        "/500": followed_by(runs, status=500),
    }
    routes = [Route(path, handler) for path, handler in named.items()]
    return Starlette(routes=routes, middleware=[Middleware(Names)], exception_handlers={Odd: handled})


# bodies of requests


@asked(
    post("/body", b"sent"),
    post("/body", b"sent", Expect="100-continue"),
    post("/stream", b"x" * 200_000),
    post("/form", "a=1&b=書".encode(), **FORM),
    post("/upload", UPLOAD, **PARTS),
    post("/upload", UPLOAD[:-9], **PARTS),
    post("/json", b'{"a": 1}'),
    post("/unread", b"x" * 100_000),
)
def bodies(_):
    async def body(request):
        return PlainTextResponse(await request.body() + await request.body())

    async def stream(request):
        return PlainTextResponse(str(sum([len(chunk) async for chunk in request.stream()])))

    async def form(request):
        async with request.form() as found:
            return JSONResponse(dict(found))

    async def upload(request):
        async with request.form() as found:
            return PlainTextResponse(await found["file"].read())

    async def parsed(request):
        return JSONResponse(await request.json())

    handlers = {"body": body, "stream": stream, "form": form, "upload": upload, "json": parsed, "unread": text}
    return Starlette(routes=[Route(f"/{name}", one, methods=["POST"]) for name, one in handlers.items()])
