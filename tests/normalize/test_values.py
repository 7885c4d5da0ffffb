"""Values of all supported types, nested at random: what leaves can be read, and the two ways agree."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import uuid
from typing import Any, NamedTuple

import attrs
import msgspec
import numpy as np
import orjson
import pydantic
import pydantic_core
from hypothesis import given
from hypothesis import strategies as st

from aerogram.normalize import Policy, normalize_resource_payload, normalize_tool_result
from aerogram.normalize.values import encode, encode_carefully, encode_fast


@dataclasses.dataclass
class Row:
    a: Any
    _b: Any = None


@dataclasses.dataclass(slots=True)
class Slim:
    a: Any


class Model(pydantic.BaseModel):
    a: Any


class Named(NamedTuple):
    a: Any


@attrs.define
class Att:
    a: Any


class Struct(msgspec.Struct):
    a: Any


class Level(enum.Enum):
    LOW = "low"
    HIGH = 2


TEXT = st.text(st.characters(), max_size=12)  # surrogates and NULs included
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**80), 2**80),
    st.floats(),
    TEXT,
    st.binary(max_size=8),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.datetimes(timezones=st.none() | st.just(dt.UTC) | st.timezones()),
    st.dates(),
    st.times(timezones=st.none() | st.just(dt.UTC)),
    st.timedeltas(),
    st.uuids(),
    st.ip_addresses(),
    st.sampled_from(Level),
    st.sampled_from([print, Row, json, range(3), np.int64(3), np.float32("nan"), np.arange(3)]),
)
KEYS = st.one_of(TEXT, st.integers(), st.booleans(), st.none(), st.floats(), st.dates(), st.tuples(st.integers(), TEXT))


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(inner, max_size=4)
    records = [inner.map(kind) for kind in (Row, Slim, Named, Att, Struct)] + [inner.map(lambda value: Model(a=value))]
    return st.one_of(
        few,
        few.map(tuple),
        few.map(collections.deque),
        st.dictionaries(TEXT, inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
        st.frozensets(st.one_of(st.integers(), TEXT, st.none()), max_size=4),
        st.dictionaries(TEXT, inner, max_size=3).map(collections.UserDict),
        *records,
    )


VALUES = st.recursive(SCALARS, containers, max_leaves=12)
POLICY = Policy()


@given(VALUES)
def test_every_value_becomes_a_result_that_strict_readers_take(value: Any):
    """UTF-8, JSON, and equal in both eras but for the box."""
    result = normalize_tool_result(value)
    for version in ("2025-11-25", "2026-07-28"):
        body = result.to_bytes(1, version)
        body.decode("utf-8", "strict")
        read = pydantic_core.from_json(body, allow_inf_nan=False)
        assert read["result"] == result.to_wire(version)
        assert normalize_tool_result(read["result"]["content"]).isError is False


@given(VALUES)
def test_fast_and_careful_ways_agree(value: Any):
    """Whatever goes the fast way would be written with the same bytes by the walk, and without a notice."""
    fast = encode_fast(value, POLICY)
    careful = encode_carefully(value, POLICY)
    assert fast is None or (fast == careful.body and not careful.notices)


@given(VALUES)
def test_text_of_one_block_is_the_structured_content(value: Any):
    result = normalize_tool_result(value, policy=Policy(blocks="one"))
    if result.has_structured_content and result.content and not isinstance(value, tuple):
        data, text = result.data(), result.content[0]["text"]
        assert text == data if isinstance(data, str) else json.loads(text) == data


@given(VALUES)
def test_plain_json_comes_out_as_it_went_in(value: Any):
    """What has been normalised once is not changed by a second time."""
    once = json.loads(encode(value, POLICY).body)
    assert json.loads(encode(once, POLICY).body) == once


@given(VALUES)
def test_every_value_can_be_read_as_a_resource(value: Any):
    result = normalize_resource_payload("a://b", None, value)
    assert orjson.loads(result.to_bytes(1))["result"]["contents"][0]["uri"]


def test_nothing_of_numbers_is_lost():
    """Decimals keep their digits, integers their size, durations and fractions their value."""
    value = {"d": decimal.Decimal("1.10"), "i": 10**30, "f": fractions.Fraction(1, 3), "u": uuid.UUID(int=5)}
    assert json.loads(encode(value, POLICY).body) == {
        "d": "1.10",
        "i": 10**30,
        "f": "1/3",
        "u": "00000000-0000-0000-0000-000000000005",
    }
