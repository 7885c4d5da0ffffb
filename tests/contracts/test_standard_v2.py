"""standard-v2 keeps what its document promises."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from pydantic import ValidationError

import aerogram
from aerogram import Action, Citation, Notice, Problem, QueryEcho, Reply, Telemetry
from aerogram.codes import TABLE
from aerogram.dialects.standard_v2 import StandardError, StandardResponse, StandardV2Dialect
from aerogram.errors import ContractError, InvalidReply
from aerogram.reply import new_request_id
from contracts.document_examples import example
from contracts.requirement_rows import Requirement, rows

DIALECT = aerogram.dialect("standard-v2")
STAMPS: dict[str, Any] = {
    "request_id": "01KQ3XQ77RR7J8XWZ8C0YR2JN2",
    "telemetry": Telemetry(duration_ms=42, billable_units=1),
}
FREE: dict[str, Any] = {**STAMPS, "telemetry": Telemetry(duration_ms=1, billable_units=0)}
CITATION = {
    "source_id": "src-1",
    "source_url": "https://www.meti.go.jp/a",
    "publisher": "経済産業省",
    "title": "手引き",
    "fetched_at": "2026-04-29T03:00:00Z",
    "checksum": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "license": "pdl_v1.0",
    "field_paths": ["/results/0/amount_max_yen"],
    "verification_status": "verified",
}


def some(number: int) -> list[dict[str, Any]]:
    """Return that many rows."""
    return [{"unified_id": f"UNI-{place}"} for place in range(number)]


def everything() -> Reply[Any]:
    """Return a success that says something under every member."""
    return Reply.ok(
        some(5),
        query_echo=QueryEcho({"q": "IT導入"}, {"tier": ["S", "A"], "prefecture": "東京都"}, ("???",)),
        citations=[Citation(**CITATION)],
        notices=[Notice("slow")],
        actions=[Action(tool="get_program", args={"unified_id": "UNI-1"})],
        client_tag="顧問先-001",
        **STAMPS,
    )


def failure(code: str = "RATE_LIMITED", message: str = "anonymous quota", **said: Any) -> Reply[Any]:
    """Return a failed reply with everything this contract requires."""
    return Reply.failed(code, message, query_echo=QueryEcho({"q": "x"}), **FREE, **said)


def body_of(status: str, number: int, **members: Any) -> dict[str, Any]:
    """Return a body with that status and that many rows."""
    base = example("standard-sample").body()
    return {**base, "status": status, "results": some(number), **members}


def refusal(body: Any) -> ContractError:
    """Return the error with which validation refuses a body."""
    with pytest.raises(ContractError) as caught:
        DIALECT.validate(body)
    return caught.value


# --- the envelope ----------------------------------------------------------------------------------------------------

SUCCESS_MEMBERS = {
    "status": "rich",
    "query_echo": {
        "normalized_input": {"q": "IT導入"},
        "applied_filters": {"tier": ["S", "A"], "prefecture": "東京都"},
        "unparsed_terms": ["???"],
    },
    "results": some(5),
    "citations": [CITATION],
    "warnings": [{"message": "slow"}],
    "suggested_actions": [{"tool": "get_program", "args": {"unified_id": "UNI-1"}}],
    "meta": {
        "request_id": "01KQ3XQ77RR7J8XWZ8C0YR2JN2",
        "api_version": "v2",
        "latency_ms": 42,
        "billable_units": 1,
        "client_tag": "顧問先-001",
    },
}
FAILURE_MEMBERS = ("status", "results", "warnings", "citations", "query_echo", "error", "meta")


@rows("STD-ENV-00")
def test_success_member(row: Requirement) -> None:
    """Each member of a success says what the reply says, is always there, and cannot be missing from a valid body."""
    body = DIALECT.encode(everything())
    assert body[row["key"]] == SUCCESS_MEMBERS[row["key"]]
    assert row["key"] in DIALECT.encode(Reply.ok(some(1), **STAMPS))
    if row["key"] != "suggested_actions":
        del body[row["key"]]
        assert refusal(body).pointer in ("", f"/{row['key']}")


@pytest.mark.parametrize(
    "said", [everything(), failure(), Reply.empty(**STAMPS), Reply.partial(some(1), "x", **STAMPS)]
)
def test_the_contract_has_its_own_word_for_everything_it_names(said: Reply[Any]) -> None:
    """What the document names is told in its members alone; nothing of it needs an extension."""
    told = said.replace(problem=said.problem and Problem(said.problem.code, "x", user_message="y"))
    body = DIALECT.encode(told)
    assert "aerogram" not in body
    assert DIALECT.decode(body) == told


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("query_echo/normalized_input", []),
        ("query_echo/applied_filters", []),
        ("query_echo/unparsed_terms", "x"),
        ("citations/0/source_id", 3),
        ("citations/0/field_paths", "x"),
        ("suggested_actions/0/args", []),
        ("retry_with", []),
        ("meta/request_id", 3),
        ("meta/api_version", "v1"),
        ("meta/latency_ms", -1),
        ("meta/billable_units", -1),
        ("meta/client_tag", 3),
    ],
)
def test_a_member_of_the_wrong_type_is_refused(place: str, wrong: Any) -> None:
    """Each member has its type and bounds; a body that breaks them is refused at that place."""
    body = json.loads(json.dumps(DIALECT.encode(everything())))
    target: Any = body
    *parents, last = [int(step) if step.isdigit() else step for step in place.split("/")]
    for step in parents:
        target = target[step]
    target[last] = wrong
    assert refusal(body).pointer == f"/{place}"


def test_warnings_are_objects_or_plain_text() -> None:
    """The document does not say what a warning looks like: both forms are read, with all they say."""
    detail = {
        "code": "STALE_CACHE",
        "severity": "warning",
        "message": "old",
        "suggestion": "wait",
        "context": {"age": 2},
    }
    heard = aerogram.read(body_of("partial", 1, warnings=["plain", detail])).notices
    assert heard == (Notice("plain"), Notice("old", "STALE_CACHE", "warning", "wait", {"age": 2}))


@rows("STD-ENV-01")
def test_failure_member(row: Requirement) -> None:
    """Each member of a failure is there and has its documented form."""
    body = DIALECT.encode(failure())
    assert body["status"] == "error"
    assert body["results"] == body["warnings"] == body["citations"] == []
    assert body["query_echo"]["normalized_input"] == {"q": "x"}
    assert body["error"]["developer_message"] == "anonymous quota"
    del body[row["key"]]
    assert refusal(body).rule


@pytest.mark.parametrize("data", [some(3), {"name": "one record"}, "text", 42, None, [], [[1]], [None]])
def test_every_success_has_one_shape(data: Any) -> None:
    """Rows, a record, a value or nothing: the members are the same, results is a list, and the data reads back."""
    reply = Reply.ok(data, **STAMPS)
    body = DIALECT.encode(reply)
    assert set(SUCCESS_MEMBERS) <= set(body) and isinstance(body["results"], list)
    assert "error" not in body
    DIALECT.validate(body)
    assert DIALECT.decode(body) == reply
    if isinstance(data, dict):
        assert body["results"] == [data]


@pytest.mark.parametrize("code", sorted(TABLE))
def test_every_failure_has_one_shape(code: str) -> None:
    """Whatever failed, the members are the same, and the error has its documented ones."""
    body = DIALECT.encode(failure(code))
    assert set(FAILURE_MEMBERS) <= set(body)
    assert {"code", "user_message", "developer_message", "retryable"} <= set(body["error"])
    DIALECT.validate(body)


def test_rows_are_untouched() -> None:
    """The rows on the wire are the handler's own objects, whatever they hold."""
    given = [{"status": "rich", "nested": {"error": None, "empty": []}}, *some(4)]
    body = DIALECT.encode(Reply.ok(given, **STAMPS))
    assert all(sent is row for sent, row in zip(body["results"], given, strict=True))


