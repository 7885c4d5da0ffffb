"""Pages over every kind of source: each item exactly once, and honest about what follows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.answer import Call, answer
from aerogram.archive import Archive
from aerogram.contract import Contract
from aerogram.cursor import Cursors
from aerogram.errors import ContractError, InvalidCursor, ValidationFailed
from aerogram.reply import Notice, Reply
from aerogram.shape.pages import Pager, Window, take, take_async
from aerogram.shape.places import move_notices

ITEMS = [{"id": number} for number in range(23)]


def by_id(item: dict[str, Any]) -> int:
    return int(item["id"])


def walk(pager: Pager, source: Callable[[], Any], size: int, key: Any = None) -> list[Any]:
    """Follow the cursors from the first page to the last."""
    seen, cursor = [], None
    for _ in range(100):
        window = pager.window(cursor, size)
        reply = pager.page(take(source(), window, key), window, key=key).reply
        seen += reply.data
        assert reply.page is not None
        cursor = reply.page.cursor
        assert reply.page.has_more == (cursor is not None)
        if cursor is None:
            return seen
    raise AssertionError("the pages do not end")


def query(window: Window) -> Iterable[Any]:
    return ITEMS[window.offset : window.offset + window.limit]


def keyset_query(window: Window) -> Iterator[Any]:
    return (item for item in ITEMS if window.after is None or item["id"] > window.after)


SOURCES: dict[str, tuple[Callable[[], Any], Any]] = {
    "list": (lambda: ITEMS, None),
    "tuple by key": (lambda: tuple(ITEMS), by_id),
    "iterator": (lambda: iter(ITEMS), None),
    "iterator by key": (lambda: iter(ITEMS), by_id),
    "query": (lambda: query, None),
    "query by key": (lambda: keyset_query, by_id),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("size", [1, 7, 22, 23, 24, 50])
def test_walking_all_pages_yields_every_item_once(kind: str, size: int) -> None:
    source, key = SOURCES[kind]
    assert walk(Pager(Cursors(), "list"), source, size, key) == ITEMS


@given(st.integers(0, 60), st.integers(1, 50))
def test_has_more_is_true_exactly_when_there_is_more(count: int, size: int) -> None:
    pager = Pager(Cursors(), "list")
    window = pager.window(None, size)
    reply = pager.page(take(range(count), window), window).reply
    assert reply.page is not None
    assert reply.page.has_more == (count > size)
    assert reply.status == ("ok" if count else "empty")


async def test_async_sources_are_paged_the_same() -> None:
    async def stream() -> AsyncIterator[Any]:
        for item in ITEMS:
            yield item

    async def fetched(window: Window) -> Iterable[Any]:
        return query(window)

    async def streamed(window: Window) -> AsyncIterator[Any]:
        for item in query(window):
            yield item

    pager = Pager(Cursors(), "list")
    for source, key in (
        (stream, None),
        (stream, by_id),
        (lambda: fetched, None),
        (lambda: streamed, None),
        (lambda: ITEMS, None),
    ):
        seen: list[Any] = []
        cursor = None
        while cursor is not None or not seen:
            window = pager.window(cursor, 5)
            reply = pager.page(await take_async(source(), window, key), window, key=key).reply
            seen += reply.data
            cursor = reply.page.cursor if reply.page else None
        assert seen == ITEMS


def test_with_a_key_inserts_and_deletes_between_pages_neither_skip_nor_repeat() -> None:
    items = [{"id": number} for number in range(0, 40, 2)]
    pager = Pager(Cursors(), "list")
    window = pager.window(None, 10)
    first = pager.page(take(items, window, by_id), window, key=by_id).reply
    items = [{"id": -1}, {"id": 5}, *items[3:]]  # three deleted from the first page, two inserted before its end
    items.insert(-1, {"id": 37})
    assert first.page is not None
    window = pager.window(first.page.cursor, 50)
    second = pager.page(take(sorted(items, key=by_id), window, by_id), window, key=by_id).reply
    assert [item["id"] for item in second.data] == [20, 22, 24, 26, 28, 30, 32, 34, 36, 37, 38]


DAY = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
KEYS: dict[str, Callable[[int], Any]] = {
    "tuple": lambda number: (number // 4, f"name {number:02}"),
    "nested tuple": lambda number: (number // 9, ((number, None), "x")),
    "datetime": lambda number: DAY + timedelta(hours=number),
    "date": lambda number: DAY.date() + timedelta(days=number),
    "uuid": lambda number: UUID(int=number * 10**30),
    "decimal": lambda number: Decimal(number) / 7,
    "datetime and uuid": lambda number: (DAY, UUID(int=number)),
    "not unique": lambda number: number // 9,
    "all the same": lambda number: DAY + timedelta(0) * number,
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("size", [1, 4, 10])
async def test_walking_by_any_kind_of_key_yields_every_item_once(kind: str, size: int) -> None:
    def key(item: dict[str, Any]) -> Any:
        return KEYS[kind](item["id"])

    async def stream() -> AsyncIterator[Any]:
        for item in ITEMS:
            yield item

    pager = Pager(Cursors(), "list")
    assert walk(pager, lambda: ITEMS, size, key) == ITEMS
    assert walk(pager, lambda: iter(ITEMS), size, key) == ITEMS
    window = pager.window(pager.page(ITEMS, pager.window(None, size), key=key).reply.page.cursor, size)  # type: ignore[union-attr]
    assert await take_async(stream(), window, key) == ITEMS[size : 2 * size + 1]


def test_a_key_that_cannot_go_into_a_cursor_is_refused_in_words() -> None:
    pager = Pager(Cursors(), "list")
    for key, words in ((b"bytes", "a bytes cannot be the key"), ("x" * 5_000, "a key is too long")):
        with pytest.raises(ContractError, match=words):
            pager.seal(1, key)


def test_an_argument_called_budget_is_part_of_the_query() -> None:
    cursors = Cursors()
    cursor = Pager(cursors, "plan", {"budget": 100}).seal(10)
    with pytest.raises(InvalidCursor):
        Pager(cursors, "plan", {"budget": 200}).window(cursor)


def test_a_page_can_be_cut_short_and_resumed_after_any_item() -> None:
    pager = Pager(Cursors(), "list")
    for key in (None, by_id):
        window = pager.window(None, 10)
        paged = pager.page(take(ITEMS, window, key), window, key=key)
        assert paged.resume is not None
        window = pager.window(paged.resume(4), 3)
        assert take(ITEMS, window, key)[:3] == ITEMS[4:7]


@pytest.mark.parametrize("size", [0, -1, 51, 10**9, True, 2.5, "10"])
def test_a_page_size_out_of_bounds_is_refused(size: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        Pager(Cursors(), "list").window(None, size)
    assert "1 to 50" in str(caught.value.remediation)


def test_the_default_page_has_ten_items_and_a_total_when_it_is_known() -> None:
    pager = Pager(Cursors(), "list")
    window = pager.window()
    reply = pager.page(take(ITEMS, window), window, total=23).reply
    assert reply.page is not None
    assert (len(reply.data), reply.page.page_size, reply.page.total) == (10, 10, 23)


def test_a_cursor_of_another_query_tool_mode_or_caller_is_refused_never_page_one() -> None:
    cursors = Cursors()
    pager = Pager(cursors, "search", {"query": "JWT", "page_size": 10}, "metadata", "ada")
    cursor = pager.seal(10)
    same = Pager(cursors, "search", {"query": "JWT", "page_size": 20, "cursor": cursor}, "metadata", "ada")
    assert same.window(cursor).offset == 10
    others = (
        Pager(cursors, "search", {"query": "OAuth"}, "metadata", "ada"),
        Pager(cursors, "list", {"query": "JWT"}, "metadata", "ada"),
        Pager(cursors, "search", {"query": "JWT"}, "full", "ada"),
        Pager(cursors, "search", {"query": "JWT"}, "metadata", "bob"),
        Pager(Cursors(), "search", {"query": "JWT"}, "metadata", "ada"),
    )
    for other in others:
        with pytest.raises(InvalidCursor):
            other.window(cursor)
    with pytest.raises(InvalidCursor):
        pager.window("")


def test_a_page_after_the_last_item_is_an_empty_list_not_an_empty_search() -> None:
    """Items were deleted meanwhile; the query as a whole did match."""
    pager = Pager(Cursors(), "list")
    window = pager.window(pager.seal(99))
    assert pager.page(take(ITEMS, window), window).reply.replace(page=None) == Reply.ok([])


WHOLE = Reply.ok(
    [],
    notices=(
        Notice("/4/at (float): nan is not a number", "FALLBACK_USED", context={"pointer": "/4/at", "type": "float"}),
        Notice(
            "/4/at, /5/at, /6/at and 1,200 more places (int): is long", context={"pointer": "/4/at", "count": 1_203}
        ),
        Notice("/name (str): is odd", context={"pointer": "/name", "type": "str"}),
        Notice(
            "2 secrets were taken out of this reply", context={"count": 2, "places": ["/data/1/key", "/data/4/key"]}
        ),
        Notice("/etc/hosts was read"),
    ),
)


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [
        (0, 10, WHOLE.notices),
        (
            4,
            2,
            (
                Notice(
                    "/0/at (float): nan is not a number", "FALLBACK_USED", context={"pointer": "/0/at", "type": "float"}
                ),
                Notice("1,203 places in all rows (int): is long", context={"count": 1_203}),
                WHOLE.notices[2],
                Notice("2 secrets were taken out of all rows", context={"count": 2, "places": ["/data/0/key"]}),
                WHOLE.notices[4],
            ),
        ),
        (
            5,
            1,
            (
                Notice("1,203 places in all rows (int): is long", context={"count": 1_203}),
                WHOLE.notices[2],
                Notice("2 secrets were taken out of all rows", context={"count": 2, "places": []}),
                WHOLE.notices[4],
            ),
        ),
    ],
)
def test_what_is_said_of_rows_goes_with_them(start: int, count: int, expected: tuple[Notice, ...]) -> None:
    assert move_notices(WHOLE, "", start, count).notices == expected


def test_what_is_said_of_rows_in_an_object_goes_with_them() -> None:
    told = Reply.ok({}, notices=(Notice("/rows/7/at (float): is odd", context={"pointer": "/rows/7/at"}),))
    (notice,) = move_notices(told, "/rows", 5, 3).notices
    assert (notice.message, notice.context) == ("/rows/2/at (float): is odd", {"pointer": "/rows/2/at"})
    assert move_notices(told, "/rows", 0, 5).notices == ()


@pytest.mark.parametrize("asked", [{"page_size": 2}, {"max_tokens": 500, "pages": True}], ids=["asked", "cut"])
async def test_on_every_page_a_pointer_leads_to_what_is_said_of_it(asked: dict[str, Any]) -> None:
    rows = [{"id": n, "at": float("nan") if n % 4 == 2 else 1.0, "text": "word " * 40} for n in range(9)]
    contract, cursor, seen, told = Contract(dialect="response-v2", archive=Archive.in_memory()), None, 0, 0
    while True:
        reply = await answer(Call(contract, operation="rows", cursor=cursor, **asked), rows)
        assert reply.problem is None
        pointers = [one.message.split()[0] for one in reply.notices if one.message.endswith("written as null")]
        odd = [f"/{at}/at" for at in range(len(reply.data)) if rows[seen + at]["id"] % 4 == 2]
        assert pointers == odd
        seen, told = seen + len(reply.data), told + len(pointers)
        assert reply.page is not None
        cursor = reply.page.cursor
        if cursor is None:
            break
    assert (seen, told) == (9, 2)
