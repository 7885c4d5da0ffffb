"""Examples: what the contract documents show, as data.

Each document has one TOML file in `examples/`. An example has an id, the place it stands at (`where`), a class,
a language, a form (what it is: an envelope, a tool result, a cursor, code …), the dialect it is written in and
the part of the project that gives it. The class says how far it is from something that can be checked:

- `whole`     it stands as it is: `<id>.json`, or `<id>.txt` for what is not JSON;
- `fragment`  it parses, and is a piece of something bigger: `within` names the body in `completions.json` that it is
              laid over, or `at` the place where it is put into that body; `needs` lists the names that code takes
              from around it;
- `elided`    the document leaves something out: `<id>.txt` is its text, `replace` says what stands for each mark,
              and `<id>.json` is what comes out of that (`<id>.completed.txt` for code).

`drops` lists members that are read and, being empty, not written again; `adds` those that are written although the
example leaves them out. `result_of` names the code, and the function in it, that gives the example.
"""

from __future__ import annotations

import json
import operator
import tomllib
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "examples"
CLASSES = ("whole", "fragment", "elided")


@dataclass(frozen=True)
class Example:
    """One example of one document."""

    id: str
    document: str
    where: str
    cls: str
    language: str
    form: str
    part: str
    dialect: str | None = None
    within: str | None = None
    at: str | None = None
    needs: tuple[str, ...] = ()
    replace: tuple[list[str], ...] = ()
    result_of: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    note: str | None = None

    def text(self) -> str:
        """Return the example as the document prints it."""
        kept_as_json = self.language == "json" and self.cls != "elided"
        return _read(f"{self.id}.json" if kept_as_json else f"{self.id}.txt")

    def completed_text(self) -> str:
        """Return the text with every mark replaced, as far as text can be completed."""
        written_out = FOLDER / f"{self.id}.completed.txt"
        if written_out.exists():
            return written_out.read_text(encoding="utf-8")
        text = self.text()
        for mark, replacement in self.replace:
            text = text.replace(mark, replacement)
        return text

    def value(self) -> Any:
        """Return the JSON value of the example, marks replaced, before it is put into a body."""
        return json.loads(_read(f"{self.id}.json"))

    def body(self) -> Any:
        """Return the whole body the example belongs to."""
        if self.within is None:
            return self.value()
        base = json.loads(_read("completions.json"))[self.within]
        return _laid_over(base, self.value()) if self.at is None else _put(base, self.at, self.value())

    def written_again(self, body: Any) -> Any:
        """Return what was written for this example as far as the example shows it."""
        return _without(body, self.adds)

    def normal_body(self) -> Any:
        """Return the body as it is written again: without the members that `drops` and `adds` list."""
        return _without(self.body(), (*self.drops, *self.adds))


@cache
def examples() -> tuple[Example, ...]:
    """Return every example of every document, in the order of the documents."""
    return tuple(
        _example(row, table["document"])
        for table in (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml")))
        for row in table["example"]
    )


def example(name: str) -> Example:
    """Return the example with that id."""
    return next(found for found in examples() if found.id == name)


def _example(row: dict[str, Any], document: str) -> Example:
    members: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    members["cls"] = members.pop("class")
    return Example(document=document, **members)


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _without(body: Any, pointers: tuple[str, ...]) -> Any:
    """Return a copy of `body` without the members that `pointers` name, where it has them."""
    copy = json.loads(json.dumps(body))
    for pointer in pointers:
        *parents, last = pointer.split("/")[1:]
        reduce(operator.getitem, parents, copy).pop(last, None)
    return copy


def _laid_over(base: Any, piece: Any) -> Any:
    """Return `base` with the members of `piece` laid over it, at every depth."""
    if not (isinstance(base, dict) and isinstance(piece, dict)):
        return piece
    return {**base, **{key: _laid_over(base.get(key), value) for key, value in piece.items()}}


def _put(base: Any, pointer: str, piece: Any) -> Any:
    """Return `base` with `piece` at the place that `pointer` names; a place in a list replaces the list."""
    if pointer == "":
        return piece
    head, _, rest = pointer[1:].partition("/")
    rest = f"/{rest}" if rest else ""
    if head.isdigit():
        return [_put({}, rest, piece)]
    return {**base, head: _put(base.get(head), rest, piece)}
