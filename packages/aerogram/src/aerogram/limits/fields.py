"""Fields: what HTTP says of limits, as header fields: how much is left, and how long to wait."""

from __future__ import annotations

import datetime as dt
import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import Final

from aerogram.reply import RateLimit

__all__ = ["header_fields", "read_retry_after"]

_MOST_DIGITS: Final = 12
_UNQUOTABLE: Final = re.compile(r"[^ !#-\[\]-~]")


def header_fields(state: RateLimit, *, now: float | None = None, legacy: bool = False) -> dict[str, str]:
    """The HTTP fields of a state: `RateLimit-Policy` and `RateLimit`; with `legacy` also the `X-RateLimit-*` ones."""
    if state.limit is None or state.remaining is None:
        return {}
    extra = state.extra or {}
    policy = _UNQUOTABLE.sub("?", str(extra.get("policy", "default")))
    length = extra.get("window_seconds")
    window = f";w={length}" if isinstance(length, int) else ""
    wait = _seconds_until(state.reset_at, time.time() if now is None else now)
    reset = "" if wait is None else f";t={wait}"
    found = {
        "RateLimit-Policy": f'"{policy}";q={state.limit}{window}',
        "RateLimit": f'"{policy}";r={state.remaining}{reset}',
    }
    if legacy:
        found |= {"X-RateLimit-Limit": str(state.limit), "X-RateLimit-Remaining": str(state.remaining)}
        found |= {} if wait is None else {"X-RateLimit-Reset": str(wait)}
    return found


def _seconds_until(reset_at: str | float | None, now: float) -> int | None:
    if reset_at is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(reset_at).timestamp() if isinstance(reset_at, str) else reset_at
    except ValueError:
        return None
    return max(math.ceil(moment - now), 0)


def read_retry_after(said: str | None) -> int | None:
    """A `Retry-After` field in whole seconds, which is a number of them or a date (RFC 9110, section 10.2.3)."""
    said = (said or "").strip()
    if said.isascii() and said.isdigit():
        return int(said) if len(said) <= _MOST_DIGITS else None
    try:
        moment = parsedate_to_datetime(said)
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return max(math.ceil(zoned.timestamp() - time.time()), 0)
    except (ValueError, OverflowError):  # no date, or none of this era
        return None
