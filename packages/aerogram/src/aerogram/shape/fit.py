"""Fitting: a reply made small enough for a budget, that says what it left out and where to get it.

`fit` is pure: it returns the fitted reply and the leftovers, whose hashes follow from their content; whoever calls it
puts them into the archive before the reply is sent. What gives way depends on the data and on what was asked for:

    rows, asked for as they are    whole, the first so many of them; what is asked back from the archive is
    rows, ranked                   the best whole, then the next in less detail
    rows, listed                   the facts of as many as fit; where all of them do, the first become whole
    one record                     every member; long texts, lists and what is nested deep are cut, and it is said
    a text                         its beginning, and how much is missing

One allocator gives the room to rows whose prices are known (see `Ladder`), the whole is measured, and the room is
mended by what the measure says. What must fit is the size with whatever chance decides at its longest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from heapq import nlargest
from itertools import accumulate, chain, islice
from math import inf
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from aerogram.codes import Severity
from aerogram.content import DEAR_DIGITS, Content, short_digits
from aerogram.content.datatext import read_data
from aerogram.content.jsontext import dumps, part_to_json, pointer_of, value_at
from aerogram.cursor import farthest
from aerogram.errors import ValidationFailed
from aerogram.reply import (
    LEFT_OUT,
    Action,
    Ahead,
    Citation,
    Fidelity,
    FidelityLevel,
    Notice,
    Page,
    QueryEcho,
    Reply,
    Resume,
)
from aerogram.reply.identity import POSITION, Names
from aerogram.reply.shown import add_call, count_last, drop_call, say_cause, say_shown
from aerogram.shape.citing import trim_citations
from aerogram.shape.controls import Levers
from aerogram.shape.draft import Leftover, ReplyDraft
from aerogram.shape.facts import Outline, choose_facts, outline_text, spread, tells_something
from aerogram.shape.filling import LEAST_SHARE, Filling, Want, share
from aerogram.shape.length import longest
from aerogram.shape.levels import Ladder, Levels, Show, Shown
from aerogram.shape.loss import LESS, describe_lacks, is_map
from aerogram.shape.modes import RecordType
from aerogram.shape.mold import ANYTHING, Mold
from aerogram.shape.pages import Rows, bulk_of, rows_of
from aerogram.shape.refusal import SPARE, Refusal
from aerogram.shape.shrink import Cut, Shrinker, cuts_between, least_length, least_members, shrink
from aerogram.shape.text import clip, clip_middle, count_lines, find_entry_mark, page_end, reading_end
from aerogram.tokens import LONGEST_TOKEN, Counter

__all__ = [
    "DATA",
    "Fitted",
    "Manner",
    "Measure",
    "count_itself",
    "fit",
    "fit_draft",
    "lean",
    "lighter",
    "removed_between",
    "without_archive",
    "without_echo",
]


DATA: Final = "data"
ENVELOPE: Final = "envelope"
NEARLY_FULL: Final = 0.9
WORDS_SHARE: Final = 3
"""What a reply says besides its data, and could do without, takes at most one part in so many of the budget."""
TOO_LARGE: Final = "for the first is too large"
"""What is said where a row is passed over."""
REWRITTEN: Final = ", in fewer characters"
"""What is said of a text that does not fit as it was written."""
MOST_ROUNDS: Final = 12
LONG_TEXT: Final = 200
"""So many characters of a text among records are shown where they are in less detail."""
LEAST_PART: Final = 120
"""A row is cut to a share of the room that is at least so large, for less of it can hardly be read."""
CHARACTERS_OF_TOKEN: Final = 4
LITTLE_LEFT: Final = 0.03
"""Such a share of the budget is not worth another round."""
SELF_COUNTS: Final = 4
TIGHT: Final = 3
"""Where the envelope of a page takes less than one part in so many of the budget, any row has room beside it."""
OUTLINE_SHARE: Final = 10
OUTLINE_MOST: Final = 120
LEAST_OUTLINE: Final = 10
OUTLINE_COSTS: Final = 3
OUTLINE_FRAME: Final = 40
"""An outline takes at most so many times what it says, as where it is sent in two channels, and so much besides."""
MANY_LINES: Final = 10
"""A text of so many lines may be a log or a listing, of which one wants to know how many there are."""
_FEW_LAST: Final = 8
MANY_ROWS: Final = 2_000
"""The hash of more rows than these is taken while rows are priced."""
LONG_PRICED: Final = 1 << 18
"""Characters of a piece that are priced one by one; what is shown of a longer one is measured anyhow."""
MOST_CUTS: Final = 6
MOST_SILENT: Final = 12
"""So many places that are cut are named at most, where nothing in them says that they are."""
MOST_NAMED: Final = 20
NAMES_TOLD: Final = 60
"""In a list of at most so many, those that are missing may be few enough to be named."""
NOT_KEPT: Final = "the rest was not kept"
TRUNCATED: Final = "CONTENT_TRUNCATED"
REASON: Final = "token_limit_exceeded"
JUDGED_BY: Final = 200
"""By so many rows it is judged how large all of them are."""
MOST_JUDGED: Final = 20
"""So many of the longest rows are looked at for the one that is hardest to show."""


class Measure(Protocol):
    """The size of a reply as the client counts it."""

    @property
    def counter(self) -> Counter:
        """What counts."""

    def __call__(self, reply: Reply[Any], /) -> int:
        """The size of the whole reply."""

    def dearest(self, reply: Reply[Any], /) -> int:
        """The size that it would have with whatever chance decides at its longest."""

    def price(self, text: str) -> float:
        """What a piece of JSON adds to the size."""


class Fitted(NamedTuple):
    """The reply that fits, and what must be archived before it is sent; `size_before` is that of what did not fit."""

    reply: Reply[Any]
    leftovers: tuple[Leftover, ...] = ()
    size_before: Callable[[], int] | None = None


@dataclass(frozen=True)
class Manner:
    """How a reply gives way: what its tool gives, what its caller asked for, what its contract says of what is missing.

    `kind` declares the modes of the records, `mold` what the data must still satisfy; where that spares nothing,
    `suits` says whether a reply that was cut regardless still is what it promises. With `whole_rows` no row is shown in
    less detail; `ranked` rows come best first. `facts` are the columns of records in a list; otherwise they are chosen.
    Without an `archive`, what is missing is lost; `retrieve` names the tool that gives it back. `code` is that of the
    warning that something is missing, where a contract has one; it `warns` of a page that goes on as well. A contract
    that `echoes` the question does so as well where not all fits. `levers` are what its caller can change about the
    call. `asked` is the size that the caller has chosen itself, such as `limit=100`, who is told that it is not what
    ended the answer. A page that a cursor led to `is_under_way`: it is never refused for a row, which is passed over
    with word of how to get it.
    """

    kind: RecordType | None = None
    mold: Mold = ANYTHING
    suits: Callable[[Reply[Any]], bool] | None = None
    whole_rows: bool = False
    ranked: bool = False
    facts: Sequence[str] = ()
    archive: bool = True
    retrieve: str | None = None
    code: str | None = None
    warns: bool = False
    echoes: bool = True
    levers: Levers | None = None
    asked: str | None = None
    is_under_way: bool = False

    @property
    def additions(self) -> Sequence[str]:
        """What its type adds to its rows, without which they may fit."""
        return () if self.kind is None else self.kind.additions

    def note(self, words: str, severity: Severity = "warning") -> Notice:
        """A notice that something is missing."""
        return Notice(words, self.code, severity if self.code else None)


def fit(
    reply: Reply[Any],
    budget: int,
    *,
    measure: Measure,
    kind: RecordType | None = None,
    schema: Mapping[str, Any] | None = None,
    archive: bool = True,
    retrieve: str | None = None,
    resume: Resume | None = None,
    ahead: Ahead | None = None,
    among: list[Any] | None = None,
    whole_rows: bool = False,
    ranked: bool = False,
    facts: Sequence[str] = (),
    code: str | None = None,
    levers: Levers | None = None,
    is_under_way: bool = False,
) -> Fitted:
    """The richest version of a reply whose measured size is at most the budget.

    `resume(count)` gives the cursor that continues after so many rows (or characters): with it, what does not fit is
    the next page instead of a loss. `ahead` gives every row of a walk that begins with this reply; `among` are all rows
    where the data is only a page of them. `schema` is what the data must still satisfy. `Manner` says what the others
    are.
    """
    manner = Manner(
        kind,
        Mold.of(schema),
        whole_rows=whole_rows,
        ranked=ranked,
        facts=facts,
        archive=archive,
        retrieve=retrieve,
        code=code,
        levers=levers,
        is_under_way=is_under_way,
    )
    rows = None if among is None else Rows(among)
    return fit_draft(ReplyDraft(reply, resume=resume, ahead=ahead, rows=rows), budget, measure, manner)


def fit_draft(draft: ReplyDraft, budget: int, measure: Measure, manner: Manner) -> Fitted:
    """The richest version of the reply in the making whose measured size is at most the budget."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ValidationFailed(f"a budget must be a whole number of at least 1, not {budget!r}")
    fitting = _Fitting(draft, draft.reply, budget, measure, cache(partial(_price, measure)), manner)
    whole = None if draft.is_too_large else fitting.whole(warns=not draft.is_archived) or fitting.leaner()
    fitted = whole or fitting.reduce()
    if fitted is None and manner.suits is not None:
        loose = replace(fitting, manner=replace(manner, mold=ANYTHING)).reduce()
        fitted = loose if loose is not None and manner.suits(loose.reply) else None
    hardest = fitting.hardest_page(fitted)
    if fitted is not None and (hardest is None or hardest.can_end()):
        return fitted
    return fitting.refuse(hardest)


