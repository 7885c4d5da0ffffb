"""Token counters and budgets: how large a text is as a client counts it, and how large it may be.

A counter has a name, a unit and a margin: the largest fraction by which the client's own count may exceed
what `count` says. An exact vocabulary has a margin of nothing; there is no offline vocabulary for Claude, so
its counter is a near vocabulary with a margin. A budget is a limit in the client's terms; `room` is the part
of it that is safe to fill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from aerogram.clients import CLIENTS, Limit, Reads
from aerogram.errors import MissingExtra, ValidationFailed

__all__ = [
    "PRESETS",
    "Budget",
    "Bytes",
    "Characters",
    "Counter",
    "Estimate",
    "Vocabulary",
    "best_counter",
    "counts_wire",
    "find_counter",
    "split_by_client",
]

Unit: TypeAlias = Literal["tokens", "characters", "bytes"]

MOST_DIGITS: Final = 30
DEFAULT_VOCABULARY: Final = "o200k_base"
CHARACTERS_PER_TOKEN: Final = 4
"""Envelopes and prose take about so many, characters as well as bytes."""
MOST_CHARACTERS_PER_TOKEN: Final = 6
"""Prose of long words has hardly more."""
LONGEST_TOKEN: Final = 8
"""No tokenizer makes one token of so many characters of text or data, taken as a whole."""
PART: Final = 8_192
"""Characters that are counted at once: for a word of megabytes, the tokenizer takes 64 times its size."""
REMEMBERED: Final = 1_000
"""So many long words may the tokenizer remember; it sets itself no limit."""
LOOK_BACK: Final = 256
_TOKEN_END: Final = re.compile(r'[^\W_](?=[\s,":}\]])')
"""Where no vocabulary has a token that goes on."""
CLAUDE_MARGIN: Final = 0.15
"""Claude's own vocabulary is not public; unofficial ones count prose 13 % above o200k."""


@runtime_checkable
class Counter(Protocol):
    """Anything that can say how large a text is."""

    @property
    def name(self) -> str:
        """What it is called in a reply."""
        ...

    @property
    def unit(self) -> Unit:
        """What it counts."""
        ...

    @property
    def margin(self) -> float:
        """The largest fraction by which the client's count may exceed this one."""
        ...

    def count(self, text: str) -> int:
        """The size of the text in the counter's unit."""
        ...


def counts_wire(counter: Counter) -> bool:
    """Whether a counter counts what is sent: then a result is all of its JSON, and not the texts that are read."""
    return counter.unit == "bytes"


