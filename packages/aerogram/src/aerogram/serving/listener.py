"""Listener: a port of this machine, the server behind it, and the end that a signal asks for."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from aerogram.errors import AerogramError

if TYPE_CHECKING:
    import uvicorn

__all__ = ["Bounds", "PortTaken", "answer_on", "listening", "make_server", "run_to_the_end", "signals"]

KEPT_OPEN: Final = 65
"""Seconds that an idle connection is kept; longer than clients keep theirs, so that it is they who close it."""
_WAITING: Final = 2048


class PortTaken(AerogramError):
    """Somebody else listens there."""


class Bounds(Protocol):
    """How much a server takes on, as its settings say."""

    @property
    def timeout(self) -> float:
        """Seconds until an answer has begun; 0 for any number."""

    @property
    def max_connections(self) -> int:
        """For how many connections there is a place."""

    @property
    def grace(self) -> float:
        """Seconds that running requests have when the server ends."""


@contextlib.contextmanager
def listening(host: str, port: int, variable: str | None = "AEROGRAM_PORT") -> Iterator[socket.socket]:
    """A socket that listens, taken before any work is done; the `variable` is another way to choose its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host.strip("[]"), port), family=family, backlog=_WAITING)
    except OSError as error:
        raise _listen_error(error, host, port, variable) from error
    with found:
        yield found


def _listen_error(error: OSError, host: str, port: int, variable: str | None) -> AerogramError:
    if error.errno == errno.EADDRINUSE:
        other = f" or {variable}={port + 1}" if variable else ""
        return PortTaken(f"port {port} is taken: end the other server, or choose another with --port {port + 1}{other}")
    if error.errno == errno.EACCES:
        return PortTaken(f"port {port} needs more rights: choose one above 1023, as in --port 8000")
    return AerogramError(f"cannot listen on {host}: {error.strerror or error}")


def make_server(app: Any, settings: Bounds) -> uvicorn.Server:
    """The server of an application; whoever runs it brings a socket."""
    import uvicorn

    from aerogram.serving.connection import ConnectionSlots, connection_class

    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=connection_class(settings.timeout, ConnectionSlots(settings.max_connections)),
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_keep_alive=KEPT_OPEN,
            timeout_graceful_shutdown=max(1, round(settings.grace)),
        )
    )


def run_to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine; one that an interrupt keeps from beginning ends without complaint."""
    try:
        asyncio.run(work)
    finally:
        work.close()


async def answer_on(server: uvicorn.Server, listener: socket.socket) -> None:
    """Answer until the server is told to end; one that must not wait still lets its application put things in order."""
    await server.serve([listener])
    if server.force_exit and server.started:
        await server.lifespan.shutdown()


@contextlib.contextmanager
def signals(end: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C and SIGTERM as a wish to end; the process then ends as one that has done its work."""
    loop = asyncio.get_running_loop()
    wanted = (signal.SIGINT, signal.SIGTERM)
    try:
        for one in wanted:
            loop.add_signal_handler(one, end)
    except (NotImplementedError, RuntimeError):  # Windows, or not the main thread
        yield
        return
    try:
        yield
    finally:
        for one in wanted:
            loop.remove_signal_handler(one)
