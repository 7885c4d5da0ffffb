"""Responses: one answer of an application over HTTP, and every promise that it breaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aerogram._http.exchange import SAFE_METHODS
from aerogram._http.negotiation import CURRENT, LEGACY, PARAMETER, PROBLEM, EnvelopeChoice, Versions
from aerogram._http.routes import CONTROLS, RouteEntry
from aerogram.client.reading import add_next_link, read
from aerogram.codes import TABLE
from aerogram.dialects import dialect as dialect_named
from aerogram.errors import AerogramError
from aerogram.reply import Reply
from aerogram.testing.asgi import Response
from aerogram.testing.inputs import explain_mismatch
from aerogram.testing.leaks import leaks_in
from aerogram.testing.observation import Complaint, observe, read_strictly
from aerogram.testing.settings import SweepSettings
from aerogram.testing.trails import is_refusal
from aerogram.tokens import Budget

__all__ = ["KnownApp", "ProbeRequest", "ResponseCheck"]

_FAILURES: Final = 400
_REDIRECTS: Final = 300


@dataclass(frozen=True)
class KnownApp:
    """An application as it is known: its envelopes, its OpenAPI document, and whether Aerogram is installed on it."""

    settings: SweepSettings
    versions: Versions
    document: Mapping[str, Any]
    is_installed: bool


@dataclass(frozen=True)
class ProbeRequest:
    """One request: which shape is asked for, and how."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = b""
    accept: str = ""
    is_faulty: bool = False
    how: str = "?envelope=v2"

    def choice(self, versions: Versions, entry: RouteEntry | None) -> EnvelopeChoice:
        """What the negotiation comes to."""
        asked, own = self.query.get(PARAMETER), None if entry is None else entry.terms.shapes.default
        return versions.negotiate([] if asked is None else [asked], self.accept, own)


