"""Chance: the same call at the same budget has the same outcome, whatever its request id and however long it took."""

from __future__ import annotations

from typing import Any

import pytest

from aerogram.answer import Call, answer
from aerogram.archive import Archive
from aerogram.channels import POLICIES, Policy, Sizer
from aerogram.contract import Contract
from aerogram.reply import Reply

DIALECTS = ["response-v2", "standard-v2", "knowledge-1.0"]
ROWS = [{"id": f"row-{number}", "title": f"Title {number}", "text": f"Row {number} says. " * 8} for number in range(12)]
TIMES = 12
DURATIONS = [0.1, 3.0, 12.345, 987.6, 4_321.0]


class Desk:
    """A server whose replies are asked for again and again."""

    def __init__(self, dialect: str, policy: Policy) -> None:
        self.contract = Contract(dialect=dialect, channels=policy, archive=Archive.in_memory())
        self.sizer = Sizer(dialect, policy)

    async def answer(self, budget: int, duration: float = 1.0) -> Reply[Any]:
        call = Call(
            self.contract, operation="search", max_tokens=budget, started=self.contract.clock() - duration / 1000
        )
        reply = await answer(call, ROWS)
        assert reply.problem is not None or self.sizer(reply) <= budget
        return reply

    async def smallest(self) -> int:
        low, high = 1, 2_000
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if (await self.answer(middle)).problem is None else (middle, high)
        return high


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("policy", POLICIES)
async def test_the_outcome_does_not_depend_on_chance(dialect: str, policy: Policy) -> None:
    desk = Desk(dialect, policy)
    smallest = await desk.smallest()
    for budget in (smallest - 1, smallest, smallest + 5, smallest + 40, smallest + 200):
        outcomes = [await desk.answer(budget, DURATIONS[at % len(DURATIONS)]) for at in range(TIMES)]
        has_ids = dialect != "response-v2"  # which says none that nobody asked for
        assert len({one.request_id for one in outcomes}) == (TIMES if has_ids else 1)
        assert all(one.data == outcomes[0].data for one in outcomes)
        assert all(one.fidelity and one.fidelity.level for one in outcomes) is (budget >= smallest)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("policy", POLICIES)
async def test_the_budget_that_a_refusal_names_works_for_every_next_call(dialect: str, policy: Policy) -> None:
    desk = Desk(dialect, policy)
    smallest = await desk.smallest()
    for budget in (5, smallest // 2, smallest - 1):
        refused = (await desk.answer(budget)).problem
        assert refused is not None
        named = int(str(refused.remediation).split()[-2])
        for duration in DURATIONS:
            assert (await desk.answer(named, duration)).problem is None


async def test_a_reply_still_tells_the_size_that_it_has() -> None:
    desk = Desk("knowledge-1.0", "text")
    for budget in (500, 900):
        reply = await desk.answer(budget)
        assert reply.telemetry is not None
        assert reply.telemetry.tokens_estimated == pytest.approx(desk.sizer(reply), abs=1)
