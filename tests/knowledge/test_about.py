"""What a result says about itself: each number moves with its evidence, in the stated direction."""

from __future__ import annotations

import datetime as dt
import os
import threading

import pytest
import time_machine

from aerogram.dialects.knowledge_v1 import ConfidenceScore, DeduplicationInfo, RankingContext
from aerogram_knowledge import Knowledge
from knowledge.documents import GUIDE

QUERY = "How long is an access token valid?"


def best(index, query=QUERY, **asked):
    return index.search(query, response_mode="full", **asked).data[0]


def reread(index, write, text):
    write({"guides/token.md": text})
    index.ingest()


def test_the_three_parts_are_those_of_the_contract(shared_small):
    row = best(shared_small)
    ConfidenceScore.model_validate(row["confidence"], strict=True)
    RankingContext.model_validate(row["ranking"], strict=True)
    DeduplicationInfo.model_validate(row["deduplication"], strict=True)


def test_they_come_in_every_mode_but_ids_only_when_asked_for(shared_small):
    for mode in ("metadata", "preview", "full"):
        assert {"confidence", "ranking", "deduplication"} <= set(
            shared_small.search("token", response_mode=mode, about=True).data[0]
        )
    assert "confidence" not in shared_small.search("token", response_mode="metadata").data[0]
    assert "confidence" not in shared_small.search("token", response_mode="ids_only", about=True).data[0]


def test_a_stronger_match_is_more_reliable(shared_small):
    strong = best(shared_small, "access token valid for fifteen minutes")
    weak = best(shared_small, "token zebras xylophones")
    assert strong["confidence"]["score_reliability"] > weak["confidence"]["score_reliability"]


@pytest.mark.parametrize("line", ["publisher: Platform Group\n", "license: CC-BY-4.0\n", "date: 2026-05-01\n"])
def test_a_source_that_says_less_of_itself_has_less_quality(small, write, line):
    before = best(small)["confidence"]["source_quality"]
    reread(small, write, GUIDE.replace(line, ""))
    assert best(small)["confidence"]["source_quality"] < before


def test_a_source_that_no_longer_says_so_has_less_quality(small, write):
    before = best(small)["confidence"]["source_quality"]
    write({"guides/token.md": GUIDE.replace("fifteen minutes", "one hour")})
    assert best(small)["confidence"]["source_quality"] < before


@time_machine.travel("2026-06-15T12:00:00Z")  # far from midnight
def test_newer_is_more_recent_and_undated_is_neither(small, write):
    def recency(day):
        reread(small, write, GUIDE.replace("date: 2026-05-01\n", f"date: {day}\n" if day else ""))
        return best(small)["confidence"]["recency"]

    today = dt.datetime.now(dt.UTC).date()
    ages = [recency(today - dt.timedelta(days=days)) for days in (0, 365, 730, 3650)]
    assert ages == sorted(ages, reverse=True)
    assert ages[0] == 1.0
    assert ages[2] == pytest.approx(0.5, abs=0.01)
    assert recency(None) == 0.3
    assert recency(today + dt.timedelta(days=400)) == 1.0


def test_percentiles_run_over_the_whole_result_set_and_not_over_the_page(shared_small):
    pages, cursor = [], None
    while True:
        reply = shared_small.search("token apples", page_size=1, about=True, cursor=cursor)
        pages += [row["ranking"]["percentile"] for row in reply.data]
        cursor = reply.page.cursor
        if cursor is None:
            break
    whole = [row["ranking"]["percentile"] for row in shared_small.search("token apples", page_size=50, about=True).data]
    assert pages == whole
    assert (whole[0], whole[-1]) == (100, 0)
    assert whole == sorted(whole, reverse=True)


def test_the_explanation_names_what_matched(shared_small):
    asked = "apples picked October"
    assert best(shared_small, asked, method="bm25")["ranking"]["explanation"].endswith("keyword match")
    assert best(shared_small, asked, method="vector")["ranking"]["explanation"].endswith("semantic match")
    assert best(shared_small, asked, method="vector")["ranking"]["score_method"] == "vector"


def test_a_duplicate_knows_the_better_one(index, write):
    text = "The ferry leaves the northern pier at six in the morning and returns at noon, unless there is fog. " * 3
    index.ingest(write({"a.md": text + "Dogs ride free.", "b.md": text + "Dogs ride on deck."}))
    first, second = index.search("ferry pier morning", response_mode="full").data
    assert first["deduplication"]["is_duplicate"] is False
    assert second["deduplication"]["is_duplicate"] is True
    assert second["deduplication"]["similar_chunk_ids"] == [first["chunk_id"]]
    assert second["deduplication"]["confidence"] > 0.8
    write({"b.md": "Something else about a ferry, a pier and the morning."})
    index.ingest()
    for row in index.search("ferry pier morning", response_mode="full").data:
        assert row["deduplication"] == {"is_duplicate": False, "similar_chunk_ids": [], "confidence": 0.0}


FERRY = "The ferry leaves the northern pier at six in the morning and returns at noon, unless there is fog. " * 2


