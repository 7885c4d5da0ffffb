"""Policy: what a normaliser may spend on one value, and the few choices it leaves open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from aerogram.normalize.registry import DEFAULT, Registry

__all__ = ["LEGACY", "MODERN", "Policy", "is_modern"]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
_DEEPEST = 190
_SMALLEST = 1024


def is_modern(protocol_version: str) -> bool:
    """Whether structured content may be any JSON value: versions are dates, and `draft` is the newest."""
    return protocol_version >= MODERN


@dataclass(frozen=True)
class Policy:
    """The settings of a normaliser; the defaults do what the documentation says.

    `blocks`: one text block per list item (`each`), or the whole value as one (`one`).
    `fallback`: with an odd value deep inside the whole result goes without structured
    content (`result`), or the value is replaced there as it is in the text (`value`).
    `spelling`: JSON inside of a text has a space after its commas and colons, as the documentation prints it, or none.
    `max_seconds` is what reading one value may take, where that can be interrupted.
    `max_depth` leaves room for the message around the value: readers stop at 200 levels.
    """

    blocks: Literal["each", "one"] = "each"
    fallback: Literal["value", "result"] = "result"
    spelling: Literal["documented", "compact"] = "documented"
    max_bytes: int = 16 * 1024 * 1024
    max_items: int = 10_000
    max_seconds: float = 10.0
    max_depth: int = _DEEPEST
    registry: Registry = field(default=DEFAULT, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.max_depth <= _DEEPEST:
            raise ValueError(f"max_depth is between 1 and {_DEEPEST}: most JSON readers stop at 200 levels")
        if self.max_bytes < _SMALLEST:
            raise ValueError(f"max_bytes is at least {_SMALLEST}: an error must fit too")
        if self.max_items < 1:
            raise ValueError("max_items is at least 1")
        if self.max_seconds <= 0:
            raise ValueError("max_seconds is more than 0")
