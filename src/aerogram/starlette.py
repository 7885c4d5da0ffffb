"""Starlette: `install(app)`, and every answer keeps the contract.

A handler may return any value, a `Reply` or a response, and may raise anything. Its own value is what is
normalised; a layer around the whole application does the rest.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from aerogram.clerk import ContractClerk, Principal
from aerogram.contract import Call, Contract
from aerogram.controls import CONTROLS
from aerogram.dialects import dialect as dialect_named
from aerogram.errors import ContractError, InvalidReply, MissingExtra, ReplyError
from aerogram.hosts import insist_on
from aerogram.jsontext import loads
from aerogram.reply import Reply
from aerogram.spelling import strays
from aerogram.wire.exchange import EXCHANGE, App, Clerk, Exchange, Layer, Receive, Send
from aerogram.wire.headers import Fields, announce_json, find
from aerogram.wire.legacy import from_health, from_offset_page
from aerogram.wire.negotiation import Versions
from aerogram.wire.openapi import document
from aerogram.wire.request import SAFE_METHODS, Scope
from aerogram.wire.routes import CONTENT, Directory, Entry, Terms, Usage, chosen, shapes, shapes_of
from aerogram.wire.schedule import Schedule

try:
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.concurrency import run_in_threadpool
    from starlette.endpoints import HTTPEndpoint
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Host, Mount, Route, compile_path, request_response
except ImportError:
    raise MissingExtra("starlette", "starlette") from None

__all__ = ["Installation", "Schedule", "Versions", "from_health", "from_offset_page", "install", "shapes"]

log = logging.getLogger("aerogram")

Handler = Callable[[Request], Any]
Entries = Callable[[Iterable[BaseRoute], Versions, str], Iterator[Entry]]

_METHODS: Final = ("get", "head", "post", "put", "patch", "delete", "options")
_WITHOUT_BODY: Final = frozenset({204, 304})
_REDIRECTS: Final = 300
_BOUNDS: Final = {
    name: {word: told[word] for word in ("enum", "minimum", "maximum") if word in told}
    for name, told in CONTROLS.items()
}
_YES: Final = frozenset({"true", "1", "yes", "on"})


def principal_of(scope: Scope) -> str | None:
    """Who asks, as Starlette's authentication has found out."""
    user = scope.get("user")
    if not getattr(user, "is_authenticated", False):
        return None
    try:
        return str(user.identity)  # type: ignore[union-attr]  # an authenticated user is not None
    except NotImplementedError:
        return str(user.display_name)  # type: ignore[union-attr]


class Installation:
    """What `install` has put around an application: the counts of each envelope's use, and its documentation."""

    def __init__(self, contract: Contract, versions: Versions, entries: Callable[[], Iterator[Entry]]) -> None:
        self.versions = versions
        self.usage = Usage()
        self._contract = contract
        self._entries = entries

    def has(self, path: str) -> bool:
        """Whether the application has a route with this path template."""
        return any(entry.terms.path == path for entry in self._entries())

    def document(self, schema: dict[str, Any]) -> dict[str, Any]:
        """An OpenAPI document of the application, with every shape and error of its migrated routes."""
        return document(schema, self.versions, self._entries(), self._has_budget, _BOUNDS)

    def check_names(self) -> None:
        """Say of which routes the settings speak that are not there, now that all routes are known."""
        entries = list(self._entries())
        found = [*strays(self._contract.named, {one.terms.operation for one in entries}, "operation")]
        if self.versions.migrated != "all":
            paths = {one.terms.path for one in entries}
            known = paths | {f"{method} {one.terms.path}" for one in entries for method in one.methods or ()}
            found += strays({"migrated": self.versions.migrated}, known, "route")
        for stray in found:
            log.warning("%s", stray)

    def _has_budget(self, operation: str) -> bool:
        return self._contract.limit(Call(operation=operation)) is not None


def install(
    app: Starlette,
    contract: Contract | None = None,
    versions: Versions | None = None,
    *,
    principal: Principal = principal_of,
    content: str | None = CONTENT,
) -> Installation:
    """Make every answer of an application keep the contract.

    `versions` says which routes have both envelopes and how they are negotiated; the dialect of the contract does not
    matter here, because each version has its own. What replies left out is served at `content` when the contract has
    an archive; None leaves that route out. Call it before the application has started.
    """
    insist_on("starlette", app)
    return surround(app, contract or Contract(), versions or Versions(), principal, entries_of, content, _add_content)


def _add_content(app: Starlette, address: str) -> None:
    async def retrieve(request: Request) -> Reply[Any]:
        """What a reply left out, by its hash."""
        asked = request.query_params
        ids = [name for given in asked.getlist("ids") for name in given.split(",") if name]
        as_text = asked.get("as_text", "").lower() in _YES
        exchange: Exchange = request.scope[EXCHANGE]
        return await exchange.layer.clerk.retrieve(
            exchange, request.path_params["hash"], ids=ids, path=asked.get("path", ""), as_text=as_text
        )

    # before all others, because one of them may take every path
    app.router.routes.insert(0, Route(address, shapes(controls=True)(retrieve)))


