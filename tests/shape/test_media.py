"""Media: too many bytes become links, and come back whole."""

from __future__ import annotations

import base64
from typing import Any

from aerogram.content import Content
from aerogram.shape.media import ARCHIVE_URI, media_size, refer_media

BIG, SMALL = bytes(range(256)) * 400, b"tiny"
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "A picture"},
    {"type": "image", "data": base64.b64encode(BIG).decode(), "mimeType": "image/png", "annotations": {"priority": 1}},
    {"type": "audio", "data": base64.b64encode(SMALL).decode(), "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": base64.b64encode(BIG + SMALL).decode()}},
]


def test_what_fits_stays() -> None:
    assert refer_media(BLOCKS, 10**9) == (BLOCKS, ())


def test_the_largest_media_become_links_to_the_archive() -> None:
    shown, leftovers = refer_media(BLOCKS, 150_000)
    assert [block["type"] for block in shown] == ["text", "image", "audio", "resource_link"]
    (left,) = leftovers
    assert left.content == Content.of_bytes(BIG + SMALL)
    assert shown[3]["uri"] == ARCHIVE_URI + left.content.hash
    assert shown[3]["name"] == "file:///a.pdf"


def test_with_no_room_every_medium_is_a_link_and_text_stays() -> None:
    shown, leftovers = refer_media(BLOCKS, 0)
    assert [block["type"] for block in shown] == ["text"] + ["resource_link"] * 3
    assert len(leftovers) == 3
    assert sum(map(media_size, shown)) == 0
    assert shown[1]["annotations"] == {"priority": 1}
    assert shown[1]["mimeType"] == "image/png"
