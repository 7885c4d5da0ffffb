"""The smallest budgets: what the page about channels says they are is enough, all the way."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aerogram.answer import Call, answer
from aerogram.answer.retrieval import Retrieval, retrieve_for
from aerogram.archive import Archive
from aerogram.channels import POLICIES, Payload, Policy, Sizer
from aerogram.content import canonical_json
from aerogram.contract import Contract
from aerogram.dialects import dialect as named
from aerogram.reply import Reply
from aerogram.tokens import best_counter

PAGE = Path(__file__).parents[2] / "docs" / "channels.md"
ROWS = [{"id": f"row-{number:04}", "text": f"Number {number}. " * 150} for number in range(100)]
ROW = re.compile(r"^\| (\S+)" + r" \| (\d+ / \d+)" * len(POLICIES) + r" \|$", re.MULTILINE)
TABLE = ROW.findall(PAGE.read_text())
CELLS = [
    pytest.param(dialect, policy, *map(int, cell.split(" / ")), id=f"{dialect}-{policy}")
    for dialect, *cells in TABLE
    for policy, cell in zip(POLICIES, cells, strict=True)
]


def test_the_page_lists_every_dialect_and_policy() -> None:
    assert len(CELLS) == 3 * len(POLICIES)


async def pages(contract: Contract, asked: Retrieval, most: int) -> AsyncIterator[Reply[Any]]:
    """The first pages of what was left out."""
    for _ in range(most):
        call = Call(contract, operation="retrieve")
        page = await answer(call, await retrieve_for(call, asked))
        assert page.problem is None
        yield page
        if page.page is None or page.page.cursor is None:
            return
        asked = replace(asked, cursor=page.page.cursor)


@pytest.mark.parametrize(("dialect", "policy", "first", "whole_way"), CELLS)
async def test_the_smallest_budgets_serve_a_long_list(dialect: str, policy: Policy, first: int, whole_way: int) -> None:
    contract = Contract(dialect=dialect, channels=policy, budget=first, archive=Archive.in_memory())
    reply = await answer(Call(contract, operation="search"), ROWS)
    assert reply.problem is None
    assert Sizer(dialect, policy)(reply) <= first
    for budget in (whole_way, whole_way + 1, whole_way + 13):
        await go_all_the_way(replace(contract, budget=budget), budget)


async def go_all_the_way(contract: Contract, budget: int) -> None:
    """A reply, two pages of the list, items by their ids, and what was left out as items and as text."""
    reply = await answer(Call(contract, operation="search"), ROWS)
    assert reply.fidelity is not None
    found = (reply.fidelity.archive_hashes or {})["data"]
    one = await answer(Call(contract, operation="search", page_size=20), ROWS)
    assert one.page is not None
    two = await answer(Call(contract, operation="search", page_size=20, cursor=one.page.cursor), ROWS)
    assert two.data[0]["id"] == ROWS[len(one.data)]["id"]
    if contract.channels == "summary":  # what is retrieved is not summarised
        contract = replace(contract, channels="compact")
    items = [page async for page in pages(contract, Retrieval(found), 3)]
    assert [item["id"] for page in items for item in page.data] == [row["id"] for row in ROWS[:3]]
    by_id = [page async for page in pages(contract, Retrieval(found, ids=["row-0099"]), 1)]
    assert by_id[0].data[0]["id"] == "row-0099"
    texts = [page async for page in pages(contract, Retrieval(found, as_text=True), 3)]
    assert canonical_json(ROWS).decode().startswith("".join(page.data for page in texts))
    sizer = Sizer(contract.dialect, contract.channels)
    assert max(map(sizer, (*items, *by_id, *texts))) <= budget


PROMISED = {"bare": 150, "response-v2": 250, "standard-v2": 300, "knowledge-1.0": 400}
SIZES = [(name, size) for name, most in PROMISED.items() for size in (most, f"{most * 4} characters")]


def test_install_takes_no_budget_that_is_smaller_than_promised() -> None:
    assert {name: named(name).smallest for name in PROMISED} == PROMISED


@pytest.mark.parametrize(("dialect", "budget"), SIZES)
async def test_a_small_budget_shows_a_row_with_its_title_or_forty_tokens_of_its_text(
    dialect: str, budget: int | str
) -> None:
    payload = Payload(has_schema=True, is_boxed=True) if dialect == "bare" else None
    contract = Contract(dialect=dialect, budget=budget, archive=Archive.in_memory())
    titled = [{"id": row["id"], "title": f"The title of {row['id']}", "text": row["text"]} for row in ROWS]
    told = await answer(Call(contract, operation="search", payload=payload), titled)
    assert told.data[0]["title"] == titled[0]["title"]
    plain = await answer(Call(contract, operation="search", payload=payload), [row["text"] for row in ROWS])
    assert best_counter().count(plain.data[0].partition("…")[0]) >= 40
