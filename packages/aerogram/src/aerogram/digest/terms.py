# ruff: noqa: RUF001  it knows the signs of many scripts
"""Terms: what a question looks for in a text.

A word is looked for as it stands, by its beginning and by short runs of its letters, so
that other inflections and compounds count for something. Signs that stand on or after a
letter belong to it, so a word of Hindi is one word. Scripts without blanks between words
are looked for by runs of characters alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple


def word_list(name: str) -> list[str]:
    """The words of one list."""
    return (files("aerogram.digest") / f"{name}.txt").read_text("utf-8").split()


class Term(NamedTuple):
    """One thing to find: `whole` wants a word's borders on both sides, `prefix` only before it."""

    needle: str
    weight: float
    border: str = "none"


# letters of Thailand, Laos, Burma and Cambodia: a syllable is several of them, with the signs around it
_LETTERS = "\u0e00-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17ff"
_UNSPACED = f"{_LETTERS}\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
# what stands on or after a letter and is none to Python: accents, points of Hebrew and Arabic, vowels of India, joiners
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_SIGN = f"(?:[^\\W_{_UNSPACED}]|[{MARKS}])"
_WORD = re.compile(f"{_SIGN}+(?:[-'’.]{_SIGN}+)*")
_PART = re.compile(f"(?:[^\\W_]|[{MARKS}])+")
_MARK = re.compile(f"[{MARKS}]")
# letters of Arabic, Hebrew and India: their words are short, and much is written at the beginning and end of a word
_DENSE = re.compile("[\u0590-\u07ff\u0900-\u0dff\ufb1d-\ufdff\ufe70-\ufefc]")
_RUN = re.compile(f"[{_UNSPACED}]+")
_LETTERED = re.compile(f"[{_LETTERS}]+")
_KANA_WORD = re.compile("[\u30a0-\u30ff]{3,}")
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
# all letters that have a plainer form; there are none in many a text that has quotation marks or is in another script
_VARIED = re.compile("[\u00c0-\u024f\u0386-\u03ce\u0400-\u04ff\u0600-\u06ff\u1e00-\u1fff\u212b\uff01-\uff5e]")
_SPECIAL = {0x0130: "i", 0x03C2: "σ", 0x1E9E: "s", 0x00DF: "s"}

# a question that is longer than this is not looked for to its end: each term costs a pass over the text
_LONGEST_QUERY = 400
_SHORTEST_WORD = 3


def fold(text: str) -> str:
    """The text in one case and without accents, character for character, so that places stay the same."""
    if text.isascii() or not _VARIED.search(text):
        return text.lower()
    folded = text.translate(_SPECIAL_CASES).lower()
    return folded if folded.isascii() else folded.translate(_bare_letters())


@cache
def stopwords() -> frozenset[str]:
    """Words that ask or join and say nothing about the subject, in the languages most questions come in."""
    return frozenset(map(fold, word_list("stopwords")))


def query_terms(query: str) -> list[Term]:
    """What to look for, with how much each term says before anything is known about the text."""
    folded = fold(unicodedata.normalize("NFC", query))[:_LONGEST_QUERY]
    words = [word[0] for word in _WORD.finditer(folded)]
    telling = [word for word in words if word not in stopwords()]
    weights: dict[tuple[str, str], float] = {}
    terms = [term for word in telling for term in _word_terms(word)]
    terms += [term for run in _RUN.findall(folded) for term in _run_terms(run)]
    if not terms:
        terms = [Term(word, 1.0, "whole") for word in words]
    for term in terms:
        key = (term.needle, term.border)
        weights[key] = max(term.weight, weights.get(key, 0.0))
    return [Term(needle, weight, border) for (needle, border), weight in weights.items()]


def is_word_sign(sign: str) -> bool:
    """Whether a sign belongs to the word beside it; those of scripts without blanks do not."""
    return (sign.isalnum() and sign < "\u0e00") or _MARK.match(sign) is not None


def content_words(folded: str) -> Iterator[str]:
    """The words of a folded text that say something: for counting what a document is about."""
    for word in _PART.findall(folded):
        if _RUN.match(word):
            yield from (pair for pair in _pairs(word) if not _HIRAGANA.fullmatch(pair))
        elif len(word) >= _SHORTEST_WORD and word not in stopwords():
            yield word


def _word_terms(word: str) -> Iterator[Term]:
    """The terms of one word; together they weigh the same for every word, long or short."""
    parts = _PART.findall(word)
    if len(parts) > 1:
        yield Term(word, WHOLE, "whole")
        yield from (term for part in parts if part not in stopwords() for term in _word_terms(part))
        return
    size = DENSE_GRAM if _DENSE.match(word) else GRAM
    if len(word) < size or word.isdigit():
        yield Term(word, WHOLE + STEM + GRAMS, "whole")
    else:
        yield Term(word, WHOLE, "whole")
        yield Term(word[: max(size, round(STEM_SHARE * len(word)))], STEM, "prefix")
        grams = sorted({word[i : i + size] for i in range(len(word) - size + 1)})
        yield from (Term(gram, GRAMS / len(grams)) for gram in grams)


def _run_terms(run: str) -> Iterator[Term]:
    for part in _LETTERED.findall(run):
        yield from (Term(part[i : i + LETTERED_GRAM], PAIR) for i in range(max(1, len(part) - LETTERED_GRAM + 1)))
    for part in _LETTERED.split(run):
        yield from _sign_terms(part) if part else ()


def _sign_terms(run: str) -> Iterator[Term]:
    for word in _KANA_WORD.findall(run):
        yield Term(word, KANA_WORD)
    for pair in _pairs(run):
        if not _HIRAGANA.fullmatch(pair):
            yield Term(pair, PAIR if not _HIRAGANA.search(pair) else MIXED_PAIR)
        elif pair not in stopwords():
            yield Term(pair, KANA_PAIR)
    for sign in _IDEOGRAPH.findall(run):
        yield Term(sign, SIGN)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


# how much each kind of term says, tuned on the questions in bench/data/digest/tuning
WHOLE = 1.0
STEM = 0.8
STEM_SHARE = 0.7
GRAM = 4
DENSE_GRAM = 3
LETTERED_GRAM = 3
GRAMS = 0.8
KANA_WORD = 1.0
PAIR = 1.0
MIXED_PAIR = 0.4
KANA_PAIR = 0.1
SIGN = 0.4


@cache
def _bare_letters() -> dict[int, str]:
    """Latin, Greek and Cyrillic letters without accents, and signs with several forms in their common one."""
    blocks = [range(0xC0, 0x250), range(0x386, 0x3CF), range(0x400, 0x500), range(0x1E00, 0x2000)]
    table = {}
    for code in (code for block in blocks for code in block):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base != chr(code):
            table[code] = base
    table.update({code: chr(code - 0xFEE0).lower() for code in range(0xFF01, 0xFF5F)})
    table.update(_ARABIC)
    return table


# alef with whatever stands on it, final forms that are written either way, and the letters of Persian
_ARABIC = {0x0623: "\u0627", 0x0625: "\u0627", 0x0622: "\u0627", 0x0671: "\u0627", 0x0649: "\u064a", 0x0629: "\u0647"}
_ARABIC |= {0x06CC: "\u064a", 0x06A9: "\u0643"}


_SPECIAL_CASES = str.maketrans(_SPECIAL)
