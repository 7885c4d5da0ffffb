# ruff: noqa: RUF001  it knows the signs of many scripts
"""Sentences: the spans of a canonical text that a quotation may be made of.

Prose is split at its sentence ends; a table row, a line of code, a list item and a
heading are each one sentence. A sentence never crosses a page, and one that is longer
than the limit is cut where it hurts least.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple, cast

from aerogram.digest.terms import word_list
from aerogram.digest.text import page_spans

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_MARK = re.compile(r"\s*(?:`{3,}+(?=[^`\n\f]*+(?:[\n\f]|\Z))|~{3,}+)")
"""A fence that may stand anywhere in a line: what is quoted from there on begins with it."""
_LINE = re.compile(r"(?<![^\n\f])[ \t]*(?:```|~~~)[^\n\f]*")


class CodeBlock(NamedTuple):
    """A block of code with the lines of its fences; one that is not closed goes on to the end of its page."""

    start: int
    end: int
    is_closed: bool


def blocks_of(text: str) -> list[CodeBlock]:
    """All blocks of code in order; none crosses a page."""
    found: list[CodeBlock] = []
    for first, last in page_spans(text):
        fence, opened = "", first
        for line in _LINE.finditer(text, first, last):
            before, fence = fence, fence_after(fence, line[0])
            if fence and not before:
                opened = line.start()
            elif before and not fence:
                found.append(CodeBlock(opened, line.end(), True))
        if fence:
            found.append(CodeBlock(opened, last, False))
    return found


def fence_after(fence: str, line: str) -> str:
    """The fence that is open after a line, if `fence` is before it; none is empty."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) and not line[found.end() :].strip() else fence


def is_fence(line: str) -> bool:
    """Whether a line looks like a fence, wherever it stands."""
    return _FENCE.match(line) is not None


def leaves_open(text: str) -> bool:
    """Whether a text by itself has a fence that nothing closes."""
    return not all(block.is_closed for block in blocks_of(text))


SentenceKind = Literal["prose", "heading", "row", "code"]


class Sentence(NamedTuple):
    """One span of the text; `head` is the place in the list of the heading or table header above it, or -1."""

    start: int
    end: int
    kind: SentenceKind
    page: int
    head: int


# an end mark with its closing quotes: before a blank in scripts that have blanks, anywhere in those that do not;
# possessive and never begun inside a run of marks, so that a line of dots is read once; Khmer's "and so on" has two
_END = re.compile(
    r"(?<![.!?…।॥؟۔])([.!?…।॥؟۔])[.!?…।॥؟۔]*+[\"'”’“‘»«)\]]*+(?=\s)|(?:[。！？｡៕။]|។(?!ល។))++[」』）】”»\"]*+"
)
_LAST_WORD = re.compile(r"([^\W_]+)\.$")
_TERMINATED = re.compile(r"[.!?…।॥؟۔。！？｡។៕៖။:：;；][\"'”’“‘»«)\]」』）】]*$")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦・–—]|\(?[0-9]{1,3}[.)]|\(?[a-zA-Z][.)])\s+\S")
_MARKDOWN_HEADING = re.compile(r"#{1,6}\s+\S")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_CUT_MARKS = re.compile(r"[,;:、，；：—–]|\s")
_SHORT_LINE = 0.7
_HEADING_CHARS = 90
_SHORTEST = 20
_ORDINAL_DIGITS = 2
_MOST_LINES = 1_000
_MARK_CHARS = 8
_MOST_ACCENTS = 16


def split(text: str, limit: int, *, shortest: int = _SHORTEST) -> list[Sentence]:
    """All sentences of a canonical text in order, none longer than `limit` characters.

    What is shorter than `shortest` belongs to what follows it.
    """
    found: list[Sentence] = []
    for page, (start, end) in enumerate(page_spans(text)):
        head = -1
        previous: SentenceKind | None = None
        for first, last, kind in _units(text, start, end):
            heads = kind == "heading" or (kind == "row" and previous != "row")
            if previous == "row" and kind not in ("row", "heading"):
                head = _heading_before(found)
            for a, b in pieces(text, first, last, limit):
                _append(text, found, Sentence(a, b, kind, page, -1 if heads else head), limit, shortest)
            if heads:
                head = len(found) - 1
            previous = kind
    return found


def _append(text: str, found: list[Sentence], sentence: Sentence, limit: int, shortest: int) -> None:
    """Add a sentence; one of a word or two belongs to what follows it, unless a fence stands between them."""
    last = found[-1] if found else None
    if (
        last is not None
        and last.end - last.start < shortest
        and last.kind == sentence.kind
        and last.page == sentence.page
        and sentence.end - last.start <= limit
        and not any(map(is_fence, text[last.end : sentence.start].splitlines()))
    ):
        found[-1] = sentence._replace(start=last.start, head=last.head)
    else:
        found.append(sentence)


def _heading_before(found: list[Sentence]) -> int:
    """The heading that holds again when a table is over."""
    for place in range(len(found) - 1, max(-1, len(found) - 200), -1):
        if found[place].kind == "heading":
            return place
    return -1


