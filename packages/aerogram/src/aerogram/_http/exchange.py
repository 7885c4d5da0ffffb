"""Exchange: one HTTP request and its answer, over plain ASGI.

The layer stands outside of everything else in an application, so that it sees every answer: those of handlers, of
the framework, of middleware, and the exceptions that nobody caught.

    a route that is not migrated   passes, marked as the legacy envelope
    an answer of ours              passes, with the headers that every answer has
    a failure                      is read, and said again as it was negotiated
    JSON of anybody else           is read, if it is whole and no file, and put into the envelope
    anything else                  passes untouched: files, streams, other formats
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import parse_qsl, unquote

from aerogram._http import responses as fields
from aerogram._http.negotiation import (
    CURRENT,
    JSON,
    LEGACY,
    PARAMETER,
    VERSIONS,
    EnvelopeChoice,
    HttpRefusal,
    Version,
    Versions,
    parse_accept,
)
from aerogram._http.responses import LONGEST_ERROR, NOT_MODIFIED, Body, Fields, read_problem, render, unpack
from aerogram._http.routes import RouteTable, RouteTerms, Usage, path_below
from aerogram.answer import LONGEST_ECHO, ReplyDraft
from aerogram.answer.aside import run_by_size
from aerogram.codes import TABLE
from aerogram.content.jsontext import loads
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects import is_own, try_read
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError, ReplyError, ValidationFailed
from aerogram.normalize.plain import is_plain
from aerogram.normalize.signals import contain
from aerogram.problems import blame_handler, problem_of
from aerogram.reply import Problem, Reply, ResumablePage, accept_request_id, new_request_id
from aerogram.telemetry import Observation

__all__ = [
    "EXCHANGE",
    "MARKS",
    "SAFE_METHODS",
    "Exchange",
    "HttpRequest",
    "Layer",
    "ReplyMaker",
    "Scope",
    "SendRecorder",
]


class ReplyMaker(Protocol):
    """What is done for an exchange: limits, cache, the finished reply, observation."""

    is_idle: bool
    has_cache: bool
    is_observed: bool
    named: Dialect | None
    """The dialect that the author has named for what handlers say."""

    def check(self, exchange: Any) -> None:
        """Raise what is wrong with the controls of a request, before its handler changes anything."""

    async def admit(self, exchange: Any) -> None:
        """Raise unless the caller may go on."""

    async def run(self, exchange: Any, handler: Callable[[], Awaitable[Any]]) -> Any:
        """What the handler returns, or what is known already."""

    async def answer(self, outcome: Any, exchange: Any, known: Mapping[str, Any]) -> ReplyDraft:
        """The finished reply to what a handler returned or raised; `known` is what describes the call."""

    async def retrieve(
        self,
        exchange: Any,
        hash: str,
        *,
        ids: Sequence[str],
        path: str,
        as_text: bool,
        offset: int,
        query: str | None,
    ) -> ResumablePage:
        """What a reply left out; the query says how it is to be shown."""

    async def fetch(self, wanted: Any, exchange: Any, max_tokens: int | None) -> ResumablePage:
        """What a reply left out."""

    async def forgive(self, exchange: Any) -> None:
        """Give back what a failed call has taken."""

    def observe(self, operation: str, request_id: str, carrier: Mapping[str, str]) -> AbstractContextManager[Any]:
        """An exchange under observation; `carrier` may hold the caller's trace, which goes on in it."""


_START: Final = "http.response.start"
_FAILURES: Final = 400


class SendRecorder:
    """Stands before the server that sends the messages of an answer."""

    def __init__(self, send: Callable[[MutableMapping[str, Any]], Awaitable[None]]) -> None:
        self._send = send
        self._status: int | None = None
        self._size = 0

    def __call__(self, message: MutableMapping[str, Any]) -> Awaitable[None]:
        """Note a message, and pass it on."""
        if message["type"] == _START:
            self._status = message["status"]
        self._size += len(message.get("body", b""))
        return self._send(message)

    def report(self, observation: Observation, status: int | None = None) -> None:
        """Tell of an answer in the framework's own words: a failure is one in any shape, and the rest went well."""
        found = status or self._status
        if found is None:
            return  # nothing was sent
        if found >= _FAILURES:
            observation.report_reply(Reply.failed(Problem.of(TABLE.of_status(found))), size=self._size)
        else:
            observation.report_success(size=self._size)


Scope: TypeAlias = MutableMapping[str, Any]

MOST_PARAMETERS: Final = 1_000
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
REPEATABLE_METHODS: Final = SAFE_METHODS | {"DELETE", "OPTIONS", "PUT", "TRACE"}
"""Those of which a second request changes no more than the first (RFC 9110, section 9.2.2)."""
_NUMBERS: Final = frozenset({"max_tokens", "page_size"})
_MOST_DIGITS: Final = 12
_LONGEST_REMEMBERED: Final = 256


