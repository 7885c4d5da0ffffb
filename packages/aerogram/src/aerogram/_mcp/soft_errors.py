"""Soft errors: replies that say that they failed although nothing marks them as failures.

    {"error": "no such row"}    {"status": 429, "message": "slow down"}    {"success": false, …}    Error: no such row

An object is one only where all that it holds is about the failure: a record that has an error among its members, a
list of statuses and a rate of errors are data. A text is one where it begins like an error and is no longer than one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from aerogram._mcp.faults import code_in, problem_in
from aerogram.codes import TABLE, respell
from aerogram.content.jsontext import dumps, loads
from aerogram.errors import ContractError
from aerogram.reply import Notice, Problem

__all__ = ["note_soft_error", "soft_problem"]

LONGEST: Final = 2_000
LONGEST_WAIT: Final = 10**12
"""Seconds; what says more says no time, and may be more than a number has room for."""
_MARKS: Final = ("error", "errors", "success", "ok", "status", "status_code", "statusCode")
_ABOUT: Final = frozenset(
    {
        "error",
        "errors",
        "success",
        "ok",
        "status",
        "status_code",
        "statuscode",
        "code",
        "error_code",
        "errorcode",
        "error_type",
        "type",
        "kind",
        "message",
        "msg",
        "detail",
        "details",
        "title",
        "description",
        "reason",
        "hint",
        "suggestion",
        "remediation",
        "retry_after",
        "retryafter",
        "retryable",
        "request_id",
        "requestid",
        "trace",
        "traceback",
        "stack",
        "timestamp",
        "instance",
        "documentation",
        "documentation_url",
        "is_error",
        "iserror",
    }
)
"""What an object about a failure has members for."""
_WORDS: Final = ("message", "error", "detail", "msg", "reason", "title", "description", "errors", "details")
_BEGINNINGS: Final = re.compile(
    r"(?:\S{0,4}\s?)(?:Error|ERROR|Fatal error|Exception|[A-Z]\w+(?:Error|Exception))(?: \w+){0,6}: \S"
    r"|Traceback \(most recent call last\):"
)


def soft_problem(data: Any) -> Problem | None:
    """The problem that a reply says it had; None for an answer."""
    if isinstance(data, str):
        return _problem_in_text(data)
    return _problem_in_object(data) if isinstance(data, dict) and not data.keys().isdisjoint(_MARKS) else None


def note_soft_error(problem: Problem) -> Notice:
    """What is said of a reply that is sent as the answer that it came as."""
    noted = Notice.of("SOFT_ERROR", suggestion=problem.remediation or TABLE[problem.code].remediation)
    return replace(noted, context={"code": problem.code, "retry": problem.retry})


def _problem_in_text(text: str) -> Problem | None:
    if len(text) > LONGEST:
        return None
    if text[:1] == "{":
        try:
            return soft_problem(loads(text))
        except ContractError:
            return None
    return problem_in(text.strip()) if _BEGINNINGS.match(text) else None


def _problem_in_object(data: dict[str, Any]) -> Problem | None:
    said = {str(name).lower(): value for name, value in data.items() if value not in (None, "", [], {})}
    if not said.keys() <= _ABOUT:
        return None
    status = next(
        (said[name] for name in ("status", "status_code", "statuscode", "code") if _is_status(said.get(name))), None
    )
    has_failed = any(said.get(name) is False for name in ("success", "ok"))
    if not (status or has_failed or _is_said(said.get("error")) or _is_said(said.get("errors"))):
        return None
    words = next((one for name in _WORDS if (one := _words_of(said.get(name)))), "")
    if not words or said.get("success") is True or said.get("ok") is True:
        return None
    wait: Any = said.get("retry_after", said.get("retryafter"))
    seconds = float(wait) if type(wait) in (int, float) and 0 <= wait <= LONGEST_WAIT else None
    return Problem.of(_code_of(said, status, words), words, retry_after=seconds)


def _is_status(value: Any) -> bool:
    return type(value) is int and 400 <= value <= 599  # noqa: PLR2004 - what HTTP calls an error


def _is_said(error: Any) -> bool:
    """Whether a member says an error; a number is a measure, and no error."""
    return (isinstance(error, (str, dict, list)) and bool(error)) or error is True


def _words_of(said: Any) -> str:
    if isinstance(said, str):
        return said
    if isinstance(said, Mapping):
        return next((one for name in _WORDS if (one := _words_of(said.get(name)))), dumps(dict(said)).decode())
    return dumps(said).decode() if isinstance(said, list) and said else ""


def _code_of(said: Mapping[str, Any], status: int | None, words: str) -> str:
    """The code that is said, that of the status, or that of the words."""
    inner = said["error"] if isinstance(said.get("error"), Mapping) else {}
    for named in (said.get("error_code"), said.get("code"), inner.get("code"), said.get("error")):
        if isinstance(named, str) and respell(named) in TABLE:
            return respell(named)
    return TABLE.of_status(status) if status is not None else code_in(words)
