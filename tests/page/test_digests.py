"""Digests over their documents, and whatever is pasted judged: what it is, and where it is wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from aerogram import dialects
from aerogram.digest import digest_text, read, verify
from aerogram.digest.payload import DigestPayload, payload_of
from aerogram.shape.facts import count_digest
from serving import SAMPLES

ASKED = {"source_file": "security/jwt-guide.md", "query": "How long is a token valid?"}
DOCUMENT = (
    "# Notice\n\nThe notice period is ninety days. 通知期間は九十日です。 Nobody may shorten it. 👩‍👩‍👧‍👦\n\n"
    + "\n\n".join(
        f"Section {number} is about something else: deliveries, colours, and the weather in the year {number + 2000}. 🌦"
        for number in range(40)
    )
)

ENGLISH = sorted(path for path in (SAMPLES / "contracts").iterdir() if not path.name.startswith(("de-", "ja-")))


@pytest.fixture
def digest():
    return digest_text(read(DOCUMENT), "How long is the notice period?")


def text_of(shown) -> str:
    return "".join(segment["text"] for segment in shown["segments"])


def test_the_document_is_shown_whole_with_its_evidence_in_place(ask):
    shown = ask("digest", **ASKED)
    payload = payload_of(shown["payload"])
    assert (shown["verified"], shown["source"], shown["title"]) == (True, "archive", "JWT Guide")
    text = text_of(shown)
    assert "sha256:" + hashlib.sha256(text.encode()).hexdigest() == payload.source_text_hash == shown["text_hash"]
    assert verify(payload, text)
    quoted = {segment["evidence"]: segment["text"] for segment in shown["segments"] if segment["evidence"] is not None}
    assert quoted == {number: one.text for number, one in enumerate(payload.evidence_snippets)}


@pytest.mark.parametrize("path", ENGLISH, ids=lambda path: path.name)
def test_documents_of_every_kind_are_shown_with_evidence_that_holds(ask, path: Path):
    shown = ask("digest", source_file=f"contracts/{path.name}", query="Which notice, days, hours and credits?")
    assert shown["verified"] is True
    assert shown["mismatches"] == []
    marked = [one for one in shown["segments"] if one["evidence"] is not None]
    assert len(marked) == len(shown["payload"]["evidence_snippets"]) > 0


def test_a_document_that_is_not_there_is_not_found(http):
    answer = http.post("/page/api/digest", json={"source_file": "nothing.md", "query": "why"})
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


def test_a_digest_that_was_given_is_shown_over_the_document_that_was_given(ask, digest):
    shown = ask("digest", digest=digest.to_json(), text=DOCUMENT)
    assert (shown["verified"], shown["source"]) == (True, "given")
    assert any(one["evidence"] is not None for one in shown["segments"])
    changed = ask("digest", digest=json.loads(digest.to_json()), text=DOCUMENT.replace("ninety", "thirty"))
    assert changed["verified"] is False
    fields = [one["field"] for one in changed["mismatches"]]
    assert "source_text_hash" in fields
    assert changed["checked"]["hash"] is False


def test_without_its_document_a_digest_is_neither_right_nor_wrong(ask, digest):
    shown = ask("digest", digest=digest.to_json())
    assert (shown["verified"], shown["source"], shown["segments"]) == (None, "none", [])


# checking


def test_a_pasted_digest_is_verified_against_the_archive(ask):
    payload = ask("digest", **ASKED)["payload_text"]
    told = ask("check", text=payload)
    assert (told["what"], told["valid"], told["digest"]["verified"]) == ("digest", True, True)
    snippet = json.loads(payload)
    snippet["evidence_snippets"][0]["text"] = snippet["evidence_snippets"][0]["text"].swapcase()
    told = ask("check", text=json.dumps(snippet))
    assert told["valid"] is False
    assert told["faults"][0]["pointer"] == "/evidence_snippets/0/text"
    assert told["message"]["en"].startswith("This digest does not hold")


def test_a_summary_that_is_not_from_the_document_is_shown_as_not_checked(ask, digest):
    free = {**json.loads(digest.to_json()), "summary": "There is no notice period."}
    free = count_digest(free, lambda said: DigestPayload(**said).to_json())
    told = ask("check", text=json.dumps(free), document=DOCUMENT)
    assert (told["valid"], told["digest"]["verified"]) == (True, True)
    assert told["digest"]["not_from_text"] == [{"field": "summary", "text": "There is no notice period."}]
    assert "Not checked, because not from the document: 1 sentence of" in told["message"]["en"]
    own = ask("check", text=digest.to_json(), document=DOCUMENT)
    assert own["digest"]["not_from_text"] == []
    assert "the summary and key points are from the document" in own["message"]["en"]


def test_a_pasted_document_may_have_its_front_matter(ask, digest):
    told = ask("check", text=digest.to_json(), document="---\ntitle: Notice\n---\n" + DOCUMENT)
    assert told["digest"]["verified"] is True


def test_a_pasted_source_is_checked_by_its_digest(ask, digest):
    source = {"id": "a", "content_type": "digest/v1", "content": digest.to_json()}
    told = ask("check", text=json.dumps(source), document=DOCUMENT)
    assert (told["what"], told["valid"]) == ("digest", True)


def test_a_digest_in_bad_form_says_which_members(ask, digest):
    broken = {**json.loads(digest.to_json()), "query_hash": "xyz", "compression_ratio": 7}
    told = ask("check", text=json.dumps(broken))
    assert told["valid"] is False
    assert {fault["pointer"] for fault in told["faults"]} == {"/query_hash", "/compression_ratio"}


@pytest.mark.parametrize("name", ["response-v2", "standard-v2", "knowledge-1.0", "problem"])
def test_a_reply_in_any_dialect_is_known_and_held_to_its_contract(ask, name):
    body = ask("dialects", source={"failure": "CONFLICT"})["said"]
    good = next(row["body"] for row in body if row["name"] == name)
    told = ask("check", text=json.dumps(good))
    assert (told["what"], told["dialect"], told["valid"]) == ("reply", name, True)
    assert told["reply"]["problem"]["code"] == "CONFLICT"


def test_every_broken_rule_of_a_reply_is_named_with_its_place(ask):
    good = dialects.dialect("standard-v2")
    body = good.encode(good.complete(dialects.read({"results": [], "status": "empty", "empty_reason": "no_match"})))
    body["status"], body["meta"]["request_id"] = "okay", 3
    told = ask("check", text=json.dumps(body))
    assert (told["what"], told["dialect"], told["valid"]) == ("reply", "standard-v2", False)
    assert {fault["pointer"]: fault["found"] for fault in told["faults"]} == {
        "/status": '"okay"',
        "/meta/request_id": "3",
    }


def test_a_tool_result_is_checked_by_what_it_carries(ask):
    result = ask("dialects", source={"failure": "CONFLICT"}, channels="mirror")["mcp"][1]["result"]
    told = ask("check", text=json.dumps(result))
    assert (told["what"], told["dialect"], told["valid"]) == ("tool_result", "knowledge-1.0", True)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "none"),
        ("{broken", "none"),
        ("\ufeff{}", "json"),
        ("[1, 2]", "json"),
        ('"text"', "json"),
        ("[" * 3000, "none"),
        ('{"a": 1, "a": 2}', "none"),
        ('{"<script>": "alert(1)"}', "json"),
        ('{"evidence_snippets": 7}', "digest"),
        ('{"content_type": "digest/v1", "content": "{"}', "digest"),
        ("NaN", "none"),
    ],
)
def test_nothing_that_is_pasted_is_an_error_of_the_page(ask, text, what):
    told = ask("check", text=text)
    assert (told["what"], told["valid"]) == (what, False)
    assert told["message"]["en"]
    assert told["message"]["ja"]


def test_a_body_can_be_held_to_a_dialect_that_it_does_not_look_like(ask, http):
    told = ask("check", text='{"success": true}', dialect="knowledge-1.0")
    assert (told["dialect"], told["valid"]) == ("knowledge-1.0", False)
    assert {"/_metadata", "/results"} <= {fault["pointer"] for fault in told["faults"]}
    assert http.post("/page/api/check", json={"text": "{}", "dialect": "klingon"}).status_code == 400
