"""Reduction: the richest version of a JSON value that costs no more than the room there is.

    records   share the room among their members: small ones stay whole, large ones get an equal part
    lists     lose detail before they lose items: first every item by its identifier, as far as they fit,
              then short facts about each, then the best-ranked items whole and previews of the others; what
              room is left after that goes to the first item that is not yet whole. With `detail_first`, items
              stay whole and the tail goes
    texts     become marked previews; one whose type stands beside it stays of this type, or goes with its name

Costs are those of the pieces, each counted once; the caller measures the whole.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from aerogram.identity import Names, id_member
from aerogram.jsontext import dumps
from aerogram.shape.announced import Announced, announced_in
from aerogram.shape.modes import MODES, Mode, RecordType, bare, in_mode
from aerogram.shape.mold import ANYTHING, Mold, lawful
from aerogram.shape.roll import Roll
from aerogram.shape.text import clip

__all__ = ["Part", "Reducer"]

BYTES_PER_UNIT: Final = 64
"""No piece is counted that has more bytes than this for each unit of room: it cannot fit."""
CHARACTERS_PER_UNIT: Final = 4
"""The first guess at how much text fits."""
ITEMS_PER_UNIT: Final = 4
"""As BYTES_PER_UNIT, for the items of a list."""
SHORTEST_CLIP: Final = 24
TEXT_ROUNDS: Final = 10
GOOD_FILL: Final = 0.97
MARK_COST: Final = 6
MISSES_PER_ROUND: Final = 6
LEAST_FILL: Final = 4
SAMPLED_ITEMS: Final = 20
ENRICHMENT: Final[tuple[Mode, ...]] = ("ids_only", "metadata", "full", "preview")
"""What room buys, in this order: short facts to choose by, the best-ranked items whole, a glimpse of the others."""


class Part(NamedTuple):
    """A reduced value and what it costs."""

    value: Any
    cost: float


class _Named(NamedTuple):
    """Items that are shown by their identifiers, and what they cost together."""

    shown: Sequence[Any] = ()
    cost: float = 0.0


@dataclass(slots=True)
class _Row:
    """An item of a list on its way from its identifier to its full detail."""

    item: Any
    shown: Any
    cost: float
    rank: int = -1


@dataclass
class Reducer:
    """Reduces values; `price` gives the cost of a piece of JSON text."""

    price: Callable[[str], float]
    kind: RecordType | None = None
    detail_first: bool = False
    clipper: Callable[[str, int], str] | None = None
    names: Names = field(default_factory=Names)
    walked: list[Any] | None = None
    """The rows of a page that goes on: the object that has them never loses them all, or they would be skipped."""
    # by identity, with the value itself so that the identity stays its own
    _known: dict[int, tuple[Any, float, int]] = field(default_factory=dict, init=False)
    _seen: dict[tuple[int, str, str | None], tuple[Any, Any]] = field(default_factory=dict, init=False)
    _rolls: dict[int, Roll] = field(default_factory=dict, init=False)
    _forms: dict[int, tuple[str, list[str]]] = field(default_factory=dict, init=False)
    _join: float = field(default=1.0, init=False)

    def reduce(self, value: Any, room: float, mold: Mold = ANYTHING, shared: str | None = None) -> Part | None:
        """The richest version of the value within the room; None when there is none.

        `shared` is the member that identifies the items of the list that the value is from.
        """
        cost = self.cost(value, room)
        if cost <= room:
            return Part(value, cost)
        if mold.keeps_whole(value):
            return None
        if isinstance(value, str):
            return self._reduce_text(value, room)
        if isinstance(value, dict):
            return self._reduce_record(value, room, mold, shared)
        if isinstance(value, list):
            return self._reduce_list(value, room, mold)
        return None

    def cost(self, value: Any, room: float) -> float:
        """What a value costs; infinity as soon as it is clear that it exceeds the room."""
        known = self._known.get(id(value))
        if known is not None and (known[1] < math.inf or known[2] > room * BYTES_PER_UNIT):
            return known[1]
        if self._exceeds(value, room):
            return math.inf
        text = dumps(value)
        cost = self.price(text.decode()) if len(text) <= (room + 1) * BYTES_PER_UNIT else math.inf
        if isinstance(value, (dict, list, str)):
            self._known[id(value)] = (value, cost, len(text))
        return cost

    def _exceeds(self, value: Any, room: float) -> bool:
        """Whether a beginning of a value already costs more than the room, without looking at the rest."""
        if isinstance(value, str):
            return len(value) > (room + 1) * BYTES_PER_UNIT
        if not isinstance(value, (list, dict)):
            return False
        if len(value) > room * ITEMS_PER_UNIT:
            return True
        spent = 0.0
        for item in value.values() if isinstance(value, dict) else value:
            spent += self.cost(item, room - spent)
            if spent > room * 1.1 + 8:  # pieces cost a little more alone than together
                return True
        return False

    def _reduce_text(self, text: str, room: float) -> Part | None:
        """Clip to what fits, guessing the length from the cost so far."""
        length = min(len(text) - 1, max(int(room * CHARACTERS_PER_UNIT), SHORTEST_CLIP))
        best: Part | None = None
        for _ in range(TEXT_ROUNDS):
            if length < SHORTEST_CLIP:
                break
            clipped = (self.clipper or clip)(text, length)
            part = Part(clipped, self.price(dumps(clipped).decode()))
            if part.cost <= room:
                if best is not None and len(clipped) <= len(best.value):
                    break
                best = part
                if part.cost >= room * GOOD_FILL or length == len(text) - 1:
                    break
            # a clip ends at the end of a sentence or a word, so a little less may come to the same
            wanted = length * max(room - MARK_COST, 1) / max(part.cost - MARK_COST, 1)
            length = min(int(wanted), len(text) - 1) if part.cost <= room else min(int(wanted), len(clipped) - 8)
        return best

    def _reduce_announced(self, announced: Announced, room: float, mold: Mold) -> Part | None:
        """The whole of it or the largest of its smaller forms that fits."""
        text = announced.text
        cost = self.cost(text, room)
        if cost <= room or mold.keeps_whole(text):
            return Part(text, cost) if cost <= room else None
        if id(text) not in self._forms:
            self._forms[id(text)] = text, list(announced.smaller())
        forms = self._forms[id(text)][1]
        first = bisect_left(forms, True, key=lambda form: self.cost(form, room) <= room)
        return Part(forms[first], self.cost(forms[first], room)) if first < len(forms) else None

    def _reduce_record(self, record: Mapping[str, Any], room: float, mold: Mold, shared: str | None) -> Part | None:
        """The members that there is room for; rows that are walked through are among them, be it one of them."""
        part = self._share_out(record, room, mold, shared)
        name = next((name for name, value in record.items() if value is self.walked), None) if self.walked else None
        if name is None or (part is not None and name in part.value):
            return part
        return self._with_rows(record, name, room, mold, shared)

    def _with_rows(
        self, record: Mapping[str, Any], name: str, room: float, mold: Mold, shared: str | None
    ) -> Part | None:
        """The record with the rows of this name: one of them comes before the other members, the rest after those."""
        rows, price = record[name], self.price(dumps(name).decode() + ":,")
        roll = self.roll(rows, mold.member(name))
        roll.within(0)  # it prices the first one
        others = {other: value for other, value in record.items() if other != name}
        least = self.price("[]") + roll.cost(1) + price
        part = self._share_out(others, room - least, mold, shared) or Part({}, self.price("{}"))
        shown = self.reduce(rows, room - part.cost - price, mold.member(name))
        if shown is None or not (mold.required & others.keys() <= part.value.keys()):
            return None
        kept = {**part.value, name: shown.value}
        return Part({one: kept[one] for one in record if one in kept}, part.cost + price + shown.cost)

    def _share_out(self, record: Mapping[str, Any], room: float, mold: Mold, shared: str | None) -> Part | None:
        """Water-filling: go through the members from the cheapest on, each within its share of what is left."""
        left = room - self.price("{}")
        names = [name for _, name in zip(range(int(room) + 1), record, strict=False)]
        vital = self._vital(record, mold, shared)
        prices = {name: self.price(dumps(name).decode() + ":,") for name in (*names, *vital)}
        costs = {name: self.cost(record[name], left) + prices[name] for name in prices}
        kept: dict[str, Any] = {}
        announced = announced_in(record)
        pending = sorted(prices, key=lambda name: (name not in vital, costs[name]))
        for count, name in enumerate(pending):
            share = left / (len(pending) - count) if name not in vital else left
            if announced is not None and name == announced.member:
                part = self._reduce_announced(announced, share - prices[name], mold.member(name))
            else:
                part = self.reduce(record[name], share - prices[name], mold.member(name))
            if part is None and name in mold.required:
                return None
            if part is not None:
                kept[name] = part.value
                left -= part.cost + prices[name]
        if announced is not None and announced.member not in kept and announced.type_member not in mold.required:
            kept.pop(announced.type_member, None)
        if not kept:
            return None
        return Part({name: kept[name] for name in record if name in kept}, room - left)

    def _vital(self, record: Mapping[str, Any], mold: Mold, shared: str | None) -> frozenset[str]:
        """The members that come first: what the schema requires and what identifies the record."""
        identifier = id_member(record, self.kind.ids_only if self.kind else (), shared)
        return frozenset(name for name in mold.required if name in record) | (
            {identifier} if identifier else frozenset()
        )

    def _reduce_list(self, items: list[Any], room: float, mold: Mold) -> Part | None:
        brackets = self.price("[]")
        left = room - brackets
        rows, named = self._rows(items, left, mold)
        if len(rows) + len(named.shown) < mold.fewest_items or (items and not rows):
            return None
        left -= sum(row.cost for row in rows) + named.cost
        if len(rows) == len(items) and not self.detail_first:
            left = self._enrich(rows, left, mold.item, self.names.shared_member(items))
        self._fill(rows, left, mold.item, self.names.shared_member(items))
        return Part([*(row.shown for row in rows), *named.shown], brackets + sum(row.cost for row in rows) + named.cost)

    def _rows(self, items: list[Any], left: float, mold: Mold) -> tuple[list[_Row], _Named]:
        """The rows to start from, and more items that stay as they are named because others are not even that."""
        if self.detail_first:
            return self._whole_rows(items, left, mold), _Named()
        self._learn_to_join(items)
        roll = self.roll(items, mold)
        count = roll.within(left)
        first = count if count == len(items) else min(count, MISSES_PER_ROUND)
        costs = [0.0, *roll.costs[:first]]
        rows = [_Row(items[at], roll.shown[at], costs[at + 1] - costs[at]) for at in range(first)]
        if not rows:
            return self._squeezed_first(items, left, mold), _Named()
        return rows, _Named(roll.shown[first:count], roll.cost(count) - roll.cost(first))

    def roll(self, items: list[Any], mold: Mold = ANYTHING) -> Roll:
        """The items of a list as they are named."""
        known = self._rolls.get(id(items))
        if known is None:
            known = self._rolls[id(items)] = Roll(items, self.price, self.kind, self.names, mold.item)
        return known

    def _learn_to_join(self, items: list[Any]) -> None:
        """What a separator adds, which may be less than nothing: `},{` is one token where `}` and `{` are two."""
        if self._rolls or len(items) < SAMPLED_ITEMS:
            return
        shared = self.names.shared_member(items)
        sample = [bare(item, self.kind, shared) for item in items[:SAMPLED_ITEMS]]
        alone = sum(self.price(dumps(item).decode()) for item in sample)
        together = self.price(dumps(sample).decode()) - self.price("[]")
        self._join = max((together - alone) / (SAMPLED_ITEMS - 1), -0.5 * alone / SAMPLED_ITEMS)

    def _whole_rows(self, items: list[Any], left: float, mold: Mold) -> list[_Row]:
        """As many items as fit in full; a first one that does not is reduced."""
        rows: list[_Row] = []
        for item in items:
            shown = self.view(item, "full", mold.item)
            cost = self.cost(shown, left) + self._join
            if cost > left:
                break
            rows.append(_Row(item, shown, cost, len(MODES) - 1))
            left -= cost
        return rows or self._squeezed_first(items, left, mold)

    def _squeezed_first(self, items: list[Any], left: float, mold: Mold) -> list[_Row]:
        part = self.reduce(items[0], left - self._join, mold.item, self.names.shared_member(items)) if items else None
        return [] if part is None else [_Row(items[0], part.value, part.cost + self._join, len(MODES) - 1)]

    def view(self, item: Any, mode: Mode, mold: Mold, shared: str | None = None) -> Any:
        """An item in a mode, with what its schema insists on put back."""
        seen = self._seen.get((id(item), mode, shared))
        if seen is None:
            shown = in_mode(item, mode, self.kind, shared)
            seen = (item, shown if mode == "full" else lawful(shown, item, mode, mold))
            self._seen[id(item), mode, shared] = seen
        return seen[1]

    def _enrich(self, rows: list[_Row], left: float, mold: Mold, shared: str | None) -> float:
        """Raise the detail of the rows mode by mode, best-ranked first; the room that remains."""
        for mode in ENRICHMENT:
            rank = MODES.index(mode)
            misses = 0
            for row in rows:
                if row.rank > rank:
                    continue
                shown = self.view(row.item, mode, mold, shared)
                if shown == row.shown:
                    row.rank = rank
                    continue
                cost = self.cost(shown, left + row.cost) + self._join
                if cost - row.cost <= left:
                    left -= cost - row.cost
                    row.shown, row.cost, row.rank = shown, cost, rank
                    continue
                misses += 1
                if misses == MISSES_PER_ROUND:
                    break
        return left

    def _fill(self, rows: list[_Row], left: float, mold: Mold, shared: str | None) -> None:
        """Give the room that is left to the first rows that are not whole yet."""
        tried = 0
        for row in rows:
            if left < LEAST_FILL or tried == MISSES_PER_ROUND:
                return
            if row.rank == len(MODES) - 1:
                continue
            tried += 1
            part = self.reduce(row.item, row.cost - self._join + left, mold, shared)
            if part is not None and part.cost + self._join > row.cost and _says_more(part.value, row.shown):
                left -= part.cost + self._join - row.cost
                row.shown, row.cost = part.value, part.cost + self._join


def _says_more(richer: Any, poorer: Any) -> bool:
    """Whether one version of an item is longer than another and has no fewer members."""
    if isinstance(richer, dict) and isinstance(poorer, dict) and len(richer) < len(poorer):
        return False
    return len(dumps(richer)) > len(dumps(poorer))
