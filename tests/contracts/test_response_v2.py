"""response-v2 keeps what its two documents promise."""

from __future__ import annotations

import re
from typing import Any

import pytest

import aerogram
from aerogram import Fidelity, Notice, Page, Problem, RateLimit, Reply, Telemetry
from aerogram.codes import TABLE, WARNINGS, register_code
from aerogram.errors import ContractError, InvalidReply
from contracts.requirement_rows import Requirement, requirements, rows

DIALECT = aerogram.dialect("response-v2")
ARCHIVED = {"archive-001": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
STALE = Notice("Cached data may be outdated", "STALE_CACHE", "warning", context={"cache_age_seconds": 7200})
MINIMAL = {"success": True, "data": {}, "error": None, "meta": {"version": "response-v2"}}


def everything() -> Reply[Any]:
    """Return a reply that has something to say under every key of meta."""
    return Reply.partial(
        {"value": 1},
        STALE,
        request_id="req_abc123",
        page=Page("eyJvZmZzZXQiOjIwfQ==", True, 150, 20),
        rate_limit=RateLimit(100, 95, "2025-12-04T12:00:00Z"),
        telemetry=Telemetry(45, True, extra={"downstream_calls": 3}),
        fidelity=Fidelity("partial", ("finding-003", "source-015"), ARCHIVED),
    )


def body_with(**meta: Any) -> dict[str, Any]:
    """Return a body with these further keys in its meta."""
    return {**MINIMAL, "meta": {"version": "response-v2", **meta}}


def failure_with(**data: Any) -> dict[str, Any]:
    """Return the body of a failure with this data."""
    return {**MINIMAL, "success": False, "error": "It failed", "data": data}


def pointer_of_refusal(body: Any) -> str:
    """Return the place at which validation refuses a body."""
    with pytest.raises(ContractError) as caught:
        DIALECT.validate(body)
    assert caught.value.rule
    return caught.value.pointer


# --- the envelope ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply", [everything(), Reply.ok(), Reply.empty(), Reply.failed("NOT_FOUND")])
def test_a_body_has_exactly_the_four_members(reply: Reply[Any]) -> None:
    """Whatever the reply says, the body is success, data, error, meta."""
    assert list(DIALECT.encode(reply)) == ["success", "data", "error", "meta"]


def test_success_tells_completed_from_failed() -> None:
    """Success is true for every outcome but failure, and is a real boolean."""
    done = [Reply.ok(1), Reply.empty(), Reply.partial([], "some failed"), Reply.blocked({}, "waiting")]
    assert all(DIALECT.encode(reply)["success"] is True for reply in done)
    assert DIALECT.encode(Reply.failed("INTERNAL_ERROR"))["success"] is False
    assert pointer_of_refusal({**MINIMAL, "success": "yes"}) in ("", "/success")


@pytest.mark.parametrize("data", [{"a": 1}, [1, 2], [], "text", 0, False, 1.5, None, {}])
def test_data_is_always_an_object(data: Any) -> None:
    """Any data becomes an object, and reads back as what it was."""
    body = DIALECT.encode(Reply.ok(data))
    assert type(body["data"]) is dict
    assert DIALECT.decode(body).data == data
    assert type(DIALECT.decode(body).data) is type(data)
    if not isinstance(data, dict | None):
        assert body["data"] == {"results" if isinstance(data, list) else "result": data}


def test_no_payload_is_an_empty_object() -> None:
    """A reply without data sends {}."""
    assert DIALECT.encode(Reply.ok())["data"] == {}


def test_error_is_null_on_success_and_text_on_failure() -> None:
    """The error speaks exactly when the operation failed."""
    assert DIALECT.encode(everything())["error"] is None
    assert DIALECT.encode(Reply.failed("NOT_FOUND", "No such spec"))["error"] == "No such spec"
    assert pointer_of_refusal({**MINIMAL, "error": "but it worked"}) == "/error"
    assert pointer_of_refusal({**failure_with(), "error": None}) == "/error"


@pytest.mark.parametrize("reply", [Reply.ok(), everything(), Reply.failed("UNAVAILABLE")])
def test_every_meta_names_the_version(reply: Reply[Any]) -> None:
    """The version is there without anybody asking for it."""
    assert DIALECT.encode(reply)["meta"]["version"] == "response-v2"


@pytest.mark.parametrize("member", list(MINIMAL))
def test_a_body_that_breaks_the_envelope_is_refused_with_its_place(member: str) -> None:
    """A missing member or a wrong version is refused, with rule and JSON Pointer."""
    lacking = {name: value for name, value in MINIMAL.items() if name != member}
    assert pointer_of_refusal(lacking) in ("", f"/{member}")
    assert pointer_of_refusal(body_with(version="response-v1")) == "/meta/version"
    assert pointer_of_refusal({**MINIMAL, "data": []}) == "/data"
    DIALECT.validate(MINIMAL)


def test_operational_facts_stay_out_of_data() -> None:
    """The data of a success is the handler's own object; everything operational is in meta."""
    reply = everything()
    body = DIALECT.encode(reply)
    assert body["data"] == {"value": 1}
    assert body["data"] is reply.data
    assert {"pagination", "rate_limit", "telemetry", "warnings", "content_fidelity"} <= set(body["meta"])


def test_meta_keys_come_in_the_documented_order() -> None:
    """The keys of meta come in the order in which the document prints them."""
    assert list(DIALECT.encode(everything())["meta"]) == [
        "version",
        "request_id",
        "warnings",
        "warning_details",
        "pagination",
        "rate_limit",
        "telemetry",
        "content_fidelity",
        "content_fidelity_schema_version",
        "dropped_content_ids",
        "content_archive_hashes",
    ]


def test_the_contract_has_its_own_word_for_everything_it_names() -> None:
    """What the documents name is told in their members alone; nothing of it needs an extension."""
    problem = Problem("NOT_FOUND", "gone", remediation="List them", details={"id": 1}, retry_after=3)
    for said in (everything(), Reply.failed(problem, data={"feature": "beta"}, request_id="req_1")):
        body = DIALECT.encode(said)
        assert "aerogram" not in body["meta"]
        assert DIALECT.decode(body) == said


def test_nothing_empty_is_emitted() -> None:
    """A reply that says nothing operational has a meta of the version alone."""
    assert DIALECT.encode(Reply.ok({"a": 1}))["meta"] == {"version": "response-v2"}
    complete = DIALECT.encode(Reply.ok({}, fidelity=Fidelity("partial")))["meta"]
    assert "dropped_content_ids" not in complete
    assert "content_archive_hashes" not in complete


def test_a_success_with_warnings_is_valid() -> None:
    """Warnings do not make a failure."""
    body = body_with(warnings=["Deprecated field used"])
    DIALECT.validate(body)
    assert aerogram.read(body).notices == (Notice("Deprecated field used"),)


# --- meta ------------------------------------------------------------------------------------------------------------


@rows("RV2-META-")
def test_meta_key(row: Requirement) -> None:
    """Each reserved key is written from the reply, read back, and absent where there is nothing to say."""
    key, sample = row["key"], row.json("sample")
    assert DIALECT.encode(everything())["meta"][key] == sample
    assert (key in DIALECT.encode(Reply.ok())["meta"]) == (row["required"] == "YES")
    assert DIALECT.encode(DIALECT.decode(DIALECT.encode(everything())))["meta"][key] == sample


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("request_id", 3),
        ("warnings", "slow"),
        ("warnings/0", 3),
        ("warning_details/0/code", 3),
        ("warning_details/0/context", []),
        ("pagination", []),
        ("pagination/cursor", 3),
        ("pagination/has_more", "yes"),
        ("pagination/total_count", "many"),
        ("pagination/page_size", 1.5),
        ("rate_limit/limit", "100"),
        ("rate_limit/remaining", "few"),
        ("rate_limit/reset_at", []),
        ("rate_limit/retry_after", "soon"),
        ("telemetry/duration_ms", "fast"),
        ("telemetry/cache_hit", "yes"),
        ("content_fidelity_schema_version", 1.0),
        ("dropped_content_ids", "finding-003"),
        ("content_archive_hashes", []),
    ],
)
def test_a_meta_key_of_the_wrong_type_is_refused(place: str, wrong: Any) -> None:
    """Each key has its type; a body that breaks it is refused at that place, of a success and of a failure."""
    meta = DIALECT.encode(everything())["meta"]
    target: Any = meta
    *parents, last = [int(step) if step.isdigit() else step for step in place.split("/")]
    for step in parents:
        target = target[step]
    target[last] = wrong
    for body in (body_with(**meta), {**failure_with(), "meta": meta}):
        assert pointer_of_refusal(body).startswith(f"/meta/{place}")


