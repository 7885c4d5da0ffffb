"""Spelling: names that nobody has, and the nearest ones that somebody has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["SLIP", "hint", "names_at", "nearest", "strays"]

MOST_LISTED: Final = 12
ALIKE: Final = 0.6
SLIP: Final = 0.75
"""From here on a name looks like another one, and like another one in which somebody's finger slipped (1: the same)."""


def nearest(name: str, known: Iterable[str], most: int = 1, *, least: float = ALIKE) -> list[str]:
    """The known names that look most like one, the best first; upper and lower case are alike."""
    alike = {one.casefold(): one for one in known}
    return [alike[one] for one in difflib.get_close_matches(name.casefold(), alike, n=most, cutoff=least)]


def strays(named: Mapping[str, Iterable[str]], known: Collection[str], what: str) -> Iterator[str]:
    """What is to be said of the names in some settings that nothing has: one sentence each, with the nearest name."""
    for setting, names in named.items():
        for name in names:
            if name not in known:
                yield f"{setting} names {name!r}, and there is no such {what}; {hint(name, known)}"


def names_at(schema: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    """The names that a JSON Schema knows of what stands at a path; none where it does not say."""
    here: Mapping[str, Any] = schema
    for step in ("", *path):
        here = here.get("properties", {}).get(step, {}) if step else here
        ways = [_meant(schema, one) for one in here.get("anyOf", [here])]
        here = next((one for one in ways if "properties" in one), {})
    return list(here.get("properties", ()))


def _meant(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of a schema, or the definition that it refers to."""
    name = str(part.get("$ref", "")).removeprefix("#/$defs/")
    return dict(schema.get("$defs", {}).get(name, {})) if name else part


def hint(name: str, known: Collection[str]) -> str:
    """What to say of a name that is not among the known ones."""
    near = nearest(name, known)
    if near:
        return f"did you mean {near[0]!r}?"
    listed = sorted(known)[:MOST_LISTED]
    rest = ", …" if len(known) > MOST_LISTED else ""
    return f"there are {', '.join(listed)}{rest}" if listed else "there are none"
