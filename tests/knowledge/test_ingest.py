"""Ingest: what is read, how it is cut, and what happens when files change."""

from __future__ import annotations

import gzip
import json
import os
import threading
from functools import partial

import pytest

from aerogram.digest import ReadLimits
from aerogram.errors import Conflict
from aerogram.tokens import best_counter
from aerogram_knowledge import Knowledge
from aerogram_knowledge.maintenance.removal import forget
from aerogram_knowledge.maintenance.watch import keep_watching, watch
from knowledge.documents import GUIDE, HARVEST


def headers(index, path):
    return [chunk.header for chunk in index.store.chunks_of(path)]


def words(index, path):
    return " ".join(chunk.text for chunk in index.store.chunks_of(path))


def ids(index):
    return {(chunk.path, chunk.text): chunk.id for chunk in index.store.chunks(range(1, 500))}


def test_every_kind_of_document_is_read(write, index):
    from digest_pdf import write_pdf

    folder = write(
        {
            "a.md": "# Alpha\n\nMarkdown about walnuts.\n",
            "b.html": "<html><head><title>Beta</title></head><body><h1>Beta</h1><h2>Nuts</h2><p>On hazel.</p></body>",
            "c.txt": "Plain text about almonds.\n",
            "d.rst": "Delta\n=====\n\nNuts\n----\n\nAbout pecans.\n",
            "e.pdf": write_pdf(["About cashews on the first page.", "About pistachios on the second page."]),
            "f.jsonl": '{"id": "one", "title": "Zeta", "text": "About chestnuts."}\n{"text": "About macadamia."}\n',
        }
    )
    done = index.ingest(folder)
    assert (done.added, done.problems) == (6, {})
    assert headers(index, "a.md") == ["Alpha"]
    assert headers(index, "b.html") == ["Beta > Nuts"]
    assert headers(index, "d.rst") == ["Delta > Nuts"]
    assert [header.split(" > ")[1] for header in headers(index, "e.pdf")] == ["page 1", "page 2"]
    assert words(index, "c.txt") == "Plain text about almonds."
    assert words(index, "f.jsonl#one") == "About chestnuts."
    assert words(index, "f.jsonl#2") == "About macadamia."


def test_front_matter_and_folders_say_what_a_document_is(small):
    guide = small.store.chunks_of("guides/token.md")[0]
    assert (guide.title, guide.category, guide.publisher) == ("Token Guide", "security", "Platform Group")
    assert (guide.license, guide.dated, guide.url) == ("CC-BY-4.0", "2026-05-01", "https://docs.example.test/tokens")
    harvest = small.store.chunks_of("farm/harvest.md")[0]
    assert (harvest.title, harvest.category, harvest.license) == ("Harvest", "farm", None)


@pytest.mark.parametrize(
    "front", ["---\n: [broken\n---\n", "---\na: &x [1]\nb: *x\n---\n", "+++\nbroken = \n+++\n"], ids=str.strip
)
def test_front_matter_that_cannot_be_read_is_told_and_the_document_goes_without(write, index, front):
    done = index.ingest(write({"a.md": f"{front}\n# Title\n\nThe words stay.\n"}))
    assert "front matter cannot be read" in done.notes["a.md"]
    assert words(index, "a.md") == "The words stay."


def test_chunks_follow_sections_and_sentences_and_keep_the_limit(write, index):
    sentences = [f"Sentence number {n} tells of the {n}th bridge over the river." for n in range(120)]
    index.ingest(write({"a.md": f"# River\n\n## Bridges\n\n{' '.join(sentences)}\n\n## Fish\n\nThere are pike.\n"}))
    chunks = index.store.chunks_of("a.md")
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.total for chunk in chunks} == {len(chunks)}
    assert len(chunks) > 3
    assert all(chunk.tokens <= 256 and chunk.text.endswith(".") for chunk in chunks)
    assert [chunk.tokens for chunk in chunks] == [best_counter().count(chunk.text) for chunk in chunks]
    assert " ".join(chunk.text for chunk in chunks[:-1]) == " ".join(sentences)
    assert chunks[-1].header == "River > Fish"


