"""Reply: the one canonical model of an answer. Everything that any dialect can say has a place here.

The raw constructors hold exactly what they are given, so that a body read in one
dialect can be written again without gaining or losing a word. `Reply.ok`, `.empty`,
`.partial`, `.blocked` and `.failed`, `Problem.of` and `Notice.of` fill in defaults.
Payloads are never copied.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from aerogram.codes import KIND_RULES, TABLE, WARNINGS, Kind, Retry, Severity
from aerogram.errors import InvalidReply

_LETTERS: Final = b"abcdefghiklmnoprstuvwy"
"""Of the others, which few words have, some ids would need one token more than any of these do."""
_BY_CHANCE: Final = bytes(_LETTERS[byte % len(_LETTERS)] for byte in range(256))
_GENERATED: Final = re.compile(f"req_[{_LETTERS.decode()}]{{8}}")


def new_request_id() -> str:
    """A new request id: `req_` and eight letters of chance; digits among them would cost more tokens."""
    return "req_" + os.urandom(8).translate(_BY_CHANCE).decode()


def is_generated_id(request_id: str) -> bool:
    """Whether an id looks as if it were made here."""
    return _GENERATED.fullmatch(request_id) is not None


T = TypeVar("T")
Json = Mapping[str, Any]
Status = Literal["ok", "empty", "partial", "blocked", "error"]
EmptyReason = Literal["no_match", "filters_too_narrow", "source_unavailable", "license_blocked"]
FidelityLevel = Literal["full", "partial", "summary", "reference_only"]

_STAMPS = ("request_id", "operation", "timestamp")
_METERS = ("duration_ms", "cache_hit", "tokens_estimated", "billable_units")
_STATUSES = get_args(Status)
_EMPTY_REASONS = frozenset(get_args(EmptyReason))
_SEVERITIES = frozenset(get_args(Severity))
_LEVELS = frozenset(get_args(FidelityLevel))


def _set(part: object, name: str, value: object) -> None:
    object.__setattr__(part, name, value)


def _normalize_part(
    part: object, *, mappings: tuple[str, ...] = (), sequences: tuple[str, ...] = (), counts: tuple[str, ...] = ()
) -> None:
    """Give equal meaning one form: an empty mapping is none, a sequence is a tuple; a count is never negative."""
    for name in counts:
        count = getattr(part, name)
        if count is not None and count < 0:
            raise InvalidReply(f"{type(part).__name__}.{name} is not negative")
    for name in mappings:
        value = getattr(part, name)
        if value is not None and not value:
            _set(part, name, None)
    for name in sequences:
        value = getattr(part, name)
        if type(value) is not tuple:
            _set(part, name, tuple(value))


WAY_ON: Final = "way_on"
"""Where in the `extra` of a page stand the call that goes on after it, but for its offset, and that of the page."""
LEFT_OUT: Final = "left_out"
"""Where in the `extra` of a reply stands in a few words what is in the rows that it does not show."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a reply failed, for a program (`code`, `kind`, `retry`) and for a person.

    `kind` and `retry` follow from the code when they are not given; texts are only
    there when somebody said them. `message` is for developers, `user_message` for
    the people they serve, `title` names the class of problem.
    """

    code: str
    message: str
    kind: Kind = None  # type: ignore[assignment]  # settled below from the table
    retry: Retry = None  # type: ignore[assignment]
    title: str | None = None
    user_message: str | None = None
    remediation: str | None = None
    details: Json | None = None
    retry_after: float | None = None
    documentation: str | None = None

    def __post_init__(self) -> None:
        row = TABLE.rows.get(self.code)
        if self.kind is None:
            _set(self, "kind", row.kind if row else "internal")
        elif self.kind not in KIND_RULES:
            raise InvalidReply(f"a kind is one of {', '.join(KIND_RULES)}, not {self.kind!r}")
        if self.retry is None:
            _set(self, "retry", row.retry if row else KIND_RULES[self.kind].retry)
        _normalize_part(self, mappings=("details",), counts=("retry_after",))

    @classmethod
    def of(cls, code: str, message: str | None = None, **known: Any) -> Problem:
        """A problem with the table's defaults for what is not given; the code must be in the table."""
        row = TABLE.rows.get(code) or TABLE[code]  # which says what is near
        known["remediation"] = known.get("remediation") or row.remediation
        return cls(code, message or row.title, **known)

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later, as it stands."""
        return self.retry == "yes"

    @property
    def status(self) -> int:
        """The HTTP status that goes with it."""
        row = TABLE.rows.get(self.code)
        return KIND_RULES[self.kind].status if row is None else row.status

    @property
    def heading(self) -> str:
        """The short name of this class of problem."""
        return self.title or TABLE[self.code if self.code in TABLE else KIND_RULES[self.kind].code].title

    def is_a(self, code: str) -> bool:
        """Whether this is `code` or one of its children."""
        return self.code == code or any(row.name == code for row in TABLE.lineage(self.code))


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth knowing that did not make the reply fail."""

    message: str
    code: str | None = None
    severity: Severity | None = None
    suggestion: str | None = None
    context: Json | None = None
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("context", "extra"))
        if self.severity is not None and self.severity not in _SEVERITIES:
            raise InvalidReply(f"a severity is info, warning or error, not {self.severity!r}")

    @classmethod
    def of(cls, code: str, message: str | None = None, *, suggestion: str | None = None, **context: Any) -> Notice:
        """A standard warning with its level and default suggestion."""
        if code not in WARNINGS:
            raise InvalidReply(f"{code!r} is not a standard warning; known: {', '.join(sorted(WARNINGS))}")
        row = WARNINGS[code]
        return cls(message or row.description, code, row.severity, suggestion or row.suggestion, context or None)


