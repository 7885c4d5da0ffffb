"""Settings: what the one who sweeps knows about a server that the server itself does not tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aerogram._http.negotiation import Versions
from aerogram.answer import Call
from aerogram.contract import Contract
from aerogram.dialects.protocol import Dialect
from aerogram.errors import strays
from aerogram.tokens import Budget

__all__ = ["Arguments", "SweepSettings"]

Arguments: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """Examples and expectations, by the name of the tool, resource or route."""

    examples: Mapping[str, Arguments | Sequence[Arguments]] = field(default_factory=dict)
    faults: Mapping[str, Arguments] = field(default_factory=dict)
    bursts: Mapping[str, int] = field(default_factory=dict)
    secrets: Collection[str] = ()
    skip: Collection[str] = ()
    contract: Contract | None = None
    dialect: str | Dialect | None = None
    versions: Versions | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    patience: float = 10.0

    def examples_of(self, *names: str) -> list[Arguments]:
        """The examples under the first of these names that has any."""
        for name in names:
            if name in self.examples:
                given = self.examples[name]
                return [given] if isinstance(given, Mapping) else list(given)
        return []

    def strays(self, targets: Collection[str], others: Collection[str], what: str) -> list[str]:
        """What is to be said of names that nothing has; `others` are names for examples and for what to skip only."""
        asked = {"faults": self.faults, "bursts": self.bursts}
        named = {"examples": self.examples, "skip": self.skip}
        return [*strays(asked, targets, what), *strays(named, {*targets, *others}, what)]

    def limit(self, operation: str, arguments: Arguments, advertised: Budget | None = None) -> Budget | None:
        """The budget of a call, as far as it is known: the server's or its operation's, and what the caller asked."""
        asked = arguments.get("max_tokens")
        most = asked if type(asked) is int and asked > 0 else None
        if self.contract is not None:
            return Call(self.contract, operation=operation, max_tokens=most).budget
        if most is None:
            return advertised
        return Budget.of(most) if advertised is None else advertised.within(Budget.of(most))
