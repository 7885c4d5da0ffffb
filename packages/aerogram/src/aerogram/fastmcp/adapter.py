"""The adapter: `install(server)`, and every tool and resource of a FastMCP server answers under a contract.

A transform hands out copies of the server's tools: with the output schema of the dialect, with the reply controls
among their inputs, and with a `_run` that keeps hold of the handler's own value. An extension tells clients what is
on offer. A first middleware answers for what the others refuse, and makes unknown tools protocol errors.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial
from types import MethodType
from typing import Annotated, Any, Final, NamedTuple, cast

from aerogram._mcp.cleaning import clean_messages
from aerogram._mcp.defaults import check_principal, contract_for
from aerogram._mcp.listing import Profile, SchemaForm
from aerogram._mcp.negotiation import EXTENSION
from aerogram._mcp.pairing import split_pair
from aerogram._mcp.results import INVALID_PARAMS, PREFIX, hints_of, prompt_fault, protocol_error, sdk_blocks
from aerogram._mcp.service import Caller, OuterContract, Service
from aerogram.answer import CURRENT, Call
from aerogram.archive import Archive
from aerogram.content.jsontext import dumps
from aerogram.contract import Contract, insist_on
from aerogram.contract.flags import Flags
from aerogram.errors import InvalidReply, MissingExtra
from aerogram.fastmcp.handlers import (
    LISTENED_TO,
    NOTHING,
    Hearing,
    Own,
    explain,
    fault,
    giving_own_value,
    own_value,
    read_result,
    tell_inside,
)
from aerogram.fastmcp.resources import archive_template, reading, unreadable
from aerogram.normalize.native import documented_result, native_result
from aerogram.normalize.output import Output, is_rows_of_any_length
from aerogram.problems import problem_of
from aerogram.sanitize import Step
from aerogram.shape.controls import Choice, Controls
from aerogram.state import owner_of

try:
    import mcp_types
    import pydantic
    from fastmcp import FastMCP
    from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
    from fastmcp.resources import ResourceTemplate
    from fastmcp.resources.base import Resource
    from fastmcp.server.dependencies import fastmcp_request_ctx, get_access_token, get_context, get_http_headers
    from fastmcp.server.extensions import ServerExtension
    from fastmcp.server.middleware import Middleware, MiddlewareContext
    from fastmcp.server.providers import Provider
    from fastmcp.server.transforms import Transform
    from fastmcp.server.transforms.search.base import BaseSearchTransform
    from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
    from fastmcp.tools.function_tool import FunctionTool
    from fastmcp.tools.tool_transform import TransformedTool
    from mcp.server.auth.provider import principal_components
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = ["install"]


_NO_NAMES: Final = ("OpenAPI Server", "FastAPI")
"""What servers are called that were made from a description or an application without a name."""
MOST_COPIES: Final = 2_000
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
    it, and not as FastMCP would. Without `text_schema`, tools that return a text list no schema for it,
    and send the text once.
    """
    insist_on("fastmcp", server)
    if any(isinstance(one, _Replies) for one in server.transforms):
        raise InvalidReply("this server has Aerogram already: install it once")
    made = contract_for(contract, settings, owner_of(_own_name(server)))
    shows = not server._mask_error_details
    service = Service(
        made,
        server=server,
        controls=controls,
        schema=schema,
        offers=offers,
        flags=flags,
        shows_errors=shows,
        text_schema=text_schema,
    )
    negotiate = service.claim(negotiate, _names_of_tools(server))
    who = check_principal(principal) or _token_principal
    replies = _Replies(server, service, who, normalize)
    server.add_transform(replies)
    check = partial(cover_late_tools, server, replies, LateTools(replies))
    server.local_provider.add_transform(ListingCheck(check))
    server.middleware.insert(0, _Outermost(server, replies, check))
    clean_messages(server._mcp_server, service.cleaner)  # FastMCP has no public way to its low-level server
    server.add_extension(_Negotiation(service))
    if service.offer.retrieve is not None:
        server.add_tool(_tool(Service.retrieve, service, service.offer.retrieve))
        server.add_template(archive_template(service, who, partial(read_behind, server)))
    if negotiate is not None:
        server.add_tool(_tool(Service.negotiate, service, negotiate))
    _keep_own_tools(server, service)
    return service


