"""The reader: answers a question from what a reply shows, and from nothing else.

It finds rows and reads their members, counts and lists them, and takes the first and the last of a member. Where a
reply says that rows are missing, it answers only what does not depend on them, or what an outline of them settles:

    {"rows": 282, "state": {"open": 189, "closed": 93}, "number": [3701, 3982], "all": {"locked": false}}

Where a reply says nothing of the kind it is taken for the whole, as a model would take it, and the answer may be wrong.
"""

import json
import operator
import re
from dataclasses import dataclass, field

from facts_sets import CUT

MARK = "…"
LEFT_OUT = re.compile(r"([\d,]+) of ([\d,]+) (?:\w+ )?left out")
SHOWN = re.compile(r"([\d,]+) of ([\d,]+) (?:items )?shown(?! with less)")
LINES = re.compile(r"\(([\d,]+) of ([\d,]+) (?:lines|entries)\)")
CHARACTERS = re.compile(r"[\d,]+ of [\d,]+ characters")
LESS = re.compile(r"(in|with) less detail|(\d|all) (with|without) ")
MEMBERS = re.compile(
    r"([\d,]+) of ([\d,]+) (?:characters of )?(?!(?:characters|members|items|shown)\b)([^\s,;]+)"
    r"(?=, \d| and \d+ more| shown)"
)
OTHERS = re.compile(r" and \d+ more shown")
UNKNOWN = None


@dataclass
class Seen:
    """What a reply shows. `missing` rows are not there: 0 where it says nothing of any, None where it says no number.

    `cut` are the members of a record that are not whole, with how many of theirs are missing; `names_cuts` says whether
    the reply names all of them.
    """

    rows: list[dict]
    missing: int | None = 0
    outline: dict = field(default_factory=dict)
    cut: dict[str, int | None] = field(default_factory=dict)
    names_cuts: bool = False


def see(data, read, *, words=(), outline=None, partial=False):
    """What is seen in the data of a reply; `words` are what it says beside them, `partial` that it is not the whole."""
    rows = [row for row in read(data) if row.get("name") != MARK]
    marks = {row["parent"]: _first_number(row["value"]) for row in read(data) if row.get("name") == MARK}
    said = " ".join(words)
    missing = 0
    if (found := LINES.search(said)) and _number(found[1]) == len(rows):  # where each row is one
        missing = _number(found[2]) - _number(found[1])
    elif CHARACTERS.search(said):
        missing = None
    elif found := LEFT_OUT.search(said):
        missing = _number(found[1])
    elif found := SHOWN.search(said):
        missing = _number(found[2]) - _number(found[1])
    elif marks or is_cut(data) or (partial and not LESS.search(said)):
        missing = None
    named = {name: _number(total) - _number(shown) for shown, total, name in MEMBERS.findall(said)}
    rows = [_without_value(row) if row.get("member") in named else row for row in rows]
    return Seen(rows, missing, outline or {}, {**named, **marks}, names_cuts=bool(named) and not OTHERS.search(said))


def _without_value(row):
    """A member of a record that is not whole, as the reply says."""
    return {name: held for name, held in row.items() if name != "value"}


def _number(text):
    return int(text.replace(",", ""))


def _first_number(value):
    found = re.search(r"\d[\d,]*", value if isinstance(value, str) else json.dumps(value))
    return _number(found[0]) if found else None


def answer(question, seen):
    """The answer, or None where the reply does not settle it."""
    return ASKED[question["ask"]](seen, question["where"], question["member"])


TESTS = {
    "=": operator.eq,
    "begins": lambda held, value: str(held).startswith(value),
    "has": lambda held, value: value in held,
    "over": operator.gt,
}


def _meets(row, where):
    return all(_has(row, name) and TESTS[test](row[name], value) for name, test, value in where)


def _has(row, member):
    return member in row and not is_cut(row[member])


def is_cut(value):
    """Whether a value says that it is only a part."""
    if isinstance(value, list):
        return bool(value) and (is_cut(value[-1]) or (isinstance(value[-1], str) and value[-1].startswith(MARK)))
    if isinstance(value, dict):
        return MARK in value
    return isinstance(value, str) and bool(CUT.search(value))


def _read(seen, where, member):
    found = next((row for row in seen.rows if _meets(row, where)), {})
    return found[member] if _has(found, member) else UNKNOWN


def _list(seen, where, member):
    names = [name for name, _, _ in where]
    if _left(seen, where) != 0 or not _shows(seen, [*names, member]):
        return UNKNOWN
    return [row[member] for row in seen.rows if _meets(row, where)] or UNKNOWN


def _count(seen, where, _):
    left = _left(seen, where)
    if left is None or not _shows(seen, [name for name, _, _ in where]):
        return UNKNOWN
    return sum(_meets(row, where) for row in seen.rows) + left or UNKNOWN


def _extreme(choose):
    def find(seen, _, member):
        held = [row[member] for row in seen.rows] if _shows(seen, [member]) else []
        if not held:
            return UNKNOWN
        if seen.missing == 0:
            return choose(held)
        others = _outlined_values(seen, member, type(held[0]))
        return choose([*held, *others]) if others else UNKNOWN

    return find


def _shows(seen, members):
    """Whether every row that is there has these members."""
    return all(_has(row, member) for row in seen.rows for member in members)


def _left(seen, where):
    """How many of the rows that are not there meet the conditions, or None."""
    (first, *more) = where or [(None, None, None)]
    if first[0] == "parent" and not more:
        return _left_in(seen, first[2])
    if seen.missing == 0 or not where:
        return seen.missing
    found = [_outlined(seen, *one) for one in where]
    return 0 if 0 in found else found[0] if len(found) == 1 else None


def _left_in(seen, parent):
    """How many members of a record in a record are not there."""
    if parent in seen.cut:
        return seen.cut[parent]
    return 0 if seen.missing == 0 or seen.names_cuts else None


def _outlined(seen, member, test, value):
    """How many of the missing rows have this, by the outline."""
    if seen.outline.get("estimate"):
        return None
    same = seen.outline.get("all", {})
    if member in same:
        return (seen.missing if TESTS[test](same[member], value) else 0) if seen.missing is not None else None
    told = seen.outline.get(member)
    if isinstance(told, dict) and test in ("=", "has"):
        return told.get(value if isinstance(value, str) else json.dumps(value), None if MARK in told else 0)
    if isinstance(told, list) and len(told) == 2:
        return 0 if _is_beyond(told, test, value) else None
    return None


def _is_beyond(bounds, test, value):
    low, high = bounds
    if test == "begins":
        return str(low)[: len(value)] > value or str(high)[: len(value)] < value
    if type(low) is not type(value) and not {type(low), type(value)} <= {int, float}:
        return False
    return value < low or value > high if test == "=" else test == "over" and high <= value


def _outlined_values(seen, member, kind):
    """The least and the greatest of the missing rows, or nothing; counts have their values spelled out."""
    if seen.outline.get("estimate"):
        return []
    told = seen.outline.get(member, seen.outline.get("all", {}).get(member))
    if isinstance(told, list) and len(told) == 2:
        return told
    if isinstance(told, dict):
        return [] if MARK in told else [value if kind is str else json.loads(value) for value in told]
    return [] if told is None else [told]


ASKED = {"read": _read, "list": _list, "count": _count, "first": _extreme(min), "last": _extreme(max)}
