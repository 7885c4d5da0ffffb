"""Fusion: one score from words and meaning, each trusted as far as the evidence goes.

Words are the share of what a query asks for that a chunk has, meaning is the cosine between the two; both are from 0
to 1, and so is what becomes of them. How far meaning is trusted is decided for each query by three things:

- the embedder knows its words: one that falls to pieces in its vocabulary (a code, a name, another language) and that
  the index has is left to the keywords, the more so the rarer it is;
- meaning separates: where fifty chunks, or one in fifty, are nearly as close as the closest, closeness says little;
- words do not answer already: a chunk that has nearly all of what is asked for needs no other evidence.

Words that no chunk has count against every chunk alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from aerogram_knowledge.store import Candidates

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids, Numbers

__all__ = ["Method", "RankedResults", "best_places", "earnings", "fuse", "largest", "trust_in_meaning"]

Method: TypeAlias = Literal["hybrid", "vector", "bm25"]

# chosen with all of CISI and both halves of bench/data/knowledge in view; docs/knowledge.md says what that means
MEANING_SHARE: Final = 0.85
"""How much meaning counts at most, against words."""
CROWD: Final = 50
"""Meaning separates if the closest chunk is closer than so many others, or than one in so many where that is more.

In a large index the closest fifty are always close to each other, whatever is asked.
"""
APART: Final = (0.05, 0.11)
"""By how much: at the first it counts nothing, from the second on as much as it can."""
ANSWERED: Final = 0.4
"""Where the best chunk has more than this of what a query asks for, meaning counts the less the more that is."""
LEAST: Final = 0.1
"""So much of its share meaning has in any case, which orders chunks that have the same words."""
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

    def at(self, places: Ids) -> RankedResults:
        """Only the results at some places, in that order."""
        arrays = {name: getattr(self, name)[places] for name in ("ids", "hybrid", "words", "meaning")}
        return replace(self, **arrays)

    def lower(self, places: Sequence[int], last: int) -> RankedResults:
        """The results with those at some places right behind the one at the place `last`."""
        return self._with_scores(places, max(0.0, float(self.hybrid[last]) - 1 / STEPS))

    def lessen(self, shares: Sequence[float]) -> RankedResults:
        """The results with the first ones at some shares of their scores, before those after them."""
        import numpy as np

        first = len(shares)
        less = np.rint(self.hybrid[:first] * np.array(shares) * STEPS) / STEPS
        rest = self.hybrid[first : first + 1] + 1 / STEPS
        return self._with_scores(range(first), np.maximum(less, rest) if len(rest) else less)

    def _with_scores(self, places: Sequence[int], scores: Numbers | float) -> RankedResults:
        import numpy as np

        score = self.hybrid.copy()
        score[list(places)] = scores
        return replace(self, hybrid=score).at(np.lexsort((self.ids, -score)))

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


def fuse(
    found: Candidates,
    known: float,
    method: Method = "hybrid",
    *,
    trust: float = 0.0,
    words: Numbers | None = None,
    held: Sequence[int] = (),
) -> RankedResults:
    """The candidates in order; `known` is the share of the query that the embedder knows.

    With both, `trust` is how much meaning counts, and `words` are word scores that take the place of the candidates'
    own. Those `held` have the phrases of the query and stand before all others.
    """
    import numpy as np

    floor = FLOOR + (STRANGE_FLOOR - FLOOR) * (1 - known)
    score: Any
    if method == "bm25":
        score, kept = found.words, found.words > 0
    elif method == "vector":
        score, kept = found.meaning, found.meaning >= FAINT
    else:
        score = (1 - trust) * (found.words if words is None else words) + trust * found.meaning
        kept = (found.words > 0) | (found.meaning >= floor)
    if held:
        score = (score + np.isin(found.ids, held).astype(np.float32)) / 2
    order = np.flatnonzero(kept)  # in the order of their ids, in which equals stand
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


def trust_in_meaning(found: Candidates, known: float, among: int) -> float:
    """How much meaning counts for a query of which the embedder knows so much, among so many chunks."""
    crowd = largest(found.meaning, max(CROWD, among // CROWD))
    apart = float(crowd.max()) - (float(crowd.min()) if len(crowd) >= CROWD else 0.0) if len(crowd) else 0.0
    separates = min(1.0, max(0.0, (apart - APART[0]) / (APART[1] - APART[0])))
    best = earnings(largest(found.words, 1))
    unanswered = min(1.0, max(0.0, 1 + ANSWERED - float(best[0]))) if len(best) else 1.0
    return MEANING_SHARE * known * max(LEAST, separates * unanswered)


def earnings(words: Numbers) -> Numbers:
    """What chunks earn for their words, over what finding each term once would earn."""
    import numpy as np

    earned: Numbers = -np.log1p(-np.minimum(words, np.float32(0.999999)))
    return earned


def largest(values: Numbers, count: int) -> Numbers:
    """The largest values above nothing."""
    import numpy as np

    some = values if len(values) <= count else np.partition(values, len(values) - count)[len(values) - count :]
    found: Numbers = some[some > 0]
    return found


def best_places(values: Numbers, count: int) -> Ids:
    """The places of the largest values, in descending order; equals stay as they stand."""
    import numpy as np

    if len(values) > count:
        places = np.flatnonzero(values >= np.partition(values, len(values) - count)[len(values) - count])
    else:
        places = np.arange(len(values))
    found: Ids = places[np.argsort(-values[places], kind="stable")][:count]
    return found
