"""Texts that are only just JSON: what is secret by its name is taken out of them as well."""

import pytest

from aerogram.sanitize import Redaction, sanitize_text

LOOSE = [
    '{"password": "hunter2", "a": NaN}',
    '{"password": "hunter2", "a": 1e400}',
    '{"password": "hunter2", "a": "\\ud800"}',
    '{"password": "hunter2", "password": "x"}',
    '[{"password": "hunter2"}, ' + "[" * 300 + "]" * 300 + "]",
    '{"password": "hunter2", "a": ' + "[" * 100_000 + "]" * 100_000 + "}",
]


@pytest.mark.parametrize("text", LOOSE, ids=[text[:40] for text in LOOSE])
def test_no_way_of_writing_json_keeps_a_secret(text):
    clean = sanitize_text(text, Redaction())
    assert "hunter2" not in clean and "[redacted:" in clean


@pytest.mark.parametrize("text", ['{"a": NaN}', "{braces}", "[1] a note", '{"a": "\\ud800"}'])
def test_a_text_without_secrets_is_the_same(text):
    assert sanitize_text(text, Redaction()) == text
