"""standard-v2: `status`, `results`, `citations`, `suggested_actions`, `error`, `meta`.

The status follows from the rows of the reply: rich from five rows on (or for a single
record), sparse for one to four, empty for none, partial when warnings say what is
missing, error with one of nine codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from aerogram import reply as canonical
from aerogram.codes import TABLE, Severity
from aerogram.dialects.protocol import (
    Dialect,
    Envelope,
    Extension,
    Form,
    Part,
    flatten,
    read_retry,
    unflatten,
    unnamed_members,
    without_nothing,
)
from aerogram.reply import EmptyReason, Problem, Reply, Telemetry, new_request_id
from aerogram.reply.shown import read_fidelity, read_total

RICH_ROWS: Final = 5


def broken_rule(body: Mapping[str, Any]) -> str | None:
    """The first rule of the table that a body breaks."""
    status, rows = body.get("status"), len(body.get("results") or ())
    error, meta = body.get("error"), body.get("meta") or {}
    rules = {
        "rich": (rows >= RICH_ROWS or rows == 1, f"rich has {RICH_ROWS} rows or more, or is a single record"),
        "sparse": (1 <= rows < RICH_ROWS, f"sparse has 1 to {RICH_ROWS - 1} rows"),
        "empty": (rows == 0 and bool(body.get("empty_reason")), "empty has no rows and an empty_reason"),
        "partial": (bool(body.get("warnings")), "partial has warnings that are not empty"),
        "error": (rows == 0, "error has no rows"),
    }
    kept, rule = rules.get(status or "", (True, ""))
    if not kept:
        return rule
    if (status == "error") != (error is not None):
        return "a body has an error object exactly when its status is error"
    return "an error has 0 billable_units" if error is not None and meta.get("billable_units") else None


def _when(status: str, *required: str, **members: Any) -> dict[str, Any]:
    rule = {"properties": members, "required": list(required)} if required else {"properties": members}
    return {"if": {"properties": {"status": {"const": status}}, "required": ["status"]}, "then": rule}


_NO_ROWS: Final = {"maxItems": 0}
_FREE: Final = {"properties": {"billable_units": {"const": 0}}}

SCHEMA_RULES: Final = (
    _when("rich", results={"anyOf": [{"minItems": RICH_ROWS}, {"minItems": 1, "maxItems": 1}]}),
    _when("sparse", results={"minItems": 1, "maxItems": RICH_ROWS - 1}),
    _when("empty", "empty_reason", results=_NO_ROWS, empty_reason={"type": "string"}),
    _when("partial", warnings={"minItems": 1}),
    {
        **_when("error", "error", results=_NO_ROWS, error={"type": "object"}, meta=_FREE),
        "else": {"properties": {"error": {"type": "null"}}},
    },
)
"""The same rules in the words of JSON Schema."""


T = TypeVar("T")
Status = Literal["rich", "sparse", "empty", "partial", "error"]
ErrorCode = Literal[
    "RATE_LIMITED",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "VALIDATION_ERROR",
    "LICENSE_GATE_BLOCKED",
    "QUOTA_EXCEEDED",
    "INTEGRITY_ERROR",
    "INTERNAL_ERROR",
]
NAME = "standard-v2"
ERROR_CODES = frozenset(get_args(ErrorCode))
UNSAID = "Something is missing, and nobody said what"
"""The warning of a partial reply without one, because the contract wants one."""


class _Member(BaseModel, Part):
    """An open object of the contract; what it does not say is not on the wire."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, serialize_by_alias=True)

    @model_serializer(mode="wrap")
    def _omit_none(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialise(self).items() if value is not None}


class QueryEcho(_Member):
    """The query as it was understood."""

    normalized_input: dict[str, Any] = Field(default_factory=dict)
    applied_filters: dict[str, Any] = Field(default_factory=dict)
    unparsed_terms: list[str] = Field(default_factory=list)


class Citation(_Member):
    """Where a part of the results comes from."""

    source_id: str | None = None
    source_url: str | None = None
    publisher: str | None = None
    title: str | None = None
    fetched_at: str | None = None
    checksum: str | None = None
    license: str | None = None
    field_paths: list[str] = Field(default_factory=list, description="JSON Pointers into this body")
    verification_status: str | None = None


class ResponseWarning(_Member):
    """Something that did not stop the reply but should be known."""

    code: str | None = None
    severity: Severity | None = None
    message: str
    suggestion: str | None = None
    context: dict[str, Any] | None = None


