"""Outputs: the schema of a return annotation, and values that keep it."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import ipaddress
import re
import sys
import typing
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import jsonschema_rs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.errors import ContractError
from aerogram.normalize import Block, Output, Policy, Registry, normalize_tool_result

T = TypeVar("T")


class Song(pydantic.BaseModel):
    title: str
    play_count: int = pydantic.Field(serialization_alias="playCount")


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    a: int


class Wider(Strict):
    b: int


class Album(pydantic.BaseModel):
    songs: list[Song]
    first: Song | None = None


class Point(NamedTuple):
    x: int
    y: float


class Holder(pydantic.BaseModel):
    point: Point
    tags: set[str]


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


SONG = Song(title="t", play_count=1)
CASES: list[tuple[Any, Any]] = [
    (Song, SONG),
    (list[Song], [SONG]),
    (Album, Album(songs=[SONG], first=SONG)),
    (Song | None, None),
    (Song | None, SONG),
    (Song | Strict, SONG),
    (dict[str, Song], {"a": SONG}),
    (Strict, Wider(a=1, b=2)),
    (Point, Point(1, float("nan"))),
    (list[Point], [Point(1, 2)]),
    (Holder, Holder(point=Point(1, 2), tags={"a"})),
    (Page[Song], Page[Song](items=[SONG])),
    (Tree, Tree("a", [Tree("b")])),
    (set[float], {1.0, float("nan"), float("inf")}),
    (dict[int, dt.date], {1: dt.date(2026, 1, 1)}),
    (Annotated[int, pydantic.Field(ge=0)], 3),
    (tuple[str, Song], ("text", SONG)),
    (float, float("nan")),
    (int | str, "a"),
    (list[decimal.Decimal], [decimal.Decimal("1.10")]),
]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(("annotation", "value"), CASES, ids=[f"{a}-{i}" for i, (a, _) in enumerate(CASES)])
def test_value_keeps_the_schema_of_its_annotation(annotation: Any, value: Any, version: str):
    output = Output.of(annotation)
    result = normalize_tool_result(value, returns=output)
    schema = output.for_version(version)
    assert not result.isError and schema is not None
    jsonschema_rs.validate(schema, result.to_wire(version)["structuredContent"])


@dataclass
class Moments:
    day: dt.date
    time: dt.time
    moment: dt.datetime
    length: dt.timedelta
    keys: dict[dt.date, decimal.Decimal]
    rest: complex | uuid.UUID | ipaddress.IPv4Address | fractions.Fraction | re.Pattern[str] = 0j


ZONES = st.none() | st.just(dt.UTC) | st.timezones()
MOMENTS = st.builds(
    Moments,
    st.dates() | st.datetimes(timezones=ZONES),
    st.times(timezones=st.none() | st.just(dt.UTC)),
    st.datetimes(timezones=ZONES),
    st.timedeltas(),
    st.dictionaries(st.dates() | st.datetimes(timezones=ZONES), st.decimals(), max_size=2),
    st.complex_numbers() | st.uuids() | st.ip_addresses(v=4) | st.fractions() | st.just(re.compile("(?P<a>x)")),
)


@given(MOMENTS)
def test_formats_hold_for_validators_that_insist_on_them(value: Moments):
    """Times without a zone, durations below zero, a datetime where a date is due: all are what was promised."""
    strict = jsonschema_rs.validator_for(Output.of(Moments).schema, validate_formats=True)
    strict.validate(normalize_tool_result(value).data())


def test_properties_called_title_survive_and_names_are_those_that_are_sent():
    schema = Output.of(Song).for_version()
    assert schema["properties"] == {"title": {"type": "string"}, "playCount": {"type": "integer"}}
    assert "title" not in {key for key in schema if key != "properties"}


def test_definitions_are_kept_in_the_box():
    schema = Output.of(list[Song]).for_version("2025-11-25")
    assert schema["properties"]["result"]["items"] == {"$ref": "#/$defs/Song"} and "Song" in schema["$defs"]
    assert Output.of(list[Song]).for_version("2026-07-28")["type"] == "array"


@pytest.mark.parametrize(
    "annotation",
    [None, Any, object, bytes, list, dict, Block, list[Block], Block | str, "Unknown", Exception, memoryview],
    ids=str,
)
def test_annotation_that_promises_no_data_has_no_schema(annotation: Any):
    assert Output.of(annotation).for_version() is None


def test_handler_may_be_described_by_its_bare_annotation():
    assert normalize_tool_result({"a": 1}, returns=dict[str, int] | None).structuredContent == {"result": {"a": 1}}


def test_broken_promise_is_an_error_result():
    """A client would refuse a result without the structured content that the schema demands."""
    result = normalize_tool_result(None, returns=Song)
    assert result.isError and "output schema" in result.content[0]["text"]


class Worded(pydantic.BaseModel):
    """A class whose words differ from its fields."""

    a: int = 1

    def __json__(self) -> str:
        return "worded"


BROKEN: list[tuple[Any, Any]] = [
    (int, "hello"),
    (int, True),
    (str, 1),
    (list[int], ["a"]),
    (list[int], (1, "a")),
    (list[int], ["a" if n == 700 else n for n in range(1000)]),
    (dict[str, int], {"a": 1, "b": None}),
    (Song, {"title": "t"}),
    (Song, {"content": [], "structuredContent": {"title": "t"}}),
    (Song, Strict(a=1)),
    (Song | Strict, {"b": 1}),
    (Tree, {"name": "a", "children": [{"name": 3}]}),
    (Annotated[int, pydantic.Field(ge=0)], -1),
    (Point, (1, 2)),
    (list[dt.date], [1]),
    (tuple[str, Song], ("text", {"title": 3})),
    (float, decimal.Decimal(2)),
    (list[float], [decimal.Decimal(2)]),
    (dict[str, float], {"a": decimal.Decimal("9.99")}),
    (dict[str, list[int | None]], {"a": [decimal.Decimal(2)]}),
    (Song, {"title": "t", "playCount": decimal.Decimal(2)}),
    (list[float], [fractions.Fraction(1, 2)]),
]


@pytest.mark.parametrize(("annotation", "value"), BROKEN, ids=[f"{a}-{i}" for i, (a, _) in enumerate(BROKEN)])
def test_value_that_is_not_what_was_promised_is_an_error_result(annotation: Any, value: Any):
    """Its client would refuse it, or take it for what it is not."""
    result = normalize_tool_result(value, returns=annotation)
    assert result.isError and "output schema" in result.content[0]["text"]
    assert not normalize_tool_result(value).isError


@pytest.mark.parametrize("place", range(len(BROKEN) + len(CASES)))
def test_promises_are_kept_without_the_fast_validator_too(place: int, monkeypatch):
    """The MCP packages bring one along that is slower."""
    annotation, value = [*BROKEN, *CASES][place]
    kept = normalize_tool_result(value, returns=Output.of(annotation)).isError
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    assert normalize_tool_result(value, returns=Output.of(annotation)).isError is kept


@pytest.mark.parametrize("annotation", [Worded, Callable, Callable[[], int], typing.Callable, Callable[..., Any] | int])
def test_annotation_whose_values_say_their_form_themselves_has_no_schema(annotation: Any):
    assert Output.of(annotation).for_version() is None
    assert not normalize_tool_result(Worded(), returns=annotation).isError
    assert not normalize_tool_result(print, returns=annotation).isError


def test_mended_value_that_breaks_the_schema_is_an_error_result():
    knot = Tree("a")
    knot.children.append(knot)
    result = normalize_tool_result(knot, returns=Tree)
    assert result.isError and "/children/0" in result.content[0]["text"]


def test_error_results_need_not_keep_the_schema(caplog):
    assert normalize_tool_result(ValueError("x"), returns=Song).isError


class Money:
    def __init__(self, amount: int) -> None:
        self.amount = amount


class Price(Money): ...


def test_registered_form_is_found_by_its_bases_and_brings_its_schema():
    registry = Registry()
    registry.register(Money, lambda money: {"amount": money.amount}, {"type": "object", "required": ["amount"]})
    policy = Policy(registry=registry)
    assert normalize_tool_result([Price(3)], policy=policy).structuredContent == {"result": [{"amount": 3}]}
    schema = Output.of(list[Price], registry).for_version("2026-07-28")
    assert schema == {"type": "array", "items": {"type": "object", "required": ["amount"]}}


def test_registries_are_apart():
    registry = Registry()
    registry.register(Money, lambda money: money.amount)
    assert normalize_tool_result(Money(3), policy=Policy(registry=registry)).structuredContent == {"result": 3}
    assert normalize_tool_result(Money(3)).structuredContent is None


def test_registered_form_overrides_the_built_in_ones():
    """Also for types that orjson writes by itself, and for records."""
    registry = Registry()
    registry.register(dt.date, lambda day: day.year)
    registry.register(Song, lambda song: song.title)
    value = {"day": dt.date(2026, 1, 2), "song": SONG}
    assert normalize_tool_result(value, policy=Policy(registry=registry)).structuredContent == {
        "day": 2026,
        "song": "t",
    }
    assert normalize_tool_result(value).structuredContent["day"] == "2026-01-02"


def test_plain_json_types_cannot_be_registered():
    for kind in (str, dict, list, int, object):
        with pytest.raises(ValueError):
            Registry().register(kind, str)


def test_registered_schema_that_is_none_is_refused_when_the_tool_is_registered():
    registry = Registry()
    registry.register(Money, str, {"type": "nonsense"})
    with pytest.raises(ContractError):
        Output.of(Money, registry)
