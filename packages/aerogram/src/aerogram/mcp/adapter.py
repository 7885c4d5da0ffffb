"""Adapter: `install(server)`, and every tool and resource of an `MCPServer` answers under a contract.

The server's tool manager is replaced by one that hands out the same tools as ones that answer: with the output
schema of the dialect, with the reply controls among their inputs, and with the handler's own value in hand, because
the SDK's `Tool.run` converts only when it is asked to. Resources and templates are wrapped as they are read. A server
that has handlers and no managers is for `aerogram.mcp.lowlevel`.
"""

from __future__ import annotations

import base64
import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

from aerogram._mcp.cleaning import clean_messages
from aerogram._mcp.defaults import check_principal, contract_for
from aerogram._mcp.listing import Profile, SchemaForm
from aerogram._mcp.negotiation import EXTENSION
from aerogram._mcp.pairing import split_pair
from aerogram._mcp.results import INVALID_PARAMS, hints_of, prompt_fault, protocol_error, resource_error, to_sdk
from aerogram._mcp.service import ARCHIVE_TEMPLATE, Caller, Service
from aerogram.answer import CURRENT
from aerogram.answer.aside import run_by_size
from aerogram.channels import meta_of
from aerogram.content.jsontext import dumps
from aerogram.contract import Contract, insist_on
from aerogram.contract.flags import Flags
from aerogram.dialects.bare import BareDialect
from aerogram.errors import InvalidReply, MissingExtra, NotFound, ReplyError, ToolFailed
from aerogram.normalize.native import documented_result, native_result
from aerogram.normalize.output import Output, is_rows_of_any_length
from aerogram.normalize.policy import MODERN, is_modern
from aerogram.normalize.resource import ResourceResult, normalize_resource_payload
from aerogram.normalize.result import ToolResult
from aerogram.normalize.signals import is_signal
from aerogram.normalize.stream import settle
from aerogram.problems import problem_of
from aerogram.reply import Reply
from aerogram.sanitize import Step, sanitize_text
from aerogram.shape.controls import Choice, Controls
from aerogram.shape.pages import ResumablePage
from aerogram.state import owner_of

try:
    import anyio.to_thread
    import mcp_types
    import pydantic
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.server.auth.provider import principal_components
    from mcp.server.extension import Extension
    from mcp.server.lowlevel import Server
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedResourceError, UnexpectedToolError
    from mcp.server.mcpserver.resources import (
        DirectoryResource,
        FileResource,
        FunctionResource,
        Resource,
        ResourceManager,
    )
    from mcp.server.mcpserver.tools import Tool, ToolManager
    from mcp.shared.exceptions import MCPError

    from aerogram.mcp.lowlevel import clean_contents, install_on_handlers
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["install"]

Principal = Callable[[], str | None]
_NO_NAME: Final = "mcp-server"
"""What the SDK calls a server without a name."""


def install(
    server: MCPServer[Any] | Server[Any],
    *,
    contract: Contract | None = None,
    controls: Choice = None,
    schema: SchemaForm | None = "slim",
    offers: Sequence[str] = (),
    negotiate: str | None = "server",
    flags: Flags | None = None,
    principal: Principal | None = None,
    normalize: bool = False,
    text_schema: bool = True,
    **settings: Any,
) -> Service:
    """Put a contract to work on a server: its tools, those it has and those it will get, and its resources.

    `settings` are those of a `Contract` (`dialect`, `budget`, `budgets`, `channels`, `archive`, …), unless a
    `contract` is given. `controls` names the tools that get reply controls, `schema` is the form of the listed output
    schemas, `offers` are further dialects that clients may ask for. `negotiate` names the negotiation tool, which is
    there when an envelope, `offers` or flags are; None leaves it out. `principal` says who is calling; by default it is
    who the access token was issued to. With `normalize`, bare payloads are written and listed as the normaliser does
    it, and not as the SDK would. Without `text_schema`, tools that return a text list no schema for it,
    and send the text once. A low-level `Server` needs its handlers before; their results are finished, so there is
    nothing to `normalize`.
    """
    insist_on("mcp", server)
    is_low_level = isinstance(server, Server)
    if is_low_level and normalize:
        raise InvalidReply("the handlers of a low-level Server give finished results: normalize is not for them")
    made = contract_for(contract, settings, owner_of(None if server.name == _NO_NAME else server.name))
    service = Service(
        made,
        server=server,
        controls=controls,
        schema=schema,
        offers=offers,
        flags=flags,
        shows_errors=is_low_level,  # as it does itself
        text_schema=text_schema,
    )
    who = check_principal(principal) or _token_principal
    if isinstance(server, Server):
        install_on_handlers(server, service, who, service.claim(negotiate, ()))
    else:
        _install_on_managers(server, service, who, negotiate, normalize)
    return service


