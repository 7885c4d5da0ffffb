"""A connection: HTTP as uvicorn speaks it, with a client that has only so long to say what it wants.

Uvicorn waits for ever for the head of a request. A client that sends it byte by byte, or nothing at all, would hold
its place as long as it likes; here it gets a 408, or a closed line. Who finds no place, and who does not speak HTTP, is
answered in shape. And answers are sent at once (TCP_NODELAY).

Nor does uvicorn mind how long a client leaves an answer untaken, which stays in memory all the while: here the line is
cut once nothing was taken for too long. However slow a client reads, as long as it does it keeps its line.

A client that has said everything may close its half of the line and wait for the answer, which uvicorn takes for
leaving. Both look alike until something is sent: so the words are with which every answer begins, and who has left
refuses them.

A target may name the host too (`GET http://host/path`): then it is for that host, whatever the field says, as
RFC 9112 has it in section 3.2.2.

    places          for everybody together
    share           of them, for one address, as long as its connections have shown no key
    waiting room    for connections without a place, until they have been told so; who is silent makes room for others
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import struct
import sys
from collections import Counter
from http import HTTPStatus
from typing import Any, ClassVar, Final, NoReturn

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from aerogram._http.exchange import Scope
from aerogram._http.responses import render
from aerogram.dialects import dialect
from aerogram.errors import Unavailable
from aerogram.reply import Reply, new_request_id

__all__ = ["ConnectionSlots", "connection_class", "is_turned_away", "note_key", "refuse_if_full"]

SLOWEST_HEAD: Final = 10.0
"""Seconds in which the head of a request has to arrive."""
LONGEST_PAUSE: Final = 30.0
"""Seconds in which a client has to take something of its answer, where requests have any number of them."""
LOOK_AGAIN: Final = 0.25
"""Seconds after which it is known whether a client that says no more is still there."""
_WHOLE: Final = frozenset({h11.DONE, h11.MUST_CLOSE})
"""The states of a client whose request has arrived."""
MOST_PIECES: Final = 4_096
_BEGINNING: Final = b"HTTP/1.1 "
"""How every answer begins."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""For SO_LINGER: what was not sent yet is thrown away."""
_ABSOLUTE: Final = re.compile(rb"https?://([^/?]*)(/[^?]*)?(.*)", re.IGNORECASE | re.DOTALL)
SMALL_PIECE: Final = 64
"""Bytes; a body in so many pieces has at least so many in each, or reading it takes longer than anybody may have."""


def connection_class(timeout: float, room: ConnectionSlots) -> type[H11Protocol]:
    """Connections for a server whose requests have so many seconds, 0 for any number, and that has so much room."""
    seconds = min(timeout or SLOWEST_HEAD, SLOWEST_HEAD)
    return type("Connection", (_Connection,), {"seconds": seconds, "pause": timeout or LONGEST_PAUSE, "room": room})


