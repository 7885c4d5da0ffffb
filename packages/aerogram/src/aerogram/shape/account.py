"""The account: what a fitted reply says about its own size, about what it lacks, and how to get that back.

An account is kept in the richest manner that leaves room for the items:

    full     notices with their numbers, the first identifiers of what was dropped, the call that retrieves it, sizes
    brief    the fidelity level, the hash, and one notice that says how many items are missing and names the call
    terse    the level and the hash: the least that a reply says from which anything was left out

The last one is for replies that show every item and would have to drop some to say more, and for those that would have
to drop all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from aerogram.codes import WARNINGS
from aerogram.content import Content, sha256_of
from aerogram.identity import Names
from aerogram.reply import Action, Fidelity, Notice, Page, Reply, Telemetry
from aerogram.shape.loss import Loss
from aerogram.shape.pages import cut_after, rows_of

__all__ = ["MANNERS", "Account", "Manner", "Sizes", "counted", "without_archive"]

Manner: TypeAlias = Literal["full", "brief", "terse"]
MANNERS: Final[tuple[Manner, ...]] = get_args(Manner)

MOST_LISTED_IDS: Final = 50
BUDGET_PER_LISTED_ID: Final = 100
SHORT_HASH: Final = 19
SELF_COUNTS: Final = 4
"""How often a reply is measured until it says its own size; a number of other digits may have another size."""
STAND_IN: Final = sha256_of(b"a hash that is still being taken")
"""What stands for a hash until it is known; few hashes are longer in tokens."""
DATA: Final = "data"
DROPPED_IDS: Final = "dropped_ids"
ENVELOPE: Final = "envelope"
OWN_NAMES: Final = frozenset({DATA, DROPPED_IDS, ENVELOPE})
BRIEF_CALL: Final = ": "
HASH_AND_IDS: Final = "the hash and ids"
NOT_KEPT: Final = "What is missing was not kept; ask for less at once or raise the budget"
_ABOUT_SIZE: Final = frozenset({"CONTENT_TRUNCATED", "PARTIAL_RESULTS"})
_BRIEF: Final = re.compile(rf"(\d+ of \d+ items left out|Shortened)({BRIEF_CALL}\S+)?")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the reply was and is, in whose count."""

    before: int
    estimated: bool
    unit: str | None = None
    counter: str | None = None
    margin: float | None = None

    def as_json(self, after: int) -> dict[str, Any]:
        """The members of the fidelity's extra that speak of size."""
        said: dict[str, Any] = {"size_before": self.before, "size_after": after}
        if self.estimated:
            said["size_before_is_estimate"] = True
        if self.counter is not None:
            said |= {"counter": self.counter, "margin": self.margin}
        return said


