"""What clients of tools receive when handlers follow the documents: FastMCP and the MCP SDK, in both eras."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from mcp.shared.exceptions import MCPError

import aerogram
from aerogram.codes import TABLE, WARNINGS
from aerogram.dialects.response_v2 import ResponseV2
from aerogram.documents import knowledge_v1
from aerogram.documents.knowledge_v1 import MCPResponseEnvelope
from aerogram.documents.response_v2 import DigestPayload, deserialize_payload
from aerogram.documents.standard_v2 import StandardResponse
from aerogram.tokens import best_counter
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows
from wire import normalization_handlers, response_v2_handlers
from wire.recordings import DOCUMENTS, ERAS, TOOLS, Recordings, Result, calls_of
from wire.response_v2_handlers import OLD_SHAPES
from wire.servers import BUDGET

DOORS = [(framework, era) for framework in TOOLS for era in ERAS]
MODELS = {"response-v2": ResponseV2, "standard-v2": StandardResponse[Any], "knowledge-1.0": MCPResponseEnvelope[Any]}
KNOWLEDGE_SCHEMA = example("knowledge-response-schema").value()
EMPTY = {
    "citations": [],
    "warnings": [],
    "suggested_actions": [],
    "query_echo": {"normalized_input": {}, "applied_filters": {}, "unparsed_terms": []},
}
"""What standard-v2 requires where there is nothing to say, and a text goes without."""
FINISHED = {"wrapped", "wrapped_failure"}
"""What was made as the result of a tool, and is sent as it was made."""

doors = pytest.mark.parametrize(("framework", "era"), DOORS)
documents = pytest.mark.parametrize("document", DOCUMENTS)


def everywhere(wire: Recordings, document: str, name: str, kind: str = "usual") -> Iterator[Result]:
    """The result of one call, from every framework in every era."""
    for framework, era in DOORS:
        yield wire.tools(framework, document, kind, era)[name]


def bodies(wire: Recordings, document: str, name: str, kind: str = "usual") -> Iterator[Any]:
    for result in everywhere(wire, document, name, kind):
        yield result.body


def calls(wire: Recordings, *key: str) -> Iterator[tuple[str, Result]]:
    """Every call that a document's handlers list, with its result."""
    _, document, kind, _ = key
    return ((name, wire.tools(*key)[name]) for name in calls_of(DOCUMENTS[document], kind))


# --- the matrix ------------------------------------------------------------------------------------------------------


@doors
@documents
@pytest.mark.parametrize("kind", ["usual", "small"])
def test_every_reply_keeps_its_document(wire: Recordings, framework: str, era: str, document: str, kind: str) -> None:
    """By the document's own model and schema, the listed schema and both channels; failures say that they are."""
    for name, result in calls(wire, framework, document, kind, era):
        assert result.is_error == (name in DOCUMENTS[document].FAILING), name
        assert aerogram.validate(result.body).name == document, name
        MODELS[document].model_validate(result.body)
        jsonschema_rs.validate(result.listed.output_schema, result.body)
        if document == "knowledge-1.0" and isinstance(result.body["results"], list):
            jsonschema_rs.validate(KNOWLEDGE_SCHEMA, result.body)
        if name not in FINISHED:
            left_out = {key: one for key, one in EMPTY.items() if document == "standard-v2" and key in result.body}
            assert {**left_out, **json.loads(answer_in(result, document))} == result.body, name


def answer_in(result: Result, document: str) -> str:
    """The body in the text; standard-v2 has a line of its own above it."""
    if document != "standard-v2":
        return result.text
    line, _, answer = result.text.partition("\n")
    error = result.body.get("error")
    rows_ = len(result.body["results"])
    count = f"{rows_} result" if rows_ == 1 else f"{rows_} results"
    assert line == (error["user_message"] if error else f"{result.body['status']} · {count}")
    return answer


@doors
@documents
@pytest.mark.parametrize("kind", ["off", "asked"])
def test_the_old_shape_is_the_payload_alone(
    wire: Recordings, framework: str, era: str, document: str, kind: str
) -> None:
    """With the flag off, or where it is asked for, the data of the same reply; of a failure the words."""
    usual = wire.tools(framework, document, "usual", era)
    for name, result in calls(wire, framework, document, kind, era):
        told = [one.get("code") for one in result.notices]
        if (
            name in FINISHED | OLD_SHAPES | {"fail_in_short"} or "CONTROL_IGNORED" in told
        ):  # what changes the shape is for the newer one alone
            continue
        reply = aerogram.read(usual[name].body)
        assert result.is_error == (reply.problem is not None), name
        assert told.count("DEPRECATED_FEATURE") == (kind == "off"), name
        if reply.problem is not None:
            assert result.body is None and "error: " in result.text, name
            assert "hunter2" not in result.text
            assert "VALIDATION_ERROR" not in result.text or name != "contradict"
            if name not in ("raise_unexpected", "contradict"):  # as the framework has it, and redacted
                assert f"error: {TABLE.spell(reply.problem.code, 'bare')}" in result.text, name
                assert result.text.startswith(reply.problem.message), name
        elif reply.page is None:
            shown = result.body
            if reply.status == "partial" and "aerogram" in (shown or ()):  # a payload alone says itself what it lacks
                assert shown["aerogram"] in [{"note": one.message} for one in reply.notices], name
                shown = {member: value for member, value in shown.items() if member != "aerogram"}
            is_same = shown == reply.data or payload_of(result) in (reply.data, items_of(reply.data))
            assert is_same, name


def payload_of(result: Result) -> Any:
    """The payload: the structured content, or else what stands in the blocks.

    One that is no object stands in a box; the SDK makes a block of each item where no schema is promised.
    """
    if result.body is None:
        return [one for block in result.blocks for one in items_of(json.loads(block["text"]))]
    boxes = (["result"], ["results"])
    return next(iter(result.body.values())) if list(result.body) in boxes else result.body


