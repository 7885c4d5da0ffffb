"""SQLite: the schema of the rows, the connections to its file, and how an older one becomes the present one.

Each migration takes the database from one version to the next, inside one transaction. A database of a later version
is refused with what to do about it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from aerogram.errors import Conflict, Unavailable
from aerogram_knowledge.filters import key_of
from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.store.similarity import shingles_of, wording_of

__all__ = ["VERSION", "Connections", "migrate"]

_TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', '0');
CREATE TABLE files (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, checksum TEXT NOT NULL, problem TEXT
) WITHOUT ROWID;
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, file TEXT NOT NULL, kind TEXT NOT NULL,
  title TEXT NOT NULL, category TEXT, publisher TEXT, license TEXT, dated TEXT, url TEXT, language TEXT NOT NULL,
  text_hash TEXT NOT NULL, extractor TEXT NOT NULL, checksum TEXT NOT NULL, fetched_at TEXT NOT NULL,
  total INTEGER NOT NULL
);
CREATE INDEX documents_file ON documents (file);
CREATE TABLE identities (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, digest TEXT NOT NULL, occurrence INTEGER NOT NULL,
  UNIQUE (path, digest, occurrence)
);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents, idx INTEGER NOT NULL, header TEXT NOT NULL,
  text TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, tokens INTEGER NOT NULL,
  generation INTEGER NOT NULL
);
CREATE INDEX chunks_document ON chunks (document);
CREATE INDEX chunks_generation ON chunks (generation);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE TABLE removals (id INTEGER NOT NULL, generation INTEGER NOT NULL);
CREATE INDEX removals_generation ON removals (generation);
CREATE TABLE buckets (bucket INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (bucket, id)) WITHOUT ROWID;
CREATE INDEX buckets_id ON buckets (id);
CREATE TABLE likenesses (
  id INTEGER NOT NULL, other INTEGER NOT NULL, likeness REAL NOT NULL, PRIMARY KEY (id, other)
) WITHOUT ROWID;
CREATE TABLE graph (
  file TEXT NOT NULL, kind TEXT NOT NULL, place INTEGER NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (file, kind, place)
) WITHOUT ROWID;
CREATE TABLE mentions (
  entity TEXT NOT NULL, id INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (entity, id)
) WITHOUT ROWID;
CREATE INDEX mentions_id ON mentions (id);
"""

_SHARED: Final = (
    "CREATE TABLE shared (name TEXT PRIMARY KEY, value BLOB NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID"
)

_KEYS: Final = """
ALTER TABLE documents ADD COLUMN category_key TEXT;
ALTER TABLE documents ADD COLUMN license_key TEXT;
ALTER TABLE documents ADD COLUMN path_key TEXT;
ALTER TABLE documents ADD COLUMN file_key TEXT;
"""
_FILL_KEYS: Final = """
UPDATE documents SET category_key = key_of(category), license_key = key_of(license), path_key = key_of(path),
  file_key = key_of(file);
"""
# LOWER of SQLite knows the letters of English only, so the keys are made here

_NOTES: Final = """
ALTER TABLE files ADD COLUMN note TEXT;
ALTER TABLE files ADD COLUMN reader TEXT NOT NULL DEFAULT '';
"""

_BORN: Final = """
INSERT INTO meta SELECT 'born', CASE value WHEN '0'
  THEN CAST(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS TEXT) ELSE '0' END
  FROM meta WHERE name = 'generation';
UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'born') WHERE name = 'generation' AND value = '0';
"""
# generations begin with the milliseconds of that moment, so that an index in the place of another is ahead of it

_WORDINGS: Final = """
CREATE TABLE wordings (id INTEGER PRIMARY KEY, words INTEGER);
INSERT INTO wordings SELECT c.id, words_of(c.text, d.language) FROM chunks c JOIN documents d ON d.id = c.document;
CREATE INDEX wordings_words ON wordings (words);
"""

