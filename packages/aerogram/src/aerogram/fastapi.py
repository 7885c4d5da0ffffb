"""FastAPI: `install(app)`, and every answer keeps the contract.

What a handler returns goes through its response model first, as it always did; dependencies, status codes, headers
and cookies keep working. Legacy callers get what FastAPI itself makes of the value.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, get_args, get_origin

from aerogram._http.application import find_holder, put_inside
from aerogram._http.exchange import EXCHANGE, Exchange
from aerogram._http.intake import add_intake, read_json_strictly
from aerogram._http.negotiation import JSON, Version, Versions
from aerogram._http.routes import CONTENT, RouteEntry, RouteTerms, Shapes, shapes_of, source_of
from aerogram._http.service import Principal, Uncacheable
from aerogram.contract import Contract, insist_on
from aerogram.dialects import SIGNS, is_own, try_read
from aerogram.dialects.protocol import Envelope
from aerogram.errors import MissingExtra
from aerogram.normalize.signals import contain
from aerogram.reply import Reply, ResumablePage

try:
    from fastapi import FastAPI, Path, Query, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.datastructures import DefaultPlaceholder
    from fastapi.dependencies.models import Dependant
    from fastapi.dependencies.utils import get_flat_params
    from fastapi.exceptions import EndpointContext, RequestValidationError
    from fastapi.responses import JSONResponse
    from fastapi.routing import (
        APIRoute,
        RouteContext,
        _effective_route_context_var,
        iter_route_contexts,
        request_response,
        serialize_response,
    )
    from fastapi.utils import create_model_field, is_body_allowed_for_status_code
    from starlette.applications import Starlette
    from starlette.routing import BaseRoute, Host, Mount, Route, WebSocketRoute, compile_path
except ImportError:
    raise MissingExtra("fastapi", "fastapi") from None

from aerogram.starlette import (
    Answer,
    Installation,
    Schedule,
    answer_to,
    entries_inside,
    entry_of,
    from_health,
    from_offset_page,
    is_async,
    principal_of,
    shapes,
    surround,
    unknown_entry,
)

__all__ = ["Installation", "Schedule", "Versions", "from_health", "from_offset_page", "install", "shapes"]

log = logging.getLogger("aerogram")

MOST_ANSWERED: Final = 1_000
"""So many faults of a request are answered; each takes some time to write, and a small body can have very many."""

_REQUEST: Final = "aerogram_request"
_RESPONSE: Final = "aerogram_response"
_IDS: Final = "Only the items with these ids, separated by commas or in several parameters"
_COOKIES: Final = "cookie"


def install(
    app: FastAPI,
    contract: Contract | None = None,
    versions: Versions | None = None,
    *,
    principal: Principal = principal_of,
    content: str | None = CONTENT,
) -> Installation:
    """Make every answer of an application keep the contract, and its OpenAPI document say so.

    `versions` says which routes have both envelopes and how they are negotiated. What replies left out is served at
    `content` when the contract has an archive; None leaves that route out. Call it before the application has
    started; routes may be added before and after it, until then.
    """
    insist_on("fastapi", app)
    made = contract or Contract()
    installed = surround(app, made, versions, principal, entries_of, content, _add_content, _make_faults_writable)
    describe = app.openapi
    known: dict[int, tuple[Any, dict[str, Any]]] = {}

    def openapi() -> dict[str, Any]:
        for context in iter_route_contexts(app.routes):
            if isinstance(context.original_route, APIRoute):
                _data_field(context)
        schema = describe()
        if id(schema) not in known:
            known.clear()
            known[id(schema)] = (schema, installed.document(schema))
        return known[id(schema)][1]

    app.openapi = openapi  # type: ignore[method-assign]
    return installed


def _add_content(app: FastAPI, address: str, default: Version | None) -> None:
    @shapes(controls=True, default=default)
    async def retrieve(
        request: Request,
        hash: Annotated[str, Path(description="The hash that the reply names, or the beginning of it")],
        ids: Annotated[list[str] | None, Query(description=_IDS)] = None,
        path: Annotated[str, Query(description="A JSON Pointer to a part of it")] = "",
        as_text: Annotated[bool, Query(description="As the text that was hashed, in pages")] = False,
        offset: Annotated[int, Query(description="Items to skip; -9: the last 9")] = 0,
        query: Annotated[str | None, Query(description="A JMESPath expression, asked of it")] = None,
    ) -> Any:
        """What a reply left out, by its hash."""
        exchange: Exchange = request.scope[EXCHANGE]
        wanted = [one for one in ids or () if one]
        return await exchange.layer.service.retrieve(
            exchange, hash, ids=wanted, path=path, as_text=as_text, offset=offset, query=query
        )

    app.add_api_route(address, retrieve, name="retrieve", tags=["content"])
    app.router.routes.insert(0, app.router.routes.pop())  # before all others, because one may take every path


def entries_of(routes: Iterable[BaseRoute], versions: Versions, prefix: str) -> Iterator[RouteEntry]:
    """The routes of an application, those of included routers and of mounted parts too."""
    for context in iter_route_contexts(list(routes)):
        route = context._effective_route
        if isinstance(context.original_route, APIRoute):
            yield _api_entry(context, versions, prefix)
        elif isinstance(route, Route):
            # the pages of the documentation are nobody's answer
            is_page = not route.include_in_schema and versions.migrated == "all"
            entry = entry_of(route, replace(versions, migrated=()) if is_page else versions, prefix)
            is_manual = getattr(route.endpoint, "__module__", None) == FastAPI.__module__
            yield entry._replace(terms=replace(entry.terms, is_manual=True)) if is_manual else entry
        elif isinstance(route, (Mount, Host)):
            yield from entries_inside(route, versions, prefix, entries_of)
        elif not isinstance(route, WebSocketRoute):
            yield unknown_entry(context.original_route, prefix)


def _api_entry(context: RouteContext, versions: Versions, prefix: str) -> RouteEntry:
    pattern, path, _ = compile_path(prefix + (context.path or ""))
    methods = context.methods or set()
    given = shapes_of(context.endpoint)
    own = _response_class(context).media_type
    formats = given.formats if own in (None, JSON) else (*given.formats, own)
    terms = RouteTerms.of(
        path,
        context.name or path,
        replace(given, formats=formats),
        migrated=versions.migrates(path, methods),
        controls=versions.controls,
        own=dict(_query_parameters(context.dependant)),
        reads=_headers_read(context.dependant),
        depends=tuple(one.name for one in context.dependant.dependencies if one.name),
        source=source_of(context.endpoint),
    )
    return RouteEntry(terms, pattern, methods, (context.original_route,), functools.partial(_hook, context, given))


def _response_class(context: RouteContext) -> type[Response]:
    given = context.response_class
    found: type[Response] = given.value if isinstance(given, DefaultPlaceholder) else given
    return found


def _answers_json(context: RouteContext) -> bool:
    return issubclass(_response_class(context), JSONResponse)


def _query_parameters(dependant: Dependant) -> Iterator[tuple[str, dict[str, Any]]]:
    """The query parameters that a handler and its dependencies declare, with their defaults."""
    yield from ((one.alias, {"default": one.default}) for one in _flat(dependant.query_params))
    for inner in dependant.dependencies:
        yield from _query_parameters(inner)


def _flat(fields: Sequence[Any]) -> list[Any]:
    """Parameters, and in the place of a model of several its members."""
    return get_flat_params(Dependant(query_params=list(fields)))


def _headers_read(dependant: Dependant) -> Iterator[str]:
    """The headers that a handler and its dependencies are known to read; cookies are in one of them."""
    for one in _flat(dependant.header_params):
        # members of a model are looked for with hyphens too
        yield from (one.alias, one.validation_alias or one.name, one.name.replace("_", "-"))
    if dependant.cookie_params:
        yield _COOKIES
    scheme = getattr(dependant.call, "model", None)  # an API key says where it is
    place = getattr(getattr(scheme, "in_", None), "value", None)
    if place in ("header", "cookie"):
        yield scheme.name if place == "header" else _COOKIES  # type: ignore[union-attr]
    for inner in dependant.dependencies:
        yield from _headers_read(inner)


def _make_faults_writable(app: Starlette) -> None:
    """Have whoever answers for input that is not valid find nothing in it that cannot be repeated, and no endless list.

    What is not sent as JSON is validated as bytes, and these need not be text.
    """
    handler: Any = app.exception_handlers.get(RequestValidationError)
    if handler is None:
        return

    def clean(error: RequestValidationError) -> RequestValidationError:
        if len(error.errors()) > MOST_ANSWERED:
            error = RequestValidationError(error.errors()[:MOST_ANSWERED], body=error.body)
        for one in error.errors():
            if isinstance(one.get("input"), bytes):
                one["input"] = one["input"].decode("utf-8", "replace")
        if isinstance(error.body, bytes):
            error.body = error.body.decode("utf-8", "replace")
        return error

    async def answer_later(request: Request, error: RequestValidationError) -> Any:
        return await handler(request, clean(error))

    def answer(request: Request, error: RequestValidationError) -> Any:
        return handler(request, clean(error))

    app.exception_handlers[RequestValidationError] = answer_later if is_async(handler) else answer


# handlers


def _hook(context: RouteContext, given: Shapes, has_limits: bool) -> None:
    """Stand between a handler and its framework; the request and the response to be are injected for this."""
    dependant: Dependant = context.dependant
    handler = dependant.call
    add_intake(context._effective_route)
    if handler is None or not _answers_json(context) or _yields(handler):
        _put_gate(dependant, has_limits)
        return
    if isinstance(handler, _Hook):
        return  # another application has the same route
    hook = dependant.call = _Hook(context, given, handler)
    if hook.is_awaited or _make_again(context):
        hook.inject()
        return
    dependant.call = handler
    log.warning("the handler of %s is out of sight, so that its answers are read when they are sent", context.path)
    _put_gate(dependant, has_limits)


def _make_again(context: RouteContext) -> bool:
    """Have FastAPI await the hook of a plain function, instead of giving it a thread; whether it does.

    That is settled when a route makes its application, so the route makes it once more. The handler itself gets the
    thread. What is done around it may have to wait, and must not hold one meanwhile: when all are held by those who
    wait, what they wait for never has its turn.
    """
    route, effective = context.original_route, context._effective_route
    token = _effective_route_context_var.set(None if effective is route else effective)
    try:
        made = request_response(route.get_route_handler())  # type: ignore[attr-defined]  # routes of FastAPI have it
    finally:
        _effective_route_context_var.reset(token)
    return put_inside(find_holder(effective), made)


def _yields(handler: Any) -> bool:
    """Whether a handler gives its answer in pieces."""
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in _faces(handler))


def _faces(handler: Any) -> Iterator[Any]:
    """What tells of which kind a handler is: the function itself, what it wraps, the method of an object."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    for one in (handler, inspect.unwrap(handler)):
        yield one
        if not inspect.isclass(one):
            yield getattr(one, "__call__", None)  # noqa: B004


