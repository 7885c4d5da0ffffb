"""Response modes: how much of a record is shown. `ids_only`, `metadata`, `preview`, `full`.

A record type declares the fields of each mode; they need not nest, and a mode may have fields that are made
from others, such as a snippet. Records that nobody declared are read automatically: identifiers, short facts,
previews of 200 characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from aerogram.errors import ValidationFailed
from aerogram.identity import Names, id_member
from aerogram.shape.facts import announced_in
from aerogram.shape.text import clip, whole_characters

__all__ = ["MODES", "Mode", "RecordType", "allowed_mode", "in_mode", "snippet"]

Mode: TypeAlias = Literal["ids_only", "metadata", "preview", "full"]
Record: TypeAlias = Mapping[str, Any]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
PREVIEW_CHARACTERS: Final = 200
FACT_CHARACTERS: Final = 80
NAME_CHARACTERS: Final = 40

_LIST_LENGTHS: Final[Mapping[Mode, int]] = MappingProxyType({"ids_only": 1, "metadata": 3, "preview": 5})
_STRING_LENGTHS: Final[Mapping[Mode, int]] = MappingProxyType(
    {"ids_only": NAME_CHARACTERS, "metadata": FACT_CHARACTERS, "preview": PREVIEW_CHARACTERS}
)


@dataclass(frozen=True)
class RecordType:
    """The fields of one kind of record in each mode; `full` is every field unless it is given.

    `made` has the fields that are computed from a record (or raise a `KeyError` where it lacks what they need), `caps`
    the longest lists per mode: `caps={"preview": {"entities": 5}, "full": {"entities": 100}}`. Records that are ranked
    come best first; their `additions` are what they say about themselves, which goes first where room is short.
    """

    ids_only: Sequence[str]
    metadata: Sequence[str]
    preview: Sequence[str]
    full: Sequence[str] | None = None
    made: Mapping[str, Callable[[Record], Any]] = field(default_factory=dict)
    caps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    is_ranked: bool = False
    additions: Sequence[str] = ()

    def fields(self, mode: Mode) -> tuple[str, ...] | None:
        """The names of the fields of a mode; None when it has them all."""
        names: Sequence[str] | None = getattr(self, mode)
        return None if names is None else tuple(names)

    def describes(self, record: Record) -> bool:
        """Whether a record is of this type: it has what identifies one."""
        return any(name in record for name in self.ids_only if name not in self.made)

    def show(self, record: Record, mode: Mode) -> dict[str, Any]:
        """The record as this mode shows it; a field that the record lacks is left out."""
        names = self.fields(mode)
        shown = {name: record[name] for name in (record if names is None else names) if name in record}
        for name, make in self.made.items():
            if names is not None and name in names and name not in record:
                with suppress(KeyError):  # the record was shown with less before
                    shown[name] = make(record)
        for name, longest in self.caps.get(mode, {}).items():
            if len(shown.get(name) or ()) > longest:
                shown[name] = shown[name][:longest]
        return shown


def snippet(name: str) -> Callable[[Record], str]:
    """A field for `made`: the first 200 characters of another field, whole characters and no mark."""

    def beginning(record: Record) -> str:
        text = str(record[name])
        return text[: whole_characters(text, PREVIEW_CHARACTERS)]

    return beginning


def allowed_mode(mode: str) -> Mode:
    """The mode of that name; anything else is refused with the four names."""
    for known in MODES:
        if mode == known:
            return known
    raise ValidationFailed(
        f"There is no response mode {str(mode)[:40]!r}",
        remediation=f"Use one of {', '.join(MODES)}",
        details={"allowed_modes": list(MODES)},
    )


def in_mode(value: Any, mode: Mode, kind: RecordType | None = None, shared: str | None = None) -> Any:
    """A value as a mode shows it: records by their type or automatically, texts clipped, lists shortened.

    `shared` is the member that identifies the records of the list that this one is from.
    """
    if isinstance(value, dict):
        is_declared = kind is not None and kind.describes(value)
        return kind.show(value, mode) if kind is not None and is_declared else _show_record(value, mode, shared)
    if mode == "full":
        return value
    if isinstance(value, str):
        return clip(value, _STRING_LENGTHS[mode])
    if isinstance(value, (list, tuple)):
        known = Names(kind.ids_only if kind else ()).shared_member(value)
        return [in_mode(item, mode, kind, known) for item in value[: _LIST_LENGTHS[mode]]]
    return value


def _show_record(record: Record, mode: Mode, shared: str | None) -> Record:
    if mode == "full":
        return record
    name = id_member(record, shared=shared)
    if mode == "ids_only":
        return {name: record[name]} if name is not None else _first_fact(_without_long_content(record, mode))
    record = _without_long_content(record, mode)
    if mode == "metadata":
        return {key: value for key, value in record.items() if key == name or _is_fact(value)}
    return {key: value if key == name else _preview(value) for key, value in record.items()}


def _without_long_content(record: Record, mode: Mode) -> Record:
    """The record without what must not be shortened, and without the name of its type."""
    announced = announced_in(record)
    if announced is None or len(announced.text) <= _STRING_LENGTHS[mode]:
        return record
    return {key: value for key, value in record.items() if key not in (announced.type_member, announced.member)}


def _is_fact(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= FACT_CHARACTERS
    return value is None or isinstance(value, (bool, int, float))


def _first_fact(record: Record) -> Record:
    """For a record that nothing identifies: the first short fact that it has."""
    return next(({key: value} for key, value in record.items() if value is not None and _is_fact(value)), {})


def _preview(value: Any) -> Any:
    """A nested value with long texts clipped and long lists cut, one level of records deep."""
    if isinstance(value, dict):
        return {key: inner for key, inner in value.items() if _is_fact(inner)}
    return in_mode(value, "preview")
