"""Drafts: a summary and key points, taken from the text itself, for one question.

Sentences that bear on the question come first, then those that say what the whole text
is about. A writer of your own may draft instead; what it gives is held to the same limits.
"""

# ruff: noqa: RUF001  it knows the signs of many scripts

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from aerogram.digest.evidence import Passage, Ranking
from aerogram.digest.payload import MAX_POINT, MAX_POINTS, MAX_SNIPPET, MAX_SUMMARY
from aerogram.digest.terms import content_words, fold
from aerogram.digest.text import UNSPACED
from aerogram.errors import ValidationFailed

_SAMPLE_CHARS = 400_000
_CANDIDATES = 1_500
_SENTENCES = 3
_SHORTEST = 12
_ALIKE = 0.6
_NEIGHBOURS = 0.4
_ENOUGH = 0.35
# less than this share of the best sentence is a few letters in common, by chance
_OWN = 0.15
_RELEVANCE, _CENTRALITY, _POSITION = 0.6, 0.2, 0.2
_SURROGATE = re.compile("[\ud800-\udfff]")
_BULLET = re.compile(r"^[-*+•・]\s+")
_LINE_BREAK = re.compile(r"\s*\n\s*")
_BREAK_IN_RUN = re.compile(rf"(?<=[{UNSPACED}])\s*\n\s*|\s*\n\s*(?=[{UNSPACED}])")
_UNSPACED_END = re.compile("[。！？][」』）]*$")


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary and key points."""

    summary: str
    key_points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a writer is given: the question, the text, the evidence found in it, and the limits to keep."""

    query: str
    text: str
    evidence: tuple[Passage, ...]
    max_summary: int = MAX_SUMMARY
    max_points: int = MAX_POINTS
    max_point: int = MAX_POINT


Writer = Callable[[Assignment], Draft | Awaitable[Draft]]


class UnusableDraft(ValidationFailed):
    """A writer gave something that no digest can hold."""


def accept(draft: object) -> Draft:
    """A writer's draft if it keeps every limit; `UnusableDraft` says which one it breaks."""
    if not isinstance(draft, Draft) or not isinstance(draft.summary, str) or not draft.summary.strip():
        raise UnusableDraft("the writer gave no summary")
    if len(draft.summary) > MAX_SUMMARY:
        raise UnusableDraft(f"the summary has {len(draft.summary)} characters; the limit is {MAX_SUMMARY}")
    if not isinstance(draft.key_points, (tuple, list)):
        raise UnusableDraft(f"the key points are a row of texts, not {type(draft.key_points).__name__}")
    if len(draft.key_points) > MAX_POINTS:
        raise UnusableDraft(f"there are {len(draft.key_points)} key points; the limit is {MAX_POINTS}")
    if not all(isinstance(point, str) and 0 < len(point) <= MAX_POINT for point in draft.key_points):
        raise UnusableDraft(f"a key point is text of 1 to {MAX_POINT} characters")
    if any(map(_SURROGATE.search, (draft.summary, *draft.key_points))):
        raise UnusableDraft("a half of a character cannot be written down")
    return draft


def extract_draft(ranking: Ranking, passages: Sequence[Passage], summary_chars: int, points: int) -> Draft:
    """A summary and key points made of the text's own sentences; each key point itself bears on the question."""
    return _Extraction(ranking, passages).draft(summary_chars, points, _SENTENCES)


def extract_sentence(ranking: Ranking, passages: Sequence[Passage], summary_chars: int) -> Draft:
    """The one sentence that bears most on the question, for a text that is quoted whole beside it."""
    return _Extraction(ranking, passages).draft(summary_chars, 0, 1)


def extract_everything(ranking: Ranking, summary_chars: int) -> Draft | None:
    """All sentences of a text that is as short as a summary may be; none where it is longer."""
    if len(ranking.source.text) > summary_chars:
        return None
    text, said, end = ranking.source.text, "", 0
    for sentence in ranking.sentences:
        between = text[end : sentence.start]
        said += ("\n" if "\n" in between else between) + _in_one_line(text[sentence.start : sentence.end])
        end = sentence.end
    return Draft(said.strip(), ())


