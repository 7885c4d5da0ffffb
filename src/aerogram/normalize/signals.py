"""Signals: the exceptions that are not about a value, and so pass through whatever handles the value."""

from __future__ import annotations

from asyncio import CancelledError

__all__ = ["SIGNALS"]

SIGNALS = (KeyboardInterrupt, CancelledError)
"""Anything else that a value's own methods raise must not end a server, be it no `Exception` at all."""
