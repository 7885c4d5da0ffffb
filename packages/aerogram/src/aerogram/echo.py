"""Echo: the arguments of a call, said again in its reply, so that whoever asked sees how they were understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from aerogram.normalize.plain import is_plain
from aerogram.reply import QueryEcho, Reply

__all__ = ["echoing", "renaming"]

LONGEST_ECHO: Final = 500
"""How many bytes of arguments are worth repeating to those who sent them."""


def echoing(reply: Reply[Any], arguments: Mapping[str, Any]) -> Reply[Any]:
    """The reply with the arguments of its call, unless it says itself how they were understood."""
    echo = reply.query_echo or QueryEcho()
    if echo.normalized_input:
        return reply
    filters = echo.applied_filters or {}
    said = {name: _single(value) for name, value in arguments.items() if name != "body" and name not in filters}
    if not is_plain(said, LONGEST_ECHO):
        return reply
    return reply.replace(query_echo=replace(echo, normalized_input=said))


def renaming(echo: QueryEcho | None, names: Mapping[str, str]) -> QueryEcho | None:
    """An echo in the names that its caller has sent, where whoever answered knows other ones."""
    if echo is None or not echo.normalized_input:
        return echo
    return replace(echo, normalized_input={names.get(name, name): one for name, one in echo.normalized_input.items()})


def _single(value: Any) -> Any:
    """A parameter as its caller wrote it: in a query every one of them might have come several times."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
