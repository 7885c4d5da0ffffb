"""Answer: one call, from what its handler returned to the reply that is sent.

The whole path, from top to bottom:

    admit        limits: a call that may not go on is refused here
    run          the handler, or the cache's answer for it
    normalize    any value becomes a reply over JSON, an exception a problem
    bill         what the answer costs is taken from the limits
    annotate     what limits, deprecations and the protocol have to say about the call
    clean        what may not be said is taken out
    find_kind    the type that the rows look like, where none is declared
    page         the rows that were asked for, and the way on after each of them
    select       the mode and the fields that were asked for
    complete     the request id, the duration, what the dialect requires
    fit          into the budget: rows in less detail, then fewer of them, and the cursor of the next page where the
                 caller can follow one; or a refusal, also where only a later page would not fit
    keep         what stands behind that, whole, is archived before the reply that names it is sent
    count        the tokens, where the contract wants to know them and nobody has counted them yet

Each is a function over one `Call`, which is all that is known about the request, and one `ReplyDraft`, the reply in the
making. `find_outcome` is the first two: what a call is refused for is its outcome, like what its handler returns or
raises, and takes all the steps. `finish` is all that follow `normalize`; `answer` is both in one. A step that breaks is
answered by `fail`, which takes only those steps that have nothing to refuse. A failure costs nothing.
There are two exceptions to the list. Where a contract has nothing to do but to complete its replies, nothing else is
done. And a call that has changed something succeeds although its controls have failed (`finish` says how).

Whoever sends the reply renders it in its dialect: as two channels over MCP, after the pictures and sounds beside it
(`fit_media`), and as status, fields and body over HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

from aerogram.answer.aside import LARGE, Work, run_by_size
from aerogram.archive import Archive
from aerogram.channels import Channels, Payload, Sizer, Writer, channels_of
from aerogram.content.jsontext import dumps_unproven, loads, part_to_json
from aerogram.contract import Contract
from aerogram.contract.cache import UNKEPT, Cache
from aerogram.cursor import START_AGAIN
from aerogram.dialects import SIGNS, try_read
from aerogram.dialects.protocol import Dialect, restore
from aerogram.errors import AerogramError, ContractError, InvalidCursor, ReplyError
from aerogram.limits import Allowance
from aerogram.normalize.plain import is_plain, plain_json
from aerogram.normalize.policy import Policy as Forms
from aerogram.normalize.result import read_json
from aerogram.normalize.signals import contain, is_signal
from aerogram.normalize.stream import DrainedItems, drain, is_here, settle
from aerogram.normalize.tool import is_finished
from aerogram.normalize.values import encode
from aerogram.problems import look_first, problem_of
from aerogram.reply import (
    Notice,
    Page,
    Problem,
    QueryEcho,
    Reply,
    ResumablePage,
    is_generated_id,
    new_request_id,
)
from aerogram.sanitize import sanitize
from aerogram.shape.citing import RECORD, ROWS, check_citations, locate_citations, move_citations, trim_citations
from aerogram.shape.controls import Levers, find_size
from aerogram.shape.draft import Leftover, ReplyDraft
from aerogram.shape.fit import Fitted, Manner, count_itself, fit_draft, without_archive
from aerogram.shape.loss import is_map, list_names
from aerogram.shape.media import refer_media
from aerogram.shape.modes import Mode, RecordType, allowed_mode, lengths_of_cut, lengths_of_gone
from aerogram.shape.modes import select as select_fields
from aerogram.shape.modes import select_in as select_fields_in
from aerogram.shape.mold import ANYTHING, Mold
from aerogram.shape.pages import Pager, Rows, has_longer_list, pack, rows_of, take, unpack
from aerogram.shape.places import move_notices
from aerogram.shape.records import find_record_type
from aerogram.telemetry import OBSERVATION, Observation
from aerogram.tokens import Budget

__all__ = [
    "CURRENT",
    "LONGEST_ECHO",
    "UNOBSERVED",
    "Call",
    "ReplyDraft",
    "admit",
    "annotate",
    "answer",
    "archive_leftovers",
    "bill",
    "bring_to_size",
    "clean",
    "complete",
    "count",
    "fail",
    "find_kind",
    "find_outcome",
    "finish",
    "fit",
    "fit_media",
    "forgive",
    "keep",
    "normalize",
    "observe",
    "page",
    "refuse_cursor",
    "render",
    "run",
    "select",
]


log = logging.getLogger("aerogram")

Handler: TypeAlias = Callable[[], Awaitable[Any]]


@dataclass
class Call:
    """What is known about one request: what it is promised, who asks for what, how the reply is to be shaped.

    A control that is None was not asked for. `mold` is what the data must satisfy by its schema, `payload` how the
    data is sent when it is sent alone, `suits` whether structured content is what its tool lists, `writer` what is
    sent in place of the data. `resource` tells operations of one name apart, as paths and versions do, and `apart` the
    calls of callers whom nobody knows: a digest of what they show, or None where they share no answers. With `pages`,
    whoever asks could ask for a page: what does not fit gets a cursor, and a whole answer says that it is one. With
    `is_done`, the call has changed something: no control turns its success into a failure. With `may_repeat`, it is
    known that making it twice does no harm, however it has ended. Without `opens_envelopes`, what a handler says in a
    dialect of its own is data like any other. `notices` are what its
    caller is told besides.
    Nobody changes one that is made; freezing it would take longer than most steps.
    """

    contract: Contract = field(default_factory=Contract)
    _: KW_ONLY
    operation: str = "unknown"
    resource: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    told_arguments: Mapping[str, Any] | None = None
    """How the arguments are told back, where that is not as they came."""
    request_id: str = field(default_factory=new_request_id)
    principal: str | None = None
    apart: str | None = ""
    client_tag: str | None = None
    response_mode: str | None = None
    fields: Sequence[str] | None = None
    max_tokens: int | None = None
    cursor: str | None = None
    page_size: int | None = None
    pages: bool = False
    is_done: bool = False
    may_repeat: bool = False
    opens_envelopes: bool = True
    home: Dialect | None = None
    """The dialect of its server, where this caller gets another one."""
    mold: Mold = ANYTHING
    payload: Payload | None = None
    suits: Callable[[Any], bool] | None = None
    writer: Writer | None = None
    allowance: Allowance | None = None
    stamp: int | None = None
    """How many bytes its server itself adds to `_meta`; None where nothing is sent there."""
    levers: Levers | None = None
    """What its caller can change about it, where that is known."""
    notices: tuple[Notice, ...] = ()
    found_kind: RecordType | None = None
    """The type that its records turn out to be of, where none is declared."""
    observation: Observation | None = None
    """Where it is reported what was answered, if anybody observes."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def subject(self) -> str:
        """What is asked, whichever arguments it is asked with."""
        return f"{self.operation}\n{self.resource}" if self.resource else self.operation

    @property
    def is_plain(self) -> bool:
        """Whether nothing about this call changes its reply."""
        if self.pages or self.notices or self.allowance is not None or self.is_paged:
            return False
        return self.response_mode is None and self.fields is None and self.max_tokens is None

    @property
    def is_paged(self) -> bool:
        """Whether the caller asked for a page."""
        return self.cursor is not None or self.page_size is not None

    def succeeds_despite(self, reply: Reply[Any], problem: Problem) -> bool:
        """Whether a reply is sent although its controls have failed; a cursor is never passed over."""
        return self.is_done and reply.problem is None and problem.code != "INVALID_CURSOR"

    def without_controls(self, reply: Reply[Any], problem: Problem) -> tuple[Reply[Any], Call]:
        """The reply with word that no control was used on it, and why; and the call without them."""
        notice = Notice(
            f"The request was carried out; its controls were not used: {problem.message}",
            "CONTROL_IGNORED",
            "warning",
            "Do not send the request again for this",
            {"code": problem.code},
        )
        plain: dict[str, Any] = dict.fromkeys(("response_mode", "fields", "max_tokens", "cursor", "page_size"))
        return reply.replace(notices=(*reply.notices, notice)), replace(self, **plain, is_done=False)

    @cached_property
    def budget(self) -> Budget | None:
        """Its budget: the operation's or the server's, and the caller's if that is smaller."""
        held = self.contract.own_limit(self.operation)
        asked = None if self.max_tokens is None else Budget.of(self.max_tokens)
        return held.within(asked) if held and asked else held or asked

    @property
    def most_tokens(self) -> int | None:
        """The tokens that its server allows, where its caller has asked for more."""
        held = self.contract.own_limit(self.operation)
        is_less = held is not None and held.counter.unit == "tokens" and held.limit < (self.max_tokens or 0)
        return held.limit if held is not None and is_less else None

    @property
    def kind(self) -> RecordType | None:
        """The type of the records that its operation gives: as declared, or as they look."""
        return self.contract.kinds.get(self.operation, self.found_kind)

    @cached_property
    def manner(self) -> Manner:
        """How its reply gives way where it does not fit."""
        contract, operation, speaker = self.contract, self.operation, self.contract.speaker
        is_closed = self.payload is not None and self.payload.is_closed
        return Manner(
            kind=self.kind,
            mold=self.mold,
            suits=None if self.suits is None or self.mold.is_free else self.still_suits,
            # as they are or not at all: in the mode that was asked for, or by a schema
            whole_rows=is_closed or self.response_mode is not None or self.fields is not None,
            ranked=operation in contract.ranked or (self.kind is not None and self.kind.is_ranked),
            facts=contract.facts.get(operation, ()),
            archive=contract.archive is not None,
            retrieve=contract.retrieve if contract.archive is not None else None,
            code=speaker.shortage,
            warns=speaker.explains_partial,
            echoes=speaker.echoes,
            levers=self.levers,
            asked=find_size(self.arguments),
            is_under_way=self.cursor is not None or (self.levers is not None and self.levers.is_walking),
        )

    def still_suits(self, reply: Reply[Any]) -> bool:
        """Whether a reply that was cut regardless of the schema is what its tool lists."""
        sent = None if self.payload is None else self.payload.channels(reply).structured
        return sent is not None and self.suits is not None and self.suits(sent)

    def sizer(self, budget: Budget | None = None) -> Sizer:
        """What measures its replies as they are sent, by the counter of a budget."""
        contract = self.contract
        known = {} if budget is None else {"counter": budget.counter}
        read = None if budget is None or contract.count != "larger" else budget.reads
        return Sizer(
            contract.speaker,
            contract.channels,
            payload=self.payload,
            writer=self.writer,
            stamp=self.stamp,
            counted=contract.count if read is None or read == "either" else read,
            **known,
        )


