"""Link: one session with the server behind, from its handshake to its end.

It is spoken to in the era of the client in front, if it knows that one, and in the other one otherwise; a server that
does not survive the first question is started once more and asked in the other one first. What it says
comes in as plain dictionaries: nothing that this program does not know is lost on the way.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import anyio
import anyio.abc
import mcp_types
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from aerogram._mcp.listing import read_schema
from aerogram.errors import ReplyError, Unavailable
from aerogram.gateway.eras import add_envelope, is_modern
from aerogram.gateway.process import Exited, Loss
from aerogram.problems import BrokenOff

__all__ = ["Client", "Link", "Listener", "Source"]

log = logging.getLogger("aerogram.gateway")

HANDSHAKE: Final = 60.0
"""Seconds that a server has to start; the first time, a package may have to be fetched."""
PROBE: Final = 10.0
STILL_THERE: Final = 5.0
"""Seconds that a server has to answer whether it lives, once it has let a call wait for too long."""
MOST_NEWS: Final = 16
"""Notifications of a server that are on their way at a time; until there is room, no more is read of what it says."""
MOST_QUESTIONS: Final = 256
"""Questions of a server that wait at a time: for an answer, and once they have it, for the server to read that."""
_NAMES: Final = {**NAME_BEARING_METHODS, **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")}
"""By which parameter a request is named in a header."""

_WITHIN: Final[ContextVar[float | None]] = ContextVar("aerogram_within", default=None)
"""Seconds that a server has to take what it is told; None is as long as it lives."""

Params = Mapping[str, Any] | None


class Source(Protocol):
    """A server that can be connected to."""

    def open(self) -> AbstractAsyncContextManager[Any]:
        """Its two streams; an error in them has a loss or a refusal as its data where it is not the server's own."""


@dataclass(frozen=True)
class Client:
    """Who is in front: its name, what it can do, its version of the protocol."""

    version: str
    info: Any = field(default_factory=lambda: {"name": "aerogram", "version": "0"})
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """What it calls itself."""
        return str(self.info["name"]) if isinstance(self.info, Mapping) and "name" in self.info else None

    @property
    def can_be_asked(self) -> bool:
        """Whether a server may ask it something."""
        return not {"sampling", "elicitation", "roots"}.isdisjoint(self.capabilities)


class Listener(Protocol):
    """Who hears what the server says by itself."""

    async def on_question(self, link: Link, method: str, params: Params) -> dict[str, Any]:
        """Answer a request of the server."""

    async def on_news(self, link: Link, method: str, params: Params) -> None:
        """Pass a notification on."""


