"""Starlette: `install(app)`, and every answer keeps the contract.

A handler may return any value, a `Reply` or a response, and may raise anything. Its own value is what is
normalised; a layer around the whole application does the rest.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from aerogram._http.application import Installation, add_limit_middleware, find_holder, put_inside, replace_app
from aerogram._http.cleaning import SanitizingMiddleware, StreamMarkMiddleware
from aerogram._http.exchange import EXCHANGE, SAFE_METHODS, App, Exchange, Layer, Receive, Scope, Send
from aerogram._http.intake import add_intake, read_json_strictly
from aerogram._http.negotiation import CURRENT, Schedule, Version, Versions
from aerogram._http.responses import Fields, announce_json, find
from aerogram._http.routes import (
    CONTENT,
    RouteEntry,
    RouteTable,
    RouteTerms,
    control_names,
    shapes,
    shapes_of,
    source_of,
)
from aerogram._http.service import HttpService, Principal
from aerogram.answer.aside import run_by_size
from aerogram.content.jsontext import loads
from aerogram.contract import Contract, insist_on
from aerogram.dialects import dialect as dialect_named
from aerogram.documents.standard_v2 import from_health, from_offset_page
from aerogram.errors import ContractError, InvalidReply, MissingExtra, ReplyError, ValidationFailed
from aerogram.normalize.signals import contain
from aerogram.reply import ResumablePage
from aerogram.state import owner_of

try:
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.concurrency import run_in_threadpool
    from starlette.endpoints import HTTPEndpoint
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Host, Mount, Route, WebSocketRoute, compile_path, request_response
except ImportError:
    raise MissingExtra("starlette", "starlette") from None

__all__ = ["Installation", "Schedule", "Versions", "from_health", "from_offset_page", "install", "shapes"]

log = logging.getLogger("aerogram")

Handler = Callable[[Request], Awaitable[Any]]
Entries = Callable[[Iterable[BaseRoute], Versions, str], Iterator[RouteEntry]]

_NOWHERE: Final = re.compile(r"(?!)")
_METHODS: Final = ("get", "head", "post", "put", "patch", "delete", "options", "query")
_SERVER_FAILURES: Final = 500
_WITHOUT_BODY: Final = frozenset({204, 304})
_REDIRECTS: Final = 300
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


def install(
    app: Starlette,
    contract: Contract | None = None,
    versions: Versions | None = None,
    *,
    principal: Principal = principal_of,
    content: str | None = CONTENT,
) -> Installation:
    """Make every answer of an application keep the contract.

    `versions` says which routes have both envelopes and how they are negotiated; without it, the newer one is the
    dialect of the contract. What replies left out is served at `content` when the contract has an archive; None leaves
    that route out. Call it before the application has started.
    """
    insist_on("starlette", app)
    return surround(app, contract or Contract(), versions, principal, entries_of, content, _add_content)


def _add_content(app: Starlette, address: str, default: Version | None) -> None:
    async def retrieve(request: Request) -> ResumablePage:
        """What a reply left out, by its hash."""
        asked = request.query_params
        ids = [name for name in asked.getlist("ids") if name]
        as_text = asked.get("as_text", "").lower() in _YES
        exchange: Exchange = request.scope[EXCHANGE]
        return await exchange.layer.service.retrieve(
            exchange,
            request.path_params["hash"],
            ids=ids,
            path=asked.get("path", ""),
            as_text=as_text,
            offset=_parse_offset(asked.get("offset", "0")),
            query=asked.get("query"),
        )

    # before all others, because one of them may take every path
    app.router.routes.insert(0, Route(address, shapes(controls=True, default=default)(retrieve)))


def _parse_offset(said: str) -> int:
    try:
        return int(said)
    except ValueError:
        raise ValidationFailed(
            "offset is a whole number", details={"field": "offset", "received": said[:100]}
        ) from None


def _versions_of(contract: Contract, given: Versions | None) -> Versions:
    """The versions that are given, or else the usual ones, of which the newer is the dialect of the contract."""
    own = contract.envelope
    if given is None:
        return Versions() if own is None else Versions(current=own)
    if own is not None and own.name not in {dialect_named(one).name for one in (given.legacy, given.current)}:
        log.warning("nobody is served the contract's dialect %s: Versions(current=%r) would", own.name, own.name)
    return given


_BUILDING: Final = threading.Lock()
"""Routes are hooked by one thread at a time: several may bring the first request, and applications may share routes."""


def surround(
    app: Starlette,
    contract: Contract,
    given: Versions | None,
    principal: Principal,
    entries: Entries,
    content: str | None,
    add_content: Callable[[Any, str, Version | None], None],
    prepare: Callable[[Any], None] = lambda _: None,
) -> Installation:
    """Put the layer around an application when it starts, hook its handlers, and prepare it and those inside of it."""
    if _has_layer(app):
        raise InvalidReply("this application has Aerogram already: install it once")
    if app.middleware_stack is not None:
        raise InvalidReply("install before the application has started")
    versions = _versions_of(contract, given)
    for name in (versions.legacy, versions.current, versions.problem):
        dialect_named(name)
    control_names(versions.controls)
    versions = versions.with_dialect(contract.speaker)
    contract.insist_on_room(dialect_named(versions.current))
    if content is not None and contract.archive is not None:
        contract, versions = replace(contract, retrieve=content), versions.with_migrated(content)
    installed = app.state.aerogram = Installation(contract, versions, lambda: entries(app.routes, versions, ""))
    if contract.retrieve == content is not None and not installed.has(content):
        # only envelopes name this address, so it answers in one
        add_content(app, content, CURRENT if versions.legacy_is_bare else None)
    build, owner = app.build_middleware_stack, owner_of(getattr(app, "title", ""))

    def build_inside_the_layer() -> App:
        contract.prepare()
        has_limits = contract.limits is not None
        service = HttpService(contract.owned_by(owner), versions, principal, Response, _refuses)
        with _BUILDING:
            directory = RouteTable(entries(app.routes, versions, ""))
            for entry in directory.entries:
                installed.usage.expect(entry.terms.path)
                entry.hook(has_limits)
            installed.check_names()
            for part in (app, *_applications_in(app.routes)):
                part.exception_handlers.setdefault(ReplyError, _answer_declared)
                prepare(part)
        if service.clean is None:
            inside = build()
        else:
            inside = SanitizingMiddleware(_build_with_mark(app, build), service.clean, contract.forms.max_bytes)
        return Layer(inside, versions, directory, service, usage=installed.usage, gone=(ClientDisconnect,))

    app.build_middleware_stack = build_inside_the_layer  # type: ignore[method-assign]
    return installed


def _build_with_mark(app: Starlette, build: Callable[[], App]) -> App:
    """The application with all of its middleware, and a mark for streams inside of that."""
    own = app.user_middleware
    app.user_middleware = [*own, Middleware(StreamMarkMiddleware)]
    try:
        return build()
    finally:
        app.user_middleware = own


def _applications_in(routes: Iterable[BaseRoute]) -> Iterator[Starlette]:
    """The applications that are mounted in another one; each handles the exceptions of its own routes."""
    for part in routes:
        if isinstance(part, (Mount, Host)):
            inner = _application_of(part)
            if inner is not None and _has_layer(inner):
                continue
            if inner is not None:
                yield inner
            yield from _applications_in(part.routes)


def _application_of(part: Mount | Host) -> Starlette | None:
    """The application that is mounted, inside of whatever is around it."""
    inner: Any = part.app
    while not isinstance(inner, Starlette) and hasattr(inner, "app"):
        inner = inner.app
    return inner if isinstance(inner, Starlette) else None


def _has_layer(app: Starlette) -> bool:
    return hasattr(app.state, "aerogram")


async def _answer_declared(request: Request, error: Exception) -> Response:
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
    ) -> None:
        self.status_code = status or 200
        self.raw_headers = given or []
        self.body = b""
        self.background = background
        self.outcome = outcome
        self.exchange = exchange
        self._status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI has it
        """Say it."""
        await self.exchange.respond(self.outcome, send, status=self._status, given=self.raw_headers)
        if self.background is not None:
            await self.background()


async def answer_to(exchange: Exchange, value: Any) -> Response:
    """The response for what a handler returned: its own response, unless that is JSON in the old shape."""
    if not isinstance(value, Response):
        exchange.insist_on_json()
        return Answer(exchange, value)
    if not announce_json(value.raw_headers):
        exchange.other_format = value.raw_headers
        return value
    if exchange.is_passing or not _is_whole_success(value):
        return value
    exchange.insist_on_json(value.raw_headers)
    if exchange.is_left_alone:
        exchange.leave_alone(value.body)
        return value
    try:
        data = await run_by_size("fit", len(value.body), loads, value.body)
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


def entries_of(routes: Iterable[BaseRoute], versions: Versions, prefix: str) -> Iterator[RouteEntry]:
    """The routes of an application, those inside of mounted parts too."""
    for route in routes:
        if isinstance(route, Route):
            yield entry_of(route, versions, prefix)
        elif isinstance(route, (Mount, Host)):
            yield from entries_inside(route, versions, prefix, entries_of)
        elif not isinstance(route, WebSocketRoute):
            yield unknown_entry(route, prefix)


def entries_inside(part: Mount | Host, versions: Versions, prefix: str, entries: Entries) -> Iterator[RouteEntry]:
    """What is mounted: its routes; the whole of an application that shows none, or that has the layer itself."""
    path = prefix + part.path if isinstance(part, Mount) else prefix
    inner = _application_of(part)
    if part.routes and not (inner is not None and _has_layer(inner)):
        for entry in entries(part.routes, versions, path):
            yield entry if isinstance(part, Mount) else entry._replace(terms=replace(entry.terms, is_hosted=True))
    else:
        terms = RouteTerms(path, part.name or path, versions.migrates(path, ()), is_foreign=True)
        hook = (
            functools.partial(add_limit_middleware, part, "app")
            if inner is None or not _has_layer(inner)
            else lambda _: None
        )
        yield RouteEntry(terms, compile_path(path + "/{path:path}")[0], None, (part,), hook)


def unknown_entry(route: BaseRoute, prefix: str) -> RouteEntry:
    """A route of a kind that does not show what it serves: nobody finds it by a path, and the limits hold there."""
    hook = functools.partial(add_limit_middleware, route, "handle")
    return RouteEntry(RouteTerms(prefix, type(route).__name__, migrated=False), _NOWHERE, None, (), hook)


def entry_of(route: Route, versions: Versions, prefix: str) -> RouteEntry:
    """One route."""
    pattern, path, _ = compile_path(prefix + route.path)
    is_migrated = versions.migrates(path, route.methods or ())
    own = shapes_of(route.endpoint)
    told: dict[str, Any] = {"migrated": is_migrated, "controls": versions.controls}
    terms = RouteTerms.of(path, route.name, own, **told, source=source_of(route.endpoint))
    terms = terms if _is_handler(route.endpoint) else replace(terms, is_foreign=True)
    return RouteEntry(terms, pattern, route.methods, (route,), functools.partial(_hook, route, is_migrated=is_migrated))


# handlers


def _hook(route: Route, has_limits: bool, *, is_migrated: bool) -> None:
    """Stand between a handler and its framework, inside of the route's own middleware."""
    if not _is_handler(route.endpoint):
        add_limit_middleware(route, "app", has_limits)
        return
    add_intake(route)
    holder = find_holder(route)
    if hasattr(holder.app, _HOOKED) or _put_hook(route, holder):
        return  # another application may have the same route
    add_limit_middleware(route, "app", has_limits)
    if is_migrated:
        log.warning("the handler of %s is out of sight, so that its answers are read when they are sent", route.path)


