"""A pool: connections to one PostgreSQL, on an event loop in a thread of its own.

Callers come from any thread and wait. Every wait has an end: for a connection, for an answer, and for the server to
notice that nobody waits any longer. A connection that did not answer in time is cut, because asking it politely to stop
could wait as long; the next call makes a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import ssl
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from aerogram.errors import (
    AerogramError,
    Conflict,
    Forbidden,
    IntegrityError,
    MissingExtra,
    NotFound,
    ReplyError,
    Unavailable,
    ValidationFailed,
)
from aerogram_knowledge.store import OF_THE_STORE, SAME_NAME

__all__ = ["NEAREST", "Pool", "driver", "meaning_of", "writable"]

SOON: Final = 1.0
LATER: Final = 5.0
"""Seconds after which it is worth asking again: when somebody was in the way, and when the server was not there."""


def driver() -> Any:
    """The library that speaks to PostgreSQL."""
    try:
        import asyncpg
    except ImportError as error:
        raise MissingExtra("postgres", "asyncpg") from error
    return asyncpg


def meaning_of(error: BaseException) -> BaseException:
    """The error to raise for one that came from the driver; what is not about PostgreSQL stays as it is."""
    pg = driver()
    if isinstance(error, AerogramError):
        return error
    if isinstance(error, TimeoutError):
        return Unavailable("PostgreSQL did not answer in time", retry_after=LATER)
    lost = (OSError, pg.InterfaceError, pg.InternalClientError, pg.PostgresConnectionError, pg.CannotConnectNowError)
    if isinstance(error, ssl.SSLCertVerificationError):
        message = f"The certificate of PostgreSQL is not trusted: {error.verify_message}"
        return Unavailable(message, details=OF_THE_STORE, retry_after=LATER)
    if isinstance(error, lost):
        return Unavailable("PostgreSQL cannot be reached at the moment", retry_after=LATER)
    return _error_of_state(error) if isinstance(error, pg.PostgresError) else error


def _error_of_state(error: Any) -> ReplyError:
    """The meaning of an error by the class of its SQLSTATE."""
    state = str(error.sqlstate or "")
    passing = {
        "57": ("PostgreSQL stopped this request", SOON if state == "57014" else LATER),
        "55": ("Another process holds what this needs", SOON),
        "40": ("Another process changed the same documents", SOON),
        "53": ("PostgreSQL has no room for this at the moment: disk, memory or connections", LATER),
        "58": ("PostgreSQL has trouble with its disk", LATER),
        "25": ("This PostgreSQL does not take changes at the moment; it may be a standby", LATER),
    }
    if state[:2] in passing:
        message, retry_after = passing[state[:2]]
        return Unavailable(message, retry_after=retry_after)
    return _permanent_error(error, state)


def _permanent_error(error: Any, state: str) -> ReplyError:
    if state == "3D000":
        remedy = "Make it, for example with `createdb`"
        return NotFound(f"PostgreSQL says: {error}", remediation=remedy, details=OF_THE_STORE)
    if state.startswith("28"):
        message, remedy = "PostgreSQL refuses this user or password", "Check both in the store's address"
        return Forbidden(message, remediation=remedy, details=OF_THE_STORE)
    if state == "42501":
        remedy = "Give the user the right to make and change tables in its schema"
        return Forbidden(f"PostgreSQL says: {error}", remediation=remedy, details=OF_THE_STORE)
    if state == "42P01":
        message, remedy = "The tables of the index are gone", "Open the store again, and ingest or copy"
        return Conflict(message, remediation=remedy, details=OF_THE_STORE)
    if error.constraint_name == "aerogram_documents_path_key":
        return Conflict(SAME_NAME)
    return IntegrityError(f"PostgreSQL says: {error}", remediation="Run `aerogram index check`")


T = TypeVar("T")

GRACE: Final = 2.0
"""Seconds beyond its time after which a call ends, whatever has become of its connection."""
NAME: Final = "aerogram"
NEAREST: Final = 400
"""So many near vectors are looked for in a large index; a thousand would take more than three times as long."""


def _refusal(error: ValueError, url: str) -> ValidationFailed:
    """Why an address cannot be used, in the driver's words where they are about a setting and repeat no password."""
    password = url.rpartition("@")[0].partition("://")[2].partition(":")[2]
    is_safe = not any(part in str(error) for part in re.findall(r"[^:/?#@,%\[\]]+", password))
    if is_safe and isinstance(error, driver().ClientConfigurationError):
        return ValidationFailed(
            f"The address of the store cannot be used: {error}",
            remediation="Write it as postgresql://user:password@host:5432/database",
            details=OF_THE_STORE,
        )
    return ValidationFailed(
        "The address of the store cannot be read",
        remediation="Write it as postgresql://user:password@host:5432/database, and of the password "
        "/ as %2F, ? as %3F, # as %23 and @ as %40",
    )


