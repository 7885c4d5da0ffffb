"""Answers: a page of the index as a finished reply: complete for its dialect, and within a budget.

What does not fit on a page is not lost: the cursor goes on after the last result that fitted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aerogram.contract import Call, Contract
from aerogram.knowledge.results import KINDS
from aerogram.reply import Reply
from aerogram.shape.fit import fit
from aerogram.shape.pages import Paged
from aerogram.tokens import Budget, best_counter
from aerogram.wire.channels import Sizer

__all__ = ["finished"]


def finished(paged: Paged, call: Call, dialect: str, budget: int | str | Budget | None = None) -> Reply[Any]:
    """The reply as it is sent, as one JSON body."""
    contract = Contract(dialect=dialect, channels="text", kinds=KINDS)
    reply = contract.completed(paged.reply, call)
    if budget is None:
        return _counted(contract, reply)
    limit = Budget.of(budget)
    measure = Sizer(contract.speaker, contract.channels, limit.counter)
    kind = KINDS.get(call.operation)
    return fit(reply, limit.room, measure=measure, kind=kind, archive=False, resume=paged.resume).reply


def _counted(contract: Contract, reply: Reply[Any]) -> Reply[Any]:
    """The reply with what it costs, counted on its body."""
    if reply.telemetry is None:
        return reply
    size = Sizer(contract.speaker, contract.channels, best_counter())(reply)
    return reply.replace(telemetry=replace(reply.telemetry, tokens_estimated=size, tokens_used=size))
