"""Chunks: no word of a document is lost between them, and code stays between its fences."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerogram.tokens import best_counter
from aerogram_knowledge.documents.chunks import chunks_of
from aerogram_knowledge.documents.document import File, read_file
from aerogram_knowledge.knowledge import Knowledge

SAMPLES = Path(__file__).parents[2] / "samples"


def cut(text, name="a.md", most_tokens=256):
    content = text.encode()
    (document,) = read_file(File(name, len(content), 0, content))
    return chunks_of(document, best_counter(), most_tokens)


def named(text, name="a.md"):
    return [(one.header, one.text) for one in cut(text, name)]


@pytest.mark.parametrize(
    ("name", "text", "query"),
    [
        ("a.txt", "Wifi password is hunter2", "wifi password"),
        ("a.md", "Wifi password is hunter2\n", "wifi password"),
        ("a.md", "# Wifi password is hunter2\n", "hunter2"),
        ("a.html", "<title>Wifi password</title><h1>Wifi password is hunter2</h1>", "hunter2"),
        ("a.rst", "Wifi password is hunter2\n========================\n", "hunter2"),
        ("a.md", "# Duty\n\n## Escalation: call Ingrid 555-1234\n\n## Rota\n\nWeekly.\n", "Ingrid 555"),
        ("a.md", "# Duty\n\n## Rota\n\nWeekly.\n\n## Escalation: call Ingrid 555-1234\n", "Ingrid 555"),
        ("a.md", f"# Duty\n\n## {'very ' * 60}long Ingrid\n\nWeekly.\n", "Ingrid"),
        ("a.md", "# Duty\n\n## Rota of [us](https://ingrid.example.test)\n\nWeekly.\n", "ingrid"),
        ("a.md", "# The max_tokens field\n\nWeekly.\n", "tokens"),
        ("a.md", "```ingrid\n```\n", "ingrid"),
        ("a.md", "# Duty\n\n```call Ingrid``` on Sundays\n\n## Rota\n\nWeekly.\n", "sundays"),
    ],
)
def test_what_stands_in_a_heading_or_alone_is_found(write, index, name, text, query):
    index.ingest(write({name: text, "other.md": "# Harvest\n\nApples are picked in October.\n"}))
    assert [row["source_file"] for row in index.search(query, method="bm25").data] == [name]


def test_a_heading_without_a_body_goes_with_the_passage_after_it_or_else_before_it():
    assert named("# Duty\n\n## Rota\n\n### Nights\n\nWeekly.\n\n## Escalation\n\n## Ends\n\nNever.\n\n## Index\n") == [
        ("Duty > Rota > Nights", "Weekly."),
        ("Duty > Ends", "Escalation\n\n## Ends\n\nNever.\n\n## Index"),
    ]
    assert named("# Duty\n\n## Rota\n") == [("Duty > Rota", "Duty\n\n## Rota")]


def test_the_title_of_a_page_is_no_chunk_when_others_have_it_above_them():
    page = "<title>Duty</title><h1>Duty</h1><h2>Rota</h2><p>Weekly.</p>"
    assert named(page, "a.html") == [("Duty > Rota", "Weekly.")]
    assert named("<title>Duty</title><h1>Duty</h1>", "a.html") == [("Duty", "Duty")]


def test_the_fences_of_code_are_in_the_passage_of_the_sample():
    path = SAMPLES / "apis" / "bulk-exports.md"
    found = {one.header: one.text for one in cut(path.read_text("utf-8"))}
    assert found["Bulk exports > Starting"].startswith("```http\nPOST /v1/exports\n{")
    assert found["Bulk exports > Starting"].count("```") == 2


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("<h1>T</h1><p>~~~ Sale! Tickets cost four crowns. ~~~</p>", "a.html", "Tickets cost four crowns."),
        ("<label>first words<option>\n~~~\nsecond words here <option>", "a.html", "second words here"),
        ("````python\n" * 3, "a.md", "python"),
        ("``` some words\nand code", "a.txt", "some words"),
        ("First\n```\n\n``` some words\n\nand more\n", "a.rst", "some words"),
    ],
)
def test_words_beside_what_looks_like_a_fence_are_found(text, name, words):
    assert any(words in one.text for one in cut(text, name))


def test_what_stands_in_longer_fences_is_no_fence():
    code = "````\n```\nno heading\n===\n````"
    assert named(f"# Duty\n\n{code}\n\n## Rota\n\nNobody.\n") == [("Duty", code), ("Duty > Rota", "Nobody.")]


def test_a_heading_above_nothing_but_a_fence_is_found():
    assert "Rota" in named("# Duty\n\nCall.\n\n## Rota\n\n```\n")[-1][0]


@pytest.mark.parametrize("element", ["article", "section", "aside"])
def test_a_heading_alone_in_its_element_is_found(element):
    found = cut(f"<{element}><h1>Tariff</h1></{element}><aside><h3>Note</h3><p>See the annex.</p></aside>", "a.html")
    assert [(one.header, one.text) for one in found] == [("Note", "Tariff\n\nNote\n\nSee the annex.")]


def test_code_at_the_end_of_a_section_keeps_its_last_fence():
    assert named("# Duty\n\nCall:\n\n```\nring\n```\n\n## Rota\n\n~~~text\n# no heading\n~~~\n") == [
        ("Duty", "Call:\n\n```\nring\n```"),
        ("Duty > Rota", "~~~text\n# no heading\n~~~"),
    ]


def test_a_block_of_code_is_not_cut_when_it_fits_into_a_chunk():
    prose = " ".join(f"Sentence number {n} tells of the bridge." for n in range(20))
    code = "```python\n" + "\n".join(f"value_{n} = {n}" for n in range(25)) + "\n```"
    texts = [one.text for one in cut(f"# Duty\n\n{prose}\n\n{code}\n\n{prose}\n")]
    assert len(texts) > 1
    assert [code in text for text in texts].count(True) == 1
    assert all(text.count("```") in (0, 2) for text in texts)


def test_a_block_that_is_larger_than_a_chunk_is_cut_between_lines_and_loses_none_of_them():
    lines = ["```python", *(f"value_{n} = {n}" for n in range(300)), "```"]
    chunks = cut("# Duty\n\n" + "\n".join(lines))
    assert len(chunks) > 3
    assert all(one.tokens <= 256 for one in chunks)
    assert [line for one in chunks for line in one.text.split("\n") if line] == lines


# every word of a document

WORDS = st.integers(0, 9999).map(lambda number: f"q{number:04}z")
RUNS = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
MARKED = RUNS | st.lists(RUNS, max_size=3).map(lambda runs: ". ".join(runs) + ".") | st.just("")
BLOCKS = st.one_of(
    MARKED,
    st.tuples(st.integers(1, 6), RUNS).map(lambda made: f"{'#' * made[0]} {made[1]}"),
    RUNS.map(lambda run: f"{run}\n==="),
    st.tuples(WORDS, MARKED).map(lambda made: f"```{made[0]}\n{made[1]}\n```"),
    RUNS.map(lambda run: f"```{run}"),
    st.lists(RUNS, min_size=1, max_size=4).map(lambda runs: "\n".join(f"- {run}" for run in runs)),
    st.tuples(WORDS, WORDS, RUNS).map(lambda made: "| {} | {} |\n| --- | --- |\n| {} | x |".format(*made)),
    st.tuples(WORDS, WORDS).map(lambda made: "## [{}](https://{}.test) *a*_b".format(*made)),
    st.just("---"),
)
ELEMENTS = st.one_of(
    st.tuples(st.sampled_from(["h1", "h2", "h3", "p", "li", "title", "pre", "td", "div"]), RUNS).map(
        lambda made: "<{0}>{1}</{0}>".format(*made)
    ),
    RUNS,
    # tags that nobody has closed or opened, too
    st.tuples(
        st.sampled_from(["", "/"]),
        st.sampled_from(["h1", "h3", "h4", "article", "aside", "details", "div", "nav", "section", "table", "dt"]),
    ).map(lambda made: f"<{made[0]}{made[1]}>"),
)
DOCUMENTS = st.one_of(
    st.tuples(st.just("a.md"), st.lists(BLOCKS, max_size=8).map("\n\n".join)),
    st.tuples(st.just("a.txt"), st.lists(BLOCKS, max_size=8).map("\n".join)),
    st.tuples(st.just("a.rst"), st.lists(BLOCKS, max_size=8).map("\n\n".join)),
    st.tuples(st.just("a.html"), st.lists(ELEMENTS, max_size=8).map("\n".join)),
)


def words_of(text):
    return set(re.findall(r"q\d{4}z", text))


@given(DOCUMENTS, st.sampled_from([24, 256]))
def test_every_word_of_a_document_is_in_a_chunk_or_above_one(document, most_tokens):
    name, text = document
    chunks = cut(text, name, most_tokens)
    assert words_of(text) == words_of("\n".join(f"{one.header}\n{one.text}" for one in chunks))


@settings(max_examples=8)
@given(DOCUMENTS)
def test_every_word_of_a_document_is_found_by_search(tmp_path_factory, document):
    name, text = document
    place = tmp_path_factory.mktemp("words")
    (place / name).write_text(text)
    with Knowledge(place / "index", embedder="none") as index:
        index.ingest(place / name)
        for word in words_of(text):
            assert index.search(word, method="bm25").data, word


@given(DOCUMENTS)
def test_chunks_are_what_stands_at_their_places_in_order(document):
    name, text = document
    content = text.encode()
    (read,) = read_file(File(name, len(content), 0, content))
    chunks = chunks_of(read, best_counter(), 24)
    assert [one.text for one in chunks] == [read.source.text[one.start : one.end] for one in chunks]
    assert [one.index for one in chunks] == list(range(len(chunks)))
    assert all(one.end <= other.start for one, other in itertools.pairwise(chunks))