def _install_on_managers(
    server: MCPServer[Any], service: Service, who: Principal, negotiate: str | None, normalize: bool
) -> None:
    if isinstance(server._tool_manager, _Tools):
        raise InvalidReply("this server has Aerogram already: install it once")
    negotiate = service.claim(negotiate, {tool.name for tool in server._tool_manager.list_tools()})
    # The SDK has no public way to its tools and resources as objects, nor to add an extension to a server that exists.
    server._tool_manager = _Tools(server._tool_manager, service, who, normalize)
    steps = service.contract.sanitizers
    server._resource_manager = _Resources(server._resource_manager, steps)  # type: ignore[assignment]
    clean_messages(server, service.cleaner)
    server.middleware.append(_Readings(service, who))
    server._apply_extension(_Negotiation(service))
    hints = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    if service.offer.retrieve is not None:
        server.add_tool(service.retrieve, service.offer.retrieve, annotations=hints, structured_output=False)
        _add_archive(server, service, who)
    if negotiate is not None:
        server.add_tool(service.negotiate, negotiate, annotations=hints, structured_output=False)


def _token_principal() -> str | None:
    token = get_access_token()
    return None if token is None else dumps(principal_components(token)).decode()


class _Negotiation(Extension):
    """Advertises dialects, channels and budget; the client's settings are read with each call."""

    identifier = EXTENSION

    def __init__(self, service: Service) -> None:
        self._service = service

    def settings(self) -> dict[str, Any]:
        return self._service.settings()


# Tools


