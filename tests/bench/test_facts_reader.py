"""The reader that judges fitted replies answers what they settle, and is silent where they do not."""

import pytest

from facts_reader import answer, see
from facts_replies import first_rows, see_rows
from facts_sets import load

ROWS = [
    {"id": 1, "title": "Upload", "state": "open", "day": "2026-01-02", "labels": ["bug"]},
    {"id": 2, "title": "Cache", "state": "closed", "day": "2026-01-05", "labels": []},
]
OUTLINE = {"state": {"closed": 7, "blocked": 1}, "day": ["2026-01-07", "2026-02-09"], "labels": {"bug": 3, "…": 2}}


def ask(seen, kind, member="id", *where):
    return answer({"ask": kind, "where": where, "member": member}, seen)


def records(value):
    return value


@pytest.fixture
def cut():
    """Two rows of ten, and an outline of the eight others."""
    return see(ROWS, records, words=["2 of 10 shown; more: retrieve(hash='00')"], outline=OUTLINE, partial=True)


def test_a_row_is_found_by_any_member_and_read():
    whole = see(ROWS, records)
    assert ask(whole, "read", "state", ("title", "=", "Cache")) == "closed"
    assert ask(whole, "read", "state", ("id", "=", 3)) is None


def test_a_part_of_a_text_is_no_answer():
    shown = see([{"id": 1, "title": "Upload fails… [+120 chars]"}], records)
    assert ask(shown, "read", "title", ("id", "=", 1)) is None


def test_a_reply_that_says_nothing_is_taken_for_the_whole():
    assert ask(see(ROWS, records), "count") == 2


def test_counts_and_ranges_add_what_is_shown_to_what_is_outlined(cut):
    assert ask(cut, "count") == 10
    assert ask(cut, "count", "id", ("state", "=", "closed")) == 8
    assert ask(cut, "count", "id", ("labels", "has", "bug")) == 4
    assert ask(cut, "first", "day") == "2026-01-02"
    assert ask(cut, "last", "day") == "2026-02-09"


def test_a_list_is_complete_only_where_the_outline_leaves_nothing_of_it_out(cut):
    assert ask(cut, "list", "id", ("state", "=", "open")) == [1]
    assert ask(cut, "list", "id", ("day", "begins", "2026-01-0")) is None
    assert ask(cut, "list", "id", ("day", "begins", "2025")) is None
    assert ask(cut, "list", "id", ("state", "=", "closed")) is None


def test_what_an_outline_does_not_name_is_not_known(cut):
    assert ask(cut, "count", "id", ("labels", "has", "docs")) is None
    assert ask(cut, "last", "title") is None


def test_without_an_outline_only_the_rows_themselves_are_known():
    shown = see(ROWS, records, words=["8 of 10 items left out"])
    assert ask(shown, "count") == 10
    assert ask(shown, "count", "id", ("state", "=", "open")) is None
    assert ask(shown, "last", "day") is None


def test_characters_are_no_rows():
    shown = see("a\nb", lambda text: [{"id": line} for line in text.split("\n")], words=["3 of 99 characters shown"])
    assert ask(shown, "count") is None


def test_members_of_a_record_are_counted_by_the_mark_of_what_is_missing():
    package = load("package")
    shown = see({"dependencies": {"tar": "^7", "…": "64 more"}, "bin": {"npm": "x"}}, package.read, partial=True)
    assert ask(shown, "count", "name", ("parent", "=", "dependencies")) == 65
    assert ask(shown, "count", "name", ("parent", "=", "bin")) is None
    named = see(
        {"dependencies": {"tar": "^7"}, "bin": {"npm": "x"}},
        package.read,
        words=["1 of 65 dependencies shown"],
    )
    assert ask(named, "count", "name", ("parent", "=", "dependencies")) == 65
    assert ask(named, "count", "name", ("parent", "=", "bin")) == 1


@pytest.mark.parametrize("name", ["issues", "orders", "log", "installed", "libraries", "commits"])
def test_first_rows_are_read_as_they_are_in_the_set(name):
    one = load(name)
    whole, brief = (see_rows(first_rows(one, 1_500, facts=facts), one, facts=facts) for facts in (False, True))
    assert whole.rows == one.rows[: len(whole.rows)] != []
    assert brief.rows == [{fact: row[fact] for fact in one.facts} for row in one.rows[: len(brief.rows)]] != []
    assert {len(seen.rows) + seen.missing for seen in (whole, brief)} == {len(one.rows)}
