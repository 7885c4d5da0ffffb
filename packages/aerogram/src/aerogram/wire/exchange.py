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
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from aerogram.dialects import dialect as dialect_named
from aerogram.dialects import spoken
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError, ReplyError
from aerogram.faults import problem_of
from aerogram.jsontext import loads
from aerogram.normalize.signals import contained
from aerogram.paged import Paged
from aerogram.reply import Reply
from aerogram.wire import headers as fields
from aerogram.wire.clerk import Clerk
from aerogram.wire.headers import Fields
from aerogram.wire.http import LONGEST_ERROR, Body, read_problem, render, uncompressed
from aerogram.wire.intake import refuse_loose
from aerogram.wire.negotiation import CURRENT, JSON, LEGACY, Refused, Version, Versions
from aerogram.wire.request import SAFE_METHODS, Scope, lazy
from aerogram.wire.routes import Directory, Terms, Usage
from aerogram.wire.stamps import MARKS, Stamped
from aerogram.wire.witness import Witness

__all__ = ["EXCHANGE", "Exchange", "Layer"]

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
_NOT_MODIFIED: Final = 304
_FAILURES: Final = 400
_CRASH: Final = 500
_NO_LIMIT: Final = 0
_WITHOUT_WHOLE_BODY: Final = frozenset({204, 205, 206, *range(300, 400)})
_LEGACY_MARK: Final = MARKS[LEGACY]