class _Tools(ToolManager):
    """The tools of a server, handed out as ones that answer under its contract."""

    def __init__(self, held: ToolManager, service: Service, principal: Principal, normalize: bool) -> None:
        super().__init__(held.warn_on_duplicate_tools, tools=held.list_tools())
        self._service = service
        self._principal = principal
        self._normalizes = normalize
        self._forms = replace(service.contract.forms, blocks="each")
        self._copies: dict[tuple[str, bool], tuple[Tool, Tool]] = {}

    def add_tool(self, fn: Callable[..., Any], name: str | None = None, *given: Any, **more: Any) -> Tool:
        if (called := name or getattr(fn, "__name__", "")) in self._tools:
            self._service.check_name(called)
        return super().add_tool(fn, name, *given, **more)

    def get_tool(self, name: str) -> Tool | None:
        tool = super().get_tool(name)
        return None if tool is None else self._replying(tool)

    def list_tools(self) -> list[Tool]:
        if not self._service.listing.has_checked_names:
            self._service.listing.check_names({tool.name for tool in super().list_tools()})
        try:
            is_legacy = self._service.is_legacy(self._principal())
        except Exception as error:
            raise MCPError(**protocol_error(problem_of(error))) from error
        return [self._replying(tool, is_legacy) for tool in super().list_tools()]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """A tool that is not there is a mistake in the request, so the answer is a protocol error."""
        tool = self.get_tool(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name!r}")
        return await tool.run(arguments, context, convert_result=convert_result)

    def _replying(self, tool: Tool, is_legacy: bool = False) -> Tool:
        """The copy of a tool that answers under the contract; one is enough for as long as the tool is registered."""
        key = (tool.name, is_legacy)
        held = self._copies.get(key)
        if held is None or held[0] is not tool:
            held = self._copies[key] = (tool, self._copy(tool, is_legacy))
        return held[1]

    def _copy(self, tool: Tool, is_legacy: bool) -> Tool:
        service, returns = self._service, _find_return_type(tool.fn)
        output = Output.of(returns, self._forms.registry) if self._normalizes else None
        profile = service.listing.profile(
            tool.name,
            inputs=tool.parameters,
            outputs=output.for_version() if output else None if self._is_ours(returns) else tool.output_schema,
            is_boxed=tool.fn_metadata.wrap_output if output is None else output.is_boxed,
            returns=returns,
            controls=Controls(("max_tokens",)) if tool.name == service.offer.retrieve else None,
            hints=hints_of(tool),
        )
        inputs, meta = (
            service.listing.input_schema(profile, tool.parameters, is_legacy),
            service.listing.listed_meta(tool.name, tool.meta),
        )
        copy = tool.model_copy(update={"parameters": inputs, "meta": meta})
        parting = None if is_rows_of_any_length(returns) else self._split_pair
        convert = functools.partial(self._convert, tool, output)

        async def run(arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
            if not convert_result:
                return await tool.run(arguments, context)
            return await self._run(profile, tool, arguments, context, convert, parting)

        listed = service.listing.output_schema(profile, is_legacy)
        vars(copy).update(run=run, output_schema=listed and dict(listed))
        return copy

    def _is_ours(self, returns: Any) -> bool:
        """Whether a result or content of ours is annotated, of which the SDK would list the attributes."""
        return isinstance(returns, type) and (
            returns is ToolResult or self._forms.registry.forms[returns].kind == "block"
        )

    async def _run(
        self, profile: Profile, tool: Tool, arguments: dict[str, Any], context: Any, convert: Any, parting: Any
    ) -> Any:
        async def handler(given: dict[str, Any]) -> Any:
            try:
                value = await tool.run(given, context)
            except Exception as error:  # noqa: BLE001 - told apart below
                raised, meant = error, _fault(error)
            else:
                return parting(value) if type(value) is tuple and parting is not None else value
            if meant in (raised, raised.__cause__):
                raise meant  # out here, so that it is not caused by what it has caused itself
            raise meant from raised

        caller = self._caller(context, None)
        try:
            caller = caller._replace(principal=self._principal())
        except Exception as error:  # noqa: BLE001 - every call gets an answer
            return to_sdk(await self._service.answer_besides(profile, caller, error))
        sent = await self._service.serve(profile, arguments, caller, handler, convert, _UNTOUCHED)
        return to_sdk(sent) if isinstance(sent, dict) else sent

    def _split_pair(self, value: Any) -> Any:
        """A pair as a reply that has both halves, unless the SDK has the say about it."""
        contract = CURRENT.get().contract
        if contract.speaker.is_bare and not self._normalizes:
            return value
        return split_pair(value, contract)

    def _convert(self, tool: Tool, output: Output | None, value: Any, data: Any) -> dict[str, Any] | None:
        """The result of a bare payload: the SDK's own, and the documented one for what the SDK does not know."""
        if output is not None:
            return documented_result(value, data, self._forms, output)
        own = native_result(tool.fn_metadata.convert_result, value, data)
        if own is None and tool.output_schema is not None:
            _insist_on_type(tool, data)
        if own is not None or tool.output_schema is not None:
            return own
        return documented_result(value, data, self._forms)

    def _caller(self, context: Any, principal: str | None) -> Caller:
        try:
            request = context.request_context
        except ValueError:  # a program asks, and not a client
            return Caller(principal=principal)
        meta = (request.params or {}).get("_meta")
        has_answered = not (context.input_responses is None and context.request_state is None)
        return Caller.of(request, meta if isinstance(meta, Mapping) else None, principal, has_answered=has_answered)


def _insist_on_type(tool: Tool, data: Any) -> None:
    """Refuse data that is not what the handler's annotation says, as the SDK does: a client would have to."""
    try:
        tool.fn_metadata.convert_result(data)
    except pydantic.ValidationError as error:
        raise TypeError(f"what {tool.name} returned is not what it is annotated with") from error


def _find_return_type(handler: Callable[..., Any]) -> Any:
    try:
        return typing.get_type_hints(handler, include_extras=True).get("return")
    except (NameError, TypeError):  # a partial, or names that are not there at run time
        return None


def _fault(error: Exception) -> Exception:
    """The exception that says what a failure means; what must stay a protocol error goes on its way."""
    cause = error.__cause__
    if isinstance(error, MCPError):
        return error
    if isinstance(error, UnexpectedToolError):  # a crash; a model that the handler built wrongly is one as well
        is_crash = isinstance(cause, (pydantic.ValidationError, UnexpectedToolError, UnexpectedResourceError))
        return cause if isinstance(cause, Exception) and not is_crash else error
    if isinstance(cause, pydantic.ValidationError):
        return cause
    return ToolFailed(str(cause or error)) if isinstance(error, ToolError) else error


_UNTOUCHED: Final = (mcp_types.InputRequiredResult, MCPError)


# Resources


class _Resources:
    """The resources of a server, read as normalised contents; for everything else there is the manager that it has."""

    def __init__(self, held: ResourceManager, sanitizers: Sequence[Step]) -> None:
        self._held = held
        self._sanitizers = sanitizers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)

    async def get_resource(self, uri: Any, context: Any) -> Any:
        """A resource that is read as normalised contents."""
        try:
            found = await self._held.get_resource(uri, context)
        except UnexpectedResourceError as error:
            raise _unreadable(error.__cause__ or error, str(uri)) from error
        except BaseException as error:
            if isinstance(error, Exception) or is_signal(error):
                raise
            raise _unreadable(error, str(uri)) from error
        if not isinstance(found, Resource):  # a question to the client
            return found
        is_archived = str(uri).startswith(ARCHIVE_TEMPLATE.partition("{")[0])  # that was made clean before
        return _Reading(uri=str(uri), held=found, sanitizers=() if is_archived else self._sanitizers)


