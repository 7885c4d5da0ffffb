"""Fitting: a reply made small enough for a budget, that says what it left out and where to get it.

`fit` is pure: it returns the fitted reply and the leftovers, whose hashes follow from their content; whoever calls it
puts them into the archive before the reply is sent. What gives way depends on the data and on what was asked for:

    rows, asked for as they are    whole, the first so many of them; what is asked back from the archive is
    rows, ranked                   the best whole, then the next in less detail
    rows, listed                   the facts of as many as fit; where all of them do, the first become whole
    one record                     every member; long texts and lists are cut, and say so
    a text                         its beginning, and how much is missing

One allocator gives the room to rows whose prices are known (see `ladder`), the whole is measured, and the room is mended
by what the measure says. What must fit is the size with whatever chance decides at its longest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from aerogram.content import Content
from aerogram.errors import ValidationFailed
from aerogram.jsontext import dumps
from aerogram.reply import Ahead, Fidelity, FidelityLevel, Notice, Page, Reply, Resume
from aerogram.shape.advice import Levers
from aerogram.shape.citing import cited
from aerogram.shape.facts import choose_facts
from aerogram.shape.ladder import Ladder, Show
from aerogram.shape.lighten import lighter, removed_between
from aerogram.shape.loss import is_map
from aerogram.shape.modes import RecordType
from aerogram.shape.mold import Mold
from aerogram.shape.outline import outline_rows, outline_text
from aerogram.shape.pages import rows_of
from aerogram.shape.refusal import SPARE, Refusal
from aerogram.shape.shrink import shrink, shrink_text
from aerogram.shape.text import whole_characters
from aerogram.tokens import Counter

__all__ = ["DATA", "Fitted", "Leftover", "Measure", "counted", "fit", "without_archive"]

DATA: Final = "data"
ENVELOPE: Final = "envelope"
LEFT_OUT: Final = "left_out"
SHORT_HASH: Final = len("sha256:") + 12
NEARLY_FULL: Final = 0.9
ROUNDS: Final = 6
SELF_COUNTS: Final = 4
TIGHT: Final = 3
"""Where the envelope of a page takes less than one part in so many of the budget, any row has room beside it."""
OUTLINE_SHARE: Final = 10
OUTLINE_MOST: Final = 120


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


class Leftover(NamedTuple):
    """Something that fell off: its name among the reply's archive hashes, and the content."""

    name: str
    content: Content


