"""Batches: side by side, with progress, and one that fails does not spoil the others."""

import threading

from aerogram.digest import Digester, DigestPolicy, Draft, digest_many, verify

QUERY = "What does a ticket cost?"
ALWAYS = DigestPolicy(mode="always")


async def test_outcomes_come_in_order_and_progress_is_told(ferry, print_pdf, tmp_path):
    (tmp_path / "page.html").write_text(f"<html><p>{ferry}</p></html>", encoding="utf-8")
    sources = {"text": ferry, "pdf": print_pdf([ferry]), "page.html": tmp_path / "page.html"}
    heard = []
    batch = await digest_many(
        Digester(ALWAYS),
        sources,
        QUERY,
        on_progress=lambda outcome, done, total: heard.append((outcome.name, done, total)),
    )
    assert [outcome.name for outcome in batch.outcomes] == list(sources)
    assert sorted(name for name, _, _ in heard) == sorted(sources)
    assert [(done, total) for _, done, total in heard] == [(1, 3), (2, 3), (3, 3)]
    assert all(verify(outcome.digest.payload, outcome.digest.text) for outcome in batch.outcomes)
    assert (batch.failed_outcomes, batch.notices) == ((), ())


async def test_a_partial_failure_names_what_failed_and_why(ferry):
    sources = {"good": ferry, "noise": bytes(1000), "bad.pdf": b"%PDF-1.4 nothing"}
    batch = await digest_many(Digester(ALWAYS), sources, QUERY)
    assert [outcome.name for outcome in batch.failed_outcomes] == ["noise", "bad.pdf"]
    (notice,) = batch.notices
    assert (notice.code, notice.message) == ("PARTIAL_FAILURE", "2 of 3 sources could not be digested")
    assert notice.context == {
        "failed_sources": ["noise", "bad.pdf"],
        "reasons": {
            "noise": "the source is binary data, not text",
            "bad.pdf": "the PDF is broken and cannot be opened",
        },
        "successful_sources": 1,
        "total_sources": 3,
    }


async def test_a_source_that_takes_too_long_fails_alone(ferry):
    release = threading.Event()

    def slow_on_one(assignment):
        if "stuck" in assignment.text:
            release.wait(60)
        return Draft("Done.", ())

    digester = Digester(ALWAYS, writer=slow_on_one)
    batch = await digest_many(digester, {"stuck": "I am stuck. " + ferry, "fine": ferry}, QUERY, seconds=2)
    release.set()
    assert [outcome.name for outcome in batch.failed_outcomes] == ["stuck"]
    assert (batch.failed_outcomes[0].problem.code, batch.failed_outcomes[0].problem.retryable) == ("UNAVAILABLE", True)
    assert batch.outcomes[1].digest.payload.summary == "Done."


async def test_a_timeout_of_an_embedder_is_told_as_one(ferry):
    def embed(texts):
        raise TimeoutError

    batch = await digest_many(Digester(ALWAYS, embed=embed), {"one": ferry}, QUERY)
    problem = batch.failed_outcomes[0].problem
    assert (problem.code, problem.message) == ("UNAVAILABLE", "one took longer than it may")


async def test_an_unknown_failure_is_masked_like_any_other(ferry, caplog):
    def embed(texts):
        raise RuntimeError("password=hunter2")

    batch = await digest_many(Digester(ALWAYS, embed=embed), {"one": ferry}, QUERY)
    assert "hunter2" not in batch.failed_outcomes[0].problem.message
    assert batch.failed_outcomes[0].problem.code == "INTERNAL_ERROR"
