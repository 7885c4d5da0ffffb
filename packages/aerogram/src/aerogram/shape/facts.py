"""Facts: what a person would put in a table about records, and an outline of those that are not in it.

    {"id": 2200000000, "number": 4000, "title": "Cursors expire", "state": "closed", "user": {"login": "ada"},
     "labels": [{"name": "docs"}], "comments": 32}

The columns are chosen once for a list, from records all over it, so that they are the same on each page of a walk.
Nothing in a cell is cut but words: an identifier, a path, a number, a date stands whole or not at all. An outline has
counts and ranges of what is not shown:

    {"state": {"open": 189, "closed": 93}, "user": {"ada": 120, "lin": 162}, "number": [3701, 3982]}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import inf
from operator import itemgetter
from typing import Any, Final, NamedTuple

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import ContractError
from aerogram.shape.text import clip, first_sentences

__all__ = [
    "Announced",
    "Facts",
    "Outline",
    "cell",
    "choose_facts",
    "count_digest",
    "find_announced",
    "is_identifier",
    "is_moment",
    "is_state",
    "outline_text",
    "spread",
    "tells_something",
]


Record = Mapping[str, Any]

MOST_COLUMNS: Final = 12
LONGEST_CELL: Final = 80
MOST_CHARACTERS: Final = 240
"""How much of a row its facts take up at most, in JSON: about sixty tokens."""
SAMPLED: Final = 100
FEW_VALUES: Final = 12
WORTH: Final = 0.6
"""Where facts take up more than this share of the records, the records are shown themselves."""
_STRIDE: Final = 12
_ENOUGH: Final = 8
_CLEARLY: Final = 1.35
"""Every twelfth record of a sample, if those are enough, shows where facts take up clearly more than their share."""
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
_ADDRESS: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://|mailto:|data:)\S+", re.IGNORECASE)
"""Words that begin with a link are words."""
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}\S*)?|\d{2}:\d{2}(:\d{2}\S*)?")
_OPAQUE: Final = re.compile(r"(?=.*\d)[0-9a-fA-F-]{16,}|(?=.*\d)(?=.*[A-Z])[A-Za-z0-9_+/=-]{20,}")
_BLANK: Final = re.compile(r"\s")
_SCALARS: Final = (str, int, float, bool)


@dataclass(frozen=True)
class Facts:
    """The columns of a table of records."""

    columns: tuple[str, ...]

    def show(self, record: Any, cells: Mapping[str, Any] | None = None) -> Any:
        """The facts of a record, whose cells may be known; whatever is no record is shown as it is."""
        if not isinstance(record, dict):
            return record
        wanted = self._choose_columns(record)
        if cells is None:
            return _cells(record, wanted)
        return {name: shown for name, shown in cells.items() if name in wanted}

    def _choose_columns(self, record: Record) -> Collection[str]:
        announced = find_announced(record)
        if announced is None:
            return self.columns
        gone = (announced.member, announced.type_member)  # a half of it is of no type
        return [name for name in self.columns if name not in gone]


def choose_facts(rows: Sequence[Any], wanted: Sequence[str] = ()) -> Facts | None:
    """The facts of the records of a list, or those that are wanted; None where the records themselves cost no more."""
    few = [] if wanted else [row for row in spread(rows, SAMPLED, step=_STRIDE) if isinstance(row, dict)]
    if len(few) >= _ENOUGH and _facts_of(few)[1] > WORTH * _CLEARLY:  # short records, of which there is hardly less
        return None
    sample = [row for row in spread(rows, SAMPLED) if isinstance(row, dict)]
    if not sample:
        return None
    if wanted:
        return Facts(tuple(wanted))
    facts, share = _facts_of(sample)
    return facts if share <= WORTH else None


def _facts_of(sample: Sequence[Record]) -> tuple[Facts, float]:
    """The facts of some records, and which share of them they take up; names alone tell nothing, and are worth none."""
    cells = [_cells(record, record) for record in sample]
    survey = _survey(cells)
    facts = Facts(_choose_columns(survey, len(sample)))
    if all(survey[name].is_name for name in facts.columns):
        return facts, inf
    shown = sum(len(dumps(facts.show(row, held))) for row, held in zip(sample, cells, strict=True))
    return facts, shown / sum(len(dumps(row)) for row in sample)


def spread(rows: Sequence[Any], most: int, after: int = 0, step: int = 1) -> Sequence[Any]:
    """Items from all over a list, `after` the first so many, at distances that are not all alike.

    Every third row may be of one kind. With a `step`, every so many of these items.
    """
    count = len(rows) - after
    if count <= most:
        return rows[after::step] if after or step > 1 else rows
    width, whole = count / most, count // most
    return [rows[after + int(at * width) + at * 7919 % whole] for at in range(0, most, step)]


# Columns


@dataclass(frozen=True)
class _Column:
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

    @cached_property
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

    @cached_property
    def is_random(self) -> bool:
        looks = (_OPAQUE.fullmatch(one) is not None for one in self.cells) if self.holds_words else ()
        return sum(looks) * 2 > len(self.cells)


def _cells(record: Record, wanted: Collection[str]) -> dict[str, Any]:
    """Those members of a record that are wanted and that a table could show."""
    cells = {}
    for name, value in record.items():
        if name in wanted:
            shown = cell(value)
            if shown is None and name in _TITLES and isinstance(value, str) and 0 < len(value) <= LONGEST_CELL:
                shown = value  # whoever has no other title has this one
            if shown is not None:
                cells[name] = shown
    return cells


def _survey(rows: Sequence[Record]) -> dict[str, _Column]:
    """The columns of a table, by the cells in each of its rows."""
    columns: dict[str, list[Any]] = {}
    for cells in rows:
        for name, shown in cells.items():
            columns.setdefault(name, []).append(shown)
    return {name: _column(name, held) for name, held in columns.items()}


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
    yield from _pick(few_valued, _STATES)
    yield from few_valued
    yield from _pick(plain, _PEOPLE)
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


def _pick(columns: Iterable[_Column], names: Sequence[str]) -> list[_Column]:
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


def is_state(name: str) -> bool:
    """Whether a member is called like one that says how something stands."""
    return name in _STATES


def is_moment(text: str) -> bool:
    """Whether a text begins with a date or a time of day."""
    return _MOMENT.match(text) is not None


def _words(text: str) -> str | None:
    """A short text, or the beginning of the first line of a longer one; what is no prose is not cut."""
    line = text.lstrip().partition("\n")[0].strip()
    if len(line) > LONGEST_CELL:
        return clip(line, LONGEST_CELL) if _BLANK.search(line[:LONGEST_CELL]) else None
    return None if not line or _ADDRESS.fullmatch(line) else line


def _name_of(record: Record) -> dict[str, Any] | None:
    """An object by its name, under the name of that member; one that has none and is as short as that, whole."""
    for name in _NAMING:
        found = record.get(name)
        shown = _words(found) if isinstance(found, str) else None
        if shown is not None:
            return {name: shown}
    is_short = len(record) <= _FEW_MEMBERS and all(isinstance(value, _SCALARS) for value in record.values())
    if is_short and len(dumps(record)) <= LONGEST_CELL:
        texts = (value for value in record.values() if isinstance(value, str))
        if not any(_ADDRESS.fullmatch(text) for text in texts):
            return dict(record)
    return {"id": record["id"]} if isinstance(record.get("id"), _SCALARS) else None


def _elements(values: list[Any]) -> list[Any] | None:
    """A short list, each element by its name."""
    if not 0 < len(values) <= _FEW_ELEMENTS:
        return None
    shown = [cell(value) for value in values]
    return None if None in shown or len(dumps(shown)) > LONGEST_CELL else shown


# Outlines: counts of members that have few values, ranges of numbers and dates. An object counts by its name, a list by
# its elements, a row of cells by its columns, which have the names of the first row where that is a header. Exact for
# lists of up to ten thousand rows; beyond that from a sample, and marked as such.


EXACT: Final = 10_000
OUTLINED: Final = 1_000
MOST_NAMED: Final = 8
OTHERS: Final = "…"
ESTIMATE: Final = "estimate"
SAME: Final = "same_in_all"
_MEMBER: Final = 6
"""What a member costs besides what is in it, in tokens."""
_NUMBERS: Final = 3
"""What a range of numbers is worth: it is told beside something else."""
_LONGEST: Final = 40
_MOST_SUMMARISED: Final = 100
_LOOKED_AT: Final = 200
_MOST_COLUMNS: Final = 40
_COUNTED: Final = frozenset((str, bool, int))
_HEADING_MARKS: Final = ("#", "\n--", "\n==", "\n-=", "\n=-")
_HEADING: Final = re.compile(r"^(#{1,6} .{1,80}|[^\n]{1,80}\n[=-]{3,})$", re.MULTILINE)

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Outline:
    """What there is to tell of the rows that are missing, those after the first so many that are `shown`; found once.

    The first row of all may be a header. With `tells_same`, it is told as well what is the same in all rows. Of members
    that are `hidden`, for those rows that are shown lack them too, it tells over all rows.
    """

    rows: Sequence[Any]
    shown: int
    tells_same: bool = False
    hidden: Collection[str] = ()

    @cached_property
    def _sample(self) -> Sequence[Any]:
        missing = len(self.rows) - self.shown
        return spread(self.rows, missing if missing <= EXACT else OUTLINED, self.shown)

    @cached_property
    def _summaries(self) -> list[tuple[str, Any]]:
        found = dict(_summaries(_records(self._sample, self.rows[0])))
        if self.hidden:
            every = [row for row in (*self.rows[: self.shown], *self._sample) if isinstance(row, dict)]
            found |= _summaries([{name: row[name] for name in self.hidden if name in row} for row in every])
        told = sorted(found.items(), key=_worth)
        return told if told and _worth(told[0]) < _NUMBERS else []  # these alone tell hardly anything

    @cached_property
    def _same(self) -> dict[str, Any]:
        return _same_in_all([*self.rows[: self.shown], *self._sample]) if self.tells_same else {}

    def within(self, room: int, count: Callable[[str], int]) -> dict[str, Any]:
        """As much of it as takes at most so many tokens."""
        start = {ESTIMATE: True} if len(self._sample) < len(self.rows) - self.shown else {}
        told = _take(self._summaries, start, room, count)
        told = told if told.keys() - start.keys() else {}
        spent = count(dumps(told).decode()) if told else 0
        same = _take(self._same.items(), {}, room - spent - _MEMBER, count)
        return {**told, SAME: same} if same else told


def tells_something(rows: Sequence[Any], first: Any, room: int, count: Callable[[str], int]) -> bool:
    """Whether an outline of some rows has anything for which there is room."""
    told = (one for one in _summaries(_records(rows, first)) if _worth(one) < _NUMBERS)
    return any(count(dumps({name: summary}).decode()) <= room for name, summary in told)


def _take(
    summaries: Iterable[tuple[str, Any]], start: dict[str, Any], room: int, count: Callable[[str], int]
) -> dict[str, Any]:
    """Those that there is room for, in their order."""
    told = dict(start)
    for name, summary in summaries:
        if count(dumps({**told, name: summary}).decode()) <= room:
            told[name] = summary
    return told


def _records(rows: Sequence[Any], first: Any) -> Records:
    """Rows as records; those of cells by their columns."""
    if set(map(type, rows)) == {dict}:
        return rows
    cells = [row for row in rows if isinstance(row, list)]
    if not cells or len(cells) < len(rows):
        return [row for row in rows if isinstance(row, dict)]
    names = _column_names(first, cells)
    return [dict(zip(names, row, strict=False)) for row in cells]


def _column_names(first: Any, cells: list[list[Any]]) -> list[str]:
    """What a header calls the columns, if the first row is one: words above what is not all words."""
    few = cells[:_LOOKED_AT]
    if isinstance(first, list) and len({one for one in first if isinstance(one, str)}) == len(first):
        below = zip(*few, strict=False)
        if any(not any(isinstance(cell, str) and not is_moment(cell) for cell in column) for column in below):
            return first
    return [f"column {number}" for number in range(1, min(max(map(len, few)), _MOST_COLUMNS) + 1)]


def _summaries(records: Records) -> Iterator[tuple[str, Any]]:
    """What there is to say of each member; where there are very many, of those that most records have."""
    names = list(dict.fromkeys(chain.from_iterable(records[:_LOOKED_AT])))
    if len(names) > _MOST_SUMMARISED:
        often = Counter(chain.from_iterable(records[:_LOOKED_AT])).most_common(_MOST_SUMMARISED)
        names = [name for name, _ in often]
    for name in names:
        values = _values(records, name)
        is_name = is_identifier(name)
        counts = None if is_name and _are_distinct(values) else _counts(values)
        summary = counts or (None if is_name else _range(values))
        if summary is not None:
            yield name, summary


def _values(records: Records, name: str) -> list[Any]:
    """A member of each record."""
    try:
        return list(map(itemgetter(name), records))  # which is quicker where all have it
    except KeyError:
        return [one.get(name) for one in records]


def _worth(summary: tuple[str, Any]) -> int:
    """What is told first: how things stand, when, then other counts, and other ranges."""
    name, told = summary
    if isinstance(told, dict):
        return 0 if is_state(name) else 2
    return 1 if isinstance(told[0], str) else _NUMBERS


def _same_in_all(rows: Sequence[Any]) -> dict[str, Any]:
    """The short members that have the same value in every row."""
    records = [row for row in rows if isinstance(row, dict)]
    if len(records) < max(len(rows), 2):
        return {}
    return {
        name: value
        for name, value in records[0].items()
        if isinstance(value, (str, int, float))
        and _is_short(value)
        and all(name in one and one[name] == value for one in records)
    }


def _are_distinct(values: list[Any]) -> bool:
    """Whether no value is there twice; missing items that have names are named elsewhere."""
    found = _countable(values)
    return len(set(found)) == len(found)


def _counts(values: list[Any]) -> dict[str, int] | None:
    """How often each of a few short values is there, the most frequent first."""
    few = set(_countable(values[:_LOOKED_AT]))
    if not 1 < len(few) <= FEW_VALUES or not all(map(_is_word, few)):
        return None
    found = Counter(_countable(values))
    are_many = len(found) > MOST_NAMED or len(found) == found.total()
    if len(found) > FEW_VALUES * 2 or (are_many and not any(isinstance(one, str) for one in found)):
        return None  # of many numbers, or of some that are there once, the least and the greatest tell more
    named = {_spell(value): times for value, times in found.most_common(MOST_NAMED)}
    rest = found.total() - sum(named.values())
    return {**named, **({OTHERS: rest} if rest else {})}


def _countable(values: Sequence[Any]) -> Sequence[Any]:
    """What values count as: a text, a flag, a whole number as itself, an object by its name, a list by its elements."""
    kinds = set(map(type, values))
    if kinds <= _COUNTED:
        return values
    if kinds.isdisjoint((dict, list)):
        return [value for value in values if type(value) in _COUNTED]
    return list(chain.from_iterable(map(_count_as, values)))


def _count_as(value: Any) -> Sequence[Any]:
    if isinstance(value, list):
        return _countable(value)
    if isinstance(value, dict):
        return list((cell(value) or {}).values())[:1]
    return (value,) if type(value) in _COUNTED else ()


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _is_word(value: Any) -> bool:
    return not isinstance(value, str) or (len(value) <= _LONGEST and not is_moment(value))


def _range(values: list[Any]) -> list[Any] | None:
    """The least and the greatest of numbers or dates."""
    held = [value for value in values if value is not None]
    kinds = set(map(type, held))
    is_dated = kinds == {str} and all(map(is_moment, held[:_LOOKED_AT]))
    if not is_dated and (not held or not kinds <= {int, float}):
        return None
    least, most = min(held), max(held)
    return [least, most] if least != most else None


def _is_short(value: Any) -> bool:
    return not isinstance(value, str) or len(value) <= _LONGEST


def outline_text(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """The headings of a text that is not shown, as far as there is room."""
    headings: list[str] = []
    # to look for one character is much quicker
    if not any(mark[-1] in text and mark in text for mark in _HEADING_MARKS):
        return headings
    for match in _HEADING.finditer(text):
        heading = match[0].partition("\n")[0].lstrip("# ").strip()
        if count(dumps([*headings, heading]).decode()) > room:
            break
        headings.append(heading)
    return headings


# What a record announces: a text that stands beside the name of its type, and that only a program reads.
#
#     {"content_type": "digest/v1", "content": "{…}"}
#
# A half of it is of no type at all. So it is kept whole, or it goes together with the name of its type; a digest may
# also become a smaller digest.


DIGEST: Final = "digest/v1"
SHORT_SUMMARIES: Final = (1_000, 500, 200)
_TYPES: Final = ("content_type", "contentType", "mime_type", "mimeType", "media_type")
_CONTENTS: Final = ("content", "data", "blob", "body", "payload", "text")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{60,}={0,2}")
_SNIFFED: Final = 400
_MOST_COUNTS: Final = 8


class Announced(NamedTuple):
    """The member that names a type, the member that holds what is of this type, and both of their values."""

    type_member: str
    member: str
    type: str
    text: str

    def smaller(self) -> Iterator[str]:
        """Ever smaller texts that are of the same type."""
        if self.type != DIGEST:
            return
        try:
            yield from _smaller_digests(loads(self.text))
        except (ContractError, KeyError, TypeError, AttributeError):
            return  # it was no digest


def find_announced(record: Mapping[str, Any]) -> Announced | None:
    """What a record announces and holds, if only a program reads it."""
    type_member = next((name for name in _TYPES if name in record), None)
    if type_member is None:
        return None
    kind = record[type_member]
    if not isinstance(kind, str) or "/" not in kind or kind.startswith("text/"):
        return None
    member = next((name for name in _CONTENTS if _is_for_programs(record.get(name))), None)
    return None if member is None else Announced(type_member, member, kind, record[member])


def _is_for_programs(text: Any) -> bool:
    if not isinstance(text, str) or not text:
        return False
    is_json = text[0] in "{[" and text[-1] in "}]"
    return is_json or _BASE64.fullmatch(text[:_SNIFFED]) is not None


def _smaller_digests(digest: dict[str, Any]) -> Iterator[str]:
    """With fewer key points and quotations, the best ones; then with a shorter summary."""
    points, snippets = digest["key_points"], digest["evidence_snippets"]
    ranked = sorted(snippets, key=lambda one: -one["relevance_score"])
    for count in reversed(range(max(len(points), len(snippets)))):
        best = [one for one in snippets if one in ranked[:count]]
        yield _recount(digest, key_points=points[:count], evidence_snippets=best)
    for limit in SHORT_SUMMARIES:
        if len(digest["summary"]) > limit:
            summary = first_sentences(digest["summary"], limit)
            yield _recount(digest, key_points=[], evidence_snippets=[], summary=summary)


def _recount(digest: dict[str, Any], **changes: Any) -> str:
    """The digest with these changes, and with its own size."""
    return dumps(count_digest({**digest, **changes}, lambda told: dumps(told).decode())).decode()


def count_digest(said: Mapping[str, Any], write: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """A payload as JSON data, with the number of characters that it has itself, and their ratio to the original.

    That is what a source's `content` costs its reader. The number is a part of what it counts, so it is counted again
    until it is right; where the ratio would change it back and forth, the larger one stands.
    """
    original, size = said["original_chars"], 0
    told = dict(said)
    for _ in range(_MOST_COUNTS):
        # a digest of a few lines can be longer than they are; the contract has no ratio above 1
        told |= {
            "digest_chars": size,
            "compression_ratio": round(min(1.0, size / original), 4) if original else 0.0,
        }
        written = len(write(told))
        if written <= size:
            break
        size = written
    return told
