"""Low-level: the handlers of the SDK's `Server`, each behind one that keeps the contract.

    tools/list                  the server's tools, and at the end of the last page ours
    tools/call                  what its handler gives or raises is the outcome of a call
    resources/read              without what may not be said; entries of the archive besides
    resources/templates/list    with that of the archive
    prompts/get                 limited and observed

Such a server says what its tools are only when it is asked to list them. So schemas are learnt from the lists that
clients ask for, and from one that is asked for here before a tool is called that no client has listed.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from aerogram._mcp.cleaning import clean_messages
from aerogram._mcp.faults import Masked
from aerogram._mcp.listing import Profile, read_schema
from aerogram._mcp.negotiation import EXTENSION
from aerogram._mcp.results import hints_of, protocol_error, resource_error
from aerogram._mcp.service import ARCHIVE_TEMPLATE, Caller, Service
from aerogram.answer.aside import run_by_size
from aerogram.channels import BOX
from aerogram.errors import InvalidReply, ReplyError
from aerogram.problems import problem_of
from aerogram.sanitize import Step, sanitize_contents
from aerogram.shape.controls import Controls

__all__ = ["clean_contents", "install_on_handlers"]

Context = ServerRequestContext[Any, Any]
Principal = Callable[[], str | None]
_NEEDED: Final = {"tools/list": "on_list_tools", "tools/call": "on_call_tool"}
_ARCHIVE: Final = ARCHIVE_TEMPLATE.partition("{")[0]
_COMPLETE: Final = "complete"


def install_on_handlers(server: Server[Any], service: Service, principal: Principal, negotiate: str | None) -> None:
    """Put a service before the handlers that a server has."""
    missing = [f"{method} ({name})" for method, name in _NEEDED.items() if server.get_request_handler(method) is None]
    if missing:
        raise InvalidReply(f"this server has no handler for {' and '.join(missing)}: install when it has its handlers")
    if isinstance(getattr(server.get_request_handler("tools/call").handler, "__self__", None), _Handlers):  # type: ignore[union-attr]  # it has one
        raise InvalidReply("this server has Aerogram already: install it once")
    handlers = _Handlers(server, service, principal, negotiate)
    for method, (params, handler) in handlers.by_method().items():
        server.add_request_handler(method, params, handler)
    clean_messages(server, service.cleaner)
    server.extensions[EXTENSION] = service.settings()
    if server.get_tool_input_schema is not None:
        server.get_tool_input_schema = partial(handlers.find_inputs, server.get_tool_input_schema)


class _Untouched(NamedTuple):
    """A result that is no answer yet, a question to the client or a task, and not ours to change."""

    result: Any


class _Handlers:
    """The handlers of a server with a contract."""

    def __init__(self, server: Server[Any], service: Service, principal: Principal, negotiate: str | None) -> None:
        self._service = service
        self._principal = principal
        self._negotiate = negotiate
        self._held = {method: server.get_request_handler(method) for method in _METHODS}
        self._own = {
            name: Tool.from_function(run, name, structured_output=False)
            for name, run in ((service.offer.retrieve, service.retrieve), (negotiate, service.negotiate))
            if name is not None
        }
        self._profiles: dict[str, tuple[mcp_types.Tool | None, Profile]] = {}
        self._has_listed = False
        for name, tool in self._own.items():
            given = Controls(("max_tokens",)) if name == service.offer.retrieve else None
            self._profiles[name] = (
                None,
                service.listing.profile(name, inputs=tool.parameters, controls=given, hints=_READING),
            )

    def by_method(self) -> dict[str, tuple[Any, Any]]:
        """What to register: the type of the parameters and the handler of each method."""
        has_archive = self._service.offer.retrieve is not None
        ours = {
            "tools/list": (mcp_types.PaginatedRequestParams, self.list_tools),
            "tools/call": (mcp_types.CallToolRequestParams, self.call_tool),
            "resources/read": (mcp_types.ReadResourceRequestParams, self.read_resource),
            "resources/templates/list": (mcp_types.PaginatedRequestParams, self.list_templates),
            "prompts/get": (mcp_types.GetPromptRequestParams, self.get_prompt),
        }
        also = ("resources/read", "resources/templates/list") if has_archive else ()
        return {method: one for method, one in ours.items() if self._held[method] is not None or method in also}

    def find_inputs(self, lookup: Callable[[str], Any], name: str) -> Any:
        """What a tool takes, by the server's own function for it, which does not know ours."""
        return None if name in self._own else lookup(name)

    # Listing

    async def list_tools(self, ctx: Context, params: Any) -> Any:
        """A page of the server's tools as clients see them; ours stand at the end."""
        try:
            is_legacy = self._service.is_legacy(self._principal())
        except Exception as error:
            raise MCPError(**protocol_error(problem_of(error))) from error
        page = await self._ask_for_tools(ctx, params)
        if page.next_cursor is None and params.cursor is None and not self._service.listing.has_checked_names:
            self._service.listing.check_names({tool.name for tool in page.tools} | self._own.keys())
        ours = () if page.next_cursor is not None else map(_listing, self._own.values())
        shown = [self._show(tool, is_legacy) for tool in (*page.tools, *ours)]
        return page.model_copy(update={"tools": shown})

    async def _ask_for_tools(self, ctx: Context, params: Any) -> mcp_types.ListToolsResult:
        """A page of the server's own tools, which are known from then on."""
        found = _settle(await self._ask("tools/list", ctx, params))
        page: mcp_types.ListToolsResult = (
            found
            if isinstance(found, mcp_types.ListToolsResult)
            else mcp_types.ListToolsResult.model_validate(found, by_name=False)
        )
        try:
            self._service.claim(self._negotiate, {tool.name for tool in page.tools})
        except InvalidReply as error:  # only now are the names known
            raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from error
        for tool in page.tools:
            held = self._profiles.get(tool.name)
            if held is None or held[0] != tool:
                self._profiles[tool.name] = (tool, self._profile(tool))
        return page

    def _profile(self, tool: mcp_types.Tool) -> Profile:
        outputs = read_schema(tool.output_schema)
        is_boxed = outputs is not None and set(outputs.get("properties") or ()) == {BOX}
        return self._service.listing.profile(
            tool.name, inputs=tool.input_schema, outputs=outputs, is_boxed=is_boxed, hints=hints_of(tool)
        )

    def _show(self, tool: mcp_types.Tool, is_legacy: bool) -> mcp_types.Tool:
        listing, profile = self._service.listing, self._profiles[tool.name][1]
        inputs, listed = tool.input_schema, listing.output_schema(profile, is_legacy)
        if profile.controls.names or tool.name in self._own:
            inputs = listing.input_schema(profile, inputs, is_legacy)
        meta = listing.listed_meta(tool.name, tool.meta)
        outputs = None if listed is None else dict(listed)
        return tool.model_copy(update={"input_schema": inputs, "output_schema": outputs, "meta": meta})

    async def _learn(self, ctx: Context, name: str) -> Profile:
        """What is known of a tool, once the server has been asked for all that it has."""
        asked = replace(ctx, method="tools/list", params=None)
        cursors: list[str | None] = [None]
        with contextlib.suppress(Exception):  # the call itself will say what is wrong
            while name not in self._profiles and not self._has_listed:
                page = await self._ask_for_tools(asked, mcp_types.PaginatedRequestParams(cursor=cursors[-1]))
                self._has_listed = page.next_cursor is None or page.next_cursor in cursors
                cursors.append(page.next_cursor)
        known = self._profiles.get(name)
        return self._service.listing.profile(name, inputs={}) if known is None else known[1]

    # Calls

    async def call_tool(self, ctx: Context, params: Any) -> Any:
        """The answer to a call."""
        profile = await self._learn(ctx, params.name)
        has_answered = not (params.input_responses is None and params.request_state is None)
        caller = Caller.of(ctx, _meta_of(ctx), None, has_answered=has_answered)
        try:
            caller = caller._replace(principal=self._principal())
        except Exception as error:  # noqa: BLE001 - every call gets an answer
            return await self._service.answer_besides(profile, caller, error)
        own = self._own.get(params.name)
        handler = partial(self._run, ctx, params) if own is None else partial(_run_own, own)
        arguments = params.arguments or {}
        sent = await self._service.serve(profile, arguments, caller, handler, None, (_Untouched, MCPError))
        if isinstance(sent, _Untouched):
            return sent.result
        return _in_the_era(sent, ctx, profile) if isinstance(sent, dict) else sent

    async def _run(self, ctx: Context, params: Any, given: dict[str, Any]) -> Any:
        """What the server's handler gives; what it raises is hidden where the server would hide it."""
        asked = params if given == (params.arguments or {}) else params.model_copy(update={"arguments": given})
        try:
            result = _settle(await self._ask("tools/call", ctx, asked))
        except MCPError:
            raise
        except Exception as error:
            # in the newer protocol over HTTP the SDK tells nothing of an exception, and its words otherwise
            if ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                raise Masked(error) from error
            raise
        told = result.get("resultType", _COMPLETE) if isinstance(result, dict) else _COMPLETE
        is_answer = isinstance(result, mcp_types.CallToolResult) or (isinstance(result, dict) and told == _COMPLETE)
        return result if is_answer else _Untouched(result)

    async def _ask(self, method: str, ctx: Context, params: Any) -> Any:
        held = self._held[method]
        if held is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Resource not found: {params.uri}", {"uri": str(params.uri)})
        return await held.handler(ctx, params)

    # Resources and prompts

    async def read_resource(self, ctx: Context, params: Any) -> Any:
        """The contents of a resource, or of an entry of the archive."""
        return await self._give_out(ctx, partial(self._read, ctx, params), uri=str(params.uri))

    async def get_prompt(self, ctx: Context, params: Any) -> Any:
        """A prompt, as the server has it."""
        return await self._give_out(ctx, partial(self._ask, "prompts/get", ctx, params))

    async def list_templates(self, ctx: Context, params: Any) -> Any:
        """A page of the server's templates; that of the archive stands at the end."""
        kind = mcp_types.ListResourceTemplatesResult
        if self._held["resources/templates/list"] is None:
            page = kind(resource_templates=[])
        else:
            found = _settle(await self._ask("resources/templates/list", ctx, params))
            page = found if isinstance(found, kind) else kind.model_validate(found, by_name=False)
        if page.next_cursor is not None or self._service.offer.retrieve is None:
            return page
        ours = mcp_types.ResourceTemplate(
            name="archive", uri_template=ARCHIVE_TEMPLATE, description="What a reply left out, by its hash"
        )
        return page.model_copy(update={"resource_templates": [*page.resource_templates, ours]})

    async def _give_out(self, ctx: Context, produce: Callable[[], Awaitable[Any]], **where: str) -> Any:
        try:
            caller = Caller.of(ctx, _meta_of(ctx), self._principal())
            return await self._service.give_out(ctx.method, caller, produce)
        except ReplyError as error:
            raise MCPError(**protocol_error(problem_of(error), **where)) from error

    async def _read(self, ctx: Context, params: Any) -> Any:
        uri, steps = str(params.uri), self._service.contract.sanitizers
        if self._service.offer.retrieve is not None and uri.startswith(_ARCHIVE):
            return await self._read_archive(uri)
        found = _settle(await self._ask("resources/read", ctx, params))
        if not steps or isinstance(found, mcp_types.InputRequiredResult):
            return found
        # what it does not say stays unsaid: the server may have a hint for how long it holds
        wire = found if isinstance(found, dict) else found.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return _read_result({**wire, "contents": await clean_contents(wire["contents"], *steps)})

    async def _read_archive(self, uri: str) -> mcp_types.ReadResourceResult:
        try:
            body, mime_type, ttl = await self._service.read_archive(uri.removeprefix(_ARCHIVE), self._principal())
        except ReplyError as error:
            raise MCPError(**resource_error(problem_of(error), uri)) from error
        content = {"text": body} if isinstance(body, str) else {"blob": base64.b64encode(body).decode()}
        told = {"uri": uri, "mimeType": mime_type, **content}
        return _read_result({"contents": [told], "ttlMs": ttl, "cacheScope": "private"})


