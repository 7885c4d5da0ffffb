"""Text encodings: a JSON body as the cheapest text that can be read back without loss.

Compact JSON always works. A list of rows is shorter as CSV, where an empty cell is a member that the row lacks;
nested uniform data is shorter as TOON. The text then has the body without that part on its first line, on the second
where the part belongs and how it is written, and the part itself below:

    {"success":true,"data":{},"error":null,"meta":{"version":"response-v2"}}
    /data/results as CSV:
    id,name,score
    1,first,0.5
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any, Final

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import ContractError, MissingExtra
from aerogram.tokens import Counter

__all__ = ["cheapest_text", "read_text"]

PAYLOADS: Final = ("data", "results")
FEWEST_ROWS: Final = 2
MOST_HOLES: Final = 2_000
"""Rows whose shapes times their columns are more than this are no table."""
LONGEST_CELL: Final = 131_072
"""What readers of CSV take, unless they are told otherwise."""
_PART: Final = re.compile(r"((?:/[^/\s]*)*) as (CSV|TOON):")
_PLAIN_CELL: Final = re.compile(r"[A-Za-z\u00c0-\uffff][^\r\n\"]*", re.DOTALL)
_JSON_WORDS: Final = frozenset({"true", "false", "null"})

Path = tuple[str, ...]


def cheapest_text(body: Any, counter: Counter | None = None) -> str:
    """The shortest of the encodings, by this counter or by characters."""
    size = counter.count if counter is not None else len
    return min(_encodings(body), key=size)


def read_text(text: str) -> Any:
    """The body in a text that `cheapest_text` wrote."""
    head, _, rest = text.partition("\n")
    if not rest:
        return loads(text)
    where, _, written = rest.partition("\n")
    match = _PART.fullmatch(where)
    if match is None:
        return loads(text)
    try:
        part = _read_csv(written) if match[2] == "CSV" else _read_toon(written)
    except (csv.Error, ValueError) as error:
        raise ContractError(f"what is below is no {match[2]}: {error}") from error
    return _with_part(loads(head), tuple(match[1].split("/")[1:]), part)


def _encodings(body: Any) -> Iterator[str]:
    yield dumps(body).decode()
    for path, rows in _tables(body):
        written = _write_csv(rows)
        if written is not None:
            yield _assemble(body, path, "CSV", written)
    for path, part in _payloads(body):
        written = _write_toon(part)
        if written is not None:
            yield _assemble(body, path, "TOON", written)


def _assemble(body: Any, path: Path, form: str, written: str) -> str:
    head = dumps(_without_part(body, path)).decode() if path else "null"
    pointer = "".join("/" + step for step in path)
    return f"{head}\n{pointer} as {form}:\n{written}"


def _payloads(body: Any) -> Iterator[tuple[Path, Any]]:
    """Where the data of a reply stands: at the top, or under the name that its contract gives it."""
    if isinstance(body, dict):
        for name in PAYLOADS:
            if isinstance(body.get(name), (dict, list)) and body[name]:
                yield (name,), body[name]
                return
    if isinstance(body, list):
        yield (), body


def _tables(body: Any) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for path, part in _payloads(body):
        members = part.items() if isinstance(part, dict) else [("", part)]
        for name, rows in members:
            if _is_table(rows) and "/" not in name and "~" not in name and " " not in name:
                yield (*path, name) if isinstance(part, dict) else path, rows
                return


def _is_table(rows: Any) -> bool:
    """Whether rows are records with the same columns in the same order, some of which a row may lack."""
    if not isinstance(rows, list) or len(rows) < FEWEST_ROWS or not all(isinstance(row, dict) and row for row in rows):
        return False
    shapes = _shapes(rows)
    if len(shapes) * len({name for shape in shapes for name in shape}) > MOST_HOLES:
        return False
    columns = _columns(shapes)
    return all(shape == tuple(name for name in columns if name in shape) for shape in shapes)


def _shapes(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The different sets of members that rows have, in their order; the largest first."""
    return sorted(dict.fromkeys(map(tuple, rows)), key=len, reverse=True)


def _columns(shapes: list[tuple[str, ...]]) -> list[str]:
    """The members of all shapes, each behind the one that it follows in its own."""
    columns: list[str] = []
    for shape in shapes:
        at = 0
        for name in shape:
            if name not in columns:
                columns.insert(at, name)
            at = columns.index(name) + 1
    return columns


def _without_part(body: Any, path: Path) -> Any:
    """A body whose part at the path is missing; what is not on the way there is shared, not copied."""
    if len(path) == 1:
        return {name: value for name, value in body.items() if name != path[0]}
    return {name: _without_part(value, path[1:]) if name == path[0] else value for name, value in body.items()}


def _with_part(body: Any, path: Path, part: Any) -> Any:
    if not path:
        return part
    if not isinstance(body, dict):
        raise ContractError("the text says where a part belongs, and there is no such place", "/" + "/".join(path))
    return {**body, path[0]: _with_part(body.get(path[0], {}), path[1:], part)}


def _write_csv(rows: list[dict[str, Any]]) -> str | None:
    columns = _columns(_shapes(rows))
    if any(not _PLAIN_CELL.fullmatch(name) for name in columns):
        return None
    lines = [columns, *([_cell(row[name]) if name in row else "" for name in columns] for row in rows)]
    if any(len(cell) > LONGEST_CELL for line in lines for cell in line):
        return None
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue().removesuffix("\n")


def _cell(value: Any) -> str:
    """A text as it is when nobody can take it for something else; anything else as JSON."""
    if isinstance(value, str) and value not in _JSON_WORDS and _PLAIN_CELL.fullmatch(value):
        return value
    return dumps(value).decode()


def _read_csv(text: str) -> list[dict[str, Any]]:
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ContractError("the rows of the table differ in length")
    return [{name: _value(cell) for name, cell in zip(rows[0], row, strict=True) if cell} for row in rows[1:]]


def _value(cell: str) -> Any:
    return cell if cell not in _JSON_WORDS and _PLAIN_CELL.fullmatch(cell) else loads(cell)


def _write_toon(part: Any) -> str | None:
    """TOON, if it is installed and gives the same value back, spelled the same: 1.0 equals 1, and is another number."""
    try:
        import toons
    except ImportError:
        return None
    try:
        written: str = toons.dumps(part)
        return written if dumps(toons.loads(written)) == dumps(part) else None
    except (ValueError, TypeError, OverflowError):
        return None


def _read_toon(text: str) -> Any:
    try:
        import toons
    except ImportError:
        raise MissingExtra("text", "toons") from None
    return toons.loads(text)
