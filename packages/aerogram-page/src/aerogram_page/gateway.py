"""Gateway: the page of a gateway before a wrapped server: each call as it is answered, on a port of this machine.

What calls say can be read there, so only whoever has the address with its token may look.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from aerogram._http.exchange import Scope
from aerogram.contract import Contract
from aerogram.gateway.browser import open_browser
from aerogram.gateway.report import Entry
from aerogram.serving.guard import protect
from aerogram.serving.listener import answer_on, listening, make_server
from aerogram.serving.machine import OnThisMachine
from aerogram_page.calls import CallHistory, KeptCall
from aerogram_page.host import Host
from aerogram_page.live import Feed
from aerogram_page.routes import EXEMPTIONS, page_app

__all__ = ["GatewayPage"]

_OWNER: Final = b"x-owner-token"


@dataclass
class GatewayHost(Host):
    """The host of a page that a gateway shows."""

    kind: ClassVar[str] = "gateway"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), kw_only=True)

    def is_owner(self, scope: Scope) -> bool:
        """Whether the caller has the token that is in the address."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        return hmac.compare_digest(headers.get(_OWNER, b""), self.token.encode())


class GatewayPage:
    """Hears of calls, and shows them."""

    def __init__(self, contract: Contract) -> None:
        self._has_ended = False
        self._door: Path | None = None
        self._feed = Feed(lambda: self._has_ended)
        self._calls = CallHistory(contract.archive)
        self._host = GatewayHost(contract, self._feed, calls=self._calls)

    def hear(self, entry: Entry) -> None:
        """One more call was answered."""
        facts = {
            "operation": entry.name,
            "via": "mcp",
            "fidelity": None if entry.has_failed else entry.level,
            "problem": (entry.code or "error") if entry.has_failed else None,
            "tokens": entry.after,
            "tokens_before": entry.after if entry.is_own else entry.before,
            "ms": round(entry.seconds * 1000, 1),
        }
        number = self._feed.tell(facts)
        tokens = (entry.before, entry.after)
        self._calls.keep(number, KeptCall(entry.name, entry.got, entry.result, entry.hashes, tokens))

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """As long as this lasts, the page is at an address."""
        rules = OnThisMachine()
        with listening(rules.host, 0) as listener:
            app = page_app(self._host)
            protect(app, rules, None, EXEMPTIONS)
            server = make_server(app, rules)
            server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # not ours
            answering = asyncio.ensure_future(answer_on(server, listener))
            try:
                yield f"http://{rules.host}:{listener.getsockname()[1]}/#owner={self._host.token}"
            finally:
                self._has_ended = server.should_exit = True
                if self._door is not None:
                    self._door.unlink(missing_ok=True)
                await answering

    def open(self, address: str) -> None:
        """Show it in a browser."""
        self._door = open_browser(address)
