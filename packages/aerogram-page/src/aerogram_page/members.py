"""Members: what each member of a body means, which part of a reply it says, and where other dialects say the same."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from aerogram.content.jsontext import pointer_of

__all__ = ["MCP", "differences", "explain", "members_of"]


MCP: Final = "mcp"
DATA: Final = "data"
EXTENSION: Final = "extension"
RECORD: Final = "record."
MOST: Final = 4_000
SHOWN_RECORDS: Final = 50
_INDEX: Final = re.compile(r"/\d+(?=/|$)")

Members = dict[str, str]


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def members_of(body: Any, dialect: str) -> Members:
    """The part of a reply that each place of a body says, as far as the contract or the extension names it."""
    says = _table()["says"].get(dialect, {})
    found: Members = {}
    for pointer, value in _places(body, says):
        pattern = _INDEX.sub("/*", pointer)
        part = says.get(pattern) or says.get(pattern.rpartition("/")[0] + "/+") or _extension_part(pointer, says)
        if part in _table()["words"]:
            found[pointer] = part
        if part == DATA:
            found |= _records(pointer, value)
        if len(found) >= MOST:
            break
    return found


def _places(value: Any, says: Mapping[str, str], pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every place of the envelope; the data is one place, whatever is in it."""
    if pointer:
        yield pointer, value
    is_failure = pointer == "/data" and isinstance(value, dict) and "error_code" in value
    if says.get(pointer) == DATA and not is_failure:
        return
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in inside:
        yield from _places(inner, says, pointer + pointer_of((name,)))


def _extension_part(pointer: str, says: Mapping[str, str]) -> str:
    """A place inside the extension says the part that its path names."""
    place = next((one for one, part in says.items() if part == EXTENSION and pointer.startswith(f"{one}/")), None)
    if place is None:
        return ""
    return _INDEX.sub("", pointer[len(place) :]).strip("/").replace("/", ".")


def _records(pointer: str, data: Any) -> Members:
    """The members of records that have a word of their own."""
    words = _table()["words"]
    return {
        place + pointer_of((name,)): RECORD + name
        for place, row in _rows(pointer, data)
        if isinstance(row, dict)
        for name in row
        if RECORD + name in words
    }


def _rows(pointer: str, data: Any) -> Iterator[tuple[str, Any]]:
    """The records of the data: its items, itself, or the items of the lists that it is a box for."""
    if isinstance(data, list):
        yield from ((pointer + pointer_of((place,)), row) for place, row in enumerate(data[:SHOWN_RECORDS]))
    elif isinstance(data, dict):
        yield pointer, data
        for name, value in data.items():
            if isinstance(value, list):
                yield from _rows(pointer + pointer_of((name,)), value)


def explain(*several: Members) -> dict[str, dict[str, str]]:
    """The words for all parts that some bodies say, in both languages."""
    parts = dict.fromkeys(part for members in several for part in members.values())
    return {part: {**_table()["words"][part], "says": part} for part in parts}


def differences(said: Mapping[str, Members]) -> dict[str, dict[str, dict[str, Any]]]:
    """For each dialect, the places whose part another dialect says elsewhere, or not at all."""
    by_part = {name: _by_part(members) for name, members in said.items()}
    return {
        name: {
            pointer: mark
            for pointer, part in members.items()
            if not part.startswith(RECORD) and (mark := _mark(name, pointer, part, by_part)) is not None
        }
        for name, members in said.items()
    }


def _by_part(members: Members) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pointer, part in members.items():
        found.setdefault(part, []).append(pointer)
    return found


def _mark(name: str, pointer: str, part: str, by_part: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Any] | None:
    elsewhere = {other: places[part] for other, places in by_part.items() if other != name and part in places}
    if not elsewhere:
        return {"kind": "only"} if len(by_part) > 1 else None
    if len(elsewhere) == len(by_part) - 1 and all(pointer in places for places in elsewhere.values()):
        return None
    return {"kind": "moved", "elsewhere": elsewhere}
