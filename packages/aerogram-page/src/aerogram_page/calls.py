"""Calls: the last calls of a wrapped server, whole: what it sent, what the model read, and what is kept of the rest.

They are in the memory of the gateway that has passed them on, for whoever looks at its page, and nowhere else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aerogram.archive import Archive
from aerogram.content.jsontext import dumps_unproven
from aerogram.errors import ContractError, NotFound
from aerogram_page import pieces
from aerogram_page.work import compute

__all__ = ["CallHistory", "KeptCall"]

MOST_CALLS: Final = 100
MOST_BYTES: Final = 40 * 1024 * 1024
LONGEST_TEXT: Final = 200_000
"""Characters of a text that the browser is sent."""


@dataclass(frozen=True)
class KeptCall:
    """One call."""

    operation: str
    sent: Mapping[str, Any] | None
    """What the server sent; nothing where it was not asked, or did not answer."""
    read: Mapping[str, Any] | None
    hashes: Mapping[str, str]
    tokens: tuple[int, int] = (0, 0)


class CallHistory:
    """Keeps calls at hand by their numbers; the oldest make room."""

    def __init__(self, archive: Archive | None) -> None:
        self._archive = archive
        self._kept: OrderedDict[int, tuple[KeptCall, int]] = OrderedDict()

    def keep(self, number: int, call: KeptCall) -> None:
        """Keep a call."""
        self._kept[number] = call, _size(call.sent) + _size(call.read)
        while len(self._kept) > 1 and self._is_full:
            self._kept.popitem(last=False)

    @property
    def _is_full(self) -> bool:
        return len(self._kept) > MOST_CALLS or sum(size for _, size in self._kept.values()) > MOST_BYTES

    def show(self, number: int) -> dict[str, Any]:
        """A call for the browser."""
        call = self._find(number)
        return {
            "operation": call.operation,
            "sent": _side(call.sent, call.tokens[0]),
            "read": _side(call.read, call.tokens[1]),
            "archive": [{"name": name, "hash": found} for name, found in call.hashes.items()],
        }

    async def recover(self, number: int, digest: str) -> dict[str, Any]:
        """What was left out of an answer, and whether it is what it should be."""
        if digest not in self._find(number).hashes.values():
            raise NotFound("This call names no such piece")
        entry = await pieces.entry_of(self._archive, digest, None)
        return await compute(pieces.recover_piece, entry, digest, None, None)

    def _find(self, number: int) -> KeptCall:
        if number not in self._kept:
            raise NotFound("This call is no longer at hand", remediation="Look at a later one, or call the tool again")
        return self._kept[number][0]


def _side(result: Mapping[str, Any] | None, tokens: int) -> dict[str, Any] | None:
    """A result as texts and data that can be shown."""
    if result is None:
        return None
    blocks = [block for block in result.get("content") or () if isinstance(block, Mapping)]
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block]
    structured, size = result.get("structuredContent"), _size(result)
    return {
        "tokens": tokens,
        "bytes": size,
        "failed": bool(result.get("isError")),
        "texts": [text[:LONGEST_TEXT] for text in texts],
        "longer": max((len(text) for text in texts), default=0) > LONGEST_TEXT,
        "others": [str(block.get("type")) for block in blocks if block.get("type") != "text"],
        "structured": structured if size <= pieces.LARGEST_PIECE else None,
        "omitted": structured is not None and size > pieces.LARGEST_PIECE,
    }


def _size(result: Mapping[str, Any] | None) -> int:
    try:
        return 0 if result is None else len(dumps_unproven(result))
    except ContractError:
        return 0