def surround(
    app: Starlette,
    contract: Contract,
    versions: Versions,
    principal: Principal,
    entries: Entries,
    content: str | None,
    add_content: Callable[[Any, str], None],
) -> Installation:
    """Put the layer around an application when it starts, and hook its handlers."""
    if hasattr(app.state, "aerogram"):
        raise InvalidReply("this application has Aerogram already: install it once")
    if app.middleware_stack is not None:
        raise InvalidReply("install before the application has started")
    for name in (versions.legacy, versions.current, versions.problem):
        dialect_named(name)
    chosen(versions.controls)
    if content is not None and contract.archive is not None:
        contract, versions = replace(contract, retrieve=content), versions.with_migrated(content)
    installed = app.state.aerogram = Installation(contract, versions, lambda: entries(app.routes, versions, ""))
    if contract.retrieve == content is not None and not installed.has(content):
        add_content(app, content)
    build = app.build_middleware_stack

    def build_inside_the_layer() -> App:
        contract.prepare()
        clerk = ContractClerk(contract, versions, principal, Response)
        directory = Directory(entries(app.routes, versions, ""))
        for entry in directory.entries:
            installed.usage.expect(entry.terms.path)
            entry.hook(clerk, directory.own_terms_of(entry))
        installed.check_names()
        for part in (app, *_applications_in(app.routes)):
            part.exception_handlers.setdefault(ReplyError, _declared)
        return Layer(build(), versions, directory.terms_of, clerk, usage=installed.usage, gone=(ClientDisconnect,))

    app.build_middleware_stack = build_inside_the_layer  # type: ignore[method-assign]
    return installed


def _applications_in(routes: Iterable[BaseRoute]) -> Iterator[Starlette]:
    """The applications that are mounted in another one; each handles the exceptions of its own routes."""
    for part in routes:
        if isinstance(part, (Mount, Host)):
            inner: Any = part.app
            while not isinstance(inner, Starlette) and hasattr(inner, "app"):
                inner = inner.app
            if isinstance(inner, Starlette):
                yield inner
            yield from _applications_in(part.routes)


async def _declared(request: Request, error: Exception) -> Response:
    """A declared error is an answer like any other."""
    return Answer(request.scope[EXCHANGE], error, status=getattr(error, "status", None))


class Answer(Response):
    """A handler's outcome, on its way to be said in the envelope that was negotiated."""

    def __init__(
        self,
        exchange: Exchange,
        outcome: Any,
        *,
        status: int | None = None,
        given: Fields | None = None,
        background: BackgroundTask | None = None,
        prepare: Callable[[Any], Awaitable[Any]] | None = None,
    ) -> None:
        self.status_code = status or 200
        self.raw_headers = given or []
        self.body = b""
        self.background = background
        self._exchange = exchange
        self._outcome = outcome
        self._status = status
        self._prepare = prepare

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI has it
        """Say it."""
        outcome = self._outcome if self._prepare is None else await self._prepare(self._outcome)
        await self._exchange.respond(outcome, send, status=self._status, given=self.raw_headers)
        if self.background is not None:
            await self.background()


def answer_to(exchange: Exchange, value: Any) -> Response:
    """The response for what a handler returned: its own response, unless that is JSON in the old shape."""
    if not isinstance(value, Response):
        exchange.insist_on_json()
        return Answer(exchange, value)
    if not announce_json(value.raw_headers):
        exchange.other_format = value.raw_headers
        return value
    if exchange.is_passing or not _is_whole_success(value):
        return value
    exchange.insist_on_json()
    if exchange.is_left_alone:
        return value
    try:
        data = loads(value.body)
    except ContractError:
        return value
    return Answer(exchange, data, status=value.status_code, given=value.raw_headers, background=value.background)


def _is_whole_success(response: Response) -> bool:
    """Whether a response is a success with a body that is already there."""
    return (
        response.status_code < _REDIRECTS
        and response.status_code not in _WITHOUT_BODY
        and bool(getattr(response, "body", b""))
        and not find(response.raw_headers, b"content-encoding")
    )


# routes


def entries_of(routes: Iterable[BaseRoute], versions: Versions, prefix: str) -> Iterator[Entry]:
    """The routes of an application, those inside of mounted parts too."""
    for route in routes:
        if isinstance(route, Route):
            yield entry_of(route, versions, prefix)
        elif isinstance(route, (Mount, Host)):
            yield from entries_inside(route, versions, prefix, entries_of)


def entries_inside(part: Mount | Host, versions: Versions, prefix: str, entries: Entries) -> Iterator[Entry]:
    """What is mounted: its routes, or, of an application that shows none, the whole of it."""
    path = prefix + part.path if isinstance(part, Mount) else prefix
    if part.routes:
        yield from entries(part.routes, versions, path)
    else:
        terms = Terms(path, part.name or path, versions.migrates(path, ()))
        yield Entry(terms, compile_path(path + "/{path:path}")[0], None, (part,), lambda *_: None)


