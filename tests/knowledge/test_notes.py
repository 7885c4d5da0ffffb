"""Notes: what of a file could not be read is told at every run, by every verb, until the file is mended."""

from __future__ import annotations

import json
import threading

import pytest

from aerogram_knowledge import Knowledge
from aerogram_knowledge.maintenance.copy import copy
from programs import run_program
from serving import clean_environment, command

BROKEN = '---\nlicense: Secret\ntitle: "oops\n---\n# Berths\n\nNine crowns for each berth.\n'
FREE = "# Ferry\n\nThe ferry leaves at noon.\n"
NOTE = "the front matter cannot be read: found unexpected end of stream in line 4; its licence is taken to be Secret"


def run(place, *arguments):
    environment = clean_environment(place / "index")
    return run_program(arguments, cwd=place, env=environment, text=True)


def test_many_files_with_the_same_note_are_told_of_in_one_line(write, index):
    done = index.ingest(write({f"bad{n}.md": BROKEN for n in range(9)} | {"worse.pdf": b"%PDF-1.4 broken"}))
    first, last = done.lines()
    assert first == f"bad0.md and 8 other files: {NOTE}"
    assert last.startswith("worse.pdf: ")
    assert done.lines({f"bad{n}.md": NOTE for n in range(8)}) == [f"bad8.md: {NOTE}", last]


def test_a_note_is_told_again_until_the_file_is_mended(write, index):
    folder = write({"bad.md": BROKEN, "free.md": FREE})
    assert index.ingest(folder).notes == {"bad.md": NOTE}
    assert index.ingest().notes == {"bad.md": NOTE}
    (folder / "bad.md").touch()
    assert index.ingest().notes == {"bad.md": NOTE}
    assert index.store.files()["bad.md"].note == NOTE
    write({"bad.md": BROKEN.replace('"oops', "fine")})
    assert index.ingest().notes == {}
    assert index.store.files()["bad.md"].note is None


def test_a_file_that_gives_no_passages_says_so(write, index):
    files = {
        "v.json": '{"vendors": ["Delta Foods"]}',
        "bare.md": "---\ntitle: Bare\n---\n",
        "blank.md": "\n",
        "free.md": FREE,
    }
    told = {
        "bare.md": "it gives no passages: it has no text",
        "v.json": "it gives no passages: all that it holds is a vendor graph (entities: 1, relationships: 0)",
    }
    assert index.ingest(write(files)).notes == told
    assert index.ingest().notes == told


def test_processes_that_read_side_by_side_tell_notes_too(write, index):
    assert index.ingest(write({"bad.md": BROKEN, "free.md": FREE}), workers=2).notes == {"bad.md": NOTE}
    assert index.ingest().notes == {"bad.md": NOTE}


def test_a_copy_of_an_index_has_its_notes(write, tmp_path):
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write({"bad.md": BROKEN}))
    copy(tmp_path / "index", tmp_path / "copy")
    with Knowledge(tmp_path / "copy") as other:
        assert other.ingest().notes == {"bad.md": NOTE}


def test_ingest_and_status_tell_a_person_and_a_program(write, tmp_path):
    write({"bad.md": BROKEN, "free.md": FREE})
    for _ in range(2):
        assert run(tmp_path, "ingest", "docs").stderr == f"aerogram: bad.md: {NOTE}\n"
    assert json.loads(run(tmp_path, "ingest", "docs", "--json").stdout)["notes"] == {"bad.md": NOTE}
    assert f"\n  bad.md: {NOTE}\n" in run(tmp_path, "index", "status").stdout
    assert json.loads(run(tmp_path, "index", "status", "--json").stdout)["notes"] == {"bad.md": NOTE}


def test_a_server_writes_it_into_its_log_at_every_start(write, tmp_path):
    folder = write({"bad.md": BROKEN, "free.md": FREE})
    for _ in range(2):
        done = run(tmp_path, *command(tmp_path / "index", "--stdio", documents=folder, program=()))
        assert done.stderr.count(f"bad.md: {NOTE}") == 1


LINES = """{"id": "one", "text": "About chestnuts."}
{"id": "two", "text": "About

{"id": "three", "number": 3}
{"id": "four", "text": "About macadamia.", "license": ["Secret"]}
"""
ASIDE = (
    "line 2 is set aside: it is not JSON: Unterminated string starting at column 23; "
    "line 4 is set aside: it has no text: one of text, content, body, chunk_text, markdown; "
    "line 5: the licence that it states is no text, so its licence is unknown"
)


def test_a_line_that_cannot_be_read_is_set_aside_with_its_number_and_the_others_are_there(write, index):
    done = index.ingest(write({"nuts.jsonl": LINES}))
    assert (done.problems, done.notes) == ({}, {"nuts.jsonl": ASIDE})
    assert index.documents() == ["nuts.jsonl#four", "nuts.jsonl#one"]
    assert index.text("nuts.jsonl#four") == "About macadamia."
    assert index.ingest().notes == {"nuts.jsonl": ASIDE}


def test_many_bad_lines_are_counted_and_a_file_of_nothing_else_is_a_problem(write, index):
    bad = "\n".join(["no"] * 40)
    done = index.ingest(write({"some.jsonl": bad + '\n"About chestnuts."', "none.jsonl": bad}))
    for told in (done.notes["some.jsonl"], done.problems["none.jsonl"]):
        assert told.count("is set aside") == 5
        assert told.startswith("line 1 is set aside: it is not JSON: Expecting value at column 1; line 2 ")
        assert told.endswith("; and 35 more")
    assert index.documents() == ["some.jsonl#41"]


@pytest.fixture
def first_version(write, postgres):
    """A database as the first version left it, over a document with a note."""
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    with Knowledge(url) as index:
        index.ingest(write({"bad.md": BROKEN, "free.md": FREE}))
    postgres.execute("ALTER TABLE aerogram_files DROP COLUMN note, DROP COLUMN reader", database=name)
    postgres.execute("DROP TABLE aerogram_wordings", database=name)
    postgres.execute("UPDATE aerogram_state SET version = 1", database=name)
    return url


def test_a_database_of_the_first_version_is_upgraded_by_the_first_of_many_who_open_it(first_version):
    opened = []

    def open_it():
        with Knowledge(first_version) as index:
            opened.append(index.store.files())

    several = [threading.Thread(target=open_it) for _ in range(4)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert len(opened) == 4
    with Knowledge(first_version) as index:
        assert index.ingest().notes == {"bad.md": NOTE}
        assert index.ingest().unchanged == 2
