"""Licences: the gate before documents that are in the index and may not be shown.

Whoever runs an index names the licences that are withheld. Their documents are found by nobody; what is said instead is
how many results there would have been.

One licence is written in many ways: `GPL-3.0-only`, "GNU GPL v3", `gplv3+`, the address of its text, or a part of
`MIT OR GPL-3.0`. Whoever withholds it means all of them, so a name is found wherever its words stand one after another,
with its version, one that may be it, or none. What may be meant is withheld: rather too much than too little.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, Self

from aerogram.content import canonical_json
from aerogram.errors import Forbidden
from aerogram.reply import Notice
from aerogram_knowledge.documents.front import LONGEST, UNKNOWN_LICENSE, in_lower_case, license_of
from aerogram_knowledge.filters import Filters, key_of
from aerogram_knowledge.store import Store, StoredChunk

__all__ = ["LicenceName", "LicenseBlocked", "LicenseFilter", "other_license_notice"]

CODE: Final = "LICENSE_GATE_BLOCKED"
OBTAIN: Final = "Ask whoever runs the index for a licence that covers it"
MOST_REMEMBERED: Final = 10_000
"""Of so many licences it is remembered whether they are withheld."""
MEND: Final = "Ask whoever runs the index to mend what the document says of its licence"


_LATER: Final = "orlater"
_REWRITTEN: Final = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r">=\s*v?(\d+(?:\.\d+)*)", rf"\1 {_LATER} "),
        (r"(?<=[\w.])\+", f" {_LATER} "),
        (
            r"\b(?:or|and)[\W_]+(?:at[\W_]+your[\W_]+option[\W_]+)?(?:any[\W_]+)?(?:later|newer|higher|above)\b",
            f" {_LATER} ",
        ),
        (r"(?<=\d)[\W_]+(?:or|and|to|through)[\W_]+(?:v(?:ersion)?[\W_]*)?(?=\d)", " "),
        (r"\baffero[\W_]+(?:general[\W_]+public|gpl)\b", " agpl "),
        (r"\b(?:lesser|library)[\W_]+(?:general[\W_]+public|gpl)\b", " lgpl "),
        (r"\b(?:general|gnu)[\W_]+public\b", " gpl "),
        (r"\bmozilla[\W_]+public\b", " mpl "),
        (r"\beclipse[\W_]+public\b", " epl "),
        (r"\beuropean[\W_]+union[\W_]+public\b", " eupl "),
        (r"\bserver[\W_]+side[\W_]+public\b", " sspl "),
        (r"\bbusiness[\W_]+source\b", " busl "),
        (r"\bapache[\W_]+software\b", " apache "),
        (r"\bcreative[\W_]*commons(?:[\W_]+org[\W_]+(?:licen[sc]es|publicdomain))?\b", " cc "),
        (r"\bcc[\W_]*(?:0|zero)(?!\.\d)\b", " cczero "),
        (r"\bcc[\W_]+attribution\b", " cc by "),
        (r"\battribution\b(?=[\W_]*(?:non|no[\W_]*d|share|v?\d|international|unported|$))", " cc by "),
        (r"\battribution\b", " by "),
        (r"\bnon[\W_]*commercial\b", " nc "),
        (r"\bno[\W_]*deriv(?:ative)?s?(?:[\W_]+works)?\b", " nd "),
        (r"\bshare[\W_]*alike\b", " sa "),
        (r"\b(\d)[\W_]*clause[\W_]+bsd\b", r" bsd \1 clause "),
    )
)
"""Long names as short ones, whose words are then looked for."""
_TOKENS: Final = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_PLAIN: Final = frozenset(
    (
        *("a", "of", "the", "terms", "under", "gnu", "only", "ref", "v", "ver", "version"),
        *("licence", "licences", "license", "licensed", "licenseref", "licenses"),
    )
)
"""Words that tell no licence from another."""


@dataclass(frozen=True, slots=True)
class _Version:
    """One of some versions, or with `is_open` one of them and every later one."""

    numbers: tuple[tuple[int, ...], ...]
    is_open: bool = False

    def meets(self, other: _Version) -> bool:
        """Whether some version is meant by both."""
        low, high = sorted((self, other), key=lambda one: min(one.numbers))
        return (low.is_open and min(low.numbers) <= max(high.numbers)) or not set(low.numbers).isdisjoint(high.numbers)


@dataclass(frozen=True, slots=True)
class LicenceName:
    """A licence by its name: words, and versions between and behind them."""

    written: str
    parts: tuple[str | _Version, ...]

    @classmethod
    def of(cls, name: str) -> Self:
        """A licence as whoever withholds it writes it."""
        return cls(_fold(name), tuple(_join(_parts(name))))

    def is_in(self, stated: str) -> bool:
        """Whether what a document states may be this licence, or name it among others."""
        if _fold(stated) == self.written:
            return True
        found = _parts(stated)
        return bool(self.parts) and any(_begins(found[at:], self.parts) for at in range(len(found)))


def _fold(text: str) -> str:
    """A text in the letters that it is compared in: one case, one width, and nothing that is not seen."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(one for one in folded if unicodedata.category(one) != "Cf").split())


