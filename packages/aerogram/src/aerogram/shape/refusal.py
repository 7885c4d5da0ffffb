"""Refusals: what is said when no part of a reply fits into its budget, and what its caller can do about that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from aerogram.reply import Reply
from aerogram.reply.identity import Names
from aerogram.shape.controls import Levers
from aerogram.shape.modes import Mode, RecordType, in_mode
from aerogram.shape.pages import Rows, rows_of

__all__ = ["SPARE", "Refusal"]

STAMPED: Final = ("request_id", "operation", "timestamp", "telemetry", "client_tag")
"""What a refusal keeps of the reply that it takes the place of."""
SPARE: Final = 10
"""By so much a page may be larger than another that is as long and has as long a cursor."""


@dataclass(frozen=True)
class Refusal:
    """A reply that does not fit, and `serves`, which knows whether some data in its place would fit into a budget.

    `counter` counts sizes, `before` is that of the whole reply. What is cut anywhere (`is_cut`) gains nothing from
    shorter pages. With `is_ahead`, a walk begins with what does not fit, and the reply is its hardest page. `begins`
    knows whether data in place of the `first`, which was asked for, would fit, with word of what it would have to leave
    out.
    """

    reply: Reply[Any]
    budget: int
    before: int
    counter: Any
    serves: Callable[[Any, int], bool]
    levers: Levers | None = None
    kind: RecordType | None = None
    names: Names = field(default_factory=Names)
    is_cut: bool = False
    is_ahead: bool = False
    first: Any = None
    begins: Callable[[Any, int], bool] = lambda *_: True

    def refuse(self) -> Reply[Any]:
        """The failure that names the sizes and the remedy."""
        limit, _ = self._spell(self.budget).split()
        is_one = self.before > self.budget or not self.is_ahead
        size = self._spell(self.before if is_one else self._needed)
        said = f"{'Response would use' if is_one else 'Its pages would need'} {size}, limit is {limit}"
        refused: Reply[Any] = Reply.failed("TOKEN_LIMIT_EXCEEDED", said, remediation=self._remedy())
        kept = {name: getattr(self.reply, name) for name in STAMPED}
        if self.reply.telemetry is not None and self.reply.telemetry.billable_units:
            kept["telemetry"] = replace(self.reply.telemetry, billable_units=0)  # nothing was answered
        return refused.replace(**kept)

    def _spell(self, size: int) -> str:
        """A size in the words of whoever counts."""
        spell = getattr(self.counter, "spell", None)
        if spell is not None:
            return str(spell(size))
        return f"{size} {self.counter.unit if self.counter is not None else 'units'}"

    def _remedy(self) -> str:
        """What the caller can do so that the next call is answered."""
        enough = f"a budget of at least {self._spell(self._needed)}"
        if self.levers is None:
            return f"Use {enough}"
        rows = rows_of(self.reply.data) or Rows([])
        is_in_tokens = self.counter is not None and self.counter.unit == "tokens"
        tokens = self._needed if is_in_tokens else None
        advice = self.levers.beyond_the_limit(len(rows.items), tokens, self._fits_in, self._fits_on)
        return advice or f"Nothing in this call makes the reply small enough; its server has to allow {enough}"

    def _fits_in(self, mode: Mode) -> bool:
        """Whether the reply would fit in a mode, with which a walk would begin anew."""
        room = self.budget - (SPARE if self.is_cut else 0)
        return self.serves(self._in_mode(self.reply.data, mode), room) and self.begins(
            self._in_mode(self.first, mode), self.budget
        )

    def _in_mode(self, data: Any, mode: Mode) -> Any:
        rows = rows_of(data)
        if rows is None or (rows.name is not None and not self.is_cut):
            return in_mode(data, mode, self.kind)
        shared = self.names.shared_member(rows.items)
        return rows.replaced(data, [in_mode(row, mode, self.kind, shared) for row in rows.items])

    def _fits_on(self, size: int) -> bool:
        """Whether a page of so many rows would fit; one that goes on anywhere is as small already."""
        rows, page = rows_of(self.reply.data), self.reply.page
        has_cursor = page is not None and page.cursor is not None
        if rows is None or self.is_cut or not has_cursor:
            return False
        return self.serves(rows.replaced(self.reply.data, rows.items[:size]), self.budget)

    @cached_property
    def _needed(self) -> int:
        """The smallest budget that works, in tens."""
        spare = SPARE if self.is_ahead else 0
        too_little, enough = (self.budget - spare) // 10, (self.budget - spare) // 10 + 1
        while not self._is_enough(enough * 10):
            too_little, enough = enough, enough * 5 // 4 + 1
        while enough - too_little > 1:
            middle = (too_little + enough) // 2
            if self._is_enough(middle * 10):
                enough = middle
            else:
                too_little = middle
        is_of_two = hasattr(self.counter, "spell")  # figures in the reply are then scaled
        return enough * 10 + spare + (enough * 10 // 25 if is_of_two else 0)

    def _is_enough(self, budget: int) -> bool:
        return self.serves(self.reply.data, budget) and self.begins(self.first, budget)
