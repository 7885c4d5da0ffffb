"""Digests keep what the document promises about their payload, their locators and their consumers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from aerogram.digest import (
    CanonicalText,
    Digester,
    DigestPayload,
    EvidenceSnippet,
    Locator,
    citations_of,
    deserialize_payload,
    digest_text,
    estimated_chars,
    is_digest,
    payload_of,
    query_hash,
    read,
    serialize_payload,
    validate_payload_dict,
    verify,
)
from aerogram.digest.digest import Digest
from aerogram.digest.text import locate
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows

SHOWN = example("schema-digest").value()
SNIPPET = SHOWN["evidence_snippets"][0]
STORY = " ".join(
    [
        "The harbour opened in 1902 and closed again within a year.",
        *[f"Paragraph {number} speaks of timber, tar and rope and of nothing else." for number in range(60)],
        "The lighthouse keeper measured a tide of 4 m < 5 m in the storm of 1911.",
        "Its lamp burned rape oil until electricity came in 1931.",
    ]
)
QUERY = "When did the lighthouse get electricity?"


def story() -> CanonicalText:
    """Return the canonical text of a document long enough to be digested."""
    return read(STORY, kind="plain")


def digested() -> DigestPayload:
    """Return the digest of the story."""
    return digest_text(story(), QUERY)


def paged() -> CanonicalText:
    """Return the canonical text of a document of three pages."""
    pages = ["First page about timber.", "Second page about rope.", "On page three the lighthouse got electricity."]
    return replace(read("\f".join(pages), kind="plain"), paged=True)


# --- fields ----------------------------------------------------------------------------------------------------------

LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "version": (["1.0"], [None, 1]),
    "content_type": (["digest/v1"], ["digest/v2", None]),
    "query_hash": (["00000000", "abcdef12"], ["ABCDEF12", "abcdef1", "abcdef123", "abcdefg1", ""]),
    "summary": (["", "x" * 2000], ["x" * 2001, None]),
    "key_points": ([[], ["x" * 500] * 10], [["x"] * 11, ["x" * 501], "x"]),
    "evidence_snippets": ([[], [SNIPPET] * 10], [[SNIPPET] * 11, [{}], None]),
    "original_chars": ([0, 25000], [-1, 1.5]),
    "digest_chars": ([0, 2500], [-1, 1.5]),
    "compression_ratio": ([0.0, 1.0], [-0.01, 1.01]),
    "source_text_hash": (
        ["sha256:" + "a" * 64],
        ["sha256:" + "a" * 63, "sha256:" + "A" * 64, "a" * 64, "md5:" + "a" * 64, "sha256:" + "a" * 65],
    ),
}
SNIPPET_LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "text": (["", "x" * 500], ["x" * 501, None]),
    "locator": (["char:0-1", "page:3:char:200-450"], ["1500-1650", "char:5", "page:0:char:1-2", "char:-1-2", ""]),
    "relevance_score": ([0, 1, 0.85], [-0.01, 1.01]),
}


@rows("DIG-FIELD-", column="field")
def test_digest_field(row: Requirement) -> None:
    """Each field takes what its limits allow, refuses what they do not, and is required unless it has a default."""
    field = row["field"]
    good, bad = LIMITS[field]
    for value in good:
        written = json.loads(serialize_payload(validate_payload_dict({**SHOWN, field: value})))
        assert written[field] == value
    for value in bad:
        with pytest.raises(ValidationError, match=field):
            validate_payload_dict({**SHOWN, field: value})
    without = {name: value for name, value in SHOWN.items() if name != field}
    if field in ("version", "content_type"):
        assert json.loads(validate_payload_dict(without).to_json())[field] == SHOWN[field]
    else:
        with pytest.raises(ValidationError, match=field):
            validate_payload_dict(without)


@rows("DIG-SNIP-")
def test_snippet_field(row: Requirement) -> None:
    """Each field of a snippet keeps its limits and is required."""
    field = row["field"]
    good, bad = SNIPPET_LIMITS[field]
    for value in good:
        assert getattr(EvidenceSnippet(**{**SNIPPET, field: value}), field) == value
    for value in bad:
        with pytest.raises(ValidationError, match=field):
            EvidenceSnippet(**{**SNIPPET, field: value})
    with pytest.raises(ValidationError, match=field):
        EvidenceSnippet(**{name: value for name, value in SNIPPET.items() if name != field})


def test_the_query_hash_depends_on_the_query_alone() -> None:
    """Two sources digested for one question share the hash, two questions do not."""
    assert re.fullmatch("[0-9a-f]{8}", query_hash(QUERY))
    other = read(STORY[::-1], kind="plain")
    assert digested().query_hash == digest_text(other, QUERY).query_hash == query_hash(QUERY)
    assert digest_text(story(), "What of the rope?").query_hash != query_hash(QUERY)


def test_sizes_and_hash_are_those_of_the_canonical_text() -> None:
    """The ratio is digest over original, and the hash is the SHA-256 of the text the locators speak about."""
    payload, text = digested(), story()
    assert payload.original_chars == len(text.text)
    assert 0 < payload.digest_chars < payload.original_chars
    assert payload.compression_ratio == pytest.approx(payload.digest_chars / payload.original_chars, abs=0.0001)
    assert payload.source_text_hash == "sha256:" + hashlib.sha256(text.text.encode()).hexdigest()


def test_the_ratio_of_a_source_that_is_all_evidence_is_one() -> None:
    """A digest that quotes the whole of its source and sums it up is longer than it, and still keeps its limits."""
    payload = digest_text(read("The lighthouse got electricity in 1931.", kind="plain"), QUERY)
    assert payload.digest_chars > payload.original_chars
    assert payload.compression_ratio == 1
    assert validate_payload_dict(payload.model_dump()) == payload


def test_summary_and_key_points_come_from_the_document() -> None:
    """There is a summary, and there are key points, in the document's own words."""
    payload = digested()
    assert payload.summary and payload.key_points
    assert all(point.rstrip("…").strip() in story().text for point in payload.key_points)