def items_of(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [] if data is None else [data]


@doors
@documents
@pytest.mark.parametrize("kind", ["small", "off-small"])
def test_a_budget_holds_and_what_is_missing_is_told(
    wire: Recordings, framework: str, era: str, document: str, kind: str
) -> None:
    """In either shape; what fits is the same as without a budget."""
    count, cut = best_counter().count, []
    whole = wire.tools(framework, document, "usual" if kind == "small" else "off", era)
    for name, result in calls(wire, framework, document, kind, era):
        assert result.is_error == whole[name].is_error, name
        if name in FINISHED or result.is_error:
            continue
        assert count(result.text) <= BUDGET, name
        if said(result, kind) != said(whole[name], kind):
            cut.append(name)
            assert "retrieve(" in result.text or "cursor" in result.text, name
            assert kind == "off-small" or aerogram.read(result.body).status == "partial", name
    assert 0 < len(cut) < len(DOCUMENTS[document].CALLS) / 2, cut


def said(result: Result, kind: str) -> Any:
    """What a reply says, whatever its request id."""
    return aerogram.read(result.body).data if kind == "small" else result.text


@doors
def test_what_a_budget_left_out_can_be_had(wire: Recordings, framework: str, era: str) -> None:
    """The level, its version, the hash and the warning stand in the meta, where the documents have them."""
    meta = wire.tools(framework, "response-v2", "small", era)["all_tasks"].body["meta"]
    assert meta["content_fidelity"] == "summary"
    assert meta["content_fidelity_schema_version"] == "1.0"
    [digest] = meta["content_archive_hashes"].values()
    assert digest.startswith("sha256:")
    [words] = meta["warnings"]
    assert " of 45 shown" in words and "retrieve(hash=" in words


@doors
@documents
@pytest.mark.parametrize(("kind", "version"), [("usual", "v2"), ("off", "v1")])
def test_the_negotiation_tells_the_version_that_is_used(
    wire: Recordings, framework: str, era: str, document: str, kind: str, version: str
) -> None:
    """A client declares v2 and is told what it gets, which is what the flag says."""
    result = wire.tools(framework, document, kind, era)["negotiation"]
    told = aerogram.read(result.body).data if kind == "usual" else result.body
    assert told["response_contract"] == version
    assert told["feature_flags"]["response_contract_v2"]["enabled"] == (version == "v2")


# --- response-v2: the bodies that the documents show -----------------------------------------------------------------

SHOWN = {
    "task_query": "guide-task-query",
    "nothing_found": "guide-empty",
    "partial_work": "guide-partial",
    "blocked_work": "guide-blocked",
    "bad_characters": "guide-validation-error",
    "partial_findings": "schema-partial-fidelity",
    "missing_field": "schema-validation-error",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_body_that_a_document_shows_reaches_the_client(wire: Recordings, name: str) -> None:
    """A handler with the document's helpers gives the document's body, to the member."""
    for body in bodies(wire, "response-v2", name):
        assert body == example(SHOWN[name]).body()


def test_a_response_is_the_same_whether_it_was_made_a_dictionary_or_not(wire: Recordings) -> None:
    """The helpers' own class, and the envelope as a model, may be returned and annotated."""
    for body in bodies(wire, "response-v2", "typed_query"):
        assert body == example("guide-empty").body()
    for body in bodies(wire, "knowledge-1.0", "typed_envelope"):
        said = DOCUMENTS["knowledge-1.0"].envelope()
        assert body == {name: part for name, part in said.items() if part is not None}


def test_the_guide_s_reader_gets_along_with_every_body(wire: Recordings) -> None:
    """Its checks of success and of warnings, as they stand, on whatever a server answers."""
    told = []
    for framework, era in DOORS:
        for name, result in calls(wire, framework, "response-v2", "usual", era):
            response = result.body
            if response["success"]:
                assert response["data"] is not None and name not in response_v2_handlers.FAILING
            else:
                assert response["error"] and response["data"].get("remediation", ""), name
                assert response["meta"]["request_id"]
                assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", response["data"]["error_code"]), name
            if response["meta"].get("warnings"):
                told += [(name, warning) for warning in response["meta"]["warnings"]]
    assert told.count(("partial_work", "2 tasks failed to process")) == len(DOORS)


def test_the_examples_of_failures_reach_the_client(wire: Recordings) -> None:
    """The feature that is off, the delay and the state of the limit stand where the schema's examples put them."""
    for body in bodies(wire, "response-v2", "feature_disabled"):
        assert (body["data"]["feature"], body["data"]["error_type"]) == ("beta", "feature_flag")
    for body in bodies(wire, "response-v2", "rate_limited"):
        assert body["data"]["retry_after_seconds"] == 45
        assert (body["meta"]["rate_limit"]["limit"], body["meta"]["rate_limit"]["remaining"]) == (100, 0)
    for body in bodies(wire, "response-v2", "missing_spec"):
        assert {**body, "meta": {"version": "response-v2"}} == example("guide-not-found").body()


def test_every_reply_has_the_four_members(wire: Recordings) -> None:
    """Success, data, error and meta, in this order; the error speaks exactly when the operation failed."""
    for framework, era in DOORS:
        for name, result in calls(wire, framework, "response-v2", "usual", era):
            body = result.body
            assert list(body) == ["success", "data", "error", "meta"], name
            assert body["success"] is not result.is_error
            assert isinstance(body["data"], dict) and body["meta"]["version"] == "response-v2"
            assert (body["error"] is None) is body["success"]
            assert isinstance(body["error"], str) or body["success"]


def test_data_is_an_object_whatever_was_returned(wire: Recordings) -> None:
    """Rows and values are boxed, nothing is an empty object."""
    expected = {
        "say_nothing": {},
        "give_nothing": {},
        "give_number": {"result": 42},
        "give_rows": {"results": [{"task_id": "task-001"}, {"task_id": "task-002"}]},
        "several_payloads": {"spec": {"spec_id": "spec-001"}, "tasks": [{"task_id": "task-001"}]},
        "model_payload": {"result": {"answer": 42}},
        "pair_payload": {"result": [1, 2]},
        "null_payload": {"result": None},
        "old_success": {"value": 1},
    }
    for name, data in expected.items():
        assert all(body["data"] == data for body in bodies(wire, "response-v2", name)), name


def test_a_failure_in_an_older_or_shorter_shape_stays_one(wire: Recordings) -> None:
    """What says that it failed is told as a failure, with the code that it has and words where it has none."""
    expected = {
        "old_failure": ("INTERNAL_ERROR", "Spec not found"),
        "failure_without_meta": ("NOT_FOUND", "Spec not found"),
        "failure_without_words": ("INTERNAL_ERROR", "The operation failed"),
    }
    for name, (code, words) in expected.items():
        for body in bodies(wire, "response-v2", name):
            assert (body["success"], body["data"]["error_code"], body["error"]) == (False, code, words)


OWN_FAILURES = {"own_model_fails", "own_record_fails", "own_text_fails"}


def test_an_envelope_of_one_s_own_is_opened_whatever_holds_it(wire: Recordings) -> None:
    """A model, a dataclass or a text that is the envelope says what the dictionary says; a failure stays one."""
    for name in ("own_model", "own_record", "own_text"):
        for result in everywhere(wire, "response-v2", name):
            assert (result.is_error, result.body["data"]) == (False, {"value": 1})
    for name in OWN_FAILURES:
        for result in everywhere(wire, "response-v2", name):
            assert (result.is_error, result.body["error"]) == (True, "Spec not found")
            assert result.body["data"] == response_v2_handlers.NO_SPEC


def test_an_envelope_that_lacks_something_is_read_as_it_was_meant(wire: Recordings) -> None:
    """With the flag off as well: whatever has meta is no body of the old shape."""
    for body in bodies(wire, "response-v2", "page_in_short"):
        assert body["data"] == {"tasks": [{"task_id": "task-001"}]}
        assert body["meta"]["pagination"] == response_v2_handlers.page_in_short()["meta"]["pagination"]
    for body in bodies(wire, "response-v2", "rows_as_data"):
        assert body["data"] == {"results": [{"task_id": "task-001"}]}
    for body in bodies(wire, "response-v2", "contradicted_success"):
        assert (body["data"], body["meta"]["warnings"]) == ({"value": 1}, ["One source is gone"])
    for result in everywhere(wire, "response-v2", "page_in_short", "off"):
        assert '"task-001"' in result.text and '"success"' not in result.text
    for kind in ("usual", "off"):
        for name in ("no_rows_as_data", "category_alone"):
            assert all(one.is_error for one in everywhere(wire, "response-v2", name, kind))


def test_a_failure_with_a_category_alone_gets_the_code_of_it(wire: Recordings) -> None:
    for body in bodies(wire, "response-v2", "category_alone"):
        assert (body["data"]["error_code"], body["data"]["error_type"]) == ("NOT_FOUND", "not_found")


def test_what_a_handler_measured_is_what_is_told(wire: Recordings) -> None:
    """A moment is written as one, and a duration of nothing stays it."""
    for body in bodies(wire, "response-v2", "dated_limit"):
        assert body["meta"]["rate_limit"]["reset_at"] == "2025-12-04T12:00:00Z"
    for body in bodies(wire, "response-v2", "measured_nothing"):
        assert body["meta"]["telemetry"] == {"duration_ms": 0}


def test_details_that_a_budget_left_out_are_told(wire: Recordings) -> None:
    """The short ones stay, the others are named, and a call gives them back."""
    for body in bodies(wire, "response-v2", "long_details", "small"):
        assert body["data"]["details"] == {"field": "spec_id", "left_out": ["rows"]}
        hash_ = body["meta"]["content_archive_hashes"]["envelope"].removeprefix("sha256:")
        assert any(f"retrieve(hash='{hash_}')" in warning for warning in body["meta"]["warnings"])


def test_operational_facts_stand_in_meta_alone_in_the_documented_order(wire: Recordings) -> None:
    """The data is the handler's own; the reserved keys come in the order of the document, and nothing empty."""
    order = [row_key for row_key in example("schema-envelope").value()["meta"] if row_key != "aerogram"]
    for body in bodies(wire, "response-v2", "say_everything"):
        assert body["data"] == {"value": 1}
        assert [key for key in body["meta"] if key in order] == order
    for body in bodies(wire, "response-v2", "say_nothing"):
        assert body["meta"] == {"version": "response-v2"}


def test_a_crash_says_nothing_of_itself(wire: Recordings) -> None:
    """What nobody declared is an internal error with a request id, in every document."""
    for document in DOCUMENTS:
        for result in everywhere(wire, document, "raise_unexpected"):
            assert "hunter2" not in result.text + json.dumps(result.body)
            reply = aerogram.read(result.body)
            assert (reply.problem.code, reply.problem.retryable) == ("INTERNAL_ERROR", True)
            assert reply.request_id and reply.request_id in reply.problem.message


def test_what_a_handler_raises_is_told_whole(wire: Recordings) -> None:
    """The message, the code, the category, the details and what to do."""
    for body in bodies(wire, "response-v2", "raise_not_found"):
        assert body["error"] == "Spec 'billing' not found"
        assert body["data"] == {
            "error_code": "NOT_FOUND",
            "error_type": "not_found",
            "remediation": "List the specs",
            "details": {"spec_id": "billing"},
        }


def test_a_page_leads_to_the_next(wire: Recordings) -> None:
    """Each page says how many there are; the cursors lead through all of them once, and the last has none to follow."""
    for framework, era in DOORS:
        pages = wire.tools(framework, "response-v2", "usual", era)["pages"]
        assert [row for body in pages for row in body["data"]["tasks"]] == response_v2_handlers.TASKS
        told = [body["meta"]["pagination"] for body in pages]
        assert [one["has_more"] for one in told] == [True, True, False]
        assert {(one["total_count"], one["page_size"]) for one in told} == {(45, 20)}
        pages = wire.tools(framework, "knowledge-1.0", "usual", era)["pages"]
        assert [row["rank"] for body in pages for row in body["results"]] == list(range(1, 43))
        assert [body["pagination"]["has_more"] for body in pages] == [True, True, False]


# --- response-v2: member by member -----------------------------------------------------------------------------------


@rows("RV2-META-")
def test_meta_key(wire: Recordings, row: Requirement) -> None:
    """Each reserved key reaches the client as the handler said it, and is absent where there is nothing to say."""
    for body in bodies(wire, "response-v2", "say_everything"):
        found, sample = body["meta"][row["key"]], row.json("sample")
        assert sample.items() <= found.items() if isinstance(sample, dict) else found == sample
    for body in bodies(wire, "response-v2", "say_nothing"):
        assert (row["key"] in body["meta"]) == (row["required"] == "YES")


@rows("RV2-PAGE-", column="key")
def test_pagination_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "response-v2", "say_everything"):
        assert body["meta"]["pagination"][row["key"]] == row.json("sample")


@rows("RV2-RATE-")
def test_rate_limit_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "response-v2", "say_everything"):
        assert body["meta"]["rate_limit"][row["key"]] == row.json("sample")