@rows("RV2-PAGE-", column="key")
def test_pagination_member(row: Requirement) -> None:
    """Each member of the page reads into the reply and is written again."""
    pagination = {row["key"]: row.json("sample")}
    reply = aerogram.read(body_with(pagination=pagination))
    words = {"cursor": "cursor", "has_more": "has_more", "total_count": "total", "page_size": "page_size"}
    held = getattr(reply.page, words[row["key"]]) if row["key"] in words else reply.page.extra[row["key"]]
    assert held == row.json("sample")
    assert DIALECT.encode(reply)["meta"]["pagination"] == pagination


@rows("RV2-RATE-")
def test_rate_limit_member(row: Requirement) -> None:
    """Each member of the rate limit reads into the reply and is written again."""
    limit = {row["key"]: row.json("sample")}
    reply = aerogram.read(body_with(rate_limit=limit))
    assert getattr(reply.rate_limit, row["key"]) == row.json("sample")
    assert DIALECT.encode(reply)["meta"]["rate_limit"] == limit


@rows("RV2-TEL-")
def test_telemetry_member(row: Requirement) -> None:
    """Each figure reads into the reply, the operation's own ones included, and is written again."""
    figures = {row["key"]: row.json("sample")}
    reply = aerogram.read(body_with(telemetry=figures))
    known = hasattr(Telemetry(), row["key"])
    held = getattr(reply.telemetry, row["key"]) if known else reply.telemetry.extra[row["key"]]
    assert held == row.json("sample")
    assert DIALECT.encode(reply)["meta"]["telemetry"] == figures


