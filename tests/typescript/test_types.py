"""The published types: `tsc --strict` takes every body we write, and refuses what breaks the contract."""

from __future__ import annotations

import json
import re

import pytest

from aerogram import (
    Action,
    Citation,
    Fidelity,
    Notice,
    Page,
    Problem,
    QueryEcho,
    RateLimit,
    Reply,
    Telemetry,
    dialect,
)
from aerogram.dialects import NAMES
from aerogram.documents.schemas import typescript
from contracts.document_examples import example, examples

ROOTS = {
    "response-v2": "ResponseV2",
    "standard-v2": "StandardResponse",
    "knowledge-1.0": "MCPResponseEnvelope",
    "problem": "ProblemDetails",
    "bare": "Payload",
}
ROWS = [{"id": f"row-{number}", "score": 0.5, "note": None} for number in range(7)]
REPLIES = {
    "rows": Reply.ok(ROWS),
    "a record": Reply.ok({"title": "one", "tags": ["a", "b"], "deep": {"x": [1, 2.5, True]}}),
    "a scalar": Reply.ok(42),
    "nothing": Reply.ok(),
    "few rows": Reply.ok(ROWS[:2], message="two of them"),
    "empty": Reply.empty("filters_too_narrow", retry_with={"limit": 50}),
    "partial": Reply.partial(ROWS, [Notice.of("PARTIAL_RESULTS", dropped=3), "a plain word"]),
    "blocked": Reply.blocked({"job": 1}, Notice("waiting for approval")),
    "a failure": Reply.failed("NOT_FOUND", "no such row"),
    "a detailed failure": Reply.failed(
        Problem(
            "RATE_LIMITED",
            "slow down",
            retry_after=1.5,
            remediation="wait",
            details={"errors": [{"detail": "too fast", "pointer": "/q"}], "limit": 10},
            user_message="Please wait.",
            documentation="https://example.org/errors/rate_limited",
        ),
        data={"kept": [1]},
    ),
    "a code of its own": Reply.failed(Problem("WEATHER_CLOSED", "storm", kind="unavailable")),
    "everything": Reply.ok(
        ROWS,
        notices=[Notice("careful", "FALLBACK_USED", "info", "nothing to do", {"source": "b"})],
        page=Page("abc", has_more=True, total=70, page_size=7, extra={"offset": 7}),
        rate_limit=RateLimit(100, 99, "2026-01-01T00:00:00Z", 0.5, {"window": "1m"}),
        telemetry=Telemetry(12.5, True, 100, 90, 1, {"db_ms": 3}),
        fidelity=Fidelity("partial", ("row-8",), {"row-8": "sha256:00"}),
        citations=[Citation("s1", title="A source", field_paths=("/results/0",), verification_status="verified")],
        actions=[Action(tool="search", args={"q": "x"}), Action(endpoint="/v1/search")],
        query_echo=QueryEcho({"q": "x"}, {"tier": "S"}, ("zzz",)),
        client_tag="tests",
        extra={"vendor": {"a": 1}},
    ),
}


def bodies(name: str) -> dict[str, object]:
    """Bodies of a dialect: what we encode, and what the contract's document shows."""
    spoken = dialect(name)
    told = {
        kind: spoken.encode(spoken.complete(reply, operation="test"))
        for kind, reply in REPLIES.items()
        if reply.problem is not None or name != "problem"
    }
    shown = {one.id: one.body() for one in examples() if one.form == "envelope" and one.dialect == name}
    return told | shown


def assigned(name: str, values: dict[str, object], types: dict[str, str] | None = None) -> str:
    """A program that assigns each value to its type."""
    lines = [f'import * as t from "./{name}";']
    for number, (kind, value) in enumerate(values.items()):
        wanted = (types or {}).get(kind, ROOTS[name])
        text = json.dumps(value, ensure_ascii=False)
        lines.append(f"export const v{number}: t.{wanted} = {text}; // {kind}")
    return "\n".join(lines)


def test_every_body_we_write_and_every_body_shown_has_its_type(tsc):
    """Replies of every kind in every dialect, and the documents' own bodies, nulls included."""
    files = {f"{name}.d.ts": typescript(name) for name in NAMES}
    programs = {f"use-{number}.ts": assigned(name, bodies(name)) for number, name in enumerate(NAMES)}
    assert tsc(files | programs) == ""


