"""knowledge-1.0 keeps what its document promises."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

import aerogram
from aerogram import Notice, Page, Problem, Reply, Telemetry
from aerogram.codes import TABLE, WARNINGS
from aerogram.dialects.knowledge_v1 import (
    ConfidenceScore,
    DeduplicationInfo,
    ExecutionContext,
    MCPResponseEnvelope,
    PaginationMetadata,
    RankingContext,
    ResponseMetadata,
    ResponseWarning,
    SearchRequest,
    SearchResultFull,
    SearchResultIDs,
    SearchResultPreview,
    VendorInfoIDs,
)
from aerogram.errors import ContractError
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows

DIALECT = aerogram.dialect("knowledge-1.0")
STAMPS: dict[str, Any] = {
    "operation": "semantic_search",
    "timestamp": "2025-11-09T10:30:00Z",
    "request_id": "req_7f3a2b1c",
    "telemetry": Telemetry(duration_ms=156.3, cache_hit=True, tokens_estimated=2450, tokens_used=2523),
}


def whole() -> dict[str, Any]:
    """Return the complete structure of the document, without the message of null."""
    return dict(example("knowledge-envelope").normal_body())


def reply(data: Any = None, **said: Any) -> Reply[Any]:
    """Return a reply with everything this contract requires."""
    return Reply.ok([] if data is None else data, **{**STAMPS, **said})


def pointer_of_refusal(body: Any) -> str:
    """Return the place at which validation refuses a body."""
    with pytest.raises(ContractError) as caught:
        DIALECT.validate(body)
    assert caught.value.rule
    return caught.value.pointer


def check_member(model: type[BaseModel], sample: dict[str, Any], row: Requirement) -> None:
    """A model takes the good value of a member, gives it back, and refuses every bad one."""
    taken = model.model_validate({**sample, row["field"]: row.json("good")}, strict=True)
    assert taken.model_dump(mode="json")[row["field"]] == row.json("good")
    for bad in row.json("bad"):
        with pytest.raises(ValidationError):
            model.model_validate({**sample, row["field"]: bad}, strict=True)


# --- the envelope ----------------------------------------------------------------------------------------------------


@rows("KNW-ENV-00", column="key")
def test_envelope_member(row: Requirement) -> None:
    """Each member is written from the reply as the complete structure shows it, and the model has it."""
    page = Page("eyJxdWVyeV9oYXNoIjoiYWJjIiwib2Zmc2V0IjoxMH0=", True, 42, 10)
    body = DIALECT.encode(reply([{"chunk_id": 123, "hybrid_score": 0.85, "rank": 1}], page=page))
    assert body[row["key"]] == whole()[row["key"]]
    model = MCPResponseEnvelope[Any].model_validate(whole())
    assert row["key"] in {one.alias or name for name, one in MCPResponseEnvelope.model_fields.items()}
    held = getattr(model, row["key"])
    dumped = json.loads(model.model_dump_json(by_alias=True, exclude_none=True))
    assert held is not None and dumped[row["key"]] == whole()[row["key"]]


def test_the_envelope_is_built_by_its_attribute_and_written_by_its_wire_name() -> None:
    """In Python the member is metadata, on the wire _metadata, without anybody asking for aliases."""
    parts = {name: value for name, value in whole().items() if name != "_metadata"}
    built = MCPResponseEnvelope[Any](metadata=ResponseMetadata(**whole()["_metadata"]), **parts)
    assert built.metadata.operation == "semantic_search"
    assert built.model_dump(mode="json", exclude_none=True) == whole()


def test_the_envelope_is_generic_over_its_results() -> None:
    """The results of a typed envelope are of its type, or refused."""
    typed = MCPResponseEnvelope[list[SearchResultIDs]].model_validate(whole())
    assert typed.results == [SearchResultIDs(chunk_id=123, hybrid_score=0.85, rank=1)]
    with pytest.raises(ValidationError):
        MCPResponseEnvelope[list[SearchResultFull]].model_validate(whole())
    vendor = example("knowledge-vendor-ids").body()
    assert MCPResponseEnvelope[VendorInfoIDs].model_validate(vendor).results.vendor_name == "Acme Corporation"


@pytest.mark.parametrize("data", [[{"a": 1}], {"vendor_name": "Acme"}, "text", 0, None, [], {}, [None]])
def test_every_reply_is_the_envelope(data: Any) -> None:
    """Whatever the data, and for failures too, the members are the same, and the reply reads back."""
    for said in (Reply.ok(data, **STAMPS), Reply.failed("NOT_FOUND", "gone", data=data, **STAMPS)):
        body = DIALECT.encode(said)
        assert list(body)[:5] == ["_metadata", "results", "pagination", "execution_context", "warnings"]
        DIALECT.validate(body)
        assert DIALECT.decode(body) == said


def test_the_contract_has_its_own_word_for_everything_it_names() -> None:
    """What the document names is told in its members alone; nothing of it needs an extension."""
    notice = Notice("Some results omitted", "PARTIAL_RESULTS", "warning", "Ask again")
    page = Page("abc", True, 42, 10)
    problem = Problem("INVALID_FIELDS", "no", remediation="Ask for others", details={"allowed_fields": ["rank"]})
    said = [reply([{"chunk_id": 1}], page=page, notices=[notice], message="done"), Reply.failed(problem, **STAMPS)]
    for one in (*said, Reply.partial([], notice, **STAMPS)):
        body = DIALECT.encode(one)
        assert "aerogram" not in body
        assert DIALECT.decode(body) == one


def test_the_models_are_annotated_throughout() -> None:
    """No member of a model of the document is of no particular type."""
    models = [ResponseMetadata, PaginationMetadata, ConfidenceScore, RankingContext, DeduplicationInfo]
    for model in (*models, ExecutionContext, ResponseWarning, SearchResultFull, SearchResultPreview, SearchRequest):
        for field in model.model_fields.values():
            assert field.annotation not in (None, Any, object)
    assert list(SearchRequest.model_fields) == list(example("knowledge-request-schema").value()["properties"])


# --- the parts -------------------------------------------------------------------------------------------------------


@rows("KNW-META-", column="field")
def test_metadata_member(row: Requirement) -> None:
    """Each member of the metadata keeps its rule, in the model and in a body."""
    check_member(ResponseMetadata, whole()["_metadata"], row)
    for bad in row.json("bad"):
        body = {**whole(), "_metadata": {**whole()["_metadata"], row["field"]: bad}}
        assert pointer_of_refusal(body) == f"/_metadata/{row['field']}"


def test_request_ids_do_not_repeat() -> None:
    """A thousand calls get a thousand ids."""
    made = {DIALECT.complete(Reply.ok([])).request_id for _ in range(1000)}
    assert len(made) == 1000


def test_status_follows_the_reply() -> None:
    """A whole answer is a success, an incomplete one partial, even if nobody says why, a failed one an error."""
    said = [reply(), Reply.empty(**STAMPS), Reply.partial([], "one source is down", **STAMPS)]
    said += [Reply.blocked({}, "waiting", **STAMPS), Reply.failed("UNAVAILABLE", **STAMPS)]
    told = [DIALECT.encode(one)["_metadata"]["status"] for one in said]
    assert told == ["success", "success", "partial", "partial", "error"]
    unexplained = {**whole(), "_metadata": {**whole()["_metadata"], "status": "partial"}, "warnings": []}
    DIALECT.validate(unexplained)
    assert aerogram.read(unexplained).status == "partial"


@rows("KNW-PAGE-", column="field")
def test_pagination_member(row: Requirement) -> None:
    """Each member of the page keeps its rule, and reads into the reply's page."""
    check_member(PaginationMetadata, whole()["pagination"], row)
    body = {**whole(), "pagination": {**whole()["pagination"], row["field"]: row.json("good")}}
    held = getattr(aerogram.read(body).page, {"total_available": "total"}.get(row["field"], row["field"]))
    assert held == row.json("good")
    for bad in row.json("bad"):
        body = {**whole(), "pagination": {**whole()["pagination"], row["field"]: bad}}
        assert pointer_of_refusal(body) == f"/pagination/{row['field']}"


