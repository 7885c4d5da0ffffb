"""Response modes of declared and of undeclared records."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from aerogram.dialects.knowledge_v1 import (
    SearchResultFull,
    SearchResultIDs,
    SearchResultMetadata,
    SearchResultPreview,
    VendorInfoFull,
    VendorInfoIDs,
    VendorInfoMetadata,
    VendorInfoPreview,
    WhitelistedSemanticSearchFields,
    WhitelistedVendorInfoFields,
)
from aerogram.errors import ValidationFailed
from aerogram.reply.identity import Names, identify
from aerogram.shape.modes import MODES, Mode, RecordType, allowed_mode, in_mode, snippet
from aerogram.shape.records import SEARCH_RESULT, VENDOR_INFO

CHUNK = {
    "chunk_id": 123,
    "chunk_text": "JWT authentication provides stateless sessions. " * 20,
    "similarity_score": 0.82,
    "bm25_score": 0.88,
    "hybrid_score": 0.85,
    "rank": 1,
    "score_type": "hybrid",
    "source_file": "docs/auth/jwt.md",
    "source_category": "security",
    "context_header": "JWT Guide > Implementation",
    "chunk_index": 3,
    "total_chunks": 15,
    "chunk_token_count": 512,
}
VENDOR = {
    "vendor_name": "Acme Corporation",
    "entities": [{"id": f"e_{n:03}"} for n in range(150)],
    "relationships": [{"id": f"r_{n:03}"} for n in range(600)],
    "statistics": {
        "entity_count": 150,
        "relationship_count": 600,
        "entity_type_distribution": {"COMPANY": 150},
        "relationship_type_distribution": {"PARTNER": 600},
    },
    "last_updated": "2025-11-09T10:00:00Z",
}


@pytest.mark.parametrize("mode", MODES)
def test_the_declared_types_have_exactly_the_documented_fields(mode: Mode) -> None:
    name = mode.upper()
    assert set(SEARCH_RESULT.fields(mode) or ()) == getattr(WhitelistedSemanticSearchFields, name)
    assert set(VENDOR_INFO.fields(mode) or ()) == getattr(WhitelistedVendorInfoFields, name)
    assert set(in_mode(CHUNK, mode, SEARCH_RESULT)) == getattr(WhitelistedSemanticSearchFields, name)
    assert set(in_mode(VENDOR, mode, VENDOR_INFO)) == getattr(WhitelistedVendorInfoFields, name)


def test_what_a_mode_shows_satisfies_the_contracts_model() -> None:
    chunks: dict[str, type[BaseModel]] = {
        "ids_only": SearchResultIDs,
        "metadata": SearchResultMetadata,
        "preview": SearchResultPreview,
        "full": SearchResultFull,
    }
    vendors: dict[str, type[BaseModel]] = {
        "ids_only": VendorInfoIDs,
        "metadata": VendorInfoMetadata,
        "preview": VendorInfoPreview,
        "full": VendorInfoFull,
    }
    for mode in MODES:
        chunks[mode].model_validate(in_mode(CHUNK, mode, SEARCH_RESULT))
        vendors[mode].model_validate(in_mode(VENDOR, mode, VENDOR_INFO))


def test_vendor_graphs_are_capped_at_5_and_5_and_at_100_and_500() -> None:
    sizes = {mode: in_mode(VENDOR, mode, VENDOR_INFO) for mode in MODES}
    assert [len(sizes["preview"][name]) for name in ("entities", "relationships")] == [5, 5]
    assert [len(sizes["full"][name]) for name in ("entities", "relationships")] == [100, 500]
    assert len(sizes["ids_only"]["entity_ids"]) == 150
    assert len(sizes["metadata"]["top_entities"]) == 5


def test_modes_need_not_nest_and_a_missing_field_is_left_out() -> None:
    kind = RecordType(
        ids_only=["id"], metadata=["size"], preview=["snippet"], made={"snippet": lambda row: row["id"] * 2}
    )
    record = {"id": "a", "size": 3, "body": "…"}
    assert in_mode(record, "metadata", kind) == {"size": 3}
    assert in_mode(record, "preview", kind) == {"snippet": "aa"}
    assert in_mode({"id": "a"}, "metadata", kind) == {}
    assert in_mode(record, "full", kind) == record


def test_undeclared_records_are_read_as_ids_short_facts_and_previews() -> None:
    record = {
        "id": 7,
        "title": "Short",
        "open": True,
        "text": "word " * 100,
        "tags": list("abcdefgh"),
        "by": {"name": "Ada", "bio": "x" * 99},
    }
    assert in_mode(record, "ids_only") == {"id": 7}
    assert in_mode(record, "metadata") == {"id": 7, "title": "Short", "open": True}
    preview = in_mode(record, "preview")
    assert len(preview["text"]) <= 200
    assert preview["tags"] == list("abcde")
    assert preview["by"] == {"name": "Ada"}
    assert in_mode(record, "full") is record


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"id": 7}, "7"),
        ({"name": "Ada", "user_id": "u1"}, "u1"),
        ({"orderId": 3, "id": None}, "3"),
        ({"url": "https://example.com"}, "https://example.com"),
        ({"id": True, "title": "A title"}, "A title"),
        ({"id": "", "size": 3}, None),
        ({"id": 1.5}, None),
        ({}, None),
        ("text", None),
        (None, None),
    ],
)
def test_items_are_identified_by_the_usual_names(item: Any, name: str | None) -> None:
    assert identify(item) == name


def test_items_without_an_identifier_are_named_by_their_position() -> None:
    names = Names()
    assert names.ids([1, 2, {"id": "a"}, {"size": 1}, "text"], 2) == ["a", "#/3", "#/4"]
    assert names.ids([{"size": 1.5}, {"size": 2.5}], 1, place="/sizes") == ["#/sizes/1"]
    assert names.ids([{"id": "a"}, {"id": ""}, {"id": "x" * 201}], 0) == ["a", "#/1", "#/2"]
    assert names.ids([{"name": "Widget", "at": 7}, {"name": "Widget", "at": 7}], 0) == ["#/0", "#/1"]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([{"id": 1}, {"id": 2}], [1, 2]),
        ([{"sku": "S1", "name": "Widget"}, {"sku": "S2", "name": "Widget"}], ["S1", "S2"]),
        ([{"email": "a@x.org", "name": "Ada"}, {"email": "b@x.org", "name": "Ada"}], ["a@x.org", "b@x.org"]),
        ([{"order_number": 150, "at": "noon"}, {"order_number": 151, "at": "noon"}], [150, 151]),
        ([{"id": 7, "slug": "a"}, {"id": 7, "slug": "b"}], ["a", "b"]),
        ([{"id": 1, "slug": "a"}, {"id": "1", "slug": "b"}], ["a", "b"]),
        ([{"user_id": 1, "order_id": 8}, {"user_id": 1, "order_id": 9}], [8, 9]),
        ([{"word": "one", "size": 3}, {"word": "two", "size": 4}], ["one", "two"]),
        ([{"id": "a", "n": 1}, {"n": 2}], [1, 2]),
    ],
)
def test_a_guess_must_tell_all_items_apart(rows: list[dict[str, Any]], names: list[Any]) -> None:
    assert Names().ids(rows, 0) == names
    assert Names().ids([dict(sorted(row.items(), reverse=True)) for row in rows], 0) == names


@pytest.mark.parametrize("mode", ["", "FULL", "everything", None, 3])
def test_an_unknown_mode_is_refused_with_the_known_ones(mode: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        allowed_mode(mode)
    assert (caught.value.details or {})["allowed_modes"] == list(MODES)


@pytest.mark.parametrize("text", ["short", "word " * 100, "é" * 300, "日本語" * 100])
def test_a_snippet_is_the_first_200_characters_and_carries_no_mark(text: str) -> None:
    assert snippet("text")({"text": text}) == text[:200]


def test_a_snippet_does_not_cut_a_character_in_two() -> None:
    family = "👩‍👩‍👧"
    shown = snippet("text")({"text": "x" * 198 + family + "y"})
    assert shown == "x" * 198