@lru_cache(maxsize=16)
def _parts(text: str) -> tuple[str | _Version, ...]:
    """The words of a text that tell licences apart, and its versions; one text is held against many names in turn."""
    folded = _fold(text)
    for pattern, written in _REWRITTEN:
        folded = pattern.sub(written, folded)
    found: list[str | _Version] = []
    for token in _TOKENS.findall(folded):
        if token == _LATER:
            if found and isinstance(found[-1], _Version):
                found[-1] = replace(found[-1], is_open=True)
        elif token[0].isdecimal():
            if found and isinstance(found[-1], str) and len(found[-1]) > 1:
                found[-1] = found[-1].removesuffix("v")  # gplv3
            if found and isinstance(found[-1], _Version):
                found[-1] = replace(found[-1], numbers=(*found[-1].numbers, _number(token)))
            else:
                found.append(_Version((_number(token),)))
        elif token not in _PLAIN:
            found.append(token)
    return tuple(found)


def _number(token: str) -> tuple[int, ...]:
    steps = [int(step[:9]) for step in token.split(".")]
    while steps and not steps[-1]:
        steps.pop()
    return tuple(steps)


def _join(parts: Sequence[str | _Version]) -> list[str | _Version]:
    """Words that stand beside each other as one: somebody may write them together."""
    joined: list[str | _Version] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _begins(found: Sequence[str | _Version], wanted: Sequence[str | _Version]) -> bool:
    """Whether parts begin with a name; the version at its end may be missing, as all may that follow its words."""
    at = 0
    for place, part in enumerate(wanted):
        if isinstance(part, _Version):
            here = found[at] if at < len(found) else None
            if not isinstance(here, _Version):
                return place > 0 and (at == len(found) or place == len(wanted) - 1)
            if not here.meets(part):
                return False
            at += 1
            continue
        word = ""
        while at < len(found) and isinstance(step := found[at], str) and len(word) < len(part):
            word += step
            at += 1
        if word != part:
            return False
    return True


class LicenseBlocked(Forbidden):
    """Everything that was asked for is withheld because of its licence."""

    code = CODE


class LicenseFilter:
    """Which licences are withheld; nothing is by default.

    Where any is, so is an unknown one, because it could be that, and so is each that may be it in other words.
    """

    def __init__(self, names: Iterable[str] = (), store: Store | None = None) -> None:
        named = sorted({key_of(one) for one in names} - {""})
        self.withheld: Final = tuple(map(LicenceName.of, (*named, UNKNOWN_LICENSE, "unknown") if named else ()))
        self._store = store
        self._known: tuple[int, tuple[str, ...]] = (-1, ())
        self._realm: tuple[int, str] = (-1, "")
        self._holds = lru_cache(MOST_REMEMBERED)(self._find)

    def holds(self, stated: str | None) -> bool:
        """Whether a licence, as a document states it, is withheld."""
        return stated is not None and bool(self.withheld) and self._holds(stated)

    def _find(self, stated: str) -> bool:
        # a sign may stand for a sentence, and what is so long is not the name of a licence
        return len(_fold(stated)) >= LONGEST or any(one.is_in(stated) for one in self.withheld)

    def spellings(self) -> tuple[str, ...]:
        """The licences of the index that are withheld, as they are compared in it."""
        if self._store is None or not self.withheld:
            return ()
        generation = self._store.generation
        if self._known[0] != generation:
            found = {key_of(one) for one in self._store.values("license") if self.holds(one)}
            self._known = (generation, tuple(sorted(found)))
        return self._known[1]

    def realm(self) -> str:
        """What stands for all that is withheld now: another name when that is other, none when nothing can be.

        What was kept in another realm may hold what may no longer be shown.
        """
        if self._store is None or not self.withheld:
            return ""
        generation = self._store.generation
        if self._realm[0] != generation:
            spellings, graph = self.spellings(), self._store.graph()
            documents = sorted(self._store.names_under(spellings)) if spellings else []
            records = [one["id"] for one in (*graph.entities, *graph.relationships) if self.bars(one)]
            told = [[one.written for one in self.withheld], documents, sorted(records)]
            self._realm = (generation, sha256(canonical_json(told)).hexdigest())
        return self._realm[1]

    def narrow(self, filters: Filters) -> Filters:
        """Filters that let nothing pass which the gate holds back."""
        return replace(filters, withheld=self.spellings()) if self.withheld else filters

    def holds_back(self, chunk: StoredChunk) -> bool:
        """Whether a chunk may not be shown."""
        return self.holds(chunk.license)

    def bars(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of the vendor graph states itself a licence that is withheld."""
        return self.holds(license_of(in_lower_case(record)))

    def refusal(self, count: int) -> LicenseBlocked:
        """What is said when nothing else is left to be shown."""
        several = f"All {count} results are withheld because of their licence"
        return LicenseBlocked(several if count > 1 else _ONE, remediation=OBTAIN, details={"withheld": count})

    def refusal_of(self, chunk: StoredChunk) -> LicenseBlocked:
        """What is said of one document that may not be shown."""
        return LicenseBlocked(_UNREAD, remediation=MEND) if chunk.license == UNKNOWN_LICENSE else self.refusal(1)

    def notices(self, count: int) -> tuple[Notice, ...]:
        """What is said beside the results that may be shown."""
        if not count:
            return ()
        message = f"{count} more are withheld because of their licence"
        return (Notice(message, CODE, "warning", OBTAIN, {"withheld": count}),)


_ONE: Final = "It is withheld because of its licence"
_UNREAD: Final = "It is withheld because its licence cannot be read"


def other_license_notice() -> Notice:
    """What is said when a caller's own filter leaves nothing of what there is under other licences."""
    return Notice("There are results under other licences", CODE, "warning", "Leave out the filter by licence")