class _Hook:
    """What stands between a handler and FastAPI, which takes it for the handler."""

    def __init__(self, context: RouteContext, given: Shapes, handler: Callable[..., Any]) -> None:
        self.is_awaited = any(map(is_async, _faces(handler)))
        self._call = handler if self.is_awaited else functools.partial(run_in_threadpool, handler)
        self._context = context
        self._own_type = [(b"content-type", (_response_class(context).media_type or JSON).encode())]
        self._model = _Model(context, given, handler, is_awaited=self.is_awaited)
        functools.update_wrapper(self, handler)

    def inject(self) -> None:
        """Have FastAPI give it the request and the response to be."""
        self._enter = _entrance(self._context.dependant, id(self._context.original_route))

    async def __call__(self, **values: Any) -> Any:
        exchange, response = self._enter(values)
        if exchange is None:
            value = await self._call(**values)
            return value if isinstance(value, Response) else await self._model.response(value, response)
        service = exchange.layer.service
        try:
            if not service.is_idle:
                await service.admit(exchange)
            if service.has_cache:
                value = await service.run(exchange, _watch(functools.partial(self._call, **values), response, exchange))
            else:
                value = await self._call(**values)
        except Exception:
            raise
        except BaseException as error:  # what would end the server becomes a failure as any other
            raise contain(error) from error
        exchange.is_answered = True
        if isinstance(value, Response):
            return await answer_to(exchange, value)
        status = response.status_code or self._context.status_code
        if not is_body_allowed_for_status_code(status):
            return await self._model.response(value, response)
        if self._is_left_alone(exchange, value):
            made = await self._model.response(value, response)
            exchange.leave_alone(made.body)
            return made
        if self._model.field is not None:
            value = await self._model.prepare(value)
        return Answer(exchange, value, status=status, given=list(response.headers.raw))

    def _is_left_alone(self, exchange: Exchange, value: Any) -> bool:
        """Whether a caller gets what FastAPI makes of a value; who takes neither that nor an envelope is refused."""
        is_reply = isinstance(value, (Reply, ResumablePage))
        exchange.insist_on_json(None if is_reply else self._own_type)
        return not is_reply and exchange.is_left_alone and not exchange.is_envelope(value)


