"""response-v2: `success`, `data`, `error`, `meta`.

    {"success": true, "data": {…}, "error": null, "meta": {"version": "response-v2", …}}

Failures carry `error_code`, `error_type`, `remediation` and `details` inside `data`;
everything operational is in `meta`, under reserved keys in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic_core import to_jsonable_python

from aerogram.codes import KIND_RULES, TABLE, Kind, is_code, respell, spell_warning
from aerogram.dialects.protocol import (
    KEY,
    Dialect,
    Envelope,
    Extension,
    Form,
    flatten,
    unflatten,
    unnamed_members,
    without_nothing,
)
from aerogram.errors import ContractError
from aerogram.reply import Fidelity, Notice, Page, Problem, RateLimit, Reply, Telemetry

VERSION = "response-v2"
FIDELITY_VERSION = "1.0"


class WarningDetail(BaseModel):
    """A warning with its code, severity and context."""

    model_config = ConfigDict(extra="allow")
    code: str | None = None
    severity: Literal["info", "warning", "error"] | None = None
    message: str
    suggestion: str | None = None
    context: dict[str, Any] | None = None


class Pagination(BaseModel):
    """Where this page stands and the cursor of the next one."""

    model_config = ConfigDict(extra="allow")
    cursor: str | None = None
    has_more: bool | None = None
    total_count: int | None = Field(default=None, ge=0)
    page_size: int | None = Field(default=None, ge=0)


class RateLimitState(BaseModel):
    """What is left of the caller's allowance and when it resets."""

    model_config = ConfigDict(extra="allow")
    limit: int | None = Field(default=None, ge=0)
    remaining: int | None = Field(default=None, ge=0)
    reset_at: str | int | float | None = None
    retry_after: int | float | None = Field(default=None, ge=0)


class TelemetryReadings(BaseModel):
    """Timing and cost of the operation."""

    model_config = ConfigDict(extra="allow")
    duration_ms: int | float | None = Field(default=None, ge=0)
    cache_hit: bool | None = None
    tokens_estimated: int | None = Field(default=None, ge=0)
    tokens_used: int | None = Field(default=None, ge=0)
    billable_units: int | None = Field(default=None, ge=0)


class Meta(BaseModel):
    """Operational context under reserved keys; further keys may follow."""

    model_config = ConfigDict(extra="allow")
    version: Literal["response-v2"]
    request_id: str | None = None
    warnings: list[str] | None = None
    warning_details: list[WarningDetail] | None = None
    pagination: Pagination | None = None
    rate_limit: RateLimitState | None = None
    telemetry: TelemetryReadings | None = None
    content_fidelity: Literal["full", "partial", "summary", "reference_only"] | None = None
    content_fidelity_schema_version: str | None = None
    dropped_content_ids: list[str] | None = None
    content_archive_hashes: dict[str, str] | None = None
    aerogram: Extension | None = None  # type: ignore[valid-type]  # built at run time


class ErrorData(BaseModel):
    """What a program needs to act on a failure; further members give context."""

    model_config = ConfigDict(extra="allow")
    error_code: str | None = Field(default=None, description="SCREAMING_SNAKE_CASE")
    error_type: Kind | None = None
    remediation: str | None = None
    details: dict[str, Any] | None = None
    retry_after_seconds: int | float | None = Field(default=None, ge=0)


class Success(BaseModel):
    """A reply that worked."""

    success: Literal[True]
    data: dict[str, Any]
    error: None
    meta: Meta


class Failure(BaseModel):
    """A reply that failed."""

    success: Literal[False]
    data: ErrorData
    error: str
    meta: Meta


class ResponseV2(RootModel[Annotated[Success | Failure, Field(discriminator="success")]]):
    """The envelope of every reply."""


_FAILED = "The operation failed"
_TOP = frozenset({"success", "data", "error", "meta"})
_META = frozenset(Meta.model_fields)
_PLAIN_WORDS = frozenset({"data", "request_id", "page", "status"})
_ERROR_MEMBERS = frozenset(ErrorData.model_fields)
_FAILURE_MEMBERS = _ERROR_MEMBERS | {"feature", "data"}


