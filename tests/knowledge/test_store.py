"""Stores: what stays true when processes are killed, files are damaged, and many ask at once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from aerogram.errors import IntegrityError, Unavailable, ValidationFailed
from aerogram_knowledge import Knowledge
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import query_terms
from aerogram_knowledge.licences import LicenseBlocked
from aerogram_knowledge.maintenance.repair import repair
from knowledge.documents import GRAPH, GUIDE, HARVEST
from programs import run_program, start_program

INGEST = ("-c", "import sys; from aerogram_knowledge import Knowledge; Knowledge(sys.argv[1]).ingest(sys.argv[2])")


OPEN_FILES = Path("/proc/self/fd")
in_a_folder = pytest.mark.parametrize("where", ["folder"], indirect=True)
"""For what is true of the embedded store alone."""


def notes(count):
    lorem = "The keeper of the light writes down the wind, the weather and the ships that pass. "
    return {f"note{n:03}.md": f"# Note {n}\n\nMarker{n} stands here. {lorem * 6}\n" for n in range(count)}


@pytest.mark.parametrize("attempt", range(3))
def test_a_kill_at_any_point_leaves_a_usable_index(write, where, attempt):
    """The next run goes on: every document is there exactly once, and nothing disagrees."""
    folder = write(notes(60))
    with Knowledge(where) as knowledge:
        knowledge.ingest(write({"first.md": GUIDE}) / "first.md")
    with start_program([str(where), str(folder)], program=INGEST) as process:
        time.sleep(random.Random(attempt).uniform(0.1, 0.8))
        process.kill()
    with Knowledge(where) as knowledge:
        assert knowledge.search("access token valid").data[0]["source_file"] == "first.md"
        knowledge.ingest(folder)
        assert knowledge.check().problems == ()
        found = [knowledge.search(f"Marker{n}", method="bm25").page.total for n in range(0, 60, 7)]
    assert found == [1] * len(found)


STOPPED = """
import os, signal, sys
from aerogram_knowledge import Knowledge
def stop(done, count, share):
    if done == count:
        os.kill(os.getpid(), signal.SIGKILL)
with Knowledge(sys.argv[1]) as knowledge:
    knowledge.ingest(sys.argv[2], progress=stop)
"""


def test_a_kill_after_the_last_document_leaves_what_follows_from_all_of_them_to_the_next_run(write, where):
    folder = write({"vendors.json": json.dumps(GRAPH), "letter.md": "# Letter\n\nAcme Corporation has written.\n"})
    with Knowledge(where), start_program([str(where), str(folder)], program=("-c", STOPPED)) as process:
        assert process.wait(60) == -signal.SIGKILL
    with Knowledge(where) as knowledge:
        assert knowledge.ingest(folder).unchanged == 2
        (acme, *_) = knowledge.vendor("Acme Corporation", response_mode="preview").data["entities"]
        generation = knowledge.store.generation
        knowledge.ingest()
        assert (acme["mentions"], knowledge.store.generation) == (1, generation)


FORGET = """
import sys
from aerogram_knowledge import Knowledge
from aerogram_knowledge.maintenance.removal import forget
with Knowledge(sys.argv[1]) as knowledge:
    forget(knowledge, sys.argv[2])
