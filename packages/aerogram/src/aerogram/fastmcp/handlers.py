"""Handlers: what the handlers behind FastMCP's tools return and raise, past every conversion on the way.

    FunctionTool ──▶ Own(value)
    TransformedTool ──▶ what its parent or its own function gives
    tool of a mounted server ──▶ Told(result, value)     Hearing, a transform on that server, lets it tell

A mounted server answers with a result that FastMCP has made already, because its own middleware is to see one. While a
contract further out is listening to it, that result has the handler's value along with it. Where the middleware puts
another result in its place, or the tool is a proxy of a server elsewhere, there is only what the result says.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NoReturn, TypeVar, cast, get_type_hints

from aerogram._mcp.faults import Masked
from aerogram.errors import (
    Conflict,
    Forbidden,
    MissingExtra,
    NotFound,
    RateLimited,
    ReplyError,
    ToolFailed,
    Unauthenticated,
    ValidationFailed,
    hint,
    names_at,
)
from aerogram.limits.fields import read_retry_after
from aerogram.normalize import Policy
from aerogram.normalize.stream import DrainedItems, drain, settle
from aerogram.problems import BrokenOff, blame_handler, problem_of
from aerogram.reply import Reply, ResumablePage

try:
    import mcp_types
    import pydantic
    from fastmcp import FastMCP
    from fastmcp.exceptions import (
        AuthorizationError,
        DisabledError,
        FastMCPError,
        NotFoundError,
        ResourceError,
        ToolError,
        ValidationError,
    )
    from fastmcp.resources import ResourceResult as Read
    from fastmcp.resources import ResourceTemplate
    from fastmcp.resources.base import Resource
    from fastmcp.resources.template import FunctionResourceTemplate
    from fastmcp.server.providers.fastmcp_provider import (
        FastMCPProviderResource,
        FastMCPProviderResourceTemplate,
        FastMCPProviderTool,
    )
    from fastmcp.server.transforms import Transform
    from fastmcp.tools.base import Tool, ToolResult
    from fastmcp.tools.function_tool import FunctionTool
    from fastmcp.tools.tool_transform import TransformedTool
    from fastmcp.utilities.async_utils import is_coroutine_function
    from fastmcp.utilities.components import FastMCPComponent
    from fastmcp.utilities.exceptions import get_http_status_code, is_request_error, is_timeout_error
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = [
    "LISTENED_TO",
    "NOTHING",
    "Hearing",
    "Meant",
    "Own",
    "explain",
    "fault",
    "giving_own_contents",
    "giving_own_value",
    "own_value",
    "read_result",
    "tell_inside",
]

Run = Callable[..., Awaitable[Any]]
Component = TypeVar("Component", bound=FastMCPComponent)
NOTHING: Final = object()


@dataclass(slots=True)
class Own:
    """The value that a handler returned, on its way past the framework's conversion."""

    value: Any


def own_value(outcome: Any) -> Any:
    """The value that a handler returned, or `NOTHING` where only the framework's result is left of it."""
    if isinstance(outcome, Own):
        value = outcome.value
        # what another tool told the handler, which gives it on
        return value if not isinstance(value, _Told) or value.own is NOTHING else value.own
    return outcome.own if isinstance(outcome, (_Told, _ToldRead)) else NOTHING


def read_result(result: ToolResult, tool: Tool) -> Any:
    """What a result says of which nothing but the result is left; a failure, or a picture, says what it is itself."""
    if result.is_error or any(block.type != "text" for block in result.content):
        return result
    structured = result.structured_content
    if structured is None:
        texts = [block.text for block in result.content if block.type == "text"]
        return texts[0] if len(texts) == 1 else texts or None
    marks = ((result.meta or {}).get("fastmcp") or {}).get("wrap_result"), (tool.output_schema or {}).get(_BOXED)
    return structured["result"] if any(marks) and structured.keys() == {"result"} else structured