class HttpRequest:
    """The facts of one request; whoever makes one sets those that have no value here."""

    scope: Scope
    root: str
    """Where the application stands: below a mount, or behind a proxy."""
    versions: Versions
    started: float
    body: Any = None
    """What the handler was given as the body, if that tells one query from another."""
    found_out: Mapping[str, Any] = MappingProxyType({})
    """What was found out for the handler before it runs, by the names of its parameters."""
    parsed: Mapping[str, Any] = MappingProxyType({})
    """The parameters of path and query as the framework has read them, by the names that callers know."""
    handler_scope: Scope
    """What the handler got as the scope: middleware may have passed on a copy of it, and who asks, and the parameters
    of the path, may be there alone."""

    @cached_property
    def headers(self) -> dict[bytes, bytes]:
        """The header fields by their lower-case names; repeated ones are joined."""
        given = self.scope["headers"]
        found: dict[bytes, bytes] = dict(given)
        if len(found) < len(given):
            found.clear()
            for name, value in given:
                found[name] = found[name] + b", " + value if name in found else value
        return found

    @cached_property
    def query(self) -> Sequence[tuple[str, str]]:
        """The query parameters in their order; none when there are too many."""
        raw: bytes = self.scope["query_string"]
        if not raw or self.has_too_many_parameters:
            return ()
        return _parse_query(raw) if len(raw) <= _LONGEST_REMEMBERED else _parse_query.__wrapped__(raw)

    @property
    def has_too_many_parameters(self) -> bool:
        """Whether nobody here reads the query, so that it does not tell this request from another one."""
        raw: bytes = self.scope["query_string"]
        return len(raw) > MOST_PARAMETERS and raw.count(b"&") >= MOST_PARAMETERS

    @property
    def accept(self) -> str:
        """The Accept header."""
        return self._accept.decode("latin-1")

    @property
    def _accept(self) -> bytes:
        found = b""
        for name, value in self.scope["headers"]:  # most requests need no other field, and no dictionary of them
            if name == b"accept":
                found = found + b", " + value if found else value
        return found

    @cached_property
    def request_id(self) -> str:
        """The caller's request id if it is a fit one, else a new one."""
        given = self.headers.get(b"x-request-id")
        return (accept_request_id(given.decode("latin-1")) if given else None) or new_request_id()

    @property
    def client_tag(self) -> str | None:
        """The caller's own mark."""
        given = self.headers.get(b"x-client-tag")
        return fields.client_tag(given) if given else None

    @cached_property
    def terms(self) -> RouteTerms | None:
        """What holds for the route of this request; None when there is no such route, or nobody knows any."""
        return None

    @cached_property
    def choice(self) -> EnvelopeChoice:
        """What was negotiated."""
        versions = self.versions
        own = None if self.terms is None else self.terms.shapes.default
        words = (self.scope["query_string"], self._accept, None if versions.schedule is None else versions.stage, own)
        found = versions.choices.get(words)  # what the same words came to before
        if found is None:
            found = versions.choose(words, [value for name, value in self.query if name == PARAMETER])
        return found

    @property
    def target(self) -> str:
        """Path and query as the caller has written them, and as they may stand in a link."""
        path = path_below(self.root, self.scope["path"])
        sent = path_below(self.prefix, fields.quote_path(self.scope.get("raw_path") or b"", "%"))
        path = sent if unquote(sent) == path else fields.quote_path(path)  # something on the way may have changed it
        query = self.scope["query_string"].decode("latin-1")
        return f"{self.prefix}{path}?{query}" if query else self.prefix + path

    @property
    def prefix(self) -> str:
        """What stands before every path of the application in the addresses that its callers know."""
        return fields.quote_path(self.root.rstrip("/"))

    def arguments(self, terms: RouteTerms | None) -> dict[str, Any]:
        """What identifies the query: the parameters of path and query, without those that only shape the reply.

        The path itself is the resource, so that nothing in the query can hide a part of it.
        """
        found: dict[str, Any] = dict(self.handler_scope.get("path_params") or {})
        shaping = terms.controls if terms else ()
        for name, value in self.query:
            if name != PARAMETER and name not in shaping:
                found[name] = [*found[name], value] if isinstance(found.get(name), list) else [value]
        if self.body is not None:
            found["body"] = [found["body"], self.body] if "body" in found else self.body
        return found

    def told_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they are told back: as the framework has read each, or else as its caller wrote it."""
        told = {name: one[0] if isinstance(one, list) and len(one) == 1 else one for name, one in arguments.items()}
        told |= self.handler_scope.get("path_params") or {}
        if self.body is not None:
            del told["body"]
        read = {name: self.parsed[name] for name in told if name in self.parsed}
        return {**told, **{name: value for name, value in read.items() if is_plain(value, LONGEST_ECHO)}}

    @property
    def may_repeat(self) -> bool:
        """Whether its method says that it can be made again, whatever has become of it."""
        return self.scope["method"] in REPEATABLE_METHODS

    def asks_for(self, controls: Collection[str]) -> bool:
        """Whether the caller wants the reply shaped by one of these."""
        return bool(controls and self.query) and any(name in controls for name, _ in self.query)

    def controls(self, wanted: Collection[str]) -> dict[str, Any]:
        """How the caller wants the reply shaped; a control that is not clear is a `ValidationFailed`."""
        found: dict[str, Any] = {}
        for name, value in self.query if wanted else ():
            if name == "fields" and name in wanted:
                found[name] = (*found.get(name, ()), *(one for one in value.split(",") if one))
            elif name in wanted:
                said = _parse_number(name, value) if name in _NUMBERS else value
                if found.setdefault(name, said) != said:
                    raise ValidationFailed(
                        f"{name} is given twice and differently",
                        remediation=f"Send {name} once",
                        details={"field": name, "received": value[:100]},
                    )
        return found

    def admit(self, terms: RouteTerms | None) -> None:
        """Raise what must be said before a handler runs; where there is only one envelope, nothing must."""
        if terms is not None and not terms.migrated:
            return
        choice, is_safe = self.choice, self.scope["method"] in SAFE_METHODS
        if choice.refusal is not None and not is_safe:  # what is safe may answer in a format that has no envelope
            raise choice.refusal
        if self.has_too_many_parameters:
            raise ValidationFailed(f"At most {MOST_PARAMETERS} query parameters are read", remediation="Send fewer")
        if not choice.acceptable and not is_safe and not self.takes(*self._formats(terms)):
            raise self.not_acceptable(terms)
        if terms is not None and terms.controls:
            self.controls(terms.controls)

    def takes(self, *media_types: str) -> bool:
        """Whether the client takes one of these types."""
        ranges = parse_accept(self.accept)
        return any(ranges.match(one).quality > 0 for one in media_types)

    def _formats(self, terms: RouteTerms | None) -> tuple[str, ...]:
        """What the handler gives besides the envelopes; its JSON of another type becomes an envelope for most."""
        formats = terms.shapes.formats if terms else ()
        if self.choice.version == LEGACY and self.versions.legacy_is_bare:
            return formats
        return tuple(one for one in formats if not fields.is_json(one.encode()))

    def not_acceptable(self, terms: RouteTerms | None) -> HttpRefusal:
        """The refusal of those who take nothing that there is, with the list of what there is."""
        available = [*self.versions.media_types(), *self._formats(terms)]
        return HttpRefusal(
            406,
            "NOT_ACCEPTABLE",
            f"Nothing in Accept is available here; there are {', '.join(available)}",
            "Ask for one of the available types, or leave Accept out",
            available=available,
        )


@lru_cache(maxsize=1024)
def _parse_query(raw: bytes) -> Sequence[tuple[str, str]]:
    return tuple(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))


def _parse_number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
        raise ValidationFailed(
            f"{name} is a whole number that is not negative",
            remediation=f"Send {name} in digits, or leave it out",
            details={"field": name, "received": value[:100]},
        )
    return int(value)


MARKS: Final = {version: (b"x-envelope-version", version.encode()) for version in VERSIONS}
"""The field that says which envelope was served."""
_GONE: Final = 410
_STAMPS: Final = frozenset({b"access-control-expose-headers", b"x-client-tag", b"x-envelope-version", b"x-request-id"})
_VARY: Final = (b"Accept", b"X-Envelope-Version")
_VARY_ALONE: Final = (b"vary", b", ".join(_VARY))


log = logging.getLogger("aerogram")

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

EXCHANGE: Final = "aerogram"
"""Where in the scope of a request its exchange is found."""

START: Final = "http.response.start"
BODY: Final = "http.response.body"
_OK: Final = 200
_CRASH: Final = 500
_LONGEST_UNPACKED: Final = 64 * 1024 * 1024
_WITHOUT_WHOLE_BODY: Final = frozenset({204, 205, 206, *range(300, 400)})
_LEGACY_MARK: Final = MARKS[LEGACY]
_NO_ROUTE: Final = "unknown"


class Layer:
    """The outermost part of an application.

    The `directory` knows the routes, the `service` makes replies; `gone` are the exceptions that say that the client
    has left.
    """

    def __init__(
        self,
        app: App,
        versions: Versions,
        directory: RouteTable,
        service: ReplyMaker,
        *,
        usage: Usage,
        gone: tuple[type[Exception], ...] = (),
    ) -> None:
        self.app = app
        self.versions = versions
        self.terms_of = directory.terms_of
        self.own_terms_of = directory.own_terms_of
        self.service = service
        self.served = usage.by_path
        self.gone = gone
        self.problem = dialect_named(versions.problem)
        self.speakers: dict[Version, Dialect] = {
            LEGACY: dialect_named(versions.legacy),
            CURRENT: dialect_named(versions.current),
        }
        self._follow = self._observe if service.is_observed else self._run_app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Let the application answer a request, and see to it that it does."""
        if scope["type"] != "http":
            return self.app(scope, receive, send)
        exchange = Exchange(self, scope, send)
        if EXCHANGE in scope:
            exchange.nest_in(scope[EXCHANGE])
        scope[EXCHANGE] = exchange
        return self._follow(exchange, receive)

    async def _observe(self, exchange: Exchange, receive: Receive) -> None:
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in exchange.headers.items()}
        # a path that has no route may be anything, and what is counted by it would have no end
        operation = exchange.terms.operation if exchange.terms else _NO_ROUTE
        with self.service.observe(operation, exchange.request_id, carrier) as observation:
            exchange.observation = observation
            recorder = exchange.attach_recorder()
            try:
                await self._run_app(exchange, receive)
            except Exception:
                if not observation.is_told:
                    recorder.report(observation, _CRASH)
                raise
            if not observation.is_told:
                recorder.report(observation)

    async def _run_app(self, exchange: Exchange, receive: Receive) -> None:
        scope = exchange.scope
        try:
            await self.app(scope, receive, exchange.send)
        except self.gone:
            log.debug("the client of %s has left", scope["path"])
        except Exception as error:
            if not await exchange.answer_error(error):
                raise
        except BaseException as error:
            if not await exchange.answer_error(contain(error)):
                raise contain(error) from error
        else:
            if exchange.held is not None:
                await exchange.finish()
        finally:
            exchange.handler_scope = scope
            if exchange.outer is None:
                scope.pop(EXCHANGE, None)  # the two know each other, and would wait for the garbage collector
            else:
                scope[EXCHANGE] = exchange.outer


