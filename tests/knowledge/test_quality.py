"""Relevance on the judged questions; the figures themselves are printed by `python bench knowledge`."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Recall@5 and nDCG@10 by method, on the second half of the questions."""
    import knowledge_quality as quality

    with quality.open_index(tmp_path_factory.mktemp("judged")) as index:
        _, found = quality.measured(index, "report")
    return {method: tuple(map(quality.mean, both)) for method, both in found.items()}


def test_both_stores_rank_alike(tmp_path, database):
    import knowledge_quality as quality

    with quality.open_index(tmp_path / "index") as here, quality.open_index(database) as there:
        for one in quality.questions("tune")[::4]:
            ours, theirs = (index.search(one["question"], page_size=10).data for index in (here, there))
            assert [row["chunk_id"] for row in ours] == [row["chunk_id"] for row in theirs], one["question"]


def test_the_questions_are_too_hard_for_keywords_alone(measured):
    assert measured["bm25"][0] < 0.75


@pytest.mark.parametrize("other", ["bm25", "vector"])
@pytest.mark.parametrize("measure", [0, 1], ids=["recall@5", "nDCG@10"])
def test_hybrid_search_is_ahead_of_each_of_its_halves(measured, other, measure):
    assert measured["hybrid"][measure] > measured[other][measure] + 0.05


def test_five_results_have_the_answer_to_three_questions_of_four(measured):
    assert measured["hybrid"][0] > 0.75
