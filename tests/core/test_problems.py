"""What an exception means to the caller, and what it never tells."""

import datetime as dt
import logging
import uuid
from typing import Literal

import pydantic
import pytest

import aerogram.problems
from aerogram import TABLE, problem_of, register_code, register_exception
from aerogram.errors import NotFound, RateLimited, ReplyError


class Login(pydantic.BaseModel):
    user: str = pydantic.Field(min_length=2, pattern="^[a-z]+$")
    password: str = pydantic.Field(min_length=8)
    age: int = 0


@pytest.fixture(autouse=True)
def table_as_it_was(monkeypatch):
    """Codes and exceptions that a test registers end with it."""
    monkeypatch.setattr(TABLE, "_rows", dict(TABLE._rows))
    monkeypatch.setattr(aerogram.problems, "_RULES", dict(aerogram.problems._RULES))


def refused(**given):
    with pytest.raises(pydantic.ValidationError) as refusal:
        Login(**given)
    return problem_of(refusal.value)


def test_an_unknown_exception_is_masked_and_logged_under_the_request_id(caplog):
    try:
        raise RuntimeError("password=hunter2 in /etc/secret.conf")
    except RuntimeError as error:
        with caplog.at_level(logging.ERROR, "aerogram"):
            problem = problem_of(error, request_id="req_1")
    assert problem.code == "INTERNAL_ERROR" and "req_1" in problem.message
    assert "hunter2" not in repr(problem) and "/etc" not in repr(problem)
    assert "req_1" in caplog.text and "hunter2" in caplog.text


def test_a_declared_error_tells_its_own_words():
    problem = problem_of(NotFound("no spec x", remediation="list specs", details={"id": "x"}))
    assert (problem.code, problem.message, problem.remediation) == ("NOT_FOUND", "no spec x", "list specs")
    assert problem.details == {"id": "x"}


def test_a_declared_error_carries_when_to_come_back():
    assert problem_of(RateLimited("slow down", retry_after=45)).retry_after == 45


def test_a_subclass_of_reply_error_brings_its_own_code():
    register_code("LEDGER_CLOSED", parent="CONFLICT")

    class LedgerClosed(ReplyError):
        code = "LEDGER_CLOSED"

    problem = problem_of(LedgerClosed("2025 is closed"))
    assert (problem.code, problem.kind) == ("LEDGER_CLOSED", "conflict")


def test_a_registered_exception_is_found_by_its_classes_nearest_first():
    class Base(Exception):
        pass

    class Child(Base):
        pass

    class Grandchild(Child):
        pass

    register_exception(Base, "UNAVAILABLE")
    register_exception(Child, "NOT_FOUND")
    assert problem_of(Grandchild("gone")).code == "NOT_FOUND"
    assert problem_of(Base("down")).message == "down"


def test_a_registered_exception_can_keep_its_text_to_itself(caplog):
    class Internal(Exception):
        pass

    register_exception(Internal, "UNAVAILABLE", tell=False)
    problem = problem_of(Internal("10.0.0.7 refused"), request_id="req_2")
    assert "10.0.0.7" not in repr(problem)
    assert "10.0.0.7" in caplog.text and "req_2" in caplog.text


@pytest.mark.parametrize("error", [TimeoutError("db at 10.0.0.7"), ConnectionResetError("peer 10.0.0.7")])
def test_a_lost_connection_is_unavailable_and_leaks_no_address(error):
    problem = problem_of(error)
    assert problem.code == "UNAVAILABLE" and problem.retryable
    assert "10.0.0.7" not in repr(problem)


def test_a_missing_field_is_missing_required():
    problem = refused(password="long enough")
    assert problem.code == "MISSING_REQUIRED"
    assert problem.details["field"] == "user" and problem.details["constraint"] == "required"
    assert problem.details["received"] is None and problem.details["pointer"] == "/user"


def test_a_wrong_value_names_field_constraint_and_what_was_received():
    problem = refused(user="Bob!", password="long enough")
    assert problem.code == "VALIDATION_ERROR"
    assert problem.details["constraint"] == "pattern" and problem.details["pattern"] == "^[a-z]+$"
    assert problem.details["received"] == "Bob!"


