"""The models of knowledge-1.0, its requests, whitelists and names are those of the document."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

from aerogram.dialects import knowledge_v1
from aerogram.dialects.knowledge_v1 import (
    ConfidenceScore,
    DeduplicationInfo,
    MCPResponseEnvelope,
    RankingContext,
    SearchRequest,
    SearchResultFull,
    SearchResultIDs,
    SearchResultMetadata,
    SearchResultPreview,
    VendorInfoMetadata,
)
from aerogram.documents.schemas import typescript
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows

MODELS = {
    "ids_only": SearchResultIDs,
    "metadata": SearchResultMetadata,
    "preview": SearchResultPreview,
    "full": SearchResultFull,
}
ABOUT_ITSELF = {"confidence", "ranking", "deduplication"}
"""Members beside the documented ones, with which a result tells about itself; no whitelist names them."""
ENVELOPE = example("knowledge-envelope").body()


def check_member(model: type[BaseModel], sample: dict[str, Any], row: Requirement) -> None:
    """A model takes the good value of a member, gives it back, and refuses every bad one."""
    taken = model.model_validate({**sample, row["field"]: row.json("good")}, strict=True)
    assert taken.model_dump(mode="json")[row["field"]] == row.json("good")
    for bad in row.json("bad"):
        with pytest.raises(ValidationError):
            model.model_validate({**sample, row["field"]: bad}, strict=True)


# --- modes and results -----------------------------------------------------------------------------------------------


@rows("KNW-MODE-", column="example")
def test_mode_model(row: Requirement) -> None:
    """A mode's model has the documented fields, takes the document's example, and requires each of them."""
    model = getattr(knowledge_v1, row["model"])
    assert set(model.model_fields) - ABOUT_ITSELF == set(row["fields"])
    shown = example(row["example"]).value()
    assert model.model_validate(shown, strict=True).model_dump(mode="json", exclude_none=True) == shown
    for field in set(row["fields"]) - {"source_category"}:
        with pytest.raises(ValidationError):
            model.model_validate({name: value for name, value in shown.items() if name != field})


def test_a_search_request_has_the_documented_defaults() -> None:
    """A query alone asks for ten results with metadata."""
    asked = SearchRequest(query="JWT")
    assert (asked.response_mode, asked.page_size, asked.cursor, asked.fields) == ("metadata", 10, None, None)


@rows("KNW-MODE-", column="cap")
def test_vendor_cap(row: Requirement) -> None:
    """A vendor's lists are taken up to their caps and refused beyond."""
    model = getattr(knowledge_v1, row["model"])
    name = "knowledge-vendor-preview" if "Preview" in row["model"] else "knowledge-vendor-full"
    shown = example(name).value()
    item = shown[row["field"]][0]
    assert len(getattr(model.model_validate({**shown, row["field"]: [item] * row["cap"]}), row["field"])) == row["cap"]
    with pytest.raises(ValidationError):
        model.model_validate({**shown, row["field"]: [item] * (row["cap"] + 1)})


def test_vendor_statistics() -> None:
    """A vendor's statistics count both kinds and say of which types they are."""
    statistics = VendorInfoMetadata.model_validate(example("knowledge-vendor-metadata").value()).statistics
    assert (statistics.entity_count, statistics.relationship_count) == (85, 25)
    assert statistics.entity_type_distribution == {"COMPANY": 50, "PERSON": 25}
    assert statistics.relationship_type_distribution == {"PARTNER": 15, "COMPETITOR": 10}


@rows("KNW-FIELD-", column="modes")
def test_result_field(row: Requirement) -> None:
    """Each field is in the models of its modes and in no other, takes good values and refuses bad ones."""
    for mode, model in MODELS.items():
        assert (row["field"] in model.model_fields) == (mode in row["modes"])
        if mode in row["modes"]:
            shown = example("knowledge-search-" + ("ids" if mode == "ids_only" else mode)).value()
            check_member(model, shown, row)


# --- what a result says about itself ---------------------------------------------------------------------------------

CONFIDENCE = {"score_reliability": 0.9, "source_quality": 0.8, "recency": 0.7}
RANKING = {"percentile": 95, "explanation": "x", "score_method": "hybrid"}
DEDUPLICATION = {"is_duplicate": False, "similar_chunk_ids": [], "confidence": 0.5}


@rows("KNW-CONF-", column="field")
def test_confidence_member(row: Requirement) -> None:
    """Each member is required and lies between 0 and 1, the bounds included."""
    for good in (0, 1):
        assert getattr(ConfidenceScore(**{**CONFIDENCE, row["field"]: good}), row["field"]) == good
    for bad in (-0.01, 1.01, None):
        with pytest.raises(ValidationError):
            ConfidenceScore(**{**CONFIDENCE, row["field"]: bad})


def test_confidence_is_whole_or_absent() -> None:
    """A result carries all of it or none of it."""
    shown = example("knowledge-search-metadata").value()
    assert SearchResultMetadata(**shown, confidence=None).confidence is None
    assert SearchResultMetadata(**shown, confidence=CONFIDENCE).confidence == ConfidenceScore(**CONFIDENCE)
    told = {"ranking": RANKING, "deduplication": DEDUPLICATION}
    assert SearchResultMetadata(**shown, **told).model_dump(exclude_none=True) == {**shown, **told}
    for member in CONFIDENCE:
        with pytest.raises(ValidationError):
            SearchResultMetadata(**shown, confidence={key: 0.5 for key in CONFIDENCE if key != member})


