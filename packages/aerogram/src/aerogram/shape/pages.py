"""Pages: one window after another on a sequence, an iterator, an async iterator or a query.

One item more than the page is asked for, so that `has_more` is true exactly when there is more. With a `key`,
the cursor says after which key to go on, so items that are inserted or deleted between two pages are neither
skipped nor repeated; the source must then be in ascending order of that key. Where items share a key, it also
says how many of them were seen. Without a key it says after how many items.
"""

from __future__ import annotations

import inspect
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice
from typing import Any, Final, NamedTuple, TypeAlias

from aerogram.content.jsontext import dumps, pointer_of
from aerogram.cursor import Cursors, Position, query_hash
from aerogram.errors import ValidationFailed
from aerogram.reply import Page, Reply, ResumablePage, Resume
from aerogram.shape.modes import Mode

__all__ = [
    "Pager",
    "ResumablePage",
    "Resume",
    "Rows",
    "Window",
    "bulk_of",
    "has_longer_list",
    "pack",
    "rows_of",
    "take",
    "take_async",
    "unpack",
]

DEFAULT_SIZE: Final = 10
LARGEST_SIZE: Final = 50
_FAR: Final = 10**15
"""Numbers beyond are told as texts, for there are programs that cannot hold them."""
LONGEST_REST: Final = 2_000
"""What stands beside the rows of an object may be so long, in bytes, for them to be what it is about."""
_FEW: Final = 200
NOT_THE_QUERY: Final = frozenset({"cursor", "page_size", "response_mode"})
"""Arguments that may differ from page to page, or that the cursor names by itself."""