def _put_gate(dependant: Dependant, has_limits: bool) -> None:
    """Let the limits hold where there can be no hook."""
    if has_limits and all(one.call is not _admit for one in dependant.dependencies):
        # what yields begins to answer before it runs, so the limits are the last thing that it depends on
        dependant.dependencies.append(Dependant(call=_admit, request_param_name="request", use_cache=False))


async def _admit(request: Request) -> None:
    """Take from the caller's limits before a handler runs whose answer is no JSON."""
    exchange: Exchange | None = request.scope.get(EXCHANGE)
    if exchange is not None:
        exchange.handler_scope = request.scope
        await exchange.layer.service.admit(exchange)


def _watch(run: Callable[[], Awaitable[Any]], response: Response, exchange: Exchange) -> Callable[[], Awaitable[Any]]:
    """The handler, whose answer no cache keeps if it would not come again as it is.

    Such are a status or headers that it has set, and an envelope that is somebody's own: a cache holds what it says.
    """

    async def answer() -> Any:
        before = response.status_code, list(response.headers.raw)
        value = await run()
        is_bare = (response.status_code, response.headers.raw) == before
        return value if is_bare and not _is_own_envelope(value, exchange) else Uncacheable(value)

    return answer


def _is_own_envelope(value: Any, exchange: Exchange) -> bool:
    """Whether a value may be an envelope, and neither one of Aerogram's classes nor what the contract names."""
    if isinstance(value, dict):
        return not exchange.is_envelope(value) and try_read(value) is not None
    names = getattr(type(value), "model_fields", None) or getattr(type(value), "__dataclass_fields__", {})
    return not is_own(value) and not SIGNS.isdisjoint(names)


