"""Response modes: how much of a record is shown. `ids_only`, `metadata`, `preview`, `full`.

A record type declares the fields of each mode; they need not nest, and a mode may have fields that are made
from others, such as a snippet. Records that nobody declared are read automatically: identifiers, short facts,
previews of 200 characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from aerogram.errors import InvalidFields, ValidationFailed
from aerogram.reply.identity import Names, id_member
from aerogram.shape.facts import find_announced
from aerogram.shape.text import clip, whole_characters

__all__ = [
    "MODES",
    "Mode",
    "RecordType",
    "allowed_mode",
    "in_mode",
    "lengths_of_cut",
    "lengths_of_gone",
    "select",
    "select_in",
    "snippet",
]


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
    come best first; their `additions` are what they say about themselves: they are shown in `full` besides its fields,
    and go first where room is short.
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

    def fits(self, record: Record) -> bool:
        """Whether a record has what identifies one of this type, and nothing but the fields of one of its modes."""
        names = record.keys() - set(self.additions)
        if not names.issuperset(name for name in self.ids_only if name not in self.made):
            return False
        return any(names <= set(fields) for mode in MODES if (fields := self.fields(mode)) is not None)

    def show(self, record: Record, mode: Mode) -> dict[str, Any]:
        """The record as this mode shows it; a field that the record lacks is left out."""
        names = self.fields(mode)
        if names is not None and mode == "full":
            names += tuple(self.additions)
        shown = {name: record[name] for name in (record if names is None else names) if name in record}
        for name, make in self.made.items():
            if names is not None and name in names and name not in record:
                with suppress(KeyError):  # the record was shown with less before
                    shown[name] = make(record)
        for name, longest in self.caps.get(mode, {}).items():
            if len(shown.get(name) or ()) > longest:
                shown[name] = shown[name][:longest]
        return shown


def lengths_of_cut(whole: Any, shown: Any) -> dict[str, int]:
    """How long the lists of a record are that a mode does not show to their end."""
    if not isinstance(whole, dict) or not isinstance(shown, dict):
        return {}
    pairs = ((name, whole.get(name), some) for name, some in shown.items())
    both = ((name, every, some) for name, every, some in pairs if isinstance(every, list) and isinstance(some, list))
    return {name: len(every) for name, every, some in both if len(some) < len(every)}


def lengths_of_gone(whole: Any, shown: Any) -> dict[str, int]:
    """How long the lists of a record are of which a mode shows nothing."""
    if not isinstance(whole, dict) or not isinstance(shown, dict):
        return {}
    return {name: len(one) for name, one in whole.items() if isinstance(one, list) and one and name not in shown}


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
    if len(record) > 1 and all(isinstance(one, dict) for one in record.values()):  # items under their names
        return {name: _show_record(one, mode, None) for name, one in record.items()}
    name = id_member(record, shared=shared)
    if mode == "ids_only":
        return {name: record[name]} if name is not None else _first_fact(_without_long_content(record, mode))
    record = _without_long_content(record, mode)
    if mode == "metadata":
        return {key: value for key, value in record.items() if key == name or _is_fact(value)}
    return {key: value if key == name else _preview(value) for key, value in record.items()}


def _without_long_content(record: Record, mode: Mode) -> Record:
    """The record without what must not be shortened, and without the name of its type."""
    announced = find_announced(record)
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


# Fields: only those that were asked for, by name or by dotted path, and nothing in their place.
#
# `select(rows, ["id", "author.name", "tags"])` keeps those members of every row. A path goes through lists: with
# `items.id` every item keeps its id. A field that a row lacks is not there afterwards either.


SAMPLED_ROWS: Final = 100
MOST_FIELDS: Final = 200
LISTED_DEPTH: Final = 3

Tree: TypeAlias = dict[str, "Tree"]


def select(
    data: Any,
    fields: Sequence[str],
    *,
    mode: Mode = "full",
    kind: RecordType | None = None,
    among: Sequence[Any] | None = None,
) -> Any:
    """The data in a mode, with only these fields; wrong ones are refused with the list of right ones.

    A field is right when it is declared, or else when any row has it. `among` are all rows, where the data is only a
    page of them; nothing is refused where there are none.
    """
    rows = among if among is not None else data if isinstance(data, list) else [data]
    shared = Names(kind.ids_only if kind else ()).shared_member(rows) if mode != "full" else None
    wrong = _wrong(fields, rows, mode, kind, shared)
    if wrong:
        raise _refusal(wrong, _names_in_mode(rows, mode, kind, shared), mode)
    items = data if isinstance(data, list) else [data]
    shown = [in_mode(item, mode, kind, shared) for item in items]
    return _prune(shown if items is data else shown[0], _tree_of(_in_order(fields, mode, kind)))


def _in_order(fields: Sequence[str], mode: Mode, kind: RecordType | None) -> Sequence[str]:
    """The fields as a declared type has them, so that a row reads the same whoever asks for it; else as asked for."""
    declared = kind.fields(mode) if kind is not None else None
    if declared is None:
        return fields
    places = {name: place for place, name in enumerate(declared)}
    return sorted(fields, key=lambda path: places[path if path in places else path.split(".", maxsplit=1)[0]])


def select_in(
    data: Mapping[str, Any],
    name: str,
    fields: Sequence[str],
    *,
    mode: Mode = "full",
    kind: RecordType | None = None,
    among: Mapping[str, Any],
) -> Any:
    """The same for an object whose member `name` holds its rows: each of them is shown in the mode, none is left out.

    `among` is the object with all rows, where the data has only a page of them.
    """
    if mode == "full":
        return select(data, fields, among=[among])
    others = in_mode({member: value for member, value in data.items() if member != name}, mode, kind)

    def show(whole: Mapping[str, Any]) -> dict[str, Any]:
        held = {**others, name: select(whole[name], (), mode=mode, kind=kind, among=among[name])}
        return {member: held[member] for member in whole if member in held}

    every = [show(among)] if fields else []
    wrong = _wrong(fields, every, "full", None, None)
    if wrong:
        raise _refusal(wrong, _names_in_mode(every, "full", None, None), mode)
    return _prune(show(data), _tree_of(fields))


def _refusal(wrong: Sequence[Any], allowed: Sequence[str], mode: Mode) -> InvalidFields:
    message = f"Fields {wrong} not available in '{mode}' mode"
    told = "Ask only for fields listed in allowed_fields" if mode == "full" else None  # no mode has more
    return InvalidFields(message, remediation=told, details={"allowed_fields": list(allowed)})


def _wrong(
    fields: Sequence[str], rows: Sequence[Any], mode: Mode, kind: RecordType | None, shared: str | None
) -> list[Any]:
    """Those of the fields that are not declared, or that none of the rows has."""
    declared = kind.fields(mode) if kind is not None else None
    if declared is not None:
        return [path for path in fields if not (isinstance(path, str) and _is_within(path, declared))]
    wrong = list(fields) if any(row not in (None, {}, []) for row in rows) else []
    for row in rows:
        if not wrong:
            break
        shown = in_mode(row, mode, kind, shared)
        wrong = [path for path in wrong if not (isinstance(path, str) and _has(shown, path))]
    return wrong


def _is_within(path: str, declared: Sequence[str]) -> bool:
    """Whether a path is declared, or goes on below what is."""
    return path in declared or ("." in path and path.split(".", maxsplit=1)[0] in declared)


def _has(value: Any, path: str) -> bool:
    """Whether a value, or an item of a list, has a member at a dotted path; names may have dots themselves."""
    if isinstance(value, list):
        return any(_has(item, path) for item in value)
    if not isinstance(value, dict):
        return False
    name, _, rest = path.partition(".")
    return path in value or (bool(rest) and name in value and _has(value[name], rest))


def _names_in_mode(rows: Sequence[Any], mode: Mode, kind: RecordType | None, shared: str | None) -> tuple[str, ...]:
    """The names that `fields` may have in a mode: as declared, else as the first rows show them."""
    declared = kind.fields(mode) if kind is not None else None
    if declared is not None:
        return declared
    paths = (path for row in islice(rows, SAMPLED_ROWS) for path in _paths(in_mode(row, mode, kind, shared)))
    return tuple(islice(dict.fromkeys(paths), MOST_FIELDS))


def _paths(value: Any, prefix: str = "", depth: int = LISTED_DEPTH) -> Iterable[str]:
    """The dotted paths of a value, each before those inside it."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict) or depth == 0:
        return
    for name, inner in value.items():
        yield prefix + name
        yield from _paths(inner, f"{prefix}{name}.", depth - 1)


def _tree_of(fields: Sequence[str]) -> Tree:
    """The fields as a tree of names; an empty branch means everything below it."""
    tree: Tree = {}
    whole: set[str] = {path for path in fields if isinstance(path, str)}
    for path in fields:
        steps = str(path).split(".")
        if any(".".join(steps[:count]) in whole for count in range(1, len(steps))):
            continue  # something above it was asked for whole
        branch = tree
        for step in steps:
            branch = branch.setdefault(step, {})
    return tree


def _prune(value: Any, tree: Tree) -> Any:
    if not tree:
        return value
    if isinstance(value, list):
        return [_prune(item, tree) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, branch in tree.items():
        if name in value:
            kept[name] = _prune(value[name], branch)
        elif branch and any(key.startswith(name + ".") for key in value):
            kept.update(_select_dotted(value, name, branch))
    return kept


def _select_dotted(value: Mapping[str, Any], name: str, branch: Tree) -> dict[str, Any]:
    """Members whose own names contain dots, when no nested path matches."""
    wanted = {f"{name}.{inner}" for inner in branch}
    return {key: value[key] for key in value if key in wanted}
