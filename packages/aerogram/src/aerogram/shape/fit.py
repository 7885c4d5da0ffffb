"""Fitting: a reply made small enough for a budget, that says what it left out and where to get it.

`fit` is pure: it returns the fitted reply and the leftovers, whose hashes follow from their content; whoever
calls it puts them into the archive before the reply is sent. How large a reply is, it learns from `measure`.
A `measure` may also have `price(text)`, the size of a piece of JSON text, and `counter`; without a price, pieces
are priced by their length, and the measured whole decides. With `dearest(reply)`, the size with whatever chance decides
at its longest, that is what must fit, and what `measure` says is what the reply tells.

    whole ──fits──▶ as it is
      │
    lighten the envelope, if that alone takes up half of the budget
      │
    reduce the data to the room that is left ──▶ dress it with its account ──▶ measure ──too large, too small──┐
      ▲                                                                                                        │
      └────────────────────────────────────────── mend the room ◀──────────────────────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from aerogram.content import LARGE, Content
from aerogram.errors import ValidationFailed
from aerogram.identity import Names
from aerogram.jsontext import dumps
from aerogram.reply import Ahead, Notice, Page, Reply
from aerogram.shape.account import (
    DATA,
    DROPPED_IDS,
    ENVELOPE,
    MANNERS,
    SELF_COUNTS,
    STAND_IN,
    Account,
    Manner,
    Sizes,
    counted,
)
from aerogram.shape.advice import Levers
from aerogram.shape.citing import cited
from aerogram.shape.lighten import lighter, removed_between, without_echo
from aerogram.shape.loss import Loss, is_map, loss_between
from aerogram.shape.modes import MODES, RecordType
from aerogram.shape.mold import Mold
from aerogram.shape.pages import Rows, cut_after, hardest_row, rows_of
from aerogram.shape.reduce import Reducer
from aerogram.shape.refusal import SPARE, Refusal
from aerogram.shape.sampling import estimated, price_of, sample
from aerogram.shape.search import SLACK, Found, Search, emptied
from aerogram.shape.text import whole_characters

__all__ = ["Fitted", "Leftover", "Measure", "fit"]

NEARLY_FULL: Final = 0.9
ROOMY: Final = 4
"""A full account may take one part in so many of the budget; beyond that it is brief."""
RESERVES: Final = 4
CHANCE: Final = 100
"""What is decided by chance makes no reply larger than this."""
TIGHT: Final = 3
"""Where the envelope of a page takes less than one part in so many of the budget, any row has room beside it."""
LOOKED_AT: Final = 1_000
"""Where there is no archive, so many items decide what identifies them all."""


class Measure(Protocol):
    """The size of a reply as the client counts it."""

    def __call__(self, reply: Reply[Any], /) -> int:
        """The size of the whole reply."""
        ...


class Leftover(NamedTuple):
    """Something that fell off: its name among the reply's archive hashes, and the content."""

    name: str
    content: Content


class _Outcome(NamedTuple):
    reply: Reply[Any]
    leftovers: tuple[Leftover, ...] = ()


