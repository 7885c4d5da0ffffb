"""Tools: those of the server behind as they are listed and answered here, and the one of ours among them.

A result of the server is the outcome of a handler that has finished it itself: it takes the path of every such result
(`aerogram._mcp.finished`). Where nothing has to be changed about it, it is sent as the server wrote it.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final, get_args

import mcp_types
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError

from aerogram._mcp.finished import tell_result
from aerogram._mcp.listing import Profile, read_schema
from aerogram._mcp.results import sdk_blocks
from aerogram._mcp.service import Caller, Service
from aerogram.answer import Call
from aerogram.contract import Contract
from aerogram.contract.cache import UNKEPT, Cache
from aerogram.errors import ReplyError
from aerogram.gateway.eras import is_complete
from aerogram.gateway.process import UNREAD
from aerogram.normalize.result import ToolResult
from aerogram.normalize.tool import RESULT_MEMBERS, is_written_result
from aerogram.problems import log_failure
from aerogram.reply import Reply
from aerogram.shape.controls import Controls
from aerogram.shape.text import clip

__all__ = ["Tools"]

LONGEST_MESSAGE: Final = 2_000
"""Characters of the message of an error, for which there is no place to say where the rest is."""

Message = dict[str, Any]
Invoke = Callable[[dict[str, Any]], Awaitable[Message]]
OTHER_NAME: Final = "aerogram_retrieve"
"""What our tool is called where the server has one of its name."""

_OWN_HINTS: Final = {"readOnlyHint": True, "openWorldHint": False}
_FITTED: Final = RESULT_MEMBERS - {"resultType"}
"""What is fitted of a result; the rest goes beside it, a kind of result that nobody here knows among it."""
_BLOCKS: Final = {kind.model_fields["type"].default: kind for kind in get_args(mcp_types.ContentBlock)}
"""The blocks that everybody knows, as a client reads them."""


class _Unfinished(dict[str, Any]):
    """A result that is no answer yet, and not ours to change."""


class Tools:
    """The tools of one server behind."""

    def __init__(
        self,
        contract: Contract,
        *,
        hidden: Collection[str] = (),
        allowed: Collection[str] | None = None,
        caches: Mapping[str, Cache] | None = None,
    ) -> None:
        self._caches = caches or {}
        self._hidden = frozenset(hidden)
        self._allowed = None if allowed is None else frozenset(allowed)
        self._listed: dict[str, Message] = {}
        self._profiles: dict[str, Profile] = {}
        self.is_known = False
        """Whether the server has listed all of them, so that the name of ours is settled."""
        self._is_listing = False
        self.service = Service(contract)
        self._retrieve = self._own_tool()

    @property
    def contract(self) -> Contract:
        """What is promised about the replies."""
        return self.service.contract

    def is_shown(self, name: str) -> bool:
        """Whether clients may know of a tool, and call it."""
        return name not in self._hidden and (self._allowed is None or name in self._allowed)

    def is_own(self, name: str) -> bool:
        """Whether a tool is ours and not the server's."""
        return self._retrieve is not None and name == self._retrieve.name

    def input_schema(self, name: str) -> Message | None:
        """What a tool takes, where that is known."""
        found: Message | None = self._listed.get(name, {}).get("inputSchema")
        return found

    def forget(self) -> None:
        """The server's tools have changed."""
        self.is_known = self._is_listing = False
        self._listed.clear()
        self._profiles.clear()

    # Listing

    def learn(self, tools: list[Message]) -> None:
        """Hear of tools that the server has."""
        for tool in tools:
            name = str(tool.get("name"))
            if self._listed.get(name) != tool:
                self._listed[name] = tool
                self._profiles.pop(name, None)
        if self._retrieve is not None and self._retrieve.name in self._listed:
            names = itertools.chain((OTHER_NAME,), (f"{OTHER_NAME}_{number}" for number in itertools.count(2)))
            self.service = Service(
                replace(self.contract, retrieve=next(one for one in names if one not in self._listed))
            )
            self._retrieve = self._own_tool()
            self._profiles.clear()

    def show(self, tools: list[Message], *, is_first: bool, is_last: bool) -> list[Message]:
        """A page of the server's list as clients see it; ours stands at its end."""
        self.learn(tools)
        self._is_listing = self._is_listing or is_first
        self.is_known = self.is_known or (self._is_listing and is_last)
        shown = [self._show_tool(tool) for tool in tools if self.is_shown(str(tool.get("name")))]
        return [*shown, self._own_listing()] if is_last and self._retrieve is not None else shown

    def _show_tool(self, tool: Message) -> Message:
        name = str(tool.get("name"))
        own, meta = (
            self.service.listing.output_schema(self.profile(name)),
            self.service.listing.listed_meta(name, tool["_meta"] if isinstance(tool.get("_meta"), dict) else None),
        )
        told = {"outputSchema": own and dict(own), "_meta": meta}
        return {**tool, **{member: value for member, value in told.items() if value is not None}}

    def profile(self, name: str) -> Profile:
        """What is known about a tool; of a schema that is none, nothing is, and it is listed as it came."""
        if name not in self._profiles:
            tool = self._listed.get(name, {})
            outputs = read_schema(tool.get("outputSchema"))
            is_boxed = outputs is not None and set(outputs.get("properties") or ()) == {"result"}
            hints = tool.get("annotations")
            self._profiles[name] = self.service.listing.profile(
                name,
                inputs=tool.get("inputSchema"),
                outputs=outputs,
                is_boxed=is_boxed,
                hints=hints if isinstance(hints, dict) else None,
            )
        return self._profiles[name]

    def _own_tool(self) -> Tool | None:
        name = self.service.offer.retrieve
        return None if name is None else Tool.from_function(self.service.retrieve, name, structured_output=False)

    def _own_profile(self) -> Profile:
        assert self._retrieve is not None
        given = Controls(("max_tokens",))
        return self.service.listing.profile(
            self._retrieve.name, inputs=self._retrieve.parameters, controls=given, hints=_OWN_HINTS
        )

    def _own_listing(self) -> Message:
        assert self._retrieve is not None
        meta = self.service.listing.listed_meta(self._retrieve.name, None)
        return {
            **({} if meta is None else {"_meta": meta}),
            "name": self._retrieve.name,
            "description": self._retrieve.description,
            "inputSchema": self.service.listing.input_schema(self._own_profile(), self._retrieve.parameters),
            "annotations": _OWN_HINTS,
        }

    # Calls

    def tell_error(self, error: MCPError) -> MCPError:
        """An error of the protocol as the client hears it: clean, and of a sensible length where replies have one."""
        self.service.cleaner.clean_failure(error)
        told = error.error
        if self.contract.budget is None or len(told.message) <= LONGEST_MESSAGE:
            return error
        return MCPError(told.code, clip(told.message, LONGEST_MESSAGE), told.data)

    async def call(self, name: str, arguments: Mapping[str, Any], caller: Caller, invoke: Invoke) -> Message:
        """The answer to a call; `invoke` gets the server's own."""
        if self.is_own(name):
            return await self._serve(self._own_profile(), arguments, caller, self._retrieve_for)
        profile, held = self.profile(name), Message()

        async def handler(given: dict[str, Any]) -> Any:
            result = await invoke(given)
            try:
                return read(result)
            except Exception as error:
                log_failure(error, caller.request_id)
                raise UNREAD.error() from error

        def read(result: Message) -> Any:
            if not is_complete(result):
                return _Unfinished(result)
            if "structuredContent" in result and "content" not in result:
                result = {"content": [], **result}  # as the protocol has it
            result = self.service.cleaner.clean_besides(result)
            held.update(result)
            return self._outcome(result, profile)

        def write(*_: object) -> Message | None:
            """The result as the server wrote it; one that no client could read is data like any other."""
            return dict(held) if held and _is_readable(held) else None

        sent = await self._serve(profile, arguments, caller, handler, write)
        if held.get("isError") is True:
            sent["isError"] = True
        return {**{name: value for name, value in held.items() if name not in _FITTED}, **sent}

    def remember(self, name: str, invoke: Invoke, has_answered: Callable[[], bool]) -> Invoke:
        """The call to the server, or what it has answered before, where that may be kept for a while.

        What a caller has told the server in its call is for its own answer alone.
        """
        cache = self._caches.get(name)
        if cache is None:
            return invoke

        async def invoke_or_remember(given: dict[str, Any]) -> Message:
            if has_answered():
                return await invoke(given)
            produced: list[Message] = []

            async def produce() -> Reply[Any]:
                produced.append(await invoke(given))
                is_kept = is_complete(produced[0]) and not produced[0].get("isError") and not has_answered()
                return Reply(produced[0]) if is_kept else UNKEPT

            kept = await cache.fetch(cache.key(name, given), produce)
            if kept is not UNKEPT:
                return dict(kept.data)
            return produced[0] if produced else await invoke(given)

        return invoke_or_remember

    async def _serve(
        self, profile: Profile, arguments: Mapping[str, Any], caller: Caller, handler: Any, convert: Any = None
    ) -> Message:
        sent = await self.service.serve(profile, arguments, caller, handler, convert, (_Unfinished, MCPError))
        return dict(sent)

    async def _retrieve_for(self, given: dict[str, Any]) -> Any:
        assert self._retrieve is not None
        try:
            return await self._retrieve.run(given, None)  # type: ignore[arg-type]  # it takes no context
        except ToolError as error:
            if error.__cause__ is None:
                raise ReplyError(str(error)) from error
            raise error.__cause__ from None

    def _outcome(self, result: Message, profile: Profile) -> Any:
        """What a server answered: its finished result, or what that says where an envelope is to be around it."""
        if not _is_readable(result):
            return Reply(result)
        known = {member: value for member, value in result.items() if member in _FITTED}
        if not is_written_result(known, self.contract.forms):
            return result  # of a kind that nobody here knows: data like any other
        made = ToolResult.of_wire(known, self.contract.forms)
        if made.isError or self.contract.speaker.is_bare:
            return made
        told = tell_result(Call(self.contract, operation=profile.name), known, is_boxed=profile.is_boxed)
        return sdk_blocks(known["content"]) if told is None else told.draft.reply


def _is_readable(result: Message) -> bool:
    """Whether a client can read a result; of blocks of kinds that nobody here knows, it is the judge."""
    content = result.get("content")
    if not isinstance(content, list) or not isinstance(result.get("isError", False), bool):
        return False
    return all(map(_is_readable_block, content))


def _is_readable_block(block: Any) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        return False
    try:
        return kind not in _BLOCKS or bool(_BLOCKS[kind].model_validate(block, by_name=False))
    except ValueError:
        return False
