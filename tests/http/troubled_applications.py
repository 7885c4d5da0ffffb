"""Applications in which much goes wrong, or stands in between: exceptions, middleware, applications in others."""

import asyncio
import dataclasses
import functools

from applications import (
    FORM,
    WHO,
    Methods,
    Odd,
    Raw,
    asked,
    crash,
    get,
    handled,
    head,
    odd,
    post,
    rows,
    shown,
    text,
)
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser, requires
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Host, Mount, Route, Router


class Odder(Odd):
    pass


class FailsAtOnce(PlainTextResponse):
    async def __call__(self, *_):
        raise ValueError("before it begins")


def failing(events, handlers=None, **settings):
    """An application in which everything goes wrong, and that has something to say about most of it."""

    async def about_odd(request, error):
        events.append(f"{error} {error.status} {request.path_params} {request.state.trace}")
        return JSONResponse({"odd": error.status}, error.status)

    def about_404(request, error):
        return HTMLResponse("<p>not here</p>", 404, headers=error.headers)

    async def about_value(request, error):
        return PlainTextResponse(f"{error}: {(await request.body()).decode()}", 422)

    async def about_lookup(request, error):
        return PlainTextResponse(f"{error!r}: {(await request.form())['a']}", 400)

    async def fails_too(request, error):
        raise RuntimeError("the handler of exceptions fails") from error

    async def says_nothing(request, error):
        return None

    async def raise_odd(request):
        request.state.trace = "t-1"
        raise Odder("odd", 419) if "kind" in request.path_params else reused

    def raise_in_a_thread(request):
        request.state.trace = "t-2"
        raise Odder("odd", 419)

    async def raise_http(request):
        raise HTTPException(int(request.path_params["status"]), "refused", headers={"X-Why": "because"})

    async def raise_value(request):
        await request.body()
        raise ValueError("value")

    async def raise_lookup(request):
        await request.form()
        raise LookupError("lookup")

    async def raise_group(request):
        request.state.trace = "t-3"
        async with asyncio.TaskGroup() as group:
            group.create_task(raise_odd(request))

    async def parse(request):
        return JSONResponse(await request.json())

    async def fail_at_once(request):
        await request.body()
        return FailsAtOnce()

    async def raise_key(_):
        raise KeyError("key")

    async def raise_type(_):
        raise TypeError("type")

    async def time_out(_):
        raise TimeoutError("too late")

    reused = Odd("the same one each time")
    got = {"/odd": raise_odd, "/odd/{kind}": raise_odd, "/thread": raise_in_a_thread, "/http/{status}": raise_http}
    got |= {"/crash": crash, "/key": raise_key, "/type": raise_type, "/group": raise_group, "/timeout": time_out}
    posted = {"/value": raise_value, "/lookup": raise_lookup, "/parse": parse, "/at-once": fail_at_once}
    routes = [Route(path, handler) for path, handler in got.items()]
    routes += [Route(path, handler, methods=["POST"]) for path, handler in posted.items()]
    routes += [Mount("/inside", routes=[Route("/odd", raise_odd), Route("/crash", crash)])]
    about = {
        Odd: about_odd,
        404: about_404,
        ValueError: about_value,
        LookupError: about_lookup,
        KeyError: fails_too,
        TypeError: says_nothing,
    }
    return Starlette(routes=routes, exception_handlers={**about, **(handlers or {})}, **settings)


FAILING = (
    *(get(f"/{name}") for name in ("odd", "odd", "odd/er", "thread", "crash", "key", "type", "group", "timeout")),
    *(get(f"/http/{status}") for status in (204, 304, 400, 401, 404, 500, 503)),
    *(get(f"/{name}") for name in ("inside/odd", "inside/crash", "nowhere")),
    post("/odd"),
    post("/value", b"sent"),
    post("/lookup", b"a=5", **FORM),
    post("/parse", b"{bad"),
    post("/at-once", b"sent"),
)


@asked(*FAILING)
def failures(events):
    return failing(events)


@asked(*FAILING)
def failures_with_a_last_resort(events):
    async def last(request, error):
        events.append("last")
        return PlainTextResponse("sorry", 500)

    return failing(events, {500: last})


