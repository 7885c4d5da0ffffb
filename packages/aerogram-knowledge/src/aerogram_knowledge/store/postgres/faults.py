"""Faults: what a failure of PostgreSQL means to whoever asked.

What passes by itself is UNAVAILABLE and says when to come back. What does not says what to do about it. No message
holds the address, because an address may hold a password.
"""

from __future__ import annotations

from typing import Any, Final

from aerogram.errors import (
    AerogramError,
    Conflict,
    Forbidden,
    IntegrityError,
    MissingExtra,
    NotFound,
    ReplyError,
    Unavailable,
)

__all__ = ["driver", "meaning_of"]

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
    if isinstance(error, lost):
        return Unavailable("PostgreSQL cannot be reached at the moment", retry_after=LATER)
    return _said_by_server(error) if isinstance(error, pg.PostgresError) else error


def _said_by_server(error: Any) -> ReplyError:
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
    return _for_good(error, state)


def _for_good(error: Any, state: str) -> ReplyError:
    if state == "3D000":
        return NotFound(f"PostgreSQL says: {error}", remediation="Make it, for example with `createdb`")
    if state.startswith("28"):
        return Forbidden("PostgreSQL refuses this user or password", remediation="Check both in the store's address")
    if state == "42501":
        return Forbidden(
            f"PostgreSQL says: {error}", remediation="Give the user the right to make and change tables in its schema"
        )
    if state == "42P01":
        return Conflict("The tables of the index are gone", remediation="Open the store again, and ingest or copy")
    return IntegrityError(f"PostgreSQL says: {error}", remediation="Run `aerogram index check`")
