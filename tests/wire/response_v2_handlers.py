"""Handlers as a reader of the two documents on response-v2 writes them."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from pydantic import BaseModel

from aerogram import Notice, Reply
from aerogram.documents.response_v2 import (
    DigestPayload,
    EvidenceSnippet,
    ToolResponse,
    error_response,
    serialize_payload,
)
from aerogram.documents.response_v2 import success_response as success
from aerogram.errors import NotFound

DIALECT = "response-v2"
SETTINGS = {"controls": ["list_tasks"]}

ARCHIVED = {"archive-001": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
STALE = {
    "code": "STALE_CACHE",
    "severity": "warning",
    "message": "Cached data may be outdated",
    "context": {"cache_age_seconds": 7200},
}
TASKS = [{"task_id": f"task-{number:03}", "description": "Implement login. " * 12} for number in range(45)]
FERRY = "The ferry to Holm leaves at noon. A ticket costs three crowns."


# --- what the guide shows --------------------------------------------------------------------------------------------


def task_query() -> dict:
    tasks = [
        {"task_id": "task-001", "description": "Implement login", "status": "completed"},
        {"task_id": "task-002", "description": "Implement logout", "status": "pending"},
    ]
    return asdict(success(data={"tasks": tasks, "total_count": 2}, request_id="req_12345"))


def typed_query() -> ToolResponse:
    return success(data={"tasks": [], "total_count": 0})


def nothing_found() -> dict:
    return asdict(success(data={"tasks": [], "total_count": 0}))


def partial_work() -> dict:
    failures = [{"task_id": "task-003", "error": "Missing file"}]
    data = {"processed": 8, "failed": 2, "failures": failures}
    return asdict(success(data=data, warnings=["2 tasks failed to process"]))


def blocked_work() -> dict:
    data = {"task_id": "task-001", "status": "blocked", "blocker": "Waiting for API approval"}
    return asdict(success(data=data, warnings=["Task is blocked and cannot proceed"]))


def bad_characters() -> dict:
    return asdict(
        error_response(
            message="Validation failed: spec_id contains invalid characters",
            error_code="VALIDATION_ERROR",
            error_type="validation",
            remediation="Spec ID must be non-empty and contain only alphanumeric characters and hyphens",
            details={
                "field": "spec_id",
                "constraint": "pattern",
                "pattern": "^[a-z0-9-]+$",
                "received": "Invalid Spec ID!",
            },
            request_id="req_67890",
        )
    )


def missing_spec() -> dict:
    return asdict(
        error_response(
            message="Spec not found: nonexistent-spec",
            error_code="NOT_FOUND",
            error_type="not_found",
            remediation="Check that the spec_id exists in specs/active/ or specs/pending/",
            details={"resource_type": "spec", "resource_id": "nonexistent-spec"},
            request_id="req_00001",
        )
    )


# --- what the schema shows -------------------------------------------------------------------------------------------


def partial_findings() -> dict:
    findings = [
        {"id": "finding-001", "title": "Primary result", "content": "..."},
        {"id": "finding-002", "title": "Secondary result", "content": "..."},
    ]
    return asdict(
        success(
            data={"research_id": "research-001", "findings": findings, "total_findings": 5},
            content_fidelity="partial",
            dropped_content_ids=["finding-003", "finding-004", "finding-005"],
            content_archive_hashes={"findings-archive": "sha256:e3b0c44298fc1c149afbf4c8996fb924..."},
            warnings=["3 findings omitted due to token limits"],
        )
    )


def two_warnings() -> dict:
    sources = {"failed_sources": ["source-a", "source-b", "source-c"], "successful_sources": 7, "total_sources": 10}
    ages = {"cache_age_seconds": 7200, "max_freshness_seconds": 3600}
    texts = ("3 sources failed to respond", "Cache data is 2 hours old")
    return asdict(
        success(
            data={"results": [{"id": "result-001"}]},
            warnings=texts,
            warning_details=[
                {"code": "PARTIAL_FAILURE", "severity": "warning", "message": texts[0], "context": sources},
                {"code": "STALE_CACHE", "severity": "warning", "message": texts[1], "context": ages},
            ],
        )
    )


def missing_field() -> dict:
    return asdict(
        error_response(
            "Validation failed: spec_id is required",
            error_code="VALIDATION_ERROR",
            error_type="validation",
            remediation="Provide a non-empty spec_id parameter",
            details={"field": "spec_id", "constraint": "required", "received": None},
            request_id="req_abc123",
        )
    )


def several_payloads() -> dict:
    return asdict(success(data={"spec": {"spec_id": "spec-001"}, "tasks": [{"task_id": "task-001"}]}))


def feature_disabled() -> dict:
    return asdict(
        error_response(
            message="Feature 'beta' is not enabled",
            error_code="FEATURE_DISABLED",
            error_type="feature_flag",
            data={"feature": "beta"},
            remediation="Contact support to enable this feature or check feature flag configuration",
        )
    )


def rate_limited() -> dict:
    return asdict(
        error_response(
            message="Rate limit exceeded: 100 requests per minute",
            error_code="RATE_LIMIT_EXCEEDED",
            error_type="rate_limit",
            data={"retry_after_seconds": 45},
            remediation="Wait 45 seconds before retrying. Consider batching requests.",
            rate_limit={"limit": 100, "remaining": 0, "reset_at": "2025-12-04T12:00:00Z", "retry_after": 60},
        )
    )


# --- every parameter, key, code and level ----------------------------------------------------------------------------


def say_everything() -> dict:
    return asdict(
        success(
            data={"value": 1},
            warning_details=[STALE],
            pagination={
                "cursor": "eyJvZmZzZXQiOjIwfQ==",
                "has_more": True,
                "total_count": 150,
                "page_size": 20,
                "sort": "rank",
            },
            rate_limit={"limit": 100, "remaining": 95, "reset_at": "2025-12-04T12:00:00Z", "retry_after": 45},
            telemetry={"duration_ms": 45, "cache_hit": True, "downstream_calls": 3},
            content_fidelity="partial",
            dropped_content_ids=["finding-003", "source-015"],
            content_archive_hashes=ARCHIVED,
            request_id="req_abc123",
            meta={"region": "eu"},
        )
    )


def fail_with_everything() -> dict:
    return asdict(
        error_response(
            "No such spec",
            error_code="SPEC_NOT_FOUND",
            error_type="conflict",
            remediation="List the specs",
            data={"spec": "billing"},
            details={"field": "spec_id"},
            request_id="req_1",
            rate_limit={"limit": 100, "remaining": 0},
            telemetry={"duration_ms": 45},
            meta={"region": "eu"},
        )
    )


def fail_with_code(code: str) -> dict:
    return asdict(error_response(f"It failed: {code}", error_code=code))


def fail_with_type(name: str) -> dict:
    return asdict(error_response(f"It failed: {name}", error_type=name))


def warn(code: str) -> dict:
    return Reply.ok({"value": 1}, notices=[Notice.of(code)])


def warn_with_severity(severity: str) -> dict:
    return asdict(success(data={"value": 1}, warning_details=[{"message": "Look here", "severity": severity}]))


def say_level(level: str) -> dict:
    return asdict(success(data={"value": 1}, content_fidelity=level))


# --- what its readers write besides ----------------------------------------------------------------------------------


class Computed(BaseModel):
    answer: int = 42


def model_payload() -> dict:
    return asdict(success(data={"result": Computed()}))


def pair_payload() -> dict:
    return asdict(success(data={"result": (1, 2)}))


def null_payload() -> dict:
    return asdict(success(data={"result": None}))


def old_failure() -> dict:
    return {"success": False, "error": "Spec not found", "data": {}}


def failure_without_meta() -> dict:
    return {"success": False, "data": {"error_code": "NOT_FOUND"}, "error": "Spec not found"}


def failure_without_words() -> dict:
    return {"success": False, "data": None, "error": None, "meta": {"version": "response-v2"}}


def old_success() -> dict:
    return {"success": True, "data": {"value": 1}}


class OwnModel(BaseModel):
    """The envelope as a reader types it from the document."""

    success: bool
    data: dict
    error: str | None = None
    meta: dict = {"version": "response-v2"}


@dataclass
class OwnRecord:
    success: bool
    data: dict
    error: str | None = None
    meta: dict = field(default_factory=lambda: {"version": "response-v2"})


NO_SPEC = {"error_code": "NOT_FOUND", "error_type": "not_found", "remediation": "List the specs"}


def own_model() -> OwnModel:
    return OwnModel(success=True, data={"value": 1})


def own_model_fails() -> OwnModel:
    return OwnModel(success=False, data=NO_SPEC, error="Spec not found")


def own_record() -> OwnRecord:
    return OwnRecord(True, {"value": 1})


def own_record_fails() -> OwnRecord:
    return OwnRecord(False, NO_SPEC, "Spec not found")


def own_text() -> str:
    return json.dumps(asdict(own_record()))


def own_text_fails() -> str:
    return json.dumps(asdict(own_record_fails()))


def page_in_short() -> dict:
    page = {"cursor": "eyJvZmZzZXQiOjIwfQ==", "has_more": True, "total_count": 150, "page_size": 20}
    return {"success": True, "data": {"tasks": [{"task_id": "task-001"}]}, "meta": {"pagination": page}}


def rows_as_data() -> dict:
    return {"success": True, "data": [{"task_id": "task-001"}], "error": None, "meta": {"version": "response-v2"}}


def no_rows_as_data() -> dict:
    return {"success": False, "data": [], "error": "Spec not found", "meta": {"version": "response-v2"}}


def contradicted_success() -> dict:
    return {"success": True, "data": {"value": 1}, "error": "One source is gone", "meta": {"version": "response-v2"}}


def category_alone() -> dict:
    data = {"error_type": "not_found", "remediation": "List the specs"}
    return {"success": False, "data": data, "error": "Spec not found", "meta": {"version": "response-v2"}}


def dated_limit() -> dict:
    limit = {"limit": 100, "remaining": 0, "reset_at": datetime(2025, 12, 4, 12, tzinfo=UTC)}
    return asdict(error_response("Slow down", error_code="RATE_LIMIT_EXCEEDED", rate_limit=limit))


def measured_nothing() -> dict:
    return asdict(success(data={"value": 1}, telemetry={"duration_ms": 0}))


def long_details() -> dict:
    details = {"field": "spec_id", "rows": TASKS}
    return asdict(error_response("Too many rows", error_code="VALIDATION_ERROR", details=details))


# --- values and exceptions -------------------------------------------------------------------------------------------


def say_nothing() -> dict:
    return asdict(success())


def give_nothing() -> None:
    return None


def give_rows() -> list[dict]:
    return [{"task_id": "task-001"}, {"task_id": "task-002"}]


def give_number() -> int:
    return 42


def raise_not_found() -> dict:
    raise NotFound("Spec 'billing' not found", details={"spec_id": "billing"}, remediation="List the specs")


def raise_unexpected() -> dict:
    raise RuntimeError("the password is hunter2")


# --- more than a budget holds, and pages -----------------------------------------------------------------------------


def all_tasks() -> dict:
    return asdict(success(data={"tasks": TASKS, "total_count": len(TASKS)}))


def list_tasks() -> dict:
    return {"tasks": TASKS}


def digest_source() -> dict:
    quote = "A ticket costs three crowns."
    begin = FERRY.index(quote)
    payload = DigestPayload(
        query_hash="ab12cd34",
        summary="The ferry leaves at noon and costs three crowns.",
        key_points=["A ticket costs three crowns"],
        evidence_snippets=[
            EvidenceSnippet(text=quote, locator=f"char:{begin}-{begin + len(quote)}", relevance_score=0.85)
        ],
        original_chars=len(FERRY),
        digest_chars=48,
        compression_ratio=round(48 / len(FERRY), 2),
        source_text_hash="sha256:" + "ab" * 32,
    )
    source = {"id": "ferry", "content_type": "digest/v1", "content": serialize_payload(payload)}
    return asdict(success(data={"source": source}))


CODES = (
    *("VALIDATION_ERROR", "INVALID_FORMAT", "MISSING_REQUIRED", "NOT_FOUND", "SPEC_NOT_FOUND", "TASK_NOT_FOUND"),
    *("DUPLICATE_ENTRY", "CONFLICT", "UNAUTHORIZED", "FORBIDDEN", "FEATURE_DISABLED", "RATE_LIMIT_EXCEEDED"),
    *("INTERNAL_ERROR", "UNAVAILABLE", "ALREADY_EXISTS", "INVALID_STATE", "DEPENDENCY_ERROR"),
)
TYPES = (
    *("validation", "authentication", "authorization", "not_found", "conflict", "rate_limit", "feature_flag"),
    *("internal", "unavailable"),
)
WARNINGS = (
    *("CONTENT_TRUNCATED", "STALE_CACHE", "PARTIAL_FAILURE", "DEPRECATED_FIELD", "RATE_LIMIT_APPROACHING"),
    "FALLBACK_USED",
)
HANDLERS = (
    *(task_query, typed_query, nothing_found, partial_work, blocked_work, bad_characters, missing_spec),
    *(partial_findings, two_warnings, missing_field, several_payloads, feature_disabled, rate_limited),
    *(say_everything, fail_with_everything, fail_with_code, fail_with_type, warn, warn_with_severity, say_level),
    *(model_payload, pair_payload, null_payload, old_failure, failure_without_meta, failure_without_words, old_success),
    *(own_model, own_model_fails, own_record, own_record_fails, own_text, own_text_fails),
    *(page_in_short, rows_as_data, no_rows_as_data, contradicted_success, category_alone),
    *(dated_limit, measured_nothing, long_details),
    *(say_nothing, give_nothing, give_rows, give_number, raise_not_found, raise_unexpected),
    *(all_tasks, list_tasks, digest_source),
)
CALLS = {
    **{handler.__name__: (handler, {}) for handler in HANDLERS if not handler.__code__.co_argcount},
    **{f"code {code}": (fail_with_code, {"code": code}) for code in CODES},
    **{f"type {name}": (fail_with_type, {"name": name}) for name in TYPES},
    **{f"warning {code}": (warn, {"code": code}) for code in WARNINGS},
    **{f"severity {name}": (warn_with_severity, {"severity": name}) for name in ("info", "warning", "error")},
    **{f"level {name}": (say_level, {"level": name}) for name in ("full", "partial", "summary", "reference_only")},
    "page": (list_tasks, {"page_size": 20}),
}
"""What is asked of every server, each under its name: a handler, and its arguments."""
FAILING = {
    *("bad_characters", "missing_spec", "missing_field", "feature_disabled", "rate_limited", "fail_with_everything"),
    *("raise_not_found", "raise_unexpected", "old_failure", "failure_without_meta", "failure_without_words"),
    *("own_model_fails", "own_record_fails", "own_text_fails", "no_rows_as_data", "category_alone"),
    *("dated_limit", "long_details"),
    *(name for name in CALLS if name.startswith(("code ", "type "))),
}
OLD_SHAPES = {"old_failure", "failure_without_meta", "old_success", "own_text", "own_text_fails"}
"""Dictionaries and texts that are in the old shape already: whoever asks for that gets them as they are."""
