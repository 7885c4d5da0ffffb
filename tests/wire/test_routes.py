"""What clients of routes receive when handlers follow the documents: Starlette and FastAPI, in both shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import aerogram
from aerogram.codes import KIND_RULES, TABLE
from aerogram.dialects.response_v2 import ResponseV2
from aerogram.documents.knowledge_v1 import MCPResponseEnvelope, SearchResultFull, SearchResultPreview
from aerogram.documents.standard_v2 import StandardResponse
from aerogram.tokens import best_counter
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows
from wire.recordings import DOCUMENTS, ROUTES, V2, Recordings
from wire.response_v2_handlers import OLD_SHAPES
from wire.servers import BUDGET

MODELS = {"response-v2": ResponseV2, "standard-v2": StandardResponse[Any], "knowledge-1.0": MCPResponseEnvelope[Any]}

frameworks = pytest.mark.parametrize("framework", ROUTES)
documents = pytest.mark.parametrize("document", DOCUMENTS)
kinds = pytest.mark.parametrize("kind", ["usual", "small"])


def everywhere(wire: Recordings, document: str, name: str, shape: str = "v2") -> Iterator[httpx.Response]:
    """The response to one call, from every framework."""
    for framework in ROUTES:
        yield wire.routes(framework, document, "usual", shape)[name]


# --- the matrix ------------------------------------------------------------------------------------------------------


@frameworks
@documents
@kinds
@pytest.mark.parametrize("shape", ["v2", "accept"])
def test_every_response_keeps_its_document(
    wire: Recordings, framework: str, document: str, kind: str, shape: str
) -> None:
    """By the document's own model, with the status of its code and the fields that tell the shape."""
    for name, response in wire.routes(framework, document, kind, shape).items():
        body = response.json()
        assert aerogram.validate(body).name == document, name
        MODELS[document].model_validate(body)
        problem = aerogram.read(body).problem
        assert (problem is not None) == (name in DOCUMENTS[document].FAILING), name
        expected = 200 if problem is None else problem.status
        assert response.status_code == (422 if (framework, name) == ("fastapi", "search badly") else expected), name
        assert_told(response, "v2", V2 if shape == "accept" else "application/json", aerogram.read(body).request_id)


def assert_told(response: httpx.Response, version: str, media_type: str, request_id: str | None = None) -> None:
    fields = response.headers
    assert fields["X-Envelope-Version"] == version
    assert [one.strip() for one in fields["Vary"].split(",")] == ["Accept", "X-Envelope-Version"]
    assert fields["Content-Type"].partition(";")[0] == media_type
    assert fields["X-Request-Id"] == (request_id or "order-7")
    assert fields["X-Content-Type-Options"] == "nosniff"


@frameworks
@documents
@kinds
def test_legacy_callers_get_the_payload_alone(wire: Recordings, framework: str, document: str, kind: str) -> None:
    """The data of the same reply, whole whatever the budget; of a failure the detail and the code."""
    newer = wire.routes(framework, document, "usual", "v2")
    for name, response in wire.routes(framework, document, kind, "v1").items():
        if name in OLD_SHAPES | {"fail_in_short"}:  # read only where it is spoken
            continue
        reply = aerogram.read(newer[name].content)
        assert response.status_code == newer[name].status_code, name
        if name in ("raise_unexpected", "contradict"):
            assert response.text == "Internal Server Error"  # as the framework says it
            continue
        assert_told(response, "v1", "application/json")
        if reply.problem is None:
            assert response.json() == reply.data, name
        elif (framework, name) != ("fastapi", "search badly"):  # it is the framework's own
            code = TABLE.spell(reply.problem.code, "bare")
            assert response.json() == {"detail": reply.problem.message, "error": code}, name


@frameworks
@documents
def test_a_budget_holds_and_what_is_missing_is_told(wire: Recordings, framework: str, document: str) -> None:
    """What fits is the same as without a budget; what does not says so, and where the rest is."""
    count, cut = best_counter().count, []
    whole = wire.routes(framework, document, "usual", "v2")
    for name, response in wire.routes(framework, document, "small", "v2").items():
        reply, usual = aerogram.read(response.content), aerogram.read(whole[name].content)
        if reply.problem is not None:
            continue
        assert count(response.text) <= BUDGET, name
        if reply.data != usual.data:
            cut.append(name)
            assert reply.status == "partial", name
            assert reply.fidelity or "next" in response.links, name
    assert 0 < len(cut) < 8, cut


def test_a_crash_says_nothing_of_itself(wire: Recordings) -> None:
    """Nobody reads what an exception that was not declared says, in either shape."""
    for document in DOCUMENTS:
        for shape in ("v1", "v2"):
            for response in everywhere(wire, document, "raise_unexpected", shape):
                assert response.status_code == 500 and "hunter2" not in response.text


# --- response-v2 -----------------------------------------------------------------------------------------------------


