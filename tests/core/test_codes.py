"""The table of codes: complete, closed under its own references, open to users."""

import pytest

from aerogram import TABLE, WARNINGS
from aerogram.codes import KIND_RULES, KINDS, LANGUAGES, ErrorTable, spell_warning
from aerogram.dialects.standard_v2 import ERROR_CODES
from aerogram.errors import InvalidReply, UnknownCode

NAMED_BY_THE_DOCUMENTS = [
    "VALIDATION_ERROR",
    "INVALID_FORMAT",
    "MISSING_REQUIRED",
    "INVALID_FIELDS",
    "INVALID_CURSOR",
    "NOT_FOUND",
    "SPEC_NOT_FOUND",
    "TASK_NOT_FOUND",
    "DUPLICATE_ENTRY",
    "ALREADY_EXISTS",
    "CONFLICT",
    "INVALID_STATE",
    "DEPENDENCY_ERROR",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "LICENSE_GATE_BLOCKED",
    "FEATURE_DISABLED",
    "RATE_LIMIT_EXCEEDED",
    "RATE_LIMITED",
    "QUOTA_EXCEEDED",
    "TOKEN_LIMIT_EXCEEDED",
    "INTEGRITY_ERROR",
    "INTERNAL_ERROR",
    "UNAVAILABLE",
]

WARNINGS_OF_THE_DOCUMENTS = [
    "CONTENT_TRUNCATED",
    "STALE_CACHE",
    "PARTIAL_FAILURE",
    "DEPRECATED_FIELD",
    "RATE_LIMIT_APPROACHING",
    "FALLBACK_USED",
    "TOKEN_LIMIT_WARNING",
    "TOKEN_LIMIT_EXCEEDED",
    "CACHE_MISS_SLOW",
    "LOW_QUALITY_RESULTS",
    "PARTIAL_RESULTS",
    "DEPRECATED_PARAMETER",
]


def test_every_code_that_a_document_names_is_a_row():
    assert set(TABLE) >= set(NAMED_BY_THE_DOCUMENTS)


@pytest.mark.parametrize("name", NAMED_BY_THE_DOCUMENTS)
def test_no_column_of_a_row_is_empty(name):
    row = TABLE[name]
    assert row.kind in KINDS
    assert 400 <= row.status <= 599
    assert row.retry in ("yes", "no", "check")
    assert row.title and row.remediation
    assert set(row.user_text) == set(LANGUAGES) and all(row.user_text.values())
    assert row.parent is None or row.parent in TABLE


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_plain_code_of_that_kind(kind):
    assert TABLE[KIND_RULES[kind].code].kind == kind


@pytest.mark.parametrize("name", NAMED_BY_THE_DOCUMENTS)
def test_a_closed_dialect_knows_a_word_for_every_code(name):
    word = TABLE.nearest(name, TABLE[name].kind, "standard-v2", ERROR_CODES)
    assert word in ERROR_CODES
    assert name not in ERROR_CODES or word == name


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("RATE_LIMIT_EXCEEDED", "RATE_LIMITED"),
        ("TASK_NOT_FOUND", "NOT_FOUND"),
        ("FEATURE_DISABLED", "FORBIDDEN"),
        ("ALREADY_EXISTS", "VALIDATION_ERROR"),
        ("UNAVAILABLE", "INTERNAL_ERROR"),
        ("QUOTA_EXCEEDED", "QUOTA_EXCEEDED"),
    ],
)
def test_a_closed_dialect_answers_with_the_nearest_code_it_knows(name, word):
    assert TABLE.nearest(name, TABLE[name].kind, "standard-v2", ERROR_CODES) == word


def test_a_code_that_the_table_has_never_seen_is_taken_for_its_kind():
    assert TABLE.nearest("SOMEBODY_ELSES", "not_found", "standard-v2", ERROR_CODES) == "NOT_FOUND"


def test_a_users_code_inherits_what_it_does_not_say():
    table = ErrorTable()
    row = table.register(
        "BUDGET_FROZEN", parent="CONFLICT", title="The budget is frozen", user_text={"ja": "凍結中です"}
    )
    assert (row.kind, row.status, row.retry) == ("conflict", 409, "check")
    assert row.user_text["ja"] == "凍結中です" and row.user_text["en"]
    assert [one.name for one in table.lineage("BUDGET_FROZEN")] == ["BUDGET_FROZEN", "CONFLICT"]


def test_registering_the_same_row_twice_is_fine_and_another_is_refused():
    table = ErrorTable()
    table.register("MINE", parent="CONFLICT")
    table.register("MINE", parent="CONFLICT")
    with pytest.raises(InvalidReply, match="already in the table"):
        table.register("MINE", parent="NOT_FOUND")


@pytest.mark.parametrize("name", ["lower", "Has Space", "", "_EDGE", "EDGE_", "A__B", "1ST"])
def test_a_code_that_is_not_screaming_snake_case_is_refused(name):
    with pytest.raises(InvalidReply, match="SCREAMING_SNAKE_CASE"):
        ErrorTable().register(name, parent="CONFLICT")


def test_a_parent_must_exist():
    with pytest.raises(UnknownCode, match="did you mean CONFLICT"):
        ErrorTable().register("MINE", parent="CONFLIKT")


def test_every_standard_warning_has_a_level_a_meaning_and_a_suggestion():
    assert set(WARNINGS) >= set(WARNINGS_OF_THE_DOCUMENTS)
    for row in WARNINGS.values():
        assert row.severity in ("info", "warning", "error")
        assert row.description and row.suggestion
        assert set(row.user_text) == set(LANGUAGES) and all(row.user_text.values())


@pytest.mark.parametrize("wrong", [{"retry": "sometimes"}, {"status": 99}, {"status": 200}])
def test_a_column_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidReply):
        ErrorTable().register("MINE", parent="CONFLICT", **wrong)


def test_every_spelling_of_a_warning_is_a_standard_warning():
    spelt = {row.name: row.spellings for row in WARNINGS.values() if row.spellings}
    assert spelt == {"PARTIAL_RESULTS": {"response-v2": "CONTENT_TRUNCATED"}}
    assert all(word in WARNINGS for spellings in spelt.values() for word in spellings.values())


def test_a_severity_that_somebody_chose_stays_whatever_the_warning_is_called():
    assert spell_warning("PARTIAL_RESULTS", "warning", "response-v2") == ("CONTENT_TRUNCATED", "info")
    assert spell_warning("PARTIAL_RESULTS", "error", "response-v2") == ("CONTENT_TRUNCATED", "error")
    assert spell_warning("PARTIAL_RESULTS", "warning", "knowledge-1.0") == ("PARTIAL_RESULTS", "warning")
    assert spell_warning("MY_OWN", None, "response-v2") == ("MY_OWN", None)