# --- edge cases ------------------------------------------------------------------------------------------------------


def test_nothing_found_is_a_success() -> None:
    """An empty result is a success with its empty lists and counts."""
    body = DIALECT.encode(Reply.empty(data={"tasks": [], "total_count": 0}))
    assert (body["success"], body["data"], body["error"]) == (True, {"tasks": [], "total_count": 0}, None)
    assert aerogram.read(body).status == "empty"


def test_a_missing_resource_fails_with_structured_facts() -> None:
    """A missing resource is a failure that a program can act on."""
    body = DIALECT.encode(Reply.failed("NOT_FOUND", "Spec not found: x", details={"resource_id": "x"}))
    assert (body["success"], body["error"]) == (False, "Spec not found: x")
    assert body["data"]["error_code"] == "NOT_FOUND"
    assert body["data"]["error_type"] == "not_found"
    assert body["data"]["details"] == {"resource_id": "x"}
    assert body["data"]["remediation"]


def test_blocked_work_succeeds_and_warns() -> None:
    """Blocked work is a success whose data describes the state, with a warning; it reads back as blocked."""
    reply = Reply.blocked({"status": "blocked", "blocker": "approval"}, "Task is blocked and cannot proceed")
    body = DIALECT.encode(reply)
    assert (body["success"], body["error"], body["data"]) == (True, None, {"status": "blocked", "blocker": "approval"})
    assert body["meta"]["warnings"] == ["Task is blocked and cannot proceed"]
    assert DIALECT.decode(body) == reply


def test_partial_work_succeeds_and_warns() -> None:
    """Partial work is a success that tells what failed, with a warning; it reads back as partial."""
    reply = Reply.partial({"processed": 8, "failed": 2}, "2 tasks failed to process")
    body = DIALECT.encode(reply)
    assert (body["success"], body["error"], body["data"]) == (True, None, {"processed": 8, "failed": 2})
    assert body["meta"]["warnings"] == ["2 tasks failed to process"]
    assert DIALECT.decode(body).status == "partial"


def test_several_payloads_keep_their_names() -> None:
    """Payloads under named keys stay where they are."""
    data = {"spec": {"spec_id": "spec-001"}, "tasks": [{"task_id": "task-001"}]}
    assert DIALECT.encode(Reply.ok(data))["data"] == data


