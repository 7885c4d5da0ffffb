"""The lexicon: the terms under which a text is found.

Words are folded to one case without accents and reduced to their stems in the language of their document; what is in
English in a document of another language has the stems of English. Scripts without blanks between words become pairs of
signs. Where a query does not tell its language, each of its words is looked for under the stems of every language that
the index holds.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from aerogram.digest.terms import MARKS, fold, stopwords
from aerogram_knowledge.asking import has_particle, idle_words, telling_parts
from aerogram_knowledge.documents.language import FALLBACK, is_english, languages_asked_in, stem_all

__all__ = ["QueryTerm", "find_phrases", "index_terms", "is_word", "query_terms", "rarity"]

MOST_TERMS: Final = 48
"""A query is a question, not a document: what comes after so many terms is not looked for."""

_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
LONGEST_WORD: Final = 64
_WORD: Final = re.compile(f"(?:[^\\W_{_UNSPACED}]|[{MARKS}]){{1,{LONGEST_WORD}}}")
_PLAIN_WORD: Final = re.compile(f"[^\\W_]{{1,{LONGEST_WORD}}}")
_BETWEEN_WORDS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
_NOT_PLAIN: Final = re.compile(f"[{MARKS}{_UNSPACED}]")
_POINTS: Final = dict.fromkeys((*range(1425, 1480), 1600, *range(1611, 1632), 1648))
"""What Hebrew and Arabic are written with or without: points, vowels, and the stroke that makes a word longer."""
_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_QUOTED: Final = re.compile('["“”„«»]([^"“”„«»]{2,200})["“”„«»]')
_KANA: Final = re.compile("[\u3040-\u309f]")
_IDEOGRAPH: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff]")

# how much a term of each kind says, before its rarity is known
WORD, PAIR, MIXED_PAIR, KANA_PAIR, SIGN = 1.0, 1.0, 0.4, 0.1, 0.4


class QueryTerm(NamedTuple):
    """One thing that a query asks for: as written, the forms to look for, and how much it says."""

    written: str
    forms: tuple[str, ...]
    weight: float


def index_terms(text: str, language: str) -> list[str]:
    """The terms of a text, in order and with repetitions."""
    words, runs = _tokens(text)
    found = stem_all(words, FALLBACK if is_english(words, language) else language)
    for run in runs:
        found += _pairs(run)
        if len(run) > 1:
            found += _IDEOGRAPH.findall(run)
    return found


def query_terms(query: str, languages: Iterable[str] = (FALLBACK,)) -> list[QueryTerm]:
    """What a query asks for; words that say nothing only when there are no others.

    A word that is said twice is asked for twice: what a long question comes back to is what it is about.
    """
    words, runs = _tokens(unicodedata.normalize("NFKC", query))
    parts = [part for run in runs for part in telling_parts(run)]
    telling = [word for word in words if word not in idle_words()]
    if not telling and not parts:
        telling, parts = words, runs
    said = Counter(telling)
    held = frozenset(languages)
    stemmed = {FALLBACK, *(languages_asked_in(query) & held or held)}
    forms = [stem_all(list(said), language) for language in sorted(stemmed)]
    found = {
        word: QueryTerm(word, tuple(dict.fromkeys(each[place] for each in forms)), WORD * count)
        for place, (word, count) in enumerate(said.items())
    }
    for run in parts:
        found.update({term.written: term for term in _run_terms(run)})
    return list(found.values())[:MOST_TERMS]


def find_phrases(query: str) -> list[str]:
    """The phrases between quotation marks in a query, folded; one without any letter is none."""
    phrases = (" ".join(fold(one).split()) for one in _QUOTED.findall(unicodedata.normalize("NFC", query)))
    return [one for one in phrases if any(map(str.isalnum, one))]


def rarity(total: int, count: int) -> float:
    """What finding a term that `count` of so many chunks have is worth, once in a chunk of usual length: BM25's idf."""
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def is_word(term: str) -> bool:
    """Whether a term is of a script with blanks between words."""
    return term.isascii() or _RUN.match(term) is None


def _tokens(text: str) -> tuple[list[str], list[str]]:
    """The words and the runs of signs in a text, folded."""
    folded = fold(text)
    if folded.isascii():
        return _ascii_words(folded), []
    if not _NOT_PLAIN.search(folded):
        return _PLAIN_WORD.findall(folded), []
    folded = folded.translate(_POINTS)
    return _WORD.findall(folded), _RUN.findall(folded)


def _ascii_words(folded: str) -> list[str]:
    """The words of a text without other signs, which need not be looked for: it is cut at what stands between them."""
    words = folded.translate(_BETWEEN_WORDS).split()
    return words if max(map(len, words), default=0) <= LONGEST_WORD else _PLAIN_WORD.findall(folded)


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def _run_terms(run: str) -> Iterator[QueryTerm]:
    *_, last = pairs = _pairs(run)
    for pair in pairs:
        kana = len(_KANA.findall(pair))
        weight = PAIR if not kana else KANA_PAIR if kana == len(pair) else MIXED_PAIR
        if pair is last and has_particle(run):
            weight = MIXED_PAIR
        if pair not in stopwords():
            yield QueryTerm(pair, (pair,), weight)
    if len(run) > 1:
        for sign in _IDEOGRAPH.findall(run):
            yield QueryTerm(sign, (sign,), SIGN)