@rows("RV2-TEL-")
def test_telemetry_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "response-v2", "say_everything"):
        assert body["meta"]["telemetry"][row["key"]] == row.json("sample")


@rows("RV2-FID-", column="level")
def test_fidelity_level(wire: Recordings, row: Requirement) -> None:
    """Below full, the level comes with the version of its keys."""
    for body in bodies(wire, "response-v2", f"level {row['level']}"):
        assert body["meta"]["content_fidelity"] == row["level"]
        if row["level"] != "full":
            assert body["meta"]["content_fidelity_schema_version"] == "1.0"


@rows("RV2-WARN-", column="key")
def test_warning_detail_member(wire: Recordings, row: Requirement) -> None:
    """Each member of a detail, beside the text of its warning."""
    for body in bodies(wire, "response-v2", "two_warnings"):
        meta, sample = body["meta"], row.json("sample")
        assert meta["warnings"] == [one["message"] for one in meta["warning_details"]]
        found = meta["warning_details"][1][row["key"]]
        assert sample.items() <= found.items() if isinstance(sample, dict) else found == sample


@rows("RV2-WARN-", column="severity")
def test_severity(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "response-v2", f"severity {row['severity']}"):
        assert body["meta"]["warning_details"] == [{"severity": row["severity"], "message": "Look here"}]


