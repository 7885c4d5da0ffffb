"""Locators: exact places, 0-based, end-exclusive, pages from 1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.digest import InvalidLocator, Locator
from aerogram.digest.text import locate, page_spans


def test_the_two_documented_forms_are_read_and_written():
    assert Locator.parse("char:1500-1800") == Locator(1500, 1800)
    assert Locator.parse("page:3:char:200-450") == Locator(200, 450, page=3)
    assert str(Locator(200, 450, page=3)) == "page:3:char:200-450"


def test_the_end_is_exclusive_and_pages_count_from_one():
    assert Locator.parse("char:0-5").quote("Hello, world") == "Hello"
    assert Locator.parse("page:2:char:1-3").quote("first\fsecond\fthird") == "ec"


@pytest.mark.parametrize(
    "written",
    [
        "",
        "char:5",
        "char:a-b",
        "char:-1-4",
        "page:0:char:1-2",
        "char:1-2 ",
        "Char:1-2",
        "char:٣-٤",
        "page:1:2-3",
        "char:9-3",
    ],
)
def test_what_is_no_locator_is_refused(written):
    with pytest.raises(InvalidLocator):
        Locator.parse(written)


@pytest.mark.parametrize("written", ["char:0-99", "page:2:char:0-7", "page:4:char:0-1"])
def test_a_locator_outside_its_text_is_refused_instead_of_quoting_less(written):
    with pytest.raises(InvalidLocator, match="points"):
        Locator.parse(written).quote("first\fsecond\fthird")


@given(st.lists(st.text(alphabet="ab \n", max_size=12), min_size=1, max_size=6), st.data())
def test_any_range_of_a_page_can_be_located_and_quoted(pages, data):
    text = "\f".join(pages)
    spans = page_spans(text)
    first, last = data.draw(st.sampled_from(spans))
    start = data.draw(st.integers(first, last))
    end = data.draw(st.integers(start, last))
    for known in (None, spans):
        locator = locate(start, end, known)
        assert Locator.parse(str(locator)).quote(text) == text[start:end]
