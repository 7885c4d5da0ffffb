"""Values that fight back: each is answered, within bounded time and memory."""

from __future__ import annotations

import array
import asyncio
import collections
import datetime as dt
import gc
import itertools
import logging
import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic
import pytest

from aerogram.errors import NotFound, TokenLimitExceeded
from aerogram.normalize import Policy, normalize_resource_payload, normalize_tool_result, settle
from aerogram.normalize.walk import UnreadableValue, Walk

SMALL = Policy(max_bytes=100_000)


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.CRITICAL)


class Hostile:
    """Everything that can be asked of it raises."""

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError

    __hash__ = None


class HostileIter:
    def __iter__(self) -> Iterator[int]:
        raise RuntimeError


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError

    def __instancecheck__(cls, instance: object) -> bool:
        raise RuntimeError


class Made(metaclass=HostileMeta): ...


class Pretender:
    @property
    def __class__(self) -> type:
        return dict

    def __str__(self) -> str:
        return "pretender"


class HostileDict(dict):
    def items(self) -> Any:
        raise RuntimeError


class Endless(collections.abc.Mapping):
    def __getitem__(self, key: int) -> int:
        return key

    def __iter__(self) -> Iterator[int]:
        number = 0
        while True:
            number += 1
            yield number

    def __len__(self) -> int:
        return 1


class Regress:
    def to_dict(self) -> dict[str, Any]:
        return {"a": Regress(), "b": Regress()}


class Chain:
    def __json__(self) -> Any:
        return Chain()


class Recursing:
    def __str__(self) -> str:
        return str(self)


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Leaving:
    def __str__(self) -> str:
        raise SystemExit(1)


class Panic(BaseException):
    """What libraries written in other languages raise: no `Exception`."""


class Panicking:
    def __str__(self) -> str:
        raise Panic

    def __iter__(self) -> Iterator[int]:
        raise Panic


class PanickingMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise Panic


class PanickingError(Exception):
    def __str__(self) -> str:
        raise Panic


class Rows:
    """It breaks off after its first item."""

    def __iter__(self) -> Iterator[int]:
        yield 1
        raise RuntimeError


class FalseBlock:
    def __block__(self) -> Any:
        return {"type": "text"}


class NotText:
    def __str__(self) -> Any:
        return 3  # noqa: PLE0307 - that is the point


HOSTILE: dict[str, Callable[[], Any]] = {
    "raises always": Hostile,
    "raises in iter": HostileIter,
    "raises in its class": lambda: Made(),  # noqa: PLW0108 - pytest cannot show its class
    "pretends to be a dict": Pretender,
    "raises in items": lambda: HostileDict(a=1),
    "endless mapping": Endless,
    "makes more of itself": Regress,
    "becomes another": Chain,
    "recurses": Recursing,
    "exception that raises": HostileError,
    "text that is none": NotText,
    "leaves the program": Leaving,
    "panics": Panicking,
    "panics in its class": PanickingMeta("Made", (), {}),
    "exception that panics": PanickingError,
    "block that is none": FalseBlock,
}


UNHASHABLE = ("raises always", "raises in items", "endless mapping")
PLACES: dict[str, Callable[[Any], Any]] = {
    "top": lambda value: value,
    "in a dict": lambda value: {"ok": 1, "x": value},
    "in a list": lambda value: [1, value],
    "in a tuple": lambda value: (value, 1),
    "as a key": lambda value: {value: 1, "ok": 2},
}
HOSTILE_PLACES = [(n, p) for n in HOSTILE for p in PLACES if not (p == "as a key" and n in UNHASHABLE)]


@pytest.mark.parametrize(("name", "place"), HOSTILE_PLACES)
def test_hostile_object_is_answered(name: str, place: str):
    """Inside data the rest is kept and a notice names the place; at the top it is an error or a text."""
    result = normalize_tool_result(PLACES[place](HOSTILE[name]()), policy=SMALL)
    sent = orjson.loads(result.to_bytes(1))["result"]
    assert "0x" not in str(sent)
    if place == "in a dict" and not result.isError:
        assert orjson.loads(sent["content"][0]["text"])["ok"] == 1


