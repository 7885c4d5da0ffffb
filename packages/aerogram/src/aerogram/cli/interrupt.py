"""Interrupt: what Ctrl-C does to the program. It needs so little that it is settled before anything else is loaded."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

__all__ = ["INTERRUPTED", "end_at_once", "leave", "on_interrupt"]

INTERRUPTED = 130
"""The exit code of a program that was interrupted."""


def on_interrupt(handler: Callable[[int, FrameType | None], object]) -> None:
    """Have Ctrl-C call this from now on."""
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:
        return  # not the main thread: it has the signals


def leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End the process at once and without a word: while modules are loaded, there is nothing to put in order."""
    os._exit(INTERRUPTED)


def end_at_once() -> NoReturn:
    """End the process as one that has done its work, whatever its threads still wait for."""
    os._exit(0)
