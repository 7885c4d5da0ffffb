"""The choice of mutants for a requirement: what few other tests use, and what its row speaks about, comes first.

A mutant is eligible where the test executes its statement, uses its definition or reads its data file. Among the
eligible, a place that few tests use counts, and so do the words that the mutant shares with the row: with its columns
most, with its promise less, each word by how rare it is among all rows. A function or model that the test calls by
its name, whose module has the name of the test file, or that is called like words of the promise, counts more than
what lies behind it. A row may name the place of its feature, and then only that is changed. Chance, from a seed and
the requirement's id, decides among equals.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mutants.definitions import Definition, Definitions, words_of_test
from mutants.operators import (
    BLUR,
    DELETE,
    DROP,
    LOOSEN,
    NEGATE,
    REWORD,
    SHIFT,
    SKIP,
    Mutant,
    mutants_of,
    mutants_of_data,
)
from mutants.sources import Requirement, Tree

DRAWN_PER_TRY = 4
"""How many mutants may be drawn for each that may survive: many break the source down and tell nothing."""
POOL = 60
"""How many of the best are looked at more closely."""
TASTE = {DELETE: 0.3, NEGATE: 0.2, SHIFT: 0.1, DROP: 0.1, LOOSEN: 0.0, BLUR: 0.05, REWORD: 0.0, SKIP: -0.5}
"""A little preference for changes that remove something over changes that may go unseen for good reason."""
SPEAKS_OF = {
    LOOSEN: {"required", "requires", "require", "needs"},
    BLUR: {"most", "least", "exactly", "defaults", "default", "limit", "range"},
    SHIFT: {"most", "least", "exactly", "limit", "range"},
}
"""The words by which a promise speaks of what an operator changes."""
HINTED = 0.4
LONG_TEXT = 40
LARGE = 1000
UNSEEN = 0.5
"""What is taken off where a change is seldom seen: of a long text, of a large number that the row does not mention, of
a default for what was not given, of a field that the row does not mention, of a result that is missing altogether."""
IS_DEFAULT = re.compile(r"^\w+ or [\w.]+(\(\)|\[\]|\{\})?$")
DEFINITION = 0.2
"""What is taken off a statement that runs at import: that its definition is named does not say that it is used."""
SAME_STATEMENT, SAME_OWNER, AFTER_BREAKDOWN = 1.0, 0.3, 0.2
NAMED_BY_TEST, NAMED_BY_PROMISE, NAMED_BY_FILE = 0.6, 0.4, 0.6
CHANCE = 0.1


Ranked = tuple[float, Mutant]
NAME = re.compile(r"[a-z_]\w+|\d{2,}")


@dataclass(frozen=True)
class Words:
    """The words of a row: those that name its subject, and those of its sentence."""

    subject: frozenset[str]
    sentence: frozenset[str]


class Choice:
    """The mutants of a tree, ranked for each requirement by what its test uses."""

    def __init__(
        self, tree: Tree, traces: Mapping[str, Mapping[str, Any]], requirements: Iterable[Requirement]
    ) -> None:
        self.tree = tree
        self.requirements = list(requirements)
        self.definitions = Definitions(tree)
        self._lines = {test: _relative_lines(tree, found["lines"]) for test, found in traces.items()}
        self._imported = {test: _relative_lines(tree, found["imported"]) for test, found in traces.items()}
        self._read = {test: _relative(tree, found["read"]) for test, found in traces.items()}
        self._mutants: dict[str, list[Mutant]] = {}
        self._texts: dict[str, frozenset[str]] = {}

    def rank(self, requirement: Requirement, seed: str) -> list[Ranked]:
        """Return the best mutants for a requirement with their scores."""
        chance = random.Random(f"{seed}:{requirement.id}")  # noqa: S311  # a draw that repeats, not a secret
        row = self._words[requirement.id]
        named = self._named[requirement.test]
        scored = [
            (self._score(one, row, users) + self._score_of_name(one, row, named, requirement.file), one)
            for one, users in self._eligible(requirement)
            if not requirement.features or self._is_of(one, requirement.features)
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].path, pair[1].start, pair[1].new))
        return [(score + chance.uniform(0, CHANCE), one) for score, one in scored[:POOL]]

    def _is_of(self, mutant: Mutant, features: Iterable[str]) -> bool:
        """Whether a mutant stands in one of the places that a row names."""
        module, owner = self.tree.modules.get(mutant.path, mutant.path), mutant.place.owner
        for name, place, text in (f"{one}::".split(":")[:3] for one in features):
            if name == module and (not place or f"{owner}.".startswith(f"{place}.")) and text in mutant.about:
                return True
        return False

    def _eligible(self, requirement: Requirement) -> Iterable[tuple[Mutant, int]]:
        """Every mutant that the test can meet, with the number of tests that can."""
        lines = self._executed[requirement.test]
        used = self._used[requirement.test]
        named = {one.partition(":")[0] for one in requirement.features}
        paths = {
            *lines,
            *(path for path, _ in used),
            *(path for path, name in self.tree.modules.items() if name in named),
        }
        for path in sorted(paths & set(self.tree.modules)):
            for one in self._mutants_of(path):
                if one.place.defines is not None:
                    if (path, one.place.defines) in used or self._is_of(one, requirement.features):
                        yield one, self._users_of_definition[path, one.place.defines]
                elif _meets(one, lines.get(path, frozenset())):
                    yield one, self._users_of_lines(path, one)
        for path in sorted(set(self._read[requirement.test]) & set(self.tree.data)):
            users = sum(path in read for read in self._read.values())
            subject = self._words[requirement.id].subject
            yield from ((one, users) for one in self._mutants_of(path) if _is_entry_of(one, subject))

    def _mutants_of(self, path: str) -> list[Mutant]:
        if path not in self._mutants:
            make = mutants_of if path in self.tree.modules else mutants_of_data
            self._mutants[path] = make(self.tree.text(path), path)
        return self._mutants[path]

    # --- how specific a place is -------------------------------------------------------------------------------------

    @cached_property
    def _named(self) -> dict[str, set[str]]:
        """The names in the text of each test, and in the rows that drive it."""
        named: dict[str, set[str]] = {}
        for one in self.requirements:
            named.setdefault(one.test, words_of_test(self.tree, one)).update(_names(one.columns))
        return named

    @cached_property
    def _used(self) -> dict[str, set[Definition]]:
        return {test: self.definitions.used(lines, self._named.get(test, ())) for test, lines in self._lines.items()}

    @cached_property
    def _users_of_definition(self) -> Counter[Definition]:
        return Counter(one for used in self._used.values() for one in used)

    @cached_property
    def _executed(self) -> dict[str, dict[str, frozenset[int]]]:
        """The lines that a test executes, with those that run when it is imported."""
        return {test: _union(lines, self._imported[test]) for test, lines in self._lines.items()}

    @cached_property
    def _users_of_line(self) -> Counter[tuple[str, int]]:
        each = (lines.items() for lines in self._executed.values())
        return Counter((path, number) for files in each for path, numbers in files for number in numbers)

    def _users_of_lines(self, path: str, mutant: Mutant) -> int:
        numbers = range(mutant.place.first, mutant.place.last + 1)
        return max(self._users_of_line[path, number] for number in numbers)

    # --- what a row speaks about -------------------------------------------------------------------------------------

    @cached_property
    def _words(self) -> dict[str, Words]:
        return {one.id: words_of(one) for one in self.tree.requirements}

    @cached_property
    def _weights(self) -> dict[str, float]:
        """How much each word tells: one when a single row has it, nothing when all have."""
        count = Counter(word for row in self._words.values() for word in row.subject | row.sentence)
        every = math.log(len(self._words) + 1)
        return {word: math.log((len(self._words) + 1) / times) / every for word, times in count.items()}

    def _score(self, mutant: Mutant, row: Words, users: int) -> float:
        every = len(self._lines)
        specific = math.log((every + 1) / max(users, 1)) / math.log(every + 1)
        about, parts = set(NAME.findall(mutant.about.lower())), self._split(mutant.about)
        around = self._split(mutant.place.text) | self._split(mutant.place.owner)
        weight = self._weights.get
        told = 1.5 * sum(weight(word, 0.0) for word in row.subject & about)
        told += 0.75 * sum(weight(word, 0.0) for word in row.subject & around)
        told += 0.3 * sum(weight(word, 0.0) for word in row.sentence & parts)
        told += 0.15 * sum(weight(word, 0.0) for word in row.sentence & around)
        specific -= DEFINITION if mutant.place.defines is not None else 0.0
        told += HINTED if row.sentence & SPEAKS_OF.get(mutant.operator, set()) else 0.0
        unseen = UNSEEN if _is_seldom_seen(mutant, row) else 0.0
        return specific + min(told, 3.0) + TASTE[mutant.operator] - unseen

    def _score_of_name(self, mutant: Mutant, row: Words, named: set[str], file: str) -> float:
        module = self.tree.modules.get(mutant.path, "").rpartition(".")[2]
        by_file = NAMED_BY_FILE if module and module in file.rpartition("/")[2] else 0.0
        parts = mutant.place.owner.split(".")
        by_test = NAMED_BY_TEST if parts[-1] in named or parts[0] in named else 0.0
        words = self._split(parts[-1]) - {parts[-1].strip("_").lower()} or self._split(parts[-1])
        return by_file + by_test + (NAMED_BY_PROMISE if words and words <= row.sentence else 0.0)

    def _split(self, text: str) -> frozenset[str]:
        if text not in self._texts:
            self._texts[text] = frozenset(split_words(text))
        return self._texts[text]


def words_of(requirement: Requirement) -> Words:
    """Return the words of a row."""
    sentence = split_words(requirement.promise)
    names = re.findall(r"\b\w*[a-z]_\w+|\b[A-Z_]{3,}\b|\b[a-z]+[A-Z]\w+|\b\d{2,}\b", requirement.promise)
    subject = {word.lower() for word in [*_names(requirement.columns), *names]}
    return Words(frozenset(subject), frozenset(sentence))


def split_words(text: str) -> set[str]:
    """Return the words of a text in small letters, and the parts of those that are put together."""
    text = re.sub(r"(?<=\d)[_,](?=\d{3})", "", text)
    whole = re.findall(r"[A-Za-z_]\w+|\d{2,}", text)
    parts = [part for word in whole for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d{2,}", word)]
    return {word.lower().strip("_") for word in [*whole, *parts] if len(word) > 1}


def _names(value: Any) -> list[str]:
    """Return the words in the columns of a row, at any depth; a column may be JSON text."""
    match value:
        case Mapping():
            return [name for one in value.values() for name in _names(one)]
        case list():
            return [name for one in value for name in _names(one)]
        case str() if value.startswith(("{", "[")):
            return _names_of_json(value)
        case str() | int():
            return re.findall(r"[A-Za-z_][\w]+|\d{2,}", str(value))
    return []


def _names_of_json(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return re.findall(r"[A-Za-z_][\w]+", text)
    return [*(value if isinstance(value, dict) else []), *_names(value)]


def _is_seldom_seen(mutant: Mutant, row: Words) -> bool:
    if mutant.operator == REWORD:
        return len(mutant.about) > LONG_TEXT or " " in mutant.about.strip()
    if mutant.operator == DROP and IS_DEFAULT.search(mutant.segment):
        return True
    if mutant.operator == DELETE:
        field = mutant.place.owner.rpartition(".")[2] if mutant.place.defines is not None else None
        return mutant.new == "return None" or (field is not None and field not in row.subject | row.sentence)
    number = mutant.about.replace("_", "")
    return mutant.operator == BLUR and number.isdigit() and int(number) >= LARGE and number not in row.subject


def _is_entry_of(mutant: Mutant, subject: frozenset[str]) -> bool:
    """Whether a line of a data file is in an entry that the row names; prose may mention anything."""
    if mutant.place.owner.lower() in subject:
        return True
    is_prose = re.search(r'"[^"]* [^"]*"', mutant.about) is not None
    return not is_prose and not subject.isdisjoint(NAME.findall(mutant.about.lower()))


def _meets(mutant: Mutant, lines: frozenset[int]) -> bool:
    return any(number in lines for number in range(mutant.place.first, mutant.place.last + 1))


def pick(ranked: list[Ranked], tried: Iterable[tuple[Mutant, bool]], most: int) -> Mutant | None:
    """Return the next of at most so many: places where one survived count much less, where one broke a little."""
    statements: Counter[tuple[str, int]] = Counter()
    owners: Counter[tuple[str, str]] = Counter()
    gone = set()
    for one, survived in tried:
        share = 1.0 if survived else AFTER_BREAKDOWN
        statements[one.path, one.place.first] += share
        owners[one.path, one.place.owner] += share
        gone.add(one)

    def value(pair: Ranked) -> float:
        score, one = pair
        place = one.place
        return score - SAME_STATEMENT * statements[one.path, place.first] - SAME_OWNER * owners[one.path, place.owner]

    left = [pair for pair in ranked if pair[1] not in gone]
    return max(left, key=value)[1] if left and len(gone) < most else None


def _union(some: Mapping[str, frozenset[int]], more: Mapping[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    nothing: frozenset[int] = frozenset()
    return {path: some.get(path, nothing) | more.get(path, nothing) for path in {*some, *more}}


def _relative_lines(tree: Tree, lines: Mapping[str, list[int]]) -> dict[str, frozenset[int]]:
    known = ((path.removeprefix(f"{tree.root}/"), numbers) for path, numbers in lines.items())
    return {path: frozenset(numbers) for path, numbers in known if path in tree.modules}


def _relative(tree: Tree, paths: Iterable[str]) -> list[str]:
    return [path.removeprefix(f"{tree.root}/") for path in paths]
