"""Bad input: queries, files, folders and disks as they should not be."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest

from aerogram.digest.limits import ReadLimits
from aerogram.errors import Conflict, IntegrityError, NotFound, ValidationFailed
from aerogram_knowledge import Knowledge, NoEmbedder
from aerogram_knowledge.maintenance.removal import forget
from knowledge.documents import GUIDE, HARVEST

IS_ROOT = os.geteuid() == 0
NO_EXCEPTIONS = "-dac_override,-dac_read_search"
LIKE_ANYBODY = ("setpriv", f"--inh-caps={NO_EXCEPTIONS}", f"--bounding-set={NO_EXCEPTIONS}") if IS_ROOT else ()
"""How root runs a program that permissions hold for."""
INGEST_AGAIN = (
    "import sys; from aerogram_knowledge import Knowledge; "
    "done = Knowledge(sys.argv[1]).ingest(); print(list(done.problems), done.removed)"
)
needs_permissions = pytest.mark.skipif(
    IS_ROOT and shutil.which("setpriv") is None, reason="root may read everything, and there is no setpriv"
)


@pytest.mark.parametrize("query", ["", "   ", "\0\0", "\n\t", "x" * 501, None, 5, ["token"]], ids=repr)
def test_a_query_has_one_to_five_hundred_characters(shared_small, query):
    with pytest.raises(ValidationFailed) as refused:
        shared_small.search(query)
    assert refused.value.details["field"] == "query"


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        "a",
        '"access token" AND NOT (valid OR *)',
        "body:token~2^5 [a TO b] {",
        "'; DROP TABLE chunks; --",
        "%_\\",
        "to\0ken",
        "\ud800 token",
        "!!! ???",
        "🔑" * 100,
        "token " * 83,
        "-" * 500,
        "\u202etoken",
    ],
    ids=ascii,
)
@pytest.mark.parametrize("method", ["hybrid", "bm25", "vector"])
def test_any_other_query_is_answered(shared_small, query, method):
    reply = shared_small.search(query, method=method, response_mode="full")
    assert reply.status in ("ok", "empty")
    assert shared_small.search("access token").status == "ok"


def test_only_small_words_are_looked_for_when_there_are_no_others(shared_small):
    assert shared_small.search("at the", method="bm25").status == "ok"


@pytest.mark.parametrize(
    "filters",
    [
        {"colour": "red"},
        {"path": "../secret"},
        {"path": "/etc"},
        {"after": "yesterday"},
        {"category": 7},
        {"path": ["\0"]},
        {"path": "\udcff"},
        {"license": ["MIT", "\udcff"]},
    ],
    ids=str,
)
def test_wrong_filters_are_refused(shared_small, filters):
    with pytest.raises(ValidationFailed):
        shared_small.search("token", filters=filters)


def test_a_filter_is_no_pattern(shared_small):
    assert shared_small.search("token", filters={"path": "%"}).status == "empty"
    assert shared_small.search("token", filters={"path": "guide_"}).status == "empty"


@pytest.mark.parametrize("path", [".", "./", ["guides", "."]], ids=str)
def test_the_indexed_folder_itself_is_a_path_that_everything_is_below(shared_small, path):
    whole = shared_small.search("token")
    assert shared_small.search("token", filters={"path": path}).data == whole.data


@pytest.mark.parametrize("asked", [{"response_mode": "verbose"}, {"method": "magic"}, {"cursor": "nonsense"}], ids=str)
def test_wrong_settings_are_refused(shared_small, asked):
    with pytest.raises(ValidationFailed):
        shared_small.search("token", **asked)


@pytest.mark.parametrize("ids", [[], [-1], ["1"], [True], [1.5], list(range(51)), None, [2**63]], ids=repr)
def test_chunk_ids_are_one_to_fifty_whole_numbers(shared_small, ids):
    with pytest.raises(ValidationFailed):
        shared_small.chunks(ids)


def test_one_bad_file_is_told_and_does_not_stop_the_rest(write, index):
    done = index.ingest(
        write(
            {
                "good.md": GUIDE,
                "broken.pdf": b"%PDF-1.4 broken",
                "binary.txt": bytes(range(256)) * 40,
                "broken.jsonl": '{"text": "fine"}\nnot json\n',
                "textless.jsonl": '{"number": 1}\n',
                "other.csv": "hello\nworld\n",
                "broken.json": "{",
                "empty.md": "",
                "blank.txt": " \n\n ",
            }
        )
    )
    told = set(done.problems)
    assert told == {"broken.pdf", "binary.txt", "textless.jsonl", "other.csv", "broken.json"}
    assert done.notes == {"broken.jsonl": "line 2 is set aside: it is not JSON: Expecting value at column 1"}
    assert index.search("access token").data[0]["source_file"] == "good.md"
    assert set(index.ingest().problems) == told  # still told, though nothing was read again


def test_a_file_that_is_mended_is_read(write, index):
    index.ingest(write({"a.jsonl": "broken"}))
    write({"a.jsonl": '{"text": "Mended with glue."}'})
    assert index.ingest().problems == {}
    assert index.search("glue").status == "ok"


def test_a_file_over_the_limit_is_told_before_it_is_read(write, tmp_path):
    folder = write({"small.md": HARVEST})
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with Knowledge(tmp_path / "index") as index:
        done = index.ingest(folder)
    assert list(done.problems) == ["huge.txt"]
    assert "104,857,600 bytes" in done.problems["huge.txt"]
    assert done.added == 1


def test_a_file_that_cannot_be_read_any_more_loses_its_chunks(write, where):
    folder = write({"a.md": GUIDE})
    with Knowledge(where, limits=ReadLimits(max_bytes=10_000)) as index:
        index.ingest(folder)
        write({"a.md": "x" * 20_000})
        assert list(index.ingest().problems) == ["a.md"]
        assert index.search("access token valid").status == "empty"


def test_links_out_of_the_folder_are_not_followed(write, index, tmp_path):
    (tmp_path / "secret.md").write_text("# Secret\n\nThe password is swordfish.\n")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.md").write_text("# Diary\n\nDear swordfish.\n")
    folder = write({"a.md": GUIDE})
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "outside").symlink_to(tmp_path / "private")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "inside.md").symlink_to(folder / "a.md")
    done = index.ingest(folder)
    assert set(done.problems) == {"out.md", "loop.md"}
    assert sorted(index.store.files()) == ["a.md", "inside.md"]
    assert index.search("swordfish", method="bm25").status == "empty"


def test_links_to_what_is_hidden_are_not_followed(write, index):
    folder = write({"a.md": GUIDE, ".env": "PASSWORD=swordfish", ".git/config": "url = https://ada:swordfish@host/x"})
    (folder / "link.md").symlink_to(".env")
    (folder / "deep.txt").symlink_to(".git/config")
    done = index.ingest(folder)
    assert set(done.problems) == {"link.md", "deep.txt"}
    assert sorted(index.store.files()) == ["a.md"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_or_folder_that_becomes_a_link_while_others_are_read_is_not_followed(write, index, tmp_path, workers):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "diary.md").write_text("# Diary\n\nDear swordfish.\n")
    folder = write({"a.md": GUIDE, "b.md": HARVEST, "private/diary.md": HARVEST})

    def move(*_: object) -> None:
        if not (folder / "private").is_symlink():  # what is to be read is known, and nothing has been
            (folder / "b.md").unlink()
            (folder / "b.md").symlink_to(outside / "diary.md")
            shutil.rmtree(folder / "private")
            (folder / "private").symlink_to(outside)

    done = index.ingest(folder, progress=move, workers=workers)
    assert done.problems == dict.fromkeys(["b.md", "private/diary.md"], "it is a link that leads out of the folder")
    assert index.search("swordfish", method="bm25").status == "empty"


async def test_a_file_that_became_a_link_out_of_the_folder_is_not_read_for_a_digest(write, index, tmp_path):
    (tmp_path / "secret.md").write_text("# Secret\n\nThe password is swordfish.\n")
    folder = write({"a.md": GUIDE})
    index.ingest(folder)
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to(tmp_path / "secret.md")
    try:
        said = (await index.digest("a.md", "What is the password?")).data
    except NotFound:  # a store that keeps the texts of documents answers from what it has read
        said = None
    assert "swordfish" not in str(said)


def test_special_files_and_hidden_ones_are_passed_over(write, index):
    folder = write({"a.md": GUIDE, ".git/b.md": HARVEST, ".hidden.md": HARVEST})
    os.mkfifo(folder / "pipe.md")
    done = index.ingest(folder)
    assert done.problems == {"pipe.md": "it is not a regular file"}
    assert list(index.store.files()) == ["a.md"]


@needs_permissions
def test_an_unreadable_folder_is_told_and_what_was_known_stays(write, index, where):
    folder = write({"open/a.md": GUIDE, "shut/b.md": HARVEST})
    index.ingest(folder)
    (folder / "shut").chmod(0)
    try:
        command = [*LIKE_ANYBODY, sys.executable, "-c", INGEST_AGAIN, str(where)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    finally:
        (folder / "shut").chmod(0o700)
    assert done.stdout == "['shut'] 0\n"
    assert index.search("apples").data[0]["source_file"] == "shut/b.md"


def test_a_root_that_is_not_there_is_refused_and_forgets_nothing(small, tmp_path, write):
    with pytest.raises(NotFound):
        small.ingest(tmp_path / "nowhere")
    for name in ("nul\0", ""):
        with pytest.raises(ValidationFailed):
            small.ingest(name)
    assert small.search("apples").status == "ok"


def test_a_link_that_leads_to_itself_is_there_for_nobody(index, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(NotFound):
        index.ingest(loop)
    with pytest.raises(NotFound):
        forget(index, loop)


def test_a_root_that_went_away_forgets_nothing(small, tmp_path):
    (tmp_path / "docs").rename(tmp_path / "elsewhere")
    with pytest.raises(NotFound):
        small.ingest()
    assert small.search("apples").status == "ok"


def test_a_file_that_changes_while_it_is_read_is_never_half_read(write, index):
    """A writer goes on rewriting a file; whatever is stored of it is one of the two whole versions."""
    versions = [("Alpha ends well. " * 3_000).strip(), ("Omega ends well. " * 5_000).strip()]
    folder = write({"a.txt": versions[0]})
    stop = threading.Event()

    def rewrite():
        turn = 0
        while not stop.is_set():
            turn += 1
            (folder / "a.txt").write_text(versions[turn % 2])

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(5):
            index.ingest(folder)
            stored = " ".join(chunk.text for chunk in index.store.chunks_of("a.txt"))
            assert stored in ("", *versions) or set(stored.split()) in (
                {"Alpha", "ends", "well."},
                {"Omega", "ends", "well."},
            )
    finally:
        stop.set()
        writer.join()


def test_another_embedder_than_before_is_refused_with_what_to_do(small, where):
    small.close()
    with pytest.raises(Conflict) as refused:
        Knowledge(where, embedder=NoEmbedder())
    assert "256" in str(refused.value)
    assert refused.value.remediation


@pytest.mark.parametrize("where", ["folder"], indirect=True)
def test_a_full_disk_leaves_the_index_as_it_was(write, index, tmp_path):
    """The limit on file sizes stands for a full disk; the process that meets it says so in one line."""
    folder = write({"a.md": GUIDE})
    index.ingest(folder)
    before = index.search("access token", page_size=50).data
    write({f"big{n}.txt": f"Line {n} of a long tale. " * 4_000 for n in range(4)})

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    done = subprocess.run(
        [sys.executable, "-m", "aerogram", "ingest", str(folder), "--index", str(tmp_path / "index")],
        preexec_fn=limited,  # it only sets a limit
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "disk" in done.stderr
    assert index.search("access token", page_size=50).data == before
    assert index.ingest(folder).added == 4
    assert index.check().is_sound


def _random_name(letters: int, seed: int = 0) -> str:
    """A name that no compression makes shorter; four bytes for each letter."""
    return "".join(map(chr, random.Random(seed).choices(range(0x20000, 0x2A6D0), k=letters)))


def test_odd_names_of_folders_are_filtered_by_as_any_other(write, index):
    paths = ["nl\ndir/x.md", " sp /y.md", "hash#tag/z.md", "hash#tag/records.jsonl"]
    index.ingest(
        write({path: '{"id": "a/b", "text": "One gnu."}' if "jsonl" in path else "One gnu." for path in paths})
    )

    def found(path: str) -> list[str]:
        return sorted(row["source_file"] for row in index.search("gnu", filters={"path": path}).data or [])

    assert [found("nl\ndir"), found("nl"), found("dir")] == [["nl\ndir/x.md"], [], []]
    assert found("hash") == []
    assert found("hash#tag") == ["hash#tag/records.jsonl#a/b", "hash#tag/z.md"]
    assert found("hash#tag/records.jsonl") == ["hash#tag/records.jsonl#a/b"]
    assert [found(" sp /y.md"), found("sp ")] == [[" sp /y.md"], []]


def test_each_name_of_a_file_can_be_asked_for(write, index):
    deep = "/".join(f"{number:03}-{'x' * 60}" for number in range(15)) + "/deep.md"
    names = ["~x.md", "a\\b.md", "farm/apple.md", deep]
    index.ingest(write(dict.fromkeys(names, "One gnu.")))

    def found(path: str) -> list[str]:
        return [row["source_file"] for row in index.search("gnu", filters={"path": path}).data]

    assert [found(name) for name in names] == [[name] for name in names]
    assert found("farm\\apple.md") == ["farm/apple.md"]  # as it is written elsewhere


def test_what_is_no_file_to_read_is_in_the_status_until_it_is_mended(write, tmp_path):
    folder = write({"ok.md": GUIDE, "part/ok.md": HARVEST})
    (folder / "out.md").symlink_to("/etc/hostname")
    bad = folder / "part" / os.fsdecode(b"bad\xff name.md")
    bad.write_text(GUIDE)

    def status():
        return json.loads(_run_verb("index", "status", "--json", "--index", tmp_path / "ix"))["problems"]

    told = {"out.md": "it is a link that leads out of the folder", "part/'bad\\udcff name.md'": "its name is not text"}
    for paths in ([folder], [folder], [folder / "ok.md"]):
        _run_verb("ingest", *paths, "--index", tmp_path / "ix")
        assert status() == told
    (folder / "out.md").unlink()
    bad.unlink()
    _run_verb("ingest", folder / "part", "--index", tmp_path / "ix")
    assert status() == {"out.md": told["out.md"]}
    _run_verb("ingest", folder, "--index", tmp_path / "ix")
    assert status() == {}


def test_a_path_that_is_too_long_for_an_index_is_told_and_stops_nothing(write, index):
    deep = "/".join(_random_name(60, step) for step in range(6))
    done = index.ingest(write({f"{deep}/x.md": GUIDE, "good.md": HARVEST}))
    assert (done.added, done.problems) == (1, {f"{deep}/x.md": "its path has more than 1,300 bytes"})
    assert index.search("apples").data[0]["source_file"] == "good.md"


def test_the_longest_name_in_the_deepest_folder_is_no_more_than_an_index_takes(write, index):
    folder, name = "/".join(_random_name(63, step) for step in range(5)), _random_name(300)
    done = index.ingest(write({f"{folder}/{'x' * 29}.jsonl": json.dumps({"id": name, "text": "One gnu."})}))
    assert (done.added, done.problems) == (1, {})
    assert index.search("gnu").data[0]["source_file"].endswith(name)


def test_a_file_of_the_far_future_is_read_like_any_other(write, index):
    folder = write({"far.md": GUIDE, "good.md": HARVEST})
    os.utime(folder / "far.md", (13_000_000_000, 13_000_000_000))
    assert index.ingest(folder).added == 2
    assert index.ingest().unchanged == 2


RECORD = json.dumps({"id": "b.md", "text": "One record about giraffes."})


def test_a_file_with_the_name_of_a_record_is_told_and_stops_nothing(write, index):
    done = index.ingest(write({"a.jsonl": RECORD, "a.jsonl#b.md": GUIDE, "good.md": HARVEST}))
    told = "the index does not take it: another file has a document of the same name"
    assert (done.added, done.problems) == (2, {"a.jsonl#b.md": told})
    assert done.chunks == index.check().facts["chunks"]
    assert index.search("giraffes").data[0]["source_file"] == "a.jsonl#b.md"
    assert index.search("apples").data[0]["source_file"] == "good.md"
    again = index.ingest()
    assert (again.added, again.changed, again.problems) == (0, 0, done.problems)


def test_each_of_some_files_that_the_store_refuses_is_found_among_many(write, index):
    clashing = {f"a.jsonl#{n}.md": GUIDE for n in (3, 11, 12)}
    records = "".join(json.dumps({"id": name.partition("#")[2], "text": "A giraffe."}) + "\n" for name in clashing)
    files = {f"b/{n}.md": f"# {n}\n\nOmega {n} is here.\n" for n in range(20)}
    done = index.ingest(write({"a.jsonl": records, **clashing, **files}))
    assert (done.added, done.problems.keys()) == (21, clashing.keys())
    assert index.ingest().unchanged == 21


def test_a_store_that_takes_nothing_is_no_fault_of_a_file(write, tmp_path):
    with Knowledge(tmp_path / "index", embedder=NoEmbedder()) as index:
        with contextlib.closing(sqlite3.connect(tmp_path / "index" / "rows.sqlite")) as rows:
            rows.execute("DROP TABLE files")
        with pytest.raises(IntegrityError, match="damaged"):
            index.ingest(write({"a.md": GUIDE, "b.md": HARVEST}))


def _run_verb(*arguments):
    command = [sys.executable, "-m", "aerogram", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_that_are_no_text_are_told_to_programs_too(write, tmp_path):
    folder = write({"good.md": GUIDE})
    for name in (b"\xff.md", b"a.\xfe"):
        (folder / os.fsdecode(name)).write_text(HARVEST)
    (tmp_path / "secret.md").write_text(HARVEST)
    (folder / os.fsdecode(b"\xfd.md")).symlink_to(tmp_path / "secret.md")
    said = json.loads(_run_verb("ingest", folder, "--index", tmp_path / "told", "--json"))
    assert (said["added"], len(said["problems"]), said["not_read"]) == (1, 2, {"'.\\udcfe'": 1})


def test_the_name_and_the_words_of_a_document_do_not_steer_a_terminal(write, tmp_path):
    entity = {"id": "d\x1b[8m", "name": "Delta Foods", "type": "COMPANY"}
    words = f"{HARVEST}\nThe gnu\x1b]0;title\x07 eats\x9b2J.\n"
    folder = write({"a\x1b[31m.md": words, "v.json": json.dumps([entity])})
    where = tmp_path / "told"
    _run_verb("ingest", folder, "--index", where)
    for verb in (["search", "gnu", "--mode", "full"], ["vendor", "Delta Foods", "--mode", "full"], ["index", "status"]):
        shown = _run_verb(*verb, "--index", where)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), verb
    assert "a\\x1b[31m.md" in _run_verb("search", "gnu", "--index", where)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_json_are_read_in_whatever_encoding_they_are_written(write, index, encoding, end):
    records = [{"id": str(n), "text": f"Gnu {n} über zebras\u2028and more."} for n in (1, 2)]
    lines = [json.dumps(one, ensure_ascii=False) for one in records]
    done = index.ingest(write({"j.jsonl": end.join(lines).encode(encoding)}))
    assert (done.added, done.problems, done.notes) == (1, {}, {})
    assert index.documents() == ["j.jsonl#1", "j.jsonl#2"]
    assert "über" in index.text("j.jsonl#1")


def test_a_nul_in_the_name_of_a_record_stops_nothing(write, index):
    lines = [{"id": "a\0b", "text": "One gnu."}, {"id": "a\0b", "text": "Two gnus."}, {"slug": "\0", "text": "No gnu."}]
    done = index.ingest(write({"j.jsonl": "\n".join(map(json.dumps, lines)), "good.md": "# Good\n\nA zebra.\n"}))
    assert (done.added, done.problems) == (2, {})
    assert "j.jsonl#a\ufffdb" in index.documents() and index.text("j.jsonl#a\ufffdb") == "One gnu."
    assert index.ingest().unchanged == 2


def test_ids_of_vendors_that_no_database_tells_apart_stop_nothing(write, index):
    entities = [{"name": "Delta Foods", "id": "i\0"}, {"name": "Ann Berg", "id": "i\ufffd"}]
    files = {"v.json": json.dumps({"vendors": entities}), "good.md": "# Good\n\nDelta Foods has a zebra of Ann Berg.\n"}
    done = index.ingest(write(files))
    assert (done.added, done.problems) == (2, {})
    (found,) = index.vendor("Ann Berg", response_mode="preview").data["entities"]
    assert found["mentions"] > 0


@pytest.mark.parametrize("word", ["\0", "a\0b", "gnu\0"])
def test_a_nul_in_a_question_is_the_callers_mistake_or_nothing_at_all(small, word):
    asked = [
        lambda: small.search(word),
        lambda: small.search("apples", filters={"path": word}),
        lambda: small.search("apples", filters={"license": word}),
        lambda: small.vendor(word),
        lambda: small.text(word),
        lambda: asyncio.run(small.digest(word, "apples")),
    ]
    for ask in asked:
        with contextlib.suppress(NotFound, ValidationFailed):
            ask()
