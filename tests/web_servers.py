"""Applications on real sockets: uvicorn on a port of its own, in a thread, which ends as soon as it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import uvicorn


class Server(uvicorn.Server):
    """One that is woken when it is to end: uvicorn's own looks ten times in a second, and each is waited for."""

    _wake: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    async def main_loop(self) -> None:
        woken = asyncio.Event()
        self._wake = asyncio.get_running_loop(), woken
        count = 0
        while not await self.on_tick(count):
            count += 1
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), 0.1)

    def end(self) -> None:
        self.should_exit = True
        if self._wake is not None:
            loop, woken = self._wake
            with contextlib.suppress(RuntimeError):  # it has ended already
                loop.call_soon_threadsafe(woken.set)


@contextlib.contextmanager
def running(app: Any, *, among: list[Server] | None = None, **settings: Any) -> Iterator[str]:
    """The address of an application while it runs; its server stands among others that may be told to end at once."""
    # TCP said outright, or the server leaves Nagle's algorithm on and every answer takes 40 ms
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = Server(uvicorn.Config(app, ws="none", **settings))
        if among is not None:
            among.append(server)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server ended at once"
            time.sleep(0.001)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.end()
            thread.join()


@contextlib.contextmanager
def client_of(app: Any, **settings: Any) -> Iterator[httpx.Client]:
    """A client whose requests go to an application while it runs."""
    # a connection for each request: uvicorn closes one over which it has answered a crash
    single = httpx.Limits(max_keepalive_connections=0)
    with running(app, **settings) as address, httpx.Client(base_url=address, timeout=20, limits=single) as client:
        yield client
