"""Likenesses: which rows of the embedded store say nearly the same words, found when they are stored.

The buckets of a whole batch are read and written in their own order, because each chunk on its own would touch eight
pages anywhere in a large index.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.similar import THRESHOLD, buckets_of, likeness, shingles_of

if TYPE_CHECKING:
    from aerogram_knowledge.similar import Shingles

__all__ = ["compare"]

MOST_ALIKE: Final = 40
"""With so many chunks a new one is compared at most; what is repeated everywhere would otherwise be so with all."""


def compare(connection: sqlite3.Connection, bodies: Mapping[int, Sequence[str]]) -> None:
    """Find the chunks that new ones, given by their ids and terms, are nearly the same as."""
    new = {one: shingles_of(terms) for one, terms in bodies.items()}
    placed = sorted((bucket, one) for one, shingles in new.items() for bucket in set(buckets_of(shingles)))
    near = _near(connection, placed)
    connection.executemany("INSERT INTO buckets VALUES (?, ?)", placed)
    known = dict(new)
    for one, other in near:
        if other not in known:
            known[other] = _stored(connection, other)
        alike = likeness(known[one], known[other])
        if alike > THRESHOLD:
            both = [(one, other, round(alike, 4)), (other, one, round(alike, 4))]
            connection.executemany("INSERT OR REPLACE INTO likenesses VALUES (?, ?, ?)", both)


def _near(connection: sqlite3.Connection, placed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Each new chunk with those in its buckets: the ones that are there, and the new ones before it."""
    found: dict[int, dict[int, None]] = {}
    for bucket, group in itertools.groupby(placed, lambda pair: pair[0]):
        rows = connection.execute("SELECT id FROM buckets WHERE bucket = ? LIMIT ?", (bucket, MOST_ALIKE))
        there = [row[0] for row in rows]
        for _, one in group:
            if there:
                found.setdefault(one, {}).update(dict.fromkeys(there))
            if len(there) < MOST_ALIKE:
                there.append(one)
    return ((one, other) for one, others in found.items() for other in itertools.islice(others, MOST_ALIKE))


def _stored(connection: sqlite3.Connection, one: int) -> Shingles:
    text, language = connection.execute(
        "SELECT c.text, d.language FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id = ?", (one,)
    ).fetchone()
    return shingles_of(index_terms(text, language))
