"""Wording: which sentences of a digest's summary and key points are the text's own.

Line breaks and runs of blanks do not count. A sentence without an end mark may be followed by another one, if a line
of the text ends there. What is in other words may be true all the same: nobody can tell by looking.
"""

# ruff: noqa: RUF001  it knows the signs of many scripts

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from aerogram.digest.payload import DigestPayload

_SENTENCE_END = re.compile(r"(?<=[.!?…।؟۔])\s+|(?<=[。！？｡])\s*|\s*\n\s*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_CLAUSE_END = ",;:、，；：—–"
# a sentence that was too long for a digest is cut anywhere
_LONG = 60


@dataclass(frozen=True, slots=True)
class Unfound:
    """A sentence that is not from the text, and the field that has it."""

    field: str
    text: str


def unfound_in(payload: DigestPayload, text: str) -> tuple[Unfound, ...]:
    """The sentences of summary and key points that do not stand in a canonical text."""
    words = _Words(text)
    return tuple(Unfound(field, one) for field, one in _sentences(payload) if not words.have(one))


def _sentences(payload: DigestPayload) -> Iterator[tuple[str, str]]:
    fields = {"summary": payload.summary}
    fields |= {f"key_points[{number}]": point for number, point in enumerate(payload.key_points)}
    for field, said in fields.items():
        yield from ((field, one.strip()) for one in _SENTENCE_END.split(said) if one.strip())


class _Words:
    """A text without regard to its blanks."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _line(self) -> str:
        return " ".join(self._text.split())

    @cached_property
    def _unspaced(self) -> str:
        return "".join(self._text.split())

    def have(self, sentence: str) -> bool:
        """Whether a sentence stands in the text, or several do that run on."""
        if self._has(sentence):
            return True
        words = sentence.split()
        # the longest beginning first: where it stops is where another sentence may begin
        for count in reversed(range(1, self._shared(words) + 1)):
            if self._ends(words[:count]) and self.have(" ".join(words[count:])):
                return True
        return False

    def _has(self, piece: str) -> bool:
        if _UNSPACED.search(piece):
            return "".join(piece.split()) in self._unspaced
        said = " ".join(piece.split())
        # most of what is asked for is there, and this is the quick way to see what is not
        return said in self._line and re.search(_whole(re.escape(said), said), self._line) is not None

    def _shared(self, words: list[str]) -> int:
        """How many words at the beginning stand in the text as they are, the last one left over."""
        least, most = 0, len(words) - 1
        while least < most:
            middle = (least + most + 1) // 2
            least, most = (middle, most) if self._has(" ".join(words[:middle])) else (least, middle - 1)
        return least

    def _ends(self, words: list[str]) -> bool:
        """Whether a sentence may end after these words."""
        piece = " ".join(words)
        if len(piece) >= _LONG or piece[-1] in _CLAUSE_END or _UNSPACED.search(piece):
            return True
        at_line_end = _whole(r"\s+".join(map(re.escape, words)), piece) + r"[ \t]*(?:[\n\f]|\Z)"
        return re.search(at_line_end, self._text) is not None


def _whole(pattern: str, said: str) -> str:
    """The pattern of something said that begins and ends where words do."""
    return (r"(?<!\w)" if said[0].isalnum() else "") + pattern + (r"(?!\w)" if said[-1].isalnum() else "")