class ResponseCheck:
    """A response, and what is wrong with it."""

    def __init__(self, place: KnownApp, ask: ProbeRequest, response: Response, entry: RouteEntry | None) -> None:
        self.place, self.ask, self.response, self.entry = place, ask, response, entry
        self.choice = ask.choice(place.versions, entry)
        self.has_failed = response.status_code >= _FAILURES
        self.is_migrated = entry is None or entry.terms.migrated
        self.found: list[Complaint] = []
        self.is_ours = self.is_migrated and (self.has_failed or self._is_json_success)
        self.is_problem = self.has_failed and response.media_type == PROBLEM
        self.version = None if self.is_problem else self.choice.version
        self.reply = self._read()

    @property
    def _is_json_success(self) -> bool:
        """Files, streams, redirects and other formats pass as they are."""
        response = self.response
        return response.is_json and response.is_whole and response.status_code < _REDIRECTS and bool(response.content)

    @property
    def outcome(self) -> str:
        """The answer in a word or two."""
        if not self.response.status_code:
            return "no answer"
        code = f" {self.reply.problem.code}" if self.reply.problem else ""
        return f"{self.response.status_code}{code}"

    @property
    def _dialect(self) -> Any:
        versions = self.place.versions
        if self.is_problem:
            return versions.problem
        return versions.current if self.version == CURRENT else versions.legacy

    def _read(self) -> Reply[Any]:
        is_foreign = not self.is_ours or (self.version == LEGACY and dialect_named(self._dialect).is_bare)
        if self.response.status_code and not is_foreign:
            reply, self.found = read_strictly(self.response, observe(self.response), self._dialect)
            if reply is not None:
                return add_next_link(reply, self.response.headers.get("link", ""), self.ask.path)
        try:
            return read(self.response) if self.response.status_code else Reply.failed("INTERNAL_ERROR", "no answer")
        except AerogramError:
            return Reply(None)

    def complaints(self, request_id: str) -> Iterator[Complaint]:
        """Every promise that the answer breaks."""
        response = self.response
        if not response.status_code or (response.is_json and not response.is_complete):
            yield "answer", f"{type(response.error).__name__}: {response.error}" if response.error else "nothing came"
            return
        yield from self.found
        if self.has_failed:
            yield from (("leak", leak) for leak in leaks_in(self._words, self.place.settings.secrets))
        else:
            yield from (("leak", f"it says {one!r}") for one in self.place.settings.secrets if one in self._words)
        if self.is_ours:
            yield from self._about_headers(request_id)
            yield from self._about_problem()
            yield from self._about_size()
            yield from self._about_schema()
        elif not self.is_migrated and self.place.is_installed:
            yield from self._about_version(LEGACY)

    @property
    def _words(self) -> str:
        return f"{self.response.text} {self.response.headers}"

    def _about_headers(self, request_id: str) -> Iterator[Complaint]:
        headers = self.response.headers
        yield from self._about_version(self.version)
        if "accept" not in headers.get("vary", "").lower():
            yield "vary", f"Vary is {headers.get('vary')!r}, and the answer depends on Accept"
        places = {"X-Request-Id": headers.get("x-request-id")}
        if self.version != LEGACY:
            places["the body"] = self.reply.request_id
        wrong = {place: found for place, found in places.items() if found != request_id}
        if wrong:
            said = ", ".join(f"{place} has {found}" for place, found in wrong.items())
            yield "request-id", f"{request_id} was sent, and {said}"
        wanted, given = self.choice.media_type, self.response.media_type
        if wanted in self.ask.accept and self.version == CURRENT and wanted != given:
            yield "version", f"{wanted} was asked for, and the type is {given}"

    def _about_version(self, expected: str | None) -> Iterator[Complaint]:
        said = self.response.headers.get("x-envelope-version")
        if said != expected:
            yield "version", f"X-Envelope-Version is {said}, and {expected or 'no envelope'} was to be served"

    def _about_problem(self) -> Iterator[Complaint]:
        problem, status = self.reply.problem, self.response.status_code
        if problem is None or self.version == LEGACY:
            return
        above = TABLE.of_status(status)
        if status != problem.status and above not in {one.name for one in TABLE.lineage(problem.code)}:
            yield "status", f"{problem.code} came with {status}, and its status is {problem.status}"
        told = self.response.headers.get("retry-after")
        asked = observe(self.response).body
        wanted = (
            None if problem.retry_after is None or "retry_after" not in str(asked) else math.ceil(problem.retry_after)
        )
        if wanted is not None and told != str(wanted):
            yield "retry-after", f"the problem says {problem.retry_after:g} s, and Retry-After is {told}"

    def _about_size(self) -> Iterator[Complaint]:
        terms = self.entry.terms if self.entry else None
        limit: Budget | None = None
        if terms is not None and self.version == CURRENT:
            limit = self.place.settings.limit(terms.operation, self._effective_query)
        if limit is None or is_refusal(self.reply):
            return
        size = limit.counter.count(self.response.text)
        if size > limit.limit:
            yield "budget", f"it has {size} {limit.counter.unit}, and the budget is {limit.limit}"

    @property
    def _effective_query(self) -> Mapping[str, Any]:
        """The query without controls that work which is done may pass over, if the answer says that it did."""
        said = {notice.code for notice in self.reply.notices}
        if self.ask.method in SAFE_METHODS or "CONTROL_IGNORED" not in said:
            return self.ask.query
        return {name: value for name, value in self.ask.query.items() if name not in CONTROLS}

    def _about_schema(self) -> Iterator[Complaint]:
        """What the application's own document says about such an answer."""
        document, path = self.place.document, self.entry.terms.path if self.entry else ""
        described = document.get("paths", {}).get(path, {}).get(self.ask.method.lower(), {}).get("responses", {})
        answer = described.get(str(self.response.status_code), {})
        schema = answer.get("content", {}).get(self._described_type, {}).get("schema")
        if schema is None or not self.response.is_json:
            return
        wrong = explain_mismatch({**schema, "components": document.get("components", {})}, observe(self.response).body)
        if wrong is not None:
            yield "schema", f"the OpenAPI document describes something else: {wrong}"

    @property
    def _described_type(self) -> str:
        """Under which media type a document describes the answer: it has no other way to tell two shapes apart."""
        return self.place.versions.media_type(CURRENT) if self.version == CURRENT else self.response.media_type
