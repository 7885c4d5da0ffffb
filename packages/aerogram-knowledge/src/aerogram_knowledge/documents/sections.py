"""Sections: where the headings of a document stand, so that a chunk knows what it belongs to.

Each kind of document marks headings in its own way; the result is the same: spans of the canonical text, each with
the trail of headings above it. A heading whose words no trail has is in a section too: one with nothing below it is the
beginning of the next section, or the end of the last one; one that is too long for a trail begins the section below it.

Blocks are spans that lose their sense when they are cut: code, tables, definitions with their terms. What a page says
to lead elsewhere is in no section, unless there is nothing else.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from aerogram.digest.sentences import blocks_of
from aerogram.digest.sources import html
from aerogram.digest.text import normalise, page_spans

__all__ = ["Layout", "Section", "Span", "layout_of"]

LONGEST_HEADING: Final = 160
TRAIL: Final = " > "

_ATX: Final = re.compile(r"^(#{1,6})[ \t]+(.+)$", re.MULTILINE)
_SETEXT: Final = re.compile(r"^([^\n#>|`\s-][^\n]{0,159})\n(=+|-{3,})$", re.MULTILINE)
_RST: Final = re.compile(
    # the names by which other pages refer to a heading stand above it
    r"^((?:\.\. _[^\n]{1,160}:\n{1,2}){0,4}+(\S[^\n]{0,159}))\n([=\-`:'\"~^_*+#<>.])\3{2,}$",
    re.MULTILINE,
)
_TABLE: Final = re.compile(r"(?:^[ \t]*\|[^\n]*(?:\n|\Z)){2,}", re.MULTILINE)
_LINE: Final = re.compile(r"[^\n\f]+")
_RAW_LINE: Final = re.compile("[^\n\r\v\f\x85\u2028\u2029]+")
_ANCHOR: Final = re.compile(r"\s*[¶§🔗\uf0c1]+$|\s+#$|^-\s+")
_MARKS: Final = re.compile(r"(?<!\w)[*_`]+|[*_`]+(?!\w)|!?\[([^\[\]]*)\]\([^)\[]*\)")
_WORD: Final = re.compile(r"[^\W_]+")


Span = tuple[int, int]


class Heading(NamedTuple):
    """A heading: where its lines start and end in the text, its level, its words, and where these stand.

    `reach` is where the element ends that it is the heading of, if it is only of that.
    """

    start: int
    end: int
    level: int
    words: str
    place: Span
    reach: int = sys.maxsize

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


class Layout(NamedTuple):
    """The sections of a text in order, and its blocks, an outer one before those that are in it."""

    sections: tuple[Section, ...]
    blocks: tuple[Span, ...]


def layout_of(text: str, kind: str, markup: str = "") -> Layout:
    """The sections and blocks of a canonical text; `markup` is what an HTML page was made of."""
    if kind == "pdf":
        pages = enumerate(page_spans(text), 1)
        return Layout(tuple(Section(a, b, (f"page {n}",)) for n, (a, b) in pages if text[a:b].strip()), ())
    around: list[Span] = []
    if kind == "html":
        headings, blocks, around = _html(text, markup)
    else:
        finders = {"markdown": _markdown, "rst": _rst}  # plain text has no headings that can be told for sure
        headings, blocks = finders[kind](text) if kind in finders else [], _marked_blocks(text)
    sections = _join_stubs(text, _spans(text, headings))
    kept = [part for section in sections for part in _cut_out(section, around, text)] if around else sections
    return Layout(tuple(kept or sections), tuple(sorted(blocks, key=lambda one: (one[0], -one[1]))))


def _spans(text: str, headings: Iterable[Heading]) -> Iterator[tuple[Section, bool]]:
    """The sections, and of each whether it is only a heading."""
    start, trail, told = 0, [], set()  # type: tuple[int, list[Heading], set[Heading]]
    for heading in (*headings, None):
        stop = len(text) if heading is None else heading.start
        ends = sorted({one.reach for one in trail if one.reach < stop})
        for end in (*ends, stop):
            is_done = heading is None or not trail or heading.level <= trail[-1].level or trail[-1].reach <= end
            for section, is_stub in _section(text, start, end, trail, is_done=is_done):
                # the headings above one without a body that nothing else is below are without a body too
                first = next((one.place[0] for one in trail if one not in told), section.start)
                yield section._replace(start=first) if is_stub else section, is_stub
                told.update(trail)
            start, trail = end, [one for one in trail if one.reach > end]
        if heading is not None:
            trail = [*(one for one in trail if one.level < heading.level), heading]
            start = heading.end


def _section(
    text: str, start: int, stop: int, trail: list[Heading], *, is_done: bool
) -> Iterator[tuple[Section, bool]]:
    """What stands between two headings, below a trail; nothing more comes below the last of them when it is done."""
    steps = tuple(one.words for one in trail)
    is_empty = not text[start:stop].strip()
    last = trail[-1] if trail and trail[-1].end == start else None
    if last is not None and not last.is_whole_in(text):
        yield Section(last.place[0], last.place[1] if is_empty else stop, steps), is_empty
    elif not is_empty:
        yield Section(start, stop, steps), False
    elif last is not None and is_done:
        yield Section(*last.place, steps), True


def _join_stubs(text: str, found: Iterable[tuple[Section, bool]]) -> list[Section]:
    """The sections; a heading without anything below it is no passage, so it goes with a neighbour."""
    sections: list[Section] = []
    waiting: Section | None = None
    for section, is_stub in found:
        if is_stub:
            waiting = waiting or section
            last = section
        else:
            sections.append(section if waiting is None else section._replace(start=waiting.start))
            waiting = None
    if waiting is None:
        return sections
    rest = waiting._replace(end=last.end)
    if not sections:
        return [rest]
    *others, before = sections
    is_repeated = text[rest.start : rest.end].strip() == text[before.start : before.end].strip()
    return sections if is_repeated else [*others, before._replace(end=rest.end)]


def _cut_out(section: Section, around: list[Span], text: str) -> Iterator[Section]:
    """What is left of a section without some spans, which are in order and do not overlap."""
    start = section.start
    first = bisect_right(around, section.start, key=lambda span: span[1])
    for left, right in (*takewhile(lambda span: span[0] < section.end, around[first:]), (section.end, section.end)):
        if text[start:left].strip():
            yield section._replace(start=start, end=left)
        start = max(start, right)


def _marked_blocks(text: str) -> list[Span]:
    code = _code_spans(text)
    starts = [start for start, _ in code]
    tables = [(one.start(), one.start() + len(one[0].rstrip())) for one in _TABLE.finditer(text)]
    return [
        *code,
        *(one for one in tables if (last := bisect_right(starts, one[0])) == 0 or code[last - 1][1] <= one[0]),
    ]


def _markdown(text: str) -> list[Heading]:
    found = list(map(_atx_heading, _ATX.finditer(text)))
    found += [
        Heading(*one.span(), 1 if one[2][0] == "=" else 2, _plain(one[1]), one.span(1))
        for one in _SETEXT.finditer(text)
    ]
    return list(_outside(_code_spans(text), sorted(one for one in found if one.words)))


def _atx_heading(found: re.Match[str]) -> Heading:
    """A heading that begins with `#`, and may end so."""
    words = found[2].rstrip("#").rstrip(" \t") or found[2][0]
    return Heading(*found.span(), len(found[1]), _plain(words), (found.start(2), found.start(2) + len(words)))


def _outside(blocks: Iterable[Span], headings: Iterable[Heading]) -> Iterator[Heading]:
    """The headings that stand in none of the blocks; both are in order, so each is looked at once."""
    remaining = iter(blocks)
    block = next(remaining, None)
    for heading in headings:
        while block is not None and block[1] <= heading.start:
            block = next(remaining, None)
        if block is None or heading.start < block[0]:
            yield heading


def _code_spans(text: str) -> list[Span]:
    """Where blocks of code stand, with their first and last lines, the fences."""
    return [(one.start, one.start + len(text[one.start : one.end].rstrip())) for one in blocks_of(text)]


def _rst(text: str) -> list[Heading]:
    """Underlined lines; the order in which the underlines first appear is their rank."""
    ranks: dict[str, int] = {}
    found = [
        Heading(*one.span(), ranks.setdefault(one[3], len(ranks) + 1), _plain(one[2]), one.span(1))
        for one in _RST.finditer(text)
    ]
    return [one for one in found if one.words]


def _html(text: str, markup: str) -> tuple[list[Heading], list[Span], list[Span]]:
    """The headings, blocks and navigation of a page, at their places in its canonical text."""
    found = html.outline(markup)
    raw = [one.span() for one in _RAW_LINE.finditer(found.text) if normalise(one[0]).strip()]
    lines = [one.span() for one in _LINE.finditer(text)]
    if len(raw) != len(lines):
        return [], [], []  # another text than that of the page
    starts, ends = [start for start, _ in raw], [end for _, end in raw]
    headings, blocks, around = [], [], []  # type: tuple[list[Heading], list[Span], list[Span]]
    for element in found.elements:
        first, last = bisect_right(ends, element.start), bisect_left(starts, element.end) - 1
        if first > last:
            continue
        place = lines[first][0], lines[last][1]
        if element.name[0] == "h":
            words = _ANCHOR.sub("", " ".join(text[slice(*place)].split()))[:LONGEST_HEADING]
            reach = bisect_left(starts, element.reach)
            end = lines[reach][0] if reach < len(lines) else sys.maxsize
            if words:
                headings.append(Heading(*place, int(element.name[1]), words, place, end))
        else:
            (around if element.name == "nav" else blocks).append(place)
    around = _outermost(around)
    return list(_outside(around, sorted(headings))), blocks, around


def _outermost(spans: list[Span]) -> list[Span]:
    """The spans that are in no other, in order."""
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda one: (one[0], -one[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _plain(words: str) -> str:
    """A heading without the marks of emphasis and links."""
    return _MARKS.sub(lambda mark: mark[1] or "", words).strip()[:LONGEST_HEADING]
