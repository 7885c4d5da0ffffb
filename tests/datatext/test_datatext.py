"""Data in texts: what is data is read and written in its own form, and what only looks like it stays a text."""

import json
import time
from pathlib import Path

import pytest

from aerogram.content.datatext import BETWEEN, read_data

NEAR_MISSES = json.loads((Path(__file__).parent / "near_misses.json").read_text(encoding="utf-8"))
ROWS = [{"id": 1, "name": "Ann"}, {"id": 2, "name": 'Ben "B"'}, {"id": 3, "name": "Zoë"}]
TABLE = [{"id": "1", "name": "Ann"}, {"id": "2", "name": "Ben"}, {"id": "007", "name": "Zoë"}]
HITS = {
    "compact": (json.dumps(ROWS, separators=(",", ":"), ensure_ascii=False), ROWS),
    "spaced": (json.dumps(ROWS), ROWS),
    "two spaces": (json.dumps({"rows": ROWS}, indent=2, ensure_ascii=False), {"rows": ROWS}),
    "four spaces": (json.dumps(ROWS, indent=4), ROWS),
    "tabs": (json.dumps(ROWS, indent="\t"), ROWS),
    "object": ('{"a": {"b": [1, 2.5, null]}}', {"a": {"b": [1, 2.5, None]}}),
    "large integer": ('{"a":123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
    "Python": (str(ROWS), ROWS),
    "Python's quotes": (
        str([{"a": "it's", "b": 'so "called"', "c": "one\ntwo\\"}]),
        [{"a": "it's", "b": 'so "called"', "c": "one\ntwo\\"}],
    ),
    "Python's words": (
        str({"None": None, "True": "None: True", "no": False}),
        {"None": None, "True": "None: True", "no": False},
    ),
    "lines": ("\n".join(map(json.dumps, ROWS)), ROWS),
    "Markdown": ("| id | name |\n| --- | :---: |\n| 1 | Ann |\n| 2 | Ben |\n| 007 | Zoë |", TABLE),
    "escaped bar": ("| id | name |\n| --- | --- |\n| 1 | a \\| b |", [{"id": "1", "name": "a | b"}]),
    "CSV": ("id,name\n1,Ann\n2,Ben\n007,Zoë", TABLE),
    "CSV of Windows": ("id,name\r\n1,Ann\r\n2,Ben\r\n007,Zoë", TABLE),
    "quoted cells": (
        'id;name\n1;"a;b"\n2;"c ""d"""\n3;e',
        [{"id": "1", "name": "a;b"}, {"id": "2", "name": 'c "d"'}, {"id": "3", "name": "e"}],
    ),
    "tabs between": ("id\tname\n1\tAnn\n2\tBen\n007\tZoë", TABLE),
}


def test_there_are_two_hundred_near_misses():
    assert len(set(NEAR_MISSES)) >= 200


@pytest.mark.parametrize("text", NEAR_MISSES, ids=lambda text: repr(text)[:40])
def test_a_near_miss_stays_a_text(text):
    assert read_data([text]) is None


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 1} is what I mean",
        "{'a': (1, 2)}",
        "{'a': {1, 2}}",
        "{'a': b'x'}",
        "{'a': 1, 'a': 2}",
        "{'when': datetime.date(2026, 1, 1)}",
        "[{'a': Decimal('1.5')}]",
        "[{'a': 'x\\q'}]",
        "[{'a': 1}, {'b'",
        "{1: 'a'}",
        "{'a': nan}",
        "[{'a': true}]",
        "[{'a': True}, {'a': null}]",
        "[{'a': 'x: None', 'b': null}]",
        "[{'a':1,'b':2}]",
        "[{'a': 1.00}]",
    ],
)
def test_what_python_writes_of_other_things_stays_a_text(text):
    assert read_data([text]) is None


@pytest.mark.parametrize(("text", "value"), HITS.values(), ids=HITS)
def test_data_is_read_and_written_as_it_came(text, value):
    found = read_data([text])
    assert found.value == value and found.write(found.value) == text