@rows("RV2-WCODE-", column="code")
def test_standard_warning(wire: Recordings, row: Requirement) -> None:
    known = WARNINGS[row["code"]]
    for body in bodies(wire, "response-v2", f"warning {row['code']}"):
        [detail] = body["meta"]["warning_details"]
        assert (detail["code"], detail["severity"]) == (row["code"], row["severity"])
        assert body["meta"]["warnings"] == [detail["message"]] == [known.description]
        assert detail["suggestion"] == known.suggestion


@rows("RV2-ERR-", column="key")
def test_error_field(wire: Recordings, row: Requirement) -> None:
    said = response_v2_handlers.missing_field()["data"]
    for body in bodies(wire, "response-v2", "missing_field"):
        assert body["data"][row["key"]] == said[row["key"]]


@rows("RVG-CODE-", column="code")
def test_common_error_code(wire: Recordings, row: Requirement) -> None:
    """Each common code comes with what to do, in both channels."""
    for result in everywhere(wire, "response-v2", f"code {row['code']}"):
        assert result.body["data"]["remediation"] == TABLE[row["code"]].remediation
        assert TABLE[row["code"]].remediation in json.loads(result.text)["data"]["remediation"]


SUCCESS_PLACES = {
    "data": (lambda body: body["data"], {"value": 1}),
    "warnings": (lambda body: body["meta"]["warnings"], ["Cached data may be outdated"]),
    "pagination": (lambda body: body["meta"]["pagination"]["total_count"], 150),
    "request_id": (lambda body: body["meta"]["request_id"], "req_abc123"),
    "rate_limit": (lambda body: body["meta"]["rate_limit"]["remaining"], 95),
    "telemetry": (lambda body: body["meta"]["telemetry"]["downstream_calls"], 3),
    "meta": (lambda body: body["meta"]["region"], "eu"),
}
FAILURE_PLACES = {
    "message": (lambda body: body["error"], "No such spec"),
    "error_code": (lambda body: body["data"]["error_code"], "SPEC_NOT_FOUND"),
    "error_type": (lambda body: body["data"]["error_type"], "conflict"),
    "remediation": (lambda body: body["data"]["remediation"], "List the specs"),
    "data": (lambda body: body["data"]["spec"], "billing"),
    "details": (lambda body: body["data"]["details"], {"field": "spec_id"}),
    "request_id": (lambda body: body["meta"]["request_id"], "req_1"),
    "rate_limit": (lambda body: body["meta"]["rate_limit"], {"limit": 100, "remaining": 0}),
    "telemetry": (lambda body: body["meta"]["telemetry"], {"duration_ms": 45}),
    "meta": (lambda body: body["meta"]["region"], "eu"),
}


@rows("RV2-SUCC-")
def test_success_response_parameter(wire: Recordings, row: Requirement) -> None:
    """What a handler gives the helper for successes is what a client receives."""
    place, value = SUCCESS_PLACES[row["parameter"]]
    for body in bodies(wire, "response-v2", "say_everything"):
        assert place(body) == value


@rows("RV2-FAIL-")
def test_error_response_parameter(wire: Recordings, row: Requirement) -> None:
    """What a handler gives the helper for failures is what a client receives."""
    place, value = FAILURE_PLACES[row["parameter"]]
    for body in bodies(wire, "response-v2", "fail_with_everything"):
        assert place(body) == value


# --- digests ---------------------------------------------------------------------------------------------------------


def digest_in(body: Any) -> DigestPayload:
    """What the document's consumer makes of a source."""
    source = body["data"]["source"]
    assert source["content_type"] == "digest/v1"
    return DigestPayload.from_json(source["content"])


@rows("DIG-FIELD-", column="field")
def test_digest_field(wire: Recordings, row: Requirement) -> None:
    """Each field of a digest reaches the client as it was made."""
    made = digest_in(response_v2_handlers.digest_source())
    for body in bodies(wire, "response-v2", "digest_source"):
        assert getattr(digest_in(body), row["field"]) == getattr(made, row["field"])
        assert row["field"] in json.loads(body["data"]["source"]["content"])


@rows("DIG-SNIP-")
def test_snippet_field(wire: Recordings, row: Requirement) -> None:
    """Each field of a snippet; the locator points at its text."""
    for body in bodies(wire, "response-v2", "digest_source"):
        [snippet] = json.loads(body["data"]["source"]["content"])["evidence_snippets"]
        assert row["field"] in snippet
        begin, end = map(int, snippet["locator"].removeprefix("char:").split("-"))
        assert response_v2_handlers.FERRY[begin:end] == snippet["text"]


def test_a_digest_that_was_received_can_be_read(wire: Recordings) -> None:
    """The content is the payload as JSON, which the document's helpers read."""
    made = digest_in(response_v2_handlers.digest_source())
    for body in bodies(wire, "response-v2", "digest_source"):
        assert deserialize_payload(body["data"]["source"]["content"]) == made


# --- standard-v2 -----------------------------------------------------------------------------------------------------


def test_the_sample_of_the_standard_document_reaches_the_client(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "sample"):
        assert body == example("standard-sample").body()


def test_the_error_of_the_standard_document_reaches_the_client(wire: Recordings) -> None:
    shown = example("standard-error").body()
    for body in bodies(wire, "standard-v2", "fail_in_words"):
        assert body["error"] == shown["error"] and list(body) == list(shown)
        assert body["meta"] == shown["meta"]


@rows("STD-ENV-00")
def test_success_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", "say_everything"):
        assert body[row["key"]]


@rows("STD-ENV-01")
def test_failure_member(wire: Recordings, row: Requirement) -> None:
    lists = ("results", "warnings", "citations")
    for name in ("failed", "failed_on_the_wire", "raise_not_found", "search badly", "wrapped_failure"):
        for body in bodies(wire, "standard-v2", name):
            assert body["status"] == "error"
            assert body[row["key"]] == [] if row["key"] in lists else body[row["key"]], name


