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
from collections.abc import Iterator
from dataclasses import dataclass, field

NORMALISATION = "canonical/1"
PAGE_BREAK = "\f"

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
