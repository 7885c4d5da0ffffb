"""Aside: work that takes long is done beside the event loop, one after the other of its kind.

What is large is brought to size in one thread, what is left out is searched in another one, and what may not be said
is taken out in a third: so none of them fills the threads that read and write files, and nobody waits for them who has
only a word to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, Literal, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["LARGE", "run_aside", "run_if_large"]

LARGE: Final = 1 << 18
"""Bytes or characters; some megabytes take a second, of which most is spent where other threads can go on."""

T = TypeVar("T")
Work: TypeAlias = Literal["fit", "search", "clean"]
_THREADS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Work, ThreadPoolExecutor]]] = WeakKeyDictionary()


async def run_aside(kind: Work, work: Callable[..., T], *given: Any) -> T:
    """What comes of work that is done in the thread for its kind."""
    loop = asyncio.get_running_loop()
    threads = _THREADS.setdefault(loop, {})
    if kind not in threads:
        threads[kind] = ThreadPoolExecutor(1, f"aerogram-{kind}")
    return await loop.run_in_executor(threads[kind], copy_context().run, work, *given)


async def run_if_large(kind: Work, size: int, work: Callable[..., T], *given: Any) -> T:
    """What comes of work, which is done in the thread for its kind where it is on something large, and else at once."""
    return await run_aside(kind, work, *given) if size > LARGE else work(*given)
