"""Canonical text: the one form of a source's words that hashes and locators speak about.

It is NFC, its lines end in a line feed, runs of blanks inside a line are one blank,
at most one empty line stands between paragraphs, and a form feed stands between
pages. Indentation stays, because code means something by it. Normalising it again
changes nothing.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from aerogram.errors import ValidationFailed

NORMALISATION = "canonical/1"
PAGE_BREAK = "\f"
UNSPACED = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f"
"""Letters and marks that stand without blanks between them; where lines end among them, nothing is meant by it."""

_LINE_ENDS = re.compile("\r\n|[\r\v\x85\u2028\u2029]")
_BLANKS = re.compile("[\x1c-\x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_RUN = re.compile("[ \t]{2,}")


@dataclass(frozen=True, slots=True)
class CanonicalText:
    """A source's canonical text, its hash, and which extractor in which version made it."""

    text: str
    extractor: str
    version: str
    paged: bool = False
    notes: tuple[str, ...] = ()
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", text_hash(self.text))

    @property
    def provenance(self) -> dict[str, str]:
        """What a later reader needs to make the same text again, next to its hash."""
        return {
            "source_text_hash": self.hash,
            "extractor": self.extractor,
            "extractor_version": self.version,
            "normalisation": NORMALISATION,
        }


def text_hash(text: str) -> str:
    """The sha256 of a canonical text's UTF-8, as `sha256:…`."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def normalise(text: str) -> str:
    """The canonical form of any text; idempotent and in linear time."""
    if not text.isascii():
        text = _SURROGATES.sub("\ufffd", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _BLANKS.sub(" ", text)
    text = _INVISIBLE.sub("", text)
    pages = [_normalise_page(page) for page in text.split(PAGE_BREAK)]
    return unicodedata.normalize("NFC", PAGE_BREAK.join(pages))


def page_spans(text: str) -> list[tuple[int, int]]:
    """Where each page of a canonical text starts and ends."""
    spans = []
    start = 0
    for page in text.split(PAGE_BREAK):
        spans.append((start, start + len(page)))
        start += len(page) + 1
    return spans


def _normalise_page(page: str) -> str:
    return "\n".join(_single_gaps(map(_normalise_line, page.split("\n")))).strip("\n")


def _normalise_line(line: str) -> str:
    line = line.rstrip(" \t")
    body = line.lstrip(" \t")
    if "  " in body or "\t" in body:
        # a tab separates the cells of a table, so a run that holds one stays a tab
        body = _RUN.sub(lambda run: "\t" if "\t" in run[0] else " ", body)
    return line[: len(line) - len(line.lstrip(" \t"))] + body


def _single_gaps(lines: Iterator[str]) -> Iterator[str]:
    """The lines with every run of empty ones made one."""
    gap = False
    for line in lines:
        if line or not gap:
            yield line
        gap = not line


LOCATOR_PATTERN = r"^(?:page:[1-9][0-9]{0,8}:)?char:[0-9]{1,12}-[0-9]{1,12}$"
_PARTS = re.compile(r"(?:page:([1-9][0-9]{0,8}):)?char:([0-9]{1,12})-([0-9]{1,12})")


class InvalidLocator(ValidationFailed):
    """A locator that cannot be read, or that points outside its text."""

    code = "INVALID_FORMAT"


@dataclass(frozen=True, slots=True)
class Locator:
    """A range of characters, in the whole text or in one page of it."""

    start: int
    end: int
    page: int | None = None

    def __str__(self) -> str:
        place = f"char:{self.start}-{self.end}"
        return place if self.page is None else f"page:{self.page}:{place}"

    @classmethod
    def parse(cls, written: str) -> Locator:
        """The locator that a string says; `InvalidLocator` if it says none."""
        parts = _PARTS.fullmatch(written)
        if parts is None:
            raise InvalidLocator(f"{written!r} is not a locator: char:a-b or page:n:char:a-b")
        page, start, end = parts.groups()
        if int(start) > int(end):
            raise InvalidLocator(f"{written!r} ends before it starts")
        return cls(int(start), int(end), int(page) if page else None)

    def quote(self, text: str) -> str:
        """The characters this points to; `InvalidLocator` if the text does not reach that far."""
        first, last = (0, len(text)) if self.page is None else self._page_of(text)
        if first + self.end > last:
            raise InvalidLocator(f"{self} points outside the text")
        return text[first + self.start : first + self.end]

    def _page_of(self, text: str) -> tuple[int, int]:
        spans = page_spans(text)
        if self.page is None or self.page > len(spans):
            raise InvalidLocator(f"{self} points past page {len(spans)}, the last one")
        return spans[self.page - 1]


def locate(start: int, end: int, pages: Sequence[tuple[int, int]] | None) -> Locator:
    """The locator of a range of the whole text: within its page if there are pages."""
    if pages is None:
        return Locator(start, end)
    low, high = 0, len(pages) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if pages[middle][0] <= start else (low, middle - 1)
    first = pages[low][0]
    return Locator(start - first, end - first, low + 1)
