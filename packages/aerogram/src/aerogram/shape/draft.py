"""Draft: a reply in the making, what belongs to it until it is sent, and what fell off it."""

from __future__ import annotations

from typing import Any, NamedTuple

from aerogram.content import Content
from aerogram.reply import Ahead, Reply, ResumablePage, Resume
from aerogram.shape.pages import Rows

__all__ = ["Leftover", "ReplyDraft"]


class Leftover(NamedTuple):
    """Something that fell off: its name among the reply's archive hashes, and the content."""

    name: str
    content: Content


class ReplyDraft(NamedTuple):
    """A reply in the making, and what belongs to it until it is sent.

    `value` is the data as its handler had it, `json` that of the data, where it came to be known. `media` are pictures
    and sounds that stood in the outcome; `is_content`: it is content blocks and nothing else, and the data says what
    they are. `resume` gives the cursor that goes on after so many items; `ahead` every row of a walk that begins here,
    so that one which could not end is refused before it begins; `rows` are all rows, where this path pages them.
    `whole_rows`: they stay whole and in their order; `is_archived`: they come from the archive. `leftovers` are to be
    archived, each whole and with what was shown of it. `source` is the text that the data was read from.
    `is_too_large`: it is known that the data does not fit as it is, or the text that it was read from.
    """

    reply: Reply[Any]
    json: bytes | None = None
    value: Any = None
    media: tuple[dict[str, Any], ...] = ()
    is_content: bool = False
    resume: Resume | None = None
    ahead: Ahead | None = None
    rows: Rows | None = None
    whole_rows: bool = False
    cites_unasked: bool = False
    is_archived: bool = False
    leftovers: tuple[Leftover, ...] = ()
    source: str | None = None
    is_too_large: bool = False

    def with_page(self, page: ResumablePage) -> ReplyDraft:
        """The draft with what goes on inside of a page that its handler made."""
        return self._replace(
            resume=page.resume,
            ahead=page.ahead,
            whole_rows=page.whole_rows,
            cites_unasked=page.cites_unasked,
            is_archived=page.is_archived,
        )
