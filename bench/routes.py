"""Routes: a bare Starlette route against the same one under the layer, in one process, over plain ASGI calls.

The file is not named after HTTP, because Python's own `http` must stay importable from here.
"""

import asyncio
import time

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from aerogram.starlette import Versions, install

ROWS = [
    {"id": f"task-{n:03}", "title": f"Task number {n}", "status": "pending", "priority": n, "tags": ["auth", "ui"]}
    for n in range(20)
]
ROUNDS, CALLS = 40, 100


async def rows(request):
    return JSONResponse(ROWS)


async def values(request):
    return ROWS


async def text(request):
    return PlainTextResponse("a,b\n1,2\n", media_type="text/csv")


def app(*routes, **settings):
    made = Starlette(routes=list(routes))
    if settings:
        install(made, versions=Versions(vendor="bench", **settings))
    return made


def scope(path, query=b""):
    headers = [(b"host", b"127.0.0.1"), (b"accept", b"*/*"), (b"user-agent", b"bench"), (b"connection", b"keep-alive")]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }


async def receive():
    return {"type": "http.request", "body": b"", "more_body": False}


async def send(message):
    pass


async def measure(*cases):
    """The best time per call of each case; the cases take turns, so that the machine treats them alike."""
    best = [float("inf")] * len(cases)
    for _ in range(ROUNDS):
        for place, (made, path, query) in enumerate(cases):
            started = time.perf_counter()
            for _ in range(CALLS):
                await made(scope(path, query), receive, send)
            best[place] = min(best[place], (time.perf_counter() - started) / CALLS)
    return best


async def compare():
    bare = app(Route("/rows", rows), Route("/text", text))
    kept = app(Route("/rows", values), Route("/text", text), Route("/old", text), migrated=["/rows", "/text"])
    small, old, other, large, legacy, enveloped = await measure(
        (bare, "/text", b""),
        (kept, "/old", b""),
        (kept, "/text", b""),
        (bare, "/rows", b""),
        (kept, "/rows", b""),
        (kept, "/rows", b"envelope=v2"),
    )
    show("a route that is not migrated", old, small, 1.05)
    show("another format on a migrated route", other, small, 1.05)
    show("20 rows, legacy envelope", legacy, large, 1.3)
    show("20 rows, standard-v2", enveloped, large, 1.3)


def show(what, ours, theirs, most):
    print(f"{what:36} {ours * 1e6:7.1f} µs  bare {theirs * 1e6:6.1f} µs  ratio {ours / theirs:.2f}  (at most {most})")


def main():
    asyncio.run(compare())


if __name__ == "__main__":
    main()