def test_evidence_answers_the_query() -> None:
    """The best snippet holds the answer, and another question brings other evidence."""
    best = max(digested().evidence_snippets, key=lambda one: one.relevance_score)
    assert "1931" in best.text
    other = digest_text(story(), "When did the harbour open?").evidence_snippets
    assert "1902" in max(other, key=lambda one: one.relevance_score).text


# --- locators --------------------------------------------------------------------------------------------------------


def test_a_text_is_located_by_characters() -> None:
    """Snippets of text and HTML say char:start-end, from 0, end exclusive, and are found there to the character."""
    assert str(locate(3, 9, None)) == "char:3-9"
    html = read(f"<html><body><p>{STORY.replace('<', '&lt;')}</p></body></html>", kind="html")
    for text in (story(), html):
        for snippet in digest_text(text, QUERY).evidence_snippets:
            kind, _, place = snippet.locator.partition(":")
            start, end = map(int, place.split("-"))
            assert kind == "char"
            assert text.text[start:end] == Locator.parse(snippet.locator).quote(text.text) == snippet.text


def test_positions_count_from_zero_and_ends_are_exclusive() -> None:
    """char:0-3 is the first three characters."""
    assert Locator.parse("char:0-3").quote("abcdef") == "abc"
    assert Locator.parse("char:3-6").quote("abcdef") == "def"
    assert len(Locator.parse("char:1500-1800").quote("x" * 2000)) == 300


def test_a_paged_document_is_located_by_page_and_place_in_it() -> None:
    """Snippets of a PDF say page:n:char:start-end; pages count from 1, characters from the start of the page."""
    text = paged()
    found = digest_text(text, "When did the lighthouse get electricity?").evidence_snippets
    best = max(found, key=lambda one: one.relevance_score)
    assert best.locator.startswith("page:3:char:")
    assert Locator.parse(best.locator).quote(text.text) == best.text
    assert Locator.parse("page:1:char:0-5").quote(text.text) == "First"
    assert Locator.parse("page:2:char:0-6").quote(text.text) == "Second"


def test_offsets_speak_about_the_normalised_text() -> None:
    """Whatever the source's spacing, a snippet is verified against the canonical text and not the raw one."""
    raw = STORY.replace(" ", "  \t").replace("lighthouse", "lighthouse ")
    text = read(raw, kind="plain")
    payload = digest_text(text, QUERY)
    assert "\t" in text.text and "  " not in text.text
    assert text.text != raw
    assert verify(payload, text)
    assert not verify(payload, raw)


def test_a_changed_source_is_noticed() -> None:
    """A digest holds for its own text and for no other."""
    assert verify(digested(), story())
    changed = verify(digested(), STORY.replace("1931", "1932"))
    assert not changed and changed.mismatch is not None


# --- consumers -------------------------------------------------------------------------------------------------------


def source(payload: DigestPayload) -> SimpleNamespace:
    """Return a digested source as the document has them."""
    return SimpleNamespace(content_type="digest/v1", content=payload.to_json())


