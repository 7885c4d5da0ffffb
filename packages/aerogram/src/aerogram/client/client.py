"""The client: calls a server and reads its replies, whichever dialect it speaks and over whichever protocol.

    AsyncClient(fastmcp.Client | mcp.Client | httpx.AsyncClient | async function)
    Client(httpx.Client | function)
        .call(target, arguments)    one reply; a failure is tried again when it says that this helps
        .pages(target, arguments)   all pages of an answer
        .items(target, arguments)   all items of all pages
        .recover(reply)             what a reply left out, each part checked against its hash
        .whole(reply)               the reply as it was before anything was left out

A target is a tool, or an HTTP path with its method: `search`, `/v1/programs`, `POST /v1/programs`. What a reply warns
of is told to `on_notice`, which logs it unless you say otherwise. `call` returns failures as replies; the others
raise them, as `raise_for_problem` does. A reply leads only to hosts that you have named yourself, because the caller's
credentials go with every request, only by GET or to the tool for it, and only as far as your `Reach`.
"""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import inspect
import logging
import random
import time
import weakref
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from aerogram._http.responses import address_of, resolve_address
from aerogram._http.routes import CONTENT
from aerogram.channels.reading import text_as_sent
from aerogram.client.calls import (
    Calls,
    ClientCall,
    FollowedTooFar,
    Reach,
    Trail,
    build_retrieval,
    insist_on_whole,
    make_whole,
    next_page,
    recovery,
)
from aerogram.client.reading import items_of, raise_for_problem, read, read_protocol_error
from aerogram.errors import ContractError
from aerogram.reply import Notice, Reply

__all__ = ["ARCHIVE", "AsyncClient", "Client", "Retries", "advised_wait"]

log = logging.getLogger("aerogram.client")

Send: TypeAlias = Callable[[str, Mapping[str, Any]], Any]
"""What carries a call: a target and arguments to whatever came back."""
OnNotice: TypeAlias = Callable[[Notice, Reply[Any]], None]
Host: TypeAlias = tuple[str, str, int | None]
"""The scheme, the name and the port of an address."""
ARCHIVE: Final = "aerogram://archive/{hash}"
_ARCHIVES: Final = ARCHIVE.removesuffix("{hash}")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_IN_THE_QUERY: Final = frozenset({"GET", "HEAD", "DELETE"})
_OF_TRANSFER: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
_PACKINGS: Final = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""How an answer may be packed, and what zlib calls it."""
_GZIP: Final = b"\x1f"
_SLICE: Final = 4096
"""So many bytes are unpacked at once; what follows the end of a gzip is copied."""
_PORTS: Final = {"http": 80, "https": 443}
_LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def advised_wait(reply: Reply[Any], *, now: float | None = None) -> float | None:
    """How many seconds to wait before the next call, if the reply says so: in its problem, or in its rate limit."""
    if reply.problem is not None and reply.problem.retry_after is not None:
        return reply.problem.retry_after
    state = reply.rate_limit
    if state is None or (state.remaining and reply.problem is None):
        return None
    if state.retry_after is not None:
        return state.retry_after
    if state.reset_at is None or state.remaining is None:
        return None
    try:
        reset = (
            dt.datetime.fromisoformat(state.reset_at).timestamp() if isinstance(state.reset_at, str) else state.reset_at
        )
        return max(reset - (time.time() if now is None else now), 0.0)
    except (ValueError, OverflowError):  # no moment, or none that a clock could come to
        return None


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is tried again, and how long one waits: as the reply says, else ever longer.

    A failure is tried again only when it says that it is retryable, and not at all when it asks for more patience
    than `longest_wait`.
    """

    most: int = 2
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def wait(self, reply: Reply[Any], attempt: int) -> float | None:
        """How long to wait before the next attempt (the first was number 0); None when there should be none."""
        if reply.problem is None or not reply.problem.retryable or attempt >= self.most:
            return None
        advised = advised_wait(reply)
        # without advice, callers that failed together do not come back together
        wait = advised if advised is not None else self.first_wait * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311
        return wait if wait <= self.longest_wait else None


