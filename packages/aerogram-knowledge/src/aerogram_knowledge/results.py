"""Results: the rows of a page, as records of the knowledge contract.

`SEARCH` declares what each mode shows; `SEARCH_ABOUT` also has what a result says about itself, `CHUNK` is a chunk that
was asked for by its id: it has the same fields but those that only a query gives.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from aerogram.shape.modes import Mode, RecordType
from aerogram.shape.records import SEARCH_RESULT as SEARCH
from aerogram.shape.records import VENDOR_INFO as VENDOR
from aerogram_knowledge.about import NAMES, confidence, deduplication, ranking
from aerogram_knowledge.citations import Status
from aerogram_knowledge.fusion import Ranked
from aerogram_knowledge.store import Found

__all__ = ["CHUNK", "KINDS", "SEARCH", "SEARCH_ABOUT", "VENDOR", "chunk_record", "search_records"]

_OF_A_QUERY: Final = frozenset({"similarity_score", "bm25_score", "hybrid_score", "rank", "score_type"})


def _besides_query(names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(name for name in names or () if name not in _OF_A_QUERY)


SEARCH_ABOUT: Final = replace(
    SEARCH,
    metadata=(*SEARCH.metadata, *NAMES),
    preview=(*SEARCH.preview, *NAMES),
    full=(*(SEARCH.full or ()), *NAMES),
)
CHUNK: Final = replace(
    SEARCH,
    ids_only=_besides_query(SEARCH.ids_only),
    metadata=_besides_query(SEARCH.metadata),
    preview=_besides_query(SEARCH.preview),
    full=_besides_query(SEARCH.full),
)

KINDS: Final = {
    "semantic_search": replace(SEARCH, full=SEARCH_ABOUT.full),
    "find_vendor_info": VENDOR,
    "get_chunks": CHUNK,
}
"""The record types of the operations, for a contract that shapes their replies: where room is short, what a result says
about itself goes before its text does."""


def kind_for(mode: Mode, fields: Sequence[str] | None, about: bool | None) -> RecordType:
    """What a search shows: with what results say about themselves in full mode, and wherever it is asked for."""
    wanted = about if about is not None else mode == "full" or bool(set(fields or ()) & set(NAMES))
    return SEARCH_ABOUT if wanted and mode != "ids_only" else SEARCH


def search_records(
    chunks: Sequence[Found],
    ranked: Ranked,
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


def _search_record(chunk: Found, ranked: Ranked, place: int) -> dict[str, Any]:
    return {
        **chunk_record(chunk),
        "similarity_score": round(float(ranked.meaning[place]), 4),
        "bm25_score": round(float(ranked.words[place]), 4),
        "hybrid_score": round(float(ranked.hybrid[place]), 4),
        "rank": place + 1,
        "score_type": ranked.method,
    }


def chunk_record(chunk: Found) -> dict[str, Any]:
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
