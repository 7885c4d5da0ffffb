"""Comparison: the same reply in every dialect, and on the MCP wire in both eras, side by side."""

from __future__ import annotations

from typing import Any, Final

from aerogram._mcp.results import tool_result
from aerogram.channels import Channels, Policy, channels_of
from aerogram.content.jsontext import dumps, value_at
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.protocol import Dialect
from aerogram.normalize.policy import LEGACY, MODERN
from aerogram.reply import Reply
from aerogram.tokens import best_counter
from aerogram_page import asks
from aerogram_page.fitting import LARGEST_SHOWN, SPOKEN, Shrinker
from aerogram_page.host import Delivery
from aerogram_page.members import MCP, differences, explain, members_of
from aerogram_page.sources import ReplyView, Sources
from aerogram_page.work import compute

__all__ = ["Comparison"]

TOO_SMALL: Final = 40
"""A budget that no reply with data fits into."""
LARGEST_WHOLE: Final = 200_000
"""Bytes of a body beyond which it is not refused for show, because that takes too many fittings."""
_ALONE: Final = Delivery("mcp", "text")
"""The body of a reply by itself."""
_ERAS: Final = {
    LEGACY: {"en": "with a handshake", "ja": "ハンドシェイクあり"},
    MODERN: {"en": "each request for itself", "ja": "リクエストごとに独立"},
}
_INSTEAD: Final = {
    "en": "Problem details say failures only. This is what the same call answers when the budget is too small for it.",
    "ja": "problem+json は失敗だけを表します。これは、予算が小さすぎるときに同じ呼び出しが返す応答です。",
}
_NONE: Final = {
    "en": "Problem details say failures only, and this reply did not fail.",
    "ja": "problem+json は失敗だけを表します。この応答は失敗していません。",
}


class Comparison:
    """Says one reply in several ways."""

    def __init__(self, sources: Sources, shrinker: Shrinker) -> None:
        self._sources = sources
        self._shrinker = shrinker

    async def compare(self, ask: asks.Compare, principal: str | None) -> dict[str, Any]:
        """All that a reply can be said as, what the members mean, and where they differ."""
        shown = await self._sources.find(ask.source, ask.mode, principal)
        bodies = {name: await self._encode(name, shown, ask, principal) for name in SPOKEN}
        wire = "knowledge-1.0" if ask.dialect == "problem" else ask.dialect
        done = await self._shrinker.fit(
            shown, wire, self._shrinker.delivery("mcp", ask.channels), ask.budget, principal
        )
        return await compute(_compare, bodies, done.reply, dialect_named(wire), done.contract.channels)

    async def _encode(
        self, name: str, shown: ReplyView, ask: asks.Compare, principal: str | None
    ) -> tuple[Any, dict[str, str] | None]:
        """The body in a dialect, and a note when it is another reply's."""
        if name != "problem" or shown.reply.problem is not None:
            done = await self._shrinker.fit(shown, name, _ALONE, ask.budget, principal)
            return await compute(done.contract.speaker.encode, done.reply), None
        if len(await compute(dumps, shown.reply.data)) > LARGEST_WHOLE:
            return None, _NONE
        refused = (await self._shrinker.fit(shown, "standard-v2", _ALONE, TOO_SMALL, principal)).reply
        return (dialect_named(name).encode(refused), _INSTEAD) if refused.problem is not None else (None, _NONE)


def _compare(
    bodies: dict[str, tuple[Any, dict[str, str] | None]], reply: Reply[Any], speaker: Dialect, policy: Policy
) -> dict[str, Any]:
    size = max(len(dumps(body)) for body, _ in bodies.values())
    if size > LARGEST_SHOWN // 4:
        limit = {"bytes": size, "limit": LARGEST_SHOWN // 4}
        return {"said": [], "mcp": [], "explained": {}, "differs": {}, "omitted": limit}
    said = [_row(name, body, note) for name, (body, note) in bodies.items()]
    wires = [_wire(reply, speaker, policy, version) for version in (LEGACY, MODERN)]
    comparable = {
        row["name"]: _filled_members(row) for row in said if not row["is_instead"] and row["body"] is not None
    }
    return {
        "said": said,
        "mcp": wires,
        "explained": explain(*(row["members"] for row in (*said, *wires))),
        "differs": differences(comparable),
        "omitted": None,
    }


def _filled_members(row: dict[str, Any]) -> dict[str, str]:
    """The members that say something; a contract may require a word for nothing."""
    return {pointer: part for pointer, part in row["members"].items() if value_at(row["body"], pointer) is not None}


def _row(name: str, body: Any, note: dict[str, str] | None) -> dict[str, Any]:
    return {
        "name": name,
        "media_type": dialect_named(name).media_type,
        "size": None if body is None else best_counter().count(dumps(body).decode()),
        "body": body,
        "is_instead": note is _INSTEAD,
        "note": note,
        "members": {} if body is None else members_of(body, name),
    }


def _wire(reply: Reply[Any], speaker: Dialect, policy: Policy, version: str) -> dict[str, Any]:
    channels = channels_of(reply, speaker.encode(reply), policy, speaker=speaker)
    result = tool_result(reply, channels, dialect=speaker, protocol_version=version)
    return {
        "name": f"{MCP} {version}",
        "protocol_version": version,
        "era": _ERAS[version],
        "dialect": speaker.name,
        "channels": policy,
        "result": result,
        "size": _sizes(channels),
        "members": _wire_members(result, speaker.name),
    }


def _sizes(channels: Channels) -> dict[str, int]:
    count = best_counter().count
    content = count(channels.text)
    structured = 0 if channels.structured is None else count(dumps(channels.structured).decode())
    return {"content": content, "structuredContent": structured, "both": content + structured}


def _wire_members(result: dict[str, Any], dialect: str) -> dict[str, str]:
    """The members of a tool result, and those of the body inside it."""
    shallow = {name: value for name, value in result.items() if name != "structuredContent"}
    found = members_of(shallow, MCP)
    if isinstance(result.get("structuredContent"), dict):
        inner = members_of(result["structuredContent"], dialect)
        found["/structuredContent"] = "mcp.structured"
        found |= {f"/structuredContent{pointer}": part for pointer, part in inner.items()}
    return found
