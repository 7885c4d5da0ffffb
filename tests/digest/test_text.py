"""Canonical text: deterministic, idempotent, and it loses no prose."""

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.digest import read
from aerogram.digest.text import normalise, page_spans, text_hash

ODD = st.text(alphabet=st.sampled_from("a <>&|\t\n\r\f\v\x00\x1c\x85\xa0\xad\ufeff\u0301\u2028\u3000e字がﬁ\ud800"))


@given(st.one_of(st.text(), ODD))
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(st.text())
def test_every_visible_character_survives(text):
    def visible(part):
        kept = [
            c for c in unicodedata.normalize("NFC", part) if unicodedata.category(c) not in ("Cc", "Zs", "Zl", "Zp")
        ]
        return "".join(kept).replace("\xad", "").replace("\ufeff", "")

    assert visible(normalise(text)) == visible(
        unicodedata.normalize("NFC", text.replace("\xad", "").replace("\ufeff", ""))
    )


@pytest.mark.parametrize(
    "text",
    ["a < b and c > d", "if (x<y && y>z) { return 1; }", "5 &lt; 6", "<not a tag", "価格 < 100円", "שלום עולם", "नमस्ते"],
)
def test_plain_text_with_signs_and_scripts_is_left_as_it_is(text):
    assert read(text).text == unicodedata.normalize("NFC", text)


def test_whitespace_has_one_form_and_indentation_stays():
    raw = "\ufeffTitle \r\n\r\n\r\n\r\ndef f():\r\n    return  1\t\r\ncell one\t \tcell two\u3000\u00a0x\r\n\r\n"
    assert normalise(raw) == "Title\n\ndef f():\n    return 1\ncell one\tcell two x"


def test_pages_are_kept_apart_and_can_be_found_again_from_the_text_alone():
    text = normalise("one \n\f\n two\n\f\n\fthree")
    assert [text[start:end] for start, end in page_spans(text)] == ["one", " two", "", "three"]


def test_the_hash_is_the_sha256_of_the_utf8_bytes():
    text = read("Größe 字")
    assert text.hash == text_hash(text.text) == "sha256:" + hashlib.sha256("Größe 字".encode()).hexdigest()


def test_a_text_records_what_made_it_next_to_its_hash():
    text = read("<html><p>x</p></html>")
    assert text.provenance == {
        "source_text_hash": text.hash,
        "extractor": "html",
        "extractor_version": "2",
        "normalisation": "canonical/1",
    }