@lru_cache(maxsize=8)
def _tokenizer(vocabulary: str) -> Any:
    try:
        import splintr
    except ImportError:
        raise MissingExtra("tokens", "splintr-rs") from None
    try:
        return splintr.Tokenizer.from_pretrained(vocabulary)
    except ValueError as error:
        raise ValidationFailed(
            f"there is no vocabulary called {vocabulary!r}",
            remediation="Use o200k_base, cl100k_base or another name that splintr knows",
        ) from error


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Exact counts by a vocabulary that ships inside splintr-rs; nothing is downloaded."""

    vocabulary: str = DEFAULT_VOCABULARY
    name: str = ""
    margin: float = 0.0
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        _tokenizer(self.vocabulary)
        object.__setattr__(self, "name", self.name or self.vocabulary)

    def count(self, text: str) -> int:
        """The number of tokens; spelled-out special tokens count as the plain text that they are."""
        tokenizer = _tokenizer(self.vocabulary)
        try:
            return sum(len(tokenizer.encode_ordinary(part)) for part in _parts(text))
        except UnicodeEncodeError:
            return self.count(text.encode("utf-8", "replace").decode())  # no tokenizer can read lone surrogates
        finally:
            if len(text) > PART and tokenizer.cache_len > REMEMBERED:  # to ask this takes longer than a short text
                tokenizer.clear_cache()


def _parts(text: str) -> Iterator[str]:
    """A text in parts that end where tokens do; a word that is longer than a part is cut anywhere."""
    start = 0
    while len(text) - start > PART:
        ends = [found.end() for found in _TOKEN_END.finditer(text, start + PART - LOOK_BACK, start + PART)]
        end = ends[-1] if ends else start + PART
        yield text[start:end]
        start = end
    yield text[start:]


Weights: TypeAlias = tuple[tuple["re.Pattern[str]", float], ...]

_ASCII_WEIGHTS: Final[Weights] = tuple(
    (re.compile(pattern), weight)
    for pattern, weight in (
        (r"[A-Za-z]+", 0.32),
        (r"[A-Z]?[a-z]+|[A-Z]+", 0.62),  # the parts of a camelCaseName
        (r"[A-Za-z]{7}", 0.70),  # long words break
        (r"[bcdfghjklmnpqrstvwxz]{4}", 2.70),  # letters that spell no word
        (r"[A-Z]{3}", 0.60),
        (r"(?<=[a-z])[A-Z]|[jqxz](?![aeiou])", 0.45),
        (r"[0-9]{1,3}", 1.00),
        (r"(?<=[A-Za-z])[0-9]", 0.25),
        (r"[^A-Za-z0-9\s]+", 0.40),
        (r"[^A-Za-z0-9\s]", 0.62),
        (r"\s{2,}|\n|[ \t](?=[0-9])", 1.00),  # one space belongs to the word after it, others do not
    )
)
_FOREIGN_WEIGHTS: Final[Weights] = tuple(
    (re.compile(pattern), weight)
    for pattern, weight in (
        ("[\u0300-\u036f]", 2.00),  # combining marks
        ("[\u0400-\u052f]", 0.33),  # Cyrillic
        ("[\u0080-\u02ff\u0370-\u03ff\u0530-\u07ff]", 0.45),  # accented Latin, Greek, Hebrew, Arabic
        ("[\u0800-\u1fff]", 0.65),  # Indic scripts, Thai
        ("[\u2000-\u2fff]", 1.60),  # punctuation and symbols
        ("[\u3000-\u9fff\uac00-\ud7ff]", 1.05),  # Chinese, Japanese, Korean
        ("[\ua000-\uabff\ud800-\uffff]", 2.20),
        ("[\U00010000-\U0010ffff]", 2.60),  # emoji
    )
)
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")


def _weigh(text: str, weights: Weights) -> float:
    return sum(weight * len(pattern.findall(text)) for pattern, weight in weights)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A count without any dependency: character classes weighed against o200k, leaning high.

    `bench/tokens.py` prints how it compares per kind of text.
    """

    name: str = "estimate"
    margin: float = 0.10
    unit: Unit = "tokens"

    def count(self, text: str) -> int:
        """The estimated number of tokens."""
        if not text:
            return 0
        weight = 0.0
        if not text.isascii():
            weight = _weigh("".join(_FOREIGN.findall(text)), _FOREIGN_WEIGHTS)
            text = _FOREIGN.sub("", text)
        return int(weight + _weigh(text, _ASCII_WEIGHTS)) + 1


@dataclass(frozen=True, slots=True)
class Characters:
    """Sizes in characters (Unicode code points)."""

    name: str = "characters"
    margin: float = 0.0
    unit: Unit = "characters"

    def count(self, text: str) -> int:
        """The number of characters."""
        return len(text)


