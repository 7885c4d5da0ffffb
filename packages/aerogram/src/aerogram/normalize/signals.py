"""Signals: what a value's misbehaviour gives off. Some exceptions pass, the rest is told to the log."""

from __future__ import annotations

import logging
from asyncio import CancelledError, current_task

__all__ = ["SIGNALS", "contain", "is_signal", "log_error"]

_log = logging.getLogger("aerogram")

SIGNALS = (KeyboardInterrupt, CancelledError)
"""Anything else that a value's own methods raise must not end a server, be it no `Exception` at all."""


def is_signal(error: BaseException) -> bool:
    """Whether an exception is meant for whoever runs the task, and not for the caller.

    A cancellation is, unless nobody has cancelled this task: then a task that the handler waited for was cancelled,
    and that is a failure as any other.
    """
    if not isinstance(error, CancelledError):
        return isinstance(error, SIGNALS)
    try:
        task = current_task()
    except RuntimeError:  # there is no event loop of asyncio
        return True
    return task is None or task.cancelling() > 0


def contain(error: BaseException) -> Exception:
    """An exception for one that would end the server, such as that of `sys.exit`; one that is meant to is raised."""
    if isinstance(error, Exception):
        return error
    if is_signal(error) or isinstance(error, GeneratorExit):
        raise error
    failure = RuntimeError(f"a handler raised {type(error).__name__}, which would have ended the server")
    failure.__cause__ = error
    return failure


def log_error(message: str, *words: str, error: BaseException | None = None) -> None:
    """Tell the server's log what its author has to mend, with the trace; nobody else will see it."""
    trace = (type(error), error, error.__traceback__) if error is not None else None
    try:
        _log.error(message, *words, exc_info=trace)
    except SIGNALS:
        raise
    except BaseException:  # noqa: BLE001 - the error's own text may raise anything
        _log.error(message, *words)
