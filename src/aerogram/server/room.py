"""Room: for how many connections a server has a place.

A connection that finds none gets an answer as every other does, in the shape that was negotiated, which says to come
back, and is closed after it. Whoever has a place keeps it.
"""

from __future__ import annotations

from typing import Any, Final

from aerogram.errors import Unavailable
from aerogram.wire.request import Scope

__all__ = ["TURNED_AWAY", "Room", "is_turned_away", "refuse_crowd"]

COME_BACK: Final = 1.0
"""Seconds after which somebody may have left."""
TURNED_AWAY: Final = "turned_away"
"""What stands in the state of a request whose connection has no place."""


class Room:
    """The places, and the connections that have one."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken: set[Any] = set()

    def enter(self, connection: Any) -> bool:
        """Take a place, if there is one."""
        if len(self._taken) >= self._places:
            return False
        self._taken.add(connection)
        return True

    def leave(self, connection: Any) -> None:
        """Make a place free, if the connection had one."""
        self._taken.discard(connection)


def is_turned_away(scope: Scope) -> bool:
    """Whether the connection of a request has no place, and ends after its answer."""
    return TURNED_AWAY in scope.get("state", ())


def refuse_crowd(scope: Scope) -> None:
    """Raise what a request is told whose connection has no place."""
    if is_turned_away(scope):
        raise Unavailable("The server has no place for another connection", retry_after=COME_BACK)