def test_every_success_of_the_standard_document_has_one_shape(wire: Recordings) -> None:
    """Rows, one record and a single value; a record is a list of one, and the rows are the handler's own."""
    programs = DOCUMENTS["standard-v2"].PROGRAMS
    for name, found in {"give_rows": programs[:7], "give_record": programs[:1], "give_number": [42]}.items():
        for body in bodies(wire, "standard-v2", name):
            assert body["results"] == found and body["status"] == "rich"


@rows("STD-STATUS-", column="rows")
def test_status_by_rows(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", f"rows {row['rows']}"):
        assert (body["status"], len(body["results"])) == (row["status"], row["rows"])


@rows("STD-STATUS-", column="reason")
def test_empty_reason(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", f"empty {row['reason']}"):
        assert (body["status"], body["empty_reason"], body["results"]) == ("empty", row["reason"], [])
        assert body["retry_with"] == {"q": "IT"}


@rows("STD-ECHO-")
def test_query_echo_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", "say_everything"):
        assert body["query_echo"][row["key"]] == row.json("sample")


@rows("STD-CITE-", column="key")
def test_citation_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", "say_everything"):
        [citation] = body["citations"]
        assert citation[row["key"]] == row.json("sample")


@rows("STD-META-", column="key")
def test_standard_meta_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", "say_everything"):
        assert body["meta"][row["key"]] == row.json("sample")


@rows("STD-ERR-", column="key")
def test_error_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "standard-v2", "fail_in_words"):
        assert body["error"][row["key"]] == example("standard-error").body()["error"][row["key"]]


def test_suggested_actions_name_a_tool_or_an_endpoint(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "say_everything"):
        assert body["suggested_actions"] == [
            {"tool": "get_program", "args": {"unified_id": "UNI-1"}},
            {"endpoint": "/v1/programs/{unified_id}", "args": {"unified_id": "UNI-1"}},
        ]


def test_a_failure_costs_nothing_and_has_no_client_tag_that_nobody_sent(wire: Recordings) -> None:
    ids = set()
    for name in ("failed", "raise_not_found", "search badly"):
        for body in bodies(wire, "standard-v2", name):
            assert body["meta"]["billable_units"] == 0 and "client_tag" not in body["meta"]
            ids.add(body["meta"]["request_id"])
    assert len(ids) == 3 * len(DOORS)  # each call has its own


def test_a_code_that_the_list_lacks_goes_out_under_the_nearest(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "raise_later_code"):
        assert body["error"]["code"] == "VALIDATION_ERROR"
        assert aerogram.read(body).problem.code == "INVALID_STATE"


@rows("STD-CTOR-01", column="constructor")
def test_standard_response_constructor(wire: Recordings, row: Requirement) -> None:
    """What each constructor makes is the status that a client receives."""
    names = {"empty": "empty no_match", "error": "failed"}
    for body in bodies(wire, "standard-v2", names.get(row["constructor"], row["constructor"])):
        assert body["status"] == row["constructor"]


def test_a_wrapped_response_is_the_body_and_one_line(wire: Recordings) -> None:
    """wrap_for_mcp as the document has it: the line and nothing else, isError and the user message of a failure."""
    for result in everywhere(wire, "standard-v2", "wrapped"):
        assert (result.text, result.is_error) == ("rich · 23 results", False)
        assert len(result.body["results"]) == 23
    for result in everywhere(wire, "standard-v2", "wrapped_failure"):
        assert (result.text, result.is_error) == (result.body["error"]["user_message"], True)


def test_a_member_and_the_meta_of_a_handler_reach_the_client(wire: Recordings) -> None:
    """The meta as the document writes it, and a new member at the top."""
    for body in bodies(wire, "standard-v2", "name_meta"):
        own = {"billable_units": 3, "client_tag": "顧問先-001"}
        assert body["meta"] == {**example("standard-sample").body()["meta"], **own}
    for body in bodies(wire, "standard-v2", "add_member"):
        assert body["region"] == "eu"


def test_an_envelope_that_contradicts_itself_is_a_failure_of_the_server(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "contradict"):
        assert (body["error"]["code"], body["error"]["retryable"]) == ("INTERNAL_ERROR", True)
        assert "warnings" not in body["error"]["developer_message"]


def test_a_returned_error_is_the_failure(wire: Recordings) -> None:
    for one, other in zip(
        bodies(wire, "standard-v2", "return_error"), bodies(wire, "standard-v2", "failed"), strict=True
    ):
        assert one["error"] == other["error"]


def test_the_rows_of_an_annotated_envelope_are_listed(wire: Recordings) -> None:
    """A reader of the listing knows their members, and has no envelope inside of the envelope."""
    for result in everywhere(wire, "standard-v2", "typed_programs"):
        rows_ = result.listed.output_schema["properties"]["results"]
        described = rows_["items"]
        if "$ref" in described:
            described = result.listed.output_schema["$defs"]["Program"]
        assert set(described["properties"]) == {"unified_id", "title"}


def test_a_citation_of_nothing_is_told_of(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "cite_nothing"):
        assert (body["status"], body["citations"]) == ("rich", [])
        assert [one["message"] for one in body["warnings"]] == [
            "A citation points to /results/9/title, which is not there"
        ]


def test_a_budget_leaves_the_question_and_the_way_on_and_counts_the_sources_that_have_no_room(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "all_cited", "small"):
        assert body["query_echo"]["normalized_input"] == {"q": "IT導入"}
        assert body["query_echo"]["applied_filters"] == {"tier": ["S"]}
        assert {"tool": "get_program", "args": {"unified_id": "UNI-1"}} in body["suggested_actions"]
        told, shown = [one["message"] for one in body["warnings"]], len(body["results"])
        left = shown - len(body["citations"])
        assert 0 < shown < 60 and (f"{left} of {shown} citations left out" in told) == (left > 0)


def test_a_page_by_offset_is_read_as_rows(wire: Recordings) -> None:
    for body in bodies(wire, "standard-v2", "offset_page"):
        assert (body["status"], body["results"]) == ("rich", DOCUMENTS["standard-v2"].PROGRAMS[10:15])
        assert body["query_echo"]["applied_filters"] == {"limit": 5, "offset": 10}
        page = aerogram.read(body).page
        assert (page.total, page.has_more, page.page_size) == (60, True, 5)
        assert page.extra == {"offset": 10, "next_offset": 15} and "limit" not in body


# --- knowledge-1.0 ---------------------------------------------------------------------------------------------------


@rows("KNW-ENV-00", column="key")
def test_envelope_member(wire: Recordings, row: Requirement) -> None:
    """Each member reaches the client as the handler's own envelope has it, and is there in every other reply."""
    said = DOCUMENTS["knowledge-1.0"].envelope()
    for body in bodies(wire, "knowledge-1.0", "envelope"):
        if row["key"] == "_metadata":
            assert body["_metadata"] == said["_metadata"]
        assert body[row["key"]] == said[row["key"]]
    for framework, era in DOORS:
        assert all(row["key"] in one.body for _, one in calls(wire, framework, "knowledge-1.0", "usual", era))


@rows("KNW-META-", column="field")
def test_metadata_member(wire: Recordings, row: Requirement) -> None:
    said = DOCUMENTS["knowledge-1.0"].envelope()["_metadata"]
    for body in bodies(wire, "knowledge-1.0", "envelope"):
        assert body["_metadata"][row["field"]] == said[row["field"]]


@rows("KNW-PAGE-", column="field")
def test_knowledge_pagination_member(wire: Recordings, row: Requirement) -> None:
    said = DOCUMENTS["knowledge-1.0"].envelope()["pagination"]
    for body in bodies(wire, "knowledge-1.0", "envelope"):
        assert body["pagination"][row["field"]] == said[row["field"]]
    for body in bodies(wire, "knowledge-1.0", "page"):
        assert row["field"] in body["pagination"]


@rows("KNW-EXEC-", column="field")
def test_execution_member(wire: Recordings, row: Requirement) -> None:
    said = DOCUMENTS["knowledge-1.0"].envelope()["execution_context"]
    for body in bodies(wire, "knowledge-1.0", "envelope"):
        assert body["execution_context"][row["field"]] == said[row["field"]]


def test_the_cost_of_every_reply_is_plausible(wire: Recordings) -> None:
    """The ids are one and never the same twice, the time is positive, the tokens within a tenth."""
    ids = []
    for framework, era in DOORS:
        for _, result in calls(wire, framework, "knowledge-1.0", "usual", era):
            context, metadata = result.body["execution_context"], result.body["_metadata"]
            assert context["request_id"] == metadata["request_id"]
            assert context["execution_time_ms"] > 0
            assert context["tokens_used"] <= context["tokens_estimated"] * 1.1
            ids.append(metadata["request_id"])
    made = [one for one in ids if one != "req_7f3a2b1c"]  # this one is the handler's own
    assert len(made) == len(set(made))


@rows("KNW-WARN-", column="field")
def test_warning_member(wire: Recordings, row: Requirement) -> None:
    said = DOCUMENTS["knowledge-1.0"].envelope()["warnings"][0]
    for body in bodies(wire, "knowledge-1.0", "envelope"):
        assert body["warnings"][0][row["field"]] == said[row["field"]]


@rows("KNW-WCODE-", column="code")
def test_knowledge_standard_warning(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "knowledge-1.0", f"warning {row['code']}"):
        [warning] = body["warnings"]
        assert (warning["code"], warning["level"]) == (row["code"], row["level"])
        assert warning["message"] and warning["suggestion"]


MODES = {
    "SearchResultIDs": ("mode_ids", "search ids_only"),
    "SearchResultMetadata": ("mode_metadata", "search metadata"),
    "SearchResultPreview": ("mode_preview", "search preview"),
    "SearchResultFull": ("mode_full", "search full"),
    "VendorInfoIDs": ("vendor_ids", "vendor ids_only"),
    "VendorInfoMetadata": ("vendor_metadata", "vendor metadata"),
    "VendorInfoPreview": ("vendor_preview", "vendor preview"),
    "VendorInfoFull": ("vendor full",),
}


def records(body: Any) -> list[dict[str, Any]]:
    return body["results"] if isinstance(body["results"], list) else [body["results"]]


@rows("KNW-MODE-", column="example")
def test_mode_model(wire: Recordings, row: Requirement) -> None:
    """A record of the model, or one in the mode, has exactly the documented fields and is of the model."""
    model = getattr(knowledge_v1, row["model"])
    for name in MODES[row["model"]]:
        for body in bodies(wire, "knowledge-1.0", name):
            for record in records(body):
                assert set(record) == set(row["fields"]), name
                model.model_validate(record)


@rows("KNW-MODE-", column="most")
def test_mode_cost(wire: Recordings, row: Requirement) -> None:
    """A result of each mode costs no more than the document says, as it was received."""
    mode = {"ids": "ids_only"}.get(row["typical"].rpartition("-")[2], row["typical"].rpartition("-")[2])
    for body in bodies(wire, "knowledge-1.0", f"search {mode}"):
        sizes = [best_counter().count(json.dumps(one, separators=(",", ":"))) for one in body["results"]]
        assert 0 < max(sizes) <= row["most"]


def test_each_mode_costs_less_than_the_next_richer(wire: Recordings) -> None:
    for door in DOORS:
        found = wire.tools(door[0], "knowledge-1.0", "usual", door[1])
        sizes = [best_counter().count(found[f"search {mode}"].text) for mode in DOCUMENTS["knowledge-1.0"].MODES]
        assert sizes == sorted(set(sizes))
        assert best_counter().count(found["nothing_found"].text) <= 300  # the envelope alone


@rows("KNW-CONF-", column="field")
def test_confidence_member(wire: Recordings, row: Requirement) -> None:
    """Whole where it is known, and absent where it is not."""
    for body in bodies(wire, "knowledge-1.0", "explained"):
        assert set(body["results"][0]["confidence"]) == {"score_reliability", "source_quality", "recency"}
        assert body["results"][0]["confidence"][row["field"]] in (0.7, 0.8, 0.9)
    for body in bodies(wire, "knowledge-1.0", "mode_metadata"):
        assert "confidence" not in body["results"][0]


@rows("KNW-RANK-", column="field")
def test_ranking_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "knowledge-1.0", "explained"):
        assert body["results"][0]["ranking"][row["field"]] == row.json("good")


