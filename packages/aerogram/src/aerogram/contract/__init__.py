"""Contract: what a server promises about its replies. `aerogram.answer` keeps the promise, call by call."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from aerogram.archive import Archive
from aerogram.channels import COUNTS, POLICIES, Count, Policy
from aerogram.clients import KnownClient
from aerogram.contract.cache import Cache
from aerogram.contract.deprecation import Deprecations
from aerogram.cursor import Cursors
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.protocol import Dialect
from aerogram.errors import InvalidReply
from aerogram.limits import Limits
from aerogram.normalize.policy import Policy as Forms
from aerogram.sanitize import Step
from aerogram.shape.modes import RecordType
from aerogram.shape.pages import LARGEST_SIZE
from aerogram.telemetry import Observer
from aerogram.tokens import PRESETS, Budget, split_by_client

__all__ = ["Contract", "Framework", "check_settings", "framework_of", "insist_on"]

log = logging.getLogger("aerogram")

SoftErrors: TypeAlias = Literal["notice", "failure"] | None
_BY_OPERATION: Final = ("budgets", "kinds", "ranked", "facts", "page_sizes", "cached", "deprecations")
_UNUSUAL = '"zzqxv"'
"""No word of any vocabulary, so that a tokenizer has to put it together."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The promise: a dialect, a size, and what becomes of the rest.

    Where no `dialect` is named, MCP servers send payloads alone (`bare`), and everything else `response-v2`.
    `budget` is a number of tokens, a text such as "10240 bytes", the name of a client, or "by-client", which is that of
    whoever calls, and for clients that nobody knows what stands behind it ("by-client 8000"); `budgets` are those of
    single operations. What counts is what a client's model reads, or else the larger channel; `count` says otherwise.
    Without an `archive`, what does not fit is lost, and the reply says so. `kinds` declares the record types of
    operations; `ranked` names those whose rows come best first, `facts` the columns by which rows are shown where not
    all of them fit. `retrieve` names the tool that gives archived content back. `page_sizes` are the items of a page of
    operations whose callers may ask for pages and do not say how large. `limits` are taken before a handler runs;
    answers of the operations in `cached` are kept in the `cache`; `deprecations` are told per operation; `sanitizers`
    work on everything that is sent or archived.
    With `mask_errors`, what a handler raises and nobody has declared is masked where its server would show it as well.
    With `read_texts`, a bare text that is JSON or a table is fitted and paged as the data that it holds.
    `soft_errors` is what becomes of a bare reply that says that it failed and is not marked so: a "notice" beside it, a
    "failure", or, with None, nothing; a finished failure without a code is then left as it is, too.
    """

    dialect: str | Dialect | None = None
    budget: int | str | Budget | None = None
    budgets: Mapping[str, int | str | Budget | None] = field(default_factory=dict)
    channels: Policy = "mirror"
    count: Count = "larger"
    archive: Archive | None = None
    cursors: Cursors = field(default_factory=Cursors)
    kinds: Mapping[str, RecordType] = field(default_factory=dict)
    ranked: Collection[str] = ()
    facts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    page_sizes: Mapping[str, int] = field(default_factory=dict)
    forms: Forms = field(default_factory=lambda: Forms(blocks="one", spelling="compact"))
    retrieve: str | None = "retrieve"
    limits: Limits | None = None
    cache: Cache | None = None
    cached: Collection[str] = ()
    deprecations: Mapping[str, Deprecations] = field(default_factory=dict)
    sanitizers: Sequence[Step] = ()
    mask_errors: bool = False
    read_texts: bool = True
    soft_errors: SoftErrors = "notice"
    observer: Observer | None = None
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        check_settings({one.name: getattr(self, one.name) for one in fields(self)})

    @property
    def names_by_setting(self) -> dict[str, Collection[str]]:
        """The operations that its settings name."""
        named = {name: tuple(getattr(self, name)) for name in _BY_OPERATION}
        return {**named, "limits": () if self.limits is None else self.limits.tools}

    @cached_property
    def speaker(self) -> Dialect:
        """The dialect that replies are encoded in."""
        return dialect_named("response-v2" if self.dialect is None else self.dialect)

    @cached_property
    def envelope(self) -> Dialect | None:
        """The dialect that its settings name, where that has an envelope for data."""
        return None if self.dialect is None or self.speaker.is_bare or self.speaker.name == "problem" else self.speaker

    def prepare(self) -> None:
        """Load the counters of the budgets, so that the first reply does not wait for them."""
        given = (self.budget, *self.budgets.values())
        known = PRESETS if any(split_by_client(one)[0] for one in given) else ()
        for own in (*(split_by_client(one)[1] for one in given), *known):
            if own is not None:
                Budget.of(own).counter.count(_UNUSUAL)

    def insist_on_room(self, speaker: Dialect) -> None:
        """Raise InvalidReply for a budget in which a dialect can show nothing of use; the message says which works."""
        of_operations = {f"budgets[{name!r}]": one for name, one in self.budgets.items()}
        for name, given in {"budget": self.budget, **of_operations}.items():
            is_chosen, own = split_by_client(given)
            for one in (own, *(PRESETS if is_chosen else ())):
                least = None if one is None else Budget.of(one).shortfall(speaker.smallest)
                if least is not None:
                    told = one.limit if isinstance(one, Budget) else one
                    raise InvalidReply(f"{name} is {told}, too small for {speaker.name}: give it {least} or more")

    def owned_by(self, owner: str) -> Contract:
        """The contract as one server has it: a cache that nobody owns gives its answers to no other server."""
        return self if self.cache is None else replace(self, cache=self.cache.owned_by(owner))

    @cached_property
    def only_completes(self) -> bool:
        """Whether a reply stays as it is, but for what its dialect requires, unless its caller asks for more."""
        has_size = self.budget is not None or bool(self.budgets) or "tokens_estimated" in self.speaker.needs
        return not (has_size or self.deprecations or self.sanitizers)

    @cached_property
    def own_budget(self) -> Budget | None:
        """The server's budget."""
        return _own_budget(self.budget)

    @cached_property
    def own_budgets(self) -> Mapping[str, Budget | None]:
        """The budgets of the operations that have one of their own, or none in spite of the server's."""
        return {operation: _own_budget(one) for operation, one in self.budgets.items()}

    def own_limit(self, operation: str) -> Budget | None:
        """The budget of an operation, or else the server's."""
        return self.own_budgets.get(operation, self.own_budget)

    def chooses_by_client(self, operation: str) -> bool:
        """Whether the budget of an operation is that of whoever calls."""
        return split_by_client(self.budgets.get(operation, self.budget))[0]

    def for_client(self, client: KnownClient | None) -> Contract:
        """The contract with the budgets of a client in place of those that are chosen by its name."""

        def choose(given: int | str | Budget | None) -> int | str | Budget | None:
            is_chosen, own = split_by_client(given)
            return client.name if is_chosen and client is not None else own

        budgets = {name: choose(one) for name, one in self.budgets.items()}
        return replace(self, budget=choose(self.budget), budgets=budgets)


