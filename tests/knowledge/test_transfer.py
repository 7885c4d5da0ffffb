"""Transfer: an index in another store is the same index, id by id."""

from __future__ import annotations

import json
import os
import time

import pytest

from aerogram.errors import Conflict, NotFound
from aerogram_knowledge import Knowledge
from aerogram_knowledge.maintenance.copy import copy
from knowledge.documents import GRAPH, GUIDE, HARVEST, JAPANESE
from programs import run_program, start_program

COPY = "import sys; from aerogram_knowledge.maintenance.copy import copy; copy(*sys.argv[1:])"


@pytest.fixture(params=["folder to database", "database to folder"])
def places(request, tmp_path, database):
    """Where an index is, and where it goes."""
    both = tmp_path / "index", database
    return both if request.param == "folder to database" else both[::-1]


@pytest.fixture
def folder(write):
    letter = "# Letter\n\nAcme Corporation has written to us. Nora Quist of Acme asks for a meeting.\n"
    texts = {"guide.md": GUIDE, "copy.md": GUIDE, "harvest.md": HARVEST, "ja.md": JAPANESE, "letter.md": letter}
    return write(
        {**texts, "vendors.json": json.dumps(GRAPH), "broken.pdf": b"%PDF-1.4 broken", "gone.md": "# Gone\n\nA."}
    )


def unscored(rows):
    """Rows without their scores, which know in a folder for a while how rare a word was before a file had gone."""
    names = ("chunk_id", "chunk_text", "source_file", "context_header", "chunk_index", "total_chunks", "deduplication")
    return [{name: row[name] for name in names} for row in rows]


def answers(index):
    """What an index says about everything, apart from where it is kept."""
    return [
        unscored(index.search("token apples credential", page_size=50, response_mode="full").data),
        index.search("有効期限", response_mode="preview").citations,
        index.vendor("Acme", response_mode="full").data,
        index.chunks([1, 2, 3]).data,
        dict(index.store.files()),
        index.roots(),
    ]


def test_a_copy_answers_as_the_original_does(places, folder):
    source, target = places
    with Knowledge(source) as index:
        index.ingest(folder)
        (folder / "gone.md").unlink()
        index.ingest()
        before = answers(index)
        page = index.search("token apples", page_size=1)
        after = index.search("token apples", page_size=1, cursor=page.page.cursor).data[0]["chunk_id"]
    done = copy(source, target)
    assert (done.files, done.already) == (7, 0)
    with Knowledge(target) as index:
        assert answers(index) == before
        assert index.search("token apples", page_size=1, cursor=page.page.cursor).data[0]["chunk_id"] == after
        assert index.check().problems == ()


def test_texts_of_any_length_score_in_a_copy_as_in_the_original(places, write):
    """A length counts in steps, the same in both stores, so that the order of results is the same too."""
    source, target = places
    notes = {f"{n:03}.md": f"# Note {n}\n\nA harbour. " + "Water and wind. " * n for n in range(1, 160, 3)}

    def scores(index):
        rows = index.search("harbour wind", method="bm25", page_size=50, response_mode="full").data
        return [(row["chunk_id"], row["bm25_score"]) for row in rows]

    with Knowledge(source) as index:
        index.ingest(write(notes))
        before = scores(index)
    copy(source, target)
    with Knowledge(target) as index:
        assert scores(index) == before
    assert len({score for _, score in before}) > 10


def test_ids_that_are_not_in_use_are_not_given_to_others(places, folder):
    """A file that comes back has its old ids in the copy too, and a new one has new ones."""
    source, target = places
    with Knowledge(source) as index:
        index.ingest(folder)
        old = index.store.chunks_of("gone.md")[0].id
        (folder / "gone.md").unlink()
        index.ingest()
    copy(source, target)
    with Knowledge(target) as index:
        (folder / "new.md").write_text("# New\n\nSomething new entirely.\n")
        (folder / "gone.md").write_text("# Gone\n\nA.")
        index.ingest()
        assert index.store.chunks_of("gone.md")[0].id == old
        assert index.store.chunks_of("new.md")[0].id > old


