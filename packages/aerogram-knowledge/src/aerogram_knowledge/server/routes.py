"""Routes: the library over HTTP, in the two envelopes of the standard response contract.

    GET  /v1/search             {total, limit, offset, results}, or CSV with format=csv
    GET  /v1/vendors/{name}     one record
    GET  /v1/chunks/{id}        one record
    GET  /v1/digests            a document condensed for a question; POST takes the same as JSON
    GET  /v1/content/{hash}     what a reply left out, or the text that a digest quotes
    GET  /v1/health             {status, version, checks, timestamp_utc}; /v1/health/deep tries every part

Handlers return a `Reply`; its legacy shape is what the table shows.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.routing import Route

from aerogram._http.exchange import EXCHANGE, App, Exchange, Receive, Scope, Send
from aerogram._http.negotiation import PARAMETER, parse_accept
from aerogram.answer import ReplyDraft
from aerogram.answer.retrieval import Retrieval
from aerogram.content.jsontext import dumps
from aerogram.contract import Contract
from aerogram.cursor import position_in
from aerogram.errors import ValidationFailed, hint
from aerogram.fastapi import Versions, from_health, install, shapes
from aerogram.reply import Action, Notice, Page, QueryEcho, Reply, ResumablePage
from aerogram.shape.fit import DATA
from aerogram.shape.modes import Mode
from aerogram_knowledge.filters import LONGEST_PATH
from aerogram_knowledge.licences import CODE as LICENSE_GATE
from aerogram_knowledge.server.health import HealthChecks
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.server.numbers import DIGITS
from aerogram_knowledge.server.reference import illustrate, reference_page
from aerogram_page.host import Host
from aerogram_page.routes import page_routes

__all__ = [
    "CSV",
    "WARNING",
    "HeadAsGet",
    "build_routes",
    "check_parameters",
    "in_parameters",
    "search_table",
    "unknown_in",
    "with_addresses",
    "with_notices",
]


PREFIX: Final = "/v1/"


class HeadAsGet:
    """Asks the library for what a GET would get, so that its tag and its length are told; other addresses see to it."""

    def __init__(self, app: App) -> None:
        self.app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer a HEAD as a GET."""
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"].startswith(PREFIX):
            scope = {**scope, "method": "GET"}
        return self.app(scope, receive, send)


