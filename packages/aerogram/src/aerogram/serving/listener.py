"""Listener: a port of this machine, the server behind it, and the end that a signal asks for."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from aerogram.errors import AerogramError

if TYPE_CHECKING:
    import uvicorn

__all__ = ["Bounds", "PortTaken", "answer_on", "leave_in_time", "listening", "make_server", "run_to_the_end", "signals"]

KEPT_OPEN: Final = 65
"""Seconds that an idle connection is kept; longer than clients keep theirs, so that it is they who close it."""
LAST: Final = 3.0
"""Seconds that tasks and threads have once everything was answered."""
SHORTEST: Final = 0.001
"""Seconds in which is seen that nothing is running; with none at all, that would be told as work broken off."""
_WAITING: Final = 2048
"""Connections that the system keeps until they are taken."""
_AT_ONCE: Final = 64
"""Connections that are taken before those that were taken are looked at: a place, or none and closed again."""
FILES: Final = 512
"""Open files that a server needs besides its connections: its index and stores, and those who wait for a place."""
_WAYS: Final = ("--port ", "AEROGRAM_PORT=")
"""Where somebody says which port a server takes."""

log = logging.getLogger("aerogram.server")


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
def listening(host: str, port: int, ways: Sequence[str] = _WAYS) -> Iterator[socket.socket]:
    """A socket that listens, taken before any work is done; `ways` are those in which its port is chosen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host.strip("[]"), port), family=family, backlog=_WAITING)
    except OSError as error:
        raise _listen_error(error, host, port, ways) from error
    with found:
        yield found


def _listen_error(error: OSError, host: str, port: int, ways: Sequence[str]) -> AerogramError:
    if error.errno == errno.EADDRINUSE:
        others = " or ".join(f"{way}{port + 1}" for way in ways)
        return PortTaken(f"port {port} is taken: end the other server, or choose another with {others}")
    if error.errno == errno.EACCES:
        return PortTaken(f"port {port} needs more rights: choose one above 1023, as in {ways[0]}8000")
    return AerogramError(f"cannot listen on {host}: {error.strerror or error}")


def make_server(app: Any, settings: Bounds) -> uvicorn.Server:
    """The server of an application; whoever runs it brings a socket."""
    import uvicorn

    from aerogram.serving.connection import ConnectionSlots, connection_class

    class Server(uvicorn.Server):
        """One that takes a few connections at a time, and leaves the others where they wait."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            for one in sockets or ():
                one.listen(_WAITING)  # uvicorn has one number for both

    return Server(
        uvicorn.Config(
            app,
            http=connection_class(settings.timeout, ConnectionSlots(find_room(settings.max_connections))),
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            backlog=_AT_ONCE,
            timeout_keep_alive=KEPT_OPEN,
            timeout_graceful_shutdown=max(settings.grace, SHORTEST),  # type: ignore[arg-type]  # any number will do
        )
    )


def find_room(connections: int) -> int:
    """So many connections as there may be open files for; the limit of those is raised as far as the system allows."""
    try:
        import resource
    except ImportError:  # Windows counts no sockets among files
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < connections + FILES:
        soft = connections + FILES if hard == resource.RLIM_INFINITY else min(connections + FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < connections + FILES:
            room = max(soft - FILES, soft // 2)
            log.warning(
                "%d open files are allowed, so there is room for %d connections, not %d", soft, room, connections
            )
            return room
    return connections


def run_to_the_end(work: Coroutine[Any, Any, None]) -> Sequence[asyncio.Task[Any]]:
    """Run a coroutine; one that an interrupt keeps from beginning ends without complaint.

    Gives what was left of other tasks: one that waits for a thread cannot be ended before that, and is not waited for
    without end. `leave_in_time` sees to such threads.
    """
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(work)
    finally:
        work.close()
        left = _wind_up(loop)
    return left


def _wind_up(loop: asyncio.AbstractEventLoop) -> Sequence[asyncio.Task[Any]]:
    """Cancel the other tasks of a loop, and close it; those that do not end for a while are left."""
    tasks = asyncio.all_tasks(loop)
    try:
        for one in tasks:
            one.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=LAST))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return [one for one in tasks if not one.done()]


def leave_in_time(leave: Callable[[], object]) -> None:
    """Have the process end although a thread does not: `leave` is called if it is still there after a while.

    A thread cannot be stopped, and a process waits for its threads; nobody waits for their answers any more.
    """

    def end() -> None:
        log.warning("a thread is still at work that nobody waits for: the process ends without it")
        leave()

    timer = threading.Timer(LAST, end)
    timer.daemon = True
    timer.start()


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
