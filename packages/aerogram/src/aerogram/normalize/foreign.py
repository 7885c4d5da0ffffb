"""Foreign: the result objects of the MCP packages, recognised only when the caller has imported those."""

from __future__ import annotations

import sys

__all__ = ["RESOURCE", "TOOL", "is_foreign_result"]

TOOL = ("fastmcp.tools.base", "ToolResult")
RESOURCE = ("fastmcp.resources.base", "ResourceResult")
"""Where FastMCP keeps its own results; the mcp SDK has one base for all of them."""


def is_foreign_result(kind: type, home: tuple[str, str]) -> bool:
    """Whether a class is a result of the mcp SDK, or the one of FastMCP that is named."""
    sdk, fastmcp = sys.modules.get("mcp_types"), sys.modules.get(home[0])
    ancestry = kind.__mro__  # models have a slow `issubclass`
    if sdk is not None and sdk.Result in ancestry:
        return True
    return fastmcp is not None and getattr(fastmcp, home[1]) in ancestry
