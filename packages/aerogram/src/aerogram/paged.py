"""Paged: a page that its maker knows how to go on with from any of its items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from aerogram.reply import Reply

__all__ = ["Ahead", "Paged", "Resume"]

Resume: TypeAlias = Callable[[int], str]
"""Gives the cursor that goes on after the first so many items of a page."""
Ahead: TypeAlias = Callable[[], list[Any]]
"""Gives every row of a walk."""


class _Page(NamedTuple):
    reply: Reply[Any]
    resume: Resume | None = None


class Paged(_Page):
    """A page as a reply, and what goes on inside of it when not all of it can be sent.

    A handler that makes its own pages may return one; with the reply alone, what does not fit is told as left out.
    Where a walk begins, and all of its rows are at hand, `ahead` gives them.
    """

    ahead: Ahead | None = None

    def beginning(self, ahead: Ahead | None) -> Paged:
        """The page as the first one of a walk through these rows."""
        first = Paged(*self)
        first.ahead = ahead
        return first
