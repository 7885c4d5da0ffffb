"""Terms: what a question looks for in a text.

A word is looked for as it stands, by its beginning and by short runs of its letters, so
that other inflections and compounds count for something. Scripts without blanks between
words are looked for by runs of characters alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Term(NamedTuple):
    """One thing to find: `whole` wants a word's borders on both sides, `prefix` only before it."""

    needle: str
    weight: float
    border: str = "none"


_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_WORD = re.compile(f"[^\\W_{_UNSPACED}]+(?:[-'’.][^\\W_{_UNSPACED}]+)*")
_PART = re.compile(r"[^\W_]+")
_RUN = re.compile(f"[{_UNSPACED}]+")
_KANA_WORD = re.compile("[\u30a0-\u30ff]{3,}")
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_SPECIAL = {0x0130: "i", 0x03C2: "σ", 0x1E9E: "s", 0x00DF: "s"}

# words that ask or join and say nothing about the subject, in the languages that most questions come in
_STOPWORDS = frozenset(
    """
    a about after all also am an and any are as at be been before being between both but by can could did do does doing
    done during each every few for from further get gets give given had has have having he her here hers him his how i
    if in into is it its itself just many may me might more most much must my need needs no nor not now of off on once
    one only onto or other our ours out over own per put same shall she should so some such than that the their theirs
    them then there these they this those through to too under until up us use used uses using very via was we were
    what when where whether which while who whom whose why will with within without would you your yours long often
    aber alle allem allen aller alles als am an ander andere anderen auch auf aus bei beim bin bis bist da dabei dadurch
    dafür damit danach dann daran darauf darf das dass davon dazu dein dem den denn der des dessen die dies diese diesem
    diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwa etwas euch für gegen gibt hab
    habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja je jede jedem
    jeden jeder jedes kann kein keine keinem keinen keiner können könnte lange laut man mehr mein mit muss müssen nach
    nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so soll sollen sollte
    sondern sowie statt über um und uns unser unter viel viele vom von vor wann war waren warum was weil welche welchem
    welchen welcher welches wenn wer werden weshalb wie wieso wieviel wird wo wodurch wofür wohin womit worden woran
    wozu wurde wurden zu zum zur zwischen
    al au aux avec ce ces cette che chi come comment con da dans das de degli dei del della delle des do dos du e el em
    en est et est-ce il la las le les los mais na não no nos nous o os où ou para par pas per perché plus por pour
    pourquoi qu quand que quel quelle quels qui quoi sa se ses si son sont sous sua su sur um uma un una une vous y
    aan bij dat deze die een en het hoe is met naar niet of om op te tot van voor waar waarom wat welke wie wordt zijn
    """.split()
)
_QUESTION_KANA = frozenset("です ます した する して こと もの とき どの どれ どう なに なぜ いつ どこ だれ から まで れる られ いる ある ない".split())


def fold(text: str) -> str:
    """The text in one case and without accents, character for character, so that places stay the same."""
    folded = text.translate(_SPECIAL_CASES).lower()
    return folded if folded.isascii() else folded.translate(_bare_letters())


def query_terms(query: str) -> list[Term]:
    """What to look for, with how much each term says before anything is known about the text."""
    folded = fold(unicodedata.normalize("NFC", query))
    words = [word[0] for word in _WORD.finditer(folded)]
    telling = [word for word in words if word not in _STOP]
    weights: dict[tuple[str, str], float] = {}
    terms = [term for word in telling for term in _word_terms(word)]
    terms += [term for run in _RUN.findall(folded) for term in _run_terms(run)]
    if not terms:
        terms = [Term(word, 1.0, "whole") for word in words]
    for term in terms:
        key = (term.needle, term.border)
        weights[key] = max(term.weight, weights.get(key, 0.0))
    return [Term(needle, weight, border) for (needle, border), weight in weights.items()]


def content_words(folded: str) -> Iterator[str]:
    """The words of a folded text that say something: for counting what a document is about."""
    for word in _PART.findall(folded):
        if _RUN.match(word):
            yield from (pair for pair in _pairs(word) if not _HIRAGANA.fullmatch(pair))
        elif len(word) > 2 and word not in _STOP:
            yield word


def _word_terms(word: str) -> Iterator[Term]:
    yield Term(word, WHOLE, "whole")
    parts = _PART.findall(word)
    if len(parts) > 1:
        for part in parts:
            if part not in _STOP:
                yield from _word_terms(part)
        return
    if len(word) < 5 or word.isdigit():
        return
    yield Term(word[: max(4, round(STEM_SHARE * len(word)))], STEM, "prefix")
    grams = {word[i : i + GRAM] for i in range(len(word) - GRAM + 1)}
    for gram in sorted(grams):
        yield Term(gram, GRAMS / len(grams))


def _run_terms(run: str) -> Iterator[Term]:
    for word in _KANA_WORD.findall(run):
        yield Term(word, KANA_WORD)
    for pair in _pairs(run):
        if not _HIRAGANA.fullmatch(pair):
            yield Term(pair, PAIR if not _HIRAGANA.search(pair) else MIXED_PAIR)
        elif pair not in _QUESTION_KANA:
            yield Term(pair, KANA_PAIR)
    for sign in _IDEOGRAPH.findall(run):
        yield Term(sign, SIGN)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


# how much each kind of term says, tuned on the questions in bench/data/digest
WHOLE = 1.0
STEM = 0.8
STEM_SHARE = 0.7
GRAM = 4
GRAMS = 0.8
KANA_WORD = 1.0
PAIR = 1.0
MIXED_PAIR = 0.4
KANA_PAIR = 0.1
SIGN = 0.4


@cache
def _bare_letters() -> dict[int, str]:
    """Latin, Greek and Cyrillic letters without accents, and full-width signs in their common form."""
    blocks = [range(0xC0, 0x250), range(0x386, 0x3CF), range(0x400, 0x500), range(0x1E00, 0x2000)]
    table = {}
    for code in (code for block in blocks for code in block):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base != chr(code):
            table[code] = base
    table.update({code: chr(code - 0xFEE0).lower() for code in range(0xFF01, 0xFF5F)})
    return table


_SPECIAL_CASES = str.maketrans(_SPECIAL)
_STOP = frozenset(fold(word) for word in _STOPWORDS)
