"""The same small API in both frameworks: every way in which an answer can come about."""

import csv
import io
import pathlib
import queue
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from fastapi.responses import FileResponse as FastFileResponse
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware import Middleware
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from aerogram import Citation, Page, RateLimit, Reply
from aerogram.errors import Conflict, Forbidden, NotFound, QuotaExceeded, RateLimited, Unauthenticated
from aerogram.fastapi import from_health, from_offset_page, shapes

ROWS = [{"id": f"task-{number:03}", "title": "書く"} for number in range(1, 24)]
HEALTH = {
    "status": "ok",
    "version": "1.2",
    "checks": {"db": "ok", "queue": "ok"},
    "timestamp_utc": "2026-11-15T06:00:00Z",
}
UNWELL = {**HEALTH, "status": "degraded", "checks": {"db": "ok", "queue": "down"}}
CSV = "id,title\r\ntask-001,書く\r\n"

DECLARED = {
    "missing": NotFound("there is no such task", remediation="List the tasks"),
    "forbidden": Forbidden("not yours"),
    "unauthenticated": Unauthenticated("the key is not valid"),
    "conflict": Conflict("it is closed"),
    "too-fast": RateLimited("30 a minute", retry_after=12.2),
    "used-up": QuotaExceeded("3 a day", retry_after=3600),
}


def page_of(offset, limit):
    return {"total": len(ROWS), "limit": limit, "offset": offset, "results": ROWS[offset : offset + limit]}


def company(number):
    cited = Citation(source_id="src-1", source_url="https://example.org/1", field_paths=("/results/0/name",))
    return Reply.ok({"number": number, "name": "株式会社"}, citations=(cited,))


def limited():
    rate = RateLimit(100, 5, "2099-01-01T00:00:00Z", extra={"policy": "burst", "window_seconds": 60})
    return Reply.ok(ROWS[:6], rate_limit=rate, page=Page("c2Vjb25k", has_more=True, total=23, page_size=6))


