"""Evidence: the passages of a text that bear on a question, best first.

Every run of whole sentences that fits the limit is a candidate. It is scored by BM25
over words and runs of letters, with the heading above it as context; with an embedding
also by meaning. What is chosen does not overlap, and what has nothing to do with the
question is not chosen. A passage has both fences of a block of code, or neither.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from aerogram.digest.sentences import CodeBlock, Sentence, blocks_of, leaves_open, split
from aerogram.digest.terms import Term, fold, is_word_sign, query_terms
from aerogram.digest.text import CanonicalText, Locator, locate, page_spans

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
_Span = tuple[int, int]

# tuned on the questions in bench/data/digest/tuning
SATURATION = 1.2
CONTEXT = 0.8
CLOSENESS = 0.6
FLOOR = 0.4
MEANING = 0.4
CLOSE = 0.3
REPEATED = 0.8
TELLING = 0.1
BEFORE, AFTER = 0, 1
_SHORTLIST = 400
_EMBEDDED = 2_000
_MOST_SENTENCES = 25
"""So many of the shortest fill a passage, unless lines that look like fences keep them apart."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A quotation: where it stands and how much it bears on the question, from 0 to 1."""

    text: str
    locator: Locator
    relevance: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Window:
    first: int
    last: int
    score: float


@dataclass(frozen=True, slots=True)
class _Tile:
    span: _Span
    score: float


