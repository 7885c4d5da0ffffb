"""FastMCP: `install(server)`, and every tool and resource of a FastMCP server answers under a contract.

A transform hands out copies of the server's tools: with the output schema of the dialect, with the reply controls
among their inputs, and with a `_run` that keeps hold of the handler's own value. An extension tells clients what is
on offer, and makes unknown tools the protocol errors that the specification wants.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aerogram.contract import Contract
from aerogram.controls import Choice, Controls
from aerogram.errors import (
    Forbidden,
    InvalidReply,
    MissingExtra,
    NotFound,
    RateLimited,
    ReplyError,
    Unavailable,
    ValidationFailed,
)
from aerogram.faults import problem_of
from aerogram.flags import Flags
from aerogram.hosts import insist_on
from aerogram.jsontext import dumps
from aerogram.negotiation import EXTENSION
from aerogram.normalize.plain import is_plain
from aerogram.normalize.resource import ResourceResult, normalize_resource_payload
from aerogram.service import ARCHIVE_TEMPLATE, Caller, Profile, Service, contract_for
from aerogram.wire.mcp import INVALID_PARAMS, SchemaForm, read_error, sdk_blocks

try:
    import mcp_types
    from fastmcp import FastMCP
    from fastmcp.exceptions import AuthorizationError, DisabledError, FastMCPError, NotFoundError, ValidationError
    from fastmcp.resources import ResourceContent, ResourceTemplate
    from fastmcp.resources import ResourceResult as Read
    from fastmcp.resources.base import Resource
    from fastmcp.server.dependencies import fastmcp_request_ctx, get_access_token
    from fastmcp.server.extensions import ServerExtension
    from fastmcp.server.transforms import Transform
    from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
    from fastmcp.tools.function_tool import FunctionTool
    from fastmcp.tools.tool_transform import TransformedTool
    from fastmcp.utilities.components import public_result_meta
    from fastmcp.utilities.exceptions import get_http_status_code, is_timeout_error
    from mcp.server.auth.provider import principal_components
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = ["install"]

MOST_COPIES: Final = 2_000
LARGEST: Final = 1 << 24
Principal = Callable[[], str | None]


def install(
    server: FastMCP[Any],
    *,
    contract: Contract | None = None,
    controls: Choice = None,
    schema: SchemaForm | None = "slim",
    offers: Sequence[str] = (),
    negotiate: str | None = "server",
    flags: Flags | None = None,
    principal: Principal | None = None,
    **settings: Any,
) -> Service:
    """Put a contract to work on a server: its tools, those it has and those it will get, and its resources.

    `settings` are those of a `Contract` (`dialect`, `budget`, `budgets`, `channels`, `archive`, …), unless a
    `contract` is given. `controls` names the tools that get reply controls, `schema` is the form of the listed output
    schemas, `offers` are further dialects that clients may ask for. `negotiate` names the negotiation tool, None
    leaves it out. `principal` says who is calling; by default it is who the access token was issued to.
    """
    insist_on("fastmcp", server)
    if EXTENSION in server._extensions:
        raise InvalidReply("this server has Aerogram already: install it once")
    made = contract_for(contract, settings)
    service = Service(made, controls=controls, schema=schema, offers=offers, flags=flags)
    who = principal or _token_principal
    replies = _Replies(server, service, who)
    server.add_transform(replies)
    server.add_extension(_Negotiation(service, replies))
    # the first is the outermost, and what the others refuse is to be told as well
    server._extensions = {EXTENSION: server._extensions.pop(EXTENSION), **server._extensions}
    if service.offer.retrieve is not None:
        server.add_tool(_tool(service.retrieve, service.offer.retrieve))
        server.add_template(_archive_template(service, who))
    if negotiate is not None:
        server.add_tool(_tool(service.negotiate, negotiate))
    return service


def _tool(handler: Callable[..., Any], name: str) -> Tool:
    hints = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return Tool.from_function(handler, name=name, output_schema=None, annotations=hints)


def _token_principal() -> str | None:
    token = get_access_token()
    return None if token is None else dumps(principal_components(token)).decode()


# Tools


@dataclass(slots=True)
class _Own:
    """The value that a handler returned, on its way past the framework's conversion."""

    value: Any


