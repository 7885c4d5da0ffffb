"""Caller: who asks, and what the request says about the reply that is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from aerogram.archive import Archive
from aerogram.dialects.protocol import Dialect
from aerogram.mint import new_request_id
from aerogram.negotiation import EXTENSION
from aerogram.reply import accept_request_id
from aerogram.wire.mcp import PREFIX

__all__ = ["Around", "Caller"]

LONGEST_TAG: Final = 200
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class Around(NamedTuple):
    """What a contract around this one does for both: it says the dialect, it counts the call, it charges for it."""

    dialect: Dialect | None = None
    observes: bool = False
    charges: bool = False


class Caller(NamedTuple):
    """Who asks: the `_meta` of the request, the authenticated principal, what the client's capabilities say.

    `retrieve` is the name that the retrieval tool has for this caller, and `archive` where that tool looks, if they
    are not those of the contract: as where a server stands inside of another one. `has_answered`: the request brings
    answers to what a handler has asked for, which are this caller's own. `around` is what a contract around this one
    does already.
    """

    meta: Mapping[str, Any] | None = None
    principal: str | None = None
    extensions: Mapping[str, Any] | None = None
    retrieve: str | None = None
    archive: Archive | None = None
    has_answered: bool = False
    around: Around = Around()

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """The client's settings for the extension; before 2026-07-28, when there were none, in `_meta` itself."""
        found = (self.extensions or {}).get(EXTENSION, (self.meta or {}).get(EXTENSION))
        return found if found is not None and isinstance(found, Mapping) else None

    @property
    def request_id(self) -> str:
        """The caller's own id, the id of its trace, or a new one."""
        meta = self.meta or {}
        trace = meta.get("traceparent")
        match = _TRACE_PARENT.fullmatch(trace) if isinstance(trace, str) else None
        return accept_request_id(meta.get(PREFIX + "request_id")) or (match[1] if match else new_request_id())

    @property
    def client_tag(self) -> str | None:
        """The caller's own mark, given back with the reply."""
        tag = (self.meta or {}).get(PREFIX + "client_tag")
        return tag if isinstance(tag, str) and 0 < len(tag) <= LONGEST_TAG else None
