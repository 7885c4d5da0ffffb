"""Places: the pointers in notices, kept true where a reply shows some of the rows that they were made for.

A notice about one place goes with its row, and is shifted to where that row stands on its page. One about many places
names those that are on the page, or else says that it speaks of all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from aerogram.content.jsontext import is_index
from aerogram.reply import Notice, Reply

__all__ = ["move_notices"]

Move: TypeAlias = Callable[[str], str | None]
_TOLD: Final = re.compile(
    r"(?P<pointers>(?P<pointer>/[^\s,]*)(?:, /[^\s,]*)*)(?: and (?P<more>[\d,]+) more places)?(?= \(\w+\): )"
)
"""The place or places with which a notice begins."""
_DATA: Final = "/data"
_REPLY: Final = "out of this reply"
_ROWS: Final = "out of all rows"


def move_notices(reply: Reply[Any], place: str, start: int, count: int) -> Reply[Any]:
    """The reply with its notices for the `count` rows from `start` on; `place` is where in the data rows stand."""

    def move(pointer: str) -> str | None:
        if not pointer.startswith(f"{place}/"):
            return pointer
        row, slash, rest = pointer.removeprefix(f"{place}/").partition("/")
        if not is_index(row):
            return pointer
        return f"{place}/{int(row) - start}{slash}{rest}" if start <= int(row) < start + count else None

    moved = tuple(one for notice in reply.notices if (one := _move(notice, notice.context or {}, move)) is not None)
    return reply if moved == reply.notices else reply.replace(notices=moved)


def _move(notice: Notice, context: Mapping[str, Any], move: Move) -> Notice | None:
    places = context.get("places")
    if isinstance(places, list):
        return _move_places(notice, context, [one for one in places if isinstance(one, str)], move)
    found = _TOLD.match(notice.message)  # its context may have been left out
    if found is None or all(move(one) == one for one in found["pointers"].split(", ")):
        return notice
    here = move(found["pointer"])
    words = notice.message[found.end() :]
    if found["more"] is not None:  # of many places the first are named
        count = int(found["more"].replace(",", "")) + found["pointers"].count(", /") + 1
        rest = {name: value for name, value in context.items() if name != "pointer"}
        return replace(notice, message=f"{count:,} places in all rows{words}", context=rest or None)
    if here is None:
        return None
    return replace(notice, message=f"{here}{words}", context=context and {**context, "pointer": here})


def _move_places(notice: Notice, context: Mapping[str, Any], places: list[str], move: Move) -> Notice:
    """A notice about many places, which stays: what was done to other rows is told as such."""
    moved = (move(one.removeprefix(_DATA)) if one.startswith(_DATA) else one for one in places)
    here = [one if one in places else _DATA + one for one in moved if one is not None]
    if here == places:
        return notice
    return replace(notice, message=notice.message.replace(_REPLY, _ROWS), context={**context, "places": here})
