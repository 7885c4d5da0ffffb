"""Postings: which chunks have a term, how often, and how long they are; BM25 from that.

A row holds one term in one block of 16,384 ids, five bytes for each chunk. A query reads the rows of its terms and adds
them up here: the database ships a few dozen kilobytes and computes nothing. A text search vector with a GIN index has
to visit each chunk that has one of the words for how often it has it, and a row for each term of each chunk takes
several times the room; `python bench postings` compares the three.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from aerogram_knowledge.lexicon import QueryTerm, rarity

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids, Numbers

__all__ = ["BITS", "WordScores", "add", "drop", "names", "rounded_lengths", "score_words"]

BITS: Final = 14
BLOCK: Final = 1 << BITS
POSTING: Final = struct.Struct("<HBH")
FIELDS: Final = [("place", "<u2"), ("count", "u1"), ("length", "<u2")]
LONGEST: Final = 65_535
"""What is longer counts as so many terms."""
K1: Final = 1.2
B: Final = 0.75
"""The constants of BM25, the same as in the embedded store."""

_ADD: Final = (
    "INSERT INTO aerogram_postings SELECT * FROM unnest($1::text[], $2::int[], $3::bytea[]) "
    "ON CONFLICT (term, block) DO UPDATE SET places = aerogram_postings.places || excluded.places"
)
_READ: Final = (
    "SELECT term, block, places FROM aerogram_postings "
    "JOIN unnest($1::text[], $2::int[]) AS wanted (term, block) USING (term, block)"
)
_WRITE: Final = (
    "UPDATE aerogram_postings p SET places = new.places FROM unnest($1::text[], $2::int[], $3::bytea[]) "
    "AS new (term, block, places) WHERE p.term = new.term AND p.block = new.block"
)


async def add(connection: Any, chunks: Mapping[int, Sequence[str]]) -> None:
    """Remember the terms of new chunks; whoever calls holds the lock of the state."""
    rows: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
    for one, terms in chunks.items():
        block, place, length = one >> BITS, one & (BLOCK - 1), min(len(terms), LONGEST)
        for term, count in Counter(terms).items():
            rows[term, block] += POSTING.pack(place, min(count, 255), length)
    keys = sorted(rows)
    await connection.execute(
        _ADD, [term for term, _ in keys], [block for _, block in keys], [bytes(rows[key]) for key in keys]
    )


async def drop(connection: Any, chunks: Mapping[int, Iterable[str]]) -> None:
    """Forget chunks under their terms; whoever calls holds the lock of the state."""
    import numpy as np

    gone: dict[tuple[str, int], set[int]] = defaultdict(set)
    for one, terms in chunks.items():
        for term in set(terms):
            gone[term, one >> BITS].add(one & (BLOCK - 1))
    keys = sorted(gone)
    rows = await connection.fetch(_READ, [term for term, _ in keys], [block for _, block in keys])
    kept: list[tuple[str, int, bytes]] = []
    for term, block, places in rows:
        postings = np.frombuffer(places, FIELDS)
        mask = ~np.isin(postings["place"], list(gone[term, block]))
        kept.append((term, block, postings[mask].tobytes()))
    columns = [list(column) for column in zip(*kept, strict=True)] if kept else [[], [], []]
    await connection.execute(_WRITE, *columns)
    await connection.execute(
        "DELETE FROM aerogram_postings p USING unnest($1::text[], $2::int[]) AS old (term, block) "
        "WHERE p.term = old.term AND p.block = old.block AND p.places = ''",
        *columns[:2],
    )


def names(places: bytes, one: int) -> bool:
    """Whether the postings of a chunk's block name it."""
    return any(place == one & (BLOCK - 1) for place, _, _ in POSTING.iter_unpack(places))


@dataclass(frozen=True)
class WordScores:
    """What each chunk of some blocks earns for a query, in the order of ids."""

    blocks: Ids
    scores: Numbers
    unknown: tuple[str, ...]
    coverage: float
    worth: tuple[float, ...]

    def best(self, limit: int) -> Ids:
        """The ids of the chunks that earn most, the best first."""
        import numpy as np

        places = np.flatnonzero(self.scores)
        if len(places) > limit:
            least = np.partition(self.scores[places], len(places) - limit)[len(places) - limit]
            places = places[self.scores[places] >= least]
        places = places[np.argsort(-self.scores[places], kind="stable")][:limit]
        ids: Ids = (self.blocks[places >> BITS] << BITS) | (places & (BLOCK - 1))
        return ids

    def of(self, ids: Ids) -> Numbers:
        """What these chunks earn, from 0 to 1."""
        import numpy as np

        if not len(self.blocks):
            return np.zeros(len(ids), np.float32)
        blocks = np.searchsorted(self.blocks, ids >> BITS)
        blocks[blocks == len(self.blocks)] = 0
        there = self.blocks[blocks] == ids >> BITS
        scores: Numbers = np.where(there, self.scores[(blocks << BITS) | (ids & (BLOCK - 1))], 0)
        return scores


def score_words(
    rows: Sequence[tuple[str, int, bytes]], terms: Sequence[QueryTerm], total: int, length: int
) -> WordScores:
    """The scores for a query from the rows of its terms, with so many chunks of so many terms altogether."""
    import numpy as np

    lists: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for form, block, places in rows:
        lists[form].append((block, np.frombuffer(places, FIELDS)))
    counts = {form: sum(len(one) for _, one in parts) for form, parts in lists.items()}
    found = [sum(counts.get(form, 0) for form in term.forms) for term in terms]
    worth = tuple(term.weight * rarity(total, count) for term, count in zip(terms, found, strict=True))
    unknown = tuple(term.written for term, count in zip(terms, found, strict=True) if not count)
    known = sum(one for one, count in zip(worth, found, strict=True) if count)
    blocks = np.array(sorted({block for _, block, _ in rows}), np.int64)
    if not known:
        return WordScores(np.zeros(0, np.int64), np.zeros(0, np.float32), unknown, 0.0, worth)
    scores, lengths = np.zeros(len(blocks) << BITS, np.float32), rounded_lengths()
    mean = max(length / max(total, 1), 1.0)
    for term, one in zip(terms, worth, strict=True):
        weight = one * (K1 + 1)
        for form in term.forms:
            for block, postings in lists.get(form, ()):
                start = int(np.searchsorted(blocks, block)) << BITS
                often = postings["count"].astype(np.float32)
                norm = K1 * (1 - B + B / mean * lengths[postings["length"]])
                scores[start + postings["place"].astype(np.int64)] += weight * often / (often + norm)
    return WordScores(blocks, 1 - np.exp(-scores / np.float32(sum(worth))), unknown, known / sum(worth), worth)


@lru_cache(maxsize=1)
def rounded_lengths() -> Numbers:
    """What each length counts as. The embedded store's engine keeps it in a byte, from 40 terms on in growing steps.

    With the same steps here, the same question ranks the same chunks in the same order in both stores.
    """
    import numpy as np

    kept, start, step = list(range(40)), 40, 2
    while start <= LONGEST:
        kept += range(start, start + 8 * step, step)
        start, step = start + 8 * step, step * 2
    steps = np.array(kept)
    rounded: Numbers = steps[np.searchsorted(steps, np.arange(LONGEST + 1), "right") - 1].astype(np.float32)
    return rounded