# --- fidelity --------------------------------------------------------------------------------------------------------


@rows("RV2-FID-", column="level")
def test_fidelity_level(row: Requirement) -> None:
    """Each level is written from the reply and read back."""
    body = DIALECT.encode(Reply.ok({}, fidelity=Fidelity(row["level"])))
    assert body["meta"]["content_fidelity"] == row["level"]
    assert aerogram.read(body).fidelity.level == row["level"]


@pytest.mark.parametrize("level", ["partial", "summary", "reference_only"])
def test_fidelity_below_full_states_level_and_version(level: str) -> None:
    """Whoever says that content is missing also says by which version of the keys."""
    meta = DIALECT.encode(Reply.ok({}, fidelity=Fidelity(level)))["meta"]
    assert (meta["content_fidelity"], meta["content_fidelity_schema_version"]) == (level, "1.0")


def test_dropped_ids_and_archive_hashes_travel_together() -> None:
    """What was dropped, and where it is kept, is written in order and read back."""
    reply = Reply.ok({}, fidelity=Fidelity("partial", ("b", "a"), ARCHIVED))
    body = DIALECT.encode(reply)
    assert body["meta"]["dropped_content_ids"] == ["b", "a"]
    assert body["meta"]["content_archive_hashes"] == ARCHIVED
    assert aerogram.read(body) == reply
    assert pointer_of_refusal(body_with(dropped_content_ids=[3])) == "/meta/dropped_content_ids/0"
    assert pointer_of_refusal(body_with(content_archive_hashes={"a": 3})) == "/meta/content_archive_hashes/a"


def test_rows_that_are_on_the_next_page_need_the_level_alone() -> None:
    """With a cursor the level says that there is more; whoever names what was dropped says more than that."""
    reply = Reply.ok([{"id": "a"}], status="partial", page=Page("abc", has_more=True))
    body = DIALECT.encode(reply)
    assert body["meta"] == {
        "version": "response-v2",
        "pagination": {"cursor": "abc", "has_more": True},
        "content_fidelity": "partial",
    }
    assert aerogram.read(body) == reply
    named = aerogram.read(body_with(pagination={"cursor": "abc"}, dropped_content_ids=["b"]))
    assert (named.status, named.fidelity.level, named.fidelity.dropped_ids) == ("partial", "partial", ("b",))


def test_a_complete_reply_carries_no_fidelity_keys() -> None:
    """Nothing was left out, so nothing is said about it."""
    assert not [key for key in DIALECT.encode(Reply.ok({"a": 1}))["meta"] if "content" in key]


def test_an_unknown_fidelity_level_is_refused() -> None:
    """There are four levels."""
    assert pointer_of_refusal(body_with(content_fidelity="most")) == "/meta/content_fidelity"


# --- warnings --------------------------------------------------------------------------------------------------------


def test_warnings_and_details_stay_in_step() -> None:
    """Each warning has its detail at the same index; details alone are read, and both are written."""
    meta = DIALECT.encode(Reply.ok({}, notices=[STALE, Notice("plain")]))["meta"]
    assert meta["warnings"] == [detail["message"] for detail in meta["warning_details"]] == [STALE.message, "plain"]
    alone = aerogram.read(body_with(warning_details=[{"code": "STALE_CACHE", "message": "old"}]))
    written = DIALECT.encode(alone)["meta"]
    assert written["warnings"] == ["old"]
    assert written["warning_details"] == [{"code": "STALE_CACHE", "message": "old"}]


def test_a_warning_without_its_detail_is_not_lost() -> None:
    """Where a foreign body has warnings and details out of step, a reader still gets every warning once."""
    body = body_with(warnings=["one", "two"], warning_details=[{"code": "STALE_CACHE", "message": "two"}])
    assert sorted(notice.message for notice in aerogram.read(body).notices) == ["one", "two"]