@dataclass(frozen=True, slots=True)
class Bytes:
    """Sizes in bytes of UTF-8."""

    name: str = "bytes"
    margin: float = 0.0
    unit: Unit = "bytes"

    def count(self, text: str) -> int:
        """The number of bytes that the text takes on the wire."""
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class _CombinedCounter:
    """Two limits at once: a text counts for the larger of the two shares that it takes up."""

    first: Budget
    second: Budget
    name: str = field(init=False)
    unit: Unit = field(init=False)
    margin: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.first.counter.name}+{self.second.counter.name}")
        object.__setattr__(self, "unit", self.first.counter.unit)

    def count(self, text: str) -> int:
        first, second = self.first, self.second
        scaled = -(-second.counter.count(text) * first.room // second.room)
        return max(first.counter.count(text), scaled)

    def spell(self, size: int) -> str:
        """A size in the terms of the second limit, which is the caller's own."""
        return f"{-(-size * self.second.room // self.first.room)} {self.second.counter.unit}"


def best_counter() -> Counter:
    """The exact default vocabulary when splintr-rs is installed, the estimate otherwise."""
    try:
        return Vocabulary()
    except MissingExtra:
        return Estimate()


def find_counter(name: str) -> Counter:
    """The counter of that name: estimate, characters, bytes, claude, or a vocabulary such as o200k_base."""
    if name == "estimate":
        return Estimate()
    if name == "characters":
        return Characters()
    if name == "bytes":
        return Bytes()
    if name == "claude":
        return _claude()
    return Vocabulary({"o200k": "o200k_base", "cl100k": "cl100k_base"}.get(name, name))


def _claude() -> Counter:
    try:
        return Vocabulary(name="claude~o200k_base", margin=CLAUDE_MARGIN)
    except MissingExtra:
        return Estimate(name="claude~estimate", margin=0.25)


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit, the counter that it is meant in, and what of a result it is a limit of, where that is known."""

    limit: int
    counter: Counter = field(default_factory=best_counter)
    reads: Reads | None = None
    room: int = field(init=False, repr=False, compare=False)
    """How much may be filled so that the client's own count stays within the limit."""

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not isinstance(self.limit, int) or self.limit < 1:
            raise ValidationFailed(
                f"a budget must be a whole number of at least 1, not {self.limit!r}",
                remediation="Give a positive number of tokens, for example 8000",
                details={"budget": repr(self.limit)[:100]},
            )
        room = self.limit * 1000 // round(1000 * (1 + self.counter.margin))
        object.__setattr__(self, "room", max(1, room))

    @property
    def is_of_wire(self) -> bool:
        """Whether what is sent is limited and not what is read: all of a result counts then, with its pictures."""
        return counts_wire(self.counter)

    def holds(self, text: str) -> bool:
        """Whether the text fits."""
        return self.counter.count(text) <= self.room

    def shortfall(self, tokens: int) -> str | None:
        """The smallest limit in the same terms that holds so many tokens; None where this one does."""
        if isinstance(self.counter, _CombinedCounter):
            return self.counter.first.shortfall(tokens) or self.counter.second.shortfall(tokens)
        unit = self.counter.unit
        room = tokens if unit == "tokens" else tokens * CHARACTERS_PER_TOKEN
        least = -(-room * round(1000 * (1 + self.counter.margin)) // 1000)
        how = " (estimated: aerogram[tokens] counts them)" if isinstance(self.counter, Estimate) else ""
        return None if self.limit >= least else f"{least} {unit}{how}"

    @property
    def most_characters(self) -> int:
        """How many characters may be in a text that fits."""
        if isinstance(self.counter, _CombinedCounter):
            return min(self.counter.first.most_characters, self.counter.second.most_characters)
        return self.limit * (MOST_CHARACTERS_PER_TOKEN if self.counter.unit == "tokens" else 1)

    def within(self, other: Budget) -> Budget:
        """The smaller of the two; when they are in different terms, both hold."""
        reads = self.reads or other.reads
        if self.counter == other.counter:
            return replace(min(self, other, key=lambda budget: budget.limit), reads=reads)
        return Budget(self.room, _CombinedCounter(self, other), reads)

    @classmethod
    def of(cls, value: int | str | Budget) -> Budget:
        """A budget from a number of tokens, a text such as "10240 bytes", or the name of a preset."""
        if isinstance(value, Budget):
            return value
        if not isinstance(value, str):
            return cls(value)
        if value in PRESETS:
            return cls.preset(value)
        return cls._parse(value)

    @classmethod
    def _parse(cls, text: str) -> Budget:
        match = re.fullmatch(r"\s*([0-9][0-9_,]*)\s*(tokens|characters|bytes)?\s*", text)
        if match is None or len(match[1]) > MOST_DIGITS:
            why = "is known, but it has no known limit" if text.strip() in CLIENTS else "is not a budget"
            raise ValidationFailed(
                f"{text[:80]!r} {why}: give a number of tokens, characters or bytes, or one of {', '.join(PRESETS)}",
                remediation="Write a number, such as 8000 or '10240 bytes'",
            )
        limit = int(re.sub("[_,]", "", match[1]))
        unit = match[2] or "tokens"
        return cls(limit) if unit == "tokens" else cls(limit, find_counter(unit))

    @classmethod
    def preset(cls, name: str) -> Budget:
        """The limits of a client, all of which hold, for what its model reads."""
        limits = [cls(limit, find_counter(counter), CLIENTS[name].success) for limit, counter in PRESETS[name]]
        # two limits are counted in the terms of the first, and what is said to be tokens must be tokens
        first, *rest = sorted(limits, key=lambda budget: budget.counter.unit == "tokens")
        for budget in rest:
            first = first.within(budget)
        return first


PRESETS: Final[Mapping[str, tuple[Limit, ...]]] = MappingProxyType(
    {name: row.limits for name, row in CLIENTS.items() if row.limits}
)
"""The clients that are known to have limits."""
_BY_CLIENT: Final = re.compile(r"\s*by-client(?:[\s,]+(?P<own>\S.*?))?\s*")


def split_by_client(value: Any) -> tuple[bool, Any]:
    """Whether a budget is chosen by the name that a client gives itself, and the server's own for all others."""
    found = _BY_CLIENT.fullmatch(value) if isinstance(value, str) else None
    return (False, value) if found is None else (True, found["own"])
