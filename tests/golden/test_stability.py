"""The published schemas: what they say is what the dialects do, and a revision takes nothing back."""

from __future__ import annotations

import copy
import json

import pytest

from aerogram.dialects import NAMES
from aerogram.documents.schemas import FOLDER, REVISIONS, published_files, schema, typescript
from aerogram.tokens import Vocabulary
from golden import write
from golden.compatibility import breaks
from golden.declarations import PACKAGE, declare
from golden.write import broken_promises, current
from node_packages import node_and_package

SLIM_TOKENS = 60
every_dialect = pytest.mark.parametrize("name", NAMES)


@every_dialect
@pytest.mark.parametrize("file", ["schema.json", "slim.json"])
def test_a_published_file_says_what_the_dialect_says(name, file):
    """A difference that breaks nobody is published with `make goldens`."""
    assert published_files(name)[file].read_text(encoding="utf-8") == current(name)[file], "run: make goldens"


@every_dialect
def test_published_types_are_what_the_schemas_amount_to_now(name):
    """Types change with their schemas, in the same commit, and are the same every time they are made."""
    node_and_package(*PACKAGE)
    assert typescript(name) == declare(name), "run: make goldens"


@every_dialect
def test_a_revision_takes_nothing_back(name):
    """A rename, a removal or a narrowing needs a new revision of the dialect."""
    assert broken_promises(name) == []


def test_every_dialect_has_a_revision_and_nothing_else_is_published():
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.suffix in (".json", ".ts")}
    revisions = [(name, number) for name, last in REVISIONS.items() for number in range(1, last + 1)]
    assert set(REVISIONS) == set(NAMES)
    assert files == {
        f"{name}/{number}/{file}" for name, number in revisions for file in ("schema.json", "slim.json", "types.d.ts")
    }


@every_dialect
def test_a_slim_schema_costs_at_most_sixty_tokens(name):
    text = json.dumps(schema(name, slim=True), separators=(",", ":"))
    assert Vocabulary("o200k_base").count(text) <= SLIM_TOKENS


def test_publishing_refuses_to_take_something_back(tmp_path, monkeypatch):
    """The script that writes the files will not overwrite a promise, and leaves everything as it was."""
    monkeypatch.setattr(write, "published_files", lambda name: {file: tmp_path / name / file for file in current(name)})
    write.write_schemas()
    before = (tmp_path / "knowledge-1.0" / "schema.json").read_bytes()
    mutant = changed("properties", "pagination", drop=True)
    monkeypatch.setattr(write, "schema", lambda name, slim=False: schema(name, slim=True) if slim else mutant)
    with pytest.raises(SystemExit, match=r"knowledge-1\.0 schema\.json /pagination: the member is gone"):
        write.write_schemas()
    assert (tmp_path / "knowledge-1.0" / "schema.json").read_bytes() == before


# --- the comparison itself, on changes seeded into a real schema -----------------------------------------------------

ENVELOPE = schema("knowledge-1.0")
METADATA = ("$defs", "ResponseMetadata")


def changed(*way, to=None, drop=False, source=ENVELOPE):
    """The schema with the value at the end of the way set, or dropped."""
    mutant = copy.deepcopy(source)
    *holders, last = way
    place = mutant
    for step in holders:
        place = place[step]
    if drop:
        del place[last]
    else:
        place[last] = to
    return mutant


def renamed(old, new):
    mutant = copy.deepcopy(ENVELOPE)
    mutant["properties"][new] = mutant["properties"].pop(old)
    return mutant