async def clean_contents(contents: Sequence[Mapping[str, Any]], *steps: Step) -> list[dict[str, Any]]:
    """The contents of a resource without what may not be said."""
    size = sum(len(one.get("text") or "") for one in contents)
    return await run_by_size("clean", size, sanitize_contents, contents, *steps)


_READING: Final = {"readOnlyHint": True}
_METHODS: Final = ("tools/list", "tools/call", "resources/read", "resources/templates/list", "prompts/get")


def _meta_of(ctx: Context) -> Mapping[str, Any] | None:
    meta = (ctx.params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else None


async def _run_own(tool: Tool, given: dict[str, Any]) -> Any:
    """What a tool of ours gives."""
    try:
        return await tool.run(given, None)  # type: ignore[arg-type]  # it takes no context
    except ToolError as error:
        if error.__cause__ is None:
            raise ReplyError(str(error)) from error
        raise error.__cause__ from None


def _listing(tool: Tool) -> mcp_types.Tool:
    hints = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return mcp_types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters, annotations=hints)


def _read_result(wire: dict[str, Any]) -> mcp_types.ReadResourceResult:
    return mcp_types.ReadResourceResult.model_validate(wire, by_name=False)


def _settle(result: Any) -> Any:
    """A result; an error that a handler gives instead of one is raised, as the SDK does."""
    if isinstance(result, mcp_types.ErrorData):
        raise MCPError.from_error_data(result)
    return result


def _in_the_era(sent: dict[str, Any], ctx: Context, profile: Profile) -> dict[str, Any]:
    """A result whose structured content is what the client's protocol and the tool's schema say."""
    held, own = sent.get("structuredContent"), profile.own_schema
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    is_array = own is not None and own.get("type", "object") != "object"
    if is_modern and is_array and isinstance(held, dict) and held.keys() == {BOX}:
        held = held[BOX]
    elif not is_modern and not isinstance(held, (dict, type(None))):
        held = {BOX: held}
    told = {"resultType": _COMPLETE, **sent} if is_modern else dict(sent)
    return told if held is None else {**told, "structuredContent": held}
