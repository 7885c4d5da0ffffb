"""Field selection: sparse, nested, and refused by name when it cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from aerogram.errors import InvalidFields
from aerogram.shape.modes import select
from aerogram.shape.records import SEARCH_RESULT

ROW = {
    "chunk_id": 456,
    "source_file": "docs/oauth/guide.md",
    "source_category": None,
    "hybrid_score": 0.78,
    "rank": 2,
    "chunk_index": 0,
    "total_chunks": 4,
    "chunk_text": "OAuth …",
}
NESTED = {
    "id": 1,
    "by": {"name": "Ada", "mail": "a@example.com"},
    "parts": [{"id": "p", "size": 1}, {"id": "q"}],
    "a.b": 5,
}


def test_the_documented_example_selects_three_fields() -> None:
    wanted = ["chunk_id", "source_file", "hybrid_score"]
    assert select([ROW], wanted, mode="metadata", kind=SEARCH_RESULT) == [
        {"chunk_id": 456, "source_file": "docs/oauth/guide.md", "hybrid_score": 0.78}
    ]


def test_fields_of_a_declared_type_come_in_its_order_and_others_as_they_were_asked_for() -> None:
    asked = ["source_file", "chunk_text", "chunk_id"]
    assert list(select(ROW, asked, kind=SEARCH_RESULT)) == ["chunk_id", "chunk_text", "source_file"]
    assert list(select(ROW, asked)) == asked


def test_a_field_of_another_mode_is_refused_with_the_allowed_list() -> None:
    with pytest.raises(InvalidFields) as caught:
        select([ROW], ["chunk_id", "chunk_text"], mode="metadata", kind=SEARCH_RESULT)
    assert caught.value.message == "Fields ['chunk_text'] not available in 'metadata' mode"
    assert (caught.value.details or {})["allowed_fields"] == list(SEARCH_RESULT.metadata)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        (["id", "by.name"], {"id": 1, "by": {"name": "Ada"}}),
        (["parts.id"], {"parts": [{"id": "p"}, {"id": "q"}]}),
        (["parts.size"], {"parts": [{"size": 1}, {}]}),
        (["by", "by.name"], {"by": {"name": "Ada", "mail": "a@example.com"}}),
        (["a.b"], {"a.b": 5}),
        ([], NESTED),
    ],
)
def test_paths_select_inside_records_and_lists_and_add_nothing(fields: list[str], kept: dict[str, Any]) -> None:
    assert select(NESTED, fields) == kept


@pytest.mark.parametrize("wrong", ["nothing", "by.phone", "id.x.y", "", "parts.0", None, 3])
def test_wrong_fields_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidFields) as caught:
        select(NESTED, [wrong])
    assert "by.name" in (caught.value.details or {})["allowed_fields"]


def test_a_field_that_only_some_rows_have_is_allowed_and_absent_from_the_others() -> None:
    rows = [{"id": 1}, {"id": 2, "note": "x"}]
    assert select(rows, ["note"]) == [{}, {"note": "x"}]
    with pytest.raises(InvalidFields) as caught:
        select(rows, ["nothing"])
    assert caught.value.details == {"allowed_fields": ["id", "note"]}


def test_a_field_that_only_the_last_of_many_rows_has_is_allowed() -> None:
    rows: list[dict[str, Any]] = [
        *({"id": n, "parts": [{}]} for n in range(300)),
        {"note": "x", "parts": [{}, {"p": 1}]},
    ]
    assert select(rows, ["note"])[-1] == {"note": "x"}
    assert select(rows, ["parts.p"])[-1] == {"parts": [{}, {"p": 1}]}


def test_a_page_is_judged_by_all_rows() -> None:
    rows = [{"id": 1}, {"id": 2, "note": "x"}]
    assert select(rows[:1], ["note"], among=rows) == [{}]
    with pytest.raises(InvalidFields):
        select(rows[:1], ["nothing"], among=rows)


@pytest.mark.parametrize("nothing", [[], None, {}, [{}]])
def test_where_there_is_nothing_no_field_is_refused(nothing: Any) -> None:
    assert select(nothing, ["id", "by.name"]) == nothing


def test_a_field_that_is_not_declared_is_refused_even_where_there_is_nothing() -> None:
    with pytest.raises(InvalidFields):
        select([], ["nothing"], mode="metadata", kind=SEARCH_RESULT)


def test_data_that_is_no_record_has_no_fields() -> None:
    with pytest.raises(InvalidFields):
        select(["a", 3], ["id"])
