"""Calls: one of a client, and who is asking while it is answered.

A handler may call other tools of its server. That is a program inside of the process, and no client. A handler that
runs in the background has no request any more, so what its client asked for travels with the arguments of its task.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Annotated, Any, Final, NamedTuple

from aerogram._mcp.negotiation import EXTENSION
from aerogram._mcp.results import PREFIX
from aerogram.answer import CURRENT, Call
from aerogram.errors import MissingExtra
from aerogram.fastmcp.handlers import is_listened_to

try:
    import pydantic
    from fastmcp import FastMCP
    from fastmcp.server.dependencies import fastmcp_request_ctx, get_context
    from fastmcp.server.transforms.search.base import BaseSearchTransform
    from fastmcp.tools.base import ToolResult
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = ["TURN", "Asked", "Turn", "has_answered", "in_the_background", "is_asked_inside"]


class Turn(NamedTuple):
    """A call of a client: its request, and the results of handlers that are to be sent as they are.

    `around` is the call that the client itself may be a part of, where it is a handler in the same process.
    """

    request: Any
    finished: list[ToolResult]
    around: Call | None = None


TURN: Final[ContextVar[Turn]] = ContextVar("aerogram_turn")


async def is_asked_inside(server: FastMCP[Any]) -> bool:
    """Whether it is a handler that asks a server for a tool, one that is answering under a contract itself."""
    call = CURRENT.get(None)
    if call is None or is_listened_to(server):
        return False
    turn = TURN.get(None)
    if turn is not None and call is turn.around:
        return False  # no handler has been called yet
    if (None if turn is None else turn.request) is not fastmcp_request_ctx.get():
        return False  # a client in the same process
    # the tool of a search that calls others is the way of a client to them
    searches = [one for one in server.transforms if isinstance(one, BaseSearchTransform)]
    return all([await one.get_tool(call.operation, _find_nothing) is None for one in searches])


async def _find_nothing(*_: Any, **__: Any) -> None:
    """What a transform finds behind it, so that it gives only what is its own."""


def has_answered() -> bool:
    """Whether the client has answered what a handler asked it for, in this call or on the way to it."""
    try:
        context = get_context()
    except RuntimeError:  # nobody has asked through a server
        return False
    return not (context.input_responses is None and context.request_state is None)


# Background tasks


class Asked(NamedTuple):
    """What a request says about the reply that is wanted: of its `_meta` and its client's extensions, what is ours."""

    meta: Mapping[str, Any]
    extensions: Mapping[str, Any]


_ASKED: Final = "aerogram_asked"
_OWN_META: Final = (EXTENSION, "traceparent", "tracestate")


def _asked_for() -> dict[str, Any]:
    """What the request asks for that is being answered, as an argument that any worker can read."""
    request = fastmcp_request_ctx.get()
    if request is None:
        return {}
    capabilities = request.session.client_capabilities
    extensions = (capabilities.extensions if capabilities is not None else None) or {}
    own = {name: value for name, value in (request.meta or {}).items() if name in _OWN_META or name.startswith(PREFIX)}
    return {"meta": own, "extensions": {name: extensions[name] for name in (EXTENSION,) if name in extensions}}


def in_the_background(handler: Callable[..., Any], run: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """A handler that is run with what its client asked for as a first argument, whichever process runs it."""

    @functools.wraps(handler)
    async def task(*given: Any, **values: Any) -> Any:
        said = values.pop(_ASKED, None)
        parts = [(said if isinstance(said, Mapping) else {}).get(name) for name in Asked._fields]
        return await run(Asked(*(part if isinstance(part, Mapping) else {} for part in parts)), *given, **values)

    # The task's arguments are validated by this signature when it is created, within the request.
    filled_in = Annotated[Any, pydantic.Field(default_factory=_asked_for)]
    added = inspect.Parameter(_ASKED, inspect.Parameter.KEYWORD_ONLY, annotation=filled_in)
    signature = inspect.signature(handler)
    others = list(signature.parameters.values())
    is_open = bool(others) and others[-1].kind is inspect.Parameter.VAR_KEYWORD
    places = [*others[:-1], added, others[-1]] if is_open else [*others, added]
    vars(task)["__signature__"] = signature.replace(parameters=places)
    task.__annotations__ = {**handler.__annotations__, _ASKED: filled_in}
    return task
