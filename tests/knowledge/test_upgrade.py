"""Upgrades: an index of an older version is brought up to date when it is opened, wholly or not at all."""

from __future__ import annotations

import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import unicodedata
from contextlib import closing
from pathlib import Path

import pytest

from aerogram.errors import Conflict
from aerogram_knowledge import Knowledge
from aerogram_knowledge.licences import LicenseBlocked
from aerogram_knowledge.store.sqlite import VERSION
from knowledge.documents import GERMAN, GUIDE, HARVEST, JAPANESE
from programs import start_program

FIRST = Path(__file__).parent / "data" / "version-1.sql"
"""The rows of an index as the first version wrote them, over the documents below."""
TOLD = "---\ncategory: VERTRÄGE\nlicense: Übergabe-1.0\n---\n"
DOCUMENTS = {"guides/token.md": GUIDE, "Verträge/Kündigung.md": TOLD + GERMAN, "ja/token.md": JAPANESE}
OPEN = "import sys; from aerogram_knowledge import Knowledge; Knowledge(sys.argv[1]).search('token')"
DIES = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); "
ROOM = 256 * 1024
"""Larger than any file that opening an index writes, and smaller than the upgrade of one with many documents."""


@pytest.fixture
def older(write, tmp_path) -> Path:
    """An index of the first version, in its folder."""
    root = write(DOCUMENTS)
    folder = tmp_path / "index"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        rows.executescript(FIRST.read_text("utf-8").replace("@ROOT@", str(root.resolve())))
    return folder