@rows("KNW-RANK-", column="field")
def test_ranking_member(row: Requirement) -> None:
    """Each member of the ranking keeps its rule."""
    check_member(RankingContext, RANKING, row)


@rows("KNW-DEDUP-", column="field")
def test_deduplication_member(row: Requirement) -> None:
    """Each member of the deduplication keeps its rule."""
    check_member(DeduplicationInfo, DEDUPLICATION, row)


# --- the request -----------------------------------------------------------------------------------------------------


@rows("KNW-REQ-", column="field")
def test_request_member(row: Requirement) -> None:
    """Each input takes its good values, refuses the bad ones, and has its default."""
    for good in row.json("good"):
        assert getattr(SearchRequest(**{"query": "x", row["field"]: good}), row["field"]) == good
    for bad in row.json("bad"):
        with pytest.raises(ValidationError):
            SearchRequest(**{"query": "x", row["field"]: bad})
    if "default" in row.columns:
        assert getattr(SearchRequest(query="x"), row["field"]) == row.json("default")
    else:
        with pytest.raises(ValidationError):
            SearchRequest()


REQUESTS = [
    {"query": "x"},
    {"query": "x" * 500},
    {"query": "x" * 501},
    {"query": ""},
    {},
    {"query": "x", "response_mode": "full"},
    {"query": "x", "response_mode": "all"},
    {"query": "x", "page_size": 50},
    {"query": "x", "page_size": 51},
    {"query": "x", "page_size": 0},
    {"query": "x", "cursor": "abc"},
    {"query": "x", "cursor": 3},
    {"query": "x", "fields": ["rank"]},
    {"query": "x", "fields": "rank"},
]


@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_the_request_schema_and_the_model_agree(request_: dict[str, Any]) -> None:
    """The documented schema, our model and the schema of our model take and refuse the same requests."""
    documented = jsonschema_rs.validator_for(example("knowledge-request-schema").value()).is_valid(request_)
    assert documented == jsonschema_rs.validator_for(SearchRequest.model_json_schema()).is_valid(request_)
    assert documented == _taken(request_)


def _taken(request_: dict[str, Any]) -> bool:
    try:
        SearchRequest.model_validate(request_, strict=True)
    except ValidationError:
        return False
    return True


# --- names -----------------------------------------------------------------------------------------------------------

SEARCHES = [example(f"knowledge-search-{mode}").value() for mode in ("ids", "metadata", "preview", "full")]
VENDORS = [example(f"knowledge-vendor-{mode}").value() for mode in ("ids", "metadata", "preview", "full")]
ALIASES: dict[str, tuple[list[Any], Any]] = {
    "ResponseMode": (["ids_only", "metadata", "preview", "full"], "everything"),
    "ResponseStatus": (["success", "partial", "error"], "ok"),
    "WarningLevel": (["info", "warning", "error"], "fatal"),
    "SemanticSearchResult": (SEARCHES, {"rank": 1}),
    "VendorInfoResult": (VENDORS, {"vendor_name": "Acme"}),
    "SemanticSearchResponseType": (
        [{**ENVELOPE, "results": [one]} for one in SEARCHES],
        example("knowledge-vendor-full").body(),
    ),
    "VendorInfoResponseType": (
        [{**ENVELOPE, "results": one} for one in VENDORS],
        example("knowledge-search-full").body(),
    ),
}


@rows("KNW-ALIAS-")
def test_alias(row: Requirement) -> None:
    """Each alias is offered under its name, takes whole what the document means by it, and nothing else."""
    goods, bad = ALIASES[row["alias"]]
    envelope = MCPResponseEnvelope[getattr(knowledge_v1, row["alias"])]
    for good in goods:
        taken = envelope.model_validate({**ENVELOPE, "results": good}).model_dump(mode="json")["results"]
        is_envelope = isinstance(good, dict) and "results" in good
        assert (taken["results"] == good["results"]) if is_envelope else (taken == good)
    with pytest.raises(ValidationError):
        envelope.model_validate({**ENVELOPE, "results": bad})


@rows("KNW-TS-", column="name")
def test_typescript_declares(row: Requirement) -> None:
    """The generated types declare each name of the document's TypeScript."""
    text = typescript("knowledge-1.0")
    assert f"interface {row['name']} " in text or f"interface {row['name']}<" in text or f"type {row['name']} " in text


@rows("KNW-WL-", column="whitelist")
def test_whitelist(row: Requirement) -> None:
    """Each whitelist has exactly the documented fields, and cannot be changed."""
    listed = getattr(getattr(knowledge_v1, row["whitelist"]), row["mode"])
    assert listed == frozenset(row["fields"]) and isinstance(listed, frozenset)


def test_whitelists_need_not_nest() -> None:
    """The snippet is a field of the preview alone."""
    listed = knowledge_v1.WhitelistedSemanticSearchFields
    assert {"chunk_snippet"} == listed.PREVIEW - listed.FULL
    assert "chunk_snippet" not in SearchResultFull.model_fields
