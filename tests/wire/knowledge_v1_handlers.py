"""Handlers as a reader of the knowledge document writes them."""

from typing import Any

from aerogram import Notice, Reply
from aerogram.documents.knowledge_v1 import (
    ConfidenceScore,
    DeduplicationInfo,
    ExecutionContext,
    MCPResponseEnvelope,
    PaginationMetadata,
    RankingContext,
    ResponseMetadata,
    ResponseWarning,
    SearchResultFull,
    SearchResultIDs,
    SearchResultMetadata,
    SearchResultPreview,
    SemanticSearchResponseType,
    VendorInfoIDs,
    VendorInfoMetadata,
    VendorInfoPreview,
    VendorStatistics,
)
from aerogram.errors import NotFound
from aerogram.shape.records import SEARCH_RESULT, VENDOR_INFO

DIALECT = "knowledge-1.0"
SETTINGS: dict[str, Any] = {
    "controls": ["semantic_search", "vendor_info"],
    "kinds": {"semantic_search": SEARCH_RESULT, "vendor_info": VENDOR_INFO},
}
TEXT = "JWT authentication provides stateless sessions for every service that can check a signature. " * 8
STATISTICS = VendorStatistics(
    entity_count=120,
    relationship_count=510,
    entity_type_distribution={"COMPANY": 120},
    relationship_type_distribution={"PARTNER": 510},
)


def hit(rank: int) -> SearchResultFull:
    return SearchResultFull(
        chunk_id=122 + rank,
        chunk_text=TEXT,
        similarity_score=0.82,
        bm25_score=0.88,
        hybrid_score=0.85,
        rank=rank,
        score_type="hybrid",
        source_file="docs/auth/jwt.md",
        source_category="security",
        context_header="JWT Guide > Implementation",
        chunk_index=rank,
        total_chunks=50,
        chunk_token_count=512,
    )


def semantic_search(query: str) -> list[SearchResultFull]:
    return [hit(rank) for rank in range(1, 43)]


def vendor_info(vendor_name: str) -> dict:
    return {
        "vendor_name": vendor_name,
        "entities": [{"id": f"e_{number:03}", "name": f"Entity {number}"} for number in range(120)],
        "relationships": [{"id": f"r_{number:03}", "type": "PARTNER"} for number in range(510)],
        "statistics": STATISTICS.model_dump(),
        "last_updated": "2025-11-09T10:00:00Z",
    }


def mode_ids() -> list[SearchResultIDs]:
    return [SearchResultIDs(chunk_id=123, hybrid_score=0.85, rank=1)]


def mode_metadata() -> list[SearchResultMetadata]:
    return [
        SearchResultMetadata(
            chunk_id=123,
            source_file="docs/auth/jwt.md",
            source_category="security",
            hybrid_score=0.85,
            rank=1,
            chunk_index=3,
            total_chunks=15,
        )
    ]


def mode_preview() -> list[SearchResultPreview]:
    return [
        SearchResultPreview(
            chunk_id=123,
            source_file="docs/auth/jwt.md",
            source_category="security",
            hybrid_score=0.85,
            rank=1,
            chunk_index=3,
            total_chunks=15,
            chunk_snippet="JWT authentication provides stateless...",
            context_header="JWT Guide > Implementation",
        )
    ]


def mode_full() -> list[SearchResultFull]:
    return [hit(1)]


def vendor_ids() -> VendorInfoIDs:
    return VendorInfoIDs(vendor_name="Acme", entity_ids=["e_001", "e_002"], relationship_ids=["r_001"])


def vendor_metadata() -> VendorInfoMetadata:
    return VendorInfoMetadata(
        vendor_name="Acme", statistics=STATISTICS, top_entities=[{"id": "e_001"}], last_updated="2025-11-09T10:00:00Z"
    )


def vendor_preview() -> VendorInfoPreview:
    return VendorInfoPreview(vendor_name="Acme", entities=[{"id": "e_001"}], relationships=[], statistics=STATISTICS)


