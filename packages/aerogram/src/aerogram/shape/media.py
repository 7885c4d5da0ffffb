"""Media: pictures, sounds and files in a result that take too many bytes become links to the archive.

Media are never counted as text. Where the wire itself is limited, the largest blocks go first.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from aerogram.content import Content
from aerogram.shape.fit import Leftover

__all__ = ["ARCHIVE_URI", "media_size", "refer_media"]

ARCHIVE_URI: Final = "aerogram://archive/"

Block = dict[str, Any]


def _encoded(block: Block) -> str:
    """The base64 in a block; empty when it has none."""
    inner = block.get("resource", block)
    return str(inner.get("data") or inner.get("blob") or "")


def media_size(block: Block) -> int:
    """How many bytes of a result a block takes up with media."""
    return len(_encoded(block))


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
        content = Content.of_bytes(base64.b64decode(_encoded(blocks[index])))
        shown[index] = _link(blocks[index], content) if is_kept else _word(blocks[index], content)
        leftovers.append(Leftover(f"media-{index}", content))
    return shown, tuple(leftovers)


def _name(block: Block, content: Content) -> str:
    return block.get("resource", block).get("uri") or f"{block['type']} of {content.size} bytes"


def _word(block: Block, content: Content) -> Block:
    return {"type": "text", "text": f"[{_name(block, content)} left out; it was not kept]"}


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
