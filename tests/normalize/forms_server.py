"""Every row of the table of forms as two tools of a server of either framework, over standard input.

python forms_server.py fastmcp|sdk off|bare|normalize
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer

import aerogram.fastmcp
import aerogram.mcp
from normalize.forms_table import ROWS, Row

SETTINGS: dict[str, dict[str, Any]] = {"bare": {}, "normalize": {"normalize": True}}


def handler_of(row: Row, annotated: bool) -> Any:
    """A handler that returns the row's value, and perhaps says so."""

    async def handler() -> Any:
        value = row.make()
        return await value if inspect.iscoroutine(value) else value

    annotation = row.annotation if not inspect.iscoroutinefunction(row.make) else dict[str, int]
    handler.__annotations__ = {"return": annotation} if annotated else {}
    return handler


def serving(framework: str, kind: str) -> Any:
    """A server with all of the rows, with and without Aerogram; an annotation that it refuses is left out."""
    server: Any = FastMCP("forms") if framework == "fastmcp" else MCPServer("forms", log_level="CRITICAL")
    add = server.tool if framework == "fastmcp" else server.add_tool
    for place, row in enumerate(ROWS):
        add(handler_of(row, annotated=False), name=f"plain-{place}")
        try:
            add(handler_of(row, annotated=True), name=f"annotated-{place}")
        except Exception as refusal:  # noqa: BLE001 - each framework has its own
            print(row.name, type(refusal).__name__, file=sys.stderr)
    if kind in SETTINGS:
        install = (aerogram.fastmcp if framework == "fastmcp" else aerogram.mcp).install
        install(server, dialect="bare", negotiate=None, **SETTINGS[kind])
    return server


if __name__ == "__main__":
    options = {"show_banner": False} if sys.argv[1] == "fastmcp" else {}
    serving(*sys.argv[1:]).run("stdio", **options)
