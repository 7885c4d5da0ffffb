"""The inventory: what a principal has in an archive, how large, until when; and what is gone, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aerogram.errors import IntegrityError

__all__ = ["Inventory"]

REMEMBERED_GONE: Final = 1_000


@dataclass(slots=True)
class Inventory:
    """What a principal has (`live`: digest -> size and expiry, oldest first) and what is gone, with the reason."""

    live: dict[str, tuple[int, float]] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, record: dict[str, Any] | None) -> Inventory:
        """The inventory in a record; none is an empty one."""
        if record is None:
            return cls()
        try:
            live = {digest: (int(size), float(end)) for digest, (size, end) in record["live"].items()}
            return cls(live, dict(record["gone"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise IntegrityError("The inventory of an archive is damaged") from error

    def record(self) -> dict[str, Any]:
        """The inventory as JSON."""
        # a list of pairs, because stores sort the keys of an object and the order here is age
        gone = [list(pair) for pair in self.gone.items()]
        return {"live": {digest: list(row) for digest, row in self.live.items()}, "gone": gone[-REMEMBERED_GONE:]}

    def oldest_first(self) -> list[str]:
        """The digests of what is there, by age."""
        return sorted(self.live, key=lambda digest: self.live[digest][1])

    def reason_gone(self, digest: str, now: float) -> str | None:
        """Why an entry is not there any more: expired, deleted or evicted; None when it never was."""
        self.expire(now)
        return self.gone.get(digest)

    def retire(self, digest: str, reason: str) -> None:
        """Note that an entry is gone, and why."""
        self.live.pop(digest, None)
        self.gone[digest] = reason

    def drop(self, digest: str) -> list[str]:
        """Retire what its owner has deleted."""
        if digest in self.live:
            self.retire(digest, "deleted")
        return []

    def expire(self, now: float) -> list[str]:
        """Retire what has ended; its digests."""
        ended = [digest for digest, (_, end) in self.live.items() if end <= now]
        for digest in ended:
            self.retire(digest, "expired")
        return ended

    def admit(self, sizes: Mapping[str, int], end: float, quota: int, most_entries: int) -> list[str]:
        """Note entries that are there until `end`; the oldest make room for them. The digests of what is retired."""
        for digest in sizes:
            self.live.pop(digest, None)
            self.gone.pop(digest, None)
        order = [*self.oldest_first(), *sizes]
        self.live |= {digest: (size, end) for digest, size in sizes.items()}
        total = sum(size for size, _ in self.live.values())
        evicted = []
        for digest in order:
            if total <= quota and len(self.live) <= most_entries:
                break
            total -= self.live[digest][0]
            self.retire(digest, "evicted")
            evicted.append(digest)
        return evicted