@pytest.mark.parametrize("heading", ["Rules", "A heading of several words, as long as a sentence may be"])
def test_what_follows_a_heading_is_in_the_chunk_below_it(write, index, heading):
    """A short heading is no beginning of the sentence below it, whose words would be lost with it."""
    text = f"Keys\n====\n\n{heading}\n{'-' * len(heading)}\n\n* A key is kept for 72 hours.\n* Another one is not.\n"
    index.ingest(write({"keys.rst": text}))
    assert [chunk.text for chunk in index.store.chunks_of("keys.rst")] == [
        "* A key is kept for 72 hours.\n* Another one is not."
    ]


def test_the_source_of_a_page_that_is_shown_as_text_has_its_headings(write, index):
    """A name that others refer to stands above a heading and begins what is below it; by itself it would be a stub."""
    text = (
        "Keys\n====\n\nAll about keys.\n\n.. _k-life:\n\nHow long they live\n------------------\n\nA day and no more.\n"
    )
    index.ingest(write({"keys.rst.txt": text, "locks.md.txt": "# Locks\n\n## Steel\n\nThey rust.\n"}))
    assert headers(index, "keys.rst.txt") == ["Keys", "Keys > How long they live"]
    assert index.store.chunks_of("keys.rst.txt")[1].text.startswith(".. _k-life:")
    assert headers(index, "locks.md.txt") == ["Locks > Steel"]


def test_a_heading_inside_code_is_no_section(write, index):
    index.ingest(write({"a.md": "# Shell\n\nRun it:\n\n```\n# not a heading\nls\n```\n\nThen wait for it to end.\n"}))
    assert headers(index, "a.md") == ["Shell"]


def test_unchanged_files_are_skipped_even_when_only_their_time_changed(write, index):
    folder = write({"a.md": GUIDE, "b.md": HARVEST})
    index.ingest(folder)
    os.utime(folder / "a.md", ns=(1, 1))
    before = index.store.generation
    again = index.ingest(folder)
    assert (again.unchanged, again.files, again.chunks) == (2, 0, 0)
    assert index.store.generation == before


def test_ids_survive_restarts_changes_and_reingest(write, where):
    folder = write({"a.md": GUIDE, "b.md": HARVEST})
    with Knowledge(where) as index:
        index.ingest(folder)
        before = ids(index)
    write({"a.md": GUIDE.replace("fifteen", "twenty")})
    with Knowledge(where) as index:
        index.ingest()
        after = ids(index)
    assert {key: after[key] for key in before.keys() & after.keys()} == {
        key: before[key] for key in before.keys() & after.keys()
    }
    fresh = after.keys() - before.keys()
    assert len(fresh) == 1
    assert after[fresh.pop()] not in before.values()


def test_a_file_that_comes_back_has_its_old_ids(write, index):
    folder = write({"a.md": GUIDE, "b.md": HARVEST})
    index.ingest(folder)
    before = ids(index)
    (folder / "a.md").unlink()
    assert index.ingest().removed == 1
    write({"c.md": "# Other\n\nSomething else entirely.\n"})
    index.ingest()
    write({"a.md": GUIDE})
    index.ingest()
    after = ids(index)
    assert {key: after[key] for key in before} == before
    assert len(set(after.values())) == len(after)


def test_what_is_deleted_is_no_longer_found(write, index):
    folder = write({"a.md": GUIDE, "b.md": HARVEST})
    index.ingest(folder)
    assert index.search("apples cellar").data[0]["source_file"] == "b.md"
    (folder / "b.md").unlink()
    index.ingest()
    assert all(row["source_file"] != "b.md" for row in index.search("apples cellar").data)