@dataclass(frozen=True, slots=True)
class Page:
    """Where in a longer sequence this reply stands, and the way on."""

    cursor: str | None = None
    has_more: bool | None = None
    total: int | None = None
    page_size: int | None = None
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("extra",), counts=("total", "page_size"))


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How much the caller may still ask for, and when it resets (ISO 8601 or epoch seconds)."""

    limit: int | None = None
    remaining: int | None = None
    reset_at: str | float | None = None
    retry_after: float | None = None
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("extra",), counts=("limit", "remaining", "retry_after"))


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What the answer cost."""

    duration_ms: float | None = None
    cache_hit: bool | None = None
    tokens_estimated: int | None = None
    tokens_used: int | None = None
    billable_units: int | None = None
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(
            self,
            mappings=("extra",),
            counts=("duration_ms", "tokens_estimated", "tokens_used", "billable_units"),
        )


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How complete the data is, what was left out, and the hashes under which it is kept."""

    level: FidelityLevel
    dropped_ids: tuple[str, ...] = ()
    archive_hashes: Mapping[str, str] | None = None
    schema_version: str | None = "1.0"
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("archive_hashes", "extra"), sequences=("dropped_ids",))
        if self.level not in _LEVELS:
            raise InvalidReply(f"a fidelity level is full, partial, summary or reference_only, not {self.level!r}")


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a part of the data comes from, or all of it; `field_paths` are JSON Pointers to that part.

    They point into `{"results": rows}`: `/results/3/title` is a member of the fourth row, `/results/0/title` one of
    data that is a single record. Whatever a contract pages, selects or cuts, they are kept true.
    """

    source_id: str | None = None
    source_url: str | None = None
    publisher: str | None = None
    title: str | None = None
    fetched_at: str | None = None
    checksum: str | None = None
    license: str | None = None
    field_paths: tuple[str, ...] = ()
    verification_status: str | None = None
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("extra",), sequences=("field_paths",))


@dataclass(frozen=True, slots=True)
class Action:
    """A follow-up call with its arguments filled in: a tool's, or an endpoint's."""

    tool: str | None = None
    endpoint: str | None = None
    args: Json | None = None
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("args", "extra"))
        if (self.tool is None) == (self.endpoint is None):
            raise InvalidReply("an action names a tool or an endpoint, and only one of them")


@dataclass(frozen=True, slots=True)
class QueryEcho:
    """The query as it was understood."""

    normalized_input: Json | None = None
    applied_filters: Json | None = None
    unparsed_terms: tuple[str, ...] = ()
    extra: Json | None = None

    def __post_init__(self) -> None:
        _normalize_part(self, mappings=("normalized_input", "applied_filters", "extra"), sequences=("unparsed_terms",))

    def rename(self, names: Mapping[str, str]) -> QueryEcho:
        """The echo in the names that its caller has sent, where whoever answered knows other ones."""
        sent = {names.get(name, name): value for name, value in (self.normalized_input or {}).items()}
        return replace(self, normalized_input=sent) if sent else self


