"""Announced content: what stands beside the name of its type is of this type, or not there with its name."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.channels import Sizer
from aerogram.digest import DigestPayload, digest_text, read, verify
from aerogram.reply import Reply
from aerogram.shape.fit import fit
from aerogram.shape.modes import MODES, in_mode

SIZER = Sizer()
TEXT = read("".join(f"The ferry {n} leaves Holm at {n}. A ticket costs {n} crowns in winter. " for n in range(80)))
DIGEST = digest_text(TEXT, "What does a ticket for the ferry cost?")
SOURCE = {"id": "a.txt", "content_type": "digest/v1", "content": DIGEST.to_json(), "fidelity": "summary"}


def contents(data: Any) -> list[Any]:
    """The content of every source that says that it has a digest, as its consumer reads it."""
    return [DigestPayload.from_json(one["content"]) for one in data["sources"] if one.get("content_type")]


@given(st.integers(1, 5), st.integers(250, 4_000))
def test_a_digest_that_is_cut_is_a_digest(count: int, budget: int) -> None:
    sources = [{**SOURCE, "id": f"{number}.txt"} for number in range(count)]
    fitted = fit(Reply.ok({"sources": sources}), budget, measure=SIZER).reply
    assert SIZER(fitted) <= budget
    assert fitted.problem is None
    for payload in contents(fitted.data):
        assert verify(payload, TEXT)
        assert payload.digest_chars == pytest.approx(len(payload.to_json()), abs=3)
        assert payload.compression_ratio == round(min(1.0, payload.digest_chars / payload.original_chars), 4)
    assert all(("content" in one) == ("content_type" in one) for one in fitted.data["sources"])


def test_a_summary_that_is_cut_has_whole_sentences_of_its_text() -> None:
    digest = DIGEST.model_copy(update={"summary": TEXT.text[: TEXT.text.index(" The ferry 16")]})
    source, seen = {**SOURCE, "content": digest.to_json()}, set()
    for budget in range(150, 600, 10):
        for payload in contents(fit(Reply.ok({"sources": [source]}), budget, measure=SIZER).reply.data):
            seen.add(payload.summary)
            assert verify(payload, TEXT).unfound == ()
    assert len(seen) > 2


def test_more_room_shows_more_of_a_digest() -> None:
    shown = [
        contents(fit(Reply.ok({"sources": [SOURCE]}), budget, measure=SIZER).reply.data)
        for budget in range(250, 4_000, 60)
    ]
    sizes = [found[0].digest_chars if found else 0 for found in shown]
    assert len(set(sizes)) > 5
    assert sizes[0] < sizes[-1] / 3
    assert sizes[-1] == DIGEST.digest_chars


OTHERS = [
    {"mimeType": "image/png", "data": base64.b64encode(bytes(range(256)) * 40).decode()},
    {"content_type": "application/json", "body": json.dumps({"rows": list(range(3_000))})},
    {"content_type": "digest/v1", "content": json.dumps({"version": "0", "odd": "one, two. " * 3_000})},
]


@pytest.mark.parametrize("held", OTHERS, ids=lambda held: next(iter(held.values())))
@pytest.mark.parametrize("budget", [300, 600, 1_200])
def test_what_only_a_program_reads_is_whole_or_gone_with_the_name_of_its_type(held: Any, budget: int) -> None:
    record = {"id": 7, "title": "A title", **held}
    fitted, leftovers, _ = fit(Reply.ok(record), budget, measure=SIZER)
    assert fitted.data == {"id": 7, "title": "A title"}
    assert dict(leftovers)["data"].value() == record


def test_prose_is_shortened_whatever_it_was_taken_from() -> None:
    record = {"id": 7, "content_type": "application/pdf", "text": "The ferry leaves at six. " * 400}
    fitted = fit(Reply.ok(record), 500, measure=SIZER).reply
    assert fitted.data["text"].endswith(" chars]")
    assert fitted.data["content_type"] == "application/pdf"


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_shows_a_half_of_a_digest(mode: Any) -> None:
    shown = in_mode(SOURCE, mode)
    assert ("content_type" in shown) == ("content" in shown) == (mode == "full")


def test_a_schema_that_asks_for_the_content_and_its_type_gets_both() -> None:
    names = ["id", "content", "content_type"]
    texts = {"type": "object", "required": names, "properties": {name: {"type": "string"} for name in names}}
    sources = [{**SOURCE, "id": f"{number}.txt"} for number in range(20)]
    fitted = fit(Reply.ok(sources), 2_000, measure=SIZER, schema={"type": "array", "items": texts}).reply
    assert fitted.problem is None
    assert 0 < len(contents({"sources": fitted.data})) == len(fitted.data) < 20
