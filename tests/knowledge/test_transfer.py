"""Transfer: an index in another store is the same index, id by id."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from aerogram.errors import Conflict, NotFound
from aerogram.knowledge import Knowledge
from aerogram.knowledge.transfer import copy
from knowledge.documents import GRAPH, GUIDE, HARVEST, JAPANESE

COPY = "import sys; from aerogram.knowledge.transfer import copy; copy(*sys.argv[1:])"


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
    for delay in (0.8, 1.1, 1.4):
        process = subprocess.Popen([sys.executable, "-c", COPY, str(tmp_path / "index"), database])
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
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


def test_the_verb_copies_and_says_so(database, tmp_path, write):
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write({"a.md": GUIDE, "b.md": HARVEST}))
    command = [sys.executable, "-m", "aerogram", "copy", "--from", str(tmp_path / "index"), "--to", database]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("2 files copied; 5 chunks compared, all the same\n", "")
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert json.loads(again.stdout) == {"files": 0, "already": 2, "chunks": 5}
