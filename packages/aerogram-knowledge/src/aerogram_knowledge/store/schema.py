"""The schema of the rows, and how an older one becomes the present one.

Each migration takes the database from one version to the next, inside one transaction. A database of a later version
is refused with what to do about it.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from aerogram.errors import Conflict
from aerogram_knowledge.filters import key_of

__all__ = ["VERSION", "migrate"]

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
UPDATE documents SET category_key = key_of(category), license_key = key_of(license), path_key = key_of(path),
  file_key = key_of(file);
"""
# LOWER of SQLite knows the letters of English only, so the keys are made here

_NOTES: Final = """
ALTER TABLE files ADD COLUMN note TEXT;
ALTER TABLE files ADD COLUMN reader TEXT NOT NULL DEFAULT '';
"""

MIGRATIONS: Final = (_TABLES, _SHARED, _KEYS, _NOTES)
VERSION: Final = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to the present version; it must not be in a transaction."""
    found = _version(connection)
    if found == 0 and connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        found = _version(connection)  # another process may just have made them, and their version with them
        if found == 0:
            raise _strange()
    if found > VERSION:
        raise Conflict(
            f"This index was made by a later version of Aerogram (format {found}; this one reads {VERSION})",
            remediation="Upgrade Aerogram, or ingest into another folder with --index",
        )
    connection.create_function("key_of", 1, lambda value: None if value is None else key_of(value), deterministic=True)
    for version in range(found, VERSION):
        connection.execute("BEGIN IMMEDIATE")
        if _version(connection) != version:
            connection.execute("ROLLBACK")  # another process was faster
            continue
        for statement in MIGRATIONS[version].split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def _strange() -> Conflict:
    return Conflict(
        "There is a database that is no index of Aerogram, or one from before its first version",
        remediation="Ingest into another folder with --index",
    )
