"""Sections: where the headings of a document stand, so that a chunk knows what it belongs to.

Each kind of document marks headings in its own way; the result is the same: spans of the canonical text, each with
the trail of headings above it. A heading whose words no trail has is in a section too: one with nothing below it is a
section of its own, one that is too long for a trail begins the section below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from aerogram.digest.sources import html
from aerogram.digest.text import normalise, page_spans

__all__ = ["Section", "code_spans", "sections_of"]

LONGEST_HEADING: Final = 160
TRAIL: Final = " > "

_ATX: Final = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_SETEXT: Final = re.compile(r"^([^\n#>|`\s-][^\n]{0,159})\n(=+|-{3,})$", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*(?:```[^`\n]*|~~~[^\n]*)$", re.MULTILINE)
_RST: Final = re.compile(r"^(\S[^\n]{0,159})\n([=\-`:'\"~^_*+#<>.])\2{2,}$", re.MULTILINE)
_HTML: Final = re.compile(r"<h([1-6])\b[^>]{0,500}>(.{0,2000}?)</h\1\s*>", re.IGNORECASE | re.DOTALL)
_MARKS: Final = re.compile(r"(?<!\w)[*_`]+|[*_`]+(?!\w)|!?\[([^\]]*)\]\([^)]*\)")
_WORD: Final = re.compile(r"[^\W_]+")


class Heading(NamedTuple):
    """A heading: where its lines start and end in the text, its level, its words, and where these stand."""

    start: int
    end: int
    level: int
    words: str
    place: tuple[int, int]

    def is_whole_in(self, text: str) -> bool:
        """Whether its words are all that stands in the text."""
        return set(_WORD.findall(text, *self.place)) <= set(_WORD.findall(self.words))


class Section(NamedTuple):
    """A span of the text below a heading, and the trail of headings that leads to it."""

    start: int
    end: int
    trail: tuple[str, ...]

    def header(self, title: str) -> str:
        """The trail as a context header, beginning with the document's title."""
        steps = self.trail if self.trail and self.trail[0] == title else (title, *self.trail)
        return TRAIL.join(steps)


def sections_of(text: str, kind: str, markup: str = "") -> list[Section]:
    """The sections of a canonical text; `markup` is what an HTML page was made of."""
    if kind == "pdf":
        return [Section(a, b, (f"page {n}",)) for n, (a, b) in enumerate(page_spans(text), 1) if text[a:b].strip()]
    if kind == "html":
        return list(_spans(text, _html(text, markup)))
    finders = {"markdown": _markdown, "rst": _rst}  # plain text has no headings that can be told for sure
    return list(_spans(text, finders[kind](text) if kind in finders else ()))


def _spans(text: str, headings: Iterable[Heading]) -> Iterator[Section]:
    start, trail = 0, []  # type: tuple[int, list[Heading]]
    for heading in (*headings, None):
        stop = len(text) if heading is None else heading.start
        steps = tuple(one.words for one in trail)
        is_empty = not text[start:stop].strip()
        last = trail[-1] if trail else None
        if last is not None and not last.is_whole_in(text):
            yield Section(last.place[0], last.place[1] if is_empty else stop, steps)
        elif not is_empty:
            yield Section(start, stop, steps)
        elif last is not None and (heading is None or heading.level <= last.level):
            yield Section(*last.place, steps)
        if heading is not None:
            trail = [*(one for one in trail if one.level < heading.level), heading]
            start = heading.end


def _markdown(text: str) -> list[Heading]:
    found = [Heading(*one.span(), len(one[1]), _plain(one[2]), one.span(2)) for one in _ATX.finditer(text)]
    found += [
        Heading(*one.span(), 1 if one[2][0] == "=" else 2, _plain(one[1]), one.span(1))
        for one in _SETEXT.finditer(text)
    ]
    return list(_outside(code_spans(text), sorted(one for one in found if one.words)))


def _outside(blocks: Iterable[tuple[int, int]], headings: Iterable[Heading]) -> Iterator[Heading]:
    """The headings that do not stand in a block of code; both are in order, so each is looked at once."""
    remaining = iter(blocks)
    block = next(remaining, None)
    for heading in headings:
        while block is not None and block[1] <= heading.start:
            block = next(remaining, None)
        if block is None or heading.start < block[0]:
            yield heading


def code_spans(text: str) -> list[tuple[int, int]]:
    """Where blocks of code stand, with their first and last lines, the fences."""
    marks = [one.span() for one in _FENCE.finditer(text)]
    ends = [*(end for _, end in marks[1::2]), len(text.rstrip())]
    return [(start, end) for (start, _), end in zip(marks[::2], ends, strict=False)]


def _rst(text: str) -> list[Heading]:
    """Underlined lines; the order in which the underlines first appear is their rank."""
    ranks: dict[str, int] = {}
    return [
        Heading(*one.span(), ranks.setdefault(one[2], len(ranks) + 1), _plain(one[1]), one.span(1))
        for one in _RST.finditer(text)
    ]


def _html(text: str, markup: str) -> list[Heading]:
    """Each heading element, found again as a line of the text."""
    found, position = [], 0
    for element in _HTML.finditer(markup):
        words = " ".join(normalise(html.extract(element[2])).split())
        place = _line(text, words, position) if words else -1
        if place >= 0:
            position = place + len(words)
            found.append(Heading(place, position, int(element[1]), words[:LONGEST_HEADING], (place, position)))
    return found


def _line(text: str, words: str, start: int) -> int:
    """Where a whole line with these words starts, from `start` on."""
    place = text.find(words, start)
    while place >= 0:
        end = place + len(words)
        if (place == 0 or text[place - 1] == "\n") and (end == len(text) or text[end] == "\n"):
            return place
        place = text.find(words, place + 1)
    return -1


def _plain(words: str) -> str:
    """A heading without the marks of emphasis and links."""
    return _MARKS.sub(lambda mark: mark[1] or "", words).strip()[:LONGEST_HEADING]
