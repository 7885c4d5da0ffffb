"""Clients: what each one passes on to its model, and how much of it; the rows of `clients.toml`.

What a client does is nobody's promise, so each row says where it was read and when. What is not known is None, and is
taken for the worst: a model then reads either channel, and not both.
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["CLIENTS", "KnownClient", "Limit", "Reads", "find_client"]

Reads: TypeAlias = Literal["structured", "text", "either"]
"""What a model reads of a result: structured content alone where there is any, the text alone, or by a setting."""


class Limit(NamedTuple):
    """The largest result that a client takes, and what counts it."""

    most: int
    counter: str


@dataclass(frozen=True, kw_only=True)
class KnownClient:
    """A row: what a client's model reads, and what becomes of the rest."""

    name: str
    title: str
    names: tuple[str, ...] = ()
    success: Reads | None = None
    failure: Reads | None = None
    pictures: str | None = None
    links: str | None = None
    limits: tuple[Limit, ...] = ()
    beyond: str | None = None
    validates: bool | None = None
    sources: tuple[str, ...] = ()
    date: dt.date | None = None

    @property
    def told_limits(self) -> str:
        """Its limits in words."""
        return " and ".join(f"{one.most:,} {_UNITS.get(one.counter, 'tokens')}" for one in self.limits)

    def as_json(self) -> dict[str, Any]:
        """Everything that is known, and nothing else."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        told = {name: value for name, value in said.items() if value not in (None, ())}
        if self.limits:
            told["limits"] = [one._asdict() for one in self.limits]
        if self.date is not None:
            told["date"] = self.date.isoformat()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}


_UNITS: Final = {"characters": "characters", "bytes": "bytes"}


def _rows(file: Mapping[str, Mapping[str, Any]]) -> dict[str, KnownClient]:
    found = {}
    for name, row in file.items():
        said = {**file.get(row.get("like", ""), {}), **row}
        said.pop("like", None)
        limits = tuple(Limit(one["most"], one["counter"]) for one in said.pop("limits", ()))
        said |= {one: tuple(said.get(one, ())) for one in ("names", "sources")}
        found[name] = KnownClient(name=name, limits=limits, **said)
    return found


CLIENTS: Final[Mapping[str, KnownClient]] = MappingProxyType(
    _rows(tomllib.loads(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")))
)


def find_client(name: str | None) -> KnownClient | None:
    """The row of the client that calls itself so; None where nobody knows it, or knows nothing of its limits."""
    return None if name is None else next((one for one in CLIENTS.values() if name in one.names and one.limits), None)
