"""The page: what the server gives its page: the library's operations, who asks, and who owns the server."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Final

from pydantic import validate_call

from aerogram._http.exchange import Scope
from aerogram.contract import Contract
from aerogram.errors import NotFound, Unavailable
from aerogram.reply import Reply
from aerogram.serving.gate import is_loopback
from aerogram.shape.modes import MODES, Mode
from aerogram_knowledge.hosting.client_files import CLIENTS, ServerEntry
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.server.tools import LibraryTools
from aerogram_page.host import Host
from aerogram_page.live import Feed

__all__ = ["OWNER_HEADER", "ServerHost", "owner_token", "server_host"]

OWNER_HEADER: Final = b"x-owner-token"
WITHOUT_MODES: Final = frozenset({"digest_document"})
OPERATIONS: Final = ("semantic_search", "find_vendor_info", "get_chunks", "digest_document")
MOST_FILES: Final = 1_000
_FORWARDED: Final = re.compile(
    rb"forwarded|x-(original-)?forwarded\b.*|x-real-ip|via|(cf-connecting|true-client|fastly-client|fly-client|client)-ip"
    rb"|x-((cluster-)?client|proxyuser|azure-(client|socket)|appengine-user)-ip|x-(envoy|arr|amzn|cloud-trace)-.*|cf-ray|cdn-loop"
)
"""What proxies add to a request. One that adds nothing cannot be told from a caller on this machine."""


@dataclass
class ServerHost(Host):
    """The host of a page that a knowledge server shows.

    The owner is whoever has the owner's token; on a server that asks for no keys also whoever sits at its machine.
    """

    library: Library = field(kw_only=True)
    owner_token: str = field(kw_only=True)
    who: Callable[[Scope], str | None] = field(kw_only=True)
    kind: ClassVar[str] = "server"
    is_charged: ClassVar[bool] = True
    mcp_path: ClassVar[str | None] = "/mcp"
    mounted: Sequence[str] = field(
        default=("search", "vendors", "chunks", "digests", "content", "health", "mcp"), kw_only=True
    )

    def principal(self, scope: Scope) -> str | None:
        """Who asks, as the guard has found out."""
        return self.who(scope)

    def is_owner(self, scope: Scope) -> bool:
        """Whether the caller has the token, or is on this machine where nobody needs a key."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if hmac.compare_digest(headers.get(OWNER_HEADER, b""), self.owner_token.encode()):
            return True
        return not self.needs_key and _is_here(scope.get("client"), headers)

    def modes(self, operation: str) -> tuple[Mode, ...]:
        """The modes of an operation; a digest has none."""
        return ("full",) if operation in WITHOUT_MODES else MODES

    async def answer(
        self, operation: str, arguments: Mapping[str, Any], mode: Mode, principal: str | None
    ) -> Reply[Any]:
        """What a tool of the server answers, before any shaping."""
        if operation not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise NotFound(f"There is no operation {operation[:80]!r}", remediation=f"Use one of {known}")
        tools = LibraryTools(self.library, self.contract, lambda: principal)
        shaping = {} if operation in WITHOUT_MODES else {"response_mode": mode}
        given = {name: value for name, value in arguments.items() if name != "response_mode"}
        reply: Reply[Any] = await validate_call(getattr(tools, operation))(**given, **shaping)
        return reply

    async def generation(self) -> int:
        """The index's."""
        return await self.library.generation()

    async def parts(self) -> Sequence[str]:
        """What is mounted; vendors only where there are some."""
        has_vendors = await self.library.has_vendors()
        return [one for one in self.mounted if has_vendors or one != "vendors"]

    async def contents(self) -> Mapping[str, Any]:
        """What there is to find, of very many files the first."""
        found = await self.library.contents()
        return {**found, "files": found["files"][:MOST_FILES], "total_files": len(found["files"])}

    async def suggestion(self) -> str:
        """A question that has an answer."""
        try:
            return await self.library.ask(lambda _: self.library.suggestion())
        except Unavailable:
            return ""

    async def digest(self, source_file: str, query: str, principal: str | None) -> Reply[Any]:
        """A document condensed for a question; its text is archived, so that the digest can be checked."""
        return await self.library.digest(source_file, query, self.contract.archive, principal)

    def clients(self, mcp_url: str) -> list[dict[str, str]]:
        """The configuration of each client that takes an address."""
        entry = ServerEntry(url=mcp_url, with_key=self.needs_key)
        return [
            {
                "client": client.name,
                "title": client.title,
                "file": next(iter(client.files.values())).removeprefix("./"),
                "text": json.dumps(client.merge({}, "aerogram", entry), indent=2),
            }
            for client in CLIENTS.values()
            if client.takes_url
        ]


def _is_here(client: tuple[str, int] | None, headers: Mapping[bytes, bytes]) -> bool:
    """Whether a caller sits at this machine, and called it by a name that nobody else can."""
    host = headers.get(b"host", b"").decode("latin-1").rpartition(":")
    name = host[0] if host[2].isdigit() else "".join(host)
    is_forwarded = any(map(_FORWARDED.fullmatch, headers))
    return client is not None and is_loopback(client[0]) and is_loopback(name) and not is_forwarded


@cache
def owner_token() -> str:
    """What makes a caller the owner of this process's server; printed when the server starts, stored nowhere."""
    return secrets.token_urlsafe(24)


def server_host(
    library: Library,
    contract: Contract,
    *,
    who: Callable[[Scope], str | None],
    needs_key: bool,
    has_ended: Callable[[], bool] = lambda: False,
) -> ServerHost:
    """The host of the page of a server, with a feed of its replies until it ends."""
    feed = Feed(has_ended)
    return ServerHost(contract, feed, library=library, owner_token=owner_token(), who=who, needs_key=needs_key)
