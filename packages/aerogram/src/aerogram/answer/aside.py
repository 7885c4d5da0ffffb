"""Aside: work that takes long is done beside the event loop, one after the other of its kind.

What is large is brought to size in one thread, what is left out is searched in another one, and what may not be said
is taken out in a third: so none of them fills the threads that read and write files, and nobody waits for them who has
only a word to say.

What is small is done at once, first come first served. An event loop takes everything that is ready before it looks up
again: fifty replies in a row would hold up every request at every step of its way. So work that took long has the loop
look up before the next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, Literal, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["LARGE", "Work", "run_aside", "run_by_size"]

LARGE: Final = 1 << 18
"""Bytes or characters; some megabytes take a second, of which most is spent where other threads can go on."""
LONG: Final = 0.001
"""Seconds after which work has kept others waiting who only have a word to say."""

T = TypeVar("T")
Work: TypeAlias = Literal["fit", "search", "clean"]
_THREADS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Work, ThreadPoolExecutor]]] = WeakKeyDictionary()
_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def run_aside(kind: Work, work: Callable[..., T], *given: Any) -> T:
    """What comes of work that is done in the thread for its kind."""
    loop = asyncio.get_running_loop()
    threads = _THREADS.setdefault(loop, {})
    if kind not in threads:
        threads[kind] = ThreadPoolExecutor(1, f"aerogram-{kind}")
    return await loop.run_in_executor(threads[kind], copy_context().run, work, *given)


async def run_by_size(kind: Work, size: float, work: Callable[..., T], *given: Any) -> T:
    """What comes of work, which is done in the thread for its kind where it is on something large, and else in turn."""
    if size > LARGE:
        return await run_aside(kind, work, *given)
    loop = asyncio.get_running_loop()
    turn = _TURNS.get(loop) or _TURNS.setdefault(loop, asyncio.Lock())
    await turn.acquire()
    begun = time.perf_counter()
    try:
        return work(*given)
    finally:
        if time.perf_counter() - begun < LONG:
            turn.release()
        else:
            loop.call_soon(turn.release)
