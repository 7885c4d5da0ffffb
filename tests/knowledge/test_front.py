"""Front matter that cannot be read: the document is found, its preamble is not, and no gate opens because of it."""

from __future__ import annotations

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram_knowledge import Knowledge
from aerogram_knowledge.documents.document import File, read_file
from aerogram_knowledge.documents.front import UNKNOWN_LICENSE
from aerogram_knowledge.licences import LicenseBlocked

BODY = "# Ferry contract\n\nThe ferry company pays nine crowns for each berth.\n"
FREE = "# Ferry weather\n\nThe ferry waits when there is fog.\n"
OOPS = 'title: "oops'


def document(text, name="a.md"):
    content = text.encode()
    (found,) = read_file(File(name, len(content), 0, content))
    return found


@pytest.mark.parametrize(
    "front",
    [
        f"---\nlicense: Secret\n{OOPS}\n---\n",
        f"---\n{OOPS}\nLicence: 'Secret'\n---\n",
        f"---\nrights: Secret  # of the house\n{OOPS}\n---\n",
        '---\nlicense: "Secret\n---\n',
        "---\n- license: Secret\n---\n",
        "---\na: &x 1\nb: *x\nlicense: Secret\n---\n",
        "---\nlicense: Secret\ndate: 2026-13-45\n---\n",
        '+++\nlicense = "Secret"\nbroken =\n+++\n',
        "---\nlicense: Secret\n\n",
        f"---\nlicense: Secret\nlong: {'x' * 70_000}\n---\n",
    ],
    ids=lambda front: ascii(front)[:60],
)
def test_the_line_that_names_a_licence_is_read_by_itself(front):
    found = document(front + BODY)
    assert found.license == "Secret"
    assert found.source.text.startswith("# Ferry contract")
    assert "front matter cannot be read" in found.notes[0]
    assert "its licence is taken to be Secret" in found.notes[0]


@pytest.mark.parametrize(
    "front",
    [
        f"---\n{OOPS}\n---\n",
        "---\nlicense: [Secret\n---\n",
        f"---\nlicense:\n  - Secret\n{OOPS}\n---\n",
        f"---\nlicense: MIT\nlicense: Secret\n{OOPS}\n---\n",
        "---\nlicense: {name: Secret}\n---\n",
        "---\nlicense: [Secret, MIT]\n---\n",
    ],
)
def test_a_licence_that_cannot_be_read_is_unknown(front):
    found = document(front + BODY)
    assert found.license == UNKNOWN_LICENSE
    assert found.source.text.startswith("# Ferry contract")


@pytest.mark.parametrize(
    "text",
    ["---\n\nHello there.\n\n---\n\n" + BODY, "---\n\n" + BODY, BODY, "---\nA line *of* prose.\n---\n" + BODY],
)
def test_a_text_between_rules_is_no_front_matter(text):
    found = document(text)
    assert found.license is None
    assert found.source.text == text.strip()


@pytest.mark.parametrize("text", ["\ufeff---\n", "\n\n---\n", "---\r\n", "---\r"], ids=ascii)
def test_front_matter_is_seen_after_a_mark_after_blank_lines_and_with_other_line_ends(text):
    end = text.lstrip("\ufeff\n-") or "\n"
    found = document(f"{text}license: Secret{end}---{end}{BODY}")
    assert (found.license, found.notes) == ("Secret", ())
    assert found.source.text.startswith("# Ferry contract")


@pytest.mark.parametrize(
    "front",
    [
        "---\nlicense: Secret\n...\n",
        "---\n# about\nlicense: Secret\n...\n",
        "---\ntitle: x\n\nlicense: Secret\n...\n",
        "---\ntitle: x\nabstract: |\n  Berths\n\n  and crowns ...\nlicense: Secret\n...  \n",
        "---\n? license\n: Secret\n---\n",
        "---\ntitle: x\n? dc.rights\n: Secret\n---\n",
        '+++\ndc.rights = "Secret"\n+++\n',
        '+++\n[dcterms]\nlicense = "Secret"\n+++\n',
        "---\ndc:\n  rights: Secret\n---\n",
    ],
    ids=ascii,
)
def test_a_licence_is_seen_however_its_front_matter_spells_it(front):
    found = document(front + BODY)
    assert (found.license, found.notes) == ("Secret", ())
    assert found.source.text.startswith("# Ferry contract")


