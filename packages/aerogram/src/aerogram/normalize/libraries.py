"""Libraries: the forms of types from packages that a caller may have imported.

A package is only looked for among the modules already loaded; this one imports none.
"""

from __future__ import annotations

import datetime as dt
import importlib
import io
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

from aerogram.normalize.forms import Form, base64_text

__all__ = ["library_form"]

Finder = Callable[[Any, type], Form | None]


def library_form(kind: type) -> Form | None:
    """The form of a type that one of the known packages defines, or that derives from one."""
    packages = {str(base.__module__).partition(".")[0] for base in kind.__mro__}
    for name in packages & _FINDERS.keys():
        module = sys.modules.get(name)
        found = _FINDERS[name](module, kind) if module is not None else None
        if found:
            return found
    return None


def _json(convert: Callable[[Any], Any], count: Callable[[Any], int] | None = None) -> Form:
    """A form; `count` says how many items a value holds, each of which takes two bytes at the least."""
    return Form("json", convert, None if count is None else lambda value, _: 2 * count(value))


# numpy


def _numpy(numpy: Any, kind: type) -> Form | None:
    if issubclass(kind, numpy.ndarray):
        return _json(lambda value: _array(numpy, value), operator.attrgetter("size"))
    if issubclass(kind, (numpy.datetime64, numpy.timedelta64)):
        return _json(lambda value: _instant(numpy, value))
    if issubclass(kind, numpy.void):
        return _json(
            lambda value: dict(zip(value.dtype.names, value, strict=True)) if value.dtype.names else value.item()
        )
    if issubclass(kind, (numpy.longdouble, numpy.clongdouble)):
        return _json(_long_number)
    return _json(lambda value: value.item()) if issubclass(kind, numpy.generic) else None


def _long_number(value: Any) -> Any:
    """A number of more than 64 bits: the usual one when that is the same, else its digits, as of a Decimal."""
    usual = complex(value) if value.dtype.kind == "c" else float(value)
    return usual if usual == value or value != value else str(value).strip("()")  # noqa: PLR0124 - NaN is not itself


def _array(numpy: Any, value: Any) -> Any:
    if value.dtype.kind in "mM":
        return _nest(value, lambda item: _instant(numpy, item))
    if value.dtype.names:
        return _nest(value, lambda item: dict(zip(value.dtype.names, item, strict=True)))
    return value.tolist()


def _nest(value: Any, convert: Callable[[Any], Any]) -> Any:
    return (
        convert(value[()])
        if value.ndim == 0
        else [_nest(part, convert) if value.ndim > 1 else convert(part) for part in value]
    )


def _instant(numpy: Any, value: Any) -> Any:
    if numpy.isnat(value):
        return None
    if isinstance(value, numpy.datetime64):
        return str(value)
    return _span(int(value.astype("int64")), *numpy.datetime_data(value.dtype))


