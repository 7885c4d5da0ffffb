"""Pace: how fast a run goes, and how long it will still take, in words."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

__all__ = ["Pace"]

LOOK_BACK: Final = 30.0
"""Seconds of the past that the pace is taken from, so that it follows when the files become larger."""


class Pace:
    """The pace of one run; it is told how many files are done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque([(clock(), 0)])

    def at(self, finished: int, total: int) -> str:
        """Where the run is now: how many of how many, the rate, and the time left."""
        now = self._clock()
        self._seen.append((now, finished))
        while now - self._seen[1][0] > LOOK_BACK:  # the newest is of now
            self._seen.popleft()
        begun, before = self._seen[0]
        rate = (finished - before) / (now - begun) if now > begun else 0.0
        left = f", {_span((total - finished) / rate)} left" if rate and finished < total else ""
        return f"{finished:,} of {total:,} files, {rate:,.1f} a second{left}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
