"""Locators: where in a canonical text a quotation stands.

`char:a-b` counts from the start of the text, `page:n:char:a-b` from the start of
page n. Characters count from 0, pages from 1, and the end is exclusive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aerogram.digest.text import page_spans
from aerogram.errors import ValidationFailed

LOCATOR_PATTERN = r"^(?:page:[1-9][0-9]{0,8}:)?char:[0-9]{1,12}-[0-9]{1,12}$"
_PARTS = re.compile(r"(?:page:([1-9][0-9]{0,8}):)?char:([0-9]{1,12})-([0-9]{1,12})")


class InvalidLocator(ValidationFailed):
    """A locator that cannot be read, or that points outside its text."""

    code = "INVALID_FORMAT"


@dataclass(frozen=True, slots=True)
class Locator:
    """A range of characters, in the whole text or in one page of it."""

    start: int
    end: int
    page: int | None = None

    def __str__(self) -> str:
        place = f"char:{self.start}-{self.end}"
        return place if self.page is None else f"page:{self.page}:{place}"

    @classmethod
    def parse(cls, written: str) -> Locator:
        """The locator that a string says; `InvalidLocator` if it says none."""
        parts = _PARTS.fullmatch(written)
        if parts is None:
            raise InvalidLocator(f"{written!r} is not a locator: char:a-b or page:n:char:a-b")
        page, start, end = parts.groups()
        if int(start) > int(end):
            raise InvalidLocator(f"{written!r} ends before it starts")
        return cls(int(start), int(end), int(page) if page else None)

    def quote(self, text: str) -> str:
        """The characters this points to; `InvalidLocator` if the text does not reach that far."""
        first, last = (0, len(text)) if self.page is None else self._page_of(text)
        if first + self.end > last:
            raise InvalidLocator(f"{self} points outside the text")
        return text[first + self.start : first + self.end]

    def _page_of(self, text: str) -> tuple[int, int]:
        spans = page_spans(text)
        if self.page is None or self.page > len(spans):
            raise InvalidLocator(f"{self} points past page {len(spans)}, the last one")
        return spans[self.page - 1]


def locate(start: int, end: int, pages: Sequence[tuple[int, int]] | None) -> Locator:
    """The locator of a range of the whole text: within its page if there are pages."""
    if pages is None:
        return Locator(start, end)
    low, high = 0, len(pages) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if pages[middle][0] <= start else (low, middle - 1)
    first = pages[low][0]
    return Locator(start - first, end - first, low + 1)