@rows("KNW-DEDUP-", column="field")
def test_deduplication_member(wire: Recordings, row: Requirement) -> None:
    for body in bodies(wire, "knowledge-1.0", "explained"):
        assert body["results"][0]["deduplication"][row["field"]] == row.json("good")


@rows("KNW-MODE-", column="cap")
def test_vendor_cap(wire: Recordings, row: Requirement) -> None:
    mode = {"VendorInfoPreview": "preview", "VendorInfoFull": "full"}[row["model"]]
    for body in bodies(wire, "knowledge-1.0", f"vendor {mode}"):
        assert len(body["results"][row["field"]]) == row["cap"]
        assert (body["_metadata"]["status"], body["warnings"][0]["code"]) == ("partial", "PARTIAL_RESULTS")
        assert row["field"] in body["warnings"][0]["message"]


@rows("KNW-FIELD-", column="modes")
def test_result_field(wire: Recordings, row: Requirement) -> None:
    """A field is in its modes, and in no other."""
    for mode in ("ids_only", "metadata", "preview", "full"):
        for body in bodies(wire, "knowledge-1.0", f"search {mode}"):
            assert all((row["field"] in record) == (mode in row["modes"]) for record in records(body))


@rows("KNW-WL-", column="whitelist")
def test_whitelist(wire: Recordings, row: Requirement) -> None:
    kind = "search" if "Search" in row["whitelist"] else "vendor"
    for body in bodies(wire, "knowledge-1.0", f"{kind} {row['mode'].lower()}"):
        assert all(set(record) == set(row["fields"]) for record in records(body))


