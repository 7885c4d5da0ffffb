"""Media: pictures, sounds and files in a result that take too many bytes become links to the archive.

Media are never counted as text. Where the wire itself is limited, the largest blocks go first.
"""

from __future__ import annotations

import base64
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from aerogram.content import Content
from aerogram.shape.draft import Leftover

__all__ = ["ARCHIVE_URI", "NOTE", "describe_media", "media_size", "note_block", "refer_media"]

ARCHIVE_URI: Final = "aerogram://archive/"
NOTE: Final[Mapping[str, Any]] = {"audience": ["assistant"], "priority": 1.0}
"""What the protocol says of a block that is for the model, and that it must not miss."""

Block = dict[str, Any]


def note_block(text: str) -> Block:
    """A text of ours, which stands among blocks that authors have made, or in their place."""
    return {"type": "text", "text": text, "annotations": NOTE}


def _base64_of(block: Block) -> str:
    """The base64 in a block; empty when it has none."""
    inner = block.get("resource", block)
    return str(inner.get("data") or inner.get("blob") or "")


def media_size(block: Block) -> int:
    """How many bytes of a result a block takes up with media."""
    return len(_base64_of(block))


def refer_media(blocks: list[Block], room: int, *, is_kept: bool = True) -> tuple[list[Block], tuple[Leftover, ...]]:
    """The blocks with so many of the largest media replaced by links that the rest fits, and what was replaced.

    Where it will not be kept there is nothing to link to, and a word takes its place.
    """
    total = sum(map(media_size, blocks))
    leftovers: list[Leftover] = []
    shown = list(blocks)
    for index in sorted(range(len(blocks)), key=lambda at: -media_size(blocks[at])):
        if total <= room:
            break
        total -= media_size(blocks[index])
        content = Content.of_bytes(base64.b64decode(_base64_of(blocks[index])))
        shown[index] = _link(blocks[index], content) if is_kept else _word(blocks[index], content)
        leftovers.append(Leftover(f"media-{index}", content))
    return shown, tuple(leftovers)


# What they are, in words

_WORDS: Final = {"image": "image", "audio": "sound", "resource": "resource", "resource_link": "link"}
_HEAD: Final = 32_768
"""How many characters of base64 are looked at for the size of a picture."""
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers of JPEG behind which its size stands."""


def describe_media(blocks: Iterable[Mapping[str, Any]]) -> str | None:
    """What blocks are, besides texts: such as "1 image, image/png" and its size; None where there are only texts."""
    kinds = Counter(_describe(block) for block in blocks if block["type"] in _WORDS)
    return "; ".join(_tell(number, *kind) for kind, number in kinds.items()) or None


def _describe(block: Mapping[str, Any]) -> tuple[str, str, str]:
    """The kind of a block, its MIME type, and of a picture its size."""
    inner = block.get("resource", block)
    size = _dimensions(block.get("data") or "") if block["type"] == "image" else None
    return (
        _WORDS[block["type"]],
        inner.get("mimeType") or "",
        f"{size[0]}\N{MULTIPLICATION SIGN}{size[1]}" if size else "",
    )


def _tell(number: int, word: str, *facts: str) -> str:
    return ", ".join([f"{number} {word if number == 1 else word + 's'}", *filter(None, facts)])


def _dimensions(encoded: str) -> tuple[int, int] | None:
    """The width and the height of a PNG, GIF or JPEG, from its first bytes."""
    try:
        head = base64.b64decode(encoded[:_HEAD])
        if head.startswith(b"\x89PNG"):
            return struct.unpack(">II", head[16:24])
        if head.startswith(b"GIF8"):
            return struct.unpack("<HH", head[6:10])
        return _jpeg_dimensions(head) if head.startswith(b"\xff\xd8") else None
    except (ValueError, struct.error, IndexError):  # it is cut off, or no picture
        return None


def _jpeg_dimensions(head: bytes) -> tuple[int, int]:
    at = 2
    while head[at + 1] not in _FRAMES:
        at += 2 + int(struct.unpack(">H", head[at + 2 : at + 4])[0])
    height, width = struct.unpack(">HH", head[at + 5 : at + 9])
    return width, height


def _name(block: Block, content: Content) -> str:
    return block.get("resource", block).get("uri") or f"{block['type']} of {content.size} bytes"


def _word(block: Block, content: Content) -> Block:
    return note_block(f"[{_name(block, content)} left out; it was not kept]")


def _link(block: Block, content: Content) -> Block:
    inner = block.get("resource", block)
    link: Block = {
        "type": "resource_link",
        "uri": ARCHIVE_URI + content.hash,
        "name": _name(block, content),
        "size": content.size,
    }
    if inner.get("mimeType"):
        link["mimeType"] = inner["mimeType"]
    kept = {name: value for name, value in block.items() if name in ("annotations", "_meta")}
    return {**link, **kept}
