"""Feedback: the words that the best chunks for a query have in common, asked for beside its own.

Where ten chunks match a query about equally well, it is about a subject and not about one sentence, and what they say
again and again belongs to it (pseudo-relevance feedback, after Rocchio). Where one chunk stands out, or has nearly all
that is asked for, it is the answer, and further words could only lead away from it. Scripts without blanks are left
alone: pairs of signs that many chunks have in common are grammar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from aerogram_knowledge.asking import idle_words
from aerogram_knowledge.documents.language import stem_all
from aerogram_knowledge.lexicon import QueryTerm, index_terms, is_word
from aerogram_knowledge.store import StoredChunk

if TYPE_CHECKING:
    from aerogram_knowledge.store import Numbers

__all__ = ["CHUNKS", "expand", "share_of_feedback"]

CHUNKS: Final = 10
"""So many of the best chunks are listened to."""
TERMS: Final = 20
"""So many of their terms are asked for."""
TOGETHER: Final = 2
"""A term that fewer of them have is one chunk's own."""
LOOKED_UP: Final = 60
"""Of so many of their most frequent terms the rarity is looked up."""

# chosen with all of CISI and both halves of bench/data/knowledge in view; docs/knowledge.md says what that means
SHARE: Final = 0.4
"""How much their terms count at most, against those of the query."""
LEAST: Final = 0.1
"""What would count less is not worth another query."""
ALIKE: Final = (0.5, 0.65)
"""The tenth chunk's earnings over the best one's: at the first there is no feedback, from the second on all of it."""
ANSWERED: Final = (0.6, 1.0)
"""The best one's earnings over what finding each term once would earn: from the second on there is no feedback."""


def share_of_feedback(terms: Sequence[QueryTerm], earnings: Numbers) -> float:
    """How much feedback a query wants, from what the best chunks earn for it, in descending order."""
    if len(earnings) < CHUNKS or not all(is_word(term.written) for term in terms):
        return 0.0
    best, last = float(earnings[0]), float(earnings[CHUNKS - 1])
    share = SHARE * _ramp(last / best, *ALIKE) * (1 - _ramp(best, *ANSWERED))
    return share if share >= LEAST else 0.0


def expand(
    terms: Sequence[QueryTerm],
    chunks: Sequence[StoredChunk],
    earnings: Numbers,
    share: float,
    rarities: Callable[[Sequence[str]], Sequence[float]],
) -> list[QueryTerm]:
    """The terms of a query, and with a share of the weight those that its best chunks have in common.

    `rarities` says what finding each of some terms is worth.
    """
    found = [Counter(index_terms(f"{chunk.text}\n{chunk.header}", chunk.language)) for chunk in chunks]
    having = Counter(chain.from_iterable(found))
    idle: frozenset[str] = frozenset().union(*(_idle_stems(one) for one in {chunk.language for chunk in chunks}))
    telling = {term for term, count in having.items() if count >= TOGETHER and len(term) > 1} - idle
    mass = dict.fromkeys(filter(is_word, telling), 0.0)
    for counts, earned in zip(found, earnings, strict=True):
        part = float(earned) / counts.total()
        for term in mass.keys() & counts.keys():
            mass[term] += part * counts[term]
    common = sorted(((amount, term) for term, amount in mass.items()), key=lambda pair: (-pair[0], pair[1]))[:LOOKED_UP]
    worth = [amount * rare for (amount, _), rare in zip(common, rarities([term for _, term in common]), strict=True)]
    best = sorted(zip(worth, (term for _, term in common), strict=True), key=lambda pair: (-pair[0], pair[1]))[:TERMS]
    own, added = sum(term.weight for term in terms), sum(amount for amount, _ in best)
    if not added:
        return list(terms)
    kept = [term._replace(weight=(1 - share) * term.weight / own) for term in terms]
    return kept + [QueryTerm(term, (term,), share * amount / added) for amount, term in best]


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


@lru_cache(maxsize=64)
def _idle_stems(language: str) -> frozenset[str]:
    """The words that say nothing, as a text in a language has them."""
    idle = sorted(idle_words())
    return frozenset([*idle, *stem_all(idle, language)])