def test_a_digested_source_is_recognised_by_its_content_type() -> None:
    """The content type tells, on objects and on mappings, and the content is the payload."""
    given = source(digested())
    assert is_digest(given) and is_digest(vars(given))
    assert not is_digest(SimpleNamespace(content_type="text/plain", content="x"))
    assert payload_of(given) == digested()
    with pytest.raises(ValidationError):
        payload_of(SimpleNamespace(content_type="digest/v1", content="not a payload"))
    namespace: dict[str, Any] = {"source": given, "DigestPayload": DigestPayload}
    exec(compile(example("schema-code-digest-detection").completed_text(), "detection", "exec"), namespace)
    assert namespace["payload"] == digested()


def test_a_digest_is_not_digested_again() -> None:
    """Digesting a digest gives the same payload back, and says why."""
    again = asyncio.run(Digester().digest(vars(source(digested())), "another question"))
    assert (again.payload, again.skipped) == (digested(), "already_digest")


def test_citations_use_the_snippets_with_their_locators() -> None:
    """There is a citation for every snippet, with its locator and the checksum of the text."""
    payload = digested()
    cited = citations_of("story", Digest(payload, story()))
    assert [one.extra["locator"] for one in cited if one.extra] == [one.locator for one in payload.evidence_snippets]
    assert {one.checksum for one in cited} == {payload.source_text_hash}
    assert {one.verification_status for one in cited} == {"verified"}


def test_sizes_are_estimated_from_the_digest() -> None:
    """What a digested source costs is counted from the digest, not from the original."""
    payload = digested()
    assert estimated_chars(source(payload)) == payload.digest_chars
    assert estimated_chars(SimpleNamespace(content_type="text/plain", content="x" * 9)) == 9


def test_the_consumer_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """It gives the summary of a digest and cites its evidence, and gives raw content as it is."""
    namespace: dict[str, Any] = {}
    exec(compile(example("schema-code-consumer").completed_text(), "consumer", "exec", dont_inherit=True), namespace)
    payload = digested()
    assert DigestPayload.from_json(payload.to_json()) == payload
    assert namespace["process_source"](source(payload)) == payload.summary
    printed = capsys.readouterr().out
    assert f"[{payload.evidence_snippets[0].locator}]" in printed and f"• {payload.key_points[0]}" in printed
    assert namespace["process_source"](SimpleNamespace(content_type="text/plain", content="raw")) == "raw"


# --- serialisation ---------------------------------------------------------------------------------------------------


def test_a_payload_goes_to_json_and_back() -> None:
    """All four ways in and out agree, for a payload made here and for the one the document shows."""
    for payload in (digested(), validate_payload_dict(SHOWN)):
        text = serialize_payload(payload)
        assert json.loads(text) == payload.model_dump(mode="json")
        assert deserialize_payload(text) == DigestPayload.from_json(text) == validate_payload_dict(json.loads(text))
        assert deserialize_payload(text) == payload


def test_the_serialisation_of_the_document_runs() -> None:
    """Its lines, run as they stand, bring the payload back."""
    namespace: dict[str, Any] = {"payload": digested(), "data_dict": SHOWN}
    exec(compile(example("schema-code-serialise").completed_text(), "serialise", "exec"), namespace)
    assert namespace["payload"] == validate_payload_dict(SHOWN)
    assert json.loads(namespace["json_str"]) == digested().model_dump(mode="json")


def test_the_digest_of_the_document_reads_and_writes_back() -> None:
    """The completed examples of payload and snippet keep the contract; the elided one breaks its own pattern."""
    for name in ("schema-digest", "schema-evidence"):
        body = example(name).body()
        assert json.loads(validate_payload_dict(body).to_json()) == body
    with pytest.raises(ValidationError, match="source_text_hash"):
        deserialize_payload(example("schema-digest").text())


def test_the_locator_check_of_the_document_holds() -> None:
    """Its line is true for every snippet of a digest."""
    text = story().text
    for snippet in digested().evidence_snippets:
        place = Locator.parse(snippet.locator)
        names = {"canonical_text": text, "start": place.start, "end": place.end, "snippet": snippet}
        exec(compile(example("schema-code-locator").completed_text(), "locator", "exec"), names)
        assert names["result"] is True


WRONG = {
    "DIG-MSG-001": {"query_hash": "XYZ"},
    "DIG-MSG-002": {"summary": "x" * 2001},
    "DIG-MSG-003": {"key_points": ["fine", "x" * 501]},
    "DIG-MSG-004": {"evidence_snippets": [{**SNIPPET, "relevance_score": 1.5}]},
    "DIG-MSG-005": {"source_text_hash": "sha256:abc"},
}


@rows("DIG-MSG-")
def test_validation_message(row: Requirement) -> None:
    """Each invalid payload is refused with the documented message, which names the field and the index."""
    with pytest.raises(ValidationError) as caught:
        validate_payload_dict({**SHOWN, **WRONG[row.id]})
    assert row["message"].replace("[N]", "[1]") in str(caught.value)
