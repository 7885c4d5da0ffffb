"""Rows: the source of truth of the embedded store, in one SQLite file.

Chunks, documents, vectors, the register of ids, near-duplicates and the vendor graph. Every change is one transaction
with a generation of its own, so that what is derived from the rows can tell what it has not seen yet.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from aerogram.content.jsontext import dumps, loads
from aerogram.errors import AerogramError, Conflict, IntegrityError, Unavailable
from aerogram.reply import utc_timestamp
from aerogram_knowledge.filters import Filters, key_of
from aerogram_knowledge.store import (
    SAME_NAME,
    SETTLED,
    DocumentEntry,
    FileState,
    Graph,
    Identity,
    MetaChange,
    StoredChunk,
    check_graph,
    with_source,
)
from aerogram_knowledge.store.similarity import COPIES, compare
from aerogram_knowledge.store.sqlite import Connections

__all__ = ["Changes", "PutResult", "SqliteRows"]

MOST_NAMES: Final = 900
"""SQLite takes about a thousand parameters in one statement."""
REBUILD: Final = "Run `aerogram index rebuild`; it reads the documents again"

_FILE: Final = ", ".join(one.name for one in fields(FileState))
_DOCUMENT: Final = (
    "path, file, kind, title, category, publisher, license, dated, url, language, "
    "text_hash, extractor, checksum, fetched_at"
)
_KEYS: Final = "category_key, license_key, path_key, file_key"
_ROW: Final = (
    # ruff: noqa: S608  # what is put into statements here are names of columns and question marks
    'SELECT c.id, c.idx, d.total, c.header, c.text, c.start, c."end", c.tokens, '
    + ", ".join(f"d.{name}" for name in _DOCUMENT.split(", "))
)
_FOUND: Final = f"{_ROW} FROM chunks c JOIN documents d ON d.id = c.document "
_BODY: Final = (
    "SELECT c.id, c.text, c.header, d.language, d.path, d.file, d.category, d.license, d.dated "
    "FROM chunks c JOIN documents d ON d.id = c.document"
)
_SIZE_OF_GRAPH: Final = "SELECT COUNT(*), COALESCE(SUM(LENGTH(record)), 0) FROM graph"
_REMEMBER: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
_GENERATION: Final = "SELECT value FROM meta WHERE name = 'generation'"
_SPAN: Final = "SELECT CAST(value AS INTEGER) FROM meta WHERE name IN ('born', 'generation') ORDER BY name"
_HELD: Final = f"{_ROW} FROM documents d LEFT JOIN chunks c ON c.document = d.id "


Body: TypeAlias = tuple[int, str, str, str, str, str, str | None, str | None, str | None]
"""A chunk as the keywords need it: its id, its text and heading, and what its document says."""


class Changes(NamedTuple):
    """What happened to the chunks after some generation: those gone, and those new or made anew."""

    removed: list[int]
    added: list[Body]
    generation: int


class Vectors(NamedTuple):
    """What happened to the vectors after some generation; `is_whole` when these are all there are.

    Each new one has the id of its chunk and the number of its document, in the order of ids.
    """

    is_whole: bool
    removed: list[int]
    rows: list[tuple[int, int, bytes]]
    generation: int


class PutResult(NamedTuple):
    """What a change did: the ids of each entry's chunks, the ids that are gone, and its generation."""

    ids: list[list[int]]
    gone: list[int]
    generation: int


