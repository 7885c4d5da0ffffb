"""A turnstile: so many threads at a time, strictly in the order of their arrival.

Threads that compute take the interpreter from each other at every switch, so fifty of them are slower than two at a
time; and a semaphore lets whoever is running slip in again, so that somebody waits for ever. Here the one who leaves
hands its place to the one who has waited longest.
"""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["Turnstile"]


class Turnstile:
    """A context manager that lets `places` threads in at a time."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._guard:
            if self._free:
                self._free -= 1
                return
            called = threading.Lock()
            called.acquire()
            self._waiting.append(called)
        called.acquire()  # released by the one who hands its place over

    def __exit__(self, *_: object) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
