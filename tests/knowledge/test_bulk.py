"""Bulk ingest: many processes and machines read, and everything is there exactly once, whoever dies meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from aerogram.errors import Unavailable
from aerogram_knowledge import Knowledge
from aerogram_knowledge.documents.document import File
from aerogram_knowledge.embedders import embedder_of
from aerogram_knowledge.ingest import preparation
from knowledge.embedders import Fragile


def notes(count, words=60):
    chance = random.Random(count)
    return {
        f"part{n % 7}/note{n:03}.md": f"# Note {n}\n\nMarker{n} stands here. "
        + " ".join(f"word{chance.randint(0, 5_000)}" for _ in range(words))
        + "\n"
        for n in range(count)
    }


def found(knowledge, count):
    """For each note, how many documents have its marker."""
    return [knowledge.search(f"Marker{n}", method="bm25").page.total for n in range(count)]


def test_many_processes_store_what_one_stores(write, where, tmp_path):
    folder = write({**notes(80), "broken.pdf": b"%PDF-1.4 broken"})
    seen = []
    with Knowledge(where) as many, Knowledge(tmp_path / "one") as one:
        done = many.ingest(folder, workers=2, progress=lambda *at: seen.append(at))
        alone = one.ingest(folder)
        assert (done.added, done.chunks, done.problems) == (alone.added, alone.chunks, alone.problems)
        assert seen[-1] == (81, 81, 1.0)
        assert many.check().problems == ()
        for query in ("Marker7", "Marker77 word12", "Note 5"):
            mine, theirs = (
                sorted((row["hybrid_score"], row["source_file"]) for row in index.search(query, page_size=20).data)
                for index in (many, one)
            )
            assert [path for _, path in mine] == [path for _, path in theirs]
            assert [score for score, _ in mine] == pytest.approx([score for score, _ in theirs], abs=0.01)


def test_a_second_run_reads_nothing_again_and_a_change_is_followed(write, where):
    folder = write(notes(40))
    with Knowledge(where) as index:
        index.ingest(folder, workers=2)
        assert index.ingest(folder, workers=2).unchanged == 40
        write({"part1/note001.md": "# Note 1\n\nAnother tale.\n"})
        (folder / "part2/note002.md").unlink()
        done = index.ingest(folder, workers=2)
        assert (done.changed, done.removed, done.unchanged) == (1, 1, 38)


@pytest.mark.parametrize("where", ["folder"], indirect=True)
def test_a_document_that_ends_its_reader_is_set_aside_with_the_reason(write, where):
    folder = write({**notes(20, words=5), "bad.md": "# Bad\n\nThis holds dynamite.\n"})
    with Knowledge(where, embedder=Fragile()) as index:
        done = index.ingest(folder, workers=2)
        assert done.added == 20
        assert done.problems == {"bad.md": "reading it ended 5 worker processes, the last one by signal SIGKILL"}
        assert index.store.files()["bad.md"].problem == done.problems["bad.md"]
        assert index.ingest(folder, workers=2).problems == done.problems


def workers_of(process):
    """The processes that read for a run on the command line."""
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children(recursive=True)
        return [one for one in children if one.ppid() != process.pid]
    return []


@pytest.mark.parametrize(
    ("where", "kills"),
    [
        ("postgresql", 5),
        pytest.param("folder", 10, marks=pytest.mark.campaign),
        pytest.param("postgresql", 20, marks=pytest.mark.campaign),
    ],
    indirect=["where"],
)
def test_workers_killed_at_random_points_lose_and_repeat_nothing(write, where, kills):
    """A file that was in the hands of five of them is blamed for it, which is rare; it is read when it has changed."""
    chance, killed, ran, added, blamed, innocent = random.Random(kills), 0, 0, 0, {}, set()
    folder = write(notes(120))
    command = [sys.executable, "-m", "aerogram", "ingest", str(folder), "--workers", "2", "--json"]
    place = ["--store", where] if isinstance(where, str) else ["--index", str(where)]
    while killed < kills or blamed:
        process = subprocess.Popen([*command, *place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            time.sleep(chance.uniform(0.01, 0.15))
            for worker in chance.sample(workers := workers_of(process), min(1, len(workers))):
                if killed < kills:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        worker.kill()
                        killed += 1
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        told = json.loads(out)
        blamed = told["problems"]
        assert all(reason.startswith("reading it ended 5 worker processes") for reason in blamed.values())
        added, ran, innocent = added + told["added"], ran + 1, innocent | blamed.keys()
        unread = list(folder.rglob("*.md"))[::2] if killed < kills else [folder / name for name in blamed]
        for path in unread:  # something to do for the next run
            path.write_text(path.read_text() + f"\nRun {ran}.\n")
    with Knowledge(where) as index:
        assert index.check().problems == ()
        assert index.check().facts["documents"] == 120
        assert found(index, 120) == [1] * 120
    assert 120 - len(innocent) <= added <= 120


@contextlib.contextmanager
def running_cluster(workers=2):
    """The address of a Dask scheduler, and its worker processes."""
    environment = {**os.environ, "DASK_DISTRIBUTED__DASHBOARD__LINK": ""}
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": environment}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen([*dask, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"], **options)
    crew = []
    try:
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        flags = ["--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, *flags]
        crew = [subprocess.Popen(worker, **{**options, "stderr": subprocess.DEVNULL}) for _ in range(workers)]
        yield address, crew
    finally:
        for process in (*crew, scheduler):
            process.send_signal(signal.SIGKILL)
            process.wait()
        scheduler.stderr.close()


@pytest.mark.parametrize(
    "where", ["postgresql", pytest.param("folder", marks=pytest.mark.campaign)], indirect=["where"]
)
def test_a_cluster_reads_and_outlives_a_worker(write, where):
    folder = write({**notes(150), "broken.pdf": b"%PDF-1.4 broken"})
    seen = []

    with running_cluster(3) as (address, crew), Knowledge(where) as index:

        def progress(*at):
            if at[0] and not seen[-1][0]:
                crew[0].send_signal(signal.SIGKILL)
            seen.append(at)

        done = index.ingest(folder, cluster=address, progress=progress)
        assert (done.added, list(done.problems)) == (150, ["broken.pdf"])
        assert seen[-1] == (151, 151, 1.0)
        assert index.check().problems == ()
        assert index.check().facts["documents"] == 150


def test_a_cluster_that_is_not_there_is_told(write, tmp_path):
    with Knowledge(tmp_path / "index") as index, pytest.raises(Unavailable, match="no Dask scheduler"):
        index.ingest(write(notes(1)), cluster="tcp://127.0.0.1:9")


def test_the_next_file_is_read_while_one_is_worked_on(write, monkeypatch):
    """Reading is the work of another process, for which nobody needs to wait."""
    reads = {path: threading.Event() for path in ("a.md", "b.md")}
    read = preparation.read_contents

    def note(file, limits):
        reads[file.path].set()
        return read(file, limits)

    class Patient:
        """Counts when the next file has been begun."""

        def count(self, text):
            assert reads["b.md"].wait(30)
            return len(text.split())

    folder = write({"a.md": "The first note.\n", "b.md": "The second note.\n"})
    files = [File(path, (folder / path).stat().st_size, 0, b"") for path in reads]
    monkeypatch.setattr(preparation, "read_contents", note)
    preparer = preparation.Preparer(embedder_of(None), counter=Patient())
    jobs = [preparation.Job(folder / one.path, folder, one, None) for one in files]
    (batch,) = preparer.batches(jobs)
    assert [one.document.path for one in batch.entries] == ["a.md", "b.md"]
    assert not batch.problems
