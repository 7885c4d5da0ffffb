"""Dialects: the contracts a Reply can be said in, peers behind one protocol.

    dialect("standard-v2").encode(reply)      a reply as a JSON body
    read(body)                                a body, in whichever dialect it is, as a reply
    translate(body, to="knowledge-1.0")       a body as the same reply's body in another dialect

A dialect's module, with the contract's own models and helpers, is loaded when it is first used.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aerogram.content.jsontext import dumps, dumps_unproven, loads
from aerogram.errors import ContractError, UnknownDialect
from aerogram.tokens import Estimate

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
    """The dialect that a body speaks: of those that know it by its looks, the one that names most of its members."""
    if isinstance(body, dict):
        candidates = [one for one in map(dialect, NAMES) if one.recognises(body)]
        if candidates:
            return max(candidates, key=lambda one: len(one.members & body.keys()))
    known = ", ".join(name for name in NAMES if name != "bare")
    raise ContractError(f"the body is in none of the known dialects ({known})")


def read(body: str | bytes | Mapping[str, Any], *, dialect: str | Dialect | None = None) -> Reply[Any]:
    """The reply in a body, given as JSON text or as parsed JSON.

    In `bare`, a `str` is the payload itself, which may be a text; its JSON is given as bytes. A body that is in no
    dialect, or that breaks its contract, is a `ContractError` that names the rule and the JSON Pointer.
    """
    parsed = _parse_as(body, dialect)
    return _choose(parsed, dialect).decode(parsed)


def validate(body: str | bytes | Mapping[str, Any], *, dialect: str | Dialect | None = None) -> Dialect:
    """Raise `ContractError` unless a body keeps every rule of its contract; says which dialect it is in."""
    parsed = _parse_as(body, dialect)
    found = _choose(parsed, dialect)
    found.validate(parsed)
    return found


def translate(body: str | bytes | Mapping[str, Any], to: str | Dialect, *, dialect: str | Dialect | None = None) -> Any:
    """The same reply in another dialect; what that contract requires and the body lacks is filled in.

    A duration that nobody measured is the least that a contract takes, and not the time that translating took. What
    was filled in is known: the result reads as the body does, and translated back it is the same body.
    """
    from aerogram.dialects.origin import keep_unnamed, origin_of, put_back, remember

    parsed = _parse_as(body, dialect)
    source, target = _choose(parsed, dialect), _named(to)
    reply, tokens = source.decode(parsed), Estimate().count(dumps(parsed).decode())
    whole = target.complete(reply, tokens_estimated=tokens)
    made = target.encode(whole, said=reply)
    origin = origin_of(parsed, source)
    if origin is not None and origin.get("dialect") == target.name:
        return put_back(made, origin)
    if target.name == source.name:
        return keep_unnamed(made, parsed, reply.extra or {})
    if target.name != "bare":
        again = [source.complete(reply, **facts) for facts in _estimates(reply)]
        backs = [source.encode(one, said=reply) for one in again]
        if any(one is not reply for one in (whole, *again)) or any(back != parsed for back in backs):
            remember(made, target, source, parsed, backs)
    return made


def _estimates(reply: Reply[Any]) -> list[dict[str, Any]]:
    """What the way back of a translation may estimate: whether a contract can say the tokens used depends on it."""
    cost = reply.telemetry
    if cost is None or cost.tokens_used is None or cost.tokens_estimated is not None:
        return [{}]
    return [{"tokens_estimated": 0}, {"tokens_estimated": cost.tokens_used}]


def is_own(value: Any) -> bool:
    """Whether a value is of a class of the dialects, or of one that was made of it.

    A generic model with rows of one's own belongs to the module that named it, and its base to ours.
    """
    return any(base.__module__.startswith(__name__) for base in type(value).__mro__)


def try_read(value: Any, spoken: Dialect | None = None) -> Reply[Any] | None:
    """The reply that a value says in a dialect already: a contract's own object, or a whole and valid body.

    In the dialect that is `spoken`, it may be a body that lacks something.
    """
    if type(value) is list:
        return None
    is_ours = is_own(value)
    if is_ours and hasattr(value, "to_reply"):
        return value.to_reply()  # type: ignore[no-any-return]
    body = _body_of(value) if is_ours else value
    if not isinstance(body, dict) or SIGNS.isdisjoint(body):
        return None
    try:
        return recognise(body).decode(body, lenient=False)
    except ContractError:
        return None if spoken is None else spoken.decode_fragment(body)


SIGNS = frozenset({"success", "results", "_metadata"})
"""Members that every body in a contract's dialect has one of."""


def _body_of(value: Any) -> Any:
    for name in ("to_dict", "to_wire"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else None


def parse(body: Any) -> Any:
    """JSON text parsed strictly; parsed JSON proven to be JSON."""
    if isinstance(body, (str, bytes, bytearray, memoryview)):
        return loads(body)
    if b"null" in dumps_unproven(body):  # where a number that JSON has no word for may hide
        _prove_finite(body)
    return body


def _parse_as(body: Any, wanted: str | Dialect | None) -> Any:
    """A body in the dialect that it is said to be in: a text may be a payload, and is JSON everywhere else."""
    is_payload = isinstance(body, str) and wanted is not None and _named(wanted).name == "bare"
    return body if is_payload else parse(body)


def _prove_finite(body: Any) -> None:
    try:
        json.dumps(body, allow_nan=False)
    except ValueError:
        raise ContractError("NaN and infinity are not JSON numbers") from None


def _choose(body: Any, wanted: str | Dialect | None) -> Dialect:
    return recognise(body) if wanted is None else _named(wanted)


_named = dialect  # under a second name, because a parameter of `read` has the first
