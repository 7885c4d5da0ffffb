"""Work: what the page computes for its callers: of a size that it can bear, beside the event loop, a few at a time.

Every answer of a page is computed here. What is given to it is counted before anything is made of it: a text of three
bytes for each value takes fifty times its size once it is read. What runs when its request ends stops at its next step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from threading import Event
from typing import Any, Final, ParamSpec, TypeVar

from aerogram.content.jsontext import begins_as_json, loads
from aerogram.errors import ReplyError

__all__ = ["LARGEST_VALUES", "compute", "count_values", "is_beyond", "load", "stop_if_ended"]

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_VALUES: Final = 200_000
"""Values of the largest text that is read: objects, lists, and all that stands in them."""
_AT_ONCE: Final = 2
_SPACE: Final = b" \t\r\n"
_workers: Final = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="page")
_ended: ContextVar[Event | None] = ContextVar("ended", default=None)


class RequestEnded(Exception):
    """The request for which this is computed is over."""


async def compute(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """What a function gives, beside the event loop; when the request ends it stops, or does not begin."""
    ended, context = Event(), copy_context()
    context.run(_ended.set, ended)
    try:
        return await asyncio.get_running_loop().run_in_executor(
            _workers, lambda: context.run(function, *arguments, **named)
        )
    finally:
        ended.set()


def stop_if_ended() -> None:
    """Go no further if the request for which this is computed is over."""
    ended = _ended.get()
    if ended is not None and ended.is_set():
        raise RequestEnded


def load(text: str | bytes) -> Any:
    """Strict JSON text as data, unless it is more than the page can bear."""
    count_values(text)
    return loads(text)


def count_values(text: str | bytes) -> int:
    """How many values a text has at most; more than the page can bear are refused."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    count = _count(raw)
    if count > LARGEST_VALUES and begins_as_json(raw[:64].decode("latin-1")):
        count = _count_outside_of_strings(raw, LARGEST_VALUES)  # what stands in words is none
    if count <= LARGEST_VALUES:
        return count
    raise ReplyError(
        f"This has more than {LARGEST_VALUES:,} values, which is the limit: too many to be shown at every size",
        code="CONTENT_TOO_LARGE",
        remediation=f"Open a part of it with at most {LARGEST_VALUES:,} values: objects, lists and all in them",
        details={"max_values": LARGEST_VALUES},
    )


def is_beyond(written: bytes, limit: int) -> bool:
    """Whether JSON has more values than a limit."""
    return _count(written) > limit and _count_outside_of_strings(written, limit) > limit


def _count_outside_of_strings(raw: bytes, enough: int) -> int:
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = unescaped.count(b'"')
    # a value has two strings at most, its name and itself, so that there is no need to look at very many
    return quotes // 4 if quotes > 4 * enough else _count(b'"'.join(unescaped.split(b'"')[::2]))


def _count(text: bytes) -> int:
    """How many values a text has, if it has no strings: one, one after each comma, and those in what is not empty."""
    dense = text.translate(None, _SPACE)
    openings = dense.count(b"[") + dense.count(b"{")
    return 1 + dense.count(b",") + openings - dense.count(b"[]") - dense.count(b"{}")