@rows("KNW-EXEC-", column="field")
def test_execution_member(row: Requirement) -> None:
    """Each member of the execution context keeps its rule, in the model and in a body."""
    check_member(ExecutionContext, whole()["execution_context"], row)
    for bad in row.json("bad"):
        body = {**whole(), "execution_context": {**whole()["execution_context"], row["field"]: bad}}
        assert pointer_of_refusal(body) == f"/execution_context/{row['field']}"


@pytest.mark.parametrize(
    ("estimated", "used", "taken"),
    [(2450, 2523, True), (1000, 1100, True), (1000, 1101, False), (0, 1, False), (10, 0, True)],
)
def test_tokens_used_stay_within_a_tenth_of_the_estimate(estimated: int, used: int, taken: bool) -> None:
    """A tenth above the estimate is taken, the next token is refused; we never write such a body either."""
    cost = {**whole()["execution_context"], "tokens_estimated": estimated, "tokens_used": used}
    body = {**whole(), "execution_context": cost}
    if taken:
        DIALECT.validate(body)
    else:
        assert pointer_of_refusal(body) == "/execution_context"
    measured = Telemetry(duration_ms=1, cache_hit=False, tokens_estimated=estimated, tokens_used=used)
    said = reply(telemetry=measured)
    written = DIALECT.encode(said)
    DIALECT.validate(written)
    assert DIALECT.decode(written) == said