class Exchange(HttpRequest):
    """A request, what becomes of the messages that answer it, and what the answer says in fields."""

    allowance: Any = None
    """What the caller's limits have let through."""
    observation: Observation | None = None
    ours: Body | None = None
    """What Aerogram itself answers, if it does."""
    envelope: str | None = None
    """The envelope of what is sent: v1, v2 or problem; None where there is no choice of them."""
    other_format: Fields | None = None
    """The fields of a response that are known to announce something other than JSON."""
    is_checked = False
    """Whether the framework has checked the input, so that a model which refuses is a mistake of the handler."""
    is_meant = False
    """Whether a handler has refused in words of its own, which are meant for the caller."""
    left_version: Version = LEGACY
    """The envelope of an answer that stays as its handler has made it."""
    is_left = False
    """Whether the handler's answer stays as it is, and was all there before anything around it made a stream of it."""
    is_stream = False
    """Whether its answer has begun without its end being known, where anybody has looked."""
    is_answered = False
    """Whether the handler is done, and its answer on the way."""
    outer: Exchange | None = None
    """That of the application in which this one is mounted, where both have the layer."""
    held: Message | None = None
    """The head of an answer that waits here."""
    _is_open = False
    _content: bytearray
    _reads_all = False
    """Whether what is held is a success, which flows unless it is there at once."""
    _then: Callable[[Exchange], Awaitable[None]] | None = None

    def __init__(self, layer: Layer, scope: Scope, send: Send) -> None:
        self.scope = self.handler_scope = scope
        self.root = scope.get("root_path", "")
        self.versions = layer.versions
        self.started = time.perf_counter()
        self.layer = layer
        self._send = send

    def nest_in(self, outer: Exchange) -> None:
        """Answer in the place of another exchange, which lets everything pass."""
        self.outer = outer
        outer._is_open = True
        if outer.observation is not None:
            outer.observation.is_told = True

    @cached_property
    def terms(self) -> RouteTerms | None:
        """What holds for the route of this request; None when there is no such route."""
        return self.layer.terms_of(self.handler_scope, self.root)

    @cached_property
    def version(self) -> Version:
        """The envelope of the answer: a route that is not migrated has only one."""
        return LEGACY if self.terms is not None and not self.terms.migrated else self.choice.version

    def describe_call(self) -> dict[str, Any]:
        """What is known about this request as a call."""
        terms, host = self.terms, ""
        if terms is not None and terms.is_hosted:
            host = self.headers.get(b"host", b"").decode("latin-1").lower()
        known: dict[str, Any] = {
            "operation": terms.operation if terms else self.scope["path"],
            "resource": host + path_below(self.root, self.scope["path"]) if terms else "",
            "arguments": self.arguments(terms),
            "client_tag": self.client_tag,
            "started": self.started,
        }
        if known["arguments"] and self.layer.speakers[self.version].echoes:
            known["told_arguments"] = self.told_arguments(known["arguments"])
        if self.allowance is not None:
            known["allowance"] = self.allowance
        if self.writer is not None:
            known["writer"] = self.writer
        known["request_id"] = self.request_id
        return known

    @property
    def writer(self) -> Callable[[Reply[Any]], Any] | None:
        """What says a reply in the shape that this caller knows, if its route has a shape of its own."""
        return self.terms.shapes.legacy if self.terms is not None and self.version == LEGACY else None

    @property
    def is_left_to_the_framework(self) -> bool:
        """Whether a success of the framework's own making is what this caller is to get."""
        return self.version == LEGACY and self.versions.legacy_is_bare

    @property
    def is_left_alone(self) -> bool:
        """Whether the framework's own success stays as it is, because this caller asks for nothing else."""
        return self.is_left_to_the_framework and not (self.terms and self.asks_for(self.terms.controls))

    @property
    def _keeps_legacy_failures(self) -> bool:
        return self.is_left_to_the_framework and not self.choice.as_problem

    # what the application sends

    def send(self, message: Message) -> Awaitable[None]:
        """Pass a message of the application on, or keep it until the answer is known."""
        if self._is_open:
            return self._send(message)
        if message["type"] == START:
            return self._begin(message)
        return self._send(message) if self.held is None else self._collect(message)

    def _begin(self, start: Message) -> Awaitable[None]:
        """Decide what becomes of an answer."""
        terms, status, given = self.terms, start["status"], start.get("headers")
        if type(given) is not list:  # there may be none, or some that can be read only once
            given = list(given or ())
            start = _with_headers(start, given)
        if terms is not None and not terms.migrated:
            self.envelope = LEGACY
            self.layer.served[terms.path][LEGACY] += 1
            given = [*given, _LEGACY_MARK]
        elif self.ours is not None and self.ours.status == status:
            return self._open(start, self._version_of(self.ours))
        elif status >= _FAILURES:
            return self._begin_failure(start)
        elif terms is not None:
            if given is not self.other_format and fields.announce_json(given):
                return self._begin_json(start, terms)
            # a cache must not give it to those who ask for an envelope
            given = _add_vary(given)
        return self._pass(start, given)

    def _begin_json(self, start: Message, terms: RouteTerms) -> Awaitable[None]:
        """A success that is not ours: what the framework makes of a value, or the answer of somebody else."""
        status, given = start["status"], start["headers"]
        is_packed = self.is_left and fields.are_packed_on_the_way(given)
        if not is_packed and fields.are_of_file(given):
            return self._pass(start, _add_vary(given))
        if self.is_left_to_the_framework:
            is_whole = status == _OK and self.scope["method"] in SAFE_METHODS
            is_whole = is_whole and (is_packed or fields.are_of_whole_body(given))
            return self._hold(start, Exchange._tag) if is_whole else self._open(start, self.left_version)
        if terms.is_foreign or status in _WITHOUT_WHOLE_BODY:
            return self._pass(start, _add_vary(given))
        return self._hold(start, Exchange._envelop)

    def _pass(self, start: Message, given: Fields) -> Awaitable[None]:
        """Let an answer go its way that has no choice of envelopes."""
        self._is_open = True
        passing = {**start, "headers": fields.forbid_guessing(given)}
        return self._send(passing) if self.allowance is None else self._pass_within_limits(passing)

    async def _pass_within_limits(self, start: Message) -> None:
        """The same for a caller who has limits; what failed to do its work costs nothing."""
        start["headers"] = [*start["headers"], *self.limit_fields(start["headers"])]
        if start["status"] >= _FAILURES:
            await self.layer.service.forgive(self)
        await self._send(start)

    async def _begin_failure(self, start: Message) -> None:
        given = start["headers"]
        if start["status"] == _CRASH and given is not self.other_format and not fields.announce_json(given):
            await self._hold(start, None)  # the exception that it is about follows
        elif self._keeps_legacy_failures:
            await self.layer.service.forgive(self)
            await self._open(start, LEGACY)
        else:
            await self._hold(start, Exchange._render_failure)

    async def _hold(self, start: Message, then: Callable[[Exchange], Awaitable[None]] | None) -> None:
        self.held = start
        self._reads_all = start["status"] < _FAILURES
        self._content = bytearray()
        self._then = then

    async def _collect(self, message: Message) -> None:
        """Take a part of what is held; what does not come in one piece goes its way, unless it must be read."""
        if self._reads_all or len(self._content) < LONGEST_ERROR:
            self._content += message.get("body", b"")
        if message["type"] != BODY or message.get("more_body", False):
            if self._is_streaming(message):
                await self._send_unchanged(message)
        elif self._then is not None:
            await self._then(self)

    def _is_streaming(self, message: Message) -> bool:
        if self._reads_all:
            return message["type"] != BODY or not self._is_whole
        is_long = message["type"] != BODY or len(self._content) >= LONGEST_ERROR
        return is_long and self._keeps_legacy_failures

    @property
    def _is_whole(self) -> bool:
        """Whether all of the body is here that was announced."""
        assert self.held is not None
        given = self.held["headers"]
        if self.is_left and fields.are_packed_on_the_way(given):
            return True
        return fields.find(given, b"content-length") == b"%d" % len(self._content)

    async def _tag(self) -> None:
        """A whole legacy answer with a tag of its own, or the news that the client has it already."""
        assert self.held is not None
        given: Fields = list(self.held["headers"])
        tag = fields.find(given, b"etag")
        if not tag and self._is_whole:
            tag = fields.tag_of(fields.without_gzip_time(self._content))
            given.append((b"etag", tag))
        if tag and self._client_has(tag):
            kept = [*fields.without_body_fields(given), (b"etag", tag)]
            await self._emit(NOT_MODIFIED, kept, b"", self.left_version)
        else:
            await self._emit(_OK, given, bytes(self._content), self.left_version)

    async def _envelop(self) -> None:
        """The success that is held, in the shape that was negotiated, unless it is in an envelope already."""
        assert self.held is not None
        status, given = self.held["status"], self.held["headers"]
        encoding = fields.find(given, b"content-encoding")
        try:
            size = math.inf if encoding else len(self._content)
            data = await run_by_size("fit", size, _read_json, bytes(self._content) if self._is_whole else b"", encoding)
            self.insist_on_json()
        except ContractError:
            await self._send_unchanged()
        except HttpRefusal as refusal:
            await self.respond(refusal, self.send, status=refusal.status, given=given)
        else:
            if try_read(data) is not None:
                await self._send_unchanged()
            else:
                await self.respond(self._reply_of(data), self.send, status=status, given=given)

    def _reply_of(self, data: Any) -> Reply[Any]:
        """The reply that JSON is which may be in the shape of the route's handler, or in another one."""
        said = self._read(data)
        return said if isinstance(said, Reply) else Reply(data if isinstance(said, BaseException) else said)

    async def _render_failure(self) -> None:
        """The failure that is held, in the shape that was negotiated."""
        assert self.held is not None
        status, given = self.held["status"], self.held["headers"]
        problem = read_problem(
            status, dict(given), bytes(self._content), is_meant=self.is_meant, may_repeat=self.may_repeat
        )
        done = await self.layer.service.answer(Reply.failed(problem), self, self.describe_call())
        await self._fail(done.reply, status, given)

    async def finish(self) -> None:
        """The application is done and nobody raised: what is still held was meant as it is."""
        if not self._is_open:
            await (self._send_unchanged() if self._keeps_legacy_failures or self._reads_all else self._render_failure())

    async def answer_error(self, error: Exception) -> bool:
        """Answer for an exception that nobody caught; False when the server has to deal with it."""
        if self._is_open or (self.terms is not None and not self.terms.migrated):
            return False
        told = blame_handler(error) if self.is_checked else error
        reply = (await self.layer.service.answer(told, self, self.describe_call())).reply
        if self._keeps_legacy_failures and self.held is not None and not isinstance(error, ReplyError):
            await self._send_unchanged()  # legacy callers see what they always saw
        else:
            await self._fail(reply, None, self.held["headers"] if self.held else [])
        return True

    async def _send_unchanged(self, latest: Message | None = None) -> None:
        """Send what is held as it is; after the `latest` message the rest will pass."""
        assert self.held is not None
        if self._then is Exchange._envelop:
            await self._pass(self.held, _add_vary(self.held["headers"]))
        else:
            await self._open(self.held, self.left_version)
        if latest is None or latest["type"] == BODY:
            await self._send({"type": BODY, "body": bytes(self._content), "more_body": latest is not None})
        else:
            await self._send(latest)

    async def _fail(self, reply: Reply[Any], status: int | None, given: Fields) -> None:
        body = self._render_safely(reply, status)
        self._observe(reply, body)
        found = fields.without_body_fields(given)
        found += self.fields_of(reply) + body.fields
        await self._emit(body.status, found, body.content, self._version_of(body))

    async def _emit(self, status: int, given: Fields, content: bytes, version: Version | None) -> None:
        await self._open({"type": START, "status": status, "headers": given}, version)
        await self._send({"type": BODY, "body": content})

    def _open(self, start: Message, version: Version | None) -> Awaitable[None]:
        """Send the head of an answer with what every answer on a migrated route says."""
        self._is_open = True
        self.envelope = version or "problem"
        self.layer.served[self.terms.path if self.terms else ""][self.envelope] += 1
        return self._send(_with_headers(start, self.with_standard_fields(start["headers"], version)))

    # what a handler answers

    def is_envelope(self, value: Any) -> bool:
        """Whether a handler answers in an envelope, and its contract names one: else it is what its callers know."""
        if is_own(value):
            return try_read(value) is not None
        speaker = self.layer.service.named
        if speaker is None:
            return False
        if isinstance(value, dict):
            return try_read(value, None if speaker.is_older(value) else speaker) is not None
        # an object of one's own that has the members is opened when it is written
        names = getattr(type(value), "model_fields", None) or getattr(type(value), "__dataclass_fields__", {})
        return bool(names) and names.keys() >= set(speaker.slim.get("required", names))

    def leave_alone(self, body: bytes | memoryview) -> None:
        """Know of which envelope a body is that a handler has made itself, and that stays as it is."""
        self.is_left = True
        speaker, held = self.layer.speakers[CURRENT], bytes(body)
        required = speaker.slim.get("required", ())
        if not required or not all(f'"{name}"'.encode() in held for name in required):
            return  # most answers are told by this, and need not be read
        try:
            data = loads(held)
        except ContractError:
            return
        if isinstance(data, dict) and speaker.recognises(data) and try_read(data) is not None:
            self.left_version = CURRENT

    def enter(self, terms: RouteTerms | None, scope: Scope) -> None:
        """Begin with a handler, whose terms are these if they are known; raise what must be said before it runs.

        `scope` is what the handler gets.
        """
        self.handler_scope, scope = scope, self.scope
        if terms is not None:
            self.terms = terms
        if scope["query_string"] or scope["method"] not in SAFE_METHODS or self.versions.schedule is not None:
            self.admit(self.terms)  # whatever another request is refused for depends on the answer
            if scope["query_string"] and scope["method"] not in SAFE_METHODS:
                self.layer.service.check(self)

    def insist_on_json(self, given: Fields | None = None) -> None:
        """Raise unless the client takes the JSON that there is, in an envelope that there is, or as it is `given`."""
        choice = self.choice
        if (choice.refusal is None and choice.acceptable) or self.is_passing:
            return
        own = fields.find(given or [], b"content-type").partition(b";")[0].strip().decode("latin-1")
        if choice.refusal is not None or not (self.is_left_alone and self.takes(own)):
            raise choice.refusal or self.not_acceptable(self.terms)

    async def respond(
        self, outcome: Any, send: Send, *, status: int | None = None, given: Fields | None = None
    ) -> None:
        """Answer with a handler's outcome, through whatever stands between the handler and this layer."""
        has_failed = isinstance(outcome, BaseException)
        done = await self.layer.service.answer(self._read(outcome), self, self.describe_call())
        reply, json = done.reply, done.json
        self._take_id_of(reply)
        body = self._render_safely(reply, status if has_failed or reply.problem is None else None, json)
        found = fields.without_body_fields(given) if given else []
        if self.terms is not None and self.terms.shapes.headers is not None and reply.problem is None:
            said = self.terms.shapes.headers(outcome, done, self.handler_scope)
            found += [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in said.items()]
        told = self.fields_of(reply)
        if body.status == _OK and self.scope["method"] in SAFE_METHODS:
            own = fields.find(given, b"etag") if given else b""
            kind = f"{self.version}-{body.media_type}" if own else ""
            if own:
                tag = fields.own_entity_tag(own, kind)
            elif self.layer.speakers[self.version].needs:
                tag = fields.entity_tag(reply, f"{self.version} {body.media_type}", json)
            else:
                tag = fields.tag_of(body.content)  # nothing in it is of this request alone
            found.append((b"etag", tag))
            if b"if-none-match" in self.headers and self._client_has(tag):
                body = Body(NOT_MODIFIED, body.media_type, b"")
        found += told + body.fields
        self.ours = body
        self._observe(reply, body)
        await send({"type": START, "status": body.status, "headers": found})
        await send({"type": BODY, "body": body.content})

    def _take_id_of(self, reply: Reply[Any]) -> None:
        """Let the field say what the body says, whose author may have chosen an id."""
        own = reply.request_id if self.version == CURRENT else None
        if own is not None and own != self.request_id and accept_request_id(own) is not None:
            self.request_id = own

    def _read(self, outcome: Any) -> Any:
        """The handler's value as its route reads it."""
        terms = self.terms
        reader = terms.shapes.reply if terms is not None else None
        if self.version == LEGACY or reader is None or isinstance(outcome, (Reply, ResumablePage, BaseException)):
            return outcome
        try:
            return reader(outcome)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return error

    def _render_safely(self, reply: Reply[Any], status: int | None, json: bytes | None = None) -> Body:
        """The reply as it was negotiated; one that cannot be written becomes a failure that can."""
        try:
            return self._render(reply, status, json)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            problem = problem_of(error, request_id=self.request_id, may_repeat=self.may_repeat)
            failed = Reply.failed(problem, request_id=self.request_id)
            operation = self.terms.operation if self.terms else self.scope["path"]
            return self._render(self.layer.speakers[self.version].complete(failed, operation=operation), None)

    def _render(self, reply: Reply[Any], status: int | None, json: bytes | None = None) -> Body:
        media_type = JSON if self.is_passing else self.choice.media_type
        if reply.problem is not None and self.tells_problems:
            return render(reply, self.layer.problem, media_type, status)
        if self.writer is not None and reply.problem is None:
            reply, json = reply.replace(data=self.writer(reply)), None
        return render(reply, self.layer.speakers[self.version], media_type, status, json)

    @property
    def tells_problems(self) -> bool:
        """Whether a failure is told as problem details."""
        return self.choice.as_problem and not self.is_passing

    @property
    def is_passing(self) -> bool:
        """Whether the route is not migrated, so that what it answers passes."""
        return self.terms is not None and not self.terms.migrated

    def _version_of(self, body: Body) -> Version | None:
        """Problem details are no envelope."""
        return None if body.media_type == self.layer.problem.media_type else self.version

    def attach_recorder(self) -> SendRecorder:
        """What sees from now on what is sent."""
        self._send = recorder = SendRecorder(self._send)
        return recorder

    def _observe(self, reply: Reply[Any], body: Body) -> None:
        if self.observation is not None:
            self.observation.report_reply(reply, dialect=self.layer.speakers[self.version].name, size=len(body.content))

    def _client_has(self, tag: bytes) -> bool:
        wanted = self.headers.get(b"if-none-match")
        return wanted is not None and fields.matches_tag(wanted, tag)

    @property
    def _takes_offset(self) -> bool:
        """Whether this request could have an offset in its query, as far as the parameters of its route are known."""
        terms = self.terms
        if terms is None or self.scope["method"] not in SAFE_METHODS:
            return False
        return "offset" in terms.parameters or terms.controls.issuperset(terms.parameters)

    def limit_fields(self, given: Fields) -> Fields:
        """What is left of the caller's limits, unless the answer says it itself."""
        if fields.find(given, b"ratelimit"):
            return []
        told: Reply[Any] = Reply(rate_limit=self.allowance.rate_limit)
        return fields.of_reply(told, "", self.versions.clock, older=self.versions.rate_limit_headers)

    def with_standard_fields(self, given: Fields, version: Version | None) -> Fields:
        """The fields of an answer, with what every answer on a migrated route says."""
        names = dict(given)
        found = _add_vary(given if _STAMPS.isdisjoint(names) else [pair for pair in given if pair[0] not in _STAMPS])
        if version == LEGACY and self.choice.media_type != JSON:
            found = fields.replace_content_type(found, self.choice.media_type)
        if fields.NOSNIFF[0] not in names:
            found.append(fields.NOSNIFF)
        found.append((b"x-request-id", self.request_id.encode()))
        if version is not None:
            found.append(MARKS[version])
        if self.client_tag is not None:
            found.append((b"x-client-tag", self.client_tag.encode()))
        if self.allowance is not None and self.ours is None:
            found += self.limit_fields(given)
        if self.observation is not None and self.observation.traceparent:
            found.append((b"traceparent", self.observation.traceparent.encode()))
        if self.ours is not None and self.ours.status == _GONE and self.choice.refusal is not None:
            found.append(
                (b"link", f'<{fields.link_to(self.target, envelope=CURRENT)}>; rel="successor-version"'.encode())
            )
        if version == LEGACY and self.versions.schedule is not None and self.versions.stage != "before":
            found += self.versions.schedule.headers(fields.link_to(self.target, envelope=CURRENT))
        if b"access-control-allow-origin" in names:
            exposed = fields.join_words(fields.find(given, b"access-control-expose-headers"), fields.EXPOSED)
            found.append((b"access-control-expose-headers", exposed))
        return found

    def fields_of(self, reply: Reply[Any]) -> Fields:
        """What a reply says in fields."""
        delay = None if reply.problem is None else reply.problem.retry_after
        if delay is None and reply.rate_limit is None and reply.page is None:
            return []
        versions, by_offset = self.versions, reply.page is not None and self._takes_offset
        # a link is followed with a GET, which does not lead to the next page of anything else
        told = reply if self.scope["method"] in SAFE_METHODS else reply.replace(page=None)
        target = "" if told.page is None else self.target
        return fields.of_reply(told, target, versions.clock, older=versions.rate_limit_headers, by_offset=by_offset)


def _read_json(content: bytes, encoding: bytes) -> Any:
    return loads(unpack(content, encoding, _LONGEST_UNPACKED) or b"")


def _add_vary(given: Fields) -> Fields:
    """Fields that say on what an answer with envelopes depends, besides what they say already."""
    for name, _ in given:
        if name == b"vary":
            break
    else:
        return [*given, _VARY_ALONE]
    vary = b", ".join([value for name, value in given if name == b"vary"])
    return [*(pair for pair in given if pair[0] != b"vary"), (b"vary", fields.join_words(vary, _VARY))]


def _with_headers(start: Message, given: Fields) -> Message:
    """The head of an answer with other fields; the application may use its own again."""
    head = dict(start)
    head["headers"] = given
    return head