_HOOKED: Final = "__aerogram_hook__"


def _put_hook(route: Route, holder: Any) -> bool:
    """Put a hook in the place of what the router has made of a handler; whether that is there to be seen."""
    hook = _Hook(route)
    if inspect.isclass(route.endpoint):
        return holder.app is route.endpoint and replace_app(holder, _hooked_class(route.endpoint, hook))
    made = request_response(functools.partial(hook.answer, make_async(route.endpoint)))  # type: ignore[arg-type]
    setattr(made, _HOOKED, True)
    return put_inside(holder, made)


def _is_handler(endpoint: Any) -> bool:
    """Whether a router takes an endpoint for a function of a request, or for methods; all others are applications."""
    if inspect.isclass(endpoint):
        return issubclass(endpoint, HTTPEndpoint)
    while isinstance(endpoint, functools.partial):
        endpoint = endpoint.func
    return inspect.isfunction(endpoint) or inspect.ismethod(endpoint)


def _hooked_class(endpoint: type[HTTPEndpoint], hook: _Hook) -> type[HTTPEndpoint]:
    """A class whose methods are hooked."""

    def hook_method(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(endpoint, name))
        async def answer(self: HTTPEndpoint, request: Request) -> App:
            return await hook.answer(make_async(getattr(super(made, self), name)), request)

        return answer

    methods = {name: hook_method(name) for name in _METHODS if getattr(endpoint, name, None) is not None}
    made = type(endpoint.__name__, (endpoint,), {**methods, _HOOKED: True})
    return made


