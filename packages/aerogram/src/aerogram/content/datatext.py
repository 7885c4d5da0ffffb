"""Data text: data that stands in a text, read as data and written again in the form that it came in.

    JSON        an object or an array that is all of the text
    lines       a JSON object in each line
    blocks      several texts, each a JSON object
    Python      an object or a list of objects, as `str` writes it
    Markdown    a table that is all of the text
    CSV         a header of two or more unique names, and three or more rows of as many cells

What is not quite one of these is a text. Cells stay texts: a table says nothing about numbers.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from gc import get_referents, is_tracked
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from aerogram.content import LONG_DIGITS, ZEROS
from aerogram.content.jsontext import STRICT as _READER
from aerogram.content.jsontext import dumps
from aerogram.errors import ContractError

__all__ = ["BETWEEN", "DataText", "read_data", "read_python"]

Write: TypeAlias = Callable[[Any], str]
Row: TypeAlias = dict[str, Any]

BETWEEN: Final = "\x1e"
"""What stands between the texts of several blocks; no JSON has it in a text."""
FEWEST_COLUMNS: Final = 2
FEWEST_ROWS: Final = 3
LONGEST_NAME: Final = 40
MOST_WORDS: Final = 4
LONGEST_PYTHON: Final = 1_000_000
"""Characters; to read what Python writes takes longer than to read JSON."""
_LOOKED_AT: Final = 10_000
_DELIMITERS: Final = (",", "\t", ";")
_DELIMITER_ROW: Final = re.compile(r"\s*+\|?\s*+:?-{2,}+:?\s*+(?:\|\s*+:?-{2,}+:?\s*+)+\|?\s*")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_NAME: Final = re.compile(r"[^\W\d][\w .()/%#$€&+-]*")
_INDENT: Final = re.compile(r"[\[{]\r?\n( +|\t)")
_PYTHON: Final = re.compile(r"\s*\[?\{'")
_TOKEN: Final = re.compile(
    r"""'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|None|True|False""", re.DOTALL
)
"""A text goes on to its end or to that of everything, so that none is looked for in the middle of another."""
_STRING_OR_NUMBER: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')
_HALVES: Final = ("\\ud", "\\uD")
_MOST_LEVELS: Final = 254
_SURE_DIGITS: Final = 15
"""So many digits of a number are in its float."""
_LONG_SHAPES: Final = tuple(b"0" * before + b"." + b"0" * (16 - before) for before in range(1, 16))
"""More digits than those, wherever their point is."""
_LIKELY_SHAPES: Final = (b"00000.0", b".00000000000")
"""One of these is in each of them."""
_WRITTEN_OTHERWISE: Final = ('"', "\\", "\x7f")
"""What stands in a text where Python writes it in other words than JSON does."""
_BLANKS: Final = b" \n\r\t"
_PLAIN_KINDS: Final = frozenset((str, int, float))
_UNSPACED: Final = re.compile(r"'[:,](?! )")
_SINGLE_QUOTES: Final = bytes.maketrans(b'"', b"'")
_WORDS: Final = {"None": "null", "True": "true", "False": "false"}


class DataText(NamedTuple):
    """Data that was read from texts, and what writes such data, or a part of it, as they were written.

    `digits` are those of numbers that say more than a float holds, by what would be written for the float.
    """

    value: Any
    write: Write
    digits: Mapping[str, str] = MappingProxyType({})

    def exactly(self) -> DataText:
        """The same, written with all digits."""
        return self._replace(write=_with_digits(self.write, self.digits)) if self.digits else self

    def write_part(self, part: Any) -> str:
        """A part of the data as compact JSON."""
        return _with_digits(lambda value: dumps(value).decode(), self.digits)(part)


def read_data(texts: Sequence[str]) -> DataText | None:
    """The data that some texts hold; None where they are texts and nothing else."""
    if len(texts) != 1:
        return _read_blocks(texts)
    text = texts[0]
    first = text.lstrip()[:1]
    if _PYTHON.match(text):
        return read_python(text)
    if first and first in "{[":
        return _read_json(text) or _read_lines(text)
    return _read_markdown(text) if first == "|" or "|" in text[:200] else _read_csv(text)


# JSON


def _parse(text: str) -> Any:
    """The object or array that a text is; None for anything else, and where something in it would be lost."""
    return _parse_with_digits(text)[0]


