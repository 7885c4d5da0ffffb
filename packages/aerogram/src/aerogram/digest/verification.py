# ruff: noqa: RUF001  it knows the signs of many scripts
"""Verification: whether a digest still says what its source says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, overload

from aerogram.content import Content
from aerogram.digest.payload import MAX_SNIPPET, DigestPayload
from aerogram.digest.sentences import find_ends, split
from aerogram.digest.text import UNSPACED, CanonicalText, InvalidLocator, Locator, text_hash
from aerogram.errors import IntegrityError, NotFound
from aerogram.shape.facts import count_digest

_IN_RUN = re.compile(f"[{UNSPACED}]")
_BLANK_IN_RUN = re.compile(f"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])")
_BULLET = re.compile(r"\A[-*+•・]\s+")
_CLOSING = re.compile(r"""[.!?…।؟۔。！？｡"'”’»)\]]+""")
_LONG = 60
"""What was cut out of a sentence that is too long for a digest has mostly so many characters at least."""
_MOST_STARTS = 100
"""Where another sentence is tried to begin in one that runs on; one that was made up could have any number."""
_COUNTS = ("original_chars", "digest_chars", "compression_ratio")
_MOST_SIGNS = 5
"""So many signs that end sentences elsewhere, as behind an abbreviation, may stand inside of one that is looked for."""
_MOST_READ = 4_000_000_000
"""Characters that are read to find what runs on: a text is read again for each place where that may begin or end."""
_MOST_PLACES = 50
"""So many places of the text that have some words are looked at."""


@dataclass(frozen=True, slots=True)
class UnfoundSentence:
    """A sentence that is not from the text, and the field that has it."""

    field: str
    text: str


def find_unfound(payload: DigestPayload, text: str) -> tuple[UnfoundSentence, ...]:
    """The sentences of summary and key points that do not stand in a canonical text."""
    matcher = _TextMatcher(text, MAX_SNIPPET)
    fields = {"summary": payload.summary}
    fields |= {f"key_points[{number}]": point for number, point in enumerate(payload.key_points)}
    return tuple(UnfoundSentence(field, one) for field, said in fields.items() for one in matcher.find_unfound(said))


