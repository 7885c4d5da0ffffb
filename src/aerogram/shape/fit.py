"""Fitting: a reply made small enough for a budget, that says what it left out and where to get it.

`fit` is pure: it returns the fitted reply and the leftovers, whose hashes follow from their content; whoever
calls it puts them into the archive before the reply is sent. How large a reply is, it learns from `measure`.
A `measure` may also have `price(text)`, the size of a piece of JSON text, and `counter`; without a price, pieces
are priced by their length, and the measured whole decides.

    whole ──fits──▶ as it is
      │
    lighten the envelope, if that alone takes up half of the budget
      │
    reduce the data to the room that is left ──▶ dress it with its account ──▶ measure ──too large, too small──┐
      ▲                                                                                                        │
      └────────────────────────────────────────── mend the room ◀──────────────────────────────────────────────┘
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from aerogram.content import Content
from aerogram.errors import ValidationFailed
from aerogram.jsontext import dumps
from aerogram.reply import Notice, Reply
from aerogram.shape.account import DATA, DROPPED_IDS, ENVELOPE, Account, Sizes
from aerogram.shape.lighten import lighter, removed_between
from aerogram.shape.loss import Loss, loss_between
from aerogram.shape.modes import RecordType
from aerogram.shape.mold import Mold
from aerogram.shape.reduce import GOOD_FILL, Part, Reducer
from aerogram.shape.text import whole_characters

__all__ = ["Fitted", "Leftover", "Measure", "fit"]

ROUNDS: Final = 12
NEARLY_FULL: Final = 0.9
NEARLY_ALL: Final = 0.25
ROOMY: Final = 4
"""A full account may take one part in so many of the budget; beyond that it is brief."""
SAMPLE_BYTES: Final = 4_000
SAMPLED_ITEMS: Final = 64
RESERVES: Final = 4
SELF_COUNTS: Final = 4


class Measure(Protocol):
    """The size of a reply as the client counts it."""

    def __call__(self, reply: Reply[Any], /) -> int:
        """The size of the whole reply."""
        ...


class Leftover(NamedTuple):
    """Something that fell off: its name among the reply's archive hashes, and the content."""

    name: str
    content: Content


class Fitted(NamedTuple):
    """The reply that fits, and what must be archived before it is sent."""

    reply: Reply[Any]
    leftovers: tuple[Leftover, ...] = ()


