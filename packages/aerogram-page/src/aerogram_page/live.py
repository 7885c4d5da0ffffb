"""Live: the replies that a server is sending, as a feed of events; never what they say or who asked for what.

    observer ──heard──▶ Feed ──▶ the last hundred, and everything from now on, to each follower

A follower that does not keep up loses events and is told how many; the server never waits for one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aerogram.channels import Sizer
from aerogram.content.jsontext import dumps
from aerogram.reply import Reply, utc_timestamp
from aerogram.telemetry import Listener, Observation
from aerogram_page.paths import FILES

__all__ = ["PAGE", "Event", "Feed"]

KEPT: Final = 100
WAITING: Final = 256
"""Events that may wait for one follower."""
MOST_FOLLOWERS: Final = 16
GLANCE: Final = 0.5
"""Seconds between two looks at whether the server still runs."""
HEARTBEAT: Final = 15.0
"""Seconds after which a silent stream says that it lives."""
PAGE: Final = "page"
"""What the page's own requests are called; they are nothing that a server has been asked."""
_LONGEST_NAME: Final = 120


@dataclass(frozen=True, slots=True)
class Event:
    """One reply that was sent."""

    number: int
    facts: Mapping[str, Any]

    def encode(self) -> bytes:
        """The event as it stands in a stream of server-sent events."""
        return b"id: %d\nevent: reply\ndata: %s\n\n" % (self.number, dumps(dict(self.facts)))


@dataclass(slots=True, eq=False)
class _Follower:
    loop: asyncio.AbstractEventLoop
    waiting: deque[Event] = field(default_factory=lambda: deque(maxlen=WAITING))
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    missed: int = 0

    def take(self, event: Event) -> None:
        self.missed += len(self.waiting) == WAITING
        self.waiting.append(event)
        self.loop.call_soon_threadsafe(self.woken.set)


class Feed:
    """Hears of every reply and tells those who follow, until the server ends."""

    def __init__(self, has_ended: Callable[[], bool] = lambda: False) -> None:
        self._has_ended = has_ended
        self._numbers = itertools.count(1)
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._followers: set[_Follower] = set()

    def listener(self, via: str) -> Listener:
        """What an observer calls for each reply that goes one way: `mcp` or `http`."""

        def hear(
            observation: Observation, reply: Reply[Any], facts: Mapping[str, Any], readings: Mapping[str, float]
        ) -> None:
            if observation.operation in (PAGE, FILES):
                return
            told = _event_facts(via, observation, reply, facts, readings)
            if self._followers and told["tokens"] is None:
                # nobody has counted them; it is only done while somebody looks
                told["tokens"] = Sizer(facts.get("dialect") or "bare", "text")(reply)
                if told["fidelity"] == "full":
                    told["tokens_before"] = told["tokens"]
            self.tell(told)

        return hear

    def tell(self, facts: Mapping[str, Any]) -> int:
        """Tell of one reply; gives the number by which it is known from now on."""
        number = next(self._numbers)
        event = Event(number, {"time": utc_timestamp(), "request_id": str(number), **facts})
        self._kept.append(event)
        for one in tuple(self._followers):
            one.take(event)
        return number

    @property
    def has_room(self) -> bool:
        """Whether one more may follow."""
        return len(self._followers) < MOST_FOLLOWERS

    async def follow(self, after: int = 0) -> AsyncIterator[bytes]:
        """The stream: what was sent lately, then what is being sent; `after` is the last number that is known."""
        me = _Follower(asyncio.get_running_loop())
        me.waiting.extend(event for event in self._kept if event.number > after)
        self._followers.add(me)
        try:
            yield b"retry: 2000\n\n"
            silent = 0.0
            while not self._has_ended():
                if me.missed:
                    yield b"event: gap\ndata: %s\n\n" % dumps({"missed": me.missed})
                    me.missed = 0
                while me.waiting:
                    yield me.waiting.popleft().encode()
                me.woken.clear()
                try:
                    await asyncio.wait_for(me.woken.wait(), GLANCE)
                except TimeoutError:
                    silent += GLANCE
                    if silent >= HEARTBEAT:
                        silent = 0.0
                        yield b": alive\n\n"
        finally:
            self._followers.discard(me)


def _event_facts(
    via: str, observation: Observation, reply: Reply[Any], facts: Mapping[str, Any], readings: Mapping[str, float]
) -> dict[str, Any]:
    """What an event says: words and numbers about the reply, nothing of its content."""
    return {
        "operation": observation.operation[:_LONGEST_NAME],
        "via": via,
        "dialect": facts.get("dialect"),
        "status": reply.status,
        "fidelity": None if reply.problem is not None else facts.get("fidelity"),  # a failure is no complete reply
        "problem": facts.get("error.type"),
        "size": readings.get("size"),
        "tokens": readings.get("tokens"),
        "tokens_before": readings.get("tokens.before"),
        "dropped": readings.get("dropped", 0),
        "cache_hit": facts.get("cache_hit", False),
        "ms": round(readings["duration"] * 1000, 1),
        "request_id": reply.request_id or observation.request_id,
    }