def _parse_with_digits(text: str) -> tuple[Any, Mapping[str, str]]:
    """As `_parse`, and the numbers that say more than a float holds."""
    head = text[:_LOOKED_AT]
    if LONG_DIGITS not in head.encode(errors="replace").translate(ZEROS) and not _has_escape(head, "\\u"):
        value = _load(text)
        is_whole = False if value is None else _is_written_so(value, text)
        if is_whole is not None:
            return (value, {}) if is_whole else (None, {})
    try:
        zeros = text.encode().translate(ZEROS)
    except UnicodeEncodeError:  # half a surrogate pair
        return None, {}
    value = _load_all(text) if LONG_DIGITS in zeros else _load(text)
    digits = None if value is None or _loses_something(text, value) else _find_long_numbers(text, zeros)
    return (None, {}) if digits is None else (value, digits)


def _load(text: str) -> Any:
    """The object or array that a text is, with floats for integers of more than 64 bits; None for anything else."""
    try:
        value = orjson.loads(text)
    except ValueError:  # half a surrogate pair among them
        return None
    return value if isinstance(value, (dict, list)) and value else None


def _load_all(text: str) -> Any:
    """As `_load`, with all digits of integers; it takes longer."""
    try:
        value = _READER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and value else None


def _is_written_so(value: Any, text: str) -> bool | None:
    """Whether a text is the JSON of a value but for blanks, as it mostly is: then nothing of it is lost.

    It is not where a name was there twice. What is written otherwise may be as good; that is not known then.
    """
    try:
        written = orjson.dumps(value).translate(None, _BLANKS)
    except TypeError:  # too many levels
        return False
    said = text.encode().translate(None, _BLANKS)
    if written == said:
        return True
    return False if said.count(b'":') > written.count(b'":') else None


def _read_json(text: str) -> DataText | None:
    value, digits = _parse_with_digits(text)
    return None if value is None else DataText(value, _json_writer(text), digits).exactly()


def _loses_something(text: str, value: Any) -> bool:
    """Whether a value cannot be written as it stood there, such as two members of one name and numbers without end."""
    try:
        written = orjson.dumps(value)
    except TypeError as error:  # the reader of longer integers has seen to names and to other numbers
        may_be_half = any(_has_escape(text, half) for half in _HALVES)
        return "64-bit" not in str(error) or _is_deep(value) or (may_be_half and not _is_whole(value))
    nulls = written.count(b"null")
    if nulls and nulls > text.count("null"):  # for what JSON has no number for
        return True
    spaced = text.count('" :')
    told, read = text.count('":') + spaced, written.count(b'":') + (written.count(b'" :') if spaced else 0)
    if told > read:
        return True
    # more space before a colon, or quotes that are written otherwise
    is_unsure = told < read or _has_escape(text, "\\u0022")
    return is_unsure and _has_pairs_twice(text)


def _has_escape(text: str, escape: str) -> bool:
    return "\\" in text and escape in text  # to look for one character is much quicker


def _is_deep(value: Any) -> bool:
    """Whether a value has more levels than can be written."""
    level: Sequence[Any] = (value,)
    for _ in range(_MOST_LEVELS):
        level = [one for one in filter(is_tracked, get_referents(*level)) if isinstance(one, (dict, list))]
        if not level:
            return False
    return True


def _is_whole(value: Any) -> bool:
    try:
        dumps(value)
    except ContractError:  # half a surrogate pair
        return False
    return True


def _has_pairs_twice(text: str) -> bool:
    twice = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            twice.append(True)

    json.loads(text, object_pairs_hook=look)
    return bool(twice)


def _json_writer(text: str, *others: str) -> Write:
    """What writes JSON as a text has it: in lines or not, with spaces or not, in letters or their numbers."""
    is_escaped = any(_has_escape(one, "\\u") for one in (text, *others)) and all(
        one.isascii() for one in (text, *others)
    )
    indent = _INDENT.match(text.lstrip())
    if indent is not None:
        width: Any = indent[1] if indent[1] == "\t" else len(indent[1])
        if width == 2 and not is_escaped:  # noqa: PLR2004 - what orjson writes
            return lambda value: dumps(value, indent=True).decode()
        return lambda value: json.dumps(value, indent=width, ensure_ascii=is_escaped)
    if '": ' in text[:1000] or is_escaped:
        separators = (", ", ": ") if '": ' in text[:1000] else (",", ":")
        return lambda value: json.dumps(value, ensure_ascii=is_escaped, separators=separators)
    return lambda value: dumps(value).decode()


