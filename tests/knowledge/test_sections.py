"""Sections: a passage knows the heading that it stands below, and what belongs together is not torn apart."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from aerogram.tokens import best_counter
from aerogram_knowledge.documents.chunks import chunks_of
from aerogram_knowledge.documents.document import File, read_file
from aerogram_knowledge.documents.sections import layout_of

CONTENTS = """<html><head><title>2. Files — The Manual 4.6</title></head><body>
<div><h3>Navigation</h3><ul><li>next</li></ul></div>
<div class="toc"><ul><li><a>2.1. Names</a></li><li><a>2.2. Modes</a></li></ul></div>
<div class="titlepage"><h1>2. Files<a class="headerlink">¶</a></h1></div>
<p>Everything is a file.</p>
<h2>2.1. Names<a>¶</a></h2><p>A name has no slash.</p>
<h2>2.2. Modes<a>¶</a></h2><p>A mode has four digits.</p></body></html>"""


def cut(text, name="a.html", most_tokens=256):
    content = text.encode()
    (document,) = read_file(File(name, len(content), 0, content))
    return chunks_of(document, best_counter(), most_tokens)


def headers(text):
    return {one.text: one.header for one in cut(text)}


def test_a_table_of_contents_is_not_taken_for_the_headings_that_it_lists():
    found = headers(CONTENTS)
    assert found["Everything is a file."] == "2. Files"
    assert found["A name has no slash."] == "2. Files > 2.1. Names"
    assert found["A mode has four digits."] == "2. Files > 2.2. Modes"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("<nav>", "</nav>"),
        ('<div role="navigation" aria-label="main">', "</div>"),
        ('<div class="navheader">', "</div>"),
        ("<div id=foot class='navfooter dark'>", "</div>"),
        ('<div class="sphinxsidebar"><div>', "</div></div>"),
    ],
)
def test_what_leads_elsewhere_is_no_passage_and_no_heading_of_one(start, end):
    menu = f"{start}<h2>Menu</h2><table><tr><td><a>Back</a></td><td><a>Next</a></td></tr></table>{end}"
    page = f"{menu}<h1>Pears</h1><p>Green.</p>{menu}<p>And ripe.</p>{menu}"
    assert headers(page) == {"Green.": "Pears", "And ripe.": "Pears"}


@pytest.mark.parametrize("page", ["<nav><p>Back.</p></nav>", "<nav><p>Back.</p>", "<div class=navheader><p>Back.</p>"])
def test_navigation_that_is_all_of_a_page_or_never_ends_is_read(page):
    assert [one.text for one in cut(page)] == ["Back."]


@pytest.mark.parametrize(
    "attributes", ["class=navheaders", 'class="my-navheader"', "data-role=navigation", "id=navheader"]
)
def test_what_only_sounds_like_navigation_is_read(attributes):
    assert "Back." in headers(f"<div {attributes}><p>Back.</p></div><h1>Pears</h1><p>Green.</p>")


@pytest.mark.parametrize(
    ("title", "heading", "header"),
    [
        ("Pears | The Orchard", "Pears", "Pears"),
        ("The Orchard :: Pears", "Pears", "Pears"),
        ("zlib — Compression — Python 3.11", "zlib — Compression", "zlib — Compression"),
        ("Pears-and-more", "Pears", "Pears-and-more > Pears"),
        ("The Orchard", "Pears", "The Orchard > Pears"),
    ],
)
def test_a_title_loses_the_name_of_its_site_and_no_more(title, heading, header):
    found = headers(f"<title>{title}</title><h1>{heading} ¶</h1><p>They are green.</p>")
    assert found["They are green."] == header


def test_a_heading_of_marks_alone_is_none():
    text = "---\ntitle: My title\n---\n**\n===\n\nSome text here.\n"
    (chunk,) = cut(text, "a.rst")
    assert "Some text here." in chunk.text


@pytest.mark.parametrize("element", ["aside", "section", "blockquote", "details"])
def test_a_heading_reaches_to_the_end_of_the_section_it_is_in(element):
    page = f"<h1>Pears</h1><p>Green.</p><{element}><h2>Note</h2><p>Beware.</p></{element}><p>And ripe.</p>"
    assert headers(page) == {"Green.": "Pears", "Beware.": "Pears > Note", "And ripe.": "Pears"}


@pytest.mark.parametrize("name", ["section", "sect2", "chapter x"])
def test_the_footnotes_behind_a_section_that_is_a_div_are_those_of_the_chapter(name):
    section = f"<div class='{name}'><div class='titlepage'><div><h2>Lock</h2></div></div><p>It is locked.</p></div>"
    page = (
        f"<div class='book'><h1>Doors</h1><p>They open.</p>{section}<div class='footnotes'><p>[1] Some.</p></div></div>"
    )
    assert headers(page)["[1] Some."] == "Doors"
    assert headers(page)["It is locked."] == "Doors > Lock"


def test_a_div_around_a_heading_alone_does_not_end_what_it_is_above():
    page = "<h1>Doors</h1><div class='section'><h2>Lock</h2></div><div><p>It is locked.</p></div>"
    assert headers(page)["It is locked."] == "Doors > Lock"


def test_a_table_and_a_listing_stay_whole_if_they_can():
    prose = "<p>" + " ".join(f"Sentence number {n} tells of the bridge." for n in range(24)) + "</p>"
    rows = "".join(f"<tr><td>span {n}</td><td>{n} metres</td></tr>" for n in range(12))
    code = "\n".join(f"value_{n} = {n}" for n in range(12))
    found = [one.text for one in cut(f"<h1>Bridge</h1>{prose}<table>{rows}</table>{prose}<pre>{code}</pre>{prose}")]
    assert len(found) > 3
    for whole in ("\n".join(f"span {n} | {n} metres" for n in range(12)), code):
        assert sum(whole in text for text in found) == 1
    table = "\n".join(f"| span {n} | {n} metres |" for n in range(12))
    marked = prose.removeprefix("<p>").removesuffix("</p>")
    assert sum(table in one.text for one in cut(f"{marked}\n\n{table}\n\n{marked}\n", "a.md")) == 1


def test_a_definition_belongs_to_its_term():
    terms = "".join(
        f"<dt>option-{n}</dt><dd>" + " ".join(f"It sets the value {n} of kind {k} at once." for k in range(6)) + "</dd>"
        for n in range(12)
    )
    found = [one.text for one in cut(f"<h1>Options</h1><dl>{terms}</dl>")]
    assert len(found) > 3
    for n in range(12):
        (holder,) = [text for text in found if f"option-{n}\n" in text]
        assert f"the value {n} of kind 5 " in holder


# the same headings as a parser that builds the whole tree

NAMES = st.integers(0, 999).map(lambda number: f"w{number:03}w")
PIECES = st.deferred(
    lambda: st.one_of(
        NAMES.map(lambda name: f"<p>{name} stands alone.</p>"),
        st.tuples(st.integers(1, 6), NAMES).map(lambda made: "<h{0}>head {1}</h{0}>".format(*made)),
        st.tuples(st.sampled_from(["div", "ul", "main"]), st.lists(PIECES, max_size=4)).map(
            lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0]}>"
        ),
        NAMES.map(lambda name: f"<ul><li>head {name}</li></ul>"),
    )
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_each_paragraph_has_the_heading_that_the_tree_has_before_it(markup):
    chunks = cut(f"<!doctype html><title>Page</title><body>{markup}")
    last = None
    for node in LexborHTMLParser(f"<!doctype html><title>Page</title><body>{markup}").root.traverse():
        if node.tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            last = node.text()
        elif node.tag == "p":
            holders = [one.header.split(" > ")[-1] for one in chunks if node.text() in one.text]
            assert (last or "Page") in holders, (node.text(), last)


@pytest.mark.parametrize(
    "line", ["# a" + "#" * 60_000 + "x", "# a" + " " * 60_000 + "x", "# " + "[" * 60_000, "# " + "[a](" * 15_000]
)
def test_the_time_for_a_heading_grows_with_its_length(line):
    started = time.perf_counter()
    assert layout_of(f"{line}\n\nWords.", "markdown").sections
    assert time.perf_counter() - started < 2
