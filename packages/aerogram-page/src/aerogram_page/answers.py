"""Answers: where everything that the page can be asked is answered, for one host."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from aerogram.channels import POLICIES
from aerogram.dialects import dialect
from aerogram.errors import NotFound
from aerogram.shape.modes import MODES
from aerogram.tokens import PRESETS, best_counter
from aerogram_page import asks, pieces
from aerogram_page.checks import Checker
from aerogram_page.comparison import Comparison
from aerogram_page.digests import DigestView
from aerogram_page.failures import every_failure, one_failure, provoke
from aerogram_page.fitting import LARGEST_SHOWN, SPOKEN, Shrinker
from aerogram_page.host import HTTP_DIALECT, WAYS, Host, choose_delivery, own_way
from aerogram_page.opening import OpenedReply, open_reply
from aerogram_page.paths import LARGEST_REPLY
from aerogram_page.snippets import CallSnippets
from aerogram_page.sources import Sources
from aerogram_page.work import LARGEST_VALUES, compute

__all__ = ["PageAnswers"]

TITLES: Final = {
    "response-v2": "Response V2",
    "standard-v2": "Standard Response v2",
    "knowledge-1.0": "Knowledge Envelope 1.0",
    "problem": "Problem Details",
}
LANGUAGES: Final = ("en", "ja")
SMALLEST, LARGEST, USUAL = 50, 32_000, 4_000
_OPENED_SAMPLE: Final = """import aerogram

with open("reply.json", "rb") as file:
    reply = aerogram.read(file.read())
print(reply.status, reply.data)
"""


class PageAnswers:
    """Answers what the browser asks."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._sources = Sources(host)
        self._shrinker = Shrinker(host, self._sources)
        self._comparison = Comparison(self._sources, self._shrinker)
        self._digests = DigestView(host)
        self._checker = Checker(self._digests)
        self.shrink = self._shrinker.shrink
        self.curve = self._shrinker.curve
        self.dialects = self._comparison.compare
        self.digest = self._digests.show
        self.check = self._checker.check
        self.provoke = provoke
        self.errors = every_failure
        self.error = one_failure

    async def context(self, base: str, *, is_known: bool) -> dict[str, Any]:
        """What this is; who is not known yet learns that a key is needed, and little else."""
        said = {
            "name": "aerogram",
            "title": "Aerogram",
            "version": version("aerogram"),
            "kind": self._host.kind,
            "needs_key": self._host.needs_key,
            "authenticated": is_known,
            "languages": list(LANGUAGES),
            "mounted": list(self._host.mounted),
        }
        if not is_known:
            return said
        return {**said, **self._choices(), **await self._place(base), "mounted": list(await self._host.parts())}

    def _choices(self) -> dict[str, Any]:
        """What can be chosen, and what is chosen to begin with."""
        spoken = self._host.contract.speaker.name
        own = self._host.contract.own_limit("")
        return {
            "modes": list(MODES),
            "dialects": [
                {"name": name, "title": TITLES[name], "media_type": dialect(name).media_type} for name in SPOKEN
            ],
            "channels": list(POLICIES),
            "defaults": {
                "mode": "full",
                "dialect": spoken if spoken in SPOKEN else "knowledge-1.0",
                "way": own_way(self._host),
                "channels": self._host.contract.channels,
                "budget": USUAL,
            },
            "ways": self._ways(),
            "budget": {
                "server": None if own is None else own.limit,
                "smallest": SMALLEST,
                "largest": LARGEST,
                "unit": "tokens",
            },
            "presets": [
                {"name": name, "limits": [{"limit": limit, "counter": counter} for limit, counter in limits]}
                for name, limits in PRESETS.items()
            ],
            "counter": best_counter().name,
            "limits": {
                "reply_bytes": LARGEST_REPLY,
                "reply_values": LARGEST_VALUES,
                "shown_bytes": LARGEST_SHOWN,
                "listed_pieces": pieces.LISTED,
            },
        }

    def _ways(self) -> list[dict[str, Any]]:
        """How a reply can go, what it carries then, and what a server says that way unless it is asked otherwise."""
        is_server = self._host.mcp_path is not None
        dialects = {"mcp": self._host.contract.speaker.name, "http": HTTP_DIALECT}
        return [
            {
                "name": way,
                "channels": choose_delivery(self._host, way).channels,
                "dialect": dialects[way] if is_server else None,
            }
            for way in WAYS
        ]

    async def _place(self, base: str) -> dict[str, Any]:
        """Where everything is."""
        opened = self._host.opened
        is_server = self._host.mcp_path is not None
        return {
            "mcp_url": base + self._host.mcp_path if self._host.mcp_path is not None else None,
            "docs": "/docs" if is_server else None,
            "openapi": "/openapi.json" if is_server else None,
            "suggestion": await self._host.suggestion(),
            "opened": None if opened is None else opened.as_json(),
        }

    async def open(self, raw: bytes, principal: str | None) -> dict[str, Any]:
        """A reply that somebody has pasted, at hand from now on."""
        opened, told = await compute(_open, raw)
        self._sources.keep(opened, principal)
        return told

    async def piece(self, ask: asks.Piece, principal: str | None) -> dict[str, Any]:
        """A piece of what was left out, and whether it is what it should be."""
        shown = await self._sources.find(ask.source, ask.mode, principal)
        try:
            entry = await pieces.entry_of(shown.archive, ask.archive, principal)
        except NotFound:
            self._shrinker.forget(principal, ask.archive)
            raise
        return await compute(pieces.recover_piece, entry, ask.archive, ask.pointer, ask.hash)

    def copy(self, ask: asks.Copy, base: str) -> dict[str, Any]:
        """A call as it is typed elsewhere; where there is no server to call, how the opened reply is read."""
        if self._host.mcp_path is None:
            return {"curl": None, "python": _OPENED_SAMPLE, "typescript": None, "mcp": []}
        mcp_url = base + self._host.mcp_path
        copies = CallSnippets(ask, base, mcp_url, self._host.contract.speaker.name, with_key=self._host.needs_key)
        return {
            "curl": copies.curl(),
            "python": copies.python(),
            "typescript": copies.typescript(),
            "mcp": self._host.clients(mcp_url),
        }


def _open(raw: bytes) -> tuple[OpenedReply, dict[str, Any]]:
    opened = open_reply(raw)
    return opened, opened.as_json()
