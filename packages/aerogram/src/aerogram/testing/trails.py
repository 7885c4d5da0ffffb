"""Trails: where the replies of a tool or a route lead to, followed to their ends with Aerogram's own client.

The next page and the one after it, what was left out, a cursor that is not what it was, a budget that is too small.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from aerogram.client import AsyncClient, Retries
from aerogram.client.reading import items_of
from aerogram.codes import ABOUT_SIZE
from aerogram.content.jsontext import pointer_of
from aerogram.cursor import Cursors, position_in
from aerogram.errors import AerogramError, QuotaExceeded, RateLimited
from aerogram.reply import Reply
from aerogram.reply.identity import Names, identify, position_name
from aerogram.shape.pages import LARGEST_SIZE
from aerogram.testing.report import Report

__all__ = ["FollowUpChecks", "Target"]

MOST_PAGES: Final = 60
"""How far a list is walked; what comes after it is told, and not judged."""
PAGE_SIZES: Final = range(1, LARGEST_SIZE + 1)
"""The page sizes that are asked for where a server says nothing else."""
PARTS: Final = 3
"""Into how many pages a list is cut, about; enough for a first, a middle and a last one."""
LIMITED: Final = "rate_limit"
"""The kind of problem that says nothing about a request, only that there were many; no promise is judged by it."""
HUGE: Final = 1_000_000_000
_TOO_SMALL: Final = "TOKEN_LIMIT_EXCEEDED"


class Target(Protocol):
    """A tool or a route that can be asked; every answer is checked before it is given back."""

    name: str
    arguments: Mapping[str, Any]
    controls: frozenset[str]

    def page_size_near(self, wanted: int) -> int | None:
        """The page size nearest to the one that is wanted that may be asked for."""

    async def ask(self, probe: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """The reply to a call; what could not be read is a failed one."""


@dataclass
class FollowUpChecks:
    """The trails of one target. `send` carries calls to whatever a reply names, `cursors` are the server's own."""

    target: Target
    report: Report
    send: Callable[[str, Mapping[str, Any]], Awaitable[Reply[Any]]]
    retrieve: str | None = None
    cursors: Cursors | None = None
    foreign: str | None = None
    _seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._client = AsyncClient(
            self._carry, retries=Retries(most=0), on_notice=lambda *_: None, retrieve=self.retrieve
        )

    @property
    def cursor(self) -> str | None:
        """A cursor that the target has issued."""
        return self._seen[0] if self._seen else None

    async def follow(self, first: Reply[Any]) -> None:
        """Everything that a successful reply leads to."""
        known = len(self._seen)
        await self.check_left_out("example", first)
        await self.check_pages(first)
        if len(self._seen) > known:  # else there are no pages to go through with these arguments
            await self.check_wrong_cursors()
        await self.check_budgets()

    async def _carry(self, target: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        if target == self.target.name:
            return await self.target.ask("next page" if "cursor" in arguments else "first page", arguments)
        return await self.send(target, arguments)

    def _fail(self, probe: str, promise: str, evidence: str) -> None:
        self.report.fail(self.target.name, probe, promise, evidence)

    # pages

    async def check_pages(self, first: Reply[Any]) -> None:
        """All pages: they end, and have each item once."""
        size = self._page_size(first)
        if size is None and (first.page is None or not first.page.has_more):
            self._check_page("example", first, None)
            return
        arguments = {**self.target.arguments, **({} if size is None else {"page_size": size})}
        found: list[Any] = []
        is_whole, total, count, goes_on = True, None, 0, False
        try:
            async for page in self._client.pages(self.target.name, arguments):
                count += 1
                whole = await self._whole(page)
                is_whole = is_whole and whole is not None
                goes_on = bool(page.page and page.page.has_more)
                found += items_of(whole or page)
                total = page.page.total if page.page and page.page.total is not None else total
                self._check_page(f"page {count}", page, size)
                if goes_on and count == MOST_PAGES:
                    break
        except (RateLimited, QuotaExceeded):
            return
        except AerogramError as error:
            self._fail(f"page {count + 1}", "pages", f"{error}")
            return
        reference = await self._reference(first)
        if count == MOST_PAGES and goes_on:
            self._check_beginning(found, total, reference)
        elif is_whole:
            self._check_items(found, total, reference)

    def _page_size(self, first: Reply[Any]) -> int | None:
        count = len(items_of(first))
        is_list = isinstance(first.data, list) or first.page is not None
        if "page_size" not in self.target.controls or not is_list or count <= 1:
            return None
        return self.target.page_size_near(math.ceil(count / PARTS))

    def _check_page(self, probe: str, reply: Reply[Any], size: int | None) -> None:
        page = reply.page
        if page is None:
            if size is not None:
                self._fail(probe, "pages", f"page_size={size} is asked for, and the reply says nothing of a page")
            return
        if page.cursor:
            self._seen.append(page.cursor)
        if size is not None and len(items_of(reply)) > size:
            self._fail(probe, "pages", f"page_size={size} is asked for, and the page has {len(items_of(reply))} items")
        held, is_last = len(items_of(reply)), not page.has_more and not page.cursor
        if probe == "example" and is_last and _is_full(reply) and held < (page.total or 0):
            self._fail(probe, "pages", f"{held} items of {page.total} are shown, and has_more is {page.has_more}")

    def _check_beginning(self, found: list[Any], total: int | None, reference: list[Any] | None) -> None:
        """What there is of pages that were not walked to their end: it is the beginning, and does not come again."""
        names, repeated = _names_of(found)
        expected = None if reference is None else [identify(one) for one in reference[: len(found)]]
        if expected is not None and expected != names:
            self._fail("first pages", "pages", f"the first {len(found)} items are not those that come all at once")
        elif repeated and expected is None:
            self._fail("first pages", "pages", f"these came more than once: {', '.join(repeated[:10])}")
        elif total is not None and len(found) >= total:
            self._fail("first pages", "pages", f"after {len(found)} items of {total} there is still more")
        else:
            self.report.leave_out(
                self.target.name, f"the pages after the first {MOST_PAGES}, which have {len(found)} items"
            )

    def _check_items(self, found: list[Any], total: int | None, reference: list[Any] | None) -> None:
        names, repeated = _names_of(found)
        if repeated and not (reference and len(reference) == len(found)):
            self._fail("all pages", "pages", f"these came more than once: {', '.join(repeated[:10])}")
        if total is not None and total != len(found):
            self._fail("all pages", "pages", f"the pages have {len(found)} items, and the total is {total}")
        elif reference is not None and [identify(one) for one in reference] != names and not repeated:
            self._fail("all pages", "pages", f"the pages have {len(found)} items, all at once it is {len(reference)}")

    async def _reference(self, first: Reply[Any]) -> list[Any] | None:
        """What comes when it is all asked for at once, if it does come at once."""
        if first.page is not None and first.page.has_more:
            return None
        whole = await self._whole(first)
        return None if whole is None else items_of(whole)

    async def _whole(self, reply: Reply[Any]) -> Reply[Any] | None:
        """The reply with what was left out; None when that was not kept."""
        if _is_full(reply):
            return reply
        try:
            return await self._client.whole(reply)
        except AerogramError:
            return None

    # what was left out

    async def check_left_out(self, probe: str, reply: Reply[Any]) -> None:
        """Whatever a reply says that it left out is there, or the reply says that it is lost."""
        fidelity = reply.fidelity
        if fidelity is None or _is_full(reply):
            return
        if not fidelity.archive_hashes:
            if fidelity.dropped_ids and not any(one.code in ABOUT_SIZE for one in reply.notices):
                named = ", ".join(fidelity.dropped_ids[:5])
                self._fail(
                    probe, "archive", f"{named} … were dropped; no hash leads to them, no warning says they are lost"
                )
            return
        try:
            found = await self._client.recover(reply)
        except (RateLimited, QuotaExceeded):
            return
        except AerogramError as error:
            self._fail(probe, "archive", f"{dict(fidelity.archive_hashes)} cannot be fetched: {error}")
            return
        missing = sorted(set(fidelity.dropped_ids).difference(*map(_names, found.values())))
        if missing:
            self._fail(probe, "archive", f"the archive does not have {', '.join(missing[:10])}")

    # cursors

    async def check_wrong_cursors(self) -> None:
        """A cursor that is not one, or not for this query, or too old, is refused."""
        if self.cursor is None:
            return
        for what, cursor in self._wrong_cursors(self.cursor):
            reply = await self.target.ask(f"{what} cursor", {**self.target.arguments, "cursor": cursor})
            if reply.problem is None:
                self._fail(f"{what} cursor", "cursor", f"it was taken: {len(items_of(reply))} items came")
            elif reply.problem.kind not in ("validation", "not_found", "conflict", LIMITED):
                self._fail(f"{what} cursor", "cursor", f"the refusal is {reply.problem.code}, not about the cursor")

    def _wrong_cursors(self, good: str) -> Iterator[tuple[str, str]]:
        yield "garbled", "this-is-no-cursor"
        position = position_in(good)
        if position is None:  # not one of ours: whoever made it knows what else is wrong
            return
        yield "foreign", Cursors().seal(position)
        if self.foreign is not None:
            yield "another query's", self.foreign
        if self.cursors is not None:
            yield "expired", self.cursors.seal(replace(position, expires_at=1.0))

    # budgets

    async def check_budgets(self) -> None:
        """Budgets that a caller sets: far too large, too small, and absurd."""
        if "max_tokens" not in self.target.controls:
            return
        whole = await self.target.ask("huge budget", {**self.target.arguments, "max_tokens": HUGE})
        half = max(len(json.dumps(whole.data, default=str)) // 6, 1)
        for probe, size in (("half the budget", half), ("budget of 1", 1)):
            reply = await self.target.ask(probe, {**self.target.arguments, "max_tokens": size})
            await self.check_left_out(probe, reply)


def is_refusal(reply: Reply[Any]) -> bool:
    """Whether a reply says that nothing fits into the budget, which may itself be larger than that."""
    return reply.problem is not None and reply.problem.code == _TOO_SMALL


def _names_of(items: list[Any]) -> tuple[list[str | None], list[str]]:
    """The identifiers of items, and those that several of them have."""
    names = [identify(item) for item in items]
    return names, sorted(name for name, times in Counter(names).items() if name is not None and times > 1)


def _is_full(reply: Reply[Any]) -> bool:
    return reply.fidelity is None or reply.fidelity.level == "full"


def _names(value: Any, place: str = "") -> Iterator[str]:
    """Every identifier inside a value, and the positions of items that have none."""
    if isinstance(value, list):
        yield from map(str, Names().ids(value, 0, place=place))
        for position, item in enumerate(value):
            yield identify(item) or position_name(position, place)
            yield from _names(item, f"{place}/{position}")
            if isinstance(item, str):
                yield item
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _names(inner, place + pointer_of((name,)))