def writable(value: Any) -> Any:
    """A value, or a list of them, as PostgreSQL takes it: texts without NUL, and as long as before."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd") if "\0" in value else value
    return (
        [writable(one) for one in value] if isinstance(value, list) and value and isinstance(value[0], str) else value
    )


class _Loop:
    """The event loop of a process, started when it is first needed."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loops: dict[int, asyncio.AbstractEventLoop] = {}

    def get(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            pid = os.getpid()  # a forked child has none of its parent's threads
            if pid not in self._loops:
                self._loops = {pid: asyncio.new_event_loop()}
                threading.Thread(target=self._loops[pid].run_forever, name="aerogram-postgres", daemon=True).start()
            return self._loops[pid]


_LOOP: Final = _Loop()


class Pool:
    """Up to `most` connections; `patience` seconds to wait for one, `seconds` for an answer.

    `nearest` is how many near vectors pgvector looks for at once.
    """

    def __init__(
        self, url: str, *, most: int = 10, patience: float = 5.0, seconds: float = 10.0, nearest: int = NEAREST
    ) -> None:
        self.url = url
        self.nearest = nearest
        self.most = most
        self.patience = patience
        self.seconds = seconds
        self._pool: Any = None
        self._closed = False
        self._opening = asyncio.Lock()

    def fetch(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement."""

        async def ask(connection: Any) -> list[Any]:
            found: list[Any] = await connection.fetch(statement, *map(writable, values))
            return found

        return self.run(ask)

    def change(self, work: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        """Work in one transaction that may take longer than a question."""

        async def run_in_transaction(connection: Any) -> T:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
                return await work(connection)

        return self.run(run_in_transaction, seconds)

    def run_apart(self, work: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        """Long work outside a transaction, with a connection that is not used again, because it may set it up."""

        async def run_alone(connection: Any) -> T:
            await connection.execute("SET statement_timeout = 0")
            try:
                return await work(connection)
            finally:
                connection.terminate()

        return self.run(run_alone, seconds)

    def run(self, work: Callable[[Any], Awaitable[T]], seconds: float | None = None) -> T:
        """What some work with a connection gives, or why it could not be done; in time either way."""
        limit = seconds or self.seconds
        future = asyncio.run_coroutine_threadsafe(self._work(work, limit), _LOOP.get())
        try:
            return future.result(self.patience + limit + GRACE)
        except BaseException as error:
            future.cancel()
            raise meaning_of(error) from error

    def usage(self) -> dict[str, int]:
        """How many connections there are."""
        pool = self._pool
        if pool is None:
            return {"size": 0, "idle": 0, "most": self.most}
        return {"size": pool.get_size(), "idle": pool.get_idle_size(), "most": self.most}

    def close(self) -> None:
        """Let go of all connections."""
        self._closed = True
        pool, self._pool = self._pool, None
        if pool is not None:
            asyncio.run_coroutine_threadsafe(_end(pool), _LOOP.get()).result(self.patience)

    async def _work(self, work: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        pool = await self._open()
        try:
            connection = await pool.acquire(timeout=self.patience)
        except ssl.SSLCertVerificationError:  # a ValueError, too
            raise
        except ValueError as error:
            raise _refusal(error, self.url) from None
        overdue: list[bool] = []

        def cut() -> None:
            overdue.append(True)
            connection.terminate()

        timer = asyncio.get_running_loop().call_later(seconds, cut)
        try:
            return await work(connection)
        except Exception as error:
            if overdue:
                raise TimeoutError from None
            if isinstance(error, driver().InternalClientError):  # it was cut off in the middle of something
                with contextlib.suppress(driver().InterfaceError):  # it may have left the pool by itself
                    connection.terminate()
            raise
        finally:
            timer.cancel()
            with contextlib.suppress(Exception):  # one that cannot go back is ended by the pool, and a new one made
                await pool.release(connection, timeout=GRACE)

    async def _open(self) -> Any:
        if self._closed:
            raise Unavailable("The store is closed")
        async with self._opening:
            if self._pool is None:
                self._pool = await driver().create_pool(
                    self.url,
                    min_size=0,
                    max_size=self.most,
                    init=self._prepare,
                    reset=_keep,
                    timeout=self.patience,
                    server_settings={"application_name": NAME},
                )
        return self._pool

    async def _prepare(self, connection: Any) -> None:
        """Let the server give up as well."""
        settings = {
            "statement_timeout": int(self.seconds * 1000),
            "idle_in_transaction_session_timeout": 60_000,
            "jit": "off",
            # as many near ones as a question asks for at once, and more of them until enough pass its filters
            "hnsw.ef_search": self.nearest,
            "hnsw.iterative_scan": "relaxed_order",
        }
        await connection.execute("; ".join(f"SET {name} = {value}" for name, value in settings.items()))


async def _keep(_: Any) -> None:
    """A connection goes back as it is, because asking the server to forget would cost every question a round trip."""


async def _end(pool: Any) -> None:
    pool.terminate()
