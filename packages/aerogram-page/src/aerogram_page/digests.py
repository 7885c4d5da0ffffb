"""Digests: a document with the evidence of its digest highlighted where it stands, and whether all of it holds."""

from __future__ import annotations

from typing import Any, Final

from aerogram.client.reading import raise_for_problem
from aerogram.content.jsontext import loads, part_to_json
from aerogram.digest.payload import DigestPayload, is_digest, payload_of
from aerogram.digest.sources import reread
from aerogram.digest.text import InvalidLocator, Locator, page_spans, text_hash
from aerogram.digest.verification import Verification, fetch, verify
from aerogram.errors import NotFound, ReplyError
from aerogram.reply import Reply
from aerogram.tokens import best_counter
from aerogram_page import asks
from aerogram_page.host import Host
from aerogram_page.work import compute, load

__all__ = ["LARGEST_TEXT", "DigestView"]

LARGEST_TEXT: Final = 4_000_000
"""Characters of the longest document that is shown; the digest of a longer one is verified all the same."""


class DigestView:
    """Shows digests over their documents."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def show(self, ask: asks.ShowDigest, principal: str | None) -> dict[str, Any]:
        """A digest that is made now, or one that was given."""
        if ask.source_file is not None and ask.query is not None:
            reply = await self._make(ask.source_file, ask.query, principal)
            source = reply.data["sources"][0]
            payload = payload_of(source)
            about = {"source_file": ask.source_file, "title": source.get("title") or ask.source_file}
            notices = [part_to_json(one) for one in reply.notices]
            return {**about, "notices": notices, **await self.render(payload, None, principal)}
        given = await compute(load, ask.digest) if isinstance(ask.digest, str) else ask.digest
        payload = await compute(payload_of, given)
        return {"source_file": None, "title": None, **await self.render(payload, ask.text, principal)}

    async def _make(self, source_file: str, query: str, principal: str | None) -> Reply[Any]:
        allowance = await self._host.take(self._host.digest_operation, principal)
        try:
            reply = raise_for_problem(await self._host.digest(source_file, query, principal))
        except Exception:
            await self._host.forgive(allowance)
            raise
        if not is_digest(reply.data["sources"][0]):
            raise ReplyError("The document was not digested", code="UNAVAILABLE", details={"source_file": source_file})
        return reply

    async def render(self, payload: DigestPayload, given: str | None, principal: str | None) -> dict[str, Any]:
        """A digest over its text: that which was given, or that in the archive."""
        text, source = await self._text(payload, given, principal)
        return await compute(_render, payload, text, source)

    async def _text(self, payload: DigestPayload, given: str | None, principal: str | None) -> tuple[str | None, str]:
        if given is not None:
            return await compute(_source_text, payload, given), "given"
        archive = self._host.contract.archive
        if archive is None:
            return None, "none"
        try:
            return await fetch(archive, payload.source_text_hash, principal=principal), "archive"
        except NotFound:
            return None, "none"


def _source_text(payload: DigestPayload, given: str) -> str:
    """The text that a digest speaks of; a person pastes the document as it is."""
    is_canonical = text_hash(given) == payload.source_text_hash
    return given if is_canonical else reread(given, payload.source_text_hash).text


def _render(payload: DigestPayload, text: str | None, source: str) -> dict[str, Any]:
    found = None if text is None else verify(payload, text)
    count = best_counter().count
    written = payload.to_json()
    is_shown = text is not None and len(text) <= LARGEST_TEXT
    return {
        "payload": loads(written),
        "payload_text": written,
        "verified": None if found is None else bool(found),
        "checked": {"hash": _hash_holds(found), "snippets": len(payload.evidence_snippets)},
        "not_from_text": [{"field": one.field, "text": one.text} for one in found.unfound] if found is not None else [],
        "mismatches": [
            {"field": one.field, "message": one.message, "said": one.said, "found": one.found}
            for one in (found.mismatches if found is not None else ())
        ],
        "segments": _segments(payload, text or "") if is_shown else [],
        "text_hash": None if text is None else text_hash(text),
        "source": source,
        "size": {"document": count(text) if text is not None and is_shown else None, "digest": count(written)},
        "omitted": None if text is None or is_shown else {"characters": len(text), "limit": LARGEST_TEXT},
    }


def _hash_holds(found: Verification | None) -> bool | None:
    return None if found is None else all(one.field != "source_text_hash" for one in found.mismatches)


def _segments(payload: DigestPayload, text: str) -> list[dict[str, Any]]:
    """The text in pieces, those that are quoted with the number of the snippet that quotes them."""
    segments: list[dict[str, Any]] = []
    place = 0
    for start, end, number in sorted(_spans(payload, text)):
        if start < place:  # a part of what is highlighted already
            continue
        if start > place:
            segments.append({"text": text[place:start], "evidence": None})
        segments.append({"text": text[start:end], "evidence": number})
        place = end
    if place < len(text):
        segments.append({"text": text[place:], "evidence": None})
    return segments


def _spans(payload: DigestPayload, text: str) -> list[tuple[int, int, int]]:
    """Where each snippet stands that says what stands there."""
    pages = page_spans(text)
    found = []
    for number, snippet in enumerate(payload.evidence_snippets):
        try:
            locator = Locator.parse(snippet.locator)
            if locator.quote(text) != snippet.text or not snippet.text:
                continue
        except InvalidLocator:
            continue
        first = pages[locator.page - 1][0] if locator.page is not None else 0
        found.append((first + locator.start, first + locator.end, number))
    return found
