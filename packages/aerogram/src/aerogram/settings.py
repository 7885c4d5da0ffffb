"""Settings: what a contract is made from. What cannot work is refused at once, because each reply would fail by it.

check({"limits": Plan.of("5/day")})     InvalidReply: limits is a Limits, not Plan: Limits.in_memory(plan)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aerogram.archive import Archive
from aerogram.cache import Cache
from aerogram.cursor import Cursors
from aerogram.deprecation import Deprecations
from aerogram.dialects import dialect
from aerogram.errors import InvalidReply
from aerogram.limits import Limits
from aerogram.normalize.policy import Policy as Forms
from aerogram.shape.modes import RecordType
from aerogram.telemetry import Observer
from aerogram.tokens import Budget
from aerogram.wire.channels import POLICIES

__all__ = ["check"]

log = logging.getLogger("aerogram")

_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "archive": (Archive, "Archive.at(folder)"),
    "cache": (Cache, "Cache.in_memory()"),
    "cursors": (Cursors, "Cursors(keys)"),
    "forms": (Forms, "Policy()"),
    "limits": (Limits, "Limits.in_memory(plan)"),
    "observer": (Observer, "Observer()"),
}
_VALUES: Final[Mapping[str, type]] = {"kinds": RecordType, "deprecations": Deprecations}


def check(given: Mapping[str, Any]) -> None:
    """Raise InvalidReply, in one line, for the first setting that cannot work."""
    for name, value in given.items():
        if value is not None and name in _KINDS and not isinstance(value, _KINDS[name][0]):
            kind, example = _KINDS[name]
            raise InvalidReply(f"{name} is {_a(kind)}, not {type(value).__name__}: {example}")
        if name in _CHECKS:
            _CHECKS[name](name, value)
    if given.get("cached") and given.get("cache") is None:
        log.warning("cached names %s, but there is no cache: nothing is kept", ", ".join(given["cached"]))


def _dialect(_: str, value: Any) -> None:
    dialect(value)


def _channels(name: str, value: Any) -> None:
    if value not in POLICIES:
        raise InvalidReply(f"{name} is one of {', '.join(POLICIES)}, not {value!r}")


def _budget(_: str, value: Any) -> None:
    if value is not None:
        Budget.of(value)


def _budgets(name: str, value: Any) -> None:
    for one in _mapping(name, value).values():
        _budget(name, one)


def _by_operation(name: str, value: Any) -> None:
    kind = _VALUES[name]
    for operation, one in _mapping(name, value).items():
        if not isinstance(one, kind):
            raise InvalidReply(f"{name}[{operation!r}] is a {kind.__name__}, not {type(one).__name__}")


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidReply(
            f"{name} has a value for each operation, such as {{'search': …}}, not {type(value).__name__}"
        )
    return value


def _cached(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise InvalidReply(f"{name} is a list of operations, such as [{value!r}]")


def _sanitizers(name: str, value: Any) -> None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidReply(f"{name} is a list of steps, such as [Redaction()], not {type(value).__name__}")
    for one in value:
        if isinstance(one, type) or not callable(one):
            raise InvalidReply(f"{name} has steps such as Redaction(), not {one!r}")


def _a(kind: type) -> str:
    return f"an {kind.__name__}" if kind.__name__[0] in "AEIO" else f"a {kind.__name__}"


_CHECKS: Final[Mapping[str, Callable[[str, Any], None]]] = {
    "dialect": _dialect,
    "channels": _channels,
    "budget": _budget,
    "budgets": _budgets,
    "kinds": _by_operation,
    "deprecations": _by_operation,
    "cached": _cached,
    "sanitizers": _sanitizers,
}