def test_a_copy_that_was_cut_off_goes_on(database, tmp_path, write):
    notes = {f"note{n:03}.md": f"# Note {n}\n\nMarker{n} stands here alone.\n" for n in range(400)}
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write(notes))
    for delay in (0.1, 0.3, 0.5):
        with start_program([str(tmp_path / "index"), database], program=("-c", COPY)) as process:
            time.sleep(delay)
            process.kill()
    done = copy(tmp_path / "index", database)
    assert done.files + done.already == 400
    with Knowledge(database) as index:
        assert [index.search(f"Marker{n}", method="bm25").page.total for n in range(0, 400, 57)] == [1] * 8


def test_a_target_with_other_documents_is_refused(database, tmp_path, write):
    folder = write({"a.md": GUIDE})
    with Knowledge(tmp_path / "index") as index:
        index.ingest(folder)
    (folder / "a.md").rename(folder / "b.md")
    with Knowledge(database) as other:
        other.ingest(folder)
    with pytest.raises(Conflict, match="1 files"):
        copy(tmp_path / "index", database)


def test_an_index_that_is_not_there_cannot_be_copied(database, tmp_path):
    with pytest.raises(NotFound):
        copy(tmp_path / "nowhere", database)
    with pytest.raises(NotFound):
        copy(database, tmp_path / "somewhere")


def aerogram(*words, **settings):
    """What a command prints, in JSON."""
    done = run_program([*map(str, words), "--json"], text=True, check=True, env={**os.environ, **settings})
    return json.loads(done.stdout)


def test_api_keys_in_the_store_come_along(database, postgres, write):
    """A server on the copy lets in whoever the one on the original does."""
    with Knowledge(database) as index:
        index.ingest(write({"a.md": GUIDE}))
    aerogram("keys", "create", "reader", AEROGRAM_STORE=database)
    target = postgres.new_database()
    aerogram("copy", "--from", database, "--to", target)
    known = aerogram("keys", "list", AEROGRAM_STORE=database)
    assert "reader" in str(known)
    assert aerogram("keys", "list", AEROGRAM_STORE=target) == known


def test_what_servers_share_goes_through_a_folder_and_back(database, tmp_path, postgres, write):
    with Knowledge(database) as index:
        index.ingest(write({"a.md": GUIDE}))
        index.store.set_shared("keys/api", b"of the original", 0)
    copy(database, tmp_path / "backup")
    target = postgres.new_database()
    copy(tmp_path / "backup", target)
    with Knowledge(target) as index:
        assert index.store.get_shared("keys/api") == (b"of the original", 1)


def test_what_the_servers_of_a_target_share_stays(database, tmp_path, write):
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write({"a.md": GUIDE}))
        index.store.set_shared("keys/api", b"of the original", 0)
        index.store.set_shared("notes", b"of the original", 0)
    with Knowledge(database) as other:
        other.store.set_shared("keys/api", b"of the target", 0)
    copy(tmp_path / "index", database)
    with Knowledge(database) as other:
        assert other.store.get_shared("keys/api") == (b"of the target", 1)
        assert other.store.get_shared("notes") == (b"of the original", 1)


def test_a_document_without_chunks_comes_along(places, write):
    """A file that says who may use it and nothing else is a document all the same."""
    source, target = places
    with Knowledge(source) as index:
        index.ingest(write({"a.md": GUIDE, "head.md": "---\ntitle: Only a head\nlicense: MIT\n---\n", "none.md": ""}))
        before = index.check().facts["documents"], index.store.values("license"), index.store.values("kind")
        entry = index.store.entries(["head.md"])[0][0]
    copy(source, target)
    with Knowledge(target) as index:
        assert (index.check().facts["documents"], index.store.values("license"), index.store.values("kind")) == before
        copied = index.store.entries(["head.md"])[0][0]
    assert (before[0], before[1]["MIT"]) == (3, 1)
    assert (copied.document.title, copied.fetched_at, copied.document.source.hash) == (
        "Only a head",
        entry.fetched_at,
        entry.document.source.hash,
    )
    assert copied.chunks == []


def test_the_verb_copies_and_says_so(database, tmp_path, write):
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write({"a.md": GUIDE, "b.md": HARVEST}))
    words = ["copy", "--from", str(tmp_path / "index"), "--to", database]
    done = run_program(words, text=True)
    assert (done.stdout, done.stderr) == ("2 files copied; 5 chunks compared, all the same\n", "")
    again = run_program([*words, "--json"], text=True)
    assert json.loads(again.stdout) == {"files": 0, "already": 2, "chunks": 5}
