"""Announced content: a text that stands beside the name of its type, and that only a program reads.

    {"content_type": "digest/v1", "content": "{…}"}

A half of it is of no type at all. So it is kept whole, or it goes together with the name of its type; a digest may also
become a smaller digest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from aerogram.errors import ContractError
from aerogram.jsontext import dumps, loads
from aerogram.shape.text import clip

__all__ = ["Announced", "announced_in", "count_digest"]

DIGEST: Final = "digest/v1"
SHORT_SUMMARIES: Final = (1_000, 500, 200)
_TYPES: Final = ("content_type", "contentType", "mime_type", "mimeType", "media_type")
_CONTENTS: Final = ("content", "data", "blob", "body", "payload", "text")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{60,}={0,2}")
_LOOKED_AT: Final = 400
_COUNTED: Final = 8


class Announced(NamedTuple):
    """The member that names a type, the member that holds what is of this type, and both of their values."""

    type_member: str
    member: str
    type: str
    text: str

    def smaller(self) -> Iterator[str]:
        """Ever smaller texts that are of the same type."""
        if self.type != DIGEST:
            return
        try:
            yield from _smaller_digests(loads(self.text))
        except (ContractError, KeyError, TypeError, AttributeError):
            return  # it was no digest


def announced_in(record: Mapping[str, Any]) -> Announced | None:
    """What a record announces and holds, if only a program reads it."""
    type_member = next((name for name in _TYPES if name in record), None)
    if type_member is None:
        return None
    kind = record[type_member]
    if not isinstance(kind, str) or "/" not in kind or kind.startswith("text/"):
        return None
    member = next((name for name in _CONTENTS if _is_for_programs(record.get(name))), None)
    return None if member is None else Announced(type_member, member, kind, record[member])


def _is_for_programs(text: Any) -> bool:
    if not isinstance(text, str) or not text:
        return False
    is_json = text[0] in "{[" and text[-1] in "}]"
    return is_json or _BASE64.fullmatch(text[:_LOOKED_AT]) is not None


def _smaller_digests(digest: dict[str, Any]) -> Iterator[str]:
    """With fewer key points and quotations, the best ones; then with a shorter summary."""
    points, snippets = digest["key_points"], digest["evidence_snippets"]
    ranked = sorted(snippets, key=lambda one: -one["relevance_score"])
    for count in reversed(range(max(len(points), len(snippets)))):
        best = [one for one in snippets if one in ranked[:count]]
        yield _recounted(digest, key_points=points[:count], evidence_snippets=best)
    for limit in SHORT_SUMMARIES:
        if len(digest["summary"]) > limit:
            yield _recounted(digest, key_points=[], evidence_snippets=[], summary=clip(digest["summary"], limit))


def _recounted(digest: dict[str, Any], **changes: Any) -> str:
    """The digest with these changes, and with its own size."""
    return dumps(count_digest({**digest, **changes}, lambda told: dumps(told).decode())).decode()


def count_digest(said: Mapping[str, Any], write: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """A payload as JSON data, with the number of characters that it has itself, and their ratio to the original.

    That is what a source's `content` costs its reader. The number is a part of what it counts, so it is counted again
    until it is right; where the ratio would change it back and forth, the larger one stands.
    """
    original, size = said["original_chars"], 0
    told = dict(said)
    for _ in range(_COUNTED):
        # a digest of a few lines can be longer than they are; the contract has no ratio above 1
        told |= {
            "digest_chars": size,
            "compression_ratio": round(min(1.0, size / original), 4) if original else 0.0,
        }
        written = len(write(told))
        if written <= size:
            break
        size = written
    return told
