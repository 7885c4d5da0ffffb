"""Relay: joins the client in front with the server behind; each message goes on as it came, but for three things.

    tools          are listed with ours among them, and what they answer keeps the contract
    eras           where client and server speak different ones, what one says is put into the words of the other
    failures       of the server itself are answered, each once; it is started again for the next request

The client's side is a low-level `Server` of the SDK with this as its only middleware that matters: it answers every
request before the server would look for a handler. So it works on each transport and in both eras.
"""

from __future__ import annotations

import base64
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio
import anyio.abc
import httpx2
import mcp_types
from mcp.server.context import CallNext, ServerRequestContext
from mcp.shared.dispatcher import Outbound
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from aerogram._mcp.faults import shorten_paths
from aerogram._mcp.results import protocol_error, resource_error
from aerogram._mcp.service import ARCHIVE_TEMPLATE, Caller
from aerogram.errors import ReplyError, Unavailable
from aerogram.gateway.address import CALLS, STREAM, refusal_of
from aerogram.gateway.eras import (
    add_envelope,
    check_params,
    is_answer,
    is_last_page,
    is_modern,
    list_tools,
    read_object,
    strip_envelope,
    task_of,
    to_legacy,
    to_modern,
    with_meta,
)
from aerogram.gateway.link import Client, Link, Source
from aerogram.gateway.process import UNREAD, Exited, Loss
from aerogram.gateway.questions import INTERACTIVE, Calls, Questions
from aerogram.gateway.report import Report
from aerogram.gateway.tools import Invoke, Tools
from aerogram.problems import problem_of

__all__ = ["PAUSE", "Relay"]

log = logging.getLogger("aerogram.gateway")

PAUSE: Final = 0.1
"""Seconds after which a server that does not stay up is started again; each time twice as many."""
LONGEST_PAUSE: Final = 10.0
SETTLED: Final = 30.0
"""Seconds after which a server counts as one that stays up."""
MOST_ROUNDS: Final = 50
MOST_TASKS: Final = 1000
"""Tasks of which it is known which tool they are of."""
MOST_PAGES: Final = 100
"""Pages of a list of tools that are read."""
MOST_LINES: Final = 16
"""Links for calls of modern clients that share the gateway and can be asked."""
MOST_LINKS: Final = 64
"""Links from which on one on which nothing is under way is ended for each that is begun."""
PATIENCE: Final = 5.0
"""Seconds that the server waits for one of several clients that does not take what it is told."""
LONGEST_WAIT: Final = 5.0
"""Seconds that such a call waits for one of them."""
_LOOK: Final = 0.02
"""Seconds after which it is looked again whether everything is answered."""
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_UPDATED: Final = "notifications/resources/updated"
_LOG: Final = "notifications/message"
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_FILTERS: Final = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
_REMOVED: Final = frozenset(("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"))
_ADDED: Final = frozenset(("server/discover", "subscriptions/listen"))
"""Requests that only one of the eras has: a client's own era decides, whatever the server behind would answer."""
_GIVEN_OUT: Final = frozenset(("resources/read", "prompts/get"))
"""What takes from the limits besides the calls of tools."""
_SESSION: Final = "aerogram"

Message = dict[str, Any]
Params = Mapping[str, Any] | None


@dataclass(eq=False)
class Session:
    """A legacy client, from its handshake on; all modern ones share one, for they keep no session."""

    client: Client
    outbound: Outbound | None = None
    level: str | None = None
    subscriptions: set[str] = field(default_factory=set)
    listening: anyio.CancelScope | None = None
    has_begun: bool = True
    """Whether there was a handshake."""


@dataclass(eq=False)
class Front:
    """A client, as one of its requests shows it."""

    session: Session
    client: Client
    channel: Any
    request_id: Any
    meta: Mapping[str, Any]
    method: str = ""
    state: Any = None
    """What it goes on with, if it brings answers to an unfinished result."""
    line: Line | None = None
    """The link that it takes, once that is known."""
    failure: ReplyError | None = None
    """Why it has no link; it is not tried again for the same request."""
    holds: bool = False
    """Whether it has that link for itself."""
    has_answered: bool = False
    """Whether it has told the server something while it was under way, so that the answer is for nobody else."""
    asked: tuple[Link, int] | None = None
    """What it was asked as, once it was passed on."""

    @property
    def is_modern(self) -> bool:
        """Whether it speaks the modern era."""
        return is_modern(self.client.version)

    @property
    def owner(self) -> Front | Session:
        """Whose request it is: a modern client shows no more of itself than the request."""
        return self if self.is_modern else self.session


@dataclass(eq=False)
class Flight:
    """A request that the server has not answered yet."""

    front: Front
    method: str
    token: Any = None

    def wants(self, level: str) -> bool:
        """Whether its client has asked for log messages of a level."""
        least = self.front.meta.get(mcp_types.LOG_LEVEL_META_KEY)
        return least in _LEVELS and level in _LEVELS and _LEVELS.index(level) >= _LEVELS.index(least)