def _own_budget(given: int | str | Budget | None) -> Budget | None:
    _, own = split_by_client(given)
    return None if own is None else Budget.of(own)


_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "archive": (Archive, "Archive.at(folder)"),
    "cache": (Cache, "Cache.in_memory()"),
    "cursors": (Cursors, "Cursors(keys)"),
    "forms": (Forms, "Policy()"),
    "limits": (Limits, "Limits.in_memory(plan)"),
    "observer": (Observer, "Observer()"),
}
_VALUES: Final[Mapping[str, type]] = {"kinds": RecordType, "deprecations": Deprecations}


def check_settings(given: Mapping[str, Any]) -> None:
    """Raise InvalidReply, in one line, for the first setting that cannot work."""
    for name, value in given.items():
        if value is not None and name in _KINDS and not isinstance(value, _KINDS[name][0]):
            kind, example = _KINDS[name]
            article = "an" if kind.__name__[0] in "AEIO" else "a"
            raise InvalidReply(f"{name} is {article} {kind.__name__}, not {type(value).__name__}: {example}")
        if name in _CHECKS:
            _CHECKS[name](name, value)
    if given.get("cached") and given.get("cache") is None:
        log.warning("cached names %s, but there is no cache: nothing is kept", ", ".join(given["cached"]))


def _check_dialect(_: str, value: Any) -> None:
    if value is not None:
        dialect_named(value)