class _Hook:
    """What stands between a handler and its framework, so that its value is answered as it was negotiated.

    Applications may share a route: whose terms hold and whose service is asked, the exchange tells. An application
    without the layer has no exchange, and gets what the handler returns.
    """

    def __init__(self, route: Route) -> None:
        self._route = id(route)

    async def answer(self, call: Handler, request: Request) -> App:
        """The response to a request."""
        exchange: Exchange | None = request.scope.get(EXCHANGE)
        if exchange is None:
            return await call(request)  # type: ignore[no-any-return]
        layer = exchange.layer
        exchange.enter(layer.own_terms_of(self._route), request.scope)
        read_json_strictly(request, exchange)
        try:
            value = await (call(request) if layer.service.is_idle else _within_limits(exchange, call, request))
        except HTTPException:
            exchange.is_meant = True
            raise
        except Exception as error:
            await _blame_the_body(error, request)
            raise
        except BaseException as error:
            raise contain(error) from error
        exchange.is_answered = True
        return await _response_to(exchange, value, request)


def make_async(handler: Callable[..., Any]) -> Handler:
    """A handler to be awaited; a plain function runs in a thread."""
    return handler if is_async(handler) else functools.partial(run_in_threadpool, handler)


def is_async(handler: Any) -> bool:
    """Whether a handler, or the method of an object that is one, is to be awaited."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler) or (
        not inspect.isclass(handler) and inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004
    )


async def _within_limits(exchange: Exchange, call: Handler, request: Request) -> Any:
    """What a handler returns, within the caller's limits, or what the cache holds for it."""
    service = exchange.layer.service
    await service.admit(exchange)
    return await (service.run(exchange, functools.partial(call, request)) if service.has_cache else call(request))