def test_a_time_of_zero_is_written_as_a_positive_one() -> None:
    """A clock that did not advance must not break the rule; the reply reads back as it was."""
    said = reply(telemetry=Telemetry(duration_ms=0, cache_hit=False, tokens_estimated=0))
    body = DIALECT.encode(said)
    assert body["execution_context"]["execution_time_ms"] > 0
    DIALECT.validate(body)
    assert DIALECT.decode(body) == said


def test_the_two_request_ids_are_one() -> None:
    """An envelope that names two requests is refused; ours names one."""
    body = {**whole(), "execution_context": {**whole()["execution_context"], "request_id": "req_other"}}
    with pytest.raises(ContractError, match="request_id"):
        DIALECT.validate(body)
    written = DIALECT.encode(reply())
    assert written["_metadata"]["request_id"] == written["execution_context"]["request_id"] == "req_7f3a2b1c"


@pytest.mark.parametrize("foreign", ["upstream-7", 7, None])
def test_the_request_id_among_somebody_else_s_readings_takes_no_other_s_place(foreign: Any) -> None:
    """A body of another contract may have one in its telemetry; it travels along and comes back."""
    told = {"duration_ms": 1.5, "request_id": foreign}
    meta = {"version": "response-v2", "request_id": "req_7f3a2b1c", "telemetry": told}
    upstream = {"success": True, "data": {"n": 1}, "error": None, "meta": meta}
    body = aerogram.translate(upstream, to="knowledge-1.0")
    assert body["execution_context"]["request_id"] == body["_metadata"]["request_id"] == "req_7f3a2b1c"
    aerogram.validate(body)
    assert aerogram.read(body) == aerogram.read(upstream)
    assert aerogram.translate(body, to="response-v2") == upstream


WARNING = {"level": "warning", "code": "PARTIAL_RESULTS", "message": "Some results omitted", "suggestion": "Ask again"}


@rows("KNW-WARN-", column="field")
def test_warning_member(row: Requirement) -> None:
    """Each member of a warning keeps its rule, and reads into the reply's notice."""
    check_member(ResponseWarning, WARNING, row)
    heard = aerogram.read({**whole(), "warnings": [{**WARNING, row["field"]: row.json("good")}]}).notices[0]
    assert getattr(heard, {"level": "severity"}.get(row["field"], row["field"])) == row.json("good")
    for bad in row.json("bad"):
        body = {**whole(), "warnings": [{**WARNING, row["field"]: bad}]}
        assert pointer_of_refusal(body) == f"/warnings/0/{row['field']}"


@rows("KNW-WCODE-", column="code")
def test_standard_warning(row: Requirement) -> None:
    """Each standard warning is in the table, and a notice of it goes out with its level and suggestion."""
    known = WARNINGS[row["code"]]
    assert DIALECT.encode(reply(notices=[Notice.of(row["code"])]))["warnings"] == [
        {
            "level": row["level"],
            "code": row["code"],
            "message": known.description,
            "suggestion": known.suggestion,
        }
    ]
    assert known.suggestion


# --- the response schema ---------------------------------------------------------------------------------------------

WRITTEN = [
    reply([{"chunk_id": 1}], page=Page("abc", True, 42, 10), notices=[Notice("plain")]),
    reply(page=Page(None, False, None, 10), message="all there is"),
    Reply.partial([], Notice.of("PARTIAL_RESULTS"), **STAMPS),
    Reply.failed("TOKEN_LIMIT_EXCEEDED", "too big", **STAMPS),
    reply({"vendor_name": "Acme"}),
]


