"""Examples: what the answers of each route look like, in the OpenAPI document: every shape, and every error.

They are written by the dialects themselves, so they cannot say what the server would not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI

from aerogram.codes import TABLE
from aerogram.dialects import dialect
from aerogram.reply import Citation, Page, Problem, QueryEcho, Reply, Telemetry

__all__ = ["illustrate"]

JSON: Final = "application/json"
CURRENT: Final = "application/vnd.aerogram.v2+json"
PROBLEM: Final = "application/problem+json"
PLAIN: Final = "text/plain"
"""How the framework tells a legacy caller of a crash."""
UNPROCESSABLE: Final = "422"
_REQUEST_ID: Final = "req_01M7EYEJYJREP2NHRNZKE47WZ9"

_PASSAGE: Final = {
    "chunk_id": 170,
    "source_file": "security/jwt-guide.md",
    "source_category": "security",
    "hybrid_score": 0.69,
    "rank": 1,
    "chunk_index": 5,
    "total_chunks": 6,
}
_HEALTH: Final = {
    "status": "ok",
    "version": "1.0.0",
    "checks": {"store": {"status": "ok", "generation": 12, "ms": 0.4}},
    "timestamp_utc": "2026-11-15T10:00:00Z",
}
_VENDOR: Final = {
    "vendor_name": "Kestrelgate Inc.",
    "statistics": {"entity_count": 12, "relationship_count": 14},
    "last_updated": "2026-06-08",
}
_DIGEST: Final = {
    "sources": [{"id": "security/jwt-guide.md", "content_type": "digest/v1", "content": "{…}", "fidelity": "summary"}]
}
_REFUSED: Final = {"detail": [{"type": "missing", "loc": ["query", "q"], "msg": "Field required", "input": None}]}
_CITED: Final = Citation(
    source_id="security/jwt-guide.md",
    title="JWT Guide",
    checksum="sha256:5f2c",
    field_paths=("/results/0",),
    verification_status="verified",
)

Shown = tuple[Any, Reply[Any]]

_SHOWN: Final[Mapping[str, Shown]] = {
    "/v1/search": (
        {"total": 40, "limit": 10, "offset": 0, "results": [_PASSAGE]},
        Reply.ok(
            [_PASSAGE],
            page=Page(cursor="eyJxdWVyeV9oYXNoIjoi…", has_more=True, total=40, page_size=10),
            query_echo=QueryEcho({"q": "How long is a token valid?"}),
        ),
    ),
    "/v1/vendors/{name}": (_VENDOR, Reply.ok(_VENDOR)),
    "/v1/chunks/{id}": (_PASSAGE, Reply.ok(_PASSAGE, citations=(_CITED,))),
    "/v1/digests": (_DIGEST, Reply.ok(_DIGEST, citations=(_CITED,))),
    "/v1/content/{hash}": ([_PASSAGE], Reply.ok([_PASSAGE])),
    "/v1/health": (_HEALTH, Reply.ok(_HEALTH)),
    "/v1/health/deep": (_HEALTH, Reply.ok(_HEALTH)),
}


def illustrate(app: FastAPI) -> None:
    """Put examples into the document of an application that has a contract."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        document = describe()
        for path, shown in _SHOWN.items():
            for operation in document["paths"].get(path, {}).values():
                _show(operation["responses"]["200"]["content"], *shown)
                _show_refused(operation["responses"].get(UNPROCESSABLE, {}).get("content", {}))
        for name, response in document["components"].get("responses", {}).items():
            if name.endswith(UNPROCESSABLE):
                _show_refused(response["content"])
            else:
                _show_failures(response["content"], int(name.rpartition(".")[2]))
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _show(content: dict[str, Any], legacy: Any, reply: Reply[Any]) -> None:
    content[JSON]["example"] = legacy
    content[CURRENT]["example"] = _body("standard-v2", reply)


def _show_failures(content: dict[str, Any], status: int) -> None:
    """Each code of a status, in each shape."""
    problems = {row.name: Problem.of(row.name, row.title) for row in TABLE.values() if row.status == status}
    for media_type, name in ((JSON, "bare"), (CURRENT, "standard-v2"), (PROBLEM, "problem")):
        if problems and media_type in content:
            shown = {code: {"value": _body(name, Reply.failed(problem))} for code, problem in problems.items()}
            content[media_type]["examples"] = shown
    if PLAIN in content:
        content[PLAIN]["examples"] = {"INTERNAL_ERROR": {"value": "Internal Server Error"}}


def _show_refused(content: dict[str, Any]) -> None:
    """Input that is not what the document says, in each shape; the legacy one is the framework's."""
    refused = Reply.failed(Problem.of("MISSING_REQUIRED", "Validation failed: query.q: Field required"))
    shown = {JSON: _REFUSED, CURRENT: _body("standard-v2", refused), PROBLEM: _body("problem", refused)}
    for media_type, value in shown.items():
        if media_type in content:
            content[media_type]["examples"] = {"MISSING_REQUIRED": {"value": value}}


def _body(name: str, reply: Reply[Any]) -> Any:
    speaker = dialect(name)
    told = reply.replace(request_id=_REQUEST_ID, timestamp="2026-11-15T10:00:00Z", telemetry=Telemetry(duration_ms=12))
    return speaker.encode(speaker.complete(told, operation="example", duration_ms=12))
