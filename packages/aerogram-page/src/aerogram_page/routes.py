"""Routes: the addresses of the page, for any Starlette application.

    GET  /                          the document
    GET  /page/assets/{path}        its files
    GET  /page/api/context          what this is, and what there is to see
    GET  /page/api/contents         what can be searched for
    POST /page/api/shrink           a reply within a budget
    POST /page/api/curve            what fits into which budget
    POST /page/api/piece            a piece of what was left out
    POST /page/api/dialects         a reply in every dialect
    POST /page/api/replies          a reply to be opened
    POST /page/api/digest           a document with its evidence in place
    POST /page/api/check            something pasted, judged
    GET  /page/api/errors           every error code; /{code} in every shape
    POST /page/api/provoke/{code}   one of them, made to happen
    POST /page/api/copy             a call as it is typed elsewhere
    GET  /page/api/live             the replies that are being sent
    GET  /page/api/calls/{number}   one of them whole, where a gateway passes them on; /{hash} what it left out

An answer is plain JSON, a failure is problem details. Each route is an ASGI application of its own, so that a contract
around the application leaves it alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from aerogram._http.exchange import Receive, Scope, Send
from aerogram._http.responses import render
from aerogram.codes import TABLE
from aerogram.content.jsontext import dumps
from aerogram.dialects import dialect
from aerogram.errors import (
    AerogramError,
    ContractError,
    Forbidden,
    InvalidReply,
    MissingExtra,
    NotFound,
    ReplyError,
    UnknownCode,
    UnknownDialect,
    ValidationFailed,
)
from aerogram.problems import problem_of
from aerogram.reply import Problem, Reply, accept_request_id, new_request_id
from aerogram.serving.guard import Exemptions
from aerogram_page import asks, files
from aerogram_page.answers import PageAnswers
from aerogram_page.calls import CallHistory
from aerogram_page.host import Host
from aerogram_page.live import PAGE
from aerogram_page.paths import API, ASSETS, FILES, LARGE_BODIES, OPEN
from aerogram_page.work import compute, load

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ImportError:
    raise MissingExtra("starlette", "starlette") from None

__all__ = ["EXEMPTIONS", "page_app", "page_routes"]

Handler = Callable[[Request], Awaitable[Response]]
Ask = TypeVar("Ask", bound=BaseModel)

EXEMPTIONS: Final = Exemptions(OPEN, (ASSETS,), LARGE_BODIES, problems_below=API)
"""What a guard must know of the page, which speaks problem details alone."""
_JSON: Final = "application/json"
_OWN_SITE: Final = frozenset({"same-origin", "none"})
_NEVER_KEPT: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_REVALIDATED: Final = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
_TEXTS: Final = frozenset({_JSON, "text/plain", "application/problem+json"})


def page_routes(host: Host) -> list[Route]:
    """The routes of the page of a host."""
    answers = PageAnswers(host)
    handlers = _PageHandlers(host, answers)
    table: list[tuple[str, str, Handler]] = [
        ("GET", "/", _document),
        ("GET", f"{ASSETS}{{path:path}}", _asset),
        ("GET", f"{API}/context", handlers.context),
        ("GET", f"{API}/contents", handlers.contents),
        ("POST", f"{API}/shrink", handlers.ask_handler(asks.Shrink, answers.shrink)),
        ("POST", f"{API}/curve", handlers.ask_handler(asks.Curve, answers.curve)),
        ("POST", f"{API}/piece", handlers.ask_handler(asks.Piece, answers.piece)),
        ("POST", f"{API}/dialects", handlers.ask_handler(asks.Compare, answers.dialects)),
        ("POST", f"{API}/digest", handlers.ask_handler(asks.ShowDigest, answers.digest)),
        ("POST", f"{API}/check", handlers.ask_handler(asks.Check, answers.check)),
        ("POST", f"{API}/replies", handlers.replies),
        ("GET", f"{API}/errors", handlers.errors),
        ("GET", f"{API}/errors/{{code}}", handlers.error),
        ("POST", f"{API}/provoke/{{code}}", handlers.provoke),
        ("POST", f"{API}/copy", handlers.copy),
        ("GET", f"{API}/live", handlers.live),
        ("GET", f"{API}/calls/{{number:int}}", handlers.call),
        ("GET", f"{API}/calls/{{number:int}}/{{hash}}", handlers.recover),
    ]
    return [
        Route(path, _Endpoint(handler, path), methods=[method], name=_name(path), include_in_schema=False)
        for method, path, handler in table
    ]


def _name(path: str) -> str:
    return PAGE if path.startswith(API) else FILES


def page_app(host: Host) -> Starlette:
    """The page as an application of its own."""
    return Starlette(routes=page_routes(host), exception_handlers={HTTPException: _refuse})


async def _refuse(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _failure(ReplyError("There is nothing here", code=TABLE.of_status(status)), request)


class _Endpoint:
    """A handler as an application: whatever it raises is answered in shape; below `API` only the page may ask."""

    def __init__(self, handler: Handler, path: str) -> None:
        self._handler = handler
        self._is_own = path.startswith(API)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            if self._is_own:
                _require_own_page(request)
            response = await self._handler(request)
        except ClientDisconnect:
            return
        except ReplyError as error:
            if hasattr(error, "status"):  # the guard's: it answers for itself
                raise
            response = _failure(error, request)
        except Exception as error:  # noqa: BLE001 - no input gets a trace for an answer
            response = _failure(_callers_fault(error) or error, request)
        await response(scope, receive, send)


class _PageHandlers:
    """Where requests become questions, and their answers responses."""

    def __init__(self, host: Host, answers: PageAnswers) -> None:
        self._host = host
        self._answers = answers

    def ask_handler(self, model: type[Ask], answer: Callable[[Ask, str | None], Awaitable[Any]]) -> Handler:
        """A handler for questions in JSON."""

        async def handle(request: Request) -> Response:
            ask = await _ask(request, model)
            return _json(await answer(ask, self._host.principal(request.scope)))

        return handle

    async def context(self, request: Request) -> Response:
        """What this is."""
        who = self._host.principal(request.scope)
        is_known = not self._host.needs_key or who is not None
        said = await self._answers.context(_base(request), is_known=is_known)
        return _json({**said, "owner": is_known and self._host.is_owner(request.scope)})

    async def contents(self, request: Request) -> Response:  # noqa: ARG002 - every handler has it
        """What there is to find."""
        return _json(await self._host.contents())

    async def replies(self, request: Request) -> Response:
        """Open a reply."""
        _require_type(request, _TEXTS)
        opened = await self._answers.open(await request.body(), self._host.principal(request.scope))
        return _json(opened)

    async def errors(self, request: Request) -> Response:  # noqa: ARG002
        """Every code."""
        return _json(self._answers.errors())

    async def error(self, request: Request) -> Response:
        """One code in every shape."""
        return _json(self._answers.error(request.path_params["code"]))

    async def provoke(self, request: Request) -> Response:
        """One code, made to happen."""
        return _json(await self._answers.provoke(request.path_params["code"]))

    async def copy(self, request: Request) -> Response:
        """A call as it is typed elsewhere."""
        ask = await _ask(request, asks.Copy)
        return _json(self._answers.copy(ask, _base(request)))

    async def live(self, request: Request) -> Response:
        """The replies that are being sent."""
        feed = self._host.feed
        if feed is None:
            raise NotFound("There is no server here whose replies could be watched")
        self._require_owner(request)
        if not feed.has_room:
            raise ReplyError("Too many pages watch already", code="UNAVAILABLE", retry_after=10)
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isdecimal() and len(last) < 16 else 0  # noqa: PLR2004 - a number that fits
        headers = {**_NEVER_KEPT, "X-Accel-Buffering": "no"}
        return StreamingResponse(feed.follow(after), media_type="text/event-stream", headers=headers)

    async def call(self, request: Request) -> Response:
        """One call of a wrapped server, whole."""
        return _json(self._calls(request).show(request.path_params["number"]))

    async def recover(self, request: Request) -> Response:
        """What was left out of the answer to a call."""
        given = request.path_params
        return _json(await self._calls(request).recover(given["number"], given["hash"]))

    def _calls(self, request: Request) -> CallHistory:
        self._require_owner(request)
        if self._host.calls is None:
            raise NotFound("There is no wrapped server here whose calls could be looked at")
        return self._host.calls

    def _require_owner(self, request: Request) -> None:
        if not self._host.is_owner(request.scope):
            raise Forbidden(
                "Only the owner of the server may watch its replies",
                remediation="Open the page with the owner's address that the server printed when it started",
            )


async def _document(request: Request) -> Response:
    headers = {**_REVALIDATED, "Content-Security-Policy": files.POLICY, "Referrer-Policy": "no-referrer"}
    return _file(files.asset(files.DOCUMENT), request, {**headers, "Cross-Origin-Opener-Policy": "same-origin"})


async def _asset(request: Request) -> Response:
    headers = {**_REVALIDATED, "Content-Security-Policy": files.POLICY}
    return _file(files.asset(request.path_params["path"]), request, headers)


def _file(found: files.Asset, request: Request, headers: dict[str, str]) -> Response:
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    tagged = {**headers, "ETag": found.tag}
    if found.tag in known or "*" in known:
        return Response(status_code=304, headers=tagged)
    return Response(found.content, headers=tagged, media_type=found.media_type)


def _json(value: Any) -> Response:
    return Response(dumps(value), media_type=_JSON, headers=_NEVER_KEPT)


def _failure(error: Exception, request: Request) -> Response:
    request_id = accept_request_id(request.headers.get("x-request-id")) or new_request_id()
    problem = problem_of(error, request_id=request_id)
    return _problem(problem, request_id)


def _problem(problem: Problem, request_id: str) -> Response:
    spoken = dialect("problem")
    body = render(Reply.failed(problem, request_id=request_id), spoken, spoken.media_type)
    headers = dict(_NEVER_KEPT)
    if problem.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(problem.retry_after)))
    return Response(body.content, body.status, headers, body.media_type)


def _callers_fault(error: Exception) -> ReplyError | None:
    """What an error of the library says to whoever gave it that input."""
    if isinstance(error, (UnknownDialect, UnknownCode)):
        return NotFound(str(error)) if isinstance(error, UnknownCode) else ValidationFailed(str(error))
    if isinstance(error, ContractError):
        fault = {"detail": error.rule, "pointer": error.pointer}
        return ReplyError(error.rule, code="INVALID_FORMAT", details={"errors": [fault]})
    if isinstance(error, InvalidReply):
        return ValidationFailed(str(error))
    return ValidationFailed(str(error)) if type(error) is AerogramError else None


async def _ask(request: Request, model: type[Ask]) -> Ask:
    """The question in the body of a request."""
    _require_type(request, frozenset({_JSON}))
    raw = await request.body()
    return await compute(lambda: model.model_validate(load(raw)))


def _require_type(request: Request, known: frozenset[str]) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in known:
        raise ReplyError(
            f"A body of the type {given[:80] or 'unknown'!r} is not read here",
            code="UNSUPPORTED_MEDIA_TYPE",
            remediation=f"Send it as {' or '.join(sorted(known))}",
        )


def _require_own_page(request: Request) -> None:
    """Refuse questions that a page of another origin has its visitor's browser ask."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    is_foreign = site is not None and site not in _OWN_SITE
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        is_foreign = True
    if is_foreign:
        raise Forbidden("Only this server's own page may ask this", remediation="Use the API under /v1 instead")


def _base(request: Request) -> str:
    """The address by which the browser knows the server, without a slash at its end."""
    return str(request.base_url).rstrip("/")