class SuggestedAction(_Member):
    """A follow-up call: a tool, or an endpoint, with its arguments."""

    tool: str | None = None
    endpoint: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if (self.tool is None) == (self.endpoint is None):
            raise ValueError("an action names a tool or an endpoint, and only one of them")
        return self


class Meta(_Member):
    """Which request this answers, and what it cost."""

    request_id: str
    api_version: Literal["v2"] = "v2"
    latency_ms: int | float = Field(default=0, ge=0)
    billable_units: int = Field(default=1, ge=0)
    client_tag: str | None = None


class StandardError(_Member, Envelope):
    """One of nine errors, for the user and for the developer."""

    code: ErrorCode
    user_message: str
    developer_message: str
    retryable: bool
    retry_after: int | float | None = Field(default=None, ge=0)
    documentation: str | None = None

    @classmethod
    def of(
        cls,
        code: ErrorCode,
        developer_message: str | None = None,
        *,
        retry_after: float | None = None,
        user_message: str | None = None,
        language: str = "en",
        documentation: str | None = None,
    ) -> Self:
        """The error of that code with the table's texts; `documentation` is the base its link starts with."""
        row = TABLE[code]
        return cls(
            code=code,
            user_message=user_message or row.user_text.get(language, row.user_text["en"]),
            developer_message=developer_message or row.title,
            retryable=row.retry == "yes",
            retry_after=retry_after,
            documentation=documentation and documentation + code.lower(),
        )

    @classmethod
    def rate_limited(cls, developer_message: str | None = None, retry_after: float = 60, **texts: Any) -> Self:
        """Too many requests a second."""
        return cls.of("RATE_LIMITED", developer_message, retry_after=retry_after, **texts)

    @classmethod
    def unauthorized(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """Missing or invalid credentials."""
        return cls.of("UNAUTHORIZED", developer_message, **texts)

    @classmethod
    def forbidden(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """Known, but not permitted."""
        return cls.of("FORBIDDEN", developer_message, **texts)

    @classmethod
    def not_found(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """No such resource."""
        return cls.of("NOT_FOUND", developer_message, **texts)

    @classmethod
    def bad_request(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """Bad input; say which field."""
        return cls.of("VALIDATION_ERROR", developer_message, **texts)

    @classmethod
    def license_gate_blocked(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """Rows were withheld by their licence."""
        return cls.of("LICENSE_GATE_BLOCKED", developer_message, **texts)

    @classmethod
    def quota_exceeded(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """A daily or monthly cap is reached."""
        return cls.of("QUOTA_EXCEEDED", developer_message, **texts)

    @classmethod
    def integrity_error(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """Sources do not agree, or stored data is damaged."""
        return cls.of("INTEGRITY_ERROR", developer_message, **texts)

    @classmethod
    def internal(cls, developer_message: str | None = None, **texts: Any) -> Self:
        """An unexpected failure; the message points at the trace."""
        return cls.of("INTERNAL_ERROR", developer_message, **texts)

    def to_reply(self) -> Reply[Any]:
        """The canonical reply that this error is."""
        return StandardResponse[Any].error(self).to_reply()


class StandardResponse(_Member, Envelope, Generic[T]):
    """The body of every answer; its problem stands under `error` on the wire."""

    status: Status
    query_echo: QueryEcho
    results: list[T]
    citations: list[Citation]
    warnings: list[ResponseWarning | str]
    suggested_actions: list[SuggestedAction] = Field(default_factory=list)
    empty_reason: EmptyReason | None = None
    retry_with: dict[str, Any] | None = None
    problem: StandardError | None = Field(default=None, alias="error")
    meta: Meta
    aerogram: Extension | None = None  # type: ignore[valid-type]  # built at run time

    @model_validator(mode="after")
    def _check_status(self) -> Self:
        said = {name: getattr(self, name) for name in ("status", "results", "empty_reason", "warnings")}
        cost = self.meta.billable_units if "billable_units" in self.meta.model_fields_set else None
        broken = broken_rule({**said, "error": self.problem, "meta": {"billable_units": cost}})
        if broken:
            raise ValueError(broken)
        return self

    @classmethod
    def of(cls, results: Sequence[T], **members: Any) -> Self:
        """Rich, sparse or empty, by the number of rows; partial where warnings are given."""
        if members.get("warnings"):
            return cls._build("partial", results, members)
        if not results:
            return cls._build("empty", (), {"empty_reason": "no_match", **members})
        members.pop("empty_reason", None)  # why there would be nothing, and there is something
        return cls._build("rich" if len(results) >= RICH_ROWS else "sparse", results, members)

    @classmethod
    def rich(cls, results: Sequence[T], **members: Any) -> Self:
        """Five rows or more, or one record that is the whole answer."""
        return cls._build("rich", results, members)

    @classmethod
    def sparse(cls, results: Sequence[T], **members: Any) -> Self:
        """One to four rows; `retry_with` may say how to find more."""
        return cls._build("sparse", results, members)

    @classmethod
    def empty(cls, empty_reason: EmptyReason = "no_match", **members: Any) -> Self:
        """No rows, and why."""
        return cls._build("empty", (), {"empty_reason": empty_reason, **members})

    @classmethod
    def partial(cls, results: Sequence[T], warnings: Sequence[Any], **members: Any) -> Self:
        """Any number of rows, and warnings that say what is missing."""
        return cls._build("partial", results, {"warnings": warnings, **members})

    @classmethod
    def error(cls, error: StandardError, **members: Any) -> Self:
        """A failure; it costs the caller nothing."""
        return cls._build("error", (), {"problem": error, "billable_units": 0, **members})

    @classmethod
    def _build(cls, status: Status, results: Iterable[T], members: dict[str, Any]) -> Self:
        """A response with the members of the document by their names, those of `meta` also one by one.

        Any other name is a new member at the top, which the document permits.
        """
        given = members.pop("meta", None) or {}
        known = given.model_dump() if isinstance(given, Meta) else dict(given)
        known |= {name: members.pop(name) for name in Meta.model_fields if name in members}
        known.setdefault("request_id", new_request_id())
        members.setdefault("query_echo", {})
        members.setdefault("citations", [])
        told = members.get("warnings") or ()
        members["warnings"] = [ResponseWarning(message=one) if isinstance(one, str) else one for one in told]
        return cls(status=status, results=list(results), meta=Meta(**known), **members)

    def to_wire(self) -> dict[str, Any]:
        """The JSON body; that of a failure as its document has it."""
        body = self.model_dump(mode="json")
        return body if self.problem is None else _order_failure(body)

    def to_reply(self) -> Reply[Any]:
        """The canonical reply that this body says."""
        return DIALECT.decode(self.to_wire())


def _order_failure(body: dict[str, Any]) -> dict[str, Any]:
    """The body of a failure, its members as the document has them; no suggestions is no member."""
    if not body.get("suggested_actions"):
        body.pop("suggested_actions", None)
    return {**{name: body[name] for name in _FAILURE_ORDER if name in body}, **body}


_FAILURE_ORDER = ("status", "results", "warnings", "citations", "query_echo", "error")


def wrap_for_mcp(response: StandardResponse[Any] | StandardError | Reply[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """The MCP tool result of an answer: the body as structured content, a line of summary as text."""
    if isinstance(response, StandardError):
        response = StandardResponse[Any].error(response)
    if isinstance(response, Reply):
        body: Mapping[str, Any] = DIALECT.encode(DIALECT.complete(response))
    else:
        body = response.to_wire() if isinstance(response, StandardResponse) else response
    result: dict[str, Any] = {"structuredContent": body, "content": [{"type": "text", "text": summary_line(body)}]}
    return {**result, "isError": True} if body.get("error") else result


def summary_line(body: Mapping[str, Any]) -> str:
    """`rich · 23 results`, and of a failure what the user is told."""
    if body.get("error"):
        return str(body["error"]["user_message"])
    rows = len(body["results"])
    return f"{body['status']} · {rows} {'result' if rows == 1 else 'results'}"


_CITATION_WORDS = {name: name for name in Citation.model_fields}
_ACTION_WORDS = {name: name for name in SuggestedAction.model_fields}
_ECHO_WORDS = {name: name for name in QueryEcho.model_fields}
_WARNING_WORDS = {name: name for name in ("message", *ResponseWarning.model_fields)}
_TOP = frozenset(field.alias or name for name, field in StandardResponse.model_fields.items())
_META = frozenset(Meta.model_fields)
_PLAIN_WORDS = frozenset({"data", "request_id", "telemetry", "client_tag"})
_SHORTAGE_SEVERITY: Final = "warning"


def _is_documented_retryable(problem: Problem) -> bool:
    """Whether the document says so of a code that leaves it to the state; the extension says what it is then."""
    row = TABLE.rows.get(problem.code)
    return problem.retry == "check" and problem.kind == "internal" and row is not None and row.retry == "yes"


@dataclass(frozen=True)
class StandardV2Dialect(Dialect):
    """`standard-v2` bodies; user messages in `language`, links to `documentation` + the code."""

    language: str = "en"
    documentation: str | None = None

    name: ClassVar[str] = NAME
    echoes: ClassVar[bool] = True
    body: ClassVar[type[BaseModel]] = StandardResponse
    explains_partial = True
    explains_emptiness = True
    says_fidelity_in_words = True
    required_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"query_echo", "citations", "warnings", "suggested_actions"}
    )
    smallest: ClassVar[int] = 300
    members: ClassVar[frozenset[str]] = _TOP
    has_whole_durations = True
    needs: ClassVar[frozenset[str]] = frozenset({"request_id", "duration_ms", "billable_units"})
    vocabularies: ClassVar[frozenset[str]] = frozenset({"/error/code"})
    slim: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "status": {"enum": list(get_args(Status))},
            "results": {"type": "array"},
            "error": {"type": "object"},
            "meta": {"type": "object"},
        },
        "required": ["status", "results", "meta"],
    }

    def listed_schema(self, form: Form | None = None, own: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        results = own if form == "rows" else {"type": "array", "items": own} if own else {"type": "array"}
        properties = {"status": {"type": "string"}, "results": results}
        return {"type": "object", "properties": properties, "required": self.slim["required"]}

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return body.get("status") in get_args(Status) and "results" in body

    def says_all(self, reply: Reply[Any]) -> bool:
        cost = reply.telemetry
        return (
            type(reply.data) is list
            and len(reply.data) > 0
            and _PLAIN_WORDS.issuperset(reply.present_fields())
            and cost is not None
            and (reply.request_id is not None and cost.duration_ms is not None and cost.billable_units is not None)
            and (cost.cache_hit is None and cost.tokens_estimated is None)
            and (cost.tokens_used is None and cost.extra is None)
        )

    def skeleton(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"query_echo": {}, "results": [], "citations": [], "warnings": [], "meta": {"request_id": ""}}

    def contradiction(self, body: Mapping[str, Any]) -> str | None:
        return broken_rule(body)

    def schema(self, *, slim: bool = False) -> dict[str, Any]:
        said = super().schema(slim=slim)
        return said if slim else {**said, "allOf": list(SCHEMA_RULES)}

    def code_of(self, problem: Problem) -> str:
        return TABLE.nearest(problem.code, problem.kind, NAME, ERROR_CODES)

    def headline(self, body: Mapping[str, Any]) -> str | None:
        return summary_line(body)

    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        rows = _rows(reply)
        status = _status(reply, rows)
        body: dict[str, Any] = {
            "status": status,
            "query_echo": _write_echo(reply.query_echo),
            "results": rows,
            "citations": [flatten(one, _CITATION_WORDS) for one in reply.citations],
            "warnings": [_write_notice(notice) for notice in reply.notices],
        }
        if status == "partial" and not reply.notices:
            body["warnings"] = [{"message": UNSAID}]
        if reply.problem is None or reply.actions:
            body["suggested_actions"] = [
                {**flatten(one, _ACTION_WORDS), "args": one.args or {}} for one in reply.actions
            ]
        if status == "empty":
            body["empty_reason"] = reply.empty_reason or "no_match"
        if reply.retry_with:
            body["retry_with"] = reply.retry_with
        if reply.problem:
            body["error"] = self._write_problem(reply.problem)
        body["meta"] = _write_meta(reply)
        if reply.extra and _TOP.isdisjoint(reply.extra):
            body.update(reply.extra)
        return _order_failure(body) if reply.problem else body

    def _write_problem(self, problem: Problem) -> dict[str, Any]:
        code = self.code_of(problem)
        return without_nothing(
            code=code,
            user_message=problem.user_message or TABLE.user_text(problem.code, problem.kind, self.language),
            developer_message=problem.message,
            retryable=problem.retryable or _is_documented_retryable(problem),
            retry_after=problem.retry_after,
            documentation=problem.documentation or (self.documentation and self.documentation + code.lower()),
        )

    def _read_problem(self, error: Mapping[str, Any]) -> Problem:
        problem = Problem(
            error.get("code", "INTERNAL_ERROR"),
            error.get("developer_message", ""),
            retry=read_retry(error),
            retry_after=error.get("retry_after"),
            documentation=error.get("documentation"),
        )
        words = error.get("user_message")
        # words of the table are nobody's own, and are told in the language of whoever sends them on
        is_usual = words == TABLE.user_text(problem.code, problem.kind, self.language)
        return problem if words is None or is_usual else replace(problem, user_message=words)

    def read(self, body: Mapping[str, Any]) -> dict[str, Any]:
        rows = body.get("results")
        # one row can only be rich when it is a record that is the whole answer
        single = body.get("status") == "rich" and isinstance(rows, list) and len(rows) == 1
        heard: dict[str, Any] = {"data": rows[0] if rows and single else rows}
        if body.get("error"):
            heard = {"data": None, "status": "error", "problem": self._read_problem(body["error"])}
        elif body.get("status") in ("empty", "partial"):
            heard["status"] = body["status"]
        for name in ("empty_reason", "retry_with"):
            if body.get(name):
                heard[name] = body[name]
        _read_parts(body, heard)
        _read_meta(body.get("meta") or {}, heard)
        if heard.get("status") == "partial" and (told := read_fidelity(heard.get("notices", ()))):
            heard["fidelity"] = told
        if heard.get("status") == "partial" and (page := _told_page(heard.get("notices", ()))):
            heard["page"] = page
        extra = unnamed_members(body, _TOP)
        if extra:
            heard["extra"] = {**heard.get("extra", {}), **extra}
        return heard


def _rows(reply: Reply[Any]) -> list[Any]:
    """The rows of this reply: its list, its one record, or none."""
    if reply.problem is not None or reply.data is None:
        return []
    if isinstance(reply.data, list):
        return reply.data if not reply.data or reply.status != "empty" else []
    return [] if reply.status == "empty" else [reply.data]


def _status(reply: Reply[Any], rows: list[Any]) -> Status:
    if reply.problem is not None:
        return "error"
    if reply.status in ("partial", "blocked"):
        return "partial"
    if not rows:
        return "empty"
    return "rich" if len(rows) >= RICH_ROWS or not isinstance(reply.data, list) else "sparse"


def _write_echo(echo: canonical.QueryEcho | None) -> dict[str, Any]:
    """All three members are always there, so that a client need not look twice."""
    silent: dict[str, Any] = {"normalized_input": {}, "applied_filters": {}, "unparsed_terms": []}
    return {**silent, **flatten(echo, _ECHO_WORDS)} if echo else silent


def _write_meta(reply: Reply[Any]) -> dict[str, Any]:
    telemetry = reply.telemetry or Telemetry()
    return without_nothing(
        request_id=reply.request_id,
        api_version="v2",
        latency_ms=telemetry.duration_ms,
        billable_units=0 if reply.problem else telemetry.billable_units,
        client_tag=reply.client_tag,
    )


def _read_parts(body: Mapping[str, Any], heard: dict[str, Any]) -> None:
    echo = {name: value for name, value in (body.get("query_echo") or {}).items() if value or name not in _ECHO_WORDS}
    if echo:
        heard["query_echo"] = unflatten(canonical.QueryEcho, echo, _ECHO_WORDS)
    if body.get("citations"):
        heard["citations"] = tuple(unflatten(canonical.Citation, one, _CITATION_WORDS) for one in body["citations"])
    if body.get("suggested_actions"):
        heard["actions"] = tuple(unflatten(canonical.Action, one, _ACTION_WORDS) for one in body["suggested_actions"])
    if body.get("warnings"):
        heard["notices"] = tuple(_read_warning(one) for one in body["warnings"])


def _read_warning(warning: str | Mapping[str, Any]) -> canonical.Notice:
    if isinstance(warning, str):
        return canonical.Notice(warning)
    implied = {"severity": _SHORTAGE_SEVERITY} if warning.get("code") == StandardV2Dialect.shortage else {}
    return unflatten(canonical.Notice, {"message": "", **implied, **warning}, _WARNING_WORDS)  # type: ignore[no-any-return]


def _write_notice(notice: canonical.Notice) -> dict[str, Any]:
    """A warning; how bad it is that something is missing goes without saying."""
    said = flatten(notice, _WARNING_WORDS)
    if notice.code == StandardV2Dialect.shortage and notice.severity == _SHORTAGE_SEVERITY:
        del said["severity"]
    return said


def _told_page(notices: Iterable[canonical.Notice]) -> canonical.Page | None:
    """What the warning of a page that goes on says about it; the contract has no other word for pages."""
    told = (read_total(one.message) for one in notices if one.code == StandardV2Dialect.shortage)
    total = next((one for one in told if one is not None), None)
    return None if total is None else canonical.Page(has_more=True, total=total)


def _read_meta(meta: Mapping[str, Any], heard: dict[str, Any]) -> None:
    for name in ("request_id", "client_tag"):
        if meta.get(name) is not None:
            heard[name] = meta[name]
    if "latency_ms" in meta or "billable_units" in meta:
        heard["telemetry"] = Telemetry(meta.get("latency_ms"), billable_units=meta.get("billable_units"))
    extra = unnamed_members(meta, _META)
    if extra:
        heard["extra"] = extra


DIALECT = StandardV2Dialect()
