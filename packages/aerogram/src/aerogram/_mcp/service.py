"""Service: a contract at work on an MCP server; what the adapters of all MCP frameworks have in common.

    arguments ──open──▶ Call, with the handler's own arguments and the contract that was agreed on
                          │
                   admit ── run ── (aerogram.answer)
                          │
    outcome ──answer──▶ the plain result of the call, or the handler's own finished result

An adapter asks `listing` for a `Profile` of each tool when it lists or wraps it, and hands over what it knows about the
request as a `Caller`. It sends what `serve`, which is all of the above, gives back.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from pydantic import Field, WithJsonSchema

from aerogram._mcp.example import show_call, with_example
from aerogram._mcp.faults import Masked, explain_fault
from aerogram._mcp.finished import (
    fits_as_made,
    fits_as_spelled,
    in_blocks,
    may_be_cut,
    read_finished,
    soft_problem_in,
    tell_result,
    tell_text,
    texts_of,
    unsaid_problem_in,
)
from aerogram._mcp.listing import Listing, Profile, SchemaForm
from aerogram._mcp.negotiation import ACTION, EXTENSION, NOTHING_AGREED, Agreement, Offer, agree, negotiate
from aerogram._mcp.pairing import fit_content, fit_failure, join_content, take_content
from aerogram._mcp.promises import is_broken
from aerogram._mcp.results import PREFIX, measure_stamp, problem_told, tool_result
from aerogram._mcp.soft_errors import note_soft_error, soft_problem
from aerogram.answer import (
    CURRENT,
    UNOBSERVED,
    Call,
    ReplyDraft,
    fail,
    find_outcome,
    finish,
    fit_media,
    forgive,
    normalize,
    observe,
    refuse_cursor,
    render,
)
from aerogram.answer.aside import run_by_size
from aerogram.answer.retrieval import Retrieval, retrieve_for
from aerogram.archive import Archive
from aerogram.channels import BOX, meta_of
from aerogram.clients import KnownClient, find_client
from aerogram.content.jsontext import dumps_unproven
from aerogram.contract import Contract
from aerogram.contract.callers import digest_headers
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, VARIABLE, Flags
from aerogram.dialects import try_read
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError, InvalidReply, ReplyError
from aerogram.normalize.result import ToolResult
from aerogram.normalize.tool import normalize_tool_result
from aerogram.problems import look_first
from aerogram.reply import Notice, Problem, Reply, ResumablePage, accept_client_tag, accept_request_id, new_request_id
from aerogram.sanitize import Cleaner, Step, for_words, sanitize_result, sanitize_text
from aerogram.shape.controls import SHAPE_CHANGING, Choice, Levers
from aerogram.shape.media import describe_media, note_block
from aerogram.shape.modes import MODES, Mode
from aerogram.shape.mold import ANYTHING
from aerogram.telemetry import Observation
from aerogram.tokens import Budget, split_by_client

__all__ = ["ARCHIVE_TEMPLATE", "Caller", "OuterContract", "Service"]


_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class OuterContract(NamedTuple):
    """What a contract around this one does for both: it says the dialect, it counts the call, it charges for it."""

    dialect: Dialect | None = None
    observes: bool = False
    charges: bool = False


class Caller(NamedTuple):
    """Who asks: the `_meta` of the request, the authenticated principal, what the client's capabilities say.

    `retrieve` is the name that the retrieval tool has for this caller, and `archive` where that tool looks, if they
    are not those of the contract: as where a server stands inside of another one. `has_answered`: the request brings
    answers to what a handler has asked for, which are this caller's own. `around` is what a contract around this one
    does already. `client` is what the client calls itself, which nobody has checked. `session` is the id of its
    session, where the protocol and the transport have one. `headers` are those that it came with, over HTTP.
    """

    meta: Mapping[str, Any] | None = None
    principal: str | None = None
    extensions: Mapping[str, Any] | None = None
    retrieve: str | None = None
    archive: Archive | None = None
    has_answered: bool = False
    around: OuterContract = OuterContract()
    client: str | None = None
    session: str | None = None
    headers: Mapping[str, str] | None = None

    @classmethod
    def of(cls, request: Any, meta: Mapping[str, Any] | None, principal: str | None, **known: Any) -> Caller:
        """Who sends a request of the SDK."""
        session = request.session
        capabilities, params = session.client_capabilities, session.client_params
        # standard streams and the newer protocol have no sessions
        fields = getattr(getattr(request, "request", None), "headers", None)
        return cls(
            meta,
            principal,
            None if capabilities is None else capabilities.extensions,
            client=None if params is None else str(params.client_info.name),
            session=None if fields is None else fields.get("mcp-session-id"),
            headers=fields,
            **known,
        )

    def attributes(self, method: str, tool: str | None = None) -> dict[str, str]:
        """What a request is in the words of OpenTelemetry."""
        told = {
            "mcp.method.name": method,
            "mcp.session.id": self.session,
            "gen_ai.operation.name": None if tool is None else "execute_tool",
            "gen_ai.tool.name": tool,
        }
        return {name: value for name, value in told.items() if value is not None}

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """The client's settings for the extension; before 2026-07-28, when there were none, in `_meta` itself."""
        found = (self.extensions or {}).get(EXTENSION, (self.meta or {}).get(EXTENSION))
        return found if found is not None and isinstance(found, Mapping) else None

    @property
    def request_id(self) -> str:
        """The caller's own id, the id of its trace, or a new one."""
        meta = self.meta or {}
        trace = meta.get("traceparent")
        match = _TRACE_PARENT.fullmatch(trace) if isinstance(trace, str) else None
        return accept_request_id(meta.get(PREFIX + "request_id")) or (match[1] if match else new_request_id())

    @property
    def client_tag(self) -> str | None:
        """The caller's own mark, given back with the reply."""
        return accept_client_tag((self.meta or {}).get(PREFIX + "client_tag"))