def test_a_snippet_is_the_first_200_characters(wire: Recordings) -> None:
    for body in bodies(wire, "knowledge-1.0", "search preview"):
        assert all(one["chunk_snippet"] == DOCUMENTS["knowledge-1.0"].TEXT[:200] for one in body["results"])


def test_only_the_fields_that_are_asked_for_are_given_and_others_refused(wire: Recordings) -> None:
    for body in bodies(wire, "knowledge-1.0", "fields"):
        assert [list(one) for one in body["results"]] == [["chunk_id", "source_file", "hybrid_score"]] * 2
    for body in bodies(wire, "knowledge-1.0", "wrong fields"):
        assert (body["_metadata"]["status"], body["_metadata"]["message"], body["error"]["code"]) == (
            "error",
            "Invalid fields for response_mode",
            "INVALID_FIELDS",
        )
        assert body["error"]["message"] == "Fields ['chunk_text'] not available in 'metadata' mode"
        assert set(body["error"]["allowed_fields"]) == knowledge_v1.WhitelistedSemanticSearchFields.METADATA


def test_a_cursor_is_base64_of_json_with_the_documented_keys(wire: Recordings) -> None:
    for body in bodies(wire, "knowledge-1.0", "page"):
        decoded = json.loads(base64.urlsafe_b64decode(body["pagination"]["cursor"] + "=="))
        assert {"query_hash", "offset", "response_mode"} <= decoded.keys()
        assert (decoded["offset"], decoded["response_mode"]) == (20, "ids_only")


def test_a_failure_of_the_knowledge_document_keeps_code_and_remedy(wire: Recordings) -> None:
    for body in bodies(wire, "knowledge-1.0", "raise_not_found"):
        assert (body["_metadata"]["status"], body["results"]) == ("error", [])
        assert (body["error"]["code"], body["error"]["message"]) == ("NOT_FOUND", "there is no vendor Acme")
        assert body["warnings"][0]["suggestion"] == "List the vendors"


def test_results_that_were_left_out_are_told_of(wire: Recordings) -> None:
    """A reply that is not whole says partial, and what it lacks in a warning of its own."""
    for body in bodies(wire, "knowledge-1.0", "vendor full", "small"):
        assert body["_metadata"]["status"] == "partial"
        assert "PARTIAL_RESULTS" in [one["code"] for one in body["warnings"]]
    for body in bodies(wire, "knowledge-1.0", "search", "small"):  # here the cursor goes on
        assert (body["_metadata"]["status"], body["pagination"]["has_more"]) == ("partial", True)
        assert 0 < len(body["results"]) < 42


def test_rows_of_the_document_s_types_are_cut_to_others_of_them(wire: Recordings) -> None:
    """Nobody has to declare them, whether a handler returns rows or the envelope."""
    for name in ("typed_rows", "own_page"):
        for body in bodies(wire, "knowledge-1.0", name, "small"):
            assert 0 < len(body["results"]) < 20
            for row in body["results"]:
                model = knowledge_v1.SearchResultFull if "chunk_text" in row else knowledge_v1.SearchResultPreview
                assert set(model.model_validate(row).model_dump()) == set(row)


def test_what_a_handler_s_own_page_lost_comes_before_its_cursor(wire: Recordings) -> None:
    for result in everywhere(wire, "knowledge-1.0", "own_page", "small"):
        assert result.body["pagination"] == wire.tools("sdk", "knowledge-1.0")["own_page"].body["pagination"]
        shown = len(result.body["results"])
        [warning] = result.body["warnings"]
        way = rf"retrieve\(hash='[0-9a-f]{{12}}', offset={shown}\), then the cursor"
        assert re.fullmatch(rf"{shown} of 20 on this page shown; more: {way}", warning["message"])
    for result in everywhere(wire, "knowledge-1.0", "own_page", "off-small"):
        assert re.search(r"of 20 on this page shown.*; (more|whole): retrieve\(.*\), then the cursor", result.text)


# --- normalisation ---------------------------------------------------------------------------------------------------


def texts(*found: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": one} for one in found]


def record_of(data: dict[str, Any]) -> tuple[list[dict[str, Any]], Any]:
    return texts(json.dumps(data)), data


def boxed(value: Any, *found: str) -> tuple[list[dict[str, Any]], Any]:
    return texts(*found), {"result": value}


HERE = {"type": "text", "text": "Here:"}
POINT = {"x": 1, "tags": ["a"]}
VALUES: dict[str, dict[str, tuple[list[dict[str, Any]], Any]]] = {
    "NRM-TOOL-001": {"result": ([HERE], {"status": "ok"})},
    "NRM-TOOL-002": {"dict_of_result": (texts("x"), {"a": 1})},
    "NRM-TOOL-003": {"lookalike": record_of({"content": "just a text", "value": 1})},
    "NRM-TOOL-004": {"dataclass": record_of(POINT)},
    "NRM-TOOL-005": {"model": record_of({"name": "Alice", "photo": "jpg"})},
    "NRM-TOOL-006": {"block": ([HERE], None)},
    "NRM-TOOL-007": {"pair": (texts("done"), {"ms": 123})},
    "NRM-TOOL-008": {"dict": record_of({"key": "value"})},
    "NRM-TOOL-009": {"string": boxed("Hello!", "Hello!")},
    "NRM-TOOL-010": {"integer": boxed(42, "42")},
    "NRM-TOOL-011": {"float": boxed(1.5, "1.5")},
    "NRM-TOOL-012": {"bool": boxed(True, "true")},
    "NRM-TOOL-013": {"none": ([], None)},
    "NRM-TOOL-014": {"bytes": (texts("iVBORw0KGgo="), None)},
    "NRM-TOOL-015": {"bytearray": (texts("iVBORw0KGgo="), None)},
    "NRM-TOOL-016": {"list": boxed(["a", "b"], "a", "b")},
    "NRM-TOOL-017": {"nested_list": boxed(["a", ["b", ["c"]]], "a", "b", "c")},
    "NRM-TOOL-018": {"blocks": ([HERE, {"type": "image", "data": "AAAA", "mimeType": "image/png"}], None)},
    "NRM-TOOL-019": {"nested_dataclass": record_of({"at": {"x": 2, "tags": ["a"]}})},
    "NRM-TOOL-020": {"normalised": record_of({"key": "value"})},
    "NRM-TOOL-021": {
        "other_blocks": (
            [
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"name": "y", "uri": "x://y", "type": "resource_link"},
                {"type": "resource", "resource": {"uri": "x://y", "mimeType": "text/plain", "text": "z"}},
            ],
            None,
        )
    },
    "NRM-TOOL-022": {"dict_with_meta": (texts("x"), None)},
    "NRM-SC-001": {"string": boxed("Hello!", "Hello!"), "dict": record_of({"key": "value"})},
    "NRM-SC-002": {"dataclass": record_of(POINT), "model": record_of({"name": "Alice", "photo": "jpg"})},
    "NRM-SC-003": {"pair": (texts("done"), {"ms": 123}), "pair_of_texts": boxed(["x", "y"], "x", "y")},
    "NRM-SC-004": {"dict_named_result": record_of({"result": {"a": 1}})},
    "NRM-SC-005": {"zero": boxed(0, "0"), "empty_string": boxed("", ""), "empty_list": boxed([])},
    "NRM-JSON-001": {"primitives": boxed(["x", 1, 1.5, True, None], "x", "1", "1.5", "true")},
    "NRM-JSON-002": {"keys": record_of({"1": POINT, "b": {"2": 3}})},
    "NRM-JSON-003": {"collections": record_of({"a": [1], "b": [1, 2], "c": [3]})},
    "NRM-JSON-004": {"keys": record_of({"1": POINT, "b": {"2": 3}})},
    "NRM-JSON-005": {"models_inside": record_of({"a": [{"name": "Bob", "photo": "jpg"}]})},
    "NRM-JSON-006": {"opaque": (texts("an opaque thing"), None)},
}


