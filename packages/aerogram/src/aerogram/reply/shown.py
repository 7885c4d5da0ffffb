"""What is shown of an answer, in words: how much of it, and the calls that bring back the rest.

Fitting writes these words into a notice. Whoever reads a body in which a contract has no other place for them reads
them back, so both are here: to word them otherwise, change the two together. Every such line is one sentence:

    SHOWN[, LACKS][, CAUSE]; more: CALL[; end: OFFSET]      goes on where it ends
    SHOWN[, LACKS][, CAUSE]; whole: CALL[; end: OFFSET]     all of it, with what it lacks
    SHOWN; next: CURSOR                                     the page after this one

    40 of 600 shown; more: retrieve(hash='743d90c9da88', offset=40); end: offset=-30
    27 of 300 shown, without body; whole: retrieve(hash='cc2985b6e52d'); end: offset=-8
    49 of 480 rows, 2 of 9 tags shown; more: retrieve(hash='73c4a52b7ef5', path='/rows', offset=49), the others likewise
    4499 of 18505 characters shown (29 of 120 entries), ended by the budget of 2000 tokens, not by limit=120; more: …
    41 to 80 of 600 shown; more: retrieve(hash='743d90c9da88', offset=80)

The end is the same call with another offset, and is told where the next call would not reach it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from aerogram.codes import ABOUT_SIZE
from aerogram.reply import Fidelity, FidelityLevel, Notice

__all__ = ["add_call", "count_last", "drop_call", "read_fidelity", "read_total", "say_cause", "say_page", "say_shown"]

PAGES_BEFORE_END: Final = 3
"""Where there is more than so many times what is shown, the way to the end is told as well."""
LAST: Final = 0.8
"""So much of what is shown is asked for from the end, so that it fits as well."""

_CALL: Final = re.compile(r"; (?:more|whole): ")
_COUNT: Final = re.compile(r"\d+ of (?P<total>\d{1,12}) shown")
_LOSS: Final = re.compile(
    r"(?:^(?P<shown>\d{1,12}) of \d+ shown(?P<less>, (?:the last (?P<last>\d{1,12}) )?(?:with|in )[^;]*)?[^;]*)?"
    r"; (?:whole|more): [\w./-]+\(hash='(?P<digits>[0-9a-f]{12})'"
)


def say_shown(shown: int, total: int | str, what: str = "", detail: str = "") -> str:
    """How many are shown of how many, and of what, and what some of them lack."""
    return f"{shown} of {total} {what} shown{detail}" if what else f"{shown} of {total} shown{detail}"


def say_page(offset: int, count: int, total: int | None, what: str = "") -> str:
    """Which part of a whole a page is."""
    if offset and total is not None:
        return f"{offset + 1} to {say_shown(offset + count, total, what)}"
    return f"{count} shown" if total is None else say_shown(count, total, what)


def say_cause(budget: int, unit: str, asked: str) -> str:
    """What ended an answer whose size its caller had chosen."""
    return f", ended by the budget of {budget} {unit}, not by {asked}"


def count_last(shown: int, total: int) -> int:
    """How many are to be asked for from the end, in a round number; 0 where the next call reaches it.

    One alone is no end.
    """
    last = int(shown * LAST)
    if shown * PAGES_BEFORE_END >= total or last <= 1:
        return 0
    digits = str(last)
    return int(digits[0].ljust(len(digits), "0"))


def add_call(
    words: str, retrieve: str, digits: str, given: str = "", way: str = "whole", besides: str = "", last: int = 0
) -> str:
    """The words, and the call that brings back the whole, or goes on from where it ends: `way` is whole or more.

    `besides` is said of the call; the `last` so many are had by another offset.
    """
    end = f"; end: offset=-{last}" if last else ""
    return f"{words}; {way}: {retrieve}(hash='{digits}'{given}){besides}{end}"


def drop_call(words: str) -> str:
    """The words without the call."""
    return _CALL.split(words)[0]


def read_fidelity(notices: Iterable[Notice]) -> Fidelity | None:
    """How complete an answer is by the words of its warnings, which name the hash of the whole."""
    for notice in notices:
        found = _LOSS.search(notice.message) if notice.code in ABOUT_SIZE else None
        if found is not None:
            shown, lower = int(found["shown"] or 0), int(found["last"] or (found["shown"] if found["less"] else 0) or 0)
            level: FidelityLevel = "summary" if lower * 2 > shown else "partial"
            return Fidelity(level, archive_hashes={"data": f"sha256:{found['digits']}"})
    return None


def read_total(words: str) -> int | None:
    """How many there are in all, where words say only that."""
    found = _COUNT.fullmatch(words)
    return None if found is None else int(found["total"])