@rows("RV2-TYPE-")
def test_error_type(wire: Recordings, row: Requirement) -> None:
    """A failure of each category has its status, and says how to go on."""
    for response in everywhere(wire, "response-v2", f"type {row['type']}"):
        assert response.status_code == row["http"]
        assert response.json()["data"]["error_type"] == row["type"]
        assert aerogram.read(response.content).problem.retry == row["retry"]
    for response in everywhere(wire, "response-v2", f"type {row['type']}", "v1"):
        assert response.status_code == row["http"]


@rows("RV2-CODE-")
def test_error_code(wire: Recordings, row: Requirement) -> None:
    """Each code goes out under its own name, with its category and the category's status."""
    for response in everywhere(wire, "response-v2", f"code {row['code']}"):
        data = response.json()["data"]
        assert (data["error_code"], data["error_type"]) == (row["code"], row["type"])
        assert response.status_code == KIND_RULES[row["type"]].status
    for response in everywhere(wire, "response-v2", f"code {row['code']}", "v1"):
        assert response.json()["error"] == row["code"]


def test_already_exists_and_duplicate_entry_are_one(wire: Recordings) -> None:
    """One category and status, each under its own name."""
    for code in ("ALREADY_EXISTS", "DUPLICATE_ENTRY"):
        for response in everywhere(wire, "response-v2", f"code {code}"):
            data = response.json()["data"]
            assert (response.status_code, data["error_code"], data["error_type"]) == (409, code, "conflict")


def test_a_delay_is_told_in_the_body_and_in_the_header(wire: Recordings) -> None:
    for response in everywhere(wire, "response-v2", "rate_limited"):
        assert response.headers["Retry-After"] == "45"
        assert response.json()["data"]["retry_after_seconds"] == 45
    for response in everywhere(wire, "standard-v2", "fail_in_words"):
        assert response.headers["Retry-After"] == "60"
        assert response.json()["error"]["retry_after"] == 60


SHOWN = {
    "task_query": "guide-task-query",
    "partial_work": "guide-partial",
    "blocked_work": "guide-blocked",
    "bad_characters": "guide-validation-error",
    "partial_findings": "schema-partial-fidelity",
    "missing_field": "schema-validation-error",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_body_that_a_document_shows_reaches_the_client(wire: Recordings, name: str) -> None:
    """To the member; where the document has no request id, it is the caller's."""
    for response in everywhere(wire, "response-v2", name):
        shown = example(SHOWN[name]).body()
        assert response.json() == {**shown, "meta": {"request_id": "order-7", **shown["meta"]}}


# --- standard-v2 -----------------------------------------------------------------------------------------------------


@rows("STD-CODE-")
def test_closed_error_code(wire: Recordings, row: Requirement) -> None:
    """Each code of the closed list has its status and says whether to retry, in both shapes."""
    for shape in ("v1", "v2"):
        names = [f"fail {one}" for one in DOCUMENTS["standard-v2"].CONSTRUCTORS]
        [name] = [one for one in names if _code(wire, one) == row["code"]]
        for response in everywhere(wire, "standard-v2", name, shape):
            assert response.status_code == row["http"] == TABLE[row["code"]].status
    for response in everywhere(wire, "standard-v2", name):
        assert response.json()["error"]["retryable"] is row["retryable"]


def _code(wire: Recordings, name: str) -> str:
    return str(wire.routes("starlette", "standard-v2")[name].json()["error"]["code"])


@rows("STD-CTOR-00")
def test_standard_error_constructor(wire: Recordings, row: Requirement) -> None:
    """What each constructor makes is the error that a client receives."""
    for response in everywhere(wire, "standard-v2", f"fail {row['constructor']}"):
        error = response.json()["error"]
        assert (error["code"], error["developer_message"]) == (row["code"], f"why: {row['constructor']}")
        assert error["user_message"] == TABLE[row["code"]].user_text["en"]


def test_the_sample_of_the_standard_document_reaches_the_client(wire: Recordings) -> None:
    for response in everywhere(wire, "standard-v2", "sample"):
        assert response.json() == example("standard-sample").body()


def test_the_rows_are_the_same_in_both_shapes(wire: Recordings) -> None:
    """A row is the route's own, and a single record is a list of one."""
    for name in ("give_rows", "sample", "search", "rich"):
        for old, new in zip(
            everywhere(wire, "standard-v2", name, "v1"), everywhere(wire, "standard-v2", name), strict=True
        ):
            assert new.json()["results"] == old.json()
    for old, new in zip(
        everywhere(wire, "standard-v2", "give_record", "v1"),
        everywhere(wire, "standard-v2", "give_record"),
        strict=True,
    ):
        assert new.json()["results"] == [old.json()]


def test_a_search_echoes_how_it_was_understood(wire: Recordings) -> None:
    """As the framework reads the query: of Starlette, which leaves that to handlers, as text."""
    for response, limit in zip(everywhere(wire, "standard-v2", "search"), ("7", 7), strict=True):
        assert response.json()["query_echo"] == {
            "normalized_input": {"q": "IT導入"},
            "applied_filters": {"tier": "A", "limit": limit},
            "unparsed_terms": [],
        }


def test_a_member_and_the_meta_of_a_handler_reach_the_client(wire: Recordings) -> None:
    """The meta as the document writes it, and a new member at the top."""
    for response in everywhere(wire, "standard-v2", "name_meta"):
        assert response.json()["meta"] == {**example("standard-sample").body()["meta"], **OWN_META}
    for response in everywhere(wire, "standard-v2", "add_member"):
        assert response.json()["region"] == "eu"


OWN_META = {"billable_units": 3, "client_tag": "顧問先-001"}


def test_an_envelope_that_contradicts_itself_is_a_failure_of_the_server(wire: Recordings) -> None:
    for response in everywhere(wire, "standard-v2", "contradict"):
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["retryable"]) == (500, "INTERNAL_ERROR", True)
        assert "warnings" not in error["developer_message"]


