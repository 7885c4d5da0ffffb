"""The choice of mutants for a requirement: what few other tests use, and what its row speaks about, comes first.

A mutant is eligible where the test executes its statement, uses its definition or reads its data file. Among the
eligible, a place that few tests use counts, and so do the words that the mutant shares with the row: with its columns
most, with its promise less, each word by how rare it is among all rows. A function or model that the test calls by
its name, or that is called like words of the promise, counts more than what lies behind it. Chance, from a seed and
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
from mutants.operators import BLUR, DELETE, DROP, NEGATE, REWORD, SHIFT, SKIP, Mutant, mutants_of, mutants_of_data
from mutants.sources import Requirement, Tree

MOST_DRAWN = 9
POOL = 60
"""How many of the best are looked at more closely."""
TASTE = {DROP: 0.1, DELETE: 0.1, NEGATE: 0.1, SHIFT: 0.1, BLUR: 0.05, REWORD: 0.0, SKIP: -0.2}
"""A little preference for changes that remove something over changes that may go unseen for good reason."""
LONG_TEXT = 40
SAME_STATEMENT, SAME_OWNER = 1.0, 0.3
NAMED_BY_TEST, NAMED_BY_PROMISE = 0.6, 0.4
CHANCE = 0.1


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
        self._read = {test: _relative(tree, found["read"]) for test, found in traces.items()}
        self._mutants: dict[str, list[Mutant]] = {}
        self._texts: dict[str, frozenset[str]] = {}

    def draw(self, requirement: Requirement, seed: str) -> list[Mutant]:
        """Return the mutants to try for a requirement, best first."""
        chance = random.Random(f"{seed}:{requirement.id}")  # noqa: S311  # a draw that repeats, not a secret
        row = self._words[requirement.id]
        named = self._named[requirement.test]
        scored = [
            (self._score(one, row, users) + self._score_of_name(one, row, named), one)
            for one, users in self._eligible(requirement)
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].path, pair[1].start, pair[1].new))
        best = [(score + chance.uniform(0, CHANCE), one) for score, one in scored[:POOL]]
        return _spread(best)

    def _eligible(self, requirement: Requirement) -> Iterable[tuple[Mutant, int]]:
        """Every mutant that the test can meet, with the number of tests that can."""
        lines = self._lines[requirement.test]
        used = self._used[requirement.test]
        paths = sorted({*lines, *(path for path, _ in used)} & set(self.tree.modules))
        for path in paths:
            for one in self._mutants_of(path):
                if one.place.defines is not None:
                    if (path, one.place.defines) in used:
                        yield one, self._users_of_definition[path, one.place.defines]
                elif _meets(one, lines.get(path, frozenset())):
                    yield one, self._users_of_lines(path, one)
        for path in sorted(set(self._read[requirement.test]) & set(self.tree.data)):
            users = sum(path in read for read in self._read.values())
            yield from ((one, users) for one in self._mutants_of(path))

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
    def _users_of_line(self) -> Counter[tuple[str, int]]:
        each = (lines.items() for lines in self._lines.values())
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
        about, around = self._split(mutant.about), self._split(mutant.place.text) | self._split(mutant.place.owner)
        weight = self._weights.get
        told = 1.5 * sum(weight(word, 0.0) for word in row.subject & about)
        told += 0.75 * sum(weight(word, 0.0) for word in row.subject & around)
        told += 0.25 * sum(weight(word, 0.0) for word in row.sentence & around)
        long = 0.5 if mutant.operator == REWORD and len(mutant.about) > LONG_TEXT else 0.0
        return specific + min(told, 3.0) + TASTE[mutant.operator] - long

    def _score_of_name(self, mutant: Mutant, row: Words, named: set[str]) -> float:
        parts = mutant.place.owner.split(".")
        by_test = NAMED_BY_TEST if parts[-1] in named or parts[0] in named else 0.0
        words = self._split(parts[-1]) - {parts[-1].strip("_").lower()} or self._split(parts[-1])
        return by_test + (NAMED_BY_PROMISE if words and words <= row.sentence else 0.0)

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


def _meets(mutant: Mutant, lines: frozenset[int]) -> bool:
    return any(number in lines for number in range(mutant.place.first, mutant.place.last + 1))


def _spread(scored: list[tuple[float, Mutant]]) -> list[Mutant]:
    """Take the best one after the other; a statement or function that was taken already counts less."""
    left = dict(enumerate(scored))
    statements: Counter[tuple[str, int]] = Counter()
    owners: Counter[tuple[str, str]] = Counter()
    taken: list[Mutant] = []

    def value(number: int) -> float:
        score, one = left[number]
        place = one.place
        return score - SAME_STATEMENT * statements[one.path, place.first] - SAME_OWNER * owners[one.path, place.owner]

    while left and len(taken) < MOST_DRAWN:
        one = left.pop(max(left, key=value))[1]
        taken.append(one)
        statements[one.path, one.place.first] += 1
        owners[one.path, one.place.owner] += 1
    return taken


def _relative_lines(tree: Tree, lines: Mapping[str, list[int]]) -> dict[str, frozenset[int]]:
    known = ((path.removeprefix(f"{tree.root}/"), numbers) for path, numbers in lines.items())
    return {path: frozenset(numbers) for path, numbers in known if path in tree.modules}


def _relative(tree: Tree, paths: Iterable[str]) -> list[str]:
    return [path.removeprefix(f"{tree.root}/") for path in paths]
