"""Pairing: content and data that a handler returned together, parted for its contract and joined again in the result.

    (payload, structured) ──parted──▶ structured ──contract──▶ result ──joined──▶ result whose content is the payload

The budget of the call holds for both: the data is fitted as ever, and the content gets what that leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aerogram.contract import Call, Contract
from aerogram.jsontext import dumps
from aerogram.normalize.result import ToolResult
from aerogram.normalize.tool import is_pair, normalize_tool_result
from aerogram.reply import Reply
from aerogram.shape.blocks import fit_blocks
from aerogram.tokens import Budget

__all__ = ["Parted", "joined", "parted"]


class Parted(NamedTuple):
    """The content of a pair, and under which contract and for which call it will be joined to the data."""

    content: ToolResult
    contract: Contract
    call: Call


def parted(value: Any, contract: Contract, call: Call) -> tuple[Parted | None, Any]:
    """The two halves of a pair; any other value is data as it is."""
    if not is_pair(value):
        return None, value
    content = ToolResult.of(normalize_tool_result(value[0], policy=contract.forms))
    data = Reply(value[1], notices=content.notices) if content.notices else value[1]
    return Parted(content, contract, call), data


async def joined(half: Parted, result: dict[str, Any]) -> dict[str, Any]:
    """The result of the data with the content of the pair; a failure is told as ever.

    What travels beside the data stays, and where the data itself is told in the content, the content goes before it.
    """
    if result.get("isError"):
        return result
    content = await _within(half, result)
    rest = result["content"][1:] if "structuredContent" in result else result["content"]
    return {**result, "content": [*content, *rest]}


async def _within(half: Parted, result: dict[str, Any]) -> list[dict[str, Any]]:
    """The content in the room that the data leaves, once what was cut from it is archived."""
    contract, budget, blocks = half.contract, half.contract.limit(half.call), half.content.content
    if budget is None or contract.archive is None:
        return blocks
    taken = budget.counter.count(dumps(result.get("structuredContent")).decode())
    left = Budget(max(1, budget.limit - taken), budget.counter)
    shown, leftovers = fit_blocks(blocks, left, contract.retrieve)
    if leftovers:
        await contract.archive.put(*(one.content for one in leftovers), principal=half.call.principal)
    return shown
