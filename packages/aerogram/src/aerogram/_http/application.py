"""Application: what was put around an application of an HTTP framework, as its author sees it."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any, Final, NamedTuple

from aerogram._http.exchange import EXCHANGE, App, Exchange, Receive, Scope, Send
from aerogram._http.negotiation import Versions
from aerogram._http.openapi import document
from aerogram._http.routes import RouteEntry, Usage
from aerogram.contract import Contract
from aerogram.errors import strays
from aerogram.shape.controls import CONTROLS

__all__ = ["ApplicationSlot", "Installation", "add_limit_middleware", "find_slots"]


class _LimitMiddleware:
    """Asks the layer of a request for leave; applications with and without one may share it."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, unless a limit is reached."""
        exchange: Exchange | None = scope.get(EXCHANGE)
        if exchange is not None:
            exchange.set_handler_scope(scope)
            await exchange.layer.service.admit(exchange)
        await self.app(scope, receive, send)


def add_limit_middleware(holder: object, name: str, has_limits: bool) -> None:
    """Put one before what an attribute holds; where there are no limits, there is nothing to ask for."""
    there = getattr(holder, name)
    if has_limits and not isinstance(there, _LimitMiddleware):
        setattr(holder, name, _LimitMiddleware(there))


class ApplicationSlot(NamedTuple):
    """What stands somewhere; `put(other)` puts another one there."""

    there: Any
    put: Callable[[Any], None]


def find_slots(holder: object, name: str, closed: tuple[type, ...] = ()) -> Iterator[ApplicationSlot]:
    """What an attribute holds, and whatever is called from within it, from the outside to the inside.

    Middleware holds what is inside in an attribute of any name, also where it is a method, or in a variable of the
    function that it is. Classes are not looked into, and neither are objects of the `closed` ones.
    """
    waiting = [ApplicationSlot(getattr(holder, name), functools.partial(setattr, holder, name))]
    seen: set[int] = set()
    for place in waiting:
        if callable(place.there) and id(place.there) not in seen:
            seen.add(id(place.there))
            yield place
            if not isinstance(place.there, (type, *closed)):
                waiting += _slots_in(place.there)
                if isinstance(place.there, MethodType) and not isinstance(place.there.__self__, (type, *closed)):
                    waiting += _slots_in(place.there.__self__)


def _slots_in(holder: Any) -> Iterator[ApplicationSlot]:
    """The attributes of an object, and the variables that a function has from where it was made."""
    slots = (name for kind in type(holder).__mro__ for name in getattr(kind, "__slots__", ()))
    for name in (*getattr(holder, "__dict__", ()), *slots):
        # a class may forbid its objects to change what they hold
        yield ApplicationSlot(getattr(holder, name, None), functools.partial(object.__setattr__, holder, name))
    for cell in getattr(holder, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # one may be empty
            yield ApplicationSlot(cell.cell_contents, functools.partial(setattr, cell, "cell_contents"))


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

    def __init__(self, contract: Contract, versions: Versions, entries: Callable[[], Iterator[RouteEntry]]) -> None:
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
        if not any(one.terms.migrated for one in entries):
            return schema
        return document(
            schema, self.versions, entries, lambda name: self._contract.own_limit(name) is not None, _BOUNDS
        )

    def check_names(self) -> None:
        """Say of which routes the settings speak that are not there, now that all routes are known."""
        entries = list(self._entries())
        found = [*strays(self._contract.names_by_setting, {one.terms.operation for one in entries}, "operation")]
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