"""


def test_a_kill_while_a_folder_is_taken_out_leaves_nothing_that_belongs_nowhere(write, where):
    folder = write(notes(400))
    with Knowledge(where) as knowledge:
        knowledge.ingest(folder)
        with start_program([str(where), str(folder)], program=("-c", FORGET)) as process:
            while knowledge.roots() and process.poll() is None:
                pass
            process.kill()
    with Knowledge(where) as knowledge:
        assert (knowledge.roots(), knowledge.documents()) == ({}, [])


@in_a_folder
def test_keywords_that_were_written_in_many_steps_are_written_as_a_whole(index, write):
    """Each step leaves a part of its own, and a search looks into every part. After a small change it may."""
    segments = []
    for count in (5, 15, 40):
        folder = write(notes(count))
        index.ingest(folder)
        segments.append(index.check().facts["segments"])
    assert segments == [1, 2, 1]
    assert index.check().problems == ()
    assert [index.search(f"Marker{n}", method="bm25").page.total for n in range(0, 40, 7)] == [1] * 6
    (folder / "note007.md").write_text("# Note\n\nQuinces are yellow.\n")
    index.ingest(folder)
    assert index.check().facts["segments"] == 2
    assert index.search("quinces").data[0]["source_file"].endswith("note007.md")
    assert not index.search("Marker7", method="bm25").data


@in_a_folder
def test_what_one_search_asks_does_not_change_while_others_write(small, write):
    """Feedback asks a second time; it has the words, the languages and the rarities of the first."""
    before = small.store.moment()
    terms = query_terms("quinces tokens", before.languages)
    said = before.rarities(["quinc", "token"]), before.candidates(terms, None, Filters(), 10, 0).ids.tolist()
    write({"new.md": "# Quince\n\nQuinces are yellow, and tokens are round.\n"})
    small.ingest()
    now = small.store.moment()
    again = before.rarities(["quinc", "token"]), before.candidates(terms, None, Filters(), 10, 0).ids.tolist()
    assert again == said
    assert now.version != before.version
    assert len(now.candidates(terms, None, Filters(), 10, 0).ids) == len(said[1]) + 1


@in_a_folder
def test_keywords_that_are_behind_the_rows_catch_up_by_themselves(small, tmp_path, write):
    """As after a kill between the two commits: the rows have something that the keywords have not seen."""
    small.close()
    keywords = tmp_path / "index" / "keywords"
    shutil.copytree(keywords, tmp_path / "before")
    with Knowledge(tmp_path / "index") as index:
        write({"new.md": "# Quince\n\nQuinces are yellow.\n"})
        index.ingest()
    shutil.rmtree(keywords)
    (tmp_path / "before").rename(keywords)
    with Knowledge(tmp_path / "index") as index:
        assert index.search("quince", method="bm25").data[0]["source_file"] == "new.md"
        assert index.check().is_sound


@in_a_folder
def test_keywords_that_are_gone_are_made_again(small, tmp_path):
    small.close()
    shutil.rmtree(tmp_path / "index" / "keywords")
    with Knowledge(tmp_path / "index") as index:
        assert index.search("apples", method="bm25").status == "ok"
        assert index.check().is_sound


@in_a_folder
def test_damaged_keywords_are_told_plainly_and_rebuilt_on_request(small, tmp_path):
    small.close()
    for path in (tmp_path / "index" / "keywords").iterdir():
        if path.name not in ("stamp.json", ".tantivy-writer.lock", ".tantivy-meta.lock"):
            path.write_bytes(b"damage")
    with Knowledge(tmp_path / "index") as index, pytest.raises(IntegrityError) as told:
        index.search("apples")
    assert "rebuild" in told.value.remediation
    assert "rebuilt" in repair(tmp_path / "index")
    with Knowledge(tmp_path / "index") as index:
        assert index.search("apples").data[0]["source_file"] == "farm/harvest.md"


def damage(file):
    """Turn one bit over in the middle of a file, in place, so that whoever has it open sees it."""
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size // 3)
        (old,) = opened.read(1)
        opened.seek(-1, os.SEEK_CUR)
        opened.write(bytes([old ^ 64]))


@in_a_folder
@pytest.mark.parametrize("ending", ["fast", "fieldnorm", "idx", "pos", "store", "term"])
def test_one_bit_of_the_keywords_that_turned_over_is_told_and_no_writer_ends_by_it(small, tmp_path, write, ending):
    small.close()
    for file in (tmp_path / "index" / "keywords").glob(f"*.{ending}"):
        damage(file)
    with Knowledge(tmp_path / "index") as index:
        with pytest.raises(IntegrityError) as told:
            index.search("apples")
        assert "rebuild" in told.value.remediation
        assert [str(told.value)] == list(index.check().problems)
    folder = write({"new.md": "# Quince\n\nQuinces are yellow.\n"})
    ended = run_program(["ingest", str(folder), "--index", str(tmp_path / "index")], text=True)
    assert (ended.returncode, "The keyword index is damaged" in ended.stderr) == (1, True)
    repair(tmp_path / "index")
    with Knowledge(tmp_path / "index") as index:
        index.ingest(folder)
        assert [row["source_file"] for row in index.search("quince", method="bm25").data] == ["new.md"]


@in_a_folder
def test_keywords_that_are_damaged_while_they_are_served_answer_again_after_a_rebuild(small, tmp_path):
    assert small.search("apples", method="bm25").status == "ok"
    (postings,) = (tmp_path / "index" / "keywords").glob("*.idx")
    with postings.open("r+b") as opened:
        opened.write(b"\xff" * postings.stat().st_size)
    for _ in range(2):
        with pytest.raises(IntegrityError, match="keyword index is damaged"):
            small.search("barrels in the cellar", method="bm25")
    repair(tmp_path / "index")
    assert small.search("apples and barrels", method="bm25").status == "ok"


def test_a_repair_that_is_cut_off_loses_no_id(write, tmp_path):
    """Neither before the new rows stand where the damaged ones did, nor while the documents are read again."""
    folder = write({"a.md": "# Old\n\nAbout walruses.\n"} | {f"b{n}.md": f"# {n}\n\nZebra {n}.\n" for n in range(150)})
    with Knowledge(tmp_path / "index") as index:
        index.ingest(folder)
        (folder / "a.md").unlink()
        index.ingest()
        before = {row["source_file"]: row["chunk_id"] for row in index.search("zebra", page_size=50).data}
    rows = tmp_path / "index" / "rows.sqlite"
    with contextlib.closing(sqlite3.connect(rows)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks'").fetchone()
    with rows.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(ValidationFailed, match="no embedding model"):
        repair(tmp_path / "index", embedder="/nope")

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repair(tmp_path / "index", progress=cut_off)
    repair(tmp_path / "index")
    with Knowledge(tmp_path / "index") as index:
        index.ingest()
        now = {row["source_file"]: row["chunk_id"] for row in index.search("zebra", page_size=50).data}
    kept = before.keys() & now.keys()
    assert len(kept) > 20 and {name: now[name] for name in kept} == {name: before[name] for name in kept}


@in_a_folder
@pytest.mark.parametrize("size", [100, 60_000], ids=["its head", "all of it"])
def test_damaged_rows_are_told_plainly_and_read_again_from_the_documents(small, tmp_path, size):
    before = small.search("apples").data
    small.close()
    rows = tmp_path / "index" / "rows.sqlite"
    with rows.open("r+b") as file:
        file.write(os.urandom(min(size, rows.stat().st_size)))
    with pytest.raises(IntegrityError) as told:
        Knowledge(tmp_path / "index").search("apples")
    assert "damaged" in str(told.value)
    assert "rebuild" in told.value.remediation
    assert "read again" in repair(tmp_path / "index")
    with Knowledge(tmp_path / "index") as index:
        assert index.search("apples").data[0]["source_file"] == before[0]["source_file"]
        assert index.check().is_sound


def test_many_callers_get_the_answers_that_one_gets(write, index):
    index.ingest(write({**notes(40), "guide.md": GUIDE}))
    queries = [f"Marker{n} wind and weather" for n in range(16)]
    alone = {query: index.search(query, page_size=5).data for query in queries}
    wrong = []

    def ask(query):
        for _ in range(5):
            index._search._remembered.clear()
            if index.search(query, page_size=5).data != alone[query]:
                wrong.append(query)

    threads = [threading.Thread(target=ask, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@in_a_folder
@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="open files are not listed here")
def test_many_threads_share_a_few_connections(small):
    rows = (small.folder / "rows.sqlite").resolve()
    threads = [threading.Thread(target=small.chunks, args=([1],)) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # SQLite itself holds on to the files of some that it has closed, as long as others are open
    assert 1 <= [one.resolve() for one in OPEN_FILES.iterdir()].count(rows) < len(threads)
    small.close()
    assert rows not in [one.resolve() for one in OPEN_FILES.iterdir()]


def test_reading_goes_on_while_another_process_writes(write, index, where):
    folder = write(notes(120))
    index.ingest(write({"first.md": GUIDE}) / "first.md")
    process = start_program([str(where), str(folder)], program=INGEST)
    answers = 0
    while process.poll() is None:
        assert index.search("access token valid").data[0]["source_file"] == "first.md"
        answers += 1
    assert process.returncode == 0
    assert answers > 0
    assert index.search("Marker119", method="bm25").page.total == 1


def test_two_processes_that_ingest_at_once_store_everything_once(write, where):
    folder = write(notes(60))
    both = [start_program([str(where), str(folder)], program=INGEST) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    with Knowledge(where) as knowledge:
        assert knowledge.check().problems == ()
        assert knowledge.check().facts["documents"] == 60


@in_a_folder
def test_an_index_that_goes_away_is_unavailable_and_one_that_comes_back_answers(small, tmp_path):
    hidden = tmp_path / "hidden"
    (tmp_path / "index").rename(hidden)
    with pytest.raises(Unavailable):
        small.search("apples")
    hidden.rename(tmp_path / "index")
    assert small.search("apples").status == "ok"


def test_an_index_in_the_place_of_another_is_what_is_answered_from(write, tmp_path):
    """With as many changes as the one before, so that nothing but the rows themselves tells them apart."""
    with Knowledge(tmp_path / "index") as first:
        first.ingest(write({"a.md": "# Pears\n\nPears cost nine crowns.\n", "b.md": "# Figs\n\nFigs are free.\n"}))
        with Knowledge(tmp_path / "index", withheld_licenses=["secret"]) as server:
            assert [row["source_file"] for row in server.search("pears cost", method="bm25").data] == ["a.md"]
            shutil.rmtree(tmp_path / "index")
            secret = "---\nlicense: Secret\n---\n# Pears\n\nPears cost ten crowns.\n"
            write({"a.md": secret, "0.md": "# Plums\n\nPlums.\n"})
            (tmp_path / "docs" / "b.md").unlink()
            with Knowledge(tmp_path / "index") as second:
                second.ingest(tmp_path / "docs")
            assert [row["source_file"] for row in server.search("plums", response_mode="full").data] == ["0.md"]
            assert server.documents() == ["0.md"]
            with pytest.raises(LicenseBlocked):
                server.search("pears cost", method="bm25")
            assert server.check().is_sound
            assert server.search("figs", method="bm25").status == "empty"


@in_a_folder
def test_an_index_that_is_read_again_from_its_documents_is_what_a_server_answers_from(small, write, tmp_path):
    rows = tmp_path / "index" / "rows.sqlite"
    assert small.search("apples").status == "ok"
    with contextlib.closing(sqlite3.connect(rows)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with rows.open("r+b") as file:
        file.write(os.urandom(100))
    write({"new.md": "# Quince\n\nQuinces are yellow.\n"})
    (tmp_path / "docs" / "farm" / "harvest.md").unlink()
    assert "read again" in repair(tmp_path / "index")
    assert small.search("quince", method="bm25").data[0]["source_file"] == "new.md"
    assert small.search("apples", method="bm25").status == "empty"


@in_a_folder
def test_keywords_that_have_seen_what_the_rows_have_not_are_made_again_by_whoever_writes(small, write, tmp_path):
    """As where the rows come from a backup."""
    small.close()
    backup = shutil.copy(tmp_path / "index" / "rows.sqlite", tmp_path / "backup")
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write({"new.md": "# Quince\n\nQuinces are yellow.\n"}))
        index.ingest(write({"newer.md": "# Medlar\n\nMedlars are brown.\n"}))
    for left in (tmp_path / "index").glob("rows.sqlite*"):
        left.unlink()
    shutil.copy(backup, tmp_path / "index" / "rows.sqlite")
    (tmp_path / "docs" / "new.md").unlink()
    with Knowledge(tmp_path / "index") as index:
        index.ingest()
        assert index.check().is_sound
        assert index.search("medlar", method="bm25").data[0]["source_file"] == "newer.md"
        assert index.search("quince", method="bm25").status == "empty"


@in_a_folder
def test_everything_is_in_one_folder(small, tmp_path):
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "index"]
    assert {path.name for path in (tmp_path / "docs").rglob("*.md")} == {"token.md", "harvest.md", "vertrag.md"}


def test_a_rebuilt_index_gives_the_same_answers(small, write):
    write({"farm/harvest.md": HARVEST + "\nPears wait for November.\n"})
    small.ingest()
    before = small.search("token apples pears", page_size=50, response_mode="full").data
    small.rebuild()
    assert small.search("token apples pears", page_size=50, response_mode="full").data == before
