"""Deprecations: fields and parameters that still work and will go, declared once.

    notices(arguments, data) ──▶ DEPRECATED_PARAMETER for what the caller sent
                              └▶ DEPRECATED_FIELD     for what the reply has

A contract adds the notices to the reply after normalising the handler's value and before fitting it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from aerogram.content.jsontext import is_index, steps_of
from aerogram.reply import Notice, Reply

__all__ = ["Deprecated", "Deprecations"]

EACH: Final = "*"


@dataclass(frozen=True, slots=True)
class Deprecated:
    """Something that will go: its name, what to use instead, since when, until when, and why.

    A field is a member's name, of the data itself or of the rows in it, or a JSON Pointer into the data in which `*`
    stands for every item or member: `/tasks/*/state`.
    """

    name: str
    instead: str | None = None
    since: dt.date | None = None
    until: dt.date | None = None
    reason: str | None = None

    def notice(self, code: str, what: str) -> Notice:
        """The warning about it."""
        gone = f" and will be removed on {self.until.isoformat()}" if self.until else ""
        why = f": {self.reason}" if self.reason else ""
        suggestion = f"Use {self.instead} instead" if self.instead else f"Do without the {what}"
        return Notice.of(
            code, f"The {what} {self.name!r} is deprecated{gone}{why}", suggestion=suggestion, **self._facts()
        )

    def _facts(self) -> dict[str, Any]:
        dates = {"since": self.since, "until": self.until}
        said = {name: date.isoformat() for name, date in dates.items() if date is not None}
        return {"name": self.name, **({"instead": self.instead} if self.instead else {}), **said}

    def stands_in(self, data: Any) -> bool:
        """Whether the data has this field somewhere."""
        if self.name.startswith("/"):
            return _has(data, steps_of(self.name))
        return any(self.name in record for record in _records(data))


@dataclass(frozen=True, slots=True)
class Deprecations:
    """The deprecated parameters and fields of one operation."""

    parameters: tuple[Deprecated, ...] = ()
    fields: tuple[Deprecated, ...] = ()

    @classmethod
    def of(
        cls, *, parameters: Mapping[str, str | None] | None = None, fields: Mapping[str, str | None] | None = None
    ) -> Self:
        """From names and what replaces them (None when nothing does)."""
        return cls(
            tuple(Deprecated(name, instead) for name, instead in (parameters or {}).items()),
            tuple(Deprecated(name, instead) for name, instead in (fields or {}).items()),
        )

    def notices(self, arguments: Mapping[str, Any], data: Any = None) -> tuple[Notice, ...]:
        """One notice for each deprecated parameter that was sent and each deprecated field that is there."""
        return tuple(self._find(arguments, data))

    def add_notices(self, reply: Reply[Any]) -> Reply[Any]:
        """A reply with a notice for each deprecated field that it has, unless it has that already."""
        found = tuple(one for one in self.notices({}, reply.data) if one not in reply.notices)
        return reply.replace(notices=(*reply.notices, *found)) if found else reply

    def _find(self, arguments: Mapping[str, Any], data: Any) -> Iterator[Notice]:
        for one in self.parameters:
            if one.name in arguments:
                yield one.notice("DEPRECATED_PARAMETER", "parameter")
        for one in self.fields:
            if one.stands_in(data):
                yield one.notice("DEPRECATED_FIELD", "field")


def _records(data: Any) -> Iterator[dict[str, Any]]:
    """The data if it is a record, its rows if it is a list, and the rows of the lists in it."""
    if isinstance(data, list):
        yield from (row for row in data if isinstance(row, dict))
    elif isinstance(data, dict):
        yield data
        for member in data.values():
            if isinstance(member, list):
                yield from _records(member)


def _has(value: Any, path: Sequence[str]) -> bool:
    """Whether something stands at a path; the first find ends the search."""
    if not path:
        return True
    step, rest = path[0], path[1:]
    if step == EACH:
        items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
        return any(_has(one, rest) for one in items)
    if isinstance(value, dict):
        return step in value and _has(value[step], rest)
    if isinstance(value, list) and is_index(step):
        return int(step) < len(value) and _has(value[int(step)], rest)
    return False