def version_of(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        return rows.execute("PRAGMA user_version").fetchone()[0]


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def grow(folder: Path, documents: int) -> None:
    """Give an index of the first version so many further documents that its upgrade takes a while."""
    columns = "path, file, kind, title, category, language, text_hash, extractor, checksum, fetched_at, total"
    rows = [(f"{n}.md", f"{n}.md", "markdown", f"Title {n}", "MORE", "en", "", "", "", "", 0) for n in range(documents)]
    with closing(sqlite3.connect(folder / "rows.sqlite")) as database, database:
        database.executemany(f"INSERT INTO documents ({columns}) VALUES ({', '.join('?' * 11)})", rows)


def test_an_index_of_the_first_version_is_upgraded_when_it_is_opened(older):
    assert version_of(older) == 1
    with Knowledge(older) as index:
        rows = index.search("Kündigung", page_size=50).data
        assert [(row["chunk_id"], row["source_file"]) for row in rows] == [(1, "Verträge/Kündigung.md")]
        assert index.search("access token valid").data[0]["source_file"] == "guides/token.md"
        assert index.check().is_sound
    assert version_of(older) == VERSION


def test_the_names_in_an_older_index_are_found_in_any_form_of_unicode(older):
    with Knowledge(older) as index:
        index.check()
    apart = unicodedata.normalize("NFD", "Verträge/Kündigung.md")
    with closing(sqlite3.connect(older / "rows.sqlite")) as rows, rows:
        said = (apart, apart, apart.lower(), apart.lower())
        rows.execute("UPDATE documents SET path = ?, file = ?, path_key = ?, file_key = ? WHERE id = 1", said)
        rows.execute("PRAGMA user_version = 6")
    shutil.rmtree(older / "keywords")
    with Knowledge(older) as index:
        for method in ("bm25", "vector"):
            found = index.search("Kündigung", filters={"path": "Verträge"}, method=method).data
            assert [row["source_file"] for row in found] == [apart]


def ids_of(index: Knowledge) -> dict[str, int]:
    return {row["chunk_text"]: row["chunk_id"] for row in index.search("token", response_mode="full").data}


def test_what_an_older_version_has_read_is_read_again_once_and_keeps_its_ids(older):
    with Knowledge(older) as index:
        before = ids_of(index)
        done = index.ingest()
        assert (done.changed, done.added, done.removed) == (3, 0, 0)
        assert ids_of(index) == before
        assert index.ingest().unchanged == 3


def test_copies_in_an_index_that_did_not_number_words_are_known_after_its_upgrade(write, tmp_path):
    with Knowledge(tmp_path / "index") as index:
        index.ingest(write({"a.md": HARVEST, "b.md": HARVEST, "c.md": GUIDE}))
    with closing(sqlite3.connect(tmp_path / "index" / "rows.sqlite")) as rows, rows:
        rows.executescript("DROP TABLE wordings; PRAGMA user_version = 5")
    with Knowledge(tmp_path / "index") as index:
        found = index.search("apples harvest", response_mode="metadata").data
        assert [(row["source_file"], row["also_in"]) for row in found] == [("a.md", ["b.md"])] * 2


def test_what_changes_after_an_upgrade_keeps_its_ids(older, write):
    with Knowledge(older) as index:
        before = ids_of(index)
        write({"guides/token.md": GUIDE + "\n## Storage\n\nTokens are kept in a safe.\n"})
        index.ingest()
        assert before.items() <= ids_of(index).items()


def test_a_document_that_an_older_version_let_through_a_gate_is_withheld_after_it_is_read_again(older, write):
    """The first version took a preamble that it could not read for text, and the document for free."""
    root = write({"guides/token.md": '---\nlicense: Secret\ntitle: "oops\n---\n' + GUIDE.partition("---\n\n")[2]})
    stat = (root / "guides/token.md").stat()
    with closing(sqlite3.connect(older / "rows.sqlite")) as rows, rows:
        rows.execute("UPDATE files SET size = ?, changed_ns = ?", (stat.st_size, stat.st_mtime_ns))
    with Knowledge(older, withheld_licenses=["Secret"]) as gated:
        assert "guides/token.md" in {row["source_file"] for row in gated.search("access token valid").data}
        gated.ingest()
        with pytest.raises(LicenseBlocked):
            gated.search("access token valid")


@pytest.mark.parametrize("method", ["hybrid", "bm25", "vector"])
def test_filters_find_what_the_first_version_stored_in_any_case(older, method):
    with Knowledge(older) as index:
        for filters in ({"category": "verträge"}, {"license": "übergabe-1.0"}, {"path": "VERTRÄGE"}):
            found = index.search("Die Verträge werden gekündigt", filters=filters, method=method).data
            assert [row["source_file"] for row in found] == ["Verträge/Kündigung.md"], filters


@pytest.mark.parametrize("ends", ["by a signal", "by an error"])
def test_an_upgrade_that_is_cut_short_has_not_happened_and_is_done_by_the_next(older, ends):
    """The process may write no file beyond a size, and comes to it while it writes the upgrade down."""
    grow(older, 4_000)
    program = OPEN if ends == "by an error" else DIES + OPEN
    cut = subprocess.run([sys.executable, "-c", program, older], preexec_fn=limited, capture_output=True, check=False)
    assert cut.returncode == (1 if ends == "by an error" else -signal.SIGXFSZ), cut.stderr
    assert version_of(older) == 2
    with Knowledge(older) as index:
        assert index.search("access token valid").data[0]["source_file"] == "guides/token.md"
        assert index.check().is_sound
    assert version_of(older) == VERSION


def test_processes_that_open_an_older_index_at_once_all_get_the_new_one(older):
    grow(older, 500)
    several = [start_program([str(older)], program=("-c", OPEN)) for _ in range(3)]
    assert [process.wait(60) for process in several] == [0, 0, 0]
    assert version_of(older) == VERSION


def test_an_index_of_a_later_version_is_refused_with_instructions(older):
    with closing(sqlite3.connect(older / "rows.sqlite")) as rows:
        rows.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(Conflict) as refused:
        Knowledge(older)
    assert "later version" in str(refused.value)
    assert "Upgrade Aerogram" in refused.value.remediation


def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(tmp_path):
    folder = tmp_path / "index"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        rows.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(Conflict) as refused:
        Knowledge(folder)
    assert "--index" in refused.value.remediation
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        assert rows.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]