@pytest.mark.parametrize(
    "front",
    [
        f"---\n? license\n: Secret\n{OOPS}\n---\n",
        f"---\n# about\nlicense: Secret\n{OOPS}\n...\n",
        '+++\ndc . rights = "Secret"\nbroken =\n+++\n',
    ],
    ids=ascii,
)
def test_the_same_counts_where_the_rest_cannot_be_read(front):
    found = document(front + BODY)
    assert (found.license, len(found.notes)) == ("Secret", 1)


def test_dots_between_words_end_no_front_matter():
    for begin in ("---\nA line *of* prose.\n...\n", "+++\ntitle = 'x'\n...\n", "...\ntitle: x\n...\n"):
        assert document(begin + BODY).source.text == (begin + BODY).strip()


def test_an_html_page_with_front_matter_is_under_its_licence():
    found = document(
        "---\nlicense: Secret\n---\n<html><body><h1>Berths</h1><p>Nine crowns.</p></body></html>", "a.html"
    )
    assert (found.license, found.source.text) == ("Secret", "Berths\n\nNine crowns.")


SECRET = "<meta name=license content=Secret>"


@pytest.mark.parametrize(
    "before",
    [
        "<!-- <meta name=license content=MIT> -->",
        "<script>const page = '<meta name=license content=MIT>'</script>",
        "<style>/* <meta name=license content=MIT> */</style>",
        "<title>On <meta name=license content=MIT></title>",
        f"<script>{'x = 1; ' * 30_000}</script>",
        "<meta name=license content=''>",
    ],
    ids=lambda before: before[:40],
)
def test_what_is_no_element_of_a_page_hides_no_licence(before):
    assert document(f"<html><head>{before}{SECRET}</head><body>{BODY}</body></html>", "a.html").license == "Secret"


@pytest.mark.parametrize(
    "element",
    [
        "<meta name=author property='dcterms:license' content=Secret>",
        "<meta property='og:title dcterms:license' content=Secret>",
        "<meta name=license content=Secret content=MIT>",
        "<meta name=license name=author content=Secret>",
        "<link rel='canonical license' href=Secret>",
        "<link property='dcterms:license' href=Secret>",
    ],
)
def test_an_element_says_all_that_it_says_and_the_first_of_two_attributes_counts(element):
    assert document(f"<html><head>{element}</head><body>{BODY}</body></html>", "a.html").license == "Secret"


def test_other_attributes_of_the_element_hide_no_licence():
    page = f"<html><head><meta data-x='a > b' title='{'x' * 4_000}' name=license content=Secret></head>{BODY}</html>"
    assert document(page, "a.html").license == "Secret"


def test_the_title_of_a_page_goes_before_what_it_is_called_elsewhere():
    page = f"<html><head><meta property=og:title content=Shared><title>Own</title></head><body>{BODY}</body></html>"
    assert document(page, "a.html").title == "Own"


def test_two_licences_of_a_page_that_differ_are_none_that_is_known():
    page = f"<html><head><meta name=license content=MIT>{SECRET}</head><body>{BODY}</body></html>"
    assert document(page, "a.html").license == UNKNOWN_LICENSE
    assert document(page.replace("MIT", "secret"), "a.html").license == "secret"


def test_a_page_says_of_itself_what_front_matter_says_by_the_same_names():
    facts = {"topic": "Berths", "organization": "Holm", "modified": "2026-05-01", "source_url": "https://holm.example"}
    elements = "".join(f"<meta name={name} content='{value}'>" for name, value in facts.items())
    found = document(f"<html><head>{elements}</head><body>{BODY}</body></html>", "a.html")
    assert [found.category, found.publisher, found.dated, found.url] == list(facts.values())


