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
from aerogram.wire.exchange import EXCHANGE, App, Exchange, Layer, Receive, Send
from aerogram.wire.headers import Fields, find, is_json
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
Hook = Callable[[Handler], Callable[[Request], Awaitable[Response]]]
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
        directory = Directory()
        for entry in entries(app.routes, versions, ""):
            directory.add(entry)
            entry.hook()
        installed.check_names()
        for part in (app, *_applications_in(app.routes)):
            part.exception_handlers.setdefault(ReplyError, _declared)
        clerk = ContractClerk(contract, versions, principal, Response)
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
        return Answer(exchange, value)
    if not _holds_json(value):
        return value
    exchange.insist_on_json()
    if exchange.is_left_alone:
        return value
    try:
        data = loads(value.body)
    except ContractError:
        return value
    return Answer(exchange, data, status=value.status_code, given=value.raw_headers, background=value.background)


def _holds_json(response: Response) -> bool:
    """Whether a response is a success with a JSON body that is already there."""
    given = response.raw_headers
    return (
        is_json(find(given, b"content-type"))
        and response.status_code < _REDIRECTS
        and response.status_code not in _WITHOUT_BODY
        and bool(getattr(response, "body", b""))
        and not find(given, b"content-encoding")
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
        yield Entry(terms, compile_path(path + "/{path:path}")[0], None, (part,), lambda: None)


def entry_of(route: Route, versions: Versions, prefix: str) -> Entry:
    """One route."""
    pattern, path, _ = compile_path(prefix + route.path)
    is_migrated = versions.migrates(path, route.methods or ())
    own = shapes_of(route.endpoint)
    terms = Terms.of(path, route.name, own, migrated=is_migrated, controls=versions.controls)
    return Entry(terms, pattern, route.methods, (route,), lambda: _hook(route, is_migrated=is_migrated))


def _hook(route: Route, *, is_migrated: bool) -> None:
    """Stand between a handler and its framework, inside of the route's own middleware."""
    endpoint = route.endpoint
    hook = _hooked if is_migrated else _passed
    if inspect.isclass(endpoint) and issubclass(endpoint, HTTPEndpoint):
        hooked: App = _hooked_class(endpoint, hook)
    elif inspect.isroutine(endpoint) or isinstance(endpoint, functools.partial):
        hooked = request_response(hook(endpoint))
    else:
        return
    holder: Any = route
    while callable(getattr(holder.app, "app", None)) and holder.app is not endpoint:
        holder = holder.app
    holder.app = hooked


def _passed(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose responses pass, and whose values are answered in the legacy shape."""
    call = _calling(handler)

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        value = await call(request, exchange)
        return value if isinstance(value, Response) else Answer(exchange, value)

    return answer


def _calling(handler: Handler) -> Callable[[Request, Exchange], Awaitable[Any]]:
    """What a handler returns, within the caller's limits, or what the cache holds for it."""
    is_async = _is_async(handler)

    def call(request: Request, exchange: Exchange) -> Awaitable[Any]:
        if exchange.layer.clerk.is_idle:
            found: Awaitable[Any] = handler(request) if is_async else run_in_threadpool(handler, request)
            return found
        return within_limits(request, exchange)

    async def within_limits(request: Request, exchange: Exchange) -> Any:
        await exchange.layer.clerk.admit(exchange)
        own = functools.partial(handler, request)
        return await exchange.layer.clerk.run(exchange, own if is_async else functools.partial(run_in_threadpool, own))

    return call


def _hooked(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose value is answered as it was negotiated."""
    call = _calling(handler)

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.admit(exchange.terms)
        try:
            value = await call(request, exchange)
        except (ValueError, RecursionError) as error:
            await _blame_the_body(request, error)
            raise
        if request.method not in SAFE_METHODS:
            exchange.body = getattr(request, "_body", None)
        return answer_to(exchange, value)

    return answer


def _hooked_class(endpoint: type[HTTPEndpoint], hook: Hook) -> type[HTTPEndpoint]:
    """A class whose methods are hooked."""

    def hooked(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def answer(self: HTTPEndpoint, request: Request) -> Response:
            return await hook(functools.partial(method, self))(request)

        return answer

    methods = {name: hooked(getattr(endpoint, name)) for name in _METHODS if hasattr(endpoint, name)}
    return type(endpoint.__name__, (endpoint,), methods)


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