class Fitted(NamedTuple):
    """The reply that fits, and what must be archived before it is sent; `before` is the size of what did not fit."""

    reply: Reply[Any]
    leftovers: tuple[Leftover, ...] = ()
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
    resume: Resume | None = None,
    whole_rows: bool = False,
    ranked: bool = False,
    facts: Sequence[str] = (),
    among: Sequence[Any] | None = None,
    levers: Levers | None = None,
    ahead: Ahead | None = None,
) -> Fitted:
    """The richest version of the reply whose measured size is at most the budget.

    `kind` declares the modes of the records, `schema` what the data must still satisfy. `retrieve` names the tool that
    gives archived content back. `resume(count)` gives the cursor that continues after so many rows (or characters):
    with it, what does not fit is the next page instead of a loss. With `whole_rows` no row is shown in less detail;
    `ranked` rows come best first. `facts` are the columns of records in a list; otherwise they are chosen, from
    `among`, which are all rows where the data is only a page of them. `levers` are what its caller can change about
    the call. `ahead` gives every row of a walk that begins with this reply.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ValidationFailed(f"a budget must be a whole number of at least 1, not {budget!r}")
    fitting = _Fitting(
        reply,
        budget,
        measure,
        kind,
        Mold.of(schema),
        archive,
        retrieve,
        resume,
        whole_rows,
        ranked,
        tuple(facts),
        among,
    )
    fitted = fitting.whole(levers) or fitting.reduced()
    hardest = None if ahead is None else fitting.hardest_page(fitted, ahead)
    return fitted if fitted is not None and (hardest is None or hardest.can_end()) else fitting.refused(levers, hardest)


class _Shown(NamedTuple):
    """What is shown of some rows: the first `whole` as they are, then so many in less detail."""

    whole: int
    lower: int

    @property
    def count(self) -> int:
        return self.whole + self.lower


@dataclass
class _Fitting:
    """One reply on its way into one budget."""

    reply: Reply[Any]
    budget: int
    measure: Measure
    kind: RecordType | None
    mold: Mold
    archive: bool
    retrieve: str | None
    resume: Resume | None
    whole_rows: bool
    ranked: bool
    facts: tuple[str, ...]
    among: Sequence[Any] | None

    # whole

    def whole(self, levers: Levers | None) -> Fitted | None:
        """The reply as it is, if it fits; with a warning if it nearly did not."""
        if self._is_hopeless(self.reply.data):
            return None
        reply, size = counted(self.reply, self.measure)
        if size <= NEARLY_FULL * self.budget - 40:
            return Fitted(reply)
        if max(size, self.measure.dearest(reply)) > self.budget:
            self._exact = size
            return None
        return Fitted(self._warned(levers) or reply)

    _exact: int | None = field(default=None, init=False)
    _envelope: Content | None = field(default=None, init=False)
    _light: Reply[Any] = field(default_factory=Reply, init=False)

    def _is_hopeless(self, data: Any) -> bool:
        """Whether the data alone is certain to be too large, without writing all of it."""
        most = self.budget * 8  # no tokenizer makes one token of so many characters of data
        if isinstance(data, str):
            return len(data) > most
        rows = rows_of(data)
        return rows is not None and len(rows.items) * 2 > most

    def _warned(self, levers: Levers | None) -> Reply[Any] | None:
        if self.whole_rows or self.reply.problem is not None:
            return None
        warning = Notice.of("TOKEN_LIMIT_WARNING")
        if levers is not None:
            rows = rows_of(self.reply.data)
            limit = self.budget if self.measure.counter.unit == "tokens" else None
            warning = replace(warning, suggestion=levers.before_the_limit(len(rows.items) if rows else 0, limit))
        for one in (warning, replace(warning, suggestion=None)):
            warned, size = counted(self.reply.replace(notices=(*self.reply.notices, one)), self.measure)
            if max(size, self.measure.dearest(warned)) <= self.budget:
                return warned
        return None

    # reduced

    def reduced(self) -> Fitted | None:
        """The richest part that fits, or None."""
        self._lighten()
        data = self.reply.data
        if isinstance(data, str):
            return self._part_of_text(data)
        rows = rows_of(data)
        if rows is not None and rows.items and (rows.name is None or self._are_rows_the_bulk(rows.items)):
            return self._rows(rows.items, lambda shown: rows.replaced(data, shown))
        if isinstance(data, dict) and data:
            return self._record(data)
        return None

    def _lighten(self) -> None:
        """Have an envelope that takes up half of the budget give up what a caller can do without; it is archived."""
        for light in (self.reply, *lighter(self.reply)):
            self._light = light
            if self.measure.dearest(light.replace(data=None)) * 2 <= self.budget:
                break
        removed = {} if self._light is self.reply else removed_between(self.reply, self._light)
        self._envelope = Content.of_json(removed) if removed and self.archive else None

    def _are_rows_the_bulk(self, rows: list[Any]) -> bool:
        if self.resume is not None:
            return True
        some = dumps(rows[:200])
        rest = {name: value for name, value in self.reply.data.items() if value is not rows}
        return len(some) * max(len(rows) / 200, 1) > len(dumps(rest))

    # rows

    def _rows(self, rows: list[Any], build: Callable[[list[Any]], Any]) -> Fitted | None:
        price, show = self.measure.price, None if self.whole_rows else self._lower_level(rows)
        whole = Ladder(rows, None, price)
        lower = Ladder(rows, show, price) if show is not None else None

        def allocate(room: float) -> _Shown:
            if lower is None:
                return _Shown(whole.within(room), 0)
            if self.ranked:
                best = whole.within(room)
                return _Shown(best, lower.within(room - whole.cost(0, best), best))
            if not lower.has_all(room):
                return _Shown(0, lower.within(room))
            best = whole.within(room)
            while best and whole.cost(0, best) + lower.cost(best, len(rows)) > room:
                best -= 1
            return _Shown(best, len(rows) - best)

        def dress(shown: _Shown, outline: Mapping[str, Any] = {}) -> Reply[Any]:  # noqa: B006 - never changed
            kept = whole.shown[: shown.whole] + (lower.shown[shown.whole : shown.count] if lower is not None else [])
            return self._dress_rows(build(kept), rows, shown, outline)

        room = self._outline_room if lower is not None else 0
        found = self._search(allocate, dress, room)
        if found is not None and room and found.count == len(rows):
            return self._finish(dress(found), rows, found)
        if room and (every := self._search(allocate, dress, 0)) is not None and every.count == len(rows):
            return self._finish(dress(every), rows, every)  # what is all there needs no outline
        if found is None or not found.count:
            return self._first_row(rows, build) if self.mold.fewest_items <= 1 else None
        if found.count < self.mold.fewest_items:
            return None
        outlined = self._outlined(rows[found.count :], lambda told: dress(found, told))
        return self._finish(outlined, rows, found)

    def _lower_level(self, rows: list[Any]) -> Show | None:
        """How a row is shown in less detail: in the preview of its type, or by its facts; None where it never is."""
        kind = self.kind
        record = next((row for row in rows if isinstance(row, dict)), None)
        if record is None or self.mold.item.required:
            return None
        if kind is not None and kind.describes(record):
            mode: Any = "preview" if self.ranked else "metadata"
            return lambda row: kind.show(row, mode) if isinstance(row, dict) else row
        found = choose_facts(self.among or rows, self.facts)
        return None if found is None else found.show

    @property
    def _outline_room(self) -> int:
        return min(self.budget // OUTLINE_SHARE, OUTLINE_MOST)

    def _search(
        self, allocate: Callable[[float], _Shown], dress: Callable[[_Shown], Reply[Any]], reserve: int
    ) -> _Shown | None:
        """The most that fits beside what is kept free."""
        target = self.budget - reserve
        frame = self.measure.dearest(dress(_Shown(0, 0)))
        room, best = float(target - frame), None
        tried: dict[_Shown, int] = {}
        for _ in range(2 * ROUNDS):
            shown = allocate(room) if room > 0 else _Shown(0, 0)
            if not shown.count or (shown in tried and best is not None):
                break
            if shown in tried:  # prices are a little off just where another level begins
                room -= max(target / 50, 4)
                continue
            size = tried[shown] = self.measure.dearest(dress(shown))
            if size <= target:
                best = max(best or shown, shown)
            room += target - size if size > target else max(target - size, 1)
        return best

    def _first_row(self, rows: list[Any], build: Callable[[list[Any]], Any]) -> Fitted | None:
        """The first row with its longest texts cut, where not even one fits as it is."""
        room = float(self.budget - self.measure.dearest(self._dress_rows(build([]), rows, _Shown(0, 1), {})))
        for _ in range(ROUNDS):
            if room < 1:
                return None
            row = shrink(rows[0], room, self.measure.price, self.mold.item)
            dressed = self._dress_rows(build([row]), rows, _Shown(0, 1), {})
            size = self.measure.dearest(dressed)
            if size <= self.budget:
                return self._finish(dressed, rows, _Shown(0, 1))
            room -= size - self.budget + 1
        return None

    def _dress_rows(self, data: Any, rows: list[Any], shown: _Shown, outline: Mapping[str, Any]) -> Reply[Any]:
        """The reply with these rows, and what it says about the others."""
        changes: dict[str, Any] = {"data": data}
        missing = len(rows) - shown.count
        if missing and self.resume is not None:
            changes["page"] = replace(self._light.page or Page(), cursor=self.resume(shown.count), has_more=True)
        goes_on = self.resume is not None and missing > 0
        if not shown.lower and (goes_on or not missing):  # the next page brings what is not on this one
            return self._light.replace(**changes)
        total = (self._light.page.total if self._light.page is not None else None) or len(rows)
        said = [f"{shown.count} of {total} shown"] if missing else []
        if shown.lower and not (missing and shown.whole == 0):
            said.append(f"{shown.lower} of them in less detail" if missing else f"{shown.lower} in less detail")
        keeps = self.archive and (shown.lower > 0 or not goes_on)
        call = self._call(shown.count if missing and not goes_on and not shown.lower else None) if keeps else None
        words = ", ".join(said) + (f"; {'whole' if goes_on or not missing else 'all'}: {call}" if call else "")
        level: FidelityLevel = "summary" if shown.lower * 2 > shown.count else "partial"
        return self._say(changes, level, words, outline, keeps=keeps)

    def _call(self, offset: int | None = None) -> str | None:
        """The call that brings back what is missing; something stands for its hash until that is known."""
        if self.retrieve is None:
            return None
        if self.retrieve.startswith("/"):
            return f"GET {self.retrieve}"
        return f"{self.retrieve}(hash='{_SHORT}'{'' if offset is None else f', offset={offset}'})"

    # one record, one text

    def _record(self, data: dict[str, Any]) -> Fitted | None:
        def dress(shown: Any) -> Reply[Any]:
            words = "Long members are cut" + (f"; whole: {call}" if self.archive and (call := self._call()) else "")
            return self._say({"data": shown}, "partial", words, {}, keeps=self.archive)

        inside = is_map(data)  # of a record every member stays
        return self._cut(data, dress, lambda room: shrink(data, room, self.measure.price, self.mold, inside=inside))

    def _part_of_text(self, text: str) -> Fitted | None:
        if self.resume is not None:
            return self._page_of_text(text)

        def dress(shown: str) -> Reply[Any]:
            words = "The text is cut" + (f"; whole: {call}" if self.archive and (call := self._call()) else "")
            return self._say({"data": shown}, "partial", words, {}, keeps=self.archive)

        found = self._cut(text, dress, lambda room: shrink_text(text, room, self.measure.price))
        if found is None or not isinstance(found.reply.data, str):
            return found
        headings = outline_text(text[len(found.reply.data) :], self._outline_room, self.measure.counter.count)
        if not headings:
            return found
        outlined = self._say_outline(found.reply, {"headings": headings})
        return found._replace(reply=outlined) if self.measure.dearest(outlined) <= self.budget else found

    def _cut(self, data: Any, dress: Callable[[Any], Reply[Any]], cut: Callable[[float], Any]) -> Fitted | None:
        """What is shown of a value that is cut, with the richest cut that fits."""
        frame = self.measure.dearest(dress(type(data)()))
        room, best = float(self.budget - frame), None
        for _ in range(ROUNDS):
            if room < 1:
                break
            shown = cut(room)
            size = self.measure.dearest(dress(shown))
            if size <= self.budget and (best is None or len(dumps(shown)) > len(dumps(best))):
                best = shown
            if 0 <= self.budget - size <= 0.03 * self.budget:
                break
            room += self.budget - size
        return None if best is None else self._finish(dress(best), data, None)

    def _page_of_text(self, text: str) -> Fitted | None:
        """As much of a text as fits, without a mark; it goes on at the cursor."""
        resume = self.resume
        assert resume is not None

        def dress(count: int) -> Reply[Any]:
            page = replace(self._light.page or Page(), cursor=resume(count), has_more=True)
            return self._light.replace(data=text[:count], page=page)

        low, high = 0, min(len(text), self.budget * 8)
        guess = min(high, max(int((self.budget - self.measure.dearest(dress(0))) * 3.5), 1))
        for _ in range(2 * ROUNDS):
            if self.measure.dearest(dress(guess)) <= self.budget:
                low = guess
            else:
                high = guess - 1
            if high - low <= max(low // 50, 8):
                break
            guess = (low + high + 1) // 2
        count = whole_characters(text, low) or low
        return None if not count else Fitted(counted(dress(count), self.measure)[0], (), self.before)

    # what is said about it

    def _say(
        self, changes: dict[str, Any], level: FidelityLevel, words: str, outline: Mapping[str, Any], *, keeps: bool
    ) -> Reply[Any]:
        before = self._light.fidelity
        hashes = dict(before.archive_hashes or {}) if before is not None else {}
        if keeps:
            hashes[DATA] = _STAND_IN
        if self._envelope is not None:
            hashes[ENVELOPE] = self._envelope.hash[:SHORT_HASH]
        if not keeps and not self.archive:
            words = f"{words}; the rest was not kept"
        changes["fidelity"] = Fidelity(level, archive_hashes=hashes or None)
        changes["notices"] = (*self._light.notices, Notice(words))
        if self._light.status == "ok":
            changes["status"] = "partial"
        reply = self._light.replace(**changes)
        return self._say_outline(reply, outline) if outline else reply

    @staticmethod
    def _say_outline(reply: Reply[Any], outline: Mapping[str, Any]) -> Reply[Any]:
        return reply.replace(extra={**(reply.extra or {}), LEFT_OUT: dict(outline)})

    def _outlined(self, missing: list[Any], dress: Callable[[Mapping[str, Any]], Reply[Any]]) -> Reply[Any]:
        """The reply with an outline of the missing rows, as far as there is room for it."""
        plain = dress({})
        room = min(self.budget - self.measure.dearest(plain) - 6, self._outline_room)
        for _ in range(3):
            told = outline_rows(missing, room, self.measure.counter.count) if missing and room > 10 else {}
            if not told:
                return plain
            outlined = dress(told)
            over = self.measure.dearest(outlined) - self.budget
            if over <= 0:
                return outlined
            room -= over + 2
        return plain

    def _finish(self, dressed: Reply[Any], data: Any, shown: _Shown | None) -> Fitted:
        """The reply with its hash in place of what stood for it, and its own size."""
        fidelity = dressed.fidelity
        hashes = dict(fidelity.archive_hashes or {}) if fidelity is not None else {}
        leftovers: tuple[Leftover, ...] = ()
        if fidelity is not None and hashes.get(DATA) == _STAND_IN:
            content = self._answered_for(shown)
            hashes[DATA] = content.hash[:SHORT_HASH]
            leftovers = (Leftover(DATA, content),)
            named = dressed.notices[-1]
            call = replace(named, message=named.message.replace(_SHORT, content.hash[len("sha256:") : SHORT_HASH]))
            dressed = dressed.replace(
                fidelity=replace(fidelity, archive_hashes=hashes), notices=(*dressed.notices[:-1], call)
            )
        if self._envelope is not None:
            leftovers += (Leftover(ENVELOPE, self._envelope),)
        reply = cited(dressed, dressed.data) if dressed.citations else dressed
        return Fitted(counted(reply, self.measure)[0], leftovers, self.before)

    def _answered_for(self, shown: _Shown | None) -> Content:
        """What must be had back from a reply: everything but the rows that its cursor goes on with."""
        data, rows = self.reply.data, rows_of(self.reply.data)
        if shown is None or self.resume is None or rows is None or shown.count == len(rows.items):
            return Content.of_json(data)
        return Content.of_json(rows.replaced(data, rows.items[: shown.count]))

    @cached_property
    def before(self) -> int:
        """The size of the whole, or about it."""
        if self._exact is not None:
            return self._exact
        text = dumps(self.reply.data)
        few = text[: self.budget * 16].decode("utf-8", "ignore")
        return round(self.measure.price(few) * len(text) / max(len(few.encode()), 1))

    # refusals

    def hardest_page(self, fitted: Fitted | None, ahead: Ahead) -> _Fitting | None:
        """The hardest page of a walk that begins here; None where there is room for any, or no walk."""
        rows = rows_of(self.reply.data)
        every = ahead() if fitted is None or self._is_tight(fitted.reply) else []
        if self.resume is None or rows is None or not every:
            return None
        row = max(every, key=lambda one: len(dumps(one)))
        page = replace(self.reply.page or Page(), cursor=self.resume(1), has_more=True)
        return replace(self, reply=self.reply.replace(data=rows.replaced(self.reply.data, [row]), page=page))

    def _is_tight(self, reply: Reply[Any]) -> bool:
        """Whether the next page may not have room for a row."""
        if reply.page is None or reply.page.cursor is None:
            return False
        return self.measure.dearest(self.reply.replace(data=None, page=reply.page)) * TIGHT > self.budget

    def can_end(self) -> bool:
        """Whether the walk fits whose hardest page this is."""
        return self._serves(self.reply.data, self.budget - SPARE)

    def _serves(self, data: Any, budget: int) -> bool:
        """Whether a reply with this data would fit."""
        if budget < 1:
            return False
        attempt = replace(self, reply=self.reply.replace(data=data), budget=budget)
        return bool(attempt.whole(None) or attempt.reduced())

    def refused(self, levers: Levers | None, hardest: _Fitting | None) -> Fitted:
        """The reply that says that nothing fits, and what budget would do; a failure stays what it is."""
        if self.reply.problem is not None:
            *_, lightest = lighter(self.reply)
            return Fitted(lightest.replace(data=None))
        judged = hardest or self
        refusal = Refusal(
            judged.reply,
            self.budget,
            self.before,
            self.measure.counter,
            judged._serves,
            levers,
            self.kind,
            is_cut=self.resume is not None,
            is_ahead=hardest is not None,
        )
        return Fitted(refusal.said())


_SHORT: Final = "4d7b3c9e5f8a"
_STAND_IN: Final = f"sha256:{_SHORT}"
"""What stands for a hash until it is known, in as many tokens as hardly any other."""


def counted(reply: Reply[Any], measure: Callable[[Reply[Any]], int]) -> tuple[Reply[Any], int]:
    """A reply and its size in tokens, which it says itself where its contract asks for it and nobody has said it."""
    size, telemetry = measure(reply), reply.telemetry
    if telemetry is None or telemetry.tokens_estimated != 0:
        return reply, size
    for _ in range(SELF_COUNTS):
        reply = reply.replace(telemetry=replace(telemetry, tokens_estimated=size, tokens_used=size))
        said, size = size, measure(reply)
        if said == size:
            break
    return reply, size


def without_archive(reply: Reply[Any], leftovers: Sequence[Leftover]) -> Reply[Any]:
    """A fitted reply for when its leftovers could not be stored: no hash, no call, and it says so."""
    if reply.fidelity is None or not leftovers:
        return reply
    lost = {one.content.hash[:SHORT_HASH] for one in leftovers}
    hashes = {name: digest for name, digest in (reply.fidelity.archive_hashes or {}).items() if digest not in lost}
    *others, own = reply.notices
    honest = replace(own, message=f"{own.message.partition(';')[0]}; the rest was not kept")
    return reply.replace(fidelity=replace(reply.fidelity, archive_hashes=hashes or None), notices=(*others, honest))
