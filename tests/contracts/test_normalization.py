"""The normaliser keeps what its document promises, promise by promise."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp.types as sdk
import pytest
from pydantic import BaseModel

from aerogram.normalize import normalize_resource_payload, normalize_tool_result
from contracts.requirement_rows import Requirement, rows

VERSION = "2025-06-18"
"""The version of the protocol that the document is written for."""


@dataclass
class Point:
    """A dataclass."""

    x: int
    tags: tuple[str, ...] = ("a",)


class Person(BaseModel):
    """A pydantic model, with a value that is text in its JSON mode only."""

    name: str
    photo: bytes = b"jpg"


class Opaque:
    """Something JSON has no form for."""

    __slots__ = ()

    def __str__(self) -> str:
        return "an opaque thing"


def text(*texts: str) -> list[dict[str, str]]:
    """Return text blocks."""
    return [{"type": "text", "text": one} for one in texts]


def tool(value: Any) -> dict[str, Any]:
    """Return the tool result of a value on the wire."""
    return dict(json.loads(json.dumps(normalize_tool_result(value).to_wire(VERSION))))


def record(data: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a record: its JSON as text, and itself as structured content."""
    return {"content": text(json.dumps(data)), "structuredContent": data}


def boxed(value: Any, *texts: str) -> dict[str, Any]:
    """Return the result of a value that is no record."""
    return {"content": text(*texts), "structuredContent": {"result": value}}


