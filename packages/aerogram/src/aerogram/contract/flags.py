"""Flags: the registry of features that can be switched on and off, for everyone or for one client.

    experimental ──▶ beta ──▶ stable ──▶ deprecated ──▶ removed
    off unless switched on    on unless switched off    always off

A call into a feature that is off ends with FEATURE_DISABLED, unless the feature has a fallback; then the fallback
serves, and the reply says so. A contract asks `require` before a handler that stands behind a flag, and `decide`
where there is a fallback; the decision's notices go into the reply.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from aerogram.errors import AerogramError, FeatureDisabled
from aerogram.reply import Notice

__all__ = ["RESPONSE_CONTRACT_V2", "Decision", "Flag", "Flags", "UnknownFlag"]

State: TypeAlias = Literal["experimental", "beta", "stable", "deprecated", "removed"]
STATES: Final[tuple[State, ...]] = get_args(State)
VARIABLE: Final = "AEROGRAM_FLAGS"
_WORDS: Final = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
_ON_BY_ITSELF: Final = frozenset({"stable", "deprecated"})


class UnknownFlag(AerogramError, LookupError):
    """There is no flag of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"unknown feature flag {name!r}; known: {', '.join(known) or 'none'}")


@dataclass(frozen=True, slots=True)
class Flag:
    """A feature: where it is in its life, what it needs, and what serves when it is off.

    `enabled` overrides what follows from the state. `fallback_is_deprecated` warns those who are served by it.
    """

    name: str
    description: str = ""
    state: State = "stable"
    enabled: bool | None = None
    requires: tuple[str, ...] = ()
    fallback: str | None = None
    fallback_is_deprecated: bool = False
    replacement: str | None = None

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"the state of a flag is one of {', '.join(STATES)}, not {self.state!r}")

    @property
    def default(self) -> bool:
        """Whether it is on when nobody switched it."""
        return self.state in _ON_BY_ITSELF if self.enabled is None else self.enabled


RESPONSE_CONTRACT_V2: Final = Flag(
    "response_contract_v2",
    "Replies have the response-v2 envelope",
    fallback="the legacy format",
    fallback_is_deprecated=True,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a feature is on for a client, and what to tell the client about it."""

    flag: Flag
    enabled: bool
    notices: tuple[Notice, ...] = ()

    @property
    def serves(self) -> str | None:
        """The feature itself, or its fallback, or nothing."""
        return self.flag.name if self.enabled else self.flag.fallback


class Flags:
    """Declared features and how they are switched; a client's own switch goes before the general one."""

    def __init__(self, *flags: Flag) -> None:
        self._flags: dict[str, Flag] = {}
        self._switches: dict[tuple[str, str | None], bool] = {}
        self.on_for_all: frozenset[str] = frozenset()
        """The features that are on whoever asks, so that nobody has to be asked."""
        for flag in flags:
            self.declare(flag)

    @classmethod
    def from_environment(cls, *flags: Flag, variable: str = VARIABLE) -> Self:
        """Flags switched as an environment variable says: `AEROGRAM_FLAGS="response_contract_v2=off,search=on"`."""
        found = cls(*flags)
        for setting in filter(None, map(str.strip, os.environ.get(variable, "").split(","))):
            name, _, word = setting.partition("=")
            if word.strip().lower() not in _WORDS:
                raise ValueError(f"{variable} has {setting!r}; a flag is switched with name=on or name=off")
            found.switch(name.strip(), on=_WORDS[word.strip().lower()])
        return found

    def declare(self, flag: Flag) -> None:
        """Add a feature; what it requires must have been declared before."""
        if flag.name in self._flags:
            raise ValueError(f"the flag {flag.name!r} is declared twice")
        for name in flag.requires:
            self._flag(name)
        self._flags[flag.name] = flag
        self._settle()

    def __iter__(self) -> Iterator[Flag]:
        return iter(self._flags.values())

    def __contains__(self, name: object) -> bool:
        return name in self._flags

    def switch(self, name: str, *, on: bool | None, client: str | None = None) -> None:
        """Switch a feature for everyone or for one client; None goes back to the default."""
        flag = self._flag(name)
        if on and flag.state == "removed":
            raise ValueError(f"the feature {name!r} was removed and cannot be switched on")
        if on is None:
            self._switches.pop((name, client), None)
        else:
            self._switches[name, client] = on
        self._settle()

    def advance(self, name: str, state: State) -> None:
        """Move a feature on in its life; there is no way back."""
        flag = self._flag(name)
        if STATES.index(state) <= STATES.index(flag.state):
            raise ValueError(f"the feature {name!r} is {flag.state} and cannot become {state}")
        self._flags[name] = replace(flag, state=state)
        self._settle()

    def _settle(self) -> None:
        switched = {name for name, _ in self._switches}
        alone = (flag for flag in self if not flag.requires and flag.name not in switched)
        self.on_for_all = frozenset(flag.name for flag in alone if flag.state != "removed" and flag.default)

    def is_enabled(self, name: str, client: str | None = None) -> bool:
        """Whether a feature is on, for this client."""
        flag = self._flag(name)
        if flag.state == "removed":
            return False
        if flag.requires and not all(self.is_enabled(one, client) for one in flag.requires):
            return False
        general = self._switches.get((name, None), flag.default)
        return general if client is None else self._switches.get((name, client), general)

    def decide(self, name: str, client: str | None = None) -> Decision:
        """Whether the feature or its fallback serves, with the notices that belong to that."""
        flag, on = self._flag(name), self.is_enabled(name, client)
        return Decision(flag, on, _notices(flag, on))

    def require(self, name: str, client: str | None = None) -> Decision:
        """The decision when something can serve, else FEATURE_DISABLED."""
        decision = self.decide(name, client)
        if decision.serves is None:
            raise _disabled_error(decision.flag)
        return decision

    def describe(self, client: str | None = None) -> dict[str, dict[str, Any]]:
        """All features as JSON, for negotiation."""
        return {
            flag.name: {"state": flag.state, "enabled": self.is_enabled(flag.name, client)}
            | ({"description": flag.description} if flag.description else {})
            | ({"fallback": flag.fallback} if flag.fallback else {})
            for flag in self
        }

    def _flag(self, name: str) -> Flag:
        if name not in self._flags:
            raise UnknownFlag(name, tuple(self._flags))
        return self._flags[name]


def _disabled_error(flag: Flag) -> FeatureDisabled:
    remediation = "Contact support to enable this feature or check feature flag configuration"
    if flag.state == "removed":
        remediation = f"The feature is gone: use {flag.replacement or 'something else'}"
    details = {"feature": flag.name, "state": flag.state}
    return FeatureDisabled(f"Feature '{flag.name}' is not enabled", details=details, remediation=remediation)


def _notices(flag: Flag, on: bool) -> tuple[Notice, ...]:
    if on and flag.state == "deprecated":
        instead = f"Move to {flag.replacement}" if flag.replacement else "Plan to do without it"
        return (_deprecation_notice(f"Feature '{flag.name}' is deprecated", instead, flag),)
    if on or flag.fallback is None:
        return ()
    message = f"Feature '{flag.name}' is off: {flag.fallback} is used instead"
    if flag.fallback_is_deprecated:
        return (_deprecation_notice(f"{message}, which is deprecated", f"Enable {flag.name}", flag),)
    return (Notice.of("FALLBACK_USED", message, feature=flag.name),)


def _deprecation_notice(message: str, suggestion: str, flag: Flag) -> Notice:
    return Notice(message, "DEPRECATED_FEATURE", "warning", suggestion, {"feature": flag.name})