@asked(*FAILING)
def failures_with_a_last_resort_in_json(events):
    def last(request, error):
        events.append("last")
        return JSONResponse({"sorry": str(error)}, 500)

    return failing(events, {Exception: last})


@asked(*FAILING)
def failures_inside_of_middleware(events):
    class Watches(BaseHTTPMiddleware):
        async def dispatch(self, request, call_next):
            try:
                response = await call_next(request)
            except Exception as error:
                events.append(f"saw {error!r}")
                raise
            events.append(f"saw {response.status_code}")
            return response

    return failing(events, middleware=[Middleware(Watches)])


# middleware of single routes


class Attribute:
    """Middleware that keeps what is inside where everybody does."""

    def __init__(self, app, events, name="attribute"):
        self.app, self.events, self.name = app, events, name

    async def __call__(self, scope, receive, send):
        async def seen(message):
            if message["type"] == "http.response.start":
                self.events.append(f"{self.name} saw {message['status']}")
                message = {**message, "headers": [*message["headers"], (b"x-seen", self.name.encode())]}
            await send(message)

        try:
            await self.app(scope, receive, seen)
        except Exception as error:
            self.events.append(f"{self.name} saw {error!r}")
            raise


@dataclasses.dataclass(frozen=True)
class Frozen:
    inner: object
    events: list

    async def __call__(self, scope, receive, send):
        self.events.append("frozen")
        await self.inner(scope, receive, send)


class Slots:
    __slots__ = ("events", "inner")

    def __init__(self, app, events):
        self.inner, self.events = app, events

    async def __call__(self, scope, receive, send):
        self.events.append("slots")
        await self.inner(scope, receive, send)


def function(app, events):
    """Middleware that is a function, and lets not everybody in."""

    async def guard(scope, receive, send):
        events.append("guard")
        is_stranger = any(name == b"x-stranger" for name, _ in scope["headers"])
        await (PlainTextResponse("no", 403) if is_stranger else app)(scope, receive, send)

    return guard


def partial(app, events):
    async def run(app, scope, receive, send):
        events.append("partial")
        await app(scope, receive, send)

    return functools.partial(run, app)


class Base(BaseHTTPMiddleware):
    def __init__(self, app, events):
        super().__init__(app)
        self.events = events

    async def dispatch(self, request, call_next):
        WHO.set("bob")
        response = await call_next(request)
        self.events.append(f"base saw {response.status_code}")
        return response


AROUND = (
    "attribute",
    "frozen",
    "slots",
    "function",
    "partial",
    "base",
    "several",
    "gzip",
    "limited",
    "mount",
    "router",
)
INSIDE = ("text", "json", "odd", "crash", "at-once", "class", "who")


@asked(
    *(get(f"/{around}/{inside}") for around in AROUND for inside in INSIDE),
    *(get(f"/{around}/{inside}", **{"X-Stranger": "1"}) for around in ("function", "several") for inside in INSIDE[:2]),
    post("/limited/upload", b"x" * 100),
    post("/limited/upload", b"x" * 5),
)
def guarded(events):
    async def at_once(_):
        return FailsAtOnce()

    async def who(_):
        task = BackgroundTask(lambda: events.append(f"background of {WHO.get()}"))
        return PlainTextResponse(WHO.get(), background=task)

    async def upload(request):
        return PlainTextResponse(str(len(await request.body())))

    handlers = dict(zip(INSIDE, (text, rows, odd, crash, at_once, Methods, who), strict=True))
    kinds = {
        "attribute": [Middleware(Attribute, events)],
        "frozen": [Middleware(Frozen, events)],
        "slots": [Middleware(Slots, events)],
        "function": [Middleware(function, events)],
        "partial": [Middleware(partial, events)],
        "base": [Middleware(Base, events)],
        "several": [
            Middleware(Attribute, events, "outer"),
            Middleware(function, events),
            Middleware(Attribute, events),
        ],
        "gzip": [Middleware(GZipMiddleware, minimum_size=1)],
    }

    def all_of(prefix, **settings):
        return [Route(f"{prefix}/{name}", handler, **settings) for name, handler in handlers.items()]

    routes = [route for name, around in kinds.items() for route in all_of(f"/{name}", middleware=around)]
    routes += all_of("/limited", max_body_size=10)
    routes += [Route("/limited/upload", upload, methods=["POST"], max_body_size=10)]
    routes += [Mount("/mount", routes=all_of(""), middleware=[Middleware(Attribute, events)])]
    routes += [Mount("/router", Router(all_of(""), middleware=[Middleware(function, events)]))]

    def about_value(_, error):
        return PlainTextResponse("value", 422)

    return Starlette(routes=routes, exception_handlers={Odd: handled, ValueError: about_value})


