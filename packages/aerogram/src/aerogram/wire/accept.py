"""Accept: which media types a client takes, and how gladly (RFC 9110, section 12.5.1).

A range that is malformed counts for nothing; a header in which every range is malformed counts as absent. Parsing
is linear in the length of the header, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["Match", "Ranges", "parse"]

_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE: Final = re.compile(rf"({_WORD})/({_WORD})")
_QUALITY: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_EVERYTHING: Final = ("*", "*")


class Match(NamedTuple):
    """How well a media type is taken: its quality, and how precisely it was named (2 exactly, 0 by `*/*`)."""

    quality: float
    precision: int


_REFUSED: Final = Match(0.0, 0)


class Ranges:
    """The media ranges of an Accept header; without any, everything is welcome."""

    __slots__ = ("_qualities",)

    def __init__(self, ranges: Iterable[tuple[str, str, float]]) -> None:
        self._qualities: dict[tuple[str, str], float] = {}
        for kind, subtype, quality in ranges:
            held = self._qualities.get((kind, subtype), 0.0)
            self._qualities[kind, subtype] = max(held, quality)
        if not self._qualities:
            self._qualities[_EVERYTHING] = 1.0

    def match(self, media_type: str) -> Match:
        """How well a media type is taken; the most precise range that covers it decides."""
        kind, _, subtype = media_type.partition("/")
        for precision, key in ((2, (kind, subtype)), (1, (kind, "*")), (0, _EVERYTHING)):
            if key in self._qualities:
                return Match(self._qualities[key], precision)
        return _REFUSED

    def names(self, media_type: str) -> bool:
        """Whether this very type is asked for, not merely covered by a wildcard."""
        quality, precision = self.match(media_type)
        return quality > 0 and precision == 2  # noqa: PLR2004 - as `Match` says


def parse(header: str) -> Ranges:
    """The ranges of an Accept header (several headers joined with commas)."""
    return Ranges(found for part in header.split(",") if (found := _range(part)) is not None)


def _range(part: str) -> tuple[str, str, float] | None:
    """Type, subtype and quality of one range; parameters other than q do not narrow it."""
    name, *parameters = part.split(";")
    found = _RANGE.fullmatch(name.strip(" \t").lower())
    if found is None or (found[1] == "*" and found[2] != "*"):
        return None
    for parameter in parameters:
        word, _, value = parameter.partition("=")
        if word.strip(" \t").lower() == "q":
            value = value.strip(" \t")
            return (found[1], found[2], float(value)) if _QUALITY.fullmatch(value) else None
    return found[1], found[2], 1.0
