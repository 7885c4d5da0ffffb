"""Plain data: what is JSON already is known as such, and written once."""

from __future__ import annotations

import enum
import json
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.content.jsontext import dumps
from aerogram.normalize.plain import is_plain, json_around, plain_json

LIMIT = 1_000_000
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé☃"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=20,
)


class Word(str):
    """A text with a type of its own."""

    __slots__ = ()


class Pair(NamedTuple):
    """Two numbers."""

    a: int
    b: int


class Colour(enum.Enum):
    """A choice."""

    RED = "red"


@dataclass
class Point:
    """A record."""

    x: int = 1


STRANGERS: dict[str, Any] = {
    "a subclass of text": Word("a"),
    "a key that is a subclass of text": {Word("k"): 1},
    "a key that is a number": {1: 2},
    "a tuple inside": {"a": [(1, 2)]},
    "a named tuple": Pair(1, 2),
    "a subclass of dict": OrderedDict(a=1),
    "a UUID": [uuid.UUID(int=1)],
    "an enum member": {"colour": Colour.RED},
    "a dataclass": [Point()],
    "NaN": [{"score": float("nan")}],
    "an infinity among nulls": [None, float("inf")],
    "a long integer": 2**70,
    "a lone surrogate": "\ud800",
    "bytes": b"x",
}


@given(JSON)
def test_json_data_is_plain_and_its_text_says_the_same(value: Any) -> None:
    """What is exactly JSON data reads back from its JSON as it is."""
    text = plain_json(value, LIMIT)
    assert text is not None
    assert json.loads(text) == value


@pytest.mark.parametrize("value", STRANGERS.values(), ids=STRANGERS)
def test_what_is_not_exactly_json_is_not_plain(value: Any) -> None:
    """Each of these must be converted, or is refused, elsewhere."""
    assert not is_plain(value, LIMIT)


def test_a_cycle_is_not_plain() -> None:
    """A list in itself has no end."""
    ring: list[Any] = []
    ring.append(ring)
    assert not is_plain(ring, LIMIT)


def test_lists_that_hold_each_other_many_times_over_are_not_written_out() -> None:
    """Sixty lists in memory would be a quintillion on paper."""
    tower: list[Any] = [1]
    for _ in range(60):
        tower = [tower, tower]
    assert not is_plain(tower, LIMIT)


def test_a_large_list_that_is_shared_often_is_noticed_before_it_is_spread_out() -> None:
    """A thousand times the same hundred thousand items."""
    assert not is_plain([[0] * 100_000] * 1_000, LIMIT)


def test_more_than_the_limit_is_not_plain() -> None:
    """The limit is in bytes of JSON."""
    assert is_plain("abc", 5)
    assert not is_plain("abc", 4)


@given(JSON, st.sampled_from(["top", "member", "box", "absent"]))
def test_a_body_around_known_json_is_the_body(value: Any, place: str) -> None:
    """Whether the data's JSON is known or not, and wherever it stands, the same bytes come out."""
    inside: Any = {"top": value, "member": {"a": 1, "data": value}, "box": {"data": {"results": value}, "meta": {}}}
    body = inside.get(place, {"a": [1]})
    assert json_around(body, value, plain_json(value, LIMIT)) == json_around(body, value, None) == dumps(body)


def test_a_long_integer_around_known_json_is_written_in_full() -> None:
    """What stands around the data may need the slower way."""
    rows = [1, 2]
    assert json_around({"n": 2**70, "data": rows}, rows, b"[1,2]") == b'{"n":1180591620717411303424,"data":[1,2]}'
