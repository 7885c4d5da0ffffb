# ruff: noqa: RUF001  it knows the signs of many scripts
"""Verification: whether a digest still says what its source says."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, overload

from aerogram.content import Content
from aerogram.digest.payload import MAX_SNIPPET, DigestPayload
from aerogram.digest.sentences import find_ends, pieces, split
from aerogram.digest.text import UNSPACED, CanonicalText, InvalidLocator, Locator, text_hash
from aerogram.errors import IntegrityError, NotFound
from aerogram.shape.facts import count_digest

_BLANK_IN_RUN = re.compile(f"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])")
_BORDER = re.compile(f" |(?<=[{UNSPACED}])|(?=[{UNSPACED}])|\\Z")
_BULLET = re.compile(r"\A(?:[-*+•・>]|#{1,6})\s+")
_CLOSING = re.compile(r"""[.!?…।؟۔。！？｡"'”’“‘»«)\]]{1,5}\Z""")
_COUNTS = ("original_chars", "digest_chars", "compression_ratio")


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
    """The sentences of a text without regard to its blanks, and the pieces that one longer than `limit` is cut into."""

    def __init__(self, text: str, limit: int) -> None:
        self._sentences: set[str] = set()
        for sentence in split(text, len(text) + 1, shortest=0):
            self._add(text[sentence.start : sentence.end])
            if sentence.end - sentence.start > limit:
                for piece in pieces(text, sentence.start, sentence.end, limit):
                    self._add(text[slice(*piece)])

    def _add(self, sentence: str) -> None:
        """Take in what ends where sentences do, with and without the signs that open and close it."""
        parts = [part for said in {sentence, _BULLET.sub("", sentence)} for part in _parts(said)]
        for said in filter(None, map(_in_one_line, parts)):
            closing = _CLOSING.search(said)
            bare = max(1, closing.start()) if closing else len(said)
            self._sentences.update(said[:end] for end in range(bare, len(said) + 1))

    def find_unfound(self, said: str) -> Iterator[str]:
        """The sentences of what is said that do not stand in the text."""
        parts = [one.strip() for line in said.splitlines() for one in _parts(line) if one.strip()]
        line = _in_one_line(" ".join(parts))
        starts, ends = [0], list[int]()
        for part in parts:
            ends.append(starts[-1] + len(_in_one_line(part)))
            starts.append(ends[-1] + line.startswith(" ", ends[-1]))
        found, seen = 0, set[int]()
        for part, start in zip(parts, starts, strict=False):
            reached = self._reach(line, start, seen).intersection(ends) if start >= found else ()
            found = max(reached, default=found)
            if start >= found:
                yield part

    def _reach(self, line: str, start: int, seen: set[int]) -> set[int]:
        """Where sentences of the text end, the first of which begins at a place, and each other where one has ended.

        No place is looked at twice: from one that was `seen`, what can be reached has been.
        """
        borders = [border.start() for border in _BORDER.finditer(line, start)]
        waiting, reached = [start], set[int]()
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            for end in borders[bisect_right(borders, place) :]:
                if line[place:end] in self._sentences:
                    reached.add(end)
                    waiting.append(end + line.startswith(" ", end))
        return reached


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
