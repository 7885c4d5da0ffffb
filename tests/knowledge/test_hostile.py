"""Hostile documents: what takes more than it may is set aside with its reason, and the run goes on."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time

import pytest

from aerogram.digest.limits import ReadLimits
from aerogram_knowledge import Knowledge, NoEmbedder
from aerogram_knowledge.ingest.folder import list_files
from aerogram_knowledge.ingest.preparation import Job, Preparer
from aerogram_knowledge.maintenance.watch import watch
from hostile import front_matter_of_aliases, pdf_of_operators
from knowledge.documents import GUIDE, HARVEST
from programs import run_program

MB = 1024 * 1024
TOO_MUCH = "the source takes more than 128 MB of memory to read"


@pytest.mark.parametrize("workers", [1, 2])
def test_the_run_goes_on_without_them_and_names_the_reasons(write, tmp_path, workers):
    folder = write(
        {
            "a.md": GUIDE,
            "bomb.pdf": pdf_of_operators(1_000_000),
            "slow.pdf": pdf_of_operators(20_000, pages=3_000),
            "z.md": HARVEST,
        }
    )
    with Knowledge(tmp_path / "index", limits=ReadLimits(memory=128 * MB, seconds=3)) as index:
        done = index.ingest(folder, workers=workers)
        assert done.added == 2
        assert done.problems == {"bomb.pdf": TOO_MUCH, "slow.pdf": "the source took longer than 3 s to read"}
        assert {one["source_file"] for one in index.search("token harvest").data} == {"a.md", "z.md"}
        again = index.ingest(folder)
        assert (again.unchanged, again.problems["bomb.pdf"]) == (2, TOO_MUCH)


def test_a_vendor_graph_that_would_fill_the_memory_of_whoever_serves_it_is_told(write, index):
    def graph(records):
        return gzip.compress(b"source,target,type\n" + b"a,b,c\n" * records)

    done = index.ingest(write({"a.csv.gz": graph(130_000), "b.csv.gz": graph(130_000), "c.csv.gz": graph(255_000)}))
    assert done.added == 1
    assert done.problems == {
        "b.csv.gz": "the index does not take it: the vendor graph would have 260,000 records; the limit is 250,000",
        "c.csv.gz": "the vendor graph would have 255,000 records; the limit is 250,000",
    }
    assert index.ingest(write({"d.md": GUIDE})).added == 1
    assert index.store.graph().records == 130_000


def test_small_files_that_hold_much_are_stored_one_after_the_other(write):
    graph = gzip.compress(b"source,target,type\n" + b"a,b,c\n" * 70_000)
    root = write({f"{name}.csv.gz": graph for name in "abc"})
    jobs = [Job(root / file.path, root, file, None) for file in list_files(root).files.values()]
    assert [batch.files for batch in Preparer(NoEmbedder()).batches(jobs)] == [1, 1, 1]


def test_front_matter_that_stands_for_gigabytes_is_told_and_its_document_is_there(write, index):
    started = time.monotonic()
    done = index.ingest(write({"harvest.md": front_matter_of_aliases(9)}))
    assert time.monotonic() - started < 20
    assert (done.added, done.problems) == (1, {})
    assert done.notes["harvest.md"] == (
        "the front matter cannot be read: anchors and aliases are not read; its licence is taken to be MIT"
    )
    assert index.search("When does the harvest begin?").data[0]["source_file"] == "harvest.md"


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: " + "[" * 60_000 + "\n---\n",
        "+++\n" + "a." * 30_000 + "b = 1\n+++\n",
        "+++\na = " + "[" * 60_000 + "\n+++\n",
        "---\n" + "{a: " * 15_000 + "\n---\n",
    ],
    ids=["lists in YAML", "names in TOML", "lists in TOML", "mappings in YAML"],
)
def test_front_matter_that_is_nested_without_end_costs_only_itself(write, index, front):
    started = time.monotonic()
    done = index.ingest(write({"harvest.md": front + HARVEST}))
    assert time.monotonic() - started < 20
    assert (done.added, done.problems) == (1, {})
    assert "the front matter cannot be read" in done.notes["harvest.md"]


@pytest.mark.parametrize(
    "said",
    [
        'title: "\\ud800"',
        'category: "\\udfff x"',
        'publisher: "\\ud83d"',
        'license: "\\ud83d"',
        'url: "\\ud83d"',
        'language: "\\ud83d"',
        'tags: ["\\ud83d", {"\\ud83d": "\\ud83d"}]',
        f"title: {'1:' * 20_000}1",
        f"vendors: [{{name: Delta Foods, size: 0x{'F' * 4_000}}}]",
        f"vendors: [{{name: Delta Foods, sizes: [{{most: 0x{'F' * 4_000}}}]}}]",
        f"entities: [{{name: Delta Foods, 0x{'F' * 4_000}: size}}]",
        f"vendors: [{{name: Delta Foods, id: 0x{'F' * 5_000}}}]",
        f"vendors: [{{name: Delta Foods, size: 0x{'F' * 40}, share: .inf}}]",
        f"vendors: [{{name: Delta Foods, parts: {'[' * 150}{']' * 150}}}]",
        f"vendors: [{{name: Delta Foods, parts: !!set {{0x{'F' * 4_000}}}}}]",
        'vendors: [{name: Delta Foods, parts: !!omap [oats: "\\ud83d"]}]',
        f"relationships: [{{from: Delta Foods, to: Ann Berg, since: 0x{'F' * 4_000}}}]",
    ],
    ids=lambda said: said[:50],
)
def test_half_a_letter_or_a_number_without_end_in_front_matter_stops_nothing(write, index, said):
    """YAML can spell half an emoji, which no store and no embedder takes, and numbers that Python does not write."""
    done = index.ingest(write({"bad.md": f"---\n{said}\n---\n{HARVEST}", "good.md": GUIDE}))
    assert (done.added, done.problems) == (2, {})
    assert {one["source_file"] for one in index.search("token harvest").data} == {"bad.md", "good.md"}


@pytest.mark.parametrize(
    "said",
    [
        "draft: !!bool maybe",
        "day: !!timestamp tomorrow",
        'size: !!int ""',
        'size: !!float ""',
        "kinds: !!set [oats]",
        f"size: {'1:' * 200}1.0",
    ],
    ids=lambda said: said[:30],
)
def test_a_value_in_front_matter_that_is_not_what_it_is_said_to_be_costs_only_the_front_matter(write, index, said):
    """Neither the document nor the other lines of a file of them."""
    document = f"---\n{said}\nlicense: MIT\n---\n{HARVEST}"
    lines = "\n".join(json.dumps({"id": name, "text": text}) for name, text in (("a", document), ("b", GUIDE)))
    done = index.ingest(write({"bad.md": document, "both.jsonl": lines}))
    assert (done.added, done.problems) == (2, {})
    assert all("the front matter cannot be read" in done.notes[name] for name in ("bad.md", "both.jsonl"))
    assert index.documents() == ["bad.md", "both.jsonl#a", "both.jsonl#b"]
    assert index.store.values("license") == {"MIT": 2, "CC-BY-4.0": 1}


def test_what_a_vendor_s_record_says_and_json_cannot_hold_is_said_in_words(write, index):
    said = "{name: Delta Foods, share: .nan, since: 2026-05-01, kinds: !!set {oats, rye}, size: 0xFFFFFFFFFFFFFFFFFFFF}"
    index.ingest(write({"delta.md": f"---\nvendors: [{said}]\n---\n# Delta\n\nOats.\n"}))
    (delta,) = index.vendor("Delta Foods", response_mode="full").data["entities"]
    held = (delta["share"], delta["since"], delta["kinds"], delta["size"])
    assert held == ("nan", "2026-05-01", ["oats", "rye"], 2**80 - 1)


def test_what_json_cannot_hold_is_said_in_the_same_forms_wherever_it_stands_in_a_record(write, index):
    said = """
  - name: Delta Foods
    seal: !!binary aGVsbG8=
    contract: {since: 2026-05-01, signed: 2026-04-30 12:00:00, seal: !!binary aGVsbG8=, 7: days}
    visits: [2026-05-01, [!!binary aGVsbG8=]]
    ? !!binary aGVsbG8=
    : named
