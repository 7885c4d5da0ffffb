"""Request: what an HTTP request says that a reply depends on, read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload
from urllib.parse import parse_qsl

from aerogram.errors import ValidationFailed
from aerogram.mint import new_request_id
from aerogram.reply import accept_request_id
from aerogram.wire import headers as fields
from aerogram.wire.accept import parse
from aerogram.wire.negotiation import LEGACY, PARAMETER, Choice, Refused, Versions
from aerogram.wire.routes import Terms, below

__all__ = ["SAFE_METHODS", "Request", "Scope", "lazy"]

Scope: TypeAlias = MutableMapping[str, Any]

MOST_PARAMETERS: Final = 1_000
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_NUMBERS: Final = frozenset({"max_tokens", "page_size"})
_MOST_DIGITS: Final = 12
_LONGEST_REMEMBERED: Final = 256


Fact = TypeVar("Fact")


class lazy(Generic[Fact]):  # noqa: N801 - it reads as `property` does
    """A fact that is found out once, when it is first asked for; unlike `cached_property` it takes no lock."""

    def __init__(self, find: Callable[[Any], Fact]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, one: None, kind: type) -> lazy[Fact]: ...
    @overload
    def __get__(self, one: object, kind: type) -> Fact: ...
    def __get__(self, one: object | None, kind: type) -> lazy[Fact] | Fact:
        if one is None:
            return self
        found = self._find(one)
        setattr(one, self._name, found)  # unlike `one.__dict__[…] = …`, this leaves the attributes where they are fast
        return found


class Request:
    """The facts of one request; whoever makes one sets the first four."""

    scope: Scope
    root: str
    """Where the application stands: below a mount, or behind a proxy."""
    versions: Versions
    started: float
    body: Any = None
    """What the handler was given as the body, if that tells one query from another."""
    found_out: Mapping[str, Any] = MappingProxyType({})
    """What was found out for the handler before it runs, by the names of its parameters."""
    inner: Scope | None = None
    """What the handler got as the scope, where middleware has passed on a copy of it."""
    is_shaped = False
    """Whether the handler has read the controls itself, so that its reply is as the caller wants it."""

    def reach(self, scope: Scope) -> None:
        """Know the scope that whoever answers has got: who asks, and the parameters of the path, may be there alone."""
        if scope is not self.scope:
            self.inner = scope

    @property
    def reached(self) -> Scope:
        """The scope in which everything is known that was found out on the way to the handler."""
        return self.scope if self.inner is None else self.inner

    @lazy
    def headers(self) -> dict[bytes, bytes]:
        """The header fields by their lower-case names; repeated ones are joined."""
        given = self.scope["headers"]
        found: dict[bytes, bytes] = dict(given)
        if len(found) < len(given):
            found.clear()
            for name, value in given:
                found[name] = found[name] + b", " + value if name in found else value
        return found

    @lazy
    def query(self) -> Sequence[tuple[str, str]]:
        """The query parameters in their order; none when there are too many."""
        raw: bytes = self.scope["query_string"]
        if not raw or self._has_too_many_parameters:
            return ()
        return _parsed(raw) if len(raw) <= _LONGEST_REMEMBERED else _parsed.__wrapped__(raw)

    @property
    def _has_too_many_parameters(self) -> bool:
        raw: bytes = self.scope["query_string"]
        return len(raw) > MOST_PARAMETERS and raw.count(b"&") >= MOST_PARAMETERS

    @property
    def accept(self) -> str:
        """The Accept header."""
        return self._accept.decode("latin-1")

    @property
    def _accept(self) -> bytes:
        found = b""
        for name, value in self.scope["headers"]:  # most requests need no other field, and no dictionary of them
            if name == b"accept":
                found = found + b", " + value if found else value
        return found

    @lazy
    def request_id(self) -> str:
        """The caller's request id if it is a fit one, else a new one."""
        given = self.headers.get(b"x-request-id")
        return (accept_request_id(given.decode("latin-1")) if given else None) or new_request_id()

    @property
    def client_tag(self) -> str | None:
        """The caller's own mark."""
        given = self.headers.get(b"x-client-tag")
        return fields.client_tag(given) if given else None

    @lazy
    def choice(self) -> Choice:
        """What was negotiated."""
        return self.versions.choose(self.scope["query_string"], self._accept, self._envelopes)

    def _envelopes(self) -> list[str]:
        return [value for name, value in self.query if name == PARAMETER]

    @property
    def target(self) -> str:
        """Path and query as the caller knows them, and as they may stand in a link."""
        path = self.prefix + fields.quoted(below(self.root, self.scope["path"]))
        query = self.scope["query_string"].decode("latin-1")
        return f"{path}?{query}" if query else path

    @property
    def prefix(self) -> str:
        """What stands before every path of the application in the addresses that its callers know."""
        return fields.quoted(self.root.rstrip("/"))

    def arguments(self, terms: Terms | None) -> dict[str, Any]:
        """What identifies the query: the parameters of path and query, without those that only shape the reply."""
        found: dict[str, Any] = dict(self.reached.get("path_params") or {})
        shaping = terms.controls if terms else ()
        for name, value in self.query:
            if name != PARAMETER and name not in shaping:
                found[name] = [*found[name], value] if isinstance(found.get(name), list) else [value]
        return found if self.body is None else {**found, "body": self.body}

    def asks_for(self, controls: Collection[str]) -> bool:
        """Whether the caller wants the reply shaped by one of these."""
        return bool(controls and self.query) and any(name in controls for name, _ in self.query)

    def controls(self, wanted: Collection[str]) -> dict[str, Any]:
        """How the caller wants the reply shaped; a control that is not clear is a `ValidationFailed`."""
        found: dict[str, Any] = {}
        for name, value in self.query if wanted else ():
            if name == "fields" and name in wanted:
                found[name] = (*found.get(name, ()), *(one for one in value.split(",") if one))
            elif name in wanted:
                said = _number(name, value) if name in _NUMBERS else value
                if found.setdefault(name, said) != said:
                    raise ValidationFailed(
                        f"{name} is given twice and differently",
                        remediation=f"Send {name} once",
                        details={"field": name, "received": value[:100]},
                    )
        return found

    def admit(self, terms: Terms | None) -> None:
        """Raise what must be said before a handler runs; where there is only one envelope, nothing must."""
        if terms is not None and not terms.migrated:
            return
        choice, is_safe = self.choice, self.scope["method"] in SAFE_METHODS
        if choice.refusal is not None and not is_safe:  # what is safe may answer in a format that has no envelope
            raise choice.refusal
        if self._has_too_many_parameters:
            raise ValidationFailed(f"At most {MOST_PARAMETERS} query parameters are read", remediation="Send fewer")
        if not choice.acceptable and not is_safe and not self.takes(*self._formats(terms)):
            raise self.not_acceptable(terms)
        if terms is not None and terms.controls:
            self.controls(terms.controls)

    def takes(self, *media_types: str) -> bool:
        """Whether the client takes one of these types."""
        ranges = parse(self.accept)
        return any(ranges.match(one).quality > 0 for one in media_types)

    def _formats(self, terms: Terms | None) -> tuple[str, ...]:
        """What the handler gives besides the envelopes; its JSON of another type becomes an envelope for most."""
        formats = terms.shapes.formats if terms else ()
        if self.choice.version == LEGACY and self.versions.legacy_is_bare:
            return formats
        return tuple(one for one in formats if not fields.is_json(one.encode()))

    def not_acceptable(self, terms: Terms | None) -> Refused:
        """The refusal of those who take nothing that there is, with the list of what there is."""
        available = [*self.versions.media_types(), *self._formats(terms)]
        return Refused(
            406,
            "NOT_ACCEPTABLE",
            f"Nothing in Accept is available here; there are {', '.join(available)}",
            "Ask for one of the available types, or leave Accept out",
            available=available,
        )


@lru_cache(maxsize=1024)
def _parsed(raw: bytes) -> Sequence[tuple[str, str]]:
    return tuple(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
        raise ValidationFailed(
            f"{name} is a whole number that is not negative",
            remediation=f"Send {name} in digits, or leave it out",
            details={"field": name, "received": value[:100]},
        )
    return int(value)
