"""Mint: where request ids are made.

An id is `req_` and a ULID: its time in milliseconds, then letters by chance, so that ids sort by when they were made.
Those of a process only rise, also when the clock stands still or goes back: within a moment they count up.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["Mint", "is_minted", "new_request_id"]

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTERS: Final = (_CROCKFORD * 8).encode()
_PAIRS: Final = tuple(high + low for high in _CROCKFORD for low in _CROCKFORD)
_MINTED: Final = re.compile(f"req_[{_CROCKFORD}]{{26}}")
_DRAWN: Final = 15
_MOMENTS: Final = 64
_MOST: Final = len(_PAIRS) ** 2
"""So many ids begin alike; each starts in the first half of them."""


class Mint:
    """The ids of one process."""

    def __init__(self) -> None:
        self._minting = threading.Lock()
        self._moment = -1
        self._head = ""
        self._last = 0
        self._drawn: Iterator[tuple[int, str]] = iter(())

    def new(self) -> str:
        """An id that is greater than all before it."""
        now = time.time_ns() // 1_000_000
        with self._minting:
            if now > self._moment:
                self._begin(now)
            else:
                self._last += 1
                if self._last == _MOST:
                    self._begin(self._moment + 1)
            return self._head + _PAIRS[self._last >> 10] + _PAIRS[self._last & 1023]

    def _begin(self, moment: int) -> None:
        self._last, letters = next(self._drawn, None) or self._draw()
        self._moment = moment
        self._head = _seconds(moment >> 10) + _PAIRS[moment & 1023] + letters

    def _draw(self) -> tuple[int, str]:
        """Where a moment's ids begin to count, and their letters; for many moments, because that takes longest."""
        chance = os.urandom(_DRAWN * _MOMENTS)
        moments = [chance[start : start + _DRAWN] for start in range(0, len(chance), _DRAWN)]
        self._drawn = iter(
            [(int.from_bytes(one[:3]) % (_MOST // 2), one[3:].translate(_LETTERS).decode()) for one in moments]
        )
        return next(self._drawn)


@lru_cache(maxsize=1)
def _seconds(count: int) -> str:
    """The beginning of all ids for about a second."""
    return "req_" + "".join([_PAIRS[count >> shift & 1023] for shift in (30, 20, 10, 0)])


_mint = Mint()


def new_request_id() -> str:
    """A new request id."""
    return _mint.new()


def is_minted(request_id: str) -> bool:
    """Whether an id looks as if it were made here."""
    return _MINTED.fullmatch(request_id) is not None


def _mint_anew() -> None:
    global _mint  # noqa: PLW0603 - a child of this process must not go on where its parent does
    _mint = Mint()


os.register_at_fork(after_in_child=_mint_anew)
