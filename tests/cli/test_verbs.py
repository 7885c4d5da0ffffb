"""The verbs, as a person or a pipe meets them."""

from __future__ import annotations

import json

import pytest

import aerogram as library
from aerogram.codes import TABLE, WARNINGS
from aerogram.dialects import NAMES
from aerogram.documents.schemas import schema, typescript

SUCCESS = {
    "success": True,
    "data": {"results": [{"id": number} for number in range(6)]},
    "error": None,
    "meta": {"version": "response-v2", "request_id": "req_1"},
}
FAILURE = {
    "success": False,
    "data": {"error_code": "NOT_FOUND", "error_type": "not_found"},
    "error": "no such task",
    "meta": {"version": "response-v2", "request_id": "req_1"},
}


def body(value) -> bytes:
    return json.dumps(value).encode()


# --- translate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [name for name in NAMES if name != "problem"])
def test_translate_says_a_body_in_another_dialect(aerogram, target):
    done = aerogram("translate", "--to", target, stdin=body(SUCCESS))
    assert (done.returncode, done.stderr) == (0, b"")
    library.validate(done.stdout, dialect=target)


def test_translate_reads_a_file(aerogram, tmp_path):
    file = tmp_path / "body.json"
    file.write_bytes(body(FAILURE))
    done = aerogram("translate", str(file), "--to", "problem")
    assert json.loads(done.stdout)["status"] == 404


@pytest.mark.parametrize("arguments", [[], ["-"]], ids=["nothing", "a dash"])
def test_nothing_and_a_dash_both_mean_standard_input(aerogram, arguments):
    done = aerogram("validate", *arguments, stdin=body(SUCCESS))
    assert (done.returncode, done.stdout) == (0, b"valid response-v2\n")


def test_translations_in_a_pipe_lose_nothing(aerogram):
    """There and back again through two processes is the same body."""
    there = aerogram("translate", "--to", "standard-v2", stdin=body(FAILURE))
    back = aerogram("translate", "--to", "response-v2", stdin=there.stdout)
    reply = library.read(back.stdout)
    assert reply.problem == library.read(FAILURE).problem
    assert reply.request_id == "req_1"


def test_translate_takes_the_dialect_from_the_caller(aerogram):
    """A payload alone does not show what it is in; `--from` says it."""
    done = aerogram("translate", "--from", "bare", "--to", "response-v2", stdin=b'[{"id": 1}]')
    assert json.loads(done.stdout)["data"] == {"results": [{"id": 1}]}


def test_compact_output_is_one_line(aerogram):
    done = aerogram("translate", "--to", "standard-v2", "--compact", stdin=body(SUCCESS))
    assert done.stdout.count(b"\n") == 1
    assert done.stdout.endswith(b"}\n")


def test_what_a_dialect_cannot_say_is_bad_input(aerogram):
    """Problem details are for failures; a success cannot be translated into them."""
    done = aerogram("translate", "--to", "problem", stdin=body(SUCCESS))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"failures only" in done.stderr


# --- validate --------------------------------------------------------------------------------------------------------


def test_validate_names_the_rule_and_the_pointer(aerogram):
    broken = {**SUCCESS, "meta": {"version": "response-v3"}}
    done = aerogram("validate", stdin=body(broken))
    assert done.returncode == 1
    assert b"/meta/version" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_validate_in_json_answers_in_json(aerogram):
    done = aerogram("validate", "--json", stdin=body(SUCCESS))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"valid": True, "dialect": "response-v2"})


def test_a_failure_in_json_mode_is_a_problem_body(aerogram):
    """A program that asked for JSON gets JSON, with the rule and the pointer as data."""
    broken = {**SUCCESS, "meta": {"version": "response-v3"}}
    done = aerogram("validate", "--json", stdin=body(broken))
    problem = json.loads(done.stdout)
    library.validate(problem, dialect="problem")
    assert (done.returncode, done.stderr) == (1, b"")
    assert problem["code"] == "VALIDATION_ERROR"
    assert problem["errors"][0]["pointer"] == "/meta/version"


def test_validate_holds_a_body_to_the_dialect_it_is_told(aerogram):
    done = aerogram("validate", "--dialect", "standard-v2", stdin=body(SUCCESS))
    assert done.returncode == 1
    assert b"standard-v2" in done.stderr


# --- schema ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_schema_prints_what_the_library_gives(aerogram, name):
    assert json.loads(aerogram("schema", name).stdout) == schema(name)


def test_schema_prints_the_slim_one_and_the_types(aerogram):
    slim = aerogram("schema", "standard-v2", "--slim", "--compact").stdout
    assert (json.loads(slim), slim.count(b"\n")) == (schema("standard-v2", slim=True), 1)
    assert aerogram("schema", "knowledge-1.0", "--typescript").stdout.decode() == typescript("knowledge-1.0")


