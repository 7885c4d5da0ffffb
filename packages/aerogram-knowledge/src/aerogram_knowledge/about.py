"""What a result says about itself: how far to trust it, why it stands where it stands, and what says the same.

Every number follows from evidence: the scores, the facts that a document states about itself, its date, the texts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aerogram_knowledge.front import UNKNOWN_LICENSE
from aerogram_knowledge.fusion import Ranked
from aerogram_knowledge.store import Found

__all__ = ["NAMES", "confidence", "deduplication", "ranking"]

NAMES: Final = ("confidence", "ranking", "deduplication")
HALF_LIFE_DAYS: Final = 730
UNDATED: Final = 0.3
"""The recency of a document that does not say when it was written."""
STRONG: Final = 0.5
FAIR: Final = 0.25
TOP, HIGH, MIDDLE = 90, 70, 40
_WEIGHTS: Final = {"verified": 0.35, "publisher": 0.2, "license": 0.15, "dated": 0.15, "url": 0.15}
_METHODS: Final = {"hybrid": "semantic and keyword", "vector": "semantic", "bm25": "keyword"}


def confidence(chunk: Found, ranked: Ranked, place: int, verified: bool, today: dt.date) -> dict[str, float]:
    """How far a result can be trusted: its score, its source, its age."""
    return {
        "score_reliability": round(_reliability(ranked, place), 3),
        "source_quality": round(_quality(chunk, verified), 3),
        "recency": round(_recency(chunk.dated, today), 3),
    }


def ranking(ranked: Ranked, place: int) -> dict[str, Any]:
    """Where a result stands among all of them, and why."""
    others = len(ranked) - 1
    percentile = 100 if others < 1 else round(100 * (others - place) / others)
    return {
        "percentile": percentile,
        "explanation": f"{_tier(percentile)}: {_reason(ranked, place)}",
        "score_method": ranked.method,
    }


def deduplication(ranked: Ranked, place: int, similar: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """Which chunks have nearly the same text, and whether one of them stands higher."""
    ranks = [ranked.rank_of(other) for other, _ in similar]
    return {
        "is_duplicate": any(rank is not None and rank <= place for rank in ranks),
        "similar_chunk_ids": [other for other, _ in similar],
        "confidence": max((alike for _, alike in similar), default=0.0),
    }


def _reliability(ranked: Ranked, place: int) -> float:
    """The score itself, how much of the query is known, and whether words and meaning agree."""
    words, meaning = float(ranked.words[place]), float(ranked.meaning[place])
    agreement = min(words, meaning) / max(words, meaning) if max(words, meaning) > 0 else 0.0
    return 0.6 * float(ranked.hybrid[place]) + 0.25 * ranked.coverage + 0.15 * agreement


def _quality(chunk: Found, verified: bool) -> float:
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


def _reason(ranked: Ranked, place: int) -> str:
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
