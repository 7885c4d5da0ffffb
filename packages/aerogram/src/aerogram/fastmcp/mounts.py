"""Mounts: what contracts of servers that are mounted on each other share: one archive, one dialect, one count.

A client may not reach the retrieval tool of a mounted server. So the contract that is answering offers its own archive,
and its own tool, to the contracts further in. These answer in its dialect, and leave it to count and to charge. What a
server elsewhere keeps, of which this one is a proxy, is fetched there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from aerogram._mcp.service import OuterContract
from aerogram.answer import CURRENT
from aerogram.archive import Archive
from aerogram.errors import MissingExtra

try:
    from fastmcp import FastMCP
    from fastmcp.server.dependencies import fastmcp_request_ctx, get_context
    from fastmcp.server.providers import Provider
    from fastmcp.tools.base import Tool
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = [
    "KEPT",
    "Calling",
    "Keeper",
    "Kept",
    "keeping",
    "kept_further_out",
    "looking_behind",
    "note_outermost",
    "outermost",
    "read_behind",
]

Calling = Callable[[dict[str, Any]], Awaitable[Any]]


class Keeper(NamedTuple):
    """Where a server around this one keeps what replies leave out, and its tool that gives it back."""

    retrieve: str
    archive: Archive


class Kept(NamedTuple):
    """What the contract of a mounted server has from the one around it."""

    keeper: Keeper | None
    around: OuterContract


_KEEPER: ContextVar[Keeper | None] = ContextVar("aerogram_keeper", default=None)
"""What the contract that is answering offers to those of the servers that are mounted on its own."""
KEPT: Final[ContextVar[Kept | None]] = ContextVar("aerogram_kept", default=None)


def keeping(offered: Keeper | None, call: Calling) -> Calling:
    """A call of a handler during which the servers that are mounted on its own are offered an archive, or none."""
    if offered is None and _KEEPER.get() is None and KEPT.get() is None:
        return call

    async def run(given: dict[str, Any]) -> Any:
        tokens = _KEEPER.set(offered), KEPT.set(None)
        try:
            return await call(given)
        finally:
            _KEEPER.reset(tokens[0])
            KEPT.reset(tokens[1])

    return run


def kept_further_out(tool: Tool) -> Tool:
    """A copy of a tool of a mounted server whose contract keeps what it leaves out where the one around it does."""
    keeper, copy = _KEEPER.get(), tool.model_copy(update={})

    async def run(arguments: dict[str, Any]) -> Any:
        token = KEPT.set(Kept(keeper, _around()))
        try:
            return await tool._run(arguments)
        finally:
            KEPT.reset(token)

    vars(copy).update(_run=run, run=run)
    return copy


def looking_behind(server: FastMCP[Any], name: str, call: Calling) -> Calling:
    """A call of the retrieval tool that asks the server of which this one is a proxy for what is not kept here.

    The tool of that server has the same name, so this one hides it from clients.
    """

    async def run(given: dict[str, Any]) -> Any:
        try:
            return await call(given)
        except Exception:
            for provider in _behind(server):
                tool = await provider.get_tool(name)
                with suppress(Exception):  # it has not got it either
                    found = None if tool is None else await tool._run(given)
                    if found is not None and not found.is_error:
                        return found
            raise

    return run


async def read_behind(server: FastMCP[Any], uri: str) -> Any:
    """What a server has at a URI of which this one is a proxy; the own resource at that URI hides it."""
    for provider in _behind(server):
        template = await provider.get_resource_template(uri)
        if template is not None:
            with suppress(Exception):
                return await template._read(uri, template.matches(uri) or {})
    return None


def _behind(server: FastMCP[Any]) -> list[Provider]:
    return [one for one in server.providers if one is not server.local_provider]


def _around() -> OuterContract:
    """What the contract does that is answering; the payload alone is no answer for those who list an envelope."""
    call = CURRENT.get(None)
    if call is None:
        return OuterContract()
    contract = call.contract
    speaker = None if contract.speaker.name == "bare" else contract.speaker
    return OuterContract(speaker, contract.observer is not None, contract.limits is not None)


_OUTERMOST: Final = "aerogram_outermost"


async def note_outermost(server: FastMCP[Any]) -> None:
    """Remember which server the client is talking to, when it looks for a tool of one that is mounted on it.

    What is noted in the state of a request is there for every server that takes part in it.
    """
    if fastmcp_request_ctx.get() is None:
        return
    context = get_context()
    if context.fastmcp is not server and await context.get_state(_OUTERMOST) is None:
        await context.set_state(_OUTERMOST, context.fastmcp, serializable=False)


async def outermost() -> FastMCP[Any] | None:
    """The server that the client is talking to, where it is another one than it has its answer from."""
    found: FastMCP[Any] | None = await get_context().get_state(_OUTERMOST)
    return found
