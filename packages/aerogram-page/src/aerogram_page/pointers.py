"""Pointers: JSON Pointers (RFC 6901) into a value."""

from __future__ import annotations

from typing import Any

__all__ = ["at", "below"]


def at(value: Any, pointer: str) -> Any:
    """What stands at a pointer; `LookupError` when nothing does."""
    if pointer and not pointer.startswith("/"):
        raise LookupError(f"{pointer[:80]!r} is no JSON Pointer")
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            raise LookupError(f"there is nothing at {pointer[:80]}")
    return value


def below(pointer: str, step: object) -> str:
    """The pointer of a member or an item."""
    return f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"
