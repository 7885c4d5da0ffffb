"""Logs of the server: one line for each thing that happened, on standard error; JSON unless a person is watching."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, TextIO

from aerogram.content.jsontext import dumps, loads
from aerogram.content.line import one_line
from aerogram.telemetry import JsonLines, RequestIds
from aerogram_knowledge.hosting.settings import Settings

__all__ = ["configure_logs"]

_QUIET: Final = ("httpx", "httpcore", "mcp", "fastmcp", "uvicorn.access")
"""Loggers whose everyday lines repeat what the server says itself."""


class _JsonFormatter(JsonLines):
    """JSON lines that also say what a request was."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        facts: Any = getattr(record, "request", None)
        return dumps({**loads(line), "request": facts}).decode() if isinstance(facts, dict) else line


class _PlainFormatter(logging.Formatter):
    """Lines for a person: the time, the level if it matters, and the message."""

    def format(self, record: logging.LogRecord) -> str:
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        request_id = getattr(record, "request_id", None)
        mark = f"  [{request_id}]" if request_id else ""
        line = f"{self.formatTime(record, '%H:%M:%S')} {level}{one_line(record.getMessage())}{mark}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure_logs(settings: Settings, stream: TextIO | None = None) -> logging.Handler:
    """Send every log of this process to one place, as the settings say; give uvicorn `log_config=None` beside it."""
    out = stream or sys.stderr
    is_json = settings.log_format == "json" or (settings.log_format == "auto" and not out.isatty())
    handler = logging.StreamHandler(out)
    handler.setFormatter(_JsonFormatter() if is_json else _PlainFormatter())
    handler.addFilter(RequestIds())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    return handler