TEXT = sdk.TextContent(type="text", text="Here:")
IMAGE = sdk.ImageContent(type="image", data="AAAA", mime_type="image/png")
BLOCKS = [{"type": "text", "text": "Here:"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
OTHER_BLOCKS = [
    sdk.AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
    sdk.ResourceLink(type="resource_link", uri="x://y", name="y"),
    sdk.EmbeddedResource(
        type="resource", resource=sdk.TextResourceContents(uri="x://y", mime_type="text/plain", text="z")
    ),
]
LOOKALIKE = {"content": "just a text", "value": 1}

RESULTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "NRM-TOOL-002": (
        {"content": text("x"), "structuredContent": {"a": 1}},
        {"content": text("x"), "structuredContent": {"a": 1}},
    ),
    "NRM-TOOL-003": (LOOKALIKE, record(LOOKALIKE)),
    "NRM-TOOL-004": (Point(1), record({"x": 1, "tags": ["a"]})),
    "NRM-TOOL-005": (Person(name="Alice"), record({"name": "Alice", "photo": "jpg"})),
    "NRM-TOOL-006": (TEXT, {"content": BLOCKS[:1]}),
    "NRM-TOOL-007": (("done", {"ms": 123}), {"content": text("done"), "structuredContent": {"ms": 123}}),
    "NRM-TOOL-008": ({"key": "value"}, record({"key": "value"})),
    "NRM-TOOL-009": ("Hello!", boxed("Hello!", "Hello!")),
    "NRM-TOOL-010": (42, boxed(42, "42")),
    "NRM-TOOL-011": (1.5, boxed(1.5, "1.5")),
    "NRM-TOOL-012": (True, boxed(True, "true")),
    "NRM-TOOL-013": (None, {"content": []}),
    "NRM-TOOL-014": (b"\x89PNG\r\n\x1a\n", {"content": text("iVBORw0KGgo=")}),
    "NRM-TOOL-015": (bytearray(b"\x89PNG\r\n\x1a\n"), {"content": text("iVBORw0KGgo=")}),
    "NRM-TOOL-016": (["a", "b"], boxed(["a", "b"], "a", "b")),
    "NRM-TOOL-017": (["a", ["b", ["c"]]], boxed(["a", ["b", ["c"]]], "a", "b", "c")),
    "NRM-TOOL-018": ([TEXT, IMAGE], {"content": BLOCKS}),
    "NRM-TOOL-021": (
        OTHER_BLOCKS,
        {"content": [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in OTHER_BLOCKS]},
    ),
    "NRM-TOOL-022": (
        {"content": text("x"), "meta": {"trace": 1}},
        {"content": text("x"), "_meta": {"trace": 1}},
    ),
    "NRM-TOOL-019": ({"at": Point(2)}, record({"at": {"x": 2, "tags": ["a"]}})),
}


@rows("NRM-TOOL-0")
def test_tool_result(row: Requirement) -> None:
    """Each kind of value gives its documented result."""
    if row.id == "NRM-TOOL-001":
        given = sdk.CallToolResult(content=[TEXT])
        assert normalize_tool_result(given) is given
    elif row.id == "NRM-TOOL-020":
        for value, _ in RESULTS.values():
            sdk.CallToolResult.model_validate(normalize_tool_result(value).to_wire(VERSION))
    else:
        value, expected = RESULTS[row.id]
        assert tool(value) == expected


STRUCTURED: dict[str, list[tuple[Any, Any]]] = {
    "NRM-SC-001": [("x", {"result": "x"}), ({"a": 1}, {"a": 1}), ([1], {"result": [1]})],
    "NRM-SC-002": [(Point(1), {"x": 1, "tags": ["a"]}), (Person(name="Bob"), {"name": "Bob", "photo": "jpg"})],
    "NRM-SC-003": [(("x", {"a": 1}), {"a": 1}), (("x", "y"), {"result": ["x", "y"]})],
    "NRM-SC-004": [({"result": {"a": 1}}, {"result": {"a": 1}})],
    "NRM-SC-005": [(0, {"result": 0}), (False, {"result": False}), ("", {"result": ""}), ([], {"result": []})],
    "NRM-JSON-001": [([value], {"result": [value]}) for value in ("x", 1, 1.5, True, None)],
    "NRM-JSON-002": [({1: Point(1), "b": {2: 3}}, {"1": {"x": 1, "tags": ["a"]}, "b": {"2": 3}})],
    "NRM-JSON-003": [({"a": [1], "b": (1, 2), "c": {3}}, {"a": [1], "b": [1, 2], "c": [3]})],
    "NRM-JSON-004": [({"a": [Point(1)]}, {"a": [{"x": 1, "tags": ["a"]}]})],
    "NRM-JSON-005": [({"a": [Person(name="Bob")]}, {"a": [{"name": "Bob", "photo": "jpg"}]})],
    "NRM-JSON-006": [(Opaque(), None)],
}


@rows("NRM-SC-")
def test_structured_content(row: Requirement) -> None:
    """Structured content is there when it should be, in its documented form."""
    for value, expected in STRUCTURED[row.id]:
        assert tool(value).get("structuredContent") == expected


@rows("NRM-JSON-")
def test_conversion_to_json(row: Requirement) -> None:
    """Each kind of value inside a value is converted as documented."""
    for value, expected in STRUCTURED[row.id]:
        assert tool(value).get("structuredContent") == expected


def resource(value: Any, mime_type: str | None = None) -> list[dict[str, Any]]:
    """Return the contents of a resource on the wire."""
    wire = normalize_resource_payload("x://y", mime_type, value).to_wire(VERSION)
    return list(json.loads(json.dumps(wire))["contents"])


def content(body: str, mime_type: str = "text/plain", uri: str = "x://y", member: str = "text") -> dict[str, Any]:
    """Return one content."""
    return {"uri": uri, "mimeType": mime_type, member: body}


ONE = sdk.TextResourceContents(uri="a://1", mime_type="text/plain", text="First")
TWO = sdk.BlobResourceContents(uri="a://2", mime_type="image/png", blob="AAAA")
FIRST, SECOND = content("First", uri="a://1"), content("AAAA", "image/png", "a://2", "blob")
BLOB = content("iVBORw0KGgo=", "application/octet-stream", member="blob")

RESOURCES: dict[str, tuple[Any, str | None, list[dict[str, Any]]]] = {
    "NRM-RES-002": (ONE, None, [FIRST]),
    "NRM-RES-003": ([ONE, TWO], None, [FIRST, SECOND]),
    "NRM-RES-004": ({"mimeType": "text/csv", "text": "a,b"}, None, [content("a,b", "text/csv")]),
    "NRM-RES-006": (b"\x89PNG\r\n\x1a\n", None, [BLOB]),
    "NRM-RES-007": (bytearray(b"\x89PNG\r\n\x1a\n"), "image/png", [{**BLOB, "mimeType": "image/png"}]),
    "NRM-RES-008": ("Hello", None, [content("Hello")]),
    "NRM-RES-012": (Opaque(), None, [content("an opaque thing")]),
    "NRM-RES-013": ('{"theme": "dark"}', "application/json", [content('{"theme": "dark"}', "application/json")]),
}
JSON_RESOURCES: dict[str, tuple[Any, Any]] = {
    "NRM-RES-005": ({"key": "value"}, {"key": "value"}),
    "NRM-RES-009": (Point(1), {"x": 1, "tags": ["a"]}),
    "NRM-RES-010": (Person(name="Bob"), {"name": "Bob", "photo": "jpg"}),
    "NRM-RES-011": ([1, {"a": None}], [1, {"a": None}]),
}


@rows("NRM-RES-0")
def test_resource_result(row: Requirement) -> None:
    """Each kind of payload gives its documented contents."""
    if row.id == "NRM-RES-001":
        given = sdk.ReadResourceResult(contents=[ONE])
        assert normalize_resource_payload("x://y", None, given) is given
    elif row.id in JSON_RESOURCES:
        value, expected = JSON_RESOURCES[row.id]
        [found] = resource(value, "application/json")
        assert (found["uri"], found["mimeType"], json.loads(found["text"])) == ("x://y", "application/json", expected)
    else:
        value, mime_type, expected = RESOURCES[row.id]
        assert resource(value, mime_type) == expected


MIME_RULES: dict[str, Callable[[], bool]] = {
    "NRM-MIME-001": lambda: (
        {one["mimeType"] for value in ("x", b"x", [1]) for one in resource(value, "a/b")} == {"a/b"}
    ),
    "NRM-MIME-002": lambda: resource(b"x")[0]["mimeType"] == "application/octet-stream",
    "NRM-MIME-003": lambda: (
        {resource(value)[0]["mimeType"] for value in ("x", [1], Point(1), Opaque())} == {"text/plain"}
    ),
    "NRM-MIME-004": lambda: tool(["x", b"y", [1], None])["content"] == [*text("x"), *text("eQ=="), *text("1")],
}


@rows("NRM-MIME-")
def test_mime_type(row: Requirement) -> None:
    """MIME types follow their documented order."""
    assert MIME_RULES[row.id]()


@pytest.mark.parametrize("flag", [True, False])
def test_the_error_flag_is_the_handlers(flag: bool) -> None:
    """A result passes as the same object, and a dictionary of one keeps its flag."""
    given = sdk.CallToolResult(content=[TEXT], is_error=flag)
    assert normalize_tool_result(given) is given
    assert given.is_error is flag
    assert bool(normalize_tool_result({"content": text("x"), "isError": flag}).to_wire(VERSION).get("isError")) is flag


def test_the_two_functions_take_what_the_document_says() -> None:
    """One takes a value; the other a URI, a MIME type or None, and a value."""
    assert normalize_tool_result(object()).to_wire(VERSION)["content"]
    assert normalize_tool_result([1, 2]).to_wire(VERSION) == {
        "content": [*text("1"), *text("2")],
        "structuredContent": {"result": [1, 2]},
    }
    assert list(inspect.signature(normalize_resource_payload).parameters)[:2] == ["uri", "mime_type"]
    assert normalize_resource_payload("x://y", None, object()).to_wire(VERSION)["contents"][0]["uri"] == "x://y"


def test_the_text_and_the_members_of_a_result_are_what_its_reader_writes() -> None:
    """JSON in a text is spelled as the document prints it, and a block is read by its members."""
    result = normalize_tool_result({"key": "value", "count": 10, "names": ["é"]})
    assert result.content[0].text == '{"key": "value", "count": 10, "names": ["é"]}'
    assert (result.content[0].type, result.isError) == ("text", False)
    embedded = normalize_tool_result(OTHER_BLOCKS)
    assert (embedded.content[0].mimeType, embedded.content[2].resource.text) == ("audio/wav", "z")
    with pytest.raises(AttributeError, match="block of type text has no data"):
        _ = result.content[0].data
    assert json.loads(json.dumps(result.content)) == result.to_wire(VERSION)["content"]
    assert normalize_resource_payload("x://y", None, {"key": "value", "n": [1, 2]}).contents[0]["text"] == (
        '{"key": "value", "n": [1, 2]}'
    )
