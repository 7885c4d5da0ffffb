"""Facts: what a person would put in a table about a record: what it is called, how it stands, when, and how much.

    {"id": 2200000000, "number": 4000, "title": "Cursors expire", "state": "closed", "user": {"login": "ada"},
     "labels": [{"name": "docs"}], "comments": 32}

The columns are chosen once for a list, from records all over it, so that they are the same on each page of a walk.
Nothing in a cell is cut but words: an identifier, a path, a number, a date stands whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from aerogram.jsontext import dumps
from aerogram.shape.announced import announced_in
from aerogram.shape.text import clip

__all__ = ["Facts", "cell", "choose_facts", "is_identifier", "is_moment", "spread"]

Record = Mapping[str, Any]

MOST_COLUMNS: Final = 12
LONGEST_CELL: Final = 80
MOST_CHARACTERS: Final = 240
"""How much of a row its facts take up at most, in JSON: about sixty tokens."""
SAMPLED: Final = 100
FEW_VALUES: Final = 12
WORTH: Final = 0.6
"""Where facts take up more than this share of the records, the records are shown themselves."""
_FEW_MEMBERS: Final = 4
_FEW_ELEMENTS: Final = 5
_MOST_NUMBERS: Final = 3
_WORDY: Final = 20

_IDENTIFIERS: Final = ("id", "number", "key", "sha", "iid", "sku", "code", "symbol", "_id", "uuid")
_TITLES: Final = (
    *("title", "name", "subject", "headline", "full_name", "display_name", "label", "heading", "filename"),
    *("path", "file", "message", "msg", "question", "event", "summary", "source_file"),
)
_DESCRIPTIONS: Final = ("description", "body", "text", "content", "snippet", "excerpt", "abstract", "details")
_STATES: Final = (
    *("state", "status", "level", "severity", "priority", "type", "kind", "category", "result", "outcome"),
    *("stage", "phase", "version", "language", "role", "success", "method"),
)
_PEOPLE: Final = ("author", "user", "owner", "assignee", "by", "from", "to", "creator", "sender", "committer", "login")
_DATES: Final = (
    *("date", "created_at", "created", "published_at", "published", "time", "timestamp", "when", "datetime", "day"),
    *("updated_at", "updated", "modified", "started_at", "start", "due"),
)
_NAMING: Final = ("name", "login", "title", "label", "display_name", "username", "full_name", "email", "key")
_OPAQUE_NAMES: Final = ("_id", "Id", "ID", "_uuid", "guid", "etag", "_hash", "token", "cursor", "node_id")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S|mailto:|data:", re.IGNORECASE)
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}\S*)?|\d{2}:\d{2}(:\d{2}\S*)?")
_OPAQUE: Final = re.compile(r"(?=.*\d)[0-9a-fA-F-]{16,}|(?=.*\d)(?=.*[A-Z])[A-Za-z0-9_+/=-]{20,}")
_BLANK: Final = re.compile(r"\s")


@dataclass(frozen=True)
class Facts:
    """The columns of a table of records."""

    columns: tuple[str, ...]

    def show(self, record: Any) -> Any:
        """The facts of a record; whatever is no record is shown as it is."""
        if not isinstance(record, dict):
            return record
        announced = announced_in(record)
        gone = () if announced is None else (announced.member, announced.type_member)  # a half of it is of no type
        wanted = [name for name in self.columns if name not in gone]
        cells = ((name, cell(record[name])) for name in record if name in wanted)
        return {name: shown for name, shown in cells if shown is not None}


def choose_facts(rows: Sequence[Any], wanted: Sequence[str] = ()) -> Facts | None:
    """The facts of the records of a list, or those that are wanted; None where the records themselves cost no more."""
    sample = [row for row in spread(rows, SAMPLED) if isinstance(row, dict)]
    if not sample:
        return None
    if wanted:
        return Facts(tuple(wanted))
    survey = _survey(sample)
    facts = Facts(_choose_columns(survey, len(sample)))
    if all(survey[name].is_name for name in facts.columns):
        return None  # names alone tell nothing
    shown = sum(len(dumps(facts.show(row))) for row in sample)
    return facts if shown <= WORTH * sum(len(dumps(row)) for row in sample) else None


def spread(rows: Sequence[Any], most: int) -> Sequence[Any]:
    """Items from all over a list, at distances that are not all alike: every third row may be of one kind."""
    if len(rows) <= most:
        return rows
    width = len(rows) / most
    return [rows[int(at * width) + at * 7919 % max(int(width), 1)] for at in range(most)]


# Columns


class _Column(NamedTuple):
    """What a sample says about one member: its cells, in how many records it is, and how many cells differ."""

    name: str
    cells: list[Any]
    kinds: set[type]
    distinct: int
    length: float

    @property
    def holds_words(self) -> bool:
        return self.kinds == {str}

    @property
    def holds_numbers(self) -> bool:
        return bool(self.kinds) and self.kinds <= {int, float}

    @property
    def is_few_valued(self) -> bool:
        is_short = self.kinds <= {str, bool, int} and self.length <= LONGEST_CELL // 2 and not self.is_date
        return is_short and 1 < self.distinct <= min(FEW_VALUES, max(len(self.cells) // 2, 2))

    @property
    def is_constant(self) -> bool:
        return self.distinct == 1 and len(self.cells) > 1

    @property
    def is_date(self) -> bool:
        return self.holds_words and all(map(is_moment, self.cells))

    @property
    def is_opaque(self) -> bool:
        """Whether it only tells one thing from another, and nothing about it."""
        return self.name.endswith(_OPAQUE_NAMES) or self.is_random

    @property
    def is_name(self) -> bool:
        """Whether it is an identifier, and tells nothing else."""
        return self.name in _IDENTIFIERS or self.is_opaque

    @property
    def is_random(self) -> bool:
        looks = (_OPAQUE.fullmatch(one) is not None for one in self.cells) if self.holds_words else ()
        return sum(looks) * 2 > len(self.cells)


def _survey(sample: Sequence[Record]) -> dict[str, _Column]:
    """The members of the records that a table could show."""
    cells: dict[str, list[Any]] = {}
    for record in sample:
        for name, value in record.items():
            shown = cell(value)
            if shown is not None:
                cells.setdefault(name, []).append(shown)
    return {name: _column(name, held) for name, held in cells.items()}


def _column(name: str, cells: list[Any]) -> _Column:
    spelled = [dumps(one) for one in cells]
    return _Column(name, cells, set(map(type, cells)), len(set(spelled)), sum(map(len, spelled)) / len(spelled))


def _choose_columns(survey: Mapping[str, _Column], count: int) -> tuple[str, ...]:
    """The members that tell most, in the order in which they are worth their room."""
    chosen: dict[str, _Column] = {}
    room = MOST_CHARACTERS
    for column in _by_worth(survey, count):
        cost = len(column.name) + 4 + column.length * len(column.cells) / count
        if len(chosen) == MOST_COLUMNS:
            break
        if column.name not in chosen and (cost <= room or not chosen):
            chosen[column.name] = column
            room -= int(cost)
    return tuple(chosen)


def _by_worth(survey: Mapping[str, _Column], count: int) -> Iterable[_Column]:
    """Columns, what a person would put first before the others."""
    varied = [column for column in survey.values() if not column.is_constant or count == 1]
    named = _first(survey, _TITLES, lambda one: str in one.kinds and not one.is_opaque)
    identifiers = _identifiers(survey, count)
    yield from identifiers[:2]
    yield from named or _first(survey, _DESCRIPTIONS, lambda one: str in one.kinds) or _first_words(varied)
    plain = [column for column in varied if not column.is_opaque]
    few_valued = [one for one in plain if one.is_few_valued]
    yield from _named(few_valued, _STATES)
    yield from few_valued
    yield from _named(plain, _PEOPLE)
    yield from (
        _first({one.name: one for one in plain}, _DATES, lambda one: one.is_date or one.holds_numbers)
        or [one for one in plain if one.is_date][:1]
    )
    yield from (one for one in plain if one.kinds <= {list, dict})
    yield from [one for one in plain if one.holds_numbers and not _is_moment_name(one)][:_MOST_NUMBERS]
    yield from (one for one in plain if one.holds_words and not one.is_date and one.name not in _DESCRIPTIONS)
    is_told_apart = bool(identifiers) or any(one.distinct == count for one in named)
    yield from [] if is_told_apart else [one for one in varied if one.is_opaque and one.distinct == len(one.cells)][:1]


def _identifiers(survey: Mapping[str, _Column], count: int) -> list[_Column]:
    """What a record is called by: the usual names, or else the id of something that is another in each record."""
    usual = [survey[name] for name in _IDENTIFIERS if name in survey and float not in survey[name].kinds]
    own = (one for one in survey.values() if one.name.endswith("_id") and not one.is_random)
    return usual or [one for one in own if one.distinct == count and float not in one.kinds][:1]


def _first_words(columns: Sequence[_Column]) -> list[_Column]:
    """The first column that reads like a description, whatever it is called."""
    return [
        one for one in columns if one.holds_words and one.length >= _WORDY and not one.is_date and not one.is_opaque
    ][:1]


def _is_moment_name(column: _Column) -> bool:
    return column.name in _DATES or column.name.endswith(("_at", "_time", "At"))


def _first(survey: Mapping[str, _Column], names: Sequence[str], takes: Callable[[_Column], bool]) -> list[_Column]:
    return [survey[name] for name in names if name in survey and takes(survey[name])][:1]


def _named(columns: Iterable[_Column], names: Sequence[str]) -> list[_Column]:
    known = {column.name: column for column in columns}
    return [known[name] for name in names if name in known]


# Cells


def cell(value: Any) -> Any:
    """A value as it stands in a table; None where it does not belong into one."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _words(value)
    if isinstance(value, dict):
        return _name_of(value)
    return _elements(value) if isinstance(value, list) else None