MIGRATIONS: Final = (_TABLES, _SHARED, _KEYS + _FILL_KEYS, _NOTES, _BORN, _WORDINGS, _FILL_KEYS)
VERSION: Final = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to the present version; it must not be in a transaction."""
    found = _version(connection)
    if found == 0 and connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        found = _version(connection)  # another process may just have made them, and their version with them
        if found == 0:
            raise Conflict(
                "There is a database that is no index of Aerogram, or one from before its first version",
                remediation="Ingest into another folder with --index",
            )
    if found > VERSION:
        raise Conflict(
            f"This index was made by a later version of Aerogram (format {found}; this one reads {VERSION})",
            remediation="Upgrade Aerogram, or ingest into another folder with --index",
        )
    connection.create_function("key_of", 1, lambda value: None if value is None else key_of(value), deterministic=True)
    connection.create_function("words_of", 2, _words_of, deterministic=True)
    for version in range(found, VERSION):
        connection.execute("BEGIN IMMEDIATE")
        if _version(connection) != version:
            connection.execute("ROLLBACK")  # another process was faster
            continue
        for statement in MIGRATIONS[version].split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")


def _words_of(text: str, language: str) -> int | None:
    return wording_of(shingles_of(index_terms(text, language)))


def _version(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


PATIENCE: Final = 30.0
"""Seconds to wait for another process that writes."""
KEPT: Final = 8
"""How many idle connections stay open."""
PAGES_IN_LOG: Final = 16_000
"""So many changed pages (64 MB) are gathered before they go into the file: many of them change again until then."""
PAUSE: Final = 0.01
PRIMARY: Final = 0xFF
"""The part of an error code of SQLite that says what it is; the rest says more about it."""
NO_FILE: Final = -1
"""The file of a connection that is good for once."""


class _OpenConnection(NamedTuple):
    connection: sqlite3.Connection
    file: int


class Connections:
    """The connections to the file at a path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[_OpenConnection] = []
        self._round = 0
        self._was_there = False

    @contextlib.contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """A connection that is nobody else's until the block ends."""
        held, lent_in = self._take(), self._round
        try:
            yield held.connection
        finally:
            self._give_back(held, lent_in)

    def close(self) -> None:
        """Close what is idle, and what is lent as soon as it comes back."""
        self._round += 1
        self._was_there = False
        while self._idle:
            with contextlib.suppress(IndexError):
                self._idle.pop().connection.close()

    def _take(self) -> _OpenConnection:
        file = self._file()
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread was faster
                held = self._idle.pop()
                if held.file == file:
                    return held
                held.connection.close()
        return self._open()

    def _file(self) -> int | None:
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            if self._was_there:
                raise Unavailable("The index has gone away", remediation="Ingest the documents again") from None
            return None

    def _give_back(self, held: _OpenConnection, lent_in: int) -> None:
        if lent_in != self._round or len(self._idle) >= KEPT or held.connection.in_transaction:
            held.connection.close()
        else:
            self._idle.append(held)

    def _open(self) -> _OpenConnection:
        self._refuse_emptied()
        try:
            connection = _connect(self.path.absolute().as_uri())
            held = _OpenConnection(connection, self.path.stat().st_ino)
        except sqlite3.OperationalError:
            if not self._is_at_rest():
                raise
            held = _OpenConnection(_connect(f"{self.path.absolute().as_uri()}?immutable=1", journal=False), NO_FILE)
        self._was_there = True
        return held

    def _refuse_emptied(self) -> None:
        """Do not take a file that was cut to nothing for a new one: what stands beside it tells of an index."""
        log = self.path.with_name(f"{self.path.name}-wal")
        is_empty = self.path.exists() and not self.path.stat().st_size and not (log.exists() and log.stat().st_size)
        if is_empty and self.path.with_name("meta.json").exists():
            raise sqlite3.DatabaseError(f"{self.path.name} is empty")

    def _is_at_rest(self) -> bool:
        """Whether nobody has the file open: then it can be read where nothing can be written, as on a full disk."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return self.path.exists() and not (log.exists() and log.stat().st_size)


def _keep_log(connection: sqlite3.Connection) -> None:
    """Have changes go into a log first. Those who begin one for a new file at the same time are not made to wait."""
    patient_until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() > patient_until:
                raise
            time.sleep(PAUSE)
        else:
            return


def _connect(uri: str, *, journal: bool = True) -> sqlite3.Connection:
    """A connection to a database of the present version."""
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        if journal:
            _keep_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_IN_LOG}")
        connection.execute("PRAGMA cache_size = -32000")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection
