"""Similarity: which chunks say nearly the same words, found without comparing each with every other.

The likeness of two texts is the share of runs of three terms that they have in common (Jaccard). Short signatures
of the runs put texts that are likely alike into the same bucket (MinHash with bands); only those are compared.

Texts that have the same words are known by one number of all their runs, whatever else is there or has gone.
"""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aerogram_knowledge.lexicon import index_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Shingles: TypeAlias = NDArray[np.uint64]

__all__ = ["COPIES", "THRESHOLD", "buckets_of", "compare", "likeness", "shingles_of", "wording_of"]

THRESHOLD: Final = 0.8
AS_LONG: Final = 0.9
"""A copy has at least this share of the other's tokens: one may say the same again and again."""
TELLING: Final = 24
"""Tokens of a text that says by itself what it is about; a shorter one is another one below another heading."""
BANDS: Final = 8
ROWS: Final = 4
RUN: Final = 3
FEWEST: Final = 4
"""A text of fewer runs is too short for its likeness to mean anything but that it is the same."""

COPIES: Final = f"""
WITH same AS (
  SELECT c.id, w.words, c.tokens, c.header FROM {{0}}wordings w JOIN {{0}}chunks c ON c.id = w.id
  WHERE w.words IN (SELECT words FROM {{0}}wordings GROUP BY words HAVING COUNT(*) > 1)
), beside AS (
  SELECT id, tokens, LAG(id) OVER near AS other, LAG(tokens) OVER near AS fewer FROM same
  WHERE tokens >= {TELLING} WINDOW near AS (PARTITION BY words ORDER BY tokens, id)
  UNION ALL
  SELECT id, tokens, LAG(id) OVER near, LAG(tokens) OVER near FROM same
  WINDOW near AS (PARTITION BY words, header ORDER BY tokens, id)
)
SELECT id, other FROM beside WHERE fewer >= {AS_LONG} * tokens
"""  # noqa: S608  # what is put into it are numbers, and the beginning of the names of tables
"""Pairs of chunks that connect all copies of each other: each with the one before it in the order of their lengths."""


def shingles_of(terms: Sequence[str]) -> Shingles:
    """The runs of three terms as numbers, each once."""
    import numpy as np

    numbers = np.array([*map(_number_of, terms)], np.uint64)
    if len(numbers) < RUN:
        return np.unique(numbers)
    first, second, third = _numbers(RUN)
    return np.unique(numbers[:-2] * first + numbers[1:-1] * second + numbers[2:] * third)


@lru_cache(maxsize=65_536)
def _number_of(term: str) -> int:
    """A number for a term; most terms come again and again."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def likeness(one: Shingles, other: Shingles) -> float:
    """The share of runs that two texts have in common, from 0 to 1."""
    import numpy as np

    both = len(np.intersect1d(one, other, assume_unique=True))
    union = len(one) + len(other) - both
    return both / union if union else 0.0


def wording_of(shingles: Shingles) -> int | None:
    """The number of all texts that have the same words; None for one without any."""
    if not len(shingles):
        return None
    return int.from_bytes(hashlib.blake2b(shingles.tobytes(), digest_size=8).digest(), "big", signed=True)


def buckets_of(shingles: Shingles) -> list[int]:
    """The buckets of a text: two texts that are alike share at least one of them, almost surely."""
    import numpy as np

    if len(shingles) < FEWEST:
        return [zlib.crc32(shingles.tobytes())] if len(shingles) else []
    multiply, add = _hashes()
    least = ((shingles * multiply + add) >> np.uint64(32)).min(axis=1).reshape(BANDS, ROWS)
    mixed = (least * _mixers()).sum(axis=1, dtype=np.uint64) + np.arange(BANDS, dtype=np.uint64)
    found: list[int] = (mixed >> np.uint64(2)).astype(np.int64).tolist()
    return found


@lru_cache(maxsize=1)
def _hashes() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    import numpy as np

    numbers = _numbers(2 * BANDS * ROWS)
    return numbers[: BANDS * ROWS, None] | np.uint64(1), numbers[BANDS * ROWS :, None]


@lru_cache(maxsize=1)
def _mixers() -> NDArray[np.uint64]:
    odd: NDArray[np.uint64] = _numbers(4 * BANDS * ROWS)[-BANDS * ROWS :].reshape(BANDS, ROWS)
    return odd


@lru_cache(maxsize=4)
def _numbers(count: int) -> Any:
    """Random numbers that are the same for ever, because buckets are stored."""
    import numpy as np

    state, found = 0x9E3779B97F4A7C15, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(state ^ (state >> 29))
    return np.array(found, np.uint64)


MOST_ALIKE: Final = 40
"""With so many chunks a new one is compared at most; what is repeated everywhere would otherwise be so with all."""


def compare(connection: sqlite3.Connection, bodies: Mapping[int, Sequence[str]]) -> None:
    """Find the chunks that new ones, given by their ids and terms, are nearly the same as."""
    new = {one: shingles_of(terms) for one, terms in bodies.items()}
    placed = sorted((bucket, one) for one, shingles in new.items() for bucket in set(buckets_of(shingles)))
    near = _near(connection, placed)
    connection.executemany("INSERT INTO buckets VALUES (?, ?)", placed)
    wordings = [(one, wording_of(shingles)) for one, shingles in new.items()]
    connection.executemany("INSERT OR REPLACE INTO wordings VALUES (?, ?)", wordings)
    known = dict(new)
    for one, other in near:
        if other not in known:
            known[other] = _stored_shingles(connection, other)
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


def _stored_shingles(connection: sqlite3.Connection, one: int) -> Shingles:
    text, language = connection.execute(
        "SELECT c.text, d.language FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id = ?", (one,)
    ).fetchone()
    return shingles_of(index_terms(text, language))
