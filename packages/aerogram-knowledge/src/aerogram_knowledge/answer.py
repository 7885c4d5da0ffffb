"""Answers: a page of the index as a finished reply: complete for its dialect, and within a budget.

What does not fit on a page is not lost: the cursor goes on after the last result that fitted.
"""

from __future__ import annotations

from typing import Any

from aerogram.contract import Call, Contract
from aerogram.reply import Reply
from aerogram.shape.pages import Paged
from aerogram.tokens import Budget
from aerogram_knowledge.results import KINDS

__all__ = ["finished"]


def finished(paged: Paged, call: Call, dialect: str, budget: int | str | Budget | None = None) -> Reply[Any]:
    """The reply as it is sent, as one JSON body."""
    contract = Contract(dialect=dialect, channels="text", kinds=KINDS, budget=budget)
    return contract.counted(contract.fitted(paged, call).reply, call)
