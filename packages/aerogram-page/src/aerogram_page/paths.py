"""Paths: the addresses of the page, and what whoever guards an application must know of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["API", "ASSETS", "FILES", "LARGEST_REPLY", "LARGE_BODIES", "OPEN"]

API: Final = "/page/api"
ASSETS: Final = "/page/assets/"
FILES: Final = "page_files"
"""What requests for the document and its assets are called, of which there are dozens whenever the page is opened."""
LARGEST_REPLY: Final = 16 * 1024 * 1024
"""Bytes of the largest reply that can be opened."""
LARGE_BODIES: Final[Mapping[str, int]] = {
    f"{API}/replies": LARGEST_REPLY,
    f"{API}/check": 2 * LARGEST_REPLY,  # what is pasted stands in a JSON string there
    f"{API}/digest": 2 * LARGEST_REPLY,
}
"""Where bodies may be larger than elsewhere, and how large, in bytes."""
OPEN: Final = frozenset({"/", f"{API}/context"})
"""What anybody may have, with the assets: the page itself, and whether a key is needed for more."""
