"""Schedule: when one envelope takes over from another, and what callers are told meanwhile.

    opt_in ────────────▶ flip ──────────────▶ removal
    legacy is the        the new one is the   the legacy one is gone:
    default              default, legacy on   410 for those who still ask
                         request

Dates are settings without a default: a date means its midnight in UTC, a moment needs a time zone.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import Final, Literal, TypeAlias, get_args

from aerogram.errors import InvalidReply

__all__ = ["Schedule", "Stage"]

Stage: TypeAlias = Literal["before", "opt_in", "flipped", "removed"]
"""Where in a schedule a moment lies."""
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The dates of a migration; `documentation` is a page about it, linked from deprecated answers."""

    opt_in: dt.date
    flip: dt.date
    removal: dt.date
    documentation: str | None = None
    _moments: tuple[dt.datetime, dt.datetime, dt.datetime] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        opt_in, flip, removal = _moment(self.opt_in), _moment(self.flip), _moment(self.removal)
        if not opt_in <= flip < removal:
            raise InvalidReply("a schedule goes from opt_in over flip to removal")
        object.__setattr__(self, "_moments", (opt_in, flip, removal))

    def stage(self, now: dt.datetime) -> Stage:
        """Where a moment lies."""
        return STAGES[sum(moment <= now for moment in self._moments)]

    def headers(self, successor: str) -> list[tuple[bytes, bytes]]:
        """What an answer in the legacy shape says about its end (RFC 9745, RFC 8594)."""
        _, flip, removal = self._moments
        links = [f'<{successor}>; rel="successor-version"']
        if self.documentation is not None:
            links += [f'<{self.documentation}>; rel="{relation}"' for relation in ("deprecation", "sunset")]
        return [
            (b"deprecation", b"@%d" % flip.timestamp()),
            (b"sunset", format_datetime(removal, usegmt=True).encode()),
            (b"link", ", ".join(links).encode("ascii", "replace")),
        ]


def _moment(given: dt.date) -> dt.datetime:
    if not isinstance(given, dt.datetime):
        return dt.datetime(given.year, given.month, given.day, tzinfo=dt.UTC)
    if given.tzinfo is None:
        raise InvalidReply(f"{given.isoformat()} needs a time zone")
    return given.astimezone(dt.UTC)