@pytest.mark.parametrize(
    "value",
    [
        "x: None",
        "x:null",
        "x:None: null",
        "it's",
        'say "so"',
        "a\\b",
        "\x7f",
        "é",
        None,
        [None, True],
        1e-05,
        1e16,
        2**64,
    ],
)
def test_whatever_stands_in_an_object_of_python_is_read_and_written_as_it_came(value):
    rows = [{"id": 1, "value": value, "none": None}, {"id": 2, "value": False}]
    found = read_data([repr(rows)])
    assert found.value == rows and found.write(found.value) == repr(rows)


SLOW = {
    "escaped quotes that nobody closes": "{'" + "\\'" * 200_000,
    "the same of the other kind": "{'a': \"" + '\\"' * 200_000,
    "a line of spaces": "|a|\n" + " " * 400_000 + "x\n|b|\n|c|",
    "spaces behind a line": "|a|\n--|--" + " " * 400_000 + "x\n|b|\n|c|",
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_what_is_no_data_is_found_out_in_the_time_that_reading_takes(text):
    """Looked at from each place anew, they would take hours, in which nobody else is answered."""
    began = time.monotonic()
    assert read_data([text]) is None
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "text",
    [
        "Fetching, 10%\rFetching, 20%\rdone\n" * 3,
        "data:image/png;base64," + "A" * 200_000,
        "name,note\n" + f"a,{'b' * 200_000}\n" * 3,
    ],
    ids=["a line that is written over", "a picture in an address", "a cell that is very long"],
)
def test_what_only_begins_as_a_table_stays_a_text(text):
    assert read_data([text]) is None


def test_a_number_beyond_all_exponents_is_kept_as_it_stands():
    text = '{"a":1e-11111111111111111111,"b":0.12345678901234567890}'
    found = read_data([text])
    assert found.write(found.value) == text


def test_several_texts_are_one_item_each():
    found = read_data([json.dumps(row, indent=2) for row in ROWS])
    assert found.value == ROWS and found.write(ROWS[:2]).split(BETWEEN) == [
        json.dumps(row, indent=2) for row in ROWS[:2]
    ]
    assert read_data([json.dumps(ROWS[0]), "and some words"]) is None and read_data([]) is None


def test_a_part_of_a_table_has_the_columns_that_are_shown():
    found = read_data([HITS["Markdown"][0]])
    assert found.write([{"name": "Ann"}]) == "| name |\n| :---: |\n| Ann |"
    assert read_data([HITS["CSV"][0]]).write([{"id": "1"}, {"id": "2"}]) == "id\n1\n2"


def test_an_object_that_says_a_thing_twice_stays_a_text():
    assert read_data(['{"a": 1, "a": 2}']) is None
    assert read_data(['{"a"  : 1, "a"  : 2}']) is None
    assert read_data(['{"a": "\\u0022:", "b": {"c": 1, "c": 2}}']) is None
    assert read_data(['{"a"  : 1, "b"\n: "\\u0022:"}']).value == {"a": 1, "b": '":'}
    assert read_data(['{"a": "\\": ", "b": 1}']).value == {"a": '": ', "b": 1}


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000, '{"a": ' + "9" * 10_000 + "}", '{"a": "\ud800"}', "[1e999]"],
    ids=["brackets", "depth", "digits", "half a pair", "infinity"],
)
def test_what_nobody_can_read_stays_a_text_or_is_data(text):
    found = read_data([text])
    assert found is None or isinstance(found.value, (dict, list))


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 0.1234567890123456789012345, "b": "0.12345678901234568"}, {"a": 1.5}]',
        '{"a":3.3333333333333333,"b":[12345678901234567.5,-0.10000000000000000001]}',
        '{"a": 1.0000000000000000000001e30}\n{"a": 123456789012345678901234567890}',
    ],
)
def test_numbers_are_written_with_all_their_digits(text):
    held = read_data([text])
    assert held.write(held.value) == text


def test_numbers_that_are_one_float_and_written_in_two_ways_leave_a_text_a_text():
    assert read_data(['[{"a": 0.3000000000000000000001}, {"a": 0.3}]']) is None
    assert read_data(['[{"a": 1.0000000000000000000001e30}, {"a": 1e30}]']) is None