class SqliteRows:
    """The rows in a file."""

    def __init__(self, path: Path) -> None:
        self._connections = Connections(path)

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for a moment; what goes wrong with it is said in plain words."""
        try:
            with self._connections.lend() as connection:
                yield connection
        except sqlite3.DatabaseError as error:
            raise _translate_error(error) from error

    @contextlib.contextmanager
    def change(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """A transaction and its generation; it happens wholly or not at all."""
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                generation = int(connection.execute(_GENERATION).fetchone()[0]) + 1
                yield connection, generation
                connection.execute("UPDATE meta SET value = ? WHERE name = 'generation'", (str(generation),))
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @property
    def generation(self) -> int:
        """A number that changes with every change."""
        with self.connection() as connection:
            return int(connection.execute(_GENERATION).fetchone()[0])

    def has_been(self, generation: int) -> bool:
        """Whether the rows have been at a generation; those of an index that stood here before were never."""
        with self.connection() as connection:
            born, now = (row[0] for row in connection.execute(_SPAN))
            return bool(born <= generation <= now)

    def meta(self) -> dict[str, str]:
        """What the index remembers about itself."""
        with self.connection() as connection:
            return _meta(connection)

    def change_meta(self, change: MetaChange) -> None:
        """Remember what follows from what is remembered."""
        with self.change() as (connection, _):
            _change_meta(connection, change)

    def get_shared(self, name: str) -> tuple[bytes, int] | None:
        """A document that all processes share, and its version."""
        with self.connection() as connection:
            found: tuple[bytes, int] | None = connection.execute(
                "SELECT value, version FROM shared WHERE name = ?", (name,)
            ).fetchone()
            return found

    def set_shared(self, name: str, value: bytes, version: int) -> bool:
        """Write a shared document if it still has this version; 0 when there is none yet."""
        with self.connection() as connection:
            if version:
                done = connection.execute(
                    "UPDATE shared SET value = ?, version = version + 1 WHERE name = ? AND version = ?",
                    (value, name, version),
                )
            else:
                done = connection.execute("INSERT OR IGNORE INTO shared VALUES (?, ?, 1)", (name, value))
            return done.rowcount > 0

    def shared_names(self) -> list[str]:
        """The names of the shared documents there are."""
        with self.connection() as connection:
            return [row[0] for row in connection.execute("SELECT name FROM shared ORDER BY name")]

    def files(self) -> dict[str, FileState]:
        """Every file that was read, by its path."""
        with self.connection() as connection:
            rows = connection.execute(f"SELECT {_FILE} FROM files")
            return {row[0]: FileState(*row) for row in rows}

    def put(
        self, states: Sequence[FileState], entries: Sequence[DocumentEntry], graphs: Mapping[str, Graph]
    ) -> PutResult:
        """Replace what these files held."""
        checksums = {state.path: state.checksum for state in states}
        with self.change() as (connection, generation):
            before = self._forget(connection, list(checksums))
            connection.executemany(f"INSERT INTO files ({_FILE}) VALUES (?, ?, ?, ?, ?, ?, ?)", map(astuple, states))
            found = [_insert(connection, entry, checksums, generation) for entry in entries]
            compare(connection, _bodies(found, entries))
            for path, graph in graphs.items():
                _insert_graph(connection, path, graph)
            if graphs:
                check_graph(*connection.execute(_SIZE_OF_GRAPH).fetchone())
            connection.execute("DELETE FROM meta WHERE name = ?", (SETTLED,))
            now = {one for ids in found for one in ids}
            gone = [one for one in before if one not in now]
            connection.executemany("INSERT INTO removals VALUES (?, ?)", [(one, generation) for one in gone])
        return PutResult(found, gone, generation)

    def touch(self, states: Sequence[FileState]) -> None:
        """Remember when files were seen again; no chunk changes, so neither does the generation."""
        with self.connection() as connection:
            connection.executemany(
                "UPDATE files SET size = ?, changed_ns = ? WHERE path = ?",
                [(one.size, one.changed_ns, one.path) for one in states],
            )

    def remove(self, paths: Sequence[str], change: MetaChange | None) -> None:
        """Forget files and everything they held, and change the meta."""
        with self.change() as (connection, generation):
            gone = [(one, generation) for one in self._forget(connection, paths)]
            connection.executemany("INSERT INTO removals VALUES (?, ?)", gone)
            connection.execute("DELETE FROM meta WHERE name = ?", (SETTLED,))
            if change is not None:
                _change_meta(connection, change)

    def document_rows(self, files: Sequence[str]) -> tuple[list[list[StoredChunk]], dict[int, bytes]]:
        """The chunks of each document of some files, and their vectors; one without chunks is a row of its own."""
        found: dict[str, list[StoredChunk]] = {}
        vectors: dict[int, bytes] = {}
        with self.connection() as connection:
            for file in files:
                for row in connection.execute(f"{_HELD} WHERE d.file = ? ORDER BY d.id, c.idx", (file,)):
                    found.setdefault(row[8], []).append(StoredChunk(*row))
                vectors |= connection.execute(
                    "SELECT v.id, v.vector FROM vectors v JOIN documents d ON d.id = v.document WHERE d.file = ?",
                    (file,),
                ).fetchall()
        return list(found.values()), vectors

    def graphs(self, files: Sequence[str]) -> dict[str, Graph]:
        """What some files say about who is who."""
        found: dict[str, Graph] = {}
        with self.connection() as connection:
            for file in files:
                rows = connection.execute("SELECT kind, record FROM graph WHERE file = ? ORDER BY place", (file,))
                records = [(kind, loads(record)) for kind, record in rows]
                if records:
                    entities = [record for kind, record in records if kind == "entity"]
                    found[file] = Graph(entities, [record for kind, record in records if kind == "relationship"])
        return found

    def identities(self, after: int, limit: int) -> list[Identity]:
        """The ids that were ever given, in ascending order."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT id, path, digest, occurrence FROM identities WHERE id > ? ORDER BY id LIMIT ?", (after, limit)
            )
            return [Identity(*row) for row in rows]

    def reserve(self, identities: Sequence[Identity]) -> None:
        """Take over ids that were given elsewhere."""
        with self.change() as (connection, _):
            connection.executemany(
                "INSERT OR IGNORE INTO identities VALUES (?, ?, ?, ?)",
                [(one.id, one.path, one.digest, one.occurrence) for one in identities],
            )

    def changes(self, since: int) -> Changes:
        """What happened to the chunks after a generation."""
        with self._moment(since) as (connection, removed, generation):
            added = connection.execute(f"{_BODY} WHERE c.generation > ? ORDER BY c.id", (since,)).fetchall()
        return Changes(removed, added, generation)

    def bodies(self) -> Iterator[Body]:
        """All chunks, one after another."""
        with self.connection() as connection:
            yield from connection.execute(f"{_BODY} ORDER BY c.id")

    def vectors(self, since: int = -1) -> Vectors:
        """What happened to the vectors after a generation; all of them where the rows were never at it."""
        with self._moment(since) as (connection, removed, generation):
            born = connection.execute(_SPAN).fetchone()[0]
            is_whole = not born <= since <= generation
            wanted = "" if is_whole else "WHERE id IN (SELECT id FROM chunks WHERE generation > ?)"
            rows = connection.execute(
                f"SELECT id, document, vector FROM vectors {wanted} ORDER BY id", () if is_whole else (since,)
            ).fetchall()
        return Vectors(is_whole, removed, rows, generation)

    @contextlib.contextmanager
    def _moment(self, since: int) -> Iterator[tuple[sqlite3.Connection, list[int], int]]:
        """The rows as they are at one moment: the ids that are gone after a generation, and the present one."""
        with self.connection() as connection:
            connection.execute("BEGIN")
            try:
                gone = connection.execute("SELECT id FROM removals WHERE generation > ?", (since,))
                yield connection, [row[0] for row in gone], int(connection.execute(_GENERATION).fetchone()[0])
            finally:
                connection.execute("COMMIT")

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these ids that exist, in the order of the ids."""
        found: dict[int, StoredChunk] = {}
        with self.connection() as connection:
            for start in range(0, len(ids), MOST_NAMES):
                part = ids[start : start + MOST_NAMES]
                rows = connection.execute(f"{_FOUND} WHERE c.id IN ({_marks(part)})", part)
                found.update({row[0]: StoredChunk(*row) for row in rows})
        return [found[one] for one in ids if one in found]

    def chunks_of(self, path: str) -> list[StoredChunk]:
        """The chunks of one document in order."""
        with self.connection() as connection:
            return [
                StoredChunk(*row) for row in connection.execute(f"{_FOUND} WHERE d.path = ? ORDER BY c.idx", (path,))
            ]

    def similar(self, ids: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """Near-duplicates of each of these chunks, the most alike first."""
        found: dict[int, list[tuple[int, float]]] = {one: [] for one in ids}
        with self.connection() as connection:
            rows = connection.execute(
                f"SELECT id, other, likeness FROM likenesses WHERE id IN ({_marks(ids)}) ORDER BY likeness DESC, other",
                ids,
            )
            for one, other, alike in rows:
                found[one].append((other, alike))
        return found

    def copies(self) -> list[tuple[int, int]]:
        """Pairs of chunks that have the same words, which connect all that do."""
        with self.connection() as connection:
            return connection.execute(COPIES.format("")).fetchall()

    def documents(self, filters: Filters) -> list[int]:
        """The documents that pass some filters."""
        where, values = _where(filters)
        with self.connection() as connection:
            return [row[0] for row in connection.execute(f"SELECT id FROM documents WHERE {where}", values)]

    def paths(self, filters: Filters) -> list[str]:
        """The documents that pass some filters and have chunks, in order."""
        where, values = _where(filters)
        with self.connection() as connection:
            rows = connection.execute(f"SELECT path FROM documents WHERE total > 0 AND {where} ORDER BY path", values)
            return [row[0] for row in rows]

    def count(self, filters: Filters) -> int:
        """How many chunks pass some filters."""
        where, values = _where(filters)
        with self.connection() as connection:
            total = connection.execute(f"SELECT COALESCE(SUM(total), 0) FROM documents WHERE {where}", values)
            return int(total.fetchone()[0])

    def values(self, name: str, filters: Filters | None = None) -> dict[str, int]:
        """The values of a column of the documents that pass, each with its number of documents."""
        if name not in ("category", "license", "language", "kind"):
            raise ValueError(name)
        where, values = _where(filters or Filters())
        with self.connection() as connection:
            rows = connection.execute(
                f"SELECT {name}, COUNT(*) FROM documents WHERE {name} IS NOT NULL AND {where} "
                f"GROUP BY {name} ORDER BY 2 DESC, 1",
                values,
            )
            return dict(rows.fetchall())

    def names_under(self, licenses: Sequence[str]) -> frozenset[str]:
        """The documents under some licences, and their files."""
        where, values = _where(Filters(license=tuple(licenses)))
        with self.connection() as connection:
            rows = connection.execute(f"SELECT path, file FROM documents WHERE {where}", values)
            return frozenset(name for row in rows for name in row)

    def graph(self) -> Graph:
        """Every entity and relationship, with the file that says so."""
        found: dict[str, list[Mapping[str, Any]]] = {"entity": [], "relationship": []}
        with self.connection() as connection:
            for kind, record, file in connection.execute("SELECT kind, record, file FROM graph ORDER BY file, place"):
                found[kind].append(with_source(file, loads(record)))
        return Graph(found["entity"], found["relationship"])

    def texts(self) -> Iterator[tuple[int, str]]:
        """The id and the text of every chunk."""
        with self.connection() as connection:
            yield from connection.execute("SELECT id, text FROM chunks ORDER BY id")

    def mentions(self, filters: Filters | None = None) -> dict[str, list[tuple[int, int]]]:
        """For each entity, the chunks that name it and pass, those that do so most often first."""
        found: dict[str, list[tuple[int, int]]] = {}
        where, values = _where(filters or Filters())
        with self.connection() as connection:
            for entity, one, count in connection.execute(
                "SELECT m.entity, m.id, m.count FROM mentions m JOIN chunks c ON c.id = m.id "
                f"JOIN documents d ON d.id = c.document WHERE {where} ORDER BY m.count DESC, m.id",
                values,
            ):
                found.setdefault(entity, []).append((one, count))
        return found

    def set_mentions(self, found: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Replace what is known about who is named where."""
        with self.change() as (connection, _):
            connection.execute("DELETE FROM mentions")
            connection.executemany(
                "INSERT INTO mentions VALUES (?, ?, ?)",
                [(entity, one, count) for entity, places in found.items() for one, count in places],
            )

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        with self.connection() as connection:
            said = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
        return [] if said == ["ok"] else said

    def facts(self) -> dict[str, int]:
        """How much there is."""
        counted = {"files": "files", "documents": "documents", "chunks": "chunks", "vectors": "vectors"}
        with self.connection() as connection:
            return {
                name: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
                for name, table in counted.items()
            }

    def close(self) -> None:
        """Let go of the file."""
        self._connections.close()

    def _forget(self, connection: sqlite3.Connection, paths: Sequence[str]) -> list[int]:
        """Delete what some files held; the ids of the chunks they had."""
        gone: list[int] = []
        for path in paths:
            ids = connection.execute(
                "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.file = ?", (path,)
            ).fetchall()
            if ids:
                connection.executemany(
                    "DELETE FROM likenesses WHERE id IN (SELECT other FROM likenesses WHERE id = ?1) AND other = ?1",
                    ids,
                )
                for table in ("chunks", "vectors", "buckets", "wordings", "likenesses", "mentions"):
                    connection.executemany(f"DELETE FROM {table} WHERE id = ?", ids)
                gone += [row[0] for row in ids]
            for table in ("documents", "graph"):
                connection.execute(f"DELETE FROM {table} WHERE file = ?", (path,))
            connection.execute("DELETE FROM files WHERE path = ?", (path,))
        return gone


