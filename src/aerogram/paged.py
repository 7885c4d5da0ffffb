"""Paged: a page that its maker knows how to go on with from any of its items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from aerogram.reply import Reply

__all__ = ["Paged", "Resume"]

Resume: TypeAlias = Callable[[int], str]
"""Gives the cursor that goes on after the first so many items of a page."""


class Paged(NamedTuple):
    """A page as a reply, and what goes on inside of it when not all of it can be sent.

    A handler that makes its own pages may return one; with the reply alone, what does not fit is told as left out.
    """

    reply: Reply[Any]
    resume: Resume | None = None
