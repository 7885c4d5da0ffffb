"""Fitting: a reply fitted into a budget as the server would send it, and what that did to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from aerogram.answer import ReplyDraft
from aerogram.archive import Archive
from aerogram.channels import Policy, Sizer, channels_of
from aerogram.client.reading import items_of
from aerogram.content import Content
from aerogram.content.jsontext import dumps, part_to_json
from aerogram.contract import Contract
from aerogram.errors import InvalidCursor, ValidationFailed
from aerogram.reply import FidelityLevel, Reply
from aerogram.shape.draft import Leftover
from aerogram.shape.fit import DATA, without_archive
from aerogram.shape.loss import Loss, loss_between
from aerogram.shape.modes import MODES, Mode
from aerogram.tokens import Budget, Counter, best_counter
from aerogram_page import asks, pieces
from aerogram_page.host import Delivery, Host, Way, choose_delivery
from aerogram_page.sources import ReplyView, Sources
from aerogram_page.work import compute, is_beyond

__all__ = ["LARGEST_SHOWN", "SPOKEN", "Shrinker"]

SPOKEN: Final = ("response-v2", "standard-v2", "knowledge-1.0", "problem")
SUCCESSES: Final = ("response-v2", "standard-v2", "knowledge-1.0", "bare")
LARGEST_SHOWN: Final = 2_000_000
"""Bytes of the largest body that is sent to the browser."""
ROOMY: Final = 1_000_000
MANY_VALUES: Final = 20_000
"""Bytes and values beyond which a reply is not counted in every mode and dialect, only in those that are looked at."""
POINTS: Final = 12
SMALLEST: Final = 60
_REMEMBERED: Final = 512


@dataclass(frozen=True)
class _FittedReply:
    """A reply that has been fitted: the whole, the contract it was fitted by, the outcome, the milliseconds it took."""

    shown: ReplyView
    contract: Contract
    going: Delivery
    budget: Budget | None
    fitted: ReplyDraft
    ms: float
    is_kept: bool = False
    """Whether what is missing is in the archive."""

    @property
    def whole(self) -> Reply[Any]:
        return self.shown.reply

    @property
    def reply(self) -> Reply[Any]:
        return self.fitted.reply

    @property
    def counter(self) -> Counter:
        return self.budget.counter if self.budget is not None else best_counter()

    @property
    def is_refused(self) -> bool:
        """Whether nothing of it fitted."""
        return self.reply.problem is not None and self.whole.problem is None

    @cached_property
    def missing(self) -> Leftover | None:
        """All of the data, where some of it is missing: what is on the next page is brought back from here too."""
        is_answer = self.whole.problem is None and not self.is_refused
        is_less = is_answer and self.reply.data != self.whole.data
        return Leftover(DATA, Content.of_json(self.whole.data)) if is_less else None

    @property
    def leftovers(self) -> tuple[Leftover, ...]:
        """What is archived: what fell off, and what the page brings back."""
        return self.fitted.leftovers if self.missing is None else (*self.fitted.leftovers, self.missing)

    @property
    def hashes(self) -> dict[str, str]:
        """Where what is missing was put, also where the reply does not say so."""
        first = {} if self.missing is None else {DATA: self.missing.content.hash}
        found = {one.name: one.content.hash for one in self.fitted.leftovers}
        return {**first, **found, **first} if self.is_kept else {}

    @cached_property
    def size(self) -> int:
        contract = self.contract
        return Sizer(contract.speaker, contract.channels, self.counter, counted=contract.count)(self.reply)


class Shrinker:
    """Fits what a page shows, and archives what falls off."""

    def __init__(self, host: Host, sources: Sources) -> None:
        self._host = host
        self._sources = sources
        self._archived: dict[tuple[str | None, str], None] = {}

    async def shrink(self, ask: asks.Shrink, principal: str | None) -> dict[str, Any]:
        """A reply within a budget, beside what it is in every mode and dialect."""
        started = time.perf_counter()
        shown = await self._sources.find(ask.source, ask.mode, principal)
        waited = time.perf_counter() - started
        done = await self.fit(shown, ask.dialect, self.delivery(ask.way, ask.channels), ask.budget, principal)
        others = await self._in_modes(ask, shown, principal)
        told = await compute(self._report, ask, done, others)
        return {**told, "ms": {"answer": round(waited * 1000, 1), "fit": round(done.ms, 1)}}

    def delivery(self, way: Way | None, channels: Policy | None) -> Delivery:
        """How a reply goes that was asked for in these words."""
        return choose_delivery(self._host, way, channels)

    async def fit(
        self, shown: ReplyView, dialect: str, going: Delivery, budget: int | str | None, principal: str | None
    ) -> _FittedReply:
        """The reply fitted, once what it names is in the archive."""
        limit = None if budget is None else Budget.of(budget)
        contract = shown.contract(self._host.contract, dialect, going, limit)
        _require_speech(contract, shown)
        done = await compute(_fit_and_collect, shown, contract, going, limit)
        if not done.leftovers or shown.archive is None:
            return done
        if await self._archive(shown.archive, done.leftovers, principal):
            return replace(done, is_kept=True)
        return replace(done, fitted=ReplyDraft(without_archive(done.reply, done.fitted.leftovers)))

    async def _archive(self, archive: Archive, leftovers: Sequence[Leftover], principal: str | None) -> bool:
        """Put away what is not there yet; whether that worked."""
        new = [one.content for one in leftovers if (principal, one.content.hash) not in self._archived]
        try:
            if new:
                await archive.put(*new, principal=principal)
        except Exception:  # noqa: BLE001 - the reply then says that nothing was kept
            return False
        for one in new:
            self._archived[principal, one.hash] = None
        while len(self._archived) > _REMEMBERED:
            del self._archived[next(iter(self._archived))]
        return True

    def forget(self, principal: str | None, hash: str) -> None:
        """Put an entry away again next time, because it is gone."""
        self._archived.pop((principal, hash), None)

    async def _in_modes(
        self, ask: asks.Shrink, shown: ReplyView, principal: str | None
    ) -> dict[Mode, ReplyView | None]:
        """The same reply in the other modes; a cursor belongs to one mode, so with it there may be no others."""
        modes = [mode for mode in self._sources.modes(ask.source) if mode != ask.mode]
        found = await asyncio.gather(*(self._in_mode(ask.source, mode, principal) for mode in modes))
        others: dict[Mode, ReplyView | None] = dict(zip(modes, found, strict=True))
        return {mode: shown if mode == ask.mode else others.get(mode) for mode in MODES}

    async def _in_mode(self, source: asks.ReplySource, mode: Mode, principal: str | None) -> ReplyView | None:
        try:
            found = await self._sources.find(source, mode, principal, is_free=True)
        except InvalidCursor:
            return None
        return None if found.reply.problem is not None else found

    def _report(self, ask: asks.Shrink, done: _FittedReply, others: dict[Mode, ReplyView | None]) -> dict[str, Any]:
        problem, (written, size) = done.whole.problem, _render(done)
        return {
            "operation": done.shown.operation,
            "mode": ask.mode,
            "dialect": ask.dialect,
            "way": done.going.way,
            "channels": done.contract.channels,
            "budget": _budget(ask.budget, done),
            "before": self._before(done),
            "after": {**self._after(done), "bytes": size},
            "refused": _refusal(done),
            "problem": None if problem is None else part_to_json(problem),
            **written,
            **self._sizes(ask, done, others),
            "pieces": self._pieces(done),
            "archives": self._archives(done),
            "notices": [part_to_json(one) for one in done.reply.notices],
            "page": None if done.reply.page is None else part_to_json(done.reply.page),
        }

    def _before(self, done: _FittedReply) -> dict[str, Any]:
        size = done.shown.size(done.contract, done.counter)
        items = len(items_of(done.whole)) if done.whole.problem is None else 0
        found = done.whole.page.total if done.whole.page is not None else None
        return {
            "size": size,
            "is_estimate": False,
            "items": items,
            "found": items if found is None else found,
            "status": done.whole.status,
            "empty_reason": done.whole.empty_reason,
        }

    def _after(self, done: _FittedReply) -> dict[str, Any]:
        told: dict[str, Any] = {"size": done.size, "status": done.reply.status, "fidelity": None}
        if done.is_refused or done.whole.problem is not None:
            return {**told, "items": 0, "whole": 0, "shortened": 0, "dropped": len(items_of(done.whole))}
        loss = loss_between(done.whole.data, done.reply.data)
        told["fidelity"] = _level(done.reply, loss)
        if loss.is_none:
            count = len(items_of(done.whole))
            return {**told, "items": count, "whole": count, "shortened": 0, "dropped": 0}
        if not loss.total:  # no list: one record
            return {**told, "items": 1, "whole": 0, "shortened": 1, "dropped": 0}
        return {
            **told,
            "items": loss.kept,
            "whole": loss.kept - loss.shortened,
            "shortened": loss.shortened,
            "dropped": loss.dropped,
        }

    def _sizes(self, ask: asks.Shrink, done: _FittedReply, others: dict[Mode, ReplyView | None]) -> dict[str, Any]:
        """Tokens of the whole reply by mode and dialect, and of what each dialect would send within the budget."""
        counter = done.counter
        is_roomy = _is_roomy(done.whole)
        spoken = [name for name in ((ask.dialect,) if is_roomy else SUCCESSES) if name != "problem"]
        table: dict[str, dict[str, int | None]] = {}
        for mode, shown in others.items():
            if shown is None:
                table[mode] = {}
                continue
            contracts = {name: shown.contract(self._host.contract, name, done.going) for name in spoken}
            table[mode] = {name: shown.size(contract, counter) for name, contract in contracts.items()}
        whole = done.shown.size(done.contract, counter)
        modes = [
            {
                "mode": mode,
                "size": whole if mode == ask.mode else table[mode].get(ask.dialect),
                "items": None if shown is None else len(items_of(shown.reply)),
            }
            for mode, shown in others.items()
        ]
        own = done.contract.speaker.name
        sizes = {own: done.size} if is_roomy else {name: self._size_in(name, done) for name in (*SPOKEN, "bare")}
        fitted = [{"dialect": name, "size": sizes.get(name)} for name in (*SPOKEN, "bare")]
        return {"modes": modes, "table": table, "dialects": fitted}

    def _size_in(self, dialect: str, done: _FittedReply) -> int | None:
        """The size of the reply when it is fitted in another dialect; None when that has no words for it or no room."""
        if dialect == done.contract.speaker.name:
            return None if done.is_refused else done.size
        if dialect == "problem" and done.whole.problem is None:
            return None
        contract = done.shown.contract(self._host.contract, dialect, done.going, done.budget)
        other = _fit(done.shown, contract, done.going, done.budget)
        return None if other.is_refused else other.size

    def _pieces(self, done: _FittedReply) -> dict[str, Any]:
        if done.is_refused or done.whole.problem is not None:
            return {"total": 0, "counts": {}, "listed": []}
        kind = done.contract.kinds.get(done.shown.operation)
        return pieces.list_missing(done.whole.data, done.reply.data, done.hashes.get(DATA), kind, done.counter)

    def _archives(self, done: _FittedReply) -> list[dict[str, Any]]:
        """Where everything that was left out is, and how it is fetched without a page."""
        tool = done.contract.retrieve if done.going.way == "mcp" else None
        is_served = "content" in self._host.mounted and done.shown.archive is self._host.contract.archive
        return [
            {
                "name": name,
                "hash": digest,
                "fetch": f"/v1/content/{digest}" if is_served else None,
                "tool": {"tool": tool, "arguments": {"hash": digest}} if tool and is_served else None,
            }
            for name, digest in done.hashes.items()
        ]

    # the curve

    async def curve(self, ask: asks.Curve, principal: str | None) -> dict[str, Any]:
        """What a dozen budgets hold, in each mode."""
        started = time.perf_counter()
        possible = self._sources.modes(ask.source)
        first = await self._sources.find(ask.source, possible[-1], principal)
        is_roomy = await compute(_is_roomy, first.reply)
        wanted = ask.modes or ([possible[-1]] if is_roomy else list(possible))
        shown = {mode: await self._in_mode(ask.source, mode, principal) for mode in wanted if mode in possible}
        there = {mode: one for mode, one in shown.items() if one is not None}
        told = await compute(self._draw, ask, there, 6 if is_roomy else POINTS)
        return {**told, "ms": {"fit": round((time.perf_counter() - started) * 1000, 1)}}

    def _draw(self, ask: asks.Curve, shown: dict[Mode, ReplyView], points: int) -> dict[str, Any]:
        counter, going = best_counter(), self.delivery(ask.way, ask.channels)
        spoken = {mode: one.contract(self._host.contract, ask.dialect, going) for mode, one in shown.items()}
        whole = {mode: one.size(spoken[mode], counter) for mode, one in shown.items()}
        budgets = _ladder(max(whole.values(), default=SMALLEST), points)
        series = [
            {
                "mode": mode,
                "whole": whole[mode],
                "total": len(items_of(one.reply)),
                "points": self._points(one, ask, budgets, whole[mode]),
            }
            for mode, one in shown.items()
        ]
        return {"counter": counter.name, "unit": counter.unit, "budgets": budgets, "series": series}

    def _points(self, shown: ReplyView, ask: asks.Curve, budgets: list[int], whole: int) -> list[dict[str, Any]]:
        """The points of a curve, found from the largest budget down: below one that is refused, all are."""
        found: list[dict[str, Any]] = []
        for budget in reversed(budgets):
            if found and found[-1]["refused"]:
                found.append({**found[-1], "budget": budget})
            else:
                found.append(self._point(shown, ask, budget, whole))
        return found[::-1]

    def _point(self, shown: ReplyView, ask: asks.Curve, budget: int, whole: int) -> dict[str, Any]:
        total = len(items_of(shown.reply))
        if whole <= budget:
            return {"budget": budget, "size": whole, "shown": total, "whole": total, "refused": False}
        limit = Budget.of(budget)
        going = self.delivery(ask.way, ask.channels)
        done = _fit(shown, shown.contract(self._host.contract, ask.dialect, going, limit), going, limit)
        after = self._after(done)
        size = None if done.is_refused else after["size"]
        return {
            "budget": budget,
            "size": size,
            "shown": after["items"],
            "whole": after["whole"],
            "refused": done.is_refused,
        }


def _require_speech(contract: Contract, shown: ReplyView) -> None:
    if contract.speaker.name == "problem" and shown.reply.problem is None:
        raise ValidationFailed(
            "Problem details say failures only; this reply did not fail",
            remediation="Choose another dialect",
            details={"field": "dialect"},
        )


def _fit(shown: ReplyView, contract: Contract, going: Delivery, budget: Budget | None) -> _FittedReply:
    started = time.perf_counter()
    fitted = shown.fit(contract)
    return _FittedReply(shown, contract, going, budget, fitted, (time.perf_counter() - started) * 1000)


def _fit_and_collect(shown: ReplyView, contract: Contract, going: Delivery, budget: Budget | None) -> _FittedReply:
    """The fitted reply, with what fell off it collected, which takes as long."""
    done = _fit(shown, contract, going, budget)
    _ = done.leftovers
    return done


def _is_roomy(reply: Reply[Any]) -> bool:
    written = dumps(reply.data)
    return len(written) > ROOMY or is_beyond(written, MANY_VALUES)


def _budget(asked: int | str | None, done: _FittedReply) -> dict[str, Any]:
    counter = done.counter
    return {
        "asked": asked,
        "room": None if done.budget is None else done.budget.room,
        "unit": counter.unit,
        "counter": counter.name,
        "margin": counter.margin,
    }


def _level(reply: Reply[Any], loss: Loss) -> FidelityLevel:
    """How much of the whole is there: the word of the reply, and what is seen where it had no room for a word."""
    said = reply.fidelity.level if reply.fidelity else "full"
    return loss.level if said == "full" else said


def _refusal(done: _FittedReply) -> dict[str, Any] | None:
    problem = done.reply.problem
    if not done.is_refused or problem is None:
        return None
    digits = [word for word in (problem.remediation or "").split() if word.isdecimal()]
    needed = int(digits[0]) if digits else None
    return {"code": problem.code, "message": problem.message, "remediation": problem.remediation, "needed": needed}


def _render(done: _FittedReply) -> tuple[dict[str, Any], int]:
    """The body and the text channel, unless they are too large to be looked at; and the bytes of the body."""
    body = done.contract.speaker.encode(done.reply)
    size = len(dumps(body))
    if size > LARGEST_SHOWN:
        return {"body": None, "text": None, "omitted": {"bytes": size, "limit": LARGEST_SHOWN}}, size
    text = channels_of(done.reply, body, done.contract.channels, speaker=done.contract.speaker).text
    return {"body": body, "text": text, "omitted": None}, size


def _ladder(most: int, points: int) -> list[int]:
    """Budgets in even steps of proportion, up to a little more than the whole."""
    top = max(most * 1.05, SMALLEST * 2)
    ratio = (top / SMALLEST) ** (1 / (points - 1))
    return sorted({_round_up(SMALLEST * ratio**step) for step in range(points)})


def _round_up(number: float) -> int:
    """A number of two figures that matter, rounded up."""
    unit = 10 ** max(len(str(int(number))) - 2, 0)
    return int(-(-number // unit) * unit)
