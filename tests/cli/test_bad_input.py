"""Bad input: whatever comes in, one clear line goes out, or one problem body, with exit code 1."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aerogram as library

BAD = {
    "nothing": b"",
    "spaces": b" \n\t ",
    "not JSON": b"hello",
    "half a body": b'{"success": true, "data": {',
    "two bodies": b'{"success": true} {"success": true}',
    "a number": b"42",
    "null": b"null",
    "an array": b"[]",
    "an object of nobody": b'{"a": 1}',
    "deep arrays": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 200_000,
    "deep and whole": b'{"success":true,"error":null,"meta":{"version":"response-v2"},"data":{"a":'
    + b"[" * 300
    + b"]" * 300
    + b"}}",
    "a huge integer": b'{"success": true, "data": {"n": ' + b"9" * 100_000 + b"}}",
    "a big integer": b'{"success": true, "data": {"n": 18446744073709551616}}',
    "an infinite number": b'{"success": true, "data": {"n": 1e999}}',
    "NaN": b'{"success": true, "data": {"n": NaN}}',
    "Infinity": b'{"success": true, "data": {"n": -Infinity}}',
    "a duplicate key": b'{"success": true, "success": false}',
    "a duplicate key of control characters": b'{"\\n\\u001b[31m": 1, "\\n\\u001b[31m": 2}',
    "a lone surrogate": b'{"success": true, "data": {"s": "\\ud800"}}',
    "a lone surrogate as key": b'{"\\udfff": 1, "\\udfff": 2}',
    "not UTF-8": b'{"success": "\xff\xfe"}',
    "UTF-16": '{"success": true}'.encode("utf-16"),
    "zero bytes": b"\0" * 100,
    "every byte": bytes(range(256)),
    "a broken rule under a strange key": b'{"success":true,"data":{},"error":null,"meta":{"version":"response-v2",'
    b'"warning_details":[{"message":"\\u0000"},{"message":1}]}}',
    "an extension that contradicts": b'{"success":true,"data":{},"error":null,"meta":{"version":"response-v2",'
    b'"aerogram":{"status":"error"}}}',
    "an extension with a box of nothing": b'{"success":true,"data":{},"error":null,"meta":{"version":"response-v2",'
    b'"aerogram":{"box":"/results"}}}',
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_line_and_exit_code_one(aerogram, kind):
    done = aerogram("validate", stdin=BAD[kind])
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"aerogram: ")
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.decode().rstrip("\n").isprintable()


@pytest.mark.parametrize(
    "kind",
    [
        "nothing",
        "an object of nobody",
        "deep arrays",
        "a huge integer",
        "a duplicate key of control characters",
        "a lone surrogate as key",
        "not UTF-8",
        "an extension that contradicts",
    ],
)
def test_bad_input_in_json_mode_is_a_problem_body(aerogram, kind):
    done = aerogram("translate", "--to", "standard-v2", "--json", stdin=BAD[kind])
    assert (done.returncode, done.stderr) == (1, b"")
    library.validate(done.stdout, dialect="problem")


@pytest.mark.parametrize("nothing", [b"", b" \n\t "])
def test_empty_input_is_called_empty(aerogram, tmp_path, nothing):
    """The commonest mistake in a pipe has its own words."""
    file = tmp_path / "body.json"
    file.write_bytes(nothing)
    assert aerogram("validate", stdin=nothing).stderr.startswith(b"aerogram: standard input is empty;")
    assert aerogram("validate", str(file)).stderr.startswith(f"aerogram: {file} is empty;".encode())


def test_a_fault_of_the_whole_body_has_no_place(aerogram):
    done = aerogram("validate", stdin=b"hello")
    assert done.stderr == b"aerogram: not JSON: Expecting value at line 1, column 1\n"


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(lambda one: json.dumps(one).encode())
)
def test_no_bytes_give_a_traceback(aerogram, anything):
    done = aerogram("translate", "--to", "response-v2", stdin=anything)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "code"), [("missing.json", "NOT_FOUND"), (".", "VALIDATION_ERROR"), ("b\udcffd", "NOT_FOUND")]
)
def test_a_file_that_cannot_be_read_is_bad_input(aerogram, tmp_path, name, code):
    file = os.fsencode(tmp_path / name) if name != "." else os.fsencode(tmp_path)
    plain, as_json = aerogram("validate", os.fsdecode(file)), aerogram("validate", "--json", os.fsdecode(file))
    assert (plain.returncode, plain.stderr.count(b"\n")) == (1, 1)
    assert (as_json.returncode, json.loads(as_json.stdout)["code"]) == (1, code)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs an endless file")
def test_an_endless_input_ends(aerogram):
    done = aerogram("validate", "/dev/zero")
    assert done.returncode == 1
    assert b"larger than" in done.stderr
