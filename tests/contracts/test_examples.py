"""The examples of the documents: each is of the class that is claimed, and each holds.

Examples of other parts (digests, normalised results, framework calls) are classed here and proven in their own tests.
"""

from __future__ import annotations

import ast
import base64
import builtins
import json
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, List, Literal, Optional  # noqa: UP035  # the documents use these names

import pytest
from pydantic import BaseModel

import aerogram
from aerogram.cursor import Cursors
from aerogram.dialects import knowledge_v1, response_v2, standard_v2
from aerogram.errors import ContractError
from aerogram.shape.pages import Pager
from contracts.document_examples import CLASSES, FOLDER, Example, example, examples

envelopes = [one for one in examples() if one.form == "envelope"]
codes = [one for one in examples() if one.language == "python"]


def each(chosen: list[Example]) -> pytest.MarkDecorator:
    """Parametrise a test with examples."""
    return pytest.mark.parametrize("shown", chosen, ids=[one.id for one in chosen])


def run(shown: Example, **names: Any) -> dict[str, Any]:
    """Run the code of an example, given what it takes from around it."""
    assert set(shown.needs) <= set(names), "the data file says what the code needs"
    space = dict(names)
    exec(compile(shown.completed_text(), shown.id, "exec", dont_inherit=True), space)
    return space