def log_notice(notice: Notice, reply: Reply[Any]) -> None:
    """Write a warning of a reply to the log."""
    words = f"{notice.code}: {notice.message}" if notice.code else notice.message
    log.log(_LEVELS.get(notice.severity or "warning", logging.WARNING), words, extra={"request_id": reply.request_id})


# Carriers


def _sender_for(server: Any, reach: Reach) -> tuple[Send, str | None]:
    """What carries calls to a server, and how its archive is reached when a reply does not say."""
    if hasattr(server, "call_tool"):
        return _mcp_sender(server), ARCHIVE
    if hasattr(server, "request") and hasattr(server, "build_request"):
        return _http_sender(server, reach), CONTENT
    if callable(server):
        return server, None
    raise TypeError(f"a {type(server).__name__} is no MCP client, no HTTP client and no function")


def _mcp_sender(client: Any) -> Send:
    # FastMCP's `call_tool` raises for failed results, and its `call_tool_mcp` gives them as they are
    call_tool = getattr(client, "call_tool_mcp", client.call_tool)

    async def send(target: str, arguments: Mapping[str, Any]) -> Any:
        try:
            if "://" in target:
                return _resource(await _read(client, target))
            return await call_tool(target, dict(arguments))
        except Exception as error:
            reply = read_protocol_error(getattr(error, "data", None), str(error))
            if reply is None:
                raise
            return reply

    return send


async def _read(client: Any, uri: str) -> Any:
    """A resource; the archive of a server that stands inside of another one is under the address that is listed."""
    try:
        return await client.read_resource(uri)
    except Exception:
        if not uri.startswith(_ARCHIVES):
            raise
        for template in await _list_archives(client):
            with suppress(Exception):  # another one may have it; when none has, the first answer counts
                return await client.read_resource(template.replace("{hash}", uri.removeprefix(_ARCHIVES)))
        raise


async def _list_archives(client: Any) -> list[str]:
    listed = await client.list_resource_templates()
    templates = (one.uri_template for one in getattr(listed, "resource_templates", listed))
    return [uri for uri in templates if uri.startswith("aerogram://") and uri.endswith("/archive/{hash}")]


def _resource(result: Any) -> Reply[Any]:
    contents = getattr(result, "contents", result)
    pieces = [one.text if hasattr(one, "text") else _unpack_blob(one.blob) for one in contents]
    return Reply(pieces[0] if len(pieces) == 1 else pieces)


def _unpack_blob(blob: str) -> bytes:
    try:
        return base64.b64decode("".join(blob.split()), validate=True)
    except ValueError as error:
        raise ContractError(f"the bytes of a resource are no base64: {error}") from error


def _http_sender(client: Any, reach: Reach) -> Send:
    def send(target: str, arguments: Mapping[str, Any]) -> Any:
        path = _address(target)
        method = target.partition(" ")[0] if path != target else "GET"
        asked = arguments if method in _IN_THE_QUERY else {}
        given: dict[str, Any] = {"json": dict(arguments)} if arguments and not asked else {}
        given["headers"] = {"Accept-Encoding": ", ".join(_PACKINGS)}
        if asked or getattr(client, "params", None):
            given["params"] = _join_query(path, asked)
        _check_address(client, path, given.get("params"))
        answer = client.stream(method, path, **given)
        return _read_async(answer, reach) if hasattr(answer, "__aenter__") else _read_answer(answer, reach)

    return send


def _check_address(client: Any, path: str, query: list[tuple[str, Any]] | None) -> None:
    """Refuse what the HTTP library takes for no address, for which each of them has an error of its own."""
    try:
        client.build_request("GET", path, params=query)
    except Exception as error:
        raise _no_address(path, error) from error


def _read_answer(answer: Any, reach: Reach) -> Any:
    """A response with its body, if that has an end within reach."""
    with answer as response:
        if response.is_stream_consumed:  # a transport that made it up has read it already
            return response
        body = _Body(reach, response.headers.get("content-encoding"))
        for piece in response.iter_raw():
            body.add(piece)
    return body.in_response(response)


