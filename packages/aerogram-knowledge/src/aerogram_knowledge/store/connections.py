"""Connections to one SQLite file: lent for a moment each, and kept open for whoever comes next.

A thread that asks once in a while finds a connection that others have warmed, instead of opening one of its own. A
connection to a file that is no longer the one at the path is closed. Where nothing can be written, an index at rest can
still be read.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from aerogram.errors import Unavailable
from aerogram_knowledge.store.schema import migrate

__all__ = ["Connections"]

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


class _Held(NamedTuple):
    connection: sqlite3.Connection
    file: int


class Connections:
    """The connections to the file at a path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[_Held] = []
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

    def _take(self) -> _Held:
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

    def _give_back(self, held: _Held, lent_in: int) -> None:
        if lent_in != self._round or len(self._idle) >= KEPT or held.connection.in_transaction:
            held.connection.close()
        else:
            self._idle.append(held)

    def _open(self) -> _Held:
        try:
            connection = _prepared(self.path.absolute().as_uri())
            held = _Held(connection, self.path.stat().st_ino)
        except sqlite3.OperationalError:
            if not self._is_at_rest():
                raise
            held = _Held(_prepared(f"{self.path.absolute().as_uri()}?immutable=1", journal=False), NO_FILE)
        self._was_there = True
        return held

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


def _prepared(uri: str, *, journal: bool = True) -> sqlite3.Connection:
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
