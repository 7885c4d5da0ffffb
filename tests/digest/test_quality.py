"""The judged questions: honest pairs, and the shares that a digest promises."""

import digest_quality as quality

SETS = ("tuning", "held_out")


def test_each_set_is_large_enough_and_covers_what_it_should():
    for name in SETS:
        rows = quality.questions(name)
        assert len(rows) >= 60
        assert len({row["document"] for row in rows}) >= 10
        assert {row["language"] for row in rows} == {"en", "de", "ja"}
        assert {row["form"] for row in rows} == {"prose", "table", "code", "pdf"}


def test_every_question_is_asked_once_and_has_its_own_name():
    rows = [row for name in SETS for row in quality.questions(name)]
    assert len({row["id"] for row in rows}) == len({row["question"] for row in rows}) == len(rows)


def test_every_answer_stands_in_its_document_once():
    for name in SETS:
        for row in quality.questions(name):
            text = quality.squeezed(quality.document(row["document"]).text)
            assert text.count(quality.squeezed(row["answer"])) == 1, row["id"]


def test_keyword_windows_do_not_pass_the_held_out_set():
    asked = quality.questions("held_out")
    assert quality.share([quality.by_keywords(question) for question in asked]) < 0.75


def test_the_evidence_keeps_its_promise_on_the_tuning_set():
    found = [quality.by_digest(question) for question in quality.questions("tuning")]
    assert quality.share(found) >= 0.9
    assert quality.share(found, quality.FIRST) >= 0.8


def test_the_evidence_finds_more_held_out_answers_than_keyword_windows_do():
    asked = quality.questions("held_out")
    found = [quality.by_digest(question) for question in asked]
    plain = [quality.by_keywords(question) for question in asked]
    assert quality.share(found) > quality.share(plain)
    assert quality.share(found, quality.FIRST) > quality.share(plain, quality.FIRST)
    assert sum(result.chars for result in found) < sum(result.chars for result in plain)