@pytest.mark.parametrize(
    ("stated", "language"), [("de", "de"), ("de-AT", "de"), ("EN_us", "en"), ("Deutsch", "en"), ("german", "en")]
)
def test_a_language_is_stated_by_its_code(stated, language):
    page = f"<html><head><meta name=language content={stated}></head><body>{BODY}</body></html>"
    assert document(page, "a.html").language == language
    assert document(f"---\nlang: {stated}\n---\n{BODY}").language == language


def test_a_json_document_is_under_the_licence_that_it_states():
    assert document('{"note": "Nine crowns.", "License": "Secret", "name": "Berths"}', "a.json").license == "Secret"
    assert document('{"note": "Nine crowns.", "berth": {"license": "Secret"}}', "a.json").license is None


@pytest.mark.parametrize("kind", ["raw", "markdown"])
def test_a_notebook_says_of_itself_what_its_first_cell_begins_with(kind):
    """Tools that publish notebooks read front matter there."""

    def notebook(first):
        cells = [{"cell_type": kind, "source": [first]}, {"cell_type": "markdown", "source": "Nine crowns."}]
        return document(json.dumps({"cells": cells, "metadata": {}}), "a.ipynb")

    found = notebook("---\nlicense: Secret\ntitle: Berths\n---\n")
    assert (found.license, found.title) == ("Secret", "Berths")
    assert notebook(f"---\nlicense: [{OOPS}\n---").license == UNKNOWN_LICENSE
    assert notebook("license: Secret").license is None


def test_the_front_matter_of_a_json_line_counts_beside_its_members():
    def line(front, **members):
        return document(json.dumps({"text": f"---\n{front}\n---\nNine crowns.\n", **members}), "a.jsonl")

    found = line("license: Secret\ntitle: Berths\ncategory: ships", category="ferries")
    assert (found.license, found.title, found.category) == ("Secret", "Berths", "ferries")
    assert found.source.text == "Nine crowns."
    assert line("license: Secret", license="MIT").license == UNKNOWN_LICENSE
    assert line(f"license: [{OOPS}").license == UNKNOWN_LICENSE
    assert document(json.dumps("---\nlicense: Secret\n---\nNine crowns.\n"), "a.jsonl").license == "Secret"


def test_a_json_line_names_its_licence_in_any_case():
    assert document('{"text": "Nine crowns.", "License": "Secret"}', "a.jsonl").license == "Secret"
    assert document('{"text": "Nine crowns.", "license": ["Secret"]}', "a.jsonl").license == UNKNOWN_LICENSE


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("license: MIT\nlicence: Secret", UNKNOWN_LICENSE),
        ("license: MIT\nLicense: Secret", UNKNOWN_LICENSE),
        ("license: Secret\nlicense: MIT", UNKNOWN_LICENSE),
        ("license: MIT\nlicence: mit", "MIT"),
        ("license: MIT\nrights: Secret", "MIT AND Secret"),
        ("rights: Secret", "Secret"),
        ("licenses: Secret", "Secret"),
        ("SPDX-License-Identifier: Secret", "Secret"),
        ("dc.rights: Secret", "Secret"),
        (f"license: MIT {'and more ' * 60} Secret", UNKNOWN_LICENSE),
    ],
    ids=lambda one: one[:40],
)
def test_what_states_a_licence_beside_another_one_counts_as_well(said, expected):
    assert document(f"---\n{said}\n---\n{BODY}").license == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<meta name=licence content=Secret>", "Secret"),
        ("<meta name=dcterms.license content=Secret>", "Secret"),
        ("<meta name=rights content=Secret>", "Secret"),
        ("<link rel='license noopener' href='/secret'>", "/secret"),
        ("<link rel=license href='/secret'><meta name=license content=MIT>", "MIT AND /secret"),
        ("<link rel=license href='https://example.org/mit'><meta name=license content=MIT>", "MIT"),
        ("<link rel=license href='/licenses/MIT.html'><meta name=license content=MIT>", "MIT"),
        ("<link rel=license href='/limited-secret'><meta name=license content=MIT>", "MIT AND /limited-secret"),
        ("<link rel=license href='/secret/mit'><meta name=license content=MIT>", "MIT AND /secret/mit"),
        ("<link rel=license href='mit?by=secret'><meta name=license content=MIT>", "MIT AND mit?by=secret"),
        ("<link rel=license href='http://['><meta name=license content=MIT>", "MIT AND http://["),
        ("<link rel=license href=MIT><link rel=license href=mit>", "MIT"),
        ("<link rel=license href=MIT><link rel=license href=Secret>", UNKNOWN_LICENSE),
        (
            "<link rel=license href=MIT><link rel=license href=Secret><meta name=license content=MIT>",
            "MIT AND NOASSERTION",
        ),
        ("<meta name=dc.rights content=Reserved><meta name=dc.rights content=Secret>", UNKNOWN_LICENSE),
        ("<meta name=dc.rights content=Secret><meta name=license content=MIT>", "MIT AND Secret"),
    ],
)
def test_a_page_states_its_licence_under_any_of_its_names(head, expected):
    assert document(f"<html><head>{head}</head><body>{BODY}</body></html>", "a.html").license == expected


