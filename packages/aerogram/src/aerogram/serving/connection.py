"""A connection: HTTP as uvicorn speaks it, with a client that has only so long to say what it wants.

Uvicorn waits for ever for the head of a request. A client that sends it byte by byte, or nothing at all, would hold
its place as long as it likes; here it gets a 408, or a closed line. Who finds no place, and who does not speak HTTP, is
answered in shape. And answers are sent at once (TCP_NODELAY).
"""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from aerogram._http.exchange import Scope
from aerogram._http.responses import render
from aerogram.dialects import dialect
from aerogram.errors import Unavailable
from aerogram.reply import Reply, new_request_id

__all__ = ["TURNED_AWAY", "ConnectionSlots", "connection_class", "is_turned_away", "refuse_if_full"]

SLOWEST_HEAD: Final = 10.0
"""Seconds in which the head of a request has to arrive."""


def connection_class(timeout: float, room: ConnectionSlots) -> type[H11Protocol]:
    """Connections for a server whose requests have so many seconds, 0 for any number, and that has so much room."""
    seconds = min(timeout or SLOWEST_HEAD, SLOWEST_HEAD)
    return type("Connection", (_Connection,), {"seconds": seconds, "room": room})


class _Connection(H11Protocol):
    """One client's line to the server."""

    seconds: ClassVar[float]
    room: ClassVar[ConnectionSlots]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._waiting: asyncio.TimerHandle | None = None
        self._has_begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for a first request, and send answers without waiting for more of them to fill a packet."""
        line = transport.get_extra_info("socket")
        if line is not None and line.family in (socket.AF_INET, socket.AF_INET6):
            # asyncio does so only for sockets that were made with the protocol's number
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        if not self.room.enter(self):
            self.app_state = {**self.app_state, TURNED_AWAY: True}
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; once the head is whole, there is nothing more to wait for."""
        super().data_received(data)
        self._wait_for_the_rest()

    def on_response_complete(self) -> None:
        """Go on to the next request, of which a part may have arrived already."""
        super().on_response_complete()
        self._wait_for_the_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer, and make room."""
        self.room.leave(self)
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_the_rest(self) -> None:
        """Wait while there is a part of a head, and only then; without one, the line may idle as uvicorn lets it."""
        self._has_begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not self._has_begun:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if self._has_begun and self.conn.our_state is h11.IDLE:
            message = f"The request did not arrive within {self.seconds:g} seconds"
            self._answer(HTTPStatus.REQUEST_TIMEOUT, "UNAVAILABLE", message)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; uvicorn would do so in plain text."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer(HTTPStatus.BAD_REQUEST, "VALIDATION_ERROR", msg)
        self.transport.close()

    def _answer(self, status: HTTPStatus, code: str, message: str) -> None:
        """Say what is wrong before there is a request that could be passed on."""
        problem = dialect("problem")
        failed = Reply.failed(code, message, request_id=new_request_id())
        body = render(problem.complete(failed, operation="request"), problem, problem.media_type, status)
        head = [
            ("content-type", body.media_type),
            ("content-length", str(len(body.content))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=body.status, headers=head, reason=status.phrase.encode()),
            h11.Data(data=body.content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")


COME_BACK: Final = 1.0
"""Seconds after which somebody may have left."""
TURNED_AWAY: Final = "turned_away"
"""What stands in the state of a request whose connection has no place."""


class ConnectionSlots:
    """The places, and the connections that have one."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken: set[Any] = set()

    def enter(self, connection: Any) -> bool:
        """Take a place, if there is one."""
        if len(self._taken) >= self._places:
            return False
        self._taken.add(connection)
        return True

    def leave(self, connection: Any) -> None:
        """Make a place free, if the connection had one."""
        self._taken.discard(connection)


def is_turned_away(scope: Scope) -> bool:
    """Whether the connection of a request has no place, and ends after its answer."""
    return TURNED_AWAY in scope.get("state", ())


def refuse_if_full(scope: Scope) -> None:
    """Raise what a request is told whose connection has no place."""
    if is_turned_away(scope):
        raise Unavailable("The server has no place for another connection", retry_after=COME_BACK)