def fit(
    reply: Reply[Any],
    budget: int,
    *,
    measure: Measure,
    kind: RecordType | None = None,
    schema: Mapping[str, Any] | None = None,
    archive: bool = True,
    retrieve: str | None = None,
    resume: Callable[[int], str] | None = None,
    detail_first: bool = False,
) -> Fitted:
    """The richest version of the reply whose measured size is at most the budget.

    `kind` declares the modes of the records, `schema` what the data must still satisfy. `retrieve` names the tool
    that gives archived content back. `resume(count)` gives the cursor that continues after so many items (or
    characters) of the data: with it, what does not fit is the next page instead of a loss. With `detail_first`
    items stay whole and the tail goes; otherwise detail is lowered before anything is dropped.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ValidationFailed(f"a budget must be a whole number of at least 1, not {budget!r}")
    clipper = _cut if resume is not None and isinstance(reply.data, str) else None
    reducer = Reducer(_price(reply, measure), kind, detail_first, clipper)
    fitting = _Fitting(reply, budget, measure, reducer, Mold.of(schema), archive, retrieve, resume)
    return fitting.whole() or fitting.reduced() or fitting.refusal()


def _cut(text: str, limit: int) -> str:
    """The beginning of a text that goes on elsewhere: without a mark, and never nothing."""
    return text[: whole_characters(text, limit) or limit]


def _price(reply: Reply[Any], measure: Measure) -> Callable[[str], float]:
    """The size of a piece of JSON text: as the measure says, or in proportion to a measured sample."""
    price: Callable[[str], float] | None = getattr(measure, "price", None)
    if price is not None:
        return price
    sample = Reducer(len).reduce(reply.data, SAMPLE_BYTES)
    if sample is None or sample.cost <= 0:
        return len
    weight = measure(reply.replace(data=sample.value)) - measure(reply.replace(data=None))
    rate = max(weight, 1) / sample.cost
    return lambda text: len(text) * rate


@dataclass
class _Fitting:
    """One reply on its way into one budget."""

    reply: Reply[Any]
    budget: int
    measure: Measure
    reducer: Reducer
    mold: Mold
    archive: bool
    retrieve: str | None
    resume: Callable[[int], str] | None
    contents: dict[str, Content] = field(init=False, default_factory=dict)
    exact_size: int | None = field(init=False, default=None)

    def whole(self) -> Fitted | None:
        """The reply as it is, if it fits; with a warning if it nearly did not."""
        generous = self.budget * 1.2 + 8  # pieces may cost less in the whole than alone
        if self.reducer.cost(self.reply.data, generous) > generous:
            return None
        self.exact_size = self.measure(self.reply)
        if self.exact_size > self.budget:
            return None
        return Fitted(self._warned() if self.exact_size > NEARLY_FULL * self.budget else self.reply)

    def _warned(self) -> Reply[Any]:
        """The reply with a warning, if there is room for it; a failure, or a page cut to size, needs none."""
        is_cut_to_size = self.reply.page is not None and self.reply.page.cursor is not None
        if is_cut_to_size or self.reply.problem is not None:
            return self.reply
        warned = self.reply.replace(notices=(*self.reply.notices, Notice.of("TOKEN_LIMIT_WARNING")))
        return warned if self.measure(warned) <= self.budget else self.reply

    def reduced(self) -> Fitted | None:
        """The richest reduced reply that fits, or None."""
        account = self._account_within_reason()
        if self.reply.data is None:
            return self._without_data(account)
        reserve = 0
        for _ in range(RESERVES):
            part = self._search(account, self.budget - reserve)
            if part is None:
                return None
            done, size = self._finished(account, part)
            if size <= self.budget:
                return Fitted(done, self._leftovers(done))
            reserve += size - self.budget + 1
        return None

    def _without_data(self, account: Account) -> Fitted | None:
        """A reply that was all envelope: with its account if there is room for one."""
        for light in (account.dress(None, Loss(), self.budget), account.reply):
            if self.measure(light) <= self.budget:
                return Fitted(light, self._leftovers(light))
        return None

    def _account_within_reason(self) -> Account:
        """The account to dress the data with, after the envelope gave up what it must to leave room."""
        goes_on = self.resume is not None and isinstance(self.reply.data, str)  # then the next page has the rest
        if self.archive and self.reply.data is not None and not goes_on:
            self.contents[DATA] = Content.of_json(self.reply.data)
        account = self._account(self.reply, brief=False)
        if self._frame(account) * ROOMY <= self.budget:
            return account
        account = self._account(self.reply, brief=True)
        for light in lighter(self.reply):
            if self._frame(account) * 2 <= self.budget:
                break
            account = self._account(light, brief=True)
        return account

    def _account(self, light: Reply[Any], *, brief: bool) -> Account:
        removed = removed_between(self.reply, light) if light is not self.reply else {}
        if removed and self.archive:
            self.contents[ENVELOPE] = Content.of_json(removed)
        hashes = {name: content.hash for name, content in self.contents.items()}
        return Account(light, self.reducer.kind, self.retrieve, self.resume, self._sizes(), hashes, brief, self.budget)

    def _sizes(self) -> Sizes:
        counter = getattr(self.measure, "counter", None)
        named = {"unit": counter.unit, "counter": counter.name, "margin": counter.margin} if counter is not None else {}
        if self.exact_size is not None:
            return Sizes(self.exact_size, estimated=False, **named)
        return Sizes(self._estimated_size(), estimated=True, **named)

    def _estimated_size(self) -> int:
        """The size of the whole, from a sample of it."""
        text = dumps(_sample(self.reply.data)).decode()[:SAMPLE_BYTES]
        rate = self.reducer.price(text) / len(text.encode())
        return self.measure(self.reply.replace(data=_emptied(self.reply.data))) + round(rate * _bulk(self.reply.data))

    def _frame(self, account: Account) -> int:
        """The size of everything but the data."""
        return self.measure(account.dress(_emptied(self.reply.data), Loss(omitted=1), self.budget))

    def _search(self, account: Account, target: int) -> Part | None:
        """The richest part that fits when dressed: by ever better guesses of the room for the data."""
        frame = self._frame(account)
        guess = _Guess(float(target - frame))
        best: _Found | None = None
        for _ in range(ROUNDS):
            found = self._try(account, guess.room)
            if found is None:
                break
            fits = found.size <= target
            if fits and (best is None or found.beats(best)):
                best = found
            if fits and (found.loss.is_none or (found.size >= GOOD_FILL * target and not found.dropped_few)):
                break
            if not guess.mend(found.size - frame, target - frame):
                break
        if best is None:
            return self._smallest(account, min(guess.high, target), target)
        return self._broader(account, best, target).part

    def _try(self, account: Account, room: float) -> _Found | None:
        part = self.reducer.reduce(self.reply.data, room, self.mold) if room >= 1 else None
        if part is None:
            return None
        loss = loss_between(self.reply.data, part.value)
        return _Found(part, loss, self.measure(account.dress(part.value, loss, self.budget)))

    def _broader(self, account: Account, found: _Found, target: int) -> _Found:
        """The same, or every item by its identifier: an account without dropped items is shorter and may make room."""
        if not found.dropped_few or not isinstance(self.reply.data, list):
            return found
        every = self._try(account, self.reducer.cost_of_identifiers(self.reply.data, self.mold))
        return every if every is not None and every.size <= target and every.beats(found) else found

    def _smallest(self, account: Account, room: float, target: int) -> Part | None:
        """When no guess fitted: halve the room until something does."""
        while room >= 1:
            room /= 2
            found = self._try(account, room)
            if found is None:
                return None
            if found.size <= target:
                return found.part
        return None

    def _finished(self, account: Account, part: Part) -> tuple[Reply[Any], int]:
        """The final reply, with the hash of its dropped identifiers, which says its own size; and that size."""
        loss = loss_between(self.reply.data, part.value)
        dropped = account.dropped_ids(loss)
        if dropped is not None:
            self.contents[DROPPED_IDS] = dropped
            account = replace(account, ids_hash=dropped.hash)
        size = self.budget
        for _ in range(SELF_COUNTS):
            done = account.dress(part.value, loss, size)
            said, size = size, self.measure(done)
            if said == size:
                break
        return done, size

    def _leftovers(self, done: Reply[Any]) -> tuple[Leftover, ...]:
        """What the reply names; a page that leaves the rest to the next one names nothing."""
        named = (done.fidelity.archive_hashes or {}) if done.fidelity is not None else {}
        return tuple(Leftover(name, content) for name, content in self.contents.items() if name in named)

    def refusal(self) -> Fitted:
        """The reply that says that not even identifiers fit, and what budget would do; a failure stays what it is."""
        if self.reply.problem is not None:
            *_, lightest = lighter(self.reply)
            return Fitted(lightest.replace(data=None))
        sizes = self._sizes()
        unit = sizes.unit or "units"
        refused: Reply[Any] = Reply.failed(
            "TOKEN_LIMIT_EXCEEDED",
            f"Response would use {sizes.before} {unit}, limit is {self.budget}",
            remediation=f"Use a budget of at least {self._needed()} {unit}",
        )
        kept = ("request_id", "operation", "timestamp", "telemetry", "client_tag")
        return Fitted(refused.replace(**{name: getattr(self.reply, name) for name in kept}))

    def _needed(self) -> int:
        """A budget that works, tried out."""
        budget = self.budget
        while True:
            budget = -(-budget * 5 // 40) * 10  # a quarter more, in tens
            attempt = replace(self, budget=budget, reducer=replace(self.reducer))  # one that knows nothing yet
            if attempt.whole() or attempt.reduced():
                return budget


def _sample(data: Any) -> Any:
    """Items from all over a long list; other values as they are."""
    return data[:: len(data) // SAMPLED_ITEMS] if isinstance(data, list) and len(data) > SAMPLED_ITEMS else data


def _bulk(data: Any) -> float:
    """About how many bytes a value takes as JSON, without writing all of it."""
    if isinstance(data, list) and len(data) > SAMPLED_ITEMS:
        sample = _sample(data)
        return len(dumps(sample)) * len(data) / len(sample)
    if isinstance(data, dict):
        return sum(len(name) + 4 + _bulk(value) for name, value in data.items())
    return len(dumps(data))


def _emptied(data: Any) -> Any:
    return type(data)() if isinstance(data, (list, dict, str)) else data


class _Found(NamedTuple):
    """A reduced part, what it lost, and its size when dressed."""

    part: Part
    loss: Loss
    size: int

    @property
    def dropped_few(self) -> bool:
        """Whether items were dropped but so few that with a better guess all of them may fit."""
        return 0 < self.loss.dropped <= NEARLY_ALL * self.loss.total

    def beats(self, other: _Found) -> bool:
        """Whether this one shows more: more items, or as many in more detail."""
        return (-self.loss.dropped, self.size) > (-other.loss.dropped, other.size)


@dataclass
class _Guess:
    """The room for the data, between what was seen to fit (`low`) and what was not (`high`)."""

    room: float
    low: float = 0.0
    low_size: float = 0.0
    high: float = math.inf
    high_size: float = math.inf

    def mend(self, size: float, target: float) -> bool:
        """Learn what this room came to, and choose the next; False when there is nothing left to try."""
        if size <= target:
            self.low, self.low_size = self.room, size
        else:
            self.high, self.high_size = self.room, size
        if self.high == math.inf:
            self.room *= min(target / max(size, 1), 4)
        else:
            share = (target - self.low_size) / max(self.high_size - self.low_size, 1)
            self.room = self.low + (self.high - self.low) * min(max(share, 0.1), 0.9)
        return self.low + 1 <= self.room <= self.high - 1
