"""Chunks: pieces of a document that are found, shown and cited on their own.

A chunk is a run of whole sentences of one section, at most so many tokens long. Code, with the fences around it, a
table, and a definition with its term stay in one piece if they can. Every word of a section is in a chunk, or in the
header of one.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from aerogram.digest.sentences import split
from aerogram.tokens import Counter
from aerogram_knowledge.documents.document import Document
from aerogram_knowledge.documents.sections import TRAIL, Span

__all__ = ["Chunk", "chunks_of"]

MOST_TOKENS: Final = 256
LONGEST_SENTENCE: Final = 800
"""Characters; a longer one is cut, so that a sentence never exceeds a chunk by itself."""
CHARACTERS_PER_TOKEN: Final = 2.5
SHORT: Final = 0.25
"""A last chunk below this share of the limit is evened out with the one before it."""
_WORD: Final = re.compile(r"\w")


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
    starts, passed = [start for start, _ in document.blocks], 0
    for section in document.sections:
        header = section.header(document.title)
        words = text[section.start : section.end]
        while passed < len(starts) and document.blocks[passed][1] <= section.start:
            passed += 1
        near = document.blocks[passed : bisect_left(starts, section.end)]
        inside = [(max(a, section.start) - section.start, min(b, section.end) - section.start) for a, b in near]
        spans, sizes = _pieces(words, [one for one in inside if one[0] < one[1]], longest, most_tokens, counter)
        for first, last in _runs(sizes, most_tokens):
            start, end = spans[first][0], spans[last - 1][1]
            place = section.start + start, section.start + end
            found.append(Chunk(len(found), header, words[start:end], *place, counter.count(words[start:end])))
    return _without_titles(found)


def _without_titles(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks without those that only repeat a header which another one has; the title of a page, once more."""
    trails = {tuple(one.header.split(TRAIL)) for one in chunks if one.text != one.header}
    told = {TRAIL.join(steps[:count]) for steps in trails for count in range(1, len(steps) + 1)}
    kept: list[Chunk] = []
    for one in chunks:
        if one.text != one.header or one.header not in told:
            kept.append(replace(one, index=len(kept)))
            told.add(one.header)
    return kept


def _pieces(text: str, blocks: list[Span], longest: int, most: int, counter: Counter) -> tuple[list[Span], list[int]]:
    """Where the sentences and the blocks of a section stand, and the tokens of each.

    A section is split by itself, so that no sentence begins in its heading.
    """
    sentences = deque((one.start, one.end) for one in split(text, longest))
    spans: list[Span] = []
    done = 0
    for place, (start, end) in enumerate(blocks):
        is_small = counter.count(text[start:end]) <= most
        is_outer = place + 1 < len(blocks) and blocks[place + 1][0] < end
        if start < done or (is_outer and not is_small):
            continue
        done = end
        spans += _take_before(start, sentences, text)
        lines = list(_take_before(end, sentences, text))
        spans += [(start, end)] if is_small else _with_fences(text, (start, end), lines, longest)
    spans += sentences
    spans = list(_fill_gaps(text, spans, longest)) or [(0, len(text))]
    return spans, [counter.count(text[start:end]) for start, end in spans]


def _fill_gaps(text: str, spans: list[Span], longest: int) -> Iterator[Span]:
    """The spans of a section, and what has words between them: a line may look like a fence and be none."""
    done = 0
    for start, end in (*spans, (len(text), len(text))):
        if _WORD.search(text, done, start):
            first = start - len(text[done:start].lstrip())
            yield from _cut(text, (first, first + len(text[first:start].rstrip())), longest)
        if start < end:
            yield start, end
        done = end


def _take_before(place: int, spans: deque[Span], text: str) -> Iterator[Span]:
    """Take the spans that begin before a place; one that goes on behind it is parted there."""
    while spans and spans[0][0] < place:
        start, end = spans.popleft()
        if end > place:
            rest = end - len(text[place:end].lstrip())
            spans.extendleft([(rest, end)] if rest < end else ())
            end = start + len(text[start:place].rstrip())
        yield start, end


def _with_fences(text: str, block: Span, lines: list[Span], longest: int) -> list[Span]:
    """The lines of a large block, the first with the fence above it, and the last with the one below.

    The first two stay together if they can: a term is nothing without the beginning of its definition.
    """
    start, end = block
    above, below = lines[0][1] if lines else end, lines[-1][0] if lines else end
    if not lines or above - start > longest or end - below > longest:
        return [*_cut(text, block, longest)]
    if len(lines) == 1:
        return [block]
    if len(lines) > 2 and lines[1][1] - start <= longest:  # noqa: PLR2004
        above, lines = lines[1][1], lines[1:]
    return [(start, above), *lines[1:-1], (below, end)]


def _cut(text: str, span: Span, longest: int) -> Iterator[Span]:
    """A span in pieces that keep the limit, between lines or words where it can be."""
    start, end = span
    while end - start > longest:
        stop = max(text.rfind(sign, start + 1, start + longest) for sign in ("\n", " "))
        stop = stop if stop > start else start + longest
        yield start, stop
        start = stop
    if text[start:end].strip():
        yield start, end


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