# --- status ----------------------------------------------------------------------------------------------------------


@rows("STD-STATUS-", column="rows")
def test_status_by_rows(row: Requirement) -> None:
    """The status follows from the number of rows."""
    body = DIALECT.encode(Reply.ok(some(row["rows"]), **STAMPS))
    assert body["status"] == row["status"]
    DIALECT.validate(body)


@pytest.mark.parametrize(("status", "number"), [("rich", 0), ("rich", 2), ("rich", 4), ("sparse", 0), ("sparse", 5)])
def test_a_status_its_rows_do_not_bear_is_refused(status: str, number: int) -> None:
    """A body cannot claim more or less than it holds."""
    assert status in refusal(body_of(status, number)).rule
    assert "empty" in refusal(body_of("empty", 1, empty_reason="no_match")).rule
    DIALECT.validate(body_of("rich", 5))
    DIALECT.validate(body_of("rich", 1))
    DIALECT.validate(body_of("sparse", 1))
    DIALECT.validate(body_of("sparse", 4))


def test_an_empty_reply_needs_a_reason_from_the_list() -> None:
    """Nothing found is explained, by one of four reasons."""
    assert refusal(body_of("empty", 0)).rule
    assert refusal(body_of("empty", 0, empty_reason="bad_luck")).pointer == "/empty_reason"
    assert DIALECT.encode(Reply.empty("filters_too_narrow", **STAMPS))["empty_reason"] == "filters_too_narrow"
    with pytest.raises(InvalidReply):
        Reply.empty("bad_luck")


