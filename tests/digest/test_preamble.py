"""Front matter is no part of a document's text: not for the index, not for a digest, not for whoever checks one."""

import asyncio
import json

import pytest

from aerogram.digest import digest_text, read, reread, verify
from aerogram.digest.text import normalise
from aerogram_knowledge import Knowledge, NoEmbedder
from aerogram_knowledge.documents.document import File, read_file
from programs import run_program

BODY = "# Ferry\n\nA ticket costs four crowns.\n\n---\n\nDogs travel on deck.\n"
HTML = "<!doctype html><title>Ferry</title><h1>Ferry</h1><p>A ticket costs four crowns.</p>"
FRONTS = [
    "---\ntitle: Ferry\nlicense: MIT\n---\n",
    "\ufeff\n\n---\r\ntitle: Ferry\r\ntags:\r\n  - boats\r\n---\r\n",
    "---\n# a comment\n\n'title': Ferry\n---\n",
    "---\n{title: Ferry}\n---\n",
    "---\nFull name: Ferry\nDay of sailing: Friday\n---\n",
    '---\ntitle: "oops\n---\n',
    "---\n- license: MIT\n---\n",
    '+++\ntitle = "Ferry"\n+++\n',
    '+++\n[page]\ntitle = "Ferry"\n+++\n',
]
TEXTS = [
    BODY,
    "---\n\nHello there.\n\n---\n\n" + BODY,
    "---\nA line *of* prose.\n---\n" + BODY,
    "---\nTwo crowns: a bicycle\nis carried free\n---\n" + BODY,
    "---\nx = 5\n---\n" + BODY,
    "+++\nmore and more\n+++\n" + BODY,
    "---\n---\n" + BODY,
    "---",
    "",
]


def indexed(text, name):
    content = text.encode()
    (found,) = read_file(File(name, len(content), 0, content))
    return found.source


@pytest.mark.parametrize("name", ["a.md", "a.rst", "a.txt"])
@pytest.mark.parametrize("front", FRONTS, ids=ascii)
def test_front_matter_is_no_part_of_the_text(front, name):
    text = read((front + BODY).encode(), name=name)
    assert text.text == normalise(BODY)
    assert indexed(front + BODY, name).hash == text.hash


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_text_between_rules_stays(text):
    assert read(text.encode(), name="a.md").text == normalise(text)
    assert indexed(text, "a.md").text == normalise(text)


def test_front_matter_that_no_line_ends_is_none_of_the_text():
    text = "---\nlicense: MIT\n\n# Ferry\n"
    assert read(text).text == "# Ferry" == indexed(text, "a.md").text


def test_only_the_first_of_two_blocks_is_front_matter():
    again = FRONTS[0] + BODY
    assert read(FRONTS[0] + again).text == normalise(again) == indexed(FRONTS[0] + again, "a.md").text


@pytest.mark.parametrize("name", ["a.html", "a.md", "a.txt"])
@pytest.mark.parametrize("front", ["", FRONTS[0]])
def test_a_page_is_read_as_a_page_by_everybody_whatever_its_name(front, name):
    text = read((front + HTML).encode(), name=name)
    assert (text.extractor, text.text.count("<")) == ("html", 0)
    assert indexed(front + HTML, name).hash == text.hash


def test_a_digest_quotes_no_metadata_and_its_locators_count_from_where_the_text_begins():
    text = read(FRONTS[0] + BODY)
    payload = digest_text(text, "What does a ticket cost, and what is the license?")
    assert "title" not in payload.to_json()
    assert "MIT" not in payload.to_json()
    assert verify(payload, normalise(BODY))


def test_a_digest_of_the_whole_file_can_still_be_checked_and_the_reading_is_told(tmp_path):
    (tmp_path / "a.md").write_text(FRONTS[0] + BODY, encoding="utf-8")
    whole = digest_text(read(FRONTS[0] + BODY, preamble=True), "What does a ticket cost?")
    found = reread(tmp_path / "a.md", whole.source_text_hash)
    assert verify(whole, found)
    assert found.notes == ("read with its front matter",)
    (tmp_path / "whole.json").write_text(whole.to_json(), encoding="utf-8")
    told = run(tmp_path, "verify", "whole.json", "--source", "a.md")
    assert (told.returncode, "read with its front matter" in told.stdout) == (0, True)
    said = json.loads(run(tmp_path, "verify", "whole.json", "--source", "a.md", "--json").stdout)
    assert (said["verified"], said["note"]) == (True, "read with its front matter")


def test_a_digest_of_a_record_can_be_checked_against_its_file_and_its_line_is_told(tmp_path):
    lines = [{"id": "a", "text": "# Bus\n\nIt is blue."}, {"id": "b", "body": FRONTS[0] + BODY}]
    (tmp_path / "a.jsonl").write_text("no JSON\n" + "\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Knowledge(tmp_path / "index", embedder=NoEmbedder()) as index:
        index.ingest(tmp_path / "a.jsonl")
        (source,) = asyncio.run(index.digest("a.jsonl#b", "What does a ticket cost?")).data["sources"]
    (tmp_path / "d.json").write_text(source["content"], encoding="utf-8")
    told = run(tmp_path, "verify", "d.json", "--source", "a.jsonl")
    assert (told.returncode, "it is the record in line 3" in told.stdout) == (0, True), told.stderr
    (tmp_path / "a.jsonl").write_text(json.dumps(lines[0]), encoding="utf-8")
    assert run(tmp_path, "verify", "d.json", "--source", "a.jsonl").returncode == 1


def test_another_text_is_read_as_usual():
    assert reread(FRONTS[0] + BODY, "sha256:" + "0" * 64) == read(BODY)


def run(where, *arguments):
    return run_program(arguments, cwd=where, text=True)