class Ranking:
    """One text, split into sentences and scored against one question."""

    def __init__(self, source: CanonicalText, query: str, limit: int) -> None:
        self.source = source
        self.query = query
        self.limit = limit
        self.sentences: list[Sentence] = split(source.text, limit)
        self._starts = [sentence.start for sentence in self.sentences]
        self.terms: list[Term] = query_terms(query)
        self.hits: dict[int, dict[int, int]] = {}
        self._pages = page_spans(source.text) if source.paged else None
        self._find()
        self._weigh()

    def evidence(self, count: int, embed: Embed | None = None) -> list[Passage]:
        """The best passages, at most `count`, none overlapping."""
        windows = heapq.nlargest(_SHORTLIST, self._windows(), key=lambda window: window.score)
        if embed is not None:
            windows = self._by_meaning(windows, embed)
        return self._passages([self._trim(window) for window in self._choose(windows, count)], count)

    def cover(self, passages: Sequence[Passage], count: int) -> list[Passage] | None:
        """The whole text in at most `count` passages, the best first; none where so many have not room for all of it.

        What was found by its meaning keeps its relevance, so the evidence is given.
        """
        tiles = list(self._tiles(blocks_of(self.source.text)))
        borders = [0, *(border for tile in tiles for border in tile.span), len(self.source.text)]
        gaps = zip(borders[::2], borders[1::2], strict=True)
        if len(tiles) > count or any(self.source.text[slice(*gap)].strip() for gap in gaps):
            return None
        found = [self._passage(tile.span, max(tile.score, *_relevance_within(tile.span, passages))) for tile in tiles]
        return sorted(found, key=lambda one: -one.relevance)

    def sentence_score(self, place: int) -> float:
        """How much one sentence bears on the question, from 0 to 1."""
        return self._share(self.hits.get(place, {}))

    def quote(self, place: int) -> str:
        """The words of one sentence."""
        sentence = self.sentences[place]
        return self.source.text[sentence.start : sentence.end]

    def places(self, passage: Passage) -> range:
        """The sentences that a passage is made of."""
        starts = self._starts
        return range(bisect_left(starts, passage.start), bisect_right(starts, passage.end - 1))

    def _find(self) -> None:
        folded = fold(self.source.text)
        starts = self._starts
        for number, term in enumerate(self.terms):
            for position in _occurrences(folded, term):
                place = bisect_right(starts, position) - 1
                if place >= 0 and position < self.sentences[place].end:
                    found = self.hits.setdefault(place, {})
                    found[number] = found.get(number, 0) + 1

    def _weigh(self) -> None:
        """Give each term its weight: what is rare in the text says more."""
        frequency: Counter[int] = Counter()
        for found in self.hits.values():
            frequency.update(found.keys())
        total = len(self.sentences)
        rarity = [math.log(1 + (total - frequency[i] + 0.5) / (frequency[i] + 0.5)) for i in range(len(self.terms))]
        self.weights = [term.weight * rare for term, rare in zip(self.terms, rarity, strict=True)]
        self.whole = sum(self.weights) or 1.0

    def _share(self, counts: Mapping[int, float]) -> float:
        """The share of what the question asks for that these counts of its terms make up."""
        score = sum(self.weights[i] * n * (1 + SATURATION) / (n + SATURATION) for i, n in counts.items())
        return min(1.0, score / self.whole)

    def _windows(self) -> Iterator[_Window]:
        """For every sentence that has something, the longest run of sentences from it on."""
        last = -1
        for first in sorted(self.hits):
            # the end only ever moves on, so all windows together cost one pass
            last = self._reach(first, max(first, last))
            if self.sentences[last].kind != "heading":
                yield _Window(first, last, self._score(first, last))

    def _reach(self, first: int, known: int | None = None, *, past_headings: bool = False) -> int:
        """The last sentence that still fits into a window that starts at `first`."""
        start = self.sentences[first]
        last = first if known is None else known
        for place in range(last + 1, min(len(self.sentences), first + _MOST_SENTENCES)):
            sentence = self.sentences[place]
            is_next_part = sentence.page != start.page or (sentence.kind == "heading" and not past_headings)
            if is_next_part or sentence.end - start.start > self.limit:
                break
            last = place
        return last

    def _tiles(self, blocks: Sequence[CodeBlock]) -> Iterator[_Tile]:
        """The text from its beginning on in runs as long as they may be, none of which ends with a heading."""
        place = 0
        while place < len(self.sentences):
            last = self._reach(place, past_headings=True)
            runs = ((end, self._fenced_span(place, end, blocks, ())) for end in range(last, place - 1, -1))
            whole = [(end, span) for end, span in runs if span is not None]
            end, span = next((run for run in whole if self.sentences[run[0]].kind != "heading"), whole[0])
            yield _Tile(span, self._score(place, end))
            place = max(end + 1, bisect_left(self._starts, span[1]))

    def _score(self, first: int, last: int) -> float:
        counts: dict[int, float] = {}
        best = 0.0
        for place in range(first, last + 1):
            found = self.hits.get(place)
            if not found:
                continue
            for term, n in found.items():
                counts[term] = counts.get(term, 0.0) + n
            best = max(best, self._share(found))
        head = self.sentences[first].head
        if 0 <= head < first:
            for term in self.hits.get(head, ()):
                counts[term] = counts.get(term, 0.0) + CONTEXT
        return (self._share(counts) + CLOSENESS * best) / (1 + CLOSENESS)

    def _by_meaning(self, windows: list[_Window], embed: Embed) -> list[_Window]:
        """The same windows and a tiling of the text, scored by meaning as well."""
        pool = {(window.first, window.last): window.score for window in windows}
        place = 0
        while place < len(self.sentences) and len(pool) < _EMBEDDED:
            last = self._reach(place)
            pool.setdefault((place, last), self._score(place, last))
            place = last + 1
        spans = list(pool)
        vectors = embed([self.query, *(self._words(first, last) for first, last in spans)])
        closeness = [_cosine(vectors[0], vector) for vector in vectors[1:]]
        return [
            _Window(*span, (1 - MEANING) * pool[span] + MEANING * close)
            for span, close in zip(spans, closeness, strict=True)
            # any two texts are a little alike to a model; without a word in common they must be more than that
            if pool[span] > 0 or close >= CLOSE
        ]

    def _choose(self, windows: list[_Window], count: int) -> list[_Window]:
        """The best windows that do not overlap; one that only repeats what is chosen already waits behind others."""
        chosen: list[_Window] = []
        seen: Counter[int] = Counter()
        worth = {window: window.score for window in windows}
        while worth and len(chosen) < count:
            best = max(worth, key=lambda window: (worth[window], -window.last, -window.first))
            if best.score <= 0 or (chosen and best.score < FLOOR * chosen[0].score):
                break
            chosen.append(best)
            seen.update({term for place in range(best.first, best.last + 1) for term in self.hits.get(place, ())})
            rest = [window for window in worth if window.last < best.first or window.first > best.last]
            worth = {window: window.score * self._novelty(window, seen) for window in rest}
        return sorted(chosen, key=lambda window: -window.score)

    def _novelty(self, window: _Window, seen: Counter[int]) -> float:
        """The share of what a window has that the chosen ones do not have yet, repetition counting less each time."""
        found = {term for place in range(window.first, window.last + 1) for term in self.hits.get(place, ())}
        whole = sum(self.weights[term] for term in found)
        return sum(self.weights[term] * REPEATED ** seen[term] for term in found) / whole if whole else 1.0

    def _trim(self, window: _Window) -> _Window:
        """The window without the sentences at its ends that say nothing to the question, but for neighbours."""
        places = range(window.first, window.last + 1)
        scores = {place: self.sentence_score(place) for place in places}
        telling = [place for place in places if scores[place] >= TELLING * max(scores.values()) > 0]
        if not telling:
            return window
        first, last = max(window.first, telling[0] - BEFORE), min(window.last, telling[-1] + AFTER)
        return _Window(first, last, window.score)

    def _words(self, first: int, last: int) -> str:
        return self.source.text[self.sentences[first].start : self.sentences[last].end]

    def _passages(self, windows: list[_Window], count: int) -> list[Passage]:
        """The windows as quotations; what a fence cuts off from one is a quotation of its own, if there is room."""
        blocks, taken = blocks_of(self.source.text), []  # type: tuple[list[CodeBlock], list[_Span]]
        whole: list[Passage] = []
        parts: list[Passage] = []
        for place, window in enumerate(windows):
            later = [self._span(other.first, other.last) for other in windows[place + 1 :]]
            first, *rest = self._quote_window(window, blocks, [*taken, *later])
            taken += [(one.start, one.end) for one in (first, *rest)]
            whole.append(first)
            parts += [one for one in rest if one.relevance > FLOOR * windows[0].score]
        parts.sort(key=lambda one: -one.relevance)
        return sorted([*whole, *parts[: count - len(whole)]], key=lambda one: -one.relevance)

    def _quote_window(self, window: _Window, blocks: Sequence[CodeBlock], others: Sequence[_Span]) -> list[Passage]:
        """A window, or the best run of its sentences that leaves no block of code open, then what is beside that."""
        runs = self._runs(window)
        # a sentence by itself has no fence, so there is one
        found = next(span for run in runs if (span := self._fenced_span(*run, blocks, others)) is not None)
        passages = [self._passage(found, window.score)]
        places = range(window.first, window.last + 1)
        before = [place for place in places if self.sentences[place].end <= found[0]]
        after = [place for place in places if self.sentences[place].start >= found[1]]
        for beside in (before, after):
            if not beside or self.sentences[beside[-1]].kind == "heading":
                continue
            score = min(window.score, self._score(beside[0], beside[-1]))
            rest = self._trim(_Window(beside[0], beside[-1], score))
            passages += self._quote_window(rest, blocks, [*others, found])
        return passages

    def _runs(self, window: _Window) -> Iterator[tuple[int, int]]:
        """The whole window, then every run of its sentences that does not end with a heading, the best first."""
        yield window.first, window.last
        runs = combinations_with_replacement(range(window.first, window.last + 1), 2)
        speaking = [run for run in runs if self.sentences[run[1]].kind != "heading"]
        yield from sorted(speaking, key=lambda run: (-self._score(*run), run[0] - run[1]))

    def _passage(self, span: _Span, score: float) -> Passage:
        start, end = span
        return Passage(self.source.text[start:end], locate(start, end, self._pages), round(score, 4), start, end)

    def _fenced_span(self, first: int, last: int, blocks: Sequence[CodeBlock], others: Sequence[_Span]) -> _Span | None:
        """Where some sentences stand with both fences of the blocks that they begin and end in, or with neither."""
        plain = self._span(first, last)
        above, below = _block_at(blocks, plain[0]), _block_at(blocks, plain[1] - 1)
        start, end = above.start if above else plain[0], below.end if below else plain[1]
        is_free = end - start <= self.limit and all(end <= other[0] or start >= other[1] for other in others)
        if is_free and all(block is None or block.is_closed for block in (above, below)):
            return start, end
        is_inside = above == below and not leaves_open(self.source.text[slice(*plain)])
        return plain if is_inside else None

    def _span(self, first: int, last: int) -> _Span:
        return self.sentences[first].start, self.sentences[last].end