def _read_lines(text: str) -> DataText | None:
    """JSON objects, one in each line."""
    lines = text.strip().splitlines()
    if len(lines) < FEWEST_COLUMNS:
        return None
    rows = []
    for line in lines:
        row = _parse(line) if line[:1] == "{" else None
        if not isinstance(row, dict):
            return None
        rows.append(row)
    write, digits = _json_writer(lines[0], text), _find_long_numbers(text, text.encode().translate(ZEROS))
    if digits is None:
        return None
    return DataText(rows, lambda shown: "\n".join(map(write, _as_list(shown))), digits).exactly()


def _read_blocks(texts: Sequence[str]) -> DataText | None:
    """Several texts that are a JSON object each."""
    rows = [_parse(text) if text.lstrip()[:1] == "{" else None for text in texts]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    together = "\n".join(texts)
    write, digits = _json_writer(*texts), _find_long_numbers(together, together.encode().translate(ZEROS))
    if digits is None:
        return None
    return DataText(rows, lambda shown: BETWEEN.join(map(write, _as_list(shown))), digits).exactly()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# Numbers that say more than a float holds


def _find_long_numbers(text: str, zeros: bytes) -> Mapping[str, str] | None:
    """Such numbers as they stand in JSON, by what would be written for their floats; None where two are one float."""
    for shapes in ((b".",), _LIKELY_SHAPES, _LONG_SHAPES):  # the quickest to look for first
        if not any(shape in zeros for shape in shapes):
            return {}
    numbers = {found[1] for found in _STRING_OR_NUMBER.finditer(text) if found[1] and not found[1].isdigit()}
    rounded = [one for one in numbers if len(one) > _SURE_DIGITS and _is_rounded(one)]
    found = {written: one for one in rounded for written in _spellings(one)}
    is_clear = all(found[written] == one for one in numbers for written in _spellings(one) if written in found)
    return found if is_clear else None


def _is_rounded(number: str) -> bool:
    try:
        return Decimal(number) != Decimal(repr(float(number)))
    except InvalidOperation:  # an exponent that no decimal has, and much less a float
        return True


def _spellings(number: str) -> set[str]:
    value = float(number)
    return {repr(value), orjson.dumps(value).decode()}


def _with_digits(write: Write, digits: Mapping[str, str]) -> Write:
    def replace(found: re.Match[str]) -> str:
        return digits.get(found[0], found[0])

    return lambda value: _STRING_OR_NUMBER.sub(replace, write(value))


# Python


def read_python(text: str) -> DataText | None:
    """Objects in the words of Python, of which nothing is lost: written again they are the same text."""
    if not _PYTHON.match(text) or len(text) > LONGEST_PYTHON:
        return None
    said = text.strip()
    # the first is quick, and right where no text has a quote in it; a longer integer is seen to be another number
    for put_in_json in (_swap_quotes, _put_in_json):
        value = _load(put_in_json(said))
        if value is not None and (_is_written_alike(value, said) or repr(value) == said):
            return DataText(value, repr)
    value = _load_all(_put_in_json(said)) if LONG_DIGITS in said.encode(errors="replace").translate(ZEROS) else None
    return DataText(value, repr) if value is not None and repr(value) == said else None


def _swap_quotes(text: str) -> str:
    swapped = text.replace("'", '"')
    for word, name in _WORDS.items():
        if word[0] in swapped:  # which is quick to tell
            swapped = swapped.replace(f": {word}", f": {name}")
    return swapped


def _is_written_alike(value: Any, said: str) -> bool:
    """Whether Python would write a value as it is said, judged by its JSON, which takes a fraction of the time.

    Spaces are looked at in the beginning alone: those inside of texts were read from there, others say nothing.
    """
    if not said.isascii() or any(sign in said for sign in _WRITTEN_OTHERWISE) or _UNSPACED.search(said, 0, 1000):
        return False
    try:
        written = orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits
        return False
    for word, name in () if _has_no_words(value) else _WORDS.items():
        written = written.replace(f":{name}".encode(), f":{word}".encode())
    return written.translate(_SINGLE_QUOTES, b" ") == said.encode().translate(None, b" ")


