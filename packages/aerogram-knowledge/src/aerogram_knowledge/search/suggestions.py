"""Suggestions: what to ask instead when nothing was found, as the arguments of a search that does find something.

Filters are left out that leave nothing. A word that no document has gives way to one that is spelt nearly like it,
among those that name documents, categories and vendors, or is left out. Nothing is advised that finds nothing either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from aerogram.digest.terms import fold
from aerogram.errors import SLIP, nearest
from aerogram_knowledge.filters import Filters

__all__ = ["Finds", "names_in", "suggest"]

SHORTEST: Final = 4
"""Letters of a word that can be misspelt; shorter ones are all alike."""
MOST_MISSPELT: Final = 5
"""So many words of a query are held against all names, which takes long; one with more of them was not mistyped."""
_WORD: Final = re.compile(r"[^\W\d_]{4,40}")

Finds = Callable[[str, Filters], bool]
"""Whether a search has a result."""


def names_in(*texts: Collection[str]) -> frozenset[str]:
    """The words in names of documents, categories and vendors."""
    return frozenset(fold(word) for several in texts for text in several for word in _WORD.findall(text))


def suggest(
    query: str, filters: Filters, unknown: Sequence[str], finds: Finds, names: Callable[[], Collection[str]]
) -> dict[str, Any]:
    """The nearest search that has a result; nothing when there is none."""
    for words in _queries(query, unknown, names):
        for fewer in _wider_filters(filters):
            if (words, fewer) != (query, filters) and finds(words, fewer):
                rest = fewer.as_json()
                return {"query": words, "filters": rest} if rest else {"query": words}
    return {}


def _queries(query: str, unknown: Sequence[str], names: Callable[[], Collection[str]]) -> Iterator[str]:
    """A query, then the same with words that are known."""
    yield query
    if not unknown:
        return
    known = names()
    near: dict[str, list[str]] = {word: [] for word in unknown}
    for word in [one for one in unknown if len(one) >= SHORTEST][:MOST_MISSPELT]:
        near[word] = nearest(word, known, least=SLIP)
    words = [one for word in query.split() for one in _spellings(word, near)]
    if words and words != query.split():
        yield " ".join(words)


def _spellings(word: str, near: dict[str, list[str]]) -> list[str]:
    """A word as it may have been meant: itself if it is known, else one that is nearly the same."""
    strange = [one for one in near if one in fold(word)]
    return near[strange[0]] if strange else [word]


def _wider_filters(filters: Filters) -> Iterator[Filters]:
    """The filters, the same for any licence, and none."""
    yield from dict.fromkeys((filters, filters.without_license(), Filters()))
