"""Advice: what a caller can do about a reply that is too large, in the parameters that the call has.

    Levers(frozenset({"response_mode", "page_size", "max_tokens"}), mode="full")

Whoever knows the call says which parameters it has and what they are; only those are named, and only where they help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aerogram.shape.modes import MODES, Mode
from aerogram.tokens import Budget

__all__ = ["Levers"]

SMALLER_PAGES: Final = (25, 10, 5, 3, 2, 1)
_SHORTER: Final[tuple[Mode, ...]] = ("metadata", "ids_only")


@dataclass(frozen=True)
class Levers:
    """What a caller can change: the parameters of the call, and how much it shows now.

    `most` is the largest budget that `max_tokens` can ask for; None when anything can be asked for.
    """

    names: frozenset[str] = frozenset()
    mode: Mode = "full"
    most: int | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any], arguments: Mapping[str, Any], most: Budget | None = None) -> Levers:
        """The levers of a call: of the properties of its input schema, and of what it was called with.

        `most` is the budget that the call has at best.
        """
        mode = arguments.get("response_mode", parameters.get("response_mode", {}).get("default"))
        return cls(frozenset(parameters), mode if mode in MODES else "full", None if most is None else most.room)

    @property
    def leaner_modes(self) -> tuple[Mode, ...]:
        """The modes that show less, the richest first."""
        if "response_mode" not in self.names:
            return ()
        return tuple(mode for mode in _SHORTER if MODES.index(mode) < MODES.index(self.mode))

    def before_the_limit(self, rows: int, tokens: int | None) -> str | None:
        """What to do while a reply still fits into so many tokens; None when there is nothing to be done."""
        ways = [f"use {mode} mode" for mode in self.leaner_modes[:1]]
        if rows > 1 and "page_size" in self.names:
            ways.append("reduce page_size")
        if not ways and tokens is not None and self._can_ask_for(tokens + 1):
            ways.append("raise max_tokens")
        return _sentence(ways)

    def beyond_the_limit(
        self, rows: int, tokens: int | None, fits_in: Callable[[Mode], bool], fits_on: Callable[[int], bool]
    ) -> str | None:
        """What makes a reply fit that needs so many tokens; None when nothing does.

        `fits_in` says whether it would in a mode, `fits_on` whether a page of so many rows would.
        """
        ways = [f"use {mode} mode" for mode in self.leaner_modes if fits_in(mode)][:1]
        if "page_size" in self.names:
            ways += [f"reduce page_size to {size}" for size in SMALLER_PAGES if size < rows and fits_on(size)][:1]
        if tokens is not None and self._can_ask_for(tokens):
            ways.append(f"use max_tokens of at least {tokens}")
        return _sentence(ways)

    def _can_ask_for(self, tokens: int) -> bool:
        return "max_tokens" in self.names and (self.most is None or tokens <= self.most)


def _sentence(ways: Sequence[Any]) -> str | None:
    """One way or another."""
    if not ways:
        return None
    *others, last = ways
    said = f"{', '.join(others)} or {last}" if others else str(last)
    return said[0].upper() + said[1:]