# The path


async def answer(call: Call, outcome: Any) -> Reply[Any]:
    """The finished reply to a call; `outcome` is what its handler returned, or the exception that it raised."""
    return (await finish(call, await normalize(call, outcome))).reply


async def finish(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The finished reply of a draft over JSON, whatever happens on the way.

    A handler that has changed something is not asked to do it again because of a wrong field or a small budget: its
    reply then goes through the steps once more, without the controls and with word of that. What it costs is noted
    with each pass, and the last one counts.
    """
    if call.contract.sanitizers:
        draft = await _take_as_it_is(draft)
    done = await _take_steps(call, draft)
    problem = done.reply.problem
    if problem is not None and call.succeeds_despite(draft.reply, problem):
        reply, call = call.without_controls(draft.reply, problem)
        done = await _take_steps(call, draft._replace(reply=reply))
        problem = done.reply.problem
    if problem is not None:
        await forgive(call)
    json = draft.json if done.reply.data is draft.reply.data else None
    return done if done.json is json else done._replace(json=json)


async def _take_as_it_is(draft: ReplyDraft) -> ReplyDraft:
    """A draft over data of its own: a secret may come into the handler's after it was looked at, before it is sent."""
    if draft.json is None or draft.reply.data is not draft.value:
        return draft
    data = await run_by_size("clean", len(draft.json), loads, draft.json)
    return draft._replace(reply=draft.reply.replace(data=data), value=data)


async def _take_steps(call: Call, begun: ReplyDraft) -> ReplyDraft:
    draft = begun
    try:
        if draft.reply.citations:
            draft = draft._replace(reply=check_citations(locate_citations(draft.reply)))
        if call.contract.only_completes and call.is_plain:
            return complete(call, draft)
        await bill(call, draft)
        draft = annotate(call, draft)
        if call.contract.sanitizers:
            draft = await _take_by_size("clean", clean, call, draft)
        call = find_kind(call, draft)
        draft = await page(call, draft)
        draft = select(call, draft)
        draft = complete(call, draft)
        if call.budget is not None:
            draft = await _take_by_size("fit", fit, call, draft)
        draft = await keep(call, draft)
        return count(call, draft)
    except AerogramError as error:
        return fail(call, error)
    except Exception as error:  # noqa: BLE001 - every request gets an answer
        own = await _take_as_it_is(begun)  # another call may have changed the handler's meanwhile
        return fail(call, error) if own is begun else await _take_steps(call, own)


async def _take_by_size(
    kind: Work, step: Callable[[Call, ReplyDraft], ReplyDraft], call: Call, draft: ReplyDraft
) -> ReplyDraft:
    """A step that looks at all of the data, beside the event loop where that is large, or nobody knows."""
    body = draft.json if draft.json is not None else plain_json(draft.reply.data, LARGE)
    return await run_by_size(kind, math.inf if body is None else len(body), step, call, draft)


def fail(call: Call, error: BaseException) -> ReplyDraft:
    """The finished reply to a call whose answer cannot be sent: it is not paged, and not fitted."""
    draft = ReplyDraft(_failure_after(call, error))
    for step in (annotate, clean, complete, count):
        draft = step(call, draft)
    return draft


def _failure(call: Call, error: BaseException) -> Reply[Any]:
    problem = problem_of(error, request_id=call.request_id, may_repeat=call.may_repeat)
    return Reply.failed(problem, rate_limit=getattr(error, "rate_limit", None))


def _failure_after(call: Call, error: BaseException) -> Reply[Any]:
    """The failure to give an answer that there is, whoever has declared it: the call has been carried out."""
    reply = _failure(call, error)
    if reply.problem is None or call.may_repeat:
        return reply
    return reply.replace(problem=look_first(reply.problem))


# Before the handler, and around it

UNOBSERVED: Final[AbstractContextManager[None]] = nullcontext()
"""What a call is answered in that nobody observes."""
CURRENT: Final[ContextVar[Call]] = ContextVar("aerogram_call")
"""The call that a handler is answering."""


def observe(
    call: Call, carrier: Mapping[str, Any] | None = None, attributes: Mapping[str, str] | None = None
) -> AbstractContextManager[Observation | None]:
    """The call under observation, if anybody observes; `carrier` may hold the caller's `traceparent`."""
    observer = call.contract.observer
    if observer is None:
        return UNOBSERVED
    return observer.observe(call.operation, request_id=call.request_id, carrier=carrier, attributes=attributes)


async def admit(call: Call) -> Call:
    """The call with leave to go on; a limit that is reached raises what the caller must be told."""
    limits = call.contract.limits
    return call if limits is None else replace(call, allowance=await limits.take(call.principal, call.operation))


async def find_outcome(call: Call, handler: Handler, finished: type | tuple[type, ...] = ()) -> tuple[Call, Any]:
    """The call as it was admitted, and what came of it: a value, or the exception that is to be answered."""
    try:
        call = await admit(call)
        return call, await run(call, handler, finished)
    except Exception as error:  # noqa: BLE001 - a limit that is reached is an outcome
        return call, error


async def forgive(call: Call) -> None:
    """Charge nothing for a call that failed."""
    limits = call.contract.limits
    if limits is not None and call.allowance is not None:
        await limits.settle(call.allowance, 0)


async def run(call: Call, handler: Handler, finished: type | tuple[type, ...] = ()) -> Any:
    """What the handler returns, or what the cache holds for this call; an exception comes back as a value.

    An outcome of a `finished` type is given on, and not kept.
    """
    cache, token = call.contract.cache, CURRENT.set(call)
    try:
        if cache is None or call.operation not in call.contract.cached:
            return await handler()
        return await _run_cached(cache, call, handler, finished)
    except BaseException as error:  # what a handler raises is its outcome, `sys.exit` included
        if not is_signal(error):
            return error
        if isinstance(error, asyncio.CancelledError):
            _forgive_soon(call)
        raise
    finally:
        CURRENT.reset(token)


_forgiving: Final[set[asyncio.Task[None]]] = set()


def _forgive_soon(call: Call) -> None:
    """Charge nothing for a call that was given up, whose own task may wait for nothing any more."""
    if call.allowance is not None:
        task = asyncio.get_running_loop().create_task(forgive(call))
        _forgiving.add(task)
        task.add_done_callback(_forgiving.discard)


async def _run_cached(cache: Cache, call: Call, handler: Handler, finished: type | tuple[type, ...]) -> Any:
    """The kept answer or the handler's; pictures and finished results are given on, and not kept."""
    produced: list[Any] = []

    async def produce() -> Reply[Any]:
        produced.append(await handler())
        if isinstance(produced[0], finished) or is_finished(produced[0]):
            return UNKEPT
        draft = await normalize(call, produced[0])
        if draft.media or draft.is_content:
            return UNKEPT
        page = produced[0]
        return pack(page._replace(reply=draft.reply)) if isinstance(page, ResumablePage) else draft.reply

    key = cache.key(call.subject, call.arguments, call.principal, apart=call.apart)
    kept = await cache.fetch(key, produce, request_id=call.request_id)
    if kept is not UNKEPT:
        return unpack(kept)
    return produced[0] if produced else await handler()


# Any value as a reply over JSON


async def normalize(call: Call, outcome: Any) -> ReplyDraft:
    """The outcome as a reply whose data is JSON."""
    try:
        if isinstance(outcome, BaseException):
            return _normalize_reply(call, _failure(call, outcome))
        if isinstance(outcome, ResumablePage):
            return _normalize_reply(call, await _settle_data(call, outcome.reply)).with_page(outcome)
        kind = type(outcome)
        said = outcome if isinstance(outcome, Reply) else _open_text(call, outcome) if kind is str else None
        if said is None and (kind in _DATA or (kind is dict and SIGNS.isdisjoint(outcome))):
            return _normalize_data(call, outcome)
        said = said or _open_envelope(call, outcome)
        if said is not None:
            return _normalize_reply(call, await _settle_data(call, said))
        settled = await settle(outcome, call.contract.forms)
        draft = _normalize_data(call, settled)
        draft = draft._replace(value=outcome) if draft.value is settled else draft
        # an object of one's own may turn out to be an envelope
        said = None if kind is dict else _open_envelope(call, draft.reply.data)
        return draft if said is None else _normalize_reply(call, said)
    except BaseException as error:  # noqa: BLE001 - what is awaited here, or read, is the handler's
        return ReplyDraft(_failure_after(call, contain(error)))


async def _settle_data(call: Call, said: Reply[Any]) -> Reply[Any]:
    """A reply whose data is all there: awaited, and read where it can be read only once."""
    if is_here(said.data):
        return said
    data = await settle(said.data, call.contract.forms)
    return said.replace(data=data if is_here(data) else drain(data, call.contract.forms))


def _open_envelope(call: Call, value: Any) -> Reply[Any] | None:
    """The reply that a value says in a dialect, unless it is to stay the data that it is."""
    said = try_read(value, call.contract.speaker)
    if said is None and call.home is not None and isinstance(value, dict) and not call.home.is_older(value):
        said = try_read(value, call.home)
    return said if said is not None and (call.opens_envelopes or said.problem is not None) else None


def _open_text(call: Call, text: str) -> Reply[Any] | None:
    """The reply that a text says in a dialect as JSON; most texts are known by their beginning to say none."""
    if not text.startswith("{") or call.contract.speaker.is_bare or not any(f'"{one}"' in text for one in SIGNS):
        return None
    try:
        return _open_envelope(call, loads(text))
    except ContractError:
        return None


_DATA: Final = frozenset((list, str, int, float, bool, type(None)))
"""Of these types are values that nobody has to wait for, and that are no body of a dialect."""


def _normalize_data(call: Call, value: Any) -> ReplyDraft:
    """A value that need not be awaited, as a reply over JSON."""
    json = plain_json(value, call.contract.forms.max_bytes)
    return _encode_data(call, Reply(value)) if json is None else ReplyDraft(Reply(value), json, value)


def _normalize_reply(call: Call, said: Reply[Any]) -> ReplyDraft:
    """A reply over any value that need not be awaited, as one over JSON."""
    forms = call.contract.forms
    if len(said.__dict__) > 1:
        said = _encode_parts(said, forms, call.contract.speaker.name)
    json = plain_json(said.data, forms.max_bytes)
    return _encode_data(call, said) if json is None else ReplyDraft(said, json, said.data)


def _encode_data(call: Call, said: Reply[Any]) -> ReplyDraft:
    encoded = encode(said.data, call.contract.forms)
    data = read_json(encoded.body)
    notices = encoded.notices
    if type(said.data) is DrainedItems and said.data.notice is not None:
        notices = (said.data.notice, *notices)
    # a value that was not read to its end may have none: what was read stands for it
    value = data if any(one.code == "PARTIAL_RESULTS" for one in notices) else said.data
    changes: dict[str, Any] = {"data": data}
    if notices:  # what comes from the cache says some of it already
        changes["notices"] = (*said.notices, *(one for one in notices if one not in said.notices))
    return ReplyDraft(said.replace(**changes), encoded.body, value, encoded.media, encoded.is_content)


def _encode_parts(said: Reply[Any], forms: Forms, dialect: str) -> Reply[Any]:
    """The reply with everything besides its data in JSON too: details, notices, whatever a handler put there."""
    parts = {name: part_to_json(value) for name, value in vars(said).items() if name != "data"}
    try:
        if len(dumps_unproven(parts)) <= forms.max_bytes:
            return said
    except ContractError:
        log.debug("a reply says more than JSON can; it is mended")
    encoded = encode(parts, forms)
    mended = restore({"data": said.data}, read_json(encoded.body), dialect, "")
    return mended.replace(notices=(*mended.notices, *encoded.notices))


# What is said, and what is not


async def bill(call: Call, draft: ReplyDraft) -> None:
    """Take from the limits of its caller what a reply says that it cost; otherwise it is what was expected."""
    limits, cost = call.contract.limits, draft.reply.telemetry
    units = 0 if draft.reply.problem is not None else None if cost is None else cost.billable_units
    if limits is not None and call.allowance is not None and units is not None:
        await limits.settle(call.allowance, units)


def annotate(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply with what limits, deprecations and the protocol have to say."""
    reply = draft.reply
    changes: dict[str, Any] = {}
    notices = reply.notices + call.notices
    deprecations = call.contract.deprecations.get(call.operation)
    if deprecations is not None:
        whole = reply.data if call.response_mode is None and call.fields is None else None  # else see what is shown
        notices += deprecations.notices(call.arguments, whole)
    if call.allowance is not None:
        notices += call.allowance.notices
        changes["rate_limit"] = reply.rate_limit or call.allowance.rate_limit
    if notices != reply.notices:
        changes["notices"] = notices
    return draft._replace(reply=reply.replace(**changes)) if changes else draft


def clean(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply without what may not be said, and the text that its data was read from likewise."""
    steps = call.contract.sanitizers
    if not steps:
        return draft
    reply, source = sanitize(draft.reply, *steps), draft.source
    if source is not None and reply.data is not draft.reply.data:  # it is archived, and written anew for that
        spell = None if call.payload is None else call.payload.spell
        source = None if spell is None else spell(reply.data)
    return draft._replace(reply=reply, source=source)


# The part of it that was asked for

_OWN_PAGES: Final = Notice(
    "This answer comes in pages of its own, so page_size was not used", "CONTROL_IGNORED", "info", "Follow its cursor"
)
_NO_ROWS: Final = Notice(
    "This answer is no list of rows, so page_size was not used", "CONTROL_IGNORED", "info", "Leave page_size out"
)


def find_kind(call: Call, draft: ReplyDraft) -> Call:
    """The call with the type that its rows look like, where its operation declares none; what was kept comes whole."""
    is_known = draft.is_archived or call.operation in call.contract.kinds
    kind = None if is_known else find_record_type(draft.reply.data)
    return call if kind is None else replace(call, found_kind=kind)


async def page(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The rows that were asked for; where none were, all of them, and the way on in case that they do not fit."""
    if draft.reply.problem is not None:
        return draft
    rows = _rows_to_page(call, draft.reply)
    if call.cursor is not None:
        await call.contract.cursors.prepare_async(call.cursor)
    if rows is not None:
        return _window(call, draft, rows) if call.is_paged else _everything(call, draft, rows)
    return draft._replace(reply=_note_unpaged(draft.reply, call)) if call.is_paged else draft


def _rows_to_page(call: Call, reply: Reply[Any]) -> Rows | None:
    """The rows to page by, where a page was or could have been asked for and the handler made none itself."""
    if not (call.is_paged or call.pages) or reply.page is not None:
        return None
    rows = _rows_in(call, reply)
    if rows is None or rows.name is None:
        return rows
    is_shown_less = call.response_mode not in (None, "full") and not rows.are_records
    return None if is_shown_less and not call.is_paged else rows


def _rows_in(call: Call, reply: Reply[Any]) -> Rows | None:
    """The rows of an answer; a record of its type has its one list as one of its members."""
    rows = rows_of(reply.data)
    is_boxed = rows is not None and rows.name is not None
    return None if is_boxed and call.kind is not None and call.kind.describes(reply.data) else rows


def _everything(call: Call, draft: ReplyDraft, rows: Rows) -> ReplyDraft:
    """All rows as a page that nobody asked for, which goes on in pages if it does not fit."""
    total = len(rows.items)
    whole = draft.reply.replace(page=Page(has_more=False, total=total))
    resume = lambda kept: _pager(call).seal(kept, size=total)  # noqa: E731 - most replies fit, and need no cursor
    return draft._replace(reply=whole, resume=resume, ahead=lambda: rows.items, rows=rows)


def _window(call: Call, draft: ReplyDraft, rows: Rows) -> ReplyDraft:
    """The page that was asked for."""
    pager, reply = _pager(call), draft.reply
    window = pager.window(call.cursor, call.page_size)
    found = pager.page(take(rows.items, window), window, total=len(rows.items))
    shown = found.reply
    data = shown.data if rows.name is None else rows.replaced(reply.data, shown.data)
    said: dict[str, Any] = {"data": data, "page": shown.page}
    if shown.status == "empty" and rows.name is None and reply.status != "empty":
        said |= {"status": "empty", "empty_reason": shown.empty_reason}
    place = ROWS if rows.name is None else RECORD + rows.path
    told = move_citations(reply, place, window.offset, len(shown.data)) if reply.citations else reply
    if told.notices:
        told = move_notices(told, rows.path, window.offset, len(shown.data))
    ahead = None if call.cursor is not None else lambda: rows.items
    return draft._replace(reply=told.replace(**said), resume=found.resume, ahead=ahead, rows=rows, source=None)


def _pager(call: Call) -> Pager:
    mode: Mode = "full" if call.response_mode is None else allowed_mode(call.response_mode)
    contract, tool = call.contract, call.subject
    documented = contract.speaker.documents_cursors
    return Pager(contract.cursors, tool, call.arguments, mode, call.principal, documented=documented)


def _note_unpaged(reply: Reply[Any], call: Call) -> Reply[Any]:
    """An answer that cannot be paged for its caller, who hears so where it matters; a cursor is never passed over."""
    if call.cursor is not None:
        raise refuse_cursor("no rows" if reply.page is None else "pages of its own")
    size, is_list = call.page_size or 0, isinstance(reply.data, list)
    if is_list and len(reply.data) > size:
        return reply.replace(notices=(*reply.notices, _OWN_PAGES))
    is_longer_map = isinstance(reply.data, dict) and is_map(reply.data) and len(reply.data) > size
    if reply.page is None and (isinstance(reply.data, str) or is_longer_map or has_longer_list(reply.data, size)):
        return reply.replace(notices=(*reply.notices, _NO_ROWS))
    return reply


def refuse_cursor(why: str) -> InvalidCursor:
    """The refusal of a cursor for an answer that has something, or nothing, so that it cannot be paged."""
    return InvalidCursor(
        f"This answer has {why}, so there is nothing that this cursor could go on with",
        remediation=START_AGAIN,
        details={"reason": "unpaged"},
    )


def select(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The mode and the fields that the caller asked for."""
    reply, ahead, rows, kind = draft.reply, draft.ahead, draft.rows, call.kind
    if reply.problem is not None or (call.response_mode is None and call.fields is None):
        return draft
    names, mode = tuple(call.fields or ()), allowed_mode(call.response_mode or "full")
    if rows is None and mode != "full":
        found = _rows_in(call, reply)
        rows = found if found is not None and found.name is not None and found.are_records else None
    if rows is not None and rows.name is not None:
        every = rows.replaced(reply.data, rows.items)
        shown = select_fields_in(reply.data, rows.name, names, mode=mode, kind=kind, among=every)
    else:
        among = rows.items if rows is not None else reply.data if isinstance(reply.data, list) else None
        shown = select_fields(reply.data, names, mode=mode, kind=kind, among=among)
    told = reply.replace(data=shown)
    lengths = lengths_of_cut(reply.data, shown)
    is_chosen = bool(names) or (kind is not None and isinstance(reply.data, dict) and kind.describes(reply.data))
    gone = {} if is_chosen else lengths_of_gone(reply.data, shown)
    if lengths or gone:
        cut = [f"Only the first items of {list_names([*lengths])} are shown"] if lengths else []
        cut += [f"{'n' if cut else 'N'}othing of {list_names([*gone])} is shown"] if gone else []
        words = f"{', and '.join(cut)} in {mode} mode"
        advice = None if mode == "full" else "Use full mode for all of them"
        partial = Notice.of("PARTIAL_RESULTS", words, suggestion=advice, total_counts={**lengths, **gone})
        told = told.replace(status="partial" if told.status == "ok" else told.status, notices=(*told.notices, partial))
    if call.operation in call.contract.deprecations:
        told = call.contract.deprecations[call.operation].add_notices(told)
    shown_ahead = ahead and (lambda: select_fields(ahead(), names, mode=mode, kind=kind))
    return draft._replace(reply=told, ahead=shown_ahead)


# What every reply of its dialect says

LONGEST_ECHO: Final = 500
"""How many bytes of arguments are worth repeating to those who sent them."""
_QUESTIONS: Final = frozenset({"q", "query", "question", "search", "term", "terms", "text", "keywords", "prompt"})
"""What the argument is called that is searched for; whatever stands beside one of these narrows the search."""


def complete(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply with the request id of its call, and what its dialect requires."""
    contract, reply = call.contract, draft.reply
    elapsed = (contract.clock() - call.started) * 1000
    # a clock that did not advance is not zero work
    elapsed = max(round(elapsed), 1) if contract.speaker.has_whole_durations else round(elapsed, 3)
    if len(reply.__dict__) > 1:  # it says more than its data
        reply = trim_citations(reply, reply.data) if reply.citations else reply
        reply = _with_id_and_duration(call, reply, elapsed)
    if reply.client_tag is None and call.client_tag is not None:
        reply = reply.replace(client_tag=call.client_tag)
    if contract.speaker.echoes and call.arguments:
        # what may not be sent may not be sent back either
        steps, told = contract.sanitizers, call.arguments if call.told_arguments is None else call.told_arguments
        reply = _with_echo(reply, sanitize(Reply(told), *steps).data if steps else told)
    if contract.speaker.explains_emptiness and reply.status == "ok" and type(reply.data) is list and not reply.data:
        reply = reply.replace(status="empty", empty_reason="no_match")
    reply = reply.complete(
        contract.speaker.needs,
        request_id=call.request_id,
        operation=call.operation,
        duration_ms=elapsed,
        hides_own_id=contract.speaker.hides_own_ids,
    )
    return draft if reply is draft.reply else draft._replace(reply=reply)


def _with_id_and_duration(call: Call, reply: Reply[Any], elapsed: float) -> Reply[Any]:
    """The reply with the id and the duration of its call for an id made on the way and a time that nobody took."""
    changes: dict[str, Any] = {}
    own, cost = reply.request_id, reply.telemetry
    if own is not None and own != call.request_id and is_generated_id(own):
        changes["request_id"] = call.request_id
    if cost is not None and cost.duration_ms == 0 and "duration_ms" in call.contract.speaker.needs:
        changes["telemetry"] = replace(cost, duration_ms=max(elapsed, 0.001))
    return reply.replace(**changes) if changes else reply


def _with_echo(reply: Reply[Any], arguments: Mapping[str, Any]) -> Reply[Any]:
    """The reply with the arguments of its call, unless it says itself how they were understood."""
    echo = reply.query_echo or QueryEcho()
    if echo.normalized_input:
        return reply
    filters = echo.applied_filters or {}
    said = {name: value for name, value in arguments.items() if name not in filters}
    if not is_plain(said, LONGEST_ECHO):
        return reply
    question = {name: value for name, value in said.items() if name in _QUESTIONS} or said
    narrowing = {name: value for name, value in said.items() if name not in question}
    return reply.replace(query_echo=replace(echo, normalized_input=question, applied_filters={**narrowing, **filters}))


# The size


def fit(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply within its budget, and what fell off it."""
    budget = call.budget
    if budget is None:
        return draft
    found = _fit_into(budget, call, draft)
    if found.reply.problem is not None and draft.rows is not None and not call.is_paged:
        # there is no room for the cursor of a page that nobody asked for: the archive's account takes less
        unpaged = draft._replace(reply=draft.reply.replace(page=None), resume=None, ahead=None)
        found = _fit_into(budget, call, unpaged)
    elif found.size_before is not None and found.reply.status == "partial" and call.most_tokens is not None:
        found = _fit_with_word(budget, call, draft) or found
    observation = OBSERVATION.get()
    if observation is not None and found.size_before is not None and budget.counter.unit == "tokens":
        observation.size_before = max(found.size_before(), observation.size_before or 0)
    return draft._replace(reply=_as_page(call, found.reply), leftovers=found.leftovers)


def _as_page(call: Call, reply: Reply[Any]) -> Reply[Any]:
    """The reply with the size that its page came out with, where nobody has chosen one, and what is said of its rows.

    What is said of rows on the pages that follow is said there.
    """
    page, rows = reply.page, None if reply.page is None else rows_of(reply.data)
    if page is None or rows is None:
        return reply
    if page.cursor and reply.notices:
        reply = move_notices(reply, rows.path, 0, len(rows.items))
    if call.cursor is None or call.page_size is not None or (page.page_size or 0) < (page.total or math.inf):
        return reply
    return reply.replace(page=replace(page, page_size=len(rows.items)))


def _fit_with_word(budget: Budget, call: Call, draft: ReplyDraft) -> Fitted | None:
    """The reply with word that a larger one was asked for than there is, if there is room to say so."""
    words = f"max_tokens={call.max_tokens} was not used: {call.most_tokens} are the most here"
    told = (*draft.reply.notices, Notice(words, "CONTROL_IGNORED", "info"))
    found = _fit_into(budget, call, draft._replace(reply=draft.reply.replace(notices=told)))
    return None if found.reply.problem is not None else found


def bring_to_size(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply complete, within its budget and counted, for those who see to what falls off it themselves."""
    return count(call, fit(call, complete(call, draft)))


def _fit_into(budget: Budget, call: Call, draft: ReplyDraft) -> Fitted:
    counts_tokens = budget.counter.unit == "tokens"
    if not counts_tokens:  # something has to stand for the count, and no count is longer than this one
        draft = draft._replace(reply=_with_count(draft.reply, 0, budget.room))
    found = fit_draft(draft, budget.room, call.sizer(budget), call.manner)
    return found if counts_tokens else found._replace(reply=_with_count(found.reply, budget.room, 0))


def _with_count(reply: Reply[Any], before: int, after: int) -> Reply[Any]:
    """The reply with another number of tokens, if it has the one; zero is a number that nobody has counted."""
    cost = reply.telemetry
    if cost is None or cost.tokens_estimated != before:
        return reply
    return reply.replace(telemetry=replace(cost, tokens_estimated=after, tokens_used=after or None))


async def keep(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply, once everything that it names is archived; honestly marked when it could not be."""
    archive = call.contract.archive
    if not draft.leftovers or archive is None:
        return draft
    if await archive_leftovers(call, archive, draft.leftovers):
        return draft
    return draft._replace(reply=without_archive(draft.reply, draft.leftovers), leftovers=())


async def archive_leftovers(call: Call, archive: Archive, leftovers: tuple[Leftover, ...]) -> bool:
    """Store what fell off a reply; whether that could be done."""
    try:
        await archive.put(*(one.content for one in leftovers), principal=call.principal)
    except (ReplyError, OSError) as error:
        log.warning("request %s: what was left out could not be archived: %s", call.request_id, error)
        return False
    return True


def count(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """The reply with its tokens counted, where its contract wants to know and `fit` has not counted them."""
    reply = draft.reply
    cost = reply.telemetry
    if "tokens_estimated" not in call.contract.speaker.needs or cost is None or cost.tokens_estimated != 0:
        return draft
    return draft._replace(reply=count_itself(reply, call.sizer())[0])


async def fit_media(call: Call, draft: ReplyDraft) -> ReplyDraft:
    """A finished reply with its pictures and sounds; where bytes count, what does not fit is a link instead."""
    budget, archive = call.budget, call.contract.archive
    if not draft.media or archive is None or budget is None or not budget.is_of_wire:
        return draft
    room = max(budget.room - call.sizer(budget)(draft.reply), 0)
    shown, leftovers = refer_media(list(draft.media), room)
    is_kept = await archive_leftovers(call, archive, leftovers)
    return draft._replace(media=tuple(one for one in shown if is_kept or one in draft.media))


def render(contract: Contract, reply: Reply[Any], json: bytes | None = None) -> Channels:
    """The two channels of a finished reply; the JSON of its data may be known."""
    return channels_of(reply, contract.speaker.encode(reply), contract.channels, json, contract.speaker)
