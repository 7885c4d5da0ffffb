"""PDF: the words of each page, through pdfium.

pdfium is not safe to use from two threads, so one lock guards it for the process.
"""

# ruff: noqa: RUF001  it knows the signs of many scripts

from __future__ import annotations

import re
import threading
from contextlib import closing
from itertools import pairwise
from typing import Any

from aerogram.digest.limits import Deadline, ReadLimits, UnreadableSource
from aerogram.digest.sources.encoding import is_text
from aerogram.digest.text import PAGE_BREAK
from aerogram.errors import MissingExtra

_LOCK = threading.Lock()
_HEADER = b"%PDF-"
_HEADER_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*+" + _HEADER)
# a PDF may have this many bytes of something else before its header
_AHEAD = 1024
# pdfium marks a hyphen that only a line break needed; the word is whole without it
_BROKEN_WORD = re.compile("[\ufffe\x02](?:\r?\n)?")
_SIGN = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f"
_OPEN_END = re.compile(f"[{_SIGN}](?<![。！？])$")
_SIGN_START = re.compile(f"[{_SIGN}]")
_FULL_LINE = 0.8
_NAMED = 10


def extract(content: bytes, limits: ReadLimits, deadline: Deadline) -> tuple[str, tuple[str, ...]]:
    """The pages' words with page breaks between them, and notes on the pages that could not be read."""
    pdfium = _pdfium()
    left = deadline.seconds_left
    if not _LOCK.acquire(timeout=-1 if left is None else min(max(0.0, left), threading.TIMEOUT_MAX)):
        raise deadline.timeout_error()
    try:
        with closing(_open(pdfium, content)) as document:
            return _read_pages(pdfium, document, limits, deadline)
    finally:
        _LOCK.release()


def is_pdf(content: bytes, called_pdf: bool = False) -> bool:
    """Whether these bytes are a PDF: they begin as one, or have its header a little later and are no text.

    What is called a PDF anyway only needs the header; a text may speak of it.
    """
    start = content[:_AHEAD]
    if _HEADER_FIRST.match(start):
        return True
    return _HEADER in start and (called_pdf or not is_text(content))


def version() -> str:
    """The version of pdfium, which decides what the text of a page is."""
    return str(_pdfium().PDFIUM_INFO)


def _pdfium() -> Any:
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingExtra("digest", "pypdfium2") from error
    return pypdfium2


def _open(pdfium: Any, content: bytes) -> Any:
    try:
        document = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower():
            raise UnreadableSource("encrypted", "the PDF is encrypted; remove its password first") from error
        raise UnreadableSource("broken", "the PDF is broken and cannot be opened") from error
    return document


def _read_pages(pdfium: Any, document: Any, limits: ReadLimits, deadline: Deadline) -> tuple[str, tuple[str, ...]]:
    limits.check_pages(len(document))
    pages: list[str] = []
    unread: list[int] = []
    total = 0
    for number in range(len(document)):
        deadline.check()
        try:
            words = _page_words(document, number, limits)
        except pdfium.PdfiumError:
            words = ""
            unread.append(number + 1)
        total += len(words)
        limits.check_unpacked(total)
        pages.append(words)
    return PAGE_BREAK.join(pages), _note(unread)


def _page_words(document: Any, number: int, limits: ReadLimits) -> str:
    with closing(document[number]) as page, closing(page.get_textpage()) as words:
        limits.check_unpacked(words.count_chars())
        return _mend(words.get_text_range().replace(PAGE_BREAK, "\n"))


def _mend(words: str) -> str:
    """Undo what line breaks did to words."""
    lines = _BROKEN_WORD.sub("", words).replace("\r\n", "\n").split("\n")
    full = _FULL_LINE * max(map(len, lines))
    mended = [lines[0]]
    for previous, line in pairwise(lines):
        # scripts without blanks break a full line anywhere, inside a word too
        joined = len(previous) >= full and _OPEN_END.search(previous) and _SIGN_START.match(line)
        mended.append(line if joined else "\n" + line)
    return "".join(mended)


def _note(unread: list[int]) -> tuple[str, ...]:
    if not unread:
        return ()
    named = ", ".join(map(str, unread[:_NAMED])) + (" …" if len(unread) > _NAMED else "")
    return (f"{len(unread)} pages could not be read: {named}",)
