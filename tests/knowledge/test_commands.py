"""The verbs: ingest, search, vendor and index, as people and programs run them."""

from __future__ import annotations

import json
import os

import pytest

from aerogram import dialects
from knowledge.documents import GRAPH, GUIDE, HARVEST
from programs import run_program


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with documents and an index that was made on the command line."""
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    (place / "docs" / "token.md").write_text(GUIDE)
    (place / "docs" / "harvest.md").write_text(HARVEST)
    (place / "docs" / "vendors.json").write_text(json.dumps(GRAPH))
    (place / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    done = run(place, "ingest", "docs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 new, 0 changed, 0 unchanged, 0 gone, 1 unreadable: 5 chunks in ")
    assert done.stderr == (
        "aerogram: broken.pdf: the PDF is broken and cannot be opened\n"
        "aerogram: vendors.json: it gives no passages: all that it holds is a vendor graph "
        "(entities: 124, relationships: 122)\n"
    )
    return place


def run(place, *arguments):
    hidden = {"FORCE_COLOR", "AEROGRAM_DEBUG", "AEROGRAM_INDEX"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return run_program(arguments, cwd=place, env=environment, text=True)


def test_search_prints_a_readable_table(place):
    done = run(place, "search", "How long is an access token valid?", "-n", "1")
    assert done.returncode == 0
    assert "token.md" in done.stdout
    assert "Token Guide > Lifetime" in done.stdout
    assert "fifteen minutes" in done.stdout
    assert "--next " in done.stdout


@pytest.mark.parametrize("dialect", [name for name in dialects.NAMES if name != "problem"])  # it is for failures
def test_search_speaks_every_dialect(place, dialect):
    done = run(place, "search", "token", "--json", "--dialect", dialect)
    assert done.returncode == 0
    body = json.loads(done.stdout)
    if dialect != "bare":
        dialects.validate(body, dialect=dialect)


def test_next_goes_on_where_a_page_ended(place):
    first = json.loads(run(place, "search", "token apples", "-n", "2", "--json").stdout)
    cursor = first["pagination"]["cursor"]
    second = json.loads(run(place, "search", "token apples", "-n", "2", "--json", "--next", cursor).stdout)
    assert [row["rank"] for row in second["results"]] == [3, 4]


def test_a_budget_holds_and_the_cursor_goes_on_inside_the_page(place):
    whole = json.loads(run(place, "search", "token apples", "--mode", "full", "--json").stdout)
    small = run(place, "search", "token apples", "--mode", "full", "--json", "--budget", "3000 bytes", "--compact")
    body = json.loads(small.stdout)
    assert len(small.stdout.encode()) <= 3001
    assert [row["chunk_id"] for row in body["results"]] == [row["chunk_id"] for row in whole["results"]][
        : len(body["results"])
    ]


def test_a_budget_that_is_no_number_is_refused_in_one_line(place):
    done = run(place, "search", "token", "--budget", "\u00b2")
    assert (done.returncode, done.stderr.count("\n"), "is not a budget" in done.stderr) == (1, 1, True), done.stderr
    assert run(place, "search", "token", "--budget", "900").returncode == 0


@pytest.mark.parametrize("budget", ["1600 bytes", "2600 bytes", "3400 bytes"])
@pytest.mark.parametrize("mode", ["full", "preview"])
def test_a_search_within_a_budget_says_what_was_left_out(place, budget, mode):
    asked = ("search", "token apples", "--mode", mode)
    whole, small = run(place, *asked).stdout, run(place, *asked, "--budget", budget).stdout
    said = [line for line in small.splitlines() if line.startswith("left out to fit the budget, in ")]
    assert "None" not in small and "Shortened" not in small
    rows, left = ([line for line in text.splitlines() if line.startswith(" ")] for text in (whole, small))
    assert bool(said) == (left != rows[: len(left)])  # whole results of which there are fewer lack nothing
    assert "left out" not in whole
    assert all("words of " in line or "heading of " in line or "file of " in line for line in said)


def test_filters_and_fields_are_options(place):
    done = run(
        place, "search", "token", "--category", "security", "--field", "source_file", "--json", "--mode", "metadata"
    )
    assert {row["source_file"] for row in json.loads(done.stdout)["results"]} == {"token.md"}
    nothing = run(place, "search", "token", "--license", "MIT")
    assert nothing.returncode == 0
    assert "under other licences" in nothing.stdout


@pytest.mark.parametrize("verb", [["search", "token"], ["vendor", "Acme"], ["index", "status"], ["index", "rebuild"]])
def test_without_an_index_a_person_and_a_program_are_told_how_to_make_one(tmp_path, verb):
    done = run(tmp_path, *verb)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("aerogram: there is no index at .aerogram")
    assert done.stderr.count("make one with `aerogram ingest PATH`") == 1
    assert "identifier" not in done.stderr
    elsewhere = run(tmp_path, *verb, "--index", "there")
    assert "make one with `aerogram ingest PATH --index there`" in elsewhere.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", ""],
        ["search", "x" * 501],
        ["search", "token", "--next", "nonsense"],
        ["search", "token", "--after", "soon"],
        ["vendor", "Borealis"],
        ["vendor", "Nobody"],
        ["search", "token", "--index", "nowhere"],
        ["index", "check", "--index", "nowhere"],
        ["ingest", "nowhere"],
        ["search", "token", "--embedder", "none"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_one_line_and_exit_code_1(place, arguments):
    done = run(place, *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("aerogram: ")
    assert done.stderr.count("\n") == 1


def test_a_failure_in_json_is_in_the_dialect_that_was_asked_for(place):
    done = run(place, "vendor", "Borealis", "--json")
    assert done.returncode == 1
    body = json.loads(done.stdout)
    assert body["error"]["code"] == "CONFLICT"
    assert body["_metadata"]["operation"] == "find_vendor_info"


def test_vendor_says_who_is_who(place):
    done = run(place, "vendor", "acme")
    assert done.stdout.startswith("Acme Corporation\n  entity count: 123\n")
    assert "v1         PARTNER" not in done.stdout
    body = json.loads(run(place, "vendor", "acme", "--json", "--mode", "ids_only").stdout)
    assert body["results"]["vendor_name"] == "Acme Corporation"


def test_the_index_says_what_it_holds_and_that_it_is_sound(place):
    said = json.loads(run(place, "index", "status", "--json").stdout)
    assert (said["documents"], said["chunks"], said["vendors"]) == (2, 5, 3)
    assert list(said["problems"]) == ["broken.pdf"]
    assert run(place, "index", "check").stdout == "sound\n"
    assert run(place, "index", "rebuild").stdout == "rebuilt from its rows: 5 chunks\n"


def test_a_second_ingest_reads_nothing_again(place):
    done = json.loads(run(place, "ingest", "docs", "--json").stdout)
    assert (done["added"], done["changed"], done["unchanged"], done["chunks"]) == (0, 0, 3, 0)
    assert set(done["problems"]) == {"broken.pdf"}  # which is no document that has not changed
