"""Changes: what an ingest writes, each change in one transaction.

Writers go side by side as long as they can: they lock their own files, in order, and store documents, chunks and
vectors. What all writers touch (postings, near-duplicates, the generation) comes last, behind the one lock of the
state. So nobody waits in a circle, and the same file from two writers is there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any, Final, NamedTuple

from aerogram.content.jsontext import dumps
from aerogram.reply import utc_timestamp
from aerogram_knowledge.filters import key_of, steps_of
from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.store import SETTLED, DocumentEntry, FileState, Graph, Identity, MetaChange, check_graph
from aerogram_knowledge.store.postgres import postings
from aerogram_knowledge.store.postgres.pool import writable
from aerogram_knowledge.store.postgres.schema import refuse_later
from aerogram_knowledge.store.similarity import THRESHOLD, buckets_of, likeness, shingles_of, wording_of

__all__ = ["DOCUMENT", "FILE", "change_meta", "forget", "numbers_of", "put", "reserve", "set_mentions", "touch"]

MOST_ALIKE: Final = 40
FILE: Final = ", ".join(one.name for one in fields(FileState))
DOCUMENT: Final = (
    "path, file, kind, title, category, publisher, license, dated, url, language, "
    "text_hash, extractor, checksum, fetched_at"
)
_CHUNK: Final = ("id", "document", "idx", "header", "text", "start", "end", "tokens", "buckets")
_FILES: Final = (
    f"INSERT INTO aerogram_files ({FILE}) SELECT * FROM "
    "unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[]) "
    "ON CONFLICT (path) DO UPDATE SET size = excluded.size, changed_ns = excluded.changed_ns, "
    "checksum = excluded.checksum, problem = excluded.problem, note = excluded.note, reader = excluded.reader"
)
_KEYS: Final = "category_key, license_key"
_DOCUMENTS: Final = (
    # ruff: noqa: S608  # what is put into statements here are names of columns and numbers of parameters
    f"INSERT INTO aerogram_documents ({DOCUMENT}, {_KEYS}, total, steps) "
    f"SELECT {DOCUMENT}, {_KEYS}, total, ARRAY(SELECT json_array_elements_text(steps::json)) "
    f"FROM unnest({', '.join(f'${n}::text[]' for n in range(1, 18))}, $18::int[]) "
    f"AS t ({DOCUMENT}, {_KEYS}, steps, total) RETURNING path, id"
)
_ALIKE: Final = """
SELECT new.id, near.id, near.text, d.language FROM unnest($1::bigint[]) AS one (id)
JOIN aerogram_chunks new ON new.id = one.id
CROSS JOIN LATERAL (
  SELECT o.id, o.text, o.document FROM aerogram_chunks o
  WHERE o.buckets && new.buckets AND o.id <> new.id LIMIT $2
) near JOIN aerogram_documents d ON d.id = near.document
"""


class _NewChunk(NamedTuple):
    """A chunk with everything that is stored about it."""

    id: int
    entry: DocumentEntry
    place: int

    @property
    def body(self) -> Sequence[str]:
        return self.entry.terms[self.place]

    @property
    def terms(self) -> list[str]:
        return [*self.body, *self.entry.head_terms[self.place]]


class _OldChunk(NamedTuple):
    """A chunk that was there before a change, as far as its terms need it."""

    id: int
    text: str
    header: str
    language: str

    @property
    def terms(self) -> list[str]:
        return index_terms(self.text, self.language) + index_terms(self.header, self.language)


_WORDINGS: Final = (
    "INSERT INTO aerogram_wordings SELECT * FROM unnest($1::bigint[], $2::bigint[]) "
    "ON CONFLICT (id) DO UPDATE SET words = excluded.words"
)
_SIZE_OF_GRAPH: Final = "SELECT count(*), COALESCE(sum(length(record)), 0) FROM aerogram_graph"
_UNSETTLE: Final = "DELETE FROM aerogram_meta WHERE name = $1"


async def put(
    connection: Any, states: Sequence[FileState], entries: Sequence[DocumentEntry], graphs: Mapping[str, Graph]
) -> int:
    """Replace what these files held; the generation of the change."""
    # a table that was just made has no statistics, and the planner would read it whole
    await connection.execute("SET LOCAL enable_seqscan = off")
    ordered = sorted(states, key=lambda one: one.path)
    await connection.execute(_FILES, *_columns([tuple(map(writable, astuple(one))) for one in ordered], 7))
    before = {old.id: old for old in await _clear(connection, [one.path for one in ordered])}
    chunks = [chunk async for chunk in _assign_ids(connection, entries)]
    numbers = await _insert_documents(connection, entries, {one.path: one.checksum for one in states})
    await _insert_chunks(connection, chunks, numbers)
    # the same words under the same id have the same postings, unless their language was taken for another one
    same = {one.id for one in chunks if one.id in before and before[one.id].language == one.entry.document.language}
    gone = [old for old in before.values() if old.id not in same]
    new = {one.id: one for one in chunks if one.id not in same}
    generation = await _step(connection, gone, {one: chunk.terms for one, chunk in new.items()})
    await _compare(connection, {one: chunk.body for one, chunk in new.items()})
    await connection.execute("DELETE FROM aerogram_mentions WHERE id = ANY($1)", list(before))
    await _insert_graphs(connection, graphs)
    await connection.execute(_UNSETTLE, SETTLED)
    return generation


async def forget(connection: Any, paths: Sequence[str], change: MetaChange | None) -> int:
    """Forget files and everything they held, and change the meta; the generation of the change."""
    ordered = sorted(paths)
    await connection.execute("SET LOCAL enable_seqscan = off")
    await connection.execute("SELECT 1 FROM aerogram_files WHERE path = ANY($1) ORDER BY path FOR UPDATE", ordered)
    gone = await _clear(connection, ordered)
    await connection.execute("DELETE FROM aerogram_files WHERE path = ANY($1)", ordered)
    generation = await _step(connection, gone, {})
    await connection.execute("DELETE FROM aerogram_mentions WHERE id = ANY($1)", [old.id for old in gone])
    await connection.execute(_UNSETTLE, SETTLED)
    if change is not None:
        await _remember(connection, change)
    return generation


async def touch(connection: Any, states: Sequence[FileState]) -> None:
    """Remember when files were seen again."""
    rows = sorted((one.path, one.size, one.changed_ns) for one in states)
    await connection.execute(
        "UPDATE aerogram_files f SET size = t.size, changed_ns = t.changed_ns "
        "FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS t (path, size, changed_ns) WHERE f.path = t.path",
        *_columns(rows, 3),
    )


async def change_meta(connection: Any, change: MetaChange) -> int:
    """Remember what follows from what the index remembers of itself; the generation of the change."""
    generation = await _next_generation(connection, 0, 0)
    await _remember(connection, change)
    return generation


async def _remember(connection: Any, change: MetaChange) -> None:
    """Change the meta; whoever calls holds the lock of the state."""
    values = change(dict(map(tuple, await connection.fetch("SELECT name, value FROM aerogram_meta"))))
    await connection.execute(
        "INSERT INTO aerogram_meta SELECT * FROM unnest($1::text[], $2::text[]) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        *_columns(sorted(values.items()), 2),
    )


async def reserve(connection: Any, identities: Sequence[Identity]) -> None:
    """Take over ids that were given elsewhere, and give larger ones from now on."""
    await connection.execute(
        "INSERT INTO aerogram_identities (id, path, digest, occurrence) "
        "SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::int[]) ON CONFLICT DO NOTHING",
        *_columns([(one.id, one.path, one.digest, one.occurrence) for one in identities], 4),
    )
    await connection.execute(
        "SELECT setval(pg_get_serial_sequence('aerogram_identities', 'id'), max(id)) FROM aerogram_identities"
    )


async def set_mentions(connection: Any, found: Mapping[str, Sequence[tuple[int, int]]]) -> int:
    """Replace what is known about who is named where; the generation of the change."""
    generation = await _next_generation(connection, 0, 0)
    await connection.execute("DELETE FROM aerogram_mentions")
    rows = [(writable(entity), one, count) for entity, places in found.items() for one, count in places]
    await connection.copy_records_to_table("aerogram_mentions", records=rows, columns=("entity", "id", "count"))
    return generation


async def _clear(connection: Any, files: Sequence[str]) -> list[_OldChunk]:
    """Delete the documents of some files; the chunks that they had."""
    rows = await connection.fetch(
        "DELETE FROM aerogram_chunks c USING aerogram_documents d WHERE d.id = c.document AND d.file = ANY($1) "
        "RETURNING c.id, c.text, c.header, d.language",
        files,
    )
    old = [_OldChunk(*row) for row in rows]
    await connection.execute("DELETE FROM aerogram_wordings WHERE id = ANY($1)", [one.id for one in old])
    if old and await connection.fetchval("SELECT dimensions FROM aerogram_state"):
        await connection.execute("DELETE FROM aerogram_vectors WHERE id = ANY($1)", [one.id for one in old])
    await connection.execute(
        "DELETE FROM aerogram_sources s USING aerogram_documents d WHERE d.id = s.document AND d.file = ANY($1)", files
    )
    await connection.execute("DELETE FROM aerogram_documents WHERE file = ANY($1)", files)
    await connection.execute("DELETE FROM aerogram_graph WHERE file = ANY($1)", files)
    return old


async def _assign_ids(connection: Any, entries: Sequence[DocumentEntry]) -> Any:
    """The chunks with their ids, which are the same for ever for the same words in the same document."""
    keys = [key for entry in entries for key in _keys(entry)]
    rows = await connection.fetch(
        "SELECT path, digest, occurrence, id FROM aerogram_identities WHERE path = ANY($1)",
        [entry.document.path for entry in entries],
    )
    known = {tuple(row[:3]): row[3] for row in map(tuple, rows)}
    missing = [key for key in keys if key not in known]
    if missing:
        made = await connection.fetch(
            "INSERT INTO aerogram_identities (path, digest, occurrence) "
            "SELECT * FROM unnest($1::text[], $2::text[], $3::int[]) ON CONFLICT (path, digest, occurrence) "
            "DO UPDATE SET path = excluded.path RETURNING path, digest, occurrence, id",
            *_columns(missing, 3),
        )
        known |= {tuple(row[:3]): row[3] for row in map(tuple, made)}
    for entry in entries:
        for place, key in enumerate(_keys(entry)):
            yield _NewChunk(known[key], entry, place)


def _keys(entry: DocumentEntry) -> Iterator[tuple[str, str, int]]:
    seen: Counter[str] = Counter()
    for chunk in entry.chunks:
        yield entry.document.path, chunk.digest, seen[chunk.digest]
        seen[chunk.digest] += 1


async def _insert_documents(
    connection: Any, entries: Sequence[DocumentEntry], checksums: Mapping[str, str]
) -> dict[str, int]:
    """The numbers of the documents by their paths."""
    rows = [_document(entry, checksums[entry.document.file]) for entry in entries]
    numbers = dict(map(tuple, await connection.fetch(_DOCUMENTS, *_columns(rows, 18))))
    # a document that came from another store may have left its text behind, in its file
    sources = [(numbers[one.document.path], one.document.source) for one in entries if one.document.source.text]
    await connection.copy_records_to_table(
        "aerogram_sources",
        records=[(number, writable(source.text), source.paged) for number, source in sources],
        columns=("document", "text", "paged"),
    )
    return numbers


def _document(entry: DocumentEntry, checksum: str) -> tuple[Any, ...]:
    document = entry.document
    said = [getattr(document, name) for name in DOCUMENT.split(", ")[:10]]
    source = document.source
    about = [source.hash, f"{source.extractor}/{source.version}", checksum, entry.fetched_at or utc_timestamp()]
    named = [key_of(one) if one else None for one in (document.category, document.license)]
    keys = [*named, dumps(steps_of(document.path, document.file)).decode()]
    return tuple(writable(one) for one in [*said, *about, *keys, len(entry.chunks)])


async def _insert_chunks(connection: Any, chunks: Sequence[_NewChunk], numbers: Mapping[str, int]) -> None:
    rows, vectors, wordings = [], [], []
    for one in chunks:
        chunk, number = one.entry.chunks[one.place], numbers[one.entry.document.path]
        words = writable(chunk.header), writable(chunk.text), chunk.start, chunk.end, chunk.tokens
        shingles = shingles_of(one.body)
        rows.append((one.id, number, chunk.index, *words, buckets_of(shingles)))
        wordings.append((one.id, wording_of(shingles)))
        vectors.append((one.id, number, numbers_of(one.entry.vectors[one.place])))
    await connection.copy_records_to_table("aerogram_chunks", records=rows, columns=_CHUNK)
    await connection.execute(_WORDINGS, *_columns(wordings, 2))
    if vectors and vectors[0][2] != "[]":
        await connection.execute(
            "INSERT INTO aerogram_vectors SELECT id, document, vector::halfvec "
            "FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS t (id, document, vector)",
            *_columns(vectors, 3),
        )


async def _step(connection: Any, gone: Sequence[_OldChunk], new: Mapping[int, Sequence[str]]) -> int:
    """Take the lock that all writers take last, and change what belongs to all of them."""
    old = {one.id: one.terms for one in gone}
    terms = sum(map(len, new.values())) - sum(map(len, old.values()))
    generation = await _next_generation(connection, len(new) - len(old), terms)
    if old:
        await postings.drop(connection, old)
        await connection.execute("DELETE FROM aerogram_likenesses WHERE id = ANY($1) OR other = ANY($1)", list(old))
    if new:
        await postings.add(connection, new)
    return generation


async def _next_generation(connection: Any, chunks: int, terms: int) -> int:
    """The generation of a change, which no process may make of whose version the index no longer is."""
    found = await connection.fetchrow(
        "UPDATE aerogram_state SET generation = generation + 1, chunks = chunks + $1, terms = terms + $2 "
        "RETURNING generation, version",
        chunks,
        terms,
    )
    refuse_later(found["version"])
    generation: int = found["generation"]
    return generation


async def _compare(connection: Any, bodies: Mapping[int, Sequence[str]]) -> None:
    """Find the chunks that new ones are nearly the same as."""
    found = []
    for one, other, text, language in await connection.fetch(_ALIKE, list(bodies), MOST_ALIKE):
        alike = likeness(shingles_of(bodies[one]), shingles_of(index_terms(text, language)))
        if alike > THRESHOLD:
            found += [(one, other, round(alike, 4)), (other, one, round(alike, 4))]
    if found:
        await connection.execute(
            "INSERT INTO aerogram_likenesses SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) "
            "ON CONFLICT (id, other) DO UPDATE SET likeness = excluded.likeness",
            *_columns(found, 3),
        )


async def _insert_graphs(connection: Any, graphs: Mapping[str, Graph]) -> None:
    if not graphs:
        return
    rows = [
        (path, kind, place, writable(dumps(record).decode()))
        for path, graph in graphs.items()
        for kind, records in (("entity", graph.entities), ("relationship", graph.relationships))
        for place, record in enumerate(records)
    ]
    await connection.copy_records_to_table("aerogram_graph", records=rows, columns=("file", "kind", "place", "record"))
    check_graph(*await connection.fetchrow(_SIZE_OF_GRAPH))


def numbers_of(vector: bytes) -> str:
    """A vector of signed bytes as pgvector reads it."""
    import numpy as np

    return f"[{','.join(map(str, np.frombuffer(vector, np.int8).tolist()))}]"


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Rows as columns, for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
