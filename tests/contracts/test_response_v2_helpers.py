"""The helpers of response-v2 give bodies that keep its contract."""

from __future__ import annotations

import copy
import inspect
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

import aerogram
from aerogram import Notice, Reply
from aerogram.codes import KIND_RULES, TABLE, Kind
from aerogram.dialects.response_v2 import ToolResponse, error_response, success_response
from aerogram.errors import ContractError
from contracts.requirement_rows import Requirement, rows

DIALECT = aerogram.dialect("response-v2")
ARCHIVED = {"archive-001": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
MINIMAL = {"success": True, "data": {}, "error": None, "meta": {"version": "response-v2"}}
SUCCESS_PARAMETERS = {
    "data": ({"a": 1}, lambda body: body["data"]),
    "warnings": (["slow"], lambda body: body["meta"]["warnings"]),
    "pagination": ({"cursor": "abc", "has_more": True}, lambda body: body["meta"]["pagination"]),
    "request_id": ("req_1", lambda body: body["meta"]["request_id"]),
    "rate_limit": ({"limit": 100, "remaining": 5}, lambda body: body["meta"]["rate_limit"]),
    "telemetry": ({"duration_ms": 45}, lambda body: body["meta"]["telemetry"]),
    "meta": ({"region": "eu"}, lambda body: {"region": body["meta"]["region"]}),
}


@rows("RV2-SUCC-")
def test_success_response_parameter(row: Requirement) -> None:
    """Each parameter lands in its place, and None for it changes nothing."""
    value, place = SUCCESS_PARAMETERS[row["parameter"]]
    assert place(asdict(success_response(**{row["parameter"]: value}))) == value
    assert asdict(success_response(**{row["parameter"]: None})) == MINIMAL


FAILURE_PARAMETERS = {
    "message": ("No such spec", lambda body: body["error"]),
    "error_code": ("SPEC_NOT_FOUND", lambda body: body["data"]["error_code"]),
    "error_type": ("conflict", lambda body: body["data"]["error_type"]),
    "remediation": ("List the specs", lambda body: body["data"]["remediation"]),
    "data": ({"feature": "beta"}, lambda body: {"feature": body["data"]["feature"]}),
    "details": ({"field": "spec_id"}, lambda body: body["data"]["details"]),
    "request_id": ("req_1", lambda body: body["meta"]["request_id"]),
    "rate_limit": ({"limit": 100, "remaining": 0}, lambda body: body["meta"]["rate_limit"]),
    "telemetry": ({"duration_ms": 45}, lambda body: body["meta"]["telemetry"]),
    "meta": ({"region": "eu"}, lambda body: {"region": body["meta"]["region"]}),
}


@rows("RV2-FAIL-")
def test_error_response_parameter(row: Requirement) -> None:
    """Each parameter lands in its place; the message alone is required."""
    value, place = FAILURE_PARAMETERS[row["parameter"]]
    assert place(asdict(error_response(**{"message": "It failed", row["parameter"]: value}))) == value
    parameters = inspect.signature(error_response).parameters
    required = parameters[row["parameter"]].default is inspect.Parameter.empty
    assert required == (row["parameter"] == "message")


def test_helpers_return_a_dataclass_for_asdict() -> None:
    """Both helpers give a ToolResponse, and asdict gives its body."""
    for response in (success_response({"a": [1]}), error_response("It failed")):
        assert isinstance(response, ToolResponse) and is_dataclass(response)
        assert list(asdict(response)) == ["success", "data", "error", "meta"]
        assert asdict(response) == response.to_dict()


def test_helpers_state_the_version_whatever_they_are_given() -> None:
    """The version cannot be talked away."""
    claim = {"version": "response-v1"}
    assert asdict(success_response(meta=claim))["meta"]["version"] == "response-v2"
    assert asdict(error_response("It failed", meta=claim))["meta"]["version"] == "response-v2"
    assert asdict(ToolResponse(success=True))["meta"] == {"version": "response-v2"}


def test_success_response_takes_every_other_key_of_meta() -> None:
    """Details and fidelity land in their places, and further words in data."""
    detail = {"code": "STALE_CACHE", "severity": "warning", "message": "old"}
    body = asdict(
        success_response(
            {"a": 1},
            warning_details=[detail],
            content_fidelity="partial",
            dropped_content_ids=["x"],
            content_archive_hashes=ARCHIVED,
            b=2,
        )
    )
    assert body["data"] == {"a": 1, "b": 2}
    assert (body["meta"]["warnings"], body["meta"]["warning_details"]) == (["old"], [detail])
    assert (body["meta"]["dropped_content_ids"], body["meta"]["content_archive_hashes"]) == (["x"], ARCHIVED)


def test_empty_arguments_leave_nothing_empty() -> None:
    """Empty lists and objects say nothing, and are not in the body; a fidelity brings its schema version."""
    assert success_response({"a": 1}, warnings=[], meta={}).to_dict()["meta"] == {"version": "response-v2"}
    told = success_response(content_fidelity="summary").to_dict()["meta"]
    assert told == {"version": "response-v2", "content_fidelity": "summary", "content_fidelity_schema_version": "1.0"}


def test_helpers_refuse_what_breaks_the_contract() -> None:
    """No helper gives a body that would not validate."""
    for broken in ({"pagination": {"cursor": 3}}, {"content_fidelity": "most"}, {"rate_limit": {"limit": "100/min"}}):
        with pytest.raises(ContractError):
            success_response({}, **broken)


def test_helpers_write_what_their_callers_have_at_hand_as_json() -> None:
    """Times, objects and numbers as ids have one spelling; one warning is one text."""
    told = success_response(
        rate_limit={"reset_at": datetime(2025, 12, 4, 12, tzinfo=UTC)}, request_id=7, warnings="old"
    )
    meta = told.to_dict()["meta"]
    assert (meta["rate_limit"]["reset_at"], meta["request_id"]) == ("2025-12-04T12:00:00Z", "7")
    assert meta["warnings"] == ["old"]


def test_arguments_and_what_stands_beside_them_are_joined() -> None:
    """The argument has the last word, and nothing else of either is lost."""
    told = success_response(telemetry={"x": 1}, meta={"telemetry": {"x": 0, "y": 2}}).to_dict()
    assert told["meta"]["telemetry"] == {"x": 1, "y": 2}
    beside = {"error_code": "OTHER", "details": {"x": 1}, "spec": "a"}
    data = error_response("No", error_code="CONFLICT", details={"y": 2}, data=beside).to_dict()["data"]
    assert (data["error_code"], data["details"], data["spec"]) == ("CONFLICT", {"x": 1, "y": 2}, "a")
    level = {"content_fidelity": "partial", "content_fidelity_schema_version": "1.0"}
    assert success_response({"a": 1}, **level).to_dict()["data"] == {"a": 1}


def test_error_response_keeps_the_message_whatever_its_code_and_category() -> None:
    """A category that was added later is written as its author has it, and reads back with the message."""
    body = asdict(error_response("Pay first", error_code="PAYMENT_REQUIRED", error_type="payment"))
    assert (body["error"], body["data"]["error_code"], body["data"]["error_type"]) == (
        "Pay first",
        "PAYMENT_REQUIRED",
        "payment",
    )
    assert asdict(ToolResponse(**DIALECT.encode(aerogram.read(body)))) == body


def test_success_response_takes_from_meta_what_has_an_argument_of_its_own() -> None:
    """Lists that are given both ways are joined; a word that is, is the argument's."""
    detail = {"code": "STALE_CACHE", "severity": "warning", "message": "old"}
    meta = {"warnings": ["old"], "warning_details": [detail], "dropped_content_ids": ["x"]}
    told = success_response({"a": 1}, meta=meta).to_dict()["meta"]
    assert {name: told[name] for name in meta} == meta
    both = success_response({}, meta=meta, warnings=["slow"], dropped_content_ids=["y"]).to_dict()["meta"]
    assert (both["warnings"], both["dropped_content_ids"]) == (["slow", "old"], ["y", "x"])
    assert success_response({}, meta={"request_id": "a"}, request_id="b").to_dict()["meta"]["request_id"] == "b"


def test_what_the_helpers_make_reads_back() -> None:
    """The helpers' bodies keep the contract and say the same as the replies they stand for."""
    good = asdict(success_response({"a": 1}, warnings=["slow"], request_id="req_1"))
    bad = asdict(error_response("Gone", error_code="NOT_FOUND", details={"field": "id"}))
    for body in (good, bad):
        DIALECT.validate(body)
    assert aerogram.read(good) == Reply.ok({"a": 1}, notices=[Notice("slow")], request_id="req_1")
    assert aerogram.read(bad).problem.details == {"field": "id"}


def test_helpers_give_the_body_without_copying() -> None:
    """to_dict shares the payload, where asdict copies it."""
    rows_ = [{"id": number} for number in range(3)]
    payload = {"rows": rows_}
    before = copy.deepcopy(payload)
    response = success_response(payload, warnings=["slow"])
    assert response.to_dict()["data"]["rows"] is rows_
    assert asdict(response)["data"]["rows"] is not rows_
    assert payload == before


@pytest.mark.parametrize("code", sorted(TABLE))
def test_error_response_fills_what_the_code_implies(code: str) -> None:
    """Given a code alone, the helper adds its category and what to do."""
    data = error_response("It failed", error_code=code).to_dict()["data"]
    assert (data["error_type"], data["remediation"]) == (TABLE[code].kind, TABLE[code].remediation)


@pytest.mark.parametrize("kind", sorted(KIND_RULES))
def test_error_response_fills_what_the_category_implies(kind: Kind) -> None:
    """Without a code the category gives it, and a code of the caller's own takes what to do from its category."""
    general = TABLE[KIND_RULES[kind].code]
    for code in (None, "HARBOUR_FROZEN"):
        data = error_response("It failed", error_code=code, error_type=kind).to_dict()["data"]
        assert data == {"error_code": code or general.name, "error_type": kind, "remediation": general.remediation}


def test_error_response_without_code_and_category_is_internal() -> None:
    """Nothing but the message is required, and the three fields that should be there are."""
    data = error_response("It failed", error_code=None).to_dict()["data"]
    assert (data["error_code"], data["error_type"]) == ("INTERNAL_ERROR", "internal")
    assert data["remediation"] == TABLE["INTERNAL_ERROR"].remediation


@pytest.mark.parametrize(
    ("code", "spelled"), [("not_found", "NOT_FOUND"), ("SeatTaken", "SEAT_TAKEN"), ("402!", "INTERNAL_ERROR")]
)
def test_error_response_respells_a_code_that_is_written_otherwise(code: str, spelled: str) -> None:
    """Codes are in SCREAMING_SNAKE_CASE, and no message is lost for one that is not."""
    body = error_response("It failed", error_code=code).to_dict()
    assert (body["error"], body["data"]["error_code"]) == ("It failed", spelled)
    DIALECT.validate(body)


@pytest.mark.parametrize(
    "said",
    [
        {"content_fidelity": "summary"},
        {"dropped_content_ids": ["finding-003"]},
        {"content_archive_hashes": {"archive-001": "sha256:" + "a" * 64}},
        {"meta": {"content_fidelity": "reference_only"}},
    ],
    ids=lambda said: next(iter(said)),
)
def test_success_response_states_level_and_version_of_a_reply_below_full(said: dict[str, Any]) -> None:
    """Whatever says that something is missing brings the level and the version of the fidelity keys along."""
    meta = success_response({}, **said).to_dict()["meta"]
    level = said.get("content_fidelity") or said.get("meta", {}).get("content_fidelity") or "partial"
    assert (meta["content_fidelity"], meta["content_fidelity_schema_version"]) == (level, "1.0")