def assert_normalised(wire: Recordings, row: Requirement) -> None:
    for framework, era in DOORS:
        found = wire.normalised(framework, era)
        for name, (content, structured) in VALUES[row.id].items():
            assert (found[name].blocks, found[name].body) == (content, structured), (framework, era, name)
            assert not found[name].is_error
    if row.id == "NRM-TOOL-022":
        assert all(wire.normalised(*door)["dict_with_meta"].meta["trace"] == 1 for door in DOORS)


@rows("NRM-TOOL-0")
def test_tool_result(wire: Recordings, row: Requirement) -> None:
    assert_normalised(wire, row)


@rows("NRM-SC-")
def test_structured_content(wire: Recordings, row: Requirement) -> None:
    assert_normalised(wire, row)


@rows("NRM-JSON-")
def test_conversion_to_json(wire: Recordings, row: Requirement) -> None:
    assert_normalised(wire, row)


def content(name: str, body: str, mime_type: str = "text/plain", member: str = "text") -> dict[str, str]:
    return {"uri": name if "://" in name else f"wire://{name}", "mimeType": mime_type, member: body}


FIRST = content("a://1", "First")
PNG, JSON = "iVBORw0KGgo=", "application/json"
CONTENTS: dict[str, tuple[str, list[dict[str, str]]]] = {
    "NRM-RES-001": ("result", [FIRST]),
    "NRM-RES-002": ("content", [FIRST]),
    "NRM-RES-003": ("contents", [FIRST, content("a://2", "AAAA", "image/png", "blob")]),
    "NRM-RES-004": ("content-dict", [content("content-dict", "a,b", "text/csv")]),
    "NRM-RES-005": ("dict", [content("dict", '{"key": "value"}', JSON)]),
    "NRM-RES-006": ("bytes", [content("bytes", PNG, "application/octet-stream", "blob")]),
    "NRM-RES-007": ("bytearray", [content("bytearray", PNG, "image/png", "blob")]),
    "NRM-RES-008": ("string", [content("string", "Hello")]),
    "NRM-RES-009": ("dataclass", [content("dataclass", json.dumps(POINT), JSON)]),
    "NRM-RES-010": ("model", [content("model", '{"name": "Bob", "photo": "jpg"}', JSON)]),
    "NRM-RES-011": ("json", [content("json", '[1, {"a": null}]', JSON)]),
    "NRM-RES-012": ("opaque", [content("opaque", "an opaque thing")]),
    "NRM-RES-013": ("declared", [content("declared", '{"theme": "dark"}', JSON)]),
    "NRM-MIME-001": ("bytearray", [content("bytearray", PNG, "image/png", "blob")]),
    "NRM-MIME-002": ("bytes", [content("bytes", PNG, "application/octet-stream", "blob")]),
    "NRM-MIME-003": ("undeclared", [content("undeclared", json.dumps(POINT))]),
}


@rows("NRM-RES-0")
def test_resource_result(wire: Recordings, row: Requirement) -> None:
    name, contents = CONTENTS[row.id]
    for door in DOORS:
        assert wire.normalised(*door)[f"wire://{name}"] == contents, door


@rows("NRM-MIME-")
def test_mime_type(wire: Recordings, row: Requirement) -> None:
    for door in DOORS:
        found = wire.normalised(*door)
        if row.id == "NRM-MIME-004":
            assert all(set(block) == {"type", "text"} for block in found["primitives"].blocks)
        else:
            name, contents = CONTENTS[row.id]
            assert found[f"wire://{name}"] == contents


def test_the_error_flag_is_the_handlers(wire: Recordings) -> None:
    for door in DOORS:
        found = wire.normalised(*door)
        for name, words in (("result_in_error", "Here:"), ("dict_in_error", "x")):
            assert found[name].is_error and found[name].text.splitlines()[0] == words
            assert found[name].body is None
        assert not found["result"].is_error


def test_a_resource_that_raises_is_an_error_and_no_result(wire: Recordings) -> None:
    for door in DOORS:
        failure = wire.normalised(*door)["wire://missing"]
        assert isinstance(failure, MCPError) and "no such document" in str(failure)


def test_every_handler_that_the_document_shows_gives_its_result(wire: Recordings) -> None:
    """As they are printed, decorators and all; the JSON in a text is spelled as the document prints it."""
    code = normalization_handlers.Code()
    for shown in normalization_handlers.SHOWN:
        handler, result = code.run(shown), shown.value()
        for door in DOORS:
            found = wire.normalised(*door)
            if shown.form == "resource-result":
                assert found[code.resources[handler.__name__][0]] == result["contents"], shown.id
            else:
                one = found[normalization_handlers.name_of(shown)]
                assert (one.blocks, one.body) == (result["content"], result.get("structuredContent")), shown.id