def test_a_payload_has_the_type_its_reader_gives_it(tsc):
    """The envelopes are generic, and `success` tells a result from a failure."""
    program = """
import type { ResponseV2 } from "./response-v2";
import type { StandardResponse } from "./standard-v2";
import type { MCPResponseEnvelope, SearchResultIDs, SemanticSearchResponse } from "./knowledge-1.0";

interface Task { id: string }
export function first(body: ResponseV2<{ tasks: Task[] }>): string {
  if (!body.success) return `${body.error} ${body.data.error_code ?? ""}`;
  const nothing: null = body.error;
  return body.data.tasks[0].id + String(nothing);
}
export const ids = (body: StandardResponse<Task>): string[] => body.results.map((row) => row.id);
export const rank = (body: MCPResponseEnvelope<SearchResultIDs[]>): number => body.results[0].rank;
export const next = (body: MCPResponseEnvelope): string | undefined => body.pagination?.cursor;
export function text(body: SemanticSearchResponse): string {
  const hit = body.results[0];
  return "chunk_text" in hit ? hit.chunk_text : "chunk_snippet" in hit ? hit.chunk_snippet : String(hit.chunk_id);
}
"""
    files = {f"{name}.d.ts": typescript(name) for name in ROOTS}
    assert tsc(files | {"use.ts": program}) == ""


def test_the_records_of_the_knowledge_document_have_their_types(tsc):
    """The results that the document shows for each mode, assigned to the type of that mode."""
    modes = {"ids": "IDs", "metadata": "Metadata", "preview": "Preview", "full": "Full"}
    shown = {f"knowledge-{kind}-{mode}": (kind, mode) for kind in ("search", "vendor") for mode in modes}
    values = {name: example(name).value() for name in shown}
    types = {
        name: ("SearchResult" if kind == "search" else "VendorInfo") + modes[mode]
        for name, (kind, mode) in shown.items()
    }
    files = {"knowledge-1.0.d.ts": typescript("knowledge-1.0")}
    assert tsc(files | {"use.ts": assigned("knowledge-1.0", values, types)}) == ""


def test_every_type_and_member_that_the_knowledge_document_declares_is_there():
    """Its TypeScript section is a subset of ours."""
    ours = members(typescript("knowledge-1.0"))
    theirs = members(example("knowledge-typescript").text())
    assert {"ResponseMode", "ResponseStatus", "WarningLevel", "SemanticSearchResponse"} <= ours.keys()
    assert theirs.keys() <= ours.keys()
    for name, declared in theirs.items():
        assert declared <= ours[name], name


def members(text: str) -> dict[str, set[str]]:
    """The declared names, each with the members of its interface."""
    found = {name: set() for name in re.findall(r"^(?:export )?type (\w+)", text, re.MULTILINE)}
    for name, block in re.findall(r"^(?:export )?interface (\w+)[^{]*\{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        found[name] = set(re.findall(r"^\s+(\w+)\??:", block, re.MULTILINE))
    return found


META = {"version": "response-v2"}
ENVELOPE = dialect("knowledge-1.0").encode(dialect("knowledge-1.0").complete(Reply.ok(ROWS), operation="test"))
ANSWER = dialect("standard-v2").encode(dialect("standard-v2").complete(Reply.ok(ROWS)))
WRONG = {
    "a success with an error": ("response-v2", {"success": True, "data": {}, "error": "no", "meta": META}),
    "a failure without a message": ("response-v2", {"success": False, "data": {}, "error": None, "meta": META}),
    "data that is no object": ("response-v2", {"success": True, "data": 1, "error": None, "meta": META}),
    "another version": ("response-v2", {"success": True, "data": {}, "error": None, "meta": {"version": "v3"}}),
    "no meta": ("response-v2", {"success": True, "data": {}, "error": None}),
    "an unknown status": ("standard-v2", {**ANSWER, "status": "fine"}),
    "results that are no rows": ("standard-v2", {**ANSWER, "results": {}}),
    "a code outside the closed list": (
        "standard-v2",
        {
            **ANSWER,
            "error": {"code": "TEAPOT", "user_message": "", "developer_message": "", "retryable": False},
        },
    ),
    "an action without an object of arguments": ("standard-v2", {**ANSWER, "suggested_actions": [{"args": 1}]}),
    "a timestamp that is a number": (
        "knowledge-1.0",
        {**ENVELOPE, "_metadata": {**ENVELOPE["_metadata"], "timestamp": 0}},
    ),
    "a page without has_more": ("knowledge-1.0", {**ENVELOPE, "pagination": {"cursor": "", "page_size": 1}}),
    "no warnings": ("knowledge-1.0", {name: value for name, value in ENVELOPE.items() if name != "warnings"}),
    "a word the extension does not know": ("knowledge-1.0", {**ENVELOPE, "aerogram": {"mood": "good"}}),
    "a problem without a status": ("problem", {"title": "Gone"}),
}


@pytest.fixture
def complaints(tsc) -> str:
    files = {f"{name}.d.ts": typescript(name) for name in NAMES}
    programs = {
        f"wrong-{number}.ts": assigned(name, {kind: value})
        for number, (kind, (name, value)) in enumerate(WRONG.items())
    }
    return tsc(files | programs)


def test_a_body_that_breaks_its_contract_does_not_compile(complaints):
    """Each wrong body is refused where it is assigned."""
    places = re.findall(r"^wrong-(\d+)\.ts\(\d+,\d+\): error TS2", complaints, re.MULTILINE)
    refused = set(map(int, places))
    assert [kind for number, kind in enumerate(WRONG) if number not in refused] == []
