"""Pieces: what a fitted reply lacks against the whole one, item by item, and each of them back.

A piece has the hash of its own canonical JSON, and the hash of the archive entry in which it stands. Bringing it back
reads the entry, takes the piece out of it and hashes that anew, so a match is computed and never assumed.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from aerogram.archive import Archive
from aerogram.content import Content, sha256_of
from aerogram.content.jsontext import pointer_of, value_at
from aerogram.errors import NotFound
from aerogram.reply.identity import identify
from aerogram.shape.modes import RecordType
from aerogram.tokens import Counter, best_counter

__all__ = ["LISTED", "MissingPiece", "entry_of", "list_missing", "missing_pieces", "recover_piece"]

LISTED: Final = 200
LARGEST_PIECE: Final = 2_000_000
"""Bytes of the largest piece that is sent to the browser."""
SHA: Final = "sha256:"
_LABELS: Final = ("context_header", "title", "name", "source_file", "label", "summary", "message")
_LONGEST_LABEL: Final = 120
_LONGEST_SIZED: Final = 200_000


class MissingPiece(NamedTuple):
    """A place at which something is missing: all of it, a part of an item, or a part of what is no list."""

    what: str
    pointer: str
    original: Any
    shown: Any = None


def missing_pieces(original: Any, shown: Any, pointer: str = "") -> Iterator[MissingPiece]:
    """The pieces that are missing, in the order of the data."""
    if original is shown or original == shown:
        return
    if isinstance(original, list) and isinstance(shown, list):
        yield from _of_list(original, shown, pointer)
    elif isinstance(original, dict) and isinstance(shown, dict):
        for name, value in original.items():
            if name not in shown:
                yield MissingPiece("part", pointer + pointer_of((name,)), value)
            else:
                yield from missing_pieces(value, shown[name], pointer + pointer_of((name,)))
    else:
        yield MissingPiece("part", pointer, original, shown)


def _of_list(original: list[Any], shown: list[Any], pointer: str) -> Iterator[MissingPiece]:
    for place, item in enumerate(original):
        if place >= len(shown):
            yield MissingPiece("dropped", pointer + pointer_of((place,)), item)
        elif shown[place] is not item and shown[place] != item:
            yield MissingPiece("shortened", pointer + pointer_of((place,)), item, shown[place])


def list_missing(
    original: Any, shown: Any, archive_hash: str | None, kind: RecordType | None, counter: Counter
) -> dict[str, Any]:
    """How many pieces are missing and in which way, and the first with their hashes; dropped ones come first."""
    found = sorted(missing_pieces(original, shown), key=lambda one: one.what == "shortened")
    rows = [
        _row(number, one, archive_hash, kind.ids_only if kind else (), counter)
        for number, one in enumerate(islice(found, LISTED))
    ]
    return {"total": len(found), "counts": dict(Counts(one.what for one in found)), "listed": rows}


def _row(
    number: int, piece: MissingPiece, archive_hash: str | None, declared: tuple[str, ...] | Any, counter: Counter
) -> dict[str, Any]:
    content = Content.of_json(piece.original)
    name = identify(piece.original, declared) or f"#{piece.pointer}"
    row = {
        "number": number,
        "what": piece.what,
        "id": name,
        "pointer": piece.pointer,
        "label": _label(piece, name),
        "hash": content.hash,
        "archive": archive_hash,
        "size": counter.count(content.body.decode()) if content.size <= _LONGEST_SIZED else None,
        "bytes": content.size,
    }
    if piece.what == "shortened":
        row["lost"] = _missing_members(piece.original, piece.shown)
    return row


def _label(piece: MissingPiece, name: str) -> str:
    """What a person knows a piece by."""
    if isinstance(piece.original, dict):
        found = next((piece.original[one] for one in _LABELS if isinstance(piece.original.get(one), str)), name)
    else:
        found = piece.pointer or name
    return found if len(found) <= _LONGEST_LABEL else found[:_LONGEST_LABEL] + "…"


def _missing_members(original: Any, shown: Any) -> list[str]:
    """The members of an item that are missing or cut."""
    if not isinstance(original, dict) or not isinstance(shown, dict):
        return []
    return [name for name, value in original.items() if name not in shown or shown[name] != value]


async def entry_of(archive: Archive | None, hash: str, principal: str | None) -> Content:
    """The archive entry that holds a piece."""
    if archive is None:
        raise NotFound("Nothing of this reply was kept")
    return await archive.get(hash, principal=principal)


def recover_piece(entry: Content, asked: str, pointer: str | None, expected: str | None) -> dict[str, Any]:
    """A piece out of an entry, or all of it: what it is, the text that was hashed, and whether the hashes match."""
    piece = entry if pointer is None else _take(entry, pointer)
    wanted = expected if expected is not None else piece.hash if pointer is not None else asked
    recomputed = sha256_of(entry.body)
    is_shown = piece.size <= LARGEST_PIECE and piece.kind != "bytes"
    hashed = sha256_of(piece.body)
    return {
        "pointer": pointer,
        "value": piece.value() if is_shown else None,
        "text": piece.body.decode() if is_shown else None,
        "omitted": None if is_shown else {"bytes": piece.size, "limit": LARGEST_PIECE},
        "expected": wanted,
        "hash": hashed,
        "matches": hashed.startswith(wanted) if wanted.startswith(SHA) else False,
        "archive": {
            "hash": asked,
            "recomputed": recomputed,
            "matches": recomputed.startswith(asked) or recomputed.removeprefix(SHA).startswith(asked),
            "bytes": entry.size,
        },
        "size": best_counter().count(piece.body.decode()) if is_shown else None,
    }


def _take(entry: Content, pointer: str) -> Content:
    try:
        return Content.of_json(value_at(entry.value(), pointer))
    except LookupError as error:
        raise NotFound(f"The entry has no such piece: {error}") from None
