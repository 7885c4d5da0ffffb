"""Blocks: the content of a result made small enough for a budget.

    texts          are cut, the longest first, and say where the rest is
    media          become links where the wire itself is limited
    many blocks    end in a word about those that follow, where cutting their texts is not enough

What was cut, replaced or left out is left over, whole, for the archive. Where nothing is kept, the same places say so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Final

from aerogram.content import Content, short_digits
from aerogram.content.jsontext import dumps
from aerogram.reply.shown import add_call, say_shown
from aerogram.shape.draft import Leftover
from aerogram.shape.media import note_block, refer_media
from aerogram.shape.text import whole_characters
from aerogram.tokens import Counter, counts_wire

__all__ = ["CUT", "WHOLE", "FittedBlocks", "Keeping", "Scale", "fit_blocks"]

CUT: Final = "text-"
WHOLE: Final = "content"
"""The names of what is left over: the whole text of a block, with its place behind it, and all blocks together."""
_TEXT: Final = frozenset(("type", "text"))
_NO_WORDS: Final = frozenset(("type", "text", "mimeType", "data", "blob"))
Block = dict[str, Any]
FittedBlocks = tuple[list[Block], tuple[Leftover, ...]]


@dataclass(frozen=True, slots=True)
class Keeping:
    """Whether what does not fit is kept, and which tool gives it back."""

    is_kept: bool
    retrieve: str | None = None

    def marks(self, what: str, content: Content, given: str = "") -> tuple[str, ...]:
        """Lines that say what is shown and where the rest is, the fullest first; the last one takes hardly any room."""
        if not self.is_kept:
            return (f"… [{what}; the rest was not kept]", "… [not kept]", "…")
        digits = short_digits(content.hash)
        told = add_call(what, self.retrieve, digits, given, "more") if self.retrieve else f"{what}; {content.hash}"
        return (f"… [{told}]", f"… [{content.short_hash}]", "…")


@dataclass(frozen=True, slots=True)
class Scale:
    """How large blocks are in the terms of a budget: their texts, and the words of links; media where bytes count."""

    counter: Counter

    @property
    def counts_media(self) -> bool:
        """Whether the wire itself is limited."""
        return counts_wire(self.counter)

    def of_text(self, text: str) -> int:
        """The size of a text; where bytes count, as JSON writes it."""
        return self.counter.count(dumps(text).decode() if self.counts_media else text)

    def of(self, block: Block) -> int:
        """The size of a block."""
        if self.counts_media:
            return self.counter.count(dumps(block).decode()) + 1
        return self.of_text(_text(block)) + (0 if block.keys() <= _TEXT else sum(map(self.of_text, _words(block))))

    def weigh(self, blocks: Sequence[Block]) -> int:
        """The size of them all."""
        return sum(map(self.of, blocks))


def fit_blocks(blocks: Sequence[Block], room: int, scale: Scale, keeping: Keeping) -> FittedBlocks:
    """The blocks within some room, and what has to be archived before they are sent."""
    shown = list(blocks)
    referred: tuple[Leftover, ...] = ()
    if scale.weigh(shown) <= room:
        return shown, ()
    if scale.counts_media:
        texts = sum(scale.of_text(_text(block)) for block in blocks)
        shown, referred = refer_media(shown, max(room - texts, 0), is_kept=keeping.is_kept)
    if _are_many(shown, room, scale, keeping):
        everything = Content.of_json(list(blocks))
        begun = _beginning(shown, room, scale, keeping, everything)
        if len(begun) > 1:
            return begun, (*referred, Leftover(WHOLE, everything))
    shown, cut = _cut_texts(shown, room, scale, keeping)
    if scale.weigh(shown) <= room:
        return shown, (*referred, *cut)
    everything = Content.of_json(list(blocks))
    return _beginning(shown, room, scale, keeping, everything), (*referred, *cut, Leftover(WHOLE, everything))


def _are_many(blocks: Sequence[Block], room: int, scale: Scale, keeping: Keeping) -> bool:
    """Whether a word behind each text that is cut would take much of the room, so that the first are better whole."""
    texts = [text for text in map(_text, blocks) if text]
    return bool(texts) and 2 * len(texts) * scale.of_text(_mark_cut(keeping, Content.of_text(texts[0]), 1, 0)) > room


def _words(block: Block) -> Iterator[str]:
    """What a link or an embedded resource says about itself: its address, its name, what it is."""
    for held in (block, block.get("resource") or {}):
        yield from (value for name, value in held.items() if name not in _NO_WORDS and isinstance(value, str))


def _text(block: Block) -> str:
    return str(block.get("resource", block).get("text") or "")


def _with_text(block: Block, text: str) -> Block:
    held = block.get("resource")
    return {**block, "text": text} if held is None else {**block, "resource": {**held, "text": text}}


def _cut_texts(blocks: list[Block], room: int, scale: Scale, keeping: Keeping) -> FittedBlocks:
    """The blocks with their texts cut, the longest first, as far as that makes them smaller."""
    shown, cut = list(blocks), []
    over = scale.weigh(blocks) - room
    for at in sorted(range(len(blocks)), key=lambda one: -len(_text(blocks[one]))):
        text = _text(blocks[at])
        if over <= 0 or not text:
            break
        content, size = Content.of_text(text), scale.of_text(text)
        short = _shorten(text, partial(_mark_cut, keeping, content, len(text)), size - over, scale)
        saved = size - scale.of_text(short)
        if saved <= 0:
            break
        over -= saved
        shown[at] = _with_text(shown[at], short)
        cut.append(Leftover(f"{CUT}{at}", content))
    return shown, tuple(cut)


def _mark_cut(keeping: Keeping, content: Content, total: int, shown: int) -> str:
    """The line after a text that is cut, which says where it goes on."""
    return keeping.marks(say_shown(shown, total, "characters"), content, f", as_text=True, offset={shown}")[0]


def _shorten(text: str, mark: Callable[[int], str], room: int, scale: Scale) -> str:
    """The longest beginning that fits with its mark after it; the mark alone if none does."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if scale.of_text(f"{text[:middle]}\n{mark(middle)}") <= room:
            low = middle
        else:
            high = middle - 1
    shown = whole_characters(text, low)
    return f"{text[:shown]}\n{mark(shown)}"


def _beginning(blocks: list[Block], room: int, scale: Scale, keeping: Keeping, everything: Content) -> list[Block]:
    """The first blocks that fit, and a word about the others; the fullest word that fits by itself."""

    def words(kept: int) -> list[Block]:
        what = say_shown(kept, len(blocks), "blocks")
        return [note_block(mark) for mark in keeping.marks(what, everything, f", offset={kept}" if kept else "")]

    most = words(len(blocks))
    fullest = next((level for level, word in enumerate(most) if scale.of(word) <= room), len(most) - 1)
    ends = list(accumulate(map(scale.of, blocks)))
    kept = bisect_right(ends, room - scale.of(most[fullest]))
    return [*blocks[:kept], words(kept)[fullest]]