CSV: Final = "text/csv"
JSON: Final = "application/json"
PAGE: Final = 50
_OF_PAGES: Final = ("page_size", "max_tokens")
"""What a table, which has every result, cannot keep to."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


async def search_table(
    library: Library, query: str, cursor: str | None, asked: Mapping[str, Any]
) -> tuple[str, tuple[Notice, ...]]:
    """All results of a search from a cursor on, under the names of their fields, and what is said of them."""
    first = reply = (await library.search(query, page_size=PAGE, cursor=cursor, **asked)).reply
    rows: list[dict[str, Any]] = list(reply.data)
    while reply.page is not None and reply.page.cursor is not None:
        reply = (await library.search(query, page_size=PAGE, cursor=reply.page.cursor, **asked)).reply
        rows += reply.data
    written = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(written, names, restval="")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return written.getvalue(), first.notices


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return dumps(value).decode()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


Principal = Callable[[Scope], str | None]

VERSIONS: Final = Versions(vendor="aerogram")
MOST_TOKENS: Final = 1_000_000

Detail = Annotated[Mode, Query(description="How much of each record to show")]
Listed = Annotated[str, Field(max_length=4_000)]
Fields = Annotated[list[Listed] | None, Query(max_length=50, description="Only these fields; commas separate several")]
Cursor = Annotated[str | None, Query(description="Where to go on, as the last page said")]
Several = Annotated[list[str] | None, Query(max_length=50, description="Only these; say it several times for several")]
Day = Annotated[
    str | None, Query(description="A day as YYYY-MM-DD, inclusive", max_length=10, json_schema_extra={"format": "date"})
]
_PageSize = Annotated[int, Field(ge=1, le=50), DIGITS]
PageSize = Annotated[_PageSize, Query(description="Records on a page")]
_Tokens = Annotated[int, Field(ge=1, le=MOST_TOKENS), DIGITS]
MaxTokens = Annotated[_Tokens | None, Query(description="The largest reply, in tokens")]


class DigestRequest(BaseModel):
    """Which document to condense, and for which question."""

    model_config = ConfigDict(extra="forbid")

    source_file: str = Field(min_length=1, max_length=LONGEST_PATH, examples=["security/jwt-guide.md"])
    query: str = Field(min_length=1, max_length=500, examples=["How long is a token valid?"])


def build_routes(
    library: Library,
    contract: Contract,
    *,
    principal: Principal,
    health: HealthChecks | None = None,
    page: Host | None = None,
    lifespan: Any = None,
) -> FastAPI:
    """The HTTP application over the library; every answer keeps the contract."""
    app = FastAPI(
        title="Aerogram",
        version=version("aerogram"),
        summary="Search, read and digest a folder of documents.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    # over HTTP the rest of a reply is fetched from an address, not by a tool
    held = replace(contract, dialect="standard-v2", channels="text", retrieve=None)
    app.include_router(_LibraryRoutes(library, held, principal, health or HealthChecks(library, held.archive)).router())
    # a router asks the first route of an address alone which methods there are
    app.router.routes.append(Route("/v1/digests", _MethodNotAllowed("GET", "POST"), include_in_schema=False))
    if page is not None:
        app.router.routes.extend(page_routes(page))
    app.add_api_route(
        "/docs", reference_page(app), methods=["GET", "HEAD"], include_in_schema=False, response_class=HTMLResponse
    )
    install(app, held, VERSIONS, principal=principal)
    app.add_middleware(HeadAsGet)
    illustrate(app)
    return app


class _MethodNotAllowed:
    """Answers what is asked of an address by another method than those that it has."""

    def __init__(self, *methods: str) -> None:
        self._allowed = {"Allow": ", ".join(methods)}

    async def __call__(self, _scope: Scope, _receive: Receive, _send: Send) -> None:
        raise HTTPException(405, headers=self._allowed)


class _LibraryRoutes:
    """Where callers ask the library."""

    def __init__(self, library: Library, contract: Contract, principal: Principal, health: HealthChecks) -> None:
        self._library = library
        self._contract = contract
        self._principal = principal
        self._health = health

    def router(self) -> APIRouter:
        """The routes; each is named as the tool that does the same."""
        found = APIRouter(prefix="/v1", dependencies=[Depends(check_parameters)])
        add = found.add_api_route
        add("/search", self.search(), name="semantic_search", tags=["search"], responses=_CSV_TOO)
        # a name may have a slash, as that of any Danish company
        add("/vendors/{name:path}", self.vendor(), name="find_vendor_info", tags=["vendors"])
        add("/chunks/{id}", self.chunk(), name="get_chunks", tags=["search"])
        add("/digests", self.digest(), name="digest_document", tags=["digests"])
        add("/digests", self.posted_digest(), methods=["POST"], name="digest_document", tags=["digests"])
        add("/content/{hash}", self.content(), name="retrieve", tags=["content"])
        add("/health", self.health(), name="health", tags=["health"])
        add("/health/deep", self.deep_health(), name="deep_health", tags=["health"])
        return found

    def search(self) -> Any:
        """Find passages."""

        @shapes(legacy=_offset_page, formats=(CSV,), headers=_loss_headers)
        async def search(
            request: Request,
            response: Response,
            q: Annotated[str, Query(min_length=1, max_length=500, description="A question, or words")],
            page_size: PageSize = 10,
            cursor: Cursor = None,
            response_mode: Detail = "metadata",
            fields: Fields = None,
            category: Several = None,
            path: Several = None,
            license: Several = None,
            after: Day = None,
            before: Day = None,
            max_tokens: MaxTokens = None,
            format: Annotated[Literal["json", "csv"], Query(description="CSV has all, from the cursor on")] = "json",
        ) -> Any:
            """Find passages that answer a question."""
            where = {"category": category, "path": path, "license": license, "after": after, "before": before}
            with in_parameters("semantic_search"):
                is_table = format == "csv" or _wants_csv(request)
                asked = {
                    "response_mode": response_mode,
                    "fields": _names(fields),
                    "filters": where,
                    "principal": self._principal(request.scope),
                }
                if is_table:
                    table, notices = await search_table(self._library, q, cursor, asked)
                    unused = tuple(_unused_notice(name) for name in _OF_PAGES if name in request.query_params)
                    _warn(response, (*_of_licences(notices), *unused))
                    return Response(table, headers=response.headers, media_type=f"{CSV}; charset=utf-8")
                found = await self._library.search(q, page_size=page_size, cursor=cursor, **asked)
            _warn(response, _of_licences(found.reply.notices))
            told = with_notices(found.reply, request)
            page = _with_offset(told.page or Page(total=0, page_size=page_size), cursor)
            return found._replace(reply=with_addresses(told, "semantic_search", page=page), max_tokens=max_tokens)

        return search

    def vendor(self) -> Any:
        """Look up a vendor."""

        @shapes(headers=_loss_headers)
        async def vendor(
            request: Request,
            response: Response,
            name: Annotated[str, Path(min_length=1, max_length=200)],
            response_mode: Detail = "metadata",
            fields: Fields = None,
            max_tokens: MaxTokens = None,
        ) -> Any:
            """Say who a vendor is, and whom it has to do with."""
            with in_parameters("find_vendor_info"):
                reply = await self._library.vendor(name, response_mode=response_mode, fields=_names(fields))
            _warn(response, _of_licences(reply.notices))
            told = with_notices(reply, request)
            return ResumablePage(with_addresses(told, "find_vendor_info"), max_tokens=max_tokens)

        return vendor

    def chunk(self) -> Any:
        """Read a passage."""

        @shapes(headers=_loss_headers)
        async def chunk(
            request: Request,
            id: Annotated[int, Field(ge=0, lt=2**63), DIGITS, Path()],
            response_mode: Detail = "full",
            fields: Fields = None,
            max_tokens: MaxTokens = None,
        ) -> Any:
            """Read a passage by its id."""
            reply = await self._library.chunks([id], response_mode=response_mode, fields=_names(fields))
            return ResumablePage(with_notices(reply.replace(data=reply.data[0]), request), max_tokens=max_tokens)

        return chunk

    def digest(self) -> Any:
        """Digest a document."""

        @shapes(headers=_loss_headers)
        async def digest(
            request: Request,
            source_file: Annotated[str, Query(min_length=1, max_length=LONGEST_PATH, description="From a search")],
            query: Annotated[str, Query(min_length=1, max_length=500, description="A question, or words")],
            max_tokens: MaxTokens = None,
        ) -> Any:
            """Condense a document for a question, with quotations that can be checked."""
            asked = DigestRequest(source_file=source_file, query=query)
            return await self._digest(asked, request, max_tokens)

        return digest

    def posted_digest(self) -> Any:
        """Digest a document that is named in JSON."""

        @shapes(headers=_loss_headers)
        async def digest(asked: DigestRequest, request: Request, max_tokens: MaxTokens = None) -> Any:
            """Condense a document for a question, with quotations that can be checked."""
            return await self._digest(asked, request, max_tokens)

        return digest

    async def _digest(self, asked: DigestRequest, request: Request, max_tokens: int | None) -> Any:
        who = self._principal(request.scope)
        reply = await self._library.digest(asked.source_file, asked.query, self._contract.archive, who)
        echo = QueryEcho(normalized_input=asked.model_dump())
        return ResumablePage(with_notices(reply.replace(query_echo=echo), request), max_tokens=max_tokens)

    def content(self) -> Any:
        """Give back what was left out."""

        @shapes(headers=_loss_headers)
        async def content(
            request: Request,
            hash: Annotated[str, Path(min_length=12, max_length=100)],
            ids: Annotated[
                list[Listed] | None, Query(max_length=50, description="Only these records; commas separate several")
            ] = None,
            path: Annotated[str, Query(description="A JSON Pointer into it", max_length=1_000)] = "",
            response_mode: Detail = "full",
            fields: Fields = None,
            as_text: Annotated[bool, Query(description="As the text that was hashed")] = False,
            cursor: Cursor = None,
            page_size: Annotated[_PageSize | None, Query(description="Records on a page")] = None,
            max_tokens: MaxTokens = None,
        ) -> Any:
            """Give back what a reply left out, or the text that a digest quotes, by its hash."""
            chosen = [one for one in ids or () if one]
            asked = Retrieval(
                hash, chosen, path, response_mode, _names(fields) or (), as_text, cursor, page_size, splits_ids=True
            )
            exchange: Exchange = request.scope[EXCHANGE]
            found = await exchange.layer.service.fetch(asked, exchange, max_tokens)
            return found._replace(reply=with_notices(found.reply, request))

        return content

    def health(self) -> Any:
        """Tell whether the server is up."""

        @shapes(reply=from_health)
        async def health(response: Response) -> dict[str, Any]:
            """Whether the server is up and its index in its place; 503 when it is not, because nothing is answered."""
            found = await self._health.brief()
            if found["status"] == "unhealthy":
                response.status_code = 503
            return found

        return health

    def deep_health(self) -> Any:
        """Try every part."""

        @shapes(reply=from_health)
        async def deep_health() -> dict[str, Any]:
            """Whether store, embedder, archive, Redis and disk work: each is used once."""
            return await self._health.deep()

        return deep_health


_CSV_TOO: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {CSV: {"schema": {"type": "string"}}}}}


def _names(said: list[str] | None) -> list[str] | None:
    """The names in a parameter that may be said several times, each time with several of them."""
    return [one.strip() for part in said or () for one in part.split(",") if one.strip()] or None


def _wants_csv(request: Request) -> bool:
    header = request.headers.get("accept", "").lower()
    asked = parse_accept(header)
    csv, json = asked.match(CSV), asked.match(JSON)
    is_first = header.find(CSV) < header.find(JSON)
    return asked.names(CSV) and (csv > json or (csv == json and is_first))


def _with_offset(page: Page, cursor: str | None) -> Page:
    """The page with the place at which it begins, which the legacy shape tells."""
    position = position_in(cursor) if cursor else None
    offset = 0 if position is None else position.offset
    return replace(page, extra={**(page.extra or {}), "offset": offset})


def _offset_page(reply: Reply[Any]) -> dict[str, Any]:
    page = reply.page or Page()
    offset = (page.extra or {}).get("offset", 0)
    return {"total": page.total, "limit": page.page_size, "offset": offset, "results": reply.data}


def _loss_headers(found: Any, done: ReplyDraft, scope: Scope) -> dict[str, str]:
    """What an answer lacks within the size that its caller asked for, and where the whole is.

    Its legacy shape has no place for it.
    """
    if not isinstance(found, ResumablePage):
        return {}
    whole, fidelity = found.reply.data, done.reply.fidelity
    level = fidelity.level if fidelity else "partial"
    if found.is_archived and fidelity is not None:
        return {"X-Fidelity": level, "Link": f'<{scope["path"]}?as_text=true>; rel="alternate"'}
    if found.is_archived or found.max_tokens is None or done.reply.data == whole:
        return {}
    counts = f"; shown={len(done.reply.data)}; of={len(whole)}" if isinstance(whole, list) else ""
    kept = next((one.content.hash for one in done.leftovers if one.name == DATA), None)
    link = {} if kept is None else {"Link": f'</v1/content/{kept}>; rel="alternate"'}
    return {"X-Fidelity": level + counts, **link}


# Parameters: what the query of a request says. What an address does not have is told, what contradicts itself refused.
# A misspelt parameter would change nothing, and nobody would know. The body of a legacy answer has no place to say so,
# nor has a table; so a header says it of every answer, and the newer envelope among its warnings too.


WARNING: Final = "X-Warning"
MOST_TOLD: Final = 5
LONGEST_NAME: Final = 60
_UNKNOWN: Final = "unknown_parameters"


async def check_parameters(request: Request, response: Response) -> None:
    """Refuse parameters that contradict themselves, and note those that the address does not have."""
    given = request.query_params
    if not given:
        return
    taken = {one.alias: one.field_info.annotation for one in request.scope["route"].dependant.query_params}
    for name in taken.keys() & given.keys():
        _insist_on_one(name, given.getlist(name), taken[name])
    known = {PARAMETER, *taken}
    strangers = (name[:LONGEST_NAME] for name in given if name not in known)
    notices = tuple(_unknown_notice(name, known) for name in islice(strangers, MOST_TOLD))
    setattr(request.state, _UNKNOWN, notices)
    _warn(response, notices)


def _warn(response: Response, notices: Iterable[Notice]) -> None:
    """Say notices in headers, for whoever gets a body that has no place for them."""
    for one in notices:
        text = f"{one.message}; {one.suggestion}"
        response.headers.append(WARNING, text.encode("ascii", "backslashreplace").decode())


def _of_licences(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """What is said of results that are withheld from everybody, and not of those that a filter leaves out."""
    return tuple(one for one in notices if one.code == LICENSE_GATE and "withheld" in (one.context or {}))


def unknown_in(request: Request) -> tuple[Notice, ...]:
    """What is to be said of the parameters of a request that its address does not have."""
    return getattr(request.state, _UNKNOWN, ())


def with_notices(reply: Reply[Any], request: Request) -> Reply[Any]:
    """The reply, which also says what of its request was not used."""
    notices = unknown_in(request)
    return reply.replace(notices=(*reply.notices, *notices)) if notices else reply


def _insist_on_one(name: str, values: Sequence[str], annotation: Any) -> None:
    """Refuse several values of what can only have one."""
    takes_several = list in {get_origin(one) for one in (annotation, *get_args(annotation))}
    if len(set(values)) > 1 and not takes_several:
        raise ValidationFailed(
            f"{name} is given twice and differently",
            remediation=f"Send {name} once",
            details={"field": name, "received": values[1][:100]},
        )


def _unknown_notice(name: str, known: Collection[str]) -> Notice:
    message = f"{name!r} is no parameter of this address, so it was not used"
    return Notice(message, "CONTROL_IGNORED", "warning", hint(name, known), {"field": name})


def _unused_notice(name: str) -> Notice:
    return Notice(
        f"{name!r} was not used, because a table has every result", "CONTROL_IGNORED", "warning", "Ask for JSON"
    )


_ADDRESSES: Final = {
    "semantic_search": ("/v1/search", {"query": "q"}),
    "get_chunks": ("/v1/chunks/{id}", {"chunk_ids": "id"}),
    "digest_document": ("/v1/digests", {}),
    "find_vendor_info": ("/v1/vendors/{name}", {"vendor_name": "name"}),
}
"""The address and the renamed arguments of what a tool does."""
_FILTERS: Final = "filters"


def with_addresses(reply: Reply[Any], tool: str, **changes: Any) -> Reply[Any]:
    """A tool's reply with further calls as addresses, its own arguments as parameters, and other changes."""
    renamed = _ADDRESSES[tool][1]
    retry = None if reply.retry_with is None else _parameters(reply.retry_with, renamed)
    actions = tuple(one for action in reply.actions for one in _calls(action))
    echo = reply.query_echo and reply.query_echo.rename(renamed)
    return reply.replace(actions=actions, retry_with=retry, query_echo=echo, **changes)


@contextlib.contextmanager
def in_parameters(tool: str) -> Iterator[None]:
    """What is wrong with an argument of a tool, said of the parameter that it came from."""
    try:
        yield
    except ValidationFailed as error:
        details = dict(error.details or {})
        field = str(details.get("field", ""))
        details["field"] = renamed = _ADDRESSES[tool][1].get(field, field).removeprefix(f"{_FILTERS}.")
        if renamed == field:
            raise
        message = renamed + error.message.removeprefix(field) if error.message.startswith(field) else error.message
        raise type(error)(message, remediation=error.remediation, details=details) from error


def _calls(action: Action) -> list[Action]:
    """A follow-up call as calls of addresses; several chunks are as many."""
    endpoint, renamed = _ADDRESSES.get(action.tool or "", (None, {}))
    if endpoint is None:
        return [action]
    given = _parameters(action.args or {}, renamed)
    if isinstance(given.get("id"), list):
        return [Action(endpoint=endpoint, args={"id": one}) for one in given["id"]]
    return [Action(endpoint=endpoint, args=given)]


def _parameters(arguments: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    given = {renamed.get(name, name): value for name, value in arguments.items() if name != _FILTERS}
    return {**given, **arguments.get(_FILTERS, {})}
