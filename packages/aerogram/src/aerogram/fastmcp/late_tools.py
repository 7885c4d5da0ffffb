"""Late tools: those that transforms have added since a contract was installed, which answer under it as well.

tools ── transforms ── contract ── transforms that came later ── LateTools ──▶ clients

A server has its transforms in the order in which they were added. So when one has come late, one more is added behind
it: before a call, and before tools are listed for clients or workers, which begins with the server's own provider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from aerogram.errors import MissingExtra
from aerogram.fastmcp.handlers import Hearing

try:
    from fastmcp import FastMCP
    from fastmcp.server.transforms import Transform
    from fastmcp.tools.base import Tool
    from fastmcp.tools.tool_transform import TransformedTool
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = ["ANSWERING", "LateTools", "ListingCheck", "cover_late_tools"]

ANSWERING: Final = "_aerogram_answering"
"""The attribute of tools that answer under a contract, and of their copies."""


class Replies(Protocol):
    """What hands out tools as ones that answer."""

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]: ...

    async def handed_out(self, tool: Tool) -> Tool: ...


class LateTools(Transform):
    """Hands out the tools that have no contract yet as ones that answer under it."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """All tools, as ones that answer."""
        others = [tool for tool in tools if not _is_answering(tool)]
        answering = dict(zip(map(id, others), await self._replies.list_tools(others), strict=True)) if others else {}
        return [answering.get(id(tool), tool) for tool in tools]

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Tool | None:
        """A tool as one that answers."""
        tool: Tool | None = await call_next(name, version=version)
        return tool if tool is None or _is_answering(tool) else await self._replies.handed_out(tool)


def _is_answering(tool: Tool) -> bool:
    """Whether a tool answers under a contract, or is made of one that does."""
    return ANSWERING in vars(tool) or (isinstance(tool, TransformedTool) and _is_answering(tool.parent_tool))


class ListingCheck(Transform):
    """On the server's own provider, which lists its tools before the transforms of the server are applied."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """The same tools."""
        self._check()
        return tools


def cover_late_tools(server: FastMCP[Any], contract: Transform, late: LateTools) -> None:
    """See to it that the last transform of a server is one of its contract's."""
    for one in reversed(server.transforms):
        if one is contract or one is late:
            return
        if not isinstance(one, Hearing):  # which listens to the server as a whole, and adds nothing
            server.add_transform(late)
            return