_MICROSECONDS = {"W": 604_800_000_000, "D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}
_PARTS = {"ms": 1_000, "us": 1_000_000, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}


def _span(count: int, unit: str, step: int) -> Any:
    """So many units of time; months and years have no length in days, and numpy's reach is longer than Python's."""
    count *= step
    sign, size = "-" if count < 0 else "", abs(count)
    if unit in ("Y", "M"):
        return f"{sign}P{size}{unit}"
    if unit not in _MICROSECONDS and unit not in _PARTS:
        return count
    microseconds = size * _MICROSECONDS[unit] if unit in _MICROSECONDS else size * 1_000_000 // _PARTS[unit]
    try:
        length = dt.timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{sign}PT{microseconds // 1_000_000}S"
    return -length if sign else length


# pandas, polars and Arrow: a table is a list of rows, each an object


def _pandas(pandas: Any, kind: type) -> Form | None:
    if issubclass(kind, pandas.DataFrame):
        return _json(lambda value: _frame(pandas, value), operator.attrgetter("size"))
    if issubclass(kind, pandas.Series):
        return _json(lambda value: _series(pandas, value), len)
    if issubclass(kind, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        return _json(lambda value: _column(pandas, value), len)
    if kind in (type(pandas.NaT), type(pandas.NA)):
        return _json(lambda _: None)
    return _json(str) if issubclass(kind, (pandas.Period, pandas.Interval)) else None


def _column(pandas: Any, values: Any) -> list[Any]:
    """The values of a column; what pandas calls missing is null."""
    items = values.tolist()
    missing = pandas.isna(values).tolist() if items else []
    return [None if gone is True else item for item, gone in zip(items, missing, strict=True)]


def _frame(pandas: Any, value: Any) -> list[Any]:
    columns = [_column(pandas, value.iloc[:, place]) for place in range(value.shape[1])]
    levels = [] if _is_counted(pandas, value.index) else _levels(value.index)
    names = _distinct([*value.columns.tolist(), *(name for name, _ in levels)])  # a column keeps its name
    names = names[len(columns) :] + names[: len(columns)]
    columns = [_column(pandas, level) for _, level in levels] + columns
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else []


def _levels(index: Any) -> list[tuple[Any, Any]]:
    """The columns that an index is made of, with their names."""
    default = "index" if index.nlevels == 1 else "level_{}"
    names = [default.format(place) if name is None else name for place, name in enumerate(index.names)]
    return [(name, index.get_level_values(place)) for place, name in enumerate(names)]


def _is_counted(pandas: Any, index: Any) -> bool:
    """Whether an index only counts the rows, and so says nothing."""
    return isinstance(index, pandas.RangeIndex) and index.name is None and index.start == 0 and index.step == 1


def _distinct(names: Iterable[Any]) -> list[Any]:
    """Column names, with a number behind those that stand twice."""
    taken: dict[Any, None] = {}
    counts: dict[Any, int] = {}
    for name in names:
        free, count = name, counts.get(name, 1)
        while free in taken:
            count += 1
            free = f"{name} ({count})"
        counts[name], taken[free] = count, None
    return list(taken)


def _series(pandas: Any, value: Any) -> Any:
    values = _column(pandas, value)
    if _is_counted(pandas, value.index):
        return values
    return dict(zip(_distinct(value.index.tolist()), values, strict=True))


def _polars(polars: Any, kind: type) -> Form | None:
    if issubclass(kind, polars.DataFrame):
        return _json(operator.methodcaller("to_dicts"), lambda value: value.height * value.width)
    if issubclass(kind, polars.LazyFrame):
        return _json(lambda value: value.collect().to_dicts())
    return _json(operator.methodcaller("to_list"), len) if issubclass(kind, polars.Series) else None


def _arrow(pyarrow: Any, kind: type) -> Form | None:
    if issubclass(kind, (pyarrow.Table, pyarrow.RecordBatch)):
        return _json(operator.methodcaller("to_pylist"), lambda value: value.num_rows * value.num_columns)
    if issubclass(kind, (pyarrow.Array, pyarrow.ChunkedArray)):
        return _json(operator.methodcaller("to_pylist"), len)
    return _json(operator.methodcaller("as_py")) if issubclass(kind, pyarrow.Scalar) else None


# SQLite and SQLAlchemy


def _named_row(names: Iterable[str], row: Iterable[Any]) -> dict[str, Any]:
    """A row by the names of its columns; a query may have two of one name, of the two tables that it joins."""
    names, values = list(names), list(row)
    found = dict(zip(names, values, strict=True))
    return found if len(found) == len(values) else dict(zip(_distinct(names), values, strict=True))


def _sqlite(sqlite3: Any, kind: type) -> Form | None:
    return _json(lambda row: _named_row(row.keys(), row)) if issubclass(kind, sqlite3.Row) else None


def _sqlalchemy(sqlalchemy: Any, kind: type) -> Form | None:
    if issubclass(kind, sqlalchemy.Row):
        return _json(lambda row: _named_row(row._fields, row))
    if issubclass(kind, sqlalchemy.Result):
        return Form("iterator", iter)
    return None


def _columns_form(orm: Any, kind: type) -> Form | None:
    """An object of a mapped class: its loaded columns; nothing is fetched for it."""
    names = [column.key for column in orm.class_mapper(kind).column_attrs]
    return _json(lambda value: {name: value.__dict__[name] for name in names if name in value.__dict__})


def mapped_form(kind: type) -> Form | None:
    """The form of a class that SQLAlchemy maps to a table."""
    orm = sys.modules.get("sqlalchemy.orm")
    return _columns_form(orm, kind) if orm is not None and hasattr(kind, "__mapper__") else None


# Pictures


def _pillow(_: Any, kind: type) -> Form | None:
    image = sys.modules.get("PIL.Image")
    return Form("block", _picture) if image is not None and issubclass(kind, image.Image) else None


def _picture(value: Any) -> dict[str, Any]:
    if value.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        value = value.convert("RGB")
    return _png(lambda stream: value.save(stream, format="PNG"))


def _matplotlib(_: Any, kind: type) -> Form | None:
    figure = sys.modules.get("matplotlib.figure")
    if figure is None or not issubclass(kind, figure.Figure):
        return None
    return Form("block", lambda value: _png(lambda stream: value.savefig(stream, format="png")))


def _png(save: Callable[[io.BytesIO], Any]) -> dict[str, Any]:
    stream = io.BytesIO()
    save(stream)
    return {"type": "image", "data": base64_text(stream.getbuffer()), "mimeType": "image/png"}


# The MCP packages: their content types, and the small helpers that make them

_BLOCKS = ("TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")
_MAKERS = ("to_image_content", "to_audio_content", "to_resource_content")


def _mcp_block(_: Any, kind: type) -> Form | None:
    types = sys.modules.get("mcp_types") or importlib.import_module("mcp.types")
    if issubclass(kind, tuple(getattr(types, name) for name in _BLOCKS)):
        return Form("block", _dump)
    return _maker(_, kind)


def _maker(_: Any, kind: type) -> Form | None:
    for name in _MAKERS:
        if hasattr(kind, name):
            return Form("block", lambda value, name=name: _dump(getattr(value, name)()))  # type: ignore[misc]
    return None


def _dump(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


_FINDERS: dict[str, Finder] = {
    "numpy": _numpy,
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _arrow,
    "sqlalchemy": _sqlalchemy,
    "sqlite3": _sqlite,
    "PIL": _pillow,
    "matplotlib": _matplotlib,
    "mcp_types": _mcp_block,
    "mcp": _mcp_block,
    "fastmcp": _maker,
}