def test_copies_appear_once_and_name_each_other(index, write):
    folder = write(
        {
            "a.md": f"# Ferry\n\n{FERRY}\n",
            "copy/a.md": f"# Ferry\n\n{FERRY}\n",
            "twin.html": f"<h1>Ferry</h1><p>{FERRY}</p>",
            "b.md": f"# Ferry\n\n{FERRY}Dogs ride free.\n",
        }
    )
    (folder / "link.md").symlink_to("a.md")
    index.ingest(folder)
    reply = index.search("ferry pier morning", response_mode="metadata")
    rows = {row["source_file"]: row.get("also_in") for row in reply.data}
    assert len(rows) == len(reply.data) == reply.page.total == 2
    assert rows.pop("b.md") is None
    ((shown, others),) = rows.items()
    assert sorted([shown, *others]) == ["a.md", "copy/a.md", "link.md", "twin.html"]
    (narrow,) = index.search("ferry", filters={"path": "copy"}).data
    assert narrow["source_file"] == "copy/a.md"
    (narrow,) = index.search("ferry", filters={"path": "copy"}, fields=["source_file"]).data
    assert narrow == {"source_file": "copy/a.md"}


def results_of(index, query):
    """Every result of a query, with the other documents that have the same words."""
    reply = index.search(query, response_mode="metadata", page_size=50)
    assert len(reply.data) == reply.page.total
    return {row["source_file"]: row.get("also_in", []) for row in reply.data}


def test_copies_stay_one_result_when_the_first_of_them_are_removed(index, write):
    folder = write({f"p{n:03}.md": f"# Ferry\n\n{FERRY}\n" for n in range(100)})
    index.ingest(folder)
    ((shown, others),) = results_of(index, "ferry pier morning").items()
    assert sorted([shown, *others]) == [f"p{n:03}.md" for n in range(100)]
    for n in range(60):
        (folder / f"p{n:03}.md").unlink()
    index.ingest(folder)
    ((shown, others),) = results_of(index, "ferry pier morning").items()
    assert sorted([shown, *others]) == [f"p{n:03}.md" for n in range(60, 100)]


def test_copies_are_one_result_among_many_that_say_nearly_the_same(index, write):
    times = "The boat with the number {} goes at six and at nine, and whoever has a dog stays with it on deck. "
    said = {f"n{n:02}.md": f"# Ferry\n\n{FERRY * 3}{times.format(n)}\n" for n in range(48)}
    index.ingest(write(said | {f"z{name}": text for name, text in said.items()}))
    assert results_of(index, "ferry pier morning") == {name: [f"z{name}"] for name in said}


def test_what_says_its_words_more_often_is_no_copy(index, write):
    index.ingest(write({"a.md": f"# Ferry\n\n{FERRY}\n", "b.md": f"# Ferry\n\n{FERRY * 4}\n"}))
    assert results_of(index, "ferry pier morning") == {"a.md": [], "b.md": []}


def test_a_copy_under_a_withheld_licence_is_not_named(index, write, where):
    secret = f"---\nlicense: Secret\n---\n# Ferry\n\n{FERRY}\n"
    index.ingest(write({"a.md": f"# Ferry\n\n{FERRY}\n", "b.md": secret}))
    with Knowledge(where, withheld_licenses=["Secret"]) as gated:
        (row,) = gated.search("ferry pier").data
        assert (row["source_file"], row.get("also_in")) == ("a.md", None)


def test_a_few_words_are_no_copy_below_another_heading(index, write):
    index.ingest(write({"a.md": "# Anchors\n\nThe default is none.\n", "b.md": "# Buoys\n\nThe default is none.\n"}))
    assert len(index.search("default none").data) == 2


def test_citations_name_the_source_and_the_results_it_stands_for(shared_small):
    reply = shared_small.search("token credential desk", response_mode="preview", filters={"path": "guides"})
    (citation,) = reply.citations
    assert (citation.source_id, citation.title, citation.publisher) == (
        "guides/token.md",
        "Token Guide",
        "Platform Group",
    )
    assert (citation.license, citation.source_url) == ("CC-BY-4.0", "https://docs.example.test/tokens")
    assert citation.field_paths == tuple(f"/results/{place}" for place in range(len(reply.data)))
    assert citation.checksum.startswith("sha256:")
    assert citation.verification_status == "verified"


def test_a_citation_says_when_the_source_has_changed_or_gone(small, write):
    def status():
        return small.search(QUERY, response_mode="preview", page_size=1).citations[0].verification_status

    folder = write({"guides/token.md": GUIDE.replace("stolen", "lost")})
    assert status() == "verified"  # the cited words still stand in it
    write({"guides/token.md": GUIDE.replace("fifteen", "twenty")})
    assert status() == "changed"
    (folder / "guides/token.md").unlink()
    assert status() == "missing"
    folder.rename(folder.with_name("elsewhere"))
    assert status() == "unverified"  # this machine does not have the folder at all


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_took_the_place_of_a_source_is_not_opened_to_check_it(small, write, tmp_path, kind):
    place = write({"guides/token.md": GUIDE}) / "guides/token.md"
    place.unlink()
    (tmp_path / "outside.md").write_text(GUIDE)
    {"pipe": os.mkfifo, "link": lambda one: one.symlink_to(tmp_path / "outside.md"), "folder": os.mkdir}[kind](place)
    found = []

    def look():
        found.append(small.search(QUERY, response_mode="preview", page_size=1).citations[0].verification_status)

    looking = threading.Thread(target=look, daemon=True)  # a pipe would never let go of it
    looking.start()
    looking.join(30)
    assert found == ["changed"]