def test_several_roots_keep_their_names_apart(tmp_path, index):
    for name, text in (("one", "# Pears\n\nPears are green.\n"), ("two", "# Plums\n\nPlums are blue.\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(text)
    index.ingest(tmp_path / "one")
    index.ingest(tmp_path / "two")
    assert sorted(index.store.files()) == ["a.md", "two/a.md"]
    (tmp_path / "one" / "a.md").unlink()
    assert index.ingest(tmp_path / "two").removed == 0
    assert index.ingest(tmp_path / "one").removed == 1
    assert sorted(index.store.files()) == ["two/a.md"]


def test_one_file_can_be_read_alone_and_others_stay(write, index):
    folder = write({"a.md": GUIDE, "b.md": HARVEST})
    index.ingest(folder)
    write({"a.md": GUIDE.replace("fifteen", "twenty")})
    done = index.ingest(folder / "a.md")
    assert (done.changed, done.removed) == (1, 0)
    assert sorted(index.store.files()) == ["a.md", "b.md"]


def test_a_file_that_was_named_brings_none_of_its_neighbours_later(write, index):
    folder = write({"a.md": GUIDE, "private.md": HARVEST})
    index.ingest(folder / "a.md")
    assert (index.ingest().unchanged, sorted(index.store.files())) == (1, ["a.md"])
    (folder / "a.md").unlink()
    assert (index.ingest().removed, sorted(index.store.files())) == (1, [])
    write({"a.md": GUIDE})
    assert (index.ingest().added, sorted(index.store.files())) == (1, ["a.md"])
    index.ingest(folder)
    assert (index.ingest().unchanged, sorted(index.store.files())) == (2, ["a.md", "private.md"])


@pytest.mark.parametrize("together", [True, False])
def test_a_root_that_is_called_as_a_folder_of_another_takes_nothing_from_it(write, index, together):
    folder = write({"one/wiki/x.md": GUIDE, "two/wiki/x.md": HARVEST, "three/a.md": GUIDE})
    for paths in [(folder / "one", folder / "two/wiki")] if together else [(folder / "one",), (folder / "two/wiki",)]:
        index.ingest(*paths)
    files = sorted(index.store.files())
    assert set(index.locate(*files)) == {folder / "one/wiki/x.md", folder / "two/wiki/x.md"}
    assert [index.ingest(folder / one).unchanged for one in ("one", "two/wiki")] == [1, 1]
    assert index.search("apples cellar").data[0]["source_file"] != "wiki/x.md"


def test_a_folder_that_is_called_as_another_root_waits_until_that_has_another_name(write, index):
    folder = write({"one/a.md": GUIDE, "two/wiki/x.md": HARVEST})
    index.ingest(folder / "one", folder / "two/wiki")
    write({"one/wiki/x.md": GUIDE})
    done = index.ingest()
    assert (done.unchanged, list(done.problems)) == (2, ["wiki"])
    assert "`aerogram index forget PATH`" in done.problems["wiki"]
    for named in ("one/wiki", "one/wiki/x.md"):
        with pytest.raises(Conflict):
            index.ingest(folder / named)
    assert index.search("apples cellar").data[0]["source_file"] == "wiki/x.md"
    forget(index, folder / "two/wiki")
    index.ingest()
    index.ingest(folder / "two/wiki")
    assert sorted(index.store.files()) == ["a.md", "wiki'/x.md", "wiki/x.md"]
    assert set(index.locate("wiki/x.md", "wiki'/x.md")) == {folder / "one/wiki/x.md", folder / "two/wiki/x.md"}


def test_a_part_of_a_root_that_is_named_is_not_there_twice(write, index):
    folder = write({"a.md": GUIDE, "deep/down/b.md": HARVEST})
    index.ingest(folder, folder / "deep/down", folder / "deep/down/b.md")
    assert sorted(index.store.files()) == ["a.md", "deep/down/b.md"]
    (folder / "deep/down/b.md").unlink()
    assert (index.ingest(folder / "deep/down").removed, sorted(index.store.files())) == (1, ["a.md"])


def test_what_is_gone_from_a_part_of_a_further_root_is_forgotten_with_that_part(tmp_path, index):
    for name in ("first/a.md", "wiki/part/b.md", "wiki/part/c.md", "wiki/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n\nAbout {name}.\n")
    index.ingest(tmp_path / "first", tmp_path / "wiki")
    for name in ("wiki/part/c.md", "wiki/d.md"):
        (tmp_path / name).unlink()
    assert index.ingest(tmp_path / "wiki" / "part").removed == 1
    assert index.documents() == ["a.md", "wiki/d.md", "wiki/part/b.md"]


def test_folders_that_are_taken_in_at_the_same_time_keep_their_names_apart(tmp_path, where):
    """Whoever is first has the names of the files as they are, and all others are told apart from them."""
    letters, at_once = "abcdef", threading.Barrier(6)
    for letter in letters:
        (tmp_path / letter).mkdir()
        (tmp_path / letter / "readme.md").write_text(f"# About {letter}\n\nThis is the {letter}.\n")
    Knowledge(where).close()

    def take_in(letter):
        with Knowledge(where) as knowledge:
            at_once.wait(60)
            knowledge.ingest(tmp_path / letter)

    threads = [threading.Thread(target=take_in, args=(letter,)) for letter in letters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Knowledge(where) as knowledge:
        roots = {str(root): label for label, root in knowledge.roots().items()}
        assert sorted(roots) == [str(tmp_path / letter) for letter in letters]
        for letter in letters:
            label = roots[str(tmp_path / letter)]
            assert f"This is the {letter}" in knowledge.text(f"{label}/readme.md" if label else "readme.md")


def test_an_index_inside_its_own_folder_does_not_read_itself(write):
    folder = write({"a.md": GUIDE})
    with Knowledge(folder / "index") as index:
        assert index.ingest(folder).problems == {}
        assert index.ingest(folder).problems == {}
        assert list(index.store.files()) == ["a.md"]


def test_progress_is_told_to_the_end(write, index):
    seen = []
    index.ingest(
        write({f"{n}.md": f"# Note {n}\n\nText {n}.\n" for n in range(5)}), progress=lambda *at: seen.append(at)
    )
    assert seen[-1] == (5, 5, 1.0)


def test_near_duplicates_are_found_by_their_text(write, index):
    text = "The ferry leaves the northern pier at six in the morning and returns at noon, unless there is fog. " * 3
    other = "Bread is baked in a wood oven by three people who have known each other since school. " * 3
    index.ingest(
        write({"a.md": text + "Dogs ride free.", "b.md": text + "Dogs ride on deck.", "c.md": other + "Dogs wait."})
    )
    a, b, c = (index.store.chunks_of(path)[0].id for path in ("a.md", "b.md", "c.md"))
    similar = index.store.similar([a, b, c])
    assert [other for other, _ in similar[a]] == [b]
    assert [other for other, _ in similar[b]] == [a]
    assert 0.8 < similar[a][0][1] < 1
    assert similar[c] == []
    index.ingest(write({"later.md": text + "Dogs ride on deck."}))
    later = index.store.chunks_of("later.md")[0].id
    assert {other for other, _ in index.store.similar([later])[later]} == {a, b}


def test_watching_follows_changes(write, index):
    folder = write({"a.md": GUIDE})
    index.ingest(folder)
    told, stop, ready = [], threading.Event(), threading.Event()

    def tell(done):
        told.append(done)
        ready.set()

    thread = threading.Thread(target=watch, args=(index, tell, stop))
    thread.start()
    try:
        for attempt in range(50):  # the watcher needs a moment before it sees anything
            write({"b.md": HARVEST + f"\nAttempt {attempt}.\n"})
            if ready.wait(0.5):
                break
    finally:
        stop.set()
        thread.join()
    assert told
    assert index.search("apples").data[0]["source_file"] == "b.md"


@pytest.mark.parametrize("is_away", [False, True], ids=["swapped", "away for a while"])
def test_watching_goes_on_with_what_takes_the_place_of_a_folder(write, index, is_away):
    folder = write({"a.md": GUIDE})
    index.ingest(folder)
    stop = threading.Event()
    thread = threading.Thread(target=watch, args=(index, lambda _: None, stop))
    thread.start()

    def follows(name: str) -> bool:
        for attempt in range(40):  # it may be looking for the folder when the first of them comes
            (folder / name).write_text(HARVEST + f"\nAttempt {attempt}.\n")
            if stop.wait(0.5) or name in index.documents():
                return True
        return False

    try:
        assert follows("b.md")
        folder.rename(folder.with_name("old"))
        if is_away:
            stop.wait(2.5)
        folder.mkdir()
        assert follows("c.md")
        assert follows("d.md")
        assert "a.md" not in index.documents()
    finally:
        stop.set()
        thread.join()


def test_watching_goes_on_when_an_index_that_was_moved_away_is_back(write, tmp_path):
    folder, place = write({"a.md": GUIDE}), tmp_path / "index"
    with Knowledge(place) as index:
        index.ingest(folder)
        stop, warned, told = threading.Event(), threading.Event(), threading.Event()
        follow = partial(keep_watching, lambda: index, lambda _: told.set(), lambda _: warned.set(), stop)
        thread = threading.Thread(target=follow)
        thread.start()

        def write_until(heard: threading.Event) -> bool:
            for attempt in range(60):
                (folder / "b.md").write_text(HARVEST + f"\nAttempt {attempt}.\n")
                if heard.wait(0.5):
                    return True
            return False

        try:
            place.rename(tmp_path / "away")
            assert write_until(warned)
            (tmp_path / "away").rename(place)
            assert write_until(told)
        finally:
            stop.set()
            thread.join()
        assert index.documents() == ["a.md", "b.md"]


def test_watching_goes_on_with_a_file_that_is_written_anew_in_its_place(write, index):
    file = write({"a.md": GUIDE}) / "a.md"
    index.ingest(file)
    stop, told = threading.Event(), threading.Semaphore(0)
    thread = threading.Thread(target=watch, args=(index, lambda _: told.release(), stop))
    thread.start()
    try:
        for run in range(3):
            for attempt in range(40):
                draft = file.with_name("draft")
                draft.write_text(HARVEST + f"\nRun {run}, attempt {attempt}.\n")
                draft.replace(file)
                if told.acquire(timeout=0.5):
                    break
            else:
                pytest.fail(f"run {run} was not noticed")
    finally:
        stop.set()
        thread.join()


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Tides\n", "\n", "High water is at noon.\n"]},
        {"cell_type": "code", "source": "print(level)", "outputs": [{"text": "noise"}]},
        {"cell_type": "raw", "source": []},
    ],
    "metadata": {"kernelspec": {"language": "python"}},
}


def test_notebooks_and_json_are_documents(write, index):
    done = index.ingest(write({"a.ipynb": json.dumps(NOTEBOOK), "b.json": '{"berths": {"north": "nine crowns"}}'}))
    assert (done.added, done.problems) == (2, {})
    (row,) = index.search("high water", response_mode="full", method="bm25").data
    assert (row["context_header"], row["chunk_text"]) == (
        "Tides",
        "High water is at noon.\n\n```python\nprint(level)\n```",
    )
    assert index.search("nine crowns", method="bm25").data[0]["source_file"] == "b.json"


def test_what_is_packed_is_read_as_what_it_was(write, index):
    files = {
        "a.html.gz": gzip.compress(b"<h1>Ferry</h1><p>It leaves at noon.</p>"),
        "b.txt.gz": gzip.compress(b"Berths cost ") + gzip.compress(b"nine crowns."),
        "c.log.gz": gzip.compress(b"of no kind that is read"),
        "d.md.gz": gzip.compress(b"cut off")[:-9],
    }
    done = index.ingest(write(files))
    assert (done.added, dict(done.passed)) == (2, {".gz": 1})
    assert done.problems == {"d.md.gz": "it is packed and its end is missing"}
    assert index.search("ferry", response_mode="preview").data[0]["context_header"] == "Ferry"
    assert index.text("b.txt.gz") == "Berths cost nine crowns."


def test_what_is_packed_may_not_grow_beyond_the_limit(write, tmp_path):
    with Knowledge(tmp_path / "index", limits=ReadLimits(max_bytes=1024 * 1024)) as index:
        done = index.ingest(write({"bomb.txt.gz": gzip.compress(b"zy" * 4_000_000)}))
        assert done.problems == {"bomb.txt.gz": "it has more than 1,048,576 bytes when it is unpacked"}
