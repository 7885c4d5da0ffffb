"""The corpus: redaction finds nearly all of what is secret, and takes nearly nothing else."""

from __future__ import annotations

import json
import tomllib
from itertools import cycle, islice
from pathlib import Path

import pytest

from aerogram import Reply
from aerogram.content.jsontext import dumps
from aerogram.sanitize import Redaction

CORPUS = Path(__file__).parent / "corpus"
SECRETS = tomllib.loads((CORPUS / "secrets.toml").read_text(encoding="utf-8"))
NEAR_MISSES = tomllib.loads((CORPUS / "near_misses.toml").read_text(encoding="utf-8"))
ALPHABETS = {"upper": "Q7ZKM2XW", "hex": "7e2d90b1c5f4a836", "word": "Qz7Lm2Xw9Rk4Tb"}
DOCUMENTS = sorted(Path(__file__).parents[2].glob("samples/**/*.md"))
RECALL = 0.98
FALSE_ALARMS = 0.005
redaction = Redaction()


def issued(first, second, alphabet, length):
    return first + second, "".join(islice(cycle(ALPHABETS[alphabet]), length))


def secret_cases():
    """Data with a secret in it, and the secret."""
    for _kind, first, second, alphabet, length in SECRETS["issued"]:
        begin, body = issued(first, second, alphabet, length)
        for around in SECRETS["around"]:
            # a beginning that is part of many words is one only where a word begins
            if around in ("token{}", "x_{}") and begin in ("sk-", "key-", "re_", "cio", "AKCp", "aero_"):
                continue
            yield {"text": around.format(begin + body)}, body
    for name, value in zip(SECRETS["names"], cycle(SECRETS["values"]), strict=False):
        yield {"settings": [{name: value}]}, value
        yield {name: {"deep": [value]}}, value
    for text in SECRETS["assignments"]:
        yield {"text": text}, "4711998" if "4711998" in text else "hunter2"
        yield {"text": f"2026-11-16 INFO it happened: {text}\nnext line"}, "4711998" if "4711998" in text else "hunter2"
    for text in SECRETS["lines"]:
        yield {"text": text}, "hunter2"
        yield {"text": f"It says:\n{text}\n\nnext line"}, "hunter2"
    for data in SECRETS["data"]:
        yield json.loads(data), "hunter2"
    for data in SECRETS["numbers"]:
        yield json.loads(data), "47119981"


def near_misses():
    yield from map(json.loads, NEAR_MISSES["data"])
    for text in NEAR_MISSES["text"]:
        yield {"text": text}


def sent(data):
    return dumps(redaction(Reply.ok(data)).data).decode()


def test_nearly_every_secret_of_the_corpus_is_found():
    cases = list(secret_cases())
    missed = [(data, secret) for data, secret in cases if secret in sent(data)]
    assert len(cases) > 800
    assert len(missed) <= (1 - RECALL) * len(cases), missed


def test_a_reply_says_what_was_taken_out_of_it():
    for data, secret in secret_cases():
        reply = redaction(Reply.ok(data))
        codes = [notice.code for notice in reply.notices]
        assert codes == ([] if secret in dumps(reply.data).decode() else ["CONTENT_REDACTED"]), data


def test_nearly_nothing_that_only_resembles_a_secret_is_taken_out():
    cases = [Reply.ok(data) for data in near_misses()]
    taken = [reply.data for reply in cases if redaction(reply) is not reply]
    assert len(cases) > 300
    assert len(taken) <= FALSE_ALARMS * len(cases), taken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_documents_about_secrets_are_sent_as_they_are(document):
    reply = Reply.ok({"text": document.read_text(encoding="utf-8")})
    assert redaction(reply) is reply
