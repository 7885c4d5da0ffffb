"""standard-v2: the models, constructors and the MCP adapter that the document names."""

from aerogram.dialects.standard_v2 import (
    Citation,
    ErrorCode,
    Meta,
    QueryEcho,
    StandardError,
    StandardResponse,
    Status,
    SuggestedAction,
    wrap_for_mcp,
)

__all__ = [
    "Citation",
    "ErrorCode",
    "Meta",
    "QueryEcho",
    "StandardError",
    "StandardResponse",
    "Status",
    "SuggestedAction",
    "wrap_for_mcp",
]
