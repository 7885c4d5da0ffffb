"""Sources: every kind of document to the same canonical text."""

import html as entities

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from aerogram.digest import read
from aerogram.digest.text import normalise

PAGE = """<!DOCTYPE html><html><head><title>Prices &amp; rules</title>
<style>p > b { color: red }</style><script>if (a < b) { document.write("<p>never</p>") }</script></head>
<body><h1>Rules</h1><p>Pay if a &lt; b and c &gt; d.<br>Else <b>do</b>n't.</p><!-- <p>hidden</p> -->
<pre>
def f(x):
    return x &lt; 3
</pre>
<table><tr><th>Item</th><th>Price</th></tr><tr><td><p>Tea</p></td><td>3&nbsp;€</td></tr></table>
<ul><li><p>one</p></li><li>two</ul><img src=x alt="A map of 日本"><p>終わり</p></body></html>"""


def test_html_keeps_prose_signs_code_tables_and_drops_scripts_and_styles():
    assert read(PAGE).text == (
        "Prices & rules\n\nRules\n\nPay if a < b and c > d.\nElse don't.\n\ndef f(x):\n    return x < 3\n\n"
        "Item | Price\nTea | 3 €\n\n- one\n\n- two\n\nA map of 日本\n\n終わり"
    )


@pytest.mark.parametrize(
    ("reference", "letter"),
    [("&#" + "9" * 5_000 + ";", "\ufffd"), ("&#" + "0" * 5_000 + "65;", "A"), ("&#x" + "f" * 5_000 + ";", "\ufffd")],
    ids=["no letter", "zeros before one", "hexadecimal"],
)
def test_a_reference_may_have_any_number_of_digits(reference, letter):
    assert read(f"<html><p>word {reference} more</p></html>").text == f"word {letter} more"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))))
def test_any_words_written_into_html_come_out_as_they_were(words):
    assert read(f"<html><p>{entities.escape(words)}</p></html>").text == normalise(
        " ".join(words.split(" ")).strip(" ")
    )


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<p>a<b and 3<4 &nbsp; café…</p>", "a<b and 3<4 café…"),
        ("<p>x<y,z and more</p><p>next</p>", "x<y,z and more\n\nnext"),
        ("<p>I <3 you </3 and <!> and <?></p>", "I <3 you </3 and <!> and <?>"),
        ("<p>if a <b then <i>c</i></p>", "if a <b then c"),
        ("<p>the end is a<b", "the end is a<b"),
        ("<p>the end is a <b and more", "the end is a <b and more"),
        ("<p title='a < b > c'>one<br/>two<BR>three</p >", "one\ntwo\nthree"),
        ('<p>a <a href=x?a=1&b=2>link</a> and <my-tag data-x="<">own</my-tag></p>', "a link and own"),
        ("<p>one<noscript>two</noscript>three</p>", "one two three"),
        (
            "<p>one<template>two</template>three<svg><text>four</text><text>five</text></svg>six",
            "one two three four five six",
        ),
    ],
)
def test_a_sign_that_begins_no_tag_is_text_and_tags_are_tags(markup, words):
    assert read(f"<!doctype html><body>{markup}").text == words


PIECES = "<p>|</p>|<div class='a > b'>|</div>|<b>|</b>|<br>|word |x < y |<!-- no -->|&amp; |日本語|<ul><li>|</li></ul>"
REAL_TAGS = ("<a href=x/y?z=1>", '<a title="<i>" b>', "</a >", "<i\n>", "<my-tag/>", "<h1 x=''>", "<3 ", "<svg></svg>")
MARKUP = st.lists(
    st.sampled_from([*PIECES.split("|"), *REAL_TAGS, "<script>no()</script>", "<style>no{}</style>"]), max_size=30
)


@given(MARKUP)
def test_the_words_are_those_that_a_browser_engine_finds(parts):
    markup = "<!doctype html><body>" + "".join(parts)
    tree = LexborHTMLParser(markup)
    for silent in tree.css("script, style"):
        silent.decompose()
    theirs = "".join(tree.body.text(deep=True).split())
    # a bullet is ours
    assert "".join(read(markup).text.replace("-", "").split()) == theirs


def test_markdown_is_its_own_canonical_text():
    text = read("# Title\n\nSome *words* and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", kind="markdown")
    assert text.text == "# Title\n\nSome *words* and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert text.extractor == "markdown"


