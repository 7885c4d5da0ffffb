"""Digests in replies: a source that carries its digest, and citations that point into its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aerogram.digest.batch import Batch, Outcome
from aerogram.digest.digest import Digest
from aerogram.digest.payload import CONTENT_TYPE
from aerogram.digest.verification import holds
from aerogram.reply import Citation, Fidelity, FidelityLevel, Problem, Reply

About = Mapping[str, Mapping[str, str]]


def source_of(name: str, digest: Digest, about: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A source as a reply lists it: its digest as content, or its text when it was not digested."""
    source: dict[str, Any] = {"id": name, **(about or {})}
    if digest.payload is not None:
        source |= {"content_type": CONTENT_TYPE, "content": digest.payload.to_json(), "fidelity": "summary"}
    else:
        text = digest.text.text if digest.text else ""
        source |= {"content_type": "text/plain", "content": text, "fidelity": "full"}
    if digest.skipped is not None:
        source["skipped"] = digest.skipped
    if digest.text is not None:
        source["provenance"] = digest.text.provenance
        if digest.text.notes:
            source["notes"] = list(digest.text.notes)
    return source


def citations_of(
    name: str, digest: Digest, field_path: str = "/content", about: Mapping[str, str] | None = None
) -> tuple[Citation, ...]:
    """One citation for each quotation of a digest, with the locator that finds it in the canonical text."""
    if digest.payload is None:
        return ()
    verified = digest.text is not None and holds(digest.payload, digest.text)
    known = about or {}
    return tuple(
        Citation(
            source_id=name,
            source_url=known.get("url"),
            title=known.get("title"),
            fetched_at=known.get("fetched_at"),
            checksum=digest.payload.source_text_hash,
            field_paths=(field_path,),
            verification_status="verified" if verified else "unverified",
            extra={"locator": snippet.locator, "relevance_score": snippet.relevance_score},
        )
        for snippet in digest.payload.evidence_snippets
    )


def reply_of(batch: Batch, about: About | None = None) -> Reply[Any]:
    """A batch as a reply: `data.sources`, how complete they are, their citations, and what failed.

    `about` may give a title, a url and the like for each source by its name.
    """
    known = about or {}
    read = [outcome for outcome in batch.outcomes if outcome.digest is not None]
    if batch.outcomes and not read:
        return Reply.failed(_problem(batch))
    sources = [source_of(name, digest, known.get(name)) for name, digest in _digests(read)]
    citations = [
        citation
        for place, (name, digest) in enumerate(_digests(read))
        for citation in citations_of(name, digest, f"/results/0/sources/{place}/content", known.get(name))
    ]
    fields: dict[str, Any] = {"fidelity": _fidelity(batch, read), "citations": tuple(citations)}
    if batch.failed_outcomes:
        return Reply.partial({"sources": sources}, batch.notices, **fields)
    return Reply.ok({"sources": sources}, notices=batch.notices, **fields)


def _digests(read: list[Outcome]) -> list[tuple[str, Digest]]:
    return [(outcome.name, outcome.digest) for outcome in read if outcome.digest is not None]


def _fidelity(batch: Batch, read: list[Outcome]) -> Fidelity:
    digests = _digests(read)
    condensed = any(digest.payload is not None for _, digest in digests)
    hashes = {name: digest.text.hash for name, digest in digests if digest.archived and digest.text is not None}
    dropped = tuple(outcome.name for outcome in batch.failed_outcomes)
    level: FidelityLevel = "summary" if condensed else "partial" if dropped else "full"
    return Fidelity(level, dropped_ids=dropped, archive_hashes=hashes)


def _problem(batch: Batch) -> Problem:
    problems = [outcome.problem for outcome in batch.failed_outcomes if outcome.problem]
    if len(problems) == 1:
        return problems[0]
    reasons = {outcome.name: outcome.problem.message for outcome in batch.failed_outcomes if outcome.problem}
    return Problem.of(problems[0].code, f"None of {len(problems)} sources could be digested", details=reasons)
