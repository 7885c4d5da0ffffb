"""What is shown of an answer, in words: how much of it, and the call that brings back the whole.

Fitting writes these words into a notice. Whoever reads a body in which a contract has no other place for them reads
them back, so both are here: to word them otherwise, change the two together.

    27 of 300 shown, without body; whole: retrieve(hash='cc2985b6e52d')
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from aerogram.codes import ABOUT_SIZE
from aerogram.reply import Fidelity, FidelityLevel, Notice

__all__ = ["add_call", "drop_call", "read_fidelity", "read_total", "say_shown"]

_CALL: Final = re.compile(r"; (?:more|whole): ")
_COUNT: Final = re.compile(r"\d+ of (?P<total>\d{1,12}) shown")
_LOSS: Final = re.compile(
    r"(?:^(?P<shown>\d{1,12}) of \d+ shown(?P<less>, (?:the last (?P<last>\d{1,12}) )?without [^;]*)?)?"
    r"; (?:whole|more): [\w./-]+\(hash='(?P<digits>[0-9a-f]{12})'"
)


def say_shown(shown: int, total: int | str, detail: str = "") -> str:
    """How many are shown of how many, and what some of them lack."""
    return f"{shown} of {total} shown{detail}"


def add_call(words: str, retrieve: str, digits: str, given: str = "", way: str = "whole") -> str:
    """The words, and the call that brings back the whole, or goes on from where it ends: `way` is whole or more."""
    return f"{words}; {way}: {retrieve}(hash='{digits}'{given})"


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