class _Sent(ToolResult):
    """A result that is JSON already and goes to the wire as it stands."""

    def __init__(self, wire: Mapping[str, Any]) -> None:
        # past the base class, which would serialise everything once more
        super(ToolResult, self).__init__(
            content=sdk_blocks(wire["content"]),
            structured_content=wire.get("structuredContent"),
            meta=wire.get("_meta"),
            is_error=wire.get("isError", False),
        )

    def to_mcp_result(self) -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult(
            content=self.content, structured_content=self.structured_content, is_error=self.is_error, _meta=self.meta
        )


class _Replies(Transform):
    """Hands out the tools and resources of a server as ones that answer under its contract."""

    def __init__(self, server: FastMCP[Any], service: Service, principal: Principal) -> None:
        self._server = server
        self._service = service
        self._principal = principal
        self._copies: dict[tuple[int, bool], tuple[Tool, Tool]] = {}

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        # without a request it is the server who asks, and perhaps for those that run as tasks only
        if not self._service.has_checked_names and fastmcp_request_ctx.get() is not None:
            await self._check_names({tool.name for tool in tools})
        is_legacy = self._service.is_legacy(self._principal())
        return [self._replying(tool, is_legacy) for tool in tools]

    async def _check_names(self, known: set[str]) -> None:
        """Compare the names in the settings with the tools that are listed, and those that can be called unlisted."""
        self._service.has_checked_names = True  # looking for a tool may list them
        unlisted = {name for names in self._service.named.values() for name in names} - known
        known |= {name for name in unlisted if await self._server.get_tool(name) is not None}
        self._service.check_names(known)

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Tool | None:
        tool = await call_next(name, version=version)
        return None if tool is None else self._replying(tool)

    async def get_resource(self, uri: str, call_next: Any, *, version: Any = None) -> Resource | None:
        resource = await call_next(uri, version=version)
        return None if resource is None else _reading(resource, lambda *_: str(resource.uri))

    async def get_resource_template(self, uri: str, call_next: Any, *, version: Any = None) -> ResourceTemplate | None:
        template = await call_next(uri, version=version)
        return None if template is None else _reading(template, lambda *given: str(given[0]))

    def _caller(self) -> Caller:
        request = fastmcp_request_ctx.get()
        if request is None:
            return Caller(principal=self._principal())
        capabilities = request.session.client_capabilities
        return Caller(request.meta, self._principal(), capabilities.extensions if capabilities is not None else None)

    def _replying(self, tool: Tool, is_legacy: bool = False) -> Tool:
        """The copy of a tool that answers under the contract; one is enough for as long as the tool lives."""
        key = (id(tool), is_legacy)
        held = self._copies.get(key)
        if held is not None and held[0] is tool:
            return held[1]
        if len(self._copies) >= MOST_COPIES:  # providers may make new tools for each request
            self._copies.clear()
        copy = self._copy(tool, is_legacy)
        self._copies[key] = (tool, copy)
        return copy

    def _copy(self, tool: Tool, is_legacy: bool) -> Tool:
        service, own = self._service, _giving_own_value(tool)
        outputs = tool.output_schema
        profile = service.profile(
            tool.name,
            inputs=tool.parameters,
            outputs=outputs,
            is_boxed=bool(outputs and outputs.get("x-fastmcp-wrap-result")),
            returns=tool.return_type,
            controls=_controls(tool, service),
        )
        listed = service.output_schema(profile, is_legacy)
        changes: dict[str, Any] = {
            "parameters": profile.controls.extend(tool.parameters),
            "output_schema": listed and dict(listed),
        }
        if isinstance(tool, FunctionTool) and tool.task_config.supports_tasks():
            changes["fn"] = self._as_task(profile, tool)
        copy = tool.model_copy(update=changes)

        async def run(arguments: dict[str, Any]) -> Any:
            return await self._serve(profile, tool, arguments, own._run)

        # The server calls `_run`, tools made from this one call `run`, and background tasks `fn`.
        vars(copy).update(_run=run, run=run)
        return copy

    def _as_task(self, profile: Profile, tool: FunctionTool) -> Callable[..., Any]:
        """A handler that runs in the background, and gives the result that its task is to have."""

        @functools.wraps(tool.fn)
        async def run(*given: Any, **values: Any) -> Any:
            own = {name: values[name] for name in tool.parameters.get("properties", {}) if name in values}
            return await self._serve(profile, tool, own, lambda _: tool.fn(*given, **values))

        return run

    async def _serve(
        self, profile: Profile, tool: Tool, arguments: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[Any]]
    ) -> Any:
        async def handler(given: dict[str, Any]) -> Any:
            try:
                outcome: Any = await call(given)
            except Exception as error:  # noqa: BLE001 - told apart below
                meant = _fault(error, tool)
                # exceptions that cause each other send whoever prints their trace in circles
                raise meant from (None if meant in (error, error.__cause__) else error)
            return outcome.value if isinstance(outcome, _Own) else outcome

        sent = await self._service.serve(
            profile, arguments, self._caller(), handler, lambda *both: _converted(tool, *both), _UNTOUCHED
        )
        return sent if isinstance(sent, _UNTOUCHED) else _result(sent, tool)

    async def refuse(self, tool: Tool, error: Exception) -> ToolResult:
        """The result of a call that was refused before it came to a tool of ours."""
        profile = self._service.profile(tool.name, inputs={}, outputs=tool.output_schema, returns=tool.return_type)
        return _result(await self._service.answer(self._service.refused(profile, self._caller()), error), tool)


