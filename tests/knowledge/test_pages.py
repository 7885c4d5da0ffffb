"""Pages: thousands of results, each exactly once, to the end."""

from __future__ import annotations

import pytest

from aerogram.errors import InvalidCursor, ValidationFailed
from aerogram_knowledge import Knowledge, NoEmbedder


def walk(index, query, **asked):
    rows, cursor = [], None
    while True:
        reply = index.search(query, page_size=50, cursor=cursor, **asked)
        rows += reply.data
        cursor = reply.page.cursor
        assert reply.page.has_more == (cursor is not None)
        if cursor is None:
            return rows, reply.page.total


def test_thousands_of_results_come_each_exactly_once(write, where):
    lines = [f'{{"id": "n{n}", "text": "The lantern of house {n} in row {n % 97} burns oil."}}' for n in range(2_000)]
    with Knowledge(where, embedder=NoEmbedder()) as index:
        index.ingest(write({"houses.jsonl": "\n".join(lines)}))
        for query in ("lantern oil", "Which house has a lantern that burns oil, and in which row?"):
            rows, total = walk(index, query, response_mode="ids_only")
            assert total == len(rows) == 2_000
            assert len({row["chunk_id"] for row in rows}) == 2_000
            assert [row["rank"] for row in rows] == list(range(1, 2_001))
            scores = [row["hybrid_score"] for row in rows]
            assert scores == sorted(scores, reverse=True)


def test_what_is_added_between_pages_neither_repeats_nor_hides_others(write, index):
    index.ingest(write({f"{n}.md": f"# Note {n}\n\nThe harbour of town {n} is deep.\n" for n in range(30)}))
    first = index.search("harbour", page_size=10)
    write({"better.md": "# Harbour\n\nHarbour, harbour, harbour.\n"})
    index.ingest()
    seen = [row["source_file"] for row in first.data]
    cursor = first.page.cursor
    while cursor:
        reply = index.search("harbour", page_size=10, cursor=cursor)
        seen += [row["source_file"] for row in reply.data]
        cursor = reply.page.cursor
    assert sorted(set(seen)) == sorted(seen)
    assert set(seen) >= {f"{n}.md" for n in range(30)}


def test_a_cursor_outlives_a_restart(small, where):
    cursor = small.search("token apples", page_size=1).page.cursor
    expected = small.search("token apples", page_size=1, cursor=cursor).data
    with Knowledge(where) as again:
        assert again.search("token apples", page_size=1, cursor=cursor).data == expected


@pytest.mark.parametrize(
    "asked",
    [{"query": "other"}, {"filters": {"category": "farm"}}, {"response_mode": "full"}, {"principal": "somebody"}],
    ids=str,
)
def test_a_cursor_of_another_question_is_refused(shared_small, asked):
    cursor = shared_small.search("token apples", page_size=1).page.cursor
    with pytest.raises(InvalidCursor):
        shared_small.search(**{"query": "token apples", "cursor": cursor, **asked})


@pytest.mark.parametrize("size", [0, 51, -1, True, "10", 1.5])
def test_a_page_has_one_to_fifty_results(shared_small, size):
    with pytest.raises(ValidationFailed):
        shared_small.search("token", page_size=size)
