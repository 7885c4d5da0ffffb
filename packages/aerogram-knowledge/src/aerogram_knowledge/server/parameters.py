"""Parameters: what the query of a request says. What an address does not have is told, what contradicts itself refused.

A misspelt parameter would change nothing, and nobody would know. The body of a legacy answer has no place to say so,
nor has a table; so a header says it of every answer, and the newer envelope among its warnings too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, get_args, get_origin

from fastapi import Request, Response

from aerogram._http.negotiation import PARAMETER
from aerogram.errors import ValidationFailed, hint
from aerogram.reply import Action, Notice, Reply

__all__ = ["WARNING", "check_parameters", "in_parameters", "unknown_in", "with_addresses", "with_notices"]

WARNING: Final = "X-Warning"
MOST_TOLD: Final = 5
LONGEST_NAME: Final = 60
_UNKNOWN: Final = "unknown_parameters"


async def check_parameters(request: Request, response: Response) -> None:
    """Refuse parameters that contradict themselves, and note those that the address does not have."""
    given = request.query_params
    if not given:
        return
    taken = {one.alias: one.field_info.annotation for one in request.scope["route"].dependant.query_params}
    for name in taken.keys() & given.keys():
        _insist_on_one(name, given.getlist(name), taken[name])
    known = {PARAMETER, *taken}
    strangers = (name[:LONGEST_NAME] for name in given if name not in known)
    notices = tuple(_unknown_notice(name, known) for name in islice(strangers, MOST_TOLD))
    setattr(request.state, _UNKNOWN, notices)
    for one in notices:
        text = f"{one.message}; {one.suggestion}"
        response.headers.append(WARNING, text.encode("ascii", "backslashreplace").decode())


def unknown_in(request: Request) -> tuple[Notice, ...]:
    """What is to be said of the parameters of a request that its address does not have."""
    return getattr(request.state, _UNKNOWN, ())


def with_notices(reply: Reply[Any], request: Request) -> Reply[Any]:
    """The reply, which also says what of its request was not used."""
    notices = unknown_in(request)
    return reply.replace(notices=(*reply.notices, *notices)) if notices else reply


def _insist_on_one(name: str, values: Sequence[str], annotation: Any) -> None:
    """Refuse several values of what can only have one."""
    takes_several = list in {get_origin(one) for one in (annotation, *get_args(annotation))}
    if len(set(values)) > 1 and not takes_several:
        raise ValidationFailed(
            f"{name} is given twice and differently",
            remediation=f"Send {name} once",
            details={"field": name, "received": values[1][:100]},
        )


def _unknown_notice(name: str, known: Collection[str]) -> Notice:
    message = f"{name!r} is no parameter of this address, so it was not used"
    return Notice(message, "CONTROL_IGNORED", "warning", hint(name, known), {"field": name})


_ADDRESSES: Final = {
    "semantic_search": ("/v1/search", {"query": "q"}),
    "get_chunks": ("/v1/chunks/{id}", {"chunk_ids": "id"}),
    "digest_document": ("/v1/digests", {}),
    "find_vendor_info": ("/v1/vendors/{name}", {"vendor_name": "name"}),
}
"""The address and the renamed arguments of what a tool does."""
_FILTERS: Final = "filters"


def with_addresses(reply: Reply[Any], tool: str) -> Reply[Any]:
    """A tool's reply with further calls as addresses, and its own arguments as parameters."""
    renamed = _ADDRESSES[tool][1]
    retry = None if reply.retry_with is None else _parameters(reply.retry_with, renamed)
    actions = tuple(one for action in reply.actions for one in _calls(action))
    return reply.replace(
        actions=actions, retry_with=retry, query_echo=reply.query_echo and reply.query_echo.rename(renamed)
    )


@contextlib.contextmanager
def in_parameters(tool: str) -> Iterator[None]:
    """What is wrong with an argument of a tool, said of the parameter that it came from."""
    try:
        yield
    except ValidationFailed as error:
        details = dict(error.details or {})
        field = str(details.get("field", ""))
        details["field"] = renamed = _ADDRESSES[tool][1].get(field, field).removeprefix(f"{_FILTERS}.")
        if renamed == field:
            raise
        message = renamed + error.message.removeprefix(field) if error.message.startswith(field) else error.message
        raise type(error)(message, remediation=error.remediation, details=details) from error


def _calls(action: Action) -> list[Action]:
    """A follow-up call as calls of addresses; several chunks are as many."""
    endpoint, renamed = _ADDRESSES.get(action.tool or "", (None, {}))
    if endpoint is None:
        return [action]
    given = _parameters(action.args or {}, renamed)
    if isinstance(given.get("id"), list):
        return [Action(endpoint=endpoint, args={"id": one}) for one in given["id"]]
    return [Action(endpoint=endpoint, args=given)]


def _parameters(arguments: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    given = {renamed.get(name, name): value for name, value in arguments.items() if name != _FILTERS}
    return {**given, **arguments.get(_FILTERS, {})}
