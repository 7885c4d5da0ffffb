"""Leaks: what a failure must not tell a stranger, and an exception that would tell it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aerogram.sanitize import Redaction

__all__ = ["FAULT", "InjectedFault", "leaks_in", "without_logging"]

FAULT: Final = "canary-5f1d7c0e"
"""A word that only the injected exception says."""
_TRACES: Final = re.compile(
    r'Traceback \(most recent call last\)|File \\?"[^"]+", line \d+|\.py:\d+|\bat 0x[0-9a-f]{6,}'
)
_SHORTEST_PATH: Final = 4
_REDACTION: Final = Redaction()


class InjectedFault(RuntimeError):
    """What a handler may raise one day, with everything in its message that should stay inside."""

    def __init__(self) -> None:
        super().__init__(f"{FAULT}: password=hunter2 rejected by postgres://app:hunter2@db.internal in /srv/app/db.py")


@contextmanager
def without_logging() -> Iterator[None]:
    """Keep exceptions that were injected out of the log: a trace in it looks like a crash of the user's own."""
    log = logging.getLogger("aerogram")
    log.addFilter(_is_not_injected)
    try:
        yield
    finally:
        log.removeFilter(_is_not_injected)


def _is_not_injected(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], InjectedFault))


def leaks_in(text: str, secrets: Iterable[str] = (), *, shows_words: bool = False) -> Iterator[str]:
    """What a text gives away; where a server `shows_words` of exceptions, they are no leak, but secrets in them are."""
    hidden = () if shows_words else (FAULT,)
    for secret in (*hidden, "hunter2", InjectedFault.__name__, *secrets):
        if secret in text:
            yield f"it says {secret!r}"
    trace = _TRACES.search(text)
    if trace is not None:
        yield f"it shows where the program was: {trace[0][:80]!r}"
    for path in {str(Path.cwd()), str(Path.home()), sys.prefix}:
        if len(path) >= _SHORTEST_PATH and path in text:
            yield "it names a folder of the machine it runs on"
    found: list[str] = []
    _REDACTION.clean(text, found.append)
    for kind in dict.fromkeys(found):
        yield f"it contains what looks like a secret ({kind})"