async def _response_to(exchange: Exchange, value: Any, request: Request) -> App:
    """The response for what a handler returned; any application may stand for one."""
    terms = exchange.terms
    if isinstance(value, Response):
        if terms is not None and not terms.migrated:
            return value
        if not announce_json(value.raw_headers):
            exchange.other_format = value.raw_headers
            return value
    elif callable(value):
        return value  # type: ignore[no-any-return]
    if exchange.scope["method"] not in SAFE_METHODS:
        exchange.body = getattr(request, "_body", None)
    return await answer_to(exchange, value)


async def _blame_the_body(error: Exception, request: Request) -> None:
    """Raise that the body is not JSON, if that is what went wrong and the application has nothing to say about it."""
    if not isinstance(error, (ValueError, RecursionError)) or _is_handled(error, request.scope):
        return
    if request.scope[EXCHANGE].is_passing or not hasattr(request, "_body"):
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


def _refuses(error: Exception, scope: Scope) -> bool:
    """Whether an exception is an answer: HTTP below 500, or what the application has a handler of its own for."""
    if isinstance(error, HTTPException):
        return error.status_code < _SERVER_FAILURES
    return not isinstance(error, ReplyError) and _is_handled(error, scope)


def _is_handled(error: Exception, scope: Scope) -> bool:
    """Whether the application has a handler for an exception."""
    by_class, _ = scope.get("starlette.exception_handlers", ({}, {}))
    return any(kind in by_class for kind in type(error).__mro__)
