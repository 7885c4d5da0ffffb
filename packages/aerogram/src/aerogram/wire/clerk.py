"""Clerk: what an exchange has done for it by whoever knows contracts, which are above it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aerogram.paged import Paged
from aerogram.reply import Notice, Reply

__all__ = ["Clerk"]


class Clerk(Protocol):
    """What is done for an exchange: limits, cache, the finished reply, observation."""

    is_idle: bool
    is_observed: bool

    def check(self, exchange: Any) -> None:
        """Raise what is wrong with the controls of a request, before its handler changes anything."""

    async def admit(self, exchange: Any) -> None:
        """Raise unless the caller may go on."""

    async def run(self, exchange: Any, handler: Callable[[], Awaitable[Any]]) -> Any:
        """What the handler returns, or what is known already."""

    async def answer(self, outcome: Any, exchange: Any) -> tuple[Reply[Any], bytes | None]:
        """The finished reply to what a handler returned or raised, and the JSON of its data if that is known."""

    async def within(self, found: Paged, exchange: Any, max_tokens: int) -> Reply[Any]:
        """The finished reply within a size, in the shape in which it is sent."""

    async def retrieve(self, exchange: Any, hash: str, *, ids: Sequence[str], path: str, as_text: bool) -> Reply[Any]:
        """What a reply left out."""

    async def fetch(
        self, wanted: Any, exchange: Any, max_tokens: int | None, notices: tuple[Notice, ...] = ()
    ) -> Reply[Any]:
        """What a reply left out, within a size in any shape, with what else there is to tell."""

    async def forgive(self, exchange: Any) -> None:
        """Give back what a failed call has taken."""

    def observed(self, exchange: Any) -> AbstractContextManager[Any]:
        """The exchange under observation."""
