"""Upkeep: whether the tables tell one story, and how to make what follows from the chunks again."""

from __future__ import annotations

from typing import Any, Final

from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.store import StoreHealth
from aerogram_knowledge.store.postgres import postings
from aerogram_knowledge.store.postgres.pool import driver
from aerogram_knowledge.store.similarity import shingles_of, wording_of

__all__ = ["check", "fill_wordings", "rebuild_near", "rebuild_words", "settle"]

SAMPLE: Final = 20
PAGE: Final = 2_000
LOCK: Final = 0x61_65_72_6F_6E_65_61_72
"""The name of the lock: "aeronear" in ASCII."""
# a graph that does not fit into this memory is made many times more slowly, so a larger setting of the role holds
_MEMORY: Final = (
    "SELECT set_config('maintenance_work_mem', GREATEST(pg_size_bytes('512MB'), "
    "pg_size_bytes(current_setting('maintenance_work_mem'))) / 1024 || 'kB', false)"
)
_COUNTS: Final = """
SELECT (SELECT count(*) FROM aerogram_files), (SELECT count(*) FROM aerogram_documents),
  (SELECT count(*) FROM aerogram_chunks), s.generation, s.chunks, s.dimensions,
  (SELECT COALESCE(sum(total), 0) FROM aerogram_documents)
FROM aerogram_state s
"""
_NEAR: Final = (
    "CREATE INDEX CONCURRENTLY aerogram_vectors_near ON aerogram_vectors USING hnsw (vector halfvec_cosine_ops)"
)
_IS_NEAR_READY: Final = (
    "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE c.relname = 'aerogram_vectors_near' AND pg_table_is_visible(c.oid)"
)
_BYTES: Final = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relkind = 'r' AND c.relname LIKE 'aerogram\\_%' "
    "AND pg_table_is_visible(c.oid)"
)
_WORDS: Final = (
    "SELECT c.id, c.text, c.header, d.language FROM aerogram_chunks c "
    "JOIN aerogram_documents d ON d.id = c.document WHERE c.id > $1 ORDER BY c.id LIMIT $2"
)


async def check(connection: Any) -> StoreHealth:
    """What is wrong, and how much there is."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        files, documents, chunks, generation, known, dimensions, told = await connection.fetchrow(_COUNTS)
        vectors = await connection.fetchval("SELECT count(*) FROM aerogram_vectors") if dimensions else chunks
        problems = [f"chunk {one} is not found by its words" for one in await _find_unreachable(connection)]
        size = await connection.fetchval(_BYTES)
    if known != chunks:
        problems.append(f"the state says {known} chunks and there are {chunks}")
    if told != chunks:
        problems.append(f"the documents say {told} chunks and there are {chunks}")
    if vectors != chunks:
        problems.append(f"{chunks - vectors} chunks have no vector")
    facts = {"files": files, "documents": documents, "chunks": chunks, "vectors": vectors}
    return StoreHealth(tuple(problems), {**facts, "generation": generation, "bytes": int(size)})


async def rebuild_words(connection: Any) -> int:
    """Make the postings again; the generation of the change. Readers go on with the old ones meanwhile."""
    generation: int = await connection.fetchval(
        "UPDATE aerogram_state SET generation = generation + 1 RETURNING generation"
    )
    await connection.execute("DELETE FROM aerogram_postings")
    last, chunks, terms = -1, 0, 0
    while rows := await connection.fetch(_WORDS, last, PAGE):
        found = {row[0]: _terms(*row[1:]) for row in map(tuple, rows)}
        await postings.add(connection, found)
        last, chunks, terms = rows[-1][0], chunks + len(found), terms + sum(map(len, found.values()))
    await connection.execute("UPDATE aerogram_state SET chunks = $1, terms = $2", chunks, terms)
    return generation


async def fill_wordings(connection: Any) -> None:
    """Make the numbers by which copies are known, for the chunks that are there."""
    last = -1
    while rows := await connection.fetch(_WORDS, last, PAGE):
        found = [(row[0], wording_of(shingles_of(index_terms(row[1], row[3])))) for row in rows]
        await connection.copy_records_to_table("aerogram_wordings", records=found, columns=("id", "words"))
        last = rows[-1][0]


async def settle(connection: Any, more_than: int) -> None:
    """Make the index over vectors as soon as there are so many that it is worth it; once is faster than bit by bit.

    It is read and written meanwhile, which is why it cannot be done in a transaction. Whoever comes second leaves it to
    the first.
    """
    row = await connection.fetchrow("SELECT dimensions, chunks FROM aerogram_state")
    if not row[0] or row[1] <= more_than or await connection.fetchval(_IS_NEAR_READY):
        return
    if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):
        return
    try:
        await _build(connection, _NEAR, "aerogram_vectors_near")
        await connection.execute("ANALYZE aerogram_vectors")
    finally:
        await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)


async def rebuild_near(connection: Any) -> None:
    """Make the index over vectors again, while it is read."""
    if await connection.fetchval(_IS_NEAR_READY):
        statement = "REINDEX INDEX CONCURRENTLY aerogram_vectors_near"
        await _build(connection, statement, "aerogram_vectors_near_ccnew")


async def _build(connection: Any, statement: str, unfinished: str) -> None:
    """Run what makes an index; a build that was cut off has left an unfinished one.

    Several processes make it in memory that they share, and that is short in some containers: then one makes it.
    """
    await connection.execute(_MEMORY)
    try:
        await connection.execute(f"DROP INDEX IF EXISTS {unfinished}")
        await connection.execute(statement)
    except (driver().DiskFullError, driver().OutOfMemoryError):
        await connection.execute("SET max_parallel_maintenance_workers = 0")
        await connection.execute(f"DROP INDEX IF EXISTS {unfinished}")
        await connection.execute(statement)


async def _find_unreachable(connection: Any) -> list[int]:
    """Of some chunks from all over the index, those that their own words do not lead to."""
    most = await connection.fetchval("SELECT COALESCE(max(id), 0) FROM aerogram_chunks")
    missing = []
    for start in range(-1, most, max(1, most // SAMPLE)):
        for one, *about in map(tuple, await connection.fetch(_WORDS, start, 1)):
            terms = set(_terms(*about))
            rows = await connection.fetch(
                "SELECT term, places FROM aerogram_postings WHERE term = ANY($1) AND block = $2",
                list(terms),
                one >> postings.BITS,
            )
            has = {term for term, places in map(tuple, rows) if postings.names(places, one)}
            missing += [one] if has != terms else []
    return sorted(set(missing))


def _terms(text: str, header: str, language: str) -> list[str]:
    return index_terms(text, language) + index_terms(header, language)