def test_a_pdf_gives_its_pages_in_order_in_any_script(print_pdf):
    text = read(print_pdf(["First page, a < b.", "", "三枚目の頁。", "Größe & Maß"]))
    assert text.text == "First page, a < b.\f\f三枚目の頁。\fGröße & Maß"
    assert text.paged
    assert (text.extractor, bool(text.version)) == ("pdfium", True)


def test_japanese_words_that_a_pdf_breaks_between_lines_are_whole_again(print_pdf):
    sentence = "閲覧室の机に持ち込めるのは鉛筆と紙、それに音の出ない計算機だけであり、" * 2 + "鞄は入口の箱に入れる。"
    assert read(print_pdf([f"見出し\n{sentence}"])).text == f"見出し\n{sentence}"


def test_reading_the_same_document_again_gives_the_same_hash(print_pdf, tmp_path):
    file = tmp_path / "a.pdf"
    file.write_bytes(print_pdf(["One page.", "Another page."]))
    assert read(file).hash == read(file).hash


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8-sig", "Größe und 字"),
        ("utf-16", "Größe und 字"),
        ("utf-16-le", "plain words in wide letters"),
        ("utf-16-be", "plain words in wide letters"),
        ("utf-16-le", "これは日本語の文章です。漢字とかなが混ざっています。"),
        ("utf-16-be", "これは日本語の文章です。\n漢字とかなが混ざっています。"),
        ("utf-16-le", "日本語 Version 2 の文章です。"),
        ("utf-16-le", "这是一个简单的中文文本，用于测试编码检测。"),
        ("utf-16-le", "Это простой русский текст, который нужно прочитать."),
        ("utf-16-be", "고양이는 지붕에서 잡니다. 새는 노래합니다."),
        ("ascii", "Bush hid the facts"),
        ("utf-32", "Größe und 字"),
        ("cp1252", "Die Größe der Äpfel – „schön“, sagte er über die Straße."),
        ("cp1251", "Это простой русский текст, который нужно прочитать."),
        ("cp932", "これは日本語の文章です。漢字とかなが混ざっています。"),
        ("euc_jp", "これは日本語の文章です。漢字とかなが混ざっています。"),
        ("iso2022_jp", "これは日本語の文章です。漢字とかなが混ざっています。"),
        ("gb18030", "这是一个简单的中文文本，用于测试编码检测。"),
    ],
)
def test_bytes_in_the_encodings_of_the_wild_are_read(encoding, text):
    assert read(text.encode(encoding)).text == text


def test_a_stray_zero_byte_does_not_make_wide_letters_of_plain_words():
    assert read(b"Plain words with one\0 zero byte among them, and as many letters as it takes.").text == (
        "Plain words with one zero byte among them, and as many letters as it takes."
    )


def test_stray_bytes_in_utf8_do_not_spoil_the_rest():
    mixed = "Größe für Äpfel und Öl, ".encode() * 20 + "Café".encode("cp1252")
    text = read(mixed)
    assert text.text.endswith("Größe für Äpfel und Öl, Café")
    assert text.notes == ("read as utf-8 with windows-1252",)


def test_what_html_declares_as_its_encoding_is_believed():
    assert "Größe" in read('<html><meta charset="iso-8859-1"><p>Größe</p>'.encode("latin-1")).text


def test_content_wins_over_a_wrong_name(print_pdf, tmp_path):
    cases = {"a.txt": print_pdf(["A page."]), "b.pdf": b"Only text, a < b.", "c.txt": b"<!DOCTYPE html><p>Words</p>"}
    found = {}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        found[name] = read(tmp_path / name)
    assert {name: (text.extractor, text.text) for name, text in found.items()} == {
        "a.txt": ("pdfium", "A page."),
        "b.pdf": ("plain", "Only text, a < b."),
        "c.txt": ("html", "Words"),
    }


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_a_text_that_speaks_of_pdf_is_text(encoding):
    words = "Größe: every such file begins with %PDF-1.4 and ends with %%EOF."
    assert (read(words.encode(encoding)).text, read(words.encode(encoding)).extractor) == (words, "plain")


def test_a_pdf_is_one_after_a_mark_blanks_or_bytes_that_are_no_text(print_pdf):
    page = print_pdf(["A page."])
    for ahead in (b"\xef\xbb\xbf", b"\r\n \0", bytes(range(1, 32)) * 30):
        assert read(ahead + page).text == "A page."
    mailed = b"From a mail:\n" + page
    assert read(mailed, name="a.pdf").text == read(mailed, kind="pdf").text == "A page."
