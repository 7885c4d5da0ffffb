"""Stream: values that come one after another, or later, read into a list with an end."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterable, Iterable
from types import GeneratorType
from typing import Any

from aerogram.normalize.policy import Policy
from aerogram.reply import Notice

__all__ = ["DrainedItems", "drain", "is_here", "settle"]

_HERE = frozenset((dict, list, str, int, float, bool, type(None)))
"""What nobody has to wait for."""


class DrainedItems(list[Any]):
    """What was read of a stream; `notice` says so when that is not all."""

    notice: Notice | None = None


class _Meter:
    """Counts what was read, in items and in bytes of text, against a policy."""

    def __init__(self, policy: Policy) -> None:
        self.items = policy.max_items
        self.room = policy.max_bytes
        self.ends = time.monotonic() + policy.max_seconds
        self.read = DrainedItems()

    def take(self, item: Any) -> bool:
        """Keep an item if there is room for it."""
        self.room -= len(item) if isinstance(item, (str, bytes, bytearray)) else 1
        if len(self.read) >= self.items or self.room < 0 or time.monotonic() > self.ends:
            self.stop()
            return False
        self.read.append(item)
        return True

    def stop(self) -> None:
        """Say that there may be more."""
        count = len(self.read)
        self.read.notice = Notice.of("PARTIAL_RESULTS", f"only the first {count:,} items were read", pointer="")


def drain(source: Iterable[Any], policy: Policy) -> DrainedItems:
    """The items of an iterator up to the policy's limits; a generator with more is closed."""
    meter, iterator = _Meter(policy), iter(source)
    if not all(map(meter.take, iterator)) and hasattr(iterator, "close"):
        iterator.close()
    return meter.read


def is_here(value: Any) -> bool:
    """Whether nobody has to wait for a value, by its type alone; in doubt somebody has."""
    kind = type(value)
    return kind in _HERE or not (hasattr(kind, "__await__") or hasattr(kind, "__aiter__") or kind is GeneratorType)


async def settle(value: Any, policy: Policy | None = None) -> Any:
    """Await what must be awaited: a coroutine's result, or the items of an async iterator up to the limits.

    Any other value is given back as it is.
    """
    if is_here(value):
        return value
    while inspect.isawaitable(value):
        value = await value
    return await _drain_async(value, policy or Policy()) if isinstance(value, AsyncIterable) else value


async def _drain_async(source: AsyncIterable[Any], policy: Policy) -> DrainedItems:
    meter, iterator = _Meter(policy), aiter(source)
    try:
        async with asyncio.timeout(policy.max_seconds) as limit:
            async for item in iterator:
                if not meter.take(item):
                    break
            else:
                return meter.read
    except TimeoutError:
        if not limit.expired():
            raise
        meter.stop()
    if hasattr(iterator, "aclose"):
        await iterator.aclose()
    return meter.read
