"""Walks that have begun end: at every budget, whatever chance makes of ids and cursors, and no row is skipped."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, NamedTuple

import pytest

from aerogram.answer import Call, answer
from aerogram.archive import Archive
from aerogram.channels import POLICIES, Policy, Sizer
from aerogram.contract import Contract
from aerogram.reply import Reply
from aerogram.shape.controls import Levers
from aerogram.shape.pages import rows_of

DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0"]
PARAMETERS: dict[str, Any] = {"response_mode": {}, "page_size": {}, "max_tokens": {}}
COUNT = 9
EVEN = [{"id": number, "text": "word " * 50} for number in range(COUNT)]
UNEVEN = [{"id": f"{'x' * (number * 7 % 20)}{number}", "text": "word " * (number * 11 % 60)} for number in range(COUNT)]
TEXTS = [f"Number {number} says: {'more and ' * (number * 5 % 40)}" for number in range(COUNT)]
HOLLOW: list[Any] = [[] if number % 3 == 1 else {} if number % 3 == 2 else ["word " * 80] for number in range(COUNT)]
LONG_IDS = [
    {
        "id": 2**60 + number,
        "of": {"id": 2**61 + number},
        "text": "The quick brown fox. " * (20 if number % 3 == 1 else 1),
    }
    for number in range(COUNT)
]
ANSWERS: dict[str, Any] = {
    "long ids": LONG_IDS,
    "hollow": HOLLOW,
    "even": EVEN,
    "uneven": UNEVEN,
    "texts": TEXTS,
    "object": {"tasks": EVEN, "k": 1},
    "wordy": {"note": "A word on all of them. " * 60, "tasks": UNEVEN},
}
SIZES = [1, 5, 50]
LARGEST = 1_200


class Walk(NamedTuple):
    """How many rows there were on each page, and what the first one was refused with, if it was."""

    pages: list[int]
    remedy: str | None = None


class Desk:
    """A server that has one answer, and its caller; each desk has keys and ids of its own."""

    def __init__(self, dialect: str, policy: Policy, answer: Any) -> None:
        self.answer, self.rows = answer, _rows(answer)
        self.archive = Archive.in_memory()
        self.contract = Contract(dialect=dialect, channels=policy, archive=self.archive)
        self.sizer = Sizer(dialect, policy)

    async def ask(self, budget: int, cursor: str | None = None, **how: Any) -> Reply[Any]:
        levers = Levers.of(PARAMETERS, {"cursor": cursor})
        call = Call(self.contract, operation="list", max_tokens=budget, cursor=cursor, levers=levers, **how)
        reply = await answer(call, self.answer)
        assert reply.problem is not None or self.sizer(reply) <= budget
        return reply

    async def walk(self, budget: int, size: int, **how: Any) -> Walk:
        reply = await self.ask(budget, page_size=size, **how)
        if reply.problem is not None:
            assert reply.problem.code == "TOKEN_LIMIT_EXCEEDED"
            return Walk([], reply.problem.remediation)
        pages, start = [], 0
        while True:
            assert reply.problem is None, f"page {len(pages) + 1} is refused: {reply.problem.message}"
            pages.append(await self._read(reply, start))
            start += pages[-1]
            assert reply.page is not None
            if not reply.page.has_more:
                assert start == COUNT
                return Walk(pages)
            reply = await self.ask(budget, reply.page.cursor, **how)

    async def _read(self, page: Reply[Any], start: int) -> int:
        """How many rows a page has, which are the next ones: as they were, or so in the archive.

        One that is passed over, because nothing of it has room, is there only.
        """
        shown = _rows(page.data)
        whole = self.rows[start : start + max(len(shown), 1)]
        if shown != whole:
            assert page.fidelity is not None
            kept = await self.archive.get((page.fidelity.archive_hashes or {})["data"])
            assert _rows(kept.value()) == whole
            told = page.notices[-1].message
            assert bool(shown) != told.startswith(f"0 of {COUNT} shown, for the first is too large; ")
        return len(whole)


def _rows(data: Any) -> list[Any]:
    rows = rows_of(data)
    return rows.items if rows is not None else []


def named_in(remedy: str | None) -> int:
    found = re.search(r"max_tokens of at least (\d+)", str(remedy))
    assert found is not None
    return int(found[1])


CASES = [
    (dialect, policy, list(ANSWERS)[(at + turn) % len(ANSWERS)])
    for at, (dialect, policy) in enumerate(product(DIALECTS, POLICIES))
    for turn in (0, 2)
]


@pytest.mark.parametrize(("dialect", "policy", "answer"), CASES)
async def test_every_walk_that_begins_ends_with_each_row_once(dialect: str, policy: Policy, answer: str) -> None:
    """From just below the smallest budget on; and once more, by other chance, it is the very same walk."""
    desk, other = (Desk(dialect, policy, ANSWERS[answer]) for _ in range(2))
    smallest = named_in((await desk.walk(60, 5)).remedy)
    tight = [smallest - 10, smallest, smallest + 10, smallest + 20, smallest + 50]
    for at, budget in enumerate([*tight, *range(smallest + 100, LARGEST, 400)]):
        walk = await desk.walk(budget, SIZES[at % len(SIZES)])
        again = await other.walk(budget, SIZES[at % len(SIZES)])
        assert walk.pages == again.pages
        assert walk.pages or budget < smallest


@pytest.mark.parametrize("answer", ["uneven", "wordy"])
async def test_the_budget_that_is_named_to_begin_with_is_enough_to_the_end(answer: str) -> None:
    desk = Desk("response-v2", "mirror", ANSWERS[answer])
    for size in (1, 5):
        needed = named_in((await desk.walk(60, size)).remedy)
        assert (await desk.walk(needed, size)).pages
        refused = await desk.walk(needed - 60, size)
        assert not refused.pages
        assert named_in(refused.remedy) == needed


async def test_a_row_far_ahead_that_no_page_could_show_is_told_of_at_the_beginning() -> None:
    """The first rows would fit, and a walk that begins with them would break off."""
    rows = [{"id": number, "text": "short"} for number in range(COUNT - 1)]
    desk = Desk("response-v2", "mirror", [*rows, {"id": COUNT, "text": "word " * 400}])
    easy = Desk("response-v2", "mirror", rows + rows[:1])
    least = named_in((await easy.walk(60, 1)).remedy)
    assert (await easy.ask(least, page_size=1)).problem is None
    refused = await desk.ask(least, page_size=1)
    assert refused.problem is not None
    needed = named_in(refused.problem.remediation)
    assert refused.problem.message == f"Its pages would need {needed} tokens, limit is {least}"
    assert (await desk.walk(needed, 1)).pages


UNCUTTABLE = {"id": COUNT, **{f"member {number} of many": number for number in range(90)}}
"""Each of its members is short, so none can be cut, and all of them are more than there is room for."""


@pytest.mark.parametrize("dialect", [*DIALECTS, "bare"])
@pytest.mark.parametrize("size", SIZES)
async def test_a_row_that_nothing_can_be_shown_of_is_passed_over_with_the_way_to_it(dialect: str, size: int) -> None:
    """It is in the archive like any other row of its page, and the walk goes on after it."""
    rows = [*EVEN[:3], UNCUTTABLE, *EVEN[4:8], UNCUTTABLE]
    desk = Desk(dialect, "text", rows)
    last = await desk.ask(400, page_size=size, response_mode="full")
    while last.page is not None and last.page.has_more:
        last = await desk.ask(400, last.page.cursor, response_mode="full")
    walk = await desk.walk(400, size, response_mode="full")
    assert sum(walk.pages) == COUNT
    assert (last.data, last.status) == ([], "partial")
    (digest,) = (last.fidelity.archive_hashes or {}).values() if last.fidelity else ()
    kept = await desk.archive.get(digest)
    assert kept.value() == [UNCUTTABLE]
    assert f"whole: retrieve(hash='{digest[7:19]}')" in last.notices[-1].message


async def test_a_row_that_nothing_can_be_shown_of_begins_no_walk() -> None:
    """Whoever asks can ask for more, as the refusal says."""
    desk = Desk("response-v2", "text", [UNCUTTABLE, *EVEN[1:]])
    refused = await desk.walk(400, 5, response_mode="full")
    assert not refused.pages
    assert (await desk.walk(named_in(refused.remedy), 5, response_mode="full")).pages


@pytest.mark.parametrize("rows", [[UNCUTTABLE], [UNCUTTABLE, *EVEN[1:]]], ids=["alone", "first"])
async def test_a_mode_is_advised_where_a_walk_could_begin_in_it(rows: list[Any]) -> None:
    """A row of many facts is passed over on the way in each mode that has them; it begins a walk in none of these."""
    desk = Desk("response-v2", "text", rows)
    refused = (await desk.ask(400, page_size=3, response_mode="full")).problem
    assert refused is not None
    found = re.search(r"(?P<mode>\w+) mode", str(refused.remediation))
    assert found is not None
    assert (await desk.ask(400, page_size=3, response_mode=found["mode"])).problem is None


async def test_what_is_advised_on_the_way_keeps_to_the_cursor() -> None:
    """A cursor belongs to one mode, so another mode is another walk."""
    desk = Desk("response-v2", "mirror", EVEN)
    first = await desk.ask(900, page_size=1)
    assert first.page is not None
    refused = (await desk.ask(90, first.page.cursor)).problem
    assert refused is not None
    found = re.fullmatch(
        r"Use max_tokens of at least (\d+) or start again without the cursor in metadata mode", str(refused.remediation)
    )
    assert found is not None
    assert (await desk.ask(int(found[1]), first.page.cursor)).problem is None
    assert (await desk.ask(90, page_size=1, response_mode="metadata")).problem is None


@pytest.mark.parametrize("budget", [1, 9, 10, 11])
async def test_no_budget_is_too_small_to_be_told_so(budget: int) -> None:
    walk = await Desk("response-v2", "text", ANSWERS["even"]).walk(budget, 5)
    assert named_in(walk.remedy) > 100


async def test_an_object_that_is_walked_through_never_loses_all_of_its_rows() -> None:
    """Its other members are on every page; where no row has room beside them, the call is refused."""
    desk = Desk("response-v2", "text", ANSWERS["wordy"])
    smallest = named_in((await desk.walk(150, 5)).remedy)
    page = await desk.ask(smallest, page_size=5)
    assert page.data["tasks"]
    assert page.page is not None
    assert page.page.has_more
    assert page.data["note"] == desk.answer["note"]
