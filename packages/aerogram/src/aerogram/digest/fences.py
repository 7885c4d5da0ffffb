"""Fences: where blocks of code stand in a text, between lines of backticks or tildes as in Markdown.

A block is closed by a line of the same sign, at least as long as the one that opened it, and with nothing after it.
What looks like a fence before that belongs to the code.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aerogram.digest.text import page_spans

__all__ = ["Block", "blocks_of", "fence_after", "is_fence", "leaves_open"]

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_LINE = re.compile(r"(?<![^\n\f])[ \t]*(?:```|~~~)[^\n\f]*")


class Block(NamedTuple):
    """A block of code with the lines of its fences; one that is not closed goes on to the end of its page."""

    start: int
    end: int
    is_closed: bool


def blocks_of(text: str) -> list[Block]:
    """All blocks of code in order; none crosses a page."""
    found: list[Block] = []
    for first, last in page_spans(text):
        fence, opened = "", first
        for line in _LINE.finditer(text, first, last):
            before, fence = fence, fence_after(fence, line[0])
            if fence and not before:
                opened = line.start()
            elif before and not fence:
                found.append(Block(opened, line.end(), True))
        if fence:
            found.append(Block(opened, last, False))
    return found


def fence_after(fence: str, line: str) -> str:
    """The fence that is open after a line, if `fence` is before it; none is empty."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) and not line[found.end() :].strip() else fence


def is_fence(line: str) -> bool:
    """Whether a line looks like a fence, wherever it stands."""
    return _FENCE.match(line) is not None


def leaves_open(text: str) -> bool:
    """Whether a text by itself has a fence that nothing closes."""
    return not all(block.is_closed for block in blocks_of(text))