class _Extraction:
    """One pass over the sentences that could speak for the text."""

    def __init__(self, ranking: Ranking, passages: Sequence[Passage]) -> None:
        self.ranking = ranking if ranking.limit == MAX_SNIPPET else Ranking(ranking.source, ranking.query, MAX_SNIPPET)
        self.places = self._candidates()
        self.words = {place: frozenset(content_words(fold(ranking.quote(place)))) for place in self.places}
        self.scores = self._relevance(passages)

    def draft(self, summary_chars: int, points: int, sentences: int) -> Draft:
        """The best sentence opens the summary, the next ones are the key points, what is central fills it up."""
        by_worth = sorted(self.places, key=lambda place: (-self._worth(place), place))
        telling = [place for place in by_worth if self.scores[place] >= _ENOUGH or not self.ranking.terms]
        telling.sort(key=lambda place: -self.scores[place])
        best = list(islice(self._distinct(telling, (), summary_chars), 1 if self.ranking.terms else sentences))
        key_points = list(islice(self._distinct(telling, best, points * MAX_POINT), points))
        room = summary_chars - sum(len(self.ranking.quote(place)) + 1 for place in best)
        rest = islice(self._distinct(by_worth, [*best, *key_points], room), sentences - len(best))
        summary = _join(self._plain_sentence(place) for place in sorted([*best, *rest]))
        return Draft(summary, tuple(map(self._plain_sentence, key_points)))

    def _relevance(self, passages: Sequence[Passage]) -> dict[int, float]:
        """How much each sentence bears on the question: by itself, and by the passage it stands in."""
        own = {place: self.ranking.sentence_score(place) for place in self.places}
        best = max(own.values(), default=0.0) or 1.0
        scores = {place: (1 - _NEIGHBOURS) * score / best for place, score in own.items()}
        for passage in passages:
            share = _NEIGHBOURS * passage.relevance / (passages[0].relevance or 1.0)
            for place in self._matching_sentences(passage, _OWN * best):
                scores[place] += share
        return scores

    def _matching_sentences(self, passage: Passage, enough: float) -> list[int]:
        """The sentences that a passage was found for; all of them when it was found by its meaning."""
        score = self.ranking.sentence_score
        places = self.ranking.places(passage)
        by_meaning = not any(map(score, places))
        return [place for place in places if place in self.words and (by_meaning or score(place) >= enough)]

    def _candidates(self) -> list[int]:
        """Whole sentences of prose: those that bear on the question, and the first ones."""
        sentences = self.ranking.sentences
        prose = [place for place in range(len(sentences)) if self._is_prose(place)] or list(range(len(sentences)))
        relevant = sorted(
            (place for place in prose if place in self.ranking.hits), key=lambda p: -self.ranking.sentence_score(p)
        )
        return sorted({*prose[:_CANDIDATES], *relevant[:_CANDIDATES]})

    def _is_prose(self, place: int) -> bool:
        sentence = self.ranking.sentences[place]
        return sentence.kind == "prose" and sentence.end - sentence.start >= _SHORTEST

    def _worth(self, place: int) -> float:
        position = 1 / (1 + place / 4)
        return _RELEVANCE * self.scores[place] + _CENTRALITY * self._centrality(place) + _POSITION * position

    def _centrality(self, place: int) -> float:
        """How much a sentence is about what the whole text is about, from 0 to 1."""
        words = self.words[place]
        if not words:
            return 0.0
        return sum(math.log1p(self._frequency[word]) for word in words) / (len(words) + 3) / self._top_frequency

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(content_words(fold(self.ranking.source.text[:_SAMPLE_CHARS])))

    @cached_property
    def _top_frequency(self) -> float:
        return math.log1p(max(self._frequency.values(), default=1))

    def _distinct(self, ordered: list[int], taken: Iterable[int], room: int) -> Iterator[int]:
        """The first of these sentences that fit and do not repeat one another."""
        seen = [self.words[place] for place in taken]
        for place in ordered:
            size = len(self.ranking.quote(place))
            if size > min(room, MAX_POINT) or any(_alike(self.words[place], other) for other in seen):
                continue
            seen.append(self.words[place])
            room -= size + 1
            yield place

    def _plain_sentence(self, place: int) -> str:
        return _in_one_line(self.ranking.quote(place))


def _in_one_line(quote: str) -> str:
    quote = _BULLET.sub("", quote)
    return _LINE_BREAK.sub(" ", _BREAK_IN_RUN.sub("", quote))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _ALIKE * min(len(one), len(other)) if one and other else one == other


def _join(sentences: Iterable[str]) -> str:
    summary = ""
    for sentence in sentences:
        gap = "" if not summary or _UNSPACED_END.search(summary) else " "
        summary += gap + sentence
    return summary
