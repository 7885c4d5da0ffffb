"""The PostgreSQL store: an index that many servers and many writers share.

Everything is in tables, and everything that follows from the rows is changed with them in one transaction; so nothing
is ever behind. Each call answers in time or is UNAVAILABLE, and the next one connects anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aerogram.content.jsontext import loads
from aerogram.digest.text import CanonicalText
from aerogram.errors import Conflict, NotFound
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import QueryTerm
from aerogram_knowledge.store import (
    Candidates,
    DocumentEntry,
    FileState,
    Graph,
    Identity,
    MetaChange,
    Moment,
    StoredChunk,
    StoreHealth,
    with_source,
)
from aerogram_knowledge.store.postgres import changes, questions, schema, upkeep
from aerogram_knowledge.store.postgres.pool import NEAREST, Pool
from aerogram_knowledge.store.postgres.replicas import Readers

__all__ = ["PostgresStore", "dimensions_at"]

WRITING: Final = 120.0
REBUILDING: Final = 24 * 3600.0
"""Seconds that a change may take, and that making indexes again may take."""
PAGE: Final = 2_000
VALUES: Final = ("category", "license", "language", "kind")


def dimensions_at(url: str) -> int:
    """The length of the vectors of the index in a database; without one, what to do."""
    pool = Pool(url, most=1)
    try:
        return int(pool.fetch("SELECT dimensions FROM aerogram_state")[0][0])
    except Conflict as error:
        raise NotFound("There is no index in this database", remediation="Ingest into it, or copy one") from error
    finally:
        pool.close()


class PostgresStore:
    """A store in the database that a URL names; `replicas` are URLs of copies that may be read.

    `patience` is how long to wait for one of `connections`, `seconds` how long for an answer. Up to `exact` chunks, a
    query is compared with all of them; in more, with the `nearest` that pgvector finds.
    """

    def __init__(
        self,
        url: str,
        dimensions: int,
        *,
        replicas: Sequence[str] = (),
        connections: int = 10,
        patience: float = 5.0,
        seconds: float = 10.0,
        exact: int = questions.EXACT,
        nearest: int = NEAREST,
    ) -> None:
        self.dimensions = dimensions
        self.exact = exact
        self.nearest = nearest
        limits: dict[str, Any] = {"most": connections, "patience": patience, "seconds": seconds, "nearest": nearest}
        self._primary = Pool(url, **limits)
        self._readers = Readers(self._primary, [Pool(one, **limits) for one in replicas])
        self._ask = self._readers.fetch
        self._languages: tuple[int, frozenset[str]] = (-1, frozenset())
        try:
            self._primary.change(lambda connection: schema.migrate(connection, dimensions), WRITING)
        except BaseException:
            self.close()
            raise

    @property
    def generation(self) -> int:
        """A number that changes whenever the content does."""
        return self._readers.generation()

    def meta(self) -> Mapping[str, str]:
        """What the index remembers about itself."""
        return dict(map(tuple, self._primary.fetch("SELECT name, value FROM aerogram_meta")))

    def set_meta(self, **values: str) -> None:
        """Remember something."""
        self.change_meta(lambda _: values)

    def change_meta(self, change: MetaChange) -> None:
        """Remember what follows from what is remembered."""
        self._readers.note_generation(self._primary.change(lambda one: changes.change_meta(one, change), WRITING))

    def get_shared(self, name: str) -> tuple[bytes, int] | None:
        """A document that all servers share, and its version."""
        rows = self._primary.fetch("SELECT value, version FROM aerogram_shared WHERE name = $1", name)
        return (rows[0][0], rows[0][1]) if rows else None

    def set_shared(self, name: str, value: bytes, version: int) -> bool:
        """Write a shared document if it still has this version; 0 when there is none yet."""
        if version:
            statement = (
                "UPDATE aerogram_shared SET value = $2, version = version + 1 "
                "WHERE name = $1 AND version = $3 RETURNING version"
            )
            return bool(self._primary.fetch(statement, name, value, version))
        statement = "INSERT INTO aerogram_shared VALUES ($1, $2, 1) ON CONFLICT (name) DO NOTHING RETURNING version"
        return bool(self._primary.fetch(statement, name, value))

    def shared_names(self) -> Sequence[str]:
        """The names of the shared documents there are."""
        return [row[0] for row in self._primary.fetch("SELECT name FROM aerogram_shared ORDER BY name")]

    def files(self) -> Mapping[str, FileState]:
        """Every file that was read."""
        rows = self._primary.fetch(f"SELECT {changes.FILE} FROM aerogram_files")  # noqa: S608  # names of columns
        return {row[0]: FileState(*row) for row in rows}

    def put(self, states: Sequence[FileState], entries: Sequence[DocumentEntry], graphs: Mapping[str, Graph]) -> None:
        """Replace everything that these files held."""
        self._readers.note_generation(
            self._primary.change(lambda one: changes.put(one, states, entries, graphs), WRITING)
        )

    def touch(self, states: Sequence[FileState]) -> None:
        """Remember that these files were seen again."""
        self._primary.change(lambda one: changes.touch(one, states), WRITING)

    def remove(self, paths: Sequence[str], change: MetaChange | None = None) -> None:
        """Forget files and everything they held, and change the meta in the same step."""
        self._readers.note_generation(self._primary.change(lambda one: changes.forget(one, paths, change), WRITING))

    def entries(self, files: Sequence[str]) -> tuple[list[DocumentEntry], dict[str, Graph]]:
        """What some files hold."""
        return questions.entries(self._primary.fetch, list(files), self.dimensions)

    def identities(self, after: int, limit: int) -> list[Identity]:
        """The ids that were ever given, in ascending order."""
        statement = "SELECT id, path, digest, occurrence FROM aerogram_identities WHERE id > $1 ORDER BY id LIMIT $2"
        return [Identity(*row) for row in self._primary.fetch(statement, after, limit)]

    def reserve(self, identities: Sequence[Identity]) -> None:
        """Take over ids that another store has given."""
        self._primary.change(lambda one: changes.reserve(one, identities), WRITING)

    def moment(self) -> Moment:
        """The index as it is now; what is written from here on may be found as well."""
        generation = self.generation
        if self._languages[0] != generation:
            self._languages = (generation, frozenset(self.values("language")))
        return _Moment(self, generation, self._languages[1])

    def chunks(self, ids: Iterable[int]) -> list[StoredChunk]:
        """The chunks of these ids that exist."""
        return questions.chunks_by_id(self._ask, list(ids))

    def chunks_of(self, path: str) -> list[StoredChunk]:
        """The chunks of one document in order."""
        return questions.chunks_of(self._ask, path)

    def source(self, path: str) -> CanonicalText | None:
        """The whole text of a document, so that servers without its file can digest it."""
        rows = self._ask(
            "SELECT s.text, d.extractor, s.paged FROM aerogram_sources s "
            "JOIN aerogram_documents d ON d.id = s.document WHERE d.path = $1",
            path,
        )
        if not rows:
            return None
        extractor, _, version = rows[0][1].rpartition("/")
        return CanonicalText(rows[0][0], extractor, version, rows[0][2])

    def similar(self, ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Near-duplicates of each of these chunks, the most alike first."""
        found: dict[int, list[tuple[int, float]]] = {one: [] for one in ids}
        statement = (
            "SELECT id, other, likeness FROM aerogram_likenesses WHERE id = ANY($1) ORDER BY likeness DESC, other"
        )
        for one, other, alike in self._ask(statement, list(ids)):
            found[one].append((other, alike))
        return found

    def copies(self) -> Sequence[tuple[int, int]]:
        """Pairs of chunks that have the same words, which connect all that do."""
        return questions.copies(self._ask)

    def paths(self, filters: Filters) -> list[str]:
        """The documents that pass these filters and can be read."""
        return questions.paths(self._ask, filters)

    def count(self, filters: Filters) -> int:
        """How many chunks pass these filters."""
        return questions.count(self._ask, filters)

    def values(self, name: str, filters: Filters | None = None) -> Mapping[str, int]:
        """The values there are, each with its number of documents."""
        if name not in VALUES:
            raise ValueError(name)
        return questions.values(self._ask, name, filters or Filters())

    def names_under(self, licenses: Sequence[str]) -> frozenset[str]:
        """The documents under these licences, and their files."""
        return questions.names_under(self._ask, licenses)

    def graph(self) -> Graph:
        """Everything that is known about who is who."""
        found: dict[str, list[Mapping[str, Any]]] = {"entity": [], "relationship": []}
        for kind, record, file in self._ask("SELECT kind, record, file FROM aerogram_graph ORDER BY file, place"):
            found[kind].append(with_source(file, loads(record)))
        return Graph(found["entity"], found["relationship"])

    def texts(self) -> Iterator[tuple[int, str]]:
        """The id and the text of every chunk."""
        last = -1
        while rows := self._ask("SELECT id, text FROM aerogram_chunks WHERE id > $1 ORDER BY id LIMIT $2", last, PAGE):
            yield from ((row[0], row[1]) for row in rows)
            last = rows[-1][0]

    def mentions(self, filters: Filters | None = None) -> Mapping[str, Sequence[tuple[int, int]]]:
        """For each entity, the chunks that name it, those that do so most often first."""
        return questions.mentions(self._ask, filters or Filters())

    def set_mentions(self, found: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Replace what is known about who is named where."""
        self._readers.note_generation(self._primary.change(lambda one: changes.set_mentions(one, found), WRITING))

    def ping(self) -> Mapping[str, Any]:
        """Whether the server answers, how fast, and what it is."""
        started = time.perf_counter()
        row = self._primary.fetch(
            "SELECT current_setting('server_version'), generation, chunks, "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector') FROM aerogram_state"
        )[0]
        self._readers.note_generation(row[1])
        return {
            "engine": f"PostgreSQL {row[0].split()[0]}",
            "pgvector": row[3],
            "generation": row[1],
            "chunks": row[2],
            "seconds": round(time.perf_counter() - started, 4),
            "pool": self._primary.usage(),
            "replicas": self._readers.states(),
        }

    def settle(self) -> None:
        """Make the index over vectors when there are enough of them, and see what other writers have done."""
        self._primary.run_apart(lambda one: upkeep.settle(one, self.exact), REBUILDING)
        self._readers.note_generation(int(self._primary.fetch("SELECT generation FROM aerogram_state")[0][0]))

    def check(self) -> StoreHealth:
        """Whether the tables tell the same story."""
        return self._primary.run_apart(upkeep.check, REBUILDING)

    def rebuild(self) -> None:
        """Make postings and the index over vectors again, from the chunks."""
        self._readers.note_generation(self._primary.change(upkeep.rebuild_words, REBUILDING))
        self._primary.run_apart(upkeep.rebuild_near, REBUILDING)

    def close(self) -> None:
        """Let go of the connections."""
        self._readers.close()


@dataclass(frozen=True)
class _Moment:
    """What one search asks of the tables."""

    store: PostgresStore
    version: int
    languages: frozenset[str]

    def candidates(
        self, terms: Sequence[QueryTerm], vector: bytes | None, filters: Filters, by_words: int, by_meaning: int
    ) -> Candidates:
        """The best chunks by words and the best by meaning, each with both numbers."""
        store, numbers = self.store, changes.numbers_of(vector) if vector else None
        return questions.candidates(
            store._ask, terms, numbers, filters, by_words, by_meaning, exact=store.exact, nearest=store.nearest
        )

    def rarities(self, forms: Sequence[str]) -> Sequence[float]:
        """What finding each of some terms is worth."""
        return questions.rarities(self.store._ask, forms)