@dataclass(frozen=True, kw_only=True)
class Reply(Generic[T]):
    """One answer: data, how it went, and everything worth saying about it.

    A reply holds only what it says: fields at their default take no room and no time.
    """

    data: T = field(default=None, kw_only=False)  # type: ignore[assignment]  # a reply without data has None
    status: Status = "ok"
    problem: Problem | None = None
    notices: tuple[Notice, ...] = ()
    page: Page | None = None
    rate_limit: RateLimit | None = None
    telemetry: Telemetry | None = None
    fidelity: Fidelity | None = None
    citations: tuple[Citation, ...] = ()
    actions: tuple[Action, ...] = ()
    query_echo: QueryEcho | None = None
    empty_reason: EmptyReason | None = None
    retry_with: Json | None = None
    message: str | None = None
    request_id: str | None = None
    operation: str | None = None
    timestamp: str | None = None
    client_tag: str | None = None
    extra: Json | None = None

    @classmethod
    def ok(cls, data: T = None, **said: Any) -> Reply[T]:  # type: ignore[assignment]
        """It worked."""
        return cls(data, **said)

    @classmethod
    def empty(cls, reason: EmptyReason = "no_match", data: Any = None, **said: Any) -> Reply[Any]:
        """It worked and there is nothing; `reason` says why."""
        return Reply([] if data is None else data, status="empty", empty_reason=reason, **said)

    @classmethod
    def partial(cls, data: T, notices: str | Notice | Iterable[str | Notice], **said: Any) -> Reply[T]:
        """Part of it worked; the notices say what did not."""
        return cls(data, status="partial", notices=_require_notices("partial", notices), **said)

    @classmethod
    def blocked(cls, data: T, notices: str | Notice | Iterable[str | Notice], **said: Any) -> Reply[T]:
        """It cannot go on for now; the notices say what it waits for."""
        return cls(data, status="blocked", notices=_require_notices("blocked", notices), **said)

    @classmethod
    def failed(cls, problem: str | Problem, message: str | None = None, *, data: Any = None, **said: Any) -> Reply[Any]:
        """It failed: a `Problem`, or a code of the table with what happened.

        Words that belong to the problem (remediation, details, retry_after, …) go to it,
        the others to the reply.
        """
        if isinstance(problem, Problem) and message is not None:
            raise TypeError("a Problem has its own message")
        if isinstance(problem, str):
            known = {name: said.pop(name) for name in _PROBLEM_WORDS & said.keys()}
            problem = Problem.of(problem, message, **known)
        return Reply(data, status="error", problem=problem, **said)

    def replace(self, **changes: Any) -> Reply[T]:
        """The same reply with some fields changed."""
        return Reply(**{**self.__dict__, **changes})

    def present_fields(self) -> Mapping[str, Any]:
        """The fields that say something, by name; `data` is always among them."""
        return MappingProxyType(self.__dict__)

    def missing(self, needs: frozenset[str]) -> frozenset[str]:
        """Which of the things that some contract requires this reply does not say."""
        cost = self.telemetry  # without it there is no reading
        return frozenset([name for name in needs if getattr(cost if name in _METERS else self, name, None) is None])

    def complete(
        self,
        needs: frozenset[str] = frozenset(_STAMPS + _METERS),
        *,
        request_id: str | None = None,
        operation: str = "unknown",
        duration_ms: float | None = None,
        tokens_estimated: int = 0,
        now: dt.datetime | None = None,
        hides_own_id: bool = False,
    ) -> Reply[T]:
        """The reply with request id, operation, time and telemetry filled in where they are missing.

        Only what is in `needs` is filled in; what is already said stays. With `hides_own_id`, a success goes without an
        id that was made here.
        """
        if hides_own_id and request_id is not None and self.problem is None and is_generated_id(request_id):
            request_id = None
        # a reply of data alone, which most are, says nothing that is needed
        missing = needs if len(self.__dict__) == 1 else self.missing(needs)
        said: dict[str, Any] = {}
        if "request_id" in missing or (request_id is not None and self.request_id is None):
            said["request_id"] = request_id or new_request_id()
        if "operation" in missing:
            said["operation"] = operation
        if "timestamp" in missing:
            said["timestamp"] = utc_timestamp(now, timespec="seconds")
        if not missing.isdisjoint(_METERS):
            read: dict[str, Any] = {}
            if "duration_ms" in missing:
                # a contract wants a positive time; a clock that did not advance is not zero work
                read["duration_ms"] = max(duration_ms or 0, 0.001)
            if "cache_hit" in missing:
                read["cache_hit"] = False
            if "tokens_estimated" in missing:
                read["tokens_estimated"] = tokens_estimated
            if "billable_units" in missing:
                read["billable_units"] = 0 if self.problem else 1
            said["telemetry"] = replace(self.telemetry, **read) if self.telemetry else Telemetry(**read)
        return self.replace(**said) if said else self


def _require_notices(status: str, given: str | Notice | Iterable[str | Notice]) -> tuple[Notice, ...]:
    notices = _as_notices(given)
    if not notices:
        raise InvalidReply(f"a {status} reply needs a notice that says what is missing")
    return notices


def _as_notices(given: str | Notice | Iterable[str | Notice]) -> tuple[Notice, ...]:
    several = (given,) if isinstance(given, (str, Notice)) else given
    return tuple(Notice(one) if isinstance(one, str) else one for one in several)


