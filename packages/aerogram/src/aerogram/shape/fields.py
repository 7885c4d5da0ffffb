"""Field selection: only the fields that were asked for, by name or by dotted path, and nothing in their place.

`select(rows, ["id", "author.name", "tags"])` keeps those members of every row. A path goes through lists: with
`items.id` every item keeps its id. A field that a row lacks is not there afterwards either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from aerogram.errors import InvalidFields
from aerogram.identity import Names
from aerogram.shape.modes import Mode, RecordType, in_mode

__all__ = ["select", "select_in"]

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
        raise _refusal(wrong, _allowed(rows, mode, kind, shared), mode)
    items = data if isinstance(data, list) else [data]
    shown = [in_mode(item, mode, kind, shared) for item in items]
    return _prune(shown if items is data else shown[0], _tree_of(fields))


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

    def shown(whole: Mapping[str, Any]) -> dict[str, Any]:
        held = {**others, name: select(whole[name], (), mode=mode, kind=kind, among=among[name])}
        return {member: held[member] for member in whole if member in held}

    every = [shown(among)] if fields else []
    wrong = _wrong(fields, every, "full", None, None)
    if wrong:
        raise _refusal(wrong, _allowed(every, "full", None, None), mode)
    return _prune(shown(data), _tree_of(fields))


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


def _allowed(rows: Sequence[Any], mode: Mode, kind: RecordType | None, shared: str | None) -> tuple[str, ...]:
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
            kept.update(_dotted(value, name, branch))
    return kept


def _dotted(value: Mapping[str, Any], name: str, branch: Tree) -> dict[str, Any]:
    """Members whose own names contain dots, when no nested path matches."""
    wanted = {f"{name}.{inner}" for inner in branch}
    return {key: value[key] for key in value if key in wanted}