class Visit(pydantic.BaseModel):
    number: int = pydantic.Field(1, ge=1)
    day: dt.date | None = None
    moment: dt.datetime | None = None
    key: uuid.UUID | None = None
    page: pydantic.AnyUrl | None = None
    tags: list[str] = []
    options: dict[str, int] = {}
    filters: pydantic.Json[dict[str, int]] | None = None
    flag: bool = False
    size: Literal["small", "large"] = "small"
    user: str | int | None = None


def fault_of(**given):
    with pytest.raises(pydantic.ValidationError) as refusal:
        Visit(**given)
    return problem_of(refusal.value)


@pytest.mark.parametrize(
    "given",
    [
        {"number": "many"},
        {"number": [1]},
        {"number": 1.5},
        {"day": "not a date"},
        {"day": "2026-11-15T10:00:00"},
        {"moment": "noon"},
        {"key": "abc"},
        {"page": "nowhere"},
        {"tags": "one"},
        {"tags": [1]},
        {"options": "{bad json"},
        {"filters": "{bad json"},
        {"flag": "perhaps"},
        {"user": [1]},
        {"number": "many", "day": "not a date"},
    ],
    ids=str,
)
def test_a_wrong_type_and_a_text_that_cannot_be_read_are_an_invalid_format(given):
    problem = fault_of(**given)
    assert (problem.code, problem.kind) == ("INVALID_FORMAT", "validation")
    assert problem.details["field"].partition(".")[0] in given
    assert problem.remediation.startswith("Correct ")


@pytest.mark.parametrize("given", [{"number": 0}, {"size": "medium"}, {"number": 0, "day": "not a date"}], ids=str)
def test_a_value_that_is_not_allowed_and_faults_of_several_sorts_are_a_validation_error(given):
    assert fault_of(**given).code == "VALIDATION_ERROR"


def test_several_faults_are_all_listed_with_pointers():
    problem = refused(user="B", age="old")
    assert {fault["pointer"] for fault in problem.details["errors"]} == {"/user", "/password", "/age"}


def test_a_secret_is_never_repeated():
    problem = refused(user="bob", password="hunter2")
    assert "hunter2" not in repr(problem)
    assert problem.details["received"] == "***"


def test_an_object_is_named_by_its_type_because_it_may_hold_secrets():
    problem = refused(user={"password": "hunter2"}, password="long enough")
    assert problem.details["received"] == "<dict>" and "hunter2" not in repr(problem)


def test_a_long_value_is_shown_by_its_beginning():
    problem = refused(user="x" * 10_000 + "!", password="long enough")
    assert len(problem.details["received"]) < 250


@pytest.mark.parametrize("name", ["password", "user_pwd", "jwt", "accessKey", "pin", "api-key", "sessionToken"])
def test_values_of_members_that_may_hold_secrets_are_not_repeated(name):
    model = pydantic.create_model("Given", **{name: (int, ...)})
    with pytest.raises(pydantic.ValidationError) as refusal:
        model(**{name: "hunter2"})
    assert "hunter2" not in repr(problem_of(refusal.value))


@pytest.mark.parametrize("name", ["author", "passenger", "compass", "max_tokens", "spinner"])
def test_values_of_members_that_only_contain_such_a_word_are_shown(name):
    model = pydantic.create_model("Given", **{name: (int, ...)})
    with pytest.raises(pydantic.ValidationError) as refusal:
        model(**{name: "Ann"})
    assert problem_of(refusal.value).details["received"] == "Ann"


def test_every_fault_of_a_call_is_explained_and_beyond_a_few_counted():
    problem = refused(user="a", age="old")
    assert problem.message == (
        "Validation failed: user: String should have at least 2 characters; password: Field required; "
        "age: Input should be a valid integer, unable to parse string as an integer"
    )
    assert problem.remediation == "Correct user, age and provide password"
    wide = pydantic.create_model("Wide", **{f"part_{number}": (int, ...) for number in range(8)})
    with pytest.raises(pydantic.ValidationError) as refusal:
        wide()
    told = problem_of(refusal.value)
    assert told.message.endswith("part_4: Field required (and 3 more)") and len(told.details["errors"]) == 8
