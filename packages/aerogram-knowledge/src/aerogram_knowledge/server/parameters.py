"""Parameters: what the query of a request says. What an address does not have is told, what contradicts itself refused.

A misspelt parameter would change nothing, and nobody would know. The body of a legacy answer has no place to say so,
nor has a table; so a header says it of every answer, and the newer envelope among its warnings too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, Final, get_args, get_origin

from fastapi import Request, Response

from aerogram.errors import ValidationFailed
from aerogram.reply import Notice, Reply
from aerogram.spelling import hint
from aerogram.wire.negotiation import PARAMETER

__all__ = ["WARNING", "heed", "told", "unknown_in"]

WARNING: Final = "X-Warning"
MOST_TOLD: Final = 5
LONGEST_NAME: Final = 60
_UNKNOWN: Final = "unknown_parameters"


async def heed(request: Request, response: Response) -> None:
    """Refuse parameters that contradict themselves, and note those that the address does not have."""
    given = request.query_params
    if not given:
        return
    taken = {one.alias: one.field_info.annotation for one in request.scope["route"].dependant.query_params}
    for name in taken.keys() & given.keys():
        _insist_on_one(name, given.getlist(name), taken[name])
    known = {PARAMETER, *taken}
    strangers = (name[:LONGEST_NAME] for name in given if name not in known)
    notices = tuple(_unknown(name, known) for name in islice(strangers, MOST_TOLD))
    setattr(request.state, _UNKNOWN, notices)
    for one in notices:
        response.headers.append(WARNING, _plain(f"{one.message}; {one.suggestion}"))


def unknown_in(request: Request) -> tuple[Notice, ...]:
    """What is to be said of the parameters of a request that its address does not have."""
    return getattr(request.state, _UNKNOWN, ())


def told(reply: Reply[Any], request: Request) -> Reply[Any]:
    """The reply, which also says what of its request was not used."""
    notices = unknown_in(request)
    return reply.replace(notices=(*reply.notices, *notices)) if notices else reply


def _insist_on_one(name: str, values: Sequence[str], annotation: Any) -> None:
    """Refuse several values of what can only have one."""
    if len(set(values)) > 1 and not _takes_several(annotation):
        raise ValidationFailed(
            f"{name} is given twice and differently",
            remediation=f"Send {name} once",
            details={"field": name, "received": values[1][:100]},
        )


def _takes_several(annotation: Any) -> bool:
    return list in {get_origin(one) for one in (annotation, *get_args(annotation))}


def _unknown(name: str, known: Collection[str]) -> Notice:
    message = f"{name!r} is no parameter of this address, so it was not used"
    return Notice(message, "CONTROL_IGNORED", "warning", hint(name, known), {"field": name})


def _plain(text: str) -> str:
    """A text as a header can hold it."""
    return text.encode("ascii", "backslashreplace").decode()
