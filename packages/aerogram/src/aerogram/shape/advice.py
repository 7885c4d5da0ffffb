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

    `most` is the largest budget that the server allows, `agreed` the one that the client has set for all of its calls;
    None when there is none. With `is_walking`, the call has a cursor, which belongs to one mode.
    """

    names: frozenset[str] = frozenset()
    mode: Mode = "full"
    most: int | None = None
    agreed: int | None = None
    is_walking: bool = False

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, Any],
        arguments: Mapping[str, Any],
        most: Budget | None = None,
        agreed: int | None = None,
    ) -> Levers:
        """The levers of a call: of the properties of its input schema, and of what it was called with.

        `most` is the budget that the call has at best, `agreed` the tokens that its client has set.
        """
        mode = arguments.get("response_mode", parameters.get("response_mode", {}).get("default"))
        return cls(
            frozenset(parameters),
            mode if mode in MODES else "full",
            None if most is None else most.room,
            agreed,
            arguments.get("cursor") is not None,
        )

    @property
    def leaner_modes(self) -> tuple[Mode, ...]:
        """The modes that show less, the richest first."""
        if "response_mode" not in self.names:
            return ()
        return tuple(mode for mode in _SHORTER if MODES.index(mode) < MODES.index(self.mode))

    def before_the_limit(self, rows: int, tokens: int | None) -> str | None:
        """What to do while a reply still fits into so many tokens; None when there is nothing to be done."""
        ways = [f"use {mode} mode" for mode in self.leaner_modes[:1] if not self.is_walking]
        if rows > 1 and "page_size" in self.names:
            ways.append("reduce page_size")
        if not ways and tokens is not None and (where := self._place_for(tokens + 1)) is not None:
            ways.append(f"raise max_tokens{where}")
        return _sentence(ways)

    def beyond_the_limit(
        self, rows: int, tokens: int | None, fits_in: Callable[[Mode], bool], fits_on: Callable[[int], bool]
    ) -> str | None:
        """What makes a reply fit that needs so many tokens; None when nothing does.

        `fits_in` says whether it would in a mode, `fits_on` whether a page of so many rows would.
        """
        modes = [mode for mode in self.leaner_modes if fits_in(mode)][:1]
        ways = [f"use {mode} mode" for mode in modes if not self.is_walking]
        if "page_size" in self.names:
            ways += [f"reduce page_size to {size}" for size in SMALLER_PAGES if size < rows and fits_on(size)][:1]
        if tokens is not None and (where := self._place_for(tokens)) is not None:
            ways.append(f"use max_tokens of at least {tokens}{where}")
        if self.is_walking:  # another mode is another walk
            ways += [f"start again without the cursor in {mode} mode" for mode in modes]
        return _sentence(ways)

    def _place_for(self, tokens: int) -> str | None:
        """Where so many tokens can be asked for: with the call, or in settings that it can only go below."""
        if self.most is not None and tokens > self.most:
            return None
        if self.agreed is not None and tokens > self.agreed:
            return " in the client's settings of the extension"
        return "" if "max_tokens" in self.names else None


def _sentence(ways: Sequence[Any]) -> str | None:
    """One way or another."""
    if not ways:
        return None
    *others, last = ways
    said = f"{', '.join(others)} or {last}" if others else str(last)
    return said[0].upper() + said[1:]
