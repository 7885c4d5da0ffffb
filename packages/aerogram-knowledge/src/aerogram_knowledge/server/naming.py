"""Naming: what the library says of its tools, in the words of HTTP: addresses and their parameters.

A tool takes `query` and `filters`; its address takes `q`, and each filter by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from aerogram.echo import renaming
from aerogram.errors import ValidationFailed
from aerogram.reply import Action, Reply

__all__ = ["addressed", "in_parameters"]

_ADDRESSES: Final = {
    "semantic_search": ("/v1/search", {"query": "q"}),
    "get_chunks": ("/v1/chunks/{id}", {"chunk_ids": "id"}),
    "digest_document": ("/v1/digests", {}),
    "find_vendor_info": ("/v1/vendors/{name}", {"vendor_name": "name"}),
}
"""The address and the renamed arguments of what a tool does."""
_FILTERS: Final = "filters"


def addressed(reply: Reply[Any], tool: str) -> Reply[Any]:
    """A tool's reply with further calls as addresses, and its own arguments as parameters."""
    renamed = _ADDRESSES[tool][1]
    retry = None if reply.retry_with is None else _parameters(reply.retry_with, renamed)
    actions = tuple(one for action in reply.actions for one in _calls(action))
    return reply.replace(actions=actions, retry_with=retry, query_echo=renaming(reply.query_echo, renamed))


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
