"""The digest payload: every field, limit and message of its contract."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aerogram.digest import (
    CONTENT_TYPE,
    DigestPayload,
    EvidenceSnippet,
    deserialize_payload,
    estimated_chars,
    is_digest,
    payload_of,
    serialize_payload,
    validate_payload_dict,
)

GOOD = {
    "version": "1.0",
    "content_type": "digest/v1",
    "query_hash": "ab12cd34",
    "summary": "Condensed summary of the source content...",
    "key_points": [
        "First key insight extracted from the document",
        "Second key insight with supporting detail",
    ],
    "evidence_snippets": [
        {"text": "Exact quote from the source document...", "locator": "char:1500-1650", "relevance_score": 0.85}
    ],
    "original_chars": 25000,
    "digest_chars": 2500,
    "compression_ratio": 0.10,
    "source_text_hash": "sha256:" + "abc123de" * 8,
}
SNIPPET = GOOD["evidence_snippets"][0]


def test_the_documents_example_goes_in_and_comes_out_the_same():
    payload = validate_payload_dict(GOOD)
    assert json.loads(serialize_payload(payload)) == GOOD
    assert deserialize_payload(payload.to_json()) == DigestPayload.from_json(json.dumps(GOOD)) == payload


def test_version_and_content_type_have_their_defaults():
    short = {name: value for name, value in GOOD.items() if name not in ("version", "content_type")}
    assert validate_payload_dict(short) == validate_payload_dict(GOOD)


@pytest.mark.parametrize("data", [None, "a text", b"bytes", 7, [], [("version", "1.0")], object()])
def test_what_is_no_mapping_is_a_validation_error(data):
    with pytest.raises(ValidationError, match="DigestPayload"):
        validate_payload_dict(data)


@pytest.mark.parametrize("field", sorted(GOOD.keys() - {"version", "content_type"}))
def test_every_other_field_is_required(field):
    with pytest.raises(ValidationError, match=f"{field}: Field required"):
        validate_payload_dict({name: value for name, value in GOOD.items() if name != field})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query_hash": "AB12CD34"}, "query_hash: String should match pattern '^[a-f0-9]{8}$'"),
        ({"query_hash": "ab12cd34\n"}, "query_hash: String should match pattern '^[a-f0-9]{8}$'"),
        ({"summary": "x" * 2001}, "summary: String should have at most 2000 characters"),
        ({"key_points": ["fine", "x" * 501]}, "key_points[1]: exceeds maximum length of 500 characters"),
        (
            {"evidence_snippets": [SNIPPET | {"relevance_score": 1.01}]},
            "relevance_score: Input should be less than or equal to 1",
        ),
        ({"source_text_hash": "sha256:abc"}, "source_text_hash: String should match pattern '^sha256:[a-f0-9]{64}$'"),
    ],
)
def test_a_broken_payload_is_told_in_the_documents_words(change, message):
    for load in (validate_payload_dict, lambda data: deserialize_payload(json.dumps(data))):
        with pytest.raises(ValidationError) as caught:
            load(GOOD | change)
        assert message in str(caught.value)
        assert caught.value.errors()[0]["msg"] == message


@pytest.mark.parametrize(
    "change",
    [
        {"key_points": ["x"] * 11},
        {"evidence_snippets": [SNIPPET] * 11},
        {"evidence_snippets": [SNIPPET | {"text": "x" * 501}]},
        {"evidence_snippets": [SNIPPET | {"locator": "line:4"}]},
        {"evidence_snippets": [SNIPPET | {"relevance_score": -0.1}]},
        {"original_chars": -1},
        {"digest_chars": -1},
        {"compression_ratio": 1.1},
        {"compression_ratio": float("nan")},
        {"content_type": "text/plain"},
    ],
    ids=str,
)
def test_every_other_limit_holds_too(change):
    with pytest.raises(ValidationError):
        validate_payload_dict(GOOD | change)


def test_the_largest_payload_that_is_allowed_is_allowed():
    snippet = {"text": "字" * 500, "locator": "page:3:char:200-700", "relevance_score": 1}
    largest = {"summary": "x" * 2000, "key_points": ["x" * 500] * 10, "evidence_snippets": [snippet] * 10}
    assert len(validate_payload_dict(GOOD | largest | {"compression_ratio": 1.0}).evidence_snippets) == 10


@given(st.builds(
    DigestPayload,
    query_hash=st.from_regex(r"[a-f0-9]{8}", fullmatch=True),
    summary=st.text(max_size=50),
    key_points=st.lists(st.text(max_size=20), max_size=3),
    evidence_snippets=st.lists(st.builds(
        EvidenceSnippet, text=st.text(max_size=20), locator=st.just("char:1-2"), relevance_score=st.floats(0, 1)
    ), max_size=3),
    original_chars=st.integers(0, 10**12),
    digest_chars=st.integers(0, 10**12),
    compression_ratio=st.floats(0, 1),
    source_text_hash=st.just("sha256:" + "0" * 64),
))  # fmt: skip
def test_json_and_back_is_the_same_payload(payload):
    assert deserialize_payload(serialize_payload(payload)) == payload


def test_digested_sources_are_recognised_by_their_content_type():
    assert CONTENT_TYPE == "digest/v1"
    digested = {"content_type": "digest/v1", "content": json.dumps(GOOD)}
    assert is_digest(digested)
    assert is_digest(SimpleNamespace(**digested))
    assert not is_digest({"content_type": "text/plain", "content": json.dumps(GOOD)})
    assert not is_digest("digest/v1")
    assert payload_of(digested) == payload_of(SimpleNamespace(**digested)) == validate_payload_dict(GOOD)


def test_size_estimates_go_by_what_the_digest_says_of_itself():
    assert estimated_chars({"content_type": "digest/v1", "content": json.dumps(GOOD)}) == 2500
    assert estimated_chars({"content_type": "text/plain", "content": "twelve chars"}) == 12
    assert validate_payload_dict(GOOD).estimated_tokens == 625


@pytest.mark.parametrize("locator", ["char:5-1", "page:2:char:10-9"])
def test_a_locator_that_ends_before_it_starts_is_refused(locator):
    with pytest.raises(ValidationError, match=f"locator: '{locator}' ends before it starts"):
        EvidenceSnippet(**{**SNIPPET, "locator": locator})
    assert EvidenceSnippet(**{**SNIPPET, "locator": "char:5-5"}).locator == "char:5-5"