@rows("STD-STATUS-", column="reason")
def test_empty_reason(row: Requirement) -> None:
    """Each reason is accepted in a body, read, and written again."""
    body = body_of("empty", 0, empty_reason=row["reason"])
    DIALECT.validate(body)
    assert aerogram.read(body).empty_reason == row["reason"]
    assert DIALECT.encode(aerogram.read(body)) == body


def test_retry_with_goes_with_sparse_and_empty() -> None:
    """What to try instead travels with a poor answer, and is not forced on one."""
    hint = {"tier": ["S", "A", "B"]}
    for reply in (Reply.ok(some(2), retry_with=hint, **STAMPS), Reply.empty(retry_with=hint, **STAMPS)):
        body = DIALECT.encode(reply)
        assert body["retry_with"] == hint
        assert aerogram.read(body).retry_with == hint
    assert "retry_with" not in DIALECT.encode(Reply.ok(some(2), **STAMPS))


@pytest.mark.parametrize("number", [0, 1, 7])
def test_a_partial_reply_has_any_rows_and_a_warning(number: int) -> None:
    """A partial answer may hold any rows, and says what is missing."""
    body = DIALECT.encode(Reply.partial(some(number), "one source is down", **STAMPS))
    assert (body["status"], len(body["results"])) == ("partial", number)
    assert body["warnings"] == [{"message": "one source is down"}]
    DIALECT.validate(body)
    assert "warnings" in refusal({**body, "warnings": []}).rule


def test_an_error_reply_has_no_rows_and_an_error() -> None:
    """A failure has no rows; no error without the status, no status without the error."""
    body = DIALECT.encode(failure())
    assert (body["status"], body["results"]) == ("error", [])
    assert refusal({**body, "results": some(1)}).rule
    assert refusal({name: value for name, value in body.items() if name != "error"}).rule
    assert refusal(body_of("rich", 5, error=body["error"])).rule


def test_an_unknown_status_is_refused() -> None:
    """There are five statuses."""
    assert refusal(body_of("fine", 5)).pointer == "/status"


# --- echo, citations, actions -----------------------------------------------------------------------------------------


@rows("STD-ECHO-")
def test_query_echo_member(row: Requirement) -> None:
    """Each member of the echo says what was understood, is there when empty, and reads back."""
    body = DIALECT.encode(everything())
    assert body["query_echo"][row["key"]] == row.json("sample")
    empty = type(row.json("sample"))()
    assert DIALECT.encode(Reply.ok(some(1), **STAMPS))["query_echo"][row["key"]] == empty
    heard = getattr(aerogram.read(body).query_echo, row["key"])
    assert (list(heard) if isinstance(heard, tuple) else heard) == row.json("sample")