async def _read_async(answer: Any, reach: Reach) -> Any:
    async with answer as response:
        if response.is_stream_consumed:
            return response
        body = _Body(reach, response.headers.get("content-encoding"))
        async for piece in response.aiter_raw():
            body.add(piece)
    return body.in_response(response)


class _Body:
    """What has arrived of the body of a response; it is unpacked here, because a few bytes may become gigabytes."""

    def __init__(self, reach: Reach, packing: str | None) -> None:
        name = (packing or "identity").strip().lower().removeprefix("x-")
        if name not in ("identity", *_PACKINGS):
            raise ContractError(f"the answer is packed as {name[:50]!r}, which was not asked for")
        self._bits = _PACKINGS.get(name, 0)
        self._packed = zlib.decompressobj(self._bits) if self._bits else None
        self._reach = reach
        self._pieces: list[bytes] = []
        self._arrived = 0
        self._size = 0
        self._ends = time.monotonic() + reach.seconds

    def add(self, piece: bytes) -> None:
        """Keep a piece; a body that goes on and on is refused."""
        self._arrived += len(piece)
        if self._packed is None:
            self._keep(piece)
        else:
            for start in range(0, len(piece), _SLICE):
                self._unpack(piece[start : start + _SLICE])
        if self._arrived > self._reach.bytes:
            raise FollowedTooFar("bytes", self._reach.bytes)
        if time.monotonic() > self._ends:
            raise FollowedTooFar("seconds", self._reach.seconds)

    def _unpack(self, packed: bytes) -> None:
        """Keep what is packed in some bytes; several gzips may follow each other, and then padding."""
        while packed and self._packed is not None:
            if self._packed.eof:
                if not packed.startswith(_GZIP):
                    return
                self._packed = zlib.decompressobj(self._bits)
            try:
                self._keep(self._packed.decompress(packed, self._reach.bytes - self._size + 1))
            except zlib.error as error:
                raise ContractError(f"the answer cannot be unpacked: {error}") from error
            packed = self._packed.unused_data

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._reach.bytes:
            raise FollowedTooFar("bytes", self._reach.bytes)

    def in_response(self, response: Any) -> Any:
        """A response as if it had been read at once."""
        if self._arrived and self._packed is not None and not self._packed.eof:
            raise ContractError("the answer is packed, and its end is missing; ask again")
        kept = [(name, value) for name, value in response.headers.raw if name.lower() not in _OF_TRANSFER]
        return type(response)(
            response.status_code, headers=kept, content=b"".join(self._pieces), request=response.request
        )


