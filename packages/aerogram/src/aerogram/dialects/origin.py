"""Origin: what a body said in the dialect that it was translated from, as far as the way back would not say it again.

    {"dialect": "standard-v2", "set": {"/meta/region": "eu"}, "drop": ["/meta/billable_units"]}

A body may lack what its contract requires, or have members where we would not put them. Whoever translates it compares
it with what the way back would give, and the difference travels in the extension: translated back, it is the same body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aerogram.content.jsontext import is_index, pointer_of, steps_of
from aerogram.dialects.protocol import KEY, ORIGIN, Dialect

__all__ = ["keep_unnamed", "origin_of", "put_back", "remember"]


def origin_of(body: Any, dialect: Dialect) -> Mapping[str, Any] | None:
    """Where a body was translated from, if it remembers that."""
    place = dialect.place(body) if isinstance(body, dict) else None
    found: Mapping[str, Any] | None = ((place or {}).get(KEY) or {}).get(ORIGIN)
    return found


def remember(made: Any, target: Dialect, source: Dialect, body: Any, backs: Iterable[Any]) -> None:
    """Note in a body that was made of another one where it came from, and what the way back may lack of that.

    `backs` are bodies that it may give. What one of them has no need of does no harm to it.
    """
    put = {pointer: value for back in backs for pointer, value in _differences(back, body, ())}
    origin: dict[str, Any] = {"dialect": source.name}
    if said := {pointer: value for pointer, value in put.items() if value is not _NOTHING}:
        origin["set"] = said
    if gone := [pointer for pointer, value in put.items() if value is _NOTHING]:
        origin["drop"] = gone
    held = target.place(made)
    held[KEY] = {**(held.get(KEY) or {}), ORIGIN: origin}


def put_back(body: Any, origin: Mapping[str, Any]) -> Any:
    """A body with what the one had that it came from, and without what that had not; its payload is not copied."""
    copies: dict[int, Any] = {}
    for pointer in origin.get("drop", ()):
        body = _replace_at(body, steps_of(pointer), _NOTHING, copies)
    for pointer, value in origin.get("set", {}).items():
        body = _replace_at(body, steps_of(pointer), value, copies)
    return body


def keep_unnamed(made: Any, body: Any, extra: Mapping[str, Any]) -> Any:
    """A body in the dialect of the one that it was made of, with what that had and no reply has a place for.

    What is `extra` in the reply stands where the contract allows additions.
    """
    if made is body:
        return made
    if isinstance(made, dict) and isinstance(body, dict):
        kept = {name: keep_unnamed(one, body.get(name), extra) for name, one in made.items()}
        return kept | {name: one for name, one in body.items() if name not in made and name not in extra}
    if isinstance(made, list) and isinstance(body, list) and len(made) == len(body):
        return [keep_unnamed(one, other, extra) for one, other in zip(made, body, strict=True)]
    return made


_NOTHING: Any = object()


def _differences(made: Any, wanted: Any, place: tuple[object, ...]) -> Iterator[tuple[str, Any]]:
    """What has to be put where, so that one value becomes the other; nothing is put where something has to go."""
    if made is wanted:
        return
    if isinstance(made, dict) and isinstance(wanted, dict):
        for name in made.keys() - wanted.keys():
            yield pointer_of((*place, name)), _NOTHING
        for name, value in wanted.items():
            yield from _differences(made.get(name, _NOTHING), value, (*place, name))
    elif isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted):
        for number, (one, other) in enumerate(zip(made, wanted, strict=True)):
            yield from _differences(one, other, (*place, number))
    elif type(made) is not type(wanted) or made != wanted:
        yield pointer_of(place), wanted


def _replace_at(value: Any, steps: list[str], put: Any, copies: dict[int, Any]) -> Any:
    """The same value with something else at a place; what is not there stays away.

    What is on the way is copied once, however many places are in it: `copies` has what may be changed.
    """
    if not steps:
        return value if put is _NOTHING else put
    first, *rest = steps
    if isinstance(value, list):
        if not is_index(first) or int(first) >= len(value):
            return value
        copied = _copy_once(value, copies)
        copied[int(first)] = _replace_at(copied[int(first)], rest, put, copies)
        return copied
    if not isinstance(value, dict) or (first not in value and (rest or put is _NOTHING)):
        return value
    copied = _copy_once(value, copies)
    if not rest and put is _NOTHING:
        del copied[first]
    else:
        copied[first] = _replace_at(copied.get(first), rest, put, copies)
    return copied


def _copy_once(value: Any, copies: dict[int, Any]) -> Any:
    return value if id(value) in copies else copies.setdefault(id(copied := value.copy()), copied)
