"""Digests in replies: content, fidelity and citations reach every dialect."""

import json

import pytest

from aerogram.archive import Archive
from aerogram.content.jsontext import dumps, loads
from aerogram.dialects import dialect
from aerogram.digest import (
    Digester,
    DigestPolicy,
    Locator,
    deserialize_payload,
    digest_many,
    estimated_chars,
    fetch,
    is_digest,
    reply_of,
)

QUERY = "What does a ticket cost?"


async def batch_of(sources, archive=None, policy=None):
    return await digest_many(Digester(policy or DigestPolicy(mode="always"), archive=archive), sources, QUERY)


async def test_a_source_carries_its_digest_as_the_document_shows(ferry):
    archive = Archive.in_memory()
    about = {"ferry.txt": {"title": "The ferry", "url": "https://example.org/ferry"}}
    reply = reply_of(await batch_of({"ferry.txt": ferry}, archive), about)
    (source,) = reply.data["sources"]
    assert is_digest(source)
    payload = deserialize_payload(source["content"])
    assert estimated_chars(source) == payload.digest_chars
    assert source["title"] == "The ferry"
    assert source["provenance"]["source_text_hash"] == payload.source_text_hash
    assert reply.fidelity.level == "summary"
    assert reply.fidelity.archive_hashes == {"ferry.txt": payload.source_text_hash}
    assert len(reply.citations) == len(payload.evidence_snippets) > 0


async def test_a_citation_leads_back_to_the_words_it_cites(ferry, print_pdf):
    archive = Archive.in_memory()
    reply = reply_of(await batch_of({"a.pdf": print_pdf(["Cover", ferry])}, archive))
    for citation, snippet in zip(
        reply.citations, json.loads(reply.data["sources"][0]["content"])["evidence_snippets"], strict=True
    ):
        assert (citation.source_id, citation.field_paths) == ("a.pdf", ("/results/0/sources/0/content",))
        assert citation.verification_status == "verified"
        assert Locator.parse(citation.extra["locator"]).page == 2
        assert await fetch(archive, citation.checksum, citation.extra["locator"]) == snippet["text"]


async def test_a_source_says_when_its_encoding_had_to_be_guessed(ferry):
    reply = reply_of(await batch_of({"old": "Die Fähre nach Holm fährt täglich.".encode("cp1252")}))
    assert reply.data["sources"][0]["notes"] == ["read as windows-1252"]


async def test_failures_make_the_reply_partial_and_total_failure_makes_it_fail(ferry):
    reply = reply_of(await batch_of({"good": ferry, "bad": bytes(100)}))
    assert (reply.status, reply.notices[0].code) == ("partial", "PARTIAL_FAILURE")
    assert reply.fidelity.dropped_ids == ("bad",)
    failed = reply_of(await batch_of({"bad": bytes(100), "worse": b"%PDF-1.4"}))
    assert (failed.status, failed.problem.code) == ("error", "INVALID_FORMAT")
    assert set(failed.problem.details) == {"bad", "worse"}


async def test_a_source_that_was_skipped_carries_its_text_and_the_reason(ferry):
    reply = reply_of(await batch_of({"short": ferry}, policy=DigestPolicy()))
    (source,) = reply.data["sources"]
    assert (source["content_type"], source["fidelity"], source["skipped"]) == ("text/plain", "full", "too_small")
    assert source["content"].startswith("The ferry to Holm")
    assert (reply.fidelity.level, reply.citations) == ("full", ())


@pytest.mark.parametrize("name", ["response-v2", "standard-v2", "knowledge-1.0"])
async def test_a_digested_reply_survives_every_contract_dialect(name, ferry):
    reply = reply_of(await batch_of({"good": ferry, "bad": bytes(100)}, Archive.in_memory())).complete(
        operation="digest"
    )
    body = loads(dumps(dialect(name).encode(reply)))
    assert dialect(name).decode(body) == reply


async def test_response_v2_says_the_fidelity_in_its_own_words(ferry):
    reply = reply_of(await batch_of({"ferry": ferry}, Archive.in_memory()))
    meta = dialect("response-v2").encode(reply)["meta"]
    assert meta["content_fidelity"] == "summary"
    assert meta["content_archive_hashes"] == {"ferry": reply.citations[0].checksum}