class _TextMatcher:
    """The sentences of a text without regard to its blanks; those longer than `limit` may have been cut anywhere."""

    def __init__(self, text: str, limit: int) -> None:
        self._starts: set[int] = set()
        self._ends: set[int] = set()
        self._long: list[tuple[int, int]] = []
        self._least = min(limit // 3, _LONG)
        self._line = self._join(text, limit)
        self._left = _MOST_READ

    def _join(self, text: str, limit: int) -> str:
        """All sentences in one line, while it is noted where each begins and ends in it."""
        pieces: list[str] = []
        length = 0
        for sentence in split(text, len(text) + 1):
            begun = length
            whole = _BULLET.sub("", text[sentence.start : sentence.end])
            for said in filter(None, map(_in_one_line, _parts(whole))):
                gap = " " if pieces and not (_IN_RUN.match(said) or _IN_RUN.match(pieces[-1][-1])) else ""
                pieces += [gap, said] if gap else [said]
                self._starts.add(length + len(gap))
                length += len(gap) + len(said)
                self._ends.add(length)
            if sentence.end - sentence.start > limit:
                self._long.append((begun, length))
        return "".join(pieces)

    def find_unfound(self, said: str) -> Iterator[str]:
        """The sentences of what is said that do not stand in the text."""
        parts = [one.strip() for line in said.splitlines() for one in _parts(line) if one.strip()]
        at = 0
        while at < len(parts):
            ends = range(at + 1, min(at + 1 + _MOST_SIGNS, len(parts)) + 1)
            end = next((end for end in ends if self.contains(" ".join(parts[at:end]))), None)
            if end is None:
                yield parts[at]
            at = end or at + 1

    def contains(self, sentence: str) -> bool:
        """Whether a sentence stands in the text, or several do that run on."""
        words = sentence.split()
        starts, tried = [0], set[int]()
        while starts and len(tried) < _MOST_STARTS and (self._left > 0 or not tried):
            start = starts.pop()
            if start in tried:
                continue
            tried.add(start)
            rest = words[start:]
            if self._has(" ".join(rest)):
                return True
            starts += [start + count for count in self._stops(rest)]  # what is after the longest is tried first
        return False

    def _stops(self, words: list[str]) -> Iterator[int]:
        """After how many words a sentence may end and another one begin, the fewest first."""
        for count in range(1, self._prefix_length(words) + 1):
            if self._left > 0 and self._has(" ".join(words[:count])):
                yield count

    def _has(self, piece: str) -> bool:
        """Whether a piece is some whole sentences, or what was cut out of a long one."""
        said, at = _in_one_line(piece), -1
        self._left -= len(self._line)
        for _ in range(_MOST_PLACES):
            at = self._line.find(said, at + 1)
            if at < 0:
                return False
            end = at + len(said)
            begins, ends = at in self._starts, self._ends_at(end)
            if begins and ends:
                return True
            inside = next((span for span in self._long if span[0] <= at and end <= span[1]), None)
            if inside is not None and (begins or ends or len(said) >= self._least):
                return True
        return False

    def _ends_at(self, place: int) -> bool:
        """Whether a sentence ends at a place of the line, or does but for the sign that closes it."""
        closed = _CLOSING.match(self._line, place)
        return place in self._ends or (closed is not None and closed.end() in self._ends)

    def _prefix_length(self, words: list[str]) -> int:
        """How many words at the beginning stand in the text as they are, the last one left over."""
        least, most = 0, len(words) - 1
        while least < most:
            middle = (least + most + 1) // 2
            self._left -= len(self._line)
            is_there = _in_one_line(" ".join(words[:middle])) in self._line
            least, most = (middle, most) if is_there else (least, middle - 1)
        return least


def _parts(text: str) -> Iterator[str]:
    """A text in parts that end where sentences do, also those of a word or two."""
    return (text[slice(*part)] for part in pairwise((0, *find_ends(text, 0, len(text)), len(text))))


def _in_one_line(text: str) -> str:
    """A text in one line, without the blanks beside letters of scripts that have none."""
    return _BLANK_IN_RUN.sub("", " ".join(text.split()))


class TextArchive(Protocol):
    """Where canonical texts are kept by their hash; `aerogram.archive.Archive` is one.

    Whoever names a principal needs an archive whose `put` and `get` take `principal=`.
    """

    async def put(self, *contents: Content) -> object:
        """Keep contents under the hashes that follow from them."""

    async def get(self, hash: str) -> Content:
        """The content with that hash."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that does not hold: which field, what the digest says and what the text says."""

    field: str
    message: str
    said: str
    found: str | None


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome; true when the hash, the counts and every snippet hold.

    A digest may be summed up in words of its own, which cannot be checked; `unfound` has the
    sentences of summary and key points that are not from the text, if that is the right one.
    """

    mismatches: tuple[Mismatch, ...]
    snippets: int
    unfound: tuple[UnfoundSentence, ...] = ()

    def __bool__(self) -> bool:
        return not self.mismatches

    @property
    def mismatch(self) -> Mismatch | None:
        """The first thing that does not hold."""
        return self.mismatches[0] if self.mismatches else None

    def require(self) -> None:
        """Raise `IntegrityError` unless everything holds."""
        if self.mismatch is not None:
            raise IntegrityError(self.mismatch.message, details={"field": self.mismatch.field})


@overload
def verify(payload: DigestPayload, source: str | CanonicalText) -> Verification: ...
@overload
def verify(payload: DigestPayload, source: TextArchive, *, principal: str | None = None) -> Awaitable[Verification]: ...
def verify(
    payload: DigestPayload, source: str | CanonicalText | TextArchive, *, principal: str | None = None
) -> Verification | Awaitable[Verification]:
    """Check a digest's hash, its counts and every quotation against its canonical text; await it when given an archive.

    The sentences of summary and key points are looked for in the text as well; see `Verification.unfound`.
    """
    if isinstance(source, CanonicalText):
        return _verify_text(payload, source.text)
    if isinstance(source, str):
        return _verify_text(payload, source)
    if not hasattr(source, "get") or not hasattr(source, "put"):
        raise TypeError(f"verify takes a text or an archive, not {type(source).__name__}; read(…) makes a text of it")
    return _verify_archived(payload, source, principal)


async def keep(text: CanonicalText, archive: TextArchive, *, principal: str | None = None) -> str:
    """Put a canonical text into an archive, into the principal's part of it; its hash."""
    await archive.put(Content.of_text(text.text), **_principal_argument(principal))
    return text.hash


async def fetch(
    archive: TextArchive,
    source_text_hash: str,
    locator: str | Locator | None = None,
    *,
    principal: str | None = None,
) -> str:
    """A canonical text from the principal's part of an archive: the whole of it, or what a locator points to."""
    content = await archive.get(source_text_hash, **_principal_argument(principal))
    text = content.body.decode()
    if locator is None:
        return text
    return (Locator.parse(locator) if isinstance(locator, str) else locator).quote(text)


def _principal_argument(principal: str | None) -> dict[str, Any]:
    # an archive that knows of no principals is not asked about them
    return {} if principal is None else {"principal": principal}


async def _verify_archived(payload: DigestPayload, archive: TextArchive, principal: str | None) -> Verification:
    try:
        text = await fetch(archive, payload.source_text_hash, principal=principal)
    except NotFound as error:
        missing = Mismatch("source_text_hash", f"the archive has no such text: {error}", payload.source_text_hash, None)
        return Verification((missing,), len(payload.evidence_snippets))
    return await asyncio.to_thread(_verify_text, payload, text)  # a long text takes seconds


def _verify_text(payload: DigestPayload, text: str) -> Verification:
    found = _mismatches(payload, text)
    is_its_text = not any(one.field == "source_text_hash" for one in found)
    unfound = find_unfound(payload, text) if is_its_text else ()
    return Verification(tuple(found), len(payload.evidence_snippets), unfound)


def holds(payload: DigestPayload, text: CanonicalText) -> bool:
    """Whether hash, counts and quotations hold: what `verify` says, without looking for each sentence in the text."""
    return not _mismatches(payload, text.text)


def _mismatches(payload: DigestPayload, text: str) -> list[Mismatch]:
    checks = [_hash_mismatch(payload, text)]
    is_its_text = checks[0] is None
    checks += [_snippet_mismatch(payload, number, text) for number in range(len(payload.evidence_snippets))]
    checks += _count_mismatches(payload, text) if is_its_text else ()
    return [check for check in checks if check]


def _hash_mismatch(payload: DigestPayload, text: str) -> Mismatch | None:
    found = text_hash(text)
    if found == payload.source_text_hash:
        return None
    message = f"source_text_hash: the digest is of another text ({payload.source_text_hash[:19]}…, here {found[:19]}…)"
    return Mismatch("source_text_hash", message, payload.source_text_hash, found)


def _count_mismatches(payload: DigestPayload, text: str) -> list[Mismatch | None]:
    """The counts that are not those of the text and of the digest itself."""
    counted = count_digest({"original_chars": len(text)}, lambda said: payload.model_copy(update=said).to_json())
    return [_count_mismatch(payload, name, counted[name]) for name in _COUNTS]


def _count_mismatch(payload: DigestPayload, name: str, counted: float) -> Mismatch | None:
    said = getattr(payload, name)
    if said == counted:
        return None
    return Mismatch(name, f"{name}: the digest says {said}, and it is {counted}", str(said), str(counted))


def _snippet_mismatch(payload: DigestPayload, number: int, text: str) -> Mismatch | None:
    snippet = payload.evidence_snippets[number]
    try:
        found = Locator.parse(snippet.locator).quote(text)
    except InvalidLocator as error:
        where = f"evidence_snippets[{number}]"
        return Mismatch(f"{where}.locator", f"{where}: {error}", snippet.text, None)
    if found == snippet.text and found.strip():
        return None
    if not snippet.text.strip():
        message = f"evidence_snippets[{number}]: nothing is quoted"
        return Mismatch(f"evidence_snippets[{number}].text", message, snippet.text, found)
    message = f"evidence_snippets[{number}]: the text at {snippet.locator} is not what is quoted"
    return Mismatch(f"evidence_snippets[{number}].text", message, snippet.text, found)
