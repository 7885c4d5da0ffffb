"""Contract: what a server promises about its replies, and the one call that adapters make.

    call
      │ admit            limits: a call that may not go on is refused here
      ▼
      │ run              the handler, or the cache's answer for it
      ▼
    outcome (value | Reply | exception)
      │ normalise        to JSON data, or to a problem
      ▼
      │ sanitise → page → mode and fields → complete → fit
      ▼
      │ archive          what was left out is stored before the reply that names it is sent
      ▼
    Reply                ready for the dialect: encode it, and send it

An adapter makes a `Call` of what it knows about the request, has it admitted, runs the handler, awaits `answer`,
and puts the reply on its wire. (`hear` and `conclude` are the two halves of `answer`, for adapters that send pictures
and sounds as well.)
Whatever goes wrong on the way, there is an answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from aerogram.archive import Archive
from aerogram.cache import UNKEPT, Cache
from aerogram.call import Call, echo_arguments
from aerogram.channels import POLICIES, Channels, Policy, Sizer, channels_of
from aerogram.cursor import START_AGAIN, Cursors
from aerogram.deprecation import Deprecations
from aerogram.dialects import dialect, try_read
from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.extension import restore
from aerogram.dialects.protocol import Dialect
from aerogram.errors import ContractError, InvalidCursor, InvalidReply, ReplyError
from aerogram.jsontext import dumps_unproven, pointer_of
from aerogram.limits import Limits
from aerogram.normalize.plain import plain_json
from aerogram.normalize.policy import Policy as Forms
from aerogram.normalize.result import read_json
from aerogram.normalize.signals import is_signal
from aerogram.normalize.stream import is_here, settle
from aerogram.normalize.tool import is_finished
from aerogram.normalize.values import encode
from aerogram.problems import problem_of
from aerogram.reply import Notice, Page, Reply, part_to_json
from aerogram.retrieval import Retrieval, retrieve
from aerogram.sanitize import Step, sanitize
from aerogram.shape.account import counted, without_archive
from aerogram.shape.citing import RECORD, ROWS, cited, located, moved
from aerogram.shape.fields import select, select_in
from aerogram.shape.fit import Fitted, fit
from aerogram.shape.media import refer_media
from aerogram.shape.modes import Mode, RecordType, allowed_mode
from aerogram.shape.pages import Pager, ResumablePage, Resume, Rows, has_longer_list, packed, rows_of, take, unpacked
from aerogram.telemetry import Observation, Observer, tell_size_before
from aerogram.tokens import Budget

__all__ = ["Call", "Contract", "Framework", "NormalizedOutcome", "check_settings", "framework_of", "insist_on"]

log = logging.getLogger("aerogram")

Handler: TypeAlias = Callable[[], Awaitable[Any]]
_UNOBSERVED: AbstractContextManager[None] = nullcontext()
_UNUSUAL = '"zzqxv"'
"""No word of any vocabulary, so that a tokenizer has to put it together."""
_OWN_PAGES = Notice(
    "This answer comes in pages of its own, so page_size was not used", "CONTROL_IGNORED", "info", "Follow its cursor"
)
_NO_ROWS = Notice(
    "This answer is no list of rows, so page_size was not used", "CONTROL_IGNORED", "info", "Leave page_size out"
)


class NormalizedOutcome(NamedTuple):
    """An outcome as a reply over JSON, and the pictures and sounds that stood in it.

    `is_content`: the outcome is content blocks and nothing else; the data then says what they are. `json` is that of
    the data, where it came to be known. `resume` gives the cursor that goes on inside of a page that the handler made.
    """

    reply: Reply[Any]
    media: tuple[dict[str, Any], ...] = ()
    is_content: bool = False
    json: bytes | None = None
    resume: Resume | None = None

    def json_in(self, reply: Reply[Any]) -> bytes | None:
        """The JSON of the data of another reply, if that is still the data of this one."""
        return self.json if reply.data is self.reply.data else None


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The promise: a dialect, a size, and what becomes of the rest.

    `budget` is a number of tokens, a text such as "10240 bytes", or the name of a client's limit; `budgets` are
    those of single operations. Without an `archive`, what does not fit is lost, and the reply says so. `kinds`
    declares the record types of operations, `retrieve` names the tool that gives archived content back.
    `limits` are taken before a handler runs; answers of the operations in `cached` are kept in the `cache`;
    `deprecations` are told per operation; `sanitizers` work on everything that is sent or archived.
    """

    dialect: str | Dialect = "response-v2"
    budget: int | str | Budget | None = None
    budgets: Mapping[str, int | str | Budget | None] = field(default_factory=dict)
    channels: Policy = None  # type: ignore[assignment]  # settled below: what the dialect's contract has
    archive: Archive | None = None
    cursors: Cursors = field(default_factory=Cursors)
    kinds: Mapping[str, RecordType] = field(default_factory=dict)
    forms: Forms = field(default_factory=lambda: Forms(blocks="one"))
    retrieve: str | None = "retrieve"
    limits: Limits | None = None
    cache: Cache | None = None
    cached: Collection[str] = ()
    deprecations: Mapping[str, Deprecations] = field(default_factory=dict)
    sanitizers: Sequence[Step] = ()
    observer: Observer | None = None
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        if self.channels is None:
            object.__setattr__(self, "channels", self.speaker.channels)
        check_settings({one.name: getattr(self, one.name) for one in fields(self)})

    @property
    def names_by_setting(self) -> dict[str, Collection[str]]:
        """The operations that its settings name."""
        return {name: tuple(getattr(self, name)) for name in ("budgets", "kinds", "cached", "deprecations")}

    @cached_property
    def speaker(self) -> Dialect:
        """The dialect that replies are encoded in."""
        return dialect_named(self.dialect)

    def prepare(self) -> None:
        """Load the counters of the budgets, so that the first reply does not wait for them."""
        for own in (self.budget, *self.budgets.values()):
            if own is not None:
                Budget.of(own).counter.count(_UNUSUAL)

    def observe(
        self, call: Call, carrier: Mapping[str, Any] | None = None
    ) -> AbstractContextManager[Observation | None]:
        """The call under observation, if anybody observes; `carrier` may hold the caller's `traceparent`."""
        if self.observer is None:
            return _UNOBSERVED
        return self.observer.observe(call.operation, request_id=call.request_id, carrier=carrier)

    async def admit(self, call: Call) -> Call:
        """The call with leave to go on; a limit that is reached raises what the caller must be told."""
        if self.limits is None:
            return call
        return replace(call, allowance=await self.limits.take(call.principal, call.operation))

    async def run(self, call: Call, handler: Handler, finished: type | tuple[type, ...] = ()) -> Any:
        """What the handler returns, or what the cache holds for this call; an exception comes back as a value.

        An outcome of a `finished` type is given on, and not kept.
        """
        try:
            if self.cache is None or call.operation not in self.cached:
                return await handler()
            return await self._run_cached(self.cache, call, handler, finished)
        except BaseException as error:  # what a handler raises is its outcome, `sys.exit` included
            if is_signal(error):
                raise
            return error

    async def _run_cached(self, cache: Cache, call: Call, handler: Handler, finished: type | tuple[type, ...]) -> Any:
        """The kept answer or the handler's; pictures and finished results are given on, and not kept."""
        produced: list[Any] = []

        async def produce() -> Reply[Any]:
            produced.append(await handler())
            if isinstance(produced[0], finished) or is_finished(produced[0]):
                return UNKEPT
            heard = await self.normalize(produced[0], call)
            return UNKEPT if heard.media or heard.is_content else packed(heard.reply, heard.resume)

        key = cache.key(call.operation + call.resource, call.arguments, call.principal, apart=call.apart)
        kept = await cache.fetch(key, produce, request_id=call.request_id)
        if kept is not UNKEPT:
            return unpacked(kept)
        return produced[0] if produced else await handler()

    async def answer(self, outcome: Any, call: Call) -> Reply[Any]:
        """The finished reply to a call; `outcome` is what the handler returned, or the exception it raised."""
        heard = await self.normalize(outcome, call)
        return await self.conclude(heard.reply, call, heard.resume)

    async def normalize(self, outcome: Any, call: Call) -> NormalizedOutcome:
        """The outcome as a reply whose data is JSON."""
        try:
            if isinstance(outcome, BaseException):
                return self.normalize_reply(Reply.failed(problem_of(outcome, request_id=call.request_id)))
            if isinstance(outcome, ResumablePage):
                return self.normalize_reply(outcome.reply)._replace(resume=outcome.resume)
            said = outcome if isinstance(outcome, Reply) else try_read(outcome)
            if said is None:
                said = Reply(outcome if is_here(outcome) else await settle(outcome, self.forms))
            return self.normalize_reply(said)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return NormalizedOutcome(Reply.failed(problem_of(error, request_id=call.request_id)))

    def normalize_reply(self, said: Reply[Any]) -> NormalizedOutcome:
        """A reply over any value that need not be awaited, as one over JSON."""
        if len(said.__dict__) > 1:
            said = self._encode_parts(said)
        json = plain_json(said.data, self.forms.max_bytes)
        if json is not None:
            return NormalizedOutcome(said, json=json)
        encoded = encode(said.data, self.forms)
        changes: dict[str, Any] = {"data": read_json(encoded.body)}
        if encoded.notices:
            changes["notices"] = (*said.notices, *encoded.notices)
        reply = said.replace(**changes)
        return NormalizedOutcome(reply, encoded.media, encoded.is_content, encoded.body)

    def _encode_parts(self, said: Reply[Any]) -> Reply[Any]:
        """The reply with everything besides its data in JSON too: details, notices, whatever a handler put there."""
        parts = {name: part_to_json(value) for name, value in said.present_fields().items() if name != "data"}
        try:
            if len(dumps_unproven(parts)) <= self.forms.max_bytes:
                return said
        except ContractError:
            log.debug("a reply says more than JSON can; it is mended")
        encoded = encode(parts, self.forms)
        mended = restore({"data": said.data}, read_json(encoded.body), self.speaker.name, "")
        return mended.replace(notices=(*mended.notices, *encoded.notices))

    async def conclude(self, reply: Reply[Any], call: Call, resume: Resume | None = None) -> Reply[Any]:
        """A reply over JSON as it is sent: shaped, complete, fitted, and what it left out archived.

        With `resume`, what does not fit on a page that the handler made is what the cursor goes on with.
        """
        try:
            if reply.citations:
                reply = located(reply)
            if self._only_completes and call.is_plain:
                return self.complete(reply, call)
            if self.limits is not None and call.allowance is not None:
                await self.limits.bill(call.allowance, reply)
            if call.cursor is not None and reply.problem is None:
                await self.cursors.prepare_async(call.cursor)
            is_fitted = reply is call.fitted
            fitted = Fitted(reply) if is_fitted else self.finish(self.annotate_and_sanitize(reply, call), call, resume)
            finished = self.count_tokens(
                await self._archive_leftovers(fitted, call) if fitted.leftovers else fitted.reply, call
            )
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            failure = Reply.failed(problem_of(error, request_id=call.request_id))
            finished = self.count_tokens(self.complete(self.annotate_and_sanitize(failure, call), call), call)
        if finished.problem is not None and call.succeeds_despite(reply, finished.problem):
            return await self.conclude(*call.without_controls(reply, finished.problem), resume)
        if finished.problem is not None:
            await self.forgive(call)
        return finished

    async def forgive(self, call: Call) -> None:
        """Charge nothing for a call that failed."""
        if self.limits is not None and call.allowance is not None:
            await self.limits.settle(call.allowance, 0)

    @cached_property
    def _only_completes(self) -> bool:
        """Whether a reply stays as it is, but for what its dialect requires, unless its caller asks for more."""
        has_size = self.budget is not None or bool(self.budgets) or "tokens_estimated" in self.speaker.needs
        return not (has_size or self.deprecations or self.sanitizers)

    def answer_refusal(self, error: Exception, call: Call) -> Reply[Any]:
        """The finished reply to a call that was not admitted."""
        problem = problem_of(error, request_id=call.request_id)
        failed = Reply.failed(problem, rate_limit=getattr(error, "rate_limit", None))
        return self.count_tokens(self.complete(failed, call), call)

    def annotate_and_sanitize(self, reply: Reply[Any], call: Call) -> Reply[Any]:
        """The reply with what its limits and deprecations have to say, and nothing that it may not say."""
        changes: dict[str, Any] = {}
        notices = reply.notices
        if call.operation in self.deprecations:
            whole = reply.data if call.response_mode is None and call.fields is None else None  # else see what is shown
            notices += self.deprecations[call.operation].notices(call.arguments, whole)
        if call.allowance is not None:
            notices += call.allowance.notices
            changes["rate_limit"] = reply.rate_limit or call.allowance.rate_limit
        if notices is not reply.notices:
            changes["notices"] = notices
        told = reply.replace(**changes) if changes else reply
        return sanitize(told, *self.sanitizers) if self.sanitizers else told

    async def answer_retrieval(self, asked: Retrieval, call: Call) -> Reply[Any]:
        """The finished reply to a request for archived content; what does not fit is the next page."""
        if self.archive is None:
            return self.complete(Reply.failed("NOT_FOUND", "This server keeps no archive"), call)
        tool = self.retrieve or "retrieve"
        try:
            kinds = tuple(self.kinds.values())
            await self.cursors.prepare_async(asked.cursor)
            paged = await retrieve(self.archive, self.cursors, asked, principal=call.principal, tool=tool, kinds=kinds)
            told = ResumablePage(self.annotate_and_sanitize(paged.reply, call), paged.resume).with_ahead(paged.ahead)
            return call.mark_fitted(await self._archive_leftovers(self.fit_page(told, call, detail_first=True), call))
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return self.complete(Reply.failed(problem_of(error, request_id=call.request_id)), call)

    def finish(self, reply: Reply[Any], call: Call, resume: Resume | None = None) -> Fitted:
        """A reply over JSON, shaped, complete and fitted, with what must be archived before it is sent."""
        paged = self.shape(reply, call, resume)
        found = self.fit_page(paged, call)
        was_whole = reply.problem is None and reply.page is None and not call.is_paged
        if found.reply.problem is not None and was_whole and paged.resume is not None:
            # there is no room for the cursor of a page that nobody asked for: the archive's account takes less
            return self.fit_page(ResumablePage(paged.reply.replace(page=None)), call)
        return found

    def shape(self, reply: Reply[Any], call: Call, resume: Resume | None = None) -> ResumablePage:
        """The page, the mode and the fields that the caller asked for, and the way on after any item of the page."""
        if reply.problem is not None:
            return ResumablePage(reply)
        kind = self.kinds.get(call.operation)
        mode = allowed_mode(call.response_mode) if call.response_mode is not None else None
        every, rows, ahead = reply.data, self._rows(reply, call, kind), None
        if rows is not None:
            paged = self._page(reply, rows, call, mode or "full")
            (reply, resume), ahead = paged, paged.ahead
        elif call.is_paged:
            reply = _note_unpaged(reply, call)
        if mode is None and call.fields is None:
            return ResumablePage(reply, resume).with_ahead(ahead)
        fields, asked = tuple(call.fields or ()), mode or "full"
        if rows is not None and rows.name is not None:
            shown = select_in(reply.data, rows.name, fields, mode=asked, kind=kind, among=every)
        else:
            among = every if isinstance(every, list) else None
            shown = select(reply.data, fields, mode=asked, kind=kind, among=among)
        shown_ahead = ahead and (lambda: select(ahead(), fields, mode=asked, kind=kind))
        told = reply.replace(data=shown)
        told = self.deprecations[call.operation].add_notices(told) if call.operation in self.deprecations else told
        return ResumablePage(told, resume).with_ahead(shown_ahead)

    def complete(self, reply: Reply[Any], call: Call) -> Reply[Any]:
        """The reply with the request id of its call, and what its dialect requires."""
        elapsed = round((self.clock() - call.started) * 1000, 3)
        if len(reply.__dict__) > 1:  # it says more than its data
            reply = call.add_id_and_duration(cited(reply, reply.data), elapsed)
        if reply.client_tag is None and call.client_tag is not None:
            reply = reply.replace(client_tag=call.client_tag)
        if self.speaker.echoes and call.arguments:
            # what may not be sent may not be sent back either
            clean = sanitize(Reply(call.arguments), *self.sanitizers).data if self.sanitizers else call.arguments
            reply = echo_arguments(reply, clean)
        return self.speaker.complete(reply, request_id=call.request_id, operation=call.operation, duration_ms=elapsed)

    def render(self, reply: Reply[Any], json: bytes | None = None) -> Channels:
        """The two channels of a finished reply; the JSON of its data may be known."""
        return channels_of(reply, self.speaker.encode(reply), self.channels, json, self.speaker)

    def limit(self, call: Call) -> Budget | None:
        """The budget of a call: the operation's or the server's, and the caller's if that is smaller."""
        held = self.own_limit(call.operation)
        asked = None if call.max_tokens is None else Budget.of(call.max_tokens)
        return held.within(asked) if held and asked else held or asked

    def own_limit(self, operation: str) -> Budget | None:
        """The budget of an operation, or else the server's."""
        return None if (own := self.budgets.get(operation, self.budget)) is None else Budget.of(own)

    def _rows(self, reply: Reply[Any], call: Call, kind: RecordType | None) -> Rows | None:
        """The rows to page by, where a page was or could have been asked for and the handler made none itself."""
        if not (call.is_paged or call.pages) or reply.page is not None:
            return None
        rows = rows_of(reply.data)
        if rows is None or rows.name is None:
            return rows
        if kind is not None and kind.describes(reply.data):
            return None  # a record of its type, which has this list as one of its members
        is_shown_less = call.response_mode not in (None, "full") and not rows.are_records
        return None if is_shown_less and not call.is_paged else rows

    def _pager(self, call: Call, mode: Mode) -> Pager:
        return Pager(self.cursors, call.operation + call.resource, call.arguments, mode, call.principal)

    def _page(self, reply: Reply[Any], rows: Rows, call: Call, mode: Mode) -> ResumablePage:
        """The page that was asked for; when none was, everything, which goes on in pages if it does not fit."""
        total = len(rows.items)
        if not call.is_paged:
            whole = reply.replace(page=Page(has_more=False, total=total))
            everything = ResumablePage(whole, lambda kept: self._pager(call, mode).seal(kept, size=total))
            return everything.with_ahead(lambda: rows.items)
        pager = self._pager(call, mode)
        window = pager.window(call.cursor, call.page_size)
        page, resume = pager.page(take(rows.items, window), window, total=total)
        said: dict[str, Any] = {"data": rows.replaced(reply.data, page.data), "page": page.page}
        if page.status == "empty" and rows.name is None and reply.status != "empty":
            said |= {"status": "empty", "empty_reason": page.empty_reason}
        place = ROWS if rows.name is None else RECORD + pointer_of((rows.name,))
        told = moved(reply, place, window.offset, len(page.data)).replace(**said)
        return ResumablePage(told, resume).with_ahead(None if call.cursor is not None else lambda: rows.items)

    def fit_page(self, paged: ResumablePage, call: Call, *, detail_first: bool = False) -> Fitted:
        """A page, complete and fitted, with what must be archived before it is sent."""
        reply = self.complete(paged.reply, call)
        budget = self.limit(call)
        if budget is None:
            return Fitted(reply)
        most, cost = _most_tokens(budget), reply.telemetry
        if most is not None and cost is not None and cost.tokens_estimated == 0:
            reply = reply.replace(telemetry=replace(cost, tokens_estimated=most, tokens_used=most))
        found = fit(
            reply,
            budget.room,
            measure=self._sizer(budget, call),
            kind=self.kinds.get(call.operation),
            schema=call.schema,
            archive=self.archive is not None,
            retrieve=self.retrieve if self.archive is not None else None,
            resume=paged.resume,
            detail_first=detail_first,
            levers=call.levers,
            ahead=paged.ahead,
        )
        if found.before is not None and budget.counter.unit == "tokens":
            tell_size_before(found.before)
        return found

    def _sizer(self, budget: Budget, call: Call) -> Sizer:
        return Sizer(self.speaker, self.channels, budget.counter, call.payload, call.writer)

    def _holds(self, reply: Reply[Any], call: Call) -> bool:
        budget = self.limit(call)
        return budget is None or self._sizer(budget, call)(reply) <= budget.room

    def count_tokens(self, reply: Reply[Any], call: Call) -> Reply[Any]:
        """The reply with its tokens counted, where its contract wants to know and `fit` has not counted them."""
        cost, budget = reply.telemetry, None if reply.problem else self.limit(call)  # a failure may be about that limit
        if "tokens_estimated" not in self.speaker.needs or cost is None:
            return reply
        if cost.tokens_estimated not in (0, _most_tokens(budget)):
            return reply
        unsaid = reply.replace(telemetry=replace(cost, tokens_estimated=0, tokens_used=None))
        return counted(unsaid, Sizer(self.speaker, self.channels, payload=call.payload, writer=call.writer))[0]

    async def fit_media(self, media: tuple[dict[str, Any], ...], reply: Reply[Any], call: Call) -> tuple[Any, ...]:
        """The pictures and sounds beside a finished reply; where bytes count, what does not fit is a link instead."""
        budget = self.limit(call)
        if not media or self.archive is None or budget is None or budget.counter.unit != "bytes":
            return media
        room = max(budget.room - self._sizer(budget, call)(reply), 0)
        shown, leftovers = refer_media(list(media), room)
        try:
            await self.archive.put(*(one.content for one in leftovers), principal=call.principal)
        except (ReplyError, OSError) as error:
            log.warning("request %s: media could not be archived, and are left out: %s", call.request_id, error)
            return tuple(one for one in shown if one in media)
        return tuple(shown)

    async def _archive_leftovers(self, fitted: Fitted, call: Call) -> Reply[Any]:
        """The reply, once everything that it names is stored; honestly marked when it could not be."""
        if not fitted.leftovers or self.archive is None:
            return fitted.reply
        try:
            await self.archive.put(*(one.content for one in fitted.leftovers), principal=call.principal)
        except (ReplyError, OSError) as error:
            log.warning("request %s: what was left out could not be archived: %s", call.request_id, error)
            return without_archive(fitted.reply, lambda told: self._holds(told, call))
        return fitted.reply


