"""Handlers as a reader of the document on normalisation writes them: each kind of value, and its own code."""

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types
from pydantic import BaseModel

from aerogram.documents.normalization import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    normalize_tool_result,
)
from aerogram.errors import NotFound
from contracts.document_examples import Example, example, examples

DIALECT = "bare"
SETTINGS: dict[str, Any] = {"normalize": True}


@dataclass
class Point:
    x: int
    tags: tuple[str, ...] = ("a",)


class Person(BaseModel):
    name: str
    photo: bytes = b"jpg"


class Opaque:
    __slots__ = ()

    def __str__(self) -> str:
        return "an opaque thing"


HERE = TextContent(type="text", text="Here:")
IMAGE = ImageContent(type="image", data="AAAA", mime_type="image/png")
OTHERS = [
    AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
    ResourceLink(type="resource_link", uri="x://y", name="y"),
    EmbeddedResource(type="resource", resource=TextResourceContents(uri="x://y", mime_type="text/plain", text="z")),
]
X = {"type": "text", "text": "x"}
PNG = b"\x89PNG\r\n\x1a\n"

VALUES: dict[str, Callable[[], Any]] = {
    "result": lambda: CallToolResult(content=[HERE], structured_content={"status": "ok"}),
    "result_in_error": lambda: CallToolResult(content=[HERE], is_error=True),
    "dict_of_result": lambda: {"content": [X], "structuredContent": {"a": 1}},
    "dict_in_error": lambda: {"content": [X], "isError": True},
    "dict_with_meta": lambda: {"content": [X], "meta": {"trace": 1}},
    "lookalike": lambda: {"content": "just a text", "value": 1},
    "dataclass": lambda: Point(1),
    "model": lambda: Person(name="Alice"),
    "block": lambda: HERE,
    "pair": lambda: ("done", {"ms": 123}),
    "pair_of_texts": lambda: ("x", "y"),
    "dict": lambda: {"key": "value"},
    "string": lambda: "Hello!",
    "empty_string": lambda: "",
    "integer": lambda: 42,
    "zero": lambda: 0,
    "float": lambda: 1.5,
    "bool": lambda: True,
    "none": lambda: None,
    "bytes": lambda: PNG,
    "bytearray": lambda: bytearray(PNG),
    "list": lambda: ["a", "b"],
    "empty_list": list,
    "nested_list": lambda: ["a", ["b", ["c"]]],
    "blocks": lambda: [HERE, IMAGE],
    "other_blocks": lambda: OTHERS,
    "nested_dataclass": lambda: {"at": Point(2)},
    "primitives": lambda: ["x", 1, 1.5, True, None],
    "keys": lambda: {1: Point(1), "b": {2: 3}},
    "collections": lambda: {"a": [1], "b": (1, 2), "c": {3}},
    "models_inside": lambda: {"a": [Person(name="Bob")]},
    "dict_named_result": lambda: {"result": {"a": 1}},
    "opaque": Opaque,
    "normalised": lambda: normalize_tool_result({"key": "value"}),
}

ONE = TextResourceContents(uri="a://1", mime_type="text/plain", text="First")
TWO = BlobResourceContents(uri="a://2", mime_type="image/png", blob="AAAA")


def raise_not_found() -> Any:
    raise NotFound("no such document")


PAYLOADS: dict[str, tuple[str | None, Callable[[], Any]]] = {
    "result": (None, lambda: ReadResourceResult(contents=[ONE])),
    "content": (None, lambda: ONE),
    "contents": (None, lambda: [ONE, TWO]),
    "content-dict": (None, lambda: {"mimeType": "text/csv", "text": "a,b"}),
    "dict": ("application/json", lambda: {"key": "value"}),
    "bytes": (None, lambda: PNG),
    "bytearray": ("image/png", lambda: bytearray(PNG)),
    "string": (None, lambda: "Hello"),
    "dataclass": ("application/json", lambda: Point(1)),
    "model": ("application/json", lambda: Person(name="Bob")),
    "json": ("application/json", lambda: [1, {"a": None}]),
    "opaque": (None, Opaque),
    "declared": ("application/json", lambda: '{"theme": "dark"}'),
    "undeclared": (None, lambda: Point(1)),
    "missing": (None, raise_not_found),
}
"""The declared MIME type of each resource, and its handler; its address is its name after `wire://`."""

SHOWN = [one for one in examples() if one.document == "result-normalization" and one.result_of]
"""The results that the document shows, each with the code that gives it."""


class Code(dict[str, Any]):
    """The handlers in the code of the document, with what its decorators were told."""

    def __init__(self) -> None:
        super().__init__()
        self.resources: dict[str, tuple[str, str | None]] = {}

    def tool(self, **_: Any) -> Callable[[Any], Any]:
        return lambda handler: handler

    def resource(self, uri: str, mime_type: str | None = None) -> Callable[[Any], Any]:
        def keep(handler: Any) -> Any:
            self.resources[handler.__name__] = (uri, mime_type)
            return handler

        return keep

    def run(self, shown: Example) -> Any:
        """The handler of an example, from the code as it is printed; the package that it names is the protocol's."""
        package = types.ModuleType("openmcp")
        package.tool, package.resource = self.tool, self.resource  # type: ignore[attr-defined]
        sys.modules.update({"openmcp": package, "openmcp.types": mcp_types})
        code, name = shown.result_of[:2]
        scope: dict[str, Any] = {**vars(mcp_types), "tool": self.tool, "resource": self.resource}
        exec(compile(example(code).text(), code, "exec", dont_inherit=True), scope)
        return scope[name]


def name_of(shown: Example) -> str:
    """What the tool of an example is called."""
    return "shown_" + shown.id.replace("-", "_")


def arguments_of(shown: Example) -> dict[str, Any]:
    """What the tool of an example is asked with."""
    return {"name": "Alice"} if shown.result_of[1] == "greet" else {}
