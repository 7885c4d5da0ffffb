"""Clipping texts where a reader would stop, without breaking a character."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.shape.shrink import cuts_between
from aerogram.shape.text import clip, clip_middle, find_entry_mark, page_end, whole_characters

FAMILY = "👩‍👩‍👧‍👦"
FLAGS = "🇫🇷🇯🇵🇩🇪"


@given(st.text(), st.integers(0, 400))
def test_a_clip_is_no_longer_than_its_limit_and_says_when_it_cut(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert len(clipped) <= limit or clipped == text
    if clipped != text and limit > 0:
        assert re.search(r"…( \[\+\d+ chars\])?\Z", clipped)


@given(st.text(), st.integers(160, 400), st.integers(1, 40))
def test_what_is_clipped_in_the_middle_has_both_ends_and_counts_what_is_missing(text: str, limit: int, n: int) -> None:
    whole = text * n
    clipped = clip_middle(whole, limit)
    assert len(clipped) <= limit
    if clipped != whole:
        begun, _, rest = clipped.rpartition("… [+")
        missing, _, end = rest.partition(" chars]")
        assert whole.startswith(begun) and whole.endswith(end[1:])
        assert len(begun) + int(missing) + len(end) - 1 == len(whole)


@given(st.text(min_size=60), st.integers(30, 50))
def test_a_clip_begins_as_the_text_does_and_counts_what_is_missing(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    kept, _, mark = clipped.rpartition("… [+")
    assert text.startswith(kept)
    assert len(kept) + int(mark.removesuffix(" chars]")) == len(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (FAMILY * 3, (0, 7, 14)),
        (FLAGS, (0, 2, 4, 6)),
        ("👍🏽👍🏿", (0, 2, 4)),
        ("e\u0301o\u0302", (0, 2, 4)),
        ("Z\u0351\u036b\u0343\u0334", (0, 5)),
        ("क्षत्रिय", (0, 3, 7, 8)),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", (0, 3, 6)),
        ("a\r\nb", (0, 1, 3, 4)),
        ("🏴\U000e0067\U000e0062\U000e007f!", (0, 4, 5)),
        ("漢字", (0, 1, 2)),
    ],
)
def test_a_cut_never_falls_inside_a_character(text: str, whole: tuple[int, ...]) -> None:
    cuts = {whole_characters(text, at) for at in range(len(text) + 1)}
    assert cuts <= {*whole, len(text)}


def test_a_clip_prefers_the_end_of_a_sentence_then_of_a_word() -> None:
    sentences = "One sentence here. " * 20
    assert clip(sentences, 150).partition("…")[0].endswith("here.")
    words = "word " * 100
    assert clip(words, 150).partition("…")[0].endswith("word")
    assert clip("検索結果です。" * 40, 100).partition("…")[0].endswith("。")
    assert clip("x" * 300, 100).partition("…")[0] == "x" * 86


def test_a_text_of_one_endless_character_is_cut_inside_it() -> None:
    """No character has two million combining marks: whoever piles them up gets no search for its beginning."""
    text = "e" + "\u0301" * 2_000_000
    assert whole_characters(text, 1_000_000) == 1_000_000
    clipped = clip(text, 200)
    assert len(clipped) == 200
    assert clipped.endswith("… [+1999819 chars]")


@pytest.mark.parametrize("text", ["\n" * 8_000, "\n\n" + "x" * 8_000, "one\n\n" * 2_000], ids=["blank", "long", "many"])
def test_entries_are_looked_for_once_whatever_a_text_begins_with(text: str) -> None:
    """Where a run of line ends is looked at again from each of them, this takes half a second."""
    begun = process_time()
    assert find_entry_mark(text) is None
    assert process_time() - begun < 0.1


def test_a_cut_in_a_long_row_of_flags_is_between_two_of_them() -> None:
    assert whole_characters(FLAGS * 1_000, 3_001) == 3_000
    assert whole_characters("a" + FLAGS * 1_000, 3_000) == 2_999


@pytest.mark.parametrize(
    ("text", "at", "end"),
    [
        ("word " * 40, 98, "word " * 19),
        ("It is so. " * 20, 98, "It is so. " * 9),
        ("a line, and a word\n" * 10, 98, "a line, and a word\n" * 5),
        ("x" * 40, 20, "x" * 20),
        ("short", 20, "short"),
    ],
)
def test_a_page_ends_after_a_line_a_sentence_or_a_word_and_loses_nothing(text: str, at: int, end: str) -> None:
    assert text[: page_end(text, at)] == end


def test_what_a_text_itself_says_is_missing_is_not_what_is() -> None:
    text = "word… [+12 chars] " * 300
    fenced = f"<untrusted-0123456789ab>\n{text}\n</untrusted-0123456789ab>"
    for whole in (text, fenced):
        for limit in range(100, 140):
            clipped = clip(whole, limit)
            (cut,) = cuts_between(whole, clipped)
            assert clipped[cut.shown :].startswith("… [+") and clipped[: cut.shown] == whole[: cut.shown]
            assert cut.shown == clipped.rfind("…")