def _most_tokens(budget: Budget | None) -> int | None:
    """What stands for a count of tokens while a reply is fitted by another measure: a number that is no shorter."""
    return None if budget is None or budget.counter.unit == "tokens" else budget.room


def _note_unpaged(reply: Reply[Any], call: Call) -> Reply[Any]:
    """An answer that cannot be paged for its caller, who hears so where it matters; a cursor is never passed over."""
    if call.cursor is not None:
        why = "no rows" if reply.page is None else "pages of its own"
        raise InvalidCursor(
            f"This answer has {why}, so there is nothing that this cursor could go on with",
            remediation=START_AGAIN,
            details={"reason": "unpaged"},
        )
    size, is_list = call.page_size or 0, isinstance(reply.data, list)
    if is_list and len(reply.data) > size:
        return reply.replace(notices=(*reply.notices, _OWN_PAGES))
    if reply.page is None and has_longer_list(reply.data, size):
        return reply.replace(notices=(*reply.notices, _NO_ROWS))
    return reply


_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "archive": (Archive, "Archive.at(folder)"),
    "cache": (Cache, "Cache.in_memory()"),
    "cursors": (Cursors, "Cursors(keys)"),
    "forms": (Forms, "Policy()"),
    "limits": (Limits, "Limits.in_memory(plan)"),
    "observer": (Observer, "Observer()"),
}
_VALUES: Final[Mapping[str, type]] = {"kinds": RecordType, "deprecations": Deprecations}


