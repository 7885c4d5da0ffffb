"""The app: everything that a server answers over HTTP, in one ASGI application.

    /mcp               the tools, over streamable HTTP, in both eras of the protocol
    everything else    the routes, and the page at /

Both parts stand behind a guard of their own, because each says its refusals in its own way. They share the library,
the contract, the archive and the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from aerogram._http.exchange import BODY, START, App, Message, Receive, Scope, Send
from aerogram._http.responses import read_problem, render
from aerogram.contract import Contract
from aerogram.dialects import dialect
from aerogram.reply import Reply, accept_request_id, new_request_id
from aerogram.serving.gate import needs_keys
from aerogram.serving.guard import mcp_principal, principal_of, protect
from aerogram.telemetry import Observer
from aerogram_knowledge.access.keys import KeyRefresher, Keys
from aerogram_knowledge.hosting.drain import ConnectionCloser
from aerogram_knowledge.hosting.fleet import CACHED, SharedParts
from aerogram_knowledge.hosting.settings import Settings
from aerogram_knowledge.search.results import KINDS
from aerogram_knowledge.server.health import HealthChecks
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.server.message import MessageFilter
from aerogram_knowledge.server.page import server_host
from aerogram_page.host import Host
from aerogram_page.paths import API
from aerogram_page.routes import EXEMPTIONS

__all__ = ["MCP_PATH", "build_app", "build_contract"]

MCP_PATH: Final = "/mcp"
_FAILURES: Final = 400
_JSON: Final = b"application/json"
_OF_BODY: Final = frozenset({b"content-type", b"content-length"})
_NOSNIFF: Final = (b"x-content-type-options", b"nosniff")


def build_contract(library: Library, settings: Settings, keys: Keys, fleet: SharedParts | None = None) -> Contract:
    """What the server promises about its replies, by its settings, and over what it shares with other servers."""
    fleet, usual = fleet or SharedParts(settings), settings.plan
    for kept in (fleet.archive, fleet.cache):
        if kept is not None:  # what is withheld by now may be among it
            kept.realm = library.realm
    return Contract(
        dialect=settings.dialect,
        budget=settings.budget,
        archive=fleet.archive,
        cursors=library.cursors,
        kinds=KINDS,
        limits=fleet.limits(lambda caller: (keys.plan_of(caller) if caller else None) or usual),
        cache=fleet.cache,
        cached=CACHED if fleet.cache is not None else (),
        observer=Observer(meter_provider=fleet.metrics.provider),
    )


def build_app(
    library: Library, contract: Contract, settings: Settings, keys: Keys, fleet: SharedParts | None = None
) -> App:
    """The whole application, guarded."""
    from aerogram_knowledge.server.routes import build_routes
    from aerogram_knowledge.server.tools import build_tools

    fleet = fleet or SharedParts(settings)
    page = server_host(
        library,
        contract,
        who=principal_of,
        needs_key=needs_keys(settings),
        has_ended=lambda: fleet.drain.has_begun,
    )
    tools = build_tools(library, _with_feed(contract, page, "mcp"), principal=mcp_principal)
    # each request stands for itself, so that any of several servers can answer it
    mcp = tools.http_app(path=MCP_PATH, stateless_http=True, json_response=True, host_origin_protection=False)
    health = HealthChecks(library, contract.archive, fleet, folder=settings.folder)
    told = _with_feed(contract, page, "http")
    routes = build_routes(library, told, principal=principal_of, health=health, page=page, lifespan=mcp.lifespan)
    mcp.add_middleware(MessageFilter)
    for part in (mcp, routes):
        protect(part, settings, keys, EXEMPTIONS)
    return fleet.metrics.count(ConnectionCloser(KeyRefresher(_PathDispatcher(mcp, routes), keys), fleet.drain))


def _with_feed(contract: Contract, page: Host, via: str) -> Contract:
    """The contract whose replies the page can watch."""
    if contract.observer is None or page.feed is None:
        return contract
    return replace(contract, observer=contract.observer.with_listener(page.feed.listener(via)))


class _PathDispatcher:
    """Sends the requests of MCP clients one way and all others the other."""

    def __init__(self, mcp: App, routes: Any) -> None:
        self._mcp = mcp
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_mcp = scope["type"] != "lifespan" and scope["path"].rstrip("/") == MCP_PATH
        send = _without_guessing(send) if is_mcp else send  # the routes have a layer that sees to it
        if scope["type"] == "http" and scope["method"] != "HEAD" and (is_mcp or scope["path"].startswith(API)):
            send = _ProblemForm(send, scope["path"], is_mcp=is_mcp)
        await (self._mcp if is_mcp else self._routes)(scope, receive, send)


class _ProblemForm:
    """Says a refusal of somebody else's in problem details.

    The page knows no other form. MCP clients get JSON-RPC, unless their request never came so far.
    """

    def __init__(self, send: Send, path: str, *, is_mcp: bool) -> None:
        self._send = send
        self._is_mcp = is_mcp
        self._path = path
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == START and message["status"] >= _FAILURES and self._is_foreign(_content_type(message)):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._say(self._start)

    def _is_foreign(self, kind: bytes) -> bool:
        return not kind.endswith(b"json") if self._is_mcp else kind == _JSON

    async def _say(self, start: Message) -> None:
        spoken, given = dialect("problem"), dict(start["headers"])
        failed = Reply.failed(read_problem(start["status"], given, self._body), request_id=_request_id(given))
        body = render(spoken.complete(failed, operation=self._path), spoken, spoken.media_type, start["status"])
        kept = [(name, value) for name, value in start["headers"] if name.lower() not in _OF_BODY]
        await self._send({**start, "headers": kept + body.fields})
        await self._send({"type": BODY, "body": body.content})


def _content_type(message: Message) -> bytes:
    found = next((value for name, value in message.get("headers", ()) if name.lower() == b"content-type"), b"")
    return found.partition(b";")[0].strip().lower()


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    return accept_request_id(headers.get(b"x-request-id", b"").decode("latin-1")) or new_request_id()


def _without_guessing(send: Send) -> Send:
    """Let no browser guess at the type of an answer."""

    async def say(message: Message) -> None:
        if message["type"] == START:
            headers = message.get("headers", ())
            if all(name.lower() != _NOSNIFF[0] for name, _ in headers):
                message = {**message, "headers": [*headers, _NOSNIFF]}
        await send(message)

    return say