@rows("STD-CITE-", column="key")
def test_citation_member(row: Requirement) -> None:
    """Each member of a citation is written from the reply and read back."""
    body = DIALECT.encode(everything())
    assert body["citations"][0][row["key"]] == row.json("sample")
    heard = getattr(aerogram.read(body).citations[0], row["key"])
    assert (list(heard) if isinstance(heard, tuple) else heard) == row.json("sample")


def test_citations_may_be_empty() -> None:
    """Without separate provenance the list is there, and empty."""
    assert DIALECT.encode(Reply.ok(some(1), **STAMPS))["citations"] == []
    assert StandardResponse.sparse(some(1)).to_wire()["citations"] == []


def test_an_action_names_a_tool_or_an_endpoint() -> None:
    """Both kinds of action are written with their arguments and read back."""
    actions = [Action(tool="get_program", args={"id": 1}), Action(endpoint="/v1/programs/{id}", args={"id": 1})]
    body = DIALECT.encode(Reply.ok(some(5), actions=actions, **STAMPS))
    assert body["suggested_actions"] == [
        {"tool": "get_program", "args": {"id": 1}},
        {"endpoint": "/v1/programs/{id}", "args": {"id": 1}},
    ]
    assert aerogram.read(body).actions == tuple(actions)


def test_an_action_without_a_target_is_refused() -> None:
    """A follow-up call that calls nothing, or two things, is none."""
    for action in ({"args": {}}, {"tool": "a", "endpoint": "/b", "args": {}}):
        assert refusal(body_of("rich", 5, suggested_actions=[action])).pointer == "/suggested_actions/0"
    with pytest.raises(InvalidReply):
        Action(args={"id": 1})


# --- meta ------------------------------------------------------------------------------------------------------------


@rows("STD-META-", column="key")
def test_meta_member(row: Requirement) -> None:
    """Each member of meta is written from the reply, and reads back into it."""
    body = DIALECT.encode(everything())
    assert body["meta"][row["key"]] == row.json("sample")
    assert DIALECT.encode(aerogram.read(body))["meta"] == body["meta"]
    assert aerogram.read(body) == everything()


def test_a_failure_is_charged_nothing() -> None:
    """A failure costs no units, made by completing a reply or by hand; a body that charges for one is refused."""
    completed = DIALECT.encode(DIALECT.complete(Reply.failed("INTERNAL_ERROR")))
    assert completed["meta"]["billable_units"] == 0
    assert StandardResponse.error(StandardError.internal()).to_wire()["meta"]["billable_units"] == 0
    assert DIALECT.encode(DIALECT.complete(Reply.ok(some(1))))["meta"]["billable_units"] == 1
    charged = {**completed, "meta": {**completed["meta"], "billable_units": 1}}
    assert "billable_units" in refusal(charged).rule


def test_each_call_has_a_request_id_of_its_own() -> None:
    """No two that are made are the same, and all are short; a caller's own id is given back as it is."""
    made = {new_request_id() for _ in range(2000)}
    assert len(made) == 2000 and {len(one) for one in made} == {12}
    assert DIALECT.encode(everything())["meta"]["request_id"] == "01KQ3XQ77RR7J8XWZ8C0YR2JN2"
    assert DIALECT.encode(DIALECT.complete(Reply.ok([])))["meta"]["request_id"].startswith("req_")


def test_the_client_tag_is_left_out_when_none_was_sent() -> None:
    """No tag, no member."""
    assert "client_tag" not in DIALECT.encode(Reply.ok(some(1), **STAMPS))["meta"]
    assert "client_tag" not in StandardResponse.sparse(some(1)).to_wire()["meta"]


# --- errors ----------------------------------------------------------------------------------------------------------