# middleware of applications


class Names(AuthenticationBackend):
    async def authenticate(self, conn):
        name = conn.headers.get("Authorization")
        if name == "bad":
            raise AuthenticationError("bad")
        return (AuthCredentials(["known"]), SimpleUser(name)) if name else None


ORIGIN = {"Origin": "https://a.example"}
ZIPPED = {"Accept-Encoding": "gzip"}


@asked(
    *(get(f"/{name}") for name in ("text", "json", "secret", "session", "crash", "stream")),
    *(get(f"/{name}", **ORIGIN) for name in ("text", "json", "crash", "nowhere")),
    *(get(f"/{name}", **ZIPPED) for name in ("long", "long-json", "stream", "breaks")),
    head("/long", **ZIPPED),
    *(
        ("OPTIONS", "/text", {"Origin": one, "Access-Control-Request-Method": "GET"}, None)
        for one in ("x", *ORIGIN.values())
    ),
    get("/text", Host="evil.example"),
    get("/secret", Authorization="ann"),
    get("/secret", Authorization="bad"),
)
def stacked(events):
    @requires("known")
    async def secret(request):
        return PlainTextResponse(request.user.display_name)

    async def session(request):
        request.session["visits"] = request.session.get("visits", 0) + 1
        return JSONResponse(dict(request.session))

    async def breaks():
        raise Odd("before its first piece")
        yield b""

    named = {
        "/text": text,
        "/json": rows,
        "/secret": secret,
        "/session": session,
        "/crash": crash,
        "/long": lambda _: PlainTextResponse("x" * 5_000),
        "/long-json": lambda _: JSONResponse(["x" * 5_000]),
        "/stream": lambda _: StreamingResponse(iter([b"x" * 300] * 3), media_type="text/plain"),
        "/breaks": lambda _: StreamingResponse(breaks()),
    }
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1"]),
        Middleware(
            CORSMiddleware, allow_origins=list(ORIGIN.values()), expose_headers=["X-Own"], allow_credentials=True
        ),
        Middleware(SessionMiddleware, secret_key="only here"),
        Middleware(AuthenticationMiddleware, backend=Names()),
        Middleware(Base, events),
        Middleware(GZipMiddleware, minimum_size=100),
    ]
    routes = [Route(path, handler) for path, handler in named.items()]
    return Starlette(routes=routes, middleware=middleware, exception_handlers={Odd: handled})


# applications in applications


@asked(
    *(get(f"/part/{name}") for name in ("shown/x", "odd", "crash", "nowhere", "")),
    *(get(f"/{name}") for name in ("part", "first/shown/x", "second/shown/x", "around/odd", "around/shown/x", "raw/x")),
    *(
        get(f"/{name}")
        for name in ("deep/er/shown/x", "deep/er/nowhere", "fast/items", "fast/items?number=x", "fast/no")
    ),
    *(get("/x", Host=host) for host in ("api.example", "www.example")),
    get("/y", Host="api.example"),
)
def mounted(events):
    def part():
        routes = [Route("/shown/{name}", shown), Route("/text", text, name="text"), Route("/odd", odd)]
        routes += [Route("/crash", crash), Route("/", text)]
        return Starlette(routes=routes, middleware=[Middleware(Attribute, events)], exception_handlers={Odd: handled})

    fast = FastAPI()

    @fast.get("/items")
    def items(number: int = 1):
        return {"number": number}

    shared = part()
    return Starlette(
        routes=[
            Mount("/part", part()),
            Mount("/first", shared),
            Mount("/second", shared),
            Mount("/around", Attribute(part(), events, "around")),
            Mount("/deep", routes=[Mount("/er", part())]),
            Mount("/fast", fast),
            Mount("/raw", Raw()),
            Host("api.example", Router([Route("/x", lambda _: PlainTextResponse("x of the host"))])),
            Route("/x", lambda _: PlainTextResponse("x of all")),
        ]
    )
