"""The judged questions: honest pairs, and the shares that a digest promises."""

from collections import Counter

import digest_quality as quality


def test_the_set_is_large_enough_and_covers_what_it_should():
    rows = quality.questions("tune") + quality.questions("frozen")
    assert len(rows) >= 60
    assert Counter(row["half"] for row in rows) == {"tune": 40, "frozen": 40}
    assert {row["language"] for row in rows} == {"en", "de", "ja"}
    assert {row["form"] for row in rows} == {"prose", "table", "code", "pdf"}


def test_the_halves_share_no_document():
    documents = [{row["document"] for row in quality.questions(half)} for half in ("tune", "frozen")]
    assert not documents[0] & documents[1]


def test_every_answer_stands_in_its_document_once():
    for half in ("tune", "frozen"):
        for row in quality.questions(half):
            text = quality.squeezed(quality.document(row["document"]).text)
            assert text.count(quality.squeezed(row["answer"])) == 1, row["id"]


def test_the_frozen_half_keeps_its_promise_and_is_not_easy():
    asked = quality.questions("frozen")
    found = [quality.by_digest(question) for question in asked]
    assert quality.share(found) >= 0.9
    assert quality.share(found, quality.FIRST) >= 0.8
    assert quality.share([quality.by_keywords(question) for question in asked]) < 0.75
