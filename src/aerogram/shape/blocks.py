"""Blocks: the content of a result made small enough for a budget.

Texts are cut where they are longest, and say where the rest is; pictures and sounds become links where the wire
itself is limited. What was cut or replaced is left over, whole, for the archive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aerogram.content import Content
from aerogram.shape.fit import Leftover
from aerogram.shape.media import media_size, refer_media
from aerogram.shape.text import whole_characters
from aerogram.tokens import Budget

__all__ = ["FittedBlocks", "fit_blocks"]

Block = dict[str, Any]
FittedBlocks = tuple[list[Block], tuple[Leftover, ...]]


def fit_blocks(blocks: Sequence[Block], budget: Budget, retrieve: str | None) -> FittedBlocks:
    """The blocks within a budget; `retrieve` names the tool that gives archived content back."""
    shown = list(blocks)
    leftovers: tuple[Leftover, ...] = ()
    if budget.counter.unit == "bytes":
        texts = sum(len(str(block.get("text", "")).encode()) for block in blocks)
        shown, leftovers = refer_media(shown, max(budget.room - texts, 0))
    cut: list[Leftover] = []
    for at in sorted(range(len(shown)), key=lambda one: -len(str(shown[one].get("text", "")))):
        over = _taken(shown, budget) - budget.room
        if over <= 0 or shown[at].get("type") != "text":
            break
        content = Content.of_text(shown[at]["text"])
        room = budget.counter.count(shown[at]["text"]) - over
        shown[at] = {**shown[at], "text": _shortened(shown[at]["text"], room, budget, content.hash, retrieve)}
        cut.append(Leftover(f"text-{at}", content))
    return shown, (*leftovers, *cut)


def _taken(blocks: Sequence[Block], budget: Budget) -> int:
    """How much of the budget the blocks take; media count only where bytes do."""
    media = sum(map(media_size, blocks)) if budget.counter.unit == "bytes" else 0
    return media + sum(budget.counter.count(block["text"]) for block in blocks if block.get("type") == "text")


def _shortened(text: str, room: int, budget: Budget, digest: str, retrieve: str | None) -> str:
    """The longest beginning that fits with a line that says where the rest is."""
    call = f'{retrieve}(hash="{digest}", as_text=true)' if retrieve else digest
    mark = f"\n… [{len(text)} characters in all: {call}]"
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if budget.counter.count(text[:middle] + mark) <= room:
            low = middle
        else:
            high = middle - 1
    return text[: whole_characters(text, low)] + mark