def _has_no_words(value: Any) -> bool:
    """Whether objects hold texts and numbers alone; to look for words among all letters takes longer."""
    rows = value if isinstance(value, list) else [value]
    are_flat = set(map(type, rows)) == {dict}
    return are_flat and _PLAIN_KINDS.issuperset(map(type, chain.from_iterable(map(dict.values, rows))))


def _put_in_json(text: str) -> str:
    return _TOKEN.sub(lambda found: _WORDS.get(found[0]) or _requote(found[0]), text)


def _requote(quoted: str) -> str:
    inner = quoted[1:-1]
    if "\\" not in inner and '"' not in inner:
        return f'"{inner}"'
    try:
        return json.dumps(ast.literal_eval(quoted))
    except (SyntaxError, ValueError):  # no such escape
        return quoted


# Tables


def _read_markdown(text: str) -> DataText | None:
    lines = text.strip().splitlines()
    if len(lines) <= FEWEST_COLUMNS or not _DELIMITER_ROW.fullmatch(lines[1]):
        return None
    names, delimiters, *rows = map(_markdown_cells, lines)
    if not _are_rows(names, rows) or len(delimiters) != len(names):
        return None
    marks = dict(zip(names, delimiters, strict=True))

    def write(shown: Any) -> str:
        columns = _columns(shown, names)
        above = [columns, [marks.get(name, "---") for name in columns]]
        cells = [[_cell(row.get(name)) for name in columns] for row in _records(shown)]
        written = ("| " + " | ".join(_escape_cell(one) for one in row) + " |" for row in above + cells)
        return "\n".join(written)

    return DataText([dict(zip(names, row, strict=True)) for row in rows], write)


def _markdown_cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if "\\" not in inner:
        return [cell.strip() for cell in inner.removesuffix("|").split("|")]
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]


def _escape_cell(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def _read_csv(text: str) -> DataText | None:
    head = text.lstrip("\ufeff").split("\n", 1)[0]
    delimiter = next((one for one in _DELIMITERS if one in head), None)
    if delimiter is None:
        return None
    try:
        if not all(map(_is_name, next(csv.reader([head], delimiter=delimiter)))):
            return None
        read = csv.reader(io.StringIO(text.strip("\r\n"), newline=""), delimiter=delimiter, strict=True)
        names, *rows = [row for row in read]  # noqa: C416 - between rows another thread may have its turn
    except csv.Error:  # a line that ends in its middle, a cell of very many letters
        return None
    if len(rows) < FEWEST_ROWS or not _are_rows(names, rows) or _is_prose(rows, delimiter):
        return None
    end = "\r\n" if "\r\n" in text else "\n"

    def write(shown: Any) -> str:
        columns, out = _columns(shown, names), io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
        writer.writerow(columns)
        writer.writerows([_cell(row.get(name)) for name in columns] for row in _records(shown))
        return out.getvalue().removesuffix(end)

    return DataText([dict(zip(names, row, strict=True)) for row in rows], write)


def _is_name(cell: str) -> bool:
    """Whether a cell can be the name of a column: no number, no sentence, and no space before it."""
    is_short = 0 < len(cell) <= LONGEST_NAME and len(cell.split()) <= MOST_WORDS
    return is_short and _NAME.fullmatch(cell) is not None and not cell.endswith((".", " "))


def _is_prose(rows: list[list[str]], delimiter: str) -> bool:
    """Whether most of what stands between commas begins with a space, as in sentences."""
    later = [cell for row in rows for cell in row[1:]]
    return delimiter != "\t" and sum(cell.startswith(" ") for cell in later) * 2 > len(later)


def _are_rows(names: list[str], rows: list[list[str]]) -> bool:
    is_header = len(names) >= FEWEST_COLUMNS and len({*names}) == len(names) and all(names)
    return is_header and bool(rows) and all(len(row) == len(names) for row in rows)


def _records(shown: Any) -> Iterable[Row]:
    return (row for row in _as_list(shown) if isinstance(row, dict))


def _columns(shown: Any, names: Sequence[str]) -> list[str]:
    """The columns of what is shown, in their order; a row that is cut may have one of its own."""
    held = {name for row in _records(shown) for name in row}
    return [name for name in names if name in held or not held] + sorted(held.difference(names))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    try:
        return value if isinstance(value, str) else dumps(value).decode()
    except ContractError:
        return str(value)