def _check_status(reply: Reply[Any]) -> None:
    """A status and what goes with it must not contradict each other."""
    status = reply.status
    if status not in _STATUSES:
        raise InvalidReply(f"a status is one of {', '.join(_STATUSES)}, not {status!r}")
    if (status == "error") != (reply.problem is not None):
        raise InvalidReply("a reply has a problem exactly when its status is 'error'")
    if (status == "empty") != (reply.empty_reason is not None):
        raise InvalidReply("a reply has an empty_reason exactly when its status is 'empty'")
    if reply.empty_reason is not None and reply.empty_reason not in _EMPTY_REASONS:
        raise InvalidReply(f"empty_reason is one of {', '.join(sorted(_EMPTY_REASONS))}")
    if status == "error" and reply.message is not None:
        raise InvalidReply("a failed reply speaks through its problem's message")


def is_zoned(text: object) -> bool:
    """Whether a text is a moment in ISO 8601 with its time zone."""
    try:
        return dt.datetime.fromisoformat(text).tzinfo is not None  # type: ignore[arg-type]  # what is no text raises
    except (TypeError, ValueError):
        return False


def _init(self: Reply[Any], data: Any = None, **said: Any) -> None:
    """Keep the fields that say something; the others answer from the class."""
    held = self.__dict__
    held["data"] = data
    for name, given in said.items():
        if name not in _DEFAULTS:
            raise TypeError(f"Reply has no field {name!r}")
        value = _as_notices(given) if name == "notices" else given
        if name in _SEQUENCES and type(value) is not tuple:
            value = tuple(value)
        # parts have slow comparisons, so only plain values are compared with their default
        if value is None or (type(value) in _PLAIN and (not value or value == _DEFAULTS[name]) and value != ""):
            continue
        held[name] = value
    if not held.keys().isdisjoint(_STATUS_WORDS):
        _check_status(self)
    if "timestamp" in held and not is_zoned(held["timestamp"]):
        raise InvalidReply(f"a timestamp is ISO 8601 with a time zone, not {held['timestamp']!r}")


_DEFAULTS = {f.name: f.default for f in fields(Reply) if f.name != "data"}
_SEQUENCES = frozenset(name for name, default in _DEFAULTS.items() if default == ())
_PLAIN = frozenset({str, tuple, dict})
_STATUS_WORDS = frozenset({"status", "problem", "empty_reason"})
# dataclass() wrote an __init__ that type checkers know and that sets every field; this one is ten times faster
Reply.__init__ = _init  # type: ignore[method-assign]
_PROBLEM_WORDS = frozenset(f.name for f in fields(Problem)) - {"code", "message"}

_REQUEST_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?")


def accept_request_id(candidate: object) -> str | None:
    """The caller's request id if it is safe to log and to send back, else None."""
    return candidate if isinstance(candidate, str) and _REQUEST_ID.fullmatch(candidate) else None


LONGEST_CLIENT_TAG: Final = 128


def accept_client_tag(candidate: object) -> str | None:
    """The caller's own mark if it is short and can be printed, so that it can be sent back; else None."""
    if not isinstance(candidate, str) or not 0 < len(candidate) <= LONGEST_CLIENT_TAG:
        return None
    return None if any(unicodedata.category(letter)[0] == "C" for letter in candidate) else candidate


def utc_timestamp(moment: dt.datetime | None = None, timespec: str = "milliseconds") -> str:
    """A moment (now by default) as ISO 8601 in UTC with a `Z`."""
    moment = (moment or dt.datetime.now(dt.UTC)).astimezone(dt.UTC)
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


Resume: TypeAlias = Callable[[int], str]
"""Gives the cursor that goes on after the first so many items of a page."""
Ahead: TypeAlias = Callable[[], list[Any]]
"""Gives every row of a walk."""


class ResumablePage(NamedTuple):
    """A page as a reply, and what goes on inside of it when not all of it can be sent.

    A handler that makes its own pages may return one; with the reply alone, what does not fit is told as left out.
    Where a walk begins, and all of its rows are at hand, `ahead` gives them. `max_tokens` is a size that the caller
    has asked the handler for. With `whole_rows`, its rows are what was asked for, and none is shown in less detail.
    `is_archived`: it was asked for as it was kept, so that no control shapes it once more. `spell` writes its data
    as the text that it was read from. `cites_unasked`: where not all fits, its citations go first.
    """

    reply: Reply[Any]
    resume: Resume | None = None
    ahead: Ahead | None = None
    max_tokens: int | None = None
    whole_rows: bool = False
    is_archived: bool = False
    spell: Callable[[Any], str] | None = None
    cites_unasked: bool = False

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Let frameworks take it for a return type: it is no value that is sent."""
        from pydantic_core import core_schema

        return core_schema.any_schema()