_NOBODY: Final = OuterContract()


log = logging.getLogger("aerogram")

ARCHIVE_TEMPLATE: Final = "aerogram://archive/{hash}"
MOST_STRANGERS: Final = 100
"""How many clients that nobody knows are told of in the log."""

Ids: TypeAlias = list[Annotated[str | int, WithJsonSchema({"type": ["string", "integer"]})]]
Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]
Query: TypeAlias = Annotated[
    str | None,
    WithJsonSchema({"type": "string", "description": "JMESPath [?a=='b'].c; in texts, words"}),
]
Conversion: TypeAlias = Callable[[Any, Any], "dict[str, Any] | None"]


class Service:
    """A contract, and what an MCP server makes of it: schemas, controls, negotiation, retrieval."""

    def __init__(
        self,
        contract: Contract,
        *,
        controls: Choice = None,
        schema: SchemaForm | None = "slim",
        offers: Sequence[str] = (),
        flags: Flags | None = None,
        shows_errors: bool = False,
        text_schema: bool = True,
        server: Any = None,
    ) -> None:
        if contract.speaker.name == "problem":
            raise InvalidReply("the dialect problem says failures only: choose another one")
        if isinstance(offers, str):
            raise InvalidReply(f"offers is a list of dialects, such as [{offers!r}]")
        if flags is not None and not isinstance(flags, Flags):
            raise InvalidReply(f"flags is a Flags, not {type(flags).__name__}: Flags.from_environment(…)")
        self.contract = contract
        self.cleaner = Cleaner(contract.sanitizers)
        self._shows_errors = shows_errors
        self._stamp = measure_stamp(server)
        contract.prepare()
        self._has_flags = flags is not None or VARIABLE in os.environ
        self.flags = flags or Flags.from_environment(RESPONSE_CONTRACT_V2)
        if RESPONSE_CONTRACT_V2.name not in self.flags:
            self.flags.declare(RESPONSE_CONTRACT_V2)
        self.offer = _offer(contract, offers)
        self.listing = Listing(contract, self.offer, controls, schema, text_schema)
        self._contracts: dict[Any, Contract] = {}
        self._strangers: set[str | None] = set()

    def claim(self, negotiate: str | None, taken: Collection[str]) -> str | None:
        """The name of the negotiation tool, where there is something to negotiate.

        Taking the place of a tool that a server has already by one of the service's own is refused.
        """
        if self.offer.is_bare and not self._has_flags:
            negotiate = None
        own = {self.offer.retrieve: "retrieve", negotiate: "negotiate"}
        if negotiate is not None and negotiate == self.offer.retrieve:
            raise InvalidReply(f"negotiate and retrieve are both {negotiate!r}: two tools need two names")
        self.listing.own_tools = {name: setting for name, setting in own.items() if name is not None}
        for name, setting in self.listing.own_tools.items():
            if name in taken:
                raise InvalidReply(f"this server has a tool {name!r} already: give ours another name with {setting}=…")
        return negotiate

    def check_name(self, name: str) -> None:
        """Refuse a tool that comes later and has the name of one of the service's own, which replies tell of."""
        setting = self.listing.own_tools.get(name)
        if setting is not None:
            raise InvalidReply(f"{name!r} is a tool of Aerogram: give yours another name, or ours with {setting}=…")

    def settings(self) -> dict[str, Any]:
        """What the extension advertises to everybody."""
        return (replace(self.offer, dialects=("bare",)) if self.is_legacy(None) else self.offer).settings()

    def is_legacy(self, principal: str | None) -> bool:
        """Whether a caller is served the legacy format: the payload alone, as before there was an envelope."""
        name = RESPONSE_CONTRACT_V2.name
        return name not in self.flags.on_for_all and not self.flags.is_enabled(name, principal)

    # Calls

    def open(self, profile: Profile, arguments: Mapping[str, Any], caller: Caller) -> Call:
        """Accept a call. Its arguments may be refused as the handler's would: with a validation error."""
        settings = caller.settings
        agreed = agree(self.offer, settings) if settings else NOTHING_AGREED
        is_legacy = self.is_legacy(caller.principal)
        if is_legacy:
            told = self.flags.decide(RESPONSE_CONTRACT_V2.name, caller.principal).notices
            agreed = replace(agreed, dialect="bare", notices=(*agreed.notices, *told))
        client = find_client(caller.client) if profile.is_by_client else None
        contract = self._contract_for(agreed, profile, caller, client)
        asked, own, notices = self._shape(profile, arguments, agreed, contract, is_legacy=is_legacy)
        if caller.has_answered:  # what a caller told this server is for its own answer
            asked["apart"] = None
        elif self.contract.cache is not None:
            by_client = "" if not profile.is_by_client else "client" if client is None else f"client {client.name}"
            asked["apart"] = by_client + digest_headers(caller.headers or {}, anyone=caller.principal is None)
        if contract.speaker.is_bare:
            asked |= {"mold": profile.mold, "payload": profile.payload, "suits": profile.suits}
            asked["opens_envelopes"] = not self.offer.is_bare  # a server without one keeps its results
            asked["home"] = self.contract.speaker
        elif self.listing.form != "full":
            asked["mold"] = profile.mold_inside
        return self._call(contract, profile, caller, arguments=own, notices=notices, **asked)

    def _shape(
        self,
        profile: Profile,
        arguments: Mapping[str, Any],
        agreed: Agreement,
        contract: Contract,
        *,
        is_legacy: bool,
    ) -> tuple[dict[str, Any], dict[str, Any], tuple[Notice, ...]]:
        """How a reply is to be shaped, the handler's own arguments, and what there is to say about both."""
        asked: dict[str, Any] = {}
        own, notices = dict(arguments), agreed.notices
        if not arguments.keys().isdisjoint(profile.controls.names):
            asked, own = profile.controls.split(arguments)
        # a walk goes on with the size that it began with, and a payload in a closed schema cannot say that more follows
        can_say_more = not contract.speaker.is_bare or not profile.payload.is_closed
        if profile.page_size is not None and "cursor" not in asked and can_say_more:
            asked.setdefault("page_size", profile.page_size)
        if is_legacy and profile.own_schema is not None:
            ignored = [name for name in SHAPE_CHANGING if asked.pop(name, None) is not None]
            notices = (*notices, *map(_ignored_notice, ignored))
        if agreed.max_tokens is not None:
            asked["max_tokens"] = min(asked.get("max_tokens", agreed.max_tokens), agreed.max_tokens)
        if "cursor" in profile.controls.names and not contract.speaker.is_bare:
            asked["pages"] = True
        most = contract.own_limit(profile.name)
        if most is not None or "max_tokens" in asked:
            mode: Any = arguments.get("response_mode", profile.mode)
            asked["levers"] = Levers(
                profile.names,
                mode if mode in MODES else "full",
                None if most is None else most.room,
                agreed.max_tokens,
                is_walking=arguments.get("cursor") is not None,
            )
        return asked, own, notices

    def _open_besides(self, profile: Profile, caller: Caller, *, has_begun: bool) -> Call:
        """A call that is answered although it was not accepted; until it has begun, it can be made again."""
        legacy = Agreement(dialect="bare") if self.is_legacy(caller.principal) else agree(self.offer, caller.settings)
        client = find_client(caller.client) if profile.is_by_client else None
        call = self._call(self._contract_for(legacy, profile, caller, client), profile, caller)
        return call if has_begun else replace(call, may_repeat=True)

    def _call(self, contract: Contract, profile: Profile, caller: Caller, **known: Any) -> Call:
        return Call(
            contract,
            operation=profile.name,
            resource=profile.version,
            principal=caller.principal,
            may_repeat=profile.may_repeat,
            client_tag=caller.client_tag,
            request_id=caller.request_id,
            stamp=self._stamp,
            **known,
        )

    def _contract_for(
        self, agreed: Agreement, profile: Profile, caller: Caller, client: KnownClient | None
    ) -> Contract:
        agreed_on = self._agreed_contract(agreed, profile, caller)
        if not profile.is_by_client:
            return agreed_on
        if client is None and caller.client not in self._strangers and len(self._strangers) < MOST_STRANGERS:
            self._strangers.add(caller.client)
            log.warning("of the client %.60r no limit is known: it gets the server's own budget", caller.client)
        key = ("client", None if client is None else client.name, id(agreed_on))
        if key not in self._contracts:
            self._contracts[key] = agreed_on.for_client(client)
        return self._contracts[key]

    def _agreed_contract(self, agreed: Agreement, profile: Profile, caller: Caller) -> Contract:
        if profile.name == self.offer.retrieve and (agreed.channels or self.contract.channels) == "summary":
            agreed = replace(agreed, channels="compact")  # a summary of what was asked back would give nothing back
        if agreed.dialect == self.contract.speaker.name:  # which may have settings of its own
            agreed = replace(agreed, dialect=None)
        if agreed.dialect is None and agreed.channels is None and caller.retrieve is None and not any(caller.around):
            return self.contract
        asked = (caller.around.dialect or agreed.dialect, agreed.channels, caller.retrieve, caller.archive)
        changes: dict[str, Any] = {
            name: value
            for name, value in zip(("dialect", "channels", "retrieve", "archive"), asked, strict=True)
            if value is not None and value != getattr(self.contract, name)
        }
        done = {"observer": caller.around.observes, "limits": caller.around.charges}
        changes |= {
            name: None for name, is_done in done.items() if is_done and getattr(self.contract, name) is not None
        }
        if not changes:
            return self.contract
        # the contract that is kept for it holds the archive, so that its id stays taken
        key = tuple((name, value if isinstance(value, str) else id(value)) for name, value in changes.items())
        if key not in self._contracts:
            self._contracts[key] = replace(self.contract, **changes)
        return self._contracts[key]

    async def serve(
        self,
        profile: Profile,
        arguments: Mapping[str, Any],
        caller: Caller,
        handler: Handler,
        convert: Conversion | None = None,
        untouched: tuple[type, ...] = (),
    ) -> Any:
        """The whole way of a call. An outcome of an `untouched` type is not ours: it is given back, or raised."""
        try:
            call = self.open(profile, arguments, caller)
        except Exception as error:  # noqa: BLE001 - bad controls are answered like bad arguments
            own = {name: value for name, value in arguments.items() if name not in profile.controls.names}
            return await self.answer_besides(profile, caller, error, arguments=own)
        with UNOBSERVED if call.contract.observer is None else _observe(call, caller, profile.name) as observation:
            call = call if observation is None else replace(call, observation=observation)
            call, outcome = await find_outcome(call, partial(self._run, call, handler, untouched))
            if not isinstance(outcome, untouched):
                return await self.answer(call, profile, outcome, convert)
            await forgive(call)  # it failed, or will be charged when it has its answers
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

    def shows_errors(self, contract: Contract) -> bool:
        """Whether the words of exceptions that nobody has declared are told: as the server has it, or less."""
        return self._shows_errors and not contract.mask_errors and contract.speaker.is_bare

    async def _run(self, call: Call, handler: Handler, untouched: tuple[type, ...]) -> Any:
        """The handler's outcome; what it raises means what its library is known for, where payloads are bare."""
        try:
            return await handler(dict(call.arguments))
        except Exception as error:  # noqa: BLE001 - told apart below
            raised = error
        if isinstance(raised, untouched):
            raise raised
        if not call.contract.speaker.is_bare:
            raise raised.held if isinstance(raised, Masked) else raised
        shows = self.shows_errors(call.contract)
        raise explain_fault(raised, call.arguments, shows=shows, request_id=call.request_id)

    async def give_out(
        self, method: str, caller: Caller, produce: Callable[[], Awaitable[Any]], *, has_clean_texts: bool = True
    ) -> Any:
        """What a method gives out that is no call of a tool: limited, charged and observed as a call is.

        A contract around this one, or the call of a tool that it is a part of, may do so already. Texts of resources
        that are clean were made so where they were read.
        """
        inside, around, own = CURRENT.get(None), _GIVING.get(_NOBODY), self.contract
        if self.cleaner:
            is_read = has_clean_texts and method == "resources/read"
            produce = partial(self._clean, produce, ("text", "content", "uri") if is_read else ())
        is_observed = around.observes or (inside is not None and inside.contract.observer is not None)
        is_charged = around.charges or (inside is not None and inside.contract.limits is not None)
        observer, limits = None if is_observed else own.observer, None if is_charged else own.limits
        if observer is None and limits is None:
            return await produce()
        call = Call(
            own if (observer, limits) == (own.observer, own.limits) else replace(own, observer=observer, limits=limits),
            operation=method,
            request_id=caller.request_id,
            principal=caller.principal,
        )
        token = _GIVING.set(OuterContract(None, is_observed or observer is not None, is_charged or limits is not None))
        try:
            with observe(call, caller.meta, caller.attributes(method)) as observation:
                call, outcome = await find_outcome(call, produce)
                has_failed = isinstance(outcome, BaseException)
                if has_failed or _asks_back(outcome):
                    await forgive(call)
                if observation is not None and not has_failed:
                    observation.report_success()
                elif observation is not None:
                    observation.report_reply(Reply.failed(problem_told(outcome)))
                if has_failed:
                    raise outcome
                return outcome
        finally:
            _GIVING.reset(token)

    async def _clean(self, produce: Callable[[], Awaitable[Any]], spared: Collection[str]) -> Any:
        """What is given out, and what is said where it cannot be, without what may not be said."""
        try:
            return self.cleaner.clean(await produce(), spared)
        except Exception as error:
            self.cleaner.clean_failure(error)
            raise

    async def answer_besides(
        self,
        profile: Profile,
        caller: Caller,
        outcome: Any,
        convert: Conversion | None = None,
        *,
        arguments: Mapping[str, Any] = MappingProxyType({}),
        has_begun: bool = False,
    ) -> Any:
        """What is sent for a call that came to no handler of ours; it `has_begun` where something else ran for it."""
        call = replace(self._open_besides(profile, caller, has_begun=has_begun), arguments=arguments)
        with UNOBSERVED if call.contract.observer is None else _observe(call, caller, profile.name) as observation:
            return await self.answer(replace(call, observation=observation), profile, outcome, convert)

    async def answer(self, call: Call, profile: Profile, outcome: Any, convert: Conversion | None = None) -> Any:
        """What is sent for an outcome: a plain result, or the handler's own when that is to be left alone.

        `convert` is the framework's own conversion of a value, or None when it does not say the same as the JSON
        given with it; a bare payload goes through it, so that it is sent as ever.
        """
        own, result = read_finished(outcome, call.contract, profile)
        draft = await normalize(call, outcome) if result is None else ReplyDraft(Reply())
        if draft.is_content:
            result = self._make_content(call, outcome, draft, convert)
        if draft.reply.problem is not None:
            draft = draft._replace(reply=with_example(draft.reply, profile, call.arguments))
        if call.contract.speaker.is_bare:
            try:
                if result is None:
                    return await self._send_bare(call, profile, outcome, draft, convert)
                return await self._send_result(call, profile, result, own=own, is_content=draft.is_content)
            except Exception as error:  # noqa: BLE001 - every call gets an answer
                return await self._send(call, profile, ReplyDraft(fail(call, error).reply))
        if result is None:
            return await self._send(call, profile, draft, convert)
        return await self._send_beside(call, profile, result, own=own, is_content=draft.is_content)

    @staticmethod
    def _make_content(call: Call, outcome: Any, draft: ReplyDraft, convert: Conversion | None) -> ToolResult:
        """The blocks of an outcome: where payloads are bare, as the framework writes what stands among them."""
        is_theirs = (
            call.contract.speaker.is_bare and draft.value is outcome
        )  # and not what was read of one without an end
        made = convert(outcome, draft.reply.data) if convert is not None and is_theirs else None
        if made is None or "structuredContent" in made:
            plain: ToolResult = normalize_tool_result(outcome, policy=call.contract.forms)
            return plain
        dumped = (
            one if isinstance(one, dict) else one.model_dump(mode="json", by_alias=True, exclude_none=True)
            for one in made["content"]
        )
        return ToolResult.of_wire({**made, "content": list(dumped)}, call.contract.forms)

    def _lists_envelope(self, call: Call, profile: Profile) -> bool:
        """Whether an envelope is listed for a tool, so that a result which it has finished gets one beside it."""
        return bool(self.listing.spoken) and not profile.is_content and not call.contract.speaker.is_bare

    def _without_envelope(self, call: Call, profile: Profile) -> Call:
        """The call of a result that has no envelope, on a server whose replies have one."""
        key = ("bare", id(call.contract))
        if key not in self._contracts:
            self._contracts[key] = replace(call.contract, dialect="bare")
        return replace(call, contract=self._contracts[key], mold=ANYTHING, payload=profile.payload, pages=False)

    async def _send_beside(
        self, call: Call, profile: Profile, result: ToolResult, *, own: Any, is_content: bool
    ) -> Any:
        """A finished result, with an envelope beside it if one is listed; where it does not fit, what it says in one.

        A result that has no envelope where it fits has none where it is cut.
        """
        if result.isError or fits_as_made(call, result):
            return await self._pass_on(call, profile, result, own=own, is_fitted=is_content)
        opened, is_envelope = None, _is_said_in(call.contract.speaker, result.data())
        if is_envelope:
            opened = try_read(result.data(), call.contract.speaker)
            if opened is None or opened.fidelity is not None:  # what was cut already is whole nowhere but there
                return await self._pass_on(call, profile, result, own=own)
        has_envelope = is_envelope or self._lists_envelope(call, profile)
        if not has_envelope and not is_content and call.cursor is None:
            return await self._send_result(
                self._without_envelope(call, profile), profile, result, own=own, is_content=False
            )
        steps = for_words(call.contract.sanitizers)  # the others are taken below
        wire = await _clean_wire(result.to_wire(), result.size, *steps)
        told = tell_result(call, wire, is_boxed=profile.is_boxed) if has_envelope and not is_content else None
        if told is None:
            return await self._send_blocks(call, profile, result)
        said = told.draft.reply
        if opened is not None:
            said = opened.replace(extra={**(opened.extra or {}), **(said.extra or {})} or None)
        return _join_meta(wire, await self._send(_with_wire_meta(call, wire), profile, ReplyDraft(said)))

    async def _send_blocks(self, call: Call, profile: Profile, result: ToolResult) -> Any:
        """A finished result that does not fit and has no data to be fitted: its blocks, which have no further page."""
        if call.cursor is not None:
            return await self._send(call, profile, await normalize(call, refuse_cursor("no rows")))
        return await self._pass_on(call, profile, result, is_fitted=True)

    async def _send(
        self, call: Call, profile: Profile, draft: ReplyDraft, convert: Conversion | None = None
    ) -> dict[str, Any]:
        """The result of a reply in the making."""
        try:
            blocks, said = take_content(draft.reply, call.contract) if draft.reply.extra else (None, draft.reply)
            if draft.media and not call.contract.speaker.is_bare:
                said = _tell_media(said, draft.media)
            draft = draft if said is draft.reply else draft._replace(reply=said)
            done = await finish(call, draft)
            done = await fit_media(call, done) if done.media else done
            is_whole = done.reply.problem is None and any(done.reply.data is one for one in (said.data, done.value))
            done, sent = await self._write_as_listed(call, profile, done, convert if is_whole else None)
            if call.observation is not None:
                self._report(call.observation, call, done, sent)
            return sent if blocks is None else await join_content(blocks, sent, call)
        except Exception as error:  # noqa: BLE001 - a framework that refuses the payload is answered for as well
            await forgive(call)
            failed = fail(call, error)
            sent = self._write(call, profile, failed)
            if call.observation is not None:
                self._report(call.observation, call, failed, sent)
            return sent

    async def _send_bare(
        self, call: Call, profile: Profile, outcome: Any, draft: ReplyDraft, convert: Conversion | None
    ) -> dict[str, Any]:
        """The result of a value; a text that holds data is fitted as that, and sent as the text that it is."""
        if isinstance(outcome, ResumablePage) and outcome.spell is not None:
            payload = replace(profile.payload, spell=outcome.spell, is_text=True)
            return await self._send(replace(call, payload=payload), profile, draft)
        if draft.reply.problem is None and not isinstance(outcome, (Reply, ResumablePage)):
            draft = _judge(call, draft)
        told, text, steps = None, draft.reply.data, for_words(call.contract.sanitizers)
        if isinstance(text, str) and draft.reply.page is None and may_be_cut(call, text):
            text = await run_by_size("clean", len(text) if steps else 0, sanitize_text, text, *steps)
            told = await run_by_size("fit", len(text), tell_text, call, text)
        if told is None:
            return await self._send(call, profile, draft, convert)
        said = draft.reply.replace(data=told.draft.reply.data)
        return await self._send(told.call, profile, told.draft._replace(reply=said))

    async def _send_result(
        self, call: Call, profile: Profile, result: ToolResult, *, own: Any, is_content: bool
    ) -> Any:
        """A finished result: as it was made where that fits, else its text and structured content fitted together."""
        soft, problem = None, None
        if call.contract.soft_errors is not None:
            soft = _weigh(call, soft_problem_in(result))
            problem = _weigh(call, unsaid_problem_in(result, call.arguments))
        if call.contract.soft_errors == "failure":
            problem = problem or soft
        if problem is not None:
            return await self._fail_as_said(call, profile, result, problem)
        notices = () if soft is None else (note_soft_error(soft),)
        if result.isError or fits_as_made(call, result):
            sent = await self._pass_on(call, profile, result, own=None if notices else own, is_fitted=is_content)
            return _with_meta(sent, meta_of(Reply(None, notices=notices), call.contract.speaker)) if notices else sent
        steps = for_words(call.contract.sanitizers)  # the others are taken below
        wire = await _clean_wire(result.to_wire(), result.size, *steps)
        length = sum(len(block["text"]) for block in wire["content"] if block["type"] == "text")
        told = await run_by_size("fit", length, partial(tell_result, is_boxed=profile.is_boxed), call, wire)
        if told is None:
            return await self._send_blocks(call, profile, result)
        sent = await self._send(_with_wire_meta(told.call, wire), profile, told.draft)
        return _join_meta(wire, in_blocks(sent, wire["content"]))

    async def _fail_as_said(self, call: Call, profile: Profile, result: ToolResult, problem: Problem) -> dict[str, Any]:
        """A failure that was finished further in, in its own words, with what programs and models want to know."""
        if problem.kind == "validation":
            problem = show_call(problem, profile, call.arguments)
        sent = await self._send(call, profile, ReplyDraft(Reply.failed(problem)))
        wire = await _clean_wire(result.to_wire(), result.size, *call.contract.sanitizers)
        sent = _join_meta(wire, sent)
        if "structuredContent" not in wire and len(wire["content"]) == 1 and "text" in wire["content"][0]:
            return sent
        besides = sent["content"][0]["text"].removeprefix(problem.message).lstrip("\n")
        content = [*wire["content"], note_block(besides)]
        return await fit_failure({**wire, "content": content, "isError": True, "_meta": sent["_meta"]}, call)

    async def _write_as_listed(
        self, call: Call, profile: Profile, draft: ReplyDraft, convert: Conversion | None
    ) -> tuple[ReplyDraft, dict[str, Any]]:
        """A finished reply and its result, whose data is what the tool lists: as it is, or as its framework has it.

        Data that is neither is refused, as a client would have to.
        """
        sent = self._write(call, profile, draft, convert)
        if not await self._is_unlisted(call, profile, sent):
            return draft, sent
        own = None if convert is None else convert(draft.value, draft.reply.data)
        if own is not None and own.get("structuredContent") is not None:
            held = sanitize_result(own, *call.contract.sanitizers)["structuredContent"]
            data = held[BOX] if profile.is_boxed else held
            draft = draft._replace(reply=draft.reply.replace(data=data), json=None)
            sent = self._write(call, profile, draft)
        if await self._is_unlisted(call, profile, sent):
            raise _unlike_annotation(profile)
        return draft, sent

    async def _is_unlisted(self, call: Call, profile: Profile, sent: Mapping[str, Any]) -> bool:
        """Whether the data in an envelope is not what its tool lists, by what its handler is annotated with."""
        if profile.typed is None or profile.enveloped is None or sent.get("isError"):
            return False
        if all(one.name != call.contract.speaker.name for one in self.listing.spoken):
            return False  # the server around this one has the say, or an old client, for whom another schema is listed
        length = sum(len(block.get("text", "")) for block in sent["content"])
        return await run_by_size("fit", length, is_broken, sent.get("structuredContent"), profile.enveloped)

    def _write(
        self, call: Call, profile: Profile, draft: ReplyDraft, convert: Conversion | None = None
    ) -> dict[str, Any]:
        """A finished reply as the result of a tool call; `convert` is for a value that is sent whole."""
        reply, speaker = draft.reply, call.contract.speaker
        if not speaker.is_bare:
            return tool_result(reply, render(call.contract, reply, draft.json), dialect=speaker, media=draft.media)
        if convert is not None and not profile.is_reply:
            own = convert(draft.value, reply.data)
            if own is not None:
                own = _with_meta(own, meta_of(reply, speaker))
            if own is not None and not fits_as_spelled(own, reply.data, call):
                own = None
            if own is not None and not self.listing.text_schema and isinstance(reply.data, str):
                own.pop("structuredContent", None)
            if own is not None and draft.value is not reply.data:  # bytes and such may be spelled in another way
                own = sanitize_result(own, *call.contract.sanitizers)
            if own is not None:
                return own
        channels = (call.payload or profile.payload).channels(reply)
        return tool_result(reply, channels, dialect=speaker, media=draft.media, wants_box=False)

    @staticmethod
    def _report(observation: Observation, call: Call, draft: ReplyDraft, sent: dict[str, Any]) -> None:
        observation.report_reply(draft.reply, dialect=call.contract.speaker.name, size=_size(sent))

    async def _pass_on(
        self, call: Call, profile: Profile, result: ToolResult, *, own: Any = None, is_fitted: bool = False
    ) -> Any:
        """Finished results as they are, and content, which is to be fitted, within its budget.

        A listed schema is satisfied beside them, never instead.
        """
        contract, structured = call.contract, result.data()
        if result.isError:
            await forgive(call)
        if result.isError or not self._lists_envelope(call, profile) or _is_said_in(contract.speaker, structured):
            failed = (try_read(structured) or _UNSAID) if result.isError else None
            if call.observation is not None:
                call.observation.report_reply(failed or Reply(None))
            own = None if own is result else own
            is_large = result.isError and call.budget is not None and not fits_as_made(call, result)
            wire = result.to_wire() if own is None or contract.sanitizers or is_large or is_fitted else {}
            clean = await _clean_wire(wire, result.size, *contract.sanitizers)
            if is_fitted:
                return await fit_content(clean["content"], call, clean)
            shown = await fit_failure(clean, call) if is_large else clean
            is_shown = (
                own is None or contract.sanitizers or shown != wire
            )  # its own was not looked at, and may be changed
            return shown if is_shown else own
        clean = await _clean_wire(result.to_wire(), result.size, *contract.sanitizers)
        data = structured if result.has_structured_content else texts_of(clean["content"])
        done = await finish(call, ReplyDraft(_tell_media(Reply(data), clean["content"])))
        said = render(contract, done.reply).structured
        if done.reply.problem is None and await self._is_unlisted(call, profile, {**clean, "structuredContent": said}):
            await forgive(call)
            done = fail(call, _unlike_annotation(profile))
        if done.reply.problem is not None:
            sent = self._write(call, profile, done)
            if call.observation is not None:
                self._report(call.observation, call, done, sent)
            return sent
        if call.observation is not None:
            call.observation.report_reply(done.reply)
        sent = {**clean, "structuredContent": said}
        if not is_fitted and contract.count != "both":
            return sent
        found = await fit_content(clean["content"], call, sent)
        # of texts alone, what is cut is in the data, whose envelope says so
        return found if result.has_structured_content else {**sent, "content": found["content"]}

    # Tools and resources of the service itself

    async def retrieve(
        self,
        hash: Annotated[str | None, Field(description="Hash in the reply")] = None,
        ids: Annotated[Ids | None, Field(description="Only these items")] = None,
        path: Annotated[str, Field(description="JSON Pointer")] = "",
        response_mode: Annotated[Mode, Field(description="Detail")] = "full",
        fields: Annotated[list[str] | None, Field(description="Only these")] = None,
        as_text: Annotated[bool, Field(description="As one text")] = False,
        cursor: Annotated[str | None, Field(description="From the reply")] = None,
        page_size: Annotated[int | None, Field(description="Items per page")] = None,
        offset: Annotated[int, Field(description="Items to skip; -9: last 9")] = 0,
        query: Query = None,
    ) -> ResumablePage:
        """Get back what a reply left out, by the hash or ids it names."""
        wanted = list(map(str, ids or ()))  # as replies show them, some of them as numbers
        asked = Retrieval(hash, wanted, path, response_mode, fields or (), as_text, cursor, page_size, offset, query)
        return await retrieve_for(CURRENT.get(), asked)

    def negotiate(
        self,
        action: Annotated[str, WithJsonSchema({"type": "string", "enum": [ACTION]})] = ACTION,
        client_capabilities: dict[str, Any] | None = None,
    ) -> Reply[Any]:
        """Say which response contract is used, for `client_capabilities` such as {"response_contract": "v2"}."""
        client = CURRENT.get().principal
        return negotiate(action, client_capabilities, offer=self.offer, flags=self.flags, client=client)

    async def read_archive(self, hash: str, principal: str | None) -> tuple[Any, str, int]:
        """An archived entry as a resource: its text or bytes, its MIME type, and how long it may be cached (ms)."""
        if self.contract.archive is None:
            raise ReplyError("This server keeps no archive", code="NOT_FOUND")
        content, left = await self.contract.archive.entry(hash, principal=principal)
        body = content.body if content.kind == "bytes" else content.body.decode()
        return body, _MIME_TYPES[content.kind], int(left * 1000)


