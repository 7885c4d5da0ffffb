"""Random replies over random JSON, for the laws of shaping."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from aerogram.reply import Citation, Notice, Reply

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
long_text = st.builds(
    lambda words, times: (" ".join(words) + ". ") * times,
    st.lists(st.sampled_from(["report", "Größe", "検索", "🎉", "market", "e\u0301", "x" * 30]), min_size=1, max_size=6),
    st.integers(1, 60),
)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6) | text
values = st.recursive(
    scalars | long_text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(text, inner, max_size=5),
    max_leaves=12,
)


@st.composite
def records(draw: st.DrawFn, number: int = 0) -> dict[str, Any]:
    record: dict[str, Any] = {"id": f"row-{number}", "score": draw(st.floats(0, 1)), "title": draw(text)}
    if draw(st.booleans()):
        record["text"] = draw(long_text)
    if draw(st.booleans()):
        record["more"] = draw(values)
    return record


@st.composite
def rows(draw: st.DrawFn, most: int = 40) -> list[dict[str, Any]]:
    """Records with identifiers; a few are drawn and repeated, which is quicker than drawing them all."""
    few = [draw(records()) for _ in range(draw(st.integers(1, 4)))]
    count = draw(st.integers(1, most))
    return [{**few[number % len(few)], "id": f"row-{number}"} for number in range(count)]


@st.composite
def anonymous_rows(draw: st.DrawFn, most: int = 40) -> list[Any]:
    """Records that nothing identifies, and items that are no records."""
    few = draw(
        st.lists(values | st.fixed_dictionaries({"score": st.floats(0, 1), "note": long_text}), min_size=1, max_size=4)
    )
    return [few[number % len(few)] for number in range(draw(st.integers(1, most)))]


datas = (
    rows()
    | values
    | st.lists(values, max_size=8)
    | st.fixed_dictionaries({"findings": rows(15), "total": st.integers(0, 99), "note": long_text})
)


@st.composite
def heavy_words(draw: st.DrawFn) -> dict[str, Any]:
    """Much that a reply says besides its data."""
    return {
        "extra": {"note": draw(long_text)},
        "citations": [Citation(title=draw(text), source_url="https://example.com/" + draw(text))] * 3,
        "notices": [Notice(draw(text) or "a notice", suggestion=draw(text) or None)],
    }


words_besides = st.integers(0, 3).flatmap(lambda chance: st.just({}) if chance else heavy_words())


@st.composite
def replies(draw: st.DrawFn) -> Reply[Any]:
    """A reply with any data and now and then a heavy envelope."""
    said = draw(words_besides)
    return Reply.ok(draw(datas), request_id="req_1", operation="search", timestamp="2026-11-15T10:00:00Z", **said)
