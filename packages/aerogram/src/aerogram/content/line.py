"""Line: a text of whoever it may be, as a terminal or a log can show it."""

from __future__ import annotations

from typing import Final

__all__ = ["one_line"]

_LONGEST: Final = 2_000


def one_line(text: str) -> str:
    """Text that is safe on a terminal: one line, no control characters, not endless."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