@pytest.mark.parametrize("signal", [KeyboardInterrupt, asyncio.CancelledError])
def test_interrupts_and_cancellations_are_not_taken_for_failures(signal: type[BaseException]):
    """They are about the server, not about the value."""

    class Interrupted:
        def __str__(self) -> str:
            raise signal

    for value in (Interrupted(), {"a": Interrupted()}):
        with pytest.raises(signal):
            normalize_tool_result(value)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Recursing(), "the top"),
        ({"a": [1, HostileIter()]}, "/a/1"),
        ({"a": [1, Panicking()], "b": Panicking()}, "/a/1"),
        ({"a": Rows()}, "/a"),
    ],
    ids=["top", "inside", "twice", "breaks off"],
)
def test_value_that_cannot_be_read_is_told_to_the_log_once(caplog, value: Any, place: str):
    """With its place and its trace, for the author of the server; the caller is not sent to look for an id."""
    caplog.set_level(logging.WARNING, "aerogram")
    result = normalize_tool_result(value)
    (record,) = caplog.records
    assert record.name == "aerogram" and place in record.getMessage() and record.exc_info
    assert "request id" not in result.to_bytes(1).decode()


def test_broken_promise_is_told_to_the_log(caplog):
    caplog.set_level(logging.WARNING, "aerogram")
    result = normalize_tool_result(["a"], returns=list[int])
    assert ["/0" in record.getMessage() for record in caplog.records] == [True]
    assert "request id" not in result.to_bytes(1).decode() and "log" in result.content[0]["text"]


def test_error_at_the_top_names_the_type():
    text = normalize_tool_result(HostileIter()).content[0]["text"]
    assert "INTERNAL_ERROR" in text or "HostileIter" in text
    recursing = normalize_tool_result(Recursing())
    assert recursing.isError and "test_bad_input.Recursing" in recursing.content[0]["text"]


def _laughs(levels: int) -> Any:
    value: Any = ["ha"]
    for _ in range(levels):
        value = [value, value]
    return value


def _tuples(levels: int) -> Any:
    """Tuples of plain values, which the garbage collector stops tracking when it runs."""
    value: Any = ("ha",)
    for _ in range(levels):
        value = (value, value)
    for _ in range(3):
        gc.collect()
    return value


@dataclass
class Twin:
    left: Any
    right: Any