def check_settings(given: Mapping[str, Any]) -> None:
    """Raise InvalidReply, in one line, for the first setting that cannot work."""
    for name, value in given.items():
        if value is not None and name in _KINDS and not isinstance(value, _KINDS[name][0]):
            kind, example = _KINDS[name]
            article = "an" if kind.__name__[0] in "AEIO" else "a"
            raise InvalidReply(f"{name} is {article} {kind.__name__}, not {type(value).__name__}: {example}")
        if name in _CHECKS:
            _CHECKS[name](name, value)
    if given.get("cached") and given.get("cache") is None:
        log.warning("cached names %s, but there is no cache: nothing is kept", ", ".join(given["cached"]))


def _check_dialect(_: str, value: Any) -> None:
    dialect(value)


def _check_channels(name: str, value: Any) -> None:
    if value not in POLICIES:
        raise InvalidReply(f"{name} is one of {', '.join(POLICIES)}, not {value!r}")


def _check_budget(_: str, value: Any) -> None:
    if value is not None:
        Budget.of(value)


def _check_budgets(name: str, value: Any) -> None:
    for one in _check_mapping(name, value).values():
        _check_budget(name, one)


def _check_by_operation(name: str, value: Any) -> None:
    kind = _VALUES[name]
    for operation, one in _check_mapping(name, value).items():
        if not isinstance(one, kind):
            raise InvalidReply(f"{name}[{operation!r}] is a {kind.__name__}, not {type(one).__name__}")