@rows("RV2-WARN-", column="key")
def test_warning_detail_member(row: Requirement) -> None:
    """Each member of a detail reads into the notice and is written again; the message cannot be missing."""
    detail = {"message": "Cache data is 2 hours old", row["key"]: row.json("sample")}
    reply = aerogram.read(body_with(warning_details=[detail]))
    assert getattr(reply.notices[0], row["key"]) == row.json("sample")
    written = DIALECT.encode(Reply.ok({}, notices=[*reply.notices, STALE]))["meta"]["warning_details"][0]
    assert written == detail
    without = {"code": "STALE_CACHE", **detail}
    del without[row["key"]]
    if row["required"] == "YES":
        assert pointer_of_refusal(body_with(warning_details=[without])) == f"/meta/warning_details/0/{row['key']}"
    else:
        DIALECT.validate(body_with(warning_details=[without]))


@rows("RV2-WARN-", column="severity")
def test_severity(row: Requirement) -> None:
    """Each severity is written and read back."""
    body = DIALECT.encode(Reply.ok({}, notices=[Notice("x", severity=row["severity"])]))
    assert body["meta"]["warning_details"] == [{"severity": row["severity"], "message": "x"}]
    assert aerogram.read(body).notices[0].severity == row["severity"]


def test_an_unknown_severity_is_refused() -> None:
    """There are three severities."""
    body = body_with(warning_details=[{"message": "x", "severity": "fatal"}])
    assert pointer_of_refusal(body) == "/meta/warning_details/0/severity"


@rows("RV2-WCODE-", column="code")
def test_standard_warning(row: Requirement) -> None:
    """Each standard warning is in the table with its severity, and a notice of it says so on the wire."""
    assert WARNINGS[row["code"]].severity == row["severity"]
    detail = DIALECT.encode(Reply.ok({}, notices=[Notice.of(row["code"])]))["meta"]["warning_details"][0]
    assert (detail["code"], detail["severity"]) == (row["code"], row["severity"])
    known = WARNINGS[row["code"]]
    assert (detail["message"], detail["suggestion"]) == (known.description, known.suggestion)


# --- errors ----------------------------------------------------------------------------------------------------------


@rows("RV2-ERR-", column="key")
def test_error_field(row: Requirement) -> None:
    """Each error field is written from the problem, read back into it, and may be missing from a foreign body."""
    problem = Problem("SPEC_NOT_FOUND", "gone", remediation="List the specs", details={"field": "spec_id"})
    words = {"error_code": "code", "error_type": "kind"}
    body = DIALECT.encode(Reply.failed(problem))
    assert body["data"][row["key"]] == getattr(problem, words.get(row["key"], row["key"]))
    assert aerogram.read(body).problem == problem
    DIALECT.validate(failure_with(**{key: value for key, value in body["data"].items() if key != row["key"]}))
    assert pointer_of_refusal(failure_with(**{row["key"]: 3})) == f"/data/{row['key']}"


@pytest.mark.parametrize("data", [{"feature": "beta"}, {"data": 1}, {"error_code": "mine"}, [1, 2], "text", None])
def test_a_failure_keeps_data_of_its_own_and_the_delay(data: Any) -> None:
    """Context beside the error fields stays readable, never overwrites them, and comes back; so does the delay."""
    said = Reply.failed("RATE_LIMIT_EXCEEDED", "Slow down", data=data, retry_after=45)
    body = DIALECT.encode(said)
    assert (body["data"]["error_code"], body["data"]["retry_after_seconds"]) == ("RATE_LIMIT_EXCEEDED", 45)
    if data == {"feature": "beta"}:
        assert body["data"]["feature"] == "beta"
    elif data is not None:
        assert body["data"]["data"] == (1 if data == {"data": 1} else data)
    assert aerogram.read(body) == said