def _price(measure: Measure, text: str) -> float:
    """What a piece of JSON adds to the size; of a very long one, judged by its beginning."""
    if len(text) <= LONG_PRICED:
        return measure.price(text)
    return measure.price(text[:LONG_PRICED]) * len(text) / LONG_PRICED


_Way: TypeAlias = Callable[[], "Fitted | None"]


class _View(NamedTuple):
    """Rows, what builds data of those that are shown, their levels, and what those in less detail lack."""

    rows: list[Any]
    build: Callable[[list[Any]], Any]
    levels: Levels = Levels(Ladder((), None, float))
    lacks: str = LESS
    path: str = ""
    """Where they are in the data."""
    cuts: Sequence[Cut] = ()
    """Where those that are too large to be asked for whole are cut, if all of their members are there in part."""

    def describe(self, shown: Shown, total: int | str) -> str:
        """What is shown of so many, in words."""
        if self.lacks is TOO_LARGE:
            return say_shown(0, total, detail=f", {TOO_LARGE}")
        detail = f", {self.lacks}" if not shown.whole else f", the last {shown.lower} {self.lacks}"
        return say_shown(shown.rows, total, detail=detail if shown.lower else "")


class _Part(NamedTuple):
    """Rows as they are shown, and what is to be said of them."""

    view: _View
    shown: Shown
    data: list[Any]