def _twins(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = Twin(value, value)
    return value


class Anything(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    value: Any = None


BOMBS: dict[str, Callable[[], Any]] = {
    "lists": lambda: _laughs(60),
    "tuples": lambda: _tuples(60),
    "tuples in a dict": lambda: {"a": _tuples(60)},
    "tuples in rows": lambda: [{"a": _tuples(30)} for _ in range(3)],
    "wide lists": lambda: [[0] * 100_000] * 100_000,
    "dicts": lambda: {"a": {"b": [{"c": 1}] * 10_000}, "d": [[{"x": "y"}] * 10_000] * 10_000},
    "dataclasses": lambda: _twins(60),
    "a model": lambda: Anything(value=_laughs(60)),
    "extra fields of a model": lambda: Anything(more=_laughs(60)),
    "models in a list": lambda: [Anything(value=_laughs(40))] * 3,
    "texts": lambda: {"a": ["x" * 10_000_000] * 1_000},
    "rows of texts": lambda: [{"a": "x" * 1_000_000, "b": 1}] * 100_000,
    "one text": lambda: {"a": [1, {"b": "x" * 20_000_000}]},
    "a text": lambda: "x" * 20_000_000,
    "a set": lambda: {frozenset(range(n, n + 2000)) for n in range(60)},
    "a generator": lambda: ("x" * 1_000_000 for _ in iter(int, 1)),
    "a range": lambda: {"a": [range(10**12)] * 1000},
}


@pytest.mark.parametrize("name", BOMBS)
def test_value_that_would_be_endless_on_paper_is_refused_or_cut(name: str):
    """It is small in memory; the answer is an error that names the place, or a part with a notice."""
    result = normalize_tool_result(BOMBS[name](), policy=SMALL)
    assert len(result.to_bytes(1)) < 5 * SMALL.max_bytes
    if result.isError:
        problem = result._meta["dev.aerogram/problem"]
        assert problem["code"] == "TOKEN_LIMIT_EXCEEDED" and "of type" in problem["message"]
    else:
        assert result.notices


BUFFERS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: bytes(20_000_000),
    "bytearray": lambda: bytearray(20_000_000),
    "memoryview": lambda: memoryview(bytes(20_000_000)),
    "array": lambda: array.array("b", bytes(20_000_000)),
    "numpy array": lambda: np.zeros(5_000_000, "int8"),
    "pandas frame": lambda: pd.DataFrame({"a": np.zeros(5_000_000, "int8")}),
    "pandas series": lambda: pd.Series(np.zeros(5_000_000, "int8")),
    "polars frame": lambda: pl.DataFrame({"a": np.zeros(5_000_000, "int8")}),
    "Arrow table": lambda: pa.table({"a": np.zeros(5_000_000, "int8")}),
}


def _peak(work: Callable[[], Any]) -> tuple[Any, int]:
    """What a piece of work gives, and how much memory it took while it ran."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("place", [lambda value: value, lambda value: {"a": [value]}], ids=["top", "in data"])
@pytest.mark.parametrize("name", BUFFERS)
def test_buffer_over_the_limit_is_refused_before_it_is_copied(name: str, place: Callable[[Any], Any]):
    value = place(BUFFERS[name]())
    result, peak = _peak(lambda: normalize_tool_result(value, policy=SMALL))
    assert result.isError and "larger than" in result.content[0]["text"]
    assert peak < 2_000_000


def test_bytes_over_the_limit_are_no_media_and_no_resource_either():
    value = bytes(20_000_000)
    result, peak = _peak(lambda: normalize_tool_result(value, policy=SMALL, mime_type="image/png"))
    assert result.isError and peak < 2_000_000

    def read() -> None:
        with pytest.raises(TokenLimitExceeded):
            normalize_resource_payload("a://b", None, memoryview(value), policy=SMALL)

    assert _peak(read)[1] < 2_000_000


def test_too_large_a_text_is_named_by_its_place():
    message = normalize_tool_result({"a": [1, {"b": "x" * 200_000}]}, policy=SMALL).content[0]["text"]
    assert "/a/1/b" in message and "str" in message


def test_notices_stay_small_when_names_are_long():
    result = normalize_tool_result({"k" * 50_000: [float("nan")] * 200})
    assert len(orjson.dumps(result._meta)) < 300_000


def test_values_made_on_the_way_are_not_taken_for_self_references():
    """Each is gone when the next is made, and may have left its identity to it."""

    class Step:
        def __init__(self, left: int) -> None:
            self.left = left

        def __json__(self) -> Any:
            return Step(self.left - 1) if self.left else {"list": [object.__new__(Leaf) for _ in range(20)]}

    class Leaf:
        def __json__(self) -> Any:
            return {"nan": float("nan")}

    written = normalize_tool_result([Step(3) for _ in range(50)]).structuredContent
    assert "$ref" not in str(written)


def test_ten_thousand_places_that_are_bad_in_one_way_give_one_notice():
    (notice,) = normalize_tool_result([float("nan")] * 10_000).notices
    assert notice.message.startswith("/0, /1, /2 and 9,997 more places (float): nan")
    assert (notice.context["pointer"], notice.context["count"]) == ("/0", 10_000)


def test_ten_thousand_places_that_are_bad_in_their_own_ways_give_a_hundred_notices():
    result = normalize_tool_result([{number: 1, str(number): 2} for number in range(10_000)])
    assert len(result.notices) == 101 and "9,900" in result.notices[-1].message


@pytest.mark.parametrize("settings", [{"max_depth": 200}, {"max_depth": 0}, {"max_bytes": 1}, {"max_items": 0}])
def test_policy_without_room_is_refused(settings: dict[str, int]):
    with pytest.raises(ValueError):
        Policy(**settings)


class Held(pydantic.BaseModel):
    held: Any


class Streamed(pydantic.BaseModel):
    held: Iterable[int]


@pydantic.dataclasses.dataclass
class HeldAside:
    held: Any


@pytest.mark.parametrize(
    "make",
    [
        lambda: Held(held=itertools.count()),
        lambda: Held(held={"deep": [map(str, itertools.count())]}),
        lambda: Held(held=collections.deque([itertools.repeat("x")])),
        lambda: Streamed(held=itertools.count()),
        lambda: HeldAside(itertools.count()),
        lambda: [Held(held=(number for number in itertools.count()))],
    ],
)
def test_an_iterator_in_a_field_is_read_so_far_and_no_further(make):
    result = normalize_tool_result(make(), policy=Policy(max_items=50))
    assert not result.isError
    assert [notice.code for notice in result.notices] == ["PARTIAL_RESULTS"]
    assert len(result.body) < 5_000


def test_an_iterator_in_a_field_that_ends_is_read_to_its_end():
    assert normalize_tool_result(Streamed(held=[1, 2, 3])).data() == {"held": [1, 2, 3]}
    assert normalize_tool_result(Held(held=iter([1, 2]))).data() == {"held": [1, 2]}


class EndlessKeys(collections.abc.Mapping):
    def __getitem__(self, key):
        return 1

    def __iter__(self):
        return map(str, itertools.count())

    def __len__(self):
        return 3


class EndlessView(EndlessKeys):
    def __iter__(self):
        return iter(("a",))

    def keys(self):
        return map(str, itertools.count())


def test_keys_without_an_end_are_no_contents_of_a_resource():
    with pytest.raises(UnreadableValue):
        normalize_resource_payload("x://y", None, EndlessKeys())
    (contents,) = normalize_resource_payload("x://y", None, EndlessView()).contents
    assert contents["text"] == '{"a": 1}'


def test_a_device_that_never_ends_is_refused_before_it_fills_the_memory():
    tracemalloc.start()
    try:
        with Path("/dev/zero").open("rb") as raw, Path("/dev/zero").open(encoding="latin-1") as text:
            for value in (raw, text, [raw], Held(held=raw)):
                said = normalize_tool_result(value).to_wire()["content"][0]["text"]
                assert "INTERNAL_ERROR" in said or "unreadable" in said
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_the_end_of_a_pipe_is_not_waited_for(tmp_path):
    """Neither by its name, nor opened."""
    os.mkfifo(tmp_path / "pipe")
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as opened, os.fdopen(writer, "wb"):
        for value in (tmp_path / "pipe", opened, Path("/dev/zero")):
            with pytest.raises(NotFound, match="not a regular file"):
                normalize_resource_payload("a://b", None, value)


def test_a_file_is_its_lines(tmp_path):
    path = tmp_path / "lines"
    path.write_text("one\ntwo\n", encoding="utf-8")
    with path.open(encoding="utf-8") as file:
        assert normalize_tool_result(file).data() == ["one\n", "two\n"]


def tree_of(leaf, levels, join):
    for _ in range(levels):
        leaf = join(leaf)
    return leaf


@pytest.mark.parametrize(
    "make",
    [
        lambda: tree_of(["x"], 60, lambda one: [one, one]),
        lambda: tree_of({"x": 1}, 60, lambda one: {"l": one, "r": (one, one)}),
        lambda: tree_of(Held(held=1), 60, lambda one: Held(held=[one, one])),
        lambda: [[1] * 10_000] * 10_000,
        lambda: Held(held=collections.deque([tree_of(["x"], 60, lambda one: [one, one])])),
    ],
)
def test_what_is_shared_too_often_is_refused_at_once(make, monkeypatch):
    steps = []
    monkeypatch.setattr(Walk, "_take", lambda *_: steps.append(1))
    result = normalize_tool_result(make())
    assert result.isError and "larger than" in result.to_wire()["content"][0]["text"]
    assert steps == []


class Ticks:
    """A clock that goes on by a second whenever somebody looks at it."""

    now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def test_a_value_that_takes_too_long_is_refused_and_a_stream_is_left(monkeypatch):
    policy = Policy(max_seconds=20.0)
    monkeypatch.setattr(time, "monotonic", Ticks())
    stream = normalize_tool_result((1 for _ in range(5_000)), policy=policy)
    assert stream.notices[0].code == "PARTIAL_RESULTS" and len(stream.data()) < 25
    value = normalize_tool_result({"a": [{"b": float("nan")}] * 5_000}, policy=policy)
    assert value.isError and "longer than 20 seconds" in value.to_wire()["content"][0]["text"]


async def test_a_stream_that_says_nothing_is_left_after_a_while():
    async def silent():
        yield 1
        await asyncio.sleep(3_600)
        yield 2

    read = await settle(silent(), Policy(max_seconds=0.05))
    assert (list(read), read.notice.code) == ([1], "PARTIAL_RESULTS")


class Named:
    def __repr__(self):
        return f"<Named at {hex(id(self))}>"


def test_a_name_with_an_address_is_no_text_for_a_value():
    for value in (threading.Lock(), Named(), pa.py_buffer(b"ab")):
        said = normalize_tool_result({"a": value}).to_wire()["content"][0]["text"]
        assert "0x" not in said and "object" in said


@pytest.mark.parametrize("day", [(2026, 1, 1), (1850, 6, 1), (1, 1, 1)])
@pytest.mark.parametrize("offset", [(15, 59, 45), (0, -59, -45), (2, 34, 48)])
def test_a_moment_whose_offset_has_seconds_is_told_as_the_same_moment(day, offset):
    hours, minutes, seconds = offset
    zone = dt.timezone(dt.timedelta(hours=hours, minutes=minutes, seconds=seconds))
    when = dt.datetime(*day, 12, 30, tzinfo=zone)
    assert dt.datetime.fromisoformat(normalize_tool_result({"at": when}).structuredContent["at"]) == when
