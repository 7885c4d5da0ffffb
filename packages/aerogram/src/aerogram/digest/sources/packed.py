"""Packed files: what gzip has made small, within the limit of what may come out of it."""

from __future__ import annotations

import zlib
from pathlib import PurePath
from typing import Final

from aerogram.digest.limits import ReadLimits, UnreadableSource

__all__ = ["is_packed", "unpack", "unpacked_name"]

SUFFIX: Final = ".gz"
_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS


def is_packed(content: bytes) -> bool:
    """Whether some bytes are packed, by how they begin."""
    return content.startswith(_MAGIC)


def unpacked_name(name: str) -> str:
    """The name of a file before it was packed."""
    return name[: -len(SUFFIX)] if PurePath(name).suffix.lower() == SUFFIX else name


def unpack(content: bytes, limits: ReadLimits) -> bytes:
    """What was packed; the parts of a file of several follow each other."""
    parts: list[bytes] = []
    size = 0
    while content:
        part = zlib.decompressobj(_GZIP)
        try:
            parts.append(part.decompress(content, limits.max_bytes + 1 - size))
        except zlib.error as error:
            raise UnreadableSource("broken", "it is packed and cannot be unpacked") from error
        size += len(parts[-1])
        if size > limits.max_bytes:
            raise UnreadableSource("too_large", f"it has more than {limits.max_bytes:,} bytes when it is unpacked")
        if not part.eof:
            raise UnreadableSource("broken", "it is packed and its end is missing")
        content = part.unused_data.lstrip(b"\0")
    return b"".join(parts)