_BOXED: Final = "x-fastmcp-wrap-result"


class _Told(ToolResult):
    """A result as FastMCP makes it, and the value that it was made of."""

    _own: Any = pydantic.PrivateAttr()
    _made: Any = pydantic.PrivateAttr()

    def __init__(self, tool: Tool, value: Any) -> None:
        made = _make(tool, value)
        # past the base class, which would serialise everything once more
        super(ToolResult, self).__init__(**made)
        self._own, self._made = value, (self.content, self.structured_content)

    @property
    def own(self) -> Any:
        """The value, unless somebody has changed the result since."""
        is_as_made = self.content is self._made[0] and self.structured_content is self._made[1]
        return self._own if is_as_made else NOTHING


def _make(tool: Tool, value: Any) -> dict[str, Any]:
    said = value.reply if isinstance(value, ResumablePage) else value
    try:
        made = _data_alone(said) if isinstance(said, Reply) else tool.convert_result(value)
    except Exception:  # noqa: BLE001 - FastMCP cannot write every value that we can
        return {"content": []}
    return {name: getattr(made, name) for name in ("content", "structured_content", "meta", "is_error")}


def _data_alone(said: Reply[Any]) -> ToolResult:
    """What there is to tell of a reply where only values are told: its data, or why there is none."""
    if said.problem is not None:
        return ToolResult(said.problem.message, is_error=True)
    data = said.data
    return ToolResult(data, data if isinstance(data, dict) else {"result": data})


class _ToldRead(Read):
    """Contents as FastMCP makes them, and the value that they were made of."""

    _own: Any = pydantic.PrivateAttr()
    _made: Any = pydantic.PrivateAttr()

    def __init__(self, component: Any, value: Any) -> None:
        try:
            made = component.convert_result(value)
            super(Read, self).__init__(contents=made.contents, meta=made.meta)
        except Exception:  # noqa: BLE001 - FastMCP cannot write every value that we can
            super(Read, self).__init__(contents=[])
        self._own, self._made = value, self.contents

    @property
    def own(self) -> Any:
        """The value, unless somebody has changed the contents since."""
        return self._own if self.contents is self._made else NOTHING


# Tools and resources that give it


def giving_own_value(tool: Tool) -> Tool:
    """A copy of a tool that gives what `own_value` reads: what its handler returned, not what FastMCP makes of it."""
    if isinstance(tool, FastMCPProviderTool):
        return _listening(tool, "_run", "run")
    changes: dict[str, Any] = {}  # copies of proxies want a dictionary, here and below
    if isinstance(tool, TransformedTool):
        changes = _own_parent(tool)
    elif isinstance(tool, FunctionTool):
        changes = {"fn": _reading_streams(tool.fn)}
    copy = tool.model_copy(update=changes)
    vars(copy)["convert_result"] = lambda value: value if isinstance(value, Own) else Own(value)
    return copy


_STREAM: Final = Policy(max_items=1_000_000, max_seconds=math.inf)
"""So much of a generator that FastMCP would read to its end, which it may not have."""


