"""Aside: work that takes long is done beside the event loop, one after the other of its kind.

What is large is brought to size in one thread, and what is left out is searched in another one: so neither fills the
threads that read and write files, and nobody waits for them who has only a word to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, Literal, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["run_aside"]

T = TypeVar("T")
Work: TypeAlias = Literal["fit", "search"]
_THREADS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Work, ThreadPoolExecutor]]] = WeakKeyDictionary()


async def run_aside(kind: Work, work: Callable[..., T], *given: Any) -> T:
    """What comes of work that is done in the thread for its kind."""
    loop = asyncio.get_running_loop()
    threads = _THREADS.setdefault(loop, {})
    if kind not in threads:
        threads[kind] = ThreadPoolExecutor(1, f"aerogram-{kind}")
    return await loop.run_in_executor(threads[kind], copy_context().run, work, *given)