def test_error_codes_are_screaming_snake_case() -> None:
    """Every code of the table is, and no other can be added to it."""
    assert all(re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", code) for code in TABLE)
    for wrong in ("not-found", "notFound", "not_found", ""):
        with pytest.raises(InvalidReply):
            register_code(wrong, parent="NOT_FOUND")


def test_an_unknown_error_type_is_refused() -> None:
    """There are nine categories; one that was added later does not validate, and is read and carried all the same."""
    later = failure_with(error_code="PAYMENT_REQUIRED", error_type="payment")
    assert pointer_of_refusal(later) == "/data/error_type"
    said = aerogram.read(later)
    assert (said.problem.code, said.problem.message) == ("PAYMENT_REQUIRED", later["error"])
    assert DIALECT.encode(said) == later
    assert pointer_of_refusal(failure_with(error_type=7)) == "/data/error_type"


def test_details_keep_a_received_null() -> None:
    """That null was received is a fact, and stays in the details."""
    details = {"field": "spec_id", "constraint": "required", "received": None}
    body = DIALECT.encode(Reply.failed("VALIDATION_ERROR", "spec_id is required", details=details))
    assert body["data"]["details"] == details
    assert aerogram.read(body).problem.details == details


@rows("RV2-TYPE-")
def test_error_type(row: Requirement) -> None:
    """A failure of each category has the documented HTTP status and retry rule, and reads back with them."""
    problem = Problem("MADE_UP_HERE", "x", kind=row["type"])
    assert (problem.status, problem.retry) == (row["http"], row["retry"])
    heard = aerogram.read(failure_with(error_code="MADE_UP_HERE", error_type=row["type"])).problem
    assert (heard.kind, heard.status, heard.retry) == (row["type"], row["http"], row["retry"])
    assert heard.retryable == (row["retry"] == "yes")


@rows("RV2-CODE-")
def test_error_code(row: Requirement) -> None:
    """Each code goes out under its own name with its category, has the category's status, and reads back."""
    body = DIALECT.encode(Reply.failed(row["code"], "It failed"))
    assert (body["data"]["error_code"], body["data"]["error_type"]) == (row["code"], row["type"])
    assert TABLE[row["code"]].status == next(kind["http"] for kind in _types() if kind["type"] == row["type"])
    assert aerogram.read(body).problem.code == row["code"]


def _types() -> list[Requirement]:
    return [row for row in requirements() if row.id.startswith("RV2-TYPE-")]


@rows("RVG-CODE-", column="code")
def test_common_error_code(row: Requirement) -> None:
    """Each common code has a title and a remediation of its own, and they reach the body."""
    known = TABLE[row["code"]]
    assert known.title and known.remediation
    assert [other for other in _common() if TABLE[other].remediation == known.remediation] == [row["code"]]
    assert DIALECT.encode(Reply.failed(row["code"]))["data"]["remediation"] == known.remediation


def _common() -> set[str]:
    return {row["code"] for row in requirements() if row.id.startswith("RVG-CODE-") and "code" in row.columns}


def test_already_exists_and_duplicate_entry_are_one() -> None:
    """Both spellings are one failure: of one category and status, the one being the other."""
    assert Problem("ALREADY_EXISTS", "x").is_a("DUPLICATE_ENTRY")
    one, other = TABLE["ALREADY_EXISTS"], TABLE["DUPLICATE_ENTRY"]
    assert (one.kind, one.status, one.retry) == (other.kind, other.status, other.retry) == ("conflict", 409, "check")
    for code in ("ALREADY_EXISTS", "DUPLICATE_ENTRY"):
        assert aerogram.read(DIALECT.encode(Reply.failed(code))).problem.code == code


# --- readers ---------------------------------------------------------------------------------------------------------


def test_a_reader_gets_code_remediation_and_request_id() -> None:
    """What a client acts on is at hand after reading."""
    body = failure_with(error_code="SPEC_NOT_FOUND", remediation="List the specs")
    reply = aerogram.read({**body, "meta": {"version": "response-v2", "request_id": "req_1"}})
    assert (reply.problem.code, reply.problem.remediation) == ("SPEC_NOT_FOUND", "List the specs")
    assert reply.request_id == "req_1"
    assert reply.problem.is_a("NOT_FOUND")
    assert aerogram.read(DIALECT.encode(everything())).request_id == "req_abc123"


def test_an_error_code_that_is_no_code_is_refused_by_validation_and_read_all_the_same() -> None:
    """The document wants SCREAMING_SNAKE_CASE; a stranger's body still tells what went wrong."""
    assert pointer_of_refusal(failure_with(error_code="bad code")) == "/data/error_code"
    reply = aerogram.read(failure_with(error_code="bad code"))
    assert reply.problem is not None and reply.problem.code == "bad code"
    body = DIALECT.encode(reply)
    DIALECT.validate(body)
    assert body["data"]["error_code"] == "INTERNAL_ERROR" and DIALECT.decode(body) == reply