def _reading_streams(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler whose generator is read while what the handler depends on is still there, as FastMCP reads it."""
    if is_coroutine_function(handler) or inspect.isasyncgenfunction(handler):

        @functools.wraps(handler)
        async def read(*given: Any, **values: Any) -> Any:
            value = handler(*given, **values)
            value = await value if inspect.isawaitable(value) else value
            return _all_or_some(await settle(value, _STREAM)) if inspect.isasyncgen(value) else _read_stream(value)

    else:

        @functools.wraps(handler)
        def read(*given: Any, **values: Any) -> Any:
            return _read_stream(handler(*given, **values))

    return read


def _read_stream(value: Any) -> Any:
    return _all_or_some(drain(value, _STREAM)) if inspect.isgenerator(value) else value


def _all_or_some(read: DrainedItems) -> list[Any]:
    return read if read.notice is not None else list(read)


def _own_parent(tool: TransformedTool) -> dict[str, Any]:
    """What changes in a transformed tool, so that it gives its parent's own value."""
    is_plain = tool.fn is tool.forwarding_fn
    # a function of its own looks at the result of its parent before it gives it on, or does not
    parent = giving_own_value(tool.parent_tool) if is_plain else _telling(tool.parent_tool)
    forwarding = TransformedTool.from_tool(parent, transform_args=tool.transform_args).forwarding_fn
    return {"fn": forwarding} if is_plain else {"forwarding_fn": forwarding, "parent_tool": parent}


def _telling(tool: Tool) -> Tool:
    """A copy of a tool whose results are FastMCP's, with the handler's value along with them."""
    own, copy = giving_own_value(tool), tool.model_copy(update={})

    async def run(arguments: dict[str, Any]) -> Any:
        outcome = await own._run(arguments)
        return _Told(tool, outcome.value) if isinstance(outcome, Own) else outcome

    vars(copy).update(_run=run, run=run)
    return copy


def tell_inside(server: FastMCP[Any], tool: Tool) -> Tool:
    """A tool as FastMCP has it, for a handler that calls it: what it gives and raises can be given on as it was."""
    # that of a mounted server is told there
    return tool if isinstance(tool, FastMCPProviderTool) else _meaning_all(server, _telling(tool), tool)


def giving_own_contents(component: Any) -> Any:
    """A copy of a resource, or of a template for some, that gives what `own_value` reads."""
    if isinstance(component, (FastMCPProviderResource, FastMCPProviderResourceTemplate)):
        return _listening(component, "_read")
    copy = component.model_copy(update={})
    vars(copy)["convert_result"] = Own
    vars(copy)["_read"] = _blaming(component, copy._read)
    return copy


def _blaming(component: Any, read: Run) -> Run:
    """A reading that tells wrong arguments of the caller from what the handler itself got wrong."""

    async def run(*given: Any) -> Any:
        try:
            return await read(*given)
        except pydantic.ValidationError as error:
            _check_arguments(component, *given)
            raise RuntimeError("a resource handler made something that is not valid") from error
        except ValueError:
            _check_arguments(component, *given)
            raise

    return run


def _check_arguments(component: Any, _uri: str = "", given: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Raise what is wrong with arguments that came as texts; FastMCP knows fewer words for truth than pydantic."""
    if not isinstance(component, FunctionResourceTemplate):
        return
    try:
        hints = get_type_hints(component.fn, include_extras=True)
    except NameError:  # names that are not there at run time
        return
    wanted = {name: (_Truth if hints[name] is bool else hints[name], ...) for name in given if name in hints}
    pydantic.create_model("Arguments", **cast(Any, wanted)).model_validate(given)


_Truth = Annotated[Literal["true", "1", "yes", "false", "0", "no"], pydantic.BeforeValidator(str.lower)]


# Mounted servers

LISTENED_TO: Final[ContextVar[FastMCP[Any] | None]] = ContextVar("aerogram_listened_to", default=None)
"""The mounted server whose next answer a contract is waiting for."""


def _listening(component: Component, *methods: str) -> Component:
    """A copy of what stands for a component of a mounted server, whose own value is asked of that server."""
    server: FastMCP[Any] = component._server  # type: ignore[attr-defined]  # those of mounted servers have one
    if not any(isinstance(one, Hearing) for one in server.transforms):
        server.add_transform(Hearing(server))
    copy = component.model_copy(update={})
    vars(copy).update({name: _wrap_run(server, getattr(component, name)) for name in methods})
    return copy


def _wrap_run(server: FastMCP[Any] | None, call: Run) -> Run:
    async def run(*given: Any) -> Any:
        token = LISTENED_TO.set(server)
        try:
            return await call(*given)
        finally:
            LISTENED_TO.reset(token)

    return run


class Hearing(Transform):
    """Lets a contract further out hear the handlers of a mounted server; for everybody else it changes nothing."""

    def __init__(self, server: FastMCP[Any]) -> None:
        self._server = server

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Tool | None:
        """A tool that tells whoever is listening."""
        tool: Tool | None = await call_next(name, version=version)
        if tool is None or not self._is_heard:
            return tool
        return _meaning_all(self._server, _telling(tool), tool)

    async def get_resource(self, uri: str, call_next: Any, *, version: Any = None) -> Resource | None:
        """A resource that tells whoever is listening."""
        resource: Resource | None = await call_next(uri, version=version)
        return self._wrap_read(resource, uri) if resource is not None and self._is_heard else resource

    async def get_resource_template(self, uri: str, call_next: Any, *, version: Any = None) -> ResourceTemplate | None:
        """A template for resources that tell whoever is listening."""
        template: ResourceTemplate | None = await call_next(uri, version=version)
        return self._wrap_read(template, uri) if template is not None and self._is_heard else template

    @property
    def _is_heard(self) -> bool:
        return LISTENED_TO.get() is self._server

    def _wrap_read(self, component: Any, uri: str) -> Any:
        own, copy = giving_own_contents(component), component.model_copy(update={})

        async def read(*given: Any) -> Any:
            outcome = await own._read(*given)
            return _ToldRead(component, outcome.value) if isinstance(outcome, Own) else outcome

        vars(copy)["_read"] = _meaning(self._server, read, f"Error reading resource {uri!r}", component, _is_sent)
        return copy


def _meaning_all(server: FastMCP[Any], told: Tool, tool: Tool) -> Tool:
    run = _meaning(server, told._run, f"Error calling tool {tool.name!r}", tool, _is_protocol_error)
    vars(told).update(_run=run, run=run)
    return told


def _meaning(server: FastMCP[Any], call: Run, words: str, component: Any, passes: Callable[[Exception], bool]) -> Run:
    """A call whose exceptions keep their meaning on the way past the server, which has only words for them."""

    async def run(*given: Any) -> Any:
        try:
            return await _wrap_run(None, call)(*given)
        except Exception as error:
            if isinstance(error, FastMCPError) or passes(error):
                raise
            is_masked = server._mask_error_details
            told = words if is_masked else f"{words}: {error}"
            raise Meant(told, fault(error, component, in_own_words=True), is_masked=is_masked) from error

    return run


class Meant(ToolError, ResourceError):
    """What a handler of a mounted server raised, in the words that its server has for it."""

    def __init__(self, words: str, meant: Exception, *, is_masked: bool) -> None:
        super().__init__(words)
        self.meant = meant
        self.is_masked = is_masked


# What exceptions mean


def explain(error: Exception, component: Any, parameters: Mapping[str, Any], *, in_own_words: bool = False) -> NoReturn:
    """Raise what an exception means, by the parameters that are listed.

    What a service behind the tool did can be told in its own words.
    """
    meant = fault(error, component, parameters, in_own_words=in_own_words)
    if isinstance(error, Meant) and error.is_masked:
        meant = Masked(meant)
    # exceptions that cause each other send whoever prints their trace in circles
    raise meant from (meant.__cause__ if meant in (error, error.__cause__) else error)


def fault(
    error: Exception, component: Any, parameters: Mapping[str, Any] | None = None, *, in_own_words: bool = False
) -> Exception:
    """The exception that says what a failure means; what must stay a protocol error goes on its way.

    `parameters` are those that a tool is listed with, where controls are among them.
    """
    if isinstance(error, Meant):
        is_said = in_own_words or isinstance(error.meant, ReplyError)
        return error.meant if is_said else _upstream_fault(error.meant)
    if isinstance(error, MCPError):
        said = BrokenOff(error.error.message, code=_MCP_CODES.get(error.error.code, "UNAVAILABLE"))
        return error if _is_protocol_error(error) else said
    if isinstance(error, ValidationError) and isinstance(error.__cause__, Exception):
        schema = getattr(component, "parameters", None)
        listed = {**schema, "properties": parameters} if isinstance(schema, Mapping) and parameters else schema
        return _naming_what_there_is(error.__cause__, listed)
    if isinstance(component, Tool):  # of its arguments a model's refusal would be FastMCP's own
        error = blame_handler(error)
    is_transformed = isinstance(component, TransformedTool)
    if is_transformed and isinstance(error, TypeError) and str(error).startswith(_ARGUMENT_FAULTS):
        return ValidationFailed(str(error))
    meaning = next((meant for kind, meant in _MEANINGS.items() if isinstance(error, kind)), None)
    if meaning is None:
        return error if in_own_words else _upstream_fault(error)
    return meaning(str(error))


def _naming_what_there_is(error: Exception, schema: Any) -> Exception:
    """Of an argument that a tool does not have, the nearest that it has, or all of them; other faults as they are."""
    if not isinstance(error, pydantic.ValidationError) or not isinstance(schema, Mapping):
        return error
    problem = problem_of(error)
    said = dict(problem.details or {})
    *above, name = str(said.get("field", "")).split(".")
    known = names_at(schema, above)
    if said.get("constraint") != "unknown_field" or not known:
        return error
    advice = f"{problem.remediation}; {hint(name, known)}"
    return ValidationFailed(problem.message, code=problem.code, remediation=advice, details={**said, "allowed": known})


_MEANINGS: Final[Mapping[type[Exception], type[ReplyError]]] = {
    AuthorizationError: Forbidden,
    NotFoundError: NotFound,
    DisabledError: NotFound,
    FastMCPError: ToolFailed,  # meant for the caller to read
}
_ARGUMENT_FAULTS: Final = ("Missing required argument", "Got unexpected keyword argument")
_MCP_CODES: Final = {
    mcp_types.INVALID_PARAMS: "VALIDATION_ERROR",
    mcp_types.METHOD_NOT_FOUND: "NOT_FOUND",
    mcp_types.INTERNAL_ERROR: "INTERNAL_ERROR",
}


def _is_protocol_error(error: Exception) -> bool:
    return isinstance(error, MCPError) and error.error.code == mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY


def _is_sent(error: Exception) -> bool:
    """Whether reading a resource ends in just this protocol error."""
    return isinstance(error, MCPError)


def _upstream_fault(error: Exception) -> Exception:
    """What failures of HTTP services behind a tool mean; the framework may have put words of its own around them."""
    for one in (error, error.__cause__):
        if one is None:
            continue
        if is_timeout_error(one):
            return BrokenOff("The request to the service behind this tool timed out", code="UNAVAILABLE")
        if is_request_error(one):
            return BrokenOff("The service behind this tool cannot be reached", code="UNAVAILABLE")
        status = get_http_status_code(one)
        if status is not None:
            return _status_fault(one, status) or error
    return error


def _status_fault(error: BaseException, status: int) -> Exception | None:
    """What an HTTP status of a service behind a tool means to the caller, if it is not a failure of the tool."""
    wait = read_retry_after(cast(Any, error).response.headers.get("retry-after"))
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited("Rate limited by upstream API, please retry later", retry_after=wait)
    if status in _UNAVAILABLE:
        return BrokenOff("The service behind this tool is not available", code="UNAVAILABLE", retry_after=wait)
    # only of tools that are made of routes the status is the answer; elsewhere it may be a slip of the handler
    is_answer = str(error).startswith(f"HTTP error {status}")
    meant = _ANSWERED.get(status)
    return None if meant is None or not is_answer else meant(str(error))


_UNAVAILABLE: Final = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_ANSWERED: Final[Mapping[int, type[ReplyError]]] = {
    HTTPStatus.BAD_REQUEST: ValidationFailed,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: NotFound,
    HTTPStatus.UNPROCESSABLE_ENTITY: ValidationFailed,
}