class _Reading(Resource):
    """One reading of a resource: its value, normalised, and the MIME type that goes with it."""

    held: Any
    sanitizers: Any = ()

    async def read(self) -> str | bytes:
        """The contents; what the handler raised becomes a protocol error that says what to do."""
        self.mime_type, self.meta = self.held.mime_type, self.held.meta
        try:
            if not isinstance(self.held, FunctionResource):
                return await self._write(self.held)
            # an async handler gives a coroutine there, which is awaited here
            return await self._normalize(await settle(await anyio.to_thread.run_sync(self.held.fn)))
        except BaseException as error:
            if isinstance(error, (MCPError, ResourceError)) or is_signal(error):
                raise
            if isinstance(error, FileNotFoundError) and isinstance(self.held, (FileResource, DirectoryResource)):
                error = NotFound("What this resource shows is not there at the moment")
            raise _unreadable(error, self.uri) from error

    async def _normalize(self, value: Any) -> str | bytes:
        """The contents of a value, which of a reply are its data; what else it says is said besides."""
        said = value.reply if isinstance(value, ResumablePage) else value
        if not isinstance(said, Reply):
            return await self._write(value)
        if said.problem is not None:
            raise MCPError(**resource_error(said.problem, self.uri))
        found, besides = await self._write(said.data), _BESIDES.get({})
        besides["_meta"] = {**besides.get("_meta", {}), **meta_of(said, _ASIDE)}
        return found

    async def _write(self, value: Any) -> str | bytes:
        steps = self.sanitizers
        found = await value.read() if isinstance(value, Resource) else value
        if isinstance(found, str):
            return await run_by_size("clean", len(found) if steps else 0, sanitize_text, found, *steps)
        if isinstance(value, Resource):
            return found
        declared = None if self.mime_type == "text/plain" else self.mime_type
        wire = _read_wire(normalize_resource_payload(self.uri, declared, value), self.meta)
        if steps:
            wire["contents"] = await clean_contents(wire["contents"], *steps)
        besides = _BESIDES.get(None)
        if besides is not None:
            besides.update(wire)
            return ""
        if len(wire["contents"]) != 1:
            raise ResourceError(f"{self.uri} has more to say than one text; read it through a client")
        (only,) = wire["contents"]
        self.mime_type = only.get("mimeType", self.mime_type)
        text: str | None = only.get("text")
        return base64.b64decode(only["blob"]) if text is None else text


