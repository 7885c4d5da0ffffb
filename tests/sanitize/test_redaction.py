"""Redaction: no secret leaves, wherever it stands, and the caller is told that something was taken out."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerogram import Action, Citation, Notice, Problem, QueryEcho, Reply
from aerogram.content.jsontext import dumps
from aerogram.dialects import NAMES, dialect
from aerogram.sanitize import Redaction, SecretKind, sanitize, sanitize_text
from replies import json_values

LONG = "Ab3" * 14
SECRETS = {
    "aws_access_key": "AKIAIOSFODNN7EXAMPLE",
    "github_token": "ghp_" + LONG,
    "gitlab_token": "glpat-" + LONG,
    "slack_token": "xoxb-123456789012-abcdef",
    "anthropic_key": "sk-ant-api03-" + LONG,
    "openai_key": "sk-proj-" + LONG,
    "secret_key": "sk-" + LONG,
    "stripe_key": "sk_live_" + LONG,
    "google_key": "AIza" + LONG,
    "google_token": "ya29." + LONG,
    "npm_token": "npm_" + LONG,
    "pypi_token": "pypi-" + LONG,
    "huggingface_token": "hf_" + LONG,
    "json_web_token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "url_credentials": "postgres://admin:hunter2hunter2@db.example/main",
    "authorization": "Authorization: Bearer " + LONG,
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
}
HIDDEN = {"url_credentials": "hunter2", "authorization": LONG, "private_key": "MIIEow"}


def redacted(data, **options):
    return sanitize(Reply.ok(data), Redaction(**options))


@pytest.mark.parametrize("kind", SECRETS)
def test_each_kind_of_secret_is_taken_out_of_the_text_around_it(kind):
    reply = redacted({"log": f"before {SECRETS[kind]} after"})
    text = reply.data["log"]
    assert HIDDEN.get(kind, SECRETS[kind]) not in text
    assert text.startswith("before ") and text.endswith(" after") and f"[redacted:{kind}]" in text
    (notice,) = reply.notices
    assert (notice.code, notice.severity) == ("CONTENT_REDACTED", "warning")
    assert notice.context == {"count": 1, "kinds": [kind], "places": ["/data/log"]}


def wrap(data, secret, how):
    """The secret at some place in some data."""
    forms = {
        "item": lambda: [data, [secret]],
        "member": lambda: {"a": data, "b": {"c": secret}},
        "name": lambda: {"a": data, secret: 1},
        "inside": lambda: [data, f"\n{secret}\n"],
        "whole": lambda: secret,
    }
    return forms[how]()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=json_values,
    kind=st.sampled_from(sorted(SECRETS)),
    how=st.sampled_from(["item", "member", "name", "inside", "whole"]),
)
def test_a_secret_is_found_wherever_it_stands(data, kind, how):
    body = dumps(redacted(wrap(data, SECRETS[kind], how)).data)
    assert HIDDEN.get(kind, SECRETS[kind]).encode() not in body


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWORD",
        "apiKey",
        "api-key",
        "x-api-key",
        "clientSecret",
        "access_token",
        "Authorization",
        "Set Cookie",
    ],
)
def test_a_member_that_is_called_like_a_secret_is_not_sent(name):
    reply = redacted({"settings": [{name: "plain words"}, {name: 1234}]})
    assert reply.data == {"settings": [{name: "[redacted:by_name]"}] * 2}


@pytest.mark.parametrize(
    "data",
    [
        {"author": "Ada", "tokens_used": 12, "keyboard": "qwerty", "secretary": "Bob"},
        {"password": None, "secret": "", "cookie": True},
        {"text": "the task-001 disk-based mask-up risk-free"},
        {"url": "https://example.com/@ada/status:1", "mail": "mailto:ada@example.com"},
        {"text": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"},
        {"text": "basic research, bearer of news, sk-short, AKIAnot"},
    ],
)
def test_what_only_resembles_a_secret_is_sent_as_the_same_object(data):
    reply = Reply.ok(data)
    assert sanitize(reply, Redaction()) is reply


def test_names_can_be_added_and_excepted():
    data = {"iban": "DE00", "cookie": "chocolate", "text": "IBAN=DE00 cookie=chocolate"}
    reply = redacted(data, names=frozenset({"iban"}), shown=frozenset({"cookie"}))
    hidden = "[redacted:by_name]"
    assert reply.data == {"iban": hidden, "cookie": "chocolate", "text": f"IBAN={hidden} cookie=chocolate"}


def test_only_the_secret_is_taken_out_of_a_text():
    text = "user=ada&password=hunter2&x=1 and postgres://ada:hunter2@db/main, Cookie: sid=hunter2; a=b"
    clean = redacted({"log": text}).data["log"]
    assert clean == (
        "user=ada&password=[redacted:by_name]&x=1 and postgres://[redacted:url_credentials]@db/main, "
        "Cookie: [redacted:by_name]"
    )


def test_what_stands_below_a_secret_name_is_taken_out_at_any_depth():
    reply = redacted({"credentials": {"user": "ada", "in": [{"use": True, "count": 3, "none": None}]}, "user": "ada"})
    hidden = "[redacted:by_name]"
    below = {"user": hidden, "in": [{"use": True, "count": hidden, "none": None}]}
    assert reply.data == {"credentials": below, "user": "ada"}


def test_json_in_a_text_stays_json():
    reply = redacted({"log": '{"user": "ada", "auth": {"password": "hunter2"}}'})
    assert json.loads(reply.data["log"]) == {"user": "ada", "auth": {"password": "[redacted:by_name]"}}
    assert reply.notices[0].context["places"] == ["/data/log"]


@pytest.mark.parametrize(
    "text",
    [
        '\n {"password": {"current": "hunter2secret"}}',
        '\ufeff{"password": ["hunter2secret"]}',
        '\n{"p\\u0061ssword": "hunter2secret"}',
        '{"user": "ada"}\n{"password": {"current": "hunter2secret"}}\n',
        'INFO sent {"password": ["hunter2secret"]} to the server',
        'The file:\n```json\n{\n  "password": {\n    "current": "hunter2secret"\n  }\n}\n```\n',
        'half of it {"rows": [1, {"user" 2}, {"password": ["hunter2secret"]}]',
    ],
)
def test_json_is_found_wherever_it_stands_in_a_text(text):
    """White space before it, one line after another, in a sentence, in a fence, in the ruins of other JSON."""
    for cleaned in (sanitize_text(text, Redaction()), redacted({"log": text}).data["log"]):
        assert "hunter2secret" not in cleaned
        assert "[redacted:by_name]" in cleaned
    harmless = text.replace("password", "greeting").replace("p\\u0061ssword", "greeting")
    assert sanitize_text(harmless, Redaction()) == harmless


HOSTILE = [
    "a,password\n",
    "a, password\n",
    'a,password\n"',
    "|a|password|\n|--|--|\n",
    "password:\n - ",
    '{"pass',
    '["key",[',
    '{"token":{',
    '{"key":[1],',
    "eyJ",
    "-----BEGIN ",
    "://a:",
    "bearer ",
    "sk-",
    "-",
    "password=",
    "token:",
    'password="',
    "--password ",
    "?sig=",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_twice_a_hostile_text_is_about_twice_the_work(unit):
    def work(size):
        """How many functions are called; `bench sanitize` has the time."""
        text = unit * (size // len(unit))
        count = 0

        def note(frame, event, argument):
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            redacted({"text": text})
        finally:
            sys.setprofile(None)
        return count

    work(1_000)
    assert work(20_000) <= 2.2 * work(10_000) + 100


def test_letters_that_are_not_what_they_seem_are_read_again_where_they_stand(monkeypatch):
    """A document of many pages may have one of them on one page."""
    scanned = 0
    clean = Redaction._clean_spelled

    def scan(self, text, told, clues):
        nonlocal scanned
        scanned += len(text)
        return clean(self, text, told, clues)

    monkeypatch.setattr(Redaction, "_clean_spelled", scan)
    title, secret = "\uff34\uff29\uff34\uff2c\uff25\n", "p\u200bassword\uff1dhunter2secret\n"
    text = title + "The documentation of a key.\n" * 4_000 + secret + "The documentation of a key.\n" * 4_000
    found = redacted({"text": text}).data["text"]
    assert "hunter2secret" not in found
    assert found.startswith(title)
    assert scanned < 1.1 * len(text)


@pytest.mark.parametrize("before", [0, 10, 400, 511, 512, 513, 2_000])
@pytest.mark.parametrize("odd", ["\u200b", "\xad"])
def test_a_secret_is_found_wherever_it_is_spelled_in_another_way(odd, before):
    around = "x" * before + "\n" + "y" * before
    for secret in (f"pass{odd}word=hunter2secret", f"password={odd}hunter2secret", f"ghp_{odd}{'a1' * 20}"):
        found = redacted({"text": f"{around} {secret} {around}"}).data["text"]
        assert "hunter2" not in found and "a1a1" not in found
    key = f"-----BEG{odd}IN PRIVATE KEY-----\n" + "QUJD\n" * before + "-----END PRIVATE KEY-----"
    assert "QUJD" not in redacted({"text": f"{around}\n{key}\n{around}"}).data["text"]


def test_a_kind_of_secret_can_be_added():
    mine = SecretKind("ticket", 'T"K:', shortest=4, alphabet="0-9")
    assert redacted({"a": 'see T"K:12345, not T"K:1'}, kinds=(mine,)).data == {"a": 'see [redacted:ticket], not T"K:1'}


def test_a_private_key_whose_end_was_cut_off_takes_the_rest_with_it():
    reply = redacted("a -----BEGIN PRIVATE KEY-----\nMIIEow and so on")
    assert reply.data == "a [redacted:private_key]"


def test_two_secret_names_do_not_become_one():
    reply = redacted({SECRETS["github_token"]: 1, SECRETS["github_token"] + "x": 2})
    assert sorted(reply.data.values()) == [1, 2]


def test_the_notice_does_not_repeat_a_secret_that_was_a_name():
    reply = redacted({SECRETS["github_token"]: {"password": "hunter2"}})
    assert SECRETS["github_token"] not in str(reply.notices)


def test_secrets_are_taken_out_of_everything_a_reply_says():
    token = SECRETS["github_token"]
    failed = Reply.failed(
        Problem("NOT_FOUND", f"no {token}", details={"received": token}, remediation=token, user_message=token),
        notices=(Notice(token, context={"x": token}),),
        citations=(Citation(source_url=f"https://u:{token}@h/"),),
        actions=(Action(tool="t", args={"q": token}),),
        query_echo=QueryEcho({"q": token}, unparsed_terms=(token,)),
        retry_with={"q": token},
        extra={"debug": token},
    )
    told = Reply.ok(None, message=f"done with {token}")
    for reply in (sanitize(failed, Redaction()), sanitize(told, Redaction())):
        for name in NAMES:
            if name == "problem" and reply.problem is None:
                continue
            spoken = dialect(name)
            assert token.encode() not in dumps(spoken.encode(spoken.complete(reply)))


def test_redacting_twice_is_redacting_once():
    once = redacted({"password": "x", "log": SECRETS["aws_access_key"]})
    assert sanitize(once, Redaction()) is once


def test_many_secrets_are_counted_and_the_first_places_named():
    reply = redacted([SECRETS["aws_access_key"]] * 100)
    (notice,) = reply.notices
    assert notice.context["count"] == 100
    assert notice.context["places"] == [f"/data/{number}" for number in range(20)]
    assert notice.message == "100 secrets were taken out of this reply"
