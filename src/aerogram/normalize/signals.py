"""Signals: what a value's misbehaviour gives off. Some exceptions pass, the rest is told to the log."""

from __future__ import annotations

import logging
from asyncio import CancelledError

__all__ = ["SIGNALS", "tell_log"]

_log = logging.getLogger("aerogram")

SIGNALS = (KeyboardInterrupt, CancelledError)
"""Anything else that a value's own methods raise must not end a server, be it no `Exception` at all."""


def tell_log(message: str, *words: str, error: BaseException | None = None) -> None:
    """Tell the server's log what its author has to mend, with the trace; nobody else will see it."""
    trace = (type(error), error, error.__traceback__) if error is not None else None
    try:
        _log.error(message, *words, exc_info=trace)
    except SIGNALS:
        raise
    except BaseException:  # noqa: BLE001 - the error's own text may raise anything
        _log.error(message, *words)
