"""Witness: sees what is sent, whoever made it, for those who observe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from aerogram.codes import TABLE
from aerogram.reply import Problem, Reply
from aerogram.telemetry import Observation

__all__ = ["Witness"]

_START: Final = "http.response.start"
_FAILURES: Final = 400


class Witness:
    """Stands before the server that sends the messages of an answer."""

    def __init__(self, send: Callable[[MutableMapping[str, Any]], Awaitable[None]]) -> None:
        self._send = send
        self._status: int | None = None
        self._size = 0

    def __call__(self, message: MutableMapping[str, Any]) -> Awaitable[None]:
        """Note a message, and pass it on."""
        if message["type"] == _START:
            self._status = message["status"]
        self._size += len(message.get("body", b""))
        return self._send(message)

    def tell(self, observation: Observation, status: int | None = None) -> None:
        """Tell of an answer in the framework's own words: a failure is one in any shape, and the rest went well."""
        found = status or self._status
        if found is None:
            return  # nothing was sent
        if found >= _FAILURES:
            observation.sent(Reply.failed(Problem.of(TABLE.of_status(found))), size=self._size)
        else:
            observation.passed(size=self._size)