Key: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a source that a page shows: `size` items after the first `offset`, or after the key `after`.

    A query whose keys are unique asks for keys above `after`. One whose keys are not asks for keys from `after` on,
    without the first `seen` items that have that very key.
    """

    offset: int
    size: int
    after: Any = None
    seen: int = 1

    @property
    def limit(self) -> int:
        """How many items to ask for: one more than the page shows."""
        return self.size + 1


Query: TypeAlias = Callable[[Window], Iterable[Any]]
AsyncQuery: TypeAlias = Callable[[Window], Awaitable[Iterable[Any]] | AsyncIterable[Any]]
Source: TypeAlias = Iterable[Any] | Query
AsyncSource: TypeAlias = Source | AsyncIterable[Any] | AsyncQuery


class Rows(NamedTuple):
    """The rows of some data: the data itself, or the one list in an object, under its name there."""

    items: list[Any]
    name: str | None = None

    @property
    def are_records(self) -> bool:
        """Whether the rows have members of their own."""
        return bool(self.items) and isinstance(self.items[0], dict)

    @property
    def path(self) -> str:
        """Where in the data they are, as a JSON Pointer."""
        return "" if self.name is None else pointer_of((self.name,))

    def replaced(self, data: Any, shown: list[Any]) -> Any:
        """The data with these rows in the place of its own."""
        return shown if self.name is None else {**data, self.name: shown}


def rows_of(data: Any) -> Rows | None:
    """The rows of a list, or of an object that has exactly one list among its members."""
    if isinstance(data, list):
        return Rows(data)
    if not isinstance(data, dict):
        return None
    lists = [name for name, value in data.items() if isinstance(value, list)]
    return Rows(data[lists[0]], lists[0]) if len(lists) == 1 else None


def bulk_of(data: Any) -> Rows | None:
    """The rows of a list, or of an object that is their box: they are most of it, and what is beside them is short."""
    rows = rows_of(data)
    if rows is None or not rows.items:
        return None
    if rows.name is None:
        return rows
    rest = len(dumps({name: value for name, value in data.items() if name != rows.name}))
    size = len(dumps(rows.items[:_FEW])) * max(len(rows.items) / _FEW, 1)
    return rows if rest < LONGEST_REST and rest < size else None


def has_longer_list(data: Any, size: int) -> bool:
    """Whether an object holds a list that a page of this size would have cut."""
    return isinstance(data, dict) and any(isinstance(one, list) and len(one) > size for one in data.values())


@dataclass(frozen=True)
class Pager:
    """Opens and seals the cursors of one query of one caller."""

    cursors: Cursors
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = "metadata"
    principal: str | None = None
    default_size: int = DEFAULT_SIZE
    largest_size: int = LARGEST_SIZE
    documented: bool = False
    """Whether its cursors are JSON, as one of the contracts documents them."""

    @cached_property
    def query_hash(self) -> str:
        """What the cursors are bound to."""
        lasting = {name: value for name, value in self.arguments.items() if name not in NOT_THE_QUERY}
        return query_hash(self.tool, lasting)

    def window(self, cursor: str | None = None, page_size: int | None = None) -> Window:
        """The window that a caller asks for; a bad cursor or size is refused, never replaced.

        A walk goes on with the size that it began with, unless another is asked for.
        """
        size = self._checked_size(page_size)
        if cursor is None:
            return Window(0, size)
        position = self.cursors.open(
            cursor, query_hash=self.query_hash, response_mode=self.mode, principal=self.principal
        )
        if page_size is None and position.size is not None:
            size = position.size
        return Window(position.offset, size, position.after, position.seen)

    def page(
        self, found: Iterable[Any], window: Window, *, key: Key | None = None, total: int | None = None
    ) -> ResumablePage:
        """The reply for what was found in a window (with the one item more, if there is one)."""
        items = list(islice(found, window.limit))
        shown = items[: window.size]
        more = len(items) > window.size

        def resume(kept: int) -> str:
            if key is None or not kept:
                return self.seal(window.offset + kept, window.after, window.seen, window.size)
            after = key(shown[kept - 1])
            return self.seal(
                window.offset + kept, after, _count_seen(after, map(key, shown[:kept]), window), window.size
            )

        cursor = resume(len(shown)) if more else None
        page = Page(cursor=cursor, has_more=more, total=total, page_size=window.size)
        if not shown and window.offset == 0:
            return ResumablePage(Reply.empty(page=page))
        return ResumablePage(Reply.ok(shown, page=page), resume)

    def seal(self, offset: int, after: Any = None, seen: int = 1, size: int | None = None) -> str:
        """The cursor that goes on after so many items, and after so many of those with the key `after`.

        `size` is that of the pages; one that is usual anyway makes the cursor no longer.
        """
        unusual = size if size != self.default_size else None
        position = Position(self.query_hash, offset, self.mode, after, seen=seen, size=unusual)
        return self.cursors.seal(position, principal=self.principal, documented=self.documented)

    def _checked_size(self, size: int | None) -> int:
        if size is None:
            return self.default_size
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= self.largest_size:
            received = size if type(size) is int and abs(size) < _FAR else repr(size)[:40]
            raise ValidationFailed(
                f"page_size must be a whole number from 1 to {self.largest_size}",
                remediation=f"Use a page_size from 1 to {self.largest_size}",
                details={"field": "page_size", "minimum": 1, "maximum": self.largest_size, "received": received},
            )
        return size


def _count_seen(after: Any, shown: Iterable[Any], window: Window) -> int:
    """How many items with the key `after` came before the next page, on this one and on those before it."""
    earlier = window.seen if window.after is not None and window.after == after else 0
    return earlier + sum(1 for key in shown if key == after)


def take(source: Source, window: Window, key: Key | None = None) -> list[Any]:
    """The items of a window, and one more."""
    if callable(source):
        return list(islice(source(window), window.limit))
    if isinstance(source, Sequence):
        start = window.offset if key is None or window.after is None else _start(source, window, key)
        return list(source[start : start + window.limit])
    if key is not None and window.after is not None:
        return list(islice(filter(_is_ahead(window, key), source), window.limit))
    return list(islice(source, window.offset, window.offset + window.limit))


def _start(source: Sequence[Any], window: Window, key: Key) -> int:
    """Where a window begins in a sequence that is in order of the key."""
    first = bisect_left(source, window.after, key=key)
    return min(first + window.seen, bisect_right(source, window.after, lo=first, key=key))


def _is_ahead(window: Window, key: Key) -> Callable[[Any], bool]:
    """Whether an item belongs to the window or comes after it, asked of one item after the other."""
    seen = count(1)
    return lambda item: (found := key(item)) > window.after or (found == window.after and next(seen) > window.seen)


async def take_async(source: AsyncSource, window: Window, key: Key | None = None) -> list[Any]:
    """The items of a window, and one more, from a source that may have to be awaited."""
    found: Any = source
    if callable(source):
        found = source(window)
        found = await found if inspect.isawaitable(found) else found
        window, key = Window(0, window.size), None  # the query has already gone there
    if not isinstance(found, AsyncIterable):
        return take(found, window, key)
    return await _take_from(found, window, key)


async def _take_from(source: AsyncIterable[Any], window: Window, key: Key | None) -> list[Any]:
    by_key = _is_ahead(window, key) if key is not None and window.after is not None else None
    position = count(1)
    items: list[Any] = []
    async for item in source:
        if by_key(item) if by_key is not None else next(position) > window.offset:
            items.append(item)
        if len(items) == window.limit:
            break
    return items


# A page that is kept, with what goes on inside of it

_KEPT: Final = "aerogram_page"


def pack(page: ResumablePage) -> Reply[Any]:
    """A reply that a store can keep: the cursors that go on inside of a page, and what it asks for, are in it."""
    reply, rows = page.reply, rows_of(page.reply.data)
    kept: dict[str, Any] = {
        "max_tokens": page.max_tokens,
        "is_archived": page.is_archived,
        "whole_rows": page.whole_rows,
        "cites_unasked": page.cites_unasked,
    }
    if page.resume is not None and rows is not None and reply.page is not None:
        kept["cursors"] = [page.resume(count) for count in range(len(rows.items))]
    said = {name: value for name, value in kept.items() if value}
    return reply.replace(extra={**(reply.extra or {}), _KEPT: said}) if said else reply


def unpack(reply: Reply[Any]) -> Reply[Any] | ResumablePage:
    """What was packed."""
    extra = dict(reply.extra or {})
    if _KEPT not in extra:
        return reply
    said = extra.pop(_KEPT)
    cursors = said.pop("cursors", None)
    resume = None if cursors is None else cursors.__getitem__
    return ResumablePage(reply.replace(extra=extra or None), resume, **said)
