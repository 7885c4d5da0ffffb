"""Lightening: an envelope that takes up too much of the budget gives up what a caller can do without.

Where not all fits, what an answer says about itself goes at once: the echo of the query, but for its filters, without
which a reply would deny what it was asked with; citations and follow-up calls. Then, step by step: what the server
added, the context of notices, the details of a problem, long words, and at last the filters. What goes in these steps
is returned as well, so that it can be archived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from aerogram.jsontext import dumps
from aerogram.reply import Notice, QueryEcho, Reply
from aerogram.shape.text import clip

__all__ = ["lean", "lighter", "removed_between", "without_echo"]

LONG_WORDS: Final = 160
MOST_NOTICES: Final = 3
LASTING: Final = frozenset({"UNTRUSTED_CONTENT", "CONTENT_REDACTED"})
"""What has been done to the data is said as long as there are data."""
LONG_ECHO: Final = 300

Step = Callable[[Reply[Any]], Reply[Any]]


def lean(reply: Reply[Any]) -> Reply[Any]:
    """The reply without what it says about itself, which nobody has asked for."""
    telemetry = reply.telemetry and replace(reply.telemetry, extra=None)
    echo = reply.query_echo and _short_echo(reply.query_echo)
    return reply.replace(query_echo=echo, telemetry=telemetry, citations=(), actions=())


def lighter(reply: Reply[Any]) -> Iterator[Reply[Any]]:
    """Ever lighter versions of a reply, its data untouched."""
    for step in _STEPS:
        reply = step(reply)
        yield reply


def removed_between(heavy: Reply[Any], light: Reply[Any]) -> dict[str, Any]:
    """The parts of the heavier reply that are gone or changed in the lighter one, as JSON."""
    names = (f.name for f in fields(heavy) if f.name not in ("data", "telemetry"))
    return {name: _plain(getattr(heavy, name)) for name in names if getattr(heavy, name) != getattr(light, name)}


def without_echo(reply: Reply[Any]) -> Reply[Any]:
    """The reply without the question that it answers."""
    return reply.replace(query_echo=None)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: _plain(held) for name, held in pairs if held is not None and held != ()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _short_echo(echo: QueryEcho) -> QueryEcho | None:
    """The filters of an echo, if they are short: whoever asks knows their own question."""
    filters = QueryEcho(applied_filters=echo.applied_filters) if echo.applied_filters else None
    return filters if filters is not None and len(dumps(_plain(filters))) <= LONG_ECHO else None


def _without_additions(reply: Reply[Any]) -> Reply[Any]:
    return reply.replace(extra=None, retry_with=None)


def _plain_notices(reply: Reply[Any]) -> Reply[Any]:
    shown = (replace(notice, context=None, message=clip(notice.message, LONG_WORDS)) for notice in reply.notices)
    return reply.replace(notices=tuple(replace(notice, suggestion=None) for notice in shown))


def _without_details(reply: Reply[Any]) -> Reply[Any]:
    problem = reply.problem and replace(reply.problem, details=None, documentation=None)
    page = reply.page and replace(reply.page, extra=None)
    fidelity = reply.fidelity and replace(reply.fidelity, dropped_ids=(), extra=None)
    return reply.replace(problem=problem, page=page, fidelity=fidelity)


def _few_words(reply: Reply[Any]) -> Reply[Any]:
    problem = reply.problem
    if problem is not None:
        problem = replace(
            problem,
            message=clip(problem.message, LONG_WORDS),
            user_message=None,
            remediation=problem.remediation and clip(problem.remediation, LONG_WORDS),
        )
    return reply.replace(
        problem=problem,
        notices=_notices(reply, MOST_NOTICES),
        message=reply.message and clip(reply.message, LONG_WORDS),
        rate_limit=None,
        client_tag=None,
    )


def _bare(reply: Reply[Any]) -> Reply[Any]:
    keeps_one = reply.status in ("partial", "blocked")
    return reply.replace(notices=_notices(reply, 1 if keeps_one else 0), message=None)


def _notices(reply: Reply[Any], most: int) -> tuple[Notice, ...]:
    """The first notices, and those without which the data would be misread."""
    return tuple(one for place, one in enumerate(reply.notices) if place < most or one.code in LASTING)


_STEPS: Final[tuple[Step, ...]] = (
    _without_additions,
    _plain_notices,
    _without_details,
    _few_words,
    _bare,
    without_echo,
)