def entry_of(route: Route, versions: Versions, prefix: str) -> Entry:
    """One route."""
    pattern, path, _ = compile_path(prefix + route.path)
    is_migrated = versions.migrates(path, route.methods or ())
    own = shapes_of(route.endpoint)
    terms = Terms.of(path, route.name, own, migrated=is_migrated, controls=versions.controls)
    return Entry(terms, pattern, route.methods, (route,), functools.partial(_hook, route))


def _hook(route: Route, clerk: Clerk, terms: Terms | None) -> None:
    """Stand between a handler and its framework, inside of the route's own middleware."""
    endpoint = route.endpoint
    hook = functools.partial(_Hook if terms is None or terms.migrated else _PassingHook, clerk, terms)
    if inspect.isclass(endpoint) and issubclass(endpoint, HTTPEndpoint):
        hooked: App = _hooked_class(endpoint, hook)
    elif inspect.isroutine(endpoint) or isinstance(endpoint, functools.partial):
        hooked = hook(endpoint).serve
    else:
        return
    holder: Any = route
    while callable(getattr(holder.app, "app", None)) and holder.app is not endpoint:
        holder = holder.app
    holder.app = hooked


def _hooked_class(endpoint: type[HTTPEndpoint], hook: Callable[[Handler], _Hook]) -> type[HTTPEndpoint]:
    """A class whose methods are hooked."""

    def hooked(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def answer(self: HTTPEndpoint, request: Request) -> Response:
            return await hook(functools.partial(method, self)).answer(request)

        return answer

    methods = {name: hooked(getattr(endpoint, name)) for name in _METHODS if hasattr(endpoint, name)}
    return type(endpoint.__name__, (endpoint,), methods)


class _Hook:
    """What stands between a handler and its framework, so that its value is answered as it was negotiated.

    `terms` are those of its route; None where several routes share it.
    """

    def __init__(self, clerk: Clerk, terms: Terms | None, handler: Handler) -> None:
        self._terms = terms
        self._call = _called(clerk, handler)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Be to a router what `request_response` makes of a handler, with nothing between a response and its messages.

        That function watches every message, to handle what the response itself raises; so does the application's own
        middleware. What the handler raises goes the way that it goes there.
        """
        request = Request(scope, receive, send)
        try:
            exchange: Exchange = scope[EXCHANGE]
            exchange.enter(self._terms)
            response = self._leave(exchange, await self._call(request), request)
        except Exception as error:  # noqa: BLE001 - it is raised again where it is handled
            await self._raised(error, request)(scope, receive, send)
        else:
            await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """Answer a request for a method of a class."""
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.enter(self._terms)
        try:
            value = await self._call(request)
        except Exception as error:
            await self._blame(error, request)
            raise
        return self._leave(exchange, value, request)

    def _leave(self, exchange: Exchange, value: Any, request: Request) -> Response:
        """The response for what the handler returned."""
        if exchange.scope["method"] not in SAFE_METHODS:
            exchange.body = getattr(request, "_body", None)
        return answer_to(exchange, value)

    def _raised(self, error: Exception, request: Request) -> App:
        """An exception, raised to the handlers that the application has for it, with what of the request was read."""

        async def raising(again: Request) -> Response:
            vars(again).update(vars(request))
            await self._blame(error, again)
            raise error

        return request_response(raising)

    async def _blame(self, error: Exception, request: Request) -> None:
        """Raise that the body is not JSON, if that is what went wrong."""
        if isinstance(error, (ValueError, RecursionError)):
            await _blame_the_body(request, error)


class _PassingHook(_Hook):
    """One whose responses pass, and whose values are answered in the legacy shape."""

    def _leave(self, exchange: Exchange, value: Any, request: Request) -> Response:  # noqa: ARG002 - as above
        return value if isinstance(value, Response) else Answer(exchange, value)

    async def _blame(self, error: Exception, request: Request) -> None:
        """Say nothing more than the handler does."""


def _called(clerk: Clerk, handler: Handler) -> Callable[[Request], Awaitable[Any]]:
    """What a handler returns, within the caller's limits, or what the cache holds for it."""
    call: Handler = handler if _is_async(handler) else functools.partial(run_in_threadpool, handler)  # type: ignore[call-arg]
    if clerk.is_idle:
        return call

    async def within_limits(request: Request) -> Any:
        exchange: Exchange = request.scope[EXCHANGE]
        await clerk.admit(exchange)
        return await clerk.run(exchange, functools.partial(call, request))

    return within_limits


def _is_async(handler: Callable[..., Any]) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler)


async def _blame_the_body(request: Request, error: Exception) -> None:
    """Raise that the body is not JSON, if that is what went wrong."""
    if not hasattr(request, "_body") or hasattr(request, "_json"):
        return
    try:
        json.loads(await request.body())
    except (ValueError, RecursionError) as same:
        if (type(same), str(same)) != (type(error), str(error)):
            return
        raise ReplyError(
            "The body of the request is not JSON",
            code="INVALID_FORMAT",
            remediation="Send well-formed JSON in UTF-8",
            details={"field": "body"},
        ) from error