class _Conversation(h11.Connection):
    """What is said on a line, as h11 reads it, and as far as it makes sense to go on reading."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pieces = self._size = 0
        self._has_begun = False
        self.complaint = ""

    def begin_answer(self) -> bytes:
        """The beginning of whatever is answered, before it is known what that is; `send` then gives the rest."""
        self._has_begun = True
        return _BEGINNING

    def send(self, event: h11.Event) -> bytes | None:  # type: ignore[override]  # all of its forms in one
        """What an event is on the wire, without what is there already."""
        said = super().send(event)
        if self._has_begun and said is not None and said.startswith(_BEGINNING):
            self._has_begun = False
            return said.removeprefix(_BEGINNING)
        return said

    def next_event(self) -> Any:
        """Read on; a body in crumbs, or one whose length is said twice, is as bad as what is no HTTP."""
        event = super().next_event()
        if type(event) is h11.Data:
            self._pieces, self._size = self._pieces + 1, self._size + len(event.data)
            if self._pieces > MOST_PIECES and self._size < self._pieces * SMALL_PIECE:
                self._complain(f"The body comes in pieces of less than {SMALL_PIECE} bytes; send it in larger ones")
        elif type(event) is h11.Request:
            self._pieces = self._size = 0
            if {name for name, _ in event.headers} >= {b"content-length", b"transfer-encoding"}:
                self._complain("Content-Length and Transfer-Encoding both say where the body ends; send one of them")
            return _in_origin_form(event)
        return event

    def _complain(self, complaint: str) -> NoReturn:
        self.complaint = complaint
        raise h11.RemoteProtocolError(complaint)


def _in_origin_form(request: h11.Request) -> h11.Request:
    """A request with a target that is a path; the host that its target has named takes the place of its field."""
    named = None if request.target.startswith(b"/") else _ABSOLUTE.fullmatch(request.target)
    if named is None:
        return request
    host, path, query = named.groups()
    return h11.Request(
        method=request.method,
        target=(path or b"/") + query,
        headers=[(b"host", host), *(pair for pair in request.headers if pair[0] != b"host")],
        http_version=request.http_version,
    )


class _Connection(H11Protocol):
    """One client's line to the server."""

    conn: _Conversation
    seconds: ClassVar[float]
    pause: ClassVar[float]
    room: ClassVar[ConnectionSlots]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn = _Conversation(h11.SERVER)
        self.is_turned_away = False
        self._waiting: asyncio.TimerHandle | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._has_begun = False
        self._is_half_closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for a first request, and send answers without waiting for more of them to fill a packet."""
        line = transport.get_extra_info("socket")
        if line is not None and line.family in (socket.AF_INET, socket.AF_INET6):
            # asyncio does so only for sockets that were made with the protocol's number
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # or what is kept of small answers would be told to nobody
        self.app_state = {**self.app_state, CONNECTION: self}
        self.is_turned_away = not self.room.enter(self, _address_of(self.client))
        if self.is_turned_away:
            self.room.wait(self, _address_of(self.client))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; once the head is whole, there is nothing more to wait for."""
        super().data_received(data)
        self._wait_for_the_rest()

    def on_response_complete(self) -> None:
        """Go on to the next request, of which a part may have arrived already."""
        super().on_response_complete()
        self._wait_for_the_rest()
        if self._is_half_closed and self.cycle.response_complete:
            self.transport.close()

    def eof_received(self) -> bool | None:  # type: ignore[override]  # as asyncio has it: true leaves the line open
        """Go on with a whole request of a client that says no more; a stream that has begun ends."""
        if self.cycle is None or self.cycle.response_complete or self.conn.their_state not in _WHOLE:
            return None
        if self.cycle.response_started:
            return self.transport.get_write_buffer_size() > 0
        self._is_half_closed = True
        self.transport.write(self.conn.begin_answer())
        self._look_for_client()
        return True

    def _look_for_client(self) -> None:
        """End the line of a client that has left, as soon as the system knows, so that the work for it can end too."""
        if self.transport.is_closing():
            return
        line = self.transport.get_extra_info("socket")
        if line is not None and line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
        else:
            self.loop.call_later(LOOK_AGAIN, self._look_for_client)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer, and make room."""
        self.room.leave(self)
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Watch what becomes of an answer, of which a part is kept here now."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """There is nothing kept any more."""
        self._stop_watching()
        super().resume_writing()

    def _watch(self) -> None:
        self._watching = self.loop.call_later(self.pause, self._cut_if_untaken, self._count_untaken())

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _count_untaken(self) -> int:
        """Bytes of answers that have not reached the client."""
        return self.transport.get_write_buffer_size() + _count_unacknowledged(self.transport)

    def _cut_if_untaken(self, before: int) -> None:
        """Cut the line if there is as much left as before; what the system keeps for it is let go of too."""
        if self._count_untaken() != before:
            self._watch()
            return
        line = self.transport.get_extra_info("socket")
        if line is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def close_if_silent(self) -> bool:
        """End a connection that has not asked for anything."""
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        self.transport.abort()
        return True

    def note_key(self) -> None:
        """Whoever is here has shown a key."""
        self.room.trust(self)

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
            self._answer(HTTPStatus.BAD_REQUEST, "VALIDATION_ERROR", self.conn.complaint or msg)
        self.transport.close()

    def _answer(self, status: HTTPStatus, code: str, message: str) -> None:
        """Say what is wrong before there is a request that could be passed on."""
        problem = dialect("problem")
        failed = Reply.failed(code, message, request_id=new_request_id())
        body = render(problem.complete(failed, operation="request"), problem, problem.media_type, status)
        head = [
            ("content-type", body.media_type),
            ("content-length", str(len(body.content))),
            ("x-content-type-options", "nosniff"),
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
CONNECTION: Final = "aerogram.connection"
"""What the connection of a request is called in its state."""
SMALLEST_SHARE: Final = 32
WAITING: Final = 128
"""Connections that may wait to be told that there is no place; half of them of one address."""
_PART: Final = 4
_NETWORK: Final = 64
"""Bits of an address of version 6 that one subscriber has."""


class ConnectionSlots:
    """The places, and the connections that have one.

    Connections of one address that have shown no key may take a quarter of the places, so that nobody can lock out
    everybody else without having been let in.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._share = min(places, max(places // _PART, SMALLEST_SHARE))
        self._taken: dict[Any, str] = {}
        self._strangers: Counter[str] = Counter()
        self._trusted: set[Any] = set()
        self._waiting: dict[Any, str] = {}

    def enter(self, connection: Any, address: str = "") -> bool:
        """Take a place, if there is one."""
        if len(self._taken) >= self._places or self._strangers[address] >= self._share:
            return False
        self._taken[connection] = address
        self._strangers[address] += 1
        return True

    def wait(self, connection: Any, address: str) -> None:
        """Stay until one has been told that there is no place; who has waited longest and said nothing makes room."""
        own = [one for one, place in self._waiting.items() if place == address]
        silent = own if len(own) >= WAITING // 2 else list(self._waiting)
        if silent is own or len(silent) >= WAITING:
            closed = next((one for one in silent if one.close_if_silent()), None)
            self._waiting.pop(closed, None)
        self._waiting[connection] = address

    def trust(self, connection: Any) -> None:
        """A connection no longer counts among the strangers of its address."""
        if connection in self._taken and connection not in self._trusted:
            self._trusted.add(connection)
            self._forget_stranger(self._taken[connection])

    def leave(self, connection: Any) -> None:
        """Make a place free, if the connection had one."""
        self._waiting.pop(connection, None)
        address = self._taken.pop(connection, None)
        if address is not None and connection not in self._trusted:
            self._forget_stranger(address)
        self._trusted.discard(connection)

    def _forget_stranger(self, address: str) -> None:
        self._strangers[address] -= 1
        if not self._strangers[address]:
            del self._strangers[address]


def _count_unacknowledged(transport: asyncio.Transport) -> int:
    """Bytes that the system keeps for a client; it takes more only once a good part of them is gone.

    Linux alone says so. Elsewhere a client that reads very slowly may seem to take nothing.
    """
    line = transport.get_extra_info("socket")
    if sys.platform != "linux" or line is None:
        return 0
    import fcntl
    import termios

    return int(struct.unpack("i", fcntl.ioctl(line.fileno(), termios.TIOCOUTQ, bytes(4)))[0])


def _address_of(client: tuple[str, int] | None) -> str:
    """Whom the places are shared between: an address, or the network of one of version 6."""
    host = client[0] if client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address) or address.ipv4_mapped is not None:
        return str(getattr(address, "ipv4_mapped", None) or address)
    return str(ipaddress.ip_network((address, _NETWORK), strict=False))


def _connection_of(scope: Scope) -> Any:
    return scope.get("state", {}).get(CONNECTION)


def note_key(scope: Scope) -> None:
    """Let the connection of a request count as that of somebody who has shown a key."""
    connection = _connection_of(scope)
    if connection is not None:
        connection.note_key()


def is_turned_away(scope: Scope) -> bool:
    """Whether the connection of a request has no place, and ends after its answer."""
    return getattr(_connection_of(scope), "is_turned_away", False)


def refuse_if_full(scope: Scope) -> None:
    """Raise what a request is told whose connection has no place."""
    if is_turned_away(scope):
        raise Unavailable("The server has no place for another connection", retry_after=COME_BACK)