def _observe(call: Call, caller: Caller, tool: str) -> AbstractContextManager[Observation | None]:
    return observe(call, caller.meta, caller.attributes("tools/call", tool))


_GIVING: Final[ContextVar[OuterContract]] = ContextVar("aerogram_giving")
"""What is done already for what is being given out."""


def _asks_back(outcome: Any) -> bool:
    """Whether an outcome is a question to the client, who will be charged when it has answered."""
    told = outcome.get("resultType") if isinstance(outcome, Mapping) else getattr(outcome, "result_type", None)
    return told == "input_required"


BESIDE: Final = "beside"
"""Where an envelope says which pictures and sounds are sent beside it."""
_UNSAID: Final = Reply.failed("INTERNAL_ERROR", "The tool said so")
_MIME_TYPES: Final = {"json": "application/json", "text": "text/plain", "bytes": "application/octet-stream"}


def _ignored_notice(control: str) -> Notice:
    return Notice(
        f"This answer has a schema of its own, so {control} was not used", "CONTROL_IGNORED", "info", "Ask without it"
    )


def _offer(contract: Contract, offers: Sequence[str]) -> Offer:
    own = contract.speaker.name
    return Offer(
        dialects=(own, *(name for name in offers if name != own)),
        channels=contract.channels,
        budget=None if (own := split_by_client(contract.budget)[1]) is None else Budget.of(own),
        retrieve=contract.retrieve if contract.archive is not None else None,
    )


