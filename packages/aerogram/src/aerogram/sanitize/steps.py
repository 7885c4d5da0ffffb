"""Steps: what is done to a reply, to texts and to finished results before they are sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from aerogram.content.jsontext import BOTTOMLESS, begins_as_json, dumps_loosely, loads_loosely
from aerogram.errors import ContractError
from aerogram.reply import Notice, Reply

__all__ = [
    "Step",
    "for_words",
    "sanitize",
    "sanitize_blocks",
    "sanitize_contents",
    "sanitize_given",
    "sanitize_result",
    "sanitize_text",
    "sanitize_value",
]

UNREADABLE: Final = "[redacted:unreadable]"
_OF_PROTOCOL: Final = frozenset({"type", "role", "mimeType", "annotations", "isError", "resultType", "cacheScope"})
"""Words of the protocol, which nobody has written."""
_BINARY: Final = frozenset({"data", "blob"})
_USUAL: Final = frozenset({"text"}) | _OF_PROTOCOL
"""The members of a block of text."""
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


def sanitize_value(value: Any, *steps: Step) -> Any:
    """A text, or other data, after each of the steps."""
    if value is None or not steps:
        return value
    try:
        return sanitize_text(value, *steps) if isinstance(value, str) else sanitize(Reply(value), *steps).data
    except RecursionError:
        return UNREADABLE  # nobody has looked at what lies so deep


def sanitize_given(found: Any, *steps: Step, clean: Collection[str] = ()) -> Any:
    """What is given out besides the texts of results, as the protocol writes it or as models of a framework.

    These are links, the messages of a prompt, `_meta`. Members that are `clean` are so already. Only steps are taken
    that say that they are for words of any kind, as redaction is; marks around a text would make another link.
    """
    steps = for_words(steps)
    return _sanitize_words(found, steps, _OF_PROTOCOL.union(clean)) if steps else found


def for_words(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that may be taken anywhere, and more than once: they take something out, and put no marks around."""
    return tuple(step for step in steps if getattr(step, "is_for_words", False))


def _sanitize_words(found: Any, steps: Sequence[Step], kept: Collection[str]) -> Any:
    if isinstance(found, str):
        return sanitize_text(found, *steps)
    if isinstance(found, (list, tuple)):
        return [_sanitize_words(one, steps, kept) for one in found]
    if isinstance(found, Mapping):
        return {name: _sanitize_member(str(name), value, steps, kept) for name, value in found.items()}
    fields = getattr(type(found), "model_fields", None)
    if not isinstance(fields, Mapping):
        return found
    held = {name: (one.alias or name, getattr(found, name)) for name, one in fields.items()}
    clean = {name: _sanitize_member(word, value, steps, kept) for name, (word, value) in held.items()}
    return found.model_copy(update={name: value for name, value in clean.items() if value != held[name][1]})


def _sanitize_member(name: str, value: Any, steps: Sequence[Step], kept: Collection[str]) -> Any:
    if value is None or name in kept or (name in _BINARY and isinstance(value, (str, bytes))):
        return value
    if name in ("_meta", "meta"):
        return sanitize_value(value, *steps)
    clean = _sanitize_words(value, steps, kept)
    return sanitize(Reply({name: clean}), *steps).data[name] if isinstance(clean, str) else clean


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
    shown = [_sanitize_besides(block, steps) for block in shown]
    return shown, tuple(_in_blocks(notice, list(texts)) for notice in clean.notices)


def sanitize_result(wire: dict[str, Any], *steps: Step) -> dict[str, Any]:
    """The finished result of a tool, as the protocol writes it, with its texts and its structured content clean."""
    if not steps or not wire:
        return wire
    others = {name: value for name, value in wire.items() if name not in ("content", "structuredContent")}
    clean = {**wire, **sanitize_given(others, *steps), "content": sanitize_contents(wire["content"], *steps)}
    if isinstance(wire.get("structuredContent"), (dict, list)):
        clean["structuredContent"] = sanitize(Reply(wire["structuredContent"]), *steps).data
    return clean


def _sanitize_besides(block: dict[str, Any], steps: Sequence[Step]) -> dict[str, Any]:
    """A block whose text is clean, with the other members clean as well: the words and the address of a link."""
    if block.keys() <= _USUAL:
        return block
    clean: dict[str, Any] = sanitize_given(block, *steps, clean=("text",))
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
    if not begins_as_json(text):
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