class ResponseV2Dialect(Dialect):
    """`response-v2` bodies."""

    name = VERSION
    body = ResponseV2
    members = _TOP
    shortage = None
    smallest = 250
    hides_own_ids = True
    has_pages = True
    extension = f"/meta/{KEY}"
    vocabularies = frozenset({"/data/error_type"})
    slim: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "data": {"type": "object"},
        },
        # clients compile and type what is listed on every call; the two members that decide are enough
        "required": ["success", "data", "error", "meta"],
    }

    def listed_schema(self, form: Form | None = None, own: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        if form is None:
            return dict(self.slim)
        if form == "record":  # a failure has members of its own in the same place
            members = {name: part for name, part in own["properties"].items() if name not in _FAILURE_MEMBERS}
        else:
            members = {"results" if form == "rows" else "result": own}
        data = {"type": "object", "properties": members} if members else {"type": "object"}
        return {**self.slim, "properties": {**self.slim["properties"], "data": data}}

    def recognises(self, body: Mapping[str, Any]) -> bool:
        meta = body.get("meta")
        return isinstance(body.get("success"), bool) or (isinstance(meta, dict) and meta.get("version") == VERSION)

    def says_all(self, reply: Reply[Any]) -> bool:
        data, page = reply.data, reply.page
        is_said = type(data) is list or (type(data) is dict and _unbox(data) is data)
        goes_on = page is not None and bool(page.cursor)  # then the next page has what a part lacks
        return (
            is_said
            and vars(reply).keys() <= _PLAIN_WORDS
            and (reply.status == "ok" or (reply.status == "partial" and goes_on))
            and (page is None or page.extra is None)
        )

    def skeleton(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"success": body.get("error") is None, "data": {}, "error": None, "meta": {"version": VERSION}}

    def place(self, body: Mapping[str, Any]) -> Any:
        return body.get("meta")

    def is_older(self, body: Mapping[str, Any]) -> bool:
        return "meta" not in body

    def decode_fragment(self, body: Mapping[str, Any]) -> Reply[Any] | None:
        """Bodies of the version before this one, and others without `meta`: a failure never becomes a success."""
        if not isinstance(body.get("success"), bool) or not body.keys() <= _TOP or len(body) == 1:
            return None
        success, data, error, meta = (body.get(name) for name in ("success", "data", "error", "meta"))
        is_object = isinstance(data or {}, dict)
        if not isinstance(meta or {}, dict) or (success and not is_object and self.is_older(body)):
            return None
        try:
            if success:  # what went wrong all the same is no failure, and not to be lost
                whole = success_response(_box(data), warnings=error or None, meta=meta)
            else:
                told = data if is_object else {"data": data}
                whole = error_response(error or _FAILED, data=told, meta=meta)
            return self.decode(whole.to_dict())
        except ContractError:
            return None

    def validate(self, body: Any) -> None:
        super().validate(body)
        code = body["data"].get("error_code") if body["success"] is False else None
        if code is not None and not is_code(code):  # it can be read all the same
            raise ContractError("an error_code is in SCREAMING_SNAKE_CASE", "/data/error_code", VERSION)

    def code_of(self, problem: Problem) -> str:
        return TABLE.spell(problem.code if is_code(problem.code) else KIND_RULES[problem.kind].code, VERSION)

    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        problem = reply.problem
        return {
            "success": problem is None,
            "data": _box(reply.data) if problem is None else _error_data(problem, self.code_of(problem), reply.data),
            "error": None if problem is None else problem.message,
            "meta": _write_meta(reply),
        }

    def read(self, body: Mapping[str, Any]) -> dict[str, Any]:
        data = body.get("data", {})
        heard = {"data": _unbox(data)}
        if body.get("success") is False or body.get("error") is not None:
            heard = _read_failure(body.get("error") or "", data)
        meta = body.get("meta")
        if meta:
            _read_meta(meta, heard)
        if not _TOP.issuperset(body):
            heard["extra"] = {**heard.get("extra", {}), **(unnamed_members(body, _TOP) or {})}
        return heard


def _box(data: Any) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    if data is None:
        return {}
    return {"results" if isinstance(data, list) else "result": data}


def _unbox(data: Any) -> Any:
    """What is in a box that a list or a single value stands in; any other data is what it is."""
    if not isinstance(data, dict) or len(data) != 1:
        return data
    name, held = next(iter(data.items()))
    is_box = isinstance(held, list) if name == "results" else name == "result" and isinstance(held, _SINGLE)
    return held if is_box else data


_SINGLE = (str, int, float, date, time, Decimal, UUID)
"""What is one value in JSON; any other object may turn out to be a list or an object, which are not boxed so."""


def _error_data(problem: Problem, code: str, data: Any) -> dict[str, Any]:
    members = without_nothing(
        error_code=code,
        error_type=problem.kind,
        remediation=problem.remediation,
        details=problem.details,
        retry_after_seconds=problem.retry_after,
        feature=_feature(problem),
    )
    if data is None:
        return members
    if isinstance(data, dict) and data and (_ERROR_MEMBERS.isdisjoint(data) or _has_later_type(data)):
        return {**members, **data}
    return {**members, "data": data}


def _has_later_type(data: Mapping[str, Any]) -> bool:
    """Whether some data of a failure says a category that this version has no word for, and nothing else of ours."""
    said = data.get("error_type")
    return isinstance(said, str) and said not in KIND_RULES and data.keys() & _ERROR_MEMBERS == {"error_type"}


def _read_failure(message: str, data: Mapping[str, Any]) -> dict[str, Any]:
    kind = data.get("error_type")
    is_later = kind is not None and kind not in KIND_RULES  # it stays among the data, where `_error_data` finds it
    general = TABLE["INTERNAL_ERROR" if kind is None or is_later else KIND_RULES[kind].code]
    code, advice = data.get("error_code"), data.get("remediation")
    problem = Problem(
        code or general.name,
        message,
        kind=None if is_later else kind,  # type: ignore[arg-type]  # None is settled from the table
        remediation=advice if code else advice or general.remediation,  # the rest of a category alone is the table's
        details=data.get("details"),
        retry_after=data.get("retry_after_seconds"),
    )
    feature = _feature(problem)
    known = _ERROR_MEMBERS | {"feature"} if feature is not None and data.get("feature") == feature else _ERROR_MEMBERS
    known = known - {"error_type"} if is_later else known
    return {"data": unnamed_members(data, known), "status": "error", "problem": problem}


def _feature(problem: Problem) -> Any:
    """The feature that is switched off, which the document names beside the details."""
    return (problem.details or {}).get("feature") if problem.kind == "feature_flag" else None


def _write_meta(reply: Reply[Any]) -> dict[str, Any]:
    """The reserved keys, in the contract's order; nothing empty."""
    meta: dict[str, Any] = {"version": VERSION}
    if reply.request_id is not None:
        meta["request_id"] = reply.request_id
    if reply.notices:
        meta["warnings"] = [notice.message for notice in reply.notices]
        details = [_warning_detail(notice) for notice in reply.notices]
        if any(len(detail) > 1 for detail in details):
            meta["warning_details"] = details
    if reply.page:
        meta["pagination"] = flatten(reply.page, _PAGE_WORDS)
    if reply.rate_limit:
        meta["rate_limit"] = flatten(reply.rate_limit, _RATE_WORDS)
    if reply.telemetry:
        meta["telemetry"] = flatten(reply.telemetry, _TELEMETRY_WORDS)
    if reply.fidelity:
        meta.update(_write_fidelity(reply.fidelity))
    elif reply.status == "partial" and reply.page is not None and reply.page.cursor:
        meta[_LEVEL] = "partial"  # and what is missing is on the next page
    if reply.extra and _META.isdisjoint(reply.extra):
        meta.update(reply.extra)
    return meta


def _read_meta(meta: Mapping[str, Any], heard: dict[str, Any]) -> None:
    extra = {}
    for member, value in meta.items():
        if member not in _META:
            extra[member] = value
        elif member == "request_id" and value is not None:
            heard["request_id"] = value
        elif member in _OPEN_PARTS and value is not None:
            name, part, words = _OPEN_PARTS[member]
            heard[name] = unflatten(part, value, words)
        elif member in _FIDELITY and value:
            # whoever says what was dropped says that something was
            if (meta.get(_LEVEL) or "partial") != "full" and heard.get("status") is None:
                heard["status"] = "partial"
            if heard.get("status") != "partial" or not _goes_on(meta):
                heard["fidelity"] = _read_fidelity(meta)
        elif member in _WARNINGS and value:
            heard["notices"] = _read_notices(meta.get("warnings") or [], meta.get("warning_details") or [])
    if extra:
        heard["extra"] = extra


def _goes_on(meta: Mapping[str, Any]) -> bool:
    """Whether all that is said to be missing is on the next page."""
    has_cursor = bool((meta.get("pagination") or {}).get("cursor"))
    return has_cursor and meta.get(_LEVEL) == "partial" and meta.keys() & (_FIDELITY | {_LEVEL_VERSION}) == {_LEVEL}


def _warning_detail(notice: Notice) -> dict[str, Any]:
    code, severity = notice.code, notice.severity
    if code is not None:
        code, severity = spell_warning(code, severity, VERSION)
    said = {
        "code": code,
        "severity": severity,
        "message": notice.message,
        "suggestion": notice.suggestion,
        "context": notice.context,
    }
    detail = {name: value for name, value in said.items() if value is not None}
    return {**detail, **notice.extra} if notice.extra and _DETAIL.isdisjoint(notice.extra) else detail


def _read_notices(warnings: list[str], details: list[dict[str, Any]]) -> tuple[Notice, ...]:
    """The warnings in their order, each with its detail if it has one, then details that no warning tells of."""
    detailed = [unflatten(Notice, one, _DETAIL_WORDS) for one in details if "message" in one]
    if [notice.message for notice in detailed] == warnings:
        return tuple(detailed)
    told = []
    for message in warnings:
        found = next((notice for notice in detailed if notice.message == message), None)
        if found is not None:
            detailed.remove(found)
        told.append(found or Notice(message))
    return (*told, *detailed)


def _write_fidelity(fidelity: Fidelity) -> dict[str, Any]:
    said: dict[str, Any] = {_LEVEL: fidelity.level}
    if fidelity.schema_version is not None:
        said[_LEVEL_VERSION] = fidelity.schema_version
    if fidelity.dropped_ids:
        said["dropped_content_ids"] = list(fidelity.dropped_ids)
    if fidelity.archive_hashes is not None:
        said["content_archive_hashes"] = fidelity.archive_hashes
    return said


def _read_fidelity(meta: Mapping[str, Any]) -> Fidelity:
    return Fidelity(
        # whoever says what was dropped says that something was
        meta.get("content_fidelity") or "partial",
        meta.get("dropped_content_ids") or (),
        meta.get("content_archive_hashes"),
        meta.get(_LEVEL_VERSION),
    )


_DETAIL_WORDS = {name: name for name in WarningDetail.model_fields}
_DETAIL = frozenset(_DETAIL_WORDS)
_PAGE_WORDS = {"cursor": "cursor", "has_more": "has_more", "total": "total_count", "page_size": "page_size"}
_RATE_WORDS = {name: name for name in RateLimitState.model_fields}
_TELEMETRY_WORDS = {name: name for name in TelemetryReadings.model_fields}
_OPEN_PARTS: Mapping[str, tuple[str, type[Any], dict[str, str]]] = {
    "pagination": ("page", Page, _PAGE_WORDS),
    "rate_limit": ("rate_limit", RateLimit, _RATE_WORDS),
    "telemetry": ("telemetry", Telemetry, _TELEMETRY_WORDS),
}
_LEVEL = "content_fidelity"
_LEVEL_VERSION = "content_fidelity_schema_version"
_FIDELITY = frozenset({_LEVEL, "dropped_content_ids", "content_archive_hashes"})
_WARNINGS = frozenset({"warnings", "warning_details"})
_LISTS = _WARNINGS | {"dropped_content_ids"}


@dataclass
class ToolResponse(Envelope):
    """The envelope as a dataclass: `dataclasses.asdict(response)` is the JSON body.

    `asdict` copies the payload; `to_dict` gives the same body without copying.
    """

    success: bool
    data: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    meta: dict[str, Any] = field(default_factory=lambda: {"version": VERSION})

    def to_dict(self) -> dict[str, Any]:
        """The JSON body, sharing the payload."""
        return {"success": self.success, "data": self.data, "error": self.error, "meta": self.meta}


def success_response(
    data: Mapping[str, Any] | None = None,
    *,
    warnings: str | Iterable[str] | None = None,
    warning_details: Iterable[Mapping[str, Any]] | None = None,
    pagination: Mapping[str, Any] | None = None,
    rate_limit: Mapping[str, Any] | None = None,
    telemetry: Mapping[str, Any] | None = None,
    content_fidelity: str | None = None,
    content_fidelity_schema_version: str | None = None,
    dropped_content_ids: Iterable[str] | None = None,
    content_archive_hashes: Mapping[str, str] | None = None,
    request_id: str | None = None,
    meta: Mapping[str, Any] | None = None,
    **fields: Any,
) -> ToolResponse:
    """The response of a successful operation; further keyword arguments join `data`."""
    members = without_nothing(
        request_id=request_id,
        warnings=[warnings] if isinstance(warnings, str) else list(warnings or ()) or None,
        warning_details=[dict(one) for one in warning_details or ()] or None,
        pagination=pagination,
        rate_limit=rate_limit,
        telemetry=telemetry,
        content_fidelity=content_fidelity,
        content_fidelity_schema_version=content_fidelity_schema_version,
        dropped_content_ids=list(dropped_content_ids or ()) or None,
        content_archive_hashes=content_archive_hashes,
    )
    payload = {**(data or {}), **fields} if fields else data or {}
    return _tool_response({"success": True, "data": payload, "error": None, "meta": _with_version(members, meta)})


def error_response(
    message: str,
    *,
    error_code: str | None = None,
    error_type: str | None = None,
    remediation: str | None = None,
    data: Mapping[str, Any] | None = None,
    details: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    rate_limit: Mapping[str, Any] | None = None,
    telemetry: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> ToolResponse:
    """The response of a failed operation; what is not given comes from the table of codes.

    A code that is not in the table takes after its category, and so does a failure without one. Codes are in
    SCREAMING_SNAKE_CASE: one that is written otherwise is respelled, because refusing it would lose the message.
    """
    context = dict(data or {})
    error_code = respell(_first(error_code, context.pop("error_code", None)) or "") or None
    row = TABLE.get(error_code or "")
    kind = _first(error_type, context.pop("error_type", None)) or (row.kind if row else "internal")
    general = TABLE[next((rule.code for name, rule in KIND_RULES.items() if name == kind), "INTERNAL_ERROR")]
    said = without_nothing(
        error_code=error_code or general.name,
        error_type=kind,
        remediation=_first(remediation, context.pop("remediation", None)) or (row or general).remediation,
        details=_first(details, context.pop("details", None)),
    )
    members = without_nothing(request_id=request_id, rate_limit=rate_limit, telemetry=telemetry)
    body = {"success": False, "data": {**said, **context}, "error": message}
    return _tool_response({**body, "meta": _with_version(members, meta)})


def _first(argument: Any, beside: Any) -> Any:
    """What an argument says; where it says nothing, what stands among the data; of two objects, every member."""
    if isinstance(argument, Mapping) and isinstance(beside, Mapping):
        return {**beside, **argument}
    return beside if argument is None else argument


def _with_version(members: Mapping[str, Any], meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """The members of meta and the versions they need: of the envelope, and of the fidelity keys if there are any.

    What is said twice is said by the argument of its name; of a list nothing is lost, nor of an object's members. Times
    and objects of one's own are written as JSON has them.
    """
    members, given = to_jsonable_python(dict(members)), to_jsonable_python(dict(meta or {}))
    said = {**given, "version": VERSION, **members}
    for name in _LISTS & members.keys() & given.keys():
        said[name] = [*members[name], *(one for one in given[name] or () if one not in members[name])]
    for name in _OPEN_PARTS.keys() & members.keys() & given.keys():
        said[name] = {**given[name], **members[name]}
    if said.get("request_id") is not None:
        said["request_id"] = str(said["request_id"])
    if not any(said.get(name) for name in _FIDELITY):
        return said
    return {_LEVEL: "partial", _LEVEL_VERSION: FIDELITY_VERSION, **said}


def _tool_response(body: dict[str, Any]) -> ToolResponse:
    """Pass a body through the dialect, so that what the helpers give always keeps the contract."""
    return ToolResponse(**DIALECT.encode(DIALECT.decode(body, lenient=False)))


DIALECT = ResponseV2Dialect()