def _check_channels(name: str, value: Any) -> None:
    if value not in POLICIES:
        raise InvalidReply(f"{name} is one of {', '.join(POLICIES)}, not {value!r}")


def _check_count(name: str, value: Any) -> None:
    if value not in COUNTS:
        raise InvalidReply(f"{name} is one of {', '.join(COUNTS)}, not {value!r}")


def _check_soft_errors(name: str, value: Any) -> None:
    if value not in ("notice", "failure", None):
        raise InvalidReply(f"{name} is notice, failure or None, not {value!r}")


def _check_budget(_: str, value: Any) -> None:
    own = split_by_client(value)[1]
    if own is not None:
        Budget.of(own)


def _check_budgets(name: str, value: Any) -> None:
    for one in _check_mapping(name, value).values():
        _check_budget(name, one)


def _check_page_sizes(name: str, value: Any) -> None:
    for operation, size in _check_mapping(name, value).items():
        if type(size) is not int or not 1 <= size <= LARGEST_SIZE:
            raise InvalidReply(f"{name}[{operation!r}] is from 1 to {LARGEST_SIZE}, not {size!r}")


def _check_by_operation(name: str, value: Any) -> None:
    kind = _VALUES[name]
    for operation, one in _check_mapping(name, value).items():
        if not isinstance(one, kind):
            raise InvalidReply(f"{name}[{operation!r}] is a {kind.__name__}, not {type(one).__name__}")


def _check_mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidReply(
            f"{name} has a value for each operation, such as {{'search': …}}, not {type(value).__name__}"
        )
    return value


def _check_cached(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise InvalidReply(f"{name} is a list of operations, such as [{value!r}]")


def _check_sanitizers(name: str, value: Any) -> None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidReply(f"{name} is a list of steps, such as [Redaction()], not {type(value).__name__}")
    for one in value:
        if isinstance(one, type) or not callable(one):
            raise InvalidReply(f"{name} has steps such as Redaction(), not {one!r}")


_CHECKS: Final[Mapping[str, Callable[[str, Any], None]]] = {
    "dialect": _check_dialect,
    "channels": _check_channels,
    "count": _check_count,
    "soft_errors": _check_soft_errors,
    "budget": _check_budget,
    "budgets": _check_budgets,
    "kinds": _check_by_operation,
    "page_sizes": _check_page_sizes,
    "deprecations": _check_by_operation,
    "cached": _check_cached,
    "sanitizers": _check_sanitizers,
}


Framework: TypeAlias = Literal["fastapi", "starlette", "fastmcp", "mcp"]

_CLASSES: Final[dict[tuple[str, str], Framework]] = {
    ("fastapi", "FastAPI"): "fastapi",
    ("starlette", "Starlette"): "starlette",
    ("fastmcp", "FastMCP"): "fastmcp",
    ("mcp", "MCPServer"): "mcp",
    ("mcp", "Server"): "mcp",
}
_WORDS: Final[dict[Framework, str]] = {
    "fastapi": "a FastAPI application",
    "starlette": "a Starlette application",
    "fastmcp": "a FastMCP server",
    "mcp": "a server of the MCP SDK",
}


def framework_of(host: Any) -> Framework | None:
    """The framework that a server or an application is made with."""
    kinds = ((cls.__module__.partition(".")[0], cls.__name__) for cls in type(host).__mro__)
    return next((_CLASSES[kind] for kind in kinds if kind in _CLASSES), None)


def insist_on(framework: Framework, host: Any) -> None:
    """Raise unless a host is one of this framework; says which module is for it."""
    found = framework_of(host)
    if found == framework:
        return
    taken = f"aerogram.{framework}.install takes {_WORDS[framework]}"
    if found is not None:
        raise InvalidReply(f"{taken}; for {_WORDS[found]} use aerogram.{found}.install")
    kind = type(host)
    if kind.__module__.partition(".")[0] == "mcp":  # the FastMCP of an SDK before version 2
        raise InvalidReply(
            f"{taken}, not {kind.__module__}.{kind.__name__}: put `aerogram wrap` before that server, "
            "or give its handlers' values to aerogram.normalize_tool_result"
        )
    raise InvalidReply(f"{taken}, not {kind.__name__}")