@pytest.mark.parametrize("said", WRITTEN, ids=range(len(WRITTEN)))
def test_what_is_written_satisfies_the_documented_schema(said: Reply[Any]) -> None:
    """Every body we write is one by the document's own schema; for a vendor's object the type of results is lifted."""
    schema = example("knowledge-response-schema").value()
    if isinstance(said.data, dict):
        del schema["properties"]["results"]["type"]
    jsonschema_rs.validator_for(schema).validate(DIALECT.encode(said))


@pytest.mark.parametrize(
    "path",
    [
        ("_metadata",),
        ("results",),
        ("execution_context",),
        ("warnings",),
        *[("_metadata", name) for name in ("operation", "version", "timestamp", "request_id", "status")],
        *[("execution_context", name) for name in ("tokens_estimated", "cache_hit", "execution_time_ms", "request_id")],
        *[("warnings", 0, name) for name in ("level", "code", "message")],
    ],
)
def test_a_body_without_a_required_member_is_refused(path: tuple[Any, ...]) -> None:
    """What the document's schema requires, validation requires, at the place that lacks it."""
    body = copy.deepcopy({**whole(), "warnings": [WARNING]})
    DIALECT.validate(body)
    target: Any = body
    for step in path[:-1]:
        target = target[step]
    del target[path[-1]]
    assert not jsonschema_rs.validator_for(example("knowledge-response-schema").value()).is_valid(body)
    assert pointer_of_refusal(body) == "/" + "/".join(map(str, path))


@pytest.mark.parametrize(
    "path",
    [
        ("_metadata", "message"),
        ("pagination", "total_available"),
        ("execution_context", "tokens_used"),
        ("warnings", 0, "suggestion"),
        ("pagination",),
    ],
)
def test_what_may_be_null_may_be_null(path: tuple[Any, ...]) -> None:
    """Null and absence are both taken where the document's schema allows null."""
    body = copy.deepcopy({**whole(), "warnings": [WARNING]})
    target: Any = body
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = None
    DIALECT.validate(body)
    with_null = aerogram.read(body)
    del target[path[-1]]
    DIALECT.validate(body)
    assert aerogram.read(body) == with_null


# --- failures --------------------------------------------------------------------------------------------------------


def test_the_token_limit_error_has_its_documented_shape() -> None:
    """A reply that fails for its size is written as the document shows."""
    shown = example("knowledge-token-limit").body()
    said = Reply.failed(
        "TOKEN_LIMIT_EXCEEDED",
        "Response would use 25000 tokens, limit is 15000",
        remediation="Use 'metadata' mode or reduce page_size to 5",
        **STAMPS,
    )
    body = DIALECT.encode(said)
    assert (body["results"], body["warnings"]) == (shown["results"], shown["warnings"])
    for member in ("operation", "status", "message"):
        assert body["_metadata"][member] == shown["_metadata"][member]


def test_the_invalid_field_error_has_its_documented_shape() -> None:
    """A reply that fails for its fields is written as the document shows, with the allowed ones beside the message."""
    shown = example("knowledge-invalid-fields").body()
    allowed = shown["error"]["allowed_fields"]
    said = Reply.failed("INVALID_FIELDS", shown["error"]["message"], details={"allowed_fields": allowed}, **STAMPS)
    body = DIALECT.encode(said)
    assert shown["error"].items() <= body["error"].items()
    for member in ("status", "message"):
        assert body["_metadata"][member] == shown["_metadata"][member]
    assert aerogram.read(body) == said
    for member in ("code", "message"):
        assert pointer_of_refusal({**body, "error": {**body["error"], member: 3}}) == f"/error/{member}"


@pytest.mark.parametrize("code", sorted(TABLE))
def test_any_failure_keeps_its_code_and_remediation(code: str) -> None:
    """Every code of the table is in the error and in the error-level warning, with what to do, and reads back."""
    said = Reply.failed(code, "It failed", **STAMPS)
    body = DIALECT.encode(said)
    told = body["warnings"][0]
    assert (body["error"]["code"], body["error"]["message"]) == (code, "It failed")
    assert (told["level"], told["code"], told["suggestion"]) == ("error", code, TABLE[code].remediation)
    assert aerogram.read(body) == said
