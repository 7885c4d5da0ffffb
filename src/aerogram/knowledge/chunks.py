"""Chunks: pieces of a document that are found, shown and cited on their own.

A chunk is a run of whole sentences of one section, at most so many tokens long. A short section is a chunk of its
own only if it stands alone; otherwise it joins its neighbour below the same heading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aerogram.digest.sentences import split
from aerogram.knowledge.documents import Document
from aerogram.knowledge.sections import Section
from aerogram.tokens import Counter

__all__ = ["Chunk", "chunks_of"]

MOST_TOKENS: Final = 256
LONGEST_SENTENCE: Final = 800
"""Characters; a longer one is cut, so that a sentence never exceeds a chunk by itself."""
CHARACTERS_PER_TOKEN: Final = 2.5
SHORT: Final = 0.25
"""A last chunk below this share of the limit is evened out with the one before it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: its words, where they stand in the canonical text, and the headings above them."""

    index: int
    header: str
    text: str
    start: int
    end: int
    tokens: int

    @property
    def digest(self) -> str:
        """What tells this chunk from others of its document, wherever in it it stands."""
        return hashlib.sha256(f"{self.header}\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def chunks_of(document: Document, counter: Counter, most_tokens: int = MOST_TOKENS) -> list[Chunk]:
    """The chunks of a document in order."""
    text = document.source.text
    longest = min(LONGEST_SENTENCE, int(most_tokens * CHARACTERS_PER_TOKEN))
    found: list[Chunk] = []
    for section in document.sections:
        header = section.header(document.title)
        spans = _sentences(text, section, longest)
        sizes = [counter.count(text[start:end]) for start, end in spans]
        for first, last in _runs(sizes, most_tokens):
            start, end = spans[first][0], spans[last - 1][1]
            words = text[start:end]
            if words == header:  # the title of a page, once more
                continue
            found.append(Chunk(len(found), header, words, start, end, counter.count(words)))
    return found


def _sentences(text: str, section: Section, longest: int) -> list[tuple[int, int]]:
    """Where the sentences of a section stand; it is split by itself, so that none of them begins in its heading."""
    begin = section.start
    return [(begin + one.start, begin + one.end) for one in split(text[begin : section.end], longest)]


def _runs(sizes: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Runs of sentences within the limit, as even as they can be."""
    total = sum(sizes)
    if total <= most:
        if sizes:
            yield 0, len(sizes)
        return
    share = total / -(-total // int(most * (1 - SHORT / 2)))
    start, size = 0, 0
    for place, own in enumerate(sizes):
        if size and (size + own > most or size + own / 2 > share):
            yield start, place
            start, size = place, 0
        size += own
    yield start, len(sizes)
