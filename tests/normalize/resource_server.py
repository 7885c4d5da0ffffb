"""A server of either framework whose resources are contents, with and without a MIME type, over standard input.

python resource_server.py fastmcp|sdk
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from mcp.types import BlobResourceContents, ReadResourceResult, TextResourceContents

import aerogram.fastmcp
import aerogram.mcp

# URI: the declared MIME type, how to make the value, and the contents that are read
RESOURCES: dict[str, tuple[str | None, Callable[[], Any], list[dict[str, Any]]]] = {
    "blob://silent": (
        None,
        lambda: BlobResourceContents(uri="blob://silent", blob="aGk="),
        [{"uri": "blob://silent", "mimeType": "application/octet-stream", "blob": "aGk="}],
    ),
    "text://silent": (
        None,
        lambda: TextResourceContents(uri="text://silent", text="hi"),
        [{"uri": "text://silent", "mimeType": "text/plain", "text": "hi"}],
    ),
    "blob://declared": (
        "image/png",
        lambda: BlobResourceContents(uri="blob://declared", blob="aGk="),
        [{"uri": "blob://declared", "mimeType": "image/png", "blob": "aGk="}],
    ),
    "blob://own": (
        "image/png",
        lambda: BlobResourceContents(uri="blob://own", mime_type="image/gif", blob="aGk="),
        [{"uri": "blob://own", "mimeType": "image/gif", "blob": "aGk="}],
    ),
    "list://silent": (
        None,
        lambda: [
            TextResourceContents(uri="list://1", text="hi", _meta={"page": 1}),
            BlobResourceContents(uri="list://2", blob="aGk="),
        ],
        [
            {"uri": "list://1", "mimeType": "text/plain", "text": "hi", "_meta": {"page": 1}},
            {"uri": "list://2", "mimeType": "application/octet-stream", "blob": "aGk="},
        ],
    ),
    "one://elsewhere": (
        None,
        lambda: TextResourceContents(uri="other://place", mime_type="text/csv", text="a,b", _meta={"rows": 1}),
        [{"uri": "other://place", "mimeType": "text/csv", "text": "a,b", "_meta": {"rows": 1}}],
    ),
    "dict://blob": (
        None,
        lambda: {"blob": "aGk="},
        [{"uri": "dict://blob", "mimeType": "application/octet-stream", "blob": "aGk="}],
    ),
    "dict://python": (
        None,
        lambda: {"mime_type": "text/html", "text": "<p>", "meta": {"rows": 1}},
        [{"uri": "dict://python", "mimeType": "text/html", "text": "<p>", "_meta": {"rows": 1}}],
    ),
    "dict://more": (
        None,
        lambda: {"text": "hi", "author": "Ann"},
        [{"uri": "dict://more", "mimeType": "text/plain", "text": '{"text": "hi", "author": "Ann"}'}],
    ),
    "result://whole": (
        "image/png",
        lambda: ReadResourceResult(contents=[BlobResourceContents(uri="result://1", blob="aGk=")]),
        [{"uri": "result://1", "blob": "aGk="}],
    ),
}


def serving(framework: str) -> Any:
    """A server of the framework with all of the resources."""
    server: Any = FastMCP("resources") if framework == "fastmcp" else MCPServer("resources", log_level="CRITICAL")
    for uri, (declared, make, _) in RESOURCES.items():
        server.resource(uri, name=uri, mime_type=declared)(make)
    (aerogram.fastmcp if framework == "fastmcp" else aerogram.mcp).install(server)
    return server


if __name__ == "__main__":
    options = {"show_banner": False} if sys.argv[1] == "fastmcp" else {}
    serving(sys.argv[1]).run("stdio", **options)
