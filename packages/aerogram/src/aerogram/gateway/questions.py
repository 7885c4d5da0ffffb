"""Questions: what a legacy server asks in the middle of a call, for a client that is asked by unfinished results.

tools/call ──▶ the server asks ──▶ `input_required`, with a state that nobody can guess; the call waits here
tools/call with the answers and that state ──▶ the server gets them ──▶ its answer, or the next question
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Coroutine, Mapping
from typing import Any, Final

import mcp_types
from mcp.shared.exceptions import MCPError

from aerogram.content.jsontext import dumps
from aerogram.gateway.eras import read_object

__all__ = ["INTERACTIVE", "Calls", "Questions"]

INTERACTIVE: Final = frozenset(("tools/call", "prompts/get", "resources/read"))
"""The requests that may be answered by a question."""
PATIENCE: Final = 600.0
"""Seconds that a call waits for its answers."""
_ROUND: Final = ("inputResponses", "requestState", "_meta")

Message = dict[str, Any]


class Questions:
    """What a server wants to know, until somebody asks the client."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Message, asyncio.Future[Message]]] = {}
        self.some = asyncio.Event()

    async def ask(self, method: str, params: Mapping[str, Any] | None) -> Message:
        """The client's answer."""
        key, answer = secrets.token_hex(4), asyncio.get_running_loop().create_future()
        self._open[key] = ({"method": method, **({"params": dict(params)} if params else {})}, answer)
        self.some.set()
        try:
            return await asyncio.wait_for(answer, PATIENCE)
        except TimeoutError:
            raise MCPError(mcp_types.INVALID_REQUEST, "The client was not asked in time") from None
        finally:
            self._open.pop(key, None)
            self._note()

    def _note(self) -> None:
        if not self._open:
            self.some.clear()

    def requests(self) -> dict[str, Message]:
        """What is to be asked."""
        return {key: asked for key, (asked, _) in self._open.items()}

    def answer(self, responses: Mapping[str, Any]) -> None:
        """Give the answers to whoever waits for them."""
        for key, response in [(key, dict(read_object(responses, key))) for key in responses]:
            if key in self._open and not self._open[key][1].done():
                self._open.pop(key)[1].set_result(response)
        self._note()


class _Waiting:
    """A call that has been sent to the server, and what it is about."""

    def __init__(self, task: asyncio.Task[Message], about: bytes, questions: Questions, place: Any) -> None:
        self.task, self.about, self.questions, self.place = task, about, questions, place
        self.until = time.monotonic() + PATIENCE


class Calls:
    """The calls that wait for answers of a client."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def place_of(self, params: Mapping[str, Any]) -> Any:
        """Where the call is under way that a request goes on with; None for a request that begins one."""
        found = self._waiting.get(str(params.get("requestState")))
        return None if found is None else found.place

    async def take(
        self,
        questions: Questions,
        method: str,
        params: Mapping[str, Any],
        call: Coroutine[Any, Any, Message],
        place: Any,
    ) -> Message:
        """The outcome of a call: the server's answer, or what the client is to be asked first.

        A request that brings answers goes on with the call that asked for them, and its own is not made. `place` is
        where a call is under way, for whoever goes on with it.
        """
        self._forget_old()
        about, state = _about(method, params), params.get("requestState")
        if state is None:
            waiting = _Waiting(asyncio.ensure_future(call), about, questions, place)
        else:
            call.close()
            found = self._waiting.get(str(state))
            if found is None or found.about != about:
                raise MCPError(
                    mcp_types.INVALID_PARAMS, "This request state is unknown or expired: call again without it"
                )
            waiting = found
            waiting.questions.answer(read_object(params, "inputResponses"))
            del self._waiting[state]
        return await self._wait(waiting)

    async def _wait(self, waiting: _Waiting) -> Message:
        asked = asyncio.ensure_future(waiting.questions.some.wait())
        try:
            await asyncio.wait((waiting.task, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            waiting.task.cancel()
            raise
        finally:
            asked.cancel()
        if waiting.task.done():
            return waiting.task.result()
        state = secrets.token_urlsafe(32)
        waiting.until = time.monotonic() + PATIENCE
        self._waiting[state] = waiting
        requests = waiting.questions.requests()
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}

    def _forget_old(self) -> None:
        now = time.monotonic()
        for state in [state for state, one in self._waiting.items() if one.until < now]:
            self._waiting.pop(state).task.cancel()

    def close(self) -> None:
        """Give up what is still waiting."""
        for one in self._waiting.values():
            one.task.cancel()
        self._waiting.clear()


def _about(method: str, params: Mapping[str, Any]) -> bytes:
    return dumps([method, {name: value for name, value in params.items() if name not in _ROUND}])