def _units(text: str, start: int, end: int) -> Iterator[tuple[int, int, SentenceKind]]:
    """The sentences of one page before the long ones are cut."""
    prose: list[tuple[int, int]] = []
    fence = ""
    for first, last in _lines(text, start, end):
        line = text[first:last]
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        before, fence = fence, fence_after(fence, line) if mark else fence
        kind = "code" if fence or before else _line_kind(line)
        if kind != "prose" or len(prose) == _MOST_LINES:
            yield from _prose_units(text, prose)
            prose = []
        if kind in ("prose", "item"):
            prose.append((first, last))
        elif mark is None and kind != "blank":
            yield first, last, cast("SentenceKind", kind)
        elif mark and len(line[mark.end() :].split()) > (not before):  # one that opens a block may name a language
            yield first + mark.end(), last, "code"
    yield from _prose_units(text, prose)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _line_kind(line: str) -> Literal["prose", "heading", "row", "code", "item", "blank"]:
    if not line:
        return "blank"
    if " | " in line or line[0] == "|" or "\t" in line.lstrip("\t"):
        return "row"
    if _ITEM.match(line):
        return "item"
    if _INDENTED.match(line):
        return "code"
    return "heading" if _MARKDOWN_HEADING.match(line) else "prose"


def _prose_units(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int, SentenceKind]]:
    """A paragraph's sentences. Its lines may be wrapped anywhere; only a line that stops short ends one."""
    width = max((last - first for first, last in lines), default=0)
    first = lines[0][0] if lines else 0
    for number, (line_first, last) in enumerate(lines):
        is_last = number == len(lines) - 1
        stops = not is_last and _stops_short(text, line_first, last, width)
        if not is_last and not stops:
            continue
        if first == line_first and (stops or len(lines) == 1) and _is_heading(text, first, last):
            yield first, last, "heading"
        else:
            yield from _sentences(text, first, last)
        first = last + 1


def _stops_short(text: str, first: int, last: int, width: int) -> bool:
    """Whether a line ends well before the paragraph's width, and not because a sentence ends or goes on below."""
    if last - first >= _SHORT_LINE * width or text[last - 1] in ",-、，" or text[last + 1].islower():
        return False
    return not _TERMINATED.search(text, max(first, last - _MARK_CHARS), last)


def _is_heading(text: str, first: int, last: int) -> bool:
    """Whether a line that stands by itself is short and no end mark closes it."""
    if last - first > _HEADING_CHARS or _ITEM.match(text, first, last):
        return False
    return not _TERMINATED.search(text, max(first, last - _MARK_CHARS), last)


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int, SentenceKind]]:
    first = start
    for place in find_ends(text, start, end):
        if place - first >= _SHORTEST:
            yield first, place, "prose"
            first = place
    if text[first:end].strip():
        yield first, end, "prose"


def find_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where sentences end inside of a span, also those of a word or two."""
    for mark in _END.finditer(text, start, end):
        if mark[1] is None or _ends_sentence(text, mark, start, end):
            yield mark.end()


def _ends_sentence(text: str, mark: re.Match[str], first: int, end: int) -> bool:
    """Whether a sentence ends with a mark: no small letter follows, and a full stop is not that of a short form."""
    following = text[mark.end() : min(end, mark.end() + 8)].lstrip("\"'“„«([ \n\t")
    return not following[:1].islower() and (mark[1] != "." or not _is_short_form(text, first, mark.end()))


def _is_short_form(text: str, first: int, mark_end: int) -> bool:
    """Whether a full stop is that of an abbreviation, an initial or an ordinal."""
    word = _LAST_WORD.search(text, max(first, mark_end - 24), mark_end)
    if word is None:
        return False
    letters = word[1].lower()
    if letters.isdigit():
        return len(letters) <= _ORDINAL_DIGITS
    return len(letters) == 1 or letters in _abbreviations()


@cache
def _abbreviations() -> frozenset[str]:
    return frozenset(word_list("abbreviations"))


def pieces(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """The span without blanks at its ends, in pieces that keep the limit."""
    start, end = _trim(text, start, end)
    while end - start > limit:
        cut = _cut(text, start, start + limit)
        yield _trim(text, start, cut)
        start, end = _trim(text, cut, end)
    if end > start:
        yield start, end


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without blanks at its ends, nor a fence at its beginning: by itself, it would open a block of code."""
    while (fence := _MARK.match(text, start, end)) is not None:
        start = fence.end()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _cut(text: str, start: int, stop: int) -> int:
    """Where to cut a sentence that is too long: at a line end, a clause, a blank, or else between letters."""
    line = text.rfind("\n", start + 1, stop)
    if line > start:
        return line
    marks = [mark.end() for mark in _CUT_MARKS.finditer(text, start + (stop - start) // 2, stop)]
    if marks:
        return marks[-1]
    # an accent stays with its letter, unless somebody has piled them up
    return next((cut for cut in range(stop, stop - _MOST_ACCENTS, -1) if not unicodedata.combining(text[cut])), stop)
