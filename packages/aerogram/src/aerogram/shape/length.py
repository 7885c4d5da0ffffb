"""Length: how many characters of a text fit, found in a few tries by what the characters so far have cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aerogram.content.jsontext import dumps
from aerogram.tokens import LONGEST_TOKEN

__all__ = ["longest"]


ROUNDS: Final = 6
LOOSE: Final = 0.06
"""By such a share of the room the price of a text may be off."""
WIDE: Final = 1_000
SEAM: Final = 8
"""In a budget as wide as this, so much may stay empty where two pieces of a text are counted one by one."""
LITTLE: Final = 100
"""So many characters of a page may stay empty where a text comes in pages."""


def longest(text: str, size: Callable[[int], int], budget: int, price: Callable[[str], float], *, goes_on: bool) -> int:
    """How many characters of a text fit: `size` is that of so many, `price` what a piece of JSON adds to it.

    With `goes_on`, the next page has the rest.
    """
    low, high = 0, min(len(text), budget * LONGEST_TOKEN)
    most_given_up = LITTLE if goes_on else high  # what goes on page by page makes few of them
    guess, frame = min(high, budget * 3), None
    tried = 0
    while low < high and (tried < 3 * ROUNDS or not low):  # what fits by a character only is found as well
        found = size(guess)
        if not tried and not goes_on and budget >= WIDE:
            near = _nearly_longest(text, guess, budget - SEAM - found, budget, price)
            if near and size(near) <= budget:  # what two channels cost together is only known about
                return near
        if frame is None:  # what the words cost that stand around it, and those that are said in two channels
            frame = max(found - price(text[:guess]), 0)
        little = min(max(guess // 100, 8), most_given_up)
        left = int((budget - found) * guess / max(found - frame, 1))  # by what a character costs here
        if found <= budget:
            low = guess
        else:
            high = guess - 1
        if low and (high - low <= little or (low == guess and left <= little)):
            break
        # a little before the end, so that the first try that fits is mostly the last one
        aim = guess + left - (little // 4 if tried < ROUNDS else 0)
        guess = aim if low < aim <= high and tried < ROUNDS else (low + high + 1) // 2
        tried += 1
    return low


def _nearly_longest(text: str, measured: int, left: int, budget: int, price: Callable[[str], float]) -> int:
    """How many characters of a long text fit, where those that were `measured` leave so much; 0 where nobody knows.

    Only what is added or taken away is counted: as JSON, which may be said to cost more than it does, and as it is.
    """
    start = measured
    length = measured / (budget - left) * 1.1  # of what costs one, about
    if left < 0:
        start = max(measured + int(left * length), 0)
        left += int(price(text[start:measured]))
    end = min(len(text), start + int(max(left, 0) * length))
    for _ in range(3):
        cost = price(dumps(text[start:end]).decode())
        if cost <= left:
            return end if left - cost <= budget * LOOSE else 0
        end = start + int((end - start) * left / cost * 0.99)
    return 0
