"""How to have BM25 in plain SQL: posting blocks, a text search vector with a GIN index, or a row for each posting.

Each holds the same synthetic chunks and answers the same questions with the best thousand chunks and their scores, on
one PostgreSQL, from one connection. `POSTINGS_CHUNKS=20000` by default.
"""

import asyncio
import math
import os
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import asyncpg

import knowledge_corpus as corpus
from aerogram_knowledge.lexicon import index_terms, query_terms
from aerogram_knowledge.store.postgres import postings

sys.path.append(str(Path(__file__).parents[1] / "tests"))

CHUNKS = int(os.environ.get("POSTINGS_CHUNKS", "20000"))
BATCH, BEST, QUESTIONS = 2_000, 1_000, 100
TABLES = """
CREATE TABLE aerogram_postings (term text COLLATE "C", block int, places bytea, PRIMARY KEY (term, block));
CREATE TABLE vectors (id bigint PRIMARY KEY, length int, terms tsvector);
CREATE INDEX ON vectors USING gin (terms);
CREATE TABLE frequencies (term text PRIMARY KEY, count bigint);
CREATE TABLE rows (
  term text COLLATE "C", id bigint, count int, length int, PRIMARY KEY (term, id) INCLUDE (count, length)
);
"""
SUMMED = """
SELECT id, sum(weight * count / (count + 1.2 * (0.25 + 0.75 * length / $3))) AS score
FROM rows JOIN unnest($1::text[], $2::float8[]) AS asked (term, weight) USING (term)
GROUP BY id ORDER BY score DESC LIMIT 1000
"""


def main():
    from postgres import running_postgres

    with running_postgres("shared_buffers=512MB", "max_wal_size=4GB") as server:
        asyncio.run(measure(server.new_database()))


async def measure(url):
    connection = await asyncpg.connect(url)
    await connection.execute(TABLES + "SET jit = off")
    spent, length = await fill(connection)
    await connection.execute("VACUUM ANALYZE")
    ways = {"aerogram_postings": in_blocks, "vectors": in_vectors, "rows": in_rows}
    times, best = {name: [] for name in ways}, {}
    for query in corpus.queries(QUESTIONS, seed=5):
        terms = query_terms(query)
        for name, way in ways.items():
            start = time.perf_counter()
            best[name] = await way(connection, terms, length)
            times[name].append((time.perf_counter() - start) * 1000)
        assert len({round(one, 3) for one in best.values()}) == 1, best
    print(f"{CHUNKS} chunks, {QUESTIONS} questions, load {os.getloadavg()[0]:.1f}")
    for name, values in times.items():
        size = await connection.fetchval("SELECT pg_total_relation_size($1::text::regclass)", name)
        values.sort()
        print(
            f"{name:<18} p50 {statistics.median(values):.1f} ms, p99 {values[int(0.99 * len(values))]:.1f} ms, "
            f"{size / CHUNKS:,.0f} bytes and {spent[name] * 1000 / CHUNKS:.2f} ms to store for each chunk"
        )
    await connection.close()


async def fill(connection):
    """Store the chunks in each way; the seconds that each took, and the number of all terms."""
    words, chance = corpus.vocabulary(), random.Random(1)
    heavy, total = corpus.weights(len(words)), 0
    spent = Counter()
    for first in range(0, CHUNKS, BATCH):
        texts = (" ".join(chance.choices(words, cum_weights=heavy, k=110)) for _ in range(BATCH))
        chunks = {first + place: index_terms(text, "en") for place, text in enumerate(texts)}
        total += sum(map(len, chunks.values()))
        for name, store in (("aerogram_postings", postings.add), ("vectors", add_vectors), ("rows", add_rows)):
            start = time.perf_counter()
            async with connection.transaction():
                await store(connection, chunks)
            spent[name] += time.perf_counter() - start
    return spent, total


async def add_vectors(connection, chunks):
    """A position for each time a term occurs, and how many chunks have it in a table beside."""
    rows = [(one, _length(terms), _vector(Counter(terms))) for one, terms in chunks.items()]
    await connection.executemany("INSERT INTO vectors VALUES ($1, $2, $3::text::tsvector)", rows)
    counts = sorted(Counter(term for terms in chunks.values() for term in set(terms)).items())
    await connection.execute(
        "INSERT INTO frequencies SELECT * FROM unnest($1::text[], $2::bigint[]) "
        "ON CONFLICT (term) DO UPDATE SET count = frequencies.count + excluded.count",
        [term for term, _ in counts],
        [count for _, count in counts],
    )


def _length(terms):
    """The length as the posting blocks count it, so that all three have the same scores."""
    return int(postings.rounded_lengths()[len(terms)])


def _vector(counts):
    return " ".join(f"'{term}':{','.join(map(str, range(1, count + 1)))}" for term, count in counts.items())


async def add_rows(connection, chunks):
    rows = [
        (term, one, count, _length(terms)) for one, terms in chunks.items() for term, count in Counter(terms).items()
    ]
    await connection.copy_records_to_table("rows", records=rows)


async def in_blocks(connection, terms, length):
    forms = [form for term in terms for form in term.forms]
    rows = await connection.fetch("SELECT term, block, places FROM aerogram_postings WHERE term = ANY($1)", forms)
    found = postings.score_words([tuple(row) for row in rows], terms, CHUNKS, length)
    return float(found.of(found.best(BEST)[:1])[0])


async def in_vectors(connection, terms, length):
    """The number of positions comes out of ts_rank, which is the sum of 1 / n² over them, but for a factor."""
    weights, worth = await _weights(connection, terms, "SELECT term, count FROM frequencies WHERE term = ANY($1)")
    ranks = ", ".join(f"ts_rank('{{1,1,1,1}}', terms, '{term}'::tsquery) AS r{n}" for n, term in enumerate(weights))
    counts = ", ".join(f"round(1 / (1.64493406685 * (1.0000001 - r{n})) - 0.5) AS c{n}" for n in range(len(weights)))
    score = " + ".join(
        f"CASE WHEN r{n} = 0 THEN 0 ELSE {weight} * c{n} / (c{n} + norm) END"
        for n, weight in enumerate(weights.values())
    )
    rows = await connection.fetch(
        f"SELECT id, {score} AS score FROM (SELECT *, {counts} FROM (SELECT id, "
        f"1.2 * (0.25 + 0.75 * length / {length / CHUNKS}) AS norm, {ranks} FROM vectors "
        f"WHERE terms @@ $1::text::tsquery OFFSET 0) a OFFSET 0) b ORDER BY score DESC LIMIT {BEST}",
        " | ".join(f"'{term}'" for term in weights),
    )
    return 1 - math.exp(-rows[0][1] / worth)


async def in_rows(connection, terms, length):
    counted = "SELECT term, count(*) FROM rows WHERE term = ANY($1) GROUP BY term"
    weights, worth = await _weights(connection, terms, counted)
    rows = await connection.fetch(SUMMED, list(weights), list(weights.values()), length / CHUNKS)
    return 1 - math.exp(-rows[0][1] / worth)


async def _weights(connection, terms, statement):
    """What each term is worth, and all of them together."""
    known = dict(map(tuple, await connection.fetch(statement, [form for term in terms for form in term.forms])))
    weights = {one: 2.2 * postings._rarity(CHUNKS, known[one]) for one in known}
    worth = sum(postings._rarity(CHUNKS, sum(known.get(form, 0) for form in term.forms)) for term in terms)
    return weights, worth


if __name__ == "__main__":
    main()