def test_a_returned_error_is_the_failure(wire: Recordings) -> None:
    for one, other in zip(
        everywhere(wire, "standard-v2", "return_error"), everywhere(wire, "standard-v2", "failed"), strict=True
    ):
        assert one.status_code == other.status_code == 404
        assert one.json()["error"] == other.json()["error"]


def test_a_failure_without_meta_and_echo_is_no_success(wire: Recordings) -> None:
    for response in everywhere(wire, "standard-v2", "fail_in_short"):
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["user_message"]) == (404, "NOT_FOUND", "There is none.")


def test_bad_input_names_the_field(wire: Recordings) -> None:
    for response in everywhere(wire, "standard-v2", "search badly"):
        error = response.json()["error"]
        assert (error["code"], error["retryable"]) == ("VALIDATION_ERROR", False)
        assert "query.q" in error["developer_message"]


def test_every_failure_has_one_shape(wire: Recordings) -> None:
    """The members of the document's error, whatever the status."""
    members = list(example("standard-error").body())
    for framework in ROUTES:
        for name, response in wire.routes(framework, "standard-v2").items():
            if name in DOCUMENTS["standard-v2"].FAILING:
                body = response.json()
                assert [one for one in body if one != "aerogram"] == members, name
                assert (body["status"], body["results"], body["meta"]["billable_units"]) == ("error", [], 0)


# --- response-v2 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["own_model_fails", "own_record_fails", "own_text_fails", "category_alone"])
def test_a_failure_in_whatever_holds_the_envelope_is_one(wire: Recordings, name: str) -> None:
    """With the status of its code, or of its category where it has none."""
    for response in everywhere(wire, "response-v2", name):
        assert (response.status_code, response.json()["data"]["error_code"]) == (404, "NOT_FOUND")


def test_an_envelope_that_lacks_something_is_none_for_legacy_callers_either(wire: Recordings) -> None:
    for response in everywhere(wire, "response-v2", "page_in_short", "v1"):
        assert response.json() == {"tasks": [{"task_id": "task-001"}]}
    for name, status in {"no_rows_as_data": 500, "category_alone": 404}.items():
        assert {one.status_code for one in everywhere(wire, "response-v2", name, "v1")} == {status}


def test_what_does_not_fit_is_the_next_page_also_where_nobody_asked_for_one(wire: Recordings) -> None:
    """The guide's loop over the cursor gets every row once, and each page says how large it is."""
    for framework in ROUTES:
        page, seen = wire.routes(framework, "response-v2", "small")["all_tasks"].json(), []
        address = wire.address(framework, "response-v2 small")
        while True:
            seen += [one["task_id"] for one in page["data"]["tasks"]]
            where = page["meta"]["pagination"]
            assert where["total_count"] == 45 and where.get("page_size", len(seen)) == len(page["data"]["tasks"])
            if not where["has_more"]:
                break
            page = httpx.get(f"{address}/all_tasks", params={"envelope": "v2", "cursor": where["cursor"]}).json()
        assert seen == [f"task-{number:03}" for number in range(45)]


# --- knowledge-1.0 ---------------------------------------------------------------------------------------------------


def test_the_next_page_is_named_in_a_header(wire: Recordings) -> None:
    """The link goes on where the cursor of the body does."""
    for response in everywhere(wire, "knowledge-1.0", "page"):
        cursor = response.json()["pagination"]["cursor"]
        assert httpx.URL(response.links["next"]["url"]).params["cursor"] == cursor


def test_fields_that_a_mode_lacks_are_refused(wire: Recordings) -> None:
    for response in everywhere(wire, "knowledge-1.0", "wrong fields"):
        assert (response.status_code, response.json()["error"]["code"]) == (400, "INVALID_FIELDS")
        assert "chunk_id" in json.dumps(response.json()["error"]["allowed_fields"])


def test_what_a_handler_s_own_page_lost_is_told_of_this_page(wire: Recordings) -> None:
    """Its rows are of the document's types, and the call that gives them back is among those that follow."""
    for framework in ROUTES:
        body = wire.routes(framework, "knowledge-1.0", "small")["own_page"].json()
        assert f"{len(body['results'])} of 20 on this page shown" in body["warnings"][0]["message"]
        for row in body["results"]:
            model = SearchResultFull if "chunk_text" in row else SearchResultPreview
            assert set(model.model_validate(row).model_dump()) == set(row)
