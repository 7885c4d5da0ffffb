"""Application: what was put around an application of an HTTP framework, as its author sees it."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from aerogram._http.exchange import EXCHANGE, App, Exchange, Receive, Scope, Send
from aerogram._http.negotiation import Versions
from aerogram._http.openapi import document
from aerogram._http.routes import RouteEntry, Usage
from aerogram.contract import Contract
from aerogram.errors import strays
from aerogram.shape.controls import CONTROLS

__all__ = ["Installation", "add_limit_middleware", "find_holder", "put_inside", "replace_app"]


class _LimitMiddleware:
    """Asks the layer of a request for leave; applications with and without one may share it."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, unless a limit is reached."""
        exchange: Exchange | None = scope.get(EXCHANGE)
        if exchange is not None:
            exchange.handler_scope = scope
            await exchange.layer.service.admit(exchange)
        await self.app(scope, receive, send)


def add_limit_middleware(holder: object, name: str, has_limits: bool) -> None:
    """Put one before what an attribute holds; where there are no limits, there is nothing to ask for."""
    there = getattr(holder, name)
    if has_limits and not isinstance(there, _LimitMiddleware):
        setattr(holder, name, _LimitMiddleware(there))


def find_holder(route: Any) -> Any:
    """What holds the application of a route: the route itself, or the innermost of the middleware around it.

    Middleware that is an object has what is inside in its attribute `app`, as the frameworks' own has. What other
    middleware has inside cannot be seen.
    """
    holder = route
    while hasattr(holder.app, "app") and not (inspect.isclass(holder.app) or inspect.isroutine(holder.app)):
        holder = holder.app
    return holder


def put_inside(holder: Any, made: App) -> bool:
    """Put another application in the place of one that was made alike; whether it stands there now.

    A function that was made alike has the same name, comes from the same module, and wraps no other one.
    """
    there = holder.app
    return _origin_of(there) == _origin_of(made) and not hasattr(there, "__wrapped__") and replace_app(holder, made)


def replace_app(holder: Any, made: App) -> bool:
    """Put another application in the place of the one that an object holds; whether it lets itself be changed."""
    with contextlib.suppress(AttributeError):
        holder.app = made
    return holder.app is made


def _origin_of(function: Any) -> tuple[Any, Any]:
    return getattr(function, "__module__", None), getattr(function, "__qualname__", None)


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