def _meta(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, value FROM meta"))


def _change_meta(connection: sqlite3.Connection, change: MetaChange) -> None:
    connection.executemany(_REMEMBER, change(_meta(connection)).items())


def _insert(
    connection: sqlite3.Connection, entry: DocumentEntry, checksums: Mapping[str, str], generation: int
) -> list[int]:
    """Store a document and its chunks; their ids."""
    document = entry.document
    ids = _identities(connection, document.path, [chunk.digest for chunk in entry.chunks])
    values = [getattr(document, name) for name in _DOCUMENT.split(", ")[:10]]
    extractor = f"{document.source.extractor}/{document.source.version}"
    about = [document.source.hash, extractor, checksums[document.file], entry.fetched_at or utc_timestamp()]
    named = (document.category, document.license, document.path, document.file)
    number = connection.execute(
        f"INSERT INTO documents ({_DOCUMENT}, total, {_KEYS}) VALUES ({_marks(range(19))})",
        [*values, *about, len(ids), *(key_of(one) if one is not None else None for one in named)],
    ).lastrowid
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (one, number, chunk.index, chunk.header, chunk.text, chunk.start, chunk.end, chunk.tokens, generation)
            for one, chunk in zip(ids, entry.chunks, strict=True)
        ],
    )
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?, ?)",
        [(one, number, vector) for one, vector in zip(ids, entry.vectors, strict=True)],
    )
    return ids