# --- explain ---------------------------------------------------------------------------------------------------------


def test_explain_without_a_code_lists_every_code(aerogram):
    listed = aerogram("explain").stdout.decode().split()
    assert set(TABLE) | set(WARNINGS) <= set(listed)
    as_json = json.loads(aerogram("explain", "--json").stdout)
    assert {one["code"] for one in as_json} == set(TABLE) | set(WARNINGS)


def test_the_list_of_codes_says_of_each_error_what_explaining_it_alone_says(aerogram):
    listed = {one["code"]: one for one in json.loads(aerogram("explain", "--json").stdout)}
    assert listed["RATE_LIMITED"] == json.loads(aerogram("explain", "RATE_LIMITED", "--json").stdout)
    assert all(
        one["error"]["said_as"].keys() >= {"response-v2", "standard-v2"} for one in listed.values() if one["error"]
    )


@pytest.mark.parametrize("spelling", ["RATE_LIMITED", "rate_limited", "Rate-Limited"])
def test_explain_tells_what_to_do(aerogram, spelling):
    done = aerogram("explain", spelling)
    assert done.returncode == 0
    assert TABLE["RATE_LIMITED"].remediation.encode() in done.stdout
    assert b"in response-v2  RATE_LIMIT_EXCEEDED" in done.stdout


def test_explain_speaks_japanese_to_users(aerogram):
    done = aerogram("explain", "NOT_FOUND", "--language", "ja", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert TABLE["NOT_FOUND"].user_text["ja"] in done.stdout.decode("utf-8")


def test_a_code_that_is_an_error_and_a_warning_is_explained_as_both(aerogram):
    found = json.loads(aerogram("explain", "TOKEN_LIMIT_EXCEEDED", "--json").stdout)
    assert found["error"]["status"] == 400
    assert found["warning"]["suggestion"] == WARNINGS["TOKEN_LIMIT_EXCEEDED"].suggestion


def test_explain_suggests_the_nearest_codes(aerogram):
    done = aerogram("explain", "NOTFOUND")
    assert done.returncode == 1
    assert b"did you mean NOT_FOUND or " in done.stderr
    assert b"did you mean UNKNOWN_CAPABILITY?" in aerogram("explain", "capabilty").stderr


def test_explain_says_when_nothing_is_near_and_how_to_see_all(aerogram):
    done = aerogram("explain", "XYZZY")
    assert done.returncode == 1
    assert b"unknown error code 'XYZZY'; none is near, `aerogram explain` lists all" in done.stderr


@pytest.mark.parametrize("code", ["CONTROL_IGNORED", "UNKNOWN_CAPABILITY", "UNSUPPORTED_CAPABILITY", "NOTICE"])
def test_explain_knows_every_notice_in_both_languages(aerogram, code):
    english, japanese = (aerogram("explain", code, "--language", one).stdout.decode() for one in ("en", "ja"))
    assert code in english and "what to do" in english
    assert english.isascii() and not japanese.isascii()
    warned = aerogram("explain", "STALE_CASH", "--json")
    assert warned.returncode == 1
    assert "did you mean STALE_CACHE?" in json.loads(warned.stdout)["detail"]


# --- the program -----------------------------------------------------------------------------------------------------


def test_the_version_is_the_librarys(aerogram):
    assert aerogram("--version").stdout.decode() == f"aerogram {library.__version__}\n"


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["sing"],
        ["translate"],
        ["translate", "--to", "latin"],
        ["schema"],
        ["schema", "latin"],
        ["schema", "bare", "--slim", "--typescript"],
        ["explain", "NOT_FOUND", "--language", "la"],
        ["validate", "--dialect", "latin"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_exit_code_two(aerogram, wrong):
    done = aerogram(*wrong)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (["translate", "--json"], "--to"),
        (["translate", "--to", "latin", "--json"], "latin"),
        (["validate", "--json", "--loudly"], "--loudly"),
        (["explain", "--json", "--language", "la"], "la"),
        (["sing", "--json"], "sing"),
        (["verify", "--json"], "DIGEST"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else one,
)
def test_a_wrong_call_in_json_mode_is_a_problem_body_and_exit_code_two(aerogram, wrong, word):
    done = aerogram(*wrong)
    assert (done.returncode, done.stderr) == (2, b"")
    library.validate(done.stdout, dialect="problem")
    problem = json.loads(done.stdout)
    assert word in problem["detail"] and "--help" in problem["remediation"]


def test_help_in_a_pipe_is_plain_text(aerogram):
    for verb in ([], ["translate"], ["validate"], ["schema"], ["explain"]):
        done = aerogram(*verb, "--help")
        assert done.returncode == 0
        assert b"\x1b" not in done.stdout
        assert b"Exit codes:" in done.stdout or b"Examples:" in done.stdout
