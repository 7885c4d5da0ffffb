"""Applications of FastAPI, with whatever it does for handlers, and requests to them."""

import contextlib
import functools
from typing import Annotated

from applications import FORM, PARTS, UPLOAD, Odd, asked, get, handled, head, post
from fastapi import APIRouter, BackgroundTasks, Depends, FastAPI, Form, HTTPException, Request, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, StreamingResponse

JSON = {"Content-Type": "application/json"}


class Item(BaseModel):
    id: int
    title: str = "untitled"


class Timed(APIRoute):
    """Routes that see their responses."""

    def get_route_handler(self):
        original = super().get_route_handler()

        async def handler(request):
            response = await original(request)
            response.headers["X-Length"] = str(len(response.body))
            return response

        return handler


FAST = (
    *(
        get(f"/{name}")
        for name in ("items", "items/1", "items/x", "items/", "model", "unset", "broken", "broken-async")
    ),
    *(get(f"/{name}") for name in ("html", "text", "response", "none", "204", "created", "cookies", "values", "lines")),
    *(get(f"/{name}") for name in ("stream", "redirect", "refused", "odd", "crash", "nowhere", "docs", "background")),
    *(get(f"/depends/{name}") for name in ("works", "streams", "odd", "refused", "crash", "swallowed", "unused")),
    *(
        get(f"/{name}")
        for name in ("timed/item", "first/shared", "second/shared", "object", "partial", "method", "lazy")
    ),
    *(post("/items", body, **JSON) for body in (b'{"id": 1}', b'{"id": "x"}', b"{bad", b"")),
    post("/form", b"number=1", **FORM),
    post("/upload", UPLOAD, **PARTS),
    head("/items"),
    ("OPTIONS", "/items", {}, None),
    ("DELETE", "/items", {}, None),
)


@asked(*FAST)
def fast(events):
    app = FastAPI(exception_handlers={Odd: handled})
    _values(app)
    _outcomes(app, events)
    _dependencies(app, events)
    _routers(app)
    return app


@asked(*(one for one in FAST if one[1] in ("/items", "/items/x", "/crash", "/broken", "/refused", "/depends/crash")))
def fast_with_handlers(events):
    app = fast(events)

    @app.exception_handler(RequestValidationError)
    async def invalid(request, error):
        return JSONResponse({"faults": len(error.errors()), "body": error.body}, 400)

    @app.exception_handler(Exception)
    async def last(request, error):
        events.append(type(error).__name__)
        return JSONResponse({"sorry": 1}, 500)

    return app


def _values(app):
    @app.get("/items")
    async def items():
        return [{"id": 1, "at": 1.5, "nothing": None}]

    @app.get("/items/{number}")
    def item(number: int):
        return {"number": number}

    @app.post("/items", status_code=201)
    async def add(item: Item) -> Item:
        return item

    @app.get("/model")
    def model() -> list[Item]:
        return [Item(id=1)]

    @app.get("/unset", response_model=Item, response_model_exclude_unset=True)
    def unset():
        return Item(id=1)

    @app.get("/broken")
    def broken() -> Item:
        return {"id": "not a number"}

    @app.get("/broken-async")
    async def broken_async() -> Item:
        return {"id": "not a number"}

    @app.get("/html", response_class=HTMLResponse)
    def html():
        return "<p>"

    @app.get("/text", response_class=PlainTextResponse)
    async def plain():
        return "text"

    @app.get("/none")
    def none():
        return None

    @app.get("/values")
    async def values(request: Request, q: str = "none"):
        return {"q": q, "path": request.url.path}

    @app.get("/lines")
    def lines():
        yield {"line": 1}
        yield {"line": 2}

    @app.post("/form")
    def form(number: Annotated[int, Form()]):
        return number

    @app.post("/upload")
    async def upload(file: UploadFile):
        return (await file.read()).decode()


def _outcomes(app, events):
    @app.get("/response")
    def response():
        return JSONResponse({"own": 1}, 202, headers={"X-Own": "1"})

    @app.get("/204", status_code=204)
    async def no_content():
        return None

    @app.get("/created", status_code=201)
    def created(response: Response):
        response.headers["Location"] = "/items/1"
        response.status_code = 203
        return {"created": 1}

    @app.get("/cookies")
    def give_cookies(response: Response):
        response.set_cookie("a", "1")
        response.set_cookie("b", "2")
        return 1

    @app.get("/stream")
    def stream():
        return StreamingResponse(iter([b"a", b"b"]), media_type="text/plain")

    @app.get("/redirect")
    def redirect():
        return RedirectResponse("/items")

    @app.get("/refused")
    def refused():
        raise HTTPException(409, {"why": "because"}, headers={"X-Why": "because"})

    @app.get("/odd")
    async def raise_odd():
        raise Odd("odd")

    @app.get("/crash")
    def crash():
        return 1 / 0

    @app.get("/background")
    async def later(tasks: BackgroundTasks):
        tasks.add_task(events.append, "later")
        return {"now": 1}


def _dependencies(app, events):
    @contextlib.contextmanager
    def opened(name):
        events.append(f"{name} opened")
        try:
            yield name
        except BaseException as error:
            events.append(f"{name} saw {type(error).__name__}")
            raise
        finally:
            events.append(f"{name} closed")

    async def first():
        with opened("first") as name:
            yield name

    def second(before: Annotated[str, Depends(first)]):
        with opened("second") as name:
            yield name

    def brief():
        with opened("brief") as name:
            yield name

    async def swallows():
        with contextlib.suppress(Exception):
            yield 1

    class Row:
        id = 1

        @property
        def title(self):
            events.append("read")
            return "lazy"

    Both = Annotated[str, Depends(second)]  # noqa: N806 - it is a type
    Brief = Annotated[str, Depends(brief, scope="function")]  # noqa: N806

    @app.get("/depends/works")
    def works(both: Both, brief: Brief, tasks: BackgroundTasks):
        tasks.add_task(events.append, "later")
        return {"works": both}

    @app.get("/depends/streams")
    async def streams(both: Both, brief: Brief):
        async def content():
            events.append("streams")
            yield b"1"

        return StreamingResponse(content())

    @app.get("/depends/odd")
    def raise_odd(both: Both):
        raise Odd("odd")

    @app.get("/depends/refused")
    async def refused(both: Both, brief: Brief):
        raise HTTPException(409)

    @app.get("/depends/crash")
    async def crash(both: Both):
        return 1 / 0

    @app.get("/depends/swallowed")
    async def swallowed(one: Annotated[int, Depends(swallows)]):
        raise Odd("swallowed")

    @app.get("/depends/unused", dependencies=[Depends(second)])
    async def unused():
        return 1

    @app.get("/lazy", response_model=Item)
    def lazy(brief: Brief):
        return Row()


def _routers(app):
    timed, shared = APIRouter(route_class=Timed, prefix="/timed"), APIRouter()

    @timed.get("/item")
    def timed_item():
        return {"timed": 1}

    @shared.get("/shared")
    def shared_item(request: Request):
        return {"path": request.url.path}

    class Object:
        async def __call__(self, number: int = 1):
            return {"number": number}

        async def method(self):
            return "method"

    async def added(one: int, other: int = 2):
        return one + other

    app.include_router(timed)
    app.include_router(shared, prefix="/first")
    app.include_router(shared, prefix="/second")
    app.add_api_route("/object", Object(), methods=["GET"])
    app.add_api_route("/method", Object().method, methods=["GET"])
    app.add_api_route("/partial", functools.partial(added, 1), methods=["GET"])