def _own_name(server: FastMCP[Any]) -> str | None:
    """The name that a server was given; one without gets another at each start, which is nobody's."""
    is_made_up = re.fullmatch(rf"{type(server).__name__}-[0-9a-f]{{4}}", server.name) is not None
    return None if is_made_up or server.name in _NO_NAMES else server.name


def _tool(method: Callable[..., Any], service: Service, name: str) -> Tool:
    """A tool of our own: a method of a service."""
    return _parse_method(method).model_copy(deep=True, update={"fn": MethodType(method, service), "name": name})


def _keep_own_tools(server: FastMCP[Any], service: Service) -> None:
    """Refuse tools that would take the place of our own: FastMCP would only warn, and has no public way to look."""
    provider = server.local_provider
    add = provider._add_component

    def check(component: Any) -> Any:
        if isinstance(component, Tool):
            service.check_name(component.name)
        return add(component)

    vars(provider)["_add_component"] = check


@cache
def _parse_method(method: Callable[..., Any]) -> Tool:
    """What FastMCP finds out about a method, which is most of the work of an installation and the same for all."""
    hints = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return Tool.from_function(MethodType(method, object()), output_schema=None, annotations=hints)


def _names_of_tools(server: FastMCP[Any]) -> set[str]:
    """The names of the tools that were registered with a server itself."""
    # they can only be awaited, and the loop that may be running here cannot wait for itself
    with ThreadPoolExecutor(1) as aside:
        tools = aside.submit(asyncio.run, server.local_provider.list_tools()).result()
    return {one.name for one in tools}


def _token_principal() -> str | None:
    token = get_access_token()
    return None if token is None else dumps(principal_components(token)).decode()


# Tools