class Fitted(_Outcome):
    """The reply that fits, and what must be archived before it is sent; `before` is the size of what did not fit."""

    before: int | None = None


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
    levers: Levers | None = None,
    ahead: Ahead | None = None,
) -> Fitted:
    """The richest version of the reply whose measured size is at most the budget.

    `kind` declares the modes of the records, `schema` what the data must still satisfy. `retrieve` names the tool
    that gives archived content back. `resume(count)` gives the cursor that continues after so many items (or
    characters) of the data: with it, what does not fit is the next page instead of a loss. With `detail_first`
    items stay whole and the tail goes; otherwise detail is lowered before anything is dropped. `levers` are what its
    caller can change about the call, for advice on what is too large. `ahead` gives every row of a walk that begins
    with this reply: it is refused where not all of them could be served, so that no walk breaks off on the way.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ValidationFailed(f"a budget must be a whole number of at least 1, not {budget!r}")
    clipper = _cut if resume is not None and isinstance(reply.data, str) else None
    names = Names(kind.ids_only if kind else (), first=None if archive else LOOKED_AT)
    reducer = Reducer(price_of(reply, measure), kind, detail_first, clipper, names)
    fitting = _Fitting(reply, budget, measure, reducer, Mold.of(schema), archive, retrieve, resume, levers)
    fitted = fitting.whole() or fitting.reduced()
    hardest = fitting.hardest(fitted, ahead) if ahead is not None else None
    return fitted if fitted is not None and (hardest is None or hardest.can_end()) else fitting.refusal(hardest)


def _cut(text: str, limit: int) -> str:
    """The beginning of a text that goes on elsewhere: without a mark, and never nothing."""
    return text[: whole_characters(text, limit) or limit]


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
    levers: Levers | None = None
    exact_size: int | None = field(init=False, default=None)
    search: Search = field(init=False)

    def __post_init__(self) -> None:
        self.reducer.walked = self._rows if self.resume is not None else None
        self.search = Search(self.reply.data, self.budget, self._bound, self.reducer, self.mold)

    @property
    def _bound(self) -> Measure:
        """What must be within the budget: the size with whatever chance decides at its longest."""
        bound: Measure = getattr(self.measure, "dearest", self.measure)
        return bound

    def whole(self) -> Fitted | None:
        """The reply as it is, if it fits; with a warning if it nearly did not."""
        generous = self.budget * 1.2 + 8  # pieces may cost less in the whole than alone
        if self.reducer.cost(self.reply.data, generous) > generous:
            return None
        reply, self.exact_size = self._counted(self.reply)
        if self.exact_size + CHANCE <= NEARLY_FULL * self.budget:
            return Fitted(reply)
        size = max(self.exact_size, self._bound(reply))
        if size > self.budget:
            return None
        return Fitted(self._warned() or reply if size > NEARLY_FULL * self.budget else reply)

    def _counted(self, reply: Reply[Any]) -> tuple[Reply[Any], int]:
        """The reply and its size, which it says itself if it was asked to."""
        return counted(reply, self.measure) if self._sizes_are_tokens else (reply, self.measure(reply))

    @property
    def _sizes_are_tokens(self) -> bool:
        counter = getattr(self.measure, "counter", None)
        return counter is not None and counter.unit == "tokens"

    def _warned(self) -> Reply[Any] | None:
        """The reply with a warning, if there is room for it; a failure or a part of archived content needs none."""
        if self.reducer.detail_first or self.reply.problem is not None:
            return None
        warning = Notice.of("TOKEN_LIMIT_WARNING")
        if self.levers is not None:
            limit = self.budget if self._sizes_are_tokens else None
            warning = replace(warning, suggestion=self.levers.before_the_limit(len(self._rows), limit))
        for one in (warning, replace(warning, suggestion=None)):
            warned, size = self._counted(self.reply.replace(notices=(*self.reply.notices, one)))
            if max(size, self._bound(warned)) <= self.budget:
                return warned
        return None

    @property
    def _rows(self) -> list[Any]:
        rows = rows_of(self.reply.data)
        return rows.items if rows is not None else []

    def reduced(self) -> Fitted | None:
        """The richest reduced reply that fits, or None."""
        account = self._account_within_reason()
        if self.reply.data is None:
            return self._without_data(account)
        done = self._best(account)
        if account.reply.query_echo is not None and account.manner != "full":
            done = self._better_without_echo(account, done)
        if done is None:
            return None
        fitted = Fitted(done.reply, done.leftovers)
        fitted.before = account.sizes.before
        return fitted

    def _best(self, account: Account) -> _Done | None:
        """The richest reply with this account, or with less of it where that shows more."""
        done = self._done(account)
        if (done is None or done.loss.dropped) and not self.reducer.detail_first:
            done = self._with_every_item(account) or done
        if self.resume is None or self.reducer.detail_first:
            return done or self._with_less_said(account)
        return self._with_most_rows(account, done) if done is None or done.loss.dropped else done

    def _with_most_rows(self, account: Account, done: _Done | None) -> _Done | None:
        """The longest page of those that go on at a cursor: with whole rows and no account, or with less said."""
        others = (self._with_whole_rows(account, done), done, *map(self._done, self._leaner(account)))
        return min((one for one in others if one is not None), key=lambda one: one.lack, default=None)

    def _with_whole_rows(self, account: Account, done: _Done | None) -> _Done | None:
        """Rows as they are, where there may be as many of them as there are rows with less detail."""
        rows = rows_of(self.reply.data)
        if rows is None or not rows.items or self.mold.keeps_whole(self.reply.data):
            return None
        count = max(len(rows.items) - done.loss.dropped, 1) if done is not None else 1
        if sum(self.reducer.cost(item, self.budget) for item in rows.items[:count]) * SLACK > self.budget:
            return None
        # with its own envelope, which has nothing to account for, or with a lighter one
        tried = (self._beginning(one, rows, count) for one in (self._account(self.reply, account.manner), account))
        return next((one for one in tried if one is not None), None)

    def _beginning(self, account: Account, rows: Rows, least: int) -> _Done | None:
        """The longest beginning of the rows that fits, if it has at least so many."""
        best: _Done | None = None
        count, too_many = least, len(rows.items) + 1
        while count < too_many:
            shown = rows.replaced(self.reply.data, rows.items[:count])
            done, size = self._finished(account, Found(shown, loss_between(self.reply.data, shown), 0, 0.0))
            if size > self.budget and best is None:
                return None
            if size <= self.budget:
                best, least = done, count
            else:
                too_many = count
            count = max((least + too_many) // 2, least + 1)
        return best

    def _better_without_echo(self, account: Account, done: _Done | None) -> _Done | None:
        """What is done already, unless the echo of the query costs it an item or a word of its account."""
        if done is not None and not done.loss.dropped and done.manner == account.manner:
            return done
        other = self._best(self._account(without_echo(account.reply), account.manner))
        return other if other is not None and (done is None or other.lack < done.lack) else done

    def _without_data(self, account: Account) -> Fitted | None:
        """A reply that was all envelope: with its account, which a failure may have to do without."""
        contents = self._contents(account, None)
        account = _hashed(account, contents)
        told = [account.dress(None, Loss(), self.budget)]
        told += [lean.dress(None, Loss(), self.budget) for lean in self._leaner(account)]
        for light in (*told, account.reply) if self.reply.problem is not None else told:
            if self._bound(light) <= self.budget:
                return Fitted(light, _leftovers(light, contents))
        return None

    def _leaner(self, account: Account) -> list[Account]:
        """The same account in the manners that say less."""
        return [replace(account, manner=manner) for manner in MANNERS[MANNERS.index(account.manner) + 1 :]]

    def _with_every_item(self, account: Account) -> _Done | None:
        """Every item, with the richest account that leaves room for all of them."""
        leaner = self._leaner(account)
        is_named = isinstance(self.reply.data, dict) and is_map(self.reply.data)
        if not is_named and not self.search.may_name_all(leaner[-1]):
            leaner = leaner[-1:] if self.reducer.kind is not None else []
        for lean in leaner:
            done = self._done(lean) if is_named or self.search.may_name_all(lean) else None
            if done is not None and not done.loss.dropped:
                return done
        return self._in_a_mode(leaner[-1]) if leaner else None

    def _with_less_said(self, account: Account) -> _Done | None:
        """Some items, with the richest account that leaves room for any."""
        return next((done for lean in self._leaner(account) if (done := self._done(lean)) is not None), None)

    def _in_a_mode(self, account: Account) -> _Done | None:
        """The whole list in the richest mode that fits, for types whose modes show less than its identifiers do."""
        data = self.reply.data
        shared = self.reducer.names.shared_member(data) if isinstance(data, list) else None
        for mode in reversed(MODES[:-1]) if isinstance(data, list) and not self.mold.keeps_whole(data) else ():
            few = [self.reducer.view(item, mode, self.mold.item, shared) for item in sample(data)]
            if self.reducer.price(dumps(few).decode()) * len(data) * SLACK > self.budget * len(few):
                continue
            shown = [self.reducer.view(item, mode, self.mold.item, shared) for item in data]
            found = self.search.dressed(account, shown)
            done, size = self._finished(account, found)
            if size <= self.budget:
                return done
        return None

    def _account_within_reason(self) -> Account:
        """The account to dress the data with, after the envelope gave up what it must to leave room."""
        if self._keeps_data and self.resume is None:
            self._whole_data.hash_ahead()
        account = self._account(self.reply, "full")
        if self.search.frame(account) * ROOMY <= self.budget:
            return account
        account = self._account(self.reply, "brief")
        for light in lighter(self.reply):
            if self.search.frame(account) * 2 <= self.budget:
                break
            account = self._account(light, "brief")
        return account

    def _account(self, light: Reply[Any], manner: Manner) -> Account:
        removed = removed_between(self.reply, light) if light is not self.reply else {}
        hashes: dict[str, str] = {}
        if self._keeps_data:
            is_known = self.resume is None and self._whole_data.size < LARGE
            hashes[DATA] = self._whole_data.hash if is_known else STAND_IN
        if removed and self.archive:
            hashes[ENVELOPE] = Content.of_json(removed).hash
        return Account(
            *(light, self.reducer.names, self.retrieve, self.resume, self._sizes(), hashes, manner, self.budget),
            is_lighter=bool(removed),
        )

    @property
    def _keeps_data(self) -> bool:
        """Whether data is archived; the rest of a text that goes on is the next page."""
        goes_on = self.resume is not None and isinstance(self.reply.data, str)
        return self.archive and self.reply.data is not None and not goes_on

    @cached_property
    def _whole_data(self) -> Content:
        return Content.of_json(self.reply.data)

    def _sizes(self) -> Sizes:
        counter = getattr(self.measure, "counter", None)
        named = {"unit": counter.unit, "counter": counter.name, "margin": counter.margin} if counter is not None else {}
        if self.exact_size is not None:
            return Sizes(self.exact_size, estimated=False, **named)
        return Sizes(self._estimated_size, estimated=True, **named)

    @cached_property
    def _estimated_size(self) -> int:
        """The size of the whole, from a sample of it."""
        frame = self.measure(self.reply.replace(data=emptied(self.reply.data)))
        return frame + estimated(self.reply.data, self.reducer.price)

    def _done(self, account: Account) -> _Done | None:
        """The richest reply with this account that fits once it is finished, which may take a little more room."""
        reserve = 0
        for _ in range(RESERVES):
            found = self.search.richest(account, self.budget - reserve)
            if found is None:
                return None
            done, size = self._finished(account, found)
            if size <= self.budget:
                return done
            reserve += size - self.budget + 1
        return None

    def _finished(self, account: Account, found: Found) -> tuple[_Done, int]:
        """The final reply, with the hash of its dropped identifiers, which says its own size; and that size."""
        contents = self._contents(account, found.value, account.dropped_ids(found.loss))
        account = replace(_hashed(account, contents), reply=cited(account.reply, found.value))
        size = self.budget
        for _ in range(SELF_COUNTS):
            reply = account.dress(found.value, found.loss, size)
            said, size = size, self._bound(reply)
            if said == size:
                break
        told, own = (reply, size) if self._bound is self.measure else self._told(account, found, reply, said)
        return _Done(told, found.loss, account.manner, _leftovers(told, contents)), max(size, own)

    def _told(self, account: Account, found: Found, reply: Reply[Any], said: int) -> tuple[Reply[Any], int]:
        """The reply that says the size that it has with what chance gave it; mostly it already does."""
        size = self.measure(reply)
        for _ in range(SELF_COUNTS):
            if said == size:
                break
            reply = account.dress(found.value, found.loss, size)
            said, size = size, self.measure(reply)
        return reply, size

    def _contents(self, account: Account, shown: Any, dropped: Content | None = None) -> dict[str, Content]:
        """What a reply with this data and this account may name."""
        contents: dict[str, Content] = {}
        if DATA in account.hashes:
            contents[DATA] = self._answered_for(shown)
        if ENVELOPE in account.hashes:
            contents[ENVELOPE] = Content.of_json(removed_between(self.reply, account.reply))
        if dropped is not None:
            contents[DROPPED_IDS] = dropped
        return contents

    def _answered_for(self, shown: Any) -> Content:
        """What must be had back from a reply that shows this: everything but the rows that its cursor goes on with."""
        kept = cut_after(self.reply.data, shown) if self.resume is not None else None
        rows = rows_of(self.reply.data) if kept is not None else None
        if rows is None:
            return self._whole_data
        return Content.of_json(rows.replaced(self.reply.data, rows.items[:kept]))

    def hardest(self, fitted: Fitted | None, ahead: Ahead) -> _Fitting | None:
        """The hardest page of a walk that begins here; None where there is room for any, or no walk."""
        rows, every = rows_of(self.reply.data), ahead() if fitted is None or self._is_tight(fitted.reply) else []
        if self.resume is None or rows is None or not every:
            return None
        row = hardest_row(every, self.reducer.kind, self.reducer.names.shared_member(every))
        page = replace(self.reply.page or Page(), cursor=self.resume(1), has_more=True)
        return replace(self, reply=self.reply.replace(data=rows.replaced(self.reply.data, [row]), page=page))

    def _is_tight(self, reply: Reply[Any]) -> bool:
        """Whether the next page may not have room for a row."""
        goes_on = reply.page is not None and reply.page.cursor is not None
        return (
            goes_on and self._bound(self.reply.replace(data=emptied(reply.data), page=reply.page)) * TIGHT > self.budget
        )

    def can_end(self) -> bool:
        """Whether the walk fits whose hardest page this is."""
        return self._is_served(self.reply.data, self.budget - SPARE)

    def refusal(self, hardest: _Fitting | None = None) -> Fitted:
        """The reply that says that not even identifiers fit, and what budget would do; a failure stays what it is."""
        if self.reply.problem is not None:
            *_, lightest = lighter(self.reply)
            return Fitted(lightest.replace(data=None))
        judged = hardest or self
        refusal = Refusal(
            judged.reply,
            self.budget,
            self._estimated_size if self.exact_size is None else self._bound(self.reply),
            getattr(self.measure, "counter", None),
            judged._is_served,
            self.levers,
            self.reducer.kind,
            self.reducer.names,
            is_cut=self.resume is not None,
            is_ahead=hardest is not None,
        )
        return Fitted(refusal.said())

    def _is_served(self, data: Any, budget: int) -> bool:
        """Whether a reply with this data would fit."""
        if budget < 1:
            return False
        reducer = replace(self.reducer)  # it knows nothing yet
        attempt = replace(self, reply=self.reply.replace(data=data), budget=budget, reducer=reducer)
        if data is self.reply.data and "_whole_data" in self.__dict__:
            attempt.__dict__["_whole_data"] = self._whole_data
        return bool(attempt.whole() or attempt.reduced())


class _Done(NamedTuple):
    """A reply that is finished, what it lost, the manner of its account, and what is archived for it."""

    reply: Reply[Any]
    loss: Loss
    manner: Manner
    leftovers: tuple[Leftover, ...]

    @property
    def is_whole(self) -> bool:
        """Whether what it shows is as it was."""
        return not (self.loss.shortened or self.loss.clipped or self.loss.omitted)

    @property
    def lack(self) -> tuple[int, bool, int]:
        """How many items it lacks, whether any detail, and how much of its account."""
        return self.loss.dropped, not self.is_whole, MANNERS.index(self.manner)


def _hashed(account: Account, contents: Mapping[str, Content]) -> Account:
    """The account with the hashes that others stood in for."""
    hashes = {name: contents[name].hash for name in account.hashes}
    dropped = contents.get(DROPPED_IDS)
    return replace(account, hashes=hashes, ids_hash=dropped.hash if dropped is not None else STAND_IN)


def _leftovers(reply: Reply[Any], contents: Mapping[str, Content]) -> tuple[Leftover, ...]:
    """What the reply names; a page that leaves the rest to the next one names nothing."""
    told = (reply.fidelity.archive_hashes or {}) if reply.fidelity is not None else {}
    return tuple(Leftover(name, content) for name, content in contents.items() if name in told)
