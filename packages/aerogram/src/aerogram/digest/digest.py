"""Digests: a source condensed for one question, with evidence that can be checked.

`digest_text` is the pure heart: canonical text and question in, payload out. A `Digester`
puts the rest around it: policy, cache, archive, a writer with its fallback.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from aerogram.digest.cache import DigestCache, cache_key
from aerogram.digest.draft import Assignment, Draft, Writer, accept, extract_draft, extract_everything, extract_sentence
from aerogram.digest.evidence import Embed, Passage, Ranking
from aerogram.digest.payload import DigestPayload, EvidenceSnippet, is_digest, payload_of
from aerogram.digest.policy import DigestPolicy, SkipReason
from aerogram.digest.sources import Kind, read
from aerogram.digest.terms import query_terms
from aerogram.digest.text import CanonicalText, normalise
from aerogram.digest.verification import TextArchive, keep
from aerogram.errors import ReplyError
from aerogram.reply import Notice
from aerogram.shape.facts import count_digest

Source = Any
"""A path, bytes, text, a `CanonicalText`, a payload, or a mapping or object with `content` and `content_type`."""

_log = logging.getLogger("aerogram.digest")


@dataclass(frozen=True, slots=True)
class Digest:
    """What became of one source: a payload, or the reason why there is none and its text as it is."""

    payload: DigestPayload | None
    text: CanonicalText | None = None
    skipped: SkipReason | None = None
    notices: tuple[Notice, ...] = ()
    cached: bool = False
    archived: bool = False


def query_hash(query: str) -> str:
    """The 8 hex digits that stand for a question in a payload."""
    return hashlib.sha256(_question(query).encode()).hexdigest()[:8]


def digest_text(
    text: CanonicalText, query: str, policy: DigestPolicy | None = None, embed: Embed | None = None
) -> DigestPayload:
    """The digest of a canonical text for a question, made of the text's own words."""
    policy = policy or DigestPolicy()
    ranking = Ranking(text, _question(query), policy.snippet_chars)
    passages = ranking.evidence(policy.snippets, embed)
    draft = extract_draft(ranking, passages, policy.summary_chars, policy.key_points)
    return _shorter(_payload(text, query, passages, draft), query, policy, ranking, passages)


class Digester:
    """Digests sources by one policy; share one between tasks."""

    def __init__(
        self,
        policy: DigestPolicy | None = None,
        *,
        archive: TextArchive | None = None,
        cache: DigestCache | None = None,
        writer: Writer | None = None,
        writer_timeout: float = 30.0,
        embed: Embed | None = None,
    ) -> None:
        self.policy = policy or DigestPolicy()
        self.archive = archive
        self.cache = cache
        self.writer = writer
        self.writer_timeout = writer_timeout
        self.embed = embed

    async def digest(
        self,
        source: Source,
        query: str,
        *,
        kind: Kind | None = None,
        name: str = "",
        seconds: float | None = None,
        principal: str | None = None,
    ) -> Digest:
        """Digest one source for a question, or say why it was skipped; a digest is never digested again.

        The text goes into the principal's part of the archive.
        """
        if is_digest(source):
            return Digest(payload_of(source), skipped="already_digest")
        text = await self._read(source, kind, name, seconds)
        reason = self.policy.skips_size(len(text.text))
        if reason == "empty" and self.policy.mode == "always":
            return Digest(_payload(text, query, [], Draft("", ())), text, "empty")
        if reason:
            return Digest(None, text, reason)
        return await self._settle(await self._recall_or_make(text, query), query, name, principal)

    async def _read(self, source: Source, kind: Kind | None, name: str, seconds: float | None) -> CanonicalText:
        if isinstance(source, CanonicalText):
            return source
        content: Any = source.get("content") if isinstance(source, Mapping) else getattr(source, "content", source)
        policy = self.policy if seconds is None else self.policy.with_deadline(seconds)
        return await asyncio.to_thread(read, content, kind=kind, name=name, limits=policy.limits)

    async def _recall_or_make(self, text: CanonicalText, query: str) -> Digest:
        """The digest from the cache, or a new one that goes into it."""
        key = self._key(text, query)
        payload = await self._recall(key)
        if payload is not None:
            return Digest(payload, text, cached=True)
        found = await self._make(text, query)
        # a fallback is there because something failed for the moment, so the next call tries again
        if found.payload and not found.notices:
            await self._remember(key, found.payload)
        return found

    async def _recall(self, key: str | None) -> DigestPayload | None:
        try:
            return await self.cache.get(key) if self.cache and key else None
        except Exception:  # noqa: BLE001  a cache saves work; without it the work is done
            _log.warning("the cache of digests could not be read", exc_info=True)
            return None

    async def _remember(self, key: str | None, payload: DigestPayload) -> None:
        try:
            if self.cache and key:
                await self.cache.put(key, payload)
        except Exception:  # noqa: BLE001  the digest is made already
            _log.warning("the cache of digests could not be written", exc_info=True)

    async def _settle(self, found: Digest, query: str, name: str, principal: str | None) -> Digest:
        """Apply what does not depend on the making: relevance by the policy, and the archive."""
        payload, text = found.payload, found.text
        if payload is None or text is None:
            return found
        best = max((snippet.relevance_score for snippet in payload.evidence_snippets), default=0.0)
        reason = self.policy.skips_relevance(best)
        if reason:
            return replace(found, payload=None, skipped=reason)
        if best < self.policy.min_relevance and query_terms(_question(query)):
            found = replace(found, notices=(*found.notices, _no_answer(name)))
        return (
            found if self.archive is None else await _archive_text(found, keep(text, self.archive, principal=principal))
        )

    async def _make(self, text: CanonicalText, query: str) -> Digest:
        ranking = await asyncio.to_thread(Ranking, text, _question(query), self.policy.snippet_chars)
        passages = await asyncio.to_thread(ranking.evidence, self.policy.snippets, self.embed)
        written, notices = await self._write(ranking, passages)
        policy = self.policy
        draft = written
        if draft is None:
            draft = await asyncio.to_thread(extract_draft, ranking, passages, policy.summary_chars, policy.key_points)
        payload = _shorter(_payload(text, query, passages, draft), query, policy, ranking, passages, written)
        return Digest(payload, text, notices=notices)

    async def _write(self, ranking: Ranking, passages: list[Passage]) -> tuple[Draft | None, tuple[Notice, ...]]:
        """The writer's draft; none when there is no writer or it fails, so that the text speaks for itself."""
        if self.writer is None:
            return None, ()
        try:
            return accept(await self._ask_writer(ranking, passages)), ()
        except Exception as error:  # noqa: BLE001  whatever a writer does, there is a digest
            _log.warning("the writer of a digest failed", exc_info=True)
            return None, (_fallback(error),)

    async def _ask_writer(self, ranking: Ranking, passages: list[Passage]) -> object:
        assignment = Assignment(ranking.query, ranking.source.text, tuple(passages))
        writer = cast("Writer", self.writer)
        async with asyncio.timeout(self.writer_timeout):
            if inspect.iscoroutinefunction(writer) or inspect.iscoroutinefunction(type(writer).__call__):
                return await cast("Any", writer)(assignment)
            drafted = await asyncio.to_thread(writer, assignment)
            return await drafted if inspect.isawaitable(drafted) else drafted

    def _key(self, text: CanonicalText, query: str) -> str | None:
        """The key of a digest in the cache; none when an embedder or writer cannot be told from another."""
        embed, writer = _name(self.embed), _name(self.writer)
        if embed is None or writer is None:
            return None
        return cache_key(text.hash, _question(query), self.policy.fingerprint(embed, writer))


