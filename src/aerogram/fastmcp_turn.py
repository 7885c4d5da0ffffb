"""Turn: one call of a client, and who is asking while it is answered.

A handler may call other tools of its server. That is a program inside of the process, and no client.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from aerogram.errors import MissingExtra
from aerogram.fastmcp_hearing import is_listened_to
from aerogram.service import CURRENT

try:
    from fastmcp import FastMCP
    from fastmcp.server.dependencies import fastmcp_request_ctx
    from fastmcp.server.transforms.search.base import BaseSearchTransform
    from fastmcp.tools.base import ToolResult
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = ["TURN", "Turn", "is_asked_inside"]


class Turn(NamedTuple):
    """A call of a client: its request, and the results of handlers that are to be sent as they are."""

    request: Any
    finished: list[ToolResult]


TURN: Final[ContextVar[Turn]] = ContextVar("aerogram_turn")


def is_asked_inside(server: FastMCP[Any]) -> bool:
    """Whether it is a handler that asks a server for a tool, one that is answering under a contract itself."""
    opened = CURRENT.get(None)
    if opened is None or is_listened_to(server):
        return False
    turn = TURN.get(None)
    if (None if turn is None else turn.request) is not fastmcp_request_ctx.get():
        return False  # a client in the same process
    # the tool of a search that calls others is the way of a client to them
    searches = (one for one in server.transforms if isinstance(one, BaseSearchTransform))
    return all(opened.profile.name != one._call_tool_name for one in searches)
