"""Record types of the knowledge contract: search results and vendor graphs, with the fields of each mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from aerogram.reply.identity import identify
from aerogram.shape.modes import Record, RecordType, snippet

__all__ = ["SEARCH_RESULT", "VENDOR_INFO", "find_record_type"]

TOP_ENTITIES: Final = 5


def _ids_of(name: str) -> Callable[[Record], list[str]]:
    return lambda record: [found for item in record[name] or () if (found := identify(item)) is not None]


def _top_entities(record: Record) -> list[Any]:
    return list(record["entities"] or ())[:TOP_ENTITIES]


_PLACE: Final = ("chunk_id", "source_file", "source_category", "hybrid_score", "rank", "chunk_index", "total_chunks")
_GRAPH: Final = ("vendor_name", "entities", "relationships", "statistics")

SEARCH_RESULT: Final = RecordType(
    ids_only=("chunk_id", "hybrid_score", "rank"),
    metadata=_PLACE,
    preview=(*_PLACE, "chunk_snippet", "context_header"),
    full=(
        *("chunk_id", "chunk_text", "similarity_score", "bm25_score", "hybrid_score", "rank", "score_type"),
        *("source_file", "source_category", "context_header", "chunk_index", "total_chunks", "chunk_token_count"),
    ),
    made={"chunk_snippet": snippet("chunk_text")},
    is_ranked=True,
    additions=("confidence", "ranking", "deduplication"),
)

VENDOR_INFO: Final = RecordType(
    ids_only=("vendor_name", "entity_ids", "relationship_ids"),
    metadata=("vendor_name", "statistics", "top_entities", "last_updated"),
    preview=_GRAPH,
    full=_GRAPH,
    made={
        "entity_ids": _ids_of("entities"),
        "relationship_ids": _ids_of("relationships"),
        "top_entities": _top_entities,
    },
    caps={
        "preview": {"entities": 5, "relationships": 5},
        "full": {"entities": 100, "relationships": 500},
    },
)


def find_record_type(data: Any) -> RecordType | None:
    """The contract's type of a record, or of the first of some rows: it has the fields of one of its modes alone."""
    record = data[0] if isinstance(data, list) and data else data
    if not isinstance(record, dict):
        return None
    return next((one for one in (SEARCH_RESULT, VENDOR_INFO) if one.ids_only[0] in record and one.fits(record)), None)
