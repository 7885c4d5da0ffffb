"""Fusion: one score from words and meaning, each trusted as far as the evidence goes.

Words are the share of what a query asks for that a chunk has, meaning is the cosine between the two; both are from 0
to 1, and so is what becomes of them. Meaning is trusted as far as the embedder knows the words of the query: one that
falls to pieces in its vocabulary (a code, a name, another language) is left to the keywords. Words that no chunk has
count against every chunk alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from aerogram_knowledge.store import Candidates

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids, Numbers

__all__ = ["Method", "RankedResults", "fuse"]

Method: TypeAlias = Literal["hybrid", "vector", "bm25"]

# tuned on the first half of the questions in bench/data/knowledge
MEANING_SHARE: Final = 0.85
"""How much meaning counts at most, against words."""
FLOOR: Final = 0.25
"""Below this closeness in meaning, a chunk without any of the words is no result."""
STRANGE_FLOOR: Final = 0.7
"""The same for a query of which the embedder knows no word."""
FAINT: Final = 0.1
"""The same when only meaning is asked for."""
STEPS: Final = 1_000_000
"""Scores that differ by less than one step of so many are equal."""
PLACE_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class RankedResults:
    """All results of a query, the best first; the arrays go together."""

    ids: Ids
    hybrid: Numbers
    words: Numbers
    meaning: Numbers
    method: Method
    coverage: float
    known: float
    unknown: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def after(self, score: float, id_: int) -> int:
        """How many results stand up to and including one with this score and id."""
        import numpy as np

        before = int(np.searchsorted(-self.hybrid, -score, "left"))
        equal = int(np.searchsorted(-self.hybrid, -score, "right"))
        return before + int(np.searchsorted(self.ids[before:equal], id_, "right"))

    def rank_of(self, id_: int) -> int | None:
        """The rank of a result, from 1; None when it is none."""
        import numpy as np

        found = np.nonzero(self.ids == id_)[0]
        return int(found[0]) + 1 if len(found) else None


def fuse(found: Candidates, known: float, method: Method = "hybrid") -> RankedResults:
    """The candidates in order; `known` is the share of the query that the embedder knows."""
    import numpy as np

    floor = FLOOR + (STRANGE_FLOOR - FLOOR) * (1 - known)
    if method == "bm25":
        score, kept = found.words, found.words > 0
    elif method == "vector":
        score, kept = found.meaning, found.meaning >= FAINT
    else:
        score, kept = hybrid(found, known), (found.words > 0) | (found.meaning >= floor)
    order = np.flatnonzero(kept)
    order = order[np.argsort(found.ids[order], kind="stable")]  # equals stand in the order of their ids
    steps: Any = np.rint(np.clip(score[order].astype(np.float64), 0, 1) * STEPS).astype(np.int64)
    # score and place in one number, because numbers are sorted faster than places by their scores
    keys: Any = np.sort((STEPS - steps) << PLACE_BITS | np.arange(len(order)))
    order = order[keys & (1 << PLACE_BITS) - 1]
    return RankedResults(
        found.ids[order],
        (STEPS - (keys >> PLACE_BITS)) / STEPS,
        found.words[order],
        found.meaning[order],
        method,
        found.coverage,
        known,
        found.unknown,
    )


def hybrid(found: Candidates, known: float) -> Numbers:
    """Words and meaning, weighed by the evidence for each."""
    trust = MEANING_SHARE * known
    fused: Numbers = (1 - trust) * found.words + trust * found.meaning
    return fused
