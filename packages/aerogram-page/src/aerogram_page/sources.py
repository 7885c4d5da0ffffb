"""Sources: the replies that a page shows, as they are before anything is left out.

a call      answered by the host, kept for a while: moving a slider costs no search
a reply     opened from a file, pasted, or fetched by `aerogram inspect`
a failure   any code of the table
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aerogram._http.routes import CONTENT
from aerogram.answer import Call, ReplyDraft, annotate, bring_to_size, clean, normalize, select
from aerogram.archive import Archive
from aerogram.channels import Policy, Sizer
from aerogram.codes import TABLE
from aerogram.content import canonical_json, sha256_of
from aerogram.contract import Contract
from aerogram.dialects import dialect as dialect_named
from aerogram.errors import NotFound, UnknownCode
from aerogram.reply import Reply, new_request_id
from aerogram.shape.modes import MODES, Mode
from aerogram.tokens import Budget, Counter
from aerogram_page import asks
from aerogram_page.host import Delivery, Host
from aerogram_page.opening import OpenedReply
from aerogram_page.work import LARGEST_VALUES, compute, stop_if_ended

__all__ = ["ReplyView", "Sources"]

KEPT_ANSWERS: Final = 128
KEPT_SECONDS: Final = 300.0
KEPT_REPLIES: Final = 8
KEPT_BYTES: Final = 40 * 1024 * 1024
KEPT_VALUES: Final = 2 * LARGEST_VALUES
ARCHIVED_BYTES: Final = 64 * 1024 * 1024
"""How much of opened replies is kept at hand: how many, their text and values, and what falls off them, per caller."""


@dataclass(eq=False)
class ReplyView:
    """A whole reply in one mode, and how large it is in each dialect."""

    operation: str
    draft: ReplyDraft
    archive: Archive | None
    elapsed: float = 1.0
    """Milliseconds that the answer took; the same however often it is fitted."""
    born: float = field(default_factory=time.monotonic)
    request_id: str = field(default_factory=new_request_id)
    _sizes: dict[tuple[str, Policy, Counter], int] = field(default_factory=dict)

    def contract(self, base: Contract, dialect: str, going: Delivery, budget: Budget | None = None) -> Contract:
        """The contract by which this reply is said in a dialect: without limits, and with a clock that stands."""
        return replace(
            base,
            dialect=dialect_named(dialect),
            channels=going.channels,
            retrieve=base.retrieve if going.way == "mcp" or base.retrieve is None else CONTENT,
            budget=budget,
            budgets={},
            archive=self.archive,
            limits=None,
            cache=None,
            observer=None,
            deprecations={},
            clock=lambda: 0.0,
        )

    @property
    def reply(self) -> Reply[Any]:
        """All of the reply."""
        return self.draft.reply

    @property
    def call(self) -> Call:
        """The call that this reply answers."""
        return Call(operation=self.operation, request_id=self.request_id, started=-self.elapsed / 1000)

    def fit(self, contract: Contract) -> ReplyDraft:
        """The reply within the budget of a contract, as it would be sent."""
        stop_if_ended()
        return bring_to_size(replace(self.call, contract=contract), self.draft)

    def size(self, contract: Contract, counter: Counter) -> int:
        """How large the whole reply is, as a counter counts it."""
        key = (contract.speaker.name, contract.channels, counter)
        if key not in self._sizes:
            whole = self.fit(replace(contract, budget=None)).reply
            self._sizes[key] = Sizer(contract.speaker, contract.channels, counter, counted=contract.count)(whole)
        return self._sizes[key]


@dataclass(frozen=True, slots=True)
class _ReplyViews:
    """An opened reply, and what it is in the modes that were looked at."""

    opened: OpenedReply
    views: dict[Mode, ReplyView] = field(default_factory=dict)


class Sources:
    """Finds what is to be shown, and keeps it at hand."""

    def __init__(self, host: Host, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._clock = clock
        self._answers: OrderedDict[str, asyncio.Task[ReplyView]] = OrderedDict()
        self._opened: OrderedDict[tuple[str | None, str], _ReplyViews] = OrderedDict()
        self._first = None if host.opened is None else _ReplyViews(host.opened)
        # a reply that somebody pastes into a server is no business of the server's own archive
        self._archive = Archive.in_memory(quota=ARCHIVED_BYTES)

    def keep(self, opened: OpenedReply, principal: str | None) -> None:
        """Keep an opened reply at hand; the oldest make room for it."""
        self._opened.pop((principal, opened.id), None)
        self._opened[principal, opened.id] = _ReplyViews(opened)
        while len(self._opened) > 1 and self._is_full:
            self._opened.popitem(last=False)

    @property
    def _is_full(self) -> bool:
        size = sum(kept.opened.bytes for kept in self._opened.values())
        values = sum(kept.opened.values for kept in self._opened.values())
        return len(self._opened) > KEPT_REPLIES or size > KEPT_BYTES or values > KEPT_VALUES

    def modes(self, source: asks.ReplySource) -> tuple[Mode, ...]:
        """The modes in which a source can be shown."""
        if source.call is not None:
            return self._host.modes(source.call.operation)
        return MODES if source.reply is not None else ("full",)

    async def find(
        self, source: asks.ReplySource, mode: Mode, principal: str | None, *, is_free: bool = False
    ) -> ReplyView:
        """The reply of a source in a mode; a call that is free takes nothing from the caller's limits."""
        if source.call is not None:
            return await self._answer(source.call, mode, principal, is_free)
        if source.failure is not None:
            return self._failure(source.failure)
        return await compute(self._view, self._find_opened(source.reply or "", principal), mode)

    # calls

    async def _answer(self, call: asks.Operation, mode: Mode, principal: str | None, is_free: bool) -> ReplyView:
        """The answer to a call: the kept one, or that of whoever has just asked the same."""
        asked = canonical_json([call.operation, call.arguments, mode, principal, await self._host.generation()])
        key = sha256_of(asked)
        task = self._answers.get(key)
        if task is None or self._is_stale(task):
            task = self._answers[key] = asyncio.ensure_future(self._ask(call, mode, principal, is_free))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may have nobody to hear it
            self._answers.move_to_end(key)
            while len(self._answers) > KEPT_ANSWERS:
                self._answers.popitem(last=False)
        # whoever goes away does not take the answer from the others
        return await asyncio.shield(task)

    def _is_stale(self, task: asyncio.Task[ReplyView]) -> bool:
        if not task.done():
            return False
        if task.cancelled() or task.exception() is not None:
            return True
        shown = task.result()
        return shown.reply.problem is not None or self._clock() - shown.born > KEPT_SECONDS

    async def _ask(self, call: asks.Operation, mode: Mode, principal: str | None, is_free: bool) -> ReplyView:
        contract = self._host.contract
        asked = Call(contract, operation=call.operation, arguments=call.arguments, principal=principal)
        allowance = None if is_free else await self._host.take(call.operation, principal)
        started = time.perf_counter()
        try:
            outcome = await self._host.answer(call.operation, call.arguments, mode, principal)
        except Exception as error:  # noqa: BLE001 - a failure is a reply that can be shown
            outcome = error
        draft = await normalize(asked, outcome)
        if draft.reply.problem is not None:
            await self._host.forgive(allowance)
        elapsed = (time.perf_counter() - started) * 1000  # with all its digits, because they are sent and count
        cleaned = clean(asked, annotate(asked, draft))
        return ReplyView(call.operation, cleaned, contract.archive, max(elapsed, 0.1), self._clock())

    # opened replies and failures

    def _find_opened(self, name: str, principal: str | None) -> _ReplyViews:
        found = self._opened.get((principal, name))
        if found is None and self._first is not None and self._first.opened.id == name:
            return self._first
        if found is None:
            raise NotFound("This reply is no longer open", remediation="Open it again", details={"reply": name})
        return found

    def _view(self, kept: _ReplyViews, mode: Mode) -> ReplyView:
        """An opened reply in a mode; the same view each time, because it knows its sizes."""
        opened = kept.opened
        if mode not in kept.views:
            reply = opened.reply if mode == "full" else self._in_mode(opened.reply, opened.operation, mode)
            kept.views[mode] = ReplyView(opened.operation, ReplyDraft(reply), self._archive)
        return kept.views[mode]

    def _in_mode(self, reply: Reply[Any], operation: str, mode: Mode) -> Reply[Any]:
        """A reply in a mode; of a record that is there for the one list in it, the items of that list are."""
        call = Call(self._host.contract, operation=operation, response_mode=mode)
        members = reply.data if reply.problem is None and isinstance(reply.data, dict) else {}
        lists = [name for name, value in members.items() if isinstance(value, list)]
        if len(lists) != 1:
            return select(call, ReplyDraft(reply)).reply
        rows = select(call, ReplyDraft(Reply(reply.data[lists[0]]))).reply.data
        return reply.replace(data={**reply.data, lists[0]: rows})

    def _failure(self, code: str) -> ReplyView:
        try:
            row = TABLE[code]
        except UnknownCode as error:
            raise NotFound(str(error), remediation="Use a code of the table of errors") from None
        delay = 30 if row.retry == "yes" and row.kind in ("rate_limit", "unavailable") else None
        reply = Reply.failed(row.name, row.title, retry_after=delay)
        return ReplyView("example", ReplyDraft(reply), None, request_id="req_" + secrets.token_hex(13).upper())
