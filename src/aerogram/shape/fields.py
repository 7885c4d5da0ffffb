"""Field selection: only the fields that were asked for, by name or by dotted path, and nothing in their place.

`select(rows, ["id", "author.name", "tags"])` keeps those members of every row. A path goes through lists: with
`items.id` every item keeps its id. A field that a row lacks is not there afterwards either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from aerogram.errors import InvalidFields
from aerogram.shape.modes import Mode, RecordType, in_mode

__all__ = ["allowed_fields", "select"]

SAMPLED_ROWS: Final = 100
MOST_FIELDS: Final = 200
LISTED_DEPTH: Final = 3

Tree: TypeAlias = dict[str, "Tree"]


def select(data: Any, fields: Sequence[str], *, mode: Mode = "full", kind: RecordType | None = None) -> Any:
    """The data in a mode, with only these fields; wrong ones are refused with the list of right ones."""
    shown = [in_mode(item, mode, kind) for item in data] if isinstance(data, list) else in_mode(data, mode, kind)
    tree = _tree_of(fields)
    allowed = _allowed(shown, mode, kind)
    wrong = [name for name in fields if not _is_allowed(name, allowed, kind)]
    if wrong:
        raise InvalidFields(f"Fields {wrong} not available in '{mode}' mode", details={"allowed_fields": list(allowed)})
    return _prune(shown, tree)


def allowed_fields(data: Any, *, mode: Mode = "full", kind: RecordType | None = None) -> tuple[str, ...]:
    """The names that `fields` may have in a mode: as declared, else as the first rows show them."""
    rows = data if isinstance(data, list) else [data]
    return _allowed([in_mode(row, mode, kind) for row in rows[:SAMPLED_ROWS]], mode, kind)


def _allowed(shown: Any, mode: Mode, kind: RecordType | None) -> tuple[str, ...]:
    declared = kind.fields(mode) if kind is not None else None
    if declared is not None:
        return declared
    rows = shown if isinstance(shown, list) else [shown]
    paths = (path for row in islice(rows, SAMPLED_ROWS) for path in _paths(row))
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


def _is_allowed(path: Any, allowed: tuple[str, ...], kind: RecordType | None) -> bool:
    """A path is right when it is listed, or goes on below what is listed and was not looked into."""
    if not isinstance(path, str) or path in allowed:
        return path in allowed
    steps = path.split(".")
    known = 1 if kind is not None else LISTED_DEPTH
    return len(steps) > known and ".".join(steps[:known]) in allowed


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