def _entrance(dependant: Dependant, route: int) -> Callable[[dict[str, Any]], tuple[Exchange | None, Response]]:
    """What happens before a handler: its values are checked for what was injected for the hook alone."""
    is_ours = {_REQUEST: dependant.request_param_name is None, _RESPONSE: dependant.response_param_name is None}
    request_name = dependant.request_param_name = dependant.request_param_name or _REQUEST
    response_name = dependant.response_param_name = dependant.response_param_name or _RESPONSE
    body = [one.name for one in dependant.body_params]
    found_out = [one.name for one in dependant.dependencies if one.name]
    read = [(one.alias, one.name) for one in (*dependant.path_params, *dependant.query_params)]

    def enter(values: dict[str, Any]) -> tuple[Exchange | None, Response]:
        request: Request = values.pop(_REQUEST) if is_ours[_REQUEST] else values[request_name]
        response: Response = values.pop(_RESPONSE) if is_ours[_RESPONSE] else values[response_name]
        exchange: Exchange | None = request.scope.get(EXCHANGE)
        if exchange is not None:
            parsed = {alias: values[name] for alias, name in read if name in values}
            exchange.enter(exchange.layer.own_terms_of(route), request.scope)
            read_json_strictly(request, exchange)
            exchange.is_checked = True
            exchange.parsed = parsed
            if body:
                exchange.body = {name: values.get(name) for name in body}
            if found_out:
                exchange.found_out = {name: values.get(name) for name in found_out}
        return exchange, response

    return enter