async def _archive_text(found: Digest, keeping: Awaitable[object]) -> Digest:
    """The digest once its text is in the archive; if that fails, a digest that says so."""
    try:
        await keeping
    except Exception as error:  # noqa: BLE001  whatever an archive does, there is a digest
        is_told = isinstance(error, (ReplyError, OSError))  # an archive that is away says so itself
        _log.warning("the text of a digest could not be archived: %s", error, exc_info=not is_told)
        return replace(found, notices=(*found.notices, _archive_notice(error)))
    return replace(found, archived=True)


def _question(query: str) -> str:
    return " ".join(normalise(query).split())


def _name(part: object) -> str | None:
    """A name that tells one embedder or writer from another: its `name`, or that of a function of a module.

    Lambdas, inner functions, methods and objects may differ in what they hold, so without a `name` they have none.
    """
    if part is None:
        return ""
    own = getattr(part, "name", None)
    if own is None and inspect.isfunction(part) and "<" not in part.__qualname__:
        own = part.__qualname__
    return None if own is None else f"{getattr(part, '__module__', '')}.{own}"


def _fallback(error: Exception) -> Notice:
    reason = "timed out" if isinstance(error, TimeoutError) else "failed"
    message = f"The writer {reason}; summary and key points are taken from the text itself"
    return Notice.of("FALLBACK_USED", message, reason=_reason(error))


def _no_answer(name: str) -> Notice:
    message = f"Nothing in {name or 'the text'} bears on the question; the summary only says what it is about"
    suggestion = "Ask in the words of the document, or search for another one"
    return Notice.of("LOW_QUALITY_RESULTS", message, suggestion=suggestion, **({"source": name} if name else {}))


def _archive_notice(error: Exception) -> Notice:
    message = "The text could not be archived; its hash and quotations can only be checked against the source"
    return Notice.of("PARTIAL_FAILURE", message, reason=_reason(error))


def _reason(error: Exception) -> str:
    # what a stranger's exception says may be secret; the log has it
    return error.message if isinstance(error, ReplyError) else type(error).__name__


def _shorter(
    payload: DigestPayload,
    query: str,
    policy: DigestPolicy,
    ranking: Ranking,
    passages: list[Passage],
    written: Draft | None = None,
) -> DigestPayload:
    """The payload, or where the text is shorter than that, one that has all of the text.

    It is quoted whole. What has nothing to do with the question is no evidence, so it is its own summary then.
    """
    if not policy.quote_whole or payload.digest_chars <= payload.original_chars:
        return payload
    if passages:
        whole = ranking.cover(passages, policy.snippets)
        draft = written or extract_sentence(ranking, passages, policy.summary_chars)
        return payload if whole is None else _payload(ranking.source, query, whole, draft)
    everything = None if written else extract_everything(ranking, policy.summary_chars)
    return payload if everything is None else _payload(ranking.source, query, [], everything)


def _payload(text: CanonicalText, query: str, passages: list[Passage], draft: Draft) -> DigestPayload:
    snippets = [
        EvidenceSnippet(text=passage.text, locator=str(passage.locator), relevance_score=passage.relevance)
        for passage in passages
    ]
    payload = DigestPayload(
        query_hash=query_hash(query),
        summary=draft.summary,
        key_points=list(draft.key_points),
        evidence_snippets=snippets,
        original_chars=len(text.text),
        digest_chars=0,
        compression_ratio=0.0,
        source_text_hash=text.hash,
    )
    counted = count_digest({"original_chars": len(text.text)}, lambda said: payload.model_copy(update=said).to_json())
    return payload.model_copy(update=counted)