"""
    index.ingest(write({"delta.md": f"---\nvendors:{said}---\n# Delta\n\nOats.\n"}))
    (delta,) = index.vendor("Delta Foods", response_mode="full").data["entities"]
    assert delta["seal"] == delta["contract"]["seal"] == "aGVsbG8="
    assert delta["contract"] | {"seal": ""} == {
        "since": "2026-05-01",
        "signed": "2026-04-30T12:00:00",
        "seal": "",
        "7": "days",
    }
    assert delta["visits"] == ["2026-05-01", ["aGVsbG8="]]
    assert delta["aGVsbG8="] == "named"


def test_emphasis_in_front_matter_is_no_alias(write, index):
    index.ingest(write({"a.md": "---\ntitle: Hay - *the* second cut, &c.\n---\nThe harvest begins in May.\n"}))
    assert index.store.chunks_of("a.md")[0].title == "Hay - *the* second cut, &c."


def test_an_index_that_follows_a_folder_sets_them_aside_too(write, tmp_path):
    folder = write({"a.md": GUIDE})
    heard, stop = [], threading.Event()
    with Knowledge(tmp_path / "index", embedder=NoEmbedder(), limits=ReadLimits(memory=64 * MB)) as index:
        index.ingest(folder)
        following = threading.Thread(target=watch, args=(index, heard.append, stop))
        following.start()
        try:
            until = time.monotonic() + 30
            while not heard and time.monotonic() < until:
                write({"bomb.pdf": pdf_of_operators(1_000_000), "z.md": HARVEST})
                time.sleep(2)
        finally:
            stop.set()
            following.join()
        assert "MB of memory to read" in heard[-1].problems["bomb.pdf"]
        assert index.search("harvest").data[0]["source_file"] == "z.md"


def test_the_verb_names_them_and_ends_well(write, tmp_path):
    folder = write({"a.md": GUIDE, "bomb.pdf": pdf_of_operators(3_000_000)})
    environment = {**os.environ, "AEROGRAM_STATE": str(tmp_path / "state")}
    done = run_program(["ingest", str(folder), "--index", str(tmp_path / "index")], env=environment, text=True)
    assert done.returncode == 0
    assert "bomb.pdf: the source takes more than 512 MB of memory to read" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