def _join_query(address: str, arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The query of an address and arguments that join it; HTTP clients would put theirs in its place."""
    query: list[tuple[str, Any]] = list(parse_qsl(urlsplit(address).query, keep_blank_values=True))
    kept = [pair for pair in query if pair[0] not in arguments]
    for name, value in arguments.items():
        kept += [(name, one) for one in (value if isinstance(value, (list, tuple)) else [value])]
    return kept


def _address(target: str) -> str:
    """A target without the method that may stand before it."""
    method, _, path = target.partition(" ")
    return path if method in _METHODS else target


def _http_host(host: Host) -> Host:
    """What a host was called before it led its callers from http to https."""
    return ("http", host[1], _PORTS["http"]) if host == ("https", host[1], _PORTS["https"]) else host


def _no_address(address: str, error: Exception) -> ContractError:
    return ContractError(f"{address[:100]!r} is no address: {error}")


def _origin(address: str) -> Host | None:
    """The host of an address; None for an address that is relative."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise _no_address(address, error) from error
    if not parts.netloc:
        return None
    return parts.scheme.lower(), (parts.hostname or ""), port or _PORTS.get(parts.scheme.lower())


class _Origins:
    """The addresses at which replies were given, as long as somebody has the replies."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Reply[Any]], str]] = {}

    def note(self, reply: Reply[Any], address: str) -> None:
        key, known = id(reply), self._known
        known[key] = (weakref.ref(reply, lambda _: known.pop(key, None)), address)

    def of(self, reply: Reply[Any]) -> str | None:
        found = self._known.get(id(reply))
        return found[1] if found is not None and found[0]() is reply else None


class _BaseClient:
    """What both clients have in common."""

    def __init__(
        self,
        server: Any,
        *,
        retries: Retries | None = None,
        on_notice: OnNotice = log_notice,
        retrieve: str | None = None,
        dialect: str | None = None,
        reach: Reach | None = None,
    ) -> None:
        self._reach = reach or Reach()
        self._send, default = _sender_for(server, self._reach)
        self._retrieve = retrieve or default
        self._stays = default == ARCHIVE  # over MCP all goes to the one server, whatever its addresses are
        self._base = str(getattr(server, "base_url", ""))
        self._hosts = {_origin(self._base), _origin(retrieve or "")}
        self._origins = _Origins()
        self._retries = retries or Retries()
        self._on_notice = on_notice
        self._dialect = dialect

    def _read_reply(self, call: ClientCall, result: Any) -> Reply[Any]:
        reply = read(result, dialect=self._dialect)
        if call.arguments.get("as_text") is True:
            reply = text_as_sent(reply, result)
        if not self._stays:
            self._origins.note(reply, address_of(result))
        for notice in reply.notices:
            self._on_notice(notice, reply)
        return reply

    def _steps(self, reply: Reply[Any], trail: Trail) -> Calls:
        hashes = reply.fidelity.archive_hashes if reply.fidelity else None
        address = self._origins.of(reply) or self._base
        is_elsewhere = self._retrieve == CONTENT and not address.startswith(self._base)
        default = resolve_address(address, CONTENT) if is_elsewhere else self._retrieve
        return recovery(reply, build_retrieval(reply, default, address) if hashes else ClientCall, trail.found)

    def _user_call(self, target: str, arguments: Mapping[str, Any] | None) -> ClientCall:
        """A call that the user makes; the host of its target is one that replies may lead to."""
        self._hosts.add(_origin(_address(target)))
        return ClientCall(target, arguments or {})

    def _check_host(self, call: ClientCall) -> ClientCall:
        """A call that a reply leads to: to an address, where it names one, and to no other host."""
        if call.is_led and ("://" if self._stays else "/") not in call.target:
            raise ContractError(f"the reply leads to {call.target[:100]!r}, which is no address that could be read")
        host = _origin(_address(call.target))
        if host is not None and not self._hosts & {host, _http_host(host)} and not self._stays:
            raise ContractError(
                f"the reply leads to another host, {host[1]!r}, which would get your credentials; "
                "call it yourself if you trust it"
            )
        return call


class Client(_BaseClient):
    """Calls a server and waits; for `httpx.Client`, `httpx2.Client`, or a function of target and arguments."""

    def __init__(self, server: Any, *, sleep: Callable[[float], None] = time.sleep, **options: Any) -> None:
        super().__init__(server, **options)
        self._sleep = sleep

    def call(self, target: str, arguments: Mapping[str, Any] | None = None) -> Reply[Any]:
        """The reply to a call, after the retries that it asked for."""
        return self._call(self._user_call(target, arguments))

    def _call(self, call: ClientCall) -> Reply[Any]:
        attempt = 0
        while True:
            result = self._send(call.target, call.arguments)
            if inspect.isawaitable(result):
                getattr(result, "close", bool)()  # a coroutine that nobody will await
                raise TypeError("this server is asynchronous: use AsyncClient")
            reply = self._read_reply(call, result)
            wait = self._retries.wait(reply, attempt)
            if wait is None:
                return reply
            self._sleep(wait)
            attempt += 1

    def pages(
        self, target: str, arguments: Mapping[str, Any] | None = None, *, whole: bool = False
    ) -> Iterator[Reply[Any]]:
        """Each page of an answer, as it was sent or made whole; a failed one is raised."""
        call: ClientCall | None = self._user_call(target, arguments)
        seen, trail = set[str](), Trail(self._reach)
        while call is not None:
            reply = raise_for_problem(self._follow(call, trail))
            yield make_whole(reply, self._recover(reply, trail)) if whole else reply
            call = next_page(call, reply, seen)

    def _follow(self, call: ClientCall, trail: Trail) -> Reply[Any]:
        self._check_host(call)
        trail.begin()
        return trail.end(self._call(call))

    def items(self, target: str, arguments: Mapping[str, Any] | None = None, *, whole: bool = True) -> Iterator[Any]:
        """Each item of each page, with what was left out of it, or as they were sent."""
        for page in self.pages(target, arguments, whole=whole):
            yield from items_of(page)

    def recover(self, reply: Reply[Any]) -> dict[str, Any]:
        """What the reply left out, under the names of its archive hashes; each part is checked against its hash."""
        return self._recover(reply, Trail(self._reach))

    def _recover(self, reply: Reply[Any], trail: Trail) -> dict[str, Any]:
        trail.found = {}
        steps = self._steps(reply, trail)
        try:
            call = next(steps)
            while True:
                call = steps.send(self._follow(call, trail))
        except StopIteration as done:
            return dict(done.value)

    def whole(self, reply: Reply[Any]) -> Reply[Any]:
        """The reply with everything that was left out of it; one of several pages is refused."""
        insist_on_whole(reply)
        return make_whole(reply, self.recover(reply))


class AsyncClient(_BaseClient):
    """Calls a server and awaits; for MCP clients, `httpx.AsyncClient`, `httpx2.AsyncClient`, or an async function."""

    def __init__(
        self, server: Any, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep, **options: Any
    ) -> None:
        super().__init__(server, **options)
        self._sleep = sleep

    async def call(self, target: str, arguments: Mapping[str, Any] | None = None) -> Reply[Any]:
        """The reply to a call, after the retries that it asked for."""
        return await self._call(self._user_call(target, arguments))

    async def _call(self, call: ClientCall) -> Reply[Any]:
        attempt = 0
        while True:
            result = self._send(call.target, call.arguments)
            reply = self._read_reply(call, await result if inspect.isawaitable(result) else result)
            wait = self._retries.wait(reply, attempt)
            if wait is None:
                return reply
            await self._sleep(wait)
            attempt += 1

    async def pages(
        self, target: str, arguments: Mapping[str, Any] | None = None, *, whole: bool = False
    ) -> AsyncIterator[Reply[Any]]:
        """Each page of an answer, as it was sent or made whole; a failed one is raised."""
        call: ClientCall | None = self._user_call(target, arguments)
        seen, trail = set[str](), Trail(self._reach)
        while call is not None:
            reply = raise_for_problem(await self._follow(call, trail))
            yield make_whole(reply, await self._recover(reply, trail)) if whole else reply
            call = next_page(call, reply, seen)

    async def _follow(self, call: ClientCall, trail: Trail) -> Reply[Any]:
        self._check_host(call)
        try:
            async with asyncio.timeout(trail.begin()) as limit:
                reply = await self._call(call)
        except TimeoutError:
            if not limit.expired():
                raise
            raise trail.time_is_over() from None
        return trail.end(reply)

    async def items(
        self, target: str, arguments: Mapping[str, Any] | None = None, *, whole: bool = True
    ) -> AsyncIterator[Any]:
        """Each item of each page, with what was left out of it, or as they were sent."""
        async for page in self.pages(target, arguments, whole=whole):
            for item in items_of(page):
                yield item

    async def recover(self, reply: Reply[Any]) -> dict[str, Any]:
        """What the reply left out, under the names of its archive hashes; each part is checked against its hash."""
        return await self._recover(reply, Trail(self._reach))

    async def _recover(self, reply: Reply[Any], trail: Trail) -> dict[str, Any]:
        trail.found = {}
        steps = self._steps(reply, trail)
        try:
            call = next(steps)
            while True:
                call = steps.send(await self._follow(call, trail))
        except StopIteration as done:
            return dict(done.value)

    async def whole(self, reply: Reply[Any]) -> Reply[Any]:
        """The reply with everything that was left out of it; one of several pages is refused."""
        insist_on_whole(reply)
        return make_whole(reply, await self.recover(reply))
