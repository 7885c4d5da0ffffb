"""Routes: what holds for each of them, which one a request is for, and how often each envelope was served there."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from aerogram._http.negotiation import Version
from aerogram.answer import ReplyDraft
from aerogram.errors import InvalidReply
from aerogram.reply import Reply

__all__ = [
    "CONTENT",
    "CONTROLS",
    "RouteEntry",
    "RouteTable",
    "RouteTerms",
    "Shapes",
    "Usage",
    "control_names",
    "path_below",
    "shapes",
    "shapes_of",
    "source_of",
]

Handler = TypeVar("Handler", bound=Callable[..., Any])
_MARK: Final = "__aerogram_shapes__"


@dataclass(frozen=True, slots=True)
class Shapes:
    """How a handler's values and its envelopes go together.

    `reply` reads what the handler returns as a Reply (or as the data of one), for callers of the newer envelope.
    `legacy` says a Reply in the shape that legacy callers know. `formats` are media types that the handler gives
    besides JSON. `controls` overrides the setting of `Versions`: all of them, none, or those that are named.
    `reads` are headers of the request on which the answer depends: a cache keeps an answer for each of their values.
    `headers` gives fields for what the handler returned, the finished reply and the scope: a payload alone cannot say
    what it lacks. `default` is the envelope for those who choose none, where it is not that of `Versions`.
    """

    reply: Callable[[Any], Any] | None = None
    legacy: Callable[[Reply[Any]], Any] | None = None
    formats: tuple[str, ...] = ()
    controls: bool | Collection[str] | None = None
    reads: tuple[str, ...] = ()
    headers: Callable[[Any, ReplyDraft, Any], Mapping[str, str]] | None = None
    default: Version | None = None


def shapes(
    *,
    reply: Callable[[Any], Any] | None = None,
    legacy: Callable[[Reply[Any]], Any] | None = None,
    formats: tuple[str, ...] = (),
    controls: bool | Collection[str] | None = None,
    reads: tuple[str, ...] = (),
    headers: Callable[[Any, ReplyDraft, Any], Mapping[str, str]] | None = None,
    default: Version | None = None,
) -> Callable[[Handler], Handler]:
    """Mark a handler with its `Shapes`; it stays the function that it is."""
    if isinstance(reads, str):
        raise InvalidReply(f"reads is a list of headers, such as [{reads!r}]")
    marked = Shapes(reply, legacy, formats, controls, tuple(reads), headers, default)
    control_names(controls)  # a control that is not there is noticed here, not with the first request

    def mark(handler: Handler) -> Handler:
        setattr(handler, _MARK, marked)
        return handler

    return mark


def shapes_of(handler: object) -> Shapes:
    """The shapes that a handler was marked with, or those of an unmarked one."""
    found = getattr(handler, _MARK, None)
    return found if isinstance(found, Shapes) else Shapes()


CONTROLS: Final = ("response_mode", "fields", "max_tokens", "cursor", "page_size")
"""The query parameters by which a caller shapes a reply."""
CONTENT: Final = "/v1/content/{hash}"
"""Where what replies left out is served, unless another address is chosen."""


def control_names(controls: bool | Collection[str] | None) -> frozenset[str]:
    """The controls that a setting stands for."""
    if isinstance(controls, bool) or controls is None:
        return frozenset(CONTROLS if controls else ())
    names = frozenset([controls] if isinstance(controls, str) else controls)
    if not names <= frozenset(CONTROLS):
        unknown = min(names - frozenset(CONTROLS))
        raise InvalidReply(f"there is no control {unknown!r}; there are {', '.join(CONTROLS)}")
    return names | {"cursor"} if "page_size" in names else names  # who may ask for a page may ask for the next one


@dataclass(frozen=True, slots=True)
class RouteTerms:
    """What holds for one route.

    `controls` are those of the query parameters that its callers shape replies with, `parameters` these and the ones
    that its handler is known to read itself, as the properties of a JSON Schema. `reads` are the headers that its
    handler is known to read, `depends` the names of values that are found out for it and are in no other place.
    """

    path: str
    operation: str
    migrated: bool
    shapes: Shapes = Shapes()
    controls: frozenset[str] = frozenset()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reads: frozenset[bytes] = frozenset()
    depends: tuple[str, ...] = ()
    is_manual: bool = False
    """Whether it is a page of the application's documentation, which is nobody's data."""
    is_foreign: bool = False
    """Whether an application of its own answers here, in its own words."""
    source: str = ""
    """Where its handler is written, which tells it from one of the same name in another application."""
    is_hosted: bool = False
    """Whether it is found by the host of a request too: another host may have another handler at the same path."""

    @classmethod
    def of(
        cls,
        path: str,
        operation: str,
        shapes: Shapes,
        *,
        migrated: bool,
        controls: bool | Collection[str],
        own: Mapping[str, Any] = MappingProxyType({}),
        reads: Iterable[str] = (),
        depends: tuple[str, ...] = (),
        source: str = "",
    ) -> RouteTerms:
        """The terms of a route; `own` are the parameters that its handler reads itself, with their schemas."""
        switched = controls if shapes.controls is None else shapes.controls
        read = frozenset(name.lower().encode("latin-1") for name in (*shapes.reads, *reads))
        offered = control_names(switched) - own.keys()
        if "cursor" in own:  # which a cursor of ours would come to
            offered -= {"page_size"}
        known = {**{name: {} for name in sorted(offered)}, **own}
        return cls(path, operation, migrated, shapes, offered, known, read, depends, source=source)


def source_of(handler: Any) -> str:
    """Where a handler is written: in which file, and its name there."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = inspect.unwrap(handler)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return f"{getattr(module, '__file__', None)} {getattr(function, '__qualname__', type(function).__qualname__)}"