class Layer:
    """The outermost part of an application.

    The `directory` knows the routes, the `clerk` makes replies; `gone` are the exceptions that say that the client has
    left.
    """

    def __init__(
        self,
        app: App,
        versions: Versions,
        directory: Directory,
        clerk: Clerk,
        *,
        usage: Usage,
        gone: tuple[type[Exception], ...] = (),
    ) -> None:
        self.app = app
        self.versions = versions
        self.terms_of = directory.terms_of
        self.own_terms_of = directory.own_terms_of
        self.clerk = clerk
        self.served = usage.by_path
        self.gone = gone
        self.problem = dialect_named(versions.problem)
        self.speakers: dict[Version, Dialect] = {
            LEGACY: dialect_named(versions.legacy),
            CURRENT: dialect_named(versions.current),
        }
        self._follow = self._observe if clerk.is_observed else self._see_through

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Let the application answer a request, and see to it that it does."""
        if scope["type"] != "http":
            return self.app(scope, receive, send)
        exchange = Exchange(self, scope, send)
        if EXCHANGE in scope:
            exchange.stand_inside(scope[EXCHANGE])
        scope[EXCHANGE] = exchange
        return self._follow(exchange, receive if scope["method"] in SAFE_METHODS else refuse_loose(receive, exchange))

    async def _observe(self, exchange: Exchange, receive: Receive) -> None:
        with self.clerk.observed(exchange) as exchange.observation:
            witness = exchange.witnessed()
            try:
                await self._see_through(exchange, receive)
            except Exception:
                exchange.tell(witness, _CRASH)
                raise
            exchange.tell(witness)

    async def _see_through(self, exchange: Exchange, receive: Receive) -> None:
        scope = exchange.scope
        try:
            await self.app(scope, receive, exchange.send)
        except self.gone:
            log.debug("the client of %s has left", scope["path"])
        except Exception as error:
            if not await exchange.crash(error):
                raise
        except BaseException as error:
            if not await exchange.crash(contained(error)):
                raise contained(error) from error
        else:
            if exchange.held is not None:
                await exchange.finish()
        finally:
            if exchange.inner is not None:
                exchange.inner = None
            if exchange.outer is None:
                scope.pop(EXCHANGE, None)  # the two know each other, and would wait for the garbage collector
            else:
                scope[EXCHANGE] = exchange.outer


class Exchange(Stamped):
    """A request, and what becomes of the messages that answer it."""

    settled: Reply[Any] | None = None
    """A reply that is finished before its handler returns it."""
    other_format: Fields | None = None
    """The fields of a response that are known to announce something other than JSON."""
    outer: Exchange | None = None
    """That of the application in which this one is mounted, where both have the layer."""
    held: Message | None = None
    """The head of an answer that waits here."""
    _is_told = False
    _is_open = False
    _content: bytearray
    _reads_all = False
    """Whether what is held is a success, which flows unless it is there at once."""
    _then: Callable[[Exchange], Awaitable[None]] | None = None

    def __init__(self, layer: Layer, scope: Scope, send: Send) -> None:
        self.scope = scope
        self.root = scope.get("root_path", "")
        self.versions = layer.versions
        self.started = time.perf_counter()
        self.layer = layer
        self._send = send

    def stand_inside(self, outer: Exchange) -> None:
        """Answer in the place of another exchange, which lets everything pass."""
        self.outer = outer
        outer._is_open = outer._is_told = True

    @lazy
    def terms(self) -> Terms | None:
        """What holds for the route of this request; None when there is no such route."""
        return self.layer.terms_of(self.reached, self.root)

    @lazy
    def version(self) -> Version:
        """The envelope of the answer: a route that is not migrated has only one."""
        return LEGACY if self.terms is not None and not self.terms.migrated else self.choice.version

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
            start = _headed(start, given)
        if terms is not None and not terms.migrated:
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
            given = fields.varying(given)
        self._is_open = True  # as `_pass` has it, for one call less
        passing = {**start, "headers": given}
        return self._send(passing) if self.allowance is None else self._pass_within_limits(passing)

    def _begin_json(self, start: Message, terms: Terms) -> Awaitable[None]:
        """A success that is not ours: what the framework makes of a value, or the answer of somebody else."""
        status, given = start["status"], start["headers"]
        if fields.are_of_file(given):
            return self._pass(start, fields.varying(given))
        if self.is_left_to_the_framework:
            is_whole = status == _OK and self.scope["method"] in SAFE_METHODS and fields.are_of_whole_body(given)
            return self._hold(start, Exchange._tag) if is_whole else self._open(start, LEGACY)
        if terms.is_foreign or status in _WITHOUT_WHOLE_BODY:
            return self._pass(start, fields.varying(given))
        return self._hold(start, Exchange._envelop)

    def _pass(self, start: Message, given: Fields) -> Awaitable[None]:
        """Let an answer go its way that has no choice of envelopes."""
        self._is_open = True
        passing = {**start, "headers": given}
        return self._send(passing) if self.allowance is None else self._pass_within_limits(passing)

    async def _pass_within_limits(self, start: Message) -> None:
        """The same for a caller who has limits; what failed to do its work costs nothing."""
        start["headers"] = [*start["headers"], *self.limit_fields(start["headers"])]
        if start["status"] >= _FAILURES:
            await self.layer.clerk.forgive(self)
        await self._send(start)

    async def _begin_failure(self, start: Message) -> None:
        given = start["headers"]
        if start["status"] == _CRASH and given is not self.other_format and not fields.announce_json(given):
            await self._hold(start, None)  # the exception that it is about follows
        elif self._keeps_legacy_failures:
            await self.layer.clerk.forgive(self)
            await self._open(start, LEGACY)
        else:
            await self._hold(start, Exchange._say_again)

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
            if self._flows(message):
                await self._let_go(message)
        elif self._then is not None:
            await self._then(self)

    def _flows(self, message: Message) -> bool:
        if self._reads_all:
            return message["type"] != BODY or not self._is_whole
        is_long = message["type"] != BODY or len(self._content) >= LONGEST_ERROR
        return is_long and self._keeps_legacy_failures

    @property
    def _is_whole(self) -> bool:
        """Whether all of the body is here that was announced."""
        assert self.held is not None
        return fields.find(self.held["headers"], b"content-length") == b"%d" % len(self._content)

    async def _tag(self) -> None:
        """A whole legacy answer with a tag of its own, or the news that the client has it already."""
        assert self.held is not None
        given: Fields = list(self.held["headers"])
        tag = fields.find(given, b"etag")
        if not tag and self._is_whole:
            tag = fields.tag_of(fields.lasting(self._content))
            given.append((b"etag", tag))
        if tag and self._client_has(tag):
            kept = [*fields.besides_body(given), (b"etag", tag)]
            await self._emit(_NOT_MODIFIED, kept, b"", LEGACY)
        else:
            await self._emit(_OK, given, bytes(self._content), LEGACY)

    async def _envelop(self) -> None:
        """The success that is held, in the shape that was negotiated, unless it is in an envelope already."""
        assert self.held is not None
        status, given = self.held["status"], self.held["headers"]
        encoding = fields.find(given, b"content-encoding").strip().lower()
        try:
            data = loads(uncompressed(bytes(self._content), encoding, _NO_LIMIT) if self._is_whole else b"")
            self.insist_on_json()
        except ContractError:
            await self._let_go()
        except Refused as refusal:
            await self.respond(refusal, self.send, status=refusal.status, given=given)
        else:
            if spoken(data) is not None:
                await self._let_go()
            else:
                await self.respond(self._reply_of(data), self.send, status=status, given=given)

    def _reply_of(self, data: Any) -> Reply[Any]:
        """The reply that JSON is which may be in the shape of the route's handler, or in another one."""
        said = self._read(data)
        return said if isinstance(said, Reply) else Reply(data if isinstance(said, BaseException) else said)

    async def _say_again(self) -> None:
        """The failure that is held, in the shape that was negotiated."""
        assert self.held is not None
        status, given = self.held["status"], self.held["headers"]
        problem = read_problem(status, dict(given), bytes(self._content))
        reply, _ = await self.layer.clerk.answer(Reply.failed(problem), self)
        await self._fail(reply, status, given)

    async def finish(self) -> None:
        """The application is done and nobody raised: what is still held was meant as it is."""
        if not self._is_open:
            await (self._let_go() if self._keeps_legacy_failures or self._reads_all else self._say_again())

    async def crash(self, error: Exception) -> bool:
        """Answer for an exception that nobody caught; False when the server has to deal with it."""
        if self._is_open or (self.terms is not None and not self.terms.migrated):
            return False
        reply, _ = await self.layer.clerk.answer(error, self)
        if self._keeps_legacy_failures and self.held is not None and not isinstance(error, ReplyError):
            await self._let_go()  # legacy callers see what they always saw
        else:
            await self._fail(reply, None, self.held["headers"] if self.held else [])
        return True

    async def _let_go(self, latest: Message | None = None) -> None:
        """Send what is held as it is; after the `latest` message the rest will pass."""
        assert self.held is not None
        if self._then is Exchange._envelop:
            await self._pass(self.held, fields.varying(self.held["headers"]))
        else:
            await self._open(self.held, LEGACY)
        if latest is None or latest["type"] == BODY:
            await self._send({"type": BODY, "body": bytes(self._content), "more_body": latest is not None})
        else:
            await self._send(latest)

    async def _fail(self, reply: Reply[Any], status: int | None, given: Fields) -> None:
        body = self._rendered(reply, status)
        self._observe(reply, body)
        found = fields.besides_body(given)
        await self._emit(body.status, found + self.fields_of(reply, body), body.content, self._version_of(body))

    async def _emit(self, status: int, given: Fields, content: bytes, version: Version | None) -> None:
        await self._open({"type": START, "status": status, "headers": given}, version)
        await self._send({"type": BODY, "body": content})

    def _open(self, start: Message, version: Version | None) -> Awaitable[None]:
        """Send the head of an answer with what every answer on a migrated route says."""
        self._is_open = True
        self.layer.served[self.terms.path if self.terms else ""][version or "problem"] += 1
        return self._send(_headed(start, self.stamped(start["headers"], version)))

    # what a handler answers

    def enter(self, terms: Terms | None, scope: Scope) -> None:
        """Begin with a handler, whose terms are these if they are known; raise what must be said before it runs.

        `scope` is what the handler gets.
        """
        if scope is not self.scope:
            self.reach(scope)
            scope = self.scope
        if terms is not None:
            self.terms = terms
        if scope["query_string"] or scope["method"] not in SAFE_METHODS or self.versions.schedule is not None:
            self.admit(self.terms)  # whatever another request is refused for depends on the answer
            if scope["query_string"] and scope["method"] not in SAFE_METHODS:
                self.layer.clerk.check(self)

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
        reply, json = await self.layer.clerk.answer(self._read(outcome), self)
        body = self._rendered(reply, status if has_failed or reply.problem is None else None, json)
        found = fields.besides_body(given) if given else []
        if body.status == _OK and self.scope["method"] in SAFE_METHODS:
            own = fields.find(given, b"etag") if given else b""
            kind = f"{self.version}-{body.media_type}" if own else ""
            tag = fields.own_entity_tag(own, kind) if own else self._tag_of(reply, body, json)
            found.append((b"etag", tag))
            if b"if-none-match" in self.headers and self._client_has(tag):
                body = Body(_NOT_MODIFIED, body.media_type, b"")
        self.ours = body
        if self.observation is not None:
            self._observe(reply, body)
        await send({"type": START, "status": body.status, "headers": found + self.fields_of(reply, body)})
        await send({"type": BODY, "body": body.content})

    def _read(self, outcome: Any) -> Any:
        """The handler's value as its route reads it."""
        terms = self.terms
        reader = terms.shapes.reply if terms is not None else None
        if reader is None or self.version == LEGACY or isinstance(outcome, (Reply, Paged, BaseException)):
            return outcome
        try:
            return reader(outcome)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return error

    def _rendered(self, reply: Reply[Any], status: int | None, json: bytes | None = None) -> Body:
        """The reply as it was negotiated; one that cannot be written becomes a failure that can."""
        try:
            return self._render(reply, status, json)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            failed = Reply.failed(problem_of(error, request_id=self.request_id), request_id=self.request_id)
            operation = self.terms.operation if self.terms else self.scope["path"]
            return self._render(self.layer.speakers[self.version].complete(failed, operation=operation), None)

    def _render(self, reply: Reply[Any], status: int | None, json: bytes | None = None) -> Body:
        media_type = JSON if self.is_passing else self.choice.media_type
        if reply.problem is not None and self.choice.as_problem and not self.is_passing:
            return render(reply, self.layer.problem, media_type, status)
        if self.writer is not None and reply.problem is None:
            reply, json = reply.replace(data=self.writer(reply)), None
        return render(reply, self.layer.speakers[self.version], media_type, status, json)

    @property
    def is_passing(self) -> bool:
        """Whether the route is not migrated, so that what it answers passes."""
        return self.terms is not None and not self.terms.migrated

    def _version_of(self, body: Body) -> Version | None:
        """Problem details are no envelope."""
        return None if body.media_type == self.layer.problem.media_type else self.version

    def witnessed(self) -> Witness:
        """What sees from now on what is sent."""
        self._send = witness = Witness(self._send)
        return witness

    def tell(self, witness: Witness, status: int | None = None) -> None:
        """Let a witness tell of an answer that nobody has told of."""
        if not self._is_told:
            witness.tell(self.observation, status)

    def _observe(self, reply: Reply[Any], body: Body) -> None:
        if self.observation is not None:
            self._is_told = True
            self.observation.sent(reply, dialect=self.layer.speakers[self.version].name, size=len(body.content))

    def _tag_of(self, reply: Reply[Any], body: Body, json: bytes | None) -> bytes:
        if not self.layer.speakers[self.version].needs:
            return fields.tag_of(body.content)  # nothing in it is of this request alone
        return fields.entity_tag(reply, f"{self.version} {body.media_type}", json)

    def _client_has(self, tag: bytes) -> bool:
        wanted = self.headers.get(b"if-none-match")
        return wanted is not None and fields.successful_match(wanted, tag)


def _headed(start: Message, given: Fields) -> Message:
    """The head of an answer with other fields; the application may use its own again."""
    head = dict(start)
    head["headers"] = given
    return head