def _controls(tool: Tool, service: Service) -> Controls | None:
    """The controls of a tool, where they are not for the settings to say: what runs as a task is not shaped by them."""
    if tool.name == service.offer.retrieve:
        return Controls(("max_tokens",))
    return Controls() if tool.task_config.supports_tasks() else None


def _giving_own_value(tool: Tool) -> Tool:
    """A copy of a tool that gives back what its handler returned, not what the framework makes of it."""
    changes: dict[str, Any] = {}
    if isinstance(tool, TransformedTool) and tool.fn is tool.forwarding_fn:
        parent = _giving_own_value(tool.parent_tool)
        changes["fn"] = TransformedTool._create_forwarding_transform(parent, tool.transform_args)[1]
    copy = tool.model_copy(update=changes)
    vars(copy)["convert_result"] = lambda value: value if isinstance(value, _Own) else _Own(value)
    return copy


def _result(sent: Any, tool: Tool) -> ToolResult:
    """What the service gave as FastMCP's result; a finished result of the handler stays the same object."""
    return _Sent(sent) if isinstance(sent, dict) else tool.convert_result(sent)


def _converted(tool: Tool, value: Any, data: Any) -> dict[str, Any] | None:
    """FastMCP's own result for a value, if that says the same as the JSON."""
    try:
        result = tool.convert_result(value)
    except Exception:  # noqa: BLE001 - then ours is sent
        return None
    structured = result.structured_content
    payload = structured.get("result") if structured and (result.meta or {}).get("fastmcp") else structured
    if payload != data if structured is not None else not is_plain(value, LARGEST):
        return None
    found = {"content": result.content, "_meta": result.meta}
    return found if structured is None else {**found, "structuredContent": structured}


def _fault(error: Exception, tool: Tool) -> Exception:
    """The exception that says what a failure means; what must stay a protocol error goes on its way."""
    if isinstance(error, MCPError):
        if error.error.code == mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY:
            return error
        return ReplyError(error.error.message, code=_MCP_CODES.get(error.error.code, "UNAVAILABLE"))
    if isinstance(error, ValidationError) and isinstance(error.__cause__, Exception):
        return error.__cause__
    if isinstance(tool, TransformedTool) and isinstance(error, TypeError) and str(error).startswith(_ARGUMENT_FAULTS):
        return ValidationFailed(str(error))
    meaning = next((meant for kind, meant in _MEANINGS.items() if isinstance(error, kind)), None)
    return _upstream_fault(error) if meaning is None else meaning(str(error))


_UNTOUCHED: Final = (InputRequiredToolResult, mcp_types.InputRequiredResult, MCPError)
_MEANINGS: Final[Mapping[type[Exception], type[ReplyError]]] = {
    AuthorizationError: Forbidden,
    NotFoundError: NotFound,
    DisabledError: NotFound,
    FastMCPError: ReplyError,  # meant for the caller to read
}
_ARGUMENT_FAULTS: Final = ("Missing required argument", "Got unexpected keyword argument")
_MCP_CODES: Final = {
    mcp_types.INVALID_PARAMS: "VALIDATION_ERROR",
    mcp_types.METHOD_NOT_FOUND: "NOT_FOUND",
    mcp_types.INTERNAL_ERROR: "INTERNAL_ERROR",
}


