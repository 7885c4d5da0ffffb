"""standard-v2: the models, constructors and the MCP adapter that the document names, and readers of its older shapes.

A reader makes a reply of what a route or a tool answered before: `return from_offset_page(page)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aerogram import reply as canonical
from aerogram.dialects.standard_v2 import (
    Citation,
    ErrorCode,
    Meta,
    QueryEcho,
    StandardError,
    StandardResponse,
    Status,
    SuggestedAction,
    wrap_for_mcp,
)
from aerogram.reply import Notice, Page, Reply

__all__ = [
    "NEXT_OFFSET",
    "Citation",
    "ErrorCode",
    "Meta",
    "QueryEcho",
    "StandardError",
    "StandardResponse",
    "Status",
    "SuggestedAction",
    "from_health",
    "from_offset_page",
    "wrap_for_mcp",
]

NEXT_OFFSET: Final = "next_offset"
"""Where in a page's `extra` the offset of the next page stands, when a handler has pages of that kind."""
_WELL: Final = "ok"


def from_offset_page(body: Mapping[str, Any]) -> Reply[Any]:
    """`{total, limit, offset, results}` as rows and where they stand; other members go along as `extra`."""
    rows, total = body["results"], body.get("total")
    limit, offset = body.get("limit"), body.get("offset") or 0
    has_more = None if total is None else offset + len(rows) < total
    place = {"offset": offset, **({NEXT_OFFSET: offset + len(rows)} if has_more and rows else {})}
    page = Page(has_more=has_more, total=total, page_size=limit, extra=place)
    echo = canonical.QueryEcho(
        applied_filters={name: body[name] for name in ("limit", "offset") if body.get(name) is not None}
    )
    others = {name: value for name, value in body.items() if name not in ("total", "limit", "offset", "results")}
    said: dict[str, Any] = {"page": page, "query_echo": echo, "extra": others or None}
    return Reply.ok(rows, **said) if rows else Reply.empty(data=rows, **said)


def from_health(body: Mapping[str, Any]) -> Reply[Any]:
    """`{status, version, checks, timestamp_utc}` as one record: ok when all is well, else partial, and why."""
    state = str(body.get("status", "unknown"))
    if state == _WELL:
        return Reply.ok(body)
    checks = body.get("checks")
    failing = [name for name, check in checks.items() if not _is_well(check)] if isinstance(checks, Mapping) else []
    why = f": {', '.join(failing)}" if failing else ""
    return Reply.partial(body, Notice.of("PARTIAL_FAILURE", f"The service is {state}{why}", status=state))


def _is_well(check: Any) -> bool:
    state = check.get("status") if isinstance(check, Mapping) else check
    return state in (_WELL, True)