def _check_mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidReply(
            f"{name} has a value for each operation, such as {{'search': …}}, not {type(value).__name__}"
        )
    return value


def _check_cached(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise InvalidReply(f"{name} is a list of operations, such as [{value!r}]")


def _check_sanitizers(name: str, value: Any) -> None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidReply(f"{name} is a list of steps, such as [Redaction()], not {type(value).__name__}")
    for one in value:
        if isinstance(one, type) or not callable(one):
            raise InvalidReply(f"{name} has steps such as Redaction(), not {one!r}")


_CHECKS: Final[Mapping[str, Callable[[str, Any], None]]] = {
    "dialect": _check_dialect,
    "channels": _check_channels,
    "budget": _check_budget,
    "budgets": _check_budgets,
    "kinds": _check_by_operation,
    "deprecations": _check_by_operation,
    "cached": _check_cached,
    "sanitizers": _check_sanitizers,
}


Framework: TypeAlias = Literal["fastapi", "starlette", "fastmcp", "mcp"]

_CLASSES: Final[dict[tuple[str, str], Framework]] = {
    ("fastapi", "FastAPI"): "fastapi",
    ("starlette", "Starlette"): "starlette",
    ("fastmcp", "FastMCP"): "fastmcp",
    ("mcp", "MCPServer"): "mcp",
}
_WORDS: Final[dict[Framework, str]] = {
    "fastapi": "a FastAPI application",
    "starlette": "a Starlette application",
    "fastmcp": "a FastMCP server",
    "mcp": "an MCPServer of the MCP SDK",
}


def framework_of(host: Any) -> Framework | None:
    """The framework that a server or an application is made with."""
    kinds = ((cls.__module__.partition(".")[0], cls.__name__) for cls in type(host).__mro__)
    return next((_CLASSES[kind] for kind in kinds if kind in _CLASSES), None)


def insist_on(framework: Framework, host: Any) -> None:
    """Raise unless a host is one of this framework; says which module is for it."""
    found = framework_of(host)
    if found == framework:
        return
    taken = f"aerogram.{framework}.install takes {_WORDS[framework]}"
    if found is not None:
        raise InvalidReply(f"{taken}; for {_WORDS[found]} use aerogram.{found}.install")
    raise InvalidReply(f"{taken}, not {type(host).__name__}")