def _upstream_fault(error: Exception) -> Exception:
    """What FastMCP itself tells about failures of HTTP services behind a tool."""
    if get_http_status_code(error) == 429:  # noqa: PLR2004 - the status has no better name
        return RateLimited("Rate limited by upstream API, please retry later")
    if is_timeout_error(error):
        return Unavailable("Upstream request timed out, please retry")
    return error


# Resources


class _Read(Read):
    """Contents that are normalised already, with how long they may be kept."""

    sent: Any

    def __init__(self, sent: mcp_types.ReadResourceResult) -> None:
        contents = [ResourceContent(_payload(one), mime_type=one.mime_type, meta=one.meta) for one in sent.contents]
        super(Read, self).__init__(contents=contents, meta=sent.meta, sent=sent)

    def to_mcp_result(self, _uri: Any) -> mcp_types.ReadResourceResult:
        found: mcp_types.ReadResourceResult = self.sent
        return found


def _payload(contents: Any) -> str | bytes:
    found: str | bytes = contents.text if hasattr(contents, "text") else base64.b64decode(contents.blob)
    return found


def _reading(component: Any, uri_of: Callable[..., str]) -> Any:
    """A copy of a resource, or of a template for some, whose values are normalised and whose faults are explained."""
    copy, own = component.model_copy(), component.model_copy()
    vars(own)["convert_result"] = _Own

    async def read(*given: Any) -> Any:
        uri = uri_of(*given)
        try:
            outcome = await own._read(*given)
            return _contents(component, uri, outcome.value) if isinstance(outcome, _Own) else outcome
        except (MCPError, FastMCPError):
            raise
        except Exception as error:
            raise MCPError(**read_error(problem_of(error), uri)) from error

    vars(copy)["_read"] = read
    return copy


def _contents(component: Any, uri: str, value: Any) -> Read:
    """The contents of a resource; FastMCP's own way for the values that it gets right."""
    is_items = isinstance(value, list) and bool(value) and isinstance(value[0], ResourceContent)
    if isinstance(value, (str, Read, mcp_types.InputRequiredResult)) or is_items:
        found: Read = component.convert_result(value)
        return found
    declared = None if component.mime_type == "text/plain" else component.mime_type
    result = normalize_resource_payload(uri, declared, value)
    sent = result.to_mcp() if isinstance(result, ResourceResult) else result
    meta = public_result_meta(component.meta)
    if meta:
        contents = [one.model_copy(update={"meta": {**meta, **(one.meta or {})}}) for one in sent.contents]
        sent = sent.model_copy(update={"contents": contents})
    return _Read(sent)


def _archive_template(service: Service, principal: Principal) -> ResourceTemplate:
    async def archived(hash: str) -> Any:
        body, mime_type, ttl_ms = await service.read_archive(hash, principal())
        uri = ARCHIVE_TEMPLATE.format(hash=hash)
        return _Read(normalize_resource_payload(uri, mime_type, body, ttl_ms=ttl_ms).to_mcp())

    return ResourceTemplate.from_function(
        archived, ARCHIVE_TEMPLATE, name="archive", description="What a reply left out, by its hash"
    )


# Negotiation


class _Negotiation(ServerExtension):
    """Advertises dialects, channels and budget; the client's settings are read with each call.

    As the first gate before a tool it also sees to it that an unknown one is answered with a protocol error, because
    that is a mistake in the request and not in the arguments, and that arguments which are refused before a tool is
    called, as those of tasks are, are answered with the reason.
    """

    identifier = EXTENSION

    def __init__(self, service: Service, replies: _Replies) -> None:
        self._service = service
        self._replies = replies

    def settings(self) -> dict[str, Any]:
        return self._service.offer.settings()

    async def intercept_tool_call(self, params: Any, context: Any, call_next: Any) -> Any:
        try:
            return await call_next()
        except (NotFoundError, DisabledError):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name!r}") from None
        except ValidationError as error:
            tool = await context.fastmcp.get_tool(params.name)
            return await self._replies.refuse(tool, _fault(error, tool))