class _Sent(ToolResult):
    """A result that is JSON already and goes to the wire as it stands."""

    @classmethod
    def of(cls, wire: Mapping[str, Any], content: list[Any]) -> _Sent:
        """The result for what is to be sent; the usual way would serialise and check everything once more."""
        return cls.model_construct(
            content=content,
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

    def __init__(self, server: FastMCP[Any], service: Service, principal: Principal, normalize: bool) -> None:
        self._server = server
        self._service = service
        self._principal = principal
        self._normalizes = normalize
        self._forms = replace(service.contract.forms, blocks="each")
        self._copies: dict[tuple[int, bool], tuple[Tool, Tool]] = {}

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        # without a request it is the server who asks, and perhaps for those that run as tasks only
        if not self._service.listing.has_checked_names and fastmcp_request_ctx.get() is not None:
            await self._check_names({tool.name for tool in tools})
        is_legacy = self._service.is_legacy(self._listener())
        if self._runs_code() and await is_asked_inside(self._server):  # then calls are made inside as well
            return [self._replying(tool, is_legacy) if self._is_own(tool) else tool for tool in tools]
        return [self._replying(tool, is_legacy) for tool in tools]

    def _runs_code(self) -> bool:
        """Whether tools are called by code that a client sends, which gets whole values and not replies."""
        mode = sys.modules.get("fastmcp.experimental.transforms.code_mode")
        return mode is not None and any(isinstance(one, mode.CodeMode) for one in self._server.transforms)

    def _listener(self) -> str | None:
        """Who wants to know the tools: nobody when the server starts; what `principal` raises is a protocol error."""
        if fastmcp_request_ctx.get() is None:
            return None
        try:
            return self._principal()
        except Exception as error:
            raise MCPError(**protocol_error(problem_of(error))) from error

    async def _check_names(self, known: set[str]) -> None:
        """Compare the names in the settings with the tools that are listed, and those that can be called unlisted."""
        self._service.listing.has_checked_names = True  # looking for a tool may list them
        unlisted = {name for names in self._service.listing.names_by_setting.values() for name in names} - known
        known |= {name for name in unlisted if await self._server.get_tool(name) is not None}
        self._service.listing.check_names(known)

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Tool | None:
        tool = await call_next(name, version=version)
        if tool is None:
            return None
        await note_outermost(self._server)
        return await self.hand_out(tool)

    async def hand_out(self, tool: Tool) -> Tool:
        """A tool as it is handed out to whoever calls it."""
        if not self._is_own(tool) and await is_asked_inside(self._server):
            return tell_inside(self._server, tool)
        copy = self._replying(tool)
        return kept_further_out(copy) if LISTENED_TO.get() is self._server else copy

    def _is_own(self, tool: Tool) -> bool:
        return getattr(tool, "fn", None) in (self._service.retrieve, self._service.negotiate)

    @property
    def _sanitizers(self) -> Sequence[Step]:
        return self._service.contract.sanitizers

    async def get_resource(self, uri: str, call_next: Any, *, version: Any = None) -> Resource | None:
        resource = await call_next(uri, version=version)
        return None if resource is None else reading(resource, lambda *_: str(resource.uri), self._sanitizers)

    async def get_resource_template(self, uri: str, call_next: Any, *, version: Any = None) -> ResourceTemplate | None:
        template = await call_next(uri, version=version)
        return None if template is None else reading(template, lambda *given: str(given[0]), self._sanitizers)

    async def _caller(self, tool: Tool, principal: str | None) -> Caller:
        request = fastmcp_request_ctx.get()
        answered = self._service.contract.cache is not None and has_answered()  # only a cache wants to know
        if request is None:  # what runs in the background may know the headers that it was asked with
            return Caller(principal=principal, has_answered=answered, headers=get_http_headers(include_all=True))
        kept = KEPT.get()
        keeper = None if kept is None else kept.keeper
        if keeper is None and self._service.offer.retrieve is not None:
            retrieve, archive = await self._retrieve_as_listed(request, tool), None
        else:
            retrieve, archive = keeper or (None, None)
        known: dict[str, Any] = {"retrieve": retrieve, "archive": archive, "has_answered": answered}
        if kept is not None:
            known["around"] = kept.around
        return Caller.of(request, request.meta, principal, **known)

    async def _retrieve_as_listed(self, request: Any, tool: Tool) -> str | None:
        """The name that a client has for the retrieval tool, where this server is mounted on another one.

        A client that called `kid_rows` to reach `rows` has `kid_retrieve`, if there is one. Where a tool has another
        name altogether, it is the one retrieval tool that is listed.
        """
        own, asked = self._service.offer.retrieve, (request._srctx.params or {}).get("name")
        if own is None or asked is None or asked == tool.name:
            return None
        outer = await outermost()
        if outer is None:
            return None
        if asked.endswith(tool.name):
            listed = asked.removesuffix(tool.name) + own
            return listed if await outer.get_tool(listed) is not None else None
        found = [one.name for one in await outer.list_tools() if one.name == own or one.name.endswith(f"_{own}")]
        return found[0] if len(found) == 1 else None

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
        service, own = self._service, giving_own_value(tool)
        output = Output.of(tool.return_type, self._forms.registry) if self._normalizes else None
        outputs = tool.output_schema if output is None else _list_schema(output)
        profile = service.listing.profile(
            tool.name,
            inputs=tool.parameters,
            outputs=outputs,
            is_boxed=bool(outputs and outputs.get("x-fastmcp-wrap-result")),
            returns=tool.return_type,
            controls=_controls(tool, service),
            hints=hints_of(tool),
            version=tool.version,
        )
        listed = service.listing.output_schema(profile, is_legacy)
        changes: dict[str, Any] = {
            "parameters": service.listing.input_schema(profile, tool.parameters, is_legacy),
            "output_schema": listed and dict(listed),
            "meta": service.listing.listed_meta(tool.name, tool.meta),
        }
        if isinstance(tool, FunctionTool) and tool.task_config.supports_tasks():
            changes["fn"] = self._as_task(profile, tool)
        copy = tool.model_copy(update=changes)

        is_retrieval = tool.name == service.offer.retrieve
        call = looking_behind(self._server, tool.name, own._run) if is_retrieval else own._run

        def run(arguments: dict[str, Any]) -> Awaitable[Any]:
            return self._serve(profile, tool, arguments, call)

        # The server calls `_run`, tools made from this one call `run`, and background tasks `fn`.
        vars(copy).update({"_run": run, "run": run, ANSWERING: True})
        return copy

    def _as_task(self, profile: Profile, tool: FunctionTool) -> Callable[..., Any]:
        """A handler that runs in the background, and gives the result that its task is to have."""

        async def run(asked: Asked, *given: Any, **values: Any) -> Any:
            own = {name: values[name] for name in tool.parameters.get("properties", {}) if name in values}

            async def call(_: Any) -> Own:
                return Own(await tool.fn(*given, **values))

            return await self._serve(profile, tool, own, call, asked)

        return in_the_background(tool.fn, run)

    async def _serve(
        self, profile: Profile, tool: Tool, arguments: dict[str, Any], call: Calling, asked: Asked | None = None
    ) -> Any:
        finished: list[ToolResult] = []
        try:
            principal = self._principal()
        except Exception as error:  # noqa: BLE001 - every call gets an answer
            return await self._answer_besides(profile, tool, None, error)
        caller = await self._caller(tool, principal)
        if asked is not None:
            caller = caller._replace(meta=asked.meta, extensions=asked.extensions)

        async def handler(given: dict[str, Any]) -> Any:
            try:
                outcome: Any = await keeping(self._offer_archive(caller), call)(given)
            except Exception as error:  # noqa: BLE001 - told apart there
                in_own_words = self._service.shows_errors(CURRENT.get().contract)
                explain(error, tool, profile.parameters, in_own_words=in_own_words)
            value = own_value(outcome)
            if type(value) is tuple:
                value = self._part(value, tool)
            is_bare = CURRENT.get().contract.speaker.is_bare
            if value is not NOTHING or is_bare or not self._says_more(outcome):
                return outcome if value is NOTHING else value
            finished.append(outcome)
            return read_result(outcome, tool)

        def convert(value: Any, data: Any) -> dict[str, Any] | None:
            return _keep_result(finished[0], data) if finished else self._convert(tool, value, data)

        sent = await self._service.serve(profile, arguments, caller, handler, convert, _UNTOUCHED)
        if isinstance(sent, _UNTOUCHED):
            return sent
        is_made = isinstance(sent, dict)
        result = _Sent.of(sent, sdk_blocks(sent["content"])) if is_made else tool.convert_result(sent)
        turn = TURN.get(None)
        if turn is not None and not is_made:  # a finished result of the handler stays the same object
            turn.finished.append(result)
        return result

    def _part(self, value: Any, tool: Tool) -> Any:
        """A pair as a reply that has both halves, unless FastMCP or an annotation has the say about it."""
        contract = CURRENT.get().contract
        is_theirs = contract.speaker.is_bare and not self._normalizes
        if is_theirs or is_rows_of_any_length(tool.return_type):
            return value
        return split_pair(value, contract)

    def _convert(self, tool: Tool, value: Any, data: Any) -> dict[str, Any] | None:
        """The result of a bare payload: FastMCP's own, and the documented one for what FastMCP does not know."""
        if self._normalizes:
            return documented_result(value, data, self._forms, tool.return_type)
        own = native_result(tool.convert_result, value, data)
        if own is not None or tool.output_schema is not None:
            return own
        return documented_result(value, data, self._forms)

    def _offer_archive(self, caller: Caller) -> Keeper | None:
        """The archive of this contract for those of mounted servers, whose own a client may not reach."""
        name, archive = self._service.offer.retrieve, caller.archive or self._service.contract.archive
        return None if name is None or archive is None else Keeper(caller.retrieve or name, archive)

    def _says_more(self, outcome: Any) -> bool:
        """Whether a result was made further in than here, and not under a contract: then it is what it says."""
        if not isinstance(outcome, ToolResult) or isinstance(outcome, (_Sent, *_UNTOUCHED)):
            return False
        return not self._service.contract.speaker.recognises(outcome.structured_content or {})

    async def give_out(self, method: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """What a method gives out that is no call of a tool, as far as its caller may have it."""
        request = fastmcp_request_ctx.get()
        caller = Caller(None if request is None else request.meta, self._principal())
        return await self._service.give_out(method, caller, produce)

    async def refuse(self, name: str, error: Exception) -> ToolResult:
        """The result of a call that was refused before it came to a tool of ours."""
        return await self._besides(name, lambda tool: (fault(error, tool), None))

    async def restate(self, name: str, result: ToolResult) -> ToolResult:
        """The result of a call that was answered before it came to a tool of ours, or after."""
        if not self._says_more(result) or await self._server.get_tool(name) is None:
            return result
        return await self._besides(
            name, lambda tool: (read_result(result, tool), lambda _, data: _keep_result(result, data))
        )

    async def _besides(self, name: str, outcome_for: Callable[[Tool], tuple[Any, Any]]) -> ToolResult:
        tool = await self._server.get_tool(name)
        if tool is None:
            raise _unknown(name)
        profile = self._service.listing.profile(
            tool.name, inputs={}, outputs=tool.output_schema, returns=tool.return_type, hints=hints_of(tool)
        )
        try:
            principal = self._principal()
        except Exception as error:  # noqa: BLE001 - every call gets an answer
            return await self._answer_besides(profile, tool, None, error)
        return await self._answer_besides(profile, tool, principal, *outcome_for(tool), has_begun=True)

    async def _answer_besides(
        self,
        profile: Profile,
        tool: Tool,
        principal: str | None,
        outcome: Any,
        convert: Any = None,
        *,
        has_begun: bool = False,
    ) -> ToolResult:
        caller = await self._caller(tool, principal)
        sent = await self._service.answer_besides(profile, caller, outcome, convert, has_begun=has_begun)
        return _Sent.of(sent, sdk_blocks(sent["content"])) if isinstance(sent, dict) else tool.convert_result(sent)


def _controls(tool: Tool, service: Service) -> Controls | None:
    """The controls of a tool, where they are not for the settings to say: what runs as a task is not shaped by them."""
    if tool.name == service.offer.retrieve:
        return Controls(("max_tokens",))
    return Controls() if tool.task_config.supports_tasks() else None


def _keep_result(result: ToolResult, data: Any) -> dict[str, Any] | None:
    """A result that was made further in, unless its text is longer than that of its data, which was measured."""
    texts = sum(len(block.text) for block in result.content if block.type == "text")
    if texts > len(data if isinstance(data, str) else dumps(data).decode()):
        return None
    found = {"content": result.content, "_meta": result.meta}
    structured = result.structured_content
    return found if structured is None else {**found, "structuredContent": structured}


def _list_schema(output: Output) -> dict[str, Any] | None:
    """The schema of the normaliser, with FastMCP's mark where the value is in a box."""
    schema = output.for_version()
    return {**schema, "x-fastmcp-wrap-result": True} if schema and output.is_boxed else schema


_UNTOUCHED: Final = (InputRequiredToolResult, mcp_types.InputRequiredResult, MCPError)


# Negotiation


class _Negotiation(ServerExtension):
    """Advertises dialects, channels and budget; the client's settings are read with each call."""

    identifier = EXTENSION

    def __init__(self, service: Service) -> None:
        self._service = service

    def settings(self) -> dict[str, Any]:
        return self._service.settings()


# Middleware


class _Outermost(Middleware):
    """The first middleware of a server: what the others raise and answer is answered under the contract as well.

    It also sees to it that an unknown tool is answered with a protocol error, because that is a mistake in the request
    and not in the arguments, and that arguments which are refused before a tool is called, as those of tasks are, are
    answered with the reason.
    """

    def __init__(self, server: FastMCP[Any], replies: _Replies, check: Callable[[], None]) -> None:
        self._server = server
        self._replies = replies
        self._check = check

    def __call__(self, context: MiddlewareContext[Any], call_next: Any) -> Coroutine[Any, Any, Any]:
        """Past the hooks of the base class, which cost more than all that is done here."""
        # a message that is not what its method asks for is no call, and stays a protocol error
        if isinstance(context.message, mcp_types.CallToolRequestParams):
            self._check()
            return self._call(context, call_next)
        if isinstance(context.message, mcp_types.ReadResourceRequestParams):
            return self._read(context, call_next)
        if isinstance(context.message, mcp_types.GetPromptRequestParams):
            return self._prompt(context, call_next)
        return cast(Coroutine[Any, Any, Any], call_next(context))

    async def _call(self, context: MiddlewareContext[Any], call_next: Any) -> Any:
        if await is_asked_inside(self._server):
            return await call_next(context)
        turn = Turn(fastmcp_request_ctx.get(), [], CURRENT.get(None))
        token = TURN.set(turn)
        try:
            result = await call_next(context)
        except MCPError:
            raise
        except (NotFoundError, DisabledError):
            raise _unknown(context.message.name) from None
        except Exception as error:  # noqa: BLE001 - every call gets an answer
            return await self._replies.refuse(context.message.name, error)
        finally:
            TURN.reset(token)
        if isinstance(result, _Sent) or any(result is one for one in turn.finished):
            return result
        return await self._replies.restate(context.message.name, result)

    async def _read(self, context: MiddlewareContext[Any], call_next: Any) -> Any:
        try:
            return await self._replies.give_out("resources/read", partial(call_next, context))
        except (MCPError, FastMCPError, NotFoundError, DisabledError):
            raise
        except Exception as error:
            raise unreadable(problem_of(error), str(context.message.uri)) from error

    async def _prompt(self, context: MiddlewareContext[Any], call_next: Any) -> Any:
        try:
            return await self._replies.give_out("prompts/get", partial(call_next, context))
        except (MCPError, NotFoundError, DisabledError):
            raise
        except Exception as error:
            meant = prompt_fault(error) or error
            if isinstance(meant, FastMCPError):  # in words of its author
                raise
            raise MCPError(**protocol_error(problem_of(meant))) from error


def _unknown(name: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"Unknown tool: {name!r}")


# Late tools: those that transforms have added since the contract was installed, which answer under it as well.
#
# tools ── transforms ── contract ── transforms that came later ── LateTools ──▶ clients
#
# A server has its transforms in the order in which they were added. So when one has come late, one more is added behind
# it: before a call, and before tools are listed for clients or workers, which begins with the server's own provider.


ANSWERING: Final = "_aerogram_answering"
"""The attribute of tools that answer under a contract, and of their copies."""


class LateTools(Transform):
    """Hands out the tools that have no contract yet as ones that answer under it."""

    def __init__(self, replies: _Replies) -> None:
        self._replies = replies

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """All tools, as ones that answer."""
        others = [tool for tool in tools if not _is_answering(tool)]
        answering = dict(zip(map(id, others), await self._replies.list_tools(others), strict=True)) if others else {}
        return [answering.get(id(tool), tool) for tool in tools]

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Tool | None:
        """A tool as one that answers."""
        tool: Tool | None = await call_next(name, version=version)
        return tool if tool is None or _is_answering(tool) else await self._replies.hand_out(tool)


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


# Calls: one of a client, and who is asking while it is answered. A handler may call other tools of its server. That is
# a program inside of the process, and no client. A handler that runs in the background has no request any more, so what
# its client asked for travels with the arguments of its task.


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
    if call is None or LISTENED_TO.get() is server:
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


def _read_asked() -> dict[str, Any]:
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
    filled_in = Annotated[Any, pydantic.Field(default_factory=_read_asked)]
    added = inspect.Parameter(_ASKED, inspect.Parameter.KEYWORD_ONLY, annotation=filled_in)
    signature = inspect.signature(handler)
    others = list(signature.parameters.values())
    is_open = bool(others) and others[-1].kind is inspect.Parameter.VAR_KEYWORD
    places = [*others[:-1], added, others[-1]] if is_open else [*others, added]
    vars(task)["__signature__"] = signature.replace(parameters=places)
    task.__annotations__ = {**handler.__annotations__, _ASKED: filled_in}
    return task


# Mounts: what contracts of servers that are mounted on each other share: one archive, one dialect, one count. A client
# may not reach the retrieval tool of a mounted server. So the contract that is answering offers its own archive, and
# its own tool, to the contracts further in. These answer in its dialect, and leave it to count and to charge. What a
# server elsewhere keeps, of which this one is a proxy, is fetched there.


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
    speaker = None if contract.speaker.is_bare else contract.speaker
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