class _Model:
    """The response model of a route; what plain functions return is checked in a thread, as FastAPI does it."""

    def __init__(self, context: RouteContext, given: Shapes, handler: Callable[..., Any], *, is_awaited: bool) -> None:
        self._context = context
        self.field = _data_field(context)
        self._has_writer = given.legacy is not None
        named = ("include", "exclude", "by_alias", "exclude_unset", "exclude_defaults", "exclude_none")
        settings = {name: getattr(context, f"response_model_{name}") for name in named}
        self._serialized = functools.partial(
            serialize_response,
            field=self.field,
            is_coroutine=is_awaited,
            endpoint_ctx=_place_of(handler, context),
            **settings,
        )

    async def prepare(self, value: Any) -> Any:
        """An outcome whose data has gone through the model, while what its handler depends on is still there."""
        said = value.reply if isinstance(value, ResumablePage) else value
        if isinstance(said, Envelope):
            said = try_read(said) or said
        if isinstance(value, ResumablePage) and value.is_archived:
            return value
        if not isinstance(said, Reply):
            return await self._serialized(response_content=value)
        if self._has_writer or said.problem is not None or said.data is None:
            return value
        said = said.replace(data=await self._serialized(response_content=said.data))
        return value._replace(reply=said) if isinstance(value, ResumablePage) else said

    async def response(self, value: Any, given: Response) -> Response:
        """What FastAPI would make of a value."""
        is_written = self.field is not None and isinstance(self._context.response_class, DefaultPlaceholder)
        content = await self._serialized(response_content=value, dump_json=is_written)
        status = given.status_code or self._context.status_code
        known: dict[str, Any] = {} if status is None else {"status_code": status}
        if is_written:
            made = Response(content, media_type=JSON, **known)
        else:
            made = _response_class(self._context)(content, **known)
        if not is_body_allowed_for_status_code(made.status_code):
            made.body = b""
        made.headers.raw.extend(given.headers.raw)
        return made


def _place_of(handler: Callable[..., Any], context: RouteContext) -> EndpointContext:
    """Where a handler stands, as FastAPI says it of one whose answer is not what its model wants."""
    found: EndpointContext = {"path": f"{'|'.join(sorted(context.methods or ()))} {context.path}"}
    function = inspect.unwrap(handler)
    try:
        _, line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or ""
    except (OSError, TypeError):  # there is no file
        return found
    return {**found, "file": file, "line": line, "function": getattr(function, "__name__", "")}


def _data_field(context: RouteContext) -> Any:
    """The response model of a route; of one that returns a `Reply` or an envelope, the model of the data in it."""
    model = context.response_model
    if model is Reply or get_origin(model) is Reply:
        inner = next(iter(get_args(model)), None)
    elif isinstance(model, type) and issubclass(model, Envelope):
        rows = model.data_type()
        inner = rows | get_args(rows)[0] if get_origin(rows) is list else rows  # a row may be the whole answer
    else:
        return context.response_field
    name = f"Response_{context.unique_id}"
    field = None if inner is None else create_model_field(name=name, type_=inner, mode="serialization")
    context._effective_route.response_field = field  # type: ignore[union-attr]  # what the OpenAPI document shows
    return field