@dataclass(eq=False)
class Listen:
    """A stream of notifications that a modern client has asked for."""

    front: Front
    wanted: Mapping[str, Any]

    def wants(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether a notification belongs on it."""
        if method == _UPDATED:
            return _covers(self.wanted.get("resourceSubscriptions") or (), params.get("uri"))
        return bool(self.wanted.get(_FILTERS.get(method, "")))


@dataclass(eq=False)
class Line:
    """A link, who is using it, and what became of those before it."""

    key: Any
    link: Link | None = None
    holders: int = 0
    """Calls that have it for themselves, and requests of them."""
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    flights: dict[str, Flight] = field(default_factory=dict)
    listens: dict[str, Listen] = field(default_factory=dict)
    left: dict[Any, float] = field(default_factory=dict)
    """Whose calls were given up, of which the server may still speak, and until when."""
    sessions: set[Session] = field(default_factory=set)
    questions: Questions = field(default_factory=Questions)
    is_initialized: bool = False
    level: str | None = None
    pause: float = 0.0
    """Seconds before it is started again, if it does not stay up."""
    started: float = 0.0
    failed: Link | None = None
    """The last one that could not be begun."""
    used: float = 0.0

    def follows(self, uri: str) -> bool:
        """Whether anybody wants to hear of a resource."""
        wanted = (one.wanted.get("resourceSubscriptions") or () for one in self.listens.values())
        return any(uri in uris for uris in (*(one.subscriptions for one in self.sessions), *wanted))

    @property
    def is_held(self) -> bool:
        """Whether a call has it for itself, so that whatever the server asks is part of that call."""
        return bool(self.holders) and not self.is_modern

    @property
    def is_modern(self) -> bool:
        """Whether the server is known to be modern: it asks nobody by itself, so that many calls can stand together."""
        return self.link is not None and self.link.is_modern

    @property
    def is_idle(self) -> bool:
        """Whether nobody's request is under way."""
        return not (self.holders or self.flights)

    @property
    def is_resting(self) -> bool:
        """Whether nothing is under way on it, and nobody waits for news but sessions, which a new one would serve."""
        is_awaited = any(one.front.session not in self.sessions for one in self.listens.values())
        return self.is_idle and self.is_settled and not (is_awaited or self.lock.locked())

    @property
    def is_unused(self) -> bool:
        """Whether nobody would miss it."""
        return self.is_resting and not self.sessions

    @property
    def is_settled(self) -> bool:
        """Whether the server has nothing more to ask or to say about a call of before."""
        return not (self.questions.some.is_set() or self.left_owners())

    def left_owners(self) -> AbstractSet[Any]:
        """Whose calls were given up not long ago."""
        now = time.monotonic()
        self.left = {owner: until for owner, until in self.left.items() if until > now}
        return self.left.keys()

    def caller(self) -> Flight | None:
        """The request that something was said about: in its answer, or while only those of one client are under way."""
        flights = list(self.flights.values())
        if STREAM.get() is not None:
            asked = self.link, STREAM.get()
            return next((one for one in flights if one.front.asked == asked), None)
        owners = {one.front.owner for one in flights}
        return flights[-1] if len(owners) == 1 and owners.issuperset(self.left_owners()) else None


class Relay:
    """The gateway between clients and one server behind."""

    def __init__(
        self,
        source: Source,
        tools: Tools,
        report: Report,
        *,
        timeout: float = 300.0,
        pause: float = PAUSE,
        shares: bool = False,
    ) -> None:
        self.tools = tools
        self._source = source
        self._report = report
        self._timeout = timeout
        self._pause = pause
        self._shares = shares
        self._lines: dict[Any, Line] = {}
        self._by_link: dict[Link, Line] = {}
        self._calls = Calls()
        self._tasks: dict[str, str] = {}
        self._is_ending = False
        self._unanswered = 0
        self._released = anyio.Event()
        self._modern = Session(Client(MODERN_PROTOCOL_VERSIONS[-1]))
        self._group: anyio.abc.TaskGroup | None = None
        self._handlers: dict[str, Callable[[Front, Message], Awaitable[Message]]] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/read": self._read_resource,
            "resources/templates/list": self._list_templates,
            "tasks/get": self._get_task,
            "tasks/result": self._task_result,
            "subscriptions/listen": self._listen,
            "resources/subscribe": partial(self._subscribe, method="resources/subscribe"),
            "resources/unsubscribe": partial(self._subscribe, method="resources/unsubscribe"),
            "logging/setLevel": self._set_level,
            "ping": self._ping,
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """As long as this lasts, there may be links; they end with it."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            finally:
                self._is_ending = True
                self._calls.close()
                for link in list(self._by_link):
                    link.stop()
                with anyio.CancelScope(shield=True):
                    for link in list(self._by_link):
                        await link.closed.wait()
                group.cancel_scope.cancel()

    async def prepare(self, params: Params) -> MCPError | None:
        """Have the server there before the first question of a modern client is passed on; why it is not there."""
        meta = (params or {}).get("_meta")
        try:
            await self._open(self._modern_front(meta if isinstance(meta, Mapping) else {}))
        except Exception as error:  # noqa: BLE001 - whoever asks is to hear of it
            return self._tell_error(error, "server/discover")
        return None

    async def answer_all(self, seconds: float) -> None:
        """Wait until everything is answered that has an end, for so many seconds from when the server has begun."""
        until = time.monotonic() + seconds
        await anyio.sleep(_LOOK)  # in which the last request arrives
        while self._unanswered and time.monotonic() < until:
            if not all(link.has_begun for link in self._by_link):
                until = time.monotonic() + seconds
            await anyio.sleep(_LOOK)

    def abandon(self) -> None:
        """Wait for no server any longer that has not begun, and start no other one: there is nobody to serve."""
        self._is_ending = True
        for link in list(self._by_link):
            if not link.has_begun:
                link.stop()

    # What the client says

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """The middleware: the answer to every request, and the way of every notification."""
        front = self._front(ctx)
        if ctx.request_id is None:
            await call_next(ctx)
            await self._pass_notification(front, ctx.method, ctx.params)
            return None
        if ctx.method in (_REMOVED if front.is_modern else _ADDED):
            raise MCPError(mcp_types.METHOD_NOT_FOUND, "Method not found", ctx.method)
        has_end = ctx.method != "subscriptions/listen"
        self._unanswered += has_end
        try:
            check_params(ctx.params or {})
            if ctx.method == "initialize":
                return await self._initialize(front)
            return await self._answer(front, ctx.method, dict(ctx.params or {}))
        except Exception as error:
            raise self._tell_error(error, ctx.method) from error
        finally:
            self._unanswered -= has_end
            if front.holds and front.line is not None:
                self._release(front.line)

    def _tell_error(self, error: Exception, method: str) -> MCPError:
        """What the client hears of a failure; of one of ours in words for it as well."""
        if not isinstance(error, MCPError):
            error = MCPError(**protocol_error(problem_of(error, may_repeat=method not in CALLS)))
        return self.tools.tell_error(error)

    def _front(self, context: ServerRequestContext[Any, Any]) -> Front:
        connection, channel = context.session._connection, context.session._request_outbound
        meta = (context.params or {}).get("_meta")
        meta = meta if isinstance(meta, Mapping) else {}
        if is_modern(context.protocol_version):
            self._modern.outbound = self._modern.outbound or connection.outbound
            front = self._modern_front(meta, context.protocol_version, channel, context.request_id)
            front.method, front.state = context.method, (context.params or {}).get("requestState")
            return front
        if context.method == "initialize":
            params = context.params or {}
            version = str(params.get("protocolVersion") or context.protocol_version)
            version = context.protocol_version if is_modern(version) else version
            client = Client(version, params.get("clientInfo"), params.get("capabilities") or {})
            connection.state[_SESSION] = Session(client, connection.outbound)
            connection.exit_stack.callback(self._leave, connection.state[_SESSION])
        known: Session | None = connection.state.get(_SESSION)
        session = known or Session(Client(context.protocol_version), connection.outbound, has_begun=False)
        return Front(session, session.client, channel, context.request_id, meta)

    def _modern_front(
        self,
        meta: Mapping[str, Any],
        version: str = MODERN_PROTOCOL_VERSIONS[-1],
        channel: Any = None,
        asked: Any = None,
    ) -> Front:
        info = meta.get(mcp_types.CLIENT_INFO_META_KEY) or self._modern.client.info
        capabilities = read_object(meta, mcp_types.CLIENT_CAPABILITIES_META_KEY)
        read_object(capabilities, "extensions")
        found = Client(version, info, capabilities)
        return Front(self._modern, found, channel, asked, meta)

    def _leave(self, session: Session) -> None:
        """A legacy client has gone."""
        if session.listening is not None:
            session.listening.cancel()
        for key, line in list(self._lines.items()):
            line.sessions.discard(session)
            if key is session:
                self._drop(line)

    async def _answer(self, front: Front, method: str, params: Message) -> Message:
        if not front.session.has_begun and method != "ping":
            raise MCPError(mcp_types.INVALID_PARAMS, "Invalid request parameters", "")
        handler = self._handlers.get(method)
        produce = partial(self._forward, front, method, params) if handler is None else partial(handler, front, params)
        if method not in _GIVEN_OUT:
            return await produce()
        found: Message = await self.tools.service.give_out(method, self._caller(front), produce, has_clean_texts=False)
        return found

    async def _pass_notification(self, front: Front, method: str, params: Params) -> None:
        line = self._lines.get(self._key(front))
        if not _is_news(method):
            return  # a request without an id: it would be carried out, and nobody has looked at it
        if method == "notifications/cancelled" or line is None or line.link is None:
            return  # the dispatcher has seen to it
        if method == "notifications/initialized":
            if line.is_initialized:
                return
            line.is_initialized = True
            if line.link.is_modern:
                await self._follow(front.session, line)
                return
        await line.link.notify(method, params)

    # The handshake

    async def _initialize(self, front: Front) -> Message:
        line, link = await self._open(front)
        if is_modern(link.client.version):  # it was started for the same client, which has asked in another way before
            link.client, line.is_initialized = front.client, not link.is_modern
        told = {
            "protocolVersion": front.client.version if link.is_modern else link.version,
            "capabilities": link.capabilities,
            "serverInfo": link.info or {"name": "server", "version": ""},
        }
        line.sessions.add(front.session)
        return told if link.instructions is None else {**told, "instructions": link.instructions}

    async def _discover(self, front: Front, params: Message) -> Message:
        _, link = await self._open(front)
        if link.is_modern:
            found = await link.request("server/discover", params)
        else:
            found = {"supportedVersions": list(MODERN_PROTOCOL_VERSIONS), "capabilities": link.capabilities}
            if link.instructions is not None:
                found["instructions"] = link.instructions
        return to_modern("server/discover", found, link.info)

    async def _ping(self, front: Front, params: Message) -> Message:
        line = self._lines.get(self._key(front))
        if line is None or line.link is None or line.link.is_modern or not front.session.has_begun:
            return {}
        return await self._forward(front, "ping", params)

    # Links

    def _key(self, front: Front) -> Any:
        """Whose link a request takes: where several clients share the gateway, one that can be asked has its own."""
        if not self._shares:
            return "only"
        if not front.client.can_be_asked:
            return (front.is_modern, *sorted(front.client.capabilities))
        return ("asked", 0, *sorted(front.client.capabilities)) if front.is_modern else front.session

    async def _choose_line(self, front: Front) -> Line:
        """The link for a request.

        A modern client has no session that could own a link, and nobody else may be asked what its call needs to know.
        So where several share the gateway, a call of one that can be asked has a link for itself until it is answered.
        """
        is_asked = self._shares and front.is_modern and front.client.can_be_asked
        if not is_asked or front.method == "subscriptions/listen":
            return self._line(self._key(front))
        lines = [self._line(("asked", at, *sorted(front.client.capabilities))) for at in range(MOST_LINES + 1)]
        if front.method not in INTERACTIVE:
            return next(line for line in lines if not line.is_held)  # the last one is for these alone
        place = self._calls.place_of({"requestState": front.state})
        line = await self._wait_for_line(front) if place is None else place[0]
        line.holders += 1
        front.holds = True
        return line

    async def _wait_for_line(self, front: Front) -> Line:
        with anyio.move_on_after(LONGEST_WAIT):
            while True:
                line = self._free_line(front)
                if line is not None:
                    return line
                await self._released.wait()
        raise Unavailable(
            f"{MOST_LINES} calls are under way or wait for answers of their clients, and there is no room for more",
            remediation="Call again in a while",
            retry_after=LONGEST_WAIT,
        )

    def _free_line(self, front: Front) -> Line | None:
        """A link that no call has, and on which the server asks nothing about a call of before."""
        keys = [("asked", number, *sorted(front.client.capabilities)) for number in range(MOST_LINES)]
        lines = [self._line(key) for key in keys]
        found = next((line for line in lines if line.is_modern or (line.is_idle and line.is_settled)), None)
        if found is None:
            resting = next((line for line in lines if line.is_idle), None)
            found = None if resting is None else self._replace(resting)
        return found

    def _replace(self, line: Line) -> Line:
        """A new link for one on which the server may still speak of somebody's call."""
        self._drop(line)
        return self._line(line.key)

    def _drop(self, line: Line) -> None:
        """End a link that nobody is to use any more."""
        if line.link is not None:
            line.link.stop()
        self._lines.pop(line.key, None)

    def _make_room(self) -> None:
        """End the link that was used longest ago of those on which nothing is under way, where there are very many.

        A client says itself what it can do, and each new word is one more session with the server; and it may go
        without a word. One that is still there gets a new link with its next request.
        """
        live = [line for line in self._lines.values() if line.link is not None and not line.link.has_ended]
        resting = [line for line in live if line.is_resting]
        unused = [line for line in resting if line.is_unused]
        if len(live) >= MOST_LINKS and unused:
            self._drop(min(unused, key=lambda line: line.used))
        elif len(live) >= MOST_LINKS and resting:
            link = min(resting, key=lambda line: line.used).link
            assert link is not None
            link.stop()
        if len(self._lines) > MOST_LINKS * MOST_LINES:
            for line in [one for one in self._lines.values() if one.link is None and one.is_unused]:
                self._drop(line)

    def _release(self, line: Line) -> None:
        line.holders -= 1
        released, self._released = self._released, anyio.Event()
        released.set()

    def _line(self, key: Any) -> Line:
        return self._lines.setdefault(key, Line(key))

    async def _open(self, front: Front) -> tuple[Line, Link]:
        """The link to the server for a request; where there is none, it waits for that once."""
        if front.failure is not None:
            raise front.failure
        try:
            return await self._find_link(front)
        except ReplyError as error:
            front.failure = error
            raise

    async def _find_link(self, front: Front) -> tuple[Line, Link]:
        """The link to the server, which is started if it is not there."""
        if front.line is None:
            front.line = await self._choose_line(front)
        line = front.line
        line.used = time.monotonic()
        if line.link is not None:
            await line.link.look()
            if not line.link.has_ended:
                return line, line.link
        failed = line.failed
        async with line.lock:
            if line.link is None or line.link.has_ended:
                if line.failed is not None and line.failed is not failed:  # this request has waited for that one, too
                    raise _unavailable(line.failed.failure)
                self._lines.setdefault(line.key, line)
                await self._start(line, front)
        assert line.link is not None
        return line, line.link

    async def _start(self, line: Line, front: Front) -> None:
        """Start the server, not too soon after the last time."""
        if self._is_ending:
            raise Unavailable("The gateway is ending", remediation="Start it again")
        self._make_room()
        is_restart = line.link is not None
        if time.monotonic() - line.started > SETTLED:
            line.pause = 0.0
        await anyio.sleep(line.pause)
        line.pause, line.started = min(line.pause * 2 or self._pause, LONGEST_PAUSE), time.monotonic()
        link = await self._connect(line, front, is_modern_first=front.is_modern)
        if link.failure is not None and front.is_modern and not isinstance(link.failure, ReplyError):
            link = await self._connect(line, front, is_modern_first=False)
        if link.failure is not None or link.has_ended:
            line.failed = link
            raise _unavailable(link.failure)
        line.link = link
        line.left.clear()
        self.tools.forget()
        if is_restart:
            self._report.note("the server was started again")
            await self._restore(line, link)

    async def _connect(self, line: Line, front: Front, *, is_modern_first: bool) -> Link:
        assert self._group is not None
        patience = PATIENCE if self._shares else None
        link = Link(self._source, front.client, self, self._timeout, is_modern_first=is_modern_first, patience=patience)
        self._by_link[link] = line
        await self._group.start(self._run, link)
        return link

    async def _run(self, link: Link, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Hold a link to its end, after which nothing is known of it."""
        try:
            await link.run(task_status=task_status)
        finally:
            self._by_link.pop(link, None)

    async def _restore(self, line: Line, link: Link) -> None:
        """Tell a server that was started again what the one before it had been told."""
        if link.is_modern:
            for session in tuple(line.sessions):  # some of which may go meanwhile
                await self._follow(session, line)
            return
        if not is_modern(link.client.version):
            await link.notify("notifications/initialized", None)
        with contextlib.suppress(MCPError, ReplyError):
            if line.level is not None:
                await link.request("logging/setLevel", {"level": line.level})
            uris = {uri for session in line.sessions for uri in session.subscriptions}
            uris |= {uri for one in line.listens.values() for uri in one.wanted.get("resourceSubscriptions") or ()}
            for uri in sorted(uris):
                await link.request("resources/subscribe", {"uri": uri})

    # Requests on their way

    async def _forward(self, front: Front, method: str, params: Message) -> Message:
        """The server's answer to a request, in the era of its client."""
        line, link = await self._open(front)
        result = await self._exchange(front, line, link, method, params)
        if front.is_modern:
            return to_modern(method, result, link.info)
        return to_legacy(method, result) if link.is_modern else result

    async def _exchange(self, front: Front, line: Line, link: Link, method: str, params: Message) -> Message:
        token = progress_token_from_params(params)
        line, own = self._calls.place_of(params) or (line, link.new_id("progress"))
        sent = params if token is None else with_meta(params, {"progressToken": own})
        line.flights[own] = Flight(front, method, token)
        try:
            if front.is_modern and not link.is_modern:
                return await self._ask_legacy(front, line, link, method, sent, own)
            if link.is_modern and not front.is_modern:
                return await self._ask_modern(front, line, link, method, sent)
            return await self._request(front, line, link, method, sent or None)
        finally:
            line.flights.pop(own, None)

    async def _request(self, front: Front, line: Line, link: Link, method: str, params: Params) -> Message:
        """The server's answer; it may still speak of a request that was given up, for as long as one may take."""
        front.asked = link, link.new_number()
        try:
            return await link.request(method, params, front.asked[1])
        except MCPError:
            raise  # that is an answer
        except BaseException:
            line.left[front.owner] = time.monotonic() + self._timeout
            raise

    async def _ask_legacy(
        self, front: Front, line: Line, link: Link, method: str, params: Message, own: str
    ) -> Message:
        """A modern client's request to a legacy server, which may ask something in between."""
        await self._set_legacy_level(front, line, link)
        rest = {name: value for name, value in params.items() if name not in ("inputResponses", "requestState")}
        if method not in INTERACTIVE or not front.client.can_be_asked:
            return await self._request(front, line, link, method, strip_envelope(rest))

        async def call() -> Message:
            line.holders += 1  # until its end, however many requests of the client that takes
            try:
                return await self._request(front, line, link, method, strip_envelope(rest))
            finally:
                self._release(line)

        return await self._calls.take(line.questions, method, params, call(), (line, own))

    async def _ask_modern(self, front: Front, line: Line, link: Link, method: str, params: Message) -> Message:
        """A legacy client's request to a modern server: its questions are asked, until it has its answers."""
        client, level = front.client, front.session.level
        for _ in range(MOST_ROUNDS):
            sent = add_envelope(params, client.info, client.capabilities, level)
            result = await self._request(front, line, link, method, sent)
            if result.get("resultType") != "input_required":
                return result
            answers, front.has_answered = {}, True
            for key, asked in _read_questions(result).items():
                answers[key] = await front.channel.send_raw_request(asked["method"], asked.get("params"))
            params = {**params, "inputResponses": answers}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        raise Loss("The server asks without end", "Call again with more complete arguments", retry="no").error()

    # Tools and resources

    async def _list_tools(self, front: Front, params: Message) -> Message:
        _, link = await self._open(front)
        found = await self._forward(front, "tools/list", params)
        tools = list_tools(found)
        link.learn_headers(tools)
        shown = self.tools.show(tools, is_first=not params.get("cursor"), is_last=is_last_page(found))
        return {**found, "tools": shown}

    async def _learn_tools(self, front: Front) -> None:
        """Have the server list its tools, unless they are known; a list without end is read for a while."""
        if self.tools.is_known:
            return
        _, link = await self._open(front)
        cursor: dict[str, Any] = {}
        envelope = {key: value for key, value in front.meta.items() if key != "progressToken"}
        with anyio.move_on_after(self._timeout):
            for _ in range(MOST_PAGES if "tools" in link.capabilities else 0):
                found = await self._forward(front, "tools/list", {**cursor, "_meta": envelope} if envelope else cursor)
                tools = list_tools(found)
                link.learn_headers(tools)
                self.tools.learn(tools)
                if is_last_page(found) or cursor.get("cursor") == found["nextCursor"]:
                    break
                cursor = {"cursor": found["nextCursor"]}
        self.tools.is_known = True

    async def _call_tool(self, front: Front, params: Message) -> Message:
        name, arguments = str(params.get("name")), params.get("arguments") or {}
        with contextlib.suppress(MCPError, ReplyError):  # the call itself will say what is wrong
            await self._learn_tools(front)
        if not self.tools.is_own(name) and not self.tools.is_shown(name):
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {name}")

        async def invoke(given: Message) -> Message:
            sent = {**params, "arguments": given} if given or "arguments" in params else params
            return await self._forward(front, "tools/call", sent)

        front.has_answered = not params.keys().isdisjoint(("inputResponses", "requestState"))
        is_kept = "task" not in params  # who asks for a task wants one of their own
        asked = self.tools.remember(name, invoke, lambda: front.has_answered) if is_kept else invoke
        result = await self._make_fit(front, name, arguments, asked)
        task = task_of(result)
        if task is not None:
            self._tasks[task] = name
            if len(self._tasks) > MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
            result = await self._fit_task(front, result)
        return to_modern("tools/call", result) if front.is_modern else to_legacy("tools/call", result)

    @staticmethod
    def _caller(front: Front) -> Caller:
        return Caller(front.meta, None, front.client.capabilities.get("extensions"), client=front.client.name)

    async def _make_fit(self, front: Front, name: str, arguments: Message, invoke: Invoke) -> Message:
        """The answer of a tool as its client gets it, with a line in the report."""
        caller = self._caller(front)
        with self._report.call(name, is_own=self.tools.is_own(name)) as entry:
            entry.clean = partial(self.tools.service.cleaner.clean_answer, "tools/call")
            result = await self.tools.call(name, arguments, caller, entry.watch(invoke))
            entry.record_result(result)
        return result

    # Tasks

    async def _get_task(self, front: Front, params: Message) -> Message:
        """How a task stands; what it has come to is fitted as the answer to a call is."""
        return await self._fit_task(front, await self._forward(front, "tasks/get", params))

    async def _fit_task(self, front: Front, task: Message) -> Message:
        held = task.get("result")
        if not isinstance(held, dict) or not is_answer(held):
            return task
        return {**task, "result": await self._fit_later(front, str(task.get("taskId")), held)}

    async def _task_result(self, front: Front, params: Message) -> Message:
        """What a task has come to, as clients of 2025-11-25 ask for it."""
        found = await self._forward(front, "tasks/result", params)
        return await self._fit_later(front, str(params.get("taskId")), found) if is_answer(found) else found

    async def _fit_later(self, front: Front, task: str, result: Message) -> Message:
        async def give(_: Message) -> Message:
            return result

        made = await self._make_fit(front, self._tasks.get(task, "task"), {}, give)
        return made if front.is_modern else to_legacy("tools/call", made)

    async def _read_resource(self, front: Front, params: Message) -> Message:
        uri, ours = str(params.get("uri")), ARCHIVE_TEMPLATE.partition("{")[0]
        if self.tools.contract.archive is not None and uri.startswith(ours):
            return await self._read_archive(front, uri, uri.removeprefix(ours))
        return await self._forward(front, "resources/read", params)

    async def _read_archive(self, front: Front, uri: str, digest: str) -> Message:
        try:
            body, mime_type, ttl = await self.tools.service.read_archive(digest, None)
        except ReplyError as error:
            raise MCPError(**resource_error(problem_of(error), uri)) from error
        told = {"uri": uri, "mimeType": mime_type}
        content = {"text": body} if isinstance(body, str) else {"blob": base64.b64encode(body).decode()}
        result: Message = {"contents": [{**told, **content}]}
        if not front.is_modern:
            return result
        return to_modern("resources/read", {**result, "ttlMs": ttl, "cacheScope": "private"})

    async def _list_templates(self, front: Front, params: Message) -> Message:
        found = await self._forward(front, "resources/templates/list", params)
        if not is_last_page(found) or self.tools.contract.archive is None:
            return found
        ours = {"uriTemplate": ARCHIVE_TEMPLATE, "name": "archive", "description": "What a reply left out, by its hash"}
        return {**found, "resourceTemplates": [*(found.get("resourceTemplates") or ()), ours]}

    # Subscriptions and logging

    async def _listen(self, front: Front, params: Message) -> Message:
        """A modern client's stream of notifications."""
        wanted = read_object(params, "notifications")
        if not _are_uris(wanted.get("resourceSubscriptions")):
            raise MCPError(mcp_types.INVALID_PARAMS, "resourceSubscriptions is a list of URIs")
        line, link = await self._open(front)
        listen_id = link.new_id("listen")
        line.listens[listen_id] = Listen(front, wanted)
        try:
            if link.is_modern:
                result = await link.request("subscriptions/listen", params, listen_id)
                return with_meta(result, {_SUBSCRIPTION: front.request_id})
            return await self._listen_to_legacy(front, line, link, listen_id)
        finally:
            line.listens.pop(listen_id, None)

    async def _listen_to_legacy(self, front: Front, line: Line, link: Link, listen_id: str) -> Message:
        wanted = line.listens[listen_id].wanted
        said = {"notifications": dict(wanted), "_meta": {_SUBSCRIPTION: front.request_id}}
        uris = wanted.get("resourceSubscriptions") or ()
        for uri in uris:
            await link.request("resources/subscribe", {"uri": uri})
        await front.channel.notify("notifications/subscriptions/acknowledged", said)
        try:
            await link.wait_for_end()
            return {"resultType": "complete", "_meta": {_SUBSCRIPTION: front.request_id}}
        finally:
            line.listens.pop(listen_id, None)
            with anyio.CancelScope(shield=True), anyio.move_on_after(2), contextlib.suppress(MCPError, ReplyError):
                for uri in (one for one in uris if not line.follows(one)):
                    await link.request("resources/unsubscribe", {"uri": uri})

    async def _subscribe(self, front: Front, params: Message, *, method: str) -> Message:
        """A legacy client's wish to hear of a resource."""
        line, link = await self._open(front)
        own, uri = front.session.subscriptions, str(params.get("uri"))
        if method == "resources/unsubscribe":
            own.discard(uri)
        else:
            own.add(uri)  # what is told at once is for it already
        if link.is_modern:
            await self._follow(front.session, line)
            return {}
        if method == "resources/unsubscribe" and line.follows(uri):
            return {}  # others still want to hear of it
        try:
            return await self._forward(front, method, params)
        except (MCPError, ReplyError):
            own.discard(uri)
            raise

    async def _follow(self, session: Session, line: Line) -> None:
        """Have a modern server tell what a legacy client hears of by itself."""
        assert self._group is not None
        assert line.link is not None
        if session.listening is not None:
            session.listening.cancel()
        wanted: Message = dict.fromkeys(_FILTERS.values(), True)
        if session.subscriptions:
            wanted["resourceSubscriptions"] = sorted(session.subscriptions)
        session.listening = anyio.CancelScope()
        acknowledged = anyio.Event()
        self._group.start_soon(self._follow_until, session, line, line.link, wanted, session.listening, acknowledged)
        with anyio.move_on_after(5):
            await acknowledged.wait()

    async def _follow_until(
        self,
        session: Session,
        line: Line,
        link: Link,
        wanted: Message,
        scope: anyio.CancelScope,
        acknowledged: anyio.Event,
    ) -> None:
        client, listen_id = session.client, link.new_id("listen")
        line.listens[listen_id] = Listen(Front(session, client, acknowledged, None, {}), wanted)
        try:
            with scope:
                params = add_envelope({"notifications": wanted}, client.info, client.capabilities)
                await link.request("subscriptions/listen", params, listen_id)
        except (MCPError, ReplyError) as error:
            log.debug("no stream of notifications: %s", error)
        finally:
            acknowledged.set()
            line.listens.pop(listen_id, None)

    async def _set_level(self, front: Front, params: Message) -> Message:
        line, link = await self._open(front)
        front.session.level = str(params.get("level"))
        if link.is_modern:
            return {}
        line.level = front.session.level
        return await self._forward(front, "logging/setLevel", params)

    async def _set_legacy_level(self, front: Front, line: Line, link: Link) -> None:
        """Have a legacy server log at the level that a modern client wants for its request."""
        level = front.meta.get(mcp_types.LOG_LEVEL_META_KEY)
        if level in (None, line.level) or "logging" not in link.capabilities:
            return
        line.level = str(level)
        with contextlib.suppress(MCPError):
            await link.request("logging/setLevel", {"level": level})

    # What the server says by itself

    async def on_question(self, link: Link, method: str, params: Params) -> Message:
        """Ask the client what the server wants to know."""
        line = self._by_link.get(link) or Line(None)
        for flight in line.flights.values():  # it may be about any of them
            flight.front.has_answered = True
        if self._shares and not link.client.can_be_asked:  # several clients have this link, and none has offered
            raise MCPError(mcp_types.METHOD_NOT_FOUND, "The client cannot be asked", method)
        if is_modern(link.client.version):
            if link.is_modern:  # there is nothing in which the question could stand
                raise MCPError(mcp_types.METHOD_NOT_FOUND, "What is asked stands in an unfinished result", method)
            return await line.questions.ask(method, params)
        flights = [one for one in line.flights.values() if one.front.channel.can_send_request]
        if flights:
            answer: Message = await flights[-1].front.channel.send_raw_request(method, params)
            return answer
        for session in line.sessions:
            if session.outbound is not None:
                return await session.outbound.send_raw_request(method, params)
        raise MCPError(mcp_types.INVALID_REQUEST, "There is nobody to ask")

    async def on_news(self, link: Link, method: str, params: Params) -> None:
        """Pass a notification on to those whom it is for."""
        line = self._by_link.get(link)
        if line is None or not _is_news(method):
            return
        told = dict(params or {})
        meta = told.get("_meta")
        subscription = meta.get(_SUBSCRIPTION) if isinstance(meta, dict) else None
        if method == "notifications/tools/list_changed":
            self.tools.forget()
        if method == "notifications/progress":
            await self._tell_progress(line, told)
        elif isinstance(subscription, str) and subscription in line.listens:
            await self._tell_listener(line.listens[subscription], method, told)
        else:
            await self._tell_everybody(line, method, params)

    async def _tell_progress(self, line: Line, told: Message) -> None:
        flight = line.flights.get(str(told.get("progressToken")))
        if flight is not None and flight.token is not None:
            await flight.front.channel.notify("notifications/progress", {**told, "progressToken": flight.token})

    async def _tell_listener(self, listen: Listen, method: str, told: Message) -> None:
        front = listen.front
        told = await self._fit_news(front, method, told)
        if isinstance(front.channel, anyio.Event):  # our own stream, for a legacy client
            if method == "notifications/subscriptions/acknowledged":
                front.channel.set()
            elif front.session.outbound is not None:
                await front.session.outbound.notify(method, with_meta(told, {_SUBSCRIPTION: None}) or None)
            return
        await front.channel.notify(method, with_meta(told, {_SUBSCRIPTION: front.request_id}))

    async def _tell_everybody(self, line: Line, method: str, params: Params) -> None:
        told = dict(params or {})
        for session in self._hearers(line, method, told):
            own = [one.front.channel for one in line.flights.values() if one.front.session is session]
            channel = own[-1] if own and method == _LOG else session.outbound
            if channel is not None:
                front = Front(session, session.client, channel, None, {})
                await channel.notify(method, await self._fit_news(front, method, told) if params else params)
        for listen in list(line.listens.values()):
            if listen.front.is_modern and listen.wants(method, told):
                await listen.front.channel.notify(method, with_meta(told, {_SUBSCRIPTION: listen.front.request_id}))
        if method in _FILTERS or method == _UPDATED:
            return
        caller = line.caller()
        flights = list(line.flights.values()) if not self._shares else [] if caller is None else [caller]
        for flight in flights:
            if flight.front.is_modern and (method != _LOG or flight.wants(str(told.get("level")))):
                fitted = await self._fit_news(flight.front, method, told) if params else params
                await flight.front.channel.notify(method, fitted)
                break

    async def _fit_news(self, front: Front, method: str, told: Message) -> Message:
        """A notification as a client gets it: what a task has come to may stand in one."""
        return await self._fit_task(front, told) if method == "notifications/tasks" else told

    def _hearers(self, line: Line, method: str, told: Message) -> list[Session]:
        """The legacy clients for whom a notification is: where several share a link, no more than may know of it."""
        everybody = list(line.sessions)
        is_alone = len(everybody) == 1 and line.left_owners() <= set(everybody)
        if not self._shares or is_alone or method in _FILTERS:
            return everybody
        if method == _UPDATED:
            return [one for one in everybody if _covers(one.subscriptions, told.get("uri"))]
        caller = line.caller()
        return [] if caller is None or caller.front.is_modern else [caller.front.session]


def _read_questions(result: Message) -> Message:
    """What an unfinished result asks, where that can be read."""
    asked = result.get("inputRequests") or {}
    if not isinstance(asked, dict) or not all(map(_is_question, asked.values())):
        raise UNREAD.error()
    return asked


def _is_question(asked: Any) -> bool:
    if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):
        return False
    return isinstance(asked.get("params") or {}, dict)


def _are_uris(uris: Any) -> bool:
    return uris is None or (isinstance(uris, list) and all(isinstance(one, str) for one in uris))


def _covers(uris: Collection[str], uri: Any) -> bool:
    """Whether one of the resources is this one, or the one that it is a part of."""
    return any(str(uri) == one or str(uri).startswith(one.rstrip("/") + "/") for one in uris)


def _is_news(method: str) -> bool:
    """Whether a method is one of those that want no answer."""
    return method.startswith("notifications/")


def _unavailable(failure: Exception | None) -> ReplyError:
    """What to say of a server that could not be started."""
    if isinstance(failure, ReplyError):
        return failure
    response = getattr(failure, "response", None)  # of a server elsewhere, which has refused the first request
    refusal = None if response is None else refusal_of(response.status_code, response.headers)
    if refusal is not None:
        return refusal
    # other exceptions may repeat what the request was made of, such as a key in a header
    is_told = isinstance(failure, (Exited, OSError, MCPError, httpx2.NetworkError, httpx2.TimeoutException))
    words = f": {shorten_paths(str(failure), {})}" if is_told and str(failure) else ""
    return Unavailable(
        f"The server behind does not start{words}"[:500], remediation="Check the wrapped server by itself"
    )