@rows("STD-ERR-", column="key")
def test_error_member(row: Requirement) -> None:
    """Each member of the error is written from the problem and read back."""
    dialect = StandardV2Dialect(documentation="https://example.org/errors#")
    reply = failure(user_message="Please wait", retry_after=60)
    body = dialect.encode(reply)
    expected = {
        "code": "RATE_LIMITED",
        "user_message": "Please wait",
        "developer_message": "anonymous quota",
        "retryable": True,
        "retry_after": 60,
        "documentation": "https://example.org/errors#rate_limited",
    }
    assert body["error"][row["key"]] == expected[row["key"]]
    foreign = {name: value for name, value in body.items() if name != "aerogram"}
    assert DIALECT.encode(aerogram.read(foreign))["error"] == expected
    assert refusal({**body, "error": {**body["error"], row["key"]: []}}).pointer == f"/error/{row['key']}"


def test_a_code_outside_the_list_is_refused() -> None:
    """The list of codes is closed: one that was added later does not validate, is read, and is not written."""
    body = DIALECT.encode(failure())
    later = {**body, "error": {**body["error"], "code": "PAYMENT_REQUIRED", "retryable": False}}
    assert refusal(later).pointer == "/error/code"
    problem = aerogram.read(later).problem
    assert (problem.code, problem.message, problem.retryable) == ("PAYMENT_REQUIRED", "anonymous quota", False)
    assert DIALECT.encode(aerogram.read(later))["error"]["code"] == "INTERNAL_ERROR"
    with pytest.raises(ValidationError):
        StandardError(code="TEAPOT", user_message="x", developer_message="x", retryable=False)


@pytest.mark.parametrize(
    ("code", "nearest"),
    [
        ("SPEC_NOT_FOUND", "NOT_FOUND"),
        ("MISSING_REQUIRED", "VALIDATION_ERROR"),
        ("RATE_LIMIT_EXCEEDED", "RATE_LIMITED"),
        ("FEATURE_DISABLED", "FORBIDDEN"),
        ("UNAVAILABLE", "INTERNAL_ERROR"),
        ("CONFLICT", "VALIDATION_ERROR"),
    ],
)
def test_a_failure_outside_the_list_goes_out_under_its_nearest_code(code: str, nearest: str) -> None:
    """A stranger sees a code it knows; a reader of ours gets the exact one back, with its category."""
    reply = failure(code)
    body = DIALECT.encode(reply)
    assert body["error"]["code"] == nearest
    assert aerogram.read(body).problem == reply.problem
    DIALECT.validate(body)


def test_a_stranger_to_the_table_goes_out_under_its_category() -> None:
    """A code of the handler's own is taken for the plain code of its category."""
    reply = Reply.failed(Problem("SEAT_TAKEN", "taken", kind="not_found"), **FREE)
    body = DIALECT.encode(reply)
    assert body["error"]["code"] == "NOT_FOUND"
    assert aerogram.read(body).problem == reply.problem


@pytest.mark.parametrize("code", sorted(TABLE))
def test_user_messages_speak_the_chosen_language(code: str) -> None:
    """The message for the person is Japanese or English by choice, and never the developer's."""
    said = {
        language: StandardV2Dialect(language=language).encode(failure(code))["error"]["user_message"]
        for language in ("en", "ja")
    }
    assert said == {language: TABLE[code].user_text[language] for language in ("en", "ja")}
    assert said["en"].isascii() and not said["ja"].isascii()
    assert "anonymous quota" not in said.values()


def test_the_documentation_base_can_be_set() -> None:
    """The link is the base and the code's anchor; without a base there is none."""
    dialect = StandardV2Dialect(documentation="https://example.org/envelope#")
    assert dialect.encode(failure("NOT_FOUND"))["error"]["documentation"] == "https://example.org/envelope#not_found"
    assert "documentation" not in StandardV2Dialect().encode(failure("NOT_FOUND"))["error"]
    error = StandardError.not_found(documentation="https://example.org/envelope#")
    assert error.documentation == "https://example.org/envelope#not_found"