class Link:
    """A session with the server behind."""

    def __init__(
        self,
        source: Source,
        client: Client,
        listener: Listener,
        timeout: float,
        *,
        is_modern_first: bool = False,
        patience: float | None = None,
    ) -> None:
        """`patience` is how many seconds a server waits for a client that does not take its news; None is for ever."""
        self.client = client
        self.is_modern_first = is_modern_first
        self.version = client.version
        self.capabilities: dict[str, Any] = {}
        self.info: Any = None
        self.instructions: str | None = None
        self.garbage = 0
        self.has_ended = False
        self._source = source
        self._listener = listener
        self._timeout = timeout
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        self._group: anyio.abc.TaskGroup | None = None
        self._stop = anyio.Event()
        self._looked: anyio.Event | None = None
        self._beginning = anyio.CancelScope()
        self.has_begun = False
        self._numbers = itertools.count(1)
        self._ids = itertools.count(1)
        self._news = anyio.Semaphore(MOST_NEWS)
        self._patience = patience
        self._questions = 0
        self._headers: dict[str, dict[tuple[str, ...], str]] = {}
        self.failure: Exception | None = None
        self.closed = anyio.Event()
        """Set when the server has ended, and everything about it."""

    @property
    def is_modern(self) -> bool:
        """Whether the server is spoken to in the modern era."""
        return is_modern(self.version)

    def new_id(self, kind: str) -> str:
        """An id that no other request of this link has."""
        return f"{kind}-{next(self._numbers)}"

    def new_number(self) -> int:
        """The same for a request that any server may see."""
        return next(self._ids)

    # Its life

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Hold the session until the server ends or `stop` is called; `failure` says why it could not begin."""
        try:
            with self._beginning:
                async with self._source.open() as (received, sent), anyio.create_task_group() as group:
                    told: Any = _Told(sent)
                    paced: Any = _Paced(received, self._news, self._patience, told)
                    dispatcher = JSONRPCDispatcher[Any](paced, told, on_stream_exception=self._note_garbage)
                    self._dispatcher, self._group = dispatcher, group
                    await group.start(self._drive, dispatcher)
                    await self._greet()
                    self.has_begun = True
                    task_status.started()
                    try:
                        await self._stop.wait()
                    finally:
                        self._group = None
                    group.cancel_scope.cancel()
        except Exception as error:
            self.failure = _first(error)
            log.debug("the link has ended", exc_info=True)
        finally:
            self.has_ended = True
            self.closed.set()
            if not self.has_begun:
                task_status.started()

    async def _drive(self, dispatcher: JSONRPCDispatcher[Any], *, task_status: anyio.abc.TaskStatus[None]) -> None:
        await dispatcher.run(self._on_request, self._on_notify, task_status=task_status)
        self.has_ended = True
        self._stop.set()

    def stop(self) -> None:
        """End the session, or its beginning, in which a server may take its time."""
        self.has_ended = True
        self._stop.set()
        if not self.has_begun:
            self._beginning.cancel()

    async def look(self) -> None:
        """Wait until it is known whether the server lives, where that is in doubt."""
        if self._looked is not None:
            await self._looked.wait()

    async def wait_for_end(self) -> None:
        """Wait until the session is over."""
        await self._stop.wait()

    async def _note_garbage(self, error: Exception) -> None:
        if isinstance(error, Exited):
            self._look_after("its program has ended")
            return
        self.garbage += 1
        if self.garbage == 1:
            log.warning("the server writes what is no message to its standard output: %s", str(error)[:200])

    async def _on_request(self, _: DispatchContext[Any], method: str, params: Params) -> dict[str, Any]:
        if method == "ping":
            return {}
        if self._questions >= MOST_QUESTIONS:
            raise MCPError(mcp_types.INVALID_REQUEST, "Too many questions wait for their answers")
        self._questions += 1
        try:
            return await self._listener.on_question(self, method, params)
        finally:
            self._questions -= 1

    async def _on_notify(self, _: DispatchContext[Any], method: str, params: Params) -> None:
        try:
            await self._listener.on_news(self, method, params)
        finally:
            self._news.release()

    # The handshake

    async def _greet(self) -> None:
        ways: tuple[Callable[[], Awaitable[None]], ...] = (self._initialize, self._discover)
        first, second = ways[::-1] if self.is_modern_first else ways
        try:
            await first()
        except (MCPError, _OtherEra) as error:
            if isinstance(error, MCPError) and _is_closed(error):
                raise
            log.debug("the other era: %s", error)
            await second()

    async def _initialize(self) -> None:
        version = (
            self.client.version if self.client.version in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        )
        told = {"protocolVersion": version, "capabilities": self.client.capabilities, "clientInfo": self.client.info}
        self.version = version
        found = await self._ask("initialize", told, {"timeout": HANDSHAKE, "cancel_on_abandon": False})
        self.version = str(found.get("protocolVersion") or version)
        self.info, self.instructions = found.get("serverInfo"), found.get("instructions")
        self.capabilities = dict(found.get("capabilities") or {})
        if is_modern(self.client.version):  # there is no client whose word could be waited for
            await self.notify("notifications/initialized", None)

    async def _discover(self) -> None:
        self.version = LATEST_MODERN_VERSION
        params = add_envelope(None, self.client.info, self.client.capabilities)
        found = await self._ask("server/discover", params, {"timeout": PROBE, "cancel_on_abandon": False})
        if LATEST_MODERN_VERSION not in (found.get("supportedVersions") or ()):
            raise _OtherEra(f"the server speaks {found.get('supportedVersions')}")
        self.info = (found.get("_meta") or {}).get(mcp_types.SERVER_INFO_META_KEY)
        self.instructions = found.get("instructions")
        self.capabilities = dict(found.get("capabilities") or {})

    # Messages

    async def request(self, method: str, params: Params, request_id: str | int | None = None) -> dict[str, Any]:
        """The server's answer. What keeps it from answering is a failure of ours; its own errors are raised as such."""
        options: CallOptions = {}
        if method != "subscriptions/listen":
            options["timeout"] = self._timeout
        if request_id is not None:
            options["request_id"] = request_id
        try:
            return await self._ask(method, params, options)
        except MCPError as error:
            if _is_cut_off(error):
                self._look_after(method, may_be_another=True)
            elif error.code == mcp_types.REQUEST_TIMEOUT and f"{method!r} timed out" in error.message:
                self._look_after(method)
            raise self._failure(error, method) or error from None

    async def _ask(self, method: str, params: Params, options: CallOptions) -> dict[str, Any]:
        assert self._dispatcher is not None
        options["headers"] = self._headers_for(method, params or {})
        options.setdefault("request_id", self.new_number())
        token = _WITHIN.set(options.get("timeout"))
        try:
            found = await self._dispatcher.send_raw_request(method, params, options)
        except TimeoutError:  # it was not even taken; of an answer that does not come the dispatcher says so
            raise MCPError(mcp_types.REQUEST_TIMEOUT, f"Request {method!r} timed out") from None
        except MCPError as error:
            if isinstance(error.error.data, ReplyError):
                raise error.error.data from error
            raise
        finally:
            _WITHIN.reset(token)
        is_odd = not isinstance(found.get("_meta", {}), dict)  # there is nobody who could read that
        return {name: value for name, value in found.items() if name != "_meta"} if is_odd else found

    async def notify(self, method: str, params: Params) -> None:
        """Tell the server something."""
        if self._dispatcher is not None and not self.has_ended:
            await self._dispatcher.notify(method, params, {"headers": self._headers_for(method, params or {})})

    def learn_headers(self, tools: list[dict[str, Any]]) -> None:
        """Remember which arguments of which tools a modern server wants in headers as well."""
        for tool in tools:
            schema = read_schema(tool.get("inputSchema"))
            if self.is_modern and schema is not None and "x-mcp-header" in str(schema):
                self._headers[str(tool.get("name"))] = x_mcp_header_map(schema)

    def _headers_for(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        if method == "initialize":
            return {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.version}
        if not self.is_modern:
            return headers
        headers[MCP_METHOD_HEADER] = method
        name = params.get(_NAMES.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == "tools/call" and name in self._headers:
                headers.update(mcp_param_headers(self._headers[name], params.get("arguments") or {}))
        return headers

    def _look_after(self, reason: str, *, may_be_another: bool = False) -> None:
        """Have it looked whether the server lives; who is in doubt is answered meanwhile, and further calls wait."""
        is_under_way = self._looked is not None and not self._looked.is_set()
        if self._group is not None and self.has_begun and not (is_under_way or self.has_ended):
            self._looked = anyio.Event()
            self._group.start_soon(self._end_unless_alive, reason, may_be_another, self._looked)

    async def _end_unless_alive(self, reason: str, may_be_another: bool, looked: anyio.Event) -> None:
        """End a server that does not even say that it lives, so that the next call gets one that does.

        Where a connection broke there may be another server by now, which does not know of the session, and says so in
        words of its own.
        """
        asked = "server/discover" if self.is_modern else "ping"
        params = add_envelope(None, self.client.info, self.client.capabilities) if self.is_modern else None
        try:
            await self._ask(asked, params, {"timeout": STILL_THERE, "cancel_on_abandon": False})
        except MCPError as error:
            is_strange = may_be_another and error.code != mcp_types.METHOD_NOT_FOUND
            if error.code == mcp_types.REQUEST_TIMEOUT or _is_closed(error) or is_strange:
                log.warning("the server does not answer any more (%s): it is ended", reason)
                self.stop()
        except ReplyError:  # it refuses this, and so it is there
            return
        finally:
            looked.set()

    def _failure(self, error: MCPError, method: str) -> ReplyError | None:
        """What our own words are for an error that is not the server's; None for one that is."""
        data = error.error.data
        if isinstance(data, Loss):
            return data.error()
        if _is_closed(error):
            return BrokenOff("The server behind ended before it answered, and is restarted", code="UNAVAILABLE")
        if error.code == mcp_types.INVALID_REQUEST and error.message == "Session terminated":
            self.stop()
            return Unavailable("The server behind has ended the session", remediation="Call again: a new one is begun")
        if error.code == mcp_types.REQUEST_TIMEOUT and f"{method!r} timed out" in error.message:
            return BrokenOff(f"The server behind did not answer within {self._timeout:g} s", code="UNAVAILABLE")
        return None


class _Stream:
    """One of the two streams of a server, on its way to whoever reads or writes it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *told: object) -> Any:
        return await self._stream.__aexit__(*told)


class _Told(_Stream):
    """What a server is told, and how many answers to its own questions wait for it to read them."""

    def __init__(self, sent: Any) -> None:
        super().__init__(sent)
        self._waiting = 0
        self._taken = anyio.Event()

    async def send(self, item: Any) -> None:
        """Tell it something."""
        is_answer = isinstance(item.message, (mcp_types.JSONRPCResponse, mcp_types.JSONRPCError))
        self._waiting += is_answer
        try:
            with anyio.fail_after(_WITHIN.get()):
                await self._stream.send(item)
        finally:
            self._waiting -= is_answer
            self._taken.set()

    async def wait_for_room(self) -> None:
        """Wait until it has read so much that it may ask again."""
        while self._waiting >= MOST_QUESTIONS:
            self._taken = anyio.Event()
            await self._taken.wait()


class _Paced(_Stream):
    """What a server says, no faster than its notifications are taken, and than it takes the answers to its questions.

    Where several clients share a server, the others do not wait for one that takes nothing: after a while, news that
    there is no room for are left out, until there is some again.
    """

    def __init__(self, received: Any, room: anyio.Semaphore, patience: float | None, told: _Told) -> None:
        super().__init__(received)
        self._room, self._patience, self._told = room, patience, told
        self._is_stuck = False

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        while True:
            item = await self._stream.__anext__()
            message = getattr(item, "message", None)
            if isinstance(message, mcp_types.JSONRPCRequest):
                await self._told.wait_for_room()
            if not isinstance(message, mcp_types.JSONRPCNotification) or await self._has_room():
                return item

    async def _has_room(self) -> bool:
        try:
            self._room.acquire_nowait()
        except anyio.WouldBlock:
            if self._is_stuck:
                return False
            with anyio.move_on_after(self._patience):
                await self._room.acquire()
                return True
            log.warning("a client takes nothing that the server tells it: news are left out")
            self._is_stuck = True
            return False
        self._is_stuck = False
        return True


class _OtherEra(Exception):
    """The server knows the question, and speaks another version."""


def _is_closed(error: MCPError) -> bool:
    """Whether the connection is gone; servers use the same code for errors of their own."""
    is_ended = error.code == mcp_types.CONNECTION_CLOSED and error.message.startswith("Connection closed")
    return is_ended or _is_cut_off(error)


def _is_cut_off(error: MCPError) -> bool:
    """Whether a request has lost its way, though others may have theirs."""
    return isinstance(error.error.data, Loss) and error.error.data.is_cut_off


def _first(error: BaseException) -> Exception:
    """The first failure of a group, which is the one that the others follow from."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
