"""Any Python value in, a valid MCP result out."""

from aerogram.normalize.blocks import Block
from aerogram.normalize.output import Output
from aerogram.normalize.policy import Policy
from aerogram.normalize.registry import Registry, register
from aerogram.normalize.resource import ResourceResult, normalize_resource_payload
from aerogram.normalize.result import ContentBlock, ToolResult
from aerogram.normalize.stream import settle
from aerogram.normalize.tool import normalize_tool_result

__all__ = [
    "Block",
    "ContentBlock",
    "Output",
    "Policy",
    "Registry",
    "ResourceResult",
    "ToolResult",
    "normalize_resource_payload",
    "normalize_tool_result",
    "register",
    "settle",
]
