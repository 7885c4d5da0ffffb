"""Languages: which one a text is in, by its script and its smallest words.

It decides how words are reduced to their stems, so a wrong guess costs a little and no more. A text too short to tell
is taken for English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from aerogram.digest.terms import fold
from aerogram.errors import MissingExtra

__all__ = [
    "FALLBACK",
    "has_own_script",
    "is_english",
    "language_of",
    "languages_asked_in",
    "stem_all",
    "stemmed_languages",
]

FALLBACK: Final = "en"
SAMPLE: Final = 4_000
FEW: Final = 3
REMEMBERED: Final = 50_000
"""Words whose stems are remembered, for each language; most words come again and again."""

_SNOWBALL: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
_SMALL_WORDS: Final = {
    "da": "af at den der det en er et for fra har ikke jeg med og på som til var vi",
    "de": (
        "aber als am auch auf bei das dem den der des die durch ein eine einem einen einer es für ist im mit "
        "nach nicht oder sich sie sind und vom von werden wie wird zu zum zur"
    ),
    "en": (
        "a an and are as at be by for from has have how if in into is it its not of on or that the their "
        "they this to was we were what when which who will with you"
    ),
    "es": (
        "al como con cuando de del donde el en es está esta este la las lo los más no o para pero por que se "
        "sin son su un una y"
    ),
    "fi": "ei että hän ja jos joka kun mutta myös ne ole oli on ovat se sen tai tämä",
    "fr": (
        "au aux avec ce cette comme dans de des du elle en est et il la le les leur mais ne nous ou par pas "
        "plus pour qu que qui sa se ses son sont sur un une vous"
    ),
    "it": (
        "al alla anche che come con da dal dei del della delle di e gli ha i il in la le lo nel nella non "
        "per più se si sono un una"
    ),
    "nl": (
        "aan bij dat de deze die dit een en er het hij in is met naar niet of om ook op te tot van voor was "
        "wat worden zijn"
    ),
    "pt": (
        "ao aos as com como da das de do dos e em é essa este mais mas na não no nos o os ou para pela pelo "
        "por que se sem são seu sua um uma"
    ),
    "sv": "att av de den det en ett för från har i inte är jag kan med och om på som till var vi",
}
_BY_WORD: Final = {
    word: tuple(name for name, words in _SMALL_WORDS.items() if word in words.split())
    for words in _SMALL_WORDS.values()
    for word in words.split()
}
_ENGLISH_TO_OWN: Final = 2
"""A passage is in English that has more than so many English small words for each one of its document's language."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_SHARE_OF_SCRIPT: Final = 0.15
_SIGNS_OF_PROSE: Final = 10
_SIGNS_A_SMALL_WORD: Final = 3
"""A manual in Korean may be code for the most part: its few sentences have more signs than the code has small words."""


def language_of(text: str) -> str:
    """The language that a text is most likely in, as two letters."""
    sample = text[:SAMPLE]
    letters = sum(map(str.isalpha, sample)) or 1
    votes: Counter[str] = Counter()
    for word in _WORD.findall(sample.lower()):
        for name in _BY_WORD.get(word, ()):
            votes[name] += 1
    best, small = votes.most_common(1)[0] if votes else (FALLBACK, 0)
    prose = max(_SIGNS_OF_PROSE, _SIGNS_A_SMALL_WORD * small)
    for name, signs in _SCRIPTS:
        if len(signs.findall(sample)) > min(_SHARE_OF_SCRIPT * letters, prose):
            return name
    return best if small >= FEW else FALLBACK


def languages_asked_in(text: str) -> frozenset[str]:
    """The languages that a short text may be in; none for one that does not tell.

    A script tells, and so do small words where one language has more of them than any other.
    """
    own = {name for name, signs in _SCRIPTS if signs.search(text)}
    if own:
        return frozenset(own | {"ja"} if "zh" in own else own)  # Japanese is written with these signs too
    votes = Counter(name for word in _WORD.findall(text.lower()) for name in _BY_WORD.get(word, ()))
    best = votes.most_common(2)
    if best and (len(best) == 1 or best[0][1] > best[1][1]):
        return frozenset([best[0][0]])
    return frozenset()


def has_own_script(language: str) -> bool:
    """Whether a language is written in a script that few others have."""
    return any(language == name for name, _ in _SCRIPTS)


def stemmed_languages() -> frozenset[str]:
    """The languages whose words have stems."""
    return frozenset(_SNOWBALL)


def is_english(words: list[str], language: str) -> bool:
    """Whether the folded words of a passage are English, in a document of another language with the same letters."""
    telling = _telling_words(language)
    if telling is None:
        return False
    english, own = telling
    found = sum(map(english.__contains__, words))
    return found >= FEW and found > _ENGLISH_TO_OWN * sum(map(own.__contains__, words))


@lru_cache(maxsize=64)
def _telling_words(language: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The small words that only English has, and those that only another language has; None where scripts tell."""
    if language == FALLBACK or language not in _SMALL_WORDS:
        return None
    english, own = (frozenset(fold(_SMALL_WORDS[one]).split()) for one in (FALLBACK, language))
    return english - own, own - english


def stem_all(words: list[str], language: str) -> list[str]:
    """The stems of some words; in a language that is not written in Latin letters, words in these are English ones."""
    found = words
    for algorithm in _algorithms(language):
        found = list(map(_stem_of(algorithm), found))
    return found


@lru_cache(maxsize=64)
def _algorithms(language: str) -> tuple[str, ...]:
    own = _SNOWBALL.get(language)
    return (*([own] if own else []), *([_SNOWBALL[FALLBACK]] if has_own_script(language) else []))


@lru_cache(maxsize=64)
def _stem_of(algorithm: str) -> Callable[[str], str]:
    """What gives the stem of a word."""
    try:
        import Stemmer
    except ImportError as error:
        raise MissingExtra("knowledge", "PyStemmer") from error
    # its own memory of words makes objects that the collector looks through, and sorts all of them when it is full
    return lru_cache(maxsize=REMEMBERED)(Stemmer.Stemmer(algorithm, 0).stemWord)
