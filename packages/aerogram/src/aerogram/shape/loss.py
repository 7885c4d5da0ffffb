"""Loss: what a reduced value lacks against the original, found by walking the two side by side.

Only what was kept is walked, so the cost grows with the smaller of the two. Lists keep a beginning of their
items; what came after is dropped. The members of a map are its items too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from aerogram.content.jsontext import dumps, pointer_of
from aerogram.reply import FidelityLevel
from aerogram.reply.identity import Names
from aerogram.shape.text import shown_before

__all__ = ["LESS", "Loss", "describe_lacks", "is_map", "list_names", "loss_between"]

LESS: Final = "in less detail"
MOST_LACKS: Final = 6
MOST_LETTERS: Final = 60
"""So many members are named at most, in so many letters, and the others are counted."""
_PLAIN_NAME: Final = re.compile(r"[\w$@.-]{1,40}")

MOST_MEMBERS: Final = 100
"""An object with more members than this is no record."""


class Tail(NamedTuple):
    """A list that lost its items from `start` on, and the JSON Pointer to its place."""

    items: list[Any]
    start: int
    place: str

    def ids(self, names: Names, most: int | None = None) -> list[str | int]:
        """The identifiers of the lost items, or of the first `most` of them."""
        return names.ids(self.items, self.start, most, self.place)


@dataclass(slots=True)
class Loss:
    """How many items were dropped or shortened, the lists that lost a tail, and the names that maps lost."""

    total: int = 0
    kept: int = 0
    shortened: int = 0
    bare: int = 0
    clipped: int = 0
    omitted: int = 0
    tails: list[Tail] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        """The number of items that are not there at all."""
        return sum(len(tail.items) - tail.start for tail in self.tails) + len(self.names)

    @property
    def is_none(self) -> bool:
        """Whether nothing was lost."""
        return not (self.tails or self.names or self.shortened or self.clipped or self.omitted)

    @property
    def level(self) -> FidelityLevel:
        """The word for it: full, partial, summary or reference_only."""
        if self.is_none:
            return "full"
        if self.kept and self.bare == self.kept and not self.clipped:
            return "reference_only"
        if not self.dropped and self.kept and 2 * self.shortened > self.kept:
            return "summary"
        return "partial"

    def dropped_ids(self, names: Names, most: int | None = None) -> list[str | int]:
        """The identifiers of the dropped items, or of the first `most` of them."""
        found: list[str | int] = []
        for tail in self.tails:
            ids = tail.ids(names, None if most is None else most - len(found))
            found = found + ids if found else ids
        return [*found, *self.names[: None if most is None else most - len(found)]] if self.names else found


def loss_between(original: Any, reduced: Any) -> Loss:
    """What `reduced` lacks."""
    loss = Loss()
    _compare(original, reduced, loss, "")
    return loss


def _compare(original: Any, reduced: Any, loss: Loss, place: str) -> None:
    if original is reduced:
        _count_whole(original, loss)
    elif isinstance(original, list) and isinstance(reduced, list):
        _compare_lists(original, reduced, loss, place)
    elif isinstance(original, dict) and isinstance(reduced, dict):
        _compare_records(original, reduced, loss, place)
    elif original != reduced:
        loss.clipped += 1


def _compare_records(original: dict[str, Any], reduced: dict[str, Any], loss: Loss, place: str) -> None:
    items_by_name = is_map(original)
    if items_by_name:
        loss.total += len(original)
        loss.kept += len(reduced)
    for name, value in original.items():
        if name in reduced:
            _compare(value, reduced[name], loss, place + pointer_of((name,)))
            continue
        if items_by_name:
            loss.names.append(name)
            continue
        loss.omitted += 1
        if isinstance(value, list) and value:
            loss.total += len(value)
            loss.tails.append(Tail(value, 0, place + pointer_of((name,))))
        elif isinstance(value, dict) and is_map(value):
            loss.total += len(value)
            loss.names += value


def is_map(value: dict[str, Any]) -> bool:
    """Whether the members of an object are items under their names: records all, or more than a record has."""
    return len(value) > MOST_MEMBERS or (len(value) > 1 and all(isinstance(item, dict) for item in value.values()))


def _count_whole(value: Any, loss: Loss) -> None:
    if isinstance(value, list) or (isinstance(value, dict) and is_map(value)):
        loss.total += len(value)
        loss.kept += len(value)


def _compare_lists(original: list[Any], reduced: list[Any], loss: Loss, place: str) -> None:
    loss.total += len(original)
    loss.kept += len(reduced)
    if len(reduced) < len(original):
        loss.tails.append(Tail(original, len(reduced), place))
    for item, shown in zip(original, reduced, strict=False):
        if shown is not item and shown != item:
            loss.shortened += 1
            loss.bare += isinstance(shown, dict) and len(shown) == 1 < len(item)


def describe_lacks(pairs: Iterable[tuple[Any, Any]]) -> str:
    """What records lack as they are shown, in words: the members that are not there, and those that are there in part.

    What was largest comes first. A text that says itself that it was cut needs no word. A member that only some records
    lack is there in part.
    """
    gone: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    there: set[str] = set()
    for record, shown in pairs:
        for name, value in record.items() if isinstance(record, dict) and isinstance(shown, dict) else ():
            if value in (None, "", [], {}):
                continue
            if name not in shown:
                gone[name] += len(dumps(value))
                continue
            there.add(name)
            if _is_reduced(value, shown[name]):
                parts[name] += len(dumps(value))
    for name in gone.keys() & there:
        parts[name] += gone.pop(name)
    told = [f"with {list_names([name for name, _ in parts.most_common()])} in part"] if parts else []
    return (
        ", ".join([*told, f"without {list_names([name for name, _ in gone.most_common()])}"] if gone else told) or LESS
    )


def _is_reduced(value: Any, shown: Any) -> bool:
    return value != shown and not (isinstance(shown, str) and shown_before(shown) is not None)


def list_names(names: Sequence[str]) -> str:
    """The first names of members, and how many there are besides; odd ones are only counted."""
    named: list[str] = []
    for name in names[:MOST_LACKS]:
        if _PLAIN_NAME.fullmatch(name) and sum(map(len, named)) + len(name) <= MOST_LETTERS:
            named.append(name)
    others = len(names) - len(named)
    if not named:
        return f"{others} members" if others > 1 else "one member"
    return ", ".join(named) + (f" and {others} more" if others else "")