@dataclass
class _Fitting:
    """One reply on its way into one budget."""

    draft: ReplyDraft
    reply: Reply[Any]
    """That of the draft, or what has become of it."""
    budget: int
    measure: Measure
    price: Callable[[str], float]
    """What a piece of JSON adds to the size; asked about the same pieces for every room that is tried."""
    manner: Manner
    citations: tuple[Citation, ...] = ()
    """Those of the whole, of which there are as many as there is room for beside the rows."""
    known: dict[tuple[str, int, int], tuple[Any, Any]] = field(default_factory=dict)
    """What was found out about values that are tried in many budgets, with these values, so that their ids stay."""
    unparsed: QueryEcho | None = None
    """What of the question was not understood, the only part of an echo that is news, if there is room for it."""

    @property
    def whole_rows(self) -> bool:
        """Whether no row is shown in less detail."""
        return self.draft.whole_rows or self.manner.whole_rows

    @property
    def is_under_way(self) -> bool:
        """Whether it is a page of a walk that has begun, or what was asked back."""
        return self.draft.is_archived or self.manner.is_under_way

    def _all(self, rows: list[Any]) -> Sequence[Any]:
        """All rows, where these are only a page of them."""
        return (None if self.draft.rows is None else self.draft.rows.items) or rows

    # whole

    def whole(self, *, warns: bool) -> Fitted | None:
        """The reply as it is, if it fits; if it nearly did not, it `warns` of that."""
        if self._is_hopeless(self.reply.data):
            return None
        reply, size = count_itself(self.reply, self.measure, self.budget)
        if size <= NEARLY_FULL * self.budget - 40:
            return Fitted(reply)
        if size > self.budget or self.measure.dearest(reply) > self.budget:
            self._exact = size
            return None
        return Fitted((self._warn() if warns else None) or reply)

    _exact: int | None = field(default=None, init=False)
    _envelope: Content | None = field(default=None, init=False)
    _light: Reply[Any] = field(default_factory=Reply, init=False)
    _is_bare: bool = field(default=False, init=False)
    _is_least: bool = field(default=False, init=False)
    _most: int = field(default=0, init=False)
    """How large the reply may be with its rows; the rest of the budget is for what else there is to say."""
    _original: Any = field(default=None, init=False)
    _whole: Content | None = field(default=None, init=False)

    def _is_hopeless(self, data: Any) -> bool:
        """Whether the data alone is certain to be too large, without writing all of it."""
        if isinstance(data, str):
            return len(data) > self.budget * LONGEST_TOKEN
        rows = rows_of(data)
        if rows is None or len(rows.items) <= JUDGED_BY:
            return not self.manner.additions and len(dumps(data)) > self._most_bytes
        written = (len(dumps(rows.items[at : at + JUDGED_BY])) for at in range(0, len(rows.items), JUDGED_BY))
        return any(size > self._most_bytes for size in accumulate(written))

    @property
    def _most_bytes(self) -> int:
        """So many bytes of JSON are certainly too many; a character has several of them."""
        return self.budget * LONGEST_TOKEN * 2

    def _warn(self) -> Reply[Any] | None:
        levers = self.manner.levers
        if self.reply.problem is not None:
            return None
        warning = Notice.of("TOKEN_LIMIT_WARNING")
        if levers is not None:
            rows = rows_of(self.reply.data)
            limit = self.budget if self.measure.counter.unit == "tokens" else None
            warning = replace(warning, suggestion=levers.before_the_limit(len(rows.items) if rows else 0, limit))
        for one in (warning, replace(warning, suggestion=None)):
            told = self.reply.replace(notices=(*self.reply.notices, one))
            warned, size = count_itself(told, self.measure, self.budget)
            if size <= self.budget and self.measure.dearest(warned) <= self.budget:
                return warned
        return None

    def leaner(self) -> Fitted | None:
        """The whole answer without what it says about itself, if that fits: nothing is missing that was asked for."""
        if self._exact is None:  # it was certain to be too large, and nobody has counted it
            return None
        light = self._lean()
        if light is self.reply or len(dumps(light.data).decode()) > self.budget * LONGEST_TOKEN:
            return None
        self._set_aside()
        light = self._with_room_for_citations(light)
        if light.data is not self.reply.data:  # a mode was asked for, and is not all there
            words = f"Rows come without {', '.join(self.manner.additions)}, for which there was no room"
            told = Notice(words, severity="info", suggestion="Ask for fewer rows, or for fewer fields")
            light = light.replace(notices=(*light.notices, told))
        if self.measure.dearest(light) > self.budget:
            return None
        return Fitted(self._count(self._with_extras(light)), (), self.before)

    def _set_aside(self) -> None:
        """Take note of what the whole says about itself that comes back if there is room when all rows have theirs."""
        self.citations = () if self.draft.cites_unasked else self.reply.citations or self.citations
        echo = self.reply.query_echo
        if echo is not None and echo.unparsed_terms and not self.manner.echoes:
            self.unparsed = QueryEcho(unparsed_terms=echo.unparsed_terms)

    def _with_extras(self, reply: Reply[Any]) -> Reply[Any]:
        """The reply with what was set aside, as far as there is room for it."""
        if self.citations:
            reply = self._with_citations(reply)
        if self.unparsed is None:
            return reply
        told = reply.replace(query_echo=self.unparsed)
        return told if self.measure.dearest(told) <= self.budget else reply

    def _count(self, reply: Reply[Any]) -> Reply[Any]:
        """The reply with its own size."""
        if reply.telemetry is None:
            return reply
        return count_itself(reply, self.measure, about=self.budget, is_whole=False)[0]

    def _with_room_for_citations(self, light: Reply[Any]) -> Reply[Any]:
        """The reply with what may have to be said about its citations, until it is known how many fit."""
        if not self.citations:
            return light
        return light.replace(notices=(self.manner.note(_UNCITED, "info"), *light.notices))

    def _with_citations(self, reply: Reply[Any]) -> Reply[Any]:
        """The reply with as many citations of what it shows as there is room for, and word of the others."""
        others = tuple(one for one in reply.notices if one.message != _UNCITED)
        wanted = trim_citations(reply.replace(citations=self.citations), reply.data).citations

        def cite(count: int) -> Reply[Any]:
            left = len(wanted) - count
            words = f"{left} of {len(wanted)} citations left out"
            told = (self.manner.note(words, "info"), *others) if left else others
            return reply.replace(citations=wanted[:count], notices=told)

        def size(count: int) -> int:
            return self.measure.dearest(cite(count))

        about = Ladder(wanted, part_to_json, self.measure.price).within(self.budget - size(0))
        few, many = 0, len(wanted)
        for count in (about + 1, about):  # by their prices; mostly these two tell
            if few < count <= many:
                few, many = (count, many) if size(count) <= self.budget else (few, count - 1)
        return cite(few + bisect_right(range(few + 1, many + 1), self.budget, key=size))

    def _lean(self) -> Reply[Any]:
        """The reply without what it says about itself, and without what its type adds to its rows."""
        reply, data = lean(self.reply, self.manner.echoes), self._without_additions(self.reply.data)
        return reply if data is reply.data else reply.replace(data=data)

    def _without_additions(self, data: Any) -> Any:
        gone = set(self.manner.additions)
        rows = rows_of(data) if gone else None
        if rows is None or not any(isinstance(row, dict) and not gone.isdisjoint(row) for row in rows.items):
            return data
        plain = [{name: row[name] for name in row if name not in gone} for row in rows.items if isinstance(row, dict)]
        return rows.replaced(data, plain) if len(plain) == len(rows.items) else data

    # reduced

    def reduce(self) -> Fitted | None:
        """The richest part that fits, or None.

        Of each way to show less, the richest first, the result has at least as many rows at a larger budget; so what
        comes after the first one has one row at most.
        """
        self._original = self.reply.data
        self._set_aside()
        self.reply = self._lean()
        for way in self._ways():
            self._lighten()
            fitted = way()
            if fitted is None and not self._is_bare:  # some of the data is worth more than what is said besides
                self._lighten(to_the_last=True)
                fitted = way()
            if fitted is not None:
                return fitted
        return None

    def _ways(self) -> list[_Way]:
        """How the data can be made smaller, the richest way first."""
        data = self.reply.data
        if isinstance(data, str):
            return [lambda: self._part_of_text(data)]
        rows = bulk_of(data) if self.draft.resume is None else rows_of(data)
        if rows is not None and rows.items:
            return self._ways_of_rows(rows)
        return self._ways_of_record(data, data) if isinstance(data, dict) and data else []

    def _lighten(self, *, to_the_last: bool = False) -> None:
        """Have an envelope that takes up much of the budget give up what a caller can do without; it is archived.

        What a heavier envelope would take is kept free before there is room for it, so that rows never make way for it.
        """
        lights = [self.reply, *lighter(self.reply)]
        sizes = [self._size_of_words(light) for light in lights]
        needs = [(size - sizes[-1]) * WORDS_SHARE for size in sizes]
        last = len(lights) - 1
        at = last if to_the_last else next(at for at, need in enumerate(needs) if need <= self.budget)
        self._most, self._is_bare, self._is_least = self.budget, at == last, to_the_last
        if at > 0 and not to_the_last:
            self._most = min(self.budget, needs[at - 1] - (sizes[at - 1] - sizes[at]) - SPARE)
        self._take_words(lights[at])

    def _take_words(self, light: Reply[Any]) -> None:
        removed = {} if light is self.reply else removed_between(self.reply, light)
        self._envelope = Content.of_json(removed) if removed and self.manner.archive else None
        self._light = self._with_room_for_citations(light)

    def _size_of_words(self, light: Reply[Any]) -> int:
        """The size of a reply without data that says that something is missing."""
        self._take_words(light)
        told = self._say({"data": None}, "partial", LESS, {}, how="whole")
        return self.measure.dearest(told)

    # rows

    def _ways_of_rows(self, found: Rows) -> list[_Way]:
        rows, whole = found.items, self.reply.data
        if len(rows) > MANY_ROWS and self.manner.archive and self.draft.resume is None:
            self._whole = self._answer_for(None)  # all of it, however many rows are shown
            self._whole.hash_ahead()
        show = None if self.whole_rows else self._lower_level(rows)
        levels = Levels(Ladder(rows, None, self.price), None, self.manner.ranked)
        lacks = LESS
        if show is not None:
            lacks = _describe_level(spread(self._all(rows), MOST_JUDGED), show)
            levels = levels._replace(lower=Ladder(rows, show, self.price))
        view = _View(rows, lambda shown: found.replaced(whole, shown), levels, lacks, found.path)
        ways: list[_Way] = [lambda: self._most_rows(view), lambda: self._one_row(view)]
        if self.manner.mold.fewest_items <= 1:
            ways.append(lambda: self._first_row(view))
        if len(rows) == 1 and show is None and not self.whole_rows:
            ways.append(lambda: self._only_row(view))
        if found.name is not None and self.draft.resume is None:  # nor is there room for what stands beside them
            first = rows[0] if show is None else show(rows[0])
            ways += self._ways_of_record(whole, found.replaced(whole, [first]))
        if self.is_under_way and self.draft.resume is not None and self.manner.archive:
            ways.append(lambda: self._pass_over(view))
        return ways

    def _only_row(self, view: _View) -> Fitted | None:
        """The facts of a row that is alone, and has more members than can be shown of it."""
        rows = view.rows
        if not isinstance(rows[0], dict) or self.manner.mold.item.required:
            return None
        facts = self._find_once("only facts", rows, lambda of: choose_facts(of, tuple(self.manner.facts)))
        if facts is None:
            return None
        lacks = self._find_once("only lacks", rows, lambda of: _describe_level(of, facts.show))
        levels = view.levels._replace(lower=Ladder(rows, facts.show, self.price))
        return self._one_row(view._replace(levels=levels, lacks=lacks))

    def _most_rows(self, view: _View) -> Fitted | None:
        """As many rows as fit at their levels beside all that is to be told; None where not one does."""
        rows, levels = view.rows, view.levels
        if self._is_least:
            return None

        @cache
        def size(shown: Shown) -> int:
            return self.measure.dearest(self._dress_rows(view, shown, levels.show(shown)))

        found = self._most_to_show(view, size)
        if found is None or found.rows < self.manner.mold.fewest_items:
            return None
        part = _Part(view, found, levels.show(found))
        used = size(found)
        if found.lower and self.manner.ranked:
            part = self._lengthen(part, used)
        elif found.rows == len(rows):
            part = self._fill(part, used)
        elif not found.lower and self._cuts_rows and (self.budget - used) * WORDS_SHARE > self.budget:
            part = self._share(part, self._outline_room if self._is_to_be_told(view) else 0) or part
        return self._finish_rows(part)

    def _finish_rows(self, part: _Part) -> Fitted:
        """The reply with some rows, and with an outline of the others, if there is one."""
        rows, shown = part.view.rows, part.shown
        if shown.rows == len(rows) or self.draft.resume is not None:  # the rows of a page are not all that are missing
            return self._finish(self._dress_rows(*part), shown)
        used = self.measure.dearest(self._dress_rows(*part))
        outlined = self._outline(rows, shown, lambda told: self._dress_rows(*part, told), used, _hidden(part))
        return self._finish(outlined, shown)

    def _lengthen(self, part: _Part, used: int) -> _Part:
        """The best row that is not whole with as much of its text as fits, where that is more than in less detail."""
        (view, found, data), lower = part, part.view.levels.lower
        row, shorter = view.rows[found.whole], data[found.whole]
        if lower is None or not isinstance(row, dict):
            return part
        shrinker, lengthened = Shrinker(row, self.price, self.manner.mold.item), view._replace(lacks=LESS)
        room = lower.cost(found.whole, found.whole + 1) + self.budget - used
        for _ in range(3):
            longer = shrinker.within(room)
            if _longest_text(longer) <= _longest_text(shorter) or any(
                one.is_silent for one in cuts_between(row, longer)
            ):
                break
            tried = [*data[: found.whole], longer, *data[found.whole + 1 :]]
            size = self.measure.dearest(self._dress_rows(lengthened, found, tried))
            if size <= self.budget:
                return _Part(lengthened, found, tried)
            room -= size - self.budget
        return part

    def _fill(self, part: _Part, used: int) -> _Part:
        """All rows, with as much of what those in less detail lack as there is room for, where that is worth it."""
        view, found, data = part
        if not found.lower or self.budget - used < max(LEAST_SHARE, LITTLE_LEFT * self.budget):
            return part
        filling = Filling(view.rows[found.whole :], data[found.whole :], self.price, self.manner.mold.item)

        def fill(lower: list[Any] | None) -> _Part:
            return part if lower is None else self._tell_cuts(view, found.whole, lower)

        best = self._cut(lambda lower: self._dress_rows(*fill(lower)), filling.within, self.budget)
        return fill(best)

    @property
    def _cuts_rows(self) -> bool:
        """Whether rows may be cut beside others, and not only where nothing else can be shown."""
        return not self.whole_rows and self.draft.resume is None

    def _share(self, part: _Part, reserve: int = 0) -> _Part | None:
        """The same whole rows, with the next in equal shares of the room left; None where there is not enough of it."""
        (view, (whole, _), data), most = part, self.budget - reserve
        rows, frame = view.rows[whole:], self._dress_rows(view, Shown(whole, 1), data)
        if self._is_beyond_cutting(rows[0]):
            return None
        few = 1
        if self._cuts_rows:
            least = LEAST_PART if self.measure.counter.unit == "tokens" else LEAST_PART * CHARACTERS_OF_TOKEN
            few = max((most - self.measure.dearest(frame)) // least, int(not whole))
        wants = [Want(self._shrinker("row", row, self.manner.mold.item)) for row in rows[:few]]
        if not wants:
            return None

        def within(room: float, count: int) -> list[Any]:
            parts = dict(share(wants[:count], room, self.price))
            return [parts[at] for at in range(count)]

        def dress(parts: list[Any] | None) -> Reply[Any]:
            return frame if parts is None else self._dress_rows(*self._tell_cuts(view, whole, parts))

        def smallest(count: int) -> int:
            return self.measure.dearest(dress(within(0, count)))

        count = 1 + bisect_right(range(2, len(wants) + 1), most, key=smallest)
        best = self._cut(dress, lambda room: within(room, count), most)
        return None if best is None else self._tell_cuts(view, whole, best)

    def _tell_cuts(self, view: _View, whole: int, lower: list[Any]) -> _Part:
        """Whole rows and the next that are cut, with word of where they are."""
        rows, end = view.rows, whole + len(lower)
        while lower and lower[0] == rows[whole]:
            whole, lower = whole + 1, lower[1:]
        pairs = list(zip(rows[whole:end], lower, strict=True))
        cuts = _cuts_of(pairs, whole)
        silent = [cut if len(pairs) > 1 else cut._replace(steps=cut.steps[1:]) for cut in cuts if cut.is_silent]
        is_counted = 0 < len(silent) <= MOST_CUTS
        lacks = f"with {_describe_cuts(silent)}" if is_counted else describe_lacks(spread(pairs, JUDGED_BY))
        goes_on = bool(cuts) and end == len(rows) and view.levels.whole.cost(whole, whole + 1) > self.budget
        told = view._replace(lacks=lacks, cuts=cuts if goes_on else ())
        return _Part(told, Shown(whole, len(lower)), [*rows[:whole], *lower])

    def _most_to_show(self, view: _View, size: Callable[[Shown], int]) -> Shown | None:
        """The most that fits, beside what is to be told of the others."""
        rows, levels, most = view.rows, view.levels, self._most
        room = most - self._frame(view, is_lower=levels.lower is not None)
        found = None
        if levels.allocate(room).rows == len(rows):
            found = levels.most_within(room, most, size)
        if found is None or found.rows < len(rows):
            reserve = min(max(room // OUTLINE_SHARE, 0), OUTLINE_MOST) if self._is_to_be_told(view) else 0
            found = levels.most_within(room - reserve, most - reserve, size)
        if self.draft.resume is None or not self.manner.ranked or levels.lower is None:
            return found
        # a page of whole rows needs no account, so there may be room for another one
        whole = levels._replace(lower=None).most_within(most - self._frame(view, is_lower=False), most, size)
        return max(filter(None, (found, whole)), default=None)

    def _frame(self, view: _View, *, is_lower: bool) -> int:
        """The size of what is said of rows, in as many words as of any other number of them."""
        some = Shown(max(len(view.rows) - 2, 1), int(is_lower))
        return self.measure.dearest(self._dress_rows(view, some, []))

    def _one_row(self, view: _View) -> Fitted | None:
        """The first row, where it alone fits, and not beside all that is to be told."""
        shown = Shown(0, 1) if view.levels.lower is not None else Shown(1, 0)
        (row,) = view.levels.show(shown)
        length = self._find_once("length", row, lambda one: len(dumps(one)))
        if self.manner.mold.fewest_items > 1 or length > self._most_bytes:
            return None
        dressed = self._dress_rows(view, shown, [row])
        return self._finish(dressed, shown) if self.measure.dearest(dressed) <= self.budget else None

    def _pass_over(self, view: _View) -> Fitted | None:
        """Nothing but the way to the first row, which cannot be smaller, and the way on after it."""
        passed = Shown(0, 1)
        dressed = self._dress_rows(view._replace(lacks=TOO_LARGE), passed, [])
        return self._finish(dressed, passed) if self.measure.dearest(dressed) <= self.budget else None

    def _is_to_be_told(self, view: _View) -> bool:
        """Whether some of the room is kept to say what is missing: its names where it is little, or an outline.

        It is not for the budget to decide, so that more room never shows fewer rows.
        """
        rows = view.rows
        if self.whole_rows or self.manner.ranked or self.draft.resume is not None:
            return False
        if len(rows) <= NAMES_TOLD and isinstance(rows[0], dict):
            return True
        return tells_something(spread(rows, JUDGED_BY, 1), rows[0], OUTLINE_MOST, self.measure.counter.count)

    def _lower_level(self, rows: list[Any]) -> Show | None:
        """How a row is shown in less detail: in the preview of its type, or by its facts; None where it never is."""
        kind = self.manner.kind
        record = next((row for row in rows if isinstance(row, dict)), None)
        if record is None or self.manner.mold.item.required or len(self._all(rows)) == 1:
            return None
        if kind is not None and kind.describes(record):
            mode: Any = "preview" if self.manner.ranked else "metadata"
            return lambda row: kind.show(row, mode) if isinstance(row, dict) else row
        found = self._find_once("facts", self._all(rows), lambda of: choose_facts(of, tuple(self.manner.facts)))
        if found is None:
            return None
        return lambda row: clip(row, LONG_TEXT) if isinstance(row, str) else found.show(row)

    def _find_once(self, name: str, value: Any, find: Callable[[Any], Any]) -> Any:
        """What is the same in every budget for a value, under this mold."""
        key = (name, id(value), id(self.manner.mold))
        if key not in self.known:
            self.known[key] = ((value, self.manner.mold), find(value))
        return self.known[key][1]

    def _shrinker(self, name: str, value: Any, mold: Mold) -> Shrinker:
        found: Shrinker = self._find_once(name, value, lambda whole: Shrinker(whole, self.price, mold))
        return found

    @property
    def _outline_room(self) -> int:
        return min(self.budget // OUTLINE_SHARE, OUTLINE_MOST)

    def _first_row(self, view: _View) -> Fitted | None:
        """The first row with its longest texts cut, where not even one fits as it is, and others beside it."""
        part = self._share(_Part(view, Shown(0, 0), []))
        return None if part is None else self._finish(self._dress_rows(*part), part.shown)

    def _is_beyond_cutting(self, value: Any) -> bool:
        """Whether a value is certain not to fit with every member of it at its smallest."""
        least = self._find_once("least", value, least_members) if isinstance(value, dict) else 0
        return bool(least > self.budget * LONGEST_TOKEN)

    def _dress_rows(
        self, view: _View, shown: Shown, data: list[Any], outline: Mapping[str, Any] | None = None
    ) -> Reply[Any]:
        """The reply with these rows, and what it says about the others, and about what these lack."""
        rows = view.rows
        changes: dict[str, Any] = {"data": view.build(data)}
        missing = len(rows) - shown.rows
        if missing and self._light.status == "ok":
            changes["status"] = "partial"
        if missing and self.draft.resume is not None:
            changes["page"] = replace(self._light.page or Page(), cursor=self.draft.resume(shown.rows), has_more=True)
        goes_on = self.draft.resume is not None and missing > 0
        total, page = self._whole_number(rows), self._light.page
        is_rewritten = self._is_rewritten and not (missing or shown.lower)
        # the next page brings what is not on this one
        if not (shown.lower or is_rewritten) and (goes_on or not missing):
            if missing and self.manner.warns:
                changes["notices"] = (*self._light.notices, self.manner.note(view.describe(shown, total)))
            if self._envelope is not None:
                changes["fidelity"] = _name_envelope(self._light.fidelity, self._envelope)
            return self._light.replace(**changes)
        keeps = shown.lower > 0 or not goes_on
        offset = shown.whole or None if shown.lower else shown.rows if missing and not goes_on else None
        words = say_shown(shown.rows, total, detail=REWRITTEN) if is_rewritten else view.describe(shown, total)
        how = "whole" if shown.lower or is_rewritten else "more"
        has_end = missing > shown.rows and not goes_on and not self.manner.ranked  # else it is here, or nearly
        last = count_last(self._count_whole(view, shown), len(rows)) if has_end else 0
        level: FidelityLevel = "summary" if shown.lower * 2 > shown.rows else "partial"
        then = ", then the cursor" if self.draft.resume is None and page is not None and page.cursor else ""
        path = view.path if offset and self.draft.resume is not None else ""  # of a page an offset may not count them
        place: dict[str, Any] = {"path": path or None, "offset": offset}
        place["as_text"] = self._comes_as_text if shown.lower else None
        if view.cuts:
            how, first = "more", view.cuts[0]
            then = f"{', the others likewise' if len(view.cuts) > 1 else ''}{then}"
            place = {"path": view.path + pointer_of(first.steps), "offset": _next_after(rows, first)}
        return self._say(
            changes, level, words, outline or {}, then, keeps=keeps, ends=missing > 0, how=how, last=last, **place
        )

    def _count_whole(self, view: _View, shown: Shown) -> int:
        """How many rows take the room of those that are shown; those in less detail are asked for whole."""
        if not shown.lower:
            return shown.rows
        few = view.rows[-_FEW_LAST:]
        cost = self.price(dumps(few).decode()) / len(few)
        return min(shown.rows, int(view.levels.cost(shown) / max(cost, 1)))

    def _whole_number(self, rows: list[Any]) -> int | str:
        """Of how many rows some are shown; a page that the handler made is all that can be given back of them."""
        total = None if self._light.page is None else self._light.page.total
        is_of_handler = self.draft.resume is None and self._light.page is not None and total != len(rows)
        return f"{len(rows)} on this page" if is_of_handler else total or len(rows)

    def _incomplete(self) -> dict[str, Any]:
        """What makes a reply one that says that something is missing."""
        return {"status": "partial"} if self._light.status == "ok" else {}

    # one record, one text

    def _ways_of_record(self, data: dict[str, Any], most: dict[str, Any]) -> list[_Way]:
        """Every member, with long ones cut; or the first of many. `most` of it is shown, if there is room."""
        mold = self.manner.mold
        shrinker = self._shrinker("record", data, mold) if most is data else Shrinker(most, self.price, mold)
        has_all = not is_map(data) and not self._is_beyond_cutting(data)
        first: list[_Way] = [lambda: self._record(data, shrinker.within)] if has_all else []
        return [*first, lambda: self._record(data, lambda room: shrinker.within(room, inside=True))]

    def _record(self, data: dict[str, Any], cut: Callable[[float], Any]) -> Fitted | None:
        def dress(shown: dict[str, Any] | None) -> Reply[Any]:
            cuts = cuts_between(data, shown) if shown is not None else []
            first, offset = cuts[0] if cuts else None, _next_after(data, cuts[0]) if cuts else None
            words = f"{_describe_cuts(cuts)} shown{first.lacks if first else ''}"
            if first is None and self._is_rewritten:
                return self._say({"data": shown}, "partial", f"all shown{REWRITTEN}", {}, how="whole", as_text=True)
            if first is None or not (first.steps or offset):
                return self._say({"data": shown}, "partial", words, {}, how="whole", as_text=self._comes_as_text)
            place: dict[str, Any] = {"path": pointer_of(first.steps) or None, "offset": offset}
            likewise = ", the others likewise" if len(cuts) > 1 else ""
            last = count_last(first.shown, first.total) if offset else 0
            return self._say({"data": shown}, "partial", words, {}, likewise, how="more", last=last, **place)

        best = self._cut(dress, cut, self.budget)
        return None if best is None else self._finish(dress(best))

    def _part_of_text(self, text: str) -> Fitted | None:
        """As much of a text as fits; it goes on at the cursor, or after so many characters."""
        lines, mark = count_lines(text, len(text)), find_entry_mark(text)
        entries = text.count(mark) if mark is not None else 0
        is_lost = self.draft.resume is None and self.manner.archive
        # data that it spells may be in the archive under the same hash, and is read in what is asked back
        as_text = (is_lost and (Content.of_text(text).spells_json or read_data([text]) is not None)) or None

        def dress(count: int) -> Reply[Any]:
            changes: dict[str, Any] = {"data": text[:count]}
            if self.draft.resume is not None:
                page = replace(self._light.page or Page(), cursor=self.draft.resume(count), has_more=True)
                if self.manner.warns:
                    told = say_shown(count, page.total or len(text), "characters")
                    changes["notices"] = (*self._light.notices, self.manner.note(told))
                return self._light.replace(**changes, page=page, **self._incomplete())
            words = say_shown(count, len(text), "characters")
            if mark is not None:
                words += f" ({text.count(mark, 0, count)} of {entries} entries)"
            elif lines >= MANY_LINES:
                words += f" ({count_lines(text, count)} of {lines} lines)"
            place: dict[str, Any] = {"offset": count, "as_text": as_text}
            last = count_last(count, len(text))
            return self._say(changes, "partial", words, {}, how="more", last=last, **place)

        def end(most: int) -> int:
            return page_end(text, most) if self.draft.resume is not None else reading_end(text, most, mark)

        def size(most: int) -> int:
            return self.measure.dearest(dress(end(most)))  # as it ends, for a shorter text may have more tokens

        count = end(longest(text, size, self.budget, self.measure.price, goes_on=self.draft.resume is not None))
        if not count or self.manner.mold.keeps_whole(text):
            return None
        plain = dress(count)
        told = [] if self.draft.resume else outline_text(text[count:], self._outline_room, self.measure.counter.count)
        outlined = self._say_outline(plain, {"headings": told}) if told else plain
        is_in_room = not told or self.measure.dearest(outlined) <= self.budget
        return self._finish(outlined if is_in_room else plain)

    def _cut(self, dress: Callable[[Any], Reply[Any]], cut: Callable[[float], Any], most: int) -> Any:
        """The richest cut of a value with which the reply is within the most; None where there is none.

        Cuts jump from item to item: a little less room may change nothing, so each step down is twice the one before,
        and the last one is to the smallest cut.
        """
        frame, best = self.measure.dearest(dress(None)), None
        room = float(most - frame)
        if room < 1:
            return None
        enough, too_much, down = 0.0, inf, 1
        tried: list[tuple[Any, int]] = []
        for left in reversed(range(MOST_ROUNDS)):
            shown = cut(room)
            known = next((size for one, size in tried if one == shown), None)
            size = self.measure.dearest(dress(shown)) if known is None else known
            tried.append((shown, size))
            spare = most - size
            if spare >= 0:
                enough = room
                best = shown if best is None or len(dumps(shown)) > len(dumps(best)) else best
            else:
                too_much, spare, down = room, spare * down, down * 2
            if 0 <= spare <= LITTLE_LEFT * most or too_much - enough <= 1:
                break
            rate = max((size - frame) / room, 0.5)  # what is paid for what it is priced at, as in another form
            room += (spare - 0.01 * most) / rate  # a little less, so that the next one is mostly the last one
            if best is None:
                room = max(room, 1.0) if left > 1 else 1.0
            elif not enough < room < too_much:
                room = (enough + too_much) / 2
        return best

    # what is said about it

    @property
    def _is_rewritten(self) -> bool:
        """Whether all of the data is another text than the one that it was read from, which does not fit."""
        return self.draft.source is not None and self.draft.is_too_large

    @property
    def _comes_as_text(self) -> bool | None:
        """What was asked back already is to be asked for as a text: the same call would give the same again."""
        return self.draft.is_archived or None

    def _say(
        self,
        changes: dict[str, Any],
        level: FidelityLevel,
        words: str,
        outline: Mapping[str, Any],
        besides: str = "",
        *,
        keeps: bool = True,
        ends: bool = True,
        how: str,
        last: int = 0,
        **place: Any,
    ) -> Reply[Any]:
        """The reply with word of what is missing, and how it can be had; something stands for its hash until then.

        `place` are the arguments of the call besides the hash, `besides` what follows it, and `last` how many there are
        to be had from the end. An address is told where follow-up calls are. What the next page brings is not kept
        (`keeps`). Where the budget `ends` the answer, and not the size that its caller has chosen, that is told.
        """
        if ends and self.manner.asked is not None:
            words += say_cause(self.budget, self.measure.counter.unit, self.manner.asked)
        light, archive, retrieve = self._light, self.manner.archive, self.manner.retrieve
        keeps = keeps and archive
        asked = {name: value for name, value in place.items() if value is not None}
        before, hashes = light.fidelity, {}
        if before is not None and before.archive_hashes:
            hashes = {(f"earlier-{name}" if name == DATA else name): one for name, one in before.archive_hashes.items()}
        if keeps:
            hashes[DATA] = _STAND_IN
        if self._envelope is not None:
            hashes[ENVELOPE] = self._envelope.short_hash
        if not archive:
            words = f"{words}; {NOT_KEPT}"
        elif keeps and retrieve is not None and retrieve.startswith("/"):
            args = {"hash": _STAND_IN, **dict.fromkeys(asked.keys() & {"as_text"}, True)}
            changes["actions"] = (*light.actions, Action(endpoint=retrieve, args=args))
        elif keeps and retrieve is not None:
            given = "".join(f", {name}={value!r}" for name, value in asked.items())
            words = add_call(words, retrieve, DEAR_DIGITS, given, how, besides, last)
        changes |= self._incomplete()
        if outline:
            changes["extra"] = {**(light.extra or {}), LEFT_OUT: dict(outline)}
        changes["notices"] = (*light.notices, self.manner.note(words))
        if before is None:
            changes["fidelity"] = Fidelity(level, archive_hashes=hashes or None)
        else:
            level = max(level, before.level, key=_FALLING.index)  # what had been left out before stays so
            changes["fidelity"] = replace(before, level=level, archive_hashes=hashes or None)
        return light.replace(**changes)

    @staticmethod
    def _say_outline(reply: Reply[Any], outline: Mapping[str, Any]) -> Reply[Any]:
        return reply.replace(extra={**(reply.extra or {}), LEFT_OUT: dict(outline)})

    def _outline(
        self,
        rows: list[Any],
        shown: Shown,
        dress: Callable[[Mapping[str, Any]], Reply[Any]],
        size: int,
        hidden: Sequence[str],
    ) -> Reply[Any]:
        """The reply with an outline of the missing rows and of what all rows have, as far as there is room for it.

        `size` is that of the reply without one.
        """
        plain = dress({})
        room = min(self.budget - size - 6, self._outline_room)
        outline = Outline(rows, shown.rows, shown.lower > 0, hidden) if room > LEAST_OUTLINE else None
        for _ in range(3):
            told = outline.within(room, self.measure.counter.count) if outline and room > LEAST_OUTLINE else {}
            if not told:
                return plain
            outlined = dress(told)
            if size + OUTLINE_COSTS * self.measure.counter.count(dumps(told).decode()) + OUTLINE_FRAME <= self.budget:
                return outlined
            over = self.measure.dearest(outlined) - self.budget
            if over <= 0:
                return outlined
            room -= over + 2
        return plain

    def _finish(self, dressed: Reply[Any], shown: Shown | None = None) -> Fitted:
        """The reply with its hash in place of what stood for it, and its own size."""
        fidelity = dressed.fidelity
        hashes = dict(fidelity.archive_hashes or {}) if fidelity is not None else {}
        leftovers: tuple[Leftover, ...] = ()
        if fidelity is not None and hashes.get(DATA) == _STAND_IN:
            content = self._answer_for(shown)
            hashes[DATA] = content.short_hash
            leftovers = (Leftover(DATA, content),)
            dressed = _with_hash(dressed.replace(fidelity=replace(fidelity, archive_hashes=hashes)), hashes[DATA])
            dressed = self._detail(dressed, shown)
        if self._envelope is not None:
            leftovers += (Leftover(ENVELOPE, self._envelope),)
        return Fitted(self._count(self._with_extras(dressed)), leftovers, self.before)

    def _detail(self, dressed: Reply[Any], shown: Shown | None) -> Reply[Any]:
        """The reply with the names of the missing items where they are few, and details for programs, if they fit."""
        rows, own = rows_of(self.reply.data), dressed.notices[-1]
        missing = [] if shown is None or rows is None or self.draft.resume is not None else rows.items[shown.rows :]
        if rows is None or dressed.fidelity is None or not 0 < len(missing) <= MOST_NAMED:
            return dressed
        names = tuple(map(str, Names(self.manner.kind.ids_only if self.manner.kind else ()).ids(missing, 0)))
        context = {"dropped_count": len(missing), "total_count": len(rows.items), "reason": REASON}
        coded = Notice(own.message, self.manner.code or TRUNCATED, own.severity or "info", context=context)
        told = dressed.replace(notices=(*dressed.notices[:-1], coded))
        if not any(name.startswith(POSITION) for name in names):
            told = told.replace(fidelity=replace(dressed.fidelity, dropped_ids=names))
        return told if self.measure.dearest(told) <= self.budget else dressed

    def _answer_for(self, shown: Shown | None) -> Content:
        """What must be had back from a reply: everything but the rows that its cursor goes on with."""
        data, rows = self._original, rows_of(self._original)
        if self._whole is not None:
            return self._whole
        if isinstance(data, str):
            return Content.of_text(data)
        if shown is None or self.draft.resume is None or rows is None or shown.rows == len(rows.items):
            found: Content = self._find_once("content", data, self._content_of)
            return found
        return Content.of_json(rows.replaced(data, rows.items[: shown.rows]))

    def _content_of(self, data: Any) -> Content:
        return Content.of_json(data) if self.draft.source is None else Content.of_text(self.draft.source)

    def before(self) -> int:
        """The size of the whole, or about it; who fits a reply need not know it."""
        if self._exact is not None:
            return self._exact
        data, rows = self.reply.data, rows_of(self.reply.data)
        if rows is None or len(rows.items) <= JUDGED_BY:
            return round(self._price_about(data))
        beside = self._price_about(_without_rows(data, rows))
        some = spread(rows.items, JUDGED_BY)
        return round(beside + self._price_about(some) * len(rows.items) / len(some))

    def _price_about(self, data: Any) -> float:
        """What data costs, judged by its beginning."""
        text = dumps(data)
        few = text[: self.budget * 16].decode("utf-8", "ignore")
        return self.price(few) * len(text) / max(len(few.encode()), 1)

    # refusals

    def hardest_page(self, fitted: Fitted | None) -> _Fitting | None:
        """The hardest page of a walk that begins here; None where there is room for any, or no walk."""
        resume, ahead, page = self.draft.resume, self.draft.ahead, self.reply.page or Page()
        if resume is None or ahead is None or (fitted is not None and not self._is_tight(fitted.reply)):
            return None
        rows, every = rows_of(self.reply.data), ahead()
        if rows is None or not every:
            return None
        row = self._hardest_row(every)

        def far_on(count: int) -> str:
            return farthest(resume(count), page.total)  # as on any page of the walk

        page = replace(page, cursor=far_on(1), has_more=True)
        pair = rows.replaced(self.reply.data, [row, row])  # so that the first of them is one of several
        draft = self.draft._replace(resume=far_on)
        manner = replace(self.manner, is_under_way=True)
        return replace(self, draft=draft, reply=self.reply.replace(data=pair, page=page), manner=manner)

    def _hardest_row(self, rows: Sequence[Any]) -> Any:
        """The row that needs most room as it is shown at its smallest: whole, or cut and accounted for."""
        price = self.price
        dressed = self._dress_rows(_View([None], lambda shown: shown), Shown(0, 1), [])
        account = self.measure.dearest(dressed) - self.measure.dearest(self._light.replace(data=[]))

        def need(row: Any) -> float:
            return min(
                price(dumps(row).decode()),
                account + price(dumps(shrink(row, 0, price, self.manner.mold.item)).decode()),
            )

        most = account * 4  # in characters, about
        some = nlargest(MOST_JUDGED, rows, key=least_length)
        some += nlargest(MOST_JUDGED, rows, key=lambda row: min(len(dumps(row)), most + least_length(row)))
        return max(some, key=need)

    def _is_tight(self, reply: Reply[Any]) -> bool:
        """Whether the next page may not have room for a row."""
        if reply.page is None or reply.page.cursor is None:
            return False
        rows = rows_of(self.reply.data)
        frame = None if rows is None else _without_rows(self.reply.data, rows)
        return self.measure.dearest(self.reply.replace(data=frame, page=reply.page)) * TIGHT > self.budget

    def can_end(self) -> bool:
        """Whether the walk fits whose hardest page this is."""
        return self._serves(self.reply.data, self.budget - SPARE)

    def _serves(self, data: Any, budget: int) -> bool:
        """Whether a reply with this data would fit."""
        if budget < 1:
            return False
        attempt = replace(self, reply=self.reply.replace(data=data, citations=self.citations), budget=budget)
        return attempt._has_a_way()

    def _begins(self, data: Any, budget: int) -> bool:
        """Whether a walk that begins with this data has a first page."""
        return replace(self, reply=self.draft.reply.replace(data=data), budget=budget)._has_a_way()

    def _has_a_way(self) -> bool:
        return bool(self.whole(warns=False) or self.leaner() or self.reduce())

    def _fail(self) -> Fitted:
        """The failure with as much of what it says about itself as fits, and word of what is missing of that."""
        lightest = lean(self.reply, self.manner.echoes).replace(data=None)
        for light in chain((lightest,), lighter(lightest)):
            fitted = self._with_cut_told(light)
            if self.measure.dearest(fitted.reply) <= self.budget:
                return fitted
            if light.problem is not None and light.problem.details is None:
                shorter = self._with_message_cut(light)
                if shorter is not None:
                    return shorter
            lightest = light
        return Fitted(lightest)

    def _with_message_cut(self, light: Reply[Any]) -> Fitted | None:
        """A failure with as much of a long message as fits; None where even a short one is too long."""
        assert light.problem is not None
        problem = light.problem
        best, enough, too_much = None, LONG_WORDS, min(len(problem.message), self.budget * LONGEST_TOKEN)
        while too_much - enough > LONG_WORDS / 4:
            length = (enough + too_much) // 2 if best is not None else enough
            message = clip_middle(problem.message, length)
            fitted = self._with_cut_told(light.replace(problem=replace(problem, message=message)))
            if self.measure.dearest(fitted.reply) <= self.budget:
                best, enough = fitted, length
            elif best is None:
                return None
            else:
                too_much = length
        return best

    def _with_cut_told(self, light: Reply[Any]) -> Fitted:
        """A lighter failure with the call that gives back what is missing of its words and details."""
        before, after = self.reply.problem, light.problem
        assert before is not None
        assert after is not None
        gone = {name: getattr(before, name) for name in ("message", "details")}
        gone = {name: value for name, value in gone.items() if value != getattr(after, name)}
        if not gone:
            return Fitted(light)
        words, fidelity = f"Some of the {' and the '.join(gone)} is left out", light.fidelity
        leftovers: tuple[Leftover, ...] = ()
        if not self.manner.archive:
            words = f"{words}; {NOT_KEPT}"
        else:
            content = Content.of_json(gone)
            leftovers = (Leftover(ENVELOPE, content),)
            fidelity = _name_envelope(fidelity, content)
            if self.manner.retrieve is not None and not self.manner.retrieve.startswith("/"):
                words = add_call(words, self.manner.retrieve, short_digits(content.hash))
        notices = (*light.notices, self.manner.note(words))
        return Fitted(light.replace(notices=notices, fidelity=fidelity), leftovers, self.before)

    def refuse(self, hardest: _Fitting | None) -> Fitted:
        """The reply that says that nothing fits, and what budget would do; a failure stays what it is.

        What was given is asked for again, with all that has been left out of it meanwhile.
        """
        if self.reply.problem is not None:
            return self._fail()
        judged = hardest or self
        refusal = Refusal(
            judged.reply,
            self.budget,
            self.before(),
            self.measure.counter,
            judged._serves,
            self.manner.levers,
            self.manner.kind,
            is_cut=self.draft.resume is not None,
            is_ahead=hardest is not None,
            first=self.draft.reply.data,
            begins=self._begins,
        )
        return Fitted(refusal.refuse())


_FALLING: Final[tuple[FidelityLevel, ...]] = ("full", "partial", "summary", "reference_only")
_UNCITED: Final = "1000 of 1000 citations left out"
"""What stands for the word about citations until it is known."""
_STAND_IN: Final = f"sha256:{DEAR_DIGITS}"
"""What stands for a hash until it is known."""


def count_itself(
    reply: Reply[Any],
    measure: Callable[[Reply[Any]], int],
    most: float = inf,
    about: int = 0,
    *,
    is_whole: bool = True,
) -> tuple[Reply[Any], int]:
    """A reply and its size in tokens, which it says itself where its contract asks for it and nobody has said it.

    One that is larger than `most` will not be sent, and need not say so. `about` is a number as long as its size. What
    is not whole has no room to say the same number as its estimate and as what it used.
    """
    telemetry = reply.telemetry
    if telemetry is None or telemetry.tokens_estimated != 0:
        return reply, measure(reply)
    said, size = None, about or measure(reply)
    for _ in range(SELF_COUNTS):
        if said == size or size > most:
            break
        used = size if is_whole else None
        reply = reply.replace(telemetry=replace(telemetry, tokens_estimated=size, tokens_used=used))
        said, size = size, measure(reply)
    return reply, size


def _without_rows(data: Any, rows: Rows) -> Any:
    """What stands around some rows."""
    return [] if rows.name is None else rows.replaced(data, [])


def _with_hash(reply: Reply[Any], digest: str) -> Reply[Any]:
    """The reply with a hash in place of what stood for it in its last warning and its last follow-up call."""
    *others, own = reply.notices
    message = own.message.replace(DEAR_DIGITS, short_digits(digest))
    reply = reply.replace(notices=(*others, replace(own, message=message)))
    if not reply.actions or (reply.actions[-1].args or {}).get("hash") != _STAND_IN:
        return reply
    own_call = replace(reply.actions[-1], args={**(reply.actions[-1].args or {}), "hash": digest})
    return reply.replace(actions=(*reply.actions[:-1], own_call))


def _longest_text(record: dict[str, Any]) -> int:
    return max((len(one) for one in record.values() if isinstance(one, str)), default=0)


def _name_envelope(said: Fidelity | None, archived: Content) -> Fidelity:
    """What is said of the fidelity, with the name of the part of the envelope that was archived."""
    before = said or Fidelity("partial")
    return replace(before, archive_hashes={**(before.archive_hashes or {}), ENVELOPE: archived.short_hash})


def _next_after(data: Any, cut: Cut) -> int | None:
    """From where on a place that is cut is to be asked for; None where its beginning is not what is shown of it."""
    if cut.kind == "members":
        whole = value_at(data, pointer_of(cut.steps))
        is_beginning = is_map(whole) and tuple(islice(whole, cut.shown, None)) == cut.missing
        return cut.shown or None if is_beginning else None
    return cut.shown or None


def _hidden(part: _Part) -> list[str]:
    """The members of rows that none of those that are shown has."""
    shown = {name for row in part.data if isinstance(row, dict) for name in row}
    rows = part.view.rows[: part.shown.rows] if part.shown.lower else []
    return list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row if name not in shown))


def _describe_level(rows: Sequence[Any], show: Show) -> str:
    """What some rows lack at a level, in words."""
    return describe_lacks((row, show(row)) for row in rows)


def _cuts_of(pairs: Sequence[tuple[Any, Any]], start: int) -> list[Cut]:
    """The places where rows are cut, the first of which is at `start`; none where one of them lacks a member."""
    if any(isinstance(row, dict) and not row.keys() <= shown.keys() for row, shown in pairs):
        return []
    numbered = enumerate(pairs, start)
    return [cut._replace(steps=(at, *cut.steps)) for at, pair in numbered for cut in cuts_between(*pair)]


def _describe_cuts(cuts: Sequence[Cut]) -> str:
    """Which places are shown in part; beyond a few, texts, which say so themselves, are only counted."""
    silent = sum(cut.is_silent for cut in cuts)
    told = cuts[: min(max(silent, MOST_CUTS), MOST_SILENT)]
    others = f" and {len(cuts) - len(told)} more" if len(told) < len(cuts) else ""
    return f"{', '.join(cut.describe() for cut in told)}{others}"


def without_archive(reply: Reply[Any], leftovers: Sequence[Leftover]) -> Reply[Any]:
    """A fitted reply for when its leftovers could not be stored: no hash, no call, and it says so."""
    if reply.fidelity is None or not leftovers:
        return reply
    lost = {one.content.short_hash for one in leftovers}
    hashes = {name: digest for name, digest in (reply.fidelity.archive_hashes or {}).items() if digest not in lost}
    actions = tuple(one for one in reply.actions if (one.args or {}).get("hash") not in lost)
    notices = reply.notices
    if leftovers[0].name == DATA:
        *others, own = notices
        notices = (*others, replace(own, message=f"{drop_call(own.message)}; {NOT_KEPT}"))
    return reply.replace(
        fidelity=replace(reply.fidelity, archive_hashes=hashes or None), notices=notices, actions=actions
    )


# Lighter envelopes. Where not all fits, what an answer says about itself goes at once: a long echo of the query, and
# citations, which come back as far as there is room when the rows have theirs. Then, step by step: what the server
# added and follow-up calls, the context of notices, long details of a problem and then all of them, long words, and at
# last the echo. What goes in these steps is returned as well, so that it can be archived.


LONG_WORDS: Final = 160
MOST_NOTICES: Final = 3
LASTING: Final = frozenset({"UNTRUSTED_CONTENT", "CONTENT_REDACTED"})
"""What has been done to the data is said as long as there are data."""
LONG_ECHO: Final = 300

Step = Callable[[Reply[Any]], Reply[Any]]


def lean(reply: Reply[Any], echoes: bool) -> Reply[Any]:
    """The reply without what it says about itself, which nobody has asked for; a contract that `echoes` goes on to."""
    cost, echo = reply.telemetry, reply.query_echo
    if cost is not None and cost.extra is not None:
        cost = replace(cost, extra=None)
    if echo is not None:
        echo = _short_echo(echo) if echoes else None
    if cost is reply.telemetry and echo == reply.query_echo and not reply.citations:
        return reply
    return reply.replace(query_echo=echo, telemetry=cost, citations=())


def lighter(reply: Reply[Any]) -> Iterator[Reply[Any]]:
    """Ever lighter versions of a reply, its data untouched; a step that changes nothing makes none."""
    for step in _STEPS:
        light = step(reply)
        if light != reply:
            reply = light
            yield reply


def removed_between(heavy: Reply[Any], light: Reply[Any]) -> dict[str, Any]:
    """The parts of the heavier reply that are gone or changed in the lighter one, as JSON."""
    names = (f.name for f in fields(heavy) if f.name not in ("data", "telemetry"))
    return {name: _plain(getattr(heavy, name)) for name in names if getattr(heavy, name) != getattr(light, name)}


def without_echo(reply: Reply[Any]) -> Reply[Any]:
    """The reply without the question that it answers."""
    return reply.replace(query_echo=None)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: _plain(held) for name, held in pairs if held is not None and held != ()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _short_echo(echo: QueryEcho) -> QueryEcho | None:
    """The echo, if need be with long words of the question clipped, or with the filters alone."""
    question = echo.normalized_input or {}
    asked = {name: clip(one, LONG_WORDS) if isinstance(one, str) else one for name, one in question.items()}
    tries = (echo, replace(echo, normalized_input=asked or None), QueryEcho(applied_filters=echo.applied_filters))
    short = next((one for one in tries if len(dumps(_plain(one))) <= LONG_ECHO), None)
    return None if short == QueryEcho() else short


def _without_additions(reply: Reply[Any]) -> Reply[Any]:
    return reply.replace(extra=None, retry_with=None, actions=())


def _plain_notices(reply: Reply[Any]) -> Reply[Any]:
    shown = (replace(notice, context=None, message=clip(notice.message, LONG_WORDS)) for notice in reply.notices)
    return reply.replace(notices=tuple(replace(notice, suggestion=None) for notice in shown))


def _short_details(reply: Reply[Any]) -> Reply[Any]:
    """The details of a problem that are short, and the names of the others."""
    problem = reply.problem
    long = [name for name, value in ((problem and problem.details) or {}).items() if len(dumps(value)) > LONG_WORDS]
    if problem is None or problem.details is None or not long:
        return reply
    short = {name: value for name, value in problem.details.items() if name not in long}
    return reply.replace(problem=replace(problem, details={**short, "left_out": long}))


def _without_details(reply: Reply[Any]) -> Reply[Any]:
    problem = reply.problem and replace(reply.problem, details=None, documentation=None)
    page = reply.page and replace(reply.page, extra=None)
    fidelity = reply.fidelity and replace(reply.fidelity, dropped_ids=(), extra=None)
    return reply.replace(problem=problem, page=page, fidelity=fidelity)


def _few_words(reply: Reply[Any]) -> Reply[Any]:
    problem = reply.problem
    if problem is not None:
        problem = replace(
            problem,
            message=clip_middle(problem.message, LONG_WORDS),
            user_message=None,
            remediation=problem.remediation and clip(problem.remediation, LONG_WORDS),
        )
    return reply.replace(
        problem=problem,
        notices=_notices(reply, MOST_NOTICES),
        message=reply.message and clip(reply.message, LONG_WORDS),
        rate_limit=None,
        client_tag=None,
    )


def _bare(reply: Reply[Any]) -> Reply[Any]:
    keeps_one = reply.status in ("partial", "blocked")
    return reply.replace(notices=_notices(reply, 1 if keeps_one else 0), message=None)


def _notices(reply: Reply[Any], most: int) -> tuple[Notice, ...]:
    """The first notices, and those without which the data would be misread."""
    return tuple(one for place, one in enumerate(reply.notices) if place < most or one.code in LASTING)


_STEPS: Final[tuple[Step, ...]] = (
    _without_additions,
    _plain_notices,
    _short_details,
    _without_details,
    _few_words,
    _bare,
    without_echo,
)