def is_identifier(name: str) -> bool:
    """Whether a member is called like one that only tells records apart."""
    return name in ("id", "_id", "uuid") or name.endswith(_OPAQUE_NAMES)


def is_moment(text: str) -> bool:
    """Whether a text begins with a date or a time of day."""
    return _MOMENT.match(text) is not None


def _words(text: str) -> str | None:
    """A short text, or the beginning of the first line of a longer one; what is no prose is not cut."""
    line = text.lstrip().partition("\n")[0].strip()
    if not line or _ADDRESS.match(line):
        return None
    if len(line) <= LONGEST_CELL:
        return line
    return clip(line, LONGEST_CELL) if _BLANK.search(line[:LONGEST_CELL]) else None


def _name_of(record: Record) -> dict[str, Any] | None:
    """An object by its name, under the name of that member; one that has none and is as short as that, whole."""
    scalars = {name: value for name, value in record.items() if isinstance(value, (str, int, float, bool))}
    for name in _NAMING:
        found = scalars.get(name)
        shown = _words(found) if isinstance(found, str) else None
        if shown is not None:
            return {name: shown}
    is_short = len(scalars) == len(record) <= _FEW_MEMBERS and len(dumps(scalars)) <= LONGEST_CELL
    if is_short and not any(isinstance(value, str) and _ADDRESS.match(value) for value in scalars.values()):
        return scalars
    return {"id": scalars["id"]} if "id" in scalars else None


def _elements(values: list[Any]) -> list[Any] | None:
    """A short list, each element by its name."""
    if not 0 < len(values) <= _FEW_ELEMENTS:
        return None
    shown = [cell(value) for value in values]
    return None if None in shown or len(dumps(shown)) > LONGEST_CELL else shown