def _relevance_within(span: _Span, passages: Sequence[Passage]) -> list[float]:
    """How much the passages that begin in a span bear on the question; that there is none counts as nothing."""
    return [0.0, *(one.relevance for one in passages if span[0] <= one.start < span[1])]


def _block_at(blocks: Sequence[CodeBlock], place: int) -> CodeBlock | None:
    """The block of code that a place stands in."""
    found = bisect_right(blocks, place, key=lambda one: one.start) - 1
    return blocks[found] if found >= 0 and place < blocks[found].end else None


def _occurrences(folded: str, term: Term) -> Iterator[int]:
    needle, size = term.needle, len(term.needle)
    position = folded.find(needle)
    while position >= 0:
        before = term.border != "none" and position > 0 and is_word_sign(folded[position - 1])
        after = term.border == "whole" and position + size < len(folded) and is_word_sign(folded[position + size])
        if not before and not after:
            yield position
        position = folded.find(needle, position + size)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """How alike two vectors are, from 0 to 1."""
    product = math.sqrt(sum(x * x for x in one) * sum(y * y for y in other))
    alike = float(sum(x * y for x, y in zip(one, other, strict=True)) / product) if product else 0.0
    return min(1.0, max(0.0, alike)) if math.isfinite(alike) else 0.0