class RouteEntry(NamedTuple):
    """A route as a framework has it: how its path looks, by which objects it is known.

    `hook(has_limits)` stands in front of its handler, and behind it; where that cannot be, limits hold all the same.
    """

    terms: RouteTerms
    pattern: re.Pattern[str]
    methods: Collection[str] | None
    objects: tuple[object, ...]
    hook: Callable[[bool], None]


class RouteTable:
    """The routes of an application, found by the objects that a router leaves in the scope, or else by the path."""

    def __init__(self, entries: Iterable[RouteEntry]) -> None:
        self.entries = list(entries)  # which keeps the objects alive, so that no other one takes over an id
        self._by_object: dict[int, RouteTerms | None] = {}
        for entry in self.entries:
            for one in entry.objects:
                # an object that several routes share does not tell them apart
                self._by_object[id(one)] = None if id(one) in self._by_object else entry.terms

        self.own_terms_of: Callable[[int], RouteTerms | None] = self._by_object.get
        """The terms of an object by its id; None where several routes share it, or none has it."""

    def terms_of(self, scope: Mapping[str, Any], root: str) -> RouteTerms | None:
        """The terms of the route that a request is for, or None; the application stands at a `root`."""
        found = self._by_object.get(id(scope.get("route"))) or self._by_object.get(id(scope.get("endpoint")))
        return found or self._find_by_path(path_below(root, scope["path"]), scope["method"])

    def _find_by_path(self, path: str, method: str) -> RouteTerms | None:
        elsewise = None
        for terms, pattern, methods, *_ in self.entries:
            if pattern.match(path):
                if methods is None or method in methods:
                    return terms
                elsewise = elsewise or terms
        return elsewise


def path_below(root: str, path: str) -> str:
    """A path below a root; what stands before a server may have taken the root away already."""
    return path[len(root) :] if path == root or path.startswith(f"{root}/") else path


class Usage:
    """How often each envelope was served, on each route."""

    def __init__(self) -> None:
        self.by_path: dict[str, dict[str, int]] = {}
        """The answers in each version at each path template, ready to be counted with nothing but two lookups."""
        self.expect("")  # what has no route

    def expect(self, path: str) -> None:
        """Begin to count at a path template."""
        self.by_path.setdefault(path, dict.fromkeys(("v1", "v2", "problem"), 0))

    @property
    def by_route(self) -> Counter[tuple[str, str]]:
        """The answers of each route in each version."""
        counts = {(path, version): times for path, found in self.by_path.items() for version, times in found.items()}
        return +Counter(counts)

    @property
    def by_version(self) -> dict[str, int]:
        """The answers of all routes together."""
        found: Counter[str] = Counter()
        for by_version in self.by_path.values():
            found.update(by_version)
        return dict(+found)
