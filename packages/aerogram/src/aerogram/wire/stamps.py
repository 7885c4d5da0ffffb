"""Stamps: the fields that every answer on a migrated route has, besides those that it came with."""

from __future__ import annotations

from typing import Any, Final

from aerogram.reply import Reply
from aerogram.wire import headers as fields
from aerogram.wire.headers import Fields
from aerogram.wire.http import Body
from aerogram.wire.negotiation import CURRENT, JSON, LEGACY, VERSIONS, Version
from aerogram.wire.request import SAFE_METHODS, Request
from aerogram.wire.routes import Terms

__all__ = ["MARKS", "Stamped"]

MARKS: Final = {version: (b"x-envelope-version", version.encode()) for version in VERSIONS}
"""The field that says which envelope was served."""
_NOT_MODIFIED: Final = 304
_GONE: Final = 410
_STAMPS: Final = frozenset({b"access-control-expose-headers", b"x-client-tag", b"x-envelope-version", b"x-request-id"})
_SILENT: Final = frozenset({"data", "request_id", "telemetry", "client_tag", "operation", "timestamp"})
"""Parts of a reply that no field but the body speaks of; most replies have no others."""


class Stamped(Request):
    """A request, and what its answer says in fields."""

    terms: Any
    """What holds for the route of this request; None when there is no such route."""
    allowance: Any = None
    """What the caller's limits have let through."""
    observation: Any = None
    ours: Body | None = None
    """What Aerogram itself answers, if it does."""

    @property
    def _takes_offset(self) -> bool:
        """Whether this request could have an offset in its query, as far as the parameters of its route are known."""
        terms: Terms | None = self.terms
        if terms is None or self.scope["method"] not in SAFE_METHODS:
            return False
        return "offset" in terms.parameters or terms.controls.issuperset(terms.parameters)

    def limit_fields(self, given: Fields) -> Fields:
        """What is left of the caller's limits, unless the answer says it itself."""
        if fields.find(given, b"ratelimit"):
            return []
        told: Reply[Any] = Reply(rate_limit=self.allowance.rate_limit)
        return fields.of_reply(told, "", self.versions.clock, older=self.versions.rate_limit_headers)

    def stamped(self, given: Fields, version: Version | None) -> Fields:
        """The fields of an answer, with what every answer on a migrated route says."""
        names = dict(given)
        found = fields.varying(
            given if _STAMPS.isdisjoint(names) else [pair for pair in given if pair[0] not in _STAMPS]
        )
        if version == LEGACY and self.choice.media_type != JSON:
            found = fields.retyped(found, self.choice.media_type)
        found.append((b"x-request-id", self.request_id.encode()))
        if version is not None:
            found.append(MARKS[version])
        if self.client_tag is not None:
            found.append((b"x-client-tag", self.client_tag.encode()))
        if self.allowance is not None and self.ours is None:
            found += self.limit_fields(given)
        if self.observation is not None and self.observation.traceparent:
            found.append((b"traceparent", self.observation.traceparent.encode()))
        if self.ours is not None and self.ours.status == _GONE and self.choice.refusal is not None:
            found.append(
                (b"link", f'<{fields.link_to(self.target, envelope=CURRENT)}>; rel="successor-version"'.encode())
            )
        if version == LEGACY and self.versions.schedule is not None and self.versions.stage != "before":
            found += self.versions.schedule.headers(fields.link_to(self.target, envelope=CURRENT))
        if b"access-control-allow-origin" in names:
            exposed = fields.joined(fields.find(given, b"access-control-expose-headers"), fields.EXPOSED)
            found.append((b"access-control-expose-headers", exposed))
        return found

    def fields_of(self, reply: Reply[Any], body: Body) -> Fields:
        """What a reply and its body say in fields."""
        found: Fields = []
        if not _SILENT.issuperset(reply.said()):
            versions, by_offset = self.versions, reply.page is not None and self._takes_offset
            older = versions.rate_limit_headers
            # a link is followed with a GET, which does not lead to the next page of anything else
            told = reply if self.scope["method"] in SAFE_METHODS else reply.replace(page=None)
            found = fields.of_reply(told, self.target, versions.clock, older=older, by_offset=by_offset)
        if body.status != _NOT_MODIFIED:
            found.append((b"content-type", body.media_type.encode()))
            found.append((b"content-length", b"%d" % len(body.content)))
        return found
