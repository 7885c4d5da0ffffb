"""The table of forms: a value of every kind, and what it looks like on the wire.

The wire tests send each row through a real server; the documentation prints the rows.
Run this file to write the table in `docs/normalize.md` anew.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import os
import pathlib
import re
import sqlite3
import types
import typing
import uuid
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import attrs
import matplotlib as mpl
import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic
import sqlalchemy as sa
from matplotlib.figure import Figure
from mcp.types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents
from PIL import Image
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from aerogram.normalize import Block, ToolResult

mpl.use("agg")

ABSENT: Any = "none"
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "normalize.md"
START, END = "<!-- forms: start -->", "<!-- forms: end -->"


@dataclass(frozen=True)
class Row:
    """One kind of value: how to make it, its annotation, and what is sent for it.

    `data` is the structured content from 2026-07-28 on; `texts` are the text blocks when
    they do not follow from it; `places` are the JSON Pointers of the notices.
    """

    name: str
    make: Callable[[], Any]
    data: Any = ABSENT
    says: str = ""
    annotation: Any = Any
    texts: list[str] | None = None
    blocks: list[dict[str, Any]] = field(default_factory=list)
    places: tuple[str, ...] = ()
    is_error: bool = False
    needs_await: bool = False


T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


class Mode(enum.StrEnum):
    FAST = "fast"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Text(str):
    __slots__ = ()


class Count(int): ...


class Ratio(float): ...


@dataclass
class Point:
    x: int
    y: float


@dataclass
class Line:
    start: Point
    end: Point


@dataclass(slots=True, frozen=True)
class Slotted:
    name: str
    _secret: int = 2


@dataclass
class Private:
    name: str
    _inner: int = 1
    hidden: str = field(default="h", repr=False)

    @cached_property
    def size(self) -> int:
        """Not a field, and so not sent."""
        return 3


@dataclass
class Knot:
    name: str
    other: Any = None


class Person(pydantic.BaseModel):
    name: str
    age: int


class Employee(Person):
    title: str


class Team(pydantic.BaseModel):
    lead: Person


class Aliased(pydantic.BaseModel):
    user_name: str = pydantic.Field(alias="userName")


class Squared(pydantic.BaseModel):
    side: int

    @pydantic.computed_field
    def area(self) -> int:
        """The square of the side."""
        return self.side**2


class Numbers(pydantic.RootModel[list[int]]): ...


class Boxed(pydantic.BaseModel, Generic[T]):
    item: T


class Login(pydantic.BaseModel):
    user: str
    password: pydantic.SecretStr


class Loose(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    value: Any = None


class Movie(TypedDict):
    title: str
    year: int


class Pair(NamedTuple):
    left: int
    right: str


@attrs.define
class Ship:
    name: str
    _tons: int = 5


class Parcel(msgspec.Struct, rename="camel"):
    weight_kg: float


class Base(DeclarativeBase): ...


class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


def _row(query: str = "select 1 as id, 'a' as name") -> Any:
    with sa.create_engine("sqlite://").connect() as connection:
        return connection.execute(sa.text(query)).one()


def _sqlite_row() -> Any:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute("select 1 as id, 'a' as name").fetchone()


class WithDict:
    def to_dict(self) -> dict[str, Any]:
        return {"a": 1}


class WithJson:
    def __json__(self) -> list[int]:
        return [1, 2]


class WithStr:
    def __str__(self) -> str:
        return "CustomObject representation"


class Bare: ...


class Raising:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Own(collections.abc.Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def _knot() -> Knot:
    knot = Knot("k")
    knot.other = {"back": knot}
    return knot


def _shared() -> list[Any]:
    part = {"a": 1}
    return [part, part]


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def _cut(levels: int) -> Any:
    value: Any = "[deeper than 190 levels]"
    for _ in range(levels):
        value = [value]
    return value


def _counting() -> Iterator[int]:
    yield from range(3)


def _endless() -> Iterator[int]:
    while True:
        yield 1


def _nested_sets(levels: int) -> frozenset[Any]:
    value: frozenset[Any] = frozenset()
    for _ in range(levels):
        value = frozenset([value])
    return value


def _breaking() -> Iterator[int]:
    yield from (1, 2)
    raise RuntimeError("no")


async def _later() -> dict[str, int]:
    return {"a": 1}


async def _stream() -> Any:
    for number in (1, 2):
        yield number


for _named in (Bare, Raising, _counting):
    _named.__module__ = "shop"  # the same name wherever this file is imported from

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
UTC = dt.UTC
PARIS = zoneinfo.ZoneInfo("Europe/Paris")
DAY = dt.date(2026, 1, 2)
NAIVE = dt.datetime.fromisoformat("2026-01-02T03:04:05")
NAN = float("nan")


def _frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1, 2], "b": [0.5, NAN]})


ROWS: tuple[Row, ...] = (
    Row("None", lambda: None, says="no content", annotation=None, texts=[]),
    Row("bool", lambda: True, True, annotation=bool),
    Row("int", lambda: 42, 42, annotation=int),
    Row("int beyond 2^53", lambda: 2**60, 2**60, "exact, with a notice", int, places=("",)),
    Row("int beyond 64 bits", lambda: 2**70, 2**70, "exact, with a notice", int, places=("",)),
    Row(
        "int of more than 4,300 digits",
        lambda: [10**4300],
        [hex(10**4300)],
        "hexadecimal text, with a notice",
        places=("/0",),
    ),
    Row("float", lambda: 1.5, 1.5, annotation=float),
    Row(
        "NaN, infinity",
        lambda: [NAN, float("-inf")],
        [None, None],
        "null, with a notice",
        list[float],
        places=("/0", "/1"),
        texts=[],
    ),
    Row("str", lambda: "Hello, Alice!", "Hello, Alice!", annotation=str),
    Row("str subclass", lambda: Text("a"), "a", annotation=str),
    Row("int subclass", lambda: Count(3), 3, annotation=int),
    Row("float subclass", lambda: Ratio(0.5), 0.5, annotation=float),
    Row("text with NUL", lambda: "a\0b", "a\0b", annotation=str),
    Row("lone surrogate", lambda: {"a": "x\ud800"}, {"a": "x\ufffd"}, "U+FFFD, with a notice", dict, places=("/a",)),
    Row("surrogate pair", lambda: "\ud83d\ude00", "\U0001f600", "the character, with a notice", str, places=("",)),
    Row("complex", lambda: 1 + 2j, "1+2j", annotation=complex),
    Row("Decimal", lambda: decimal.Decimal("1.10"), "1.10", annotation=decimal.Decimal),
    Row("Fraction", lambda: fractions.Fraction(1, 3), "1/3", annotation=fractions.Fraction),
    Row(
        "Fraction of more than 4,300 digits",
        lambda: fractions.Fraction(10**4300, 3),
        f"{10**4300:#x}/0x3",
        "hexadecimal text",
        fractions.Fraction,
    ),
    Row(
        "datetime",
        lambda: dt.datetime.fromisoformat("2026-01-02T03:04:05"),
        "2026-01-02T03:04:05",
        annotation=dt.datetime,
    ),
    Row(
        "datetime, UTC",
        lambda: dt.datetime(2026, 1, 2, tzinfo=UTC),
        "2026-01-02T00:00:00Z",
        annotation=dt.datetime,
    ),
    Row(
        "datetime, zone",
        lambda: dt.datetime(2026, 1, 2, tzinfo=PARIS),
        "2026-01-02T00:00:00+01:00",
        annotation=dt.datetime,
    ),
    Row("date", lambda: DAY, "2026-01-02", annotation=dt.date),
    Row("time", lambda: dt.time(3, 4), "03:04:00", annotation=dt.time),
    Row("time, zone", lambda: dt.time(3, 4, tzinfo=UTC), "03:04:00Z", annotation=dt.time),
    Row("timedelta", lambda: dt.timedelta(days=1, seconds=5), "P1DT5S", annotation=dt.timedelta),
    Row("timedelta, negative", lambda: dt.timedelta(seconds=-1.5), "-PT1.5S", annotation=dt.timedelta),
    Row("timezone", lambda: UTC, "UTC"),
    Row("ZoneInfo", lambda: PARIS, "Europe/Paris"),
    Row("UUID", lambda: uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", annotation=uuid.UUID),
    Row("Path", lambda: pathlib.PurePosixPath("a/b"), "a/b", annotation=pathlib.PurePosixPath),
    Row("Enum", lambda: Colour.RED, "red", "its value", Colour),
    Row("IntEnum", lambda: Size.LARGE, 3, "its value", Size),
    Row("StrEnum", lambda: Mode.FAST, "fast", "its value", Mode),
    Row("Flag", lambda: Access.READ | Access.WRITE, 3, "its number", Access),
    Row("bytes", lambda: PNG, says="base64 text", annotation=bytes, texts=["iVBORw0KGgo="]),
    Row("bytearray", lambda: bytearray(PNG), says="base64 text", annotation=bytearray, texts=["iVBORw0KGgo="]),
    Row("memoryview", lambda: memoryview(PNG), says="base64 text", annotation=memoryview, texts=["iVBORw0KGgo="]),
    Row("bytes in data", lambda: {"a": b"\xff"}, {"a": "/w=="}, "base64 text", dict[str, bytes]),
    Row("memoryview with gaps", lambda: {"a": memoryview(b"abcdef")[::2]}, {"a": "YWNl"}, "base64 text", dict),
    Row("list", lambda: ["first", "second"], ["first", "second"], "a block for each item", list[str]),
    Row(
        "nested list",
        lambda: ["a", ["b", None, {"c": 1}]],
        ["a", ["b", None, {"c": 1}]],
        "flattened into blocks",
        list,
        texts=["a", "b", '{"c":1}'],
    ),
    Row("empty list", list, [], annotation=list[int], texts=[]),
    Row("tuple", lambda: (1, 2, 3), [1, 2, 3], annotation=tuple[int, int, int]),
    Row("set", lambda: {"b", "a"}, ["a", "b"], "sorted", set[str]),
    Row(
        "frozenset, mixed", lambda: frozenset([2, 10, "a", None]), [2, 10, None, "a"], "sorted", texts=["2", "10", "a"]
    ),
    Row("deque", lambda: collections.deque([1, 2]), [1, 2], annotation=collections.deque[int]),
    Row("range", lambda: range(3), [0, 1, 2]),
    Row("array", lambda: array.array("i", [1, 2]), [1, 2]),
    Row("dict", lambda: {"key": "value", "count": 10}, {"key": "value", "count": 10}, annotation=dict),
    Row(
        "dict views",
        lambda: {"keys": {"b": 1, "a": 2}.keys(), "items": {"a": 1}.items()},
        {"keys": ["b", "a"], "items": [["a", 1]]},
        annotation=dict,
    ),
    Row(
        "dict, other keys",
        lambda: {None: "b", True: "c", 2.5: "a", DAY: "d", (1, 2): "e"},
        {"null": "b", "true": "c", "2.5": "a", "2026-01-02": "d", "[1,2]": "e"},
        "keys as JSON names",
        dict,
    ),
    Row(
        "dict, keys collide",
        lambda: {"1": "a", 1: "b"},
        {"1": "a", "1 (int)": "b"},
        "both kept, with a notice",
        dict,
        places=("",),
    ),
    Row(
        "OrderedDict, Counter",
        lambda: collections.Counter("aab"),
        {"a": 2, "b": 1},
        annotation=collections.Counter[str],
    ),
    Row("MappingProxyType", lambda: types.MappingProxyType({"a": 1}), {"a": 1}),
    Row("UserDict", lambda: collections.UserDict(a=1), {"a": 1}),
    Row("Mapping", Own, {"a": 1}),
    Row("SimpleNamespace", lambda: types.SimpleNamespace(a=1), {"a": 1}),
    Row("dataclass", lambda: Point(1, 2.5), {"x": 1, "y": 2.5}, annotation=Point),
    Row(
        "dataclass, nested",
        lambda: Line(Point(1, 2.0), Point(3, NAN)),
        {"start": {"x": 1, "y": 2.0}, "end": {"x": 3, "y": None}},
        annotation=Line,
        places=("/end/y",),
    ),
    Row("dataclass, slots and frozen", lambda: Slotted("a"), {"name": "a", "_secret": 2}, annotation=Slotted),
    Row(
        "dataclass, private fields",
        lambda: Private("a"),
        {"name": "a", "_inner": 1, "hidden": "h"},
        "all fields",
        Private,
    ),
    Row("pydantic model", lambda: Person(name="Alice", age=30), {"name": "Alice", "age": 30}, annotation=Person),
    Row("pydantic, alias", lambda: Aliased(userName="a"), {"userName": "a"}, "as in the schema", Aliased),
    Row("pydantic, computed field", lambda: Squared(side=2), {"side": 2, "area": 4}, annotation=Squared),
    Row("pydantic, RootModel", lambda: Numbers([1, 2]), [1, 2], annotation=Numbers),
    Row("pydantic, generic", lambda: Boxed[int](item=1), {"item": 1}, annotation=Boxed[int]),
    Row(
        "pydantic, secret",
        lambda: Login(user="a", password=pydantic.SecretStr("x")),
        {"user": "a", "password": "**********"},
        "masked",
        Login,
    ),
    Row(
        "pydantic, subclass in a field",
        lambda: Team(lead=Employee(name="A", age=1, title="t")),
        {"lead": {"name": "A", "age": 1, "title": "t"}},
        "its own fields kept",
        Team,
    ),
    Row(
        "pydantic, odd field",
        lambda: Loose(value=[Bare()]),
        says="JSON text, where it is named, with a notice",
        texts=['{"value":["shop.Bare object"]}'],
        places=("/value/0",),
    ),
    Row("SecretStr alone", lambda: {"a": pydantic.SecretStr("x")}, {"a": "**********"}, "masked", dict),
    Row("TypedDict", lambda: Movie(title="t", year=1), {"title": "t", "year": 1}, annotation=Movie),
    Row("NamedTuple", lambda: Pair(1, "b"), {"left": 1, "right": "b"}, "an object", Pair),
    Row("attrs", lambda: Ship("a"), {"name": "a", "_tons": 5}, annotation=Ship),
    Row("msgspec.Struct", lambda: Parcel(1.5), {"weightKg": 1.5}, annotation=Parcel),
    Row("SQLite row", _sqlite_row, {"id": 1, "name": "a"}),
    Row("SQLAlchemy row", _row, {"id": 1, "name": "a"}),
    Row(
        "SQLAlchemy row, names twice",
        lambda: _row("select 1 as id, 2 as id"),
        {"id": 1, "id (2)": 2},
        "a number behind the name",
    ),
    Row("SQLAlchemy object", lambda: User(id=1, name="a"), {"id": 1, "name": "a"}, "its loaded columns", User),
    Row("IP address", lambda: ipaddress.ip_address("::1"), "::1", annotation=ipaddress.IPv6Address),
    Row("regular expression", lambda: re.compile("a+"), "a+", "its pattern", re.Pattern),
    Row(
        "numpy scalar",
        lambda: {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)},
        {"a": 0.5, "b": 3, "c": True},
        annotation=dict,
    ),
    Row(
        "numpy longdouble",
        lambda: [np.longdouble("0.5"), np.longdouble("1e400"), np.clongdouble(1 + 2j)],
        [0.5, "1e+400", "1+2j"],
        "a number, or digits when a double cannot hold it",
        list,
    ),
    Row(
        "numpy timedelta64",
        lambda: [np.timedelta64(90, "s"), np.timedelta64(-3, "M"), np.timedelta64(10**18, "s")],
        ["PT1M30S", "-P3M", "PT1000000000000000000S"],
        annotation=list,
    ),
    Row("numpy array", lambda: np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], annotation=np.ndarray),
    Row(
        "numpy dates",
        lambda: np.array(["2026-01-02", "NaT"], "datetime64[D]"),
        ["2026-01-02", None],
        texts=["2026-01-02"],
    ),
    Row("pandas DataFrame", _frame, [{"a": 1, "b": 0.5}, {"a": 2, "b": None}], "a list of rows", pd.DataFrame),
    Row(
        "pandas DataFrame, index",
        lambda: _frame().set_index("a"),
        [{"a": 1, "b": 0.5}, {"a": 2, "b": None}],
        "the index is a column",
    ),
    Row(
        "pandas DataFrame, index named as a column",
        lambda: pd.DataFrame({"a": [1]}, index=pd.Index([5], name="a")),
        [{"a (2)": 5, "a": 1}],
        "a number behind the name",
    ),
    Row(
        "pandas DataFrame, names twice",
        lambda: pd.DataFrame([[1, 2, 3]], columns=["a", "a (2)", "a"]),
        [{"a": 1, "a (2)": 2, "a (3)": 3}],
        "a number behind the name",
    ),
    Row("pandas Series", lambda: pd.Series([1, 2]), [1, 2]),
    Row("pandas Series, index", lambda: pd.Series([1, 2], index=["x", "y"]), {"x": 1, "y": 2}, "an object"),
    Row("pandas Timestamp", lambda: pd.Timestamp("2026-01-02T03:04:05Z"), "2026-01-02T03:04:05Z"),
    Row("polars DataFrame", lambda: pl.DataFrame({"a": [1, None]}), [{"a": 1}, {"a": None}], "a list of rows"),
    Row("polars Series", lambda: pl.Series([1, 2]), [1, 2]),
    Row("Arrow table", lambda: pa.table({"a": [1, 2]}), [{"a": 1}, {"a": 2}], "a list of rows"),
    Row(
        "PIL image",
        lambda: Image.new("RGB", (1, 1)),
        says="image content",
        annotation=Image.Image,
        blocks=[{"type": "image"}],
    ),
    Row(
        "matplotlib figure",
        lambda: Figure(figsize=(0.1, 0.1)),
        says="image content",
        annotation=Figure,
        blocks=[{"type": "image"}],
    ),
    Row("generator", _counting, [0, 1, 2], annotation=Iterator[int]),
    Row("endless generator", _endless, [1] * 10_000, "10,000 items, with a notice", Iterator[int], places=("",)),
    Row("iterator in data", lambda: {"a": iter([1, 2])}, {"a": [1, 2]}, annotation=dict),
    Row("coroutine", _later, {"a": 1}, "what it returns", typing.Coroutine[Any, Any, dict[str, int]], needs_await=True),
    Row("async generator", _stream, [1, 2], "a list", typing.AsyncIterator[int], needs_await=True),
    Row("exception", lambda: ValueError("x"), says="an error result", is_error=True),
    Row(
        "exception group",
        lambda: ExceptionGroup("g", [ValueError("a"), KeyError("b")]),
        says="an error result",
        is_error=True,
    ),
    Row("class", lambda: Bare, says="its name, as text", texts=["shop.Bare"]),
    Row("function", lambda: _counting, says="its name, as text", texts=["shop._counting"]),
    Row("module", lambda: os, says="its name, as text", texts=["os"]),
    Row(
        "function in data",
        lambda: {"f": _counting},
        says="JSON text, where it is named, with a notice",
        annotation=dict,
        texts=['{"f":"shop._counting"}'],
        places=("/f",),
    ),
    Row("object with to_dict", WithDict, {"a": 1}, "what it returns"),
    Row("object with __json__", WithJson, [1, 2], "what it returns"),
    Row("object with __str__", WithStr, says="its text", annotation=WithStr, texts=["CustomObject representation"]),
    Row("object with nothing", Bare, says="its type, no address", annotation=Bare, texts=["shop.Bare object"]),
    Row("object that raises", Raising, says="an error result", is_error=True),
    Row(
        "object that raises, in data",
        lambda: {"a": 1, "b": Raising()},
        says="JSON text, where the rest is kept, with a notice",
        annotation=dict,
        texts=['{"a":1,"b":"[unreadable shop.Raising]"}'],
        places=("/b",),
    ),
    Row(
        "self-reference",
        _knot,
        {"name": "k", "other": {"back": {"$ref": "#"}}},
        "a reference, with a notice",
        Knot,
        places=("/other/back",),
    ),
    Row("shared reference", _shared, [{"a": 1}, {"a": 1}], "written at each place", list),
    Row(
        "10,000 levels",
        lambda: {"a": _deep(10_000)},
        {"a": _cut(189)},
        "cut at 190 levels, with a notice",
        dict,
        places=("/a" + "/0" * 189,),
    ),
    Row(
        "frozenset of 300 levels",
        lambda: {"a": _nested_sets(300)},
        {"a": _cut(189)},
        "cut at 190 levels, with a notice",
        dict,
        places=("/a" + "/0" * 189,),
    ),
    Row(
        "generator that raises, in data",
        lambda: {"a": _breaking()},
        {"a": [1, 2]},
        "what was read, with a notice",
        dict,
        places=("/a",),
    ),
    Row(
        "TextContent", lambda: TextContent(type="text", text="a"), says="the block", annotation=TextContent, texts=["a"]
    ),
    Row(
        "ImageContent",
        lambda: ImageContent(type="image", data="aGk=", mimeType="image/png"),
        says="the block",
        annotation=ImageContent,
        blocks=[{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    ),
    Row(
        "AudioContent",
        lambda: AudioContent(type="audio", data="aGk=", mimeType="audio/wav"),
        says="the block",
        annotation=AudioContent,
        blocks=[{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}],
    ),
    Row(
        "ResourceLink",
        lambda: ResourceLink(type="resource_link", uri="a://b", name="n"),
        says="the block",
        annotation=ResourceLink,
        blocks=[{"type": "resource_link", "uri": "a://b", "name": "n"}],
    ),
    Row(
        "EmbeddedResource",
        lambda: EmbeddedResource(type="resource", resource=TextResourceContents(uri="a://b", text="t")),
        says="the block",
        annotation=EmbeddedResource,
        blocks=[{"type": "resource", "resource": {"uri": "a://b", "text": "t"}}],
    ),
    Row(
        "Block",
        lambda: Block.image(PNG, _meta={"k": 1}, annotations={"priority": 1}),
        says="the block",
        annotation=Block,
        blocks=[{**IMAGE, "_meta": {"k": 1}, "annotations": {"priority": 1}}],
    ),
    Row(
        "list of blocks",
        lambda: [Block.text("a"), [Block.image(PNG)]],
        says="the blocks",
        annotation=list[Block],
        texts=["a"],
        blocks=[IMAGE],
    ),
    Row(
        "blocks and data",
        lambda: ["a", {"b": 1}, Block.image(PNG)],
        says="blocks in order",
        annotation=list[Any],
        texts=["a", '{"b":1}'],
        blocks=[IMAGE],
    ),
    Row(
        "block in data",
        lambda: {"a": Block.image(PNG), "b": 1},
        {"a": {"type": "image", "mimeType": "image/png", "attachment": 0}, "b": 1},
        "attached after the text",
        dict,
        blocks=[IMAGE],
    ),
    Row(
        "pair",
        lambda: ("Operation completed", {"status": "success"}),
        {"status": "success"},
        "content, structured content",
        tuple[str, dict[str, str]],
        texts=["Operation completed"],
    ),
    Row(
        "pair with a model",
        lambda: (Block.image(PNG), Person(name="A", age=1)),
        {"name": "A", "age": 1},
        "content, structured content",
        tuple[Block, Person],
        texts=[],
        blocks=[IMAGE],
    ),
    Row(
        "dict that is a result",
        lambda: {"content": [{"type": "text", "text": "c"}], "structuredContent": {"v": 42}},
        {"v": 42},
        "the result",
        dict,
        texts=["c"],
    ),
    Row(
        "dict that looks like one",
        lambda: {"content": "c", "isError": True},
        {"content": "c", "isError": True},
        "data",
        dict,
    ),
    Row(
        "ToolResult",
        lambda: ToolResult(["a"], {"b": 1}, meta={"k": 1}),
        {"b": 1},
        "the same object",
        ToolResult,
        texts=["a"],
    ),
)


def texts_of(data: Any) -> list[str]:
    """The text blocks that the documentation promises for some data."""
    if data is ABSENT:
        return []
    if isinstance(data, list):
        return [text for item in data for text in texts_of(item)]
    if data is None:
        return ["null"]
    return [data if isinstance(data, str) else json.dumps(data)]


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) and value is ABSENT else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= 70 else text[:60] + "…"
    return shown if value is ABSENT else f"`{shown.replace('|', '&#124;')}`"


def table() -> str:
    """The rows as they stand in the documentation."""
    lines = ["| returned | structured content | said |", "|---|---|---|"]
    lines += [f"| {row.name} | {_cell(row.data)} | {row.says} |" for row in ROWS]
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """A page with the table between its marks."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
