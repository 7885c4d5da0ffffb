"""Routes: a bare Starlette route against the same one under the layer, over uvicorn and over plain ASGI calls.

The ratios that count are those of whole requests, as a client on the same machine sees them; the plain calls show
what the layer itself takes. (The file is not named after HTTP: Python's own `http` must stay importable from here.)
"""

import asyncio
import multiprocessing
import random
import socket
import statistics
import time

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from aerogram.starlette import Versions, install

ROWS = [
    {
        "id": f"task-{number:05}",
        "title": "Implement the login page with single sign-on",
        "status": "pending",
        "score": 0.8731 + number / 7,
        "updated_at": "2026-11-15T06:00:00Z",
        "tags": ["auth", "ui"],
    }
    for number in range(20)
]
ROUNDS, CALLS = 1500, 3
CASES = (
    ("a route that is not migrated", "/old", "/old", 1.05),
    ("another format on a migrated route", "/text", "/text", 1.05),
    ("20 rows in the legacy shape", "/rows", "/rows", 1.3),
    ("20 rows in standard-v2", "/rows?envelope=v2", "/rows", 1.3),
)


async def rows(_):
    return JSONResponse(ROWS)


async def values(_):
    return ROWS


async def text(_):
    return PlainTextResponse("a,b\n1,2\n", media_type="text/csv")


def bare():
    return Starlette(routes=[Route("/rows", rows), Route("/text", text), Route("/old", text)])


def kept():
    app = Starlette(routes=[Route("/rows", values), Route("/text", text), Route("/old", text)])
    install(app, versions=Versions(vendor="bench", migrated=["/rows", "/text"]))
    return app


def interleaved(contenders):
    """The time of a call of each contender; they take turns, so that the machine treats them alike.

    The order is another one in each round: whoever follows a call like its own finds the processor's caches full of it.
    A quarter of the calls took less than the time that counts: a best one comes by luck, a mean has seen every pause.
    """
    times, order, chance = {name: [] for name in contenders}, list(contenders.items()), random.Random(1)
    for _ in range(ROUNDS):
        chance.shuffle(order)
        for name, contender in order:
            started = time.perf_counter()
            for _ in range(CALLS):
                contender()
            times[name].append((time.perf_counter() - started) / CALLS)
    return {name: statistics.quantiles(found, n=4)[0] for name, found in times.items()}


def contenders(ours, theirs):
    """Every target once, on the application with the layer and on the bare one; `ours(target)` makes a call."""
    found = {("ours", target): ours(target) for _, target, _, _ in CASES}
    return found | {("bare", target): theirs(target) for _, _, target, _ in CASES}


# whole requests


def listener():
    # TCP said outright, so that the server switches Nagle's algorithm off
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    return listening


def serve(*sockets):
    """Both applications on one event loop, so that neither has the better processor."""

    async def both():
        configs = [uvicorn.Config(make(), log_level="error", access_log=False, ws="none") for make in (kept, bare)]
        servers = [uvicorn.Server(config)._serve([one]) for config, one in zip(configs, sockets, strict=True)]
        await asyncio.gather(*servers)

    asyncio.run(both())


class Client:
    """One connection that is kept open, and as little else as possible."""

    def __init__(self, address):
        self.connection = socket.create_connection(address)

    def getting(self, target):
        request = f"GET {target} HTTP/1.1\r\nHost: bench\r\nAccept: */*\r\n\r\n".encode()
        return lambda: self.exchange(request)

    def exchange(self, request):
        self.connection.sendall(request)
        received = b""
        while True:
            received += self.connection.recv(65536)
            head, found, body = received.partition(b"\r\n\r\n")
            if found and len(body) >= int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
                return


def over_uvicorn():
    sockets = listener(), listener()
    server = multiprocessing.get_context("fork").Process(target=serve, args=sockets, daemon=True)
    server.start()
    try:
        ours, theirs = (Client(one.getsockname()) for one in sockets)
        show("whole requests over uvicorn", interleaved(contenders(ours.getting, theirs.getting)))
    finally:
        server.kill()
        server.join()


# plain calls


def scope(target):
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"bench"), (b"accept", b"*/*")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }


async def receive():
    return {"type": "http.request", "body": b"", "more_body": False}


async def send(message):
    pass


def over_plain_calls():
    with asyncio.Runner() as runner:

        def calls_of(app):
            async def several(target):
                for _ in range(CALLS):
                    await app(scope(target), receive, send)

            return lambda target: lambda: runner.run(several(target))

        taken = interleaved(contenders(calls_of(kept()), calls_of(bare())))
        show("plain ASGI calls, for comparison", {name: one / CALLS for name, one in taken.items()}, bounded=False)


def show(title, taken, *, bounded=True):
    print(title)
    for name, target, bare_target, most in CASES:
        ours, theirs = taken["ours", target], taken["bare", bare_target]
        bound = f"at most {most}" if bounded else f"+{(ours - theirs) * 1e6:.1f} µs"
        print(f"  {name:36} {ours * 1e6:6.1f} µs  bare {theirs * 1e6:6.1f} µs  ratio {ours / theirs:.2f}  ({bound})")


def main():
    over_uvicorn()
    over_plain_calls()


if __name__ == "__main__":
    main()