def test_front_matter_before_a_page_hides_no_licence_of_it():
    page = f"<html><head>{SECRET}</head><body>{BODY}</body></html>"
    assert document(f"---\nlicense: MIT\n---\n{page}", "a.html").license == UNKNOWN_LICENSE
    assert document(f"---\nrights: Reserved\n---\n{page}", "a.html").license == "Secret AND Reserved"


@given(st.text("abc:-[]{}\"'&*#|>!%@` \n\t=+,\\", max_size=60))
def test_no_line_beside_it_hides_a_licence(line):
    """Whatever stands beside the line that names a licence, the document is under that licence, or an unknown one."""
    found = document(f"---\nlicense: Secret\n{line}\n---\n{BODY}")
    assert found.license in ("Secret", UNKNOWN_LICENSE) or found.license.startswith("Secret ")  # YAML reads on


@pytest.fixture(params=[f"license: Secret\n{OOPS}", f"licens: Secret\n{OOPS}", "license: [Secret, MIT]"])
def gated(request, write, index, where):
    """An index over a document whose front matter is broken, and a free one, behind a gate."""
    index.ingest(write({"bad.md": f"---\n{request.param}\n---\n{BODY}", "free.md": FREE}))
    with Knowledge(where, withheld_licenses=["Secret"]) as gated:
        yield gated


@pytest.mark.parametrize("method", ["hybrid", "bm25", "vector"])
def test_a_document_with_broken_front_matter_stays_behind_the_gate(gated, method):
    reply = gated.search("ferry", response_mode="full", method=method)
    assert [row["source_file"] for row in reply.data] == ["free.md"]
    assert (reply.status, reply.notices[-1].code) == ("partial", "LICENSE_GATE_BLOCKED")
    assert "nine crowns" not in str(reply)


def test_it_is_neither_read_nor_digested_nor_fetched_by_its_id(gated, index):
    (held,) = index.store.chunks_of("bad.md")
    for ask in (lambda: gated.text("bad.md"), lambda: gated.chunks([held.id])):
        with pytest.raises(LicenseBlocked):
            ask()
    with pytest.raises(LicenseBlocked):
        anyio.run(gated.digest, "bad.md", "What does a berth cost?")


def test_without_a_gate_it_is_found_and_its_preamble_is_not(gated, index):
    assert [row["source_file"] for row in index.search("berth crowns", method="bm25").data] == ["bad.md"]
    assert index.search("Secret oops", method="bm25").data == []
    assert index.text("bad.md") == BODY.strip()


def test_an_unknown_licence_is_no_evidence_for_a_source(write, index):
    index.ingest(write({"bad.md": f"---\n{OOPS}\n---\n{BODY}", "same.md": BODY}))
    rows = index.search("berth crowns", response_mode="full").data
    assert len({row["confidence"]["source_quality"] for row in rows}) == 1
