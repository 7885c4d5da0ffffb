"""knowledge-1.0: `_metadata`, `results`, `pagination`, `execution_context`, `warnings`.

The envelope around search and vendor results in four response modes. A failure stands
in `_metadata.message`, in `error`, and as a warning of level error, so that a client
that reads any one of them knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from aerogram.codes import KIND_RULES, Kind, Severity, is_code
from aerogram.dialects.protocol import (
    KEY,
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
from aerogram.reply import Notice, Page, Problem, Reply, Telemetry, is_zoned
from aerogram.reply.shown import read_fidelity

T = TypeVar("T")
NAME = "knowledge-1.0"
VERSION = "1.0.0"
SNIPPET_CHARS = 200
MAX_PAGE_SIZE = 50
ResponseMode = Literal["ids_only", "metadata", "preview", "full"]
ResponseStatus = Literal["success", "partial", "error"]
WarningLevel = Severity
Share = Annotated[float, Field(ge=0, le=1)]


def _check_zoned(text: str) -> str:
    if not is_zoned(text):
        raise ValueError("timestamp is ISO 8601 with a time zone")
    return text


def _check_code(code: str) -> str:
    if not is_code(code):
        raise ValueError("code is SCREAMING_SNAKE_CASE")
    return code


def _is_unsaid(part: Any) -> bool:
    return part is None


def _is_plausible(used: int, estimated: int) -> bool:
    return used * 10 <= estimated * 11


class ResponseMetadata(BaseModel, Part):
    """What was asked, when, and how it went."""

    model_config = ConfigDict(extra="allow")
    operation: str
    version: str
    timestamp: Annotated[str, AfterValidator(_check_zoned), Field(json_schema_extra={"format": "date-time"})]
    request_id: str
    status: ResponseStatus
    message: str | None = None


class PaginationMetadata(BaseModel, Part):
    """Where this page stands; the cursor is empty on the last page."""

    model_config = ConfigDict(extra="allow")
    cursor: str
    page_size: int = Field(ge=1, le=MAX_PAGE_SIZE)
    has_more: bool
    total_available: int | None = Field(default=None, ge=0)


class ConfidenceScore(BaseModel, Part):
    """How far a result can be trusted; all three or none."""

    score_reliability: Share
    source_quality: Share
    recency: Share


class RankingContext(BaseModel, Part):
    """Why a result stands where it stands."""

    percentile: int = Field(ge=0, le=100)
    explanation: str
    score_method: Literal["vector", "bm25", "hybrid"]


class DeduplicationInfo(BaseModel, Part):
    """Whether a better-ranked result says the same."""

    is_duplicate: bool
    similar_chunk_ids: list[int]
    confidence: Share


class ExecutionContext(BaseModel, Part):
    """What the answer cost in tokens and time."""

    model_config = ConfigDict(extra="allow")
    tokens_estimated: int = Field(ge=0)
    tokens_used: int | None = Field(default=None, ge=0)
    cache_hit: bool
    execution_time_ms: int | float = Field(gt=0)
    request_id: str

    @model_validator(mode="after")
    def _check_tokens(self) -> Self:
        if self.tokens_used is not None and not _is_plausible(self.tokens_used, self.tokens_estimated):
            raise ValueError("tokens_used exceeds tokens_estimated by at most 10 %")
        return self


class ResponseWarning(BaseModel, Part):
    """A warning a client can act on."""

    model_config = ConfigDict(extra="allow")
    level: WarningLevel
    code: Annotated[str, AfterValidator(_check_code)]
    message: str
    suggestion: str | None = None


class ResponseError(BaseModel, Part):
    """The failure, with whatever helps to mend it (such as `allowed_fields`)."""

    model_config = ConfigDict(extra="allow")
    code: str
    message: str
    kind: Kind | None = None
    retryable: bool | None = None
    retry_after: int | float | None = Field(default=None, ge=0)


class MCPResponseEnvelope(BaseModel, Envelope, Generic[T]):
    """The envelope of every response; `metadata` is `_metadata` on the wire."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, serialize_by_alias=True)
    metadata: ResponseMetadata = Field(alias="_metadata")
    results: T
    pagination: PaginationMetadata | None = None
    execution_context: ExecutionContext
    warnings: list[ResponseWarning]
    error: ResponseError | None = None
    aerogram: Extension | None = None  # type: ignore[valid-type]  # built at run time

    @property
    def _metadata(self) -> ResponseMetadata:
        """The same under the name that the document has for it."""
        return self.metadata

    @model_serializer(mode="wrap")
    def _omit_ours(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What the document's own class lacks is there only if it says something."""
        return {name: one for name, one in serialise(self).items() if one is not None or name not in ("error", KEY)}

    @model_validator(mode="after")
    def _check_request_id(self) -> Self:
        if self.execution_context.request_id != self.metadata.request_id:
            raise ValueError("execution_context.request_id equals _metadata.request_id")
        return self


class SearchRequest(BaseModel):
    """What a search takes."""

    query: str = Field(min_length=1, max_length=500, description="Search query")
    response_mode: ResponseMode = Field(default="metadata", description="Response detail level")
    page_size: int = Field(default=10, strict=True, ge=1, le=MAX_PAGE_SIZE, description="Results per page")
    cursor: str | None = Field(default=None, description="Pagination cursor (base64 JSON)")
    fields: list[str] | None = Field(default=None, description="Field whitelist")


class SearchResultIDs(BaseModel, Part):
    """A hit by its id: enough to rank and to fetch."""

    chunk_id: int
    hybrid_score: Share
    rank: int = Field(ge=1)


class SearchResultMetadata(SearchResultIDs):
    """Where the hit stands."""

    source_file: str
    source_category: str | None = None
    chunk_index: int = Field(ge=0)
    total_chunks: int = Field(ge=1)
    # the document's modes do not list them: whoever says nothing about a result sends the mode's own fields alone
    confidence: ConfidenceScore | None = Field(default=None, exclude_if=_is_unsaid)
    ranking: RankingContext | None = Field(default=None, exclude_if=_is_unsaid)
    deduplication: DeduplicationInfo | None = Field(default=None, exclude_if=_is_unsaid)


class SearchResultPreview(SearchResultMetadata):
    """How the hit begins."""

    chunk_snippet: str = Field(max_length=SNIPPET_CHARS)
    context_header: str


class SearchResultFull(SearchResultMetadata):
    """The whole hit, with each score that went into its rank."""

    chunk_text: str
    similarity_score: Share
    bm25_score: Share
    score_type: str
    context_header: str
    chunk_token_count: int = Field(ge=0)


class VendorStatistics(BaseModel, Part):
    """How much is known about a vendor, and of which kinds."""

    entity_count: int = Field(ge=0)
    relationship_count: int = Field(ge=0)
    entity_type_distribution: dict[str, int]
    relationship_type_distribution: dict[str, int]


class VendorInfoIDs(BaseModel, Part):
    """A vendor's graph by its ids."""

    vendor_name: str
    entity_ids: list[str]
    relationship_ids: list[str]


class VendorInfoMetadata(BaseModel, Part):
    """A vendor's graph in numbers."""

    vendor_name: str
    statistics: VendorStatistics
    top_entities: list[dict[str, Any]]
    last_updated: str | None


class VendorInfoPreview(BaseModel, Part):
    """The head of a vendor's graph."""

    vendor_name: str
    entities: list[dict[str, Any]] = Field(max_length=5)
    relationships: list[dict[str, Any]] = Field(max_length=5)
    statistics: VendorStatistics


class VendorInfoFull(BaseModel, Part):
    """A vendor's graph, up to its caps."""

    vendor_name: str
    entities: list[dict[str, Any]] = Field(max_length=100)
    relationships: list[dict[str, Any]] = Field(max_length=500)
    statistics: VendorStatistics


SemanticSearchResult = SearchResultIDs | SearchResultMetadata | SearchResultPreview | SearchResultFull
VendorInfoResult = VendorInfoIDs | VendorInfoMetadata | VendorInfoPreview | VendorInfoFull
SemanticSearchResponseType = MCPResponseEnvelope[list[SemanticSearchResult]]
VendorInfoResponseType = MCPResponseEnvelope[VendorInfoResult]

_ABOUT_ITSELF = frozenset({"confidence", "ranking", "deduplication"})


def _fields(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(model.model_fields) - _ABOUT_ITSELF


class WhitelistedSemanticSearchFields:
    """Which fields a search result has in each mode."""

    IDS_ONLY = _fields(SearchResultIDs)
    METADATA = _fields(SearchResultMetadata)
    PREVIEW = _fields(SearchResultPreview)
    FULL = _fields(SearchResultFull)


class WhitelistedVendorInfoFields:
    """Which fields a vendor has in each mode."""

    IDS_ONLY = _fields(VendorInfoIDs)
    METADATA = _fields(VendorInfoMetadata)
    PREVIEW = _fields(VendorInfoPreview)
    FULL = _fields(VendorInfoFull)


_TOP = frozenset(field.alias or name for name, field in MCPResponseEnvelope.model_fields.items())
_METADATA = frozenset(ResponseMetadata.model_fields)
_PAGE_WORDS = {"cursor": "cursor", "page_size": "page_size", "has_more": "has_more", "total": "total_available"}
_COST_WORDS = {
    "tokens_estimated": "tokens_estimated",
    "tokens_used": "tokens_used",
    "cache_hit": "cache_hit",
    "duration_ms": "execution_time_ms",
}
_PLAIN_WORDS = frozenset({"data", "request_id", "operation", "timestamp", "telemetry"})
_STATUSES = {"ok": "success", "empty": "success", "partial": "partial", "blocked": "partial", "error": "error"}
_WARNING = frozenset({"level", "code", "message", "suggestion", "context"})
_ERROR_WORDS = frozenset({"code", "message", "kind", "retryable", "retry_after"})


class KnowledgeV1Dialect(Dialect):
    """`knowledge-1.0` bodies."""

    name = NAME
    documents_cursors = True
    has_pages = True
    has_whole_durations = True
    smallest = 400
    body = MCPResponseEnvelope[Any]
    members = _TOP
    says_fidelity_in_words = True
    needs = frozenset({"request_id", "operation", "timestamp", "duration_ms", "cache_hit", "tokens_estimated"})
    vocabularies = frozenset({"/error/kind"})
    slim: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "_metadata": {"type": "object"},
            "results": {},
            "pagination": {"type": ["object", "null"]},
            "warnings": {"type": "array"},
        },
        "required": ["_metadata", "results", "warnings"],
    }

    def listed_schema(self, form: Form | None = None, own: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        kinds = {"rows": own, "record": {**own, "type": ["object", "array"]}, "value": {"type": "array", "items": own}}
        properties = {"_metadata": {"type": "object"}, "results": {} if form is None else kinds[form]}
        return {"type": "object", "properties": properties, "required": self.slim["required"]}

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return isinstance(body.get("_metadata"), dict)

    def says_all(self, reply: Reply[Any]) -> bool:
        cost = reply.telemetry
        return (
            type(reply.data) in (list, dict)
            and reply.present_fields().keys() <= _PLAIN_WORDS
            and cost is not None
            and (cost.billable_units is None and cost.tokens_used is None and cost.extra is None)
            and (cost.duration_ms or 0) > 0.001  # noqa: PLR2004 - the least that is written
            and not reply.missing(self.needs)
        )

    def skeleton(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"results": [], "execution_context": {}, "warnings": []}

    def write(self, reply: Reply[Any]) -> dict[str, Any]:
        problem = reply.problem
        warnings = [_write_notice(notice) for notice in reply.notices]
        body = {
            "_metadata": _write_metadata(reply),
            "results": _results(reply.data),
            "pagination": _write_page(reply),
            "execution_context": _write_cost(reply),
            "warnings": warnings if problem is None else [_problem_warning(problem), *warnings],
        }
        if problem is not None:
            body["error"] = _write_problem(problem)
        if reply.extra and _TOP.isdisjoint(reply.extra):
            body.update(reply.extra)
        return body

    def read(self, body: Mapping[str, Any]) -> dict[str, Any]:
        metadata = body.get("_metadata") or {}
        heard: dict[str, Any] = {"data": body.get("results")}
        warnings = body.get("warnings") or []
        if metadata.get("status") == "error" or body.get("error"):
            problem, warnings = _read_problem(metadata, body.get("error"), warnings)
            heard = {"data": None if heard["data"] == [] else heard["data"], "status": "error", "problem": problem}
        elif metadata.get("status") == "partial":
            heard["status"] = "partial"
        _read_metadata(metadata, heard)
        if warnings:
            heard["notices"] = tuple(_read_notice(one) for one in warnings)
        if heard.get("status") == "partial" and (told := read_fidelity(heard.get("notices", ()))):
            heard["fidelity"] = told
        if body.get("pagination"):
            page = unflatten(Page, body["pagination"], _PAGE_WORDS)
            heard["page"] = page if page.cursor else replace(page, cursor=None)
        _read_cost(body.get("execution_context") or {}, heard)
        extra = unnamed_members(body, _TOP)
        if extra:
            heard["extra"] = {**heard.get("extra", {}), **extra}
        return heard


def _results(data: Any) -> Any:
    if isinstance(data, (list, dict)):
        return data
    return [] if data is None else [data]


def _write_metadata(reply: Reply[Any]) -> dict[str, Any]:
    status = _STATUSES[reply.status]
    message = reply.problem.heading if reply.problem else reply.message
    return without_nothing(
        operation=reply.operation,
        version=VERSION,
        timestamp=reply.timestamp,
        request_id=reply.request_id,
        status=status,
        message=message,
    )


def _write_page(reply: Reply[Any]) -> dict[str, Any] | None:
    """The contract wants a size from 1 to 50 and a word on what follows; other pages it cannot say.

    A page that a budget made, and nobody asked for, is as large as it came out.
    """
    page = reply.page
    if page is None or page.has_more is None:
        return None
    is_made = page.page_size is None and page.cursor is not None and isinstance(reply.data, list)
    size = len(reply.data) if is_made else page.page_size or 0
    return {"cursor": "", "page_size": size, **flatten(page, _PAGE_WORDS)} if 1 <= size <= MAX_PAGE_SIZE else None


def _write_cost(reply: Reply[Any]) -> dict[str, Any]:
    telemetry = reply.telemetry or Telemetry()
    cost = flatten(telemetry, _COST_WORDS, others=("request_id",))
    cost["execution_time_ms"] = max(telemetry.duration_ms or 0, 0.001)
    if telemetry.tokens_used is not None and not _is_plausible(telemetry.tokens_used, telemetry.tokens_estimated or 0):
        del cost["tokens_used"]
    return {"request_id": reply.request_id, **cost}  # a number at the end takes a token less


def _write_notice(notice: Notice) -> dict[str, Any]:
    code = notice.code if notice.code and is_code(notice.code) else "NOTICE"
    said = {"level": notice.severity or "warning", "code": code, "message": notice.message}
    said |= without_nothing(suggestion=notice.suggestion, context=notice.context)
    return {**said, **notice.extra} if notice.extra and _WARNING.isdisjoint(notice.extra) else said


def _problem_warning(problem: Problem) -> dict[str, Any]:
    code = problem.code if is_code(problem.code) else KIND_RULES[problem.kind].code
    said = {"level": "error", "code": code, "message": problem.message}
    return {**said, **without_nothing(suggestion=problem.remediation)}


def _write_problem(problem: Problem) -> dict[str, Any]:
    said = without_nothing(
        code=problem.code,
        message=problem.message,
        kind=problem.kind,
        retryable=problem.retryable,
        retry_after=problem.retry_after,
    )
    details = problem.details or {}
    return {**said, **details} if _ERROR_WORDS.isdisjoint(details) else said


def _read_problem(
    metadata: Mapping[str, Any], error: Mapping[str, Any] | None, warnings: list[dict[str, Any]]
) -> tuple[Problem, list[dict[str, Any]]]:
    """The failure from the three places that tell of it, and the warnings that are not about it."""
    told = next((one for one in warnings if _is_about_failure(one, error)), {})
    error = error or without_nothing(code=told.get("code"), message=told.get("message"))
    message = metadata.get("message")
    is_later = error.get("kind") is not None and error["kind"] not in KIND_RULES
    problem = Problem(
        error.get("code") or "INTERNAL_ERROR",
        error.get("message", message or ""),
        kind=None if is_later else error.get("kind"),  # type: ignore[arg-type]  # None is settled from the table
        retry=read_retry(error),
        remediation=told.get("suggestion"),
        details=unnamed_members(error, _ERROR_WORDS - {"kind"} if is_later else _ERROR_WORDS),
        retry_after=error.get("retry_after"),
    )
    if message not in (None, problem.heading):
        problem = replace(problem, title=message)
    return problem, [one for one in warnings if one is not told]


def _is_about_failure(warning: Mapping[str, Any], error: Mapping[str, Any] | None) -> bool:
    about = warning.get("level") == "error"
    return about and (error is None or warning.get("message") == error.get("message"))


def _read_metadata(metadata: Mapping[str, Any], heard: dict[str, Any]) -> None:
    for name in ("request_id", "operation", "timestamp"):
        if metadata.get(name) is not None:
            heard[name] = metadata[name]
    if metadata.get("message") is not None and "problem" not in heard:
        heard["message"] = metadata["message"]
    extra = unnamed_members(metadata, _METADATA)
    if extra:
        heard["extra"] = extra


def _read_notice(warning: Mapping[str, Any]) -> Notice:
    context = warning.get("context")
    return Notice(
        warning.get("message", ""),
        warning.get("code"),
        warning.get("level"),
        warning.get("suggestion"),
        context if isinstance(context, dict) else None,
        unnamed_members(warning, _WARNING),
    )


def _read_cost(cost: Mapping[str, Any], heard: dict[str, Any]) -> None:
    members = {name: value for name, value in cost.items() if name != "request_id"}
    if members:
        heard["telemetry"] = unflatten(Telemetry, members, _COST_WORDS)


DIALECT = KnowledgeV1Dialect()
