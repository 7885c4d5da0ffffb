"""Steps: what is done to a reply, to texts and to finished results before they are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from aerogram.errors import ContractError
from aerogram.jsontext import BOTTOMLESS, dumps_loosely, loads_loosely
from aerogram.reply import Notice, Reply

__all__ = ["Step", "sanitize", "sanitize_blocks", "sanitize_contents", "sanitize_result", "sanitize_text"]

UNREADABLE: Final = "[redacted:unreadable]"
_PLACE: Final = re.compile(r"^/data/(\d+)")


class Step(Protocol):
    """One way of sanitising a reply."""

    def __call__(self, reply: Reply[Any], /) -> Reply[Any]:
        """The reply with that done, and a notice if anything was."""
        ...


def sanitize(reply: Reply[Any], *steps: Step) -> Reply[Any]:
    """The reply after each of the steps."""
    for step in steps:
        reply = step(reply)
    return reply


def sanitize_text(text: str, *steps: Step) -> str:
    """A text after each of the steps; one that is JSON is read as such. There is no place for a notice."""
    return sanitize_contents([{"text": text}], *steps)[0]["text"]  # type: ignore[no-any-return]


def sanitize_contents(contents: Sequence[Mapping[str, Any]], *steps: Step) -> list[dict[str, Any]]:
    """Content blocks or contents of a resource, as the protocol writes them, with their texts clean."""
    return sanitize_blocks(contents, *steps)[0]


def sanitize_blocks(
    blocks: Sequence[Mapping[str, Any]], *steps: Step
) -> tuple[list[dict[str, Any]], tuple[Notice, ...]]:
    """Content blocks with their texts clean, and what there is to say about it, for whoever has a place for it."""
    shown = [dict(block) for block in blocks]
    if not steps:  # nothing is read that nobody asked to look at, and so nothing is written anew
        return shown, ()
    texts = {at: text for at, block in enumerate(shown) if isinstance(text := _inner(block).get("text"), str)}
    read = [_read(text) for text in texts.values()]
    try:
        clean = sanitize(Reply([said for said, _ in read]), *steps)
    except RecursionError:  # nobody has looked at what lies so deep
        read = [one if isinstance(one[0], str) else (UNREADABLE, False) for one in read]
        clean = sanitize(Reply([said for said, _ in read]), *steps)
    for at, (old, is_whole), new in zip(texts, read, clean.data, strict=True):
        if new is not old or not is_whole:
            shown[at] = _with_text(shown[at], new if isinstance(new, str) else dumps_loosely(new).decode())
    return shown, tuple(_in_blocks(notice, list(texts)) for notice in clean.notices)


def sanitize_result(wire: dict[str, Any], *steps: Step) -> dict[str, Any]:
    """The finished result of a tool, as the protocol writes it, with its texts and its structured content clean."""
    if not steps or not wire:
        return wire
    clean = {**wire, "content": sanitize_contents(wire["content"], *steps)}
    if isinstance(wire.get("structuredContent"), dict):
        clean["structuredContent"] = sanitize(Reply(wire["structuredContent"]), *steps).data
    return clean


def _inner(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a block has its text: in itself, or in the resource that it holds."""
    held = block.get("resource")
    return held if isinstance(held, Mapping) else block


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    inner = _inner(block)
    return {**block, "text": text} if inner is block else {**block, "resource": {**inner, "text": text}}


def _read(text: str) -> tuple[Any, bool]:
    """What a text says, the data of one that is JSON, and whether that is all; what hides too deep is taken out."""
    if text[:1] not in ("{", "["):
        return text, True
    try:
        return loads_loosely(text)
    except ContractError as error:
        return (UNREADABLE, False) if error.rule == BOTTOMLESS else (text, True)


def _in_blocks(notice: Notice, numbers: list[int]) -> Notice:
    """A notice about the texts of blocks, with the blocks for its places."""
    places = (notice.context or {}).get("places")
    if places is None:
        return notice
    told = [_PLACE.sub(lambda match: f"/content/{numbers[int(match[1])]}/text", place) for place in places]
    return replace(notice, context={**(notice.context or {}), "places": told})
