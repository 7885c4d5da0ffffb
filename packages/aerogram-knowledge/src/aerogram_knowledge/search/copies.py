"""Copies: chunks that have the same words, of which a search shows the best and says where the others are.

The same text as a page, as a PDF and as plain text is cut at other places, so its chunks are no copies of each other;
those that say again what stands above them come later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerogram_knowledge.store import Ids

__all__ = ["Copies", "repetitions"]

SAID: Final = 0.6
"""A text of whose pairs of long words others have this share says nothing new."""
LONG: Final = 5
_LONG_WORD: Final = re.compile(rf"\w{{{LONG},}}")
_BETWEEN_WORDS: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


class Copies:
    """The chunks of an index that are copies of each other, from pairs of them that connect all of a group."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        import numpy as np

        near: dict[int, list[int]] = {}
        for one, other in pairs:
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
        self._groups: dict[int, list[int]] = {}
        for one in near:
            if one not in self._groups:
                group = sorted(_reach(one, near))
                self._groups.update(dict.fromkeys(group, group))
        self._ids = np.array(sorted(self._groups), np.int64)
        self._firsts = np.array([self._groups[one][0] for one in self._ids.tolist()], np.int64)

    def first_places(self, ids: Ids) -> Ids:
        """The places of those chunks, in their order, that no copy stands before."""
        import numpy as np

        kept = np.ones(len(ids), np.bool_)
        if len(self._ids):
            places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            copied = np.flatnonzero(self._ids[places] == ids)
            kept[copied] = False
            kept[copied[np.unique(self._firsts[places[copied]], return_index=True)[1]]] = True
        return np.flatnonzero(kept)

    def of(self, one: int) -> Sequence[int]:
        """The copies of a chunk."""
        return [other for other in self._groups.get(one, ()) if other != one]


def _reach(one: int, near: Mapping[int, Sequence[int]]) -> set[int]:
    """A chunk, its copies, and theirs."""
    found, waiting = {one}, [one]
    while waiting:
        new = set(near.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def repetitions(texts: Sequence[str]) -> list[int]:
    """The places of texts that say again what texts before them say."""
    said: set[tuple[str, str]] = set()
    found = []
    for place, text in enumerate(texts):
        pairs = set(pairwise(_long_words(text.lower())))
        if pairs and len(pairs & said) >= SAID * len(pairs):
            found.append(place)
        else:
            said |= pairs
    return found


def _long_words(text: str) -> list[str]:
    """The long words of a text in lower case; one in ASCII is cut at what stands between words, which is faster."""
    if text.isascii():
        return [word for word in text.translate(_BETWEEN_WORDS).split() if len(word) >= LONG]
    return _LONG_WORD.findall(text)