def _bodies(ids: Sequence[Sequence[int]], entries: Sequence[DocumentEntry]) -> dict[int, Sequence[str]]:
    """The terms of each chunk by its id."""
    return {
        one: terms
        for numbers, entry in zip(ids, entries, strict=True)
        for one, terms in zip(numbers, entry.terms, strict=True)
    }


def _identities(connection: sqlite3.Connection, path: str, digests: Sequence[str]) -> list[int]:
    """The ids of a document's chunks: the same for ever for the same words in the same document."""
    seen: Counter[str] = Counter()
    keys = []
    for digest in digests:
        keys.append((digest, seen[digest]))
        seen[digest] += 1
    connection.executemany(
        "INSERT OR IGNORE INTO identities (path, digest, occurrence) VALUES (?, ?, ?)",
        [(path, *key) for key in keys],
    )
    rows = connection.execute("SELECT digest, occurrence, id FROM identities WHERE path = ?", (path,))
    known = {(digest, occurrence): one for digest, occurrence, one in rows}
    return [known[key] for key in keys]


def _insert_graph(connection: sqlite3.Connection, path: str, graph: Graph) -> None:
    for kind, records in (("entity", graph.entities), ("relationship", graph.relationships)):
        connection.executemany(
            "INSERT OR REPLACE INTO graph VALUES (?, ?, ?, ?)",
            [(path, kind, place, dumps(record).decode()) for place, record in enumerate(records)],
        )