TAKEN_AWAY = {
    "a member is removed": (changed("properties", "pagination", drop=True), "/pagination: the member is gone"),
    "a member is renamed": (renamed("pagination", "page"), "/pagination: the member is gone"),
    "a nested member is removed": (
        changed(*METADATA, "properties", "message", drop=True),
        "/_metadata/message: the member is gone",
    ),
    "a nullable member loses null": (
        changed(*METADATA, "properties", "message", to={"type": "string"}),
        "/_metadata/message: null is no longer allowed",
    ),
    "a type changes": (
        changed(*METADATA, "properties", "request_id", to={"type": "integer"}),
        "/_metadata/request_id: string is no longer allowed",
    ),
    "a number becomes an integer": (
        changed("$defs", "ExecutionContext", "properties", "execution_time_ms", to={"type": "integer"}),
        "/execution_context/execution_time_ms: number is no longer allowed",
    ),
    "an enum loses a word": (
        changed(*METADATA, "properties", "status", "enum", to=["success", "error"]),
        '/_metadata/status: "partial" is no longer allowed',
    ),
    "a string becomes an enum": (
        changed(*METADATA, "properties", "operation", to={"enum": ["search"], "type": "string"}),
        "/_metadata/operation: string is no longer allowed",
    ),
    "a member is newly required": (
        changed("required", to=[*ENVELOPE["required"], "pagination"]),
        "/pagination: newly required",
    ),
    "a member is no longer promised": (
        changed("required", to=[name for name in ENVELOPE["required"] if name != "warnings"]),
        "/warnings: no longer promised",
    ),
    "an open object is closed": (changed("additionalProperties", to=False), "/: closed to additions"),
    "a nested object is closed": (
        changed("$defs", "ResponseWarning", "additionalProperties", to=False),
        "/warnings/*: closed to additions",
    ),
    "anything becomes an array": (
        changed("properties", "results", to={"type": "array"}),
        "/results: any value is no longer allowed",
    ),
    "a limit is lowered": (
        changed("$defs", "PaginationMetadata", "properties", "page_size", "maximum", to=20),
        "/pagination/page_size: maximum is tighter",
    ),
    "a limit is added": (
        changed(*METADATA, "properties", "operation", to={"type": "string", "minLength": 1}),
        "/_metadata/operation: minLength is tighter",
    ),
    "a format is added": (
        changed(*METADATA, "properties", "request_id", to={"type": "string", "format": "uuid"}),
        "/_metadata/request_id: format is tighter",
    ),
}
ADDED = {
    "nothing changes": copy.deepcopy(ENVELOPE),
    "an optional member is added": changed("properties", "debug", to={"type": "string"}),
    "an enum gains a word": changed(
        *METADATA, "properties", "status", "enum", to=["success", "partial", "error", "queued"]
    ),
    "a type gains an alternative": changed(
        *METADATA, "properties", "version", to={"anyOf": [{"type": "string"}, {"type": "integer"}]}
    ),
    "a limit is raised": changed("$defs", "PaginationMetadata", "properties", "page_size", "maximum", to=100),
    "words about it change": changed("description", to="Another description."),
    "a definition gets another name": json.loads(
        json.dumps(ENVELOPE).replace("ResponseMetadata", "EnvelopeMetadata"),
    ),
}


@pytest.mark.parametrize("change", TAKEN_AWAY)
def test_a_break_is_found(change):
    mutant, expected = TAKEN_AWAY[change]
    assert breaks(ENVELOPE, mutant) == [expected]


@pytest.mark.parametrize("change", ADDED)
def test_growth_is_free(change):
    assert breaks(ENVELOPE, ADDED[change]) == []


def test_alternatives_are_matched_by_what_they_hold():
    """In a body that is one of two objects, each is compared with its own counterpart."""
    union = schema("response-v2")
    assert breaks(union, union) == []
    without_data = changed("$defs", "Failure", "properties", "data", drop=True, source=union)
    assert "/data: the member is gone" in breaks(union, without_data)


def test_schemas_that_contain_themselves_are_compared():
    tree = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
        },
    }
    pruned = changed("$defs", "Node", "properties", "name", drop=True, source=tree)
    assert breaks(tree, tree) == []
    assert "/name: the member is gone" in breaks(tree, pruned)
