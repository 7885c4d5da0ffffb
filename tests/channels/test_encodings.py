"""Text encodings: whichever is cheapest, it reads back as the same body."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.channels.encodings import cheapest_text, read_text
from aerogram.content import canonical_json
from aerogram.content.jsontext import dumps
from aerogram.errors import ContractError
from aerogram.tokens import Vocabulary

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
cells = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
    | st.sampled_from(["true", "null", "12", "-1e5", '"quoted"', "a,b", "line\nbreak", " lead", "", "NaN", "[1]", "{}"])
)
names = st.sampled_from(["id", "name", "a b", "größe", "x,y", 'q"', "1", "", "true", "a/b"])


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    holes = draw(st.sampled_from([0, 0, 3]))
    return [
        {name: draw(cells | values) for name in columns if not holes or draw(st.integers(0, holes))}
        for _ in range(draw(st.integers(0, 8)))
    ]


values = st.recursive(
    cells, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=10
)
payloads = tables() | values | st.dictionaries(names, tables() | cells, max_size=3)
bodies = (
    st.fixed_dictionaries(
        {"success": st.just(True), "data": payloads, "error": st.none(), "meta": st.just({"version": "2"})}
    )
    | st.fixed_dictionaries({"results": tables(), "status": st.just("rich")})
    | tables()
    | values
)


@given(bodies)
def test_the_cheapest_text_reads_back_as_the_same_body(body: Any) -> None:
    written = cheapest_text(body)
    assert canonical_json(read_text(written)) == canonical_json(body)
    assert len(written) <= len(dumps(body).decode())


def test_flat_rows_are_cheapest_as_csv_and_nested_ones_as_toon() -> None:
    counter = Vocabulary()
    flat = {"success": True, "data": {"results": [{"id": n, "name": f"item {n}", "score": n / 2} for n in range(50)]}}
    nested = {
        "results": [{"id": n, "by": {"name": "Ada", "age": n}, "open": True} for n in range(50)],
        "status": "rich",
    }
    for body, form in ((flat, "/data/results as CSV:"), (nested, "/results as TOON:")):
        written = cheapest_text(body, counter)
        assert written.splitlines()[1] == form
        assert counter.count(written) < 0.8 * counter.count(dumps(body).decode())
        assert read_text(written) == body


def test_rows_in_different_detail_are_one_table_with_empty_cells() -> None:
    rows = [{"id": 1, "name": "Ada", "tags": ["a", "b"], "text": "Long"}, {"id": 2, "name": ""}, {"id": 3, "text": "x"}]
    written = cheapest_text({"results": rows}, Vocabulary())
    assert written.splitlines()[2:] == ["id,name,tags,text", '1,Ada,"[""a"",""b""]",Long', '2,"""""",,', "3,,,x"]
    assert dumps(read_text(written)) == dumps({"results": rows})
    shuffled = [{"a": 1, "b": 2}, {"b": 1, "a": 2}]
    assert dumps(read_text(cheapest_text(shuffled))) == dumps(shuffled)


@pytest.mark.parametrize("value", [1.0, -0.0, 1e22, 2**70, "x" * 131_073, '"' * 131_072, "é" * 131_073])
def test_numbers_keep_their_spelling_and_texts_of_any_length_are_read_back(value: Any) -> None:
    flat = [{"a": value, "b": n} for n in range(9)]
    nested = [{"a": value, "by": {"name": value, "age": n}} for n in range(9)]
    for rows in (flat, nested):
        assert canonical_json(read_text(cheapest_text({"data": rows}))) == canonical_json({"data": rows})


def test_what_gains_nothing_stays_compact_json() -> None:
    assert cheapest_text({"data": {"id": 1}}) == '{"data":{"id":1}}'


@pytest.mark.parametrize(
    "damaged",
    [
        "{",
        "{}\n/data as CSV:\na,b\n1",
        "{}\n/data as CSV:\na,b\r1,2",
        "{}\n/data as CSV:\na\n" + "b" * 200_000,
        "{}\n/data as TOON:\n[2",
        '"x"\n/data as CSV:\na\n1',
        "{}\n/data as XML:\n<a/>",
    ],
    ids=lambda text: repr(text)[:40],
)
def test_damaged_texts_are_refused(damaged: str) -> None:
    with pytest.raises(ContractError):
        read_text(damaged)