def _where(filters: Filters) -> tuple[str, list[Any]]:
    """The filters as a condition on documents."""
    parts, values = ["1"], []  # type: tuple[list[str], list[Any]]
    for name, wanted in (("category_key", filters.category), ("license_key", filters.license)):
        if wanted:
            parts.append(f"{name} IN ({_marks(wanted)})")
            values += map(key_of, wanted)
    if filters.path:
        below = ["(path_key = ? OR file_key = ? OR path_key LIKE ? ESCAPE '\\')" for _ in filters.path]
        parts.append(f"({' OR '.join(below)})")
        for path in map(key_of, filters.path):
            values += [path, path, _literal(path) + "/%"]
    if filters.withheld:
        parts.append("(license_key IS NULL OR license_key NOT IN (SELECT value FROM json_each(?)))")
        values.append(dumps(list(filters.withheld)).decode())
    if filters.after:
        parts.append("dated >= ?")
        values.append(filters.after)
    if filters.before:
        parts.append("dated <= ?")
        values.append(filters.before)
    return " AND ".join(parts), values


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _marks(values: Iterable[Any]) -> str:
    return ", ".join("?" for _ in values)


def _translate_error(error: sqlite3.DatabaseError) -> AerogramError:
    """What a failure of the database means."""
    said = str(error).lower()
    if "full" in said:
        return Unavailable(
            "The disk is full; nothing of this step was stored", remediation="Free some space, then repeat"
        )
    if "locked" in said or "busy" in said:
        return Unavailable("Another process is writing to the index", retry_after=5)
    if "readonly" in said:
        return Unavailable(
            "The index can be read and not written: its disk is full, or nobody may write to it",
            remediation="Free some space, or allow writing, then repeat",
        )
    if "unable to open" in said or "disk i/o" in said:
        return Unavailable(f"The index cannot be used at the moment: {error}")
    if "documents.path" in said and "unique" in said:
        return Conflict(SAME_NAME)
    return IntegrityError(f"The index is damaged: {error}", remediation=REBUILD)
