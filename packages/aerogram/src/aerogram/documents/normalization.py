"""Result normalisation: the two functions that the document names, and the types of the protocol that it returns.

The types are those of the mcp SDK, which has to be installed for them alone.
"""

from typing import Any, Final

from aerogram.errors import MissingExtra
from aerogram.normalize import normalize_resource_payload, normalize_tool_result

__all__ = ["normalize_resource_payload", "normalize_tool_result"]

_TYPES: Final = frozenset(
    {
        "AudioContent",
        "BlobResourceContents",
        "CallToolResult",
        "ContentBlock",
        "EmbeddedResource",
        "ImageContent",
        "ReadResourceResult",
        "ResourceLink",
        "TextContent",
        "TextResourceContents",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _TYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import mcp_types
    except ImportError:
        raise MissingExtra("mcp", "mcp") from None
    return getattr(mcp_types, name)
