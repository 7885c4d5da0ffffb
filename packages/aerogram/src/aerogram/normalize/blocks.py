"""Block: one piece of content in a tool result, as the protocol writes it."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any

from aerogram.errors import ContractError
from aerogram.normalize.forms import base64_text

__all__ = ["Block", "is_base64", "is_block", "is_contents", "media", "sniff"]


class Block:
    """A text, an image, a sound, a link or an embedded resource; `wire` is what is sent."""

    __slots__ = ("wire",)

    def __init__(self, wire: Mapping[str, Any]) -> None:
        if not is_block(wire):
            raise ContractError(f"not a content block: {str(wire)[:100]}")
        self.wire = dict(wire)

    @classmethod
    def text(cls, text: str, **more: Any) -> Block:
        """A text; `annotations` and `_meta` may go with any block."""
        return cls({"type": "text", "text": text, **more})

    @classmethod
    def image(cls, data: bytes, mime_type: str | None = None, **more: Any) -> Block:
        """An image from its bytes."""
        return cls(
            {"type": "image", "data": base64_text(data), "mimeType": mime_type or sniff(data) or "image/png", **more}
        )

    @classmethod
    def audio(cls, data: bytes, mime_type: str | None = None, **more: Any) -> Block:
        """A sound from its bytes."""
        return cls(
            {"type": "audio", "data": base64_text(data), "mimeType": mime_type or sniff(data) or "audio/wav", **more}
        )

    @classmethod
    def link(cls, uri: str, name: str, **more: Any) -> Block:
        """A link to a resource that the client may read."""
        return cls({"type": "resource_link", "uri": uri, "name": name, **more})

    @classmethod
    def resource(cls, uri: str, body: str | bytes, mime_type: str | None = None, **more: Any) -> Block:
        """A resource that travels inside the result."""
        contents: dict[str, Any] = {"uri": uri}
        if mime_type:
            contents["mimeType"] = mime_type
        contents |= {"text": body} if isinstance(body, str) else {"blob": base64_text(body)}
        return cls({"type": "resource", "resource": contents, **more})

    def __block__(self) -> dict[str, Any]:
        """What the normaliser asks of a content block; any class may have this method."""
        return self.wire

    def __repr__(self) -> str:
        return f"Block({self.wire['type']!r})"


def media(data: bytes, mime_type: str) -> Block:
    """Bytes as the block their MIME type asks for: an image, a sound, or else a blob named by its hash."""
    if mime_type.startswith("image/"):
        return Block.image(data, mime_type)
    if mime_type.startswith("audio/"):
        return Block.audio(data, mime_type)
    return Block.resource(f"urn:sha256:{hashlib.sha256(data).hexdigest()}", data, mime_type)


_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"BM", 0, "image/bmp"),
    (b"II*\x00", 0, "image/tiff"),
    (b"MM\x00*", 0, "image/tiff"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"\xff\xfb", 0, "audio/mpeg"),
    (b"fLaC", 0, "audio/flac"),
    (b"OggS", 0, "audio/ogg"),
    (b"%PDF-", 0, "application/pdf"),
    (b"PK\x03\x04", 0, "application/zip"),
    (b"\x1f\x8b", 0, "application/gzip"),
)


def sniff(data: bytes | bytearray | memoryview) -> str | None:
    """The MIME type that the first bytes give away, if any."""
    start = bytes(data[:16])
    return next((mime for mark, at, mime in _SIGNATURES if start.startswith(mark, at)), None)


# What the protocol asks of each type of block: the text members it must have.
_MEMBERS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}


def is_block(wire: Any) -> bool:
    """Whether a value is a content block as the protocol writes it."""
    if not isinstance(wire, Mapping) or not isinstance(wire.get("type"), str) or wire["type"] not in _MEMBERS:
        return False
    if not all(isinstance(wire.get(member), str) for member in _MEMBERS[wire["type"]]):
        return False
    if wire["type"] == "resource" and not is_contents(wire.get("resource")):
        return False
    return isinstance(wire.get("_meta", {}), Mapping) and _is_annotations(wire.get("annotations", {}))


def _is_annotations(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    audience, priority = value.get("audience", []), value.get("priority", 0)
    if not isinstance(audience, (list, tuple)) or isinstance(priority, bool) or not isinstance(priority, (int, float)):
        return False
    known = all(role in ("user", "assistant") for role in audience)
    return known and 0 <= priority <= 1 and isinstance(value.get("lastModified", ""), str)


def is_contents(wire: Any) -> bool:
    """Whether a value is the contents of a resource: a URI, and either text or a blob of base64."""
    if not isinstance(wire, Mapping) or not isinstance(wire.get("uri"), str) or ("text" in wire) == ("blob" in wire):
        return False
    if not isinstance(wire.get("mimeType", ""), str) or not isinstance(wire.get("_meta", {}), Mapping):
        return False
    return isinstance(wire["text"], str) if "text" in wire else is_base64(wire["blob"])


def is_base64(text: Any) -> bool:
    """Whether a text is standard base64."""
    try:
        base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return False
    return isinstance(text, str)
