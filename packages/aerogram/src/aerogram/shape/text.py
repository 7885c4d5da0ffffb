"""Text: a long text becomes a marked preview that ends where a reader would stop."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from aerogram.sanitize import FENCED

__all__ = [
    "clip",
    "clip_middle",
    "count_lines",
    "find_entry_mark",
    "first_sentences",
    "page_end",
    "reading_end",
    "shown_before",
    "whole_characters",
]

ELLIPSIS: Final = "…"
_COMBINING: Final = "\u0300"
"""Before this, each code point is a character of its own, apart from an end of line."""
JOINER: Final = "\u200d"
FLAG_LETTERS: Final = "".join(map(chr, range(0x1F1E6, 0x1F200)))
VIRAMA: Final = 9
"""The combining class of the signs that bind two consonants into one character."""
LONGEST_CHARACTER: Final = 64
"""How many code points a cut goes back for at most."""

LONGEST_MARK: Final = 40
LOOK_BACK: Final = 0.15
"""The share of a preview that may be given up to end it at a sentence or a word."""
LONG_LINE: Final = 200
"""So many characters, and at most a fifth, may be given up to end with a whole line."""

_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n")
_LINE_END: Final = re.compile(r"\n")
_HEADING: Final = re.compile(r"\s+#{1,6} [^\n]*\s*$")
_LONE_LINE: Final = re.compile(r"\n[ \t]*\n[^\W\d_][^\n.!?:;,|]{0,60}\s*\Z")
"""A short line between blank ones that ends as no sentence does: the heading of what follows, by all that one sees."""
_MARK: Final = re.compile(rf"{ELLIPSIS} \[\+\d+ chars\]\Z")
_SENTENCE_END: Final = re.compile(r"\n\n|[.!?][\"')\]]?\s|[\u3002\uff01\uff1f]")
_SURE_END: Final = re.compile(r"\n|[^\W\d_]{2}[.!?][\"')\]]?\s|[\u3002\uff01\uff1f]")
"""Where a sentence ends, and no number or initial that has a full stop."""
_WORD_END: Final = re.compile(r"\s|[,;:\u3001\uff0c]")


LOOKED_AT: Final = 8_000
FEWEST_ENTRIES: Final = 4
_NEXT_ENTRY: Final = re.compile(r"(?<!\n)\n\n++(?=\S)")
"""What stands before an entry; what is indented after blank lines belongs to the one before, as in a log of commits."""
_ENTRY: Final = re.compile(r"(?P<first>\S++)[^\n]*\n(?P<second>[^\W\d]\S*)")
_LATER_LINE: Final = re.compile(r"\n([^\W\d]\S*)")
_DIGITS: Final = re.compile(r"\d+")


def _extends(character: str) -> bool:
    """Whether a character only makes sense together with the one before it."""
    if character < _COMBINING:
        return False
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character == JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags of regional flags
        or "\u1160" <= character <= "\u11ff"  # Hangul vowels and finals
    )


def _reaches_on(character: str) -> bool:
    """Whether a character binds the next one to itself: joiners and viramas."""
    return character == JOINER or (character > _COMBINING and unicodedata.combining(character) == VIRAMA)


def _splits_a_flag(text: str, at: int) -> bool:
    if text[at] not in FLAG_LETTERS or text[at - 1] not in FLAG_LETTERS:
        return False
    return (at - len(text[:at].rstrip(FLAG_LETTERS))) % 2 == 1


def _inside_a_character(text: str, at: int) -> bool:
    before, here = text[at - 1], text[at]
    if before < _COMBINING and here < _COMBINING:
        return before == "\r" and here == "\n"
    return _extends(here) or _reaches_on(before) or _splits_a_flag(text, at)


def whole_characters(text: str, at: int) -> int:
    """The largest cut at or before `at` that leaves every user-perceived character whole.

    Where somebody has piled up more than any character has, the cut is at `at`.
    """
    if at >= len(text):
        return len(text)
    if at and not _inside_a_character(text, at):
        return at
    cuts = range(at, max(at - LONGEST_CHARACTER, 0), -1)
    return next((cut for cut in cuts if not _inside_a_character(text, cut)), at if at > LONGEST_CHARACTER else 0)


def _last_match(pattern: re.Pattern[str], text: str, start: int, end: int) -> int | None:
    found = None
    for match in pattern.finditer(text, start, end):
        found = match.end()
    return found


def _sensible_cut(text: str, at: int) -> int:
    """A little before `at`, where a sentence or at least a word ends; else `at` itself."""
    start = at - int(at * LOOK_BACK)
    for pattern in (_SENTENCE_END, _WORD_END):
        cut = _last_match(pattern, text, start, at)
        if cut:
            return cut
    return at


def reading_end(text: str, at: int, entry_mark: str | None = None) -> int:
    """The cut at or before `at` where a reader of a long text stops, without the blanks before it.

    A heading that nothing follows belongs to what is not shown, and so does the little that there is of an entry.
    """
    cut = page_end(text, at)
    if cut == len(text):
        return cut
    if entry_mark is not None and not _NEXT_ENTRY.match(text, len(text[:cut].rstrip("\n"))):
        start = _last_match(_NEXT_ENTRY, text, cut - _given_up(at), cut)
        cut = start or cut
    heading = _LONE_LINE.search(text, max(cut - LONG_LINE, 0), cut)
    return len(text[: heading.start() if heading else cut].rstrip()) or cut


def _given_up(at: int) -> int:
    """How many characters may be given up to end with a whole line or entry."""
    return max(at // 20, min(at // 5, LONG_LINE))


def page_end(text: str, at: int) -> int:
    """The cut at or before `at` after a paragraph, a line, a sentence or a word, from which the next page goes on.

    A heading that nothing follows belongs to what is not shown.
    """
    if at >= len(text):
        return len(text)
    near = ((_PARAGRAPH_END, at // 20), (_LINE_END, _given_up(at)))
    cut = next((found for one, back in near if (found := _last_match(one, text, at - back, at))), 0)
    cut = whole_characters(text, cut or _sensible_cut(text, at)) or at
    heading = _HEADING.search(text, max(cut - 200, 0), cut)
    return heading.start() if heading and heading.start() else cut


def count_lines(text: str, end: int) -> int:
    """How many lines begin before a place in a text."""
    return text.count("\n", 0, end - 1) + 1 if end else 0


def find_entry_mark(text: str) -> str | None:
    """What stands once in each entry of a text that is made of them, blank lines between, such as a log of commits.

    Their first lines begin with the same word, numbers aside, and one of the others as well: by that they are counted.
    """
    first_end = _NEXT_ENTRY.search(text, 0, LOOKED_AT)
    if first_end is None or _ENTRY.match(text, first_end.end(), LOOKED_AT) is None:  # of most texts this tells
        return None
    parts = [one.strip("\n") for one in _NEXT_ENTRY.split(text[:LOOKED_AT])[1:-1]]
    found = [_ENTRY.match(one) for one in parts]
    firsts = {one and _DIGITS.sub("0", one["first"]) for one in found}
    if len(parts) < FEWEST_ENTRIES or len(firsts) > 1 or None in firsts:
        return None
    words = [_LATER_LINE.findall(one) for one in parts]
    return next((f"\n{word}" for word in words[0] if all(one.count(word) == 1 for one in words)), None)


def shown_before(shown: str) -> int | None:
    """How many characters of a text are shown by what `clip` made of it; None where no mark says how many are missing.

    The mark is what it ends with, or what is between the marks of a fence: a text may have such words of its own.
    """
    fenced = FENCED.fullmatch(shown)
    inside = shown if fenced is None else fenced["inside"]
    found = _MARK.search(inside, max(len(inside) - LONGEST_MARK, 0))
    return None if found is None else found.start() + (0 if fenced is None else len(fenced["opening"]))


def clip(text: str, limit: int) -> str:
    """The text, or its beginning with a mark that says how much is missing; at most `limit` characters.

    What is between the marks of a fence stays between them.
    """
    if len(text) <= limit:
        return text
    fenced = FENCED.fullmatch(text)
    if fenced is None:
        return _clip(text, limit)
    opening, inside, closing = fenced["opening"], fenced["inside"], fenced["closing"]
    room = limit - len(opening) - len(closing)
    if room < 1:
        return ELLIPSIS if limit > 0 else ""
    return f"{opening}{_clip(inside, room)}{closing}"


def clip_middle(text: str, limit: int) -> str:
    """The text, or its beginning and its end with a mark between them; at most `limit` characters.

    What a program says of a failure ends with the cause as often as it begins with it.
    """
    if len(text) <= limit:
        return text
    at = len(text) - limit // 3
    near = (one.search(text, at, at + int(limit * LOOK_BACK)) for one in (_LINE_END, _WORD_END))
    at = next((found.end() for found in near if found), whole_characters(text, at))
    joint = "\n" if "\n" in text else " "
    return f"{_clip(text[:at], limit - len(text) + at - 1)}{joint}{text[at:]}"


def first_sentences(text: str, limit: int) -> str:
    """The first sentences of a text that fit; where the first does not, its beginning, as `clip` has it."""
    end = _last_match(_SURE_END, text, 0, limit + 1)
    return text[:end].rstrip() if end else clip(text, limit)


def _clip(text: str, limit: int) -> str:
    room = limit - len(f"{ELLIPSIS} [+{len(text)} chars]")
    if room < 1:
        return text[: whole_characters(text, max(limit - 1, 0))] + ELLIPSIS if limit > 0 else ""
    cut = whole_characters(text, _sensible_cut(text, room))
    kept = text[:cut].rstrip()
    return f"{kept}{ELLIPSIS} [+{len(text) - len(kept)} chars]"