@dataclass
class Account:
    """Dresses reduced data as a reply that tells the truth about itself."""

    reply: Reply[Any]
    names: Names
    retrieve: str | None
    resume: Callable[[int], str] | None
    sizes: Sizes
    hashes: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = "full"
    budget: int = 0
    ids_hash: str = STAND_IN
    is_lighter: bool = False
    """Whether the envelope has given something up."""

    def dress(self, data: Any, loss: Loss, after: int) -> Reply[Any]:
        """The reply with this data; `after` is the size that it will say it has."""
        changes: dict[str, Any] = {"data": data}
        if self._tells_tokens:
            changes["telemetry"] = self._telemetry(after)
        if self.resume is not None and (kept := cut_after(self.reply.data, data)) is not None:
            changes["page"] = replace(self.reply.page or Page(), cursor=self.resume(kept), has_more=True)
            loss = Loss() if isinstance(data, str) else self._final(loss)
        if loss.is_none and not self.is_lighter:
            return self.reply.replace(**changes)
        changes["fidelity"] = self._fidelity(loss, after)
        changes["notices"] = (*self.reply.notices, *self._notices(loss))
        if loss.dropped and self.reply.status == "ok":
            changes["status"] = "partial"
        if self.retrieve and self.hashes and self.manner == "full":
            changes["actions"] = (*self.reply.actions, self._retrieval())
        return self.reply.replace(**changes)

    @property
    def _tells_tokens(self) -> bool:
        """A brief account counts its tokens only where the contract has asked for a count."""
        telemetry = self.reply.telemetry
        asked = telemetry is not None and telemetry.tokens_estimated is not None
        return self.sizes.unit == "tokens" and (asked or self.manner == "full")

    def _telemetry(self, after: int) -> Telemetry:
        return replace(self.reply.telemetry or Telemetry(), tokens_estimated=after, tokens_used=after)

    def _fidelity(self, loss: Loss, after: int) -> Fidelity:
        """The account of this loss, on top of what the reply already lacked."""
        before = self.reply.fidelity or Fidelity("full")
        listed = tuple(map(str, loss.dropped_ids(self.names, self._listed)))
        hashes, extra = {**self._earlier_hashes, **self.hashes}, dict(before.extra or {})
        if self._archives_ids(loss):
            hashes[DROPPED_IDS] = self.ids_hash
        if self.manner == "full":
            extra |= self.sizes.as_json(after)
        if loss.dropped > len(listed) and self.manner == "full":
            extra["dropped_count"] = loss.dropped  # a brief account has it in its notice
        level = loss.level if loss.level != "full" else before.level if before.level != "full" else "partial"
        return Fidelity(level, (*before.dropped_ids, *listed), hashes, before.schema_version, extra)

    @property
    def _earlier_hashes(self) -> dict[str, str]:
        """What the reply already named, under other names than what it names now."""
        earlier = (self.reply.fidelity.archive_hashes or {}) if self.reply.fidelity else {}
        return {f"earlier-{name}" if name in OWN_NAMES else name: digest for name, digest in earlier.items()}

    @property
    def _listed(self) -> int:
        """How many dropped items are named in the reply itself."""
        return 0 if self.manner != "full" else min(MOST_LISTED_IDS, self.budget // BUDGET_PER_LISTED_ID)

    def _archives_ids(self, loss: Loss) -> bool:
        return bool(self.hashes) and self.manner == "full" and loss.dropped > self._listed

    def _notices(self, loss: Loss) -> tuple[Notice, ...]:
        if self.manner != "full":
            return (self._brief_notice(loss),) if self.manner == "brief" else ()
        found = []
        suggestion = self._suggestion()
        if loss.dropped:
            message = f"{loss.dropped} of {loss.total} items left out to fit the budget"
            context = {"dropped_count": loss.dropped, "total_count": loss.total, "reason": "token_limit_exceeded"}
            found.append(Notice.of("PARTIAL_RESULTS", message, suggestion=suggestion, **context))
        if loss.shortened or loss.clipped or loss.omitted or not loss.dropped:
            found.append(Notice.of("CONTENT_TRUNCATED", _shortened(loss), suggestion=suggestion))
        return tuple(found)

    def _brief_notice(self, loss: Loss) -> Notice:
        code = "PARTIAL_RESULTS" if loss.dropped else "CONTENT_TRUNCATED"
        what = f"{loss.dropped} of {loss.total} items left out" if loss.dropped else "Shortened"
        call = self.retrieve if self._has_address else f"{self.retrieve}(hash)"
        how = f"{BRIEF_CALL}{call}" if self.retrieve and self.hashes else ""
        return Notice(what + how, code, WARNINGS[code].severity)

    def _suggestion(self) -> str:
        if not self.hashes:
            return NOT_KEPT
        if self.retrieve is None:
            return f"Fetch the rest by its hash, or by {HASH_AND_IDS}"
        return f"{'GET' if self._has_address else 'Call'} {self.retrieve} with the hash, or with {HASH_AND_IDS}"

    def _retrieval(self) -> Action:
        name = DATA if DATA in self.hashes else next(iter(self.hashes))
        args = {"hash": self.hashes[name][:SHORT_HASH]}
        return Action(endpoint=self.retrieve, args=args) if self._has_address else Action(tool=self.retrieve, args=args)

    @property
    def _has_address(self) -> bool:
        """Whether the rest is fetched from an address, such as `/v1/content/{hash}`, and not by a tool."""
        return self.retrieve is not None and self.retrieve.startswith("/")

    def dropped_ids(self, loss: Loss) -> Content | None:
        """The whole list of dropped identifiers, when the reply names only the first of them."""
        loss = self._final(loss)
        return Content.of_json(loss.dropped_ids(self.names)) if self._archives_ids(loss) else None

    def _final(self, loss: Loss) -> Loss:
        """The loss without what the next page brings."""
        rows = rows_of(self.reply.data) if self.resume is not None else None
        if rows is None:
            return loss
        return replace(loss, tails=[tail for tail in loss.tails if not (tail.items is rows.items and tail.start)])


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


def _shortened(loss: Loss) -> str:
    if loss.shortened and loss.total:
        return f"{loss.shortened} of {loss.kept} items shown with less detail"
    return "Long content shortened to fit the budget"


def without_archive(reply: Reply[Any], fits: Callable[[Reply[Any]], bool] = lambda _: True) -> Reply[Any]:
    """A fitted reply for when its leftovers could not be stored: no hash, no call, and it says so where that `fits`."""
    if reply.fidelity is None:
        return reply
    hashes = reply.fidelity.archive_hashes or {}
    lost = [digest for name, digest in hashes.items() if name in OWN_NAMES]
    kept = {name: digest for name, digest in hashes.items() if name not in OWN_NAMES}
    honest = reply.replace(
        fidelity=replace(reply.fidelity, archive_hashes=kept),
        notices=tuple(_honest(notice) for notice in reply.notices),
        actions=tuple(action for action in reply.actions if not _asks_for(action, lost)),
    )
    if not lost or honest.notices != reply.notices:
        return honest
    # a terse account has no notice to mend, and without its hash there may be room for one
    told = honest.replace(notices=(*honest.notices, Notice(NOT_KEPT.partition(";")[0])))
    return told if fits(told) else honest


def _asks_for(action: Action, lost: list[str]) -> bool:
    asked = str((action.args or {}).get("hash") or "-")
    return any(digest.startswith(asked) for digest in lost)


def _honest(notice: Notice) -> Notice:
    if not _is_own(notice):
        return notice
    message = notice.message.partition(BRIEF_CALL)[0]
    return replace(notice, message=message, suggestion=NOT_KEPT)


def _is_own(notice: Notice) -> bool:
    """Whether a notice is part of an account; a handler may have its own to say about what is missing."""
    if notice.code not in _ABOUT_SIZE:
        return False
    if notice.suggestion is None:
        return _BRIEF.fullmatch(notice.message) is not None
    return notice.suggestion.endswith(HASH_AND_IDS)
