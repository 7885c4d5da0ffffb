"""What a result says about itself: how far to trust it, why it stands where it stands, and what says the same.

Every number follows from evidence: the scores, the facts that a document states about itself, its date, the texts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from aerogram.answer import Call, ReplyDraft, bring_to_size
from aerogram.contract import Contract
from aerogram.reply import Reply
from aerogram.shape.modes import Mode, RecordType
from aerogram.shape.pages import ResumablePage
from aerogram.shape.records import SEARCH_RESULT
from aerogram.shape.records import VENDOR_INFO as VENDOR
from aerogram.tokens import Budget
from aerogram_knowledge.documents.front import UNKNOWN_LICENSE
from aerogram_knowledge.search.citations import Status
from aerogram_knowledge.search.fusion import RankedResults
from aerogram_knowledge.store import StoredChunk

__all__ = [
    "CHUNK",
    "KINDS",
    "NAMES",
    "SEARCH",
    "SEARCH_ABOUT",
    "VENDOR",
    "chunk_record",
    "confidence",
    "deduplication",
    "finish",
    "is_weak",
    "name_copies",
    "ranking",
    "search_records",
]

ALSO_IN: Final = "also_in"
"""The other documents that have a result word by word; a result without any does not have the member."""
NAMES: Final = SEARCH_RESULT.additions
SCORE_DIGITS: Final = 3
"""A fourth digit would tell nobody more, and cost a token in each of three scores."""
HALF_LIFE_DAYS: Final = 730
UNDATED: Final = 0.3
"""The recency of a document that does not say when it was written."""
STRONG: Final = 0.5
FAIR: Final = 0.25
WEAK: Final = 0.45
"""A best result that can be trusted less than this comes with a warning."""
TOP, HIGH, MIDDLE = 90, 70, 40
_WEIGHTS: Final = {"verified": 0.35, "publisher": 0.2, "license": 0.15, "dated": 0.15, "url": 0.15}
_METHODS: Final = {"hybrid": "semantic and keyword", "vector": "semantic", "bm25": "keyword"}


def confidence(
    chunk: StoredChunk, ranked: RankedResults, place: int, verified: bool, today: dt.date
) -> dict[str, float]:
    """How far a result can be trusted: its score, its source, its age."""
    return {
        "score_reliability": round(_reliability(ranked, place), 3),
        "source_quality": round(_quality(chunk, verified), 3),
        "recency": round(_recency(chunk.dated, today), 3),
    }


def ranking(ranked: RankedResults, place: int) -> dict[str, Any]:
    """Where a result stands among all of them, and why."""
    others = len(ranked) - 1
    percentile = 100 if others < 1 else round(100 * (others - place) / others)
    return {
        "percentile": percentile,
        "explanation": f"{_tier(percentile)}: {_reason(ranked, place)}",
        "score_method": ranked.method,
    }


def deduplication(ranked: RankedResults, place: int, similar: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """Which chunks have nearly the same text, and whether one of them stands higher."""
    ranks = [ranked.rank_of(other) for other, _ in similar]
    return {
        "is_duplicate": any(rank is not None and rank <= place for rank in ranks),
        "similar_chunk_ids": [other for other, _ in similar],
        "confidence": max((alike for _, alike in similar), default=0.0),
    }


def is_weak(ranked: RankedResults) -> bool:
    """Whether not even the best result can be relied on."""
    return len(ranked.ids) > 0 and _reliability(ranked, 0) < WEAK


def _reliability(ranked: RankedResults, place: int) -> float:
    """The score itself, how much of the query is known, and whether words and meaning agree."""
    words, meaning = float(ranked.words[place]), float(ranked.meaning[place])
    agreement = min(words, meaning) / max(words, meaning) if max(words, meaning) > 0 else 0.0
    return 0.6 * float(ranked.hybrid[place]) + 0.25 * ranked.coverage + 0.15 * agreement


def _quality(chunk: StoredChunk, verified: bool) -> float:
    """The share of what a trustworthy source states, and whether its text still is what was stored."""
    facts: Mapping[str, Any] = {
        "verified": verified,
        "publisher": chunk.publisher,
        "license": chunk.license != UNKNOWN_LICENSE and chunk.license,
        "dated": chunk.dated,
        "url": chunk.url,
    }
    return sum(weight for name, weight in _WEIGHTS.items() if facts[name])


def _recency(dated: str | None, today: dt.date) -> float:
    """1 today, half of it after two years, and so on; a date in the future is today."""
    if dated is None:
        return UNDATED
    age = max(0, (today - dt.date.fromisoformat(dated)).days)
    return float(0.5 ** (age / HALF_LIFE_DAYS))


def _tier(percentile: int) -> str:
    if percentile >= TOP:
        return "Top-tier result"
    if percentile >= HIGH:
        return "High relevance"
    return "Moderate match" if percentile >= MIDDLE else "Weak match"


def _reason(ranked: RankedResults, place: int) -> str:
    words, meaning = float(ranked.words[place]), float(ranked.meaning[place])
    if ranked.method != "hybrid":
        strength = words if ranked.method == "bm25" else meaning
        return f"{_strength(strength)} {_METHODS[ranked.method]} match"
    if words >= STRONG and meaning >= STRONG:
        return "Strong semantic and keyword match"
    if words >= FAIR and words >= meaning:
        return f"{_strength(words)} keyword match"
    if meaning >= FAIR:
        return f"{_strength(meaning)} semantic match" + ("" if words else ", none of the words")
    return "Some keyword overlap"


def _strength(score: float) -> str:
    return "Strong" if score >= STRONG else "Fair" if score >= FAIR else "Weak"


_OF_A_QUERY: Final = frozenset({"similarity_score", "bm25_score", "hybrid_score", "rank", "score_type"})


def _besides_query(names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name for name in names or () if name not in _OF_A_QUERY)


SEARCH: Final = replace(
    SEARCH_RESULT,
    metadata=(*SEARCH_RESULT.metadata, ALSO_IN),
    preview=(*SEARCH_RESULT.preview, ALSO_IN),
    full=(*(SEARCH_RESULT.full or ()), ALSO_IN),
)
SEARCH_ABOUT: Final = replace(
    SEARCH_RESULT,
    metadata=(*SEARCH_RESULT.metadata, *NAMES),
    preview=(*SEARCH_RESULT.preview, *NAMES),
    full=(*(SEARCH_RESULT.full or ()), *NAMES),
)
CHUNK: Final = replace(
    SEARCH_RESULT,
    ids_only=_besides_query(SEARCH_RESULT.ids_only),
    metadata=_besides_query(SEARCH_RESULT.metadata),
    preview=_besides_query(SEARCH_RESULT.preview),
    full=_besides_query(SEARCH_RESULT.full),
)

KINDS: Final = {
    "semantic_search": replace(SEARCH, full=(*(SEARCH.full or ()), *NAMES)),
    "find_vendor_info": VENDOR,
    "get_chunks": CHUNK,
}
"""The record types of the operations, for a contract that shapes their replies: where room is short, what a result says
about itself goes before its text does."""


def kind_for(mode: Mode, about: bool | None) -> RecordType:
    """What a search shows: with what results say about themselves in full mode, and where `about` asks for it."""
    wanted = about if about is not None else mode == "full"
    return SEARCH_ABOUT if wanted and mode != "ids_only" else SEARCH_RESULT


def search_records(
    chunks: Sequence[StoredChunk],
    ranked: RankedResults,
    shown: range,
    statuses: Sequence[Status],
    similar: Mapping[int, Sequence[tuple[int, float]]] | None,
) -> list[dict[str, Any]]:
    """The records of the results that stand at the places `shown`; with `similar`, what they say about themselves."""
    today = dt.datetime.now(dt.UTC).date()
    places = {int(ranked.ids[place]): place for place in shown}
    records = []
    for chunk, status in zip(chunks, statuses, strict=True):
        place = places[chunk.id]
        record = _search_record(chunk, ranked, place)
        if similar is not None:
            record["confidence"] = confidence(chunk, ranked, place, status == "verified", today)
            record["ranking"] = ranking(ranked, place)
            record["deduplication"] = deduplication(ranked, place, similar.get(chunk.id, ()))
        records.append(record)
    return records


def name_copies(
    rows: Sequence[dict[str, Any]], chunks: Sequence[StoredChunk], also_in: Mapping[int, Sequence[str]]
) -> list[dict[str, Any]]:
    """The rows with the other documents that have them word by word, which are no field that one could ask for."""
    return [
        {**row, ALSO_IN: list(also_in[chunk.id])} if chunk.id in also_in else row
        for row, chunk in zip(rows, chunks, strict=True)
    ]


def _search_record(chunk: StoredChunk, ranked: RankedResults, place: int) -> dict[str, Any]:
    return {
        **chunk_record(chunk),
        "similarity_score": round(float(ranked.meaning[place]), SCORE_DIGITS),
        "bm25_score": round(float(ranked.words[place]), SCORE_DIGITS),
        "hybrid_score": round(float(ranked.hybrid[place]), SCORE_DIGITS),
        "rank": place + 1,
        "score_type": ranked.method,
    }


def chunk_record(chunk: StoredChunk) -> dict[str, Any]:
    """A chunk by itself."""
    return {
        "chunk_id": chunk.id,
        "source_file": chunk.path,
        "source_category": chunk.category,
        "chunk_index": chunk.index,
        "total_chunks": chunk.total,
        "chunk_text": chunk.text,
        "context_header": chunk.header,
        "chunk_token_count": chunk.tokens,
    }


def finish(paged: ResumablePage, call: Call, dialect: str, budget: int | str | Budget | None = None) -> Reply[Any]:
    """The reply as it is sent, as one JSON body."""
    contract = Contract(dialect=dialect, channels="text", kinds=KINDS, budget=budget)
    return bring_to_size(replace(call, contract=contract), ReplyDraft(paged.reply).with_page(paged)).reply
