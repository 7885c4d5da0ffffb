"""Steps: what is done to a reply and to texts before they are sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from aerogram.content.jsontext import BOTTOMLESS, begins_as_json, dumps_loosely, loads_loosely
from aerogram.errors import ContractError
from aerogram.reply import Notice, Reply

__all__ = ["Step", "for_words", "sanitize", "sanitize_text", "sanitize_texts", "sanitize_value"]

UNREADABLE: Final = "[redacted:unreadable]"


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


def for_words(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that may be taken anywhere, and more than once: they take something out, and put no marks around."""
    return tuple(step for step in steps if getattr(step, "is_for_words", False))


def sanitize_text(text: str, *steps: Step) -> str:
    """A text after each of the steps; one that is JSON is read as such. There is no place for a notice."""
    return sanitize_texts([text], *steps)[0][0]


def sanitize_texts(texts: Sequence[str], *steps: Step) -> tuple[list[str], tuple[Notice, ...]]:
    """Texts after each of the steps, and what there is to say about it, where places are as in a list of them."""
    if not steps:  # nothing is read that nobody asked to look at, and so nothing is written anew
        return list(texts), ()
    read = [_read(text) for text in texts]
    try:
        clean = sanitize(Reply([said for said, _ in read]), *steps)
    except RecursionError:  # nobody has looked at what lies so deep
        read = [one if isinstance(one[0], str) else (UNREADABLE, False) for one in read]
        clean = sanitize(Reply([said for said, _ in read]), *steps)
    made = [
        text if new is old and is_whole else new if isinstance(new, str) else dumps_loosely(new).decode()
        for text, (old, is_whole), new in zip(texts, read, clean.data, strict=True)
    ]
    return made, clean.notices


def sanitize_value(value: Any, *steps: Step) -> Any:
    """A text, or other data, after each of the steps."""
    if value is None or not steps:
        return value
    try:
        return sanitize_text(value, *steps) if isinstance(value, str) else sanitize(Reply(value), *steps).data
    except RecursionError:
        return UNREADABLE  # nobody has looked at what lies so deep


def _read(text: str) -> tuple[Any, bool]:
    """What a text says, the data of one that is JSON, and whether that is all; what hides too deep is taken out."""
    if not begins_as_json(text):
        return text, True
    try:
        return loads_loosely(text)
    except ContractError as error:
        return (UNREADABLE, False) if error.rule == BOTTOMLESS else (text, True)