def test_a_bad_request_names_its_field() -> None:
    """What is wrong with which field is in the developer's message, or beside it."""
    error = StandardError.bad_request("limit: must be at most 100")
    assert error.developer_message == "limit: must be at most 100"
    body = DIALECT.encode(failure("VALIDATION_ERROR", "limit: at most 100", details={"pointer": "/limit"}))
    assert body["error"]["developer_message"] == "limit: at most 100"
    assert aerogram.read(body).problem.details == {"pointer": "/limit"}


def test_an_internal_error_points_at_the_trace_without_it() -> None:
    """A masked failure names the request id under which the trace is logged, and nothing of the exception."""
    problem = aerogram.problem_of(RuntimeError("password=hunter2 in /srv/app.py"), request_id="req_77")
    body = DIALECT.encode(Reply.failed(problem, **FREE))
    assert body["error"]["code"] == "INTERNAL_ERROR"
    assert "req_77" in body["error"]["developer_message"]
    assert "hunter2" not in str(body) and "/srv" not in str(body)


@rows("STD-CODE-")
def test_closed_error_code(row: Requirement) -> None:
    """Each code of the closed list has its status and retry rule, in the table and on the wire."""
    reply = failure(row["code"])
    assert reply.problem.status == row["http"]
    error = DIALECT.encode(reply)["error"]
    assert (error["code"], error["retryable"]) == (row["code"], row["retryable"])
    assert aerogram.read(DIALECT.encode(reply)).problem.code == row["code"]
    turned = {**DIALECT.encode(failure(row["code"])), "error": {**error, "retryable": not row["retryable"]}}
    turned.pop("aerogram", None)
    assert aerogram.read(turned).problem.retryable is not row["retryable"]


# --- stability -------------------------------------------------------------------------------------------------------


def test_a_new_top_level_member_is_read_and_kept() -> None:
    """A body with a member of tomorrow is valid today, and keeps it when written again."""
    body = body_of("rich", 5, tomorrow={"a": 1})
    DIALECT.validate(body)
    assert DIALECT.encode(aerogram.read(body)) == body


# --- the status table in the published schema ------------------------------------------------------------------------

SCHEMA = jsonschema_rs.validator_for(DIALECT.schema())
BILLED = {"request_id": "r", "api_version": "v2", "latency_ms": 1, "billable_units": 1}
MISSED = {"code": "NOT_FOUND", "user_message": "u", "developer_message": "d", "retryable": False}
BARE_BODY: dict[str, Any] = {"query_echo": {}, "results": [], "citations": [], "warnings": [], "meta": BILLED}
UNPAID = {**BILLED, "billable_units": 0}


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ({"status": "rich", "results": [{}] * 5}, True),
        ({"status": "rich", "results": [{}]}, True),
        ({"status": "rich", "results": [{}] * 3}, False),
        ({"status": "rich"}, False),
        ({"status": "sparse", "results": [{}] * 4}, True),
        ({"status": "sparse", "results": [{}] * 5}, False),
        ({"status": "sparse"}, False),
        ({"status": "empty", "empty_reason": "no_match"}, True),
        ({"status": "empty"}, False),
        ({"status": "empty", "empty_reason": None}, False),
        ({"status": "empty", "empty_reason": "no_match", "results": [{}]}, False),
        ({"status": "partial", "warnings": ["m"]}, True),
        ({"status": "partial"}, False),
        ({"status": "error", "error": MISSED, "meta": UNPAID}, True),
        ({"status": "error", "meta": UNPAID}, False),
        ({"status": "error", "error": None, "meta": UNPAID}, False),
        ({"status": "error", "error": MISSED, "meta": UNPAID, "results": [{}]}, False),
        ({"status": "error", "error": MISSED}, False),
        ({"status": "sparse", "results": [{}], "error": MISSED, "meta": UNPAID}, False),
    ],
    ids=str,
)
def test_the_published_schema_holds_the_status_table(said: dict[str, Any], is_kept: bool) -> None:
    """Whoever validates with the schema alone refuses what the dialect refuses."""
    body = {**BARE_BODY, **said}
    assert SCHEMA.is_valid(body) is is_kept
    if is_kept:
        DIALECT.validate(body)
    else:
        with pytest.raises(ContractError):
            DIALECT.validate(body)