def names_in(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names that code uses, and those that it makes itself."""
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    own |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return {node.id for node in names}, own


# --- the data itself ---------------------------------------------------------------------------------------------


def test_every_file_belongs_to_an_example() -> None:
    """Nothing lies about that no test reads."""
    known = {f"{one.id}{end}" for one in examples() for end in (".json", ".txt", ".completed.txt")}
    files = {path.name for path in FOLDER.iterdir() if path.suffix != ".toml"}
    assert files - known == {"completions.json"}


def test_ids_do_not_repeat_and_classes_are_known() -> None:
    """An example has one id and one of the three classes."""
    assert len({one.id for one in examples()}) == len(examples())
    assert {one.cls for one in examples()} == set(CLASSES)


@each([one for one in examples() if one.cls == "elided" and one.language == "json"])
def test_an_elided_body_is_completed_by_its_replacements_alone(shown: Example) -> None:
    """The completed file is the document's text with each mark replaced, and nothing else."""
    for mark, _ in shown.replace:
        assert mark in shown.text()
    assert json.loads(shown.completed_text()) == shown.value()


@each([one for one in examples() if one.cls == "elided" and one.form == "envelope"])
def test_an_elided_body_does_not_parse_or_breaks_its_contract(shown: Example) -> None:
    """What is classed as elided could not be taken as it stands."""
    with pytest.raises(ValueError):
        aerogram.dialect(shown.dialect).validate(json.loads(shown.text()))


@each([one for one in envelopes if one.cls == "fragment"])
def test_a_fragment_parses_and_is_not_a_whole_body(shown: Example) -> None:
    """What is classed as a fragment is JSON that lacks something its contract requires."""
    with pytest.raises(ContractError):
        aerogram.dialect(shown.dialect).validate(json.loads(shown.text()))


@each(codes)
def test_code_parses_unless_it_is_elided(shown: Example) -> None:
    """Elided code does not parse before it is completed; all code does afterwards."""
    if shown.cls == "elided":
        with pytest.raises(SyntaxError):
            ast.parse(shown.text())
    else:
        ast.parse(shown.text())
    ast.parse(shown.completed_text())


@each(codes)
def test_code_takes_exactly_the_names_it_is_said_to_need(shown: Example) -> None:
    """Whole code needs nothing from around it; the needs of a fragment are all listed."""
    tree = ast.parse(shown.completed_text())
    used, own = names_in(tree)
    missing = used - own - set(dir(builtins))
    assert missing <= set(shown.needs) <= used
    assert not (missing and shown.cls == "whole")


# --- bodies ------------------------------------------------------------------------------------------------------


@each([one for one in envelopes if one.cls == "whole"])
def test_a_whole_body_keeps_its_contract_as_it_stands(shown: Example) -> None:
    """A whole example is valid to the letter."""
    aerogram.dialect(shown.dialect).validate(json.loads(shown.text()))


@each(envelopes)
def test_an_example_reads_and_writes_back(shown: Example) -> None:
    """Completed where it has to be, every body the documents show is read and written again to the same JSON."""
    reply = aerogram.read(shown.body())
    written = aerogram.dialect(shown.dialect).encode(reply)
    assert shown.written_again(written) == shown.normal_body()
    assert aerogram.read(written) == reply


@each(envelopes)
def test_an_example_is_recognised_and_keeps_its_contract(shown: Example) -> None:
    """A body says by itself which dialect it is in, and breaks none of its rules."""
    aerogram.dialect(shown.dialect).validate(shown.body())
    others = [name for name in ("response-v2", "standard-v2", "knowledge-1.0") if name != shown.dialect]
    assert aerogram.dialect(shown.dialect).recognises(shown.body())
    assert not any(aerogram.dialect(name).recognises(shown.body()) for name in others)


@each([one for one in envelopes if one.cls == "fragment" and one.at is None])
def test_a_fragment_is_read_leniently(shown: Example) -> None:
    """A reader takes a piece of a body for what it says, without making it whole first."""
    piece = json.loads(shown.text())
    assert aerogram.dialect(shown.dialect).decode(piece).status in ("ok", "error")


def test_the_tool_result_of_the_standard_document_is_what_wrapping_gives() -> None:
    """wrap_for_mcp gives the example's tool result for the example's body, to the letter."""
    shown = example("standard-mcp").body()
    assert standard_v2.wrap_for_mcp(shown["structuredContent"]) == shown
    assert standard_v2.wrap_for_mcp(aerogram.read(shown["structuredContent"])) == shown


def test_the_cursors_of_the_documents_are_base64_of_json() -> None:
    """The cursors shown decode, and hold keys of the documented cursor."""
    documented = set(example("knowledge-cursor").body())
    shown = [example("knowledge-envelope").body()["pagination"], example("guide-meta").body()["meta"]["pagination"]]
    for pagination in shown:
        assert set(json.loads(base64.b64decode(pagination["cursor"]))) <= documented
    pager = Pager(Cursors(), "semantic_search", {"query": "JWT"}, "metadata", documented=True)
    ours = json.loads(base64.urlsafe_b64decode(pager.seal(10, size=10) + "=="))
    assert (ours["offset"], ours["response_mode"]) == (10, "metadata") and documented <= set(ours)


# --- code of the response-v2 documents -----------------------------------------------------------------------------

CALLS = {
    "schema-code-missing-required": {
        "context": SimpleNamespace(request_id="req_1"),
        "expected": {
            "success": False,
            "data": {
                "error_code": "MISSING_REQUIRED",
                "error_type": "validation",
                "remediation": "Provide a non-empty spec_id parameter",
                "details": {"field": "spec_id", "constraint": "required"},
            },
            "error": "Validation failed: spec_id is required",
            "meta": {"version": "response-v2", "request_id": "req_1"},
        },
    },
    "schema-code-not-found": {
        "context": SimpleNamespace(request_id="req_2"),
        "spec_id": "spec-9",
        "expected": {
            "success": False,
            "data": {
                "error_code": "SPEC_NOT_FOUND",
                "error_type": "not_found",
                "remediation": 'Verify the spec ID exists using spec(action="list")',
            },
            "error": "Spec 'spec-9' not found",
            "meta": {"version": "response-v2", "request_id": "req_2"},
        },
    },
    "schema-code-feature-disabled": {
        "flag_name": "beta",
        "expected": {
            "success": False,
            "data": {
                "error_code": "FEATURE_DISABLED",
                "error_type": "feature_flag",
                "remediation": "Contact support to enable this feature or check feature flag configuration",
                "feature": "beta",
            },
            "error": "Feature 'beta' is not enabled",
            "meta": {"version": "response-v2"},
        },
    },
    "schema-code-rate-limit": {
        "reset_timestamp": "2025-12-04T12:00:00Z",
        "expected": {
            "success": False,
            "data": {
                "error_code": "RATE_LIMIT_EXCEEDED",
                "error_type": "rate_limit",
                "remediation": "Wait 45 seconds before retrying. Consider batching requests.",
                "retry_after_seconds": 45,
            },
            "error": "Rate limit exceeded: 100 requests per minute",
            "meta": {
                "version": "response-v2",
                "rate_limit": {"limit": 100, "remaining": 0, "reset_at": "2025-12-04T12:00:00Z"},
            },
        },
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_the_helper_calls_of_the_schema_run(name: str) -> None:
    """Each call of error_response that the document shows gives the body that it describes."""
    given = {key: value for key, value in CALLS[name].items() if key != "expected"}
    space = run(example(name), asdict=asdict, error_response=response_v2.error_response, **given)
    assert space["result"] == CALLS[name]["expected"]


def test_the_tool_of_the_schema_runs() -> None:
    """The tool that the document shows answers with its payload, warnings, page and request id in their places."""

    class Payload(dict[str, Any]):
        warnings = ("Cache data is 2 hours old",)
        pagination = {"cursor": "abc", "has_more": True}  # noqa: RUF012

    space = run(
        example("schema-code-success"),
        mcp=SimpleNamespace(tool=lambda: lambda function: function),
        compute_payload=lambda: Payload(rows=3),
        context=SimpleNamespace(request_id="req_1"),
    )
    body = space["tool_example"]()
    assert body["data"] == {"result": {"rows": 3}}
    assert body["meta"]["warnings"] == ["Cache data is 2 hours old"]
    assert body["meta"]["pagination"] == {"cursor": "abc", "has_more": True}
    assert body["meta"]["request_id"] == "req_1"


def encoded(reply: aerogram.Reply[Any]) -> dict[str, Any]:
    """Return the response-v2 body of a reply."""
    return dict(aerogram.dialect("response-v2").encode(reply))


def test_the_success_check_of_the_guide_works() -> None:
    """The guide's consumer finds the payload of a success, and the error and remediation of a failure."""
    good, bad = encoded(aerogram.Reply.ok({"spec": {"id": 1}})), encoded(aerogram.Reply.failed("NOT_FOUND", "no spec"))
    assert run(example("guide-code-success"), call=lambda **_: good)["spec"] == {"id": 1}
    space = run(example("guide-code-success"), call=lambda **_: bad)
    assert space["error"] == "no spec"
    assert space["remediation"] == bad["data"]["remediation"] != ""


def test_the_warning_check_of_the_guide_works() -> None:
    """The guide's consumer sees every warning of a reply that has some, and none of one that has none."""
    for warnings in ([], ["one", "two"]):
        seen: list[str] = []
        reply = aerogram.Reply.ok({}, notices=[aerogram.Notice(text) for text in warnings])
        run(example("guide-code-warnings"), response=encoded(reply), seen=seen)
        assert seen == warnings


# --- code of the knowledge document ------------------------------------------------------------------------------

TYPING = {"BaseModel": BaseModel, "List": List, "Literal": Literal, "Optional": Optional}  # noqa: UP006


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("metadata", "ResponseMetadata"),
        ("pagination", "PaginationMetadata"),
        ("confidence", "ConfidenceScore"),
        ("ranking", "RankingContext"),
        ("deduplication", "DeduplicationInfo"),
        ("execution", "ExecutionContext"),
        ("warning", "ResponseWarning"),
    ],
)
def test_a_declared_model_has_the_members_of_ours(name: str, model: str) -> None:
    """The model as the document writes it and ours have the same members, of which the same may be null."""
    documented = run(example(f"knowledge-code-{name}"), **TYPING)[model]
    ours = getattr(knowledge_v1, model)
    assert list(documented.model_fields) == [field.alias or at for at, field in ours.model_fields.items()]
    assert nullable(documented) == nullable(ours)


def nullable(model: type[BaseModel]) -> set[str]:
    """Return the members of a model that may be null."""
    properties = model.model_json_schema()["properties"]
    return {name for name, schema in properties.items() if {"type": "null"} in schema.get("anyOf", ())}


def test_the_declared_envelope_has_the_members_of_ours() -> None:
    """The envelope as the document writes it names the members that ours has on the wire."""
    names = ("ResponseMetadata", "PaginationMetadata", "ExecutionContext", "ResponseWarning")
    parts = {name: getattr(knowledge_v1, name) for name in names}
    documented = run(example("knowledge-code-envelope"), **TYPING, **parts)["MCPResponseEnvelope"]
    ours = {field.alias or name for name, field in knowledge_v1.MCPResponseEnvelope.model_fields.items()}
    assert set(documented.__annotations__) <= ours


def test_the_declared_aliases_are_ours() -> None:
    """The aliases as the document writes them, over our models, are the ones we offer."""
    names = example("knowledge-code-aliases").needs
    space = run(example("knowledge-code-aliases"), **{name: getattr(knowledge_v1, name) for name in names})
    for alias in ("ResponseMode", "ResponseStatus", "WarningLevel", "SemanticSearchResult", "VendorInfoResult"):
        assert set(space[alias].__args__) == set(getattr(knowledge_v1, alias).__args__)


@pytest.mark.parametrize("name", ["WhitelistedSemanticSearchFields", "WhitelistedVendorInfoFields"])
def test_the_declared_whitelists_are_ours(name: str) -> None:
    """The whitelists as the document writes them are the ones we offer."""
    shown = example("knowledge-code-search-whitelist" if "Search" in name else "knowledge-code-vendor-whitelist")
    documented, ours = run(shown)[name], getattr(knowledge_v1, name)
    for mode in ("IDS_ONLY", "METADATA", "PREVIEW", "FULL"):
        assert getattr(documented, mode) == getattr(ours, mode)
