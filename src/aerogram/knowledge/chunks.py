"""Chunks: pieces of a document that are found, shown and cited on their own.

A chunk is a run of whole sentences of one section, at most so many tokens long. A short section is a chunk of its
own only if it stands alone; otherwise it joins its neighbour below the same heading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aerogram.digest.sentences import Sentence, split
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
    sentences = split(text, min(LONGEST_SENTENCE, int(most_tokens * CHARACTERS_PER_TOKEN)))
    sizes = [counter.count(text[one.start : one.end]) for one in sentences]
    found: list[Chunk] = []
    for section, first, last in _by_section(document.sections, sentences):
        header = section.header(document.title)
        for a, b in _runs(sizes, first, last, most_tokens):
            start, end = sentences[a].start, sentences[b - 1].end
            words = text[start:end]
            found.append(Chunk(len(found), header, words, start, end, counter.count(words)))
    return found


def _by_section(sections: tuple[Section, ...], sentences: list[Sentence]) -> Iterator[tuple[Section, int, int]]:
    """Each section with the range of sentences that begin in it."""
    place = 0
    for section in sections:
        while place < len(sentences) and sentences[place].start < section.start:
            place += 1
        first = place
        while place < len(sentences) and sentences[place].start < section.end:
            place += 1
        if place > first:
            yield section, first, place


def _runs(sizes: list[int], first: int, last: int, most: int) -> Iterator[tuple[int, int]]:
    """Runs of sentences within the limit, as even as they can be."""
    total = sum(sizes[first:last])
    if total <= most:
        yield first, last
        return
    share = total / -(-total // int(most * (1 - SHORT / 2)))
    start, size = first, 0
    for place in range(first, last):
        if size and (size + sizes[place] > most or size + sizes[place] / 2 > share):
            yield start, place
            start, size = place, 0
        size += sizes[place]
    yield start, last