def _is_said_in(speaker: Dialect, structured: Any) -> bool:
    """Whether structured content is an envelope already."""
    return speaker.recognises(structured if isinstance(structured, dict) else {})


def _unlike_annotation(profile: Profile) -> TypeError:
    return TypeError(f"what {profile.name} returned is not what it is annotated with")


def _judge(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply with word of a failure that it tells of, or as that failure."""
    mode = call.contract.soft_errors
    soft = None if mode is None else _weigh(call, soft_problem(draft.reply.data))
    if soft is None:
        return draft
    if mode == "failure":
        return ReplyDraft(Reply.failed(soft))
    return draft._replace(reply=draft.reply.replace(notices=(*draft.reply.notices, note_soft_error(soft))))


def _weigh(call: Call, problem: Problem | None) -> Problem | None:
    """What words say of a failure, which do not know whether the call can be repeated."""
    return problem if problem is None or call.may_repeat else look_first(problem)


async def _clean_wire(wire: dict[str, Any], size: int, *steps: Step) -> dict[str, Any]:
    """A finished result as the protocol writes it, without what may not be said."""
    return await run_by_size("clean", size if steps else 0, sanitize_result, wire, *steps)


def _with_meta(sent: dict[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    return {**sent, "_meta": {**(sent.get("_meta") or {}), **meta}}


def _join_meta(wire: Mapping[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """A result with what a finished one says in `_meta` as well, of which ours counts."""
    return {**sent, "_meta": {**(wire.get("_meta") or {}), **(sent.get("_meta") or {})}}


def _with_wire_meta(call: Call, wire: Mapping[str, Any]) -> Call:
    """The call of a result that brings `_meta` of its own, which takes its room where the wire is limited."""
    own = wire.get("_meta")
    return replace(call, stamp=(call.stamp or 0) + len(dumps_unproven(own))) if own else call


def _tell_media(reply: Reply[Any], blocks: Iterable[Mapping[str, Any]]) -> Reply[Any]:
    """The reply with word of the pictures and sounds that are sent beside it; they are an answer, and not nothing."""
    beside = describe_media(blocks)
    if beside is None or reply.problem is not None:
        return reply
    if reply.data is None:
        return reply.replace(data={BESIDE: beside})
    return reply.replace(extra={**(reply.extra or {}), BESIDE: beside})


def _size(written: Mapping[str, Any]) -> int | None:
    """How many bytes a result takes on the wire; unknown when a framework's own objects are in it."""
    try:
        return len(dumps_unproven(written))
    except ContractError:
        return None
