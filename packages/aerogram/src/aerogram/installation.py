"""Installation: what was put around an application of an HTTP framework, as its author sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from aerogram.contract import Contract
from aerogram.controls import CONTROLS
from aerogram.spelling import strays
from aerogram.wire.negotiation import Versions
from aerogram.wire.openapi import document
from aerogram.wire.routes import Entry, Usage

__all__ = ["Installation"]

log = logging.getLogger("aerogram")

_BOUNDS: Final = {
    name: {word: told[word] for word in ("enum", "minimum", "maximum") if word in told}
    for name, told in CONTROLS.items()
}
_MAY_BE_UNKEPT: Final = (
    "answers of %s are kept in the cache only if what it depends on (%s) is JSON, so that callers can be told apart"
)


class Installation:
    """What `install` has put around an application: the counts of each envelope's use, and its documentation."""

    def __init__(self, contract: Contract, versions: Versions, entries: Callable[[], Iterator[Entry]]) -> None:
        self.versions = versions
        self.usage = Usage()
        self._contract = contract
        self._entries = entries

    def has(self, path: str) -> bool:
        """Whether the application has a route with this path template."""
        return any(entry.terms.path == path for entry in self._entries())

    def document(self, schema: dict[str, Any]) -> dict[str, Any]:
        """An OpenAPI document of the application, with every shape and error of its migrated routes."""
        entries = list(self._entries())
        is_plain = not any(one.terms.migrated for one in entries)
        return schema if is_plain else document(schema, self.versions, entries, self._has_budget, _BOUNDS)

    def check_names(self) -> None:
        """Say of which routes the settings speak that are not there, now that all routes are known."""
        entries = list(self._entries())
        found = [*strays(self._contract.named, {one.terms.operation for one in entries}, "operation")]
        if self.versions.migrated != "all":
            paths = {one.terms.path for one in entries}
            known = paths | {f"{method} {one.terms.path}" for one in entries for method in one.methods or ()}
            found += strays({"migrated": self.versions.migrated}, known, "route")
        for stray in found:
            log.warning("%s", stray)
        for terms in (
            one.terms for one in entries if one.terms.depends and one.terms.operation in self._contract.cached
        ):
            log.warning(_MAY_BE_UNKEPT, terms.operation, ", ".join(terms.depends))

    def _has_budget(self, operation: str) -> bool:
        return self._contract.own_limit(operation) is not None