class RejectsStrangers:
    """An auth middleware as applications have them: it answers by itself, before there is a route."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and (b"x-reject", b"1") in scope["headers"]:
            answer = JSONResponse({"detail": "Unknown key"}, 401, {"WWW-Authenticate": "Bearer"})
            await answer(scope, receive, send)
        elif scope["type"] == "http" and (b"x-break", b"1") in scope["headers"]:
            raise RuntimeError("the middleware's secret")
        else:
            await self.app(scope, receive, send)


# Starlette


@shapes(reply=from_offset_page)
async def search(request):
    return page_of(int(request.query_params.get("offset", 0)), int(request.query_params.get("limit", 20)))


@shapes(reply=from_offset_page)
async def old_search(request):
    return JSONResponse(page_of(0, 20), headers={"Cache-Control": "max-age=60", "ETag": '"own"'})


@shapes(reply=from_health)
def health(request):
    return UNWELL if "unwell" in request.query_params else HEALTH


async def declared(request):
    raise DECLARED[request.path_params["name"]]


async def http_exception(request):
    raise StarletteHTTPException(int(request.path_params["status"]), "as the app says", {"X-Own": "kept"})


async def crash(request):
    raise RuntimeError("a secret")


async def timeout(request):
    raise TimeoutError("a secret")


async def export(request):
    return PlainTextResponse(CSV, media_type="text/csv")


async def stream(request):
    async def chunks():
        yield b'{"a":'
        yield b"1}"

    return StreamingResponse(chunks(), media_type="application/json")


async def file(request):
    return FileResponse(__file__)


async def nothing(request):
    return Response(status_code=204)


async def echo(request):
    return {"received": await request.json()}


async def created(request):
    return JSONResponse({"id": "new"}, 201, {"Location": "/new"}, background=BackgroundTask(lambda: None))


async def unwritable(request):
    return Reply.ok(ROWS[:1], extra={"odd": "x" * 2**25})


def routes():
    return [
        Route("/search", search),
        Route("/old-search", old_search),
        Route("/company/{number}", lambda request: company(request.path_params["number"])),
        Route("/health", health),
        Route("/limited", lambda _: limited()),
        Route("/rows", lambda _: ROWS),
        Route("/none", lambda _: []),
        Route("/declared/{name}", declared),
        Route("/raises/{status:int}", http_exception),
        Route("/crash", crash),
        Route("/timeout", timeout),
        Route("/export", export),
        Route("/stream", stream),
        Route("/file", file),
        Route("/nothing", nothing),
        Route("/echo", echo, methods=["POST"]),
        Route("/created", created, methods=["POST"]),
        Route("/unwritable", unwritable),
        Mount("/inside", routes=[Route("/rows", lambda _: ROWS)]),
    ]


def starlette_app(**settings):
    return Starlette(routes=routes(), middleware=[Middleware(RejectsStrangers)], **settings)


# FastAPI


class Task(BaseModel):
    id: str
    title: str = "untitled"


def fastapi_app(**settings):
    """The same routes; `opened` on the application's state tells what became of the dependency."""
    app = FastAPI(**settings)
    app.state.opened = opened = queue.SimpleQueue()
    app.add_middleware(RejectsStrangers)

    async def database():
        try:
            yield opened
        except Exception as error:
            opened.put(f"rolled back: {type(error).__name__}")
            raise
        opened.put("committed")

    @app.get("/search")
    @shapes(reply=from_offset_page)
    async def search(limit: int = 20, offset: int = 0):
        return page_of(offset, limit)

    @app.get("/company/{number}")
    def look_up(number: str) -> Reply[dict[str, str]]:
        return company(number)

    @app.get("/health")
    @shapes(reply=from_health)
    def health(unwell: bool = False):
        return UNWELL if unwell else HEALTH

    @app.get("/limited")
    def show_limits() -> Reply[list[Task]]:
        return limited()

    @app.get("/rows")
    def rows(used: Annotated[queue.SimpleQueue, Depends(database)]) -> list[Task]:
        return [Task(**row) for row in ROWS]

    @app.get("/filtered", response_model=list[Task])
    def filtered():
        return [{**row, "password": "hunter2"} for row in ROWS[:2]]

    @app.get("/none")
    def none() -> list[Task]:
        return []

    @app.get("/declared/{name}")
    async def declared(name: str, used: Annotated[queue.SimpleQueue, Depends(database)]):
        raise DECLARED[name]

    @app.get("/raises/{status}")
    def http_exception(status: int):
        raise HTTPException(status, "as the app says", {"X-Own": "kept"})

    @app.get("/crash")
    def crash(used: Annotated[queue.SimpleQueue, Depends(database)]):
        raise RuntimeError("a secret")

    @app.get("/timeout")
    def timeout():
        raise TimeoutError("a secret")

    @app.get("/guarded")
    def guarded(x_api_key: Annotated[str, Header()]):
        return ROWS

    @app.get("/export")
    def export():
        return PlainTextResponse(CSV, media_type="text/csv")

    @app.get("/stream")
    async def stream():
        return await globals()["stream"](None)

    @app.get("/lines")
    def lines():
        yield from ROWS[:3]

    @app.get("/file")
    def file():
        return FastFileResponse(__file__)

    @app.delete("/nothing", status_code=204)
    def nothing() -> None:
        return None

    @app.post("/echo")
    def echo(task: Task) -> dict[str, Task]:
        return {"received": task}

    @app.post("/created", status_code=201)
    def created(task: Task) -> Task:
        return task

    @app.get("/unwritable")
    def unwritable():
        return Reply.ok(ROWS[:1], extra={"odd": "x" * 2**25})

    return app


def csv_rows(text):
    return list(csv.reader(io.StringIO(text)))


SOURCE = pathlib.Path(__file__).read_bytes()
