"""Dialects: the contracts a Reply can be said in, peers behind one protocol.

    dialect("standard-v2").encode(reply)      a reply as a JSON body
    read(body)                                a body, in whichever dialect it is, as a reply
    translate(body, to="knowledge-1.0")       a body as the same reply's body in another dialect

A dialect's module, with the contract's own models and helpers, is loaded when it is first used.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aerogram.errors import ContractError, UnknownDialect
from aerogram.jsontext import dumps, loads

if TYPE_CHECKING:
    from aerogram.dialects.protocol import Dialect
    from aerogram.reply import Reply

_MODULES = {
    "response-v2": "response_v2",
    "standard-v2": "standard_v2",
    "knowledge-1.0": "knowledge_v1",
    "problem": "problem",
    "bare": "bare",
}
NAMES = tuple(_MODULES)
"""The dialects, in the order in which a body is tried against them."""


def dialect(name: str | Dialect) -> Dialect:
    """The dialect of that name; a dialect with settings of its own is given back as it is."""
    if not isinstance(name, str):
        return name
    if name not in _MODULES:
        raise UnknownDialect(name, NAMES)
    found: Dialect = importlib.import_module(f"aerogram.dialects.{_MODULES[name]}").DIALECT
    return found


def recognise(body: Any) -> Dialect:
    """The dialect that a body speaks."""
    if isinstance(body, dict):
        for name in NAMES:
            candidate = dialect(name)
            if candidate.recognises(body):
                return candidate
    known = ", ".join(name for name in NAMES if name != "bare")
    raise ContractError(f"the body is in none of the known dialects ({known})")


def read(body: str | bytes | Mapping[str, Any], *, dialect: str | Dialect | None = None) -> Reply[Any]:
    """The reply in a body, given as JSON text or as parsed JSON.

    A body that is in no dialect, or that breaks its contract, is a `ContractError`
    that names the rule and the JSON Pointer.
    """
    parsed = parse(body)
    return _chosen(parsed, dialect).decode(parsed)


def validate(body: str | bytes | Mapping[str, Any], *, dialect: str | Dialect | None = None) -> Dialect:
    """Raise `ContractError` unless a body keeps every rule of its contract; says which dialect it is in."""
    parsed = parse(body)
    found = _chosen(parsed, dialect)
    found.validate(parsed)
    return found


def translate(body: str | bytes | Mapping[str, Any], to: str | Dialect, *, dialect: str | Dialect | None = None) -> Any:
    """The same reply in another dialect; what that contract requires and the body lacks is filled in."""
    started = time.perf_counter()
    parsed = parse(body)
    reply = _chosen(parsed, dialect).decode(parsed)
    target = _named(to)
    return target.encode(target.complete(reply, duration_ms=(time.perf_counter() - started) * 1000))


def parse(body: Any) -> Any:
    """JSON text parsed strictly; parsed JSON proven to be JSON."""
    if isinstance(body, (str, bytes, bytearray, memoryview)):
        return loads(body)
    dumps(body)
    return body


def _chosen(body: Any, wanted: str | Dialect | None) -> Dialect:
    return recognise(body) if wanted is None else _named(wanted)


_named = dialect  # under a second name, because a parameter of `read` has the first
