"""Tables: columns that are called like a secret, in a text and in data.

    user,password        | user | password |      {"columns": ["user", "password"],      [["user", "password"],
    ada,…                |------|----------|       "rows": [["ada", …]]}                  ["ada", …]]
                         | ada  | …        |

In a text a header is a line of names with commas, tabs or semicolons between them, or one with bars above a line of
dashes; the table goes on for as long as its lines have as many cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

__all__ = ["Cell", "are_rows", "columns_of", "find_cells"]

FEWEST: Final = 2
SURE_ROWS: Final = 3
"""So many lines with as many commas are no sentences, although there is a space after each comma."""
LONGEST_HEADER: Final = 4_000
MOST_WORDS: Final = 3
MOST_COLUMNS: Final = 1_000
_MARKS: Final = ",\t;"
_NAME: Final = re.compile(r"[^\W\d][\w.\- ]{0,39}")
_RULE: Final = re.compile(r"(?=.*--)[ \t:=|+\-]++")
_BAR: Final = re.compile(r"(?<!\\)[|]")
_CELLS: Final = {
    mark: re.compile(
        rf'[ ]*+(?:"(?P<quoted>(?:[^"]|""){{0,4000}}+)"|(?P<bare>[^{mark}\r\n]*+))[ ]*+(?P<end>[{mark}]|\r?\n|\Z)'
    )
    for mark in _MARKS
}
_COLUMN_NAMES: Final = ("name", "field", "column_name", "column", "id", "key", "label")

MayBeSecret = Callable[[str], bool]
"""Whether a name may be a secret's."""
Span = tuple[int, int]


class Cell(NamedTuple):
    """A cell of a text: it stands from `start` to `end`, in a column of that name."""

    name: str
    start: int
    end: int


# In a text


def find_cells(text: str, may_be_secret: MayBeSecret) -> Iterator[Cell]:
    """The cells of a text that stand in columns which may be secret, from left to right."""
    position = 0
    while position < len(text):
        end = _line_end(text, position)
        line = text[position : min(end, position + LONGEST_HEADER + 1)]
        read = _read_bars if "|" in line else _read_marks
        cells, position = read(text, line, end + 1, may_be_secret) if len(line) <= LONGEST_HEADER else ([], end + 1)
        yield from cells


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _read_bars(text: str, line: str, position: int, may_be_secret: MayBeSecret) -> tuple[list[Cell], int]:
    """The secret cells below a line with bars, if it is a header, and where to go on."""
    names = [line[start:end] for start, end in _between_bars(line)]
    chosen = [at for at, name in enumerate(names) if may_be_secret(name)]
    below = _line_end(text, position)
    if len(names) < FEWEST or not chosen or not _RULE.fullmatch(text[position:below].rstrip()):
        return [], position
    cells: list[Cell] = []
    position = below + 1
    while position < len(text):
        end = _line_end(text, position)
        row = text[position:end]
        spans = _between_bars(row)
        if len(spans) == len(names):
            cells += [Cell(names[at], position + spans[at][0], position + spans[at][1]) for at in chosen]
        elif not _RULE.fullmatch(row.rstrip()):
            break
        position = end + 1
    return cells, position


def _between_bars(line: str) -> list[Span]:
    """Where the cells of a line stand, without the spaces around them."""
    line = line.rstrip()
    bars = [-1, *(found.start() for found in _BAR.finditer(line)), len(line)]
    spans = [(start + 1, end) for start, end in pairwise(bars)]
    if spans and not line[slice(*spans[0])].strip():
        del spans[0]
    if spans and not line[slice(*spans[-1])].strip():
        del spans[-1]
    return [_strip(line, *span) for span in spans]


def _strip(text: str, start: int, end: int) -> Span:
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    return start, start + len(inner.strip())


def _read_marks(text: str, line: str, position: int, may_be_secret: MayBeSecret) -> tuple[list[Cell], int]:
    """The secret cells below a line with commas, tabs or semicolons, if it is a header, and where to go on."""
    mark = next((one for one in _MARKS if one in line), None)
    names = [] if mark is None else [name.strip(' "\r\ufeff') for name in line.split(mark)]
    chosen = [at for at, name in enumerate(names) if may_be_secret(name)]
    if mark is None or not chosen or not all(map(_is_name, names)):
        return [], position
    cells: list[Cell] = []
    rows, begin = 0, position
    while position < len(text):
        spans, after = _read_row(text, position, mark, len(names))
        if len(spans) != len(names):
            break
        cells += [Cell(names[at], *spans[at]) for at in chosen]
        rows, position = rows + 1, after
    is_sure = rows >= SURE_ROWS or mark == "\t" or f"{mark} " not in line
    return (cells, position) if is_sure else ([], begin)


def _is_name(cell: str) -> bool:
    return _NAME.fullmatch(cell) is not None and len(cell.split()) <= MOST_WORDS


def _read_row(text: str, position: int, mark: str, most: int) -> tuple[list[Span], int]:
    """Where the cells of a row stand, one too many at most, and where the next row begins."""
    spans: list[Span] = []
    while len(spans) <= most:
        found = _CELLS[mark].match(text, position)
        if found is None:
            return [], position
        spans.append(found.span("quoted") if found["quoted"] is not None else _strip(text, *found.span("bare")))
        position = found.end()
        if found["end"] != mark:
            break
    return spans, position


# In data


def columns_of(table: Sequence[Any] | Mapping[str, Any], may_be_secret: MayBeSecret) -> Sequence[str]:
    """The names of the columns of a table, where one may be a secret's; nothing where it is no table."""
    return _columns_beside(table, may_be_secret) if isinstance(table, Mapping) else _columns_above(table, may_be_secret)


def _columns_above(rows: Sequence[Any], may_be_secret: MayBeSecret) -> Sequence[str]:
    header = rows[0] if rows else None
    if not isinstance(header, (list, tuple)) or not _are_names(header) or not are_rows(rows[1:], len(header)):
        return ()
    if len(header) == FEWEST and may_be_secret(header[0]):
        return ()  # of pairs, the first is the name of the second
    return header if any(map(may_be_secret, header)) else ()


def _columns_beside(members: Mapping[str, Any], may_be_secret: MayBeSecret) -> Sequence[str]:
    for held in members.values():
        if isinstance(held, (list, tuple)) and FEWEST <= len(held) <= MOST_COLUMNS:
            names = [_column_name(one) for one in held]
            if _are_names(names) and any(map(may_be_secret, names)):
                return names
    return ()


def are_rows(value: Any, width: int) -> bool:
    """Whether a value is a list of rows of so many cells."""
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(row, (list, tuple)) and len(row) == width for row in value)
    )


def _are_names(header: Sequence[Any]) -> bool:
    return len(header) >= FEWEST and all(isinstance(one, str) and _is_name(one) for one in header)


def _column_name(one: Any) -> Any:
    if not isinstance(one, Mapping):
        return one
    return next((one[name] for name in _COLUMN_NAMES if isinstance(one.get(name), str)), None)