def typed_envelope() -> MCPResponseEnvelope[list[SearchResultMetadata]]:
    return MCPResponseEnvelope[list[SearchResultMetadata]](
        metadata=ResponseMetadata(
            operation="semantic_search",
            version="1.0.0",
            timestamp="2025-11-09T10:30:00Z",
            request_id="req_7f3a2b1c",
            status="partial",
            message="One source did not answer",
        ),
        results=mode_metadata(),
        pagination=PaginationMetadata(
            cursor="eyJxdWVyeV9oYXNoIjoiYWJjIiwib2Zmc2V0IjoxMH0=", page_size=10, has_more=True, total_available=42
        ),
        execution_context=ExecutionContext(
            tokens_estimated=2450, tokens_used=2523, cache_hit=True, execution_time_ms=156.3, request_id="req_7f3a2b1c"
        ),
        warnings=[
            ResponseWarning(
                level="warning",
                code="PARTIAL_RESULTS",
                message="Some results omitted",
                suggestion="Reduce page_size for complete results",
            )
        ],
    )


def typed_rows() -> list[SearchResultFull]:
    return [hit(rank) for rank in range(1, 43)]


def own_page() -> SemanticSearchResponseType:
    """The first page of its own paging, with the cursor of the second."""
    page = typed_envelope()
    return SemanticSearchResponseType(
        metadata=page.metadata.model_copy(update={"status": "success", "message": None}),
        results=[hit(rank) for rank in range(1, 21)],
        pagination=page.pagination.model_copy(update={"page_size": 20}),
        execution_context=page.execution_context,
        warnings=[],
    )


def envelope() -> dict:
    return typed_envelope().model_dump(mode="json")


def explained() -> list[SearchResultMetadata]:
    return [
        mode_metadata()[0].model_copy(
            update={
                "confidence": ConfidenceScore(score_reliability=0.9, source_quality=0.8, recency=0.7),
                "ranking": RankingContext(
                    percentile=100, explanation="High relevance: Strong keyword match", score_method="bm25"
                ),
                "deduplication": DeduplicationInfo(is_duplicate=True, similar_chunk_ids=[1, 2], confidence=0.9),
            }
        )
    ]


def warn(code: str) -> list[dict]:
    return Reply.ok([{"chunk_id": 1}], notices=[Notice.of(code)])


def nothing_found() -> list[dict]:
    return []


def give_number() -> int:
    return 42


def raise_not_found() -> list[dict]:
    raise NotFound("there is no vendor Acme", remediation="List the vendors")


def raise_unexpected() -> list[dict]:
    raise RuntimeError("the password is hunter2")


WARNINGS = (
    *("TOKEN_LIMIT_WARNING", "TOKEN_LIMIT_EXCEEDED", "CACHE_MISS_SLOW", "LOW_QUALITY_RESULTS", "PARTIAL_RESULTS"),
    "DEPRECATED_PARAMETER",
)
MODES = ("ids_only", "metadata", "preview", "full")
HANDLERS = (
    *(semantic_search, vendor_info, mode_ids, mode_metadata, mode_preview, mode_full),
    *(
        vendor_ids,
        vendor_metadata,
        vendor_preview,
        envelope,
        typed_envelope,
        typed_rows,
        own_page,
        explained,
        warn,
        nothing_found,
        give_number,
    ),
    *(raise_not_found, raise_unexpected),
)
JWT = {"query": "JWT authentication"}
THREE = ["chunk_id", "source_file", "hybrid_score"]
CALLS = {
    **{handler.__name__: (handler, {}) for handler in HANDLERS if not handler.__code__.co_argcount},
    **{f"search {mode}": (semantic_search, {**JWT, "response_mode": mode, "page_size": 2}) for mode in MODES},
    **{f"vendor {mode}": (vendor_info, {"vendor_name": "Acme", "response_mode": mode}) for mode in MODES},
    **{f"warning {code}": (warn, {"code": code}) for code in WARNINGS},
    "search": (semantic_search, JWT),
    "page": (semantic_search, {**JWT, "response_mode": "ids_only", "page_size": 20}),
    "fields": (semantic_search, {**JWT, "response_mode": "metadata", "fields": THREE, "page_size": 2}),
    "wrong fields": (semantic_search, {**JWT, "response_mode": "metadata", "fields": ["chunk_text"]}),
}
"""What is asked of every server, each under its name: a handler, and its arguments."""
FAILING = {"raise_not_found", "raise_unexpected", "wrong fields"}