def _read_wire(result: Any, meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """The result of a reading as it is sent; what the server says of the resource goes with each of its contents."""
    is_ours = isinstance(result, ResourceResult)
    wire = result.to_wire(MODERN) if is_ours else result.model_dump(mode="json", by_alias=True, exclude_none=True)
    if meta:
        wire["contents"] = [{**one, "_meta": {**meta, **one.get("_meta", {})}} for one in wire["contents"]]
    found: dict[str, Any] = wire
    return found


def _unreadable(error: BaseException, uri: str) -> MCPError:
    return MCPError(**resource_error(problem_of(error), uri))


_BESIDES: ContextVar[dict[str, Any]] = ContextVar("aerogram_besides")
"""The result of a reading, where a `Resource` of the SDK has no place for it: contents, `_meta`, how long they hold."""


class _Readings:
    """What is given out that no tool is called for: as far as its caller may have it, and with all it had to say."""

    def __init__(self, service: Service, principal: Principal) -> None:
        self._service = service
        self._principal = principal

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        """Go on with a message; most of them are somebody else's."""
        if ctx.method not in ("resources/read", "prompts/get"):
            return await call_next(ctx)
        asked = ctx.params if isinstance(ctx.params, Mapping) else {}
        meta = asked.get("_meta")
        read = _say_besides if ctx.method == "resources/read" else _explain_prompt
        try:
            caller = Caller(meta if isinstance(meta, Mapping) else None, self._principal())
            return await self._service.give_out(ctx.method, caller, lambda: read(ctx, call_next))
        except ReplyError as error:
            where = {"uri": str(asked["uri"])} if "uri" in asked else {}
            raise MCPError(**protocol_error(problem_of(error), **where)) from error


async def _explain_prompt(ctx: Any, call_next: Any) -> Any:
    """Getting a prompt; the SDK makes one error of what its caller, its author and nobody could have known."""
    try:
        return await call_next(ctx)
    except ValueError as error:
        meant = prompt_fault(error)
        if meant is None:
            raise
        raise MCPError(**protocol_error(problem_of(meant))) from error


async def _say_besides(ctx: Any, call_next: Any) -> Any:
    """Reading a resource, with everything that it had to say."""
    token = _BESIDES.set({})
    try:
        result = await call_next(ctx)
        besides = _BESIDES.get()
    finally:
        _BESIDES.reset(token)
    kept = besides if is_modern(ctx.protocol_version) else {name: besides[name] for name in _EVER if name in besides}
    return {**result, **kept} if kept else result


_ASIDE: Final = BareDialect()
_EVER: Final = ("contents", "_meta")
"""The members of a result that are as old as the protocol."""


def _add_archive(server: MCPServer[Any], service: Service, principal: Principal) -> None:
    """The archive as a resource template, and how long its entries may be kept."""

    async def read_archived(hash: str) -> Any:
        uri = ARCHIVE_TEMPLATE.format(hash=hash)
        body, mime_type, ttl_ms = await service.read_archive(hash, principal())
        return normalize_resource_payload(uri, mime_type, body, ttl_ms=ttl_ms)

    server.resource(ARCHIVE_TEMPLATE, name="archive", description="What a reply left out, by its hash")(read_archived)
